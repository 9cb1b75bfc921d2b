/* SPDX-License-Identifier: MIT */
/*
 * api_programs: the public maps and BuildResult, as a runtime uses them: each
 * function, with good and bad arguments. What the maps do is tested below them
 * (test_programs.c, test_semantics.c); here it is that it arrives.
 */
#include "cachecore/api/cachecore.h"

#include <sched.h>
#include <stdatomic.h>

#include "cachecore/api/api_internal.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define THREADS 8
#define ROUNDS 300

/* Of the next key. */
static bool no_memory;

WRAPPED(enum cmn_status, api_key_of_program, (const struct cachecore_program_key *key, struct api_key *ret))
{
	if (!no_memory)
		return __real_api_key_of_program(key, ret);
	*ret = (struct api_key){ 0 };
	return CMN_ERR_NOMEM;
}

/* A counted handle. Every test ends with none alive. */
struct handle {
	atomic_int refs;
};

static atomic_int handles_alive;

static struct handle *handle_new(void)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		abort();	/* also in threads, where CUnit has no say */
	atomic_init(&handle->refs, 1);
	atomic_fetch_add(&handles_alive, 1);
	return handle;
}

static void handle_retain(void *value)
{
	struct handle *handle = value;

	atomic_fetch_add(&handle->refs, 1);
}

static void handle_release(void *value)
{
	struct handle *handle = value;

	if (atomic_fetch_sub(&handle->refs, 1) != 1)
		return;
	atomic_fetch_sub(&handles_alive, 1);
	free(handle);
}

static const struct cachecore_value_ops counted = { handle_retain, handle_release };

static struct cachecore_bytes text(const char *from)
{
	return (struct cachecore_bytes){ from, strlen(from) };
}

static struct cachecore_programs *programs_new(uint64_t threshold)
{
	const struct cachecore_programs_options options = {
		.struct_size = sizeof(options), .threshold = threshold,
		.program_ops = counted, .kernel_ops = counted,
	};
	struct cachecore_programs *programs = NULL;

	CU_ASSERT_EQUAL_FATAL(cachecore_programs_new(&options, &programs), CACHECORE_OK);
	return programs;
}

static void programs_end(struct cachecore_programs *programs)
{
	cachecore_programs_free(programs);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 0);
}

static struct cachecore_usage usage_of(struct cachecore_programs *programs)
{
	struct cachecore_usage usage;

	cachecore_programs_usage(programs, &usage);
	return usage;
}

static struct cachecore_program_key key_of(const char *image, const char *options)
{
	return (struct cachecore_program_key){ .image_id = text(image), .options = text(options) };
}

/* What a build does: the first calls fail. */
struct script {
	enum cachecore_status failure;
	int failures;
	const char *message;
	size_t size;
	atomic_int calls;
};

static enum cachecore_status build(void *ctx, struct cachecore_build_output *ret)
{
	struct script *script = ctx;

	if (atomic_fetch_add(&script->calls, 1) < script->failures) {
		ret->error_code = -11;
		ret->error_message = script->message ? strdup(script->message) : NULL;
		return script->failure;
	}
	ret->value = handle_new();
	ret->size = script->size;
	return CACHECORE_OK;
}

/* Gets or builds, gives the value back, and tells the way. */
static enum cachecore_way obtain(struct cachecore_programs *programs,
				 const struct cachecore_program_key *key, struct script *script)
{
	struct cachecore_taken taken;

	CU_ASSERT_EQUAL_FATAL(cachecore_programs_get_or_build(programs, key, build, script, false,
							      &taken), CACHECORE_OK);
	CU_ASSERT_PTR_NULL(taken.error_message);
	handle_release(taken.value);
	return taken.way;
}

static void put(struct cachecore_programs *programs, const struct cachecore_program_key *key)
{
	CU_ASSERT_EQUAL(cachecore_programs_put(programs, key, handle_new(), 10), CACHECORE_OK);
}

static bool has(struct cachecore_programs *programs, const struct cachecore_program_key *key)
{
	void *value;
	enum cachecore_status status = cachecore_programs_get(programs, key, &value);

	if (status == CACHECORE_OK)
		handle_release(value);
	else
		CU_ASSERT_EQUAL(status, CACHECORE_MISS);
	return status == CACHECORE_OK;
}

static struct cachecore_programs *programs;

BEFORE_EACH
{
	programs = programs_new(0);
}

AFTER_EACH
{
	programs_end(programs);
}

TEST(version_and_statuses_have_names)
{
	CU_ASSERT_EQUAL(cachecore_version(), CACHECORE_VERSION);
	CU_ASSERT_STRING_EQUAL(cachecore_status_string(CACHECORE_OK), "success");
	CU_ASSERT_STRING_EQUAL(cachecore_status_string(CACHECORE_ERR_BUILD), "the build failed");
	for (int status = CACHECORE_ERR_BUILD; status <= CACHECORE_STALE; status++) {
		const char *name = cachecore_status_string((enum cachecore_status)status);

		CU_ASSERT_STRING_NOT_EQUAL(name, "unknown status");
	}
	CU_ASSERT_STRING_EQUAL(cachecore_status_string((enum cachecore_status)-1000), "unknown status");
}

TEST(keys_do_not_run_together)
{
	const char *const parts[][4] = {
		{ "ab", "", "", "" }, { "a", "b", "", "" }, { "", "ab", "", "" },
		{ "", "a", "b", "" }, { "", "", "ab", "" }, { "", "", "a", "b" },
		{ "", "", "", "ab" }, { "a", "", "", "b" }, { "", "", "", "" },
	};
	const size_t count = sizeof(parts) / sizeof(parts[0]);

	for (size_t i = 0; i < count; i++) {
		const struct cachecore_program_key key = {
			.image_id = text(parts[i][0]), .constants = text(parts[i][1]),
			.devices = text(parts[i][2]), .options = text(parts[i][3]),
		};

		CU_ASSERT(!has(programs, &key));
		put(programs, &key);
		CU_ASSERT(has(programs, &key));
	}
	CU_ASSERT_EQUAL(usage_of(programs).programs, count);
}

static struct cachecore_program_key key_of_devices(const uint64_t *devices, size_t count)
{
	return (struct cachecore_program_key){
		.devices = { devices, count * sizeof(*devices) },
		.device_size = sizeof(*devices),
	};
}

TEST(devices_are_a_set)
{
	const uint64_t devices[] = { 300, 20, 1, 4000, 20 }, mixed[] = { 20, 4000, 300, 1 };
	const uint64_t fewer[] = { 20, 4000, 300 }, one = 20, twice[] = { 20, 20 };
	struct cachecore_program_key key = key_of_devices(devices, 5);

	put(programs, &key);
	key = key_of_devices(mixed, 4);
	CU_ASSERT(has(programs, &key));
	key = key_of_devices(fewer, 3);
	CU_ASSERT(!has(programs, &key));
	key = key_of_devices(twice, 2);
	put(programs, &key);
	key = key_of_devices(&one, 1);
	CU_ASSERT(has(programs, &key));
	/* As one string their order and number count. */
	key = key_of_devices(mixed, 4);
	key.device_size = 0;
	CU_ASSERT(!has(programs, &key));
}

TEST(long_keys_are_compared_in_full)
{
	const size_t sizes[] = { 900, 1000, 1024, 5000, 200000 };
	struct script script = { .size = 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *options = malloc(sizes[i]);
		struct cachecore_program_key key = { .options = { options, sizes[i] } };

		CU_ASSERT_PTR_NOT_NULL_FATAL(options);
		memset(options, 'x', sizes[i]);
		CU_ASSERT_EQUAL(obtain(programs, &key, &script), CACHECORE_WAY_BUILT);
		options[sizes[i] / 2] = 'y';
		CU_ASSERT(!has(programs, &key));
		put(programs, &key);
		cachecore_programs_remove(programs, &key, NULL);
		CU_ASSERT(!has(programs, &key));
		options[sizes[i] / 2] = 'x';
		CU_ASSERT(has(programs, &key));
		free(options);
	}
}

TEST(bad_arguments_do_nothing)
{
	struct cachecore_programs_options options = { .struct_size = 1 };
	struct cachecore_programs *none = NULL;
	const struct cachecore_bytes bad = { NULL, 1 };
	struct cachecore_program_key good = key_of("image", ""), key;
	struct cachecore_taken taken = { .way = CACHECORE_WAY_FOUND };
	struct script script = { .size = 1 };
	struct handle *handle = handle_new();
	void *value;

	CU_ASSERT_EQUAL(cachecore_programs_new(&options, &none), CACHECORE_ERR_INVALID);
	CU_ASSERT_PTR_NULL(none);
	CU_ASSERT_EQUAL(cachecore_programs_new(NULL, NULL), CACHECORE_ERR_INVALID);
	for (int i = 0; i < 5; i++) {
		key = good;
		*(i == 0 ? &key.image_id : i == 1 ? &key.constants : i == 2 ? &key.devices : &key.options) = bad;
		if (i == 4) {
			key = good;
			key.devices = text("abc");
			key.device_size = 2;
		}
		CU_ASSERT_EQUAL(cachecore_programs_get(programs, &key, &value), CACHECORE_ERR_INVALID);
		CU_ASSERT_EQUAL(cachecore_programs_get_or_build(programs, &key, build, &script,
								false, &taken),
				CACHECORE_ERR_INVALID);
		CU_ASSERT_PTR_NULL(taken.value);
		CU_ASSERT_EQUAL(cachecore_programs_put(programs, &key, handle, 1), CACHECORE_ERR_INVALID);
		CU_ASSERT_EQUAL(cachecore_kernels_get_or_build(programs, &key, text("k"), build,
							       &script, &taken),
				CACHECORE_ERR_INVALID);
		CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &key, text("k"), handle), CACHECORE_ERR_INVALID);
		CU_ASSERT_EQUAL(cachecore_fast_kernel_put(programs, &key, text(""), NULL,
							  text("k"), handle),
				CACHECORE_ERR_INVALID);
		cachecore_programs_remove(programs, &key, NULL);
		cachecore_kernels_remove(programs, &key, text("k"), NULL);
	}
	for (int i = 0; i < 4; i++) {
		key = good;
		*(i == 0 ? &key.image_id : i == 1 ? &key.constants : i == 2 ? &key.devices : &key.options) =
			(struct cachecore_bytes){ "", SIZE_MAX - 1 };
		CU_ASSERT_EQUAL(cachecore_programs_get(programs, &key, &value), CACHECORE_ERR_TOO_LARGE);
	}
	CU_ASSERT_EQUAL(cachecore_programs_get(programs, NULL, &value), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_programs_get(programs, &good, NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_programs_get_or_build(programs, &good, NULL, NULL, false,
							&taken), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_programs_get_or_build(programs, &good, build, &script, false,
							NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_programs_put(programs, &good, NULL, 1), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_programs_attempt(programs, NULL, NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_kernels_get(programs, &good, bad, &value), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &good, bad, handle), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_kernels_get_or_build(programs, &good, bad, build, &script,
						       &taken), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_kernels_get(programs, &good, text("k"), NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_put(programs, &good, bad, NULL, text("k"), handle),
			CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_get(programs, bad, NULL, text("k"), &value), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_get(programs, text(""), NULL, bad, &value), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 0);
	CU_ASSERT_EQUAL(usage_of(programs).programs, 0);
	/* It was never taken. */
	CU_ASSERT_EQUAL(atomic_load(&handle->refs), 1);
	handle_release(handle);
}

TEST(without_maps_everything_is_built)
{
	struct cachecore_program_key key = key_of("image", "");
	struct script script = { .size = 1 };
	struct handle *handle = handle_new();
	struct cachecore_taken taken;
	struct cachecore_usage usage = { .programs = 1 };
	void *value;

	CU_ASSERT_EQUAL(obtain(NULL, &key, &script), CACHECORE_WAY_BUILT);
	CU_ASSERT_EQUAL(obtain(NULL, &key, &script), CACHECORE_WAY_BUILT);
	CU_ASSERT_EQUAL(cachecore_kernels_get_or_build(NULL, &key, text("k"), build, &script, &taken), CACHECORE_OK);
	handle_release(taken.value);
	CU_ASSERT_EQUAL(cachecore_programs_get(NULL, &key, &value), CACHECORE_MISS);
	CU_ASSERT_EQUAL(cachecore_kernels_get(NULL, &key, text("k"), &value), CACHECORE_MISS);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_get(NULL, text(""), NULL, text("k"), &value), CACHECORE_MISS);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_put(NULL, &key, text(""), NULL, text("k"), handle), CACHECORE_MISS);
	CU_ASSERT_EQUAL(cachecore_programs_put(NULL, &key, handle, 1), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_kernels_put(NULL, &key, text("k"), handle), CACHECORE_ERR_INVALID);
	cachecore_programs_remove(NULL, &key, NULL);
	cachecore_kernels_remove(NULL, &key, text("k"), NULL);
	cachecore_programs_flush(NULL);
	cachecore_programs_usage(NULL, &usage);
	CU_ASSERT_EQUAL(usage.programs, 0);
	cachecore_programs_fork_prepare(NULL);
	cachecore_programs_fork_parent(NULL);
	cachecore_programs_fork_child(NULL);
	handle_release(handle);
	programs_end(NULL);
}

/* options NULL: nothing to call. */
TEST(callbacks_may_be_left_out)
{
	struct cachecore_programs *others;
	struct cachecore_program_key key = key_of("image", "");
	int program;
	void *value = NULL;

	CU_ASSERT_EQUAL_FATAL(cachecore_programs_new(NULL, &others), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_programs_put(others, &key, &program, 1), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_programs_get(others, &key, &value), CACHECORE_OK);
	CU_ASSERT_PTR_EQUAL(value, &program);
	programs_end(others);
}

TEST(errors_come_with_code_and_message)
{
	struct cachecore_program_key key = key_of("image", "-bad");
	struct script script = { .failure = CACHECORE_ERR_BUILD, .failures = 2,
				 .message = "no such option" };
	struct cachecore_taken taken;

	CU_ASSERT_EQUAL(cachecore_programs_get_or_build(programs, &key, build, &script, true,
							&taken), CACHECORE_ERR_BUILD);
	CU_ASSERT_EQUAL(taken.way, CACHECORE_WAY_BUILT);
	free(taken.error_message);
	/* It is remembered, with all that was said. */
	CU_ASSERT_EQUAL(cachecore_programs_get_or_build(programs, &key, build, &script, true,
							&taken), CACHECORE_ERR_BUILD);
	CU_ASSERT_EQUAL(taken.way, CACHECORE_WAY_FOUND);
	CU_ASSERT_EQUAL(taken.error_code, -11);
	CU_ASSERT_STRING_EQUAL(taken.error_message, "no such option");
	CU_ASSERT_PTR_NULL(taken.value);
	free(taken.error_message);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
	CU_ASSERT(!has(programs, &key));
	cachecore_programs_remove(programs, &key, NULL);
	/* And here it is not. */
	CU_ASSERT_EQUAL(cachecore_programs_get_or_build(programs, &key, build, &script, false,
							&taken), CACHECORE_ERR_BUILD);
	free(taken.error_message);
	CU_ASSERT_EQUAL(obtain(programs, &key, &script), CACHECORE_WAY_BUILT);
}

struct attempts {
	enum cachecore_status statuses[3];
	unsigned int calls;
};

static enum cachecore_status attempt(void *ctx)
{
	struct attempts *attempts = ctx;

	return attempts->statuses[attempts->calls++];
}

TEST(attempt_out_of_memory_flushes_and_tries_once_more)
{
	struct cachecore_program_key key = key_of("image", "");
	struct attempts fails = { .statuses = { CACHECORE_ERR_BUILD } };
	struct attempts well = { .statuses = { CACHECORE_ERR_NOMEM, CACHECORE_OK } };
	struct attempts twice = { .statuses = { CACHECORE_ERR_NOMEM, CACHECORE_ERR_NOMEM } };

	put(programs, &key);
	CU_ASSERT_EQUAL(cachecore_programs_attempt(programs, attempt, &fails), CACHECORE_ERR_BUILD);
	CU_ASSERT_EQUAL(fails.calls, 1);
	CU_ASSERT(has(programs, &key));
	CU_ASSERT_EQUAL(cachecore_programs_attempt(programs, attempt, &well), CACHECORE_OK);
	CU_ASSERT_EQUAL(well.calls, 2);
	CU_ASSERT(!has(programs, &key));
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 0);
	CU_ASSERT_EQUAL(cachecore_programs_attempt(programs, attempt, &twice), CACHECORE_ERR_NOMEM);
	CU_ASSERT_EQUAL(twice.calls, 2);
	twice.calls = 0;
	/* There is nothing to flush, so that once more would be in vain. */
	CU_ASSERT_EQUAL(cachecore_programs_attempt(NULL, attempt, &twice), CACHECORE_ERR_NOMEM);
	CU_ASSERT_EQUAL(twice.calls, 1);
}

TEST(put_keeps_the_first_value)
{
	struct cachecore_program_key key = key_of("image", "");
	struct handle *first = handle_new();
	void *value = NULL;

	CU_ASSERT_EQUAL(cachecore_programs_put(programs, &key, first, 1), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_programs_put(programs, &key, handle_new(), 20), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_programs_get(programs, &key, &value), CACHECORE_OK);
	CU_ASSERT_PTR_EQUAL(value, first);
	CU_ASSERT_EQUAL(atomic_load(&first->refs), 2);
	handle_release(value);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 1);
	CU_ASSERT_EQUAL(usage_of(programs).bytes, 1);
	/* Only what is meant is removed. */
	cachecore_programs_remove(programs, &key, &key);
	CU_ASSERT(has(programs, &key));
	cachecore_programs_remove(programs, &key, first);
	CU_ASSERT(!has(programs, &key));
}

TEST(least_recently_used_go_over_the_threshold)
{
	struct cachecore_programs *others = programs_new(30);
	struct cachecore_program_key keys[4] = { key_of("0", ""), key_of("1", ""),
						 key_of("2", ""), key_of("3", "") };

	for (int i = 0; i < 3; i++)
		put(others, &keys[i]);
	CU_ASSERT_EQUAL(usage_of(others).bytes, 30);
	CU_ASSERT(has(others, &keys[0]));
	put(others, &keys[3]);
	CU_ASSERT(has(others, &keys[0]));
	CU_ASSERT(!has(others, &keys[1]));
	cachecore_programs_flush(others);
	CU_ASSERT_EQUAL(usage_of(others).bytes, 0);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 0);
	programs_end(others);
}

TEST(kernels_are_found_and_go_with_their_program)
{
	struct cachecore_program_key key = key_of("image", ""), none = key_of("none", "");
	const struct cachecore_bytes names[] = { { "k\0a", 3 }, { "k\0b", 3 }, { "", 0 } };
	struct script script = { .size = 1 };
	struct cachecore_taken taken;
	void *value;

	put(programs, &key);
	for (int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(cachecore_kernels_get_or_build(programs, &key, names[i % 3], build,
							       &script, &taken), CACHECORE_OK);
		CU_ASSERT_EQUAL(taken.way, i < 3 ? CACHECORE_WAY_BUILT : CACHECORE_WAY_FOUND);
		handle_release(taken.value);
	}
	CU_ASSERT_EQUAL(usage_of(programs).kernels, 3);
	CU_ASSERT_EQUAL(cachecore_kernels_get(programs, &key, names[1], &value), CACHECORE_OK);
	cachecore_kernels_remove(programs, &key, names[1], &key);
	CU_ASSERT_EQUAL(usage_of(programs).kernels, 3);
	cachecore_kernels_remove(programs, &key, names[1], value);
	handle_release(value);
	CU_ASSERT_EQUAL(cachecore_kernels_get(programs, &key, names[1], &value), CACHECORE_MISS);
	/* Without the program it is built, and not kept. */
	CU_ASSERT_EQUAL(cachecore_kernels_get_or_build(programs, &none, names[0], build, &script,
						       &taken), CACHECORE_OK);
	handle_release(taken.value);
	CU_ASSERT_EQUAL(usage_of(programs).kernels, 2);
	cachecore_programs_remove(programs, &key, NULL);
	CU_ASSERT_EQUAL(usage_of(programs).kernels, 0);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 0);
}

TEST(kernels_may_be_put)
{
	struct cachecore_program_key key = key_of("image", "");
	struct handle *first = handle_new();
	void *value = NULL;

	/* Taken all the same. */
	CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &key, text("k"), handle_new()), CACHECORE_MISS);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 1);
	put(programs, &key);
	CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &key, text("k"), first), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &key, text("k"), handle_new()), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_kernels_get(programs, &key, text("k"), &value), CACHECORE_OK);
	CU_ASSERT_PTR_EQUAL(value, first);
	handle_release(value);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 2);
}

static bool is_fast(struct cachecore_programs *map, struct cachecore_bytes constants,
		    const void *device, struct cachecore_bytes name)
{
	void *value;
	enum cachecore_status status = cachecore_fast_kernel_get(map, constants, device, name, &value);

	if (status == CACHECORE_OK)
		handle_release(value);
	else
		CU_ASSERT_EQUAL(status, CACHECORE_MISS);
	return status == CACHECORE_OK;
}

TEST(fast_kernels_are_compared_in_full)
{
	struct cachecore_program_key key = key_of("image", "");
	/* How "c" with the name "k" is encoded, as a name without constants. */
	const struct cachecore_bytes forged = { "\1\0\0\0\0\0\0\0ck", 10 };
	struct handle *kernel = handle_new();
	int device = 0, other = 0;	/* their addresses count */

	put(programs, &key);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_put(programs, &key, text("c"), &device, text("k"),
						  kernel), CACHECORE_MISS);
	CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &key, text("k"), kernel), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_put(programs, &key, text("c"), &device, text("k"),
						  kernel), CACHECORE_OK);
	CU_ASSERT(is_fast(programs, text("c"), &device, text("k")));
	CU_ASSERT(!is_fast(programs, text(""), &device, text("k")));
	CU_ASSERT(!is_fast(programs, text("d"), &device, text("k")));
	CU_ASSERT(!is_fast(programs, text("c"), &other, text("k")));
	CU_ASSERT(!is_fast(programs, text("c"), &device, text("l")));
	CU_ASSERT(!is_fast(programs, text("ck"), &device, text("")));
	CU_ASSERT(!is_fast(programs, text(""), &device, forged));
	CU_ASSERT_EQUAL(cachecore_fast_kernel_put(programs, &key, text(""), NULL, text("k"), kernel), CACHECORE_OK);
	CU_ASSERT(is_fast(programs, text(""), NULL, text("k")));
	CU_ASSERT_EQUAL(usage_of(programs).fast_kernels, 2);
	cachecore_kernels_remove(programs, &key, text("k"), NULL);
	CU_ASSERT_EQUAL(usage_of(programs).fast_kernels, 0);
	CU_ASSERT(!is_fast(programs, text("c"), &device, text("k")));
}

TEST(fast_kernels_may_have_long_constants)
{
	struct cachecore_program_key key = key_of("image", "");
	struct handle *kernel = handle_new();
	char constants[3000] = "many";
	const struct cachecore_bytes bytes = { constants, sizeof(constants) };

	put(programs, &key);
	CU_ASSERT_EQUAL(cachecore_kernels_put(programs, &key, text("k"), kernel), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_fast_kernel_put(programs, &key, bytes, NULL, text("k"), kernel), CACHECORE_OK);
	CU_ASSERT(is_fast(programs, bytes, NULL, text("k")));
	constants[2999] = 1;
	CU_ASSERT(!is_fast(programs, bytes, NULL, text("k")));
}

static void in_child(struct cachecore_programs *map)
{
	struct cachecore_program_key key = key_of("image", "");
	struct script script = { .size = 1 };

	cachecore_programs_fork_child(map);
	_exit(has(map, &key) && obtain(map, &key, &script) == CACHECORE_WAY_FOUND ? 0 : 1);
}

TEST(maps_serve_a_forked_child)
{
	struct cachecore_program_key key = key_of("image", "");
	pid_t pid;

	put(programs, &key);
	cachecore_programs_fork_prepare(programs);
	pid = fork();
	if (pid == 0)
		in_child(programs);
	cachecore_programs_fork_parent(programs);
	CU_ASSERT(unit_ended_well(pid));
	CU_ASSERT(has(programs, &key));
}

/* What threads share; they count what CUnit, which is not for threads, asserts afterwards. */
struct crowd {
	struct cachecore_programs *programs;
	struct script script;
	pthread_barrier_t start;
	atomic_int got;
	atomic_int found;
};

static void crowd_run(struct crowd *crowd, void *(*work)(void *))
{
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&crowd->start, NULL, THREADS), 0);
	unit_run_threads(THREADS, work, crowd, 0);
	(void)pthread_barrier_destroy(&crowd->start);	/* nobody waits at it */
}

/* Everything at once, while others flush and remove. */
static void *do_everything(void *arg)
{
	struct crowd *crowd = arg;
	char image[2] = "a";

	(void)pthread_barrier_wait(&crowd->start);
	for (int i = 0; i < ROUNDS; i++) {
		struct cachecore_program_key key = key_of(image, "");
		struct cachecore_taken taken;
		void *value;

		image[0] = (char)('a' + i % 5);
		if (cachecore_programs_get_or_build(crowd->programs, &key, build, &crowd->script,
						    false, &taken) == CACHECORE_OK) {
			handle_release(taken.value);
			atomic_fetch_add(&crowd->got, 1);
		}
		if (cachecore_kernels_get_or_build(crowd->programs, &key, text("k"), build,
						   &crowd->script, &taken) == CACHECORE_OK) {
			/* Its program may be gone by now. */
			(void)cachecore_fast_kernel_put(crowd->programs, &key, text("c"), crowd,
							text("k"), taken.value);
			handle_release(taken.value);
		}
		if (cachecore_fast_kernel_get(crowd->programs, text("c"), crowd, text("k"), &value) == CACHECORE_OK) {
			handle_release(value);
			atomic_fetch_add(&crowd->found, 1);
		}
		if (i % 50 == 49)
			cachecore_programs_flush(crowd->programs);
		else if (i % 7 == 6)
			cachecore_kernels_remove(crowd->programs, &key, text("k"), NULL);
		else if (i % 11 == 10)
			cachecore_programs_remove(crowd->programs, &key, NULL);
	}
	return NULL;
}

TEST(threads_may_do_everything_at_once)
{
	struct crowd crowd = { .programs = programs_new(3), .script = { .size = 1 } };

	crowd_run(&crowd, do_everything);
	CU_ASSERT_EQUAL(atomic_load(&crowd.got), THREADS * ROUNDS);
	CU_ASSERT(atomic_load(&crowd.found) > 0);
	programs_end(crowd.programs);
}

static struct cachecore_build_result *result_new(void)
{
	struct cachecore_build_result *result = NULL;

	CU_ASSERT_EQUAL_FATAL(cachecore_build_result_new(&counted, &result), CACHECORE_OK);
	return result;
}

TEST(cc_build_result_goes_through_its_states)
{
	struct cachecore_build_result *result = result_new();
	struct script script = { .failure = CACHECORE_ERR_IO, .failures = 1 };
	struct cachecore_taken taken;
	void *value = NULL;

	CU_ASSERT_EQUAL(cachecore_build_result_state(result), CACHECORE_BUILD_UNCLAIMED);
	CU_ASSERT_EQUAL(cachecore_build_result_take(result, &value), CACHECORE_MISS);
	/* A failure without an error is not kept. */
	CU_ASSERT_EQUAL(cachecore_build_result_obtain(result, build, &script, NULL, &taken), CACHECORE_ERR_IO);
	CU_ASSERT_EQUAL(taken.error_code, -11);
	CU_ASSERT_PTR_NULL(taken.error_message);
	CU_ASSERT_EQUAL(cachecore_build_result_state(result), CACHECORE_BUILD_UNCLAIMED);
	CU_ASSERT_EQUAL(cachecore_build_result_obtain(result, build, &script, NULL, &taken), CACHECORE_OK);
	CU_ASSERT_EQUAL(taken.way, CACHECORE_WAY_BUILT);
	CU_ASSERT_EQUAL(cachecore_build_result_state(result), CACHECORE_BUILD_SUCCEEDED);
	CU_ASSERT_EQUAL(cachecore_build_result_take(result, &value), CACHECORE_OK);
	CU_ASSERT_PTR_EQUAL(value, taken.value);
	handle_release(value);
	CU_ASSERT_EQUAL(cachecore_build_result_ref(result), result);
	cachecore_build_result_unref(result);
	CU_ASSERT_EQUAL(atomic_load(&((struct handle *)taken.value)->refs), 2);
	cachecore_build_result_unref(result);
	/* What was taken outlives it. */
	CU_ASSERT_EQUAL(atomic_load(&((struct handle *)taken.value)->refs), 1);
	handle_release(taken.value);
	cachecore_build_result_unref(NULL);
	CU_ASSERT_EQUAL(atomic_load(&handles_alive), 0);
}

TEST(cc_build_result_keeps_an_error)
{
	struct cachecore_build_result *result = result_new();
	struct script script = { .failure = CACHECORE_ERR_BUILD, .failures = 1, .message = "bad" };
	struct cachecore_taken taken;
	void *value;

	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(cachecore_build_result_obtain(result, build, &script, NULL,
							      &taken), CACHECORE_ERR_BUILD);
		CU_ASSERT_STRING_EQUAL(taken.error_message, "bad");
		CU_ASSERT_EQUAL(taken.way, i ? CACHECORE_WAY_FOUND : CACHECORE_WAY_BUILT);
		free(taken.error_message);
	}
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 1);
	CU_ASSERT_EQUAL(cachecore_build_result_state(result), CACHECORE_BUILD_FAILED);
	CU_ASSERT_EQUAL(cachecore_build_result_take(result, &value), CACHECORE_MISS);
	cachecore_build_result_unref(result);
}

TEST(cc_build_result_makes_room_in_the_maps)
{
	struct cachecore_build_result *result = result_new(), *alone = result_new();
	struct cachecore_program_key key = key_of("image", "");
	struct script script = { .failure = CACHECORE_ERR_NOMEM, .failures = 1 };
	struct cachecore_taken taken;

	put(programs, &key);
	CU_ASSERT_EQUAL(cachecore_build_result_obtain(result, build, &script, programs, &taken), CACHECORE_OK);
	handle_release(taken.value);
	CU_ASSERT(!has(programs, &key));
	atomic_store(&script.calls, 0);
	CU_ASSERT_EQUAL(cachecore_build_result_obtain(alone, build, &script, NULL, &taken), CACHECORE_OK);
	handle_release(taken.value);
	CU_ASSERT_EQUAL(atomic_load(&script.calls), 2);
	cachecore_build_result_unref(result);
	cachecore_build_result_unref(alone);
}

TEST(cc_build_result_refuses_bad_arguments)
{
	struct cachecore_build_result *result = NULL;
	struct cachecore_taken taken;

	CU_ASSERT_EQUAL(cachecore_build_result_new(NULL, NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL_FATAL(cachecore_build_result_new(NULL, &result), CACHECORE_OK);
	CU_ASSERT_EQUAL(cachecore_build_result_obtain(result, NULL, NULL, NULL, &taken), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_build_result_obtain(result, build, NULL, NULL, NULL), CACHECORE_ERR_INVALID);
	CU_ASSERT_EQUAL(cachecore_build_result_take(result, NULL), CACHECORE_ERR_INVALID);
	cachecore_build_result_unref(result);
}

static unsigned int programs_released, kernels_released;

static void release_program(void *value)
{
	(void)value;
	programs_released++;
}

static void release_kernel(void *value)
{
	(void)value;
	kernels_released++;
}

TEST(without_memory_what_is_put_is_released)
{
	const struct cachecore_programs_options options = {
		.struct_size = sizeof(options),
		.program_ops = { .release = release_program }, .kernel_ops = { .release = release_kernel },
	};
	struct cachecore_program_key key = key_of("image", "");
	struct cachecore_programs *map = NULL;
	int value;

	CU_ASSERT_EQUAL_FATAL(cachecore_programs_new(&options, &map), CACHECORE_OK);
	no_memory = true;
	CU_ASSERT_EQUAL(cachecore_programs_put(map, &key, &value, 1), CACHECORE_ERR_NOMEM);
	CU_ASSERT(programs_released == 1 && kernels_released == 0);
	CU_ASSERT_EQUAL(cachecore_kernels_put(map, &key, text("name"), &value), CACHECORE_ERR_NOMEM);
	CU_ASSERT(programs_released == 1 && kernels_released == 1);
	no_memory = false;
	cachecore_programs_free(map);
}

/* Who removes something must not be given it again. */
TEST(without_memory_for_a_key_all_is_removed)
{
	for (int kernels = 0; kernels < 2; kernels++) {
		struct cachecore_programs *map = programs_new(0);
		struct cachecore_program_key key = key_of("image", "");

		put(map, &key);
		CU_ASSERT_TRUE(has(map, &key));
		no_memory = true;
		if (kernels)
			cachecore_kernels_remove(map, &key, text("name"), NULL);
		else
			cachecore_programs_remove(map, &key, NULL);
		no_memory = false;
		CU_ASSERT_FALSE(has(map, &key));
		programs_end(map);
	}
}
