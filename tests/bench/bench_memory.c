/* SPDX-License-Identifier: MIT */
/*
 * bench_memory: what a hit in the in-memory level costs, side by side with a
 * plain uthash table behind one mutex, on one thread and on two. Prints
 * nanoseconds per hit (the fastest round: at this scale noise only adds), the
 * ratio to the plain table, and how far the rate grows with the second thread
 * (2.00 is ideal, on a machine with two idle cores).
 *
 * "own": each thread fetches values of its own and the retain callback counts
 * in the value. "shared": both fetch the same, and retain does nothing, as a
 * count in the value would be what is measured. Keys differ all over ("4 KiB
 * key", different sources) or in one number in the middle ("alike keys", one
 * source with a changed definition).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "cachecore/programs.h"
#include "common/clock.h"

#define ITEMS 16		/* per thread, a power of two; own: twice as many in the table */
#define KEY_SIZE 4096		/* a source of some 100 lines with its options */
#define NAME_SIZE 48		/* a mangled kernel name */
#define HITS 20000		/* per thread and round: short, to find rounds that nothing disturbs */
#define ROUNDS 51
#define THREADS_MAX 2

struct value {
	_Alignas(64) atomic_uint refs;
};

struct plain_item {
	UT_hash_handle hh;
	struct value *value;
};

struct plain {
	pthread_mutex_t lock;
	struct plain_item *table;
};

struct fast_plain_key {
	uint64_t constants_hash;
	const void *device;
	size_t name_len;
	char name[NAME_SIZE];
};

struct bench {
	struct cc_programs *programs;
	struct plain programs_plain, kernels_plain;
	bool counted;
	bool alike;
	struct value values[THREADS_MAX * ITEMS];
	struct plain_item plain_programs[THREADS_MAX * ITEMS];
	struct plain_item plain_kernels[THREADS_MAX * ITEMS];
	struct fast_plain_key names[THREADS_MAX * ITEMS];
	unsigned char keys[THREADS_MAX * ITEMS][KEY_SIZE];
};

struct thread_work {
	struct bench *bench;
	void (*hit)(struct bench *bench, size_t item);
	size_t first;
	pthread_barrier_t *start;
	uint64_t began, ended;
};

static void retain_counted(void *value)
{
	struct value *counted = value;

	atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
}

static void fail(const char *what)
{
	(void)fprintf(stderr, "bench_memory: %s failed\n", what);
	exit(1);
}

static void hit_fast_kernel(struct bench *bench, size_t item)
{
	struct fast_plain_key *name = &bench->names[item];
	void *value;

	if (cc_fast_kernel_get(bench->programs, name->constants_hash, name->device,
			       (struct cmn_view){ name->name, name->name_len }, &value) != CMN_OK)
		fail("cc_fast_kernel_get");
}

static void hit_program(struct bench *bench, size_t item)
{
	void *value;

	if (cc_programs_get(bench->programs, (struct cmn_view){ bench->keys[item], KEY_SIZE },
			    &value) != CMN_OK)
		fail("cc_programs_get");
}

static void hit_plain(struct bench *bench, struct plain *plain, const void *key, size_t len)
{
	struct plain_item *found;

	pthread_mutex_lock(&plain->lock);
	HASH_FIND(hh, plain->table, key, len, found);
	if (found && bench->counted)
		retain_counted(found->value);
	pthread_mutex_unlock(&plain->lock);
	if (!found)
		fail("the plain table");
}

static void hit_plain_kernel(struct bench *bench, size_t item)
{
	struct fast_plain_key key = bench->names[item];

	hit_plain(bench, &bench->kernels_plain, &key, sizeof(key));
}

static void hit_plain_program(struct bench *bench, size_t item)
{
	hit_plain(bench, &bench->programs_plain, bench->keys[item], KEY_SIZE);
}

static enum cmn_status build_value(void *ctx, struct cc_build_output *ret)
{
	ret->value = ctx;
	ret->size = 1;
	return CMN_OK;
}

static void fill(struct bench *bench)
{
	for (size_t i = 0; i < THREADS_MAX * ITEMS; i++) {
		struct fast_plain_key *name = &bench->names[i];
		struct cmn_view key = { bench->keys[i], KEY_SIZE };
		struct cc_build_taken taken;

		memset(bench->keys[i], bench->alike ? 'x' : (int)('a' + i), KEY_SIZE);
		memcpy(bench->keys[i] + KEY_SIZE / 2 - sizeof(i), &i, sizeof(i));
		memset(name, 0, sizeof(*name));
		name->device = bench;
		name->name_len = (size_t)snprintf(name->name, NAME_SIZE,
						  "_ZTSZZ4mainENKUlRN4sycl7handlerE_kernel_%zu", i);
		if (cc_programs_put(bench->programs, key, &bench->values[i], 1) != CMN_OK ||
		    cc_kernels_get_or_build(bench->programs, key, name->name, build_value,
					    &bench->values[i], &taken) != CMN_OK)
			fail("filling the cache");
		bench->plain_programs[i].value = &bench->values[i];
		bench->plain_kernels[i].value = &bench->values[i];
		HASH_ADD_KEYPTR(hh, bench->programs_plain.table, bench->keys[i], KEY_SIZE,
				&bench->plain_programs[i]);
		HASH_ADD_KEYPTR(hh, bench->kernels_plain.table, name, sizeof(*name),
				&bench->plain_kernels[i]);
		if (cc_fast_kernel_put(bench->programs, key, 0, bench,
				       cmn_view_of(name->name), &bench->values[i]) != CMN_OK)
			fail("cc_fast_kernel_put");
	}
}

static void *work(void *arg)
{
	struct thread_work *mine = arg;

	(void)pthread_barrier_wait(mine->start);
	mine->began = cmn_clock_monotonic();
	for (size_t i = 0; i < HITS; i++)
		mine->hit(mine->bench, mine->first + i % ITEMS);
	mine->ended = cmn_clock_monotonic();
	return NULL;
}

/* Nanoseconds per hit of a thread while so many run: from the first one's begin to the last one's end. */
static double measure(struct bench *bench, void (*hit)(struct bench *, size_t), size_t threads)
{
	double fastest = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		struct thread_work works[THREADS_MAX];
		pthread_t ids[THREADS_MAX];
		pthread_barrier_t start;
		uint64_t began = UINT64_MAX, ended = 0;
		double took;

		if (pthread_barrier_init(&start, NULL, (unsigned int)threads) != 0)
			fail("pthread_barrier_init");
		for (size_t i = 0; i < threads; i++) {
			works[i] = (struct thread_work){ bench, hit, bench->counted ? i * ITEMS : 0,
							 &start, 0, 0 };
			if (pthread_create(&ids[i], NULL, work, &works[i]) != 0)
				fail("pthread_create");
		}
		for (size_t i = 0; i < threads; i++) {
			(void)pthread_join(ids[i], NULL);	/* a thread of ours, joined once */
			began = works[i].began < began ? works[i].began : began;
			ended = works[i].ended > ended ? works[i].ended : ended;
		}
		(void)pthread_barrier_destroy(&start);
		took = (double)(ended - began) / HITS;
		fastest = round == 0 || took < fastest ? took : fastest;
	}
	return fastest;
}

static void report(struct bench *bench, const char *what, void (*hit)(struct bench *, size_t),
		   void (*plain)(struct bench *, size_t))
{
	double ours[THREADS_MAX], theirs[THREADS_MAX];

	for (size_t i = 0; i < THREADS_MAX; i++) {
		ours[i] = measure(bench, hit, i + 1);
		theirs[i] = measure(bench, plain, i + 1);
	}
	printf("%-22s %-7s %9.1f %9.1f %8.2f %9.1f %9.1f %8.2f %7.2f %7.2f\n", what,
	       bench->counted ? "own" : "shared", ours[0], ours[1], 2 * ours[0] / ours[1],
	       theirs[0], theirs[1], 2 * theirs[0] / theirs[1], ours[0] / theirs[0],
	       ours[1] / theirs[1]);
}

static void compare_hits(struct bench *bench, bool counted, bool alike)
{
	const struct cc_value_ops ops = { counted ? retain_counted : NULL, NULL };

	memset(bench, 0, sizeof(*bench));
	bench->counted = counted;
	bench->alike = alike;
	if (pthread_mutex_init(&bench->programs_plain.lock, NULL) != 0 ||
	    pthread_mutex_init(&bench->kernels_plain.lock, NULL) != 0)
		fail("pthread_mutex_init");
	bench->programs = cc_programs_new(0, &ops, &ops);
	if (!bench->programs)
		fail("cc_programs_new");
	fill(bench);
	if (!alike)
		report(bench, "fast kernel", hit_fast_kernel, hit_plain_kernel);
	report(bench, alike ? "program, alike keys" : "program, 4 KiB key", hit_program,
	       hit_plain_program);
	HASH_CLEAR(hh, bench->programs_plain.table);
	HASH_CLEAR(hh, bench->kernels_plain.table);
	cc_programs_free(bench->programs);
}

int main(void)
{
	static struct bench bench;

	printf("%-22s %-7s %9s %9s %8s %9s %9s %8s %7s %7s\n", "hit", "values", "ns, 1 th",
	       "ns, 2 th", "scaling", "plain, 1", "plain, 2", "scaling", "ratio 1", "ratio 2");
	compare_hits(&bench, true, false);
	compare_hits(&bench, false, false);
	compare_hits(&bench, true, true);
	return 0;
}
