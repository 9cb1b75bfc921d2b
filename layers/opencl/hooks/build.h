/* SPDX-License-Identifier: MIT */
/*
 * build: one call of clBuildProgram or clCompileProgram while it lasts, shared
 * by the files that carry it out: build.c for one that the application waits
 * for, build_callback.c for one that calls it back, compile.c for what is
 * particular to compiling, build_capture.c for what is kept of it.
 */
#ifndef OPENCL_HOOKS_BUILD_H
#define OPENCL_HOOKS_BUILD_H

#include <stdatomic.h>

#include "layers/opencl/key/build_key.h"
#include "layers/opencl/program/capture.h"
#include "layers/shared/driver/libraries.h"
#include "layers/opencl/program/watch.h"

/* What clCompileProgram is given beyond clBuildProgram. */
struct ocl_compile {
	cl_uint count;
	const cl_program *programs;
	const char **names;
	struct ocl_header *headers;	/* the same, as far as they are known; holds references */
};

struct ocl_build {
	struct ocl_program *program;
	const struct ocl_compile *compile;	/* NULL: a build; for the call only */
	enum ocl_loaded_program_kind kind;	/* of what it makes */
	struct ocl_targets targets;
	const char *options;		/* the application's, for the call only */
	char *own_options;		/* a copy for after the call, or NULL */
	cl_uint list_count;		/* the application's own device list */
	const cl_device_id *list;
	ocl_notify_fn notify;
	void *user_data;
	struct cc_key key;
	enum cc_capture capture;
	const struct drv_driver *driver;
	struct drv_observation *observation;	/* of the driver's build; NULL: not begun, or ended */
	struct cc_manifest *manifest;	/* what the driver read; NULL: nothing */
	struct drv_library_epoch epoch;
	uint64_t start_ns, build_ns;
	struct ocl_original *original;	/* this call, once there is a key; for the call only */
	cl_int error;			/* of the driver */
	bool ran;			/* the driver was called */
	bool retried;			/* after running out of memory */
	bool hit;			/* E stands for P */
	bool deferred;			/* ckcache replay has the recipe */
	bool claimed;			/* other threads wait to build the program */
	/* Of a build in the driver's hands. */
	atomic_uint refs;
	uint64_t serial;		/* the program's, as this build makes it */
	bool called;			/* the driver called back; guarded by the objects' lock */
	bool abandoned;			/* the driver refused the build, and will hardly call back; likewise */
	const char *bypass;		/* why nothing is cached, or NULL */
};

/* Carries out the call, from the cache or by the driver, calls back where the cache did, and releases. The driver's answer. */
cl_int ocl_build_call(struct ocl_build *build);

/* Header arguments that a driver has to refuse (OpenCL 3.0, clCompileProgram, Errors). */
bool ocl_compile_has_bad_headers(const struct ocl_compile *compile);

/* Frees what the build gathered, not the structure nor the program. */
void ocl_build_release(struct ocl_build *build);

/*
 * The driver's own build or compilation of P, timed; sets error and ran. E goes first: from
 * now on P answers, also while it is being built. With notify the claim on
 * the program is given up, since the application's callback may build it again.
 */
void ocl_build_run(struct ocl_build *build, ocl_notify_fn notify, void *user_data);

/* Whether the build may be cached as far as can be told before it; else bypass says why not. */
bool ocl_build_may_be_cached(struct ocl_build *build);
/* Before the driver builds: what it reads from now on is seen. */
void ocl_build_watch(struct ocl_build *build);
/* After it: what was seen is the manifest. false: bypass says why it is not known. */
bool ocl_build_see(struct ocl_build *build);

/* Whether PyOpenCL's token, which is not in the key, could make a difference by these files; NULL: by none. */
bool ocl_build_token_may_matter(const struct ocl_build *build, const struct cc_manifest *manifest);

/* After a build that succeeded: by which options. */
void ocl_build_note_options(struct ocl_build *build);

/* Puts E in P's place and counts the hit. false: the driver would not have it; the entry is gone. */
bool ocl_build_attach(struct ocl_build *build, struct cc_entry *entry, enum cc_origin origin);

/* Reads the program just built, now or, by policy, later. CMN_OK: *ret is the entry; else bypass may say why not. */
CMN_CHECKED enum cmn_status ocl_build_capture(struct ocl_build *build, struct cc_entry **ret);

/* The entry that says how the build failed, for memory alone. CMN_MISS: that may pass, or bypass says why not. */
CMN_CHECKED enum cmn_status ocl_build_capture_failure(struct ocl_build *build,
						      struct cc_entry **ret);

/* Counts the build as a miss, or as a bypass with its reason. */
void ocl_build_count(struct ocl_build *build);

/* build_callback.c: the whole of a build for which the application wants to be called back. */
void ocl_build_with_callback(struct ocl_build *build);

#endif
