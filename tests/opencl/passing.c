/* SPDX-License-Identifier: MIT */
/* passing: a library that comes and goes, and that by its name could be part of a driver's compiler. */
extern const char passing_text[];
const char passing_text[] = "passing";
