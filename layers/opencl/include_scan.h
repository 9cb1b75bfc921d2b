/* SPDX-License-Identifier: MIT */
/*
 * include_scan: which files a build of an OpenCL C source may read, found
 * without running a preprocessor to the end. It errs on one side only: every
 * file that the driver's front end could read, and every place where it could
 * look and finds nothing, is in the manifest; both branches of a conditional
 * count unless it is certain. What cannot be bounded so is a bypass with its
 * reason. Knows C's lexical rules and OpenCL's -I and -D options; calls no
 * driver. Thread-safe.
 */
#ifndef OPENCL_INCLUDE_SCAN_H
#define OPENCL_INCLUDE_SCAN_H

#include "cachecore/manifest.h"
#include "common/bytes.h"
#include "common/status.h"

/* What is compiled, and how. */
struct ocl_include_request {
	struct cmn_view source;
	const char *options;	/* may be NULL */
	bool quotes_group;	/* how the driver reads them: see drivers.h */
	/*
	 * Headers that come with the call (clCompileProgram). Drivers differ in
	 * whether files of their names go first, so that both count.
	 */
	const struct cmn_view *embedded;
	size_t embedded_count;
};

/*
 * Scans the source from the current working directory. CMN_OK: *ret_manifest is the caller's, or NULL where the source
 * reads nothing. CMN_MISS: not cacheable; *ret_reason is a static word such as
 * "has-include", "date", "option", "computed-include". CMN_ERR_*: failure.
 */
CMN_CHECKED enum cmn_status ocl_include_scan(const struct ocl_include_request *request,
					     struct cc_file_memo *memo,
					     struct cc_manifest **ret_manifest,
					     const char **ret_reason);

#endif
