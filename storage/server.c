/* SPDX-License-Identifier: MIT */
/* server: start, the socket, the clients' threads, the end. */
#include "storage/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/printable.h"
#include "common/spawn.h"
#include "storage/service.h"

#define MAX_CLIENTS 512		/* each has a thread and a descriptor */
#define STACK_SIZE ((size_t)512 * 1024)	/* TLS libraries and resolvers want some */
#define BACKLOG 128		/* where further ones wait */
#define LOCK_WAIT_NS 2000000000ULL
#define LOOK_INTERVAL_MS 20000	/* between looks at whether the socket is still reachable */
/*
 * Clients leave a storage alone for a minute that is down. Whoever asks next starts another helper,
 * which may have the network, the limits or the password that this one has not.
 */
#define DOWN_IDLE_NS 30000000000ULL
/*
 * What a helper inherits and cannot undo would be everybody's: one with such limits serves for a minute, and
 * whoever comes next starts another. So does one whose program was replaced by an update.
 */
#define LIMITED_LIFE_NS 60000000000ULL
#define LEAST_ADDRESS_SPACE (4ULL << 30)	/* threads' stacks, libraries and values take less */
#define LEAST_FILES 640				/* MAX_CLIENTS, connections, its own */
#define LEAST_PROCESSES 1024			/* a user's, threads included */
/* Blocks of this size and above go back to the system when they are freed. */
#define MMAP_THRESHOLD (256 * 1024)

/* Without close_range (before Linux 5.9): more than a process has open. */
#define LAST_FD 65536

/* The socket: as a name in an open directory, so that it is found after any chdir. */
struct endpoint {
	int directory;
	const char *name;
	int listener;
	struct stat made;
};

static bool is_own(const struct endpoint *endpoint)
{
	struct stat info;

	return fstatat(endpoint->directory, endpoint->name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	       info.st_dev == endpoint->made.st_dev && info.st_ino == endpoint->made.st_ino;
}

static const struct endpoint *endpoint_of_process;
static bool keeps_lock;	/* on descriptor 3 */

/* At once, whatever the threads do. */
static _Noreturn void end(void)
{
	if (is_own(endpoint_of_process))
		(void)unlinkat(endpoint_of_process->directory, endpoint_of_process->name, 0);
	_exit(0);
}

/*
 * Makes room for another helper: nobody new comes, since the socket has no name any more, and the lock is
 * free. Who has come is served; when all have left, it ends.
 */
static void retire(struct storage_service *service)
{
	if (atomic_exchange(&service->retired, true))
		return;
	if (is_own(endpoint_of_process))
		(void)unlinkat(endpoint_of_process->directory, endpoint_of_process->name, 0);
	if (keeps_lock)
		(void)close(CMN_SPAWN_KEPT_FD);	/* with its lock */
}

/*
 * Ends an idle process, unless a client waits. The socket's name goes first, so that nobody comes
 * after the look; it comes back for a client that waits, unless another process has the name by
 * then. What was moved may be that one's already.
 */
static void end_unless_awaited(const struct endpoint *endpoint)
{
	struct pollfd waiting = { .fd = endpoint->listener, .events = POLLIN };
	char aside[sizeof(((struct sockaddr_un *)0)->sun_path) + 32];
	const struct endpoint moved = { endpoint->directory, aside, -1, endpoint->made };
	bool named = is_own(endpoint);
	int ready;

	(void)snprintf(aside, sizeof(aside), "%s.%ld", endpoint->name, (long)getpid());
	if (named && renameat(endpoint->directory, endpoint->name, endpoint->directory, aside) < 0)
		end();
	ready = poll(&waiting, 1, 0);
	if (named && (ready > 0 || !is_own(&moved)))
		(void)linkat(endpoint->directory, aside, endpoint->directory, endpoint->name, 0);
	if (named)
		(void)unlinkat(endpoint->directory, aside, 0);	/* else it is left over */
	if (ready <= 0)
		_exit(0);
}

/* Whether the name is a socket of this user's that nobody listens on. */
static bool is_stale(const struct endpoint *endpoint, const struct sockaddr_un *address)
{
	struct stat info;
	bool stale;
	int fd;

	if (fstatat(endpoint->directory, endpoint->name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISSOCK(info.st_mode) || info.st_uid != geteuid())
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		errno == ECONNREFUSED;
	(void)close(fd);	/* nothing was sent */
	return stale;
}

/*
 * bind, listen. The socket of a helper that died is replaced, under a lock of the directory:
 * else two helpers that start together could each remove the other's new socket.
 */
static int listen_at(struct endpoint *endpoint, const struct sockaddr_un *address)
{
	bool locked = cmn_file_lock(endpoint->directory,
				    cmn_clock_monotonic() + LOCK_WAIT_NS) == CMN_OK;
	const struct sockaddr *plain = (const struct sockaddr *)address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(077);
	int error = 0;

	if (fd < 0 || bind(fd, plain, sizeof(*address)) < 0)
		error = errno;
	if (error == EADDRINUSE && locked && is_stale(endpoint, address) &&
	    unlinkat(endpoint->directory, endpoint->name, 0) == 0)
		error = bind(fd, plain, sizeof(*address)) < 0 ? errno : 0;
	(void)umask(mask);	/* cannot fail */
	if (!error && (fstatat(endpoint->directory, endpoint->name, &endpoint->made,
			       AT_SYMLINK_NOFOLLOW) < 0 ||
		       listen(fd, BACKLOG) < 0))
		error = errno;
	if (locked)
		cmn_file_unlock(endpoint->directory);
	endpoint->listener = fd;
	return error;
}

static bool make_endpoint(const char *path, struct endpoint *endpoint)
{
	const char *slash = strrchr(path, '/');
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char *directory;
	int error = ENAMETOOLONG;

	if (strlen(path) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, path, strlen(path) + 1);
		directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
		endpoint->name = slash ? slash + 1 : path;
		endpoint->directory = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
						: -1;
		error = endpoint->directory < 0 ? errno : listen_at(endpoint, &address);
		free(directory);
	}
	if (error)
		(void)fprintf(stderr, "cannot listen on %s: %s\n", path, storage_error_phrase(error));
	return error == 0;
}

/* Signals come through the returned descriptor; all threads inherit the mask. */
static int take_signals(void)
{
	sigset_t ends;

	(void)sigemptyset(&ends);	/* these cannot fail */
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)pthread_sigmask(SIG_BLOCK, &ends, NULL);	/* arguments are right */
	return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * A helper outlives who started it: it keeps no terminal, no pipe that somebody reads to its
 * end, no directory that somebody wants to unmount.
 */
static void leave_parent(void)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);	/* into open descriptors: cannot fail */
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		if (null > STDERR_FILENO)
			(void)close(null);
	}
	(void)setsid();		/* fails for a shell's job, which may stay one */
	if (chdir("/") < 0)
		return;		/* then not */
}

/* Where there are no standard streams, nothing of this process may get their numbers: leave_parent does. */
static void open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);	/* nothing was written through it */
}

/*
 * Else the parent's pipes stay open. A file with a lock, which whoever starts helpers may hand
 * over as descriptor 3 (ckcache-remote does), stays open until the end: the lock says that
 * there is a helper already.
 */
static void close_inherited(void)
{
	unsigned int first = STDERR_FILENO + 1;
	struct stat info;

	keeps_lock = fstat(CMN_SPAWN_KEPT_FD, &info) == 0 && S_ISREG(info.st_mode);
	if (keeps_lock)
		first = CMN_SPAWN_KEPT_FD + 1;
	/* By its number: the C library's function is younger than the kernel's. */
	if (syscall(SYS_close_range, first, ~0U, 0) < 0) {
		for (unsigned int fd = first; fd < LAST_FD; fd++)
			(void)close((int)fd);	/* most are not open */
	}
}

/* As far as is allowed; false: not as far as it should be. */
static bool raise_limit(int number, rlim_t wanted, rlim_t least)
{
	struct rlimit limit;

	if (getrlimit(number, &limit) < 0)
		return true;	/* no such limit here */
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		(void)setrlimit(number, &limit);	/* up to there it is always allowed */
	}
	return limit.rlim_cur >= least;
}

/*
 * false: this process has less than others may need of it, by limits or by priority. No core: it has
 * secrets. A client and a connection have a descriptor each.
 */
static bool set_limits(void)
{
	const struct rlimit none = { 0, 0 };
	bool good = true;

	(void)setrlimit(RLIMIT_CORE, &none);	/* less is always allowed */
	good &= raise_limit(RLIMIT_NOFILE, 4UL * MAX_CLIENTS, LEAST_FILES);
	good &= raise_limit(RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY);
	good &= raise_limit(RLIMIT_CPU, RLIM_INFINITY, RLIM_INFINITY);
	good &= raise_limit(RLIMIT_AS, RLIM_INFINITY, LEAST_ADDRESS_SPACE);
	good &= raise_limit(RLIMIT_DATA, RLIM_INFINITY, LEAST_ADDRESS_SPACE);
	good &= raise_limit(RLIMIT_NPROC, RLIM_INFINITY, LEAST_PROCESSES);
	errno = 0;
	good &= getpriority(PRIO_PROCESS, 0) <= 0 || errno;
	good &= (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	(void)mallopt(M_ARENA_MAX, 4);	/* else each of many threads may keep one */
#endif
	return good;
}

/* Gives the client a thread, or hangs up if there is no memory for one. */
static void welcome(struct storage_service *service, int fd, const pthread_attr_t *attributes)
{
	struct storage_connection *connection;
	pthread_t thread;

	storage_service_touch(service);
	atomic_fetch_add(&service->clients, 1);
	connection = storage_connection_new(service, fd);
	if (connection && pthread_create(&thread, attributes, storage_connection_serve,
					 connection) == 0)
		return;
	free(connection);
	atomic_fetch_sub(&service->clients, 1);
	(void)close(fd);	/* nothing was sent */
}

/* 0: never. */
static uint64_t idle_timeout(struct storage_service *service)
{
	uint64_t timeout = service->options->idle_timeout * 1000000000ULL;
	struct storage_error why;

	return timeout > DOWN_IDLE_NS && storage_service_is_down(service, &why)
		? DOWN_IDLE_NS : timeout;
}

/* Milliseconds until the idle time-out, 0: it has come; at most LOOK_INTERVAL_MS. */
static int idle_left(struct storage_service *service)
{
	uint64_t timeout = idle_timeout(service);
	uint64_t now = cmn_clock_monotonic();
	uint64_t last = atomic_load(&service->last_activity);
	uint64_t left;

	if (atomic_load(&service->retired) && !atomic_load(&service->clients))
		return 0;
	if (!timeout || atomic_load(&service->busy))
		return timeout && timeout < LOOK_INTERVAL_MS * 1000000ULL
			? (int)(timeout / 1000000) : LOOK_INTERVAL_MS;
	if (last + timeout <= now)
		return 0;
	left = (last + timeout - now) / 1000000 + 1;
	return left < LOOK_INTERVAL_MS ? (int)left : LOOK_INTERVAL_MS;
}

/* Whether an update has put another program in the place of this one. */
static bool is_replaced(void)
{
	const char gone[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return len >= (ssize_t)sizeof(gone) &&
	       !memcmp(path + len - (sizeof(gone) - 1), gone, sizeof(gone) - 1);
}

/* The next client that waits. */
static void admit(struct storage_service *service, const struct endpoint *endpoint, int signals,
		  const pthread_attr_t *attributes)
{
	struct pollfd wanted = { .fd = signals, .events = POLLIN };
	int fd = accept4(endpoint->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		welcome(service, fd, attributes);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		(void)poll(&wanted, 1, 100);	/* no descriptor is free */
}

/* With as many clients as it has room for, further ones wait in the backlog until one leaves. */
static _Noreturn void serve(struct storage_service *service, struct endpoint *endpoint,
			    int signals, bool limited)
{
	const uint64_t life_end = limited ? cmn_clock_deadline(LIMITED_LIFE_NS) : UINT64_MAX;
	pthread_attr_t attributes;
	eventfd_t left_since;

	(void)pthread_attr_init(&attributes);	/* cannot fail on Linux */
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	for (;;) {
		bool full = atomic_load(&service->clients) >= MAX_CLIENTS;
		struct pollfd wanted[] = {
			{ .fd = full ? -1 : endpoint->listener, .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
			{ .fd = service->departures, .events = POLLIN },
		};
		int left = idle_left(service);
		int ready = poll(wanted, sizeof(wanted) / sizeof(wanted[0]), left);

		if (cmn_clock_monotonic() >= life_end || is_replaced())
			retire(service);
		if (ready > 0 && wanted[1].revents)
			end();
		if (ready > 0 && wanted[2].revents)
			(void)eventfd_read(service->departures, &left_since);	/* looks again */
		else if (ready > 0)
			admit(service, endpoint, signals, &attributes);
		/* It is out of reach; or all are silent, and who waits finds room with the next helper. */
		else if (ready == 0 && (left ? !atomic_load(&service->clients) && !is_own(endpoint)
					     : full))
			end();
		else if (ready == 0 && !left)
			end_unless_awaited(endpoint);
	}
}

int storage_server_main(const struct storage_backend *backend, int argc, char **argv)
{
	static struct storage_options options;
	static struct storage_service service;
	static struct endpoint endpoint;
	struct storage_error error = { "" };
	bool limited;
	int signals;

	(void)argv;
	if (argc > 1) {
		(void)printf("%s\nA storage helper, which ccache or ckcache starts.\n",
			     backend->identity);
		return 2;
	}
	close_inherited();
	open_standard();
	limited = !set_limits();
	service.end = end;
	if (!storage_options_read(&options, &error) ||
	    !storage_service_init(&service, &options, backend, &error)) {
		cmn_printable_clean(error.text, '?');	/* it may quote a setting */
		(void)fprintf(stderr, "%s: %s\n", backend->identity, error.text);
		return 2;
	}
	signals = take_signals();
	if (signals < 0 || !make_endpoint(options.endpoint, &endpoint))
		return 1;
	endpoint_of_process = &endpoint;
	leave_parent();
	serve(&service, &endpoint, signals, limited);
}
