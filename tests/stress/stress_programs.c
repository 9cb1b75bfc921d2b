/* SPDX-License-Identifier: MIT */
/*
 * stress_programs: many threads on one in-memory cache, over a small set of
 * keys and a threshold that a third of them exceeds: builds, failures with
 * and without an error, out of memory, kernels, the fast kernel cache, puts,
 * removals and flushes, all at once. Every value taken must be of the key
 * that was asked for and alive, and none may be alive at the end. To be run
 * under the thread sanitizer too.
 *
 * Usage: stress_programs [OPERATIONS-PER-THREAD]
 */
#include <sched.h>
#include <stdatomic.h>

#include "cachecore/api/api_internal.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/posix.h"

#define THREADS 8
#define KEYS 24
#define KERNELS 3
#define DEFAULT_OPERATIONS 20000
#define VALUE_SIZE 100
#define THRESHOLD (VALUE_SIZE * KEYS * 2 / 3)
#define LONG_KEY 600		/* long enough that the cache samples it; every other key is short */
#define BORROWED_KEY 66000	/* so long that it is not copied at first; one key in eight */

static atomic_long values_alive;
static atomic_long mistakes;
static atomic_long builds, waits, finds, failures, fast_hits;

struct value {
	atomic_int refs;
	uint32_t id;		/* of the key, and of the kernel, that it was built for */
};

struct worker {
	pthread_t thread;
	struct cc_programs *programs;
	uint64_t random;
	long operations;
};

/* One build: which value it makes, and how it fails. */
struct job {
	uint32_t id;
	enum { GOOD, WITH_ERROR, SPURIOUS, NO_MEMORY_ONCE, NO_MEMORY } kind;
	int calls;
};

static void mistake(const char *what)
{
	(void)fprintf(stderr, "stress_programs: %s\n", what);
	atomic_fetch_add(&mistakes, 1);
}

static struct value *value_new(uint32_t id)
{
	struct value *value = malloc(sizeof(*value));

	if (!value)
		abort();
	atomic_init(&value->refs, 1);
	value->id = id;
	atomic_fetch_add(&values_alive, 1);
	return value;
}

static void value_retain(void *arg)
{
	struct value *value = arg;

	if (atomic_fetch_add_explicit(&value->refs, 1, memory_order_relaxed) < 1)
		mistake("a dead value was retained");
}

static void value_release(void *arg)
{
	struct value *value = arg;

	if (atomic_fetch_sub(&value->refs, 1) == 1) {
		free(value);
		atomic_fetch_sub(&values_alive, 1);
	}
}

/* What was taken is of this id; gives it back. */
static void check_and_release(void *arg, uint32_t id, const char *what)
{
	struct value *value = arg;

	if (value->id != id)
		mistake(what);
	value_release(value);
}

static uint32_t next_random(struct worker *worker, uint32_t bound)
{
	/* Knuth's MMIX generator: each thread's sequence is the same in every run. */
	worker->random = worker->random * UINT64_C(6364136223846793005) +
			 UINT64_C(1442695040888963407);
	return (uint32_t)(worker->random >> 33) % bound;
}

/* What the buffer held before is overwritten: the cache must not look there any more. */
static struct cmn_view key_of(uint32_t number, unsigned char buffer[BORROWED_KEY])
{
	size_t len = number % 8 == 7 ? BORROWED_KEY : number % 2 ? LONG_KEY : sizeof(number);

	memset(buffer, 'k', len < LONG_KEY ? LONG_KEY : len);
	memcpy(buffer + len / 2, &number, sizeof(number) / 2);
	return (struct cmn_view){ buffer, len };
}

static enum cachecore_status build(void *ctx, struct cachecore_build_output *ret)
{
	struct job *job = ctx;

	job->calls++;
	sched_yield();	/* so that others find it in progress, also on one processor */
	switch (job->kind) {
	case WITH_ERROR:
		ret->error_code = (int)job->id;
		ret->error_message = strdup("failed");
		return CACHECORE_ERR_BUILD;
	case SPURIOUS:
		return CACHECORE_ERR_BUILD;
	case NO_MEMORY_ONCE:
		if (job->calls == 1)
			return CACHECORE_ERR_NOMEM;
		break;
	case NO_MEMORY:
		return CACHECORE_ERR_NOMEM;
	case GOOD:
		break;
	}
	ret->value = value_new(job->id);
	ret->size = VALUE_SIZE;
	return CACHECORE_OK;
}

static struct job job_of(struct worker *worker, uint32_t id)
{
	uint32_t dice = next_random(worker, 1000);
	struct job job = { .id = id, .kind = GOOD };

	if (dice < 60)
		job.kind = WITH_ERROR;
	else if (dice < 120)
		job.kind = SPURIOUS;
	else if (dice < 123)
		job.kind = NO_MEMORY_ONCE;
	else if (dice < 125)
		job.kind = NO_MEMORY;
	return job;
}

static void check_taken(const struct job *job, enum cmn_status status,
			struct cc_build_taken *taken)
{
	if (status == CMN_OK) {
		check_and_release(taken->value, job->id, "a value of another key");
		atomic_fetch_add(taken->way == CC_WAY_BUILD ? &builds :
				 taken->way == CC_WAY_WAITED ? &waits : &finds, 1);
		if ((taken->way == CC_WAY_BUILD) != (job->calls > 0))
			mistake("the way is not what happened");
		return;
	}
	atomic_fetch_add(&failures, 1);
	if (taken->error_message && taken->error_code != (int)job->id)
		mistake("an error of another key");
	if (!taken->error_message && job->calls == 0)
		mistake("a failure without an error reached a waiter");
	if (job->calls > 2)
		mistake("built more than twice");
	free(taken->error_message);
}

static void use_program(struct worker *worker, uint32_t number, struct cmn_view key)
{
	struct job job = job_of(worker, number);
	struct cc_build_taken taken;
	enum cmn_status status;

	status = api_build_program(worker->programs, key, build, &job,
					  next_random(worker, 2), &taken);
	check_taken(&job, status, &taken);
}

static void use_kernel(struct worker *worker, uint32_t number, struct cmn_view key)
{
	uint32_t kernel = next_random(worker, KERNELS);
	uint32_t id = number + KEYS * (kernel + 1);
	struct job job = job_of(worker, id);
	struct cc_build_taken taken;
	enum cmn_status status;
	char name[32];

	(void)snprintf(name, sizeof(name), "kernel_%u", (unsigned int)kernel);
	status = api_build_kernel(worker->programs, key, cmn_view_of(name), build, &job, &taken);
	if (status == CMN_OK) {
		enum cmn_status put = fast_kernel_put(worker->programs, key, number,
							 worker->programs, cmn_view_of(name),
							 taken.value);

		if (put != CMN_OK && put != CMN_MISS)
			mistake("fast_kernel_put failed");
	}
	check_taken(&job, status, &taken);
}

static void use_fast_kernel(struct worker *worker, uint32_t number)
{
	uint32_t kernel = next_random(worker, KERNELS);
	char name[32];
	void *value;

	(void)snprintf(name, sizeof(name), "kernel_%u", (unsigned int)kernel);
	if (fast_kernel_get(worker->programs, number, worker->programs, cmn_view_of(name),
			       &value) == CMN_OK) {
		check_and_release(value, number + KEYS * (kernel + 1), "another kernel");
		atomic_fetch_add(&fast_hits, 1);
	}
}

static void change(struct worker *worker, uint32_t number, struct cmn_view key)
{
	void *value;

	switch (next_random(worker, 8)) {
	case 0:
		if (next_random(worker, 8) == 0)
			cc_programs_flush(worker->programs);
		break;
	case 1:
	case 2:
		cc_programs_remove(worker->programs, key, NULL);
		break;
	case 3:
		if (cc_programs_get(worker->programs, key, &value) == CMN_OK) {
			cc_programs_remove(worker->programs, key, value);
			check_and_release(value, number, "a value of another key, removed");
		}
		break;
	default:
		if (cc_programs_put(worker->programs, key, value_new(number), VALUE_SIZE) != CMN_OK)
			mistake("cc_programs_put failed");
		break;
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	unsigned char buffer[BORROWED_KEY];

	for (long i = 0; i < worker->operations; i++) {
		uint32_t number = next_random(worker, KEYS);
		struct cmn_view key = key_of(number, buffer);
		uint32_t dice = next_random(worker, 100);
		void *value;

		if (dice < 35)
			use_program(worker, number, key);
		else if (dice < 55)
			use_kernel(worker, number, key);
		else if (dice < 75)
			use_fast_kernel(worker, number);
		else if (dice < 95 && cc_programs_get(worker->programs, key, &value) == CMN_OK)
			check_and_release(value, number, "a value of another key, got");
		else if (dice >= 95)
			change(worker, number, key);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct cc_value_ops ops = { value_retain, value_release };
	long operations = argc > 1 ? strtol(argv[1], NULL, 10) : DEFAULT_OPERATIONS;
	struct cc_programs *programs = cc_programs_new(THRESHOLD, &ops, &ops);
	struct worker workers[THREADS];
	struct cc_programs_usage usage;

	if (!programs)
		return 2;
	for (size_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .programs = programs, .random = i + 1,
					      .operations = operations };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 2;
	}
	for (size_t i = 0; i < THREADS; i++)
		(void)pthread_join(workers[i].thread, NULL);	/* a thread of ours, joined once */
	cc_programs_usage(programs, &usage);
	if (usage.bytes > THRESHOLD)
		mistake("more bytes than the threshold");
	if (usage.bytes > VALUE_SIZE * usage.programs)
		mistake("more bytes than the programs have");
	cc_programs_flush(programs);
	cc_programs_usage(programs, &usage);
	if (usage.programs || usage.kernels || usage.fast_kernels || usage.bytes)
		mistake("something is left after a flush");
	cc_programs_free(programs);
	if (atomic_load(&values_alive) != 0)
		mistake("references do not balance");
	printf("built %ld, waited %ld, found %ld, failed %ld, fast kernels %ld; mistakes %ld\n",
	       atomic_load(&builds), atomic_load(&waits), atomic_load(&finds),
	       atomic_load(&failures), atomic_load(&fast_hits), atomic_load(&mistakes));
	return atomic_load(&mistakes) ? 1 : 0;
}
