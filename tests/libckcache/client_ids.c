/* SPDX-License-Identifier: MIT */
/* client_ids: what ids are the same for, and what not. */
#include "tests/libckcache/client.h"

#define MAX_IDS 64

/* A list in which no two are to be equal. */
struct ids {
	struct bytes at[MAX_IDS];
	size_t count;
};

static void add_id(struct ids *ids, struct bytes id)
{
	if (ids->count == MAX_IDS)
		client_fail("too many ids", CL_INVALID_VALUE);
	CHECK(id.size == 88 && !memcmp(id.data, "CKID\1\0\0", 8));
	ids->at[ids->count++] = id;
}

static void add_source(struct ids *ids, struct client *client, const char *text,
		       const char *options)
{
	struct ckcache_desc *desc = api_desc(client, text, options), *same;
	struct bytes id = api_id(desc), again;

	same = api_desc(client, text, options);
	again = api_id(same);
	CHECK(bytes_equal(&id, &again));
	bytes_release(&again);
	api->desc_free(same);
	api->desc_free(desc);
	add_id(ids, id);
}

static void add_il(struct ids *ids, struct client *client, size_t count,
		   const struct ckcache_constant *constants)
{
	/* It ends with what would be the date in a text; here it is a name. */
	static const uint32_t il[] = { 0x07230203, 0x00010000, 0, 1, 0, 0x41445f5f, 0x5f5f4554, 0 };
	const struct ckcache_program program = {
		.struct_size = sizeof(program),
		.language = CKCACHE_LANGUAGE_SPIRV,
		.source = il,
		.source_size = sizeof(il),
		.constant_count = count,
		.constants = constants,
	};
	OWNED(api_free) struct ckcache_desc *desc = api_desc_of(client, 1, &program);

	add_id(ids, api_id(desc));
}

static void add_constants(struct ids *ids, struct client *client)
{
	const uint64_t one = 1, two = 2;
	const struct ckcache_constant constants[] = {
		{ 1, 4, &one }, { 1, 4, &two }, { 2, 4, &one }, { 1, 8, &one }, { 1, 1, &one },
		{ 2, 4, &two },
	};
	struct ckcache_constant reversed[] = { constants[2], constants[0] };
	struct ckcache_constant ordered[] = { constants[0], constants[2] };
	struct ids pair = { .count = 0 };

	add_il(ids, client, 0, NULL);
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		add_il(ids, client, 1, &constants[i]);
	add_il(ids, client, 2, reversed);
	/* A set: their order means nothing to any driver. */
	add_il(&pair, client, 2, ordered);
	CHECK(bytes_equal(&pair.at[0], &ids->at[ids->count - 1]));
	bytes_release(&pair.at[0]);
}

static void add_groups(struct ids *ids, struct client *client)
{
	const struct ckcache_program a = api_program(api_text, "-DVALUE=1");
	const struct ckcache_program b = api_program(api_text, "-DVALUE=2");
	const struct ckcache_program groups[][3] = { { a, b }, { b, a }, { a, a }, { a, b, a } };
	const size_t counts[] = { 2, 2, 2, 3 };

	for (size_t i = 0; i < 4; i++) {
		struct ckcache_desc *desc = api_desc_of(client, counts[i], groups[i]);

		add_id(ids, api_id(desc));
		api->desc_free(desc);
	}
}

/* In one process: same where all is the same, different wherever anything is not. */
SCENARIO(ids)
{
	static const char longer[] = "kernel void value(global int *out) { out[get_global_id(0)] = VALUE; } \n";
	struct ids ids = { .count = 0 };

	add_source(&ids, client, api_text, api_options);
	add_source(&ids, client, longer, api_options);
	add_source(&ids, client, api_text, "-DVALUE=8");
	add_source(&ids, client, api_text, "-DVALUE=7 -DB=1");
	add_source(&ids, client, api_text, "-DB=1 -DVALUE=7");
	add_source(&ids, client, api_text, "-DVALUE=7 ");
	add_source(&ids, client, "kernel void other(global int *out) { }\n", NULL);
	add_source(&ids, client, "kernel void other(global int *out) { }\n ", NULL);
	/* Where a binary may lose them, a program with constants has no id. */
	if (client->arguments[0])
		add_constants(&ids, client);
	add_groups(&ids, client);
	for (cl_uint i = 1; i < client->device_count; i++) {
		struct client other = *client;

		other.devices[0] = client->devices[i];
		add_source(&ids, &other, api_text, api_options);
	}
	for (size_t i = 0; i < ids.count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!CHECK(!bytes_equal(&ids.at[i], &ids.at[j])))
				(void)fprintf(stderr, "ids %zu and %zu\n", j, i);
		}
	}
	for (size_t i = 0; i < ids.count; i++)
		bytes_release(&ids.at[i]);
}

/* Prints the id, also after a build, which may bring the compiler's libraries. Arguments: options. */
SCENARIO(id_of)
{
	const char *options = client->arguments[0] ? client->arguments[0] : api_options;
	struct ckcache_desc *desc = api_desc(client, api_text, options);
	OWNED(bytes_release) struct bytes id = api_id(desc), after;
	OWNED(api_release) cl_program program = api_built(client, api_text, options);

	CHECK(program);
	api_print(&id);
	api->desc_free(desc);
	desc = api_desc(client, api_text, options);
	after = api_id(desc);
	CHECK(bytes_equal(&id, &after));
	api->desc_free(desc);
}

static const char with_header[] = "#include \"value.h\"\n"
	"kernel void value(global int *out) { out[get_global_id(0)] = VALUE; }\n";

/* One of several is enough. */
static void expect_no_id_of_two(struct client *client, const struct ckcache_program *one,
				const struct ckcache_program *other)
{
	const struct ckcache_program two[] = { *one, *other };
	OWNED(api_free) struct ckcache_desc *desc = api_desc_of(client, 2, two);
	OWNED(bytes_release) struct bytes id = api_id(desc);

	CHECK(id.size == 0);
}

static void expect_no_id(struct client *client, const char *text, const char *options)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, text, options);
	cl_program program = api_built(client, api_text, api_options), none = NULL;
	OWNED(bytes_release) struct bytes id = api_id(desc);
	const uint8_t byte = 0;
	size_t size = 77;

	if (!CHECK(id.size == 0))
		(void)fprintf(stderr, "%s: %s\n", text, options);
	WANT(CKCACHE_OK, api->opencl_get_blob(desc, &program, &size, NULL));
	CHECK(size == 0);
	INVALID(api->opencl_create_from_blob(desc, 1, &byte, &none));
	CHECK(!none);
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
}

/* The description has no id, and what it describes is built, from wherever. */
static enum ckcache_origin build_nameless(struct client *client, struct ckcache_desc *desc,
					  const char *text, const char *options, int value)
{
	enum ckcache_origin origin = CKCACHE_ORIGIN_STORAGE;
	struct bytes id = api_id(desc);
	OWNED(api_release) cl_program program = NULL;

	CHECK(id.size == 0);
	bytes_release(&id);
	if (!WANT(CKCACHE_OK, api->opencl_build(desc, NULL, &program, &origin)))
		return origin;
	if (client->executes)
		CHECK(api_is(client, program, text, options, value));
	return origin;
}

/* What source and options do not tell: empty ids and blobs, and builds all the same. */
SCENARIO(empty)
{
	static const char *const texts[] = {
		"constant char date[] = __DATE__;\n"
		"kernel void value(global int *out) { out[get_global_id(0)] = 7 + 0 * date[0]; }\n",
		"#define CAT(a, b) a##b\nconstant char time[] = CAT(__TI, ME__);\n"
		"kernel void value(global int *out) { out[get_global_id(0)] = 7 + 0 * time[0]; }\n",
	};

	const struct ckcache_program named = api_program(api_text, api_options);
	const struct ckcache_program nameless = api_program(with_header, "");

	expect_no_id_of_two(client, &named, &nameless);
	expect_no_id_of_two(client, &nameless, &named);
	expect_no_id(client, "#include __OPENCL_HEADER__\n", "");
	expect_no_id(client, with_header, "");
	expect_no_id(client, api_text, "-DVALUE=7 -include value.h");
	expect_no_id(client, api_text, "-DVALUE=__LINE__ -DFILE=__FILE__");
	expect_no_id(client, api_text, "-DVALUE=7 -g");
	expect_no_id(client, api_text, "-DVALUE=7 -frandomize-layout-seed-file=x");
	for (size_t i = 0; i < 2; i++) {
		struct ckcache_desc *desc = api_desc(client, texts[i], "");

		(void)build_nameless(client, desc, texts[i], "", 7);
		WANT(CKCACHE_OK, api->desc_evict(desc, NULL));
		(void)build_nameless(client, desc, texts[i], "", 7);
		api->desc_free(desc);
	}
}

static cl_uint context_references(struct client *client)
{
	cl_uint references = 0;

	CHECK(clGetContextInfo(client->context, CL_CONTEXT_REFERENCE_COUNT, sizeof(references),
			       &references, NULL) == CL_SUCCESS);
	return references;
}

/* A description holds its context, and for no longer than it lives. */
SCENARIO(context)
{
	cl_uint before = context_references(client);
	struct ckcache_desc *desc = api_desc(client, api_text, api_options);

	CHECK(context_references(client) == before + 1);
	api->desc_free(desc);
	CHECK(context_references(client) == before);
}

/* The date, in any case: never from a cache. */
SCENARIO(dated)
{
	static const char text[] = "constant char date[] = __DATE__;\n"
		"kernel void value(global int *out) { out[get_global_id(0)] = 7 + 0 * date[0]; }\n";
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, text, "");

	for (int i = 0; i < 2; i++)
		CHECK(build_nameless(client, desc, text, "", 7) == CKCACHE_ORIGIN_BUILT);
}

/* A header that is edited, and one beside it that is none of the program's. */
SCENARIO(changed)
{
	OWNED(api_free) struct ckcache_desc *desc, *again;

	api_write_text("value.h", "#define VALUE 7\n");
	desc = api_desc(client, with_header, "-I .");
	again = api_desc(client, with_header, "-I .");
	CHECK(build_nameless(client, desc, with_header, "-I .", 7) == CKCACHE_ORIGIN_BUILT);
	CHECK(build_nameless(client, desc, with_header, "-I .", 7) == CKCACHE_ORIGIN_MEMORY);
	CHECK(build_nameless(client, again, with_header, "-I .", 7) == CKCACHE_ORIGIN_MEMORY);
	api_write_text("neighbour", "written by the application\n");
	CHECK(build_nameless(client, desc, with_header, "-I .", 7) == CKCACHE_ORIGIN_MEMORY);
	CHECK(unlink("neighbour") == 0);
	/* The same bytes once more are the same header. */
	api_write_text("value.h", "#define VALUE 7\n");
	CHECK(build_nameless(client, desc, with_header, "-I .", 7) == CKCACHE_ORIGIN_MEMORY);
	api_write_text("value.h", "#define VALUE 8\n");
	CHECK(build_nameless(client, desc, with_header, "-I .", 8) == CKCACHE_ORIGIN_BUILT);
	CHECK(build_nameless(client, again, with_header, "-I .", 8) == CKCACHE_ORIGIN_MEMORY);
	/* Evicted without an id. */
	WANT(CKCACHE_OK, api->desc_evict(desc, NULL));
	CHECK(build_nameless(client, again, with_header, "-I .", 8) == CKCACHE_ORIGIN_BUILT);
}

/* Variables that compilers read: clang's, and NVIDIA's. */
static void change_read_variables(bool set)
{
	static const char *const names[] = { "CPATH", "NVVM_NOTHING" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK((set ? setenv(names[i], "/nonexistent", 1) : unsetenv(names[i])) == 0);
}

/*
 * A variable that compilers read, changed behind a description's back, then
 * back; and one that nobody reads.
 */
SCENARIO(environment)
{
	struct ckcache_desc *desc = api_desc(client, api_text, api_options), *other;
	cl_program program = api_built(client, api_text, api_options), none = NULL, back = NULL;
	OWNED(bytes_release) struct bytes blob = api_blob(desc, &program);

	for (int i = 0; i < 2; i++) {
		size_t size = 0;

		CHECK(setenv("SOMETHING_ELSE", i ? "1" : "2", 1) == 0);
		WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data, &back));
		CHECK(clReleaseProgram(back) == CL_SUCCESS);
		change_read_variables(true);
		WANT(CKCACHE_ERROR_CHANGED,
		     api->opencl_create_from_blob(desc, blob.size, blob.data, &none));
		WANT(CKCACHE_ERROR_CHANGED, api->opencl_get_blob(desc, &program, &size, NULL));
		/* What the compiler has of it by now is not known: there is nothing to be cached. */
		other = api_desc(client, api_text, api_options);
		size = 1;
		WANT(CKCACHE_OK, api->desc_get_id(other, &size, NULL));
		CHECK(size == 0);
		INVALID(api->opencl_create_from_blob(other, blob.size, blob.data, &none));
		api->desc_free(other);
		CHECK(!none);
		change_read_variables(false);
	}
	WANT(CKCACHE_OK, api->opencl_create_from_blob(desc, blob.size, blob.data, &back));
	CHECK(clReleaseProgram(back) == CL_SUCCESS);
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
	/* Once something was built so, the driver may have it for good. */
	change_read_variables(true);
	WANT(CKCACHE_OK, api->opencl_build(desc, NULL, &program, NULL));
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
	change_read_variables(false);
	WANT(CKCACHE_ERROR_CHANGED, api->opencl_create_from_blob(desc, blob.size, blob.data, &none));
	api->desc_free(desc);
}

/* Changed before the first call of ckcache.h, and after the driver was loaded. */
SCENARIO(environment_early)
{
	OWNED(api_free) struct ckcache_desc *desc;
	size_t size = 1;

	change_read_variables(true);
	desc = api_desc(client, api_text, api_options);
	WANT(CKCACHE_OK, api->desc_get_id(desc, &size, NULL));
	CHECK(size == 0);
}
