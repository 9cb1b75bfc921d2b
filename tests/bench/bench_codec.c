/* SPDX-License-Identifier: MIT */
/*
 * bench_codec: what a payload costs to store and to read again: raw, as zlib
 * streams of several levels and makers, each decoded by several decoders of
 * that format. Each figure is the median over rounds; every time of reading
 * is taken in a child of its own, whose memory is fresh, as it is in a process
 * that has one hit. Knows nothing of drivers; codec.py puts its lines beside
 * what a driver takes to load the same.
 *
 *   bench_codec ROUNDS DIRECTORY FILE...
 *
 * FILE is a payload, or an <n>.bin of a store that holds one raw. DIRECTORY
 * gets the encoded files; which disk it is on decides the cold figures. Prints
 * one line of words per file, maker and level, and decoder:
 *   file maker level decoder payload_len stored_len compress read decode hit cold
 * the times in nanoseconds, of the processor; hit: open, read, verify, decode
 * and verify, the file in the page cache; cold: the same by the clock with the
 * file's pages dropped.
 */
#include <sys/mman.h>

#include <libdeflate.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "cachecore/entry.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"
#include "tests/bench/bench_run.h"

#define MAX_ROUNDS 1001
#define PATH_SIZE 4096

static _Noreturn void fail(const char *what)
{
	bench_fail("%s: %s", what, strerror(errno));
}

/* Pages that nobody used before, as malloc gives for anything large. */
static uint8_t *fresh(size_t len)
{
	void *room = mmap(NULL, len ? len : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		fail("mmap");
	return room;
}

static size_t zlib_compress(struct cmn_view data, int level, uint8_t *out, size_t cap)
{
	uLongf len = cap;

	return compress2(out, &len, data.data, data.len, level) == Z_OK ? len : 0;
}

static bool zlib_decompress(struct cmn_view data, uint8_t *out, size_t len)
{
	uLongf got = len;

	return uncompress(out, &got, data.data, data.len) == Z_OK && got == len;
}

static size_t libdeflate_compress(struct cmn_view data, int level, uint8_t *out, size_t cap)
{
	struct libdeflate_compressor *state = libdeflate_alloc_compressor(level);
	size_t len = state ? libdeflate_zlib_compress(state, data.data, data.len, out, cap) : 0;

	libdeflate_free_compressor(state);
	return len;
}

static bool libdeflate_decompress(struct cmn_view data, uint8_t *out, size_t len)
{
	struct libdeflate_decompressor *state = libdeflate_alloc_decompressor();
	bool done = state && libdeflate_zlib_decompress(state, data.data, data.len, out, len,
							NULL) == LIBDEFLATE_SUCCESS;

	libdeflate_free_decompressor(state);
	return done;
}

#ifdef HAVE_ISAL
static bool isal_decompress(struct cmn_view data, uint8_t *out, size_t len)
{
	struct inflate_state state;

	isal_inflate_init(&state);
	state.crc_flag = ISAL_ZLIB;
	state.next_in = (uint8_t *)(uintptr_t)data.data;	/* it does not write to it */
	state.avail_in = (uint32_t)data.len;
	state.next_out = out;
	state.avail_out = (uint32_t)len;
	return isal_inflate(&state) == ISAL_DECOMP_OK && state.total_out == len &&
	       state.block_state == ISAL_BLOCK_FINISH;
}
#endif

static bool copy_nothing(struct cmn_view data, uint8_t *out, size_t len)
{
	(void)data;
	(void)out;
	(void)len;
	return true;
}

static const struct maker {
	const char *name;
	int level;
	size_t (*compress)(struct cmn_view data, int level, uint8_t *out, size_t cap);
} makers[] = {
	{ "none", 0, NULL },
	{ "zlib", 1, zlib_compress },		  { "zlib", 3, zlib_compress },
	{ "zlib", 6, zlib_compress },		  { "zlib", 9, zlib_compress },
	{ "libdeflate", 1, libdeflate_compress }, { "libdeflate", 6, libdeflate_compress },
	{ "libdeflate", 9, libdeflate_compress },
};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static const struct decoder {
	const char *name;
	bool (*decompress)(struct cmn_view data, uint8_t *out, size_t len);
} decoders[] = {
	{ "zlib", zlib_decompress },
	{ "libdeflate", libdeflate_decompress },
#ifdef HAVE_ISAL
	{ "isa-l", isal_decompress },
#endif
};
#define DECODERS (sizeof(decoders) / sizeof(decoders[0]))
static const struct decoder raw_decoder = { "none", copy_nothing };

struct stored {
	char path[PATH_SIZE];
	size_t payload_len;
	struct cmn_hash hash, payload_hash;
};

struct times {
	uint64_t read_ns;	/* open, read, verify: processor time */
	uint64_t decode_ns;	/* decode, verify: processor time */
	uint64_t wall_ns;	/* both, with waiting for the disk */
};

/* What this thread took of a processor: other work on the machine shows least in it. */
static uint64_t processor_ns(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
		fail("clock_gettime");
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* What a hit does with an <n>.bin, step by step as cachecore's does it. */
static struct times read_once(const struct stored *stored, const struct decoder *decoder)
{
	uint64_t begin = cmn_clock_monotonic(), start = processor_ns(), middle;
	int fd = open(stored->path, O_RDONLY | O_CLOEXEC);
	bool raw = decoder == &raw_decoder;
	struct cmn_hash hash;
	struct stat info;
	uint8_t *in, *out;

	if (fd < 0 || fstat(fd, &info) < 0)
		fail(stored->path);
	in = fresh((size_t)info.st_size);
	if (read(fd, in, (size_t)info.st_size) != info.st_size)
		fail("read");
	(void)close(fd);	/* read only */
	hash = cmn_hash_of(in, (size_t)info.st_size);
	if (!cmn_hash_equal(&hash, &stored->hash))
		fail("verifying");
	middle = processor_ns();
	if (raw)
		return (struct times){ middle - start, 0, cmn_clock_monotonic() - begin };
	out = fresh(stored->payload_len);
	if (!decoder->decompress((struct cmn_view){ in, (size_t)info.st_size }, out,
				 stored->payload_len))
		fail(decoder->name);
	hash = cmn_hash_of(out, stored->payload_len);
	if (!cmn_hash_equal(&hash, &stored->payload_hash))
		fail("verifying the payload");
	return (struct times){ middle - start, processor_ns() - middle,
			       cmn_clock_monotonic() - begin };
}

static struct times read_in_child(const struct stored *stored, const struct decoder *decoder)
{
	struct times times;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) < 0)
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		times = read_once(stored, decoder);
		_exit(write(ends[1], &times, sizeof(times)) == sizeof(times) ? 0 : 1);
	}
	(void)close(ends[1]);	/* the child has it */
	if (read(ends[0], &times, sizeof(times)) != sizeof(times) || waitpid(child, &status, 0) != child || status != 0)
		fail("a child");
	(void)close(ends[0]);	/* read only */
	return times;
}

/* This file's pages alone leave the page cache: other work on the machine is left in peace. */
static void drop_pages(const struct stored *stored)
{
	int fd = open(stored->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fail("posix_fadvise");
	(void)close(fd);	/* read only */
}

static void write_stored(struct stored *stored, const char *dir, size_t number, struct cmn_view data)
{
	int fd;

	(void)snprintf(stored->path, sizeof(stored->path), "%s/%zu.stored", dir, number);
	stored->hash = cmn_hash_of(data.data, data.len);
	fd = open(stored->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data.data, data.len) != (ssize_t)data.len ||
	    fsync(fd) != 0 ||	/* only clean pages can be dropped */
	    close(fd) != 0)
		fail(stored->path);
}

/* Fewer runs than of reading: it is slow. */
static uint64_t make_stored(struct stored *stored, const struct maker *maker, const char *dir,
			    struct cmn_view payload, size_t *ret_len)
{
	size_t cap = payload.len + payload.len / 8 + 1024, len = payload.len;
	uint64_t ns[3] = { 0 };
	uint8_t *out = fresh(cap);

	stored->payload_len = payload.len;
	stored->payload_hash = cmn_hash_of(payload.data, payload.len);
	for (size_t i = 0; i < 3 && maker->compress; i++) {
		uint64_t start = processor_ns();

		len = maker->compress(payload, maker->level, out, cap);
		ns[i] = processor_ns() - start;
		if (len == 0)
			fail("compressing");
	}
	*ret_len = len;
	write_stored(stored, dir, (size_t)(maker - makers),
		     maker->compress ? (struct cmn_view){ out, len } : payload);
	(void)munmap(out, cap);
	return bench_median(ns, 3);
}

struct series {
	uint64_t read_ns[MAX_ROUNDS], decode_ns[MAX_ROUNDS], hit_ns[MAX_ROUNDS], cold_ns[MAX_ROUNDS];
};

static void measure_round(const struct stored *stored, const struct decoder *decoder,
			  struct series *series, size_t round)
{
	struct times times = read_in_child(stored, decoder);

	series->read_ns[round] = times.read_ns;
	series->decode_ns[round] = times.decode_ns;
	series->hit_ns[round] = times.read_ns + times.decode_ns;
	drop_pages(stored);
	times = read_in_child(stored, decoder);
	series->cold_ns[round] = times.wall_ns;
}

/* All ways take turns within a round, so that all see the same machine. */
static void measure_payload(const char *name, struct cmn_view payload, const char *dir, size_t rounds)
{
	static struct series series[MAKERS][DECODERS];
	static struct stored stored[MAKERS];
	uint64_t compress_ns[MAKERS];
	size_t len[MAKERS];

	for (size_t i = 0; i < MAKERS; i++)
		compress_ns[i] = make_stored(&stored[i], &makers[i], dir, payload, &len[i]);
	for (size_t round = 0; round < rounds; round++) {
		measure_round(&stored[0], &raw_decoder, &series[0][0], round);
		for (size_t i = 1; i < MAKERS; i++) {
			for (size_t j = 0; j < DECODERS; j++)
				measure_round(&stored[i], &decoders[j], &series[i][j], round);
		}
	}
	for (size_t i = 0; i < MAKERS; i++) {
		for (size_t j = 0; j < (i ? DECODERS : 1); j++) {
			struct series *s = &series[i][j];

			printf("%s %s %d %s %zu %zu %llu %llu %llu %llu %llu\n", name, makers[i].name, makers[i].level,
			       i ? decoders[j].name : raw_decoder.name, payload.len, len[i],
			       (unsigned long long)compress_ns[i], (unsigned long long)bench_median(s->read_ns, rounds),
			       (unsigned long long)bench_median(s->decode_ns, rounds),
			       (unsigned long long)bench_median(s->hit_ns, rounds),
			       (unsigned long long)bench_median(s->cold_ns, rounds));
		}
		(void)unlink(stored[i].path);	/* the caller removes the directory */
	}
}

static void measure_file(const char *path, const char *dir, size_t rounds)
{
	struct cmn_buffer file = { 0 };
	struct cc_entry_header header;
	struct cmn_view payload;

	if (cmn_file_read(AT_FDCWD, path, SIZE_MAX / 4, true, &file) != CMN_OK)
		fail(path);
	payload = cmn_buffer_view(&file);
	if (cc_entry_read_header(payload, &header) == CMN_OK) {
		if (header.codec != 0 || payload.len != CC_ENTRY_HEADER_SIZE + header.payload_len)
			fail("an entry that is not stored raw");
		payload.data = file.data + CC_ENTRY_HEADER_SIZE;
		payload.len -= CC_ENTRY_HEADER_SIZE;
	}
	measure_payload(path, payload, dir, rounds);
	cmn_buffer_release(&file);
}

int main(int argc, char **argv)
{
	long rounds = argc > 3 ? strtol(argv[1], NULL, 10) : 0;

	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench_codec ROUNDS DIRECTORY FILE...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++)
		measure_file(argv[i], argv[2], (size_t)rounds);
	return 0;
}
