/* SPDX-License-Identifier: MIT */
/* address: what a setting says, what is wrong with one, and that nobody sees its passwords. */
#include "cachecore/remote/address.h"

#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* This thread's next copies of text, after so many; 0: all are made. */
static unsigned int copies_left;
WRAPPED(char *, strndup, (const char *text, size_t len))
{
	if (copies_left && !--copies_left)
		return NULL;
	return __real_strndup(text, len);
}

AFTER_EACH
{
	copies_left = 0;
}

static bool is_empty(const struct cc_address *address)
{
	return !address->url && !address->scheme[0] && !address->attribute_count &&
	       !address->read_only && !address->write_only;
}

static struct cc_address parse(const char *text)
{
	const char *problem = NULL;
	struct cc_address address;

	CU_ASSERT_EQUAL_FATAL(cc_address_parse(text, &address, &problem), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL_FATAL(address.url);
	return address;
}

/* What is wrong with the text. */
static const char *problem_of(const char *text)
{
	struct cc_address address = { .read_only = true };
	const char *problem = NULL;

	CU_ASSERT_EQUAL(cc_address_parse(text, &address, &problem), CMN_ERR_INVALID);
	CU_ASSERT(is_empty(&address));
	CU_ASSERT_PTR_NOT_NULL_FATAL(problem);
	return problem;
}

static void check_flags(const char *text, bool read_only, bool write_only)
{
	struct cc_address address = parse(text);

	CU_ASSERT_EQUAL(address.read_only, read_only);
	CU_ASSERT_EQUAL(address.write_only, write_only);
	CU_ASSERT_EQUAL(address.attribute_count, 0);
	cc_address_release(&address);
	CU_ASSERT(is_empty(&address));
}

static void check_attribute(const char *word, const char *attribute)
{
	OWNED(cc_address_release) struct cc_address address;
	char text[600];

	(void)snprintf(text, sizeof(text), "http://host @%s", word);
	address = parse(text);
	CU_ASSERT_EQUAL_FATAL(address.attribute_count, 1);
	CU_ASSERT_STRING_EQUAL(address.attributes[0], attribute);
	CU_ASSERT_STRING_EQUAL(address.url, "http://host");
}

static void check_scheme(const char *url, const char *scheme)
{
	OWNED(cc_address_release) struct cc_address address = parse(url);

	CU_ASSERT_STRING_EQUAL(address.scheme, scheme);
	CU_ASSERT_STRING_EQUAL(address.url, url);
}

TEST(a_url_alone_is_an_address)
{
	check_scheme("redis://host", "redis");
	check_scheme("file:/directory", "file");
	check_scheme("FILE:/Directory", "file");
	check_scheme("a:", "a");
	check_scheme("Git+ssh-2://host", "git+ssh-2");
	check_scheme("abcdefghijklmno:x", "abcdefghijklmno");	/* as long as there is room */
	check_scheme("http://host/%41%zz?a=%", "http");		/* the helper's to decode */
	check_flags(" \t redis://host \t ", false, false);
}

TEST(what_begins_with_no_url_is_none)
{
	static const char *const texts[] = {
		"host", "/directory", "host/a:b", ":x", "://host", "1http://host", "+a://host", "-a:/",
		"abcdefghijklmnop:x", "a.b://host", "a/b:/", "../a:/", "a_b:/", "h\xc3\xa9:/", "%61:/",
		"read-only=true", "@a=b", "@a=b redis://host",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(problem_of(texts[i]), "begins with no URL"));
	CU_ASSERT_STRING_EQUAL(problem_of(""), "it is empty");
	CU_ASSERT_STRING_EQUAL(problem_of(" \t  "), "it is empty");
}

TEST(properties_are_true_or_false)
{
	check_flags("a:b read-only=true", true, false);
	check_flags("a:b\twrite-only=1", false, true);
	check_flags("a:b read-only=Yes write-only=off", true, false);
	check_flags("a:b  read-only=true \t read-only=false write-only=on", false, true);
	check_flags("a:b read-only=%74rue", true, false);
	for (int i = 0; i < 2; i++) {
		static const char *const values[] = { "", "2", "maybe", "true%20" };
		char text[100];

		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			(void)snprintf(text, sizeof(text), "a:b %s-only=%s", i ? "read" : "write", values[j]);
			CU_ASSERT_PTR_NOT_NULL(strstr(problem_of(text), "true or false"));
		}
	}
	CU_ASSERT_STRING_EQUAL(problem_of("a:b read-only=true write-only=true"),
			       "it is both read-only and write-only");
}

TEST(other_words_are_unknown)
{
	static const char *const unknown[] = { "a:b secret=x", "a:b Read-only=true", "a:b read-onl=1",
					       "a:b read-only2=1", "a:b read-%6fnly=1",
					       "a:b write-onlyx=1", "a:b write-onl=1" };
	static const char *const no_pairs[] = { "a:b secret", "a:b =x", "a:b @", "a:b @=x", "a:b @secret",
						"a:b =", "a:b read-only", "a:b c:d" };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(problem_of(unknown[i]), "unknown property"));
	for (size_t i = 0; i < sizeof(no_pairs) / sizeof(no_pairs[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(problem_of(no_pairs[i]), "not NAME=VALUE"));
}

TEST(attributes_are_passed_on_as_they_are)
{
	check_attribute("a=b", "a=b");
	check_attribute("a=", "a=");
	check_attribute("header=X=Y", "header=X=Y");
	check_attribute("read-only=maybe", "read-only=maybe");
	check_attribute("@a=@b", "@a=@b");
	check_attribute("a%41=b", "a%41=b");	/* a name is no value */
}

TEST(a_value_may_have_any_byte_but_zero)
{
	check_attribute("a=%20", "a= ");
	check_attribute("a=x%41%4a%4Ay", "a=xAJJy");
	check_attribute("a=%25%32%35", "a=%25");
	check_attribute("a=%3d%09%0A%ff%01", "a==\t\n\xff\x01");
	check_attribute("a=%a0%A0%10", "a=\xa0\xa0\x10");
	for (unsigned int byte = 1; byte < 256; byte++) {
		char word[8], attribute[4] = "a=";

		(void)snprintf(word, sizeof(word), "a=%%%02x", byte);
		attribute[2] = (char)byte;
		check_attribute(word, attribute);
	}
}

TEST(a_percent_sign_stands_for_a_byte)
{
	static const char *const texts[] = { "%", "%4", "x%", "%%41", "%g0", "%0g", "%00", "%:0", "%/0", "%@0",
					     "%`0", "%G0", "%-1", "% 1", "%41%", "%4\xb1" };
	char text[100];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		(void)snprintf(text, sizeof(text), "a:b @c=%s", texts[i]);
		CU_ASSERT_PTR_NOT_NULL(strstr(problem_of(text), "stands for no byte"));
	}
}

static void add(char *text, size_t size, const char *word)
{
	size_t len = strlen(text);

	(void)snprintf(text + len, size - len, "%s", word);
}

TEST(attributes_are_bounded)
{
	char text[2000] = "a:b", word[20];
	struct cc_address address;

	for (int i = 0; i < CC_ADDRESS_MAX_ATTRIBUTES; i++) {
		(void)snprintf(word, sizeof(word), " @n%d=%d", i, i);
		add(text, sizeof(text), word);
	}
	address = parse(text);
	CU_ASSERT_EQUAL(address.attribute_count, CC_ADDRESS_MAX_ATTRIBUTES);
	CU_ASSERT_STRING_EQUAL(address.attributes[31], "n31=31");
	CU_ASSERT_EQUAL(cc_address_add(&address, cmn_view_of("x=y")), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(address.attribute_count, CC_ADDRESS_MAX_ATTRIBUTES);
	cc_address_release(&address);
	add(text, sizeof(text), " read-only=true @one=more");
	CU_ASSERT_STRING_EQUAL(problem_of(text), "it has too many attributes");
}

TEST(an_attribute_can_be_added)
{
	OWNED(cc_address_release) struct cc_address address = parse("a:b @c=d");

	CU_ASSERT_EQUAL(cc_address_add(&address, (struct cmn_view){ "e=f and more", 3 }), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(address.attribute_count, 2);
	CU_ASSERT_STRING_EQUAL(address.attributes[0], "c=d");
	CU_ASSERT_STRING_EQUAL(address.attributes[1], "e=f");
	copies_left = 1;
	CU_ASSERT_EQUAL(cc_address_add(&address, cmn_view_of("x=y")), CMN_ERR_NOMEM);
	CU_ASSERT_EQUAL(address.attribute_count, 2);
	cc_address_release(&address);
}

TEST(without_memory_there_is_no_address)
{
	OWNED(cc_address_release) struct cc_address address;
	const char *problem;

	/* A copy of each word, and one of the attribute. */
	for (unsigned int copies = 1; copies <= 4; copies++) {
		copies_left = copies;
		CU_ASSERT_EQUAL(cc_address_parse("a:b @c=d read-only=true", &address, &problem), CMN_ERR_NOMEM);
		CU_ASSERT(is_empty(&address));
	}
	copies_left = 5;
	CU_ASSERT_EQUAL(cc_address_parse("a:b @c=d read-only=true", &address, &problem), CMN_OK);
}

/* Sentences go to logs. */
TEST(what_is_wrong_is_said_without_the_text)
{
	static const char *const texts[] = {
		"zqxw", "zqxw://zqxw@zqxw zqxw", "a://zqxw zqxw=zqxw", "a:zqxw @zqxw=%zqxw", "a:b read-only=zqxw",
		"zq.xw://host", "a:b @zqxw", "a:zqxw =zqxw", "a:zqxw read-only=1 write-only=1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *problem = problem_of(texts[i]);

		CU_ASSERT_PTR_NULL(strstr(problem, "zq"));
		CU_ASSERT_PTR_NULL(strstr(problem, "xw"));
	}
}

static void check_shown(const char *url, const char *shown)
{
	OWNED(cc_address_release) struct cc_address address = parse(url);
	struct cmn_buffer text = { 0 };
	char *string;

	cmn_buffer_append_text(&text, "");
	cc_address_show(&address, &text);
	string = cmn_buffer_take_string(&text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(string);
	if (strcmp(string, shown) != 0)
		(void)fprintf(stderr, "%s is shown as %s, not %s\n", url, string, shown);
	CU_ASSERT_STRING_EQUAL(string, shown);
	free(string);
}

TEST(what_may_be_a_password_is_known)
{
	static const char *const secret[] = {
		"redis://:pw@host", "redis://pw@host", "rediss://u:p@host @key-prefix=a", "http://host/?sig=1",
		"redis://host @password=x", "http://host @bearer-token=x", "http://host @header=x",
		"s3://host @Secret-Key=x",
	};
	static const char *const open[] = {
		"redis://host:6379/1", "file:/a@b?c", "file:///a @max-size=1G", "http://host read-only=true",
		"redis://host @username=u @key-prefix=password",
	};
	const char *problem;
	struct cc_address address;

	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(cc_address_parse(secret[i], &address, &problem), CMN_OK);
		CU_ASSERT_TRUE(cc_address_has_secret(&address));
		cc_address_release(&address);
	}
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(cc_address_parse(open[i], &address, &problem), CMN_OK);
		CU_ASSERT_FALSE(cc_address_has_secret(&address));
		cc_address_release(&address);
	}
}

TEST(a_url_is_shown_without_users_and_queries)
{
	check_shown("redis://host:6379/1", "redis://host:6379/1");
	check_shown("redis://host @password=secret read-only=1", "redis://host");
	check_shown("redis://user:secret@host:6379/1", "redis://host:6379/1");
	check_shown("redis://:secret@host", "redis://host");
	check_shown("redis://secret@host", "redis://host");
	check_shown("redis://user:@host", "redis://host");
	check_shown("redis://user:sec@ret@host", "redis://host");
	check_shown("redis://user:sec/ret@host", "redis://host");
	check_shown("redis://user:sec:ret@host", "redis://host");
	check_shown("redis://user:sec://ret@host", "redis://host");
	check_shown("redis://user:secret@[::1]:6379/0", "redis://[::1]:6379/0");
	check_shown("http://[fe80::1%25eth0]/path", "http://[fe80::1%25eth0]/path");
	check_shown("http://host/path?token=secret", "http://host/path");
	check_shown("http://host/path#secret", "http://host/path");
	check_shown("http://host?token=secret", "http://host");
	check_shown("http://host/path?u=http://secret", "http://host/path");
	check_shown("http://user:secret@host/p?token=secret#s", "http://host/p");
	check_shown("HTTPS://user:secret@host/", "HTTPS://host/");
	check_shown("http:?x=http://secret", "http:");
	check_shown("http://", "http://");
	check_shown("http://secret@", "http://");
}

/* Of what might be a password and a query as well, nothing is shown. */
TEST(a_password_with_any_character_is_not_shown)
{
	check_shown("redis://user:sec?ret@host", "redis://...");
	check_shown("redis://user:sec#ret@host/1", "redis://...");
	check_shown("redis://user:?secret@host", "redis://...");
	check_shown("redis://:#@host", "redis://...");
	check_shown("redis://user:a@b?secret@host", "redis://...");
	check_shown("http://host/path?token=secret@secret", "http://...");
	/* Without "//", too: who types that has made a mistake, and will see it in a message. */
	check_shown("redis:user:secret@host", "redis:host");
	check_shown("redis:/user:secret@host", "redis:host");
	check_shown("redis:host", "redis:host");
}

TEST(a_path_is_shown_as_it_is)
{
	check_shown("file:/directory", "file:/directory");
	check_shown("file:/home/me@work/c:d", "file:/home/me@work/c:d");
	check_shown("file:///home/me@work", "file:///home/me@work");
	check_shown("file:/directory?mode=1", "file:/directory");
	check_shown("File:/me@work", "File:/me@work");
	check_shown("file://user:secret@host/directory", "file://host/directory");
}

static size_t max_value_of(const char *text)
{
	struct cc_address address = parse(text);
	size_t max = cc_address_max_value(&address);

	cc_address_release(&address);
	return max;
}

TEST(the_largest_value_is_an_attribute)
{
	CU_ASSERT_EQUAL(max_value_of("redis://host"), CC_ADDRESS_MAX_VALUE);
	CU_ASSERT_EQUAL(max_value_of("redis://host @max-value-size=512Mi @max-value=5"), (size_t)1 << 29);
	CU_ASSERT_EQUAL(max_value_of("redis://host @max-value-size=1Gi @max-value-size=1000"), 1000);
	CU_ASSERT_EQUAL(max_value_of("redis://host @max-value-size=much"), CC_ADDRESS_MAX_VALUE);
	CU_ASSERT_EQUAL(max_value_of("redis://host @max-value-size=9999999999Gi"), SIZE_MAX / 4);
}
