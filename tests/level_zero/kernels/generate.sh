#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes kernels_il.h: the SPIR-V of every source beside this file, as words.
# Wants clang, llvm-spirv (of the same version) and spirv-as (spirv-tools).
set -e
cd "$(dirname "$0")"
tools=$(sh ../../support/newest.sh clang llvm-spirv)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

words() {
	printf '\nstatic const uint32_t %s_il[] = {\n' "$1"
	od -An -v -tx4 -w4 "$work/$1.spv" | sed 's/ 0*\(.\)/0x\1/; s/$/,/' | tr '\n' ' ' |
		fold -s -w 112 | sed 's/ *$//; s/^/\t/'
	printf '\n};\n'
}

{
	cat <<'HEAD'
/* SPDX-License-Identifier: MIT */
/* kernels_il: SPIR-V of the sources beside it. Made by generate.sh; not to be edited. */
#ifndef TESTS_LEVEL_ZERO_KERNELS_KERNELS_IL_H
#define TESTS_LEVEL_ZERO_KERNELS_KERNELS_IL_H

#include <stdint.h>
HEAD
	for source in *.cl; do
		name=${source%.cl}
		"${tools% *}" -cl-std=CL2.0 -target spir64 -emit-llvm -c -Xclang \
			-finclude-default-header "$source" -o "$work/$name.bc"
		"${tools#* }" "$work/$name.bc" -o "$work/$name.spv"
		words "$name"
	done
	for source in *.spvasm; do
		name=${source%.spvasm}
		spirv-as --target-env opencl2.0 "$source" -o "$work/$name.spv"
		words "$name"
	done
	printf '\n#endif\n'
} > "$work/kernels_il.h"
mv "$work/kernels_il.h" .
