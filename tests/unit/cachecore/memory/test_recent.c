/* SPDX-License-Identifier: MIT */
/*
 * recent: hits that take no lock of the maps: they are found, also where keys
 * are alike or many, never after what they lead to has gone, and they count
 * for the eviction list, in order, on whatever processor they come.
 */
#include "cachecore/memory/recent.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/memory/programs_internal.h"
#include "tests/support/unit.h"

#define ALARM_S 240	/* who waits for a lock that is held would wait for ever */
#define LONG_KEY 4096
#define VERY_LONG_KEY ((size_t)256 << 10)	/* the map borrows it while it is built */

/* A counted value. Every test ends with none alive. */
struct value {
	atomic_int refs;
};

static atomic_int alive;
static void (*on_retain)(void);	/* called by each retain, or NULL; of one thread's tests alone */

static void value_unref(void *arg)
{
	struct value *value = arg;

	if (atomic_fetch_sub(&value->refs, 1) == 1) {
		atomic_fetch_sub(&alive, 1);
		free(value);
	}
}

static void value_ref(void *arg)
{
	struct value *value = arg;

	atomic_fetch_add(&value->refs, 1);
	if (on_retain)
		on_retain();
}

static const struct cc_value_ops counted = { value_ref, value_unref };

static struct cc_programs *programs_new(uint64_t threshold)
{
	struct cc_programs *programs = cc_programs_new(threshold, &counted, &counted);

	CU_ASSERT_PTR_NOT_NULL_FATAL(programs);
	return programs;
}

static void programs_end(struct cc_programs *programs)
{
	cc_programs_free(programs);
	CU_ASSERT_EQUAL(atomic_load(&alive), 0);
}

/* ctx: the size that it says, as a number. */
static enum cmn_status build(void *ctx, struct cc_build_output *ret)
{
	struct value *value = calloc(1, sizeof(*value));

	if (!value)
		return CMN_ERR_NOMEM;
	atomic_init(&value->refs, 1);
	atomic_fetch_add(&alive, 1);
	ret->value = value;
	ret->size = ctx ? *(size_t *)ctx : 1;
	return CMN_OK;
}

/* getOrBuild of a program, or with a name of its kernel. The value is given back: its address tells it apart. */
static enum cc_way use_view(struct cc_programs *programs, struct cmn_view key, const char *kernel,
			    void **ret_value)
{
	struct cc_build_taken taken;
	enum cmn_status status;

	if (kernel)
		status = cc_kernels_get_or_build(programs, key, cmn_view_of(kernel), build, NULL, &taken);
	else
		status = cc_programs_get_or_build(programs, key, build, NULL, false, &taken);
	CU_ASSERT_EQUAL_FATAL(status, CMN_OK);
	value_unref(taken.value);
	if (ret_value)
		*ret_value = taken.value;
	return taken.way;
}

static enum cc_way use(struct cc_programs *programs, const char *key, const char *kernel)
{
	return use_view(programs, cmn_view_of(key), kernel, NULL);
}

static bool is_there(struct cc_programs *programs, const char *key)
{
	void *value;

	if (cc_programs_get(programs, cmn_view_of(key), &value) != CMN_OK)
		return false;
	value_unref(value);
	return true;
}

/* To the processor of this number among those that the test may use; false: there are fewer. */
static bool move_to_processor(size_t number)
{
	static cpu_set_t allowed;
	static bool known;
	cpu_set_t one;

	if (!known)
		known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
	for (int i = 0; known && i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &allowed) || number-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		return pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0;
	}
	return false;
}

TEST(a_program_that_is_fetched_again_takes_no_lock_of_the_maps)
{
	struct cc_programs *programs = programs_new(100);
	void *value = NULL;

	(void)move_to_processor(0);	/* else another one's shard might be empty */
	CU_ASSERT_EQUAL(use(programs, "key", NULL), CC_WAY_BUILT);
	CU_ASSERT_TRUE(is_there(programs, "key"));
	pthread_mutex_lock(&programs->lock);
	CU_ASSERT_TRUE(is_there(programs, "key"));
	CU_ASSERT_EQUAL(use_view(programs, cmn_view_of("key"), NULL, &value), CC_WAY_FOUND);
	pthread_mutex_unlock(&programs->lock);
	CU_ASSERT_PTR_NOT_NULL(value);
	programs_end(programs);
}

TEST(a_kernel_that_is_fetched_again_takes_no_lock_of_the_maps)
{
	struct cc_programs *programs = programs_new(100);

	(void)move_to_processor(0);
	CU_ASSERT_EQUAL(use(programs, "key", NULL), CC_WAY_BUILT);
	CU_ASSERT_EQUAL(use(programs, "key", "k"), CC_WAY_BUILT);
	CU_ASSERT_EQUAL(use(programs, "key", "k"), CC_WAY_FOUND);
	pthread_mutex_lock(&programs->lock);
	CU_ASSERT_EQUAL(use(programs, "key", "k"), CC_WAY_FOUND);
	pthread_mutex_unlock(&programs->lock);
	programs_end(programs);
}

TEST(kernels_of_one_name_are_told_apart_by_their_programs)
{
	static const char *const keys[] = { "a", "b", "" };
	struct cc_programs *programs = programs_new(0);
	void *first[3], *value;

	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < 3; i++) {
			enum cc_way way = round ? CC_WAY_FOUND : CC_WAY_BUILT;

			CU_ASSERT_EQUAL(use(programs, keys[i], NULL), way);
			CU_ASSERT_EQUAL(use_view(programs, cmn_view_of(keys[i]), "k", &value),
					way);
			CU_ASSERT_EQUAL(use(programs, keys[i], ""), way);
			if (round == 0)
				first[i] = value;
			CU_ASSERT_PTR_EQUAL(value, first[i]);
		}
	}
	programs_end(programs);
}

/* Keys that differ in one byte, each time another one: samples see few of them. */
TEST(long_keys_that_are_alike_are_told_apart)
{
	static unsigned char keys[64][LONG_KEY];
	struct cc_programs *programs = programs_new(0);
	void *first[64], *value;

	for (size_t round = 0; round < 4; round++) {
		for (size_t i = 0; i < 64; i++) {
			const struct cmn_view key = { keys[i], LONG_KEY };
			enum cc_way way = round ? CC_WAY_FOUND : CC_WAY_BUILT;

			keys[i][i * LONG_KEY / 64 + 17] = 1;
			CU_ASSERT_EQUAL(use_view(programs, key, NULL, &value), way);
			if (round == 0)
				first[i] = value;
			CU_ASSERT_PTR_EQUAL(value, first[i]);
			CU_ASSERT_EQUAL(use_view(programs, key, "k", NULL), way);
		}
	}
	programs_end(programs);
}

/* Two keys with one sample: the second one has a seat all the same. */
TEST(keys_of_one_sample_take_no_lock_of_the_maps)
{
	static unsigned char keys[2][LONG_KEY];
	struct cc_programs *programs = programs_new(0);

	keys[1][LONG_KEY / 2 + 17] = 1;
	CU_ASSERT_EQUAL_FATAL(cc_recent_key_sample((struct cmn_view){ keys[0], LONG_KEY }),
			      cc_recent_key_sample((struct cmn_view){ keys[1], LONG_KEY }));
	(void)move_to_processor(0);
	for (size_t i = 0; i < 4; i++)
		(void)use_view(programs, (struct cmn_view){ keys[i % 2], LONG_KEY }, NULL, NULL);
	pthread_mutex_lock(&programs->lock);
	for (size_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(use_view(programs, (struct cmn_view){ keys[i], LONG_KEY }, NULL,
					 NULL), CC_WAY_FOUND);
	pthread_mutex_unlock(&programs->lock);
	programs_end(programs);
}

struct hashed {
	unsigned int hash, number;
};

static int compare_hashed(const void *a, const void *b)
{
	const struct hashed *left = a, *right = b;

	return left->hash < right->hash ? -1 : left->hash > right->hash;
}

/* Two numbers whose bytes have one hash: among so many there are some eighty. */
static void find_collision(unsigned int ret[2])
{
	const unsigned int count = 800000;
	struct hashed *all = calloc(count, sizeof(*all));
	unsigned int i = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	for (; i < count; i++)
		all[i] = (struct hashed){ cc_recent_key_hash((struct cmn_view){ &i, sizeof(i) }), i };
	qsort(all, count, sizeof(*all), compare_hashed);
	for (i = 1; i < count && all[i].hash != all[i - 1].hash; i++)
		;
	CU_ASSERT_TRUE_FATAL(i < count);
	ret[0] = all[i - 1].number;
	ret[1] = all[i].number;
	free(all);
}

TEST(programs_of_one_hash_and_their_kernels_are_told_apart)
{
	struct cc_programs *programs = programs_new(0);
	void *first[2], *first_kernel[2], *value;
	unsigned int keys[2];

	find_collision(keys);
	for (size_t i = 0; i < 8; i++) {
		const struct cmn_view key = { &keys[i % 2], sizeof(keys[0]) };
		enum cc_way way = i < 2 ? CC_WAY_BUILT : CC_WAY_FOUND;

		CU_ASSERT_EQUAL(use_view(programs, key, NULL, &value), way);
		if (i < 2)
			first[i] = value;
		CU_ASSERT_PTR_EQUAL(value, first[i % 2]);
		CU_ASSERT_EQUAL(use_view(programs, key, "k", &value), way);
		if (i < 2)
			first_kernel[i] = value;
		CU_ASSERT_PTR_EQUAL(value, first_kernel[i % 2]);
	}
	programs_end(programs);
}

TEST(more_than_there_are_seats_are_all_found)
{
	struct cc_programs *programs = programs_new(0);
	static void *first[4 * RECENT_SETS * RECENT_WAYS];
	const size_t count = sizeof(first) / sizeof(first[0]);
	void *value;

	for (size_t i = 0; i < 3 * count; i++) {
		enum cc_way way = i < count ? CC_WAY_BUILT : CC_WAY_FOUND;
		char key[32];

		(void)snprintf(key, sizeof(key), "key %zu", i % count);	/* fits */
		CU_ASSERT_EQUAL(use_view(programs, cmn_view_of(key), NULL, &value), way);
		if (i < count)
			first[i] = value;
		CU_ASSERT_PTR_EQUAL(value, first[i % count]);
		CU_ASSERT_EQUAL(use(programs, key, "k"), way);
	}
	programs_end(programs);
}

TEST(nothing_is_found_that_has_gone_on_any_processor)
{
	struct cc_programs *programs = programs_new(3);
	size_t big = 3;
	struct cc_build_taken taken;

	for (size_t how = 0; how < 3; how++) {
		for (size_t i = 0; i < 3 && (i == 0 || move_to_processor(i)); i++) {
			(void)use(programs, "key", NULL);
			(void)use(programs, "key", "k");
			(void)use(programs, "key", "k");
		}
		if (how == 0) {
			cc_programs_remove(programs, cmn_view_of("key"), NULL);
		} else if (how == 1) {
			cc_programs_flush(programs);
		} else {
			CU_ASSERT_EQUAL_FATAL(cc_programs_get_or_build(programs,
								       cmn_view_of("big"), build,
								       &big, false, &taken), CMN_OK);
			value_unref(taken.value);
			cc_programs_remove(programs, cmn_view_of("big"), NULL);
		}
		CU_ASSERT_EQUAL(atomic_load(&alive), 0);
		for (size_t i = 0; i < 3 && (i == 0 || move_to_processor(i)); i++)
			CU_ASSERT_FALSE(is_there(programs, "key"));
		CU_ASSERT_EQUAL(use(programs, "key", NULL), CC_WAY_BUILT);
		CU_ASSERT_EQUAL(use(programs, "key", "k"), CC_WAY_BUILT);
		cc_programs_flush(programs);
	}
	programs_end(programs);
}

/* "a" was used last, in one of three ways, without any lock of the maps: b goes. */
TEST(a_hit_without_the_lock_moves_its_program_to_the_end)
{
	for (size_t how = 0; how < 3; how++) {
		struct cc_programs *programs = programs_new(3);

		CU_ASSERT_EQUAL(use(programs, "a", NULL), CC_WAY_BUILT);
		CU_ASSERT_EQUAL(use(programs, "a", "k"), CC_WAY_BUILT);
		for (int i = 0; i < 2; i++) {	/* they get their seats */
			CU_ASSERT_EQUAL(use(programs, "a", "k"), CC_WAY_FOUND);
			(void)use(programs, "b", NULL);
			(void)use(programs, "c", NULL);
		}
		CU_ASSERT_TRUE(how == 0 ? is_there(programs, "a") :
			       use(programs, "a", how == 1 ? NULL : "k") == CC_WAY_FOUND);
		CU_ASSERT_EQUAL(use(programs, "d", NULL), CC_WAY_BUILT);	/* c a d */
		CU_ASSERT_EQUAL(use(programs, "e", NULL), CC_WAY_BUILT);	/* a d e */
		CU_ASSERT_TRUE(is_there(programs, "a"));
		CU_ASSERT_FALSE(is_there(programs, "b"));
		CU_ASSERT_FALSE(is_there(programs, "c"));
		programs_end(programs);
	}
}

TEST(uses_on_several_processors_are_in_their_order)
{
	static const char *const keys[] = { "a", "b", "c" };
	struct cc_programs *programs = programs_new(3);
	size_t processors = 0;

	for (; processors < 3 && move_to_processor(processors); processors++) {
		for (size_t i = 0; i < 3; i++) {
			(void)use(programs, keys[i], NULL);
			(void)use(programs, keys[i], NULL);
		}
	}
	/* c on the first, a on the second, b on the third: c a b. */
	for (size_t i = 0; i < 3; i++) {
		(void)move_to_processor(i % (processors ? processors : 1));
		CU_ASSERT_TRUE(is_there(programs, keys[(i + 2) % 3]));
	}
	CU_ASSERT_EQUAL(use(programs, "d", NULL), CC_WAY_BUILT);
	CU_ASSERT_FALSE(is_there(programs, "c"));
	CU_ASSERT_EQUAL(use(programs, "e", NULL), CC_WAY_BUILT);
	CU_ASSERT_FALSE(is_there(programs, "a"));
	CU_ASSERT_TRUE(is_there(programs, "b"));
	programs_end(programs);
}

/* What a seat knows of its program's use is not lost with it. */
TEST(a_use_is_remembered_when_its_seat_is_displaced)
{
	const size_t others = 4 * RECENT_SETS * RECENT_WAYS;
	struct cc_programs *programs = programs_new(others + 2);

	(void)move_to_processor(0);
	CU_ASSERT_EQUAL(use(programs, "a", NULL), CC_WAY_BUILT);
	CU_ASSERT_EQUAL(use(programs, "a", NULL), CC_WAY_FOUND);
	CU_ASSERT_EQUAL(use(programs, "b", NULL), CC_WAY_BUILT);
	CU_ASSERT_EQUAL(use(programs, "a", NULL), CC_WAY_FOUND);	/* its seat alone knows */
	for (size_t i = 0; i < 2 * others; i++) {
		char key[32];

		(void)snprintf(key, sizeof(key), "key %zu", i % others);	/* fits */
		(void)use(programs, key, NULL);
	}
	CU_ASSERT_EQUAL(use(programs, "c", NULL), CC_WAY_BUILT);
	CU_ASSERT_FALSE(is_there(programs, "b"));
	CU_ASSERT_TRUE(is_there(programs, "a"));
	programs_end(programs);
}

static struct {
	struct cc_programs *programs;
	unsigned char *key;
	int looks;
} borrowed;

/* The builder retains its value when it has published it, and before it has left: its key is borrowed. */
static void look_while_borrowed(void)
{
	void *value;

	on_retain = NULL;
	if (cc_programs_get(borrowed.programs, (struct cmn_view){ borrowed.key, VERY_LONG_KEY },
			    &value) == CMN_OK) {
		borrowed.looks++;
		value_unref(value);
	}
}

TEST(a_key_that_is_borrowed_is_not_kept)
{
	unsigned char *builders = calloc(1, VERY_LONG_KEY);
	struct cc_programs *programs = programs_new(0);

	borrowed.key = calloc(1, VERY_LONG_KEY);
	borrowed.programs = programs;
	CU_ASSERT_TRUE_FATAL(builders && borrowed.key);
	on_retain = look_while_borrowed;
	CU_ASSERT_EQUAL(use_view(programs, (struct cmn_view){ builders, VERY_LONG_KEY }, NULL,
				 NULL), CC_WAY_BUILT);
	on_retain = NULL;
	CU_ASSERT_EQUAL(borrowed.looks, 1);
	/* A key of its own now, which the sample does not tell from the first one. */
	builders[VERY_LONG_KEY / 2 + 17] = 1;
	CU_ASSERT_EQUAL(cc_recent_key_sample((struct cmn_view){ builders, VERY_LONG_KEY }),
			cc_recent_key_sample((struct cmn_view){ borrowed.key, VERY_LONG_KEY }));
	CU_ASSERT_EQUAL(use_view(programs, (struct cmn_view){ builders, VERY_LONG_KEY }, NULL,
				 NULL), CC_WAY_BUILT);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(use_view(programs,
					 (struct cmn_view){ borrowed.key, VERY_LONG_KEY }, NULL,
					 NULL), CC_WAY_FOUND);
	free(builders);
	free(borrowed.key);
	programs_end(programs);
}

struct hitter {
	pthread_t thread;
	struct cc_programs *programs;
	atomic_bool *end;
	size_t processor;
};

static void *hit_on(void *arg)
{
	struct hitter *hitter = arg;
	void *value;

	(void)move_to_processor(hitter->processor);
	while (!atomic_load(hitter->end)) {
		for (size_t i = 0; i < 4; i++) {
			static const char *const keys[] = { "a", "b", "c", "d" };

			if (cc_programs_get(hitter->programs, cmn_view_of(keys[i]),
					    &value) == CMN_OK)
				value_unref(value);
		}
	}
	return NULL;
}

/* However fast others use all that there is, what was used last before the eviction is what stays. */
TEST(eviction_ends_while_everything_is_used_all_the_time)
{
	struct cc_programs *programs = programs_new(4);
	struct hitter hitters[2];
	atomic_bool end = false;

	(void)move_to_processor(0);	/* so that it knows which there are, before others ask */
	for (size_t i = 0; i < 2; i++) {
		hitters[i] = (struct hitter){ .programs = programs, .end = &end, .processor = i };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&hitters[i].thread, NULL, hit_on,
						     &hitters[i]), 0);
	}
	for (size_t i = 0; i < 2000; i++) {
		char key[] = { (char)('a' + i % 6), '\0' };
		struct cc_programs_usage usage;

		(void)use(programs, key, i % 3 ? NULL : "k");
		cc_programs_usage(programs, &usage);
		CU_ASSERT_TRUE(usage.bytes <= 4);
	}
	atomic_store(&end, true);
	for (size_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_join(hitters[i].thread, NULL), 0);
	programs_end(programs);
}

int main(void)
{
	(void)alarm(ALARM_S);	/* cannot fail */
	return unit_run(NULL);
}
