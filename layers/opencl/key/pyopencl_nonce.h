/* SPDX-License-Identifier: MIT */
/*
 * pyopencl_nonce: PyOpenCL ends each source that it compiles for its own cache
 * with a constant of a random name, so that no other cache gives it anything
 * (pyopencl/cache.py). Where nothing can refer to that name, the program is the
 * same with any other.
 */
#ifndef OPENCL_KEY_PYOPENCL_NONCE_H
#define OPENCL_KEY_PYOPENCL_NONCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"

/*
 * The random digits at the end of a source, if source and options are such that
 * their value makes no difference: nothing but that line has them, also over
 * joined lines; no ##, and no string that names a symbol, that could make them of
 * parts; no debug information. false: there are none, or in doubt. options may be NULL.
 * Of the files that a build reads there is more to ask, below. Thread-safe.
 */
bool ocl_pyopencl_nonce_find(struct cmn_view source, const char *options, struct cmn_view *ret);

/* Whether a file of these has some of the token in a row, or cannot be read. manifest may be NULL. */
bool ocl_pyopencl_nonce_is_in_files(struct cmn_view token, const struct cc_manifest *manifest);

/* Whether a build log names such a constant: then it is of one source alone. */
bool ocl_pyopencl_nonce_is_in_log(struct cmn_view log);

#endif
