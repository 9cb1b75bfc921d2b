/* SPDX-License-Identifier: MIT */
/*
 * program: what the layer knows of a program that the application made from
 * source or from an intermediate language (IL), or by linking. The program
 * stays the driver's own object; a build that hits gives it a loaded program
 * (loaded_program.h), which answers for what the binary decides.
 *
 * The driver's own reference counts stay true: each retain and release of the
 * application goes through, except the last release while kernels of the
 * loaded program live; that one waits for them, as the driver would keep the
 * program for kernels of its own.
 */
#ifndef OPENCL_PROGRAM_PROGRAM_H
#define OPENCL_PROGRAM_PROGRAM_H

#include "layers/opencl/program/loaded_program.h"
#include "layers/opencl/program/objects.h"
#include "layers/opencl/program/original.h"

struct ocl_program {
	struct ocl_object object;	/* first; handle is the application's program */
	cl_context context;		/* borrowed: the program holds it */
	struct ocl_program_text *text;	/* immutable; NULL: it was linked */
	bool unbuildable;		/* the driver would not survive that; immutable once the application has it */
	/* guarded by the object's lock */
	unsigned int live_kernels;	/* created from it or a loaded program, and not released */
	unsigned int loaded_kernels;	/* of those, the ones created from a loaded program */
	bool held;			/* released by the application, kept for these */
	struct ocl_loaded_program *loaded;	/* NULL: the program answers for itself */
	bool lost_loaded;		/* a build failed after a hit: the driver may never have built it */
	/* guarded by the layer's lock */
	struct ocl_constant *constants;	/* by id, ascending */
	size_t constant_count;
	bool constants_unknown;		/* some could not be kept */
	unsigned int constants_coming;	/* that the driver is being told, and may know by now */
	uint64_t constants_told;	/* counts these and all before */
	cl_device_id *built;		/* devices that it is built, compiled or loaded for */
	cl_uint built_count;
	bool built_unknown;		/* for which else is not known */
	bool build_tried;		/* a build of it succeeded or failed: it was not only compiled */
	char *options;			/* of the build that made it so for all of these, "" for none; NULL: unknown */
	bool has_content;		/* content says what it is as the input of a link */
	struct cmn_hash content;
	uint64_t build_serial;		/* counts what the driver was told to do to it */
	unsigned int async_builds;	/* in the driver, with a callback to come */
	bool busy;			/* a thread is in clBuildProgram or clCompileProgram */
	struct ocl_original *original;	/* the call that made it; NULL: not known, or a build by options */
};

/* A new reference, or NULL: not one of ours. */
static inline struct ocl_program *ocl_program_find(cl_program handle)
{
	return (struct ocl_program *)ocl_objects_find(OCL_PROGRAMS, handle);
}

static inline void ocl_program_unref(struct ocl_program *program)	/* NULL is fine */
{
	ocl_object_unref((struct ocl_object *)program);
}

/* The loaded program with a new reference, or NULL. */
struct ocl_loaded_program *ocl_program_loaded(struct ocl_program *program);
/* Replaces the loaded program (NULL: the program answers for itself); takes the reference. May call the driver. */
void ocl_program_set_loaded(struct ocl_program *program, struct ocl_loaded_program *loaded);

/* Before the driver is told to build or compile the program anew: the loaded program is the caller's. */
struct ocl_loaded_program *ocl_program_take_loaded(struct ocl_program *program);
/*
 * After the driver was told to: gives back the loaded program if the driver refused the call outright,
 * else lets it go.
 */
void ocl_program_settle_loaded(struct ocl_program *program, struct ocl_loaded_program *loaded,
			       cl_int error);

/* In a forked child, with the lock: builds that threads of the parent were at are not going on here. */
void ocl_programs_forked_locked(void);

/* A program that the driver made, known from now on; takes text (NULL: it was linked), borrows context. Without memory it stays unknown. */
void ocl_program_remember(cl_program handle, cl_context context, struct ocl_program_text *text);
/* Before the driver is told a specialization constant, and after: told: it has that value from now on. */
void ocl_program_expect_constant(struct ocl_program *program);
void ocl_program_keep_constant(struct ocl_program *program, bool told, cl_uint id, size_t size,
			       const void *value);

/* ocl_original_of_text of it, as it is now. */
struct ocl_original *ocl_program_new_original(struct ocl_program *program,
					      const struct ocl_original_request *request);
/*
 * The call that made it, with a new reference, or NULL: a build's is made now, of what the program knows. And
 * which compilation or link it is from now on (NULL: none), whose reference is taken.
 */
struct ocl_original *ocl_program_original(struct ocl_program *program);
void ocl_program_set_original(struct ocl_program *program, struct ocl_original *original);

struct ocl_program_state;

/* What a program is once a hit has loaded it. */
struct ocl_program_hit {
	struct ocl_loaded_program *loaded;	/* reference taken, as original's */
	struct ocl_original *original;	/* of a compilation, else NULL */
	struct cc_entry *object;	/* what it was loaded from, as an input of links; NULL: it is none */
	cl_uint num_devices;		/* that it is loaded for, beside others */
	const cl_device_id *devices;
	const char *options;		/* by which it is now built for all of its devices; NULL: by none that are known */
	uint64_t constants_told;	/* when its key was made; others since: the options are not known */
};

/* Of a claimed program; ends the claim. */
void ocl_program_put_hit(struct ocl_program *program, const struct ocl_program_hit *hit);
/* Which entry it was loaded from or became: what a link of it depends on. */
void ocl_program_set_content(struct ocl_program *program, struct cc_entry *entry);
/* false: unknown. */
bool ocl_program_content(struct ocl_program *program, struct cmn_hash *ret);
/* Whether a build of it was tried, and that one is from now on. */
bool ocl_program_build_was_tried(struct ocl_program *program);
void ocl_program_note_build(struct ocl_program *program);
/* It is built for these devices, too; none: for some that are not known. */
void ocl_program_add_built(struct ocl_program *program, cl_uint num_devices,
			   const cl_device_id *devices);
/*
 * By which options it is built now for all of its devices; NULL: by none that are known. found: as it was
 * when the build began; with constants set since then it is not known what it is built with. NULL with no options.
 */
void ocl_program_set_options(struct ocl_program *program, const char *options,
			     const struct ocl_program_state *found);
/* Whether it is a build of that text or IL, with these constants and options. options may be NULL. */
bool ocl_program_is_build_of(struct ocl_program *program, const struct ocl_program *parts,
			     const char *options);
/* Whether it is built for a device that is not among these. */
bool ocl_program_built_beyond(struct ocl_program *program, cl_uint num_devices,
			      const cl_device_id *devices);

/* What a build finds. */
struct ocl_program_state {
	bool left_to_driver;	/* it builds with a callback to come, or kernels of the driver's own program live */
	bool is_built;		/* for some device, or that is not known */
	bool has_constants;	/* specialization constants, or that is not known */
	uint64_t constants_told;	/* so far */
	struct ocl_loaded_program *loaded;	/* if kernels of it live, with a new reference; else NULL */
};

/* Waits until no other thread builds the program, then claims it; the lock is not held after. */
void ocl_program_begin(struct ocl_program *program, struct ocl_program_state *ret);
/* The same without waiting. false: somebody has it. */
bool ocl_program_try_begin(struct ocl_program *program);
void ocl_program_end(struct ocl_program *program);
/* Whether the driver was told a constant since, and so may have built with it. */
bool ocl_program_got_constants(struct ocl_program *program, const struct ocl_program_state *found);

/*
 * For a kernel that is about to be made of handle: the program with a new
 * reference, the kernel counted among its live ones, and the
 * loaded program (or NULL) with a new reference. NULL: not one of ours.
 */
struct ocl_program *ocl_program_find_for_kernel(cl_program handle,
						struct ocl_loaded_program **ret_loaded);
/* One more of its kernels. */
void ocl_program_add_kernel(struct ocl_program *program, bool of_loaded);
/* One of them is gone, or did not come into being: this may release the program in the driver. */
void ocl_program_drop_kernel(struct ocl_program *program, bool of_loaded);
/* A release by the application that may be its last one: the driver's answer. */
cl_int ocl_program_release(struct ocl_program *program);

#endif
