/* SPDX-License-Identifier: MIT */
/*
 * doctor: what the files of `ckcache doctor` share: the findings, and what one section learns for those after
 * it. doctor.c has the verb, the order and the findings; the other files have the sections. A section says
 * what it finds and never fails: what cannot be found out is a finding too.
 */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include "tools/tool.h"
#include "tools/worker/worker_process.h"

enum doctor_mark {
	DOCTOR_OK,
	DOCTOR_NOTE,	/* to know; the cache works all the same */
	DOCTOR_PROBLEM,	/* it does not, or not for all that it could serve */
};

struct doctor;
struct doctor_section {
	const char *name;	/* for scripts */
	const char *title;
	void (*look)(struct doctor *doctor);
};

struct doctor_finding {
	const struct doctor_section *section;
	enum doctor_mark mark;
	char *text;
	char *advice;	/* NULL: none */
};

/* What became of a device's trial; doctor_devices.c. All text is owned, and may be "". */
struct doctor_device {
	bool level_zero;	/* else OpenCL */
	char *platform, *name, *driver_version, *library;
	char *label;	/* of the first three; boards of one kind have the same */
	char *indices[2];	/* of its platform or driver, and its own there, as the probes count */
	const char *result;	/* a word of docs/JSON.md */
	bool measured;
	uint64_t compile_ns, capture_ns, hit_ns;
};

/* What became of the remote tier's trial; doctor_remote.c. */
struct doctor_remote {
	char *address;		/* as people may see it; NULL: no tier is configured */
	char *helper;		/* the program's path; NULL: there is none */
	bool works;
	bool asked, was_read, was_written;
	uint64_t get_ns, put_ns;	/* of a value that was read, written */
};

struct doctor {
	bool quick, json;
	const char *program;	/* that was named; NULL: none */
	uint64_t timeout_ns;	/* for each answer of drivers */
	struct cc_config config;
	char *scratch;		/* a directory that goes at the end; NULL: none could be made */
	int signal;		/* that asked this process to end; 0: none */
	bool ready;		/* some API has its layer and a device */
	struct doctor_finding *findings;
	size_t finding_count, problem_count;
	struct doctor_device *devices;
	size_t device_count;
	struct doctor_remote remote;
	bool failed;		/* nothing more is to be done: nobody reads, or a signal came */
	const struct doctor_section *section;	/* that is at work */
	const struct doctor_section *printed;	/* whose title was printed last; NULL: none was */
};

/* Adds a finding of this section, and prints it unless it is for JSON. advice: what to do, or NULL. */
void doctor_say(struct doctor *doctor, enum doctor_mark mark, const char *advice, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define doctor_ok(doctor, ...) doctor_say(doctor, DOCTOR_OK, NULL, __VA_ARGS__)
#define doctor_note(doctor, ...) doctor_say(doctor, DOCTOR_NOTE, __VA_ARGS__)
#define doctor_problem(doctor, ...) doctor_say(doctor, DOCTOR_PROBLEM, __VA_ARGS__)
/* For a variable that holds a path, as probes work elsewhere; one that is not there stays. */
void doctor_make_absolute(const char *variable);
/* The last words, or all of it as JSON. */
void doctor_report_end(struct doctor *doctor);

/* A device that a probe named; its trial comes later. */
void doctor_add_device(struct doctor *doctor, bool level_zero, const char *platform,
		       const char *library, const char *const fields[4]);

/*
 * Variables for probes: drivers' own caches in a directory that goes. No key
 * has these names (layers/shared/driver/environment.c).
 */
#define DOCTOR_OWN_CACHES(directory)                                              \
	{ "XDG_CACHE_HOME", directory }, { "NEO_CACHE_DIR", directory },          \
	{ "MESA_SHADER_CACHE_DIR", directory }, { "POCL_CACHE_DIR", directory },  \
	{ "CUDA_CACHE_PATH", directory }
/* The same for probes that compile nothing; this cache is on, makes nothing and counts nothing. */
#define DOCTOR_HARMLESS(doctor)                                                   \
	{ "CKCACHE_DISABLE", "0" }, { "CKCACHE_PERSISTENT", "0" },                \
	{ "CKCACHE_TRACE", NULL }, { "CKCACHE_LOG", "none" },                     \
	{ "CKCACHE_LOG_FILE", "" },                                               \
	DOCTOR_OWN_CACHES((doctor)->scratch)

/* What a worker said, and what all that adds up to. */
struct doctor_answer {
	char *records;		/* of the channel; channel_next cuts it */
	char *texts;		/* in which these lie; NULL: not said */
	const char *loader, *name, *version, *asked, *what, *failure, *library, *built;
	size_t active, below, layers, platforms, devices;	/* layers: files of ours that were loaded */
	char problem[128];	/* how it ended, as "crashed (SIGSEGV)"; "": by itself and after its work */
	char words[256];	/* the last line that it printed, behind ": ", or "" */
};
/*
 * Runs a worker that asks, in a directory that goes, since drivers without hardware write files where
 * they are. Notes an interruption, complains where no process can be started. false: the doctor is to end;
 * else *ret is to be released.
 */
bool doctor_ask(struct doctor *doctor, const char *directory, const char *const *arguments,
		const struct worker_variable *variables, bool layers, struct doctor_answer *ret);
/* Without the cache, also where the environment brings it; library: the one OpenCL driver, or NULL. */
bool doctor_ask_without(struct doctor *doctor, const char *probe, const char *library,
			struct doctor_answer *ret);
void doctor_answer_release(struct doctor_answer *answer);

void doctor_look_at_program(struct doctor *doctor);
/* Loads the configuration. */
void doctor_look_at_settings(struct doctor *doctor);
void doctor_look_at_directory(struct doctor *doctor);
void doctor_look_at_remote(struct doctor *doctor);
void doctor_look_at_opencl(struct doctor *doctor);
void doctor_look_at_level_zero(struct doctor *doctor);
void doctor_look_at_devices(struct doctor *doctor);
void doctor_look_at_environment(struct doctor *doctor);
void doctor_look_at_history(struct doctor *doctor);

/* Part of the section of OpenCL: the drivers' files. */
struct doctor_icd {
	char *file;		/* that names it; NULL: a variable does */
	char *library;		/* NULL: there is a problem */
	char *problem;
};
struct doctor_icds {
	struct doctor_icd *items;
	size_t count;
};
/* Makes absolute what the loaders' variables have relative to this directory. */
void doctor_icds_settle(void);
/* Asks each alone, without the layer; whether one did not answer. */
bool doctor_icds_blame(struct doctor *doctor, const struct doctor_icds *icds);

/*
 * Of a probe with a layer that came to a bad end: whose fault that is, the layer's, a driver's or all
 * drivers'. icds: those of OpenCL's; NULL: it was Level Zero's. false: it came to no bad end.
 */
bool doctor_blame(struct doctor *doctor, const char *layer, const struct doctor_answer *answer,
		  const struct doctor_icds *icds);

#endif
