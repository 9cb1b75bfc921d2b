/* SPDX-License-Identifier: MIT */
/* libc_hooks: the functions of libc by which a program looks for files, each with its hook. */
#ifndef SHARED_OBSERVER_LIBC_HOOKS_H
#define SHARED_OBSERVER_LIBC_HOOKS_H

#include <stddef.h>

#include "layers/shared/observer/got_slots.h"

const struct drv_slot_function *drv_libc_hooks(size_t *ret_count);

#endif
