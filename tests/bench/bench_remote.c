/* SPDX-License-Identifier: MIT */
/*
 * bench_remote: one process of the remote tier's benchmark (remote.py), over
 * cachecore as a layer uses it. Entries are those of bench_entries.h, with images
 * of one length.
 *
 *   bench_remote fill COUNT LENGTH        stores them; the configuration uploads them
 *   bench_remote get PORT COUNT LENGTH    looks up each one in the remote tier, and asks
 *                                         the Redis server on that port for the same
 *                                         value without anything in between, in turns
 *   bench_remote miss PORT COUNT          the same of entries that nobody has stored
 *   bench_remote link PATH DELAY_US MBIT  a connection to the server's socket at PATH as
 *                                         a network makes it: half of the delay each way,
 *                                         so many megabits a second; prints its port
 *
 * What get and miss measured: a line for each entry, nanoseconds of the look-up and of
 * the server's own answer.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cachecore/cache.h"
#include "cachecore/remote/value.h"
#include "common/clock.h"
#include "tests/bench/bench_entries.h"
#include "tests/bench/bench_run.h"

#define CHUNK ((size_t)16 << 10)
/* Numbers of entries that are never stored. */
#define ABSENT 1000000

static uint64_t number_of(const char *text)
{
	return strtoull(text, NULL, 10);
}

static struct cc_cache *open_cache(void)
{
	struct cc_cache *cache;

	if (cc_cache_open(&cache) != CMN_OK)
		bench_fail("cannot open the cache");
	return cache;
}

static int fill(uint64_t count, size_t len)
{
	struct cc_cache *cache = open_cache();

	for (uint64_t i = 0; i < count; i++) {
		struct cc_entry *entry = bench_make_entry(i, len);
		struct cc_key key;

		bench_make_key(i, &key);
		cc_cache_put(cache, &key, entry);
		cc_key_release(&key);
		cc_entry_unref(entry);
	}
	cc_cache_close(cache);
	return 0;
}

static int connect_port(uint64_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		bench_fail("cannot connect to port %llu", (unsigned long long)port);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));	/* as clients do */
	return fd;
}

static void read_all(int fd, char *data, size_t len)
{
	while (len) {
		ssize_t got = read(fd, data, len);

		if (got <= 0)
			bench_fail("the server has gone");
		data += got;
		len -= (size_t)got;
	}
}

/* The length of the value of a key, by the server's protocol; SIZE_MAX: there is none. */
static size_t ask_server(int fd, const char *key, char *room, size_t size)
{
	char request[256], line[32];
	size_t len = 0, value_len;
	int request_len = snprintf(request, sizeof(request), "*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n",
				   strlen(key), key);

	if (write(fd, request, (size_t)request_len) != request_len)
		bench_fail("the server has gone");
	do {
		read_all(fd, line + len, 1);
	} while (line[len++] != '\n' && len < sizeof(line));
	if (line[0] != '$')
		bench_fail("the server does not answer as it should");
	if (line[1] == '-')
		return SIZE_MAX;
	value_len = (size_t)number_of(line + 1);
	if (value_len + 2 > size)
		bench_fail("the server has something longer");
	read_all(fd, room, value_len + 2);
	return value_len;
}

/* As the helper for Redis names it. */
static void server_key(const struct cc_key *key, char ret[128])
{
	char name[CC_REMOTE_NAME_SIZE];
	int len = snprintf(ret, 128, "ckcache:");

	cc_remote_name(cc_key_view(key), name);
	for (const char *at = name; *at; at++)
		len += snprintf(ret + len, 128 - (size_t)len, "%02x", (unsigned char)*at);
}

static int look_up(uint64_t port, uint64_t first, uint64_t count, size_t len)
{
	struct cc_cache *cache = open_cache();
	size_t size = len + ((size_t)1 << 20);
	char *room = malloc(size);
	int fd = connect_port(port);

	if (!room)
		bench_fail("out of memory");
	memset(room, 1, size);	/* no page of it is new when it counts */
	for (uint64_t i = first; i < first + count; i++) {
		uint64_t begun, own_ns = 0, server_ns = 0;
		enum cc_origin origin = CC_ORIGIN_DISK;
		struct cc_entry *entry;
		char name[128];
		struct cc_key key;

		bench_make_key(i, &key);
		server_key(&key, name);
		for (int turn = 0; turn < 2; turn++) {
			begun = cmn_clock_monotonic();
			if (turn == (int)(i & 1)) {
				if ((ask_server(fd, name, room, size) == SIZE_MAX) != !len)
					bench_fail("the server has it, or not: %s", name);
				server_ns = cmn_clock_monotonic() - begun;
				continue;
			}
			if ((cc_cache_get(cache, &key, &entry, &origin) == CMN_OK) != (len != 0))
				bench_fail("the cache has it, or not: %s", name);
			own_ns = cmn_clock_monotonic() - begun;
			if (len && (origin != CC_ORIGIN_REMOTE || !bench_is_entry(entry, i, len, true)))
				bench_fail("not from the remote tier, or wrong: %s", name);
			if (len)
				cc_entry_unref(entry);
		}
		/* The first one starts the helper, and its connection. */
		if (i != first)
			printf("%llu %llu\n", (unsigned long long)own_ns, (unsigned long long)server_ns);
		cc_key_release(&key);
	}
	(void)close(fd);
	free(room);
	cc_cache_close(cache);
	return 0;
}

/* One direction of a connection: what is read is written when it would have arrived. */
struct direction {
	int from, to;
	uint64_t delay_ns, ns_per_mb;
};

struct piece {
	struct piece *next;
	uint64_t due;
	size_t len;
	char data[CHUNK];
};

struct pipe_line {
	struct direction direction;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct piece *first, **last;
	bool ended;
};

static void *deliver(void *arg)
{
	struct pipe_line *line = arg;

	for (;;) {
		struct timespec due;
		struct piece *piece;

		(void)pthread_mutex_lock(&line->lock);
		while (!line->first && !line->ended)
			(void)pthread_cond_wait(&line->more, &line->lock);
		piece = line->first;
		if (piece && !(line->first = piece->next))
			line->last = &line->first;
		(void)pthread_mutex_unlock(&line->lock);
		if (!piece)
			break;
		due = (struct timespec){ (time_t)(piece->due / 1000000000),
					 (long)(piece->due % 1000000000) };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
			continue;
		for (size_t at = 0; at < piece->len;) {
			ssize_t sent = send(line->direction.to, piece->data + at, piece->len - at,
					    MSG_NOSIGNAL);

			if (sent <= 0)
				break;
			at += (size_t)sent;
		}
		free(piece);
	}
	(void)shutdown(line->direction.to, SHUT_WR);
	return NULL;
}

static void *carry(void *arg)
{
	struct pipe_line line = { .direction = *(struct direction *)arg,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .more = PTHREAD_COND_INITIALIZER };
	uint64_t busy_until = 0;
	pthread_t thread;

	line.last = &line.first;
	free(arg);
	if (pthread_create(&thread, NULL, deliver, &line) != 0)
		bench_fail("no thread");
	for (;;) {
		struct piece *piece = malloc(sizeof(*piece));
		uint64_t now;
		ssize_t got;

		if (!piece)
			bench_fail("out of memory");
		got = read(line.direction.from, piece->data, sizeof(piece->data));
		if (got <= 0) {
			free(piece);
			break;
		}
		now = cmn_clock_monotonic();
		if (busy_until < now)
			busy_until = now;
		busy_until += (uint64_t)got * line.direction.ns_per_mb / 1000000;
		piece->next = NULL;
		piece->len = (size_t)got;
		piece->due = busy_until + line.direction.delay_ns;
		(void)pthread_mutex_lock(&line.lock);
		*line.last = piece;
		line.last = &piece->next;
		(void)pthread_cond_signal(&line.more);
		(void)pthread_mutex_unlock(&line.lock);
	}
	(void)pthread_mutex_lock(&line.lock);
	line.ended = true;
	(void)pthread_cond_signal(&line.more);
	(void)pthread_mutex_unlock(&line.lock);
	(void)pthread_join(thread, NULL);
	return NULL;
}

static void begin(int from, int to, uint64_t delay_ns, uint64_t ns_per_mb)
{
	struct direction *direction = malloc(sizeof(*direction));
	pthread_t thread;

	if (!direction)
		bench_fail("out of memory");
	*direction = (struct direction){ from, to, delay_ns, ns_per_mb };
	if (pthread_create(&thread, NULL, carry, direction) != 0)
		bench_fail("no thread");
	(void)pthread_detach(thread);
}

static _Noreturn void run_link(const char *path, uint64_t delay_us, uint64_t megabits)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un server = { .sun_family = AF_UNIX };
	uint64_t ns_per_mb = 8000 * UINT64_C(1000000) / megabits;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	socklen_t len = sizeof(own);

	(void)snprintf(server.sun_path, sizeof(server.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&own, &len) < 0)
		bench_fail("cannot listen");
	printf("%u\n", ntohs(own.sin_port));
	(void)fflush(stdout);
	for (;;) {
		int client = accept(fd, NULL, NULL), far = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (client < 0 || far < 0 || connect(far, (struct sockaddr *)&server, sizeof(server)) < 0)
			bench_fail("cannot connect to %s", path);
		(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));	/* delays are ours to make */
		begin(client, far, delay_us * 500, ns_per_mb);
		begin(far, client, delay_us * 500, ns_per_mb);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "fill") && argc == 4)
		return fill(number_of(argv[2]), number_of(argv[3]));
	if (!strcmp(mode, "get") && argc == 5)
		return look_up(number_of(argv[2]), 0, number_of(argv[3]), number_of(argv[4]));
	if (!strcmp(mode, "miss") && argc == 4)
		return look_up(number_of(argv[2]), ABSENT, number_of(argv[3]), 0);
	if (!strcmp(mode, "link") && argc == 5)
		run_link(argv[2], number_of(argv[3]), number_of(argv[4]));
	bench_fail("usage: bench_remote fill|get|miss|link ...");
}
