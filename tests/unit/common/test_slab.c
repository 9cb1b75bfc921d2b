/* SPDX-License-Identifier: MIT */
/* slab: room that is used again, lengths that are refused, buffers that outlive their slabs. */
#include "common/bytes.h"

#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

OWNER(struct cmn_slabs, cmn_slabs_free)

#define SHARE ((size_t)100000)		/* served by a block, many to one */
#define TOO_LARGE ((size_t)64 << 20)	/* more than a block */

/* Another thread that wants room while one makes a block. */
static struct cmn_slabs *wanted_meanwhile;
static bool got_any;

WRAPPED(void *, aligned_alloc, (size_t alignment, size_t size))
{
	struct cmn_slabs *slabs = wanted_meanwhile;
	struct cmn_buffer buf = { 0 };

	wanted_meanwhile = NULL;
	if (slabs)
		got_any = cmn_buffer_reserve_in(&buf, slabs, SHARE);
	cmn_buffer_release(&buf);
	return __real_aligned_alloc(alignment, size);
}

static struct cmn_slabs *new_slabs(void)
{
	struct cmn_slabs *slabs = cmn_slabs_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(slabs);
	return slabs;
}

/* A buffer full of one byte. */
static struct cmn_buffer take(struct cmn_slabs *slabs, size_t len, uint8_t byte)
{
	struct cmn_buffer buf = { 0 };

	CU_ASSERT_TRUE_FATAL(cmn_buffer_reserve_in(&buf, slabs, len));
	CU_ASSERT_PTR_NOT_NULL(buf.slab);
	CU_ASSERT_EQUAL(buf.len, 0);
	CU_ASSERT_TRUE_FATAL(buf.cap >= len);
	memset(buf.data, byte, len);
	buf.len = len;
	return buf;
}

static bool is_full_of(const struct cmn_buffer *buf, uint8_t byte)
{
	for (size_t i = 0; i < buf->len; i++) {
		if (buf->data[i] != byte)
			return false;
	}
	return true;
}

TEST(room_is_used_again_once_nobody_holds_any)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer a = take(slabs, SHARE, 1), b = take(slabs, SHARE, 2), c;
	const uint8_t *front = a.data;

	CU_ASSERT_TRUE(b.data >= a.data + SHARE);
	cmn_buffer_release(&a);
	CU_ASSERT_PTR_NULL(a.data);
	/* b is held: what was before it stays unused. */
	c = take(slabs, SHARE, 3);
	CU_ASSERT_TRUE(c.data >= b.data + SHARE);
	CU_ASSERT_TRUE(is_full_of(&b, 2));
	cmn_buffer_release(&c);
	cmn_buffer_release(&b);
	a = take(slabs, SHARE, 4);
	CU_ASSERT_PTR_EQUAL(a.data, front);
	cmn_buffer_release(&a);
}

TEST(a_full_block_makes_way_for_another)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer bufs[100];	/* more than twice a block */
	bool more_than_one = false;

	for (uint8_t i = 0; i < 100; i++)
		bufs[i] = take(slabs, SHARE, i);
	for (uint8_t i = 0; i < 100; i++) {
		CU_ASSERT_TRUE(is_full_of(&bufs[i], i));
		more_than_one |= bufs[i].slab != bufs[0].slab;
	}
	CU_ASSERT_TRUE(more_than_one);
	for (uint8_t i = 0; i < 100; i++)
		cmn_buffer_release(&bufs[i]);
}

TEST(refuses_what_malloc_serves_better)
{
	static const size_t lens[] = { 0, 1, 1000, TOO_LARGE, SIZE_MAX - 63, SIZE_MAX };
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer buf = { .cap = 42 };	/* to be seen untouched */

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		CU_ASSERT_FALSE(cmn_buffer_reserve_in(&buf, slabs, lens[i]));
	CU_ASSERT_FALSE(cmn_buffer_reserve_in(&buf, NULL, SHARE));
	CU_ASSERT_PTR_NULL(buf.data);
	CU_ASSERT_PTR_NULL(buf.slab);
	CU_ASSERT_EQUAL(buf.cap, 42);
	cmn_slabs_free(NULL);
}

/* Around every power of two, so also around the limits, wherever they are. */
TEST(what_is_given_is_there_to_its_end)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	unsigned int given = 0;

	for (size_t power = 1024; power <= TOO_LARGE; power *= 2) {
		for (size_t len = power - 130; len <= power + 130; len++) {
			struct cmn_buffer buf = { 0 };

			if (!cmn_buffer_reserve_in(&buf, slabs, len))
				continue;
			given++;
			CU_ASSERT_TRUE_FATAL(buf.cap >= len);
			CU_ASSERT_EQUAL((uintptr_t)buf.data % 64, 0);
			buf.data[0] = 1;
			memset(buf.data + buf.cap - 64, 1, 64);
			cmn_buffer_release(&buf);
		}
	}
	CU_ASSERT_TRUE(given > 0);
}

TEST(buffers_outlive_their_slabs)
{
	struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer a = take(slabs, SHARE, 1), b = take(slabs, SHARE, 2);

	cmn_slabs_free(slabs);
	CU_ASSERT_TRUE(is_full_of(&a, 1));
	cmn_buffer_release(&a);
	CU_ASSERT_TRUE(is_full_of(&b, 2));
	cmn_buffer_release(&b);
}

TEST(a_buffer_that_grows_moves_out_with_its_content)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer buf = take(slabs, SHARE, 1), next;
	const uint8_t *front = buf.data;

	CU_ASSERT_TRUE(cmn_buffer_reserve(&buf, buf.cap - buf.len));
	CU_ASSERT_PTR_EQUAL(buf.data, front);
	while (buf.slab && !buf.failed)
		cmn_buffer_append_u8(&buf, 1);
	CU_ASSERT_FALSE_FATAL(buf.failed);
	CU_ASSERT_PTR_NOT_EQUAL(buf.data, front);
	CU_ASSERT_TRUE(buf.len > SHARE);
	/* Its share is free again, and not its any more. */
	next = take(slabs, SHARE, 2);
	CU_ASSERT_PTR_EQUAL(next.data, front);
	CU_ASSERT_TRUE(is_full_of(&buf, 1));
	cmn_buffer_release(&buf);
	CU_ASSERT_TRUE(is_full_of(&next, 2));
	cmn_buffer_release(&next);
}

struct holder {
	struct cmn_slabs *slabs;
	pthread_barrier_t *barrier;
	uint8_t byte;
	unsigned int wrong;
};

#define HELD 4	/* at once, so that a block is freed late and by turns */

static void *hold_and_release(void *ctx)
{
	struct holder *holder = ctx;
	struct cmn_buffer held[HELD] = { 0 };

	(void)pthread_barrier_wait(holder->barrier);
	for (unsigned int i = 0; i < 4000; i++) {
		struct cmn_buffer *buf = &held[i % HELD];
		size_t len = SHARE / 2 + i % 1000 * 10;

		holder->wrong += !is_full_of(buf, holder->byte);
		cmn_buffer_release(buf);
		/* Refused while the other is inside. */
		if (cmn_buffer_reserve_in(buf, holder->slabs, len)) {
			buf->len = 64;	/* the front is what an overlap would hit */
			memset(buf->data, holder->byte, buf->len);
		}
	}
	for (unsigned int i = 0; i < HELD; i++)
		cmn_buffer_release(&held[i]);
	return NULL;
}

TEST(two_threads_never_share_room)
{
	struct cmn_slabs *slabs = new_slabs();
	pthread_barrier_t barrier;
	struct holder holders[2] = { { slabs, &barrier, 1, 0 }, { slabs, &barrier, 2, 0 } };
	struct cmn_buffer buf;

	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&barrier, NULL, 2), 0);
	unit_run_threads(2, hold_and_release, holders, sizeof(holders[0]));
	CU_ASSERT_EQUAL(holders[0].wrong + holders[1].wrong, 0);
	/* Nobody was left inside. */
	buf = take(slabs, SHARE, 3);
	cmn_buffer_release(&buf);
	cmn_slabs_free(slabs);
	(void)pthread_barrier_destroy(&barrier);
}

TEST(shares_begin_at_whole_cache_lines)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer a = take(slabs, SHARE + 1, 1), b = take(slabs, SHARE + 3, 2);

	CU_ASSERT_EQUAL((uintptr_t)a.data % 64, 0);
	CU_ASSERT_EQUAL((uintptr_t)b.data % 64, 0);
	cmn_buffer_release(&a);
	cmn_buffer_release(&b);
}

TEST(a_string_in_a_block_is_given_in_room_of_its_own)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	struct cmn_buffer buf = take(slabs, SHARE, 'x');
	const uint8_t *block = buf.data;
	char *text;

	buf.len = 5;
	text = cmn_buffer_take_string(&buf);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(text, "xxxxx");
	CU_ASSERT_PTR_NOT_EQUAL(text, block);
	if ((const uint8_t *)text != block)
		free(text);
}

TEST(two_threads_at_once_share_no_room)
{
	OWNED(owned_cmn_slabs_free) struct cmn_slabs *slabs = new_slabs();
	OWNED(cmn_buffer_release) struct cmn_buffer buf = { 0 };

	wanted_meanwhile = slabs;
	CU_ASSERT_TRUE(cmn_buffer_reserve_in(&buf, slabs, SHARE));
	CU_ASSERT_PTR_NULL(wanted_meanwhile);
	CU_ASSERT_FALSE(got_any);
}
