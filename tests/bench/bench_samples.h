/* SPDX-License-Identifier: MIT */
/*
 * bench_samples: times of many operations of one thread, and what became of
 * the thread meanwhile: whether it ran all the time, lost the processor to
 * another one, or waited in the kernel. One list a process; not thread-safe.
 */
#ifndef TESTS_BENCH_BENCH_SAMPLES_H
#define TESTS_BENCH_BENCH_SAMPLES_H

#include <stdint.h>
#include <sys/resource.h>

struct bench_watch {
	struct rusage before;
	uint64_t start;
};

void bench_start(struct bench_watch *watch);
void bench_stop(const struct bench_watch *watch);	/* one sample; some millions are kept */
void bench_forget_samples(void);	/* and makes the memory for them now */
/*
 * One JSON object: count, median, p99, p999, max in nanoseconds. Of those that
 * took over twice the median: slow_preempted lost the processor, slow_slept
 * waited, slow_ran neither (interrupts, the hypervisor, or more work); max_ran
 * and max_slept are the longest of theirs.
 */
void bench_print_samples(void);

#endif
