/* SPDX-License-Identifier: MIT */
/*
 * flights: a list, and the thread that goes through it. Who asks for a flight adds it, and waits
 * until the thread has an answer; who ends one says that it is over. Only the thread takes flights
 * out of the list, and frees them. So it may leave the lock while it works on a file.
 */
#include "cachecore/disk/flights/flights.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "cachecore/disk/flights/holder.h"
#include "common/background.h"
#include "common/clock.h"
#include "common/condition.h"
#include "common/env.h"
#include "common/mutex.h"

#define NS_PER_S UINT64_C(1000000000)
#define BEAT_NS (NS_PER_S / 10)
/* As the writer's (writer.c), and for the same reason. */
#define IDLE_NS (NS_PER_S / 2)
/*
 * What the thread does with files takes microseconds. An application's thread looks every so often
 * whether it is at one, and after three such looks builds alone: the file system is slow, or it
 * hangs. Another process's flight is waited for as long as no file takes the thread a whole look.
 * But a thread that has no processor is waited for. For a while afterwards nobody waits for one that
 * is at a file.
 */
#define LOOK_NS (NS_PER_S / 100)
#define BUSY_LOOKS 3
#define NO_PROCESSOR_NS NS_PER_S
#define SLOW_NS NS_PER_S
#define STOP_NS (NS_PER_S / 10)
/* Names that a process's first flight looks at: there are as many as builds at a time. */
#define SWEPT_AT_ONCE 256

struct cc_flight {
	struct cc_flights *flights;
	char *root;
	struct cc_flight_lock lock;	/* the thread's */
	uint64_t deadline;		/* monotonic: of its wait, and of its beats, for which others wait as long */
	/* guarded by the flights' lock, all that follows */
	uint64_t next;			/* monotonic, when to try again */
	bool tried;
	bool answered;
	enum cc_flight_turn turn;
	bool over;			/* nobody uses it any more */
	bool inherited;			/* the parent's, in a forked child */
	struct cc_flight *prev, *next_one;
};

struct cc_flights {
	struct cc_holder self;
	char *runtime_dir;		/* $XDG_RUNTIME_DIR, or NULL */
	pthread_mutex_t lock;
	pthread_cond_t work;		/* to the thread: something changed */
	pthread_cond_t answer;		/* from the thread: something is answered, over, or it stopped */
	/* guarded by lock, all that follows */
	struct cc_flight *own;		/* also those that are waited for */
	struct cc_flight *inherited;	/* of the parent, when this process was forked */
	bool started, stop, stopped;
	pthread_t thread;
	pid_t thread_id;		/* of the one that works */
	bool swept;
	bool busy;			/* the thread is at a file */
	unsigned int turns;		/* to files, so far */
	uint64_t slow_until;		/* monotonic: until then the file system counts as slow */
	uint64_t beat_time;		/* monotonic, of the next beat */
	uint64_t idle_time;		/* monotonic, when the thread ends unless it gets work */
};

struct cc_flights *cc_flights_new(void)
{
	struct cc_flights *flights = calloc(1, sizeof(*flights));

	if (!flights)
		return NULL;
	flights->self = cc_holder_self();
	if (cmn_env_get("XDG_RUNTIME_DIR", &flights->runtime_dir) != CMN_OK)
		goto no_memory;
	if (flights->runtime_dir && flights->runtime_dir[0] != '/') {
		free(flights->runtime_dir);
		flights->runtime_dir = NULL;
	}
	if (pthread_mutex_init(&flights->lock, NULL) == 0) {
		if (cmn_conditions_init(&flights->work, &flights->answer))
			return flights;
		(void)pthread_mutex_destroy(&flights->lock);	/* nobody holds it */
	}
no_memory:
	free(flights->runtime_dir);
	free(flights);
	return NULL;
}

static void free_flight(struct cc_flight *flight)
{
	free(flight->root);
	free(flight);
}

/* The thread. All with the lock, which they leave while they are at a file. */

static void turn_to_file(struct cc_flights *flights)
{
	flights->busy = true;
	flights->turns++;
	cmn_mutex_unlock(&flights->lock);
}

static void turn_to_list(struct cc_flights *flights)
{
	cmn_mutex_lock(&flights->lock);
	flights->busy = false;
}

static void end(struct cc_flights *flights, struct cc_flight *flight)
{
	turn_to_file(flights);
	cc_flight_lock_end(&flight->lock);
	turn_to_list(flights);
	DL_DELETE2(flights->own, flight, prev, next_one);
	free_flight(flight);
	flights->idle_time = cmn_clock_deadline(IDLE_NS);
	(void)pthread_cond_broadcast(&flights->answer);
}

static bool beats(const struct cc_flight *flight, uint64_t now)
{
	return flight->answered && flight->turn == CC_FLIGHT_OWN && !flight->over && now < flight->deadline;
}

static void try(struct cc_flights *flights, struct cc_flight *flight)
{
	struct cc_holder self = flights->self;
	enum cc_flight_turn turn;
	bool answered;

	self.beat = cmn_clock_monotonic() < flight->deadline;
	turn_to_file(flights);
	answered = cc_flight_lock_try(&flight->lock, &self, flight->deadline, &turn);
	turn_to_list(flights);
	flight->tried = true;
	flight->answered = answered;
	flight->turn = turn;
	if (!answered) {
		flight->next = cc_flight_lock_next(&flight->lock, flight->deadline);
		return;
	}
	(void)pthread_cond_broadcast(&flights->answer);
	if (turn != CC_FLIGHT_OWN || flights->swept)
		return;
	flights->swept = true;
	turn_to_file(flights);
	cc_flight_lock_sweep_beside(&flight->lock, SWEPT_AT_ONCE);
	turn_to_list(flights);
}

/* Tells waiters that this process still builds. */
static void beat(struct cc_flights *flights, uint64_t now)
{
	struct cc_holder self = flights->self;
	struct cc_flight *flight;

	flights->beat_time = cmn_clock_deadline(BEAT_NS);
	self.beat = now / BEAT_NS;
	DL_FOREACH2(flights->own, flight, next_one) {
		if (!beats(flight, now))
			continue;
		turn_to_file(flights);
		cc_holder_note(flight->lock.fd, &self);
		turn_to_list(flights);
	}
}

/* One thing that is to do, or a wait for one. false: there was nothing for so long that the thread is to end. */
static bool work_or_wait(struct cc_flights *flights)
{
	uint64_t now = cmn_clock_monotonic(), until = UINT64_MAX;
	struct cc_flight *flight;
	bool any = false;

	DL_FOREACH2(flights->own, flight, next_one) {
		if (flight->over) {
			end(flights, flight);
			return true;
		}
		if (!flight->answered && now >= flight->next) {
			try(flights, flight);
			return true;
		}
		if (!flight->answered && flight->next < until)
			until = flight->next;
		any |= beats(flight, now);
	}
	if (any && now >= flights->beat_time) {
		beat(flights, now);
		return true;
	}
	if (any && flights->beat_time < until)
		until = flights->beat_time;
	if (!flights->own) {
		if (now >= flights->idle_time)
			return false;
		until = flights->idle_time;
	}
	if (until == UINT64_MAX)
		(void)pthread_cond_wait(&flights->work, &flights->lock);
	else
		(void)cmn_condition_wait(&flights->work, &flights->lock, until);
	return true;
}

static void run(void *arg)
{
	struct cc_flights *flights = arg;

	cmn_mutex_lock(&flights->lock);
	flights->thread_id = gettid();
	while ((!flights->stop || flights->own) && work_or_wait(flights))
		continue;
	if (flights->stop) {
		flights->stopped = true;
		(void)pthread_cond_broadcast(&flights->answer);
	} else {
		flights->started = false;
		(void)pthread_detach(flights->thread);	/* it ends with this one, and nobody has joined it */
	}
	cmn_mutex_unlock(&flights->lock);
}

/* The application's threads, and the writer's. */

static struct cc_flight *new_flight(struct cc_flights *flights, const char *root,
				    struct cmn_view key, uint64_t timeout_ns)
{
	struct cc_flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return NULL;
	flight->root = strdup(root);
	if (!flight->root) {
		free(flight);
		return NULL;
	}
	flight->flights = flights;
	flight->deadline = cmn_clock_deadline(timeout_ns);
	cc_flight_lock_init(&flight->lock, flight->root, flights->runtime_dir, key);
	return flight;
}

/* The parent may wait for this process: that would be for ever. */
static bool is_inherited(struct cc_flights *flights, const char *name)
{
	struct cc_flight *flight;

	DL_FOREACH2(flights->inherited, flight, next_one) {
		if (strcmp(flight->lock.name, name) == 0)
			return true;
	}
	return false;
}

static bool is_slow(const struct cc_flights *flights)
{
	return flights->busy && cmn_clock_monotonic() < flights->slow_until;
}

/* With the lock. false: there is no thread. */
static bool hand_over(struct cc_flights *flights, struct cc_flight *flight)
{
	if (!flights->started)
		flights->started = cmn_background_start(run, flights, &flights->thread);
	if (!flights->started)
		return false;
	DL_APPEND2(flights->own, flight, prev, next_one);
	(void)pthread_cond_signal(&flights->work);
	return true;
}

/* With the lock: the thread's answer, as long as it can be expected. */
static enum cc_flight_turn wait_for_answer(struct cc_flights *flights, struct cc_flight *flight)
{
	uint64_t start = cmn_clock_monotonic(), look;
	unsigned int most = start < flights->slow_until ? 1 : BUSY_LOOKS, busy = 0, turns;
	pid_t thread;

	do {
		turns = flights->turns;
		look = cmn_clock_deadline(LOOK_NS);
		while (!flight->answered && cmn_condition_wait(&flights->answer, &flights->lock, look))
			continue;
		if (!flight->answered && flights->busy &&
		    (!flight->tried || flights->turns == turns)) {
			thread = flights->thread_id;
			cmn_mutex_unlock(&flights->lock);
			busy += !cc_holder_thread_runs(thread);
			cmn_mutex_lock(&flights->lock);
		}
	} while (!flight->answered && busy < most &&
		 (flight->tried || look < start + NO_PROCESSOR_NS));
	if (!flight->answered && busy == most)
		flights->slow_until = cmn_clock_deadline(SLOW_NS);
	return flight->answered ? flight->turn : CC_FLIGHT_ALONE;
}

static void say_over(struct cc_flight *flight)
{
	flight->over = true;
	(void)pthread_cond_signal(&flight->flights->work);
}

enum cc_flight_turn cc_flights_begin(struct cc_flights *flights, const char *root,
				     struct cmn_view key, uint64_t timeout_ns,
				     struct cc_flight **ret_flight)
{
	struct cc_flight *flight = new_flight(flights, root, key, timeout_ns);
	enum cc_flight_turn turn = CC_FLIGHT_ALONE;

	if (!flight)
		return CC_FLIGHT_ALONE;
	cmn_mutex_lock(&flights->lock);
	if (is_inherited(flights, flight->lock.name) || is_slow(flights) ||
	    !hand_over(flights, flight)) {
		free_flight(flight);
	} else {
		turn = wait_for_answer(flights, flight);
		if (turn == CC_FLIGHT_OWN)
			*ret_flight = flight;
		else
			say_over(flight);
	}
	cmn_mutex_unlock(&flights->lock);
	return turn;
}

void cc_flight_end(struct cc_flight *flight)
{
	struct cc_flights *flights;

	if (!flight)
		return;
	flights = flight->flights;
	cmn_mutex_lock(&flights->lock);
	if (flight->inherited) {
		DL_DELETE2(flights->inherited, flight, prev, next_one);
		free_flight(flight);
	} else {
		say_over(flight);
	}
	cmn_mutex_unlock(&flights->lock);
}

static bool any_over(const struct cc_flights *flights)
{
	const struct cc_flight *flight;

	DL_FOREACH2(flights->own, flight, next_one) {
		if (flight->over)
			return true;
	}
	return false;
}

bool cc_flights_flush(struct cc_flights *flights, uint64_t timeout_ns)
{
	uint64_t deadline = cmn_clock_deadline(timeout_ns);
	bool done;

	cmn_mutex_lock(&flights->lock);
	while (!(done = !any_over(flights)) && cmn_condition_wait(&flights->answer, &flights->lock, deadline))
		continue;
	cmn_mutex_unlock(&flights->lock);
	return done;
}

static void free_list(struct cc_flight **list)
{
	struct cc_flight *flight, *next;

	DL_FOREACH_SAFE2(*list, flight, next, next_one)
		free_flight(flight);
	*list = NULL;
}

void cc_flights_free(struct cc_flights *flights)
{
	uint64_t deadline = cmn_clock_deadline(STOP_NS);
	bool ended;

	if (!flights)
		return;
	cmn_mutex_lock(&flights->lock);
	flights->stop = true;
	(void)pthread_cond_signal(&flights->work);
	while (flights->started && !flights->stopped && cmn_condition_wait(&flights->answer, &flights->lock, deadline))
		continue;
	ended = !flights->started || flights->stopped;
	if (!ended)
		(void)pthread_detach(flights->thread);	/* it is joinable */
	cmn_mutex_unlock(&flights->lock);
	if (!ended)
		return;
	if (flights->started)
		(void)pthread_join(flights->thread, NULL);	/* it is past its last wait */
	free_list(&flights->inherited);
	(void)pthread_cond_destroy(&flights->work);	/* nobody is left to use them */
	(void)pthread_cond_destroy(&flights->answer);
	(void)pthread_mutex_destroy(&flights->lock);
	free(flights->runtime_dir);
	free(flights);
}

void cc_flights_fork_prepare(struct cc_flights *flights)
{
	cmn_mutex_lock(&flights->lock);
}

void cc_flights_fork_parent(struct cc_flights *flights)
{
	cmn_mutex_unlock(&flights->lock);
}

void cc_flights_fork_child(struct cc_flights *flights)
{
	struct cc_flight *flight, *next, *all = flights->own;

	/* The locks are the parent's as long as that has them. Others have nobody here who could end them. */
	flights->own = NULL;
	DL_FOREACH_SAFE2(all, flight, next, next_one) {
		if (flight->over || !flight->answered) {
			free_flight(flight);
			continue;
		}
		flight->inherited = true;
		DL_APPEND2(flights->inherited, flight, prev, next_one);
	}
	flights->self = cc_holder_self();
	flights->started = false;
	flights->stop = false;
	flights->stopped = false;
	flights->busy = false;
	/* The conditions may count waiters that do not exist here: made anew, not destroyed. */
	(void)cmn_conditions_init(&flights->work, &flights->answer);	/* cannot fail: the first time did not */
	cmn_mutex_unlock(&flights->lock);
}
