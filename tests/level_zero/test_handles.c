/* SPDX-License-Identifier: MIT */
/*
 * handles: build logs, contexts and modules by their handles, over functions that do what the
 * test says: handles that are used again, calls that are refused, room that is too small.
 */
#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#include "layers/level_zero/plugin/handles.h"
#include "layers/level_zero/plugin/driver_identity.h"
#include "layers/level_zero/plugin/getters.h"
#include "tests/support/unit.h"

static struct lz_next next;
static ze_result_t answer;		/* of calls that create or destroy */
static ze_context_handle_t created;
static char objects[8];

#define LOG ((ze_module_build_log_handle_t)&objects[0])
#define CONTEXT ((ze_context_handle_t)&objects[1])
#define OTHER_CONTEXT ((ze_context_handle_t)&objects[2])
#define DRIVER ((ze_driver_handle_t)&objects[3])
#define OTHER_DRIVER ((ze_driver_handle_t)&objects[4])

static ze_result_t ZE_APICALL get_string(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	(void)log;
	if (text)
		*text = '\0';
	*size = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL destroy_log(ze_module_build_log_handle_t log)
{
	(void)log;
	return answer;
}

static ze_result_t ZE_APICALL create_context(ze_driver_handle_t driver, const ze_context_desc_t *desc,
					     ze_context_handle_t *ret)
{
	(void)driver;
	(void)desc;
	*ret = created;
	return answer;
}

static ze_result_t ZE_APICALL destroy_context(ze_context_handle_t context)
{
	(void)context;
	return answer;
}

static void begin(void)
{
	next.log_get_string = get_string;
	next.log_destroy = destroy_log;
	next.context_create = create_context;
	next.context_destroy = destroy_context;
	answer = ZE_RESULT_SUCCESS;
}

static void replay(const char *text)
{
	struct cc_entry *entry = cc_entry_new(0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	if (text)
		cc_entry_add(entry, LZ_TAG_LOG, 0, text, strlen(text) + 1);
	CU_ASSERT_EQUAL(cc_entry_finish(entry, NULL), CMN_OK);
	lz_module_log_of(&next, LOG, entry);
	cc_entry_unref(entry);
}

static bool says(const char *text)
{
	char room[64];
	size_t size = 0, want = strlen(text) + 1;

	CU_ASSERT_EQUAL(lz_module_log_get(&next, LOG, &size, NULL), ZE_RESULT_SUCCESS);
	if (size != want)
		return false;
	CU_ASSERT_EQUAL(lz_module_log_get(&next, LOG, &size, room), ZE_RESULT_SUCCESS);
	return size == want && strcmp(room, text) == 0;
}

TEST(a_log_answers_until_it_is_destroyed)
{
	begin();
	replay("warning");
	CU_ASSERT(says("warning"));
	/* The driver does not let it go. */
	answer = ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
	CU_ASSERT_EQUAL(lz_module_log_destroy(&next, LOG), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
	CU_ASSERT(says("warning"));
	answer = ZE_RESULT_SUCCESS;
	CU_ASSERT_EQUAL(lz_module_log_destroy(&next, LOG), ZE_RESULT_SUCCESS);
	CU_ASSERT(says(""));
}

/* Its destruction passed the plugin by: another log has the handle now. */
TEST(a_handle_that_is_used_again_has_the_later_log)
{
	begin();
	replay("first");
	replay("second");
	CU_ASSERT(says("second"));
	replay(NULL);
	CU_ASSERT(says(""));
}

TEST(nothing_is_written_to_too_little_room)
{
	char room[] = "untouched";
	size_t size = 4;

	begin();
	replay("warning");
	CU_ASSERT_EQUAL(lz_module_log_get(&next, LOG, &size, room), ZE_RESULT_ERROR_INVALID_SIZE);
	CU_ASSERT_EQUAL(size, 4);
	CU_ASSERT_STRING_EQUAL(room, "untouched");
	size = 8;
	CU_ASSERT_EQUAL(lz_module_log_get(&next, LOG, &size, room), ZE_RESULT_SUCCESS);
	CU_ASSERT_STRING_EQUAL(room, "warning");
	CU_ASSERT_EQUAL(lz_module_log_destroy(&next, LOG), ZE_RESULT_SUCCESS);
}

static void create(ze_driver_handle_t driver, ze_context_handle_t handle)
{
	ze_context_handle_t context;

	created = handle;
	CU_ASSERT_EQUAL(lz_context_create(&next, driver, NULL, &context), answer);
	CU_ASSERT_PTR_EQUAL(context, handle);
}

/* As a module in the context has it, even if its device cannot be identified. */
static ze_driver_handle_t driver_of(ze_context_handle_t context)
{
	struct lz_target target = { .next = &next, .context = context };

	CU_ASSERT_EQUAL(lz_identity_of(&target), CMN_MISS);
	return target.driver;
}

TEST(each_context_has_its_driver)
{
	begin();
	CU_ASSERT_PTR_NULL(driver_of(CONTEXT));
	create(DRIVER, CONTEXT);
	/* Of a context that nobody saw, its driver's others tell. */
	CU_ASSERT_PTR_EQUAL(lz_context_next(OTHER_CONTEXT, DRIVER), &next);
	CU_ASSERT_PTR_NOT_EQUAL(lz_context_next(OTHER_CONTEXT, OTHER_DRIVER), &next);
	create(OTHER_DRIVER, OTHER_CONTEXT);
	CU_ASSERT_PTR_EQUAL(driver_of(CONTEXT), DRIVER);
	CU_ASSERT_PTR_EQUAL(driver_of(OTHER_CONTEXT), OTHER_DRIVER);
	/* Used again, after a destruction that passed the plugin by. */
	create(OTHER_DRIVER, CONTEXT);
	CU_ASSERT_PTR_EQUAL(driver_of(CONTEXT), OTHER_DRIVER);
	answer = ZE_RESULT_ERROR_UNKNOWN;
	CU_ASSERT_EQUAL(lz_context_destroy(&next, CONTEXT), ZE_RESULT_ERROR_UNKNOWN);
	CU_ASSERT_PTR_EQUAL(driver_of(CONTEXT), OTHER_DRIVER);
	answer = ZE_RESULT_SUCCESS;
	CU_ASSERT_EQUAL(lz_context_destroy(&next, CONTEXT), ZE_RESULT_SUCCESS);
	CU_ASSERT_PTR_NULL(driver_of(CONTEXT));
	CU_ASSERT_PTR_EQUAL(driver_of(OTHER_CONTEXT), OTHER_DRIVER);
	CU_ASSERT_EQUAL(lz_context_destroy(&next, OTHER_CONTEXT), ZE_RESULT_SUCCESS);
}

TEST(what_was_not_created_is_no_context)
{
	begin();
	answer = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	create(DRIVER, CONTEXT);
	CU_ASSERT_PTR_NULL(driver_of(CONTEXT));
}

/* A loader's table, of whatever length its version has, and what lies behind it. */
union table {
	ze_context_dditable_t context;
	ze_driver_dditable_t driver;
	void *entries[16];
};

static ze_result_t fill_context(ze_api_version_t version, union table *table)
{
	return ckcache_zeGetContextProcAddrTable(version, &table->context);
}

static ze_result_t fill_driver(ze_api_version_t version, union table *table)
{
	return ckcache_zeGetDriverProcAddrTable(version, &table->driver);
}

#define VERSION(major, minor) ((ze_api_version_t)ZE_MAKE_VERSION(major, minor))

TEST(only_what_a_tables_version_has_is_touched)
{
	static const struct {
		ze_result_t (*fill)(ze_api_version_t version, union table *table);
		ze_api_version_t version;
		unsigned int touched;	/* one bit for each entry */
	} rows[] = {
		{ fill_context, VERSION(1, 0), 1 << 0 | 1 << 1 },
		{ fill_context, VERSION(1, 1), 1 << 0 | 1 << 1 | 1 << 8 },
		{ fill_context, VERSION(2, 0), 0 },
		{ fill_driver, VERSION(1, 0), 0 },
		{ fill_driver, VERSION(1, 1), 1 << 5 },
		{ fill_driver, VERSION(1, 5), 1 << 5 },
		{ fill_driver, VERSION(1, 14), 1 << 5 },
		{ fill_driver, VERSION(2, 6), 0 },
		{ fill_driver, VERSION(0, 9), 0 },
	};
	void *lower = dlsym(RTLD_DEFAULT, "a64l");	/* of another object, as a loader's are */

	CU_ASSERT_PTR_NOT_NULL_FATAL(lower);
	CU_ASSERT_EQUAL(setenv("CKCACHE_DIR", unit_dir(), 1), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union table table;
		unsigned int touched = 0;

		for (size_t k = 0; k < 16; k++)
			table.entries[k] = lower;
		CU_ASSERT_EQUAL(rows[i].fill(rows[i].version, &table), ZE_RESULT_SUCCESS);
		for (unsigned int k = 0; k < 16; k++)
			touched |= (unsigned int)(table.entries[k] != lower) << k;
		CU_ASSERT_EQUAL(touched, rows[i].touched);
	}
}

/* What a loader's functions answer is its own. */
TEST(each_loader_is_called_for_its_own_handles)
{
	static const char *const paths[] = { FIRST_LOADER, SECOND_LOADER };
	ze_context_dditable_t contexts[2] = { { 0 } };
	ze_module_dditable_t modules[2] = { { 0 } };

	begin();
	for (size_t i = 0; i < 2; i++) {
		void *loader = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(loader);
		contexts[i].pfnDestroy = (ze_pfnContextDestroy_t)dlsym(loader, "destroy_context");
		modules[i].pfnCreate = (ze_pfnModuleCreate_t)dlsym(loader, "create_module");
		CU_ASSERT_EQUAL(ckcache_zeGetContextProcAddrTable(VERSION(1, 0), &contexts[i]),
				ZE_RESULT_SUCCESS);
		CU_ASSERT_EQUAL(ckcache_zeGetModuleProcAddrTable(VERSION(1, 0), &modules[i]),
				ZE_RESULT_SUCCESS);
	}
	for (size_t i = 0; i < 2; i++) {
		ze_result_t own = i ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_ERROR_UNKNOWN;

		CU_ASSERT_EQUAL(contexts[i].pfnDestroy(CONTEXT), own);
		CU_ASSERT_EQUAL(modules[i].pfnCreate(CONTEXT, NULL, NULL, NULL, NULL), own);
	}
}
