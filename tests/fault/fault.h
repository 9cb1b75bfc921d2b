/* SPDX-License-Identifier: MIT */
/*
 * fault: what a test and the preloaded interposer share: a block of memory
 * (a file, mapped by both) in which the test says which call of the product is
 * to fail, and how, and reads what happened. A "point" is one call of a
 * function of functions.def, made from an object of the product's. It is known
 * by its place in the code and by how often that was passed, not by an order of
 * all calls, which threads make differently in each run.
 *
 *   FAULT_CONTROL   the file; without it the interposer does nothing
 *   FAULT_OBJECTS   parts of the names of the objects whose calls count, with
 *                   commas between
 */
#ifndef TESTS_FAULT_FAULT_H
#define TESTS_FAULT_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fault_function {
	FAULT_NO_FUNCTION,
#define FUNCTION(name, class) FAULT_##name,
#include "tests/fault/functions.def"
#undef FUNCTION
	FAULT_FUNCTION_COUNT,
};

enum fault_class {
	FAULT_NONE = 0,
	FAULT_FILES = 1,
	FAULT_MEMORY = 2,
	FAULT_THREADS = 4,	/* threads, and what else the system lends */
	FAULT_CLOCK = 8,
};

/* How a call fails: an errno value, or one of these. */
enum fault_kind {
	FAULT_SHORT = -1,	/* half of what was asked for is read or written */
	FAULT_END = -2,		/* nothing more is there to be read */
	FAULT_DONE = -3,	/* it is done, and reported as failed */
	FAULT_BACK = -4,	/* from here on the real time is two years ago */
	FAULT_FORWARD = -5,	/* and in two years */
	FAULT_REMOVE = -6,	/* before the call the tree at control->tree goes; the call is made */
};

/* What of a call decides how it can fail. */
enum { FAULT_CREATES = 1, FAULT_NONBLOCKING = 2 };

struct fault_call {
	uint8_t function;	/* enum fault_function */
	uint8_t flags;
	uint16_t unused;
	uint32_t site;		/* where the call stands in the object */
};

/* Whether they stand at one place and can fail in the same ways. */
static inline bool fault_alike(struct fault_call a, struct fault_call b)
{
	return a.function == b.function && a.site == b.site && a.flags == b.flags;
}

/* What is to happen. */
struct fault_task {
	struct fault_call call;	/* of no function: nothing */
	uint32_t turn;		/* which of the calls that are alike, from 1 */
	int32_t kind;
	uint32_t sticky;	/* all later calls of that function fail too; of memory: of the class */
};

enum { FAULT_MAX_POINTS = 1 << 15, FAULT_TREE_SIZE = 512 };

struct fault_control {
	/* the test's */
	struct fault_task task;
	uint32_t classes;	/* of functions that are points, a set of enum fault_class */
	char tree[FAULT_TREE_SIZE];
	/* the interposer's */
	atomic_uint armed;	/* the test's too: 0: calls are not looked at */
	atomic_uint count;	/* of points so far */
	atomic_uint alike;	/* calls like the task's so far */
	atomic_uint fired;	/* the task's function, once its point was reached */
	atomic_int files;	/* opened and not closed */
	atomic_int blocks;	/* of memory, that are not free */
	struct fault_call calls[FAULT_MAX_POINTS];
};

/* The interposer's: which block it looks at from now on, for processes that fork. */
void fault_use(struct fault_control *control);
typedef void (*fault_use_fn)(struct fault_control *control);

#endif
