/* SPDX-License-Identifier: MIT */
/*
 * exit_time: several caches and several copies of the module end together, while
 * a lock of the root is held: the process spends its time once.
 */
#include "layers/shared/driver/exit_time.h"

#include <dlfcn.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "tests/support/unit.h"

#define CACHES 16
#define MS UINT64_C(1000000)
#define EXIT_WAIT 500

static struct cc_cache *open_cache(void)
{
	struct cc_cache *cache = NULL;

	CU_ASSERT_EQUAL(setenv("CKCACHE_DIR", unit_dir(), 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_READ_ONLY_DIRS", "", 1), 0);
	CU_ASSERT_EQUAL(setenv("CKCACHE_EXIT_WAIT", "500", 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
	return cache;
}

static void put(struct cc_cache *cache)
{
	struct cc_entry *entry = cc_entry_new(1000000);
	struct cc_key key;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image", 5);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "test");
	cc_cache_put(cache, &key, entry);
	cc_key_release(&key);
	cc_entry_unref(entry);
}

/* A process that has the root's lock and is stopped. */
static pid_t hold_root(void)
{
	pid_t pid = fork();
	int state, fd;

	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open(unit_dir(), O_RDONLY | O_DIRECTORY);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)raise(SIGSTOP);
		_exit(1);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &state, WUNTRACED), pid);
	CU_ASSERT_TRUE_FATAL(WIFSTOPPED(state));
	return pid;
}

TEST(the_time_is_spent_once)
{
	struct cc_cache *caches[CACHES];
	void (*copy_flush)(struct cc_cache *cache);
	void *library = dlopen(COPY, RTLD_NOW | RTLD_LOCAL);
	uint64_t start, took;
	pid_t holder;

	CU_ASSERT_PTR_NOT_NULL_FATAL(library);
	*(void **)&copy_flush = dlsym(library, "exit_time_copy_flush");
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy_flush);
	holder = hold_root();
	start = cmn_clock_monotonic();
	/* One after another: each writer has just begun to wait. */
	for (int i = 0; i < CACHES; i++) {
		caches[i] = open_cache();
		put(caches[i]);
		(i % 2 ? copy_flush : drv_exit_time_flush)(caches[i]);
	}
	took = cmn_clock_monotonic() - start;
	if (took > CACHES * EXIT_WAIT * MS / 4)
		(void)printf("\n    %d caches took %.0f ms\n", CACHES, (double)took / 1e6);
	CU_ASSERT_TRUE(took <= CACHES * EXIT_WAIT * MS / 4);
	CU_ASSERT_EQUAL(kill(holder, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(holder, NULL, 0), holder);
	for (int i = 0; i < CACHES; i++)
		cc_cache_close(caches[i]);
}

TEST(nothing_to_end)
{
	drv_exit_time_flush(NULL);
}
