/* SPDX-License-Identifier: MIT */
/*
 * recipes_verb: what the files of `ckcache recipes` share. recipes_verb.c adds, removes and prints packs;
 * recipes_build.c builds what they have for the devices of this machine.
 */
#ifndef TOOLS_RECIPES_RECIPES_VERB_H
#define TOOLS_RECIPES_RECIPES_VERB_H

#include <stdbool.h>

#include "tools/json_output.h"
#include "tools/recipes/packs.h"

/* What was asked for; 0: the default. */
struct recipes_request {
	bool json, idle, unconfined;
	unsigned long jobs, timeout_s, budget_s;
};

/* An action: the exit code. */
int recipes_build(const struct recipes_request *request);

/* Adds an object that says which pack it is of. */
struct json_object *recipes_add_pack(struct json_object *list, const struct packs_file *file);

#endif
