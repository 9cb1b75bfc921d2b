/* SPDX-License-Identifier: MIT */
/*
 * check: what a store must do with what a crash has left. Every key that was
 * ever stored is read with exactly its bytes, or is a miss; one that was on
 * disk and not touched is read. Then it goes on as ever: what is put is read,
 * an eviction leaves no leftover and a true account.
 */
#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>

#include "cachecore/disk/space/account.h"
#include "common/file.h"
#include "tests/crash/bench.h"
#include "tests/support/unit.h"

#define FRESH_KEY (BENCH_KEYS - 1)
#define MAX_PUTS 3	/* of a state; more of them show nothing new */

static const char *failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *failure(const char *format, ...)
{
	static char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return text;
}

/* One state, opened. */
struct subject {
	struct bench *bench;
	struct cc_config config;
	struct cc_store *store;
	char root[4300];
	bool put[BENCH_KEYS];
	unsigned int put_version[BENCH_KEYS];
};

/* What a look-up gives must be a version for which `allowed` is true; or a miss, unless it is needed. */
static const char *check_get(struct subject *subject, unsigned int id, const bool *allowed,
			     bool needed)
{
	struct cc_entry *entry;
	enum cmn_status status;
	struct cmn_view image;
	bool right = false;
	struct cc_key key;

	bench_key(&key, id);
	status = cc_store_get(subject->store, &key, NULL, SIZE_MAX, &entry, NULL);
	cc_key_release(&key);
	if (status == CMN_MISS)
		return needed ? failure("key %u was on disk and is lost", id) : NULL;
	if (status != CMN_OK)
		return failure("key %u: %s", id, cmn_status_string(status));
	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &image)) {
		for (unsigned int v = 0; v < BENCH_VERSIONS && !right; v++)
			right = allowed[v] && bench_is(image, id, v);
	}
	cc_entry_unref(entry);
	return right ? NULL : failure("key %u is a hit with wrong bytes", id);
}

/* Where a header decides, under each of its versions. */
static const char *check_versions(struct subject *subject, unsigned int id)
{
	const struct bench *bench = subject->bench;
	const char *failed = NULL;

	for (unsigned int v = 0; v < BENCH_VERSIONS && !failed; v++) {
		bool allowed[BENCH_VERSIONS] = { 0 };

		if (!bench->stored[id][v] || (bench->full && v > 4 && v + 4 < CC_ENTRY_DIR_VARIANTS))
			continue;	/* the first and the last of many will do */
		allowed[v] = true;
		bench_set_header(v);
		failed = check_get(subject, id, allowed, bench->kept[id][v] &&
							 !(bench->full && subject->put[id]));
	}
	return failed;
}

static const char *check_reads(struct subject *subject)
{
	const struct bench *bench = subject->bench;
	const char *failed = NULL;

	for (unsigned int id = 0; id < FRESH_KEY && !failed; id++) {
		bool kept = false;

		if (bench->headers) {
			failed = check_versions(subject, id);
			continue;
		}
		for (unsigned int v = 0; v < BENCH_VERSIONS; v++)
			kept |= bench->kept[id][v];
		failed = check_get(subject, id, bench->stored[id], kept);
	}
	return failed;
}

static const char *check_put_is_read(struct subject *subject, unsigned int id)
{
	bool allowed[BENCH_VERSIONS] = { 0 };

	allowed[subject->put_version[id]] = true;
	if (subject->bench->headers)
		bench_set_header(subject->put_version[id]);
	return check_get(subject, id, allowed, true);
}

static const char *check_put(struct subject *subject, unsigned int id, unsigned int version)
{
	struct cc_entry *entry = bench_entry(subject->bench, id, version);
	enum cmn_status status;
	struct cc_key key;

	if (subject->bench->headers)
		bench_set_header(version);
	bench_key(&key, id);
	status = cc_store_put(subject->store, &key, entry);
	cc_key_release(&key);
	cc_entry_unref(entry);
	if (status != CMN_OK)
		return failure("key %u cannot be put: %s", id, cmn_status_string(status));
	subject->put[id] = true;
	subject->put_version[id] = version;
	return check_put_is_read(subject, id);
}

/* Keys that were stored, each with its last version, and one that never was. */
static const char *check_puts(struct subject *subject)
{
	const char *failed = check_put(subject, FRESH_KEY, 0);
	unsigned int puts = 0;

	for (unsigned int id = 0; id < FRESH_KEY && puts < MAX_PUTS && !failed; id++) {
		unsigned int last = BENCH_VERSIONS;

		for (unsigned int v = 0; v < BENCH_VERSIONS; v++)
			last = subject->bench->stored[id][v] ? v : last;
		if (last == BENCH_VERSIONS)
			continue;
		failed = check_put(subject, id, last);
		puts++;
	}
	return failed;
}

static bool count_item(void *ctx, const struct cc_store_item *item)
{
	(void)item;
	++*(size_t *)ctx;
	return true;
}

static const char *check_walk(struct subject *subject)
{
	size_t count = 0;

	if (cc_store_walk(subject->store, true, count_item, &count) != CMN_OK)
		return failure("the store cannot be walked");
	return NULL;
}

static char leftover[4400];

static char seen_before[4400];	/* what the walk came to last */

/* Nothing below it was walked before it. */
static bool is_empty(const char *path)
{
	size_t len = strlen(path);

	return strncmp(seen_before, path, len) != 0 || seen_before[len] != '/';
}

/* A .bin, or a former version's time of last use, whose .src is not there. */
static bool is_orphan(const char *path, size_t base)
{
	enum cc_entry_dir_file file;
	unsigned int n;
	char name[CC_ENTRY_DIR_NAME_SIZE], src[4400];

	if (!cc_entry_dir_parse(path + base, &file, &n))
		return false;
	cc_entry_dir_name(CC_ENTRY_DIR_SRC, n, name);
	(void)snprintf(src, sizeof(src), "%.*s%s", (int)base, path, name);
	return access(src, F_OK) < 0;
}

static int look_for_leftovers(const char *path, const struct stat *info, int kind,
			      struct FTW *where)
{
	const char *name = path + where->base;
	bool left;

	(void)info;
	if (kind == FTW_DP)
		left = strspn(name, "0123456789abcdef") == CMN_HASH_HEX_SIZE - 1 && is_empty(path);
	else if (strstr(path, "/recipes/"))
		left = false;	/* nobody evicts there; see check_others.c */
	else
		left = strncmp(name, CMN_FILE_TEMPORARY_PREFIX,
			       strlen(CMN_FILE_TEMPORARY_PREFIX)) == 0 ||
		       is_orphan(path, (size_t)where->base);
	if (left)
		(void)snprintf(leftover, sizeof(leftover), "%s", path);
	(void)snprintf(seen_before, sizeof(seen_before), "%s", path);
	return left;
}

static const char *check_account(const struct subject *subject, uint64_t *ret_total)
{
	int fd = open(subject->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t counted = 1, written = 2;
	const char *failed = NULL;

	*ret_total = 0;
	if (fd < 0)
		return NULL;	/* it was never on disk */
	if (cc_account_count(fd, &counted, NULL) != CMN_OK)
		failed = failure("the store cannot be counted");
	else if (cc_number_file_read(fd, CC_ACCOUNT_NAME, &written) != CMN_OK)
		failed = failure("there is no account after an eviction");
	else if (counted != written)
		failed = failure("the account says %llu, and there are %llu bytes",
				 (unsigned long long)written, (unsigned long long)counted);
	(void)close(fd);
	*ret_total = counted;
	return failed;
}

/* A number that was written to a file as it is, or none. */
static const char *check_number(const struct subject *subject, const char *name)
{
	const struct tape *tape = &subject->bench->tape;
	int fd = open(subject->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), len;
	enum cmn_status status;
	uint64_t number = 0;
	char text[32];

	if (fd < 0)
		return NULL;	/* it was never on disk */
	status = cc_number_file_read(fd, name, &number);
	(void)close(fd);
	if (status == CMN_MISS || status == CMN_ERR_CORRUPT)
		return NULL;	/* counted anew */
	if (status != CMN_OK)
		return failure("%s: %s", name, cmn_status_string(status));
	len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
	for (size_t i = 0; i < tape->count; i++) {
		const struct operation *operation = &tape->operations[i];

		if (operation->kind == OPERATION_WRITE && operation->len == (size_t)len &&
		    memcmp(operation->data, text, (size_t)len) == 0)
			return NULL;
	}
	return failure("%s has %llu, which nobody wrote", name, (unsigned long long)number);
}

/* Evicts, which clears and counts; max_size: to half of it. */
static const char *check_eviction(struct subject *subject, uint64_t max_size)
{
	const char *failed;
	enum cmn_status status;
	uint64_t total;

	subject->config.max_size = max_size;
	status = cc_store_clean(subject->store, NULL);
	subject->config.max_size = 0;
	if (status != CMN_OK)
		return failure("eviction: %s", cmn_status_string(status));
	failed = check_account(subject, &total);
	if (!failed && max_size && total > max_size / 2)
		failed = failure("%llu bytes are left of %llu", (unsigned long long)total,
				 (unsigned long long)max_size);
	leftover[0] = '\0';
	seen_before[0] = '\0';
	(void)nftw(subject->root, look_for_leftovers, 16, FTW_PHYS | FTW_DEPTH);
	if (!failed && leftover[0])
		failed = failure("left after an eviction: %s", leftover);
	return failed;
}

static const char *check_all(struct subject *subject)
{
	const char *failed = check_number(subject, CC_ACCOUNT_NAME);
	uint64_t total = 0;

	/* In turns: first the eviction, or first the readers, which remove what is damaged. */
	if (!failed && subject->bench->states++ % 2)
		failed = check_eviction(subject, 0);
	if (!failed)
		failed = check_reads(subject);
	if (!failed)
		failed = check_walk(subject);
	if (!failed && subject->bench->others)
		failed = bench_check_others(subject->bench, &subject->config);
	if (!failed)
		failed = check_puts(subject);
	if (!failed)
		failed = check_eviction(subject, 0);
	if (!failed)
		failed = check_reads(subject);
	for (unsigned int id = 0; id < BENCH_KEYS && !failed; id++)
		failed = subject->put[id] ? check_put_is_read(subject, id) : NULL;
	if (!failed)
		failed = check_account(subject, &total);
	if (!failed)
		failed = check_eviction(subject, total - 1);
	return failed;
}

const char *bench_check(void *ctx, const char *directory)
{
	struct subject subject = { .bench = ctx };
	const char *failed;

	(void)snprintf(subject.root, sizeof(subject.root), "%s/%s" BENCH_ROOT, unit_dir(),
		       directory);
	subject.config = subject.bench->config;
	subject.config.dir = subject.root;
	subject.config.max_size = 0;
	subject.config.threshold_days = 0;
	if (cc_store_open(&subject.config, NULL, &subject.store) != CMN_OK)
		return failure("the store cannot be opened");
	failed = check_all(&subject);
	cc_store_close(subject.store);
	return failed;
}
