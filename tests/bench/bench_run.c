/* SPDX-License-Identifier: MIT */
/* bench_run: failing, the clock, files, medians. */
#include "tests/bench/bench_run.h"

#include <stdarg.h>

void bench_fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);	/* nobody is left to tell */
	va_end(arguments);
	fprintf(stderr, "\n");
	exit(1);
}

uint64_t bench_now(void)
{
	bool processor = getenv("BENCH_PROCESSOR_TIME") != NULL;
	struct timespec time;

	if (clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time) != 0)
		bench_fail("there is no clock");
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

unsigned char *bench_read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;
	size_t len;
	long end;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) != 0)
		bench_fail("cannot read %s", path);
	len = (size_t)end;
	bytes = malloc(len + 1);
	if (!bytes || fread(bytes, 1, len, file) != len)
		bench_fail("cannot read %s", path);
	bytes[len] = '\0';
	(void)fclose(file);	/* only read */
	*ret_len = len;
	return bytes;
}

void bench_write_file(const char *path, const void *data, size_t len)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, len, file) != len || fclose(file) != 0)
		bench_fail("cannot write %s", path);
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

uint64_t bench_median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}
