/* SPDX-License-Identifier: MIT */
/* trust: lines into keys, strictly; files as the rules of a read-only tier have it. */
#include "cachecore/remote/trust.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/disk/root.h"
#include "common/base64.h"
#include "common/file.h"
#include "common/trusted.h"

#define FIRST_YEAR 1970		/* a date is a time since the epoch */
#define DAYS_BEFORE_EPOCH 719162
#define MAX_SAID 8		/* lines of a file that is none of keys */

struct trusted {
	struct cc_trust_key key;
	uint8_t id[CC_SODIUM_HASH_SIZE];
	size_t file;		/* of the files */
	unsigned int line;
};

struct cc_trust {
	char **files;		/* ends with NULL */
	size_t count;
	bool has_ids;		/* false: libsodium is missing */
	struct trusted keys[CC_TRUST_MAX_KEYS];
};

void cc_trust_key_base64(const struct cc_trust_key *key, char ret[CC_TRUST_BASE64_SIZE])
{
	cmn_base64_encode(key->key, sizeof(key->key), ret);
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

/* The words before a comment; one more than most says that there are too many. */
static size_t split(struct cmn_view line, struct cmn_view *ret_words, size_t most)
{
	const char *at = line.data, *end = line.len ? at + line.len : at;
	size_t count = 0;

	while (count <= most) {
		const char *start;

		while (at < end && is_blank(*at))
			at++;
		if (at == end || *at == '#')
			return count;
		for (start = at; at < end && !is_blank(*at);)
			at++;
		if (count < most)
			ret_words[count] = (struct cmn_view){ start, (size_t)(at - start) };
		count++;
	}
	return count;
}

enum cmn_status cc_trust_key_set_name(struct cc_trust_key *key, struct cmn_view name)
{
	const char *at = name.data;

	if (!name.len || name.len > CC_TRUST_MAX_NAME || at[0] == '#')
		return CMN_ERR_INVALID;
	for (size_t i = 0; i < name.len; i++) {
		if (at[i] <= ' ' || at[i] > '~')
			return CMN_ERR_INVALID;
	}
	memcpy(key->name, at, name.len);
	key->name[name.len] = '\0';
	return CMN_OK;
}

/* The first second after a day of the Gregorian calendar, since the epoch; false: no such day. */
static bool end_of_day(unsigned int year, unsigned int month, unsigned int day, uint64_t *ret)
{
	static const uint16_t before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
	unsigned int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0), last = year - 1;

	if (year < FIRST_YEAR || month < 1 || month > 12 || day < 1 ||
	    day > before[month] - before[month - 1] + (month == 2 ? leap : 0))
		return false;
	day += before[month - 1] + (month > 2 ? leap : 0);
	*ret = (365 * last + last / 4 - last / 100 + last / 400 - DAYS_BEFORE_EPOCH + day) *
	       UINT64_C(86400);
	return true;
}

enum cmn_status cc_trust_key_set_until(struct cc_trust_key *key, struct cmn_view until)
{
	static const char form[] = "dddd-dd-dd";
	const char *at = until.data;
	unsigned int numbers[3] = { 0 }, *number = numbers;
	uint64_t end = UINT64_MAX;

	if (until.len && until.len != sizeof(form) - 1)
		return CMN_ERR_INVALID;
	for (size_t i = 0; i < until.len; i++) {
		if (form[i] == '-' ? at[i] != '-' : !isdigit((unsigned char)at[i]))
			return CMN_ERR_INVALID;
		if (form[i] == '-')
			number++;
		else
			*number = *number * 10 + (unsigned int)(at[i] - '0');
	}
	if (until.len && !end_of_day(numbers[0], numbers[1], numbers[2], &end))
		return CMN_ERR_INVALID;
	if (until.len)
		memcpy(key->until, at, until.len);
	key->until[until.len] = '\0';
	key->end = end;
	return CMN_OK;
}

enum cmn_status cc_trust_key_parse(struct cmn_view line, const char **ret_problem,
				   struct cc_trust_key *ret)
{
	struct cmn_view words[5] = { 0 };
	size_t count = split(line, words, 5);
	struct cc_trust_key key;

	if (!count)
		return CMN_MISS;
	if (!cmn_view_equal(words[0], cmn_view_of("ed25519")) || (count != 3 && count != 5) ||
	    (count == 5 && !cmn_view_equal(words[3], cmn_view_of("until"))))
		*ret_problem = "not \"ed25519 KEY NAME [until YYYY-MM-DD]\"";
	else if (!cmn_base64_decode(words[1], key.key, sizeof(key.key)))
		*ret_problem = "the key is not 32 bytes in base64";
	else if (cc_trust_key_set_name(&key, words[2]) != CMN_OK)
		*ret_problem = "the name is longer than 64 bytes, or not of printable ASCII";
	else if (cc_trust_key_set_until(&key, words[4]) != CMN_OK)
		*ret_problem = "no such day; YYYY-MM-DD is expected";
	else {
		*ret = key;
		return CMN_OK;
	}
	return CMN_ERR_INVALID;
}

void cc_trust_key_append(struct cmn_buffer *buf, const struct cc_trust_key *key)
{
	char text[CC_TRUST_BASE64_SIZE];

	cc_trust_key_base64(key, text);
	cmn_buffer_printf(buf, "ed25519 %s %s", text, key->name);
	if (key->until[0])
		cmn_buffer_printf(buf, " until %s", key->until);
}

enum cmn_status cc_trust_key_id(const uint8_t key[CC_SODIUM_KEY_SIZE],
				uint8_t ret[CC_SODIUM_HASH_SIZE])
{
	struct cc_sodium_hash hash;

	if (cc_sodium_hash_begin(&hash) != CMN_OK)
		return CMN_MISS;
	cc_sodium_hash_add(&hash, key, CC_SODIUM_KEY_SIZE);
	cc_sodium_hash_end(&hash, ret);
	return CMN_OK;
}

static const char *problem_of(const struct stat *info)
{
	if (!S_ISREG(info->st_mode))
		return "it is not a regular file";
	if (!cmn_file_is_own(info->st_uid) && info->st_uid != 0)
		return "it belongs to another user";
	if (info->st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it";
	return NULL;
}

static enum cmn_status read_in(int dir_fd, const char *name, const char **ret_problem,
			       struct cmn_buffer *ret)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	const char *problem = NULL;
	enum cmn_status status;
	struct stat info;

	if (fd < 0) {
		status = cmn_status_from_errno(errno);
		*ret_problem = errno == ELOOP ? "it is a symbolic link" : cmn_status_string(status);
		return status;
	}
	if (fstat(fd, &info) == 0)
		problem = problem_of(&info);
	status = cmn_file_read_open(fd, CC_TRUST_MAX_FILE, CMN_FILE_TRUSTED, NULL, ret, NULL);
	if (status != CMN_OK)
		*ret_problem = problem ? problem : cmn_status_string(status);
	return status;
}

/* CMN_MISS: it is not there; else *ret_problem says what keeps us from it. */
static enum cmn_status read_trusted(const char *path, const char **ret_problem,
				    struct cmn_buffer *ret)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup("./");
	enum cmn_status status;
	int dir_fd;

	if (!directory)
		return CMN_ERR_NOMEM;
	/* A slash at the end would lead through a link before it is looked at. */
	for (size_t len = strlen(directory); len > 1 && directory[len - 1] == '/'; len--)
		directory[len - 1] = '\0';
	status = cc_root_find(directory, CC_ROOT_TIER, &dir_fd, ret_problem);
	free(directory);
	if (status != CMN_OK)
		return status;
	status = read_in(dir_fd, slash ? slash + 1 : path, ret_problem, ret);
	(void)close(dir_fd);	/* nothing was written through it */
	/* Settings are absolute. */
	if (status == CMN_OK && *path == '/')
		status = cmn_trusted_check(path, false, ret_problem);
	return status;
}

static void add_key(struct cc_trust *trust, const struct cc_trust_key *key, size_t file,
		    unsigned int line)
{
	struct trusted *trusted = &trust->keys[trust->count++];

	*trusted = (struct trusted){ .key = *key, .file = file, .line = line };
	trust->has_ids = cc_trust_key_id(key->key, trusted->id) == CMN_OK;
}

static void add_lines(const struct cmn_log *log, struct cc_trust *trust, size_t file,
		      struct cmn_view text)
{
	const char *at = text.data, *end = text.len ? at + text.len : at;
	const char *path = trust->files[file];
	unsigned int said = 0;
	const char *problem;

	for (unsigned int line = 1; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		struct cc_trust_key key;
		enum cmn_status status = cc_trust_key_parse((struct cmn_view){ at, len }, &problem,
							    &key);

		if (status == CMN_OK && trust->count == CC_TRUST_MAX_KEYS) {
			cmn_log_write(log, CMN_LOG_ERROR,
				      "%s:%u: more than %d keys; the rest of the file is ignored",
				      path, line, CC_TRUST_MAX_KEYS);
			return;
		}
		if (status == CMN_ERR_INVALID && said++ < MAX_SAID)
			cmn_log_write(log, CMN_LOG_ERROR, "%s:%u: %s; the line is ignored", path,
				      line, problem);
		if (status == CMN_OK)
			add_key(trust, &key, file, line);
		at += len + 1;
	}
}

static enum cmn_status add_file(const struct cmn_log *log, struct cc_trust *trust, size_t file)
{
	const char *path = trust->files[file], *problem = "it cannot be examined";
	struct cmn_buffer text = { 0 };
	enum cmn_status status = read_trusted(path, &problem, &text);

	if (status == CMN_OK)
		add_lines(log, trust, file, cmn_buffer_view(&text));
	else if (status != CMN_MISS && status != CMN_ERR_NOMEM)
		cmn_log_write(log, CMN_LOG_ERROR, "%s: the keys in it are ignored: %s", path,
			      problem);
	cmn_buffer_release(&text);
	return status == CMN_ERR_NOMEM ? status : CMN_OK;
}

static char **copy_paths(char *const *paths)
{
	size_t count = 0;
	char **copy;

	while (paths[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = strdup(paths[i]);
		if (!copy[i]) {
			cmn_strings_free(copy);
			return NULL;
		}
	}
	return copy;
}

enum cmn_status cc_trust_new(const struct cmn_log *log, char *const *paths, struct cc_trust **ret)
{
	struct cc_trust *trust = calloc(1, sizeof(*trust));
	enum cmn_status status = CMN_OK;

	if (trust)
		trust->files = copy_paths(paths);
	if (!trust || !trust->files)
		status = CMN_ERR_NOMEM;
	for (size_t i = 0; status == CMN_OK && trust->files[i]; i++)
		status = add_file(log, trust, i);
	if (status == CMN_OK)
		*ret = trust;
	else
		cc_trust_free(trust);
	return status;
}

enum cmn_status cc_trust_of(const struct cc_trust_key *keys, size_t count, struct cc_trust **ret)
{
	char *const no_files[] = { NULL };
	struct cc_trust *trust;
	enum cmn_status status = cc_trust_new(NULL, no_files, &trust);

	if (status != CMN_OK)
		return status;
	for (size_t i = 0; i < count; i++)
		add_key(trust, &keys[i], 0, 0);
	*ret = trust;
	return CMN_OK;
}

void cc_trust_free(struct cc_trust *trust)
{
	if (!trust)
		return;
	cmn_strings_free(trust->files);
	free(trust);
}

const struct cc_trust_key *cc_trust_at(const struct cc_trust *trust, size_t i,
				       struct cc_trust_place *ret_place)
{
	if (i >= trust->count)
		return NULL;
	ret_place->file = trust->files[trust->keys[i].file];
	ret_place->line = trust->keys[i].line;
	return &trust->keys[i].key;
}

const struct cc_trust_key *cc_trust_decides(const struct cc_trust *trust, size_t i,
					    struct cc_trust_place *ret_place)
{
	const struct cc_trust_key *wanted = cc_trust_at(trust, i, ret_place), *found = NULL, *key;
	struct cc_trust_place place;

	for (size_t k = 0; (key = cc_trust_at(trust, k, &place)); k++) {
		if (memcmp(key->key, wanted->key, sizeof(key->key)) != 0 ||
		    (found && key->end >= found->end))
			continue;
		found = key;
		*ret_place = place;
	}
	return found;
}

enum cmn_status cc_trust_find(const struct cc_trust *trust, const uint8_t id[CC_SODIUM_HASH_SIZE],
			      uint64_t now, const struct cc_trust_key **ret)
{
	struct cc_trust_place place;

	for (size_t i = 0; trust->has_ids && i < trust->count; i++) {
		if (memcmp(trust->keys[i].id, id, sizeof(trust->keys[i].id)) != 0)
			continue;
		*ret = cc_trust_decides(trust, i, &place);
		return now < (*ret)->end ? CMN_OK : CMN_STALE;
	}
	return CMN_MISS;
}

enum cmn_status cc_trust_user_file(char **ret)
{
	return cc_config_user_path("trusted_keys", ret);
}

enum cmn_status cc_trust_default_paths(char ***ret)
{
	char **paths = calloc(3, sizeof(*paths));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!paths)
		return status;
	paths[0] = strdup(CC_TRUST_SYSTEM_FILE);
	if (paths[0])
		status = cc_trust_user_file(&paths[1]);
	if (status == CMN_OK)
		*ret = paths;
	else
		cmn_strings_free(paths);
	return status;
}
