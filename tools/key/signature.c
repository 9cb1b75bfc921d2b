/* SPDX-License-Identifier: MIT */
/* signature: OpenSSL's digests, keys and signatures in this project's words. */
#include "tools/key/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "common/file.h"
#include "tools/tool.h"

#define MAX_KEY_FILE 65536	/* a PEM file of such a key has some 120 bytes */
#define PRIVATE_MARK "PRIVATE KEY-----"	/* ends the first line of any such PEM */

struct signature_digest {
	EVP_MD_CTX *running, *copy;
};

struct signature_key {
	EVP_PKEY *key;
	uint8_t public[SIGNATURE_KEY_SIZE];
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

/* The public half, as bytes. */
static bool examine(struct signature_key *key)
{
	size_t len = sizeof(key->public);

	return EVP_PKEY_get_raw_public_key(key->key, key->public, &len) == 1 &&
	       len == sizeof(key->public) &&
	       EVP_Digest(key->public, len, key->hash, NULL, EVP_sha256(), NULL) == 1;
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
	else if (!examine(key))
		tool_complain("%s: OpenSSL cannot use this key", path);
	else
		return key;
	signature_key_free(key);
	return NULL;
}

struct signature_key *signature_key_read_private(const char *path)
{
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);	/* less is always allowed */
	return read_key(path, true);
}

struct signature_key *signature_key_read_public(const char *path)
{
	return read_key(path, false);
}

struct signature_key *signature_key_read(const char *path, bool *ret_private)
{
	struct cmn_buffer text;
	bool private = false;

	/* What goes wrong here is said below. */
	if (cmn_file_read(AT_FDCWD, path, MAX_KEY_FILE, true, &text) == CMN_OK) {
		private = text.len &&
			  memmem(text.data, text.len, PRIVATE_MARK, strlen(PRIVATE_MARK));
		OPENSSL_cleanse(text.data, text.len);
		cmn_buffer_release(&text);
	}
	*ret_private = private;
	return read_key(path, private);
}

struct signature_key *signature_key_make(void)
{
	struct signature_key *key = calloc(1, sizeof(*key));
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, NULL);
	bool made;

	made = key && ctx && EVP_PKEY_keygen_init(ctx) == 1 &&
	       EVP_PKEY_keygen(ctx, &key->key) == 1 && examine(key);
	EVP_PKEY_CTX_free(ctx);
	ERR_clear_error();
	if (made)
		return key;
	tool_complain("OpenSSL cannot make a key, or memory ran out");
	signature_key_free(key);
	return NULL;
}

bool signature_key_write(const struct signature_key *key, const char *path)
{
	/* Never another's file, nor through a link. */
	int fd = cmn_file_open_to_write(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600,
					CMN_FILE_TRUSTED, NULL);
	bool written;
	BIO *bio;

	if (fd < 0) {
		tool_complain("%s: %s", path, errno == EEXIST ?
			      "it exists, and a key is never overwritten" : strerror(errno));
		return false;
	}
	bio = BIO_new_fd(fd, BIO_NOCLOSE);
	errno = 0;
	written = bio &&
		  PEM_write_bio_PKCS8PrivateKey(bio, key->key, NULL, NULL, 0, NULL, NULL) == 1 &&
		  fsync(fd) == 0;
	BIO_free(bio);
	ERR_clear_error();
	if (close(fd) < 0)
		written = false;
	if (!written) {
		tool_complain("%s: %s", path,
			      errno ? strerror(errno) : "OpenSSL cannot write the key");
		(void)unlink(path);	/* half a key is none */
	}
	return written;
}

void signature_key_free(struct signature_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->key);
	free(key);
}

const uint8_t *signature_key_public(const struct signature_key *key)
{
	return key->public;
}

const uint8_t *signature_key_hash(const struct signature_key *key)
{
	return key->hash;
}

bool signature_make(const struct signature_key *key, struct cmn_view message,
		    uint8_t ret[SIGNATURE_SIZE])
{
	uint8_t signature[SIGNATURE_SIZE];
	size_t len = sizeof(signature);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool made;

	made = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->key) == 1 &&
	       EVP_DigestSign(ctx, signature, &len, message.data, message.len) == 1 &&
	       len == sizeof(signature);
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	if (made)
		memcpy(ret, signature, sizeof(signature));
	else
		tool_complain("OpenSSL cannot sign with this key");
	return made;
}

bool signature_holds(const struct signature_key *key, struct cmn_view message,
		     const uint8_t signature[SIGNATURE_SIZE])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool holds;

	holds = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->key) == 1 &&
		EVP_DigestVerify(ctx, signature, SIGNATURE_SIZE, message.data, message.len) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return holds;
}
