/* SPDX-License-Identifier: MIT */
/*
 * pyopencl_nonce: PyOpenCL ends each source that it compiles for its own cache with a constant of a
 * random name, to defeat other caches (pyopencl/cache.py). If nothing can refer to that name, the
 * program is the same with any other name.
 */
#ifndef OPENCL_KEY_PYOPENCL_NONCE_H
#define OPENCL_KEY_PYOPENCL_NONCE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"

/*
 * The random digits at the end of a source, if their value makes no difference: nothing but that line
 * has them, also over joined lines; there is no ## and no string that names a symbol, which could
 * compose them; and no debug information. false: there are none, or it is uncertain. options may be
 * NULL. The files that the build reads must be checked by the function below. Thread-safe.
 */
bool ocl_pyopencl_nonce_find(struct cmn_view source, const char *options, struct cmn_view *ret);

/* false: the source certainly does not end in such a constant. */
static inline bool ocl_pyopencl_nonce_may_be(struct cmn_view source)
{
	static const char end[] = " = 0;";
	const size_t len = sizeof(end) - 1;

	return source.len >= len && memcmp((const char *)source.data + source.len - len, end, len) == 0;
}

/* Whether one of the files has some of the token's digits in a row, or cannot be read. manifest may be NULL. */
bool ocl_pyopencl_nonce_is_in_files(struct cmn_view token, const struct cc_manifest *manifest,
				    const struct cc_include_paths *paths);

/* Whether a build log names such a constant: then it belongs to one source alone. */
bool ocl_pyopencl_nonce_is_in_log(struct cmn_view log);

#endif
