/* SPDX-License-Identifier: MIT */
/* kernels: the table. */
#include "tests/level_zero/kernels/kernels.h"

#include <string.h>

#include "tests/level_zero/kernels/kernels_il.h"

#define IL(name) { #name, name##_il, sizeof(name##_il) }

static const struct kernel_il ils[] = {
	IL(plain), IL(image), IL(one), IL(other), IL(imports), IL(twice), IL(thrice),
	IL(spilling), IL(fp64), IL(constants), IL(precise),
};

const struct kernel_il *kernel_il(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(ils) / sizeof(ils[0]); i++) {
		if (strlen(ils[i].name) == len && !memcmp(ils[i].name, name, len))
			return &ils[i];
	}
	return NULL;
}
