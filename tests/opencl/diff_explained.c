/* SPDX-License-Identifier: MIT */
/* diff_explained: the table. Narrow patterns: a driver, lines, and both answers; the rows are the document's. */
#include "tests/support/diff_compare.h"

#include <stddef.h>

#define CONTEXT_REFS(driver) { driver, "counts.*-context-refs", "3", "4", 'D' }
/* Kernels asked of what is only compiled, or a library. */
#define NO_EXECUTABLE(driver, name, bare, layered) \
	{ driver, "kernel-creations.compiled-" name, bare, layered, 'C' }, \
	{ driver, "kernel-creations.library-" name, bare, layered, 'C' }

const struct diff_explained diff_explained[] = {
	{ "neo", "*-that-fail.program-1-build-log", "* [[]2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo", "built-then-failed.after-1-build-log", "* [[]2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo", "failed-then-built.after-1-build-log", "* [[]1:2:2: *", "size 0/1 *", 'A' },
	{ "neo", "bad-then-built.after-2-build-log", "* [[]*Unrecognized*", "size 0/1 *", 'A' },
	{ "neo", "failed-twice.after-1-build-log", "* [[]1:*2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo", "failed-twice.after-2-build-log", "* [[]1:*2:*3:2:2: *", "* [[]1:*2:2:2: *", 'A' },
	{ "neo", "compile-failed.build-log", "* [[]1:*2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo", "embedded-missing.build-log", "* [[]1:*2:1:10: *", "* [[]1:1:10: *", 'A' },

	{ "neo", "built-then-failed.binary-sizes", "* some *", "* none *", 'B' },
	{ "neo", "built-then-failed.binaries", "sizes 0 0/8 some", "sizes 0 0/8 none", 'B' },
	{ "neo", "kernel-creations.failed-later-array-of-none", "-30 77", "0 0", 'B' },
	{ "rusticl", "built-then-failed.after-1-build-options", "* [[]-DK=3*", "size 0/1 *", 'B' },
	{ "rusticl", "built-then-failed.after-1-binary-type", "* 4 larger *", "* 0 larger *", 'B' },
	{ "rusticl", "built-then-failed.binary-sizes", "* some *", "* none *", 'B' },
	{ "rusticl", "built-then-failed.kernel-count", "* 3 larger *", "* 0 larger *", 'B' },
	{ "rusticl", "built-then-failed.kernel-names", "size 0/18 *", "size 0/1 *", 'B' },
	{ "rusticl", "built-then-failed.binaries", "sizes 0 0/8 some", "sizes 0 0/8 none", 'B' },
	{ "rusticl", "bad-then-built.after-1-build-options", "* [[]-DK=3*", "size 0/1 *", 'B' },
	{ "rusticl", "bad-then-built.after-1-binary-type", "* 4 larger *", "* 0 larger *", 'B' },
	{ "rusticl", "compiled-after-build.kernel-count", "* 3 larger *", "* 0 larger *", 'B' },
	{ "rusticl", "compiled-after-build.kernel-names", "size 0/18 *", "size 0/1 *", 'B' },
	{ "rusticl", "kernel-creations.failed-later-unknown", "none -46", "none -45", 'B' },
	{ "rusticl", "kernel-creations.failed-later-empty", "none -46", "none -45", 'B' },
	{ "pocl", "bad-then-built.after-1-binary-type", "* 4 larger *", "* 0 larger *", 'B' },

	{ "neo", "kernel-creations.library-none-at-all", "0", "-45", 'C' },
	{ "neo", "kernel-creations.library-array-of-none", "0 0", "-45 77", 'C' },
	NO_EXECUTABLE("rusticl", "none-at-all", "0", "-45"),
	NO_EXECUTABLE("rusticl", "array-of-none", "0 0", "-45 77"),
	NO_EXECUTABLE("pocl", "known", "none -46", "none -45"),
	NO_EXECUTABLE("pocl", "unknown", "none -46", "none -45"),
	NO_EXECUTABLE("pocl", "empty", "none -46", "none -45"),
	NO_EXECUTABLE("pocl", "none-at-all", "0", "-45"),
	NO_EXECUTABLE("pocl", "array-of-none", "-30 77", "-45 77"),
	{ "pocl", "*kernel-names", "size 0/1 * [[]\\a5[]] *", "size 0/1 * [[]\\00[]] *", 'C' },
	NO_EXECUTABLE("oclgrind", "known", "K 0", "none -4[56]"),
	NO_EXECUTABLE("oclgrind", "known-quietly", "K 77", "none 77"),
	NO_EXECUTABLE("oclgrind", "none-at-all", "0", "-45"),
	NO_EXECUTABLE("oclgrind", "array-of-none", "-30 77", "-45 77"),
	NO_EXECUTABLE("oclgrind", "unknown", "none -46", "none -45"),
	NO_EXECUTABLE("oclgrind", "empty", "none -46", "none -45"),

	CONTEXT_REFS("rusticl"),
	CONTEXT_REFS("pocl"),
	CONTEXT_REFS("oclgrind"),

	{ "rusticl", "linked*.kernel-names", "size 0/18 *", "size 0/18 *", 'E' },
	{ "rusticl", "of-binary.*kernel-names", "size 0/18 *", "size 0/18 *", 'E' },
	{ "oclgrind", "kernels-*.fixed-attributes", "size 0/29 *", "size 0/29 *", 'E' },
	{ "oclgrind", "*.binary-type", "size 0/4 *", "size 0/4 *", 'E' },
	{ "pocl", "misuse-build.kernel-as-program", "0 none -4[56]", "0 none -4[56]", 'E' },

	{ "rusticl", "rebuilt.kernel-count", "* 9 larger *", "* 3 larger *", 'F' },
	{ "rusticl", "rebuilt.kernel-names", "size 0/54 *", "size 0/18 *", 'F' },
	{ "rusticl", "bad-then-built.kernel-count", "* 6 larger *", "* 3 larger *", 'F' },
	{ "rusticl", "bad-then-built.kernel-names", "size 0/36 *", "size 0/18 *", 'F' },

	{ "neo", "linked-again.build", "-44", "0", 'G' },
	{ "pocl", "linked-again.build", "0", "-59", 'G' },
	{ "pocl", "linked-again.*", "", "*", 'G' },
	{ "pocl", "linked-again.exit", "signal 11", "exit 0", 'G' },

	{ "*", "library.binaries-into-none", "signal 11", "sizes 0 0/8", 'H' },
	{ "rusticl", "library.binaries-smaller", "signal 6", "sizes 0 -30 none", 'H' },
	{ NULL, NULL, NULL, NULL, 0 },
};
