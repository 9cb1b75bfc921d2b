/* SPDX-License-Identifier: MIT */
/* flights: one owner of a key at a time, among threads and processes, living and dead. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/flights.h"
#include "tests/support/unit.h"

#define LONG_NS (UINT64_C(60) * 1000000000)
#define SHORT_NS UINT64_C(20000000)

static struct cmn_view key_of(const char *text)
{
	return cmn_view_of(text);
}

static const char *root(void)
{
	static _Thread_local char path[4200];

	(void)snprintf(path, sizeof(path), "%s/root", unit_dir());
	return path;
}

static struct cc_flights *open_flights(void)
{
	struct cc_flights *flights = cc_flights_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(flights);
	return flights;
}

static enum cc_flight_turn begin(struct cc_flights *flights, const char *key, uint64_t timeout_ns,
				 struct cc_flight **ret)
{
	*ret = NULL;
	return cc_flights_begin(flights, root(), key_of(key), timeout_ns, ret);
}

static int count_files(void)
{
	FILE *pipe = popen("ls root/flights | wc -l", "r");
	int count = -1;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
	CU_ASSERT_EQUAL(fscanf(pipe, "%d", &count), 1);
	(void)pclose(pipe);	/* it was only read */
	return count;
}

static void one_at_a_time_and_no_file_stays(void)
{
	struct cc_flights *flights = open_flights(), *others = open_flights();
	struct cc_flight *flight, *other, *third;

	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(begin(others, "key", SHORT_NS, &other), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(begin(others, "another key", 0, &third), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(count_files(), 2);
	cc_flight_end(flight);
	cc_flight_end(third);
	CU_ASSERT_EQUAL(count_files(), 0);
	CU_ASSERT_EQUAL(begin(others, "key", 0, &other), CC_FLIGHT_OWN);
	cc_flight_end(other);
	cc_flight_end(NULL);
	cc_flights_free(flights);
	cc_flights_free(others);
	cc_flights_free(NULL);
}

struct waiter {
	struct cc_flights *flights;
	atomic_bool waiting;
	enum cc_flight_turn turn;
	struct cc_flight *flight;
};

static void *wait_for_it(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->waiting, true);
	waiter->turn = begin(waiter->flights, "key", LONG_NS, &waiter->flight);
	return NULL;
}

static void waiters_go_on_when_it_has_landed(void)
{
	struct cc_flights *flights = open_flights();
	struct waiter waiters[4] = { 0 };
	pthread_t threads[4];
	struct cc_flight *flight;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	for (int i = 0; i < 4; i++) {
		waiters[i].flights = flights;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, wait_for_it, &waiters[i]), 0);
		while (!atomic_load(&waiters[i].waiting))
			(void)sched_yield();
	}
	cc_flight_end(flight);
	for (int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
		/* One that came only now has nothing to wait for, and is the next owner. */
		CU_ASSERT(waiters[i].turn == CC_FLIGHT_LANDED || waiters[i].turn == CC_FLIGHT_OWN);
		cc_flight_end(waiters[i].flight);
	}
	cc_flights_free(flights);
}

/* In a child: begins, tells so, and is there until it is killed. *ret_child: its own child, or 0. */
static pid_t start_owner(bool with_child, pid_t *ret_child)
{
	int pipe_fds[2];
	pid_t pid, child = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_fds), 0);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		struct cc_flights *flights = cc_flights_new();
		struct cc_flight *flight;

		if (!flights || cc_flights_begin(flights, root(), key_of("key"), 0, &flight) != CC_FLIGHT_OWN)
			_exit(1);
		if (with_child) {
			cc_flights_fork_prepare(flights);
			if (fork() == 0) {
				struct cc_flight *again;

				cc_flights_fork_child(flights);
				/* Its parent may wait for it. */
				if (cc_flights_begin(flights, root(), key_of("key"), LONG_NS, &again) !=
				    CC_FLIGHT_ALONE)
					_exit(1);
				cc_flight_end(flight);	/* it is the parent's: nothing happens */
				child = getpid();
			} else {
				cc_flights_fork_parent(flights);
			}
		}
		/* Once: with a child, that tells. */
		if ((!with_child || child) &&
		    write(pipe_fds[1], &child, sizeof(child)) != (ssize_t)sizeof(child))
			_exit(1);
		(void)pause();
	}
	CU_ASSERT_EQUAL(read(pipe_fds[0], ret_child, sizeof(*ret_child)),
			(ssize_t)sizeof(*ret_child));
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	return pid;
}

static void a_dead_builder_frees_the_others(void)
{
	struct cc_flights *flights = open_flights();
	struct cc_flight *flight;

	for (int with_child = 0; with_child < 2; with_child++) {
		pid_t child, owner = start_owner(with_child, &child);

		CU_ASSERT_EQUAL(begin(flights, "key", SHORT_NS, &flight), CC_FLIGHT_ALONE);
		CU_ASSERT_EQUAL(kill(owner, SIGKILL), 0);
		CU_ASSERT_EQUAL(waitpid(owner, NULL, 0), owner);
		/* Also where a child of its own lives on. */
		CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_OWN);
		cc_flight_end(flight);
		if (with_child)
			CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
	}
	CU_ASSERT_EQUAL(count_files(), 0);
	cc_flights_free(flights);
}

static void without_a_lock_everybody_builds(void)
{
	struct cc_flights *flights = open_flights();
	struct cc_flight *flight, *other;

	/* A directory where the file should be. */
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("ls root/flights >name"), 0);
	cc_flight_end(flight);
	CU_ASSERT_EQUAL(system("mkdir root/flights/$(cat name)"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	/* A link to something of the user's. */
	CU_ASSERT_EQUAL(system("rmdir root/flights/* && echo mine >mine && "
			       "ln -s ../../mine root/flights/$(cat name)"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	CU_ASSERT_EQUAL(system("test \"$(cat mine)\" = mine && rm -r root/flights"), 0);
	/* A file where the directory should be. */
	CU_ASSERT_EQUAL(system("echo >root/flights"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	/* The root, taken away while it is in use, and made again by others. */
	CU_ASSERT_EQUAL(system("rm -r root"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	CU_ASSERT_EQUAL(system("mv root old"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &other), CC_FLIGHT_OWN);
	cc_flight_end(flight);
	CU_ASSERT_EQUAL(count_files(), 1);
	cc_flight_end(other);
	CU_ASSERT_EQUAL(count_files(), 0);
	CU_ASSERT_EQUAL(cc_flights_begin(flights, "/proc/nowhere", key_of("key"), LONG_NS, &flight),
			CC_FLIGHT_ALONE);
	/* A root that others may write to. */
	CU_ASSERT_EQUAL(system("chmod 777 root"), 0);
	CU_ASSERT_EQUAL(begin(flights, "key", LONG_NS, &flight), CC_FLIGHT_ALONE);
	cc_flights_free(flights);
}

static void what_the_dead_left_is_swept_when_it_is_old(void)
{
	struct cc_flights *flights = open_flights();
	struct cc_flight *flight, *dead;
	int fd;

	CU_ASSERT_EQUAL(begin(flights, "key", 0, &flight), CC_FLIGHT_OWN);
	fd = open(root(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	/* As a killed builder's. */
	CU_ASSERT_EQUAL(system("touch root/flights/0123456789abcdef0123456789abcdef.lock && "
			       "touch -d '2 hours ago' root/flights/mine.lock"), 0);
	cc_flights_sweep(fd);
	CU_ASSERT_EQUAL(count_files(), 3);
	CU_ASSERT_EQUAL(system("touch -d '2 hours ago' root/flights/*.lock"), 0);
	cc_flights_sweep(fd);
	/* Not the one that somebody has, nor what is not ours. */
	CU_ASSERT_EQUAL(count_files(), 2);
	CU_ASSERT_EQUAL(begin(flights, "key", 0, &dead), CC_FLIGHT_ALONE);
	cc_flight_end(flight);
	CU_ASSERT_EQUAL(system("rm root/flights/mine.lock && rmdir root/flights"), 0);
	cc_flights_sweep(fd);
	(void)close(fd);	/* a directory */
	cc_flights_free(flights);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(one_at_a_time_and_no_file_stays),
		UNIT_TEST(waiters_go_on_when_it_has_landed),
		UNIT_TEST(a_dead_builder_frees_the_others),
		UNIT_TEST(without_a_lock_everybody_builds),
		UNIT_TEST(what_the_dead_left_is_swept_when_it_is_old),
	};

	return UNIT_MAIN("flights", tests);
}
