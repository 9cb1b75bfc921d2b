/* SPDX-License-Identifier: MIT */
/*
 * bench_store: one process of the store's benchmark (store.py), over
 * cachecore as a layer uses it. What it measured is one JSON object on its
 * last line. A store holds the entries 0 to COUNT - 1 (bench_entries.h), of
 * which the first two hundred are what is looked up: they are in a store of any
 * size, and lie evenly among the others in the order of storing.
 *
 *   bench_store fill ROOT COUNT PROCESSES   makes a store
 *   bench_store get ROOT FIRST ROUNDS       looks up: the first one, then all, so many times
 *   bench_store check ROOT                  each byte of all that is looked up
 *   bench_store hits ROOT                   looks up, of small ones, until stdin ends
 *   bench_store puts ROOT FIRST             stores FIRST and on until stdin ends
 *   bench_store churn DIRECTORY             makes and removes files there, no cache, until stdin ends
 *   bench_store evict ROOT MAX_SIZE         one eviction
 *   bench_store write ROOT LENGTH FIRST ROUNDS  all that is written after a build, and the entry alone, in turns
 *   bench_store crowd COUNT COMMAND ...     so many processes of a command, all at once
 */
#include <stdatomic.h>
#include <sys/resource.h>

#include "cachecore/disk/store.h"
#include "cachecore/disk/level.h"
#include "cachecore/record/recorder.h"
#include "cachecore/record/totals.h"
#include "tests/bench/bench_entries.h"
#include "tests/bench/bench_run.h"
#include "tests/bench/bench_samples.h"
#include "tests/support/touch.h"

#define PROBES 200
#define SMALL_IMAGE 4000
#define MAX_PROCESSES 64
/* As cachecore/cache.c has it for what a process reads for the first time. */
#define KEPT_LEN ((size_t)16 << 10)

static const struct cmn_log log_to_stderr = { .level = CMN_LOG_WARNING };

static struct cc_config config;

static struct cc_store *open_store(const char *root, uint64_t max_size)
{
	struct cc_store *store;

	/* All but the bound is the default. */
	config = (struct cc_config){
		.dir = (char *)(uintptr_t)root,	/* it is only read */
		.max_device_image_size = UINT64_C(1) << 30,
		.max_size = max_size,
		.threshold_days = 90,
		.compression = CC_COMPRESSION_AUTO,
	};
	if (cc_store_open(&config, &log_to_stderr, &store) != CMN_OK)
		bench_fail("cannot open %s", root);
	return store;
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (!*text || *end)
		bench_fail("%s is no number", text);
	return value;
}

static void put(struct cc_store *store, uint64_t number)
{
	struct cc_entry *entry = bench_make_entry(number, 0);
	struct bench_watch watch;
	enum cmn_status status;
	struct cc_key key;

	bench_make_key(number, &key);
	bench_start(&watch);
	status = cc_store_put(store, &key, entry);
	bench_stop(&watch);
	if (status != CMN_OK)
		bench_fail("put %llu: %s", (unsigned long long)number, cmn_status_string(status));
	cc_key_release(&key);
	cc_entry_unref(entry);
}

/* The number of what is stored at a position, so that those looked up lie evenly. */
static uint64_t number_at(uint64_t position, uint64_t count)
{
	uint64_t step = count > PROBES ? count / PROBES : 1;
	uint64_t before = (position + step - 1) / step;

	if (position % step == 0 && position / step < PROBES)
		return position / step;
	return PROBES + position - (before < PROBES ? before : PROBES);
}

static void wait_for_children(unsigned int count)
{
	int how;

	while (count--) {
		if (wait(&how) < 0 || !WIFEXITED(how) || WEXITSTATUS(how) != 0)
			bench_fail("a process failed");
	}
}

static void fill(const char *root, uint64_t count, uint64_t processes)
{
	uint64_t begin = bench_now();

	if (!processes || processes > MAX_PROCESSES)
		bench_fail("1 to %d processes", MAX_PROCESSES);
	for (uint64_t i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			bench_fail("fork: %s", strerror(errno));
		if (child > 0)
			continue;
		struct cc_store *store = open_store(root, 0);

		for (uint64_t at = i; at < count; at += processes)
			put(store, number_at(at, count));
		cc_store_close(store);
		_exit(0);
	}
	wait_for_children((unsigned int)processes);
	(void)printf("{\"ns\": %llu}\n", (unsigned long long)(bench_now() - begin));
}

/* Keys of what is looked up, made before the clock starts. */
static struct cc_key probes[PROBES];

static void make_probes(void)
{
	for (uint64_t i = 0; i < PROBES; i++)
		bench_make_key(i, &probes[i]);
}

static void hit(struct cc_store *store, uint64_t number, bool whole)
{
	struct cc_store_report report;
	struct cc_entry *entry = NULL;
	struct bench_watch watch;
	enum cmn_status status;

	bench_start(&watch);
	status = cc_store_get(store, &probes[number], NULL, KEPT_LEN, &entry, &report);
	bench_stop(&watch);
	if (status != CMN_OK || report.damaged || !bench_is_entry(entry, number, 0, whole))
		bench_fail("get %llu: %s", (unsigned long long)number, cmn_status_string(status));
	cc_entry_unref(entry);
}

/* A fresh process's first look-up, with the opening of the store; then those of a process that goes on. */
static void get(const char *root, uint64_t first, uint64_t rounds)
{
	struct cc_store_report report;
	struct cc_entry *entry = NULL;
	struct cc_store *store;
	uint64_t ns;

	bench_make_key(first % PROBES, &probes[first % PROBES]);
	ns = bench_now();
	store = open_store(root, 0);
	if (cc_store_get(store, &probes[first % PROBES], NULL, KEPT_LEN, &entry, &report) != CMN_OK)
		bench_fail("get %llu", (unsigned long long)first);
	ns = bench_now() - ns;
	cc_entry_unref(entry);
	cc_key_release(&probes[first % PROBES]);
	(void)printf("{\"first\": %llu}\n", (unsigned long long)ns);
	make_probes();
	/* One round that is not counted: it fills what the kernel remembers. */
	for (uint64_t round = 0; round <= rounds && rounds; round++) {
		for (uint64_t i = 0; i < PROBES; i++)
			hit(store, i * 389 % PROBES, false);
		if (round == 0)
			bench_forget_samples();
	}
	if (rounds)
		bench_print_samples();
	cc_store_close(store);
}

static void check(const char *root)
{
	struct cc_store *store = open_store(root, 0);

	make_probes();
	for (uint64_t i = 0; i < PROBES; i++)
		hit(store, i, true);
	cc_store_close(store);
}

static atomic_bool ended;

static void *read_to_end(void *unused)
{
	char byte;

	(void)unused;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	atomic_store(&ended, true);
	return NULL;
}

/* Says that it is ready; whoever started it ends its stdin when it is enough. */
static void begin_until_end(void)
{
	pthread_t thread;

	bench_forget_samples();
	if (pthread_create(&thread, NULL, read_to_end, NULL) != 0)
		bench_fail("no thread");
	(void)pthread_detach(thread);	/* it is joinable */
	(void)puts("{}");
	(void)fflush(stdout);
}

/* Small images alone, so that times differ by what goes on, not by what is read. */
static size_t choose_small(uint64_t *ret_numbers)
{
	size_t count = 0;

	for (uint64_t i = 0; i < PROBES; i++) {
		if (bench_length(i * 389 % PROBES) < SMALL_IMAGE)
			ret_numbers[count++] = i * 389 % PROBES;
	}
	return count;
}

static void hit_until_end(const char *root)
{
	struct cc_store *store = open_store(root, 0);
	uint64_t small[PROBES];
	size_t count = choose_small(small);

	make_probes();
	for (uint64_t i = 0; i < PROBES; i++) {
		struct cc_store_place place = { .n = 0 };

		/* Used just now, so that they are what an eviction leaves. */
		cc_entry_dir_path(cc_key_view(&probes[i]), place.entry_dir);
		touch_place(store, &place);
		hit(store, i, true);
	}
	begin_until_end();
	for (uint64_t i = 0; !atomic_load(&ended); i++)
		hit(store, small[i % count], false);
	bench_print_samples();
	cc_store_close(store);
}

static void put_until_end(const char *root, uint64_t first)
{
	struct cc_store *store = open_store(root, 0);

	begin_until_end();
	for (uint64_t i = first; !atomic_load(&ended); i++)
		put(store, i);
	bench_print_samples();
	cc_store_close(store);
}

/* What any process does to its neighbours that makes and removes as many files. */
static void churn_until_end(const char *directory)
{
	char name[32], text[4096] = "";
	int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t made;

	if (dir_fd < 0)
		bench_fail("%s: %s", directory, strerror(errno));
	begin_until_end();
	for (made = 0; !atomic_load(&ended); made++) {
		struct bench_watch watch;
		int fd;

		(void)snprintf(name, sizeof(name), "%llu", (unsigned long long)(made % 1000));
		bench_start(&watch);
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno == EEXIST && unlinkat(dir_fd, name, 0) == 0)
			continue;
		if (fd < 0 || write(fd, text, sizeof(text)) != sizeof(text) || close(fd) != 0)
			bench_fail("%s/%s: %s", directory, name, strerror(errno));
		bench_stop(&watch);
	}
	(void)close(dir_fd);	/* only used to find others */
	bench_print_samples();
}

/* Peak memory of this program alone: rusage's also knows what was before exec. */
static uint64_t peak_kb(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmHWM: %llu kB", &kb) == 1)
			break;
	}
	if (!file || !kb)
		bench_fail("/proc/self/status");
	(void)fclose(file);	/* only read */
	return kb;
}

static void evict(const char *root, uint64_t max_size)
{
	struct cc_store *store = open_store(root, max_size);
	uint64_t begin, peak = peak_kb();
	struct rusage after;
	enum cmn_status status;

	begin = bench_now();
	status = cc_store_clean(store, NULL);
	begin = bench_now() - begin;
	if (status != CMN_OK)
		bench_fail("eviction: %s", cmn_status_string(status));
	if (getrusage(RUSAGE_SELF, &after) != 0)
		bench_fail("getrusage");
	(void)printf("{\"ns\": %llu, \"grown_kb\": %llu, \"user_ms\": %ld, \"system_ms\": %ld}\n",
		     (unsigned long long)begin, (unsigned long long)(peak_kb() - peak),
		     (long)after.ru_utime.tv_sec * 1000 + (long)after.ru_utime.tv_usec / 1000,
		     (long)after.ru_stime.tv_sec * 1000 + (long)after.ru_stime.tv_usec / 1000);
	cc_store_close(store);
}

/* What is written after a build, in its call. */
static uint64_t write_all(struct cc_level *level, const struct cc_key *key, struct cc_entry *entry)
{
	const struct cc_event miss = { .kind = CC_EVENT_MISS, .key = key, .build_ns = cc_entry_build_ns(entry) };
	uint64_t begin = bench_now();

	cc_level_put(level, key, entry, NULL);
	cc_level_note(level, &miss);
	return bench_now() - begin;
}

static uint64_t write_entry(struct cc_store *store, const struct cc_key *key, struct cc_entry *entry)
{
	uint64_t begin = bench_now();

	if (cc_store_put(store, key, entry) != CMN_OK)
		bench_fail("an entry was not stored");
	return bench_now() - begin;
}

static uint64_t stores_in(const char *root)
{
	struct cc_totals *totals = NULL;
	enum cmn_status status = cc_totals_load(root, &totals);
	uint64_t stores = totals ? totals->counters[CC_STORES] : 0;

	free(totals);
	if (status != CMN_OK && status != CMN_MISS)
		bench_fail("the counts cannot be read");
	return stores;
}

/* Each first one of the process is told by itself: it opens, and makes, what the others find. */
static void write_in_turns(const char *root, size_t len, uint64_t first, uint64_t rounds)
{
	uint64_t ns[2][1001];
	struct cc_store *store = open_store(root, 0);
	struct cc_config own = config;
	struct cc_level_switch *levels;
	struct cc_level *level;
	uint64_t before = stores_in(root);

	own.persistent = true;
	if (cc_level_switch_new(&own, &log_to_stderr, NULL, &levels) != CMN_OK ||
	    !(level = cc_level_switch_enter(levels)) || rounds < 1 || rounds > 1000)
		bench_fail("cannot write");
	for (uint64_t i = 0; i < 2 * (rounds + 1); i++) {
		struct cc_entry *entry = bench_make_entry(first + i, len);
		struct cc_key key;

		bench_make_key(first + i, &key);
		ns[i % 2][i / 2] = i % 2 ? write_entry(store, &key, entry)
					 : write_all(level, &key, entry);
		cc_key_release(&key);
		cc_entry_unref(entry);
	}
	if (stores_in(root) - before != rounds + 1)
		bench_fail("an entry was not stored, or not counted");
	(void)printf("{\"first\": %llu, \"all\": %llu, \"entry\": %llu}\n", (unsigned long long)ns[0][0],
		     (unsigned long long)bench_median(&ns[0][1], rounds),
		     (unsigned long long)bench_median(&ns[1][1], rounds));
	cc_level_switch_leave(levels, level);
	cc_level_switch_free(levels);
	cc_store_close(store);
}

/* From the moment when all may start to the end of the last one. */
static void crowd(uint64_t count, char **command)
{
	uint64_t begin;
	int gate[2];
	char byte;

	if (pipe(gate) != 0)
		bench_fail("pipe");
	for (uint64_t i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0)
			bench_fail("fork: %s", strerror(errno));
		if (child > 0)
			continue;
		(void)close(gate[1]);	/* the parent's alone ends the wait */
		(void)read(gate[0], &byte, 1);	/* at its end there is nothing */
		(void)close(gate[0]);
		(void)execvp(command[0], command);
		_exit(127);
	}
	(void)close(gate[0]);
	begin = bench_now();
	(void)close(gate[1]);
	wait_for_children((unsigned int)count);
	(void)printf("{\"ns\": %llu}\n", (unsigned long long)(bench_now() - begin));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (!strcmp(mode, "fill") && argc == 5)
		fill(argv[2], number_of(argv[3]), number_of(argv[4]));
	else if (!strcmp(mode, "get") && argc == 5)
		get(argv[2], number_of(argv[3]), number_of(argv[4]));
	else if (!strcmp(mode, "check") && argc == 3)
		check(argv[2]);
	else if (!strcmp(mode, "hits") && argc == 3)
		hit_until_end(argv[2]);
	else if (!strcmp(mode, "puts") && argc == 4)
		put_until_end(argv[2], number_of(argv[3]));
	else if (!strcmp(mode, "churn") && argc == 3)
		churn_until_end(argv[2]);
	else if (!strcmp(mode, "evict") && argc == 4)
		evict(argv[2], number_of(argv[3]));
	else if (!strcmp(mode, "write") && argc == 6)
		write_in_turns(argv[2], number_of(argv[3]), number_of(argv[4]), number_of(argv[5]));
	else if (!strcmp(mode, "crowd") && argc > 3)
		crowd(number_of(argv[2]), argv + 3);
	else
		bench_fail("usage");
	return 0;
}
