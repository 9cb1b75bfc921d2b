/* SPDX-License-Identifier: MIT */
/* pack: the same content is the same bytes, two packs have one union, and what no maker wrote is refused. */
#include "tools/recipes/pack.h"

#include <ctype.h>

#include "tests/support/unit.h"
#include "tools/recipes/recipes.h"

static const struct pack_target gpu = { .vendor_id = 0x8086, .device_type = 4 };

/* The key of a program, as a layer makes it. */
static struct cc_key key_of(const char *source, const char *options)
{
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "platform.name", "a platform");
	cc_key_add_text(&key, CC_PART_DEVICE, "device.name", "a device of this machine");
	cc_key_add_text(&key, CC_PART_IMAGE, "kind", "source");
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", options);
	cc_key_add_u64(&key, CC_PART_OPTIONS, "devices", 1);
	cc_key_add_text(&key, CC_PART_OPTIONS, "env.POCL_VECTORIZER_REMARKS", "secret");
	return key;
}

static enum cmn_status add(struct pack_maker *maker, const char *source, const char *options,
			   struct pack_header *headers, size_t count)
{
	struct cc_key key = key_of(source, options);
	enum cmn_status status = pack_maker_add_recipe(maker, &gpu, cc_key_view(&key), headers,
						       count);

	cc_key_release(&key);
	return status;
}

static void add_origin(struct pack_maker *maker, const char *name, const char *licence)
{
	const struct pack_origin origin = { cmn_view_of(name), cmn_view_of(licence) };

	CU_ASSERT_EQUAL(pack_maker_add_origin(maker, &origin), CMN_OK);
}

static struct pack_maker *new_maker(void)
{
	struct pack_maker *maker = pack_maker_new();

	CU_ASSERT_FATAL(maker != NULL);
	return maker;
}

/* Encodes, and frees the maker. */
static struct cmn_buffer finish(struct pack_maker *maker)
{
	struct cmn_buffer file = { 0 };

	CU_ASSERT_EQUAL_FATAL(pack_maker_encode(maker, &file), CMN_OK);
	pack_maker_free(maker);
	return file;
}

static struct pack_header a_header = { .path = { "/usr/share/x/a.h", 16 }, .size = 7, .hash.bytes = { 1, 2, 3 } };

/* Some content, from its number-th part on. */
static struct pack_maker *made(unsigned int number)
{
	static const char *const sources[] = { "kernel void a() {}", "kernel void b() {}", "" };
	struct pack_maker *maker = new_maker();

	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(add(maker, sources[(i + number) % 3], "-cl-mad-enable", &a_header,
				    (i + number) % 2), CMN_OK);
	add_origin(maker, number % 2 ? "b" : "a", "MIT");
	add_origin(maker, number % 2 ? "a" : "b", "MIT");
	return maker;
}

static void expect_equal(struct cmn_buffer a, struct cmn_buffer b)
{
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&a), cmn_buffer_view(&b)));
	cmn_buffer_release(&a);
	cmn_buffer_release(&b);
}

TEST(order_makes_no_difference)
{
	struct pack_maker *once = new_maker(), *twice = new_maker();
	struct pack_header headers[] = { a_header, { .path = { "/usr/share/x/b.h", 16 } } };
	struct pack_header backwards[] = { headers[1], headers[0] };

	CU_ASSERT_EQUAL(add(once, "x", "", NULL, 0), CMN_OK);
	CU_ASSERT_EQUAL(add(once, "y", "", headers, 2), CMN_OK);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(add(twice, "y", "", backwards, 2), CMN_OK);
		CU_ASSERT_EQUAL(add(twice, "x", "", NULL, 0), CMN_OK);
	}
	expect_equal(finish(once), finish(twice));
	expect_equal(finish(new_maker()), finish(new_maker()));
}

/* The format is for other versions to read: these bytes may never change without a new version. */
TEST(bytes_stay_what_they_were)
{
	struct cc_key key = key_of("kernel void a() {}", "-cl-mad-enable");
	struct pack_maker *maker = new_maker();
	struct cmn_buffer file;
	struct cmn_hash hash;
	char hex[CMN_HASH_HEX_SIZE];

	add_origin(maker, "x", "MIT");
	CU_ASSERT_EQUAL(pack_maker_add_recipe(maker, &gpu, cc_key_view(&key), &a_header, 1), CMN_OK);
	file = finish(maker);
	hash = cmn_hash_of(file.data, file.len);
	cmn_hash_hex(&hash, hex);
	CU_ASSERT_EQUAL(file.len, 304);
	CU_ASSERT_STRING_EQUAL(hex, "a17552e16a074d58a8eac4d453949250");
	cmn_buffer_release(&file);
	/* Nor this, by which links name it. */
	CU_ASSERT_EQUAL(pack_identity(cc_key_view(&key), &hash), CMN_OK);
	cmn_hash_hex(&hash, hex);
	CU_ASSERT_STRING_EQUAL(hex, "3af0a125f69e61f05769359d2b33d32a");
	cc_key_release(&key);
}

static void merge(struct pack_maker *maker, const struct cmn_buffer *file)
{
	struct pack pack;

	CU_ASSERT_EQUAL_FATAL(pack_decode(cmn_buffer_view(file), &pack), CMN_OK);
	CU_ASSERT_EQUAL(pack_maker_add_pack(maker, &pack), CMN_OK);
	pack_release(&pack);
}

TEST(two_packs_have_one_union)
{
	struct cmn_buffer a = finish(made(0)), b = finish(made(1));
	struct pack_maker *ab = new_maker(), *ba = new_maker(), *aa = new_maker();
	struct cmn_buffer twice;

	merge(ab, &a);
	merge(ab, &b);
	merge(ba, &b);
	merge(ba, &a);
	merge(aa, &a);
	merge(aa, &a);
	twice = finish(aa);
	CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&twice), cmn_buffer_view(&a)));
	expect_equal(finish(ab), finish(ba));
	cmn_buffer_release(&twice);
	cmn_buffer_release(&a);
	cmn_buffer_release(&b);
}

TEST(what_is_put_in_comes_out)
{
	static const char *const expected[][2] = {
		{ "kind", "source" }, { "source", "text" }, { "options", "-w" },
	};
	struct pack_maker *maker = new_maker();
	struct pack_recipe recipe;
	struct pack_origin origin;
	struct pack_header header;
	struct cmn_reader reader;
	struct cmn_buffer file;
	struct pack pack;

	add_origin(maker, "x", "");
	CU_ASSERT_EQUAL(add(maker, "text", "-w", &a_header, 1), CMN_OK);
	file = finish(maker);
	CU_ASSERT_EQUAL_FATAL(pack_decode(cmn_buffer_view(&file), &pack), CMN_OK);
	reader = pack_origins(&pack);
	CU_ASSERT_TRUE(pack_next_origin(&reader, &origin));
	CU_ASSERT_TRUE(cmn_view_equal(origin.name, cmn_view_of("x")) && origin.licence.len == 0);
	CU_ASSERT_FALSE(pack_next_origin(&reader, &origin));
	reader = pack_recipes(&pack);
	CU_ASSERT_TRUE_FATAL(pack_next_recipe(&reader, &recipe));
	CU_ASSERT_EQUAL(recipe.target.vendor_id, gpu.vendor_id);
	CU_ASSERT_EQUAL(recipe.target.device_type, gpu.device_type);
	/* Neither the device nor the environment; "devices" comes last. */
	CU_ASSERT_EQUAL_FATAL(recipe.field_count, 4);
	for (size_t i = 0; i < 3; i++) {
		struct cc_key_field field = pack_field(&pack, &recipe, i);

		CU_ASSERT_TRUE(cmn_view_equal(field.name, cmn_view_of(expected[i][0])));
		CU_ASSERT_TRUE(cmn_view_equal(field.value, cmn_view_of(expected[i][1])));
	}
	CU_ASSERT_EQUAL_FATAL(recipe.header_count, 1);
	header = pack_header(&pack, &recipe, 0);
	CU_ASSERT_TRUE(cmn_view_equal(header.path, a_header.path));
	CU_ASSERT_TRUE(header.size == 7 && cmn_hash_equal(&header.hash, &a_header.hash));
	CU_ASSERT_FALSE(pack_next_recipe(&reader, &recipe));
	CU_ASSERT_PTR_NULL(memmem(file.data, file.len, "secret", 6));
	CU_ASSERT_PTR_NULL(memmem(file.data, file.len, "machine", 7));
	pack_release(&pack);
	cmn_buffer_release(&file);
}

static enum cmn_status decode(const struct cmn_buffer *file)
{
	struct pack pack = { 0 };
	enum cmn_status status = pack_decode(cmn_buffer_view(file), &pack);

	pack_release(&pack);
	return status;
}

TEST(each_byte_counts)
{
	struct cmn_buffer file = finish(made(0));
	size_t len = file.len;

	for (size_t i = 0; i < len; i++) {
		enum cmn_status status;

		file.data[i] ^= 0x10;
		status = decode(&file);
		file.data[i] ^= 0x10;
		CU_ASSERT_EQUAL(status, i >= 8 && i < 12 ? CMN_ERR_VERSION : CMN_ERR_CORRUPT);
		file.len = i;
		CU_ASSERT_EQUAL(decode(&file), CMN_ERR_CORRUPT);
		file.len = len;
	}
	CU_ASSERT_EQUAL(decode(&file), CMN_OK);
	cmn_buffer_append_u8(&file, 0);
	CU_ASSERT_EQUAL(decode(&file), CMN_ERR_CORRUPT);
	cmn_buffer_release(&file);
}

/* A file with such a payload, and a length and hash that are right: an attacker's. */
static enum cmn_status decode_payload(struct cmn_buffer *payload)
{
	struct cmn_buffer file = { 0 };
	enum cmn_status status;
	struct cmn_hash hash;

	CU_ASSERT_FALSE_FATAL(payload->failed);
	cmn_buffer_append_text(&file, PACK_MAGIC);
	cmn_buffer_append_u32(&file, PACK_VERSION);
	cmn_buffer_append_u32(&file, 0);
	cmn_buffer_append_u64(&file, payload->len);
	cmn_buffer_append(&file, "0123456789abcdef", CMN_HASH_SIZE);
	cmn_buffer_append(&file, payload->data, payload->len);
	hash = pack_hash(cmn_buffer_view(&file));
	memcpy(file.data + PACK_HASH_AT, hash.bytes, CMN_HASH_SIZE);
	status = decode(&file);
	cmn_buffer_release(&file);
	cmn_buffer_release(payload);
	return status;
}

static void append_texts(struct cmn_buffer *payload, const char *const *texts, uint32_t count)
{
	cmn_buffer_append_u32(payload, 0);	/* origins */
	cmn_buffer_append_u32(payload, count);
	for (uint32_t i = 0; i < count; i++)
		cmn_buffer_append_sized(payload, texts[i], strlen(texts[i]));
}

/* A recipe with one field, and without headers. */
static void append_recipe(struct cmn_buffer *payload, uint64_t vendor, enum cc_part part,
			  uint32_t name, uint32_t value)
{
	cmn_buffer_append_u64(payload, vendor);
	cmn_buffer_append_u64(payload, 4);
	cmn_buffer_append_u32(payload, 1);
	cmn_buffer_append_u8(payload, (uint8_t)part);
	cmn_buffer_append_u32(payload, name);
	cmn_buffer_append_u32(payload, value);
	cmn_buffer_append_u32(payload, 0);
}

static enum cmn_status decode_one(const char *const *texts, uint32_t count, enum cc_part part,
				  uint32_t name, uint32_t value)
{
	struct cmn_buffer payload = { 0 };

	append_texts(&payload, texts, count);
	cmn_buffer_append_u32(&payload, 1);
	append_recipe(&payload, 1, part, name, value);
	return decode_payload(&payload);
}

TEST(hostile_texts_are_refused)
{
	static const char *const good[] = { "kind", "source" }, *const swapped[] = { "source", "kind" };
	static const char *const twice[] = { "kind", "kind" }, *const more[] = { "kind", "source", "x" };
	static const char *const variable[] = { "env.LD_PRELOAD", "x.so" }, *const none[] = { "", "a" };

	CU_ASSERT_EQUAL(decode_one(good, 2, CC_PART_IMAGE, 0, 1), CMN_OK);
	CU_ASSERT_EQUAL(decode_one(swapped, 2, CC_PART_IMAGE, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(twice, 2, CC_PART_IMAGE, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(more, 3, CC_PART_IMAGE, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(variable, 2, CC_PART_OPTIONS, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(none, 2, CC_PART_IMAGE, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(good, 2, CC_PART_DEVICE, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(good, 2, CC_PART_COUNT, 0, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(good, 2, CC_PART_IMAGE, 2, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_one(good, 2, CC_PART_IMAGE, 0, UINT32_MAX), CMN_ERR_CORRUPT);
}

static enum cmn_status decode_two(uint64_t first_vendor, uint64_t second_vendor)
{
	static const char *const texts[] = { "kind", "source" };
	struct cmn_buffer payload = { 0 };

	append_texts(&payload, texts, 2);
	cmn_buffer_append_u32(&payload, 2);
	append_recipe(&payload, first_vendor, CC_PART_IMAGE, 0, 1);
	append_recipe(&payload, second_vendor, CC_PART_IMAGE, 0, 1);
	return decode_payload(&payload);
}

TEST(recipes_are_sorted)
{
	CU_ASSERT_EQUAL(decode_two(1, 2), CMN_OK);
	CU_ASSERT_EQUAL(decode_two(2, 1), CMN_ERR_CORRUPT);
	CU_ASSERT_EQUAL(decode_two(1, 1), CMN_ERR_CORRUPT);
}

TEST(hostile_counts_are_refused)
{
	struct cmn_buffer payload = { 0 };

	cmn_buffer_append_u32(&payload, UINT32_MAX);	/* origins */
	CU_ASSERT_EQUAL(decode_payload(&payload), CMN_ERR_TOO_LARGE);
	cmn_buffer_append_u32(&payload, 0);
	cmn_buffer_append_u32(&payload, UINT32_MAX);	/* texts */
	CU_ASSERT_EQUAL(decode_payload(&payload), CMN_ERR_TOO_LARGE);
	cmn_buffer_append_u32(&payload, 0);
	cmn_buffer_append_u32(&payload, PACK_MAX_TEXTS);
	CU_ASSERT_EQUAL(decode_payload(&payload), CMN_ERR_CORRUPT);
	append_texts(&payload, NULL, 0);
	cmn_buffer_append_u32(&payload, 1000000);	/* recipes, which are there */
	for (uint32_t i = 0; i < 1000000; i++)
		cmn_buffer_append(&payload, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	CU_ASSERT_EQUAL(decode_payload(&payload), CMN_ERR_TOO_LARGE);
	append_texts(&payload, NULL, 0);
	cmn_buffer_append_u32(&payload, 3);	/* and are not */
	CU_ASSERT_EQUAL(decode_payload(&payload), CMN_ERR_CORRUPT);
}

/* Many recipes with one large text: a small file that is large in keys. */
TEST(a_small_file_is_not_large_in_memory)
{
	size_t len = (size_t)4 << 20;
	char *text = malloc(len + 1);
	const char *texts[] = { "source", text };
	struct cmn_buffer payload = { 0 };

	CU_ASSERT_FATAL(text != NULL);
	memset(text, 'x', len);
	text[len] = '\0';
	append_texts(&payload, texts, 2);
	cmn_buffer_append_u32(&payload, 100);
	for (uint32_t i = 0; i < 100; i++)
		append_recipe(&payload, i + 1, CC_PART_IMAGE, 0, 1);
	CU_ASSERT_EQUAL(decode_payload(&payload), CMN_ERR_TOO_LARGE);
	free(text);
}

TEST(makers_keep_the_bounds)
{
	struct pack_maker *maker = new_maker();
	struct pack_header *headers = calloc(PACK_MAX_HEADERS, sizeof(*headers));
	char *large = malloc(PACK_MAX_TEXT + 2), source[32];
	struct cc_key key = key_of("", "");
	struct pack_origin origin = { 0 };
	struct cmn_buffer file = { 0 };

	CU_ASSERT_FATAL(large != NULL && headers != NULL);
	memset(large, 'x', PACK_MAX_TEXT + 1);
	large[PACK_MAX_TEXT + 1] = '\0';
	CU_ASSERT_EQUAL(add(maker, large, "", NULL, 0), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(add(maker, large + 1, "", NULL, 0), CMN_OK);
	CU_ASSERT_EQUAL(add(maker, "", "", &a_header, PACK_MAX_HEADERS + 1), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(pack_maker_add_origin(maker, &origin), CMN_ERR_INVALID);
	origin.name = (struct cmn_view){ large, PACK_MAX_NAME + 1 };
	CU_ASSERT_EQUAL(pack_maker_add_origin(maker, &origin), CMN_ERR_TOO_LARGE);
	origin.name.len = PACK_MAX_NAME;
	origin.licence = (struct cmn_view){ large, PACK_MAX_LICENCE + 1 };
	CU_ASSERT_EQUAL(pack_maker_add_origin(maker, &origin), CMN_ERR_TOO_LARGE);
	origin.licence.len = PACK_MAX_LICENCE;
	CU_ASSERT_EQUAL(pack_maker_add_origin(maker, &origin), CMN_OK);
	CU_ASSERT_EQUAL(add(maker, "", "", headers, PACK_MAX_HEADERS), CMN_OK);
	for (size_t i = 4; i < PACK_MAX_FIELDS; i++)
		cc_key_add_text(&key, CC_PART_OPTIONS, "another", "");
	CU_ASSERT_EQUAL(pack_maker_add_recipe(maker, &gpu, cc_key_view(&key), NULL, 0), CMN_OK);
	cc_key_add_text(&key, CC_PART_OPTIONS, "another", "");
	CU_ASSERT_EQUAL(pack_maker_add_recipe(maker, &gpu, cc_key_view(&key), NULL, 0), CMN_ERR_TOO_LARGE);
	CU_ASSERT_EQUAL(pack_maker_encode(maker, &file), CMN_OK);
	cmn_buffer_release(&file);
	for (int i = 0; i < PACK_MAX_RECIPES; i++) {
		(void)snprintf(source, sizeof(source), "%d", i);
		CU_ASSERT_EQUAL(add(maker, source, "", NULL, 0), CMN_OK);
	}
	CU_ASSERT_EQUAL(pack_maker_encode(maker, &file), CMN_ERR_TOO_LARGE);
	CU_ASSERT_PTR_NULL(file.data);
	pack_maker_free(maker);
	pack_maker_free(NULL);
	cc_key_release(&key);
	free(headers);
	free(large);
}

static const char *refusal(const char *options)
{
	return portable_options(cmn_view_of(options));
}

TEST(options_of_programs_are_portable)
{
	static const char *const good[] = {
		"", "  ", "-w -cl-fast-relaxed-math  -DINTEL=1 -I\"/usr/share/darktable/kernels\"",
		"-D KERNEL_STATIC -D INCLUDE_PATH=/usr/share/hashcat/OpenCL -D XM2S(x)=#x",
		"-I /usr/lib/python3/dist-packages/pyopencl/cl -DN=1/3", "-I. -I kernels", "-cl-std=CL3.0",
		"-UB -Werror -Wno-unused -O2 -g -DX=/2", "-spir-std=1.2 -ze-opt-level=2",
		"-cl-std=CLC++2021 -cl-ext=+cl_khr_fp64,+cl_khr_fp16", "-D EPSILON=1e-5f -DN=-1",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CU_ASSERT_PTR_NULL(refusal(good[i]));
}

TEST(options_that_name_files_are_not)
{
	static const char *const bad[] = {
		"-I/home/a", "-I /tmp/x", "-I\"/home/a b\"", "-I'/root/x'", "-I/usr/../home", "-I/usr",
		"-I /usr/share/..", "-I ~/x", "-DP=/home/a/x.h", "-DP=\\\"/home/a/x.h\\\"", "-DP=</tmp/x.h>",
		"-o /usr/share/x", "-o", "-I", "-D", "-s /usr/share/x.cl", "-include /usr/share/x.h",
		"-fplugin=/usr/lib/x.so", "-Xclang -load", "-Wp,-MD,x", "-Wl,x", "-dump-opt-llvm=x", "x.cl",
		"-cl-x=/usr/share/x", "@file", "-DA=\"b", "-save-temps", "-igc_opts 'ShaderDumpEnable=1'",
		"-L/usr/lib", "--x", "-cl-std=CL1.2 -B/usr/lib", "-I../x", "-I x/..", "-I @/usr/x",
		/* What one reader takes for a value, and another one for options. */
		"-D 'A=x -dependency-file /tmp/x -DB'", "-DA=\"-igc_opts 'DumpToCustomDir=/tmp'\"",
		"-DA='b c'", "-DA=\"b\"", "-DA=b\\ -o", "-DA=b\t-o\tx", "-DA=b\n-o\nx", "-D A=b\v-o",
		"-DA=1-igc_opts", "-DA=x-vc-codegen", "-I/usr/x-igc_opts", "-Wno-x-igc_opts", "-D -o",
		"-D @/tmp/x", "-D A=$HOME", "-DA=`x`", "-DA=b;-o", "-I\"/usr/x -o /tmp/y\"", "-I\"/usr/x",
		"-I/usr/x\"", "-I\"\"/usr/x\"\"", "-cl-std=-x", "-cl-unknown", "-Wno-anything", "-Ofast", "-DA(x",
		"-Xfinalizer -o", "-llvm-options=-x", "-vc-codegen", "-dump-opt-llvm=x", "-I-", "-I -x",
	};
	char long_option[8192];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(refusal(bad[i]));
	memset(long_option, 'x', sizeof(long_option));
	memcpy(long_option, "-D", 2);
	long_option[sizeof(long_option) - 1] = '\0';
	CU_ASSERT_PTR_NOT_NULL(refusal(long_option));
	long_option[4096] = '\0';
	CU_ASSERT_PTR_NOT_NULL(refusal(long_option));
	long_option[4095] = '\0';
	CU_ASSERT_PTR_NULL(refusal(long_option));
	CU_ASSERT_PTR_NOT_NULL(portable_options((struct cmn_view){ "-w\0-o x", 7 }));
}

/* How a compiler finds words in a text. */
struct reading {
	const char *blanks, *quotes;
	bool escapes;
};

/* All words as it finds them, each with its NUL. */
static void read_words(const struct reading *reading, const char *text, struct cmn_buffer *ret)
{
	bool word = false;
	char quote = 0;

	for (; *text; text++) {
		if (!quote && strchr(reading->blanks, *text)) {
			if (word)
				cmn_buffer_append_u8(ret, 0);
			word = false;
			continue;
		}
		word = true;
		if (quote ? *text == quote : strchr(reading->quotes, *text) != NULL)
			quote = quote ? 0 : *text;
		else if (reading->escapes && *text == '\\' && text[1])
			cmn_buffer_append(ret, ++text, 1);
		else if (*text != '"')	/* one that stays is in no word that is compared */
			cmn_buffer_append(ret, text, 1);
	}
	if (word)
		cmn_buffer_append_u8(ret, 0);
}

/* An option's name inside of a word, for who looks for it anywhere. */
static bool hides_option(const char *text)
{
	for (const char *at = text; (at = strchr(at, '-')); at++) {
		if (at > text && strchr("=,(:#*/+.\"'", at[-1]) && isalpha((unsigned char)at[1]))
			return true;
	}
	return strstr(text, "-igc_opts") != NULL;
}

/* As a shell, as clang, as pocl, as NEO and as rusticl: what is accepted has the same words for all. */
TEST(what_is_accepted_is_read_alike_by_all)
{
	static const struct reading readings[] = {
		{ " ", "", false }, { " \t\n\v\f\r", "\"'", true }, { " \t\n", "\"'", false },
		{ " ", "\"", false }, { " ", "'", true }, { " \n;", "\"", true },
	};
	static const char *const pieces[] = {
		"-D", "-I", "-U", "A", "=", "1", " ", " ", "\"", "'", "\\", "\t", "\n", "-", "o", "-o", "x",
		"/usr/share/x", "/tmp/y", "..", ".", "/", "-igc_opts", "-cl-std", "-cl-mad-enable", "CL1.2",
		"-w", "-O2", "(", ")", "#", ",", "@", "$", ";", "`", "~", "-W", "no-", "+", "-Xclang", "_",
	};
	uint64_t state = 1;
	size_t accepted = 0;

	for (unsigned int round = 0; round < 400000; round++) {
		char text[256] = "";

		for (unsigned int i = 0; i < 2 + round % 7; i++) {
			state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			strcat(text, pieces[(state >> 33) % (sizeof(pieces) / sizeof(pieces[0]))]);
		}
		if (refusal(text))
			continue;
		accepted++;
		if (hides_option(text) || strstr(text, "/..") || strpbrk(text, "'\\\t\n@$;`~"))
			CU_FAIL("it hides an option");
		for (size_t i = 1; i < sizeof(readings) / sizeof(readings[0]); i++) {
			struct cmn_buffer first = { 0 }, other = { 0 };

			read_words(&readings[0], text, &first);
			read_words(&readings[i], text, &other);
			CU_ASSERT_TRUE(cmn_view_equal(cmn_buffer_view(&first), cmn_buffer_view(&other)));
			cmn_buffer_release(&first);
			cmn_buffer_release(&other);
		}
	}
	CU_ASSERT_TRUE(accepted > 1000);
}

TEST(names_of_headers_stay_below_their_directory)
{
	static const char *const bad[] = { "", "/etc/x", "../x", "a/../../x", "..", "a b", "-x", "~/x", "a\nb" };

	CU_ASSERT_TRUE(portable_header(cmn_view_of("kernels/a-b.h")));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_FALSE(portable_header(cmn_view_of(bad[i])));
	CU_ASSERT_FALSE(portable_header((struct cmn_view){ "a\0b", 3 }));
}

static bool includes(const char *options, const char *path)
{
	return portable_includes(cmn_view_of(options), cmn_view_of(path));
}

TEST(headers_are_below_include_directories)
{
	CU_ASSERT_TRUE(includes("-w -I\"/usr/share/x\"", "/usr/share/x/a.h"));
	CU_ASSERT_TRUE(includes("-I /usr/share/x/ -w", "/usr/share/x/b/a.h"));
	CU_ASSERT_FALSE(includes("-I /usr/share/x", "/usr/share/xy/a.h"));
	CU_ASSERT_FALSE(includes("-I /usr/share/x", "/usr/share/x"));
	CU_ASSERT_FALSE(includes("-I . -I", "./a.h"));
	CU_ASSERT_FALSE(includes("-D/usr/share/x", "/usr/share/x/a.h"));
}

TEST(programs_are_of_source_spir_v_or_links)
{
	static const char *const rows[][4] = {
		{ "source", "source", "" }, { "link", "input", "" }, { "il", "source", "\3\2#\a of either order" },
		{ "module", "source", "\a#\2\3" }, { "compile-il", "source", "\a#\2", "not SPIR-V" },
		{ "program", "source", "BC\xc0\xde", "not SPIR-V" }, { "binary", "source", "", "an unknown kind" },
		{ "source", "kind", "source", "an unknown kind" }, { "link", "output", "", "neither source nor input" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *reason;
		struct cc_key key;

		cc_key_init(&key);
		cc_key_add_text(&key, CC_PART_IMAGE, "kind", rows[i][0]);
		cc_key_add_text(&key, CC_PART_IMAGE, rows[i][1], rows[i][2]);
		reason = recipe_key_refuse(cc_key_view(&key));
		CU_ASSERT(rows[i][3] ? reason && strstr(reason, rows[i][3]) : !reason);
		cc_key_release(&key);
	}
}

TEST(devices_of_a_key_are_counted_and_parts_are_none)
{
	struct cc_key key;

	cc_key_init(&key);
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(recipe_key_devices(cc_key_view(&key)), i);
		cc_key_add_text(&key, CC_PART_DEVICE, "platform.name", "");
	}
	cc_key_add_text(&key, CC_PART_DEVICE, "device.partition", "");
	CU_ASSERT_EQUAL(recipe_key_devices(cc_key_view(&key)), 0);
	cc_key_release(&key);
}

/* A step of three: an object, a library of it, and the program. */
static struct cc_key step_of(unsigned int i, struct cmn_hash input)
{
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_DEVICE, "platform.name", "here");
	cc_key_add_text(&key, CC_PART_IMAGE, "kind", i ? "link" : "compile");
	cc_key_add(&key, CC_PART_IMAGE, "input", input.bytes, sizeof(input.bytes));
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", i == 1 ? "-create-library" : "");
	return key;
}

static enum cmn_status make(struct recipe_index *index, const struct cmn_hash *identity,
			    const struct objects *objects, struct cc_key *ret)
{
	static char fields[] = "\0\15platform.name\4\0\0\0\0\0\0\0here";
	const struct present_device here = { .fields = { fields, sizeof(fields) - 1 } };
	size_t i = 0;

	while (!cmn_hash_equal(&index->identities[i], identity))
		i++;
	cc_key_init(ret);
	return recipe_links_make(index, i, objects, &here, ret);
}

TEST(links_are_of_what_their_inputs_have_become)
{
	struct cmn_hash identities[3], input = { { 1 } };
	struct object items[3];
	struct objects objects = { .items = items };
	struct pack_maker *maker = new_maker();
	struct cc_key keys[3], key;
	struct recipe_index index;
	struct cmn_buffer file;
	struct pack pack;

	for (unsigned int i = 0; i < 3; i++) {
		key = step_of(i, i ? identities[i - 1] : input);
		CU_ASSERT_EQUAL(pack_maker_add_recipe(maker, &gpu, cc_key_view(&key), NULL, 0), CMN_OK);
		CU_ASSERT_EQUAL(pack_identity(cc_key_view(&key), &identities[i]), CMN_OK);
		cc_key_release(&key);
	}
	file = finish(maker);
	CU_ASSERT_EQUAL_FATAL(pack_decode(cmn_buffer_view(&file), &pack), CMN_OK);
	CU_ASSERT_EQUAL(recipe_index_read(&pack, &index), CMN_OK);
	CU_ASSERT(index.count == 3 && index.links == 2);
	CU_ASSERT_EQUAL(make(&index, &identities[1], &objects, &key), CMN_MISS);
	cc_key_release(&key);
	for (unsigned int i = 0; i < 3; i++) {
		key = step_of(i, input);
		CU_ASSERT_EQUAL(make(&index, &identities[i], &objects, &keys[i]), CMN_OK);
		CU_ASSERT(cmn_view_equal(cc_key_view(&keys[i]), cc_key_view(&key)));
		cc_key_release(&key);
		/* And back. */
		cc_key_init(&key);
		CU_ASSERT_EQUAL(recipe_links_record(&objects, cc_key_view(&keys[i]), &key), i ? CMN_OK : CMN_MISS);
		CU_ASSERT(!i || (pack_identity(cc_key_view(&key), &input) == CMN_OK &&
				 cmn_hash_equal(&input, &identities[i])));
		cc_key_release(&key);
		input = cmn_hash_of(&i, sizeof(i));
		items[objects.count++] = (struct object){ .content = input, .key = cc_key_view(&keys[i]),
							  .devices = objects_devices(cc_key_view(&keys[i])) };
	}
	for (size_t i = 0; i < 3; i++)
		cc_key_release(&keys[i]);
	recipe_index_release(&index);
	pack_release(&pack);
	cmn_buffer_release(&file);
}
