/* SPDX-License-Identifier: MIT */
/* process_exit: the main thread's destructor. */
#include "layers/opencl/program/process_exit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "layers/opencl/program/capture.h"
#include "layers/opencl/layer.h"

/*
 * Of the C++ ABI for Linux, in glibc since 2.18; C has no other way to it. The
 * last argument keeps this library loaded, which it is for good anyway.
 */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *object), void *object, void *library)
	__attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void end(void *unused)
{
	(void)unused;
	ocl_capture_pending();
}

void ocl_process_exit_watch(void)
{
	static atomic_bool watching;

	if (atomic_load_explicit(&watching, memory_order_relaxed) || getpid() != gettid() ||
	    !__cxa_thread_atexit_impl || atomic_exchange(&watching, true))
		return;
	(void)__cxa_thread_atexit_impl(end, NULL, &__dso_handle);	/* without it, the destructor */
}
