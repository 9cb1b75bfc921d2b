/* SPDX-License-Identifier: MIT */
/*
 * wrap: WRAPPED(int, close, (int fd)) { ... } is what calls of close reach in a program with
 * ckcache_wrap(<program> close) (tests/Tests.cmake); __real_close is the wrapped one.
 */
#ifndef TESTS_SUPPORT_WRAP_H
#define TESTS_SUPPORT_WRAP_H

/* The linker puts these names in place: no header declares them. */
#define WRAPPED(type, name, parameters) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters

#endif
