/* SPDX-License-Identifier: MIT */
/* test_trust: which lines are keys, which files are believed, and until when. */
#include "cachecore/remote/trust.h"

#include "tests/support/owned.h"
#include "tests/support/unit.h"

OWNER(struct cc_trust, cc_trust_free)

/* The public keys of RFC 8032's TEST 1 and TEST 2. */
#define ONE "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
#define TWO "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
#define NOBODY 54321

static char file[4200], other_file[4200];
static char messages[4096];
static unsigned int complaints;

static void note(void *ctx, enum cmn_log_level level, const char *message)
{
	size_t len = strlen(messages);

	(void)ctx;
	(void)level;
	complaints++;
	(void)snprintf(messages + len, sizeof(messages) - len, "%s\n", message);
}

static const struct cmn_log log_of_test = { .level = CMN_LOG_WARNING, .sink = note };

BEFORE_EACH
{
	(void)snprintf(file, sizeof(file), "%s/keys/trusted", unit_dir());
	(void)snprintf(other_file, sizeof(other_file), "%s/more/trusted", unit_dir());
	unit_write("keys/trusted", "");
	unit_write("more/trusted", "");
	CU_ASSERT_EQUAL_FATAL(chmod("keys", 0755), 0);
	CU_ASSERT_EQUAL_FATAL(chmod("more", 0755), 0);
	messages[0] = '\0';
	complaints = 0;
}

static struct cc_trust *read_both(void)
{
	char *const paths[] = { file, other_file, NULL };
	struct cc_trust *trust = NULL;

	CU_ASSERT_EQUAL_FATAL(cc_trust_new(&log_of_test, paths, &trust), CMN_OK);
	return trust;
}

static size_t count_keys(void)
{
	OWNED(owned_cc_trust_free) struct cc_trust *trust = read_both();
	struct cc_trust_place place;
	size_t count = 0;

	while (cc_trust_at(trust, count, &place))
		count++;
	return count;
}

/* The keys in a file with this text, which must have permissions to be believed. */
static size_t count_in(const char *text)
{
	unit_write("keys/trusted", text);
	return count_keys();
}

static enum cmn_status parse(const char *line, struct cc_trust_key *ret)
{
	const char *problem = NULL;
	enum cmn_status status = cc_trust_key_parse(cmn_view_of(line), &problem, ret);

	CU_ASSERT_EQUAL(!problem, status != CMN_ERR_INVALID);
	return status;
}

TEST(a_line_is_read_and_written_again)
{
	static const char *const lines[] = {
		"ed25519 " ONE " me@host", "ed25519 " TWO " site until 2027-12-31",
	};
	OWNED(cmn_buffer_release) struct cmn_buffer text = { 0 };
	struct cc_trust_key key;

	for (size_t i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL_FATAL(parse(lines[i], &key), CMN_OK);
		text.len = 0;
		cc_trust_key_append(&text, &key);
		CU_ASSERT(cmn_view_equal(cmn_buffer_view(&text), cmn_view_of(lines[i])));
	}
	CU_ASSERT_STRING_EQUAL(key.name, "site");
	CU_ASSERT_STRING_EQUAL(key.until, "2027-12-31");
	CU_ASSERT_EQUAL(key.key[0], 0x3d);
	CU_ASSERT_EQUAL(key.key[31], 0x0c);
	CU_ASSERT_EQUAL(parse("\t ed25519\t" ONE "  me \r", &key), CMN_OK);
	CU_ASSERT_EQUAL(parse("ed25519 " ONE " me#1 # a comment", &key), CMN_OK);
	CU_ASSERT_STRING_EQUAL(key.name, "me#1");
	CU_ASSERT_EQUAL(key.end, UINT64_MAX);
}

TEST(every_key_is_written_as_base64_that_is_read)
{
	struct cc_trust_key key = { .name = "x", .end = UINT64_MAX }, again;
	OWNED(cmn_buffer_release) struct cmn_buffer text = { 0 };
	const char *problem;

	for (unsigned int bit = 0; bit < 256; bit++) {
		memset(key.key, 0, sizeof(key.key));
		key.key[bit / 8] = (uint8_t)(1 << bit % 8);
		text.len = 0;
		cc_trust_key_append(&text, &key);
		CU_ASSERT_EQUAL(cc_trust_key_parse(cmn_buffer_view(&text), &problem, &again), CMN_OK);
		CU_ASSERT_EQUAL(memcmp(key.key, again.key, sizeof(key.key)), 0);
	}
}

TEST(lines_without_a_key_are_told_from_bad_ones)
{
	static const char *const empty[] = { "", " \t\r", "# all comment", "  # ed25519 " ONE " x" };
	static const char *const bad[] = {
		"ed25519", "ed25519 " ONE, "ed25519 " ONE " # me", "rsa " ONE " me",
		"Ed25519 " ONE " me", "ed25519x " ONE " me", ONE " me",
		"ed25519 " ONE " me until", "ed25519 " ONE " me 2027-01-01",
		"ed25519 " ONE " me until 2027-01-01 more", "ed25519 " ONE " me Until 2027-01-01",
		"ed25519 " ONE " me you", "ed25519 " ONE " me\x01", "ed25519 " ONE " m\xc3\xa9",
		/* No base64 of 32 bytes; or another one of the same. */
		"ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo me",
		"ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURp= me",
		"ed25519 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo= me",
		"ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHUR== me",
		"ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURoA me",
		"ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=AAAA me",
		"ed25519 =1qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= me",
	};
	struct cc_trust_key key;

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		CU_ASSERT_EQUAL(parse(empty[i], &key), CMN_MISS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(parse(bad[i], &key), CMN_ERR_INVALID);
}

TEST(names_are_bounded)
{
	struct cc_trust_key key;
	char line[200];

	(void)snprintf(line, sizeof(line), "ed25519 " ONE " %064d", 7);
	CU_ASSERT_EQUAL(parse(line, &key), CMN_OK);
	CU_ASSERT_EQUAL(strlen(key.name), CC_TRUST_MAX_NAME);
	(void)snprintf(line, sizeof(line), "ed25519 " ONE " %065d", 7);
	CU_ASSERT_EQUAL(parse(line, &key), CMN_ERR_INVALID);
}

TEST(a_date_is_a_day_of_the_calendar)
{
	/* By `date -u -d "DAY + 1 day" +%s`. */
	static const struct {
		const char *day;
		uint64_t end;
	} days[] = {
		{ "1970-01-01", 86400 }, { "1999-12-31", 946684800 }, { "2000-02-29", 951868800 },
		{ "2024-02-29", 1709251200 }, { "2026-11-25", 1795651200 },
		{ "2027-12-31", 1830297600 }, { "2100-02-28", 4107542400 },
		{ "9999-12-31", 253402300800 },
	};
	static const char *const none[] = {
		"1969-12-31", "0000-00-00", "2027-00-10", "2027-13-01", "2027-01-00", "2027-01-32",
		"2027-04-31", "2027-02-29", "2100-02-29", "2027-1-01", "2027-01-1", "2027/01/01",
		"20270101", "27-01-01", "2027-01-01x", "+027-01-01", "2027-01- 1", "10000-01-01",
	};
	struct cc_trust_key key = { .end = 7 };

	for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
		CU_ASSERT_EQUAL(cc_trust_key_set_until(&key, cmn_view_of(days[i].day)), CMN_OK);
		CU_ASSERT_EQUAL(key.end, days[i].end);
		CU_ASSERT_STRING_EQUAL(key.until, days[i].day);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CU_ASSERT_EQUAL(cc_trust_key_set_until(&key, cmn_view_of(none[i])), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(key.end, UINT64_C(253402300800));
	CU_ASSERT_EQUAL(cc_trust_key_set_until(&key, cmn_view_of(NULL)), CMN_OK);
	CU_ASSERT_EQUAL(key.end, UINT64_MAX);
	CU_ASSERT_STRING_EQUAL(key.until, "");
}

TEST(keys_come_in_the_order_of_the_files_with_their_place)
{
	struct cc_trust_place place = { NULL, 0 };
	const struct cc_trust_key *key;
	OWNED(owned_cc_trust_free) struct cc_trust *trust;

	unit_write("keys/trusted", "# ours\n\ned25519 " ONE " one\n");
	unit_write("more/trusted", "ed25519 " TWO " two until 2027-01-01");
	trust = read_both();
	key = cc_trust_at(trust, 0, &place);
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT_STRING_EQUAL(key->name, "one");
	CU_ASSERT_STRING_EQUAL(place.file, file);
	CU_ASSERT_EQUAL(place.line, 3);
	key = cc_trust_at(trust, 1, &place);
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT_STRING_EQUAL(key->name, "two");
	CU_ASSERT_STRING_EQUAL(place.file, other_file);
	CU_ASSERT_EQUAL(place.line, 1);
	CU_ASSERT_PTR_NULL(cc_trust_at(trust, 2, &place));
	CU_ASSERT_EQUAL(complaints, 0);
	cc_trust_free(NULL);
}

TEST(a_bad_line_is_named_and_the_others_count)
{
	CU_ASSERT_EQUAL(count_in("ed25519 " ONE " one\nnonsense\n\nrsa a b\ned25519 " TWO " two\n"), 2);
	CU_ASSERT_EQUAL(complaints, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "keys/trusted:2: not \"ed25519 KEY NAME"));
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "keys/trusted:4: "));
	CU_ASSERT_EQUAL(count_in("ed25519 " ONE " one\r\ned25519 " TWO " two\r\n"), 2);
	CU_ASSERT_EQUAL(count_in(""), 0);
	CU_ASSERT_EQUAL(count_in("\n\n\n"), 0);
	CU_ASSERT_EQUAL(complaints, 2);
	unit_write_bytes("keys/trusted", "ed25519 " ONE " o\0e\ned25519 " TWO " two\n",
			 sizeof("ed25519 " ONE " o\0e\ned25519 " TWO " two\n") - 1);
	CU_ASSERT_EQUAL(count_keys(), 1);
	CU_ASSERT_EQUAL(complaints, 3);
}

TEST(of_a_file_of_something_else_a_few_lines_are_named)
{
	CU_ASSERT_EQUAL(count_in("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\ned25519 " ONE " one\n"), 1);
	CU_ASSERT_EQUAL(complaints, 8);
}

TEST(files_that_are_not_there_are_empty)
{
	CU_ASSERT_EQUAL(unlink("keys/trusted"), 0);
	CU_ASSERT_EQUAL(count_keys(), 0);
	unit_remove("keys");
	CU_ASSERT_EQUAL(count_keys(), 0);
	CU_ASSERT_EQUAL(complaints, 0);
}

static void check_refused(const char *reason)
{
	messages[0] = '\0';
	complaints = 0;
	CU_ASSERT_EQUAL(count_keys(), 0);
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, file));
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, reason));
}

TEST(a_file_that_others_may_change_is_ignored)
{
	static const mode_t modes[] = { 0620, 0602, 0666, 0664 };

	unit_write("keys/trusted", "ed25519 " ONE " one\n");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CU_ASSERT_EQUAL(chmod(file, modes[i]), 0);
		check_refused("others may write to it");
	}
	CU_ASSERT_EQUAL(chmod(file, 0644), 0);
	CU_ASSERT_EQUAL(count_keys(), 1);
	CU_ASSERT_EQUAL(chmod("keys", 0777), 0);
	check_refused("others may write to it");
	CU_ASSERT_EQUAL(chmod("keys", 01777), 0);
	check_refused("others may write to it");
	CU_ASSERT_EQUAL(chmod("keys", 0775), 0);
	check_refused("others may write to it");
	CU_ASSERT_EQUAL(chmod("keys", 0700), 0);
	CU_ASSERT_EQUAL(count_keys(), 1);
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL(chown(file, NOBODY, NOBODY), 0);
	check_refused("it belongs to another user");
	CU_ASSERT_EQUAL(chown(file, 0, NOBODY), 0);
	CU_ASSERT_EQUAL(count_keys(), 1);
	CU_ASSERT_EQUAL(chown("keys", NOBODY, NOBODY), 0);
	check_refused("it belongs to another user");
}

TEST(a_user_believes_files_of_the_superuser)
{
	if (!unit_is_root())
		return;
	unit_write("keys/trusted", "ed25519 " ONE " one\n");
	CU_ASSERT_EQUAL(chmod(unit_dir(), 0755), 0);
	CU_ASSERT_EQUAL_FATAL(seteuid(NOBODY), 0);
	CU_ASSERT_EQUAL(count_keys(), 1);
	CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
	CU_ASSERT_EQUAL(complaints, 0);
	CU_ASSERT_EQUAL(chmod(file, 0600), 0);
	CU_ASSERT_EQUAL_FATAL(seteuid(NOBODY), 0);
	check_refused("permission denied");
	CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
}

TEST(what_is_no_plain_file_is_ignored)
{
	unit_write("keys/real", "ed25519 " ONE " one\n");
	CU_ASSERT_EQUAL(unlink(file), 0);
	CU_ASSERT_EQUAL(symlink("real", file), 0);
	check_refused("it is a symbolic link");
	CU_ASSERT_EQUAL(unlink(file), 0);
	CU_ASSERT_EQUAL(mkfifo(file, 0600), 0);
	check_refused("it is not a regular file");
	CU_ASSERT_EQUAL(unlink(file), 0);
	CU_ASSERT_EQUAL(mkdir(file, 0700), 0);
	check_refused("it is not a regular file");
	unit_remove("keys");
	unit_write("keys", "a file");
	CU_ASSERT_EQUAL(count_keys(), 0);
}

/* As for a root: one's own link is a way to put it elsewhere, another's a trap. */
TEST(the_directory_may_be_a_link_of_ones_own)
{
	unit_write("real/trusted", "ed25519 " ONE " one\n");
	unit_remove("keys");
	CU_ASSERT_EQUAL(symlink("real", "keys"), 0);
	CU_ASSERT_EQUAL(chmod("real", 0700), 0);
	CU_ASSERT_EQUAL(count_keys(), 1);
	CU_ASSERT_EQUAL(chmod("real", 0777), 0);
	check_refused("others may write to it");
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL(chmod("real", 0700), 0);
	CU_ASSERT_EQUAL(lchown("keys", NOBODY, NOBODY), 0);
	check_refused("another user's symbolic link");
}

TEST(a_large_file_is_ignored)
{
	char *text = malloc(CC_TRUST_MAX_FILE + 2);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, '#', CC_TRUST_MAX_FILE + 1);
	memcpy(text, "ed25519 " ONE " one\n", sizeof("ed25519 " ONE " one\n") - 1);
	unit_write_bytes("keys/trusted", text, CC_TRUST_MAX_FILE);
	CU_ASSERT_EQUAL(count_keys(), 1);
	unit_write_bytes("keys/trusted", text, CC_TRUST_MAX_FILE + 1);
	check_refused("too large");
	free(text);
}

TEST(keys_over_the_bound_are_left_out_with_one_message)
{
	OWNED(cmn_buffer_release) struct cmn_buffer text = { 0 };

	for (int i = 0; i < CC_TRUST_MAX_KEYS; i++)
		cmn_buffer_printf(&text, "ed25519 " ONE " one%d\n", i);
	unit_write_bytes("keys/trusted", text.data, text.len);
	CU_ASSERT_EQUAL(count_keys(), CC_TRUST_MAX_KEYS);
	CU_ASSERT_EQUAL(complaints, 0);
	unit_write("more/trusted", "# none\ned25519 " TWO " two\ned25519 " TWO " three\n");
	CU_ASSERT_EQUAL(count_keys(), CC_TRUST_MAX_KEYS);
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "more/trusted:2: more than 64 keys"));
}

static enum cmn_status find(const struct cc_trust *trust, const char *base64, uint64_t now,
			    const struct cc_trust_key **ret)
{
	uint8_t id[CC_SODIUM_HASH_SIZE];
	struct cc_trust_key key;
	char line[100];

	(void)snprintf(line, sizeof(line), "ed25519 %s x", base64);
	CU_ASSERT_EQUAL_FATAL(parse(line, &key), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_trust_key_id(key.key, id), CMN_OK);
	return cc_trust_find(trust, id, now, ret);
}

TEST(a_key_counts_to_the_last_second_of_its_day)
{
	const uint64_t end = UINT64_C(1795651200);	/* 2026-11-26, 00:00 */
	const struct cc_trust_key *key = NULL;
	OWNED(owned_cc_trust_free) struct cc_trust *trust;

	unit_write("keys/trusted", "ed25519 " ONE " one until 2026-11-25\n");
	trust = read_both();
	CU_ASSERT_EQUAL(find(trust, ONE, 0, &key), CMN_OK);
	CU_ASSERT_EQUAL(find(trust, ONE, end - 1, &key), CMN_OK);
	CU_ASSERT_STRING_EQUAL(key->name, "one");
	key = NULL;
	CU_ASSERT_EQUAL(find(trust, ONE, end, &key), CMN_STALE);
	CU_ASSERT_STRING_EQUAL(key->name, "one");
	CU_ASSERT_EQUAL(find(trust, ONE, UINT64_MAX, &key), CMN_STALE);
	key = NULL;
	CU_ASSERT_EQUAL(find(trust, TWO, 0, &key), CMN_MISS);
	CU_ASSERT_PTR_NULL(key);
}

TEST(a_key_that_is_there_twice_counts_while_both_do)
{
	const struct cc_trust_key *key = NULL;
	struct cc_trust *trust;

	for (int turn = 0; turn < 2; turn++) {
		unit_write(turn ? "more/trusted" : "keys/trusted",
			   "ed25519 " ONE " early until 2026-11-25\ned25519 " TWO " two\n");
		unit_write(turn ? "keys/trusted" : "more/trusted",
			   "ed25519 " ONE " late until 2027-11-25\ned25519 " ONE " ever\n");
		trust = read_both();
		CU_ASSERT_EQUAL(find(trust, ONE, 1795651199, &key), CMN_OK);
		CU_ASSERT_STRING_EQUAL(key->name, "early");
		CU_ASSERT_EQUAL(find(trust, ONE, 1795651200, &key), CMN_STALE);
		CU_ASSERT_STRING_EQUAL(key->name, "early");
		CU_ASSERT_EQUAL(find(trust, TWO, UINT64_C(1) << 40, &key), CMN_OK);
		CU_ASSERT_STRING_EQUAL(key->name, "two");
		cc_trust_free(trust);
	}
}

TEST(the_line_that_ends_first_decides)
{
	struct cc_trust_place place = { NULL, 0 };
	const struct cc_trust_key *key;
	struct cc_trust *trust;

	unit_write("keys/trusted", "ed25519 " ONE " ever\ned25519 " TWO " two\n"
		   "ed25519 " ONE " first until 2026-11-25\n");
	unit_write("more/trusted", "ed25519 " ONE " second until 2026-11-25\n");
	trust = read_both();
	for (size_t i = 0; i < 4; i++) {
		key = cc_trust_decides(trust, i, &place);
		CU_ASSERT_STRING_EQUAL(key->name, i == 1 ? "two" : "first");
		CU_ASSERT_EQUAL(place.line, i == 1 ? 2U : 3U);
		CU_ASSERT_PTR_NOT_NULL(strstr(place.file, "keys/trusted"));
	}
	cc_trust_free(trust);
}

TEST(without_files_nobody_is_trusted)
{
	char *const none[] = { NULL };
	const struct cc_trust_key *key;
	OWNED(owned_cc_trust_free) struct cc_trust *trust;

	CU_ASSERT_EQUAL_FATAL(cc_trust_new(NULL, none, &trust), CMN_OK);
	CU_ASSERT_EQUAL(find(trust, ONE, 0, &key), CMN_MISS);
}

TEST(a_path_may_be_relative)
{
	char *const paths[] = { (char[]){ "trusted" }, (char[]){ "./keys//trusted" }, NULL };
	struct cc_trust_place place;
	OWNED(owned_cc_trust_free) struct cc_trust *trust;

	unit_write("trusted", "ed25519 " ONE " one\n");
	unit_write("keys/trusted", "ed25519 " TWO " two\n");
	CU_ASSERT_EQUAL_FATAL(cc_trust_new(&log_of_test, paths, &trust), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL(cc_trust_at(trust, 1, &place));
	CU_ASSERT_EQUAL(complaints, 0);
}

TEST(the_usual_files_are_the_systems_and_the_users)
{
	char **paths = NULL;

	CU_ASSERT_EQUAL(setenv("XDG_CONFIG_HOME", "/config", 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_trust_default_paths(&paths), CMN_OK);
	CU_ASSERT_STRING_EQUAL(paths[0], "/etc/ckcache/trusted_keys");
	CU_ASSERT_STRING_EQUAL(paths[1], "/config/ckcache/trusted_keys");
	CU_ASSERT_PTR_NULL(paths[2]);
	cmn_strings_free(paths);
	CU_ASSERT_EQUAL(unsetenv("XDG_CONFIG_HOME"), 0);
	CU_ASSERT_EQUAL(unsetenv("HOME"), 0);
	CU_ASSERT_EQUAL_FATAL(cc_trust_default_paths(&paths), CMN_OK);
	CU_ASSERT_STRING_EQUAL(paths[0], "/etc/ckcache/trusted_keys");
	CU_ASSERT_PTR_NULL(paths[1]);
	cmn_strings_free(paths);
	cmn_strings_free(NULL);
}
