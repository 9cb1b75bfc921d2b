/* SPDX-License-Identifier: MIT */
/*
 * test_golden: today's code against stores that were written once, and
 * against stores of versions that do not exist yet.
 */
#include <ftw.h>

#include "cachecore/disk/compression.h"
#include "cachecore/record/events.h"
#include "cachecore/record/key_summary.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/entry.h"
#include "cachecore/record/totals.h"
#include "cachecore/disk/store.h"
#include "common/file.h"
#include "tests/golden/golden.h"
#include "tests/support/unit.h"

#define VERSION_AT 8
#define MAX_FILE 65536

static char from[4096], to[4300];

static struct cmn_buffer slurp(const char *path)
{
	struct cmn_buffer file;

	if (cmn_file_read(AT_FDCWD, path, MAX_FILE, false, &file) != CMN_OK)
		(void)fprintf(stderr, "  cannot read %s\n", path);
	return file;
}

static int copy_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	struct cmn_buffer file;
	char full[8500];

	(void)info;
	(void)where;
	(void)snprintf(full, sizeof(full), "%s%s", to, path + strlen(from));
	if (kind == FTW_D)
		return mkdir(full, 0700);
	file = slurp(path);
	unit_write_bytes(full, file.data, file.len);
	cmn_buffer_release(&file);
	return chmod(full, 0600);
}

/* The root of a private copy of the golden store; where headers are looked for is unit_dir(). */
static const char *copy_golden(void)
{
	(void)snprintf(from, sizeof(from), "%s", GOLDEN_DIR);
	(void)snprintf(to, sizeof(to), "%s/root", unit_dir());
	CU_ASSERT_EQUAL_FATAL(nftw(from, copy_one, 16, FTW_PHYS), 0);
	unit_write("golden.h", GOLDEN_HEADER);
	return to;
}

struct bench {
	struct cc_config config;
	struct cc_store *store;
	struct cc_key key;
	char entry_dir[4500];	/* of the key, absolute */
};

/* The store in copy_golden's place. */
static void open_bench(struct bench *bench, enum golden_entry which)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];

	*bench = (struct bench){
		.config = {
			.dir = to,
			.persistent = true,
			.max_size = UINT64_C(8) << 30,
			.threshold_days = 0,	/* the golden entries are old */
			.max_device_image_size = UINT64_C(1) << 30,
		},
	};
	golden_key(which, &bench->key);
	golden_entry_dir(which, entry_dir);
	(void)snprintf(bench->entry_dir, sizeof(bench->entry_dir), "%s/%s", to, entry_dir);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench->config, NULL, &bench->store), CMN_OK);
}

static void close_bench(struct bench *bench)
{
	cc_store_close(bench->store);
	cc_key_release(&bench->key);
}

/* CMN_OK: found, and exactly what was stored; *ret_damaged may be NULL. */
static enum cmn_status get(struct bench *bench, enum golden_entry which, unsigned int *ret_damaged)
{
	struct cc_entry *expected = golden_entry(which), *entry = NULL;
	struct cc_store_report report = { 0 };
	enum cmn_status status = cc_store_get(bench->store, &bench->key, NULL, SIZE_MAX, &entry,
					      &report);

	if (ret_damaged)
		*ret_damaged = report.damaged;
	if (status == CMN_OK) {
		CU_ASSERT_TRUE(cmn_view_equal(cc_entry_payload(entry), cc_entry_payload(expected)));
		CU_ASSERT_EQUAL(cc_entry_build_ns(entry), cc_entry_build_ns(expected));
		CU_ASSERT_EQUAL(cc_manifest_count(cc_entry_manifest(entry)),
				cc_manifest_count(cc_entry_manifest(expected)));
		cc_entry_unref(entry);
	}
	cc_entry_unref(expected);
	return status;
}

TEST(entries_are_found_and_read_to_the_byte)
{
	struct bench bench;

	(void)copy_golden();
	open_bench(&bench, GOLDEN_RAW);
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_RAW, NULL), CMN_OK);
	unit_write("absent.h", "");
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_RAW, NULL), CMN_MISS);
	CU_ASSERT_EQUAL(unlink("absent.h"), 0);
	unit_write("golden.h", "#define GOLDEN 2\n");
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_RAW, NULL), CMN_MISS);
	close_bench(&bench);
	open_bench(&bench, GOLDEN_COMPRESSED);
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_COMPRESSED, NULL), CMN_MISS);
	CU_ASSERT_EQUAL(chdir("/"), 0);
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_COMPRESSED, NULL), CMN_OK);
	CU_ASSERT_EQUAL(chdir(unit_dir()), 0);
	close_bench(&bench);
	open_bench(&bench, GOLDEN_PLAIN);
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_PLAIN, NULL), CMN_OK);
	close_bench(&bench);
}

struct golden_events {
	unsigned int parts, events, removals;
	struct cmn_buffer outline;
};

static void see_part(void *ctx, const struct cmn_hash *hash, struct cmn_view outline)
{
	struct golden_events *seen = ctx;

	CU_ASSERT_EQUAL(hash->bytes[0], 7);
	cmn_buffer_append(&seen->outline, outline.data, outline.len);
	seen->parts++;
}

static void see_event(void *ctx, const struct cc_event_record *event)
{
	struct golden_events *seen = ctx;

	seen->events++;
	CU_ASSERT_TRUE(cmn_view_equal(event->program, cmn_view_of("golden")));
	CU_ASSERT_EQUAL(event->kind, seen->events == 1 ? CC_EVENT_MISS : CC_EVENT_HIT_DISK);
	CU_ASSERT_EQUAL(event->count, seen->events == 1 ? 1 : 3);
	CU_ASSERT_EQUAL(event->pid, 4711);
	CU_ASSERT_EQUAL(event->start_ns, GOLDEN_TIME_NS);
	CU_ASSERT_EQUAL(event->time_ns, GOLDEN_TIME_NS + 1);
	CU_ASSERT_EQUAL(event->build_ns, GOLDEN_BUILD_NS);
	if (seen->events > 1)
		return;
	CU_ASSERT_TRUE(cmn_view_equal(event->reason, cmn_view_of("recache")));
	CU_ASSERT_TRUE(cmn_view_equal(event->detail, cmn_view_of("of old")));
	CU_ASSERT_TRUE(cmn_view_equal(event->name, cmn_view_of("f")));
}

static void see_removed(void *ctx, enum cc_removal_cause cause, uint64_t time_ns, uint64_t entry_dir)
{
	struct golden_events *seen = ctx;

	CU_ASSERT_EQUAL(cause, CC_REMOVED_BY_AGE);
	CU_ASSERT_EQUAL(time_ns, GOLDEN_TIME_NS + 2);
	CU_ASSERT_EQUAL(entry_dir, seen->removals ? UINT64_C(0x0123456789abcdef) : 1);
	seen->removals++;
}

TEST(the_events_are_read)
{
	struct golden_events seen = { 0 };
	const struct cc_events_reader reader = { see_part, see_event, see_removed, &seen };
	struct cc_key_summary_field field = { 0 };
	struct cmn_reader outline;

	CU_ASSERT_EQUAL(cc_events_read(copy_golden(), CMN_FILE_TRUSTED, &reader), CMN_OK);
	CU_ASSERT_EQUAL(seen.parts, 1);
	CU_ASSERT_EQUAL(seen.events, 2);
	CU_ASSERT_EQUAL(seen.removals, 2);
	outline = cmn_reader_of(cmn_buffer_view(&seen.outline));
	CU_ASSERT_EQUAL(cc_key_summary_next(&outline, &field), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(field.value, cmn_view_of("golden device")));
	CU_ASSERT_EQUAL(cc_key_summary_next(&outline, &field), CMN_OK);
	CU_ASSERT_FALSE(field.whole);
	CU_ASSERT_EQUAL(field.len, 3000);
	CU_ASSERT_EQUAL(field.count, 50);
	CU_ASSERT_EQUAL(cc_key_summary_next(&outline, &field), CMN_MISS);
	cmn_buffer_release(&seen.outline);
}

TEST(the_recipe_is_read)
{
	const char *root = copy_golden();
	struct cc_recipe read, made;
	struct cmn_buffer file;
	char name[CC_RECIPE_NAME_SIZE];
	struct cc_key key;
	int fd;

	golden_key(GOLDEN_PLAIN, &key);
	made = golden_recipe(&key);
	cc_recipe_name(made.key, name);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_read(fd, name, &file, &read), CMN_OK);
	CU_ASSERT_TRUE(cmn_view_equal(read.key, made.key));
	CU_ASSERT_TRUE(cmn_view_equal(read.manifest, made.manifest));
	CU_ASSERT_TRUE(cmn_view_equal(read.directory, made.directory));
	CU_ASSERT_TRUE(cmn_view_equal(read.places, made.places));
	CU_ASSERT_TRUE(cmn_view_equal(read.environment, made.environment));
	CU_ASSERT_EQUAL(cc_recipes_attempts(fd, name), 2);
	cmn_buffer_release(&file);
	(void)close(fd);
	cc_key_release(&key);
}

TEST(statistics_are_read)
{
	const char *root = copy_golden();
	struct cc_totals *totals;

	/* What the log has is on top. */
	CU_ASSERT_EQUAL(cc_totals_load(root, &totals), CMN_OK);
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		CU_ASSERT_EQUAL(totals->counters[i],
				golden_counter(i) + (i == CC_MISSES) + (i == CC_STORES) + (i == CC_HITS_DISK ? 3 : 0) +
				(i == CC_COMPILE_NS_SPENT || i == CC_COMPILE_NS_SAVED ? GOLDEN_BUILD_NS : 0));
	CU_ASSERT_EQUAL_FATAL(totals->bypass_count, 1);
	CU_ASSERT_STRING_EQUAL(totals->bypasses[0].reason, "has-include");
	CU_ASSERT_EQUAL(totals->bypasses[0].count, 1);
	CU_ASSERT_EQUAL_FATAL(totals->usage.program_count, 2);
	CU_ASSERT_STRING_EQUAL(totals->usage.programs[0].name, "go lden");
	CU_ASSERT_EQUAL(totals->usage.programs[0].counts.unattended_ns, 8);
	CU_ASSERT_EQUAL(totals->usage.others.hits_disk, 2);
	free(totals);
}

/* Compressed files of two zlibs: the heads agree but for lengths and hash of what is stored. */
static bool inflate_to_the_same(const struct cmn_buffer *a, const struct cmn_buffer *b)
{
	const struct cmn_buffer *files[2] = { a, b };
	struct cc_entry_header heads[2];
	struct cmn_buffer payloads[2] = { { 0 }, { 0 } };
	bool same = true;

	for (int i = 0; i < 2; i++) {
		struct cmn_view file = cmn_buffer_view(files[i]);
		struct cmn_view stored;

		if (cc_entry_read_header(file, &heads[i]) != CMN_OK)
			return false;
		stored = (struct cmn_view){ files[i]->data + CC_ENTRY_HEADER_SIZE,
					    file.len - CC_ENTRY_HEADER_SIZE };
		same &= heads[i].codec == CC_CODEC_ZLIB &&
			cc_codec_decompress(CC_CODEC_ZLIB, stored, heads[i].payload_len,
					    &payloads[i]) == CMN_OK;
	}
	same = same && heads[0].build_ns == heads[1].build_ns &&
	       cmn_hash_equal(&heads[0].key_hash, &heads[1].key_hash) &&
	       cmn_hash_equal(&heads[0].payload_hash, &heads[1].payload_hash) &&
	       cmn_view_equal(cmn_buffer_view(&payloads[0]), cmn_buffer_view(&payloads[1]));
	cmn_buffer_release(&payloads[0]);
	cmn_buffer_release(&payloads[1]);
	return same;
}

static unsigned int compared, directories;
static char compressed[256];	/* below the root */

static bool is_number(const struct cmn_buffer *file)
{
	size_t digits = 0;

	while (digits < file->len && file->data[digits] >= '0' && file->data[digits] <= '9')
		digits++;
	return digits > 0 && digits + 1 == file->len && file->data[digits] == '\n';
}

static int compare_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	const char *relative = path + strlen(from);
	struct cmn_buffer golden, today;
	char full[8500];
	bool same;

	(void)info;
	if (kind == FTW_D)
		directories++;
	/* Which only a former version writes. */
	if (kind == FTW_D || strcmp(path + where->base, "0_access_time.txt") == 0 ||
	    strcmp(relative, "/last_cleanup.txt") == 0 || strcmp(relative, "/tokens.dat") == 0)
		return 0;
	(void)snprintf(full, sizeof(full), "%s%s", to, relative);
	golden = slurp(path);
	today = slurp(full);
	same = cmn_view_equal(cmn_buffer_view(&golden), cmn_buffer_view(&today));
	if (!same && *relative && strcmp(relative + 1, compressed) == 0)
		same = inflate_to_the_same(&golden, &today);
	/* How many blocks that is the file system says. */
	if (!same && strcmp(relative, "/cache_size.txt") == 0)
		same = is_number(&today);
	if (!same)
		(void)fprintf(stderr, "  differs from the golden one: %s\n", relative);
	CU_ASSERT_TRUE(same);
	compared++;
	cmn_buffer_release(&golden);
	cmn_buffer_release(&today);
	return 0;
}

/* Files and directories of the tree that was made. */
static int count_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)where;
	/* Which caches of before did not have. */
	if (strcmp(path + strlen(to), "/CACHEDIR.TAG") == 0 || strcmp(path + strlen(to), "/days.txt") == 0)
		return 0;
	if (kind == FTW_D)
		directories--;
	else
		compared--;
	return 0;
}

TEST(todays_code_writes_the_same_bytes)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];

	(void)snprintf(from, sizeof(from), "%s", GOLDEN_DIR);
	(void)snprintf(to, sizeof(to), "%s/made", unit_dir());
	CU_ASSERT_EQUAL_FATAL(golden_make(to), 0);
	golden_entry_dir(GOLDEN_COMPRESSED, entry_dir);
	(void)snprintf(compressed, sizeof(compressed), "%s/0.bin", entry_dir);
	compared = directories = 0;
	CU_ASSERT_EQUAL(nftw(from, compare_one, 16, FTW_PHYS), 0);
	CU_ASSERT_EQUAL(compared, 12);
	CU_ASSERT_EQUAL(nftw(to, count_one, 16, FTW_PHYS), 0);
	CU_ASSERT_EQUAL(compared, 0);
	CU_ASSERT_EQUAL(directories, 0);
}

static int tool(const char *verb, const char *option, const char *output)
{
	int status = 0, fd;
	pid_t pid = fork();

	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		fd = open(output, O_RDWR | O_CREAT | O_TRUNC, 0600);
		(void)dup2(fd, STDOUT_FILENO);
		(void)alarm(60);
		(void)execl(CKCACHE_PROGRAM, CKCACHE_PROGRAM, verb, "--dir", to, option, (char *)NULL);
		_exit(127);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *output, const char *text)
{
	struct cmn_buffer file = slurp(output);
	bool found;

	cmn_buffer_append_u8(&file, 0);
	found = file.data && strstr((const char *)file.data, text);
	cmn_buffer_release(&file);
	return found;
}

static char *path_of(const struct bench *bench, const char *name)
{
	static char path[4600];

	(void)snprintf(path, sizeof(path), "%s/%s", bench->entry_dir, name);
	return path;
}

static void spill(const char *path, const struct cmn_buffer *file)
{
	(void)unlink(path);
	unit_write_bytes(path, file->data, file->len);
	CU_ASSERT_EQUAL(chmod(path, 0600), 0);
}

static bool is_file(const char *path, const struct cmn_buffer *expected)
{
	struct cmn_buffer file = slurp(path);
	bool same = cmn_view_equal(cmn_buffer_view(&file), cmn_buffer_view(expected));

	cmn_buffer_release(&file);
	return same;
}

/* That entry's file is of another version: left alone by everything but eviction and clear. */
static void expect_left_alone(const char *name, const struct cmn_buffer *file)
{
	struct bench bench;
	struct cc_entry *entry = golden_entry(GOLDEN_RAW);
	unsigned int damaged = 9;

	open_bench(&bench, GOLDEN_RAW);
	spill(path_of(&bench, name), file);
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_RAW, &damaged), CMN_MISS);
	CU_ASSERT_EQUAL(damaged, 0);
	CU_ASSERT_TRUE(is_file(path_of(&bench, name), file));
	CU_ASSERT_EQUAL(tool("verify", NULL, "verified"), 0);
	CU_ASSERT_TRUE(says("verified", "2 entries sound, 0 damaged, 1 of another version\n"));
	CU_ASSERT_EQUAL(tool("verify", "--repair", "verified"), 0);
	CU_ASSERT_TRUE(says("verified", "1 of another version, 0 removed\n"));
	CU_ASSERT_EQUAL(tool("list", NULL, "listed"), 0);
	CU_ASSERT_TRUE(says("listed", "unknown format version"));
	/* The same build goes beside it, and is found there. */
	CU_ASSERT_EQUAL(cc_store_put(bench.store, &bench.key, entry), CMN_OK);
	CU_ASSERT_EQUAL(access(path_of(&bench, "1.src"), F_OK), 0);
	CU_ASSERT_EQUAL(get(&bench, GOLDEN_RAW, &damaged), CMN_OK);
	CU_ASSERT_EQUAL(cc_store_put(bench.store, &bench.key, entry), CMN_OK);
	CU_ASSERT_NOT_EQUAL(access(path_of(&bench, "2.src"), F_OK), 0);
	CU_ASSERT_TRUE(is_file(path_of(&bench, name), file));
	CU_ASSERT_EQUAL(tool("verify", NULL, "verified"), 0);
	CU_ASSERT_TRUE(says("verified", "3 entries sound, 0 damaged, 1 of another version\n"));
	/* Of eviction it is an entry like any other. */
	bench.config.max_size = 1;
	CU_ASSERT_EQUAL(cc_store_clean(bench.store, NULL), CMN_OK);
	CU_ASSERT_NOT_EQUAL(access(path_of(&bench, name), F_OK), 0);
	cc_entry_unref(entry);
	close_bench(&bench);
}

static struct cmn_buffer golden_file(const char *name)
{
	struct bench bench;
	struct cmn_buffer file;

	(void)copy_golden();
	open_bench(&bench, GOLDEN_RAW);
	file = slurp(path_of(&bench, name));
	close_bench(&bench);
	CU_ASSERT_TRUE_FATAL(file.len > CC_SRC_HEADER_SIZE);
	return file;
}

TEST(another_version_of_src_is_left_alone)
{
	struct cmn_buffer file = golden_file("0.src");

	file.data[VERSION_AT] = 2;
	expect_left_alone("0.src", &file);
	cmn_buffer_release(&file);
}

TEST(another_version_of_bin_is_left_alone)
{
	struct cmn_buffer file = golden_file("0.bin");

	file.data[VERSION_AT] = 3;	/* 2: a build that failed */
	/* Nothing of the rest is known. */
	memset(file.data + VERSION_AT + 4, 0xff, file.len - VERSION_AT - 4);
	expect_left_alone("0.bin", &file);
	cmn_buffer_release(&file);
}

TEST(another_version_of_the_manifest_is_left_alone)
{
	struct cmn_buffer file = golden_file("0.src");
	const size_t hash_at = CC_SRC_HEADER_SIZE - CMN_HASH_SIZE;
	struct cmn_hash fold[2], hash;
	struct cc_src src;

	CU_ASSERT_EQUAL_FATAL(cc_src_file_decode(cmn_buffer_view(&file), &src), CMN_OK);
	file.data[CC_SRC_HEADER_SIZE + src.key.len] = CC_MANIFEST_VERSION_PATHS + 1;
	fold[0] = cmn_hash_of(file.data, hash_at);
	fold[1] = cmn_hash_of(file.data + CC_SRC_HEADER_SIZE, file.len - CC_SRC_HEADER_SIZE);
	hash = cmn_hash_of(fold, sizeof(fold));
	memcpy(file.data + hash_at, hash.bytes, CMN_HASH_SIZE);
	expect_left_alone("0.src", &file);
	cmn_buffer_release(&file);
}

TEST(another_version_of_a_recipe_is_left_alone)
{
	const char *root = copy_golden();
	char name[CC_RECIPE_NAME_SIZE], path[4500];
	struct cc_recipe recipe, read;
	struct cmn_buffer file, encoded, other;
	struct cc_key key;
	int fd;

	golden_key(GOLDEN_PLAIN, &key);
	recipe = golden_recipe(&key);
	cc_recipe_name(recipe.key, name);
	(void)snprintf(path, sizeof(path), "%s/recipes/%s", root, name);
	file = slurp(path);
	CU_ASSERT_TRUE_FATAL(file.len > CC_RECIPE_HEADER_SIZE);
	file.data[VERSION_AT] = 2;
	spill(path, &file);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_read(fd, name, &other, &read), CMN_ERR_VERSION);
	cmn_buffer_release(&other);
	/* Another state of the headers would replace one of ours. */
	recipe.manifest = cmn_view_of("another");
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_put(root, cmn_buffer_view(&encoded)), CMN_OK);
	CU_ASSERT_TRUE(is_file(path, &file));
	(void)tool("replay", NULL, "replayed");
	CU_ASSERT_TRUE(is_file(path, &file));
	CU_ASSERT_EQUAL(cc_recipes_attempts(fd, name), 2);
	cmn_buffer_release(&encoded);
	cmn_buffer_release(&file);
	(void)close(fd);
	cc_key_release(&key);
}
