/* SPDX-License-Identifier: MIT */
/* signature: OpenSSL's digests, keys and signatures in this project's words. */
#include "tools/bundle/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "tools/tool.h"

#define MAX_KEY_FILE 65536	/* a PEM file of such a key has some 120 bytes */
enum { CONTEXT_SIZE = 32, PUBLIC_KEY_SIZE = 32 };
static const uint8_t context[CONTEXT_SIZE] = "ckcache bundle signature, 1";

struct signature_digest {
	EVP_MD_CTX *running, *copy;
};

struct signature_key {
	EVP_PKEY *key;
	uint8_t hash[SIGNATURE_DIGEST_SIZE];
};

struct signature_digest *signature_digest_new(void)
{
	struct signature_digest *digest = calloc(1, sizeof(*digest));

	if (digest) {
		digest->running = EVP_MD_CTX_new();
		digest->copy = EVP_MD_CTX_new();
	}
	if (digest && digest->running && digest->copy &&
	    EVP_DigestInit_ex(digest->running, EVP_sha256(), NULL) == 1)
		return digest;
	signature_digest_free(digest);
	tool_complain("OpenSSL offers no SHA-256, or memory ran out");
	return NULL;
}

void signature_digest_free(struct signature_digest *digest)
{
	if (!digest)
		return;
	EVP_MD_CTX_free(digest->running);
	EVP_MD_CTX_free(digest->copy);
	free(digest);
}

enum cmn_status signature_digest_update(struct signature_digest *digest, const void *data,
					size_t len)
{
	return EVP_DigestUpdate(digest->running, data, len) == 1 ? CMN_OK : CMN_ERR_NOMEM;
}

enum cmn_status signature_digest_get(const struct signature_digest *digest,
				     uint8_t ret[SIGNATURE_DIGEST_SIZE])
{
	uint8_t bytes[SIGNATURE_DIGEST_SIZE];

	if (EVP_MD_CTX_copy_ex(digest->copy, digest->running) != 1 ||
	    EVP_DigestFinal_ex(digest->copy, bytes, NULL) != 1)
		return CMN_ERR_NOMEM;
	memcpy(ret, bytes, sizeof(bytes));
	return CMN_OK;
}

/* The file, if it is one that may hold a key; else -1, complained about. */
static int open_key(const char *path, bool private)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *problem = NULL;
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0)
		problem = strerror(errno);
	else if (!S_ISREG(info.st_mode) || info.st_size > MAX_KEY_FILE)
		problem = "not a file with a key";
	else if (private && (info.st_mode & (S_IRWXG | S_IRWXO)))
		problem = "others may read this private key, or write to it: chmod 600 it, "
			  "or make another";
	if (!problem)
		return fd;
	tool_complain("%s: %s", path, problem);
	if (fd >= 0)
		(void)close(fd);	/* read only */
	return -1;
}

/* pem_password_cb of OpenSSL: asks on the terminal, if there is one. */
static int ask_passphrase(char *text, int size, int writing, void *ctx)
{
	int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool *unasked = ctx;

	*unasked = terminal < 0;
	if (terminal < 0)
		return -1;
	(void)close(terminal);	/* OpenSSL opens its own */
	return PEM_def_callback(text, size, writing, NULL);
}

static EVP_PKEY *read_pem(int fd, bool private, bool *ret_unasked)
{
	BIO *bio = BIO_new_fd(fd, BIO_NOCLOSE);
	EVP_PKEY *key = NULL;

	if (bio && private)
		key = PEM_read_bio_PrivateKey(bio, NULL, ask_passphrase, ret_unasked);
	else if (bio)
		key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
	BIO_free(bio);
	ERR_clear_error();	/* what there is to say is said here */
	return key;
}

static bool hash_public(EVP_PKEY *key, uint8_t ret[SIGNATURE_DIGEST_SIZE])
{
	uint8_t bytes[PUBLIC_KEY_SIZE];
	size_t len = sizeof(bytes);

	return EVP_PKEY_get_raw_public_key(key, bytes, &len) == 1 && len == sizeof(bytes) &&
	       EVP_Digest(bytes, sizeof(bytes), ret, NULL, EVP_sha256(), NULL) == 1;
}

static struct signature_key *read_key(const char *path, bool private)
{
	int fd = open_key(path, private);
	struct signature_key *key;
	bool unasked = false;

	if (fd < 0)
		return NULL;
	key = calloc(1, sizeof(*key));
	if (key)
		key->key = read_pem(fd, private, &unasked);
	(void)close(fd);	/* read only */
	if (!key)
		tool_complain("out of memory");
	else if (unasked)
		tool_complain("%s: it has a passphrase, and there is no terminal to ask for it on",
			      path);
	else if (!key->key)
		tool_complain("%s: no %s key in PEM that can be read", path,
			      private ? "private" : "public");
	else if (EVP_PKEY_get_base_id(key->key) != EVP_PKEY_ED25519)
		tool_complain("%s: not an Ed25519 key", path);
	else if (!hash_public(key->key, key->hash))
		tool_complain("%s: OpenSSL cannot use this key", path);
	else
		return key;
	signature_key_free(key);
	return NULL;
}

struct signature_key *signature_key_read_private(const char *path)
{
	return read_key(path, true);
}

struct signature_key *signature_key_read_public(const char *path)
{
	return read_key(path, false);
}

void signature_key_free(struct signature_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->key);
	free(key);
}

const uint8_t *signature_key_hash(const struct signature_key *key)
{
	return key->hash;
}

static void make_message(const uint8_t digest[SIGNATURE_DIGEST_SIZE],
			 uint8_t ret[CONTEXT_SIZE + SIGNATURE_DIGEST_SIZE])
{
	memcpy(ret, context, CONTEXT_SIZE);
	memcpy(ret + CONTEXT_SIZE, digest, SIGNATURE_DIGEST_SIZE);
}

bool signature_make(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
		    struct cc_bundle_signature *ret)
{
	uint8_t message[CONTEXT_SIZE + SIGNATURE_DIGEST_SIZE];
	struct cc_bundle_signature signature;
	size_t len = sizeof(signature.bytes);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool made;

	make_message(digest, message);
	memcpy(signature.key_hash, key->hash, sizeof(signature.key_hash));
	made = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->key) == 1 &&
	       EVP_DigestSign(ctx, signature.bytes, &len, message, sizeof(message)) == 1 &&
	       len == sizeof(signature.bytes);
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	if (made)
		*ret = signature;
	else
		tool_complain("OpenSSL cannot sign with this key");
	return made;
}

bool signature_holds(const struct signature_key *key, const uint8_t digest[SIGNATURE_DIGEST_SIZE],
		     const struct cc_bundle_signature *signature)
{
	uint8_t message[CONTEXT_SIZE + SIGNATURE_DIGEST_SIZE];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool holds;

	make_message(digest, message);
	holds = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->key) == 1 &&
		EVP_DigestVerify(ctx, signature->bytes, sizeof(signature->bytes), message,
				 sizeof(message)) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return holds;
}
