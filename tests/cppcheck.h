/* SPDX-License-Identifier: MIT */
/* cppcheck: macros of system headers that `run.sh cppcheck` does not read. */
#define ElfW(type) Elf64_##type
#define json_object_object_foreach(object, key, value) \
	struct json_object *value = value_of(object);  \
	for (const char *key = key_of(object); key; key = key_of(object))
