/* SPDX-License-Identifier: MIT */
/* recent: a set-associative table of seats for each shard. */
#include "cachecore/memory/recent.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/quick_hash.h"

#include <utlist.h>

#define SAMPLE_TAIL 128		/* bytes: XXH3 takes these in its fast path for short inputs */
#define SAMPLE_WORDS 16		/* more, evenly over the rest */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)	/* 2^64 / golden ratio: spreads the bits */

/* A cache line of its own, as who takes it writes refs and used. */
struct cc_recent_seat {
	_Alignas(RECENT_LINE) atomic_uint refs;	/* its place's, and of threads on their way out */
	struct build_result *result;
	struct cc_recent_program *program;	/* of a kernel: its program */
	struct cmn_view key;		/* the program's, or the kernel's name */
	uint64_t used;			/* guarded by the shard's lock */
	unsigned int *shards;		/* of the record; guarded by the cache's lock */
	struct cc_recent_seat *next;	/* among the displaced */
};

unsigned int cc_recent_key_hash(struct cmn_view key)
{
	return (unsigned int)cmn_quick_hash(key);
}

unsigned int cc_recent_key_sample(struct cmn_view key)
{
	const unsigned char *bytes = key.data;
	uint64_t sum = key.len;
	uint64_t word;
	size_t step;

	if (key.len < SAMPLE_TAIL + SAMPLE_WORDS * sizeof(word))
		return cc_recent_key_hash(key);
	step = (key.len - SAMPLE_TAIL) / SAMPLE_WORDS;
	for (size_t i = 0; i < SAMPLE_WORDS; i++) {
		memcpy(&word, bytes + i * step, sizeof(word));
		sum = (sum ^ word) * GOLDEN;
	}
	sum ^= cmn_quick_hash((struct cmn_view){ bytes + key.len - SAMPLE_TAIL, SAMPLE_TAIL });
	return (unsigned int)(sum ^ (sum >> 32));
}

/* One of a program's kernels. */
static unsigned int kernel_tag(const struct cc_recent_program *program, unsigned int name_hash)
{
	uint64_t sum = (program->hash ^ (uint64_t)name_hash << 32) * GOLDEN;

	return (unsigned int)(sum >> 32);
}

enum cmn_status cc_recent_init(struct recent *recent, bool ordered)
{
	*recent = (struct recent){ .ordered = ordered };
	for (size_t i = 0; i < RECENT_SHARDS; i++) {
		if (pthread_mutex_init(&recent->shards[i].lock, NULL) == 0)
			continue;
		while (i-- > 0)
			(void)pthread_mutex_destroy(&recent->shards[i].lock);	/* nobody has it */
		return CMN_ERR_NOMEM;
	}
	return CMN_OK;
}

void cc_recent_release(struct recent *recent)
{
	for (size_t i = 0; i < RECENT_SHARDS; i++) {
		struct cc_recent_shard *shard = &recent->shards[i];

		free(shard->programs);
		free(shard->kernels);
		(void)pthread_mutex_destroy(&shard->lock);	/* no thread is inside */
	}
}

/* Only a hint for speed: any shard is right, also after a move to another processor. */
static size_t shard_here(void)
{
	return (unsigned int)sched_getcpu() % RECENT_SHARDS;
}

static struct cc_recent_place *set_of(struct cc_recent_table *table, unsigned int tag)
{
	return table->sets[tag % RECENT_SETS];
}

static bool key_equal(const struct cc_recent_seat *seat, struct cmn_view key)
{
	return seat->key.len == key.len &&
	       (key.len == 0 || memcmp(seat->key.data, key.data, key.len) == 0);
}

/* *ret_taken: the tag is another key's; NULL is fine. */
static struct cc_recent_seat *find(struct cc_recent_table *table, unsigned int tag,
				const struct cc_recent_program *program, struct cmn_view key,
				bool *ret_taken)
{
	struct cc_recent_place *places;

	if (!table)
		return NULL;
	places = set_of(table, tag);
	for (size_t i = 0; i < RECENT_WAYS; i++) {
		const struct cc_recent_seat *seat = places[i].seat;

		if (!seat || places[i].tag != tag)
			continue;
		if ((!program || seat->program == program) && key_equal(seat, key))
			return places[i].seat;
		if (ret_taken)
			*ret_taken = true;
	}
	return NULL;
}

/* With one shard's lock held. Keys that differ where the sample does not look have places by their hash. */
static struct cc_recent_seat *find_program(struct cc_recent_shard *shard, struct cmn_view key,
					unsigned int sample)
{
	bool taken = false;
	struct cc_recent_seat *seat = find(shard->programs, sample, NULL, key, &taken);

	if (seat || !taken)
		return seat;
	return find(shard->programs, cc_recent_key_hash(key), NULL, key, NULL);
}

static void seat_unref(struct cc_recent_seat *seat)
{
	/* Release: our use comes before; acquire: everybody's use comes before the end. */
	if (atomic_fetch_sub_explicit(&seat->refs, 1, memory_order_acq_rel) != 1)
		return;
	cc_build_result_unref(seat->result);
	free(seat);
}

/* Gives the shard's lock back, and then takes the value; NULL: false. */
static bool unlock_and_take(struct cc_recent_shard *shard, struct cc_recent_seat *seat, void **ret_value)
{
	if (seat)
		atomic_fetch_add_explicit(&seat->refs, 1, memory_order_relaxed);
	pthread_mutex_unlock(&shard->lock);
	if (!seat)
		return false;
	*ret_value = cc_build_result_take(seat->result);
	seat_unref(seat);
	return true;
}

bool cc_recent_take_program(struct recent *recent, struct cmn_view key, void **ret_value)
{
	unsigned int sample = cc_recent_key_sample(key);
	uint64_t now = recent->ordered ? cmn_clock_monotonic() : 0;
	struct cc_recent_shard *shard = &recent->shards[shard_here()];
	struct cc_recent_seat *seat;

	pthread_mutex_lock(&shard->lock);
	seat = find_program(shard, key, sample);
	if (seat)
		seat->used = now;
	return unlock_and_take(shard, seat, ret_value);
}

bool cc_recent_take_kernel(struct recent *recent, struct cmn_view program_key, struct cmn_view name,
			void **ret_value)
{
	unsigned int sample = cc_recent_key_sample(program_key);
	unsigned int name_hash = cc_recent_key_hash(name);
	uint64_t now = recent->ordered ? cmn_clock_monotonic() : 0;
	struct cc_recent_shard *shard = &recent->shards[shard_here()];
	struct cc_recent_seat *program, *kernel = NULL;

	pthread_mutex_lock(&shard->lock);
	program = find_program(shard, program_key, sample);
	if (program)
		kernel = find(shard->kernels, kernel_tag(program->program, name_hash),
			      program->program, name, NULL);
	if (kernel)
		program->used = now;
	return unlock_and_take(shard, kernel, ret_value);
}

/* A seat for one of these, made before the shard's lock is taken. */
static struct cc_recent_seat *seat_new(struct cc_recent_program *program, struct cmn_view key,
				    struct build_result *result, unsigned int *shards)
{
	struct cc_recent_seat *seat = aligned_alloc(RECENT_LINE, sizeof(*seat));

	if (!seat)
		return NULL;
	*seat = (struct cc_recent_seat){ .program = program, .key = key, .shards = shards };
	atomic_init(&seat->refs, 1);
	seat->result = cc_build_result_ref(result);
	return seat;
}

static bool table_reserve(struct cc_recent_table **table)
{
	if (*table)
		return true;
	*table = aligned_alloc(RECENT_LINE, sizeof(**table));
	if (*table)
		memset(*table, 0, sizeof(**table));
	return *table != NULL;
}

/* With the shard's lock held: nobody new takes the seat, and what it knows is told to its program. */
static void displace(struct cc_recent_place *place, size_t shard, struct cc_recent_seat **displaced)
{
	struct cc_recent_seat *seat = place->seat;

	if (seat->used > seat->program->used)
		seat->program->used = seat->used;
	*seat->shards &= ~(1U << shard);
	place->seat = NULL;
	LL_PREPEND(*displaced, seat);
}

static bool is_taken(struct cc_recent_table *table, unsigned int tag)
{
	const struct cc_recent_place *places = set_of(table, tag);

	for (size_t i = 0; i < RECENT_WAYS; i++) {
		if (places[i].seat && places[i].tag == tag)
			return true;
	}
	return false;
}

static void seat_put(struct recent *recent, size_t at, struct cc_recent_table *table,
		     unsigned int tag, struct cc_recent_seat *seat, struct cc_recent_seat **displaced)
{
	struct cc_recent_place *places = set_of(table, tag);
	struct cc_recent_place *place = NULL;

	for (size_t i = 0; i < RECENT_WAYS && !place; i++) {
		if (!places[i].seat)
			place = &places[i];
	}
	if (!place) {
		place = &places[recent->shards[at].turn++ % RECENT_WAYS];
		displace(place, at, displaced);
	}
	*place = (struct cc_recent_place){ tag, seat };
	*seat->shards |= 1U << at;
}

void cc_recent_keep_program(struct recent *recent, struct cc_recent_program *program,
			 struct build_result *result, struct cc_recent_seat **displaced)
{
	size_t at = shard_here();
	struct cc_recent_shard *shard = &recent->shards[at];
	struct cc_recent_seat *seat;

	if (program->shards & 1U << at)	/* another thread was faster */
		return;
	seat = seat_new(program, program->key, result, &program->shards);
	if (!seat)
		return;
	pthread_mutex_lock(&shard->lock);
	if (table_reserve(&shard->programs))
		seat_put(recent, at, shard->programs,
			 is_taken(shard->programs, program->sample) ? program->hash :
			 program->sample, seat, displaced);
	else
		LL_PREPEND(*displaced, seat);
	pthread_mutex_unlock(&shard->lock);
}

void cc_recent_keep_kernel(struct recent *recent, struct cc_recent_kernel *kernel,
			struct build_result *result, struct cc_recent_seat **displaced)
{
	size_t at = shard_here();
	struct cc_recent_shard *shard = &recent->shards[at];
	struct cc_recent_seat *seat;

	if (kernel->shards & 1U << at)
		return;
	seat = seat_new(kernel->program, kernel->name, result, &kernel->shards);
	if (!seat)
		return;
	pthread_mutex_lock(&shard->lock);
	if (table_reserve(&shard->kernels))
		seat_put(recent, at, shard->kernels, kernel_tag(kernel->program, kernel->hash),
			 seat, displaced);
	else
		LL_PREPEND(*displaced, seat);
	pthread_mutex_unlock(&shard->lock);
}

/* The place of this record's seat, known by the address of its mask; NULL: not under this tag. */
static struct cc_recent_place *place_of(struct cc_recent_table *table, unsigned int tag,
				     const unsigned int *shards)
{
	struct cc_recent_place *places = set_of(table, tag);

	for (size_t i = 0; i < RECENT_WAYS; i++) {
		if (places[i].seat && places[i].seat->shards == shards)
			return &places[i];
	}
	return NULL;
}

/* Of a program that has a seat in this shard. */
static struct cc_recent_place *place_of_program(struct cc_recent_shard *shard,
					     const struct cc_recent_program *program)
{
	struct cc_recent_place *place = place_of(shard->programs, program->sample,
					      &program->shards);

	return place ? place : place_of(shard->programs, program->hash, &program->shards);
}

void cc_recent_forget_program(struct recent *recent, struct cc_recent_program *program,
			   struct cc_recent_seat **displaced)
{
	for (size_t at = 0; program->shards; at++) {
		struct cc_recent_shard *shard = &recent->shards[at];

		if (!(program->shards & 1U << at))
			continue;
		pthread_mutex_lock(&shard->lock);
		displace(place_of_program(shard, program), at, displaced);
		pthread_mutex_unlock(&shard->lock);
	}
}

void cc_recent_forget_kernel(struct recent *recent, struct cc_recent_kernel *kernel,
			  struct cc_recent_seat **displaced)
{
	for (size_t at = 0; kernel->shards; at++) {
		struct cc_recent_shard *shard = &recent->shards[at];

		if (!(kernel->shards & 1U << at))
			continue;
		pthread_mutex_lock(&shard->lock);
		displace(place_of(shard->kernels, kernel_tag(kernel->program, kernel->hash),
				  &kernel->shards), at, displaced);
		pthread_mutex_unlock(&shard->lock);
	}
}

uint64_t cc_recent_last_use(struct recent *recent, struct cc_recent_program *program)
{
	for (size_t at = 0; at < RECENT_SHARDS; at++) {
		struct cc_recent_shard *shard = &recent->shards[at];
		uint64_t used;

		if (!(program->shards & 1U << at))
			continue;
		pthread_mutex_lock(&shard->lock);
		used = place_of_program(shard, program)->seat->used;
		pthread_mutex_unlock(&shard->lock);
		if (used > program->used)
			program->used = used;
	}
	return program->used;
}

void cc_recent_drop(struct cc_recent_seat *displaced)
{
	struct cc_recent_seat *seat, *next;

	LL_FOREACH_SAFE(displaced, seat, next)
		seat_unref(seat);
}

void cc_recent_lock_all(struct recent *recent)
{
	for (size_t i = 0; i < RECENT_SHARDS; i++)
		pthread_mutex_lock(&recent->shards[i].lock);
}

void cc_recent_unlock_all(struct recent *recent)
{
	for (size_t i = 0; i < RECENT_SHARDS; i++)
		pthread_mutex_unlock(&recent->shards[i].lock);
}
