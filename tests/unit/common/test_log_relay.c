/* SPDX-License-Identifier: MIT */
/* log_relay: what the cache's own threads say is said by the application's. */
#include "common/log_relay.h"

#include "common/background.h"
#include "tests/support/unit.h"

static char said[4096];
static pthread_t said_by;
static struct cmn_log_relay relay;

static void sink(void *ctx, enum cmn_log_level level, const char *message)
{
	size_t len = strlen(said);

	(void)ctx;
	said_by = pthread_self();
	(void)snprintf(said + len, sizeof(said) - len, "%d %s;", (int)level, message);
}

static const struct cmn_log target = { .level = CMN_LOG_WARNING, .sink = sink };

BEFORE_EACH
{
	said[0] = '\0';
}

static void speak(void *arg)
{
	const int *count = arg;

	for (int i = 0; i < *count; i++)
		cmn_log_write(&relay.log, CMN_LOG_ERROR, "own %d", i);
	cmn_log_write(&relay.log, CMN_LOG_DEBUG, "too much");
}

static void speak_in_the_background(int count)
{
	pthread_t thread;

	CU_ASSERT_FATAL(cmn_background_start(speak, &count, &thread));
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
}

#if !UNIT_SHARED_DESCRIPTORS
TEST(what_a_thread_of_the_caches_says_waits_for_the_applications)
{
	CU_ASSERT_FATAL(cmn_log_relay_init(&relay, &target));
	speak_in_the_background(2);
	CU_ASSERT_STRING_EQUAL(said, "");
	cmn_log_relay_deliver(&relay);
	CU_ASSERT_STRING_EQUAL(said, "1 own 0;1 own 1;");
	CU_ASSERT(pthread_equal(said_by, pthread_self()));
	/* In its order. */
	speak_in_the_background(1);
	cmn_log_write(&relay.log, CMN_LOG_WARNING, "%s", "application's");
	CU_ASSERT_STRING_EQUAL(said, "1 own 0;1 own 1;1 own 0;2 application's;");
	/* The last ones too. */
	said[0] = '\0';
	speak_in_the_background(1);
	cmn_log_relay_release(&relay);
	CU_ASSERT_STRING_EQUAL(said, "1 own 0;");
}

TEST(only_so_much_is_kept)
{
	int count = 0;

	CU_ASSERT_FATAL(cmn_log_relay_init(&relay, &target));
	speak_in_the_background(100);
	cmn_log_relay_deliver(&relay);
	for (const char *at = said; (at = strchr(at, ';')) != NULL; at++)
		count++;
	CU_ASSERT_EQUAL(count, 32);
	CU_ASSERT_EQUAL(strncmp(said, "1 own 0;1 own 1;", 16), 0);
	/* There is room again. */
	said[0] = '\0';
	speak_in_the_background(1);
	cmn_log_relay_release(&relay);
	CU_ASSERT_STRING_EQUAL(said, "1 own 0;");
}

#endif

TEST(nobody_need_listen)
{
	CU_ASSERT_FATAL(cmn_log_relay_init(&relay, NULL));
	speak_in_the_background(2);
	cmn_log_write(&relay.log, CMN_LOG_ERROR, "nothing");
	cmn_log_relay_release(&relay);
	CU_ASSERT_STRING_EQUAL(said, "");
}

#if !UNIT_SHARED_DESCRIPTORS
TEST(a_child_does_not_say_what_its_parent_will)
{
	pid_t child;

	CU_ASSERT_FATAL(cmn_log_relay_init(&relay, &target));
	speak_in_the_background(2);
	cmn_log_relay_fork_prepare(&relay);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		cmn_log_relay_fork_child(&relay);
		if (pthread_mutex_trylock(&relay.lock) != 0 || pthread_mutex_unlock(&relay.lock) != 0)
			_exit(2);
		cmn_log_relay_release(&relay);
		_exit(said[0] ? 1 : 0);
	}
	cmn_log_relay_fork_parent(&relay);
	CU_ASSERT(unit_ended_well(child));
	cmn_log_relay_release(&relay);
	CU_ASSERT_STRING_EQUAL(said, "1 own 0;1 own 1;");
}
#else
TEST(where_its_files_are_the_applications_a_thread_speaks_itself)
{
	CU_ASSERT_FATAL(cmn_log_relay_init(&relay, &target));
	speak_in_the_background(2);
	CU_ASSERT_STRING_EQUAL(said, "1 own 0;1 own 1;");
	CU_ASSERT_FALSE(pthread_equal(said_by, pthread_self()));
	cmn_log_relay_release(&relay);
}
#endif
