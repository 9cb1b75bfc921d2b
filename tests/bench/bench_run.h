/* SPDX-License-Identifier: MIT */
/*
 * bench_run: what the programs that the benchmarks time share: failing, the
 * clock, the input file, and medians of repeated builds. Knows of no API.
 */
#ifndef TESTS_BENCH_BENCH_RUN_H
#define TESTS_BENCH_BENCH_RUN_H

#include "tests/support/posix.h"

/* Enough for a stable median; odd, so that the median is a measured value. */
#define BENCH_ROUNDS 101

/* Says so on stderr, after the program's name, and exits with 1. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Nanoseconds, monotonic; with BENCH_PROCESSOR_TIME set, those that the process took of
 * processors, which other work on the machine disturbs less.
 */
uint64_t bench_now(void);

/* The whole file, with a terminator that does not count; heap. Exits if it cannot be read. */
unsigned char *bench_read_file(const char *path, size_t *ret_len);
/* Exits if it cannot be written. */
void bench_write_file(const char *path, const void *data, size_t len);

/* Of values that it puts in order. */
uint64_t bench_median(uint64_t *values, size_t count);

#endif
