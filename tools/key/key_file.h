/* SPDX-License-Identifier: MIT */
/*
 * key_file: Ed25519 keys (RFC 8032) in PEM files as openssl makes them (RFC 8410),
 * without a passphrase. Prints messages about failures: of the other files of tools/
 * it needs tool_complain alone.
 */
#ifndef TOOLS_KEY_KEY_FILE_H
#define TOOLS_KEY_KEY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/remote/seal.h"

/*
 * false: no such file, no such key in it, or another kind of key; complained about. A private key
 * that others can read is refused, and so is one with a passphrase. A private key's reader wipes
 * it when it is done (explicit_bzero).
 */
bool key_file_read_private(const char *path, struct cc_signer *ret);
bool key_file_read_public(const char *path, uint8_t ret[CC_SODIUM_KEY_SIZE]);
/* The public key of either; *ret_private: which it is. */
bool key_file_read(const char *path, uint8_t ret[CC_SODIUM_KEY_SIZE], bool *ret_private);
/* A new key. false: complained about. */
bool key_file_make(struct cc_signer *ret);
/*
 * Creates a file with the private key (mode 0600). false: complained about, also where something
 * has that name.
 */
bool key_file_write(const char *path, const struct cc_signer *signer);

#endif
