/* SPDX-License-Identifier: MIT */
/*
 * owned: OWNED(cc_key_release) struct cc_key key; is released where its block ends, however it ends
 * but by a failed assertion that ends the test. It needs a value by then. What was declared last is
 * released first.
 */
#ifndef TESTS_SUPPORT_OWNED_H
#define TESTS_SUPPORT_OWNED_H

#define OWNED(release) __attribute__((cleanup(release)))

/* OWNER(struct cc_entry, cc_entry_unref) makes OWNED(owned_cc_entry_unref) struct cc_entry *entry. */
#define OWNER(type, release) \
	static void owned_##release(type **of) { release(*of); }

#endif
