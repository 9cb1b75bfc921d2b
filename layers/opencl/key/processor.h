/* SPDX-License-Identifier: MIT */
/*
 * processor: what a processor can do, for which a CPU device compiles, as the kernel says it in
 * /proc/cpuinfo. Where glibc tells the features (x86), identity.c asks it instead. Pure.
 */
#ifndef OPENCL_KEY_PROCESSOR_H
#define OPENCL_KEY_PROCESSOR_H

#include "common/bytes.h"

/*
 * Appends the lines that say what the processors are, each of them once: not which of them it is,
 * how many there are, and how fast they are at the moment. Unknown lines are appended.
 */
void ocl_processor_describe(struct cmn_view cpuinfo, struct cmn_buffer *ret);

#endif
