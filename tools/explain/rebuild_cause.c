/* SPDX-License-Identifier: MIT */
/*
 * rebuild_cause: compares two keys, whose fields are matched by part, name and place among those of one name;
 * words the difference: device, driver, image, options, environment, constants, each in its own words.
 */
#include "tools/explain/explain.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/reuse.h"
#include "common/json.h"
#include "tools/memory.h"
#include "tools/text.h"

/* Of each kind of difference. */
#define FAR_DEVICE 12.0
#define FAR_DRIVER 6.0
#define FAR_SOURCE 10.0
#define FAR_SOURCE_UNLIKE 30.0	/* more, of one that has nothing in common */
#define FAR_KIND 20.0
#define FAR_SETTING 2.0

void key_fields_read(struct cmn_view summary, struct key_fields *ret)
{
	struct cmn_reader reader = cmn_reader_of(summary);
	struct cc_key_summary_field field;

	*ret = (struct key_fields){ 0 };
	while (cc_key_summary_next(&reader, &field) == CMN_OK) {
		memory_grow(ret->all, ret->count);
		ret->all[ret->count++] = field;
	}
}

void key_fields_release(struct key_fields *fields)
{
	free(fields->all);
}

static bool field_is(const struct cc_key_summary_field *field, const char *name)
{
	return cmn_view_equal(field->name, cmn_view_of(name));
}

/* What follows the prefix in the name, as for "library."; empty: it does not begin so. */
static struct cmn_view field_after(const struct cc_key_summary_field *field, const char *prefix)
{
	size_t len = strlen(prefix);

	if (field->name.len < len || memcmp(field->name.data, prefix, len) != 0)
		return (struct cmn_view){ 0 };
	return (struct cmn_view){ (const char *)field->name.data + len, field->name.len - len };
}

void key_field_append_value(struct cmn_buffer *text, const struct cc_key_summary_field *field,
			    size_t max)
{
	char hex[CMN_HASH_HEX_SIZE];
	uint64_t number;

	if (!field) {
		cmn_buffer_append_u8(text, '-');
	} else if (field->whole && cc_key_is_number(field->value, &number)) {
		cmn_buffer_printf(text, "%" PRIu64, number);
	} else if (field->whole && cmn_json_is_text(field->value)) {
		text_append_clean(text, field->value, max);
	} else {
		cmn_hash_hex(&field->hash, hex);
		cmn_buffer_printf(text, "%" PRIu64 " bytes, hash %.8s", field->len, hex);
	}
}

void key_field_add_value(struct json_object *object, const char *name,
			 const struct cc_key_summary_field *field, size_t max)
{
	struct cmn_buffer value = { 0 };

	key_field_append_value(&value, field, max);
	json_add_view(object, name, cmn_buffer_view(&value));
	cmn_buffer_release(&value);
}

const struct cc_key_summary_field *key_fields_find(const struct key_fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (field_is(&fields->all[i], name))
			return &fields->all[i];
	}
	return NULL;
}

/* A specialization constant is one by its number: all of its value but the size and what it is. */
static bool same_constant(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b)
{
	const size_t tail = 16;	/* a size and a value of eight bytes each */

	return a->whole && b->whole && a->len == b->len && a->len > tail &&
	       memcmp(a->value.data, b->value.data, a->len - tail) == 0;
}

static bool same_name(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b)
{
	return a->part == b->part && cmn_view_equal(a->name, b->name);
}

/* How many before the index-th bear its name. */
static size_t place_of(const struct key_fields *fields, size_t index)
{
	size_t place = 0;

	for (size_t i = 0; i < index; i++)
		place += same_name(&fields->all[i], &fields->all[index]);
	return place;
}

/* The field of `other` that stands for the index-th of fields. */
static const struct cc_key_summary_field *find_counterpart(const struct key_fields *fields,
						       size_t index, const struct key_fields *other)
{
	const struct cc_key_summary_field *field = &fields->all[index];
	bool constant = field->part == CC_PART_CONSTANTS;
	size_t place = constant ? 0 : place_of(fields, index);

	for (size_t i = 0; i < other->count; i++) {
		const struct cc_key_summary_field *one = &other->all[i];

		if (!same_name(one, field))
			continue;
		if (constant ? same_constant(one, field) : !place--)
			return one;
	}
	return NULL;
}

static const struct cc_key_summary_field *before(const struct key_fields *fields, size_t index)
{
	return index ? &fields->all[index - 1] : NULL;
}

void key_diff_make(const struct key_fields *was, const struct key_fields *is, struct key_diff *ret)
{
	*ret = (struct key_diff){ .all = memory_new(was->count + is->count, sizeof(*ret->all)) };
	for (size_t i = 0; i < is->count; i++) {
		const struct cc_key_summary_field *old = find_counterpart(is, i, was);

		if (!old || !cc_key_summary_equal(old, &is->all[i]))
			ret->all[ret->count++] = (struct key_difference){ old, &is->all[i],
									  before(is, i) };
	}
	for (size_t i = 0; i < was->count; i++) {
		if (!find_counterpart(was, i, is))
			ret->all[ret->count++] = (struct key_difference){ &was->all[i], NULL,
									  before(was, i) };
	}
}

void key_diff_release(struct key_diff *diff)
{
	free(diff->all);
}

static double text_distance(const struct key_difference *one)
{
	double alike = one->was && one->is ? cc_key_summary_alike(one->was, one->is) : 0;

	return FAR_SOURCE + FAR_SOURCE_UNLIKE * (1 - alike);
}

double key_diff_distance(const struct key_diff *diff)
{
	bool device = false, driver = false;
	double distance = 0;

	for (size_t i = 0; i < diff->count; i++) {
		const struct key_difference *one = &diff->all[i];
		const struct cc_key_summary_field *field = one->is ? one->is : one->was;

		if (field->part == CC_PART_IMAGE)
			distance += field_is(field, "kind") ? FAR_KIND : text_distance(one);
		else if (field->part != CC_PART_DEVICE)
			distance += FAR_SETTING;
		else if (field_is(field, "device.name"))
			device = true;
		else
			driver = true;
	}
	/* Each comes with many fields. */
	if (device)
		return distance + FAR_DEVICE;
	return driver ? distance + FAR_DRIVER : distance;
}

/* Of a value within a sentence. */
#define MAX_SHOWN 60
/* Enough of a build-id to tell two apart. */
#define BUILD_ID_DIGITS 8

static const struct {
	const char *word, *phrase;
} kinds[CAUSE_KIND_COUNT] = {
	[CAUSE_REMOTE] = { "remote", "from the remote tier" },
	[CAUSE_UNATTENDED] = { "unattended", "while nobody waited" },
	[CAUSE_FAILED] = { "failed", "that did not compile" },
	[CAUSE_BYPASS] = { "bypass", "not cached" },
	[CAUSE_NOT_STORED] = { "not-stored", "not stored" },
	[CAUSE_READ_ONLY] = { "read-only", "read-only" },
	[CAUSE_REFUSED] = { "refused", "refused by the driver" },
	[CAUSE_DAMAGED] = { "damaged", "damaged" },
	[CAUSE_REMOTE_REFUSED] = { "remote-refused", "refused from the remote tier" },
	[CAUSE_HEADER] = { "header", "with other headers" },
	[CAUSE_EVICTED] = { "evicted", "evicted" },
	[CAUSE_CLEARED] = { "cleared", "removed by a command" },
	[CAUSE_DEFERRED] = { "deferred", "left to ckcache replay" },
	[CAUSE_GONE] = { "gone", "gone" },
	[CAUSE_DEVICE] = { "device", "on another device" },
	[CAUSE_DRIVER] = { "driver", "with another driver" },
	[CAUSE_SOURCE] = { "source", "with another source" },
	[CAUSE_OPTION] = { "option", "with other options" },
	[CAUSE_ENVIRONMENT] = { "environment", "in another environment" },
	[CAUSE_CONSTANT] = { "constant", "with other constants" },
	[CAUSE_OTHER] = { "other", "otherwise different" },
	[CAUSE_FIRST_TIME] = { "first-time", "for the first time" },
	[CAUSE_REMOTE_AWAY] = { "remote-away", "without the remote tier" },
};

const char *rebuild_cause_word(enum rebuild_cause_kind kind)
{
	return kinds[kind].word;
}

const char *rebuild_cause_phrase(enum rebuild_cause_kind kind)
{
	return kinds[kind].phrase;
}

void rebuild_causes_add(struct rebuild_causes *causes, enum rebuild_cause_kind kind,
			const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		memory_end();
	va_end(args);
	memory_grow(causes->all, causes->count);
	causes->all[causes->count++] = (struct rebuild_cause){ kind, text };
}

/* A field's value as a string that is the caller's. */
static char *value_text(const struct cc_key_summary_field *field)
{
	struct cmn_buffer text = { 0 };

	key_field_append_value(&text, field, MAX_SHOWN);
	return memory_string(&text);
}

/* What a change is called, behind the name of what changed: "NAME: A -> B", and where one has none of it. */
struct change_words {
	const char *before, *is_new, *new_end, *is_gone;
};
static const struct change_words usual = { "", " is new: ", "", " is gone (was " };
static const struct change_words of_variable = { "environment ", " set to ", " (was unset)",
						 " unset (was " };

static void add_change(struct rebuild_causes *causes, enum rebuild_cause_kind kind,
		       struct cmn_view what,
		       const struct key_difference *one, const struct change_words *words)
{
	char *was = value_text(one->was), *is = value_text(one->is);
	const char *name = what.data;
	int len = (int)what.len;

	if (!one->was)
		rebuild_causes_add(causes, kind, "%s%.*s%s%s%s", words->before, len, name, words->is_new, is,
				   words->new_end);
	else if (!one->is)
		rebuild_causes_add(causes, kind, "%s%.*s%s%s)", words->before, len, name, words->is_gone, was);
	else
		rebuild_causes_add(causes, kind, "%s%.*s: %s -> %s", words->before, len, name, was, is);
	free(was);
	free(is);
}

static const struct cc_key_summary_field *field_of(const struct key_difference *one)
{
	return one->is ? one->is : one->was;
}

static const struct key_difference *find_difference(const struct key_diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->count; i++) {
		if (field_is(field_of(&diff->all[i]), name))
			return &diff->all[i];
	}
	return NULL;
}

/* Another device has all its fields different: its name says it. true: it was said. */
static bool add_device(struct rebuild_causes *causes, const struct key_diff *diff)
{
	const struct key_difference *name = find_difference(diff, "device.name");

	if (!name || !name->was || !name->is)
		return false;
	add_change(causes, CAUSE_DEVICE, cmn_view_of("device differs"), name, &usual);
	return true;
}

/* A driver's own library, whose file driver.path names, is the one that people know. */
static bool is_drivers_own(const struct key_fields *fields, struct cmn_view library)
{
	const struct cc_key_summary_field *path = key_fields_find(fields, "driver.path");
	size_t len = path && path->whole ? path->value.len : 0;

	return len > library.len &&
	       memcmp((const char *)path->value.data + len - library.len, library.data,
		      library.len) == 0;
}

/* A build-id's beginning; what else a library is known by whole. */
static char *library_text(const struct cc_key_summary_field *field)
{
	struct cmn_buffer text = { 0 };
	const char *digits = field->value.data;
	size_t hex = 0;

	while (field->whole && hex < field->value.len && isxdigit((unsigned char)digits[hex]))
		hex++;
	if (field->whole && hex && hex == field->value.len) {
		cmn_buffer_printf(&text, "build-id %.*s%s", (int)(hex < BUILD_ID_DIGITS ? hex : BUILD_ID_DIGITS),
				  digits, hex > BUILD_ID_DIGITS ? "..." : "");
	} else {
		key_field_append_value(&text, field, MAX_SHOWN);
	}
	return memory_string(&text);
}

static void add_library(struct rebuild_causes *causes, const struct key_difference *one,
			size_t others)
{
	struct cmn_view name = field_after(field_of(one), "library.");
	char *was = one->was ? library_text(one->was) : NULL;
	char *is = one->is ? library_text(one->is) : NULL, more[64] = "";

	if (others)
		(void)snprintf(more, sizeof(more), ", and %zu more of the driver", others);
	if (was && is)
		rebuild_causes_add(causes, CAUSE_DRIVER, "driver %.*s changed: %s -> %s%s", (int)name.len,
				   (const char *)name.data, was,
				   strncmp(is, "build-id ", 9) == 0 && strncmp(was, "build-id ", 9) == 0 ? is + 9 : is,
				   more);
	else
		rebuild_causes_add(causes, CAUSE_DRIVER, "driver library %.*s %s%s", (int)name.len,
				   (const char *)name.data, one->is ? "is new" : "is gone", more);
	free(was);
	free(is);
}

/* One library, or else one field, speaks for all that an update changes. */
static void add_driver(struct rebuild_causes *causes, const struct key_diff *diff,
		       const struct key_fields *is)
{
	const struct key_difference *library = NULL, *other = NULL;
	struct cmn_view name;
	size_t count = 0;

	for (size_t i = 0; i < diff->count; i++) {
		const struct key_difference *one = &diff->all[i];

		if (field_of(one)->part != CC_PART_DEVICE)
			continue;
		count++;
		name = field_after(field_of(one), "library.");
		if (name.len && (!library || is_drivers_own(is, name)))
			library = one;
		else if (!name.len && !other)
			other = one;
	}
	if (library)
		add_library(causes, library, count - 1);
	else if (other)
		add_change(causes, CAUSE_DRIVER, field_of(other)->name, other, &usual);
}

/* " at line N", where that can be told; exactly, and with the words, where both texts are at hand. */
static void append_line(struct cmn_buffer *text, const struct key_difference *one, const struct rebuild_causes_keys *keys)
{
	struct cc_key_summary_field was = *one->was, is = *one->is;
	struct cmn_view words[2] = { 0 };
	uint64_t line, more;

	if (field_is(one->is, "source") && keys->was.len && keys->is.len) {
		was.value = cc_key_find(keys->was, "source", 0);
		is.value = cc_key_find(keys->is, "source", 0);
		was.whole = is.whole = true;
		cc_reuse_differing_words(was.value, is.value, &words[0], &words[1]);
	}
	if (!cc_key_summary_first_line(&was, &is, &line, &more))
		cmn_buffer_printf(text, " (%" PRIu64 " -> %" PRIu64 " bytes)", was.len, is.len);
	else if (more)
		cmn_buffer_printf(text, " within lines %" PRIu64 " to %" PRIu64, line, line + more);
	else
		cmn_buffer_printf(text, " at line %" PRIu64, line);
	if (words[0].len && words[1].len && words[0].len <= MAX_SHOWN && words[1].len <= MAX_SHOWN)
		cmn_buffer_printf(text, " (%.*s -> %.*s)", (int)words[0].len, (const char *)words[0].data,
				  (int)words[1].len, (const char *)words[1].data);
}

#define SPIRV_MAGIC 0x07230203
#define SPIRV_HEADER 20

/* Of an instruction's text or, where it has none, its place. */
static void append_instruction(struct cmn_buffer *text, struct cmn_view one, size_t text_at, size_t place)
{
	struct cmn_view rest = { (const char *)one.data + text_at, one.len - text_at };

	if (!text_at || text_at >= one.len) {
		cmn_buffer_printf(text, "instruction %zu", place);
		return;
	}
	rest.len = strnlen(rest.data, rest.len);
	cmn_buffer_append_u8(text, '"');
	text_append_clean(text, rest, MAX_SHOWN);
	cmn_buffer_append_u8(text, '"');
}

/* ": OpString %12 "/tmp/a.cl" -> "/tmp/b.cl"": where two modules of SPIR-V begin to differ, if they are any. */
static void append_spirv_diff(struct cmn_buffer *text, struct cmn_view was, struct cmn_view is)
{
	/* Those that have texts, and where: behind an id mostly. */
	static const struct {
		uint32_t opcode;
		const char *name;
		size_t text_at;
	} known[] = {
		{ 3, "OpSource", 0 }, { 5, "OpName", 8 }, { 6, "OpMemberName", 12 }, { 7, "OpString", 8 },
		{ 8, "OpLine", 0 }, { 15, "OpEntryPoint", 12 }, { 330, "OpModuleProcessed", 4 },
	};
	struct cmn_reader readers[] = { cmn_reader_of(was), cmn_reader_of(is) };

	if (cmn_reader_u32(&readers[0]) != SPIRV_MAGIC || cmn_reader_u32(&readers[1]) != SPIRV_MAGIC ||
	    was.len < SPIRV_HEADER || is.len < SPIRV_HEADER)
		return;
	for (int i = 0; i < 2; i++)
		(void)cmn_reader_bytes(&readers[i], SPIRV_HEADER - 4);
	for (size_t place = 1; readers[0].left && readers[1].left; place++) {
		struct cmn_view one[2];
		uint32_t first[2], id = 0;
		size_t i = 0;

		for (int j = 0; j < 2; j++) {
			struct cmn_reader reader = readers[j];

			first[j] = cmn_reader_u32(&reader);
			one[j] = cmn_reader_bytes(&readers[j], 4 * (uint64_t)(first[j] >> 16));
			if (!one[j].len)
				return;
			id = cmn_reader_u32(&reader);
		}
		if (cmn_view_equal(one[0], one[1]))
			continue;
		while (i < sizeof(known) / sizeof(known[0]) && known[i].opcode != (first[1] & 0xffff))
			i++;
		if (i == sizeof(known) / sizeof(known[0]) || (first[0] & 0xffff) != (first[1] & 0xffff)) {
			cmn_buffer_printf(text, ": instruction %zu", place);
			return;
		}
		cmn_buffer_printf(text, ": %s ", known[i].name);
		if (known[i].text_at == 8)
			cmn_buffer_printf(text, "%%%" PRIu32 " ", id);
		append_instruction(text, one[0], known[i].text_at, place);
		if (known[i].text_at) {
			cmn_buffer_append_text(text, " -> ");
			append_instruction(text, one[1], known[i].text_at, place);
		}
		return;
	}
}

static void add_source(struct rebuild_causes *causes, const struct key_difference *one,
		       const struct rebuild_causes_keys *keys)
{
	struct cmn_buffer where = { 0 };
	char *text;

	if (one->was && one->is && keys->was.len && keys->is.len)
		append_spirv_diff(&where, cc_key_find(keys->was, "source", 0), cc_key_find(keys->is, "source", 0));
	if (one->was && one->is && !where.len)
		append_line(&where, one, keys);
	text = memory_string(&where);
	rebuild_causes_add(causes, CAUSE_SOURCE, "source differs%s", text);
	free(text);
}

static void add_image(struct rebuild_causes *causes, const struct key_difference *one,
		      const struct rebuild_causes_keys *keys)
{
	char *name = NULL;

	if (field_is(field_of(one), "source")) {
		add_source(causes, one, keys);
	} else if (field_is(field_of(one), "header.text")) {
		name = value_text(one->before);	/* the text's name */
		rebuild_causes_add(causes, CAUSE_HEADER, "embedded header %s %s", name,
				   !one->was ? "is new" : one->is ? "changed" : "is gone");
		free(name);
	} else if (field_is(field_of(one), "input")) {
		rebuild_causes_add(causes, CAUSE_SOURCE, "an input of the link %s",
				   !one->was ? "is new" : one->is ? "changed" : "is gone");
	} else if (!field_is(field_of(one), "header.name")) {
		add_change(causes, CAUSE_OTHER, field_is(field_of(one), "kind")
			   ? cmn_view_of("kind of build") : field_of(one)->name, one, &usual);
	}
}

/* Words of build options, cut at blanks outside of quotes. More are not shown: nobody reads them. */
#define MAX_WORDS 512
#define MAX_SHOWN_WORDS 6

struct words {
	struct cmn_view all[MAX_WORDS];
	bool matched[MAX_WORDS];
	size_t count;
};

static void cut(struct cmn_view text, struct words *words)
{
	const char *at = text.data, *end = at + text.len;

	while (at < end && words->count < MAX_WORDS) {
		const char *start;
		bool quoted = false;

		while (at < end && isspace((unsigned char)*at))
			at++;
		start = at;
		for (; at < end && (quoted || !isspace((unsigned char)*at)); at++)
			quoted ^= *at == '"';
		if (at > start)
			words->all[words->count++] = (struct cmn_view){ start, (size_t)(at - start) };
	}
}

static void match_equal(struct words *was, struct words *is)
{
	for (size_t i = 0; i < is->count; i++) {
		for (size_t j = 0; j < was->count && !is->matched[i]; j++) {
			if (!was->matched[j] && cmn_view_equal(was->all[j], is->all[i]))
				was->matched[j] = is->matched[i] = true;
		}
	}
}

/* How much of a word names the option whose value the rest is; 0: it has no value. */
static size_t head_len(struct cmn_view word)
{
	const char *equals = memchr(word.data, '=', word.len);

	return equals ? (size_t)(equals - (const char *)word.data) + 1 : 0;
}

/* The one of the others that gives the same option another value; -1: none. */
static long find_other_value(struct cmn_view word, const struct words *others)
{
	size_t len = head_len(word);

	for (size_t i = 0; len && i < others->count; i++) {
		if (!others->matched[i] && head_len(others->all[i]) == len &&
		    memcmp(others->all[i].data, word.data, len) == 0)
			return (long)i;
	}
	return -1;
}

static void append_word(struct cmn_buffer *text, struct cmn_view word, size_t *shown)
{
	cmn_buffer_append_text(text, *shown ? ", " : "option ");
	cmn_buffer_append(text, word.data, word.len);
	++*shown;
}

/* "option -DN=4 -> -DN=8, -cl-fast-relaxed-math added", or that only their order or blanks differ. */
static void append_option_diff(struct cmn_buffer *text, struct cmn_view was_text, struct cmn_view is_text)
{
	struct words *was = memory_new(2, sizeof(*was)), *is = was + 1;
	size_t shown = 0;

	cut(was_text, was);
	cut(is_text, is);
	match_equal(was, is);
	for (size_t i = 0; i < is->count && shown < MAX_SHOWN_WORDS; i++) {
		long old = is->matched[i] ? -1 : find_other_value(is->all[i], was);

		if (is->matched[i])
			continue;
		append_word(text, old < 0 ? is->all[i] : was->all[old], &shown);
		cmn_buffer_append_text(text, old < 0 ? " added" : " -> ");
		if (old < 0)
			continue;
		was->matched[old] = true;
		cmn_buffer_append(text, is->all[i].data, is->all[i].len);
	}
	for (size_t i = 0; i < was->count && shown < MAX_SHOWN_WORDS; i++) {
		if (was->matched[i])
			continue;
		append_word(text, was->all[i], &shown);
		cmn_buffer_append_text(text, " dropped");
	}
	if (!shown)
		cmn_buffer_append_text(text, "the options differ only in order or blanks");
	free(was);
}

static void add_options(struct rebuild_causes *causes, const struct key_difference *one)
{
	struct cmn_buffer text = { 0 };
	char *sentence;

	if (!one->was || !one->is || !one->was->whole || !one->is->whole) {
		add_change(causes, CAUSE_OPTION, cmn_view_of("options"), one, &usual);
		return;
	}
	append_option_diff(&text, one->was->value, one->is->value);
	sentence = memory_string(&text);
	rebuild_causes_add(causes, CAUSE_OPTION, "%s", sentence);
	free(sentence);
}

/* As the layers encode it: a number (behind its module's), a size, eight bytes. */
static bool read_constant(const struct cc_key_summary_field *field, uint32_t *ret_id,
			  uint64_t *ret_value)
{
	struct cmn_reader reader;

	if (!field || !field->whole || (field->len != 20 && field->len != 24))
		return false;
	reader = cmn_reader_of(field->value);
	if (field->len == 24)
		(void)cmn_reader_u32(&reader);
	*ret_id = cmn_reader_u32(&reader);
	(void)cmn_reader_u64(&reader);
	*ret_value = cmn_reader_u64(&reader);
	return !reader.failed;
}

static void add_constant(struct rebuild_causes *causes, const struct key_difference *one)
{
	uint32_t id = 0;
	uint64_t was = 0, is = 0;
	bool had = read_constant(one->was, &id, &was), has = read_constant(one->is, &id, &is);

	if (had && has)
		rebuild_causes_add(causes, CAUSE_CONSTANT,
				   "specialization constant %" PRIu32 ": %" PRIu64 " -> %" PRIu64, id, was, is);
	else if (has)
		rebuild_causes_add(causes, CAUSE_CONSTANT,
				   "specialization constant %" PRIu32 " set to %" PRIu64 " (was not set)", id,
				   is);
	else if (had)
		rebuild_causes_add(causes, CAUSE_CONSTANT,
				   "specialization constant %" PRIu32 " not set (was %" PRIu64 ")", id, was);
	else
		rebuild_causes_add(causes, CAUSE_CONSTANT, "a specialization constant differs");
}

static void add_setting(struct rebuild_causes *causes, const struct key_difference *one)
{
	const struct cc_key_summary_field *field = field_of(one);
	struct cmn_view variable = field_after(field, "env.");

	if (variable.len) {
		add_change(causes, CAUSE_ENVIRONMENT, variable, one, &of_variable);
	} else if (field_is(field, "options") || field_is(field, "input.options")) {
		add_options(causes, one);
	} else {
		add_change(causes, CAUSE_OTHER, field->name, one, &usual);
	}
}

void rebuild_causes_of_diff(struct rebuild_causes *causes, const struct key_diff *diff,
			    const struct key_fields *is, const struct rebuild_causes_keys *keys)
{
	if (!add_device(causes, diff))
		add_driver(causes, diff, is);
	for (unsigned int part = CC_PART_IMAGE; part < CC_PART_COUNT; part++) {
		for (size_t i = 0; i < diff->count; i++) {
			const struct key_difference *one = &diff->all[i];

			if (field_of(one)->part != part)
				continue;
			if (part == CC_PART_IMAGE)
				add_image(causes, one, keys);
			else if (part == CC_PART_CONSTANTS)
				add_constant(causes, one);
			else
				add_setting(causes, one);
		}
	}
}
