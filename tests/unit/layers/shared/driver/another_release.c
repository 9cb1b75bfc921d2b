/* SPDX-License-Identifier: MIT */
/* another_release: a library with an environment as an unknown release has it. */
#include <stdbool.h>

#include "layers/shared/driver/owner.h"

typedef bool note_fn(bool loading);

extern note_fn *noting;
__attribute__((used)) note_fn *noting;
DRV_OWNER_NOTE(DRV_OWNER_ENVIRONMENT, 999, noting);

__attribute__((visibility("default"))) void another_release_begin(note_fn *note);

void another_release_begin(note_fn *note)
{
	noting = note;
}
