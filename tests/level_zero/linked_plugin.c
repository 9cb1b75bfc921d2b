/* SPDX-License-Identifier: MIT */
/*
 * linked_plugin: what a plugin must not be: linked to the loader, so that dlsym
 * of a getter on it finds the loader's own, and calls would go in circles.
 */
extern const int linked_plugin;
const int linked_plugin = 1;
