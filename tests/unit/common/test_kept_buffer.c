/* SPDX-License-Identifier: MIT */
/* kept_buffer: which buffer is kept, which is given back, and two threads at one. */
#include "common/kept_buffer.h"

#include <pthread.h>
#include <string.h>

#include "tests/support/unit.h"

#define MIB ((size_t)1 << 20)

static struct cmn_buffer make(size_t cap)
{
	struct cmn_buffer buf = { 0 };

	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve(&buf, cap));
	CU_ASSERT_EQUAL_FATAL(buf.cap, cap);
	return buf;
}

TEST(gives_nothing_before_it_has_something)
{
	struct cmn_kept_buffer spare = { 0 };
	struct cmn_buffer buf = cmn_kept_buffer_take(&spare);

	CU_ASSERT_PTR_NULL(buf.data);
	CU_ASSERT_EQUAL(buf.cap, 0);
	cmn_kept_buffer_give(&spare, &buf);
	cmn_kept_buffer_release(&spare);
}

TEST(gives_back_emptied_what_it_was_given)
{
	struct cmn_kept_buffer spare = { 0 };
	struct cmn_buffer buf = make(1000), again, none;
	const uint8_t *data = buf.data;

	cmn_buffer_append_text(&buf, "text");
	cmn_kept_buffer_give(&spare, &buf);
	CU_ASSERT_PTR_NULL(buf.data);
	CU_ASSERT_EQUAL(buf.cap, 0);
	again = cmn_kept_buffer_take(&spare);
	CU_ASSERT_PTR_EQUAL(again.data, data);
	CU_ASSERT_EQUAL(again.cap, 1000);
	CU_ASSERT_EQUAL(again.len, 0);
	/* It is the taker's alone. */
	none = cmn_kept_buffer_take(&spare);
	CU_ASSERT_PTR_NULL(none.data);
	cmn_kept_buffer_give(&spare, &again);
	cmn_kept_buffer_release(&spare);
}

TEST(keeps_the_larger_of_two)
{
	struct cmn_kept_buffer spare = { 0 };

	for (int large_first = 0; large_first < 2; large_first++) {
		struct cmn_buffer first = make(large_first ? 5000 : 1000);
		struct cmn_buffer second = make(large_first ? 1000 : 5000), kept;

		cmn_kept_buffer_give(&spare, &first);
		cmn_kept_buffer_give(&spare, &second);
		CU_ASSERT_PTR_NULL(second.data);
		kept = cmn_kept_buffer_take(&spare);
		CU_ASSERT_EQUAL(kept.cap, 5000);
		cmn_buffer_release(&kept);
	}
	cmn_kept_buffer_release(&spare);
}

TEST(does_not_keep_what_is_huge)
{
	struct cmn_kept_buffer spare = { 0 };
	struct cmn_buffer small = make(1000), buf = make(MIB + 1);

	cmn_kept_buffer_give(&spare, &small);
	cmn_kept_buffer_give(&spare, &buf);
	CU_ASSERT_PTR_NULL(buf.data);
	buf = cmn_kept_buffer_take(&spare);
	CU_ASSERT_EQUAL(buf.cap, 1000);
	cmn_buffer_release(&buf);
	buf = make(MIB);
	cmn_kept_buffer_give(&spare, &buf);
	buf = cmn_kept_buffer_take(&spare);
	CU_ASSERT_EQUAL(buf.cap, MIB);
	cmn_buffer_release(&buf);
	cmn_kept_buffer_release(&spare);
}

TEST(does_not_keep_what_failed)
{
	struct cmn_kept_buffer spare = { 0 };
	struct cmn_buffer buf = make(1000);

	CU_ASSERT_FALSE(cmn_buffer_reserve(&buf, SIZE_MAX));
	cmn_kept_buffer_give(&spare, &buf);
	CU_ASSERT_FALSE(buf.failed);
	buf = cmn_kept_buffer_take(&spare);
	CU_ASSERT_PTR_NULL(buf.data);
	CU_ASSERT_FALSE(buf.failed);
	cmn_kept_buffer_release(&spare);
}

struct user {
	struct cmn_kept_buffer *spare;
	pthread_barrier_t *barrier;
	uint8_t byte;
	unsigned int wrong;
};

static void *take_fill_and_give(void *ctx)
{
	struct user *user = ctx;
	uint8_t bytes[100];

	memset(bytes, user->byte, sizeof(bytes));
	(void)pthread_barrier_wait(user->barrier);
	for (unsigned int i = 0; i < 20000; i++) {
		struct cmn_buffer buf = cmn_kept_buffer_take(user->spare);

		user->wrong += buf.len != 0;
		cmn_buffer_append(&buf, bytes, sizeof(bytes));
		cmn_buffer_append(&buf, bytes, sizeof(bytes) - i % 100);
		user->wrong += buf.failed || memcmp(buf.data, bytes, sizeof(bytes)) != 0;
		cmn_kept_buffer_give(user->spare, &buf);
	}
	return NULL;
}

TEST(two_threads_never_have_the_same)
{
	struct cmn_kept_buffer spare = { 0 };
	pthread_barrier_t barrier;
	struct user users[2] = { { &spare, &barrier, 1, 0 }, { &spare, &barrier, 2, 0 } };
	pthread_t threads[2];
	struct cmn_buffer buf;

	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, 2), 0);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_fill_and_give,
						     &users[i]), 0);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
		CU_ASSERT_EQUAL(users[i].wrong, 0);
	}
	/* Nobody was left inside. */
	buf = make(5000);
	cmn_kept_buffer_give(&spare, &buf);
	buf = cmn_kept_buffer_take(&spare);
	CU_ASSERT_EQUAL(buf.cap, 5000);
	cmn_buffer_release(&buf);
	cmn_kept_buffer_release(&spare);
	(void)pthread_barrier_destroy(&barrier);
}
