/* SPDX-License-Identifier: MIT */
/*
 * model: what a disk may hold after a crash (power, kernel), given what was
 * done before it. Sources: POSIX, which promises nothing without fsync; and
 * Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of
 * Crafting Crash-Consistent Applications", OSDI 2014, whose tool ALICE cuts and
 * reorders recorded system calls by what six file systems were seen to do:
 *
 * - One operation on names is atomic: it is there or not (their "atomicity of
 *   directory operations", kept by all but ext2). So is a rename.
 * - Names of one directory change in the order of the calls in all modes of
 *   ext3, ext4, XFS, where a journal commits them together, so that a prefix
 *   of all is there (`explore_prefixes`). ext2 and btrfs reorder those of
 *   several directories (`explore_orders`); POSIX allows any set of them
 *   (`explore_sets`).
 * - Data is independent of names: after write, close, rename a file may be
 *   empty, shorter, full of zeros where blocks were allocated and not yet
 *   written (delayed allocation), lack its first part and have its last, have
 *   foreign or random bytes in a block (data=writeback: what the block held
 *   before), or, where it was overwritten in place, be partly old. ext4's
 *   replace-via-rename and data=ordered make some of this rare; nothing here
 *   relies on them.
 * - fsync of a file makes its data last, of a directory its names.
 *
 * What was recorded before a given operation counts as being on disk.
 */
#ifndef TESTS_CRASH_MODEL_H
#define TESTS_CRASH_MODEL_H

#include "common/bytes.h"
#include "tests/crash/record.h"

/* What is left of what was written to a file since it was last on disk. */
enum remains_kind {
	REMAINS_ALL,
	REMAINS_NONE,
	REMAINS_ZEROS,		/* the length, and zeros for what is new */
	REMAINS_CUT,		/* the first `at` bytes */
	REMAINS_HOLE,		/* the length, but from `at` on as REMAINS_ZEROS */
	REMAINS_TAIL,		/* the length, but before `at` as REMAINS_ZEROS */
	REMAINS_GARBAGE,	/* other bytes in the block of `at` */
	REMAINS_FOREIGN,	/* the length, and the bytes of another file of such a name */
	REMAINS_COUNT,
};

struct remains {
	enum remains_kind kind;
	uint64_t at;
};

#define MODEL_BLOCK 512

struct crash {
	const struct tape *tape;
	size_t durable;		/* operations that are on disk */
	size_t cut;		/* operations that were made */
	bool *kept;		/* of each operation on names: it is on disk */
	struct remains *remains;	/* of each inode */
};

void crash_init(struct crash *crash, const struct tape *tape, size_t durable);
void crash_release(struct crash *crash);
/* All names of the first `cut` operations, and all data. */
void crash_keep_all(struct crash *crash, size_t cut);
/* Whether operation i is on disk for certain. */
bool crash_is_durable(const struct crash *crash, size_t i);
/* Whether a file has data that may be lost; *ret_len: its length with all of it. */
bool crash_is_volatile(const struct crash *crash, unsigned int inode, uint64_t *ret_len);
/* Equal for equal states, as good as never for others. */
uint64_t crash_hash(const struct crash *crash);
/* Makes the state in an empty directory. */
void crash_materialize(const struct crash *crash, const char *directory);
/* The differences from a state in which everything is on disk, one a line. */
void crash_print(const struct crash *crash);

#endif
