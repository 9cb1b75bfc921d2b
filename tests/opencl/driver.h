/* SPDX-License-Identifier: MIT */
/*
 * driver: runs the test client in a child process with an environment made
 * from nothing: one OpenCL driver, the layer or not, a cache directory of the
 * running test's own. Hits and misses are read from `ckcache stats --json`
 * and, with the stub, from its counts.
 *
 * A test program takes the driver's name as its argument. One that is not
 * installed is skipped with exit code 77, or is a failure where
 * CKCACHE_TEST_REQUIRE_DRIVERS names it, as tests/run.sh has it.
 */
#ifndef TESTS_OPENCL_DRIVER_H
#define TESTS_OPENCL_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DRIVER_SKIPPED = 77 };

struct driver {
	const char *name;
	const char *library;		/* pattern of the ICD's path */
	const char *environment[8];	/* NAME=value */
	const char *capture;		/* CKCACHE_CAPTURE with which it stores */
	bool executes;
	const char *beside;		/* where the ICD is from there, if the pattern is of a part of it */
	const char *through;		/* a library that the loader is given in its stead; NULL: none */
};

/* The driver that the arguments name ("stub" without any), with its library found; or exits. */
const struct driver *driver_select(int argc, char **argv);
/* The selected one. */
const struct driver *driver_selected(void);
bool driver_is(const char *name);
/* The path of its library. */
const char *driver_library(void);
/* Clients have this one from now on, as <unit_dir>/vendors/driver.icd says. */
void driver_install(const char *path);

/*
 * Empties settings, makes <unit_dir>/{vendors,home,work}: is called before each test, and by tests
 * that begin anew.
 */
void driver_begin(void);
/*
 * For the runs that follow; NULL: not set. Names: at most 32 in a test. On the stub driver guard.c
 * is preloaded, but where LD_PRELOAD is set: to "" for clients that leave something behind.
 */
void driver_setenv(const char *name, const char *value);
/* After driver_begin: the driver's own cache is as by default, below <unit_dir>/home. */
void driver_own_caches(void);
/* After driver_begin: the stub driver under another file name, since layers/shared/driver/drivers.c goes by that. */
void driver_stub_as(const char *name);
/* A setting of the stub driver (stub_driver.h), by its file; all others are cleared. NULL: none. */
void driver_stub_setting(const char *name, const char *value);
/* A shell command that the client runs under: it ends with exec "$@". NULL: none. */
void driver_shell(const char *command);
/* Another client than the suite's, by its path, which must stay valid. */
void driver_program(const char *path);
/* Clients run as the user nobody, who gets unit_dir; false: not root, so they already are somebody. */
bool driver_as_nobody(void);

enum driver_layer { BARE, LAYERED };

/* Its texts live as long as the test. */
struct outcome {
	int code;		/* exit code, or 128 + signal */
	char *output;		/* its stdout */
	char *errors;		/* its stderr */
};
/* Its stdout without blanks and line ends, of which JSON may have any; what it was is lost. */
const char *outcome_squeezed(struct outcome *outcome);

/* Runs one scenario to its end (killed after five minutes); -n is added where it is due. */
struct outcome driver_client(enum driver_layer layer, const char *const *arguments);
#define CLIENT(layer, ...) \
	driver_client(layer, (const char *const[]){ __VA_ARGS__, NULL })
/* The same in two parts, to run several at once. */
struct running {
	pid_t pid;
	unsigned int number;
};
struct running driver_start(enum driver_layer layer, const char *const *arguments);
struct outcome driver_wait(struct running running);

/* The client's program, for a command line of the test's own. */
const char *driver_client_path(void);
/* The ckcache command, with the environment of the clients. */
struct running driver_tool_start(const char *const *arguments);
struct outcome driver_tool(const char *const *arguments);
#define TOOL(...) driver_tool((const char *const[]){ __VA_ARGS__, NULL })

/* Equal code and output, but for temporary names in logs; says how they differ. */
bool outcome_same(const struct outcome *a, const struct outcome *b);
/* Makes the random parts of temporary names alike. */
void outcome_mask_temporaries(char *text);
/* Exit code 0; shows its stderr otherwise. */
bool outcome_good(const struct outcome *outcome);
/* Shows the text otherwise. */
bool contains(const char *text, const char *part);

/*
 * Assertions. A client's run ends well; answers with the layer as without it; answers with the
 * layer as that reference did (SAME_ANSWERS: the arguments as an array, up to NULL).
 */
#define GOOD_CLIENT(layer, ...) \
	driver_good_client(__FILE__, __LINE__, layer, (const char *const[]){ __VA_ARGS__, NULL })
#define SAME_AS_BARE(...) \
	driver_same_as_bare(__FILE__, __LINE__, (const char *const[]){ __VA_ARGS__, NULL })
#define SAME_AS(reference, ...) SAME_ANSWERS(reference, ((const char *const[]){ __VA_ARGS__, NULL }))
#define SAME_ANSWERS(reference, arguments) driver_same_as(__FILE__, __LINE__, reference, arguments)
/*
 * The ckcache command ends with that code; its stdout or stderr has those words, where an argument
 * is --json without blanks and line ends.
 */
#define TOOL_SAYS(code, words, ...) \
	driver_tool_says(__FILE__, __LINE__, code, words, (const char *const[]){ __VA_ARGS__, NULL })
struct outcome driver_good_client(const char *file, unsigned int line, enum driver_layer layer,
				  const char *const *arguments);
void driver_same_as_bare(const char *file, unsigned int line, const char *const *arguments);
struct outcome driver_same_as(const char *file, unsigned int line, const struct outcome *reference,
			      const char *const *arguments);
void driver_tool_says(const char *file, unsigned int line, int code, const char *words,
		      const char *const *arguments);

/* The cache's counts since it was made. */
struct driver_stats {
	uint64_t hits_memory, hits_disk, misses, deferred, failed, stores, errors, entries, bypasses;
	uint64_t recipes, quarantined;
};
struct driver_stats driver_stats(void);
/* By the names of `ckcache stats --json` they are so many: "misses 2, bypasses 3, bypass.date 1". */
#define EXPECT_STATS(numbers) driver_expect_stats(__FILE__, __LINE__, numbers)
void driver_expect_stats(const char *file, unsigned int line, const char *numbers);
struct driver_stats driver_stats_in(const char *cache);	/* of another directory than driver_cache() */
uint64_t driver_bypasses(const char *reason);
void driver_print_stats(void);
/* How often the stub driver did that, in all runs of this test. */
unsigned int driver_counted(const char *event);

/* <unit_dir>/cache; every file below it whose name ends so, at most size; the count. */
const char *driver_cache(void);
unsigned int driver_cache_files(const char *end, char (*ret_paths)[4096], unsigned int size);

#endif
