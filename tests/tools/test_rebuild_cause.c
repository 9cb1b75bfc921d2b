/* SPDX-License-Identifier: MIT */
/* rebuild_cause: all that a difference between two keys is called, and how far it is. */
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tools/explain/explain.h"
#include "tools/memory.h"

/* A key of a test: its encoding, and what explain knows of it. */
struct sample {
	struct cc_key key;
	struct cmn_buffer summary;
	struct key_fields fields;
};

/* "7=4": the number, the size and the value, as the layers encode it; "1:7=4": behind its module's number. */
static void add_constant(struct cc_key *key, const char *text)
{
	struct cmn_buffer encoded = { 0 };
	unsigned int module, id, value;

	if (sscanf(text, "%u:%u=%u", &module, &id, &value) == 3)
		cmn_buffer_append_u32(&encoded, module);
	else
		CU_ASSERT_EQUAL_FATAL(sscanf(text, "%u=%u", &id, &value), 2);
	cmn_buffer_append_u32(&encoded, id);
	cmn_buffer_append_u64(&encoded, 8);
	cmn_buffer_append_u64(&encoded, value);
	cc_key_add(key, CC_PART_CONSTANTS, "constant", encoded.data, encoded.len);
	cmn_buffer_release(&encoded);
}

/* "PART NAME VALUE"; PART is the first letter of one's name; "*300" is a value of so many bytes, \r its line's end. */
static void add_field(struct cc_key *key, char *line)
{
	static const char parts[] = "DICO";
	char *name = line + 2, *value = strchr(name, ' ');
	enum cc_part part = (enum cc_part)(strchr(parts, *line) - parts);
	size_t len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(value);
	*value++ = '\0';
	if (part == CC_PART_CONSTANTS)
		return add_constant(key, value);
	if (*value == '*') {
		len = strtoul(value + 1, NULL, 10);
		value = memory_new(len + 1, 1);
		memset(value, 'x', len);
		cc_key_add_text(key, part, name, value);
		return free(value);
	}
	for (char *end = value; (end = strchr(end, '\r')) != NULL; )
		*end = '\n';
	cc_key_add_text(key, part, name, value);
}

static void summarize(struct sample *sample)
{
	CU_ASSERT_EQUAL_FATAL(cc_key_status(&sample->key), CMN_OK);
	cc_key_summary_append(&sample->summary, cc_key_view(&sample->key));
	key_fields_read(cmn_buffer_view(&sample->summary), &sample->fields);
}

static void make(struct sample *sample, const char *text)
{
	char *copy = memory_copy(text), *rest = NULL;

	*sample = (struct sample){ .summary = { 0 } };
	cc_key_init(&sample->key);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		add_field(&sample->key, line);
	free(copy);
	summarize(sample);
}

static void release(struct sample *sample)
{
	key_fields_release(&sample->fields);
	cmn_buffer_release(&sample->summary);
	cc_key_release(&sample->key);
}

/* "DISTANCE", and a line for each cause: "kind: text". */
static char *compare(const struct sample *was, const struct sample *is, bool stored)
{
	struct rebuild_causes_keys keys = { 0 };
	struct rebuild_causes causes = { 0 };
	struct cmn_buffer text = { 0 };
	struct key_diff diff;

	if (stored)
		keys = (struct rebuild_causes_keys){ cc_key_view(&was->key), cc_key_view(&is->key) };
	key_diff_make(&was->fields, &is->fields, &diff);
	rebuild_causes_of_diff(&causes, &diff, &is->fields, &keys);
	cmn_buffer_printf(&text, "%.1f", key_diff_distance(&diff));
	for (size_t i = 0; i < causes.count; i++) {
		cmn_buffer_printf(&text, "\n%s: %s", rebuild_cause_word(causes.all[i].kind), causes.all[i].text);
		free(causes.all[i].text);
	}
	free(causes.all);
	key_diff_release(&diff);
	return memory_string(&text);
}

/* Lines of a text that is too long to be kept. */
#define LINE " ......................................................................\r"
#define LINES "one" LINE "two" LINE "three" LINE "four" LINE
/* Over what a summary keeps of an option, and of anything else. */
#define LONG_OPTION "*2049"
#define LONG "*257"

static const struct {
	const char *was, *is;
	const char *said;	/* from the one to the other */
	const char *back;	/* and back */
} pairs[] = {
	{ "D device.name A\nD device.driver_version 1", "D device.name B\nD device.driver_version 2",
	  "12.0\n"
	  "device: device differs: A -> B",
	  "12.0\n"
	  "device: device differs: B -> A" },
	{ "D device.driver_version 1\nO options -w", "D device.driver_version 2\nO options -w",
	  "6.0\n"
	  "driver: device.driver_version: 1 -> 2",
	  "6.0\n"
	  "driver: device.driver_version: 2 -> 1" },
	{ "D device.name A", "O options -w",
	  "14.0\n"
	  "driver: device.name is gone (was A)\n"
	  "option: options is new: -w",
	  "14.0\n"
	  "driver: device.name is new: A\n"
	  "option: options is gone (was -w)" },
	/* The first field of a key is one like any other; those of one name are told by their places. */
	{ "I input a\nI input b\nI input c", "I input a\nI input x\nI input c",
	  "40.0\n"
	  "source: an input of the link changed",
	  "40.0\n"
	  "source: an input of the link changed" },
	{ "I input a\nI input b", "I input a",
	  "40.0\n"
	  "source: an input of the link is gone",
	  "40.0\n"
	  "source: an input of the link is new" },
	{ "I kind compile\nI source a", "I kind link\nI source a",
	  "20.0\n"
	  "other: kind of build: compile -> link",
	  "20.0\n"
	  "other: kind of build: link -> compile" },
	{ "I header.name a.h\nI header.text 1\nI header.name b.h\nI header.text 2",
	  "I header.name a.h\nI header.text 1\nI header.name b.h\nI header.text 3",
	  "40.0\n"
	  "header: embedded header b.h changed",
	  "40.0\n"
	  "header: embedded header b.h changed" },
	{ "I source a\nI header.name a.h\nI header.text 1", "I source a",
	  "80.0\n"
	  "header: embedded header a.h is gone",
	  "80.0\n"
	  "header: embedded header a.h is new" },
	/* A source: half of its lines, all, or none of them. */
	{ "I source " LINES, "I source one" LINE "two" LINE "drei" LINE "vier" LINE,
	  "25.0\n"
	  "source: source differs at line 3",
	  "25.0\n"
	  "source: source differs at line 3" },
	{ "I source " LINES, "I source eins" LINE "zwei" LINE "drei" LINE "vier" LINE,
	  "40.0\n"
	  "source: source differs at line 1",
	  "40.0\n"
	  "source: source differs at line 1" },
	{ "I source " LINES, "I source zero" LINE LINES,
	  "16.0\n"
	  "source: source differs at line 1",
	  "10.0\n"
	  "source: source differs at line 1" },
	{ "I source a RUN_7f3a91c2d0 b", "I source a RUN_0b52e8f417 b",
	  "40.0\n"
	  "source: source differs at line 1",
	  "40.0\n"
	  "source: source differs at line 1" },
	{ "I source a", "O options -w",
	  "42.0\n"
	  "source: source differs\n"
	  "option: options is new: -w",
	  "42.0\n"
	  "source: source differs\n"
	  "option: options is gone (was -w)" },
	/* Libraries: the driver's own speaks for the others. */
	{ "D driver.path /usr/lib/libdriver.so\nD library.libc.so 0123456789\nD library.libdriver.so 0123456789",
	  "D driver.path /usr/lib/libdriver.so\nD library.libc.so 9876543210\nD library.libdriver.so 9876543210",
	  "6.0\n"
	  "driver: driver libdriver.so changed: build-id 01234567... -> 98765432..., and 1 more of the driver",
	  "6.0\n"
	  "driver: driver libdriver.so changed: build-id 98765432... -> 01234567..., and 1 more of the driver" },
	/* Whichever differs first. */
	{ "D driver.path /usr/lib/libdriver.so\nD library.libdriver.so 12345678\nD library.libc.so 1",
	  "D driver.path /usr/lib/libdriver.so\nD library.libdriver.so 123456789\nD library.libc.so 2",
	  "6.0\n"
	  "driver: driver libdriver.so changed: build-id 12345678 -> 12345678..., and 1 more of the driver",
	  "6.0\n"
	  "driver: driver libdriver.so changed: build-id 12345678... -> 12345678, and 1 more of the driver" },
	{ "D driver.path 1\nD driver.version 1\nD library.libdriver.so 1",
	  "D driver.path 2\nD driver.version 2\nD library.libdriver.so 1",
	  "6.0\n"
	  "driver: driver.path: 1 -> 2",
	  "6.0\n"
	  "driver: driver.path: 2 -> 1" },
	{ "D library.libx.so abc", "D library.libx.so 10 bytes",
	  "6.0\n"
	  "driver: driver libx.so changed: build-id abc -> 10 bytes",
	  "6.0\n"
	  "driver: driver libx.so changed: 10 bytes -> build-id abc" },
	{ "D library.libx.so 12345678", "D device.name A",
	  "12.0\n"
	  "driver: driver library libx.so is gone, and 1 more of the driver",
	  "12.0\n"
	  "driver: driver library libx.so is new, and 1 more of the driver" },
	/* Options: what has another value, what is there no more, what is new; too long ones. */
	{ "O options -DN=4 -DB -w", "O options -w -DN=8 -DC",
	  "2.0\n"
	  "option: option -DN=4 -> -DN=8, -DC added, -DB dropped",
	  "2.0\n"
	  "option: option -DN=8 -> -DN=4, -DB added, -DC dropped" },
	{ "O options -w  -x", "O options -x -w",
	  "2.0\n"
	  "option: the options differ only in order or blanks",
	  "2.0\n"
	  "option: the options differ only in order or blanks" },
	{ "O options -DS=\"a b\"", "O options -DS=\"a c\"",
	  "2.0\n"
	  "option: option -DS=\"a b\" -> -DS=\"a c\"",
	  "2.0\n"
	  "option: option -DS=\"a c\" -> -DS=\"a b\"" },
	{ "O options -w", "D device.name A",
	  "14.0\n"
	  "driver: device.name is new: A\n"
	  "option: options is gone (was -w)",
	  "14.0\n"
	  "driver: device.name is gone (was A)\n"
	  "option: options is new: -w" },
	{ "O options -w", "O options " LONG_OPTION,
	  "2.0\n"
	  "option: options: -w -> 2049 bytes, hash 8115c84a",
	  "2.0\n"
	  "option: options: 2049 bytes, hash 8115c84a -> -w" },
	{ "O env.A 1\nO env.B 1", "O env.A 2\nO env.C 1",
	  "6.0\n"
	  "environment: environment A: 1 -> 2\n"
	  "environment: environment C set to 1 (was unset)\n"
	  "environment: environment B unset (was 1)",
	  "6.0\n"
	  "environment: environment A: 2 -> 1\n"
	  "environment: environment B set to 1 (was unset)\n"
	  "environment: environment C unset (was 1)" },
	{ "O setting 1", "O setting 2",
	  "2.0\n"
	  "other: setting: 1 -> 2",
	  "2.0\n"
	  "other: setting: 2 -> 1" },
	/* Constants: by their numbers, not by their places. */
	{ "C constant 1=4\nC constant 2=5", "C constant 2=6\nC constant 1=4",
	  "2.0\n"
	  "constant: specialization constant 2: 5 -> 6",
	  "2.0\n"
	  "constant: specialization constant 2: 6 -> 5" },
	{ "C constant 1=4", "C constant 2=4",
	  "4.0\n"
	  "constant: specialization constant 2 set to 4 (was not set)\n"
	  "constant: specialization constant 1 not set (was 4)",
	  "4.0\n"
	  "constant: specialization constant 1 set to 4 (was not set)\n"
	  "constant: specialization constant 2 not set (was 4)" },
	{ "C constant 1:7=4\nC constant 2:7=4", "C constant 1:7=4\nC constant 2:7=5",
	  "2.0\n"
	  "constant: specialization constant 7: 4 -> 5",
	  "2.0\n"
	  "constant: specialization constant 7: 5 -> 4" },
	/* What is too long to be shown. */
	{ "D device.name " LONG, "D device.name A",
	  "12.0\n"
	  "device: device differs: 257 bytes, hash dadc14ca -> A",
	  "12.0\n"
	  "device: device differs: A -> 257 bytes, hash dadc14ca" },
	/* Much of it. */
	{ "D device.name A\nD device.driver_version 1\nI source a\nC constant 1=4\nO options -w\nO env.A 1",
	  "D device.name B\nD device.driver_version 2\nI source b\nC constant 1=5\nO options -x\nO env.A 2",
	  "58.0\n"
	  "device: device differs: A -> B\n"
	  "source: source differs at line 1\n"
	  "constant: specialization constant 1: 4 -> 5\n"
	  "option: option -x added, -w dropped\n"
	  "environment: environment A: 1 -> 2",
	  "58.0\n"
	  "device: device differs: B -> A\n"
	  "source: source differs at line 1\n"
	  "constant: specialization constant 1: 5 -> 4\n"
	  "option: option -w added, -x dropped\n"
	  "environment: environment A: 2 -> 1" },
};

TEST(a_pair_is_told_apart_by_its_causes_and_its_distance)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		OWNED(release) struct sample was, is;
		char *said, *back;

		make(&was, pairs[i].was);
		make(&is, pairs[i].is);
		said = compare(&was, &is, false);
		back = compare(&is, &was, false);
		CU_ASSERT_STRING_EQUAL(said, pairs[i].said);
		CU_ASSERT_STRING_EQUAL(back, pairs[i].back);
		free(said);
		free(back);
	}
}

/* The line is known then, and the word that chance has made. */
TEST(whole_keys_tell_more_of_a_source)
{
	OWNED(release) struct sample was, is;
	char *said;

	make(&was, "I source one\ra RUN_7f3a91c2d0 b");
	make(&is, "I source one\ra RUN_0b52e8f417 b");
	said = compare(&was, &is, true);
	CU_ASSERT_STRING_EQUAL(said, "40.0\nsource: source differs at line 2 (RUN_7f3a91c2d0 -> RUN_0b52e8f417)");
	free(said);
}

#define SPIRV 0x07230203, 0x00010000, 0, 50, 0

TEST(whole_keys_name_the_instruction_of_spirv)
{
	static const uint32_t modules[][11] = {
		{ SPIRV, 3 << 16 | 7, 12, 0x00612f2f, 3 << 16 | 5, 3, 0x00000078 },	/* OpString %12 "//a", OpName %3 "x" */
		{ SPIRV, 3 << 16 | 7, 12, 0x00622f2f, 3 << 16 | 5, 3, 0x00000078 },
		{ SPIRV, 3 << 16 | 7, 12, 0x00612f2f, 3 << 16 | 5, 3, 0x00000079 },
		{ SPIRV, 3 << 16 | 7, 12, 0x00612f2f, 3 << 16 | 8, 3, 0x00000079 },
		{ SPIRV, 3 << 16 | 7, 12, 0x00612f2f, 3 << 16 | 8, 4, 0x00000079 },
		{ SPIRV, 9 << 16 | 7, 12, 0x00612f2f, 3 << 16 | 8, 4, 0x00000079 },	/* ends before its end */
	};
	static const char *const said[] = {
		": OpString %12 \"//a\" -> \"//b\"", ": OpString %12 \"//b\" -> \"//a\"", ": instruction 2", ": OpLine instruction 2",
		" (44 -> 44 bytes)",
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		OWNED(release) struct sample was = { .summary = { 0 } }, is = { .summary = { 0 } };
		char *text;

		cc_key_init(&was.key);
		cc_key_init(&is.key);
		cc_key_add(&was.key, CC_PART_IMAGE, "source", modules[i], sizeof(modules[i]));
		cc_key_add(&is.key, CC_PART_IMAGE, "source", modules[i + 1], sizeof(modules[i]));
		summarize(&was);
		summarize(&is);
		text = compare(&was, &is, true);
		CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(text, "source differs"));
		CU_ASSERT_STRING_EQUAL(strstr(text, "source differs") + 14, said[i]);
		free(text);
	}
}

/* Of more words than are looked at, those that differ come first. */
TEST(options_may_have_any_number_of_words)
{
	OWNED(release) struct sample was, is;
	char words[2 * 600 + 1] = "", text[2000], *said;

	for (size_t i = 0; i < 600; i++)
		memcpy(words + 2 * i, " w", 3);
	(void)snprintf(text, sizeof(text), "O options -DN=4%s", words);
	make(&was, text);
	(void)snprintf(text, sizeof(text), "O options -DX=4%s", words);
	make(&is, text);
	said = compare(&was, &is, false);
	CU_ASSERT_STRING_EQUAL(said, "2.0\noption: option -DX=4 added, -DN=4 dropped");
	free(said);
}

/* They are known by groups. */
TEST(of_many_lines_a_few_are_named)
{
	struct sample samples[2];
	char *said;

	for (unsigned int i = 0; i < 2; i++) {
		struct cmn_buffer text = { 0 };

		cmn_buffer_append_text(&text, "I source ");
		for (unsigned int line = 1; line <= 600; line++)
			cmn_buffer_printf(&text, "%u\r", line == 300 ? i : line);
		said = memory_string(&text);
		make(&samples[i], said);
		free(said);
	}
	said = compare(&samples[0], &samples[1], false);
	CU_ASSERT_STRING_EQUAL(said, "10.2\nsource: source differs within lines 297 to 300");
	free(said);
	release(&samples[0]);
	release(&samples[1]);
}
