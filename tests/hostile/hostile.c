/* SPDX-License-Identifier: MIT */
/* hostile: the store, its twin, and the round. */
#include "tests/hostile/hostile.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "cachecore/disk/space/evict.h"
#include "cachecore/disk/build_lock.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/reuse.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/recorder.h"
#include "cachecore/record/totals.h"
#include "common/clock.h"
#include "common/file.h"
#include "tests/support/touch.h"
#include "tests/support/unit.h"
#include "tests/support/remove_tree.h"

#define TOOL_SECONDS 60

static char current[512];	/* what the alarm is for */

static void too_long(int number)
{
	(void)number;
	(void)!write(STDERR_FILENO, "took too long: ", 15);
	(void)!write(STDERR_FILENO, current, strlen(current));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(1);
}

void hostile_time_limit(unsigned int seconds, const char *what)
{
	(void)snprintf(current, sizeof(current), "%s", what);
	(void)signal(SIGALRM, too_long);
	(void)alarm(seconds);
}

static void count_message(void *ctx, enum cmn_log_level level, const char *message)
{
	struct hostile *hostile = ctx;

	(void)level;
	(void)message;
	hostile->messages++;
}

static const char *below(const char *base, const char *relative)
{
	static char paths[2][8400];
	static unsigned int turn;
	char *path = paths[turn++ % 2];

	(void)snprintf(path, sizeof(paths[0]), "%s%s%s", base, *relative ? "/" : "", relative);
	return path;
}

const char *hostile_path(const struct hostile *hostile, const char *relative)
{
	return below(hostile->root, relative);
}

const char *hostile_twin_path(const struct hostile *hostile, const char *relative)
{
	char store[4300];

	(void)snprintf(store, sizeof(store), "%s/store", hostile->outside);
	return below(store, relative);
}

static enum cmn_status put_image(struct cc_store *store, const struct cc_key *key, const char *image)
{
	struct cc_manifest *manifest = cc_manifest_new();
	struct cc_entry *entry = cc_entry_new(1000);
	enum cmn_status status;

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_add_absent(manifest, "/nowhere/absent.h"), CMN_OK);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, image, strlen(image));
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	status = cc_store_put(store, key, entry);
	cc_entry_unref(entry);
	return status;
}

enum cmn_status hostile_put(struct hostile *hostile)
{
	return put_image(hostile->store, &hostile->key, HOSTILE_IMAGE);
}

const char *hostile_get(struct hostile *hostile)
{
	static char text[256];
	struct cc_entry *entry = NULL;
	struct cc_store_report report;
	struct cmn_view view;

	if (cc_store_get(hostile->store, &hostile->key, NULL, SIZE_MAX, &entry, &report) != CMN_OK)
		return "miss";
	text[0] = '\0';
	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &view))
		(void)snprintf(text, sizeof(text), "%.*s", (int)view.len, (const char *)view.data);
	cc_entry_unref(entry);
	touch_place(hostile->store, &report.place);
	return text;
}

/* Everything that a root may hold, made by its makers. */
static void fill(const char *root, const struct cc_key *key, const char *image)
{
	struct cc_config config = { .dir = (char *)(uintptr_t)root,
				    .max_size = UINT64_C(8) << 30,
				    .max_device_image_size = UINT64_C(1) << 30,
				    .threshold_days = 90 };
	struct cc_recipe recipe = { .key = cc_key_view(key) };
	struct cmn_buffer encoded;
	char name[CC_RECIPE_NAME_SIZE], path[4400], words[CC_REUSE_WORDS_SIZE];
	struct cc_store *store;
	int fd;

	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, NULL, &store), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(put_image(store, key, image), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_store_clean(store, NULL), CMN_OK);
	cc_store_close(store);
	/* stats.txt and the old log, and then the log. */
	cc_recorder_note_cleared(root);
	CU_ASSERT_EQUAL_FATAL(cc_root_open(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL(cc_totals_fold(fd, UINT64_MAX), CMN_OK);
	(void)close(fd);
	cc_recorder_note_cleared(root);
	CU_ASSERT_TRUE(cc_reuse_is_likely(root, cc_key_view(key), 1, cmn_clock_realtime(), words));
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_put(root, cmn_buffer_view(&encoded)), CMN_OK);
	cc_recipe_name(recipe.key, name);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_quarantine(fd, name), CMN_OK);
	(void)close(fd);
	/* In quarantine it would not be written; this one is another file of the same name. */
	(void)snprintf(path, sizeof(path), "%s/recipes/%s", root, name);
	unit_write_bytes(path, encoded.data, encoded.len);
	cmn_buffer_release(&encoded);
	CU_ASSERT_EQUAL_FATAL(cc_recipes_open(root, &fd), CMN_OK);
	CU_ASSERT_EQUAL(cc_recipes_set_attempts(fd, name, 1), CMN_OK);
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "%s/recipes/replay.lock", root);
	unit_write(path, "");
}

static void name_things(struct hostile *hostile)
{
	struct cmn_hash hash = cmn_hash_of(cc_key_view(&hostile->key).data,
					   cc_key_view(&hostile->key).len);
	char hex[CMN_HASH_HEX_SIZE];

	cmn_hash_hex(&hash, hex);
	cc_entry_dir_path(cc_key_view(&hostile->key), hostile->entry_dir);
	(void)snprintf(hostile->recipe, sizeof(hostile->recipe), "recipes/%s.recipe", hex);
	(void)snprintf(hostile->attempts, sizeof(hostile->attempts), "recipes/%s.attempts", hex);
}

static struct cmn_buffer seen;
static size_t seen_from;

static int see(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	struct cmn_buffer content = { 0 };
	struct cmn_hash hash = { { 0 } };
	char hex[CMN_HASH_HEX_SIZE];

	(void)where;
	if (kind == FTW_F && S_ISREG(info->st_mode) &&
	    cmn_file_read(AT_FDCWD, path, 1 << 20, false, &content) == CMN_OK)
		hash = cmn_hash_of(content.data, content.len);
	cmn_buffer_release(&content);
	cmn_hash_hex(&hash, hex);
	/* Not the change time: making and removing hard links is what tests do. */
	cmn_buffer_printf(&seen, "%s %o %u %lld %lld.%09ld %s\n", path + seen_from,
			  (unsigned int)info->st_mode, (unsigned int)info->st_uid,
			  S_ISDIR(info->st_mode) ? 0LL : (long long)info->st_size,
			  (long long)info->st_mtim.tv_sec, info->st_mtim.tv_nsec, hex);
	return 0;
}

/* The caller's. Without anything in it a directory's listing has itself. */
static char *describe(const char *directory)
{
	seen = (struct cmn_buffer){ 0 };
	seen_from = strlen(directory);
	CU_ASSERT_EQUAL_FATAL(nftw(directory, see, 16, FTW_PHYS), 0);
	return cmn_buffer_take_string(&seen);
}

void hostile_open(struct hostile *hostile, const char *name)
{
	memset(hostile, 0, sizeof(*hostile));
	(void)snprintf(hostile->outside, sizeof(hostile->outside), "%s/%s-outside", unit_dir(), name);
	(void)snprintf(hostile->root, sizeof(hostile->root), "%s/%s-root", unit_dir(), name);
	hostile->config = (struct cc_config){
		.dir = hostile->root,
		.persistent = true,
		.max_size = UINT64_C(8) << 30,
		.threshold_days = 90,
		.max_device_image_size = UINT64_C(1) << 30,
		.compression = CC_COMPRESSION_AUTO,
	};
	hostile->log = (struct cmn_log){ CMN_LOG_DEBUG, count_message, hostile };
	cc_key_init(&hostile->key);
	cc_key_add_text(&hostile->key, CC_PART_DEVICE, "device", "d");
	cc_key_add_text(&hostile->key, CC_PART_IMAGE, "source", "kernel void f() {}");
	cc_key_add_text(&hostile->key, CC_PART_OPTIONS, "options", "-O2");
	name_things(hostile);
	CU_ASSERT_EQUAL_FATAL(mkdir(hostile->outside, 0700), 0);
	fill(hostile_twin_path(hostile, ""), &hostile->key, HOSTILE_POISON);
	unit_write(below(hostile->outside, "file"), "outside");
	unit_write(below(hostile->outside, "dir/inner"), "inside of outside");
	CU_ASSERT_EQUAL_FATAL(mkdir(below(hostile->outside, "empty"), 0700), 0);
	CU_ASSERT_EQUAL_FATAL(mkfifo(below(hostile->outside, "fifo"), 0600), 0);
	fill(hostile->root, &hostile->key, HOSTILE_IMAGE);
	unit_write(hostile_path(hostile, CC_BUILD_LOCK_NAME), "");
	unit_write(hostile_twin_path(hostile, CC_BUILD_LOCK_NAME), "");
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&hostile->config, &hostile->log, &hostile->store), CMN_OK);
	hostile->before = describe(hostile->outside);
}

void hostile_close(struct hostile *hostile)
{
	cc_store_close(hostile->store);
	cc_key_release(&hostile->key);
	free(hostile->before);
	remove_tree(hostile->root);
	remove_tree(hostile->outside);
}

void hostile_expect_outside_untouched(struct hostile *hostile, const char *what)
{
	char *after = describe(hostile->outside);
	bool same = after && strcmp(hostile->before, after) == 0;
	int fd = open(below(hostile->outside, "fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int waiting = -1;

	if (!same)
		(void)fprintf(stderr, "  %s: outside was\n%sand is\n%s", what, hostile->before, after);
	CU_ASSERT_TRUE(same);
	CU_ASSERT_EQUAL(ioctl(fd, FIONREAD, &waiting), 0);
	HOSTILE_ASSERT(what, waiting == 0);
	(void)close(fd);
	free(after);
}

int hostile_tool(struct hostile *hostile, const char *verb, const char *option)
{
	int status = 0, null;
	pid_t pid = fork();

	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		null = open("/dev/null", O_RDWR);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		(void)signal(SIGALRM, SIG_DFL);
		(void)alarm(TOOL_SECONDS);	/* stays set in the new program */
		(void)execl(CKCACHE_PROGRAM, CKCACHE_PROGRAM, verb, "--dir", hostile->root, option,
			    (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void use_recipes(struct hostile *hostile)
{
	struct cc_recipe recipe = { .key = cc_key_view(&hostile->key), .directory = cmn_view_of("/") };
	struct cc_recipes_names names;
	struct cc_recipes_count count;
	struct cmn_buffer encoded, file = { 0 };
	int fd, lock;

	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &encoded), CMN_OK);
	/* Statuses are what they are: these must end, and leave the outside alone. */
	(void)!cc_recipes_put(hostile->root, cmn_buffer_view(&encoded));
	cmn_buffer_release(&encoded);
	(void)!cc_recipes_count(hostile->root, &count);
	if (cc_recipes_open(hostile->root, &fd) != CMN_OK)
		return;
	if (cc_recipes_lock(fd, &lock) == CMN_OK) {
		(void)!cc_recipes_list(fd, &names);
		for (size_t i = 0; i < names.count; i++) {
			(void)!cc_recipes_read(fd, names.names[i], &file, &recipe);
			cmn_buffer_release(&file);
			(void)!cc_recipes_set_attempts(fd, names.names[i],
						       cc_recipes_attempts(fd, names.names[i]) + 1);
			(void)!cc_recipes_quarantine(fd, names.names[i]);
		}
		cc_recipes_names_release(&names);
		(void)close(lock);
	}
	(void)close(fd);
}

static void see_event(void *ctx, const struct cc_event_record *event)
{
	(void)event;
	++*(unsigned int *)ctx;
}

static void use_events(struct hostile *hostile)
{
	const struct cc_event miss = { .kind = CC_EVENT_MISS, .key = &hostile->key };
	struct cc_recorder recorder = { 0 };
	unsigned int count = 0;
	const struct cc_events_reader reader = { .event = see_event, .ctx = &count };
	struct cc_totals *totals;
	int fd;

	cc_recorder_write(&recorder, hostile->root, &miss);
	(void)!cc_events_read(hostile->root, CMN_FILE_TRUSTED, &reader);
	(void)!cc_totals_load(hostile->root, &totals);
	free(totals);
	if (cc_root_open(hostile->root, &fd) != CMN_OK)
		return;
	(void)!cc_totals_fold(fd, UINT64_MAX);
	(void)close(fd);
	cc_recorder_write(&recorder, hostile->root, &miss);
}

static void use_the_rest(struct hostile *hostile)
{
	char words[CC_REUSE_WORDS_SIZE];
	struct cc_build_lock *lock = NULL;

	(void)cc_reuse_is_likely(hostile->root, cc_key_view(&hostile->key), 2, cmn_clock_realtime(),
				 words);
	/* Nobody builds: nobody is waited for, whatever lies in the lock's place. */
	(void)cc_build_lock_take(hostile->root, cc_key_view(&hostile->key), 50000000, &lock);
	cc_build_lock_release(lock);
	use_events(hostile);
	use_recipes(hostile);
}

static bool visit(void *ctx, const struct cc_store_item *item)
{
	unsigned int *count = ctx;

	(void)item;
	return ++*count < 1000;
}

static void expect_right_or_miss(struct hostile *hostile, const char *what)
{
	const char *got = hostile_get(hostile);
	bool right = strcmp(got, "miss") == 0 || strcmp(got, HOSTILE_IMAGE) == 0 ||
		     (hostile->poison_is_fine && strcmp(got, HOSTILE_POISON) == 0);

	if (!right)
		(void)fprintf(stderr, "  %s: a look-up gave \"%s\"\n", what, got);
	CU_ASSERT_TRUE(right);
}

void hostile_exercise(struct hostile *hostile, const char *what)
{
	unsigned int descriptors = unit_count_in("/proc/self/fd"), count = 0;
	struct cc_key other;
	int code;

	hostile_time_limit(30, what);
	expect_right_or_miss(hostile, what);
	(void)!cc_store_walk(hostile->store, true, visit, &count);
	use_the_rest(hostile);
	expect_right_or_miss(hostile, what);
	(void)!hostile_put(hostile);
	expect_right_or_miss(hostile, what);
	cc_key_init_copy(&other, &hostile->key);
	cc_key_add_text(&other, CC_PART_OPTIONS, "more", "o");
	(void)!put_image(hostile->store, &other, "another image");
	(void)!cc_store_remove(hostile->store, &other);
	cc_key_release(&other);
	(void)!cc_store_clean(hostile->store, NULL);
	expect_right_or_miss(hostile, what);
	hostile_time_limit(0, "");
	code = hostile_tool(hostile, "verify", NULL);
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	code = hostile_tool(hostile, "list", NULL);
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	code = hostile_tool(hostile, "explain", "--all");
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	code = hostile_tool(hostile, "stats", NULL);
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	hostile_time_limit(30, what);
	hostile->config.max_size = 200;	/* whatever there is must go */
	(void)!cc_store_clean(hostile->store, NULL);
	hostile->config.max_size = UINT64_C(8) << 30;
	hostile_time_limit(0, "");
	code = hostile_tool(hostile, "clear", NULL);
	HOSTILE_ASSERT(what, code == 0 || code == 1);
	HOSTILE_ASSERT(what, unit_count_in("/proc/self/fd") == descriptors);
	hostile_expect_outside_untouched(hostile, what);
}

void hostile_expect_healed(struct hostile *hostile, const char *what)
{
	const char *got;

	hostile->poison_is_fine = false;
	HOSTILE_ASSERT(what, hostile_put(hostile) == CMN_OK);
	got = hostile_get(hostile);
	HOSTILE_ASSERT(what, strcmp(got, HOSTILE_IMAGE) == 0);
	hostile_expect_outside_untouched(hostile, what);
}

void hostile_shell(const char *pattern, ...)
{
	char command[8192];
	va_list args;

	va_start(args, pattern);
	(void)vsnprintf(command, sizeof(command), pattern, args);
	va_end(args);
	if (system(command) != 0) {
		(void)fprintf(stderr, "  failed: %s\n", command);
		CU_FAIL("shell");
	}
}
