/* SPDX-License-Identifier: MIT */
/*
 * offline_objects: queues, buffers and events of a device that is not there. Commands succeed at once. Those that
 * read, write or map a buffer do that in the host's memory, which is zeros at first; all others do nothing.
 * There are no images, no samplers of its own and no shared virtual memory. Thread-safe.
 */
#ifndef OPENCL_OFFLINE_OBJECTS_H
#define OPENCL_OFFLINE_OBJECTS_H

#include <CL/cl_icd.h>

/* As all clGet…Info do. */
cl_int offline_answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size);
/* Puts its functions into a driver's table, which can be written, and which its objects get. Once. */
void offline_objects_install(cl_icd_dispatch *table);

#endif
