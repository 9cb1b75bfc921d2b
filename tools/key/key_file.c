/* SPDX-License-Identifier: MIT */
/*
 * key_file: of RFC 8410's two encodings only the last 32 bytes differ from key to
 * key, so that a PEM file is a known beginning in base64 and the key.
 */
#include "tools/key/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/file.h"
#include "tools/tool.h"

#define MAX_FILE 65536	/* a PEM file of such a key has some 120 bytes */
#define MAX_DER 48

_Static_assert(CC_SODIUM_SEED_SIZE == CC_SODIUM_KEY_SIZE, "either ends its encoding");

/* Of each kind of key: the words of its PEM, and its DER up to the key. */
struct form {
	const char *begin, *end;
	uint8_t prefix[MAX_DER - CC_SODIUM_KEY_SIZE];
	size_t prefix_len;
};

/* PrivateKeyInfo, version 0. */
static const struct form private_form = {
	"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
	{ 0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20 }, 16,
};
/* SubjectPublicKeyInfo. */
static const struct form public_form = {
	"-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----",
	{ 0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0 }, 12,
};

static const char *find_text(struct cmn_view text, const char *wanted)
{
	return text.len ? memmem(text.data, text.len, wanted, strlen(wanted)) : NULL;
}

static bool is_space(char byte)
{
	return byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t';
}

/* NULL, or what is wrong with it. */
static const char *decode(struct cmn_view text, const struct form *form,
			  uint8_t ret[CC_SODIUM_KEY_SIZE])
{
	const char *begin = find_text(text, form->begin), *end = find_text(text, form->end);
	uint8_t der[MAX_DER];
	bool good;

	if (!begin && form == &private_form && find_text(text, "ENCRYPTED"))
		return "it has a passphrase, which ckcache does not ask for: keep the key in a file "
		       "without one (openssl pkey -in FILE -out NEW)";
	if (!begin || !end)
		return form == &private_form ? "no private key in PEM that can be read"
					     : "no public key in PEM that can be read";
	for (begin += strlen(form->begin); begin < end && is_space(*begin);)
		begin++;
	while (end > begin && is_space(end[-1]))
		end--;
	good = end > begin &&
	       cmn_base64_decode((struct cmn_view){ begin, (size_t)(end - begin) }, der,
				 form->prefix_len + CC_SODIUM_KEY_SIZE) &&
	       memcmp(der, form->prefix, form->prefix_len) == 0;
	if (good)
		memcpy(ret, der + form->prefix_len, CC_SODIUM_KEY_SIZE);
	explicit_bzero(der, sizeof(der));
	return good ? NULL : "not an Ed25519 key, or not as openssl and ckcache write one";
}

/* The text of a file that may hold a key. NULL, or why there is none. */
static const char *read_text(const char *path, struct stat *ret_info, struct cmn_buffer *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum cmn_status status;

	if (fd < 0)
		return strerror(errno);
	if (fstat(fd, ret_info) < 0 || !S_ISREG(ret_info->st_mode) || ret_info->st_size > MAX_FILE) {
		(void)close(fd);	/* read only */
		return "not a file with a key";
	}
	status = cmn_file_read_open(fd, MAX_FILE, CMN_FILE_ANY, NULL, ret, NULL);	/* closes it */
	return status == CMN_OK ? NULL : cmn_status_string(status);
}

/* *form: NULL: whichever the file has, which it becomes. false: complained about. */
static bool read_key(const char *path, const struct form **form, uint8_t ret[CC_SODIUM_KEY_SIZE])
{
	const struct rlimit none = { 0, 0 };
	struct cmn_buffer text = { 0 };
	struct stat info = { 0 };
	const char *problem;

	(void)setrlimit(RLIMIT_CORE, &none);	/* less is always allowed */
	problem = read_text(path, &info, &text);
	if (!*form)
		*form = find_text(cmn_buffer_view(&text), "PRIVATE KEY-----") ? &private_form
									      : &public_form;
	if (!problem && *form == &private_form && (info.st_mode & (S_IRWXG | S_IRWXO)))
		problem = "others may read this private key, or write to it: chmod 600 it, or make another";
	if (!problem)
		problem = decode(cmn_buffer_view(&text), *form, ret);
	if (text.data)
		explicit_bzero(text.data, text.len);
	cmn_buffer_release(&text);
	if (problem)
		tool_complain("%s: %s", path, problem);
	return !problem;
}

/* false: complained about. */
static bool become(const uint8_t seed[CC_SODIUM_SEED_SIZE], struct cc_signer *ret)
{
	if (cc_signer_of(seed, ret) == CMN_OK)
		return true;
	tool_complain("libsodium is not installed: nothing can be signed");
	return false;
}

bool key_file_read_private(const char *path, struct cc_signer *ret)
{
	const struct form *form = &private_form;
	uint8_t seed[CC_SODIUM_SEED_SIZE];
	bool good = read_key(path, &form, seed) && become(seed, ret);

	explicit_bzero(seed, sizeof(seed));
	return good;
}

bool key_file_read_public(const char *path, uint8_t ret[CC_SODIUM_KEY_SIZE])
{
	const struct form *form = &public_form;

	return read_key(path, &form, ret);
}

bool key_file_read(const char *path, uint8_t ret[CC_SODIUM_KEY_SIZE], bool *ret_private)
{
	const struct form *form = NULL;
	struct cc_signer signer = { 0 };
	bool good = read_key(path, &form, ret);

	*ret_private = form == &private_form;
	if (!good || !*ret_private)
		return good;
	good = become(ret, &signer);
	memcpy(ret, cc_signer_public(&signer), CC_SODIUM_KEY_SIZE);
	explicit_bzero(&signer, sizeof(signer));
	return good;
}

bool key_file_make(struct cc_signer *ret)
{
	uint8_t seed[CC_SODIUM_SEED_SIZE];
	bool good = getrandom(seed, sizeof(seed), 0) == sizeof(seed);

	if (!good)
		tool_complain("no random bytes: %s", strerror(errno));
	good = good && become(seed, ret);
	explicit_bzero(seed, sizeof(seed));
	return good;
}

/* NULL, or what went wrong. */
static const char *write_key(int fd, const struct cc_signer *signer)
{
	const struct form *form = &private_form;
	char digits[CMN_BASE64_SIZE(MAX_DER)];
	struct cmn_buffer text = { 0 };
	uint8_t der[MAX_DER];
	enum cmn_status status = CMN_ERR_NOMEM;

	memcpy(der, form->prefix, form->prefix_len);
	memcpy(der + form->prefix_len, signer->secret, CC_SODIUM_SEED_SIZE);	/* begins with it */
	cmn_base64_encode(der, sizeof(der), digits);
	cmn_buffer_printf(&text, "%s\n%s\n%s\n", form->begin, digits, form->end);
	if (!text.failed) {
		status = cmn_file_write_all(fd, text.data, text.len);
		explicit_bzero(text.data, text.len);
	}
	cmn_buffer_release(&text);
	explicit_bzero(digits, sizeof(digits));
	explicit_bzero(der, sizeof(der));
	if (status != CMN_OK)
		return cmn_status_string(status);
	return fsync(fd) == 0 ? NULL : strerror(errno);
}

bool key_file_write(const char *path, const struct cc_signer *signer)
{
	/* Never another's file, nor through a link. */
	int fd = cmn_file_open_to_write(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600,
					CMN_FILE_TRUSTED, NULL, NULL);
	const char *problem;

	if (fd < 0) {
		tool_complain("%s: %s", path, errno == EEXIST ?
			      "it exists, and a key is never overwritten" : strerror(errno));
		return false;
	}
	problem = write_key(fd, signer);
	if (close(fd) < 0 && !problem)
		problem = strerror(errno);
	if (problem) {
		tool_complain("%s: %s", path, problem);
		(void)unlink(path);	/* half a key is none */
	}
	return !problem;
}
