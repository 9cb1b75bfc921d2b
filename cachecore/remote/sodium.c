/* SPDX-License-Identifier: MIT */
/* sodium: a table of libsodium's functions, filled at first use and never closed. */
#include "cachecore/remote/sodium.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sodium.h>

_Static_assert(CC_SODIUM_HASH_SIZE == crypto_generichash_BYTES, "BLAKE2b-256");
_Static_assert(sizeof(crypto_generichash_state) <= sizeof(struct cc_sodium_hash), "its room");
_Static_assert(CC_SODIUM_KEY_SIZE == crypto_sign_ed25519_PUBLICKEYBYTES, "RFC 8032");
_Static_assert(CC_SODIUM_SEED_SIZE == crypto_sign_ed25519_SEEDBYTES, "RFC 8032");
_Static_assert(CC_SODIUM_SECRET_SIZE == crypto_sign_ed25519_SECRETKEYBYTES, "seed and public key");
_Static_assert(CC_SODIUM_SIGNATURE_SIZE == crypto_sign_ed25519_BYTES, "RFC 8032");

struct functions {
	__typeof__(&sodium_init) init;
	__typeof__(&crypto_generichash_statebytes) hash_size;
	__typeof__(&crypto_generichash_init) hash_init;
	__typeof__(&crypto_generichash_update) hash_update;
	__typeof__(&crypto_generichash_final) hash_final;
	__typeof__(&crypto_sign_ed25519_verify_detached) verify;
	__typeof__(&crypto_sign_ed25519_seed_keypair) seed_keypair;
	__typeof__(&crypto_sign_ed25519_detached) sign;
};

/*
 * A loaded library is the process's, so this is too: written once, under the
 * once, and only read after that.
 */
static struct {
	pthread_once_t once;
	bool loaded;
	struct functions functions;
} sodium = { .once = PTHREAD_ONCE_INIT };

/* POSIX's way from an object pointer to a function pointer. */
static bool find(void *library, const char *name, void *ret_function)
{
	void *found = dlsym(library, name);

	memcpy(ret_function, &found, sizeof(found));
	return found;
}

static bool find_all(void *library, struct functions *ret)
{
	return find(library, "sodium_init", &ret->init) &&
	       find(library, "crypto_generichash_statebytes", &ret->hash_size) &&
	       find(library, "crypto_generichash_init", &ret->hash_init) &&
	       find(library, "crypto_generichash_update", &ret->hash_update) &&
	       find(library, "crypto_generichash_final", &ret->hash_final) &&
	       find(library, "crypto_sign_ed25519_verify_detached", &ret->verify) &&
	       find(library, "crypto_sign_ed25519_seed_keypair", &ret->seed_keypair) &&
	       find(library, "crypto_sign_ed25519_detached", &ret->sign);
}

static void load(void)
{
	/* 1.0.13 to 1.0.18, and from 1.0.19; what is used here is the same in both. */
	static const char *const names[] = { "libsodium.so.23", "libsodium.so.26" };
	struct functions *functions = &sodium.functions;
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	/* The state's size comes from the header, and must do for the library. */
	sodium.loaded = library && find_all(library, functions) &&
			functions->hash_size() <= sizeof(crypto_generichash_state) &&
			functions->init() >= 0;
}

bool cc_sodium_available(void)
{
	return pthread_once(&sodium.once, load) == 0 && sodium.loaded;
}

/* With these sizes none of the three functions fails. */
enum cmn_status cc_sodium_hash_begin(struct cc_sodium_hash *hash)
{
	if (!cc_sodium_available())
		return CMN_MISS;
	(void)sodium.functions.hash_init((void *)hash->state, NULL, 0, CC_SODIUM_HASH_SIZE);
	return CMN_OK;
}

void cc_sodium_hash_add(struct cc_sodium_hash *hash, const void *data, size_t len)
{
	(void)sodium.functions.hash_update((void *)hash->state, data, len);
}

void cc_sodium_hash_end(struct cc_sodium_hash *hash, uint8_t ret[CC_SODIUM_HASH_SIZE])
{
	(void)sodium.functions.hash_final((void *)hash->state, ret, CC_SODIUM_HASH_SIZE);
}

enum cmn_status cc_sodium_verify(const uint8_t signature[CC_SODIUM_SIGNATURE_SIZE],
				 struct cmn_view message, const uint8_t key[CC_SODIUM_KEY_SIZE])
{
	if (!cc_sodium_available())
		return CMN_MISS;
	return sodium.functions.verify(signature, message.data, message.len, key) == 0
		? CMN_OK : CMN_ERR_ACCESS;
}

/* With these sizes neither of the two functions fails. */
enum cmn_status cc_sodium_secret(const uint8_t seed[CC_SODIUM_SEED_SIZE],
				 uint8_t ret[CC_SODIUM_SECRET_SIZE])
{
	uint8_t public[CC_SODIUM_KEY_SIZE];

	if (!cc_sodium_available())
		return CMN_MISS;
	(void)sodium.functions.seed_keypair(public, ret, seed);
	return CMN_OK;
}

enum cmn_status cc_sodium_sign(const uint8_t secret[CC_SODIUM_SECRET_SIZE], struct cmn_view message,
			       uint8_t ret[CC_SODIUM_SIGNATURE_SIZE])
{
	if (!cc_sodium_available())
		return CMN_MISS;
	(void)sodium.functions.sign(ret, NULL, message.data, message.len, secret);
	return CMN_OK;
}
