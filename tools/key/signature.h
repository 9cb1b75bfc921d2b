/* SPDX-License-Identifier: MIT */
/*
 * signature: Ed25519 keys (RFC 8032) in PEM files as openssl makes them,
 * signatures with them, and SHA-256 of a stream. The only file that knows OpenSSL.
 * What a message is, and which purpose it names, is the caller's to say. Prints
 * messages about failures: of the other files of tools/ it needs tool_complain
 * alone.
 */
#ifndef TOOLS_KEY_SIGNATURE_H
#define TOOLS_KEY_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/status.h"

enum { SIGNATURE_DIGEST_SIZE = 32, SIGNATURE_KEY_SIZE = 32, SIGNATURE_SIZE = 64 };

/* A running SHA-256. NULL: out of memory, complained about. */
struct signature_digest;
struct signature_digest *signature_digest_new(void);
void signature_digest_free(struct signature_digest *digest);	/* NULL is fine */
CMN_CHECKED enum cmn_status signature_digest_update(struct signature_digest *digest,
						    const void *data, size_t len);
/* Of all bytes so far; more may follow. */
CMN_CHECKED enum cmn_status signature_digest_get(const struct signature_digest *digest,
						 uint8_t ret[SIGNATURE_DIGEST_SIZE]);

/*
 * NULL: no such file, no such key in it, or another kind of key. A private key
 * that others can read is refused, and so is one with a passphrase where there is
 * no terminal to ask on.
 */
struct signature_key;
struct signature_key *signature_key_read_private(const char *path);
struct signature_key *signature_key_read_public(const char *path);
/* Either; *ret_private: which it is. */
struct signature_key *signature_key_read(const char *path, bool *ret_private);
/* A new private key. */
struct signature_key *signature_key_make(void);
/*
 * Creates a file with the private key (PEM of PKCS#8, without a passphrase, mode
 * 0600). false: complained about, also where something has that name.
 */
bool signature_key_write(const struct signature_key *key, const char *path);
void signature_key_free(struct signature_key *key);	/* NULL is fine */
/* The public key's 32 bytes, and SHA-256 of them; borrowed. */
const uint8_t *signature_key_public(const struct signature_key *key);
const uint8_t *signature_key_hash(const struct signature_key *key);

/* With a private key. false: complained about. */
bool signature_make(const struct signature_key *key, struct cmn_view message,
		    uint8_t ret[SIGNATURE_SIZE]);
/* Whether this key has signed that message; says nothing. */
bool signature_holds(const struct signature_key *key, struct cmn_view message,
		     const uint8_t signature[SIGNATURE_SIZE]);

#endif
