/* SPDX-License-Identifier: MIT */
/*
 * diff_explained: the table. Narrow patterns: a driver with the versions that it was seen on,
 * lines, and both answers; the rows are the document's.
 */
#include "tests/support/diff_compare.h"

#include <stddef.h>

/* One less where no queue has one. */
#define CONTEXT_REFS(driver) { driver, "counts.*-context-refs", "3", "4", 'D' }

const struct diff_explained diff_explained[] = {
	{ "neo 22.43-26", "*-that-fail.program-1-build-log", "* [[]2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo 22.43-26", "built-then-failed.after-1-build-log", "* [[]2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo 22.43-26", "failed-then-built.after-1-build-log", "* [[]1:2:2: *", "size 0/1 *", 'A' },
	{ "neo 22.43-26", "bad-then-built.after-2-build-log", "* [[]*Unrecognized*", "size 0/1 *", 'A' },
	{ "neo 22.43-26", "failed-twice.after-1-build-log", "* [[]1:*2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo 22.43-26", "failed-twice.after-2-build-log", "* [[]1:*2:*3:2:2: *", "* [[]1:*2:2:2: *", 'A' },
	{ "neo 22.43-26", "compile-failed.build-log", "* [[]1:*2:2:2: *", "* [[]1:2:2: *", 'A' },
	{ "neo 22.43-26", "compiled-after-failure.build-log", "* [[]1:2:2: *", "size 0/1 *", 'A' },
	{ "neo 22.43-26", "embedded-missing.build-log", "* [[]1:*2:1:10: *", "* [[]1:1:10: *", 'A' },

	{ "neo 22.43-26", "built-then-failed.binary-sizes", "* some *", "* none *", 'B' },
	{ "neo 22.43-26", "built-then-failed.binaries", "sizes 0 0/8 some", "sizes 0 0/8 none", 'B' },
	{ "neo 22.43-26", "kernel-creations.failed-later-array-of-none", "-30 77", "0 0", 'B' },
	{ "rusticl 22", "built-then-failed.after-1-build-options", "* [[]-DK=3*", "size 0/1 *", 'B' },
	{ "rusticl 22-26", "built-then-failed.after-1-binary-type", "* 4 larger *", "* 0 larger *", 'B' },
	{ "rusticl 22", "built-then-failed.binary-sizes", "* some *", "* none *", 'B' },
	{ "rusticl 22", "built-then-failed.kernel-count", "* 3 larger *", "* 0 larger *", 'B' },
	{ "rusticl 22", "built-then-failed.kernel-names", "size 0/18 *", "size 0/1 *", 'B' },
	{ "rusticl 22", "built-then-failed.binaries", "sizes 0 0/8 some", "sizes 0 0/8 none", 'B' },
	{ "rusticl 22", "bad-then-built.after-1-build-options", "* [[]-DK=3*", "size 0/1 *", 'B' },
	{ "rusticl 26", "bad-then-built.after-1-build-options", "* [[]-DK=3*", "size 0/1 *", 'B' },
	{ "rusticl 26", "bad-then-built.after-1-build-status", "* 0 larger *", "* 4294967295 larger *", 'B' },
	{ "rusticl 22-26", "bad-then-built.after-1-binary-type", "* 4 larger *", "* 0 larger *", 'B' },
	{ "rusticl 22-26", "compiled-after-build.kernel-count", "* 3 larger *", "* 0 larger *", 'B' },
	{ "rusticl 22-26", "compiled-after-build.kernel-names", "size 0/18 *", "size 0/1 *", 'B' },
	{ "rusticl 22", "kernel-creations.failed-later-*", "none -46", "none -45", 'B' },
	{ "pocl 3-7", "bad-then-built.after-1-binary-type", "* 4 larger *", "* 0 larger *", 'B' },


	{ "pocl 3-7", "*kernel-names", "size 0/1 * [[]\\a5[]] *", "size 0/1 * [[]\\00[]] *", 'C' },

	CONTEXT_REFS("rusticl 22-26"),
	CONTEXT_REFS("pocl 3-7"),
	CONTEXT_REFS("oclgrind 21"),
	{ "stub 1", "counts.*-context-refs", "2", "3", 'D' },
	{ "amd 3649", "counts.*-context-refs", "2", "3", 'D' },

	{ "rusticl 22", "linked*.kernel-names", "size 0/18 *", "size 0/18 *", 'E' },
	{ "rusticl 22", "of-binary.*kernel-names", "size 0/18 *", "size 0/18 *", 'E' },
	{ "oclgrind 21", "kernels-*.fixed-attributes", "size 0/29 *", "size 0/29 *", 'E' },
	{ "oclgrind 21", "*.binary-type", "size 0/4 *", "size 0/4 *", 'E' },
	{ "pocl 3-7", "misuse-build.kernel-as-program", "0 none -4[56]", "0 none -4[56]", 'E' },
	{ "pocl 3-7", "misuse-build.release-too-often", "signal *", "signal *", 'E' },
	{ "rusticl 22-26", "misuse-build.release-too-often", "0 0 0*", "*signal *", 'E' },
	{ "pocl 6-7", "misuse-build.kernel-as-program", "0 none -4[56]", "signal 11", 'E' },
	{ "stub 1", "misuse-build.kernel-as-program", "0 none -4[56]", "signal 11", 'E' },
	{ "stub 1", "misuse-build.kernel-as-program", "signal 11", "0 none -4[56]", 'E' },
	{ "pocl 6-7", "misuse-build.kernel-as-program", "signal 11", "0 none -4[56]", 'E' },

	{ "rusticl 22", "rebuilt.kernel-count", "* 9 larger *", "* 3 larger *", 'F' },
	{ "rusticl 22", "rebuilt.kernel-names", "size 0/54 *", "size 0/18 *", 'F' },
	{ "rusticl 22", "bad-then-built.kernel-count", "* 6 larger *", "* 3 larger *", 'F' },
	{ "rusticl 22", "bad-then-built.kernel-names", "size 0/36 *", "size 0/18 *", 'F' },

	{ "neo 22.43-26", "linked-again.build", "-44", "0", 'G' },
	{ "stub 1", "linked-again.build-log", "* [[]stub: *", "size 0/1 *", 'G' },
	{ "pocl 3-7", "linked-again.build", "0", "-59", 'G' },
	{ "pocl 6-7", "linked-again.build-options", "* [[]-DK=4*", "size 0/1 *", 'G' },
	{ "amd 3649", "linked-again.binary-sizes", "* none *", "* some *", 'G' },
	{ "amd 3649", "linked-again.binaries", "* none", "* some", 'G' },
	{ "amd 3649", "linked-again.binary-type", "* 0 larger *", "* 4 larger *", 'G' },
	{ "pocl 3", "linked-again.*", "", "*", 'G' },
	{ "pocl 3", "linked-again.exit", "signal 11", "exit 0", 'G' },

	{ "*", "library.binaries-into-none", "signal 11", "sizes 0 0/*", 'H' },
	{ "rusticl 22", "library.binaries-smaller", "signal 6", "sizes 0 -30 none", 'H' },
	{ "rusticl 25-26", "library.binaries-into-none", "sizes 0 -30", "sizes 0 0/8", 'H' },
	{ "rusticl 25-26", "library.binaries-smaller", "sizes 0 0/8 none", "sizes 0 -30 none", 'H' },

	{ "pocl 3-7", "relink*argument-0-*", "size -19/- nothing -19", "size *", 'I' },

	{ "pocl 3-7", "corpus-name-*.exit", "exit 0", "signal *", 'J' },
	{ "pocl 3-7", "corpus-name-*", "*", "", 'J' },

	/* Of several devices: a build that fails at the first leaves the others as they were. */
	{ "nvidia 580", "built-then-failed.binary-sizes", "* none some *", "* none none *", 'B' },
	{ "nvidia 580", "built-then-failed.binaries", "* none some", "* none none", 'B' },
	{ "nvidia 580", "built-then-failed.kernel-count", "size -47/8 *", "size -45/8 *", 'B' },
	{ "nvidia 580", "kernel-creations.failed-later-known*", "K *", "none *", 'B' },
	{ "nvidia 580", "kernel-creations.failed-later-*", "none -46", "none -45", 'B' },
	{ "nvidia 580", "kernel-creations.failed-later-none-at-all", "-47", "-45", 'B' },
	{ "nvidia 580", "misuse-build.kernel-as-program", "signal *", "signal *", 'E' },
	{ "nvidia 580", "*library*kernel-count", "size -45/8 *", "size -45/- *", 'K' },
	{ "nvidia 580", "linked-again.build-log", "* [[](): Warning: *", "size 0/3 *", 'K' },
	{ "nvidia 580", "misuse-build.compile-with-a-kernel", "* build -59 *", "* build 0 *", 'K' },
	{ NULL, NULL, NULL, NULL, 0 },
};
