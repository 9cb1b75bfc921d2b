/* SPDX-License-Identifier: MIT */
/*
 * digest: the number by which the stub driver and its clients recognise a
 * program's text (FNV-1a, cut to 32 bits so that no query can overflow).
 */
#ifndef TESTS_OPENCL_DIGEST_H
#define TESTS_OPENCL_DIGEST_H

#include <stdint.h>

static inline uint64_t digest_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return (hash ^ hash >> 32) & 0xffffffffu;
}

#endif
