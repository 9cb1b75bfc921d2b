/* SPDX-License-Identifier: MIT */
/*
 * references: a program's count for the test programs. rusticl's own thread
 * lets go of a program some microseconds after the build that it was for
 * (since 26: counted there), so the count is asked for until it stays.
 */
#ifndef TESTS_OPENCL_REFERENCES_H
#define TESTS_OPENCL_REFERENCES_H

#include <CL/cl.h>

cl_int references_of(cl_program program, cl_uint *ret_count);

#endif
