/* SPDX-License-Identifier: MIT */
/*
 * habits: what users of ccache and sccache type, and what does the same here. It is only said: a
 * habit that meant something else (ccache -C) must not empty a cache. Pure.
 */
#ifndef TOOLS_HABITS_H
#define TOOLS_HABITS_H

/* What to type instead of that option, which may have "=VALUE": "did you mean ...?"; NULL: no habit. */
const char *habit_of(const char *option);

#endif
