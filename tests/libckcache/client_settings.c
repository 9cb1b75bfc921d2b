/* SPDX-License-Identifier: MIT */
/* client_settings: what a program sets while it runs, and what it may not. */
#include <dirent.h>

#include "tests/libckcache/client.h"

/* Whether the directory is the one in use; NULL: none is. */
static bool dir_is(const char *wanted)
{
	char dir[4096] = "";
	size_t size = sizeof(dir);

	if (api->get_dir(&size, dir) != CKCACHE_OK)
		return false;
	return wanted ? size == strlen(wanted) + 1 && !strcmp(dir, wanted) : size == 0;
}

/* Relative to the working directory, as an absolute path. */
static const char *below_here(const char *name, char *room, size_t size)
{
	char here[3000];

	if (!getcwd(here, sizeof(here)) || (size_t)snprintf(room, size, "%s/%s", here, name) >= size)
		client_fail("getcwd", CL_INVALID_VALUE);
	return room;
}

/* wanted: CKCACHE_ORIGIN_STORAGE is any. */
static void build(struct client *client, const char *options, enum ckcache_origin wanted)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, options);
	enum ckcache_origin origin = api_build(client, desc, NULL, NULL, NULL, 0);

	if (!CHECK(origin == wanted || wanted == CKCACHE_ORIGIN_STORAGE))
		(void)fprintf(stderr, "%s: origin %d, wanted %d\n", options, (int)origin, (int)wanted);
}

/* Number of entries in a directory; -1: there is none. */
static int entries_in(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	(void)closedir(dir);	/* only read */
	return count;
}

/* Each setting, set and asked for. Argument: the directory as configured. */
SCENARIO(settings)
{
	char room[4096];
	uint64_t bytes = 1;
	size_t size;
	int on = 7;

	WANT(CKCACHE_OK, api->get_persistent(CKCACHE_API_OPENCL, &on));
	CHECK(on == 1);
	WANT(CKCACHE_OK, api->set_persistent(CKCACHE_API_OPENCL, 0));
	WANT(CKCACHE_OK, api->get_persistent(CKCACHE_API_OPENCL, &on));
	CHECK(on == 0 && dir_is(NULL));
	WANT(CKCACHE_OK, api->set_persistent(CKCACHE_API_OPENCL, 1));
	WANT(CKCACHE_OK, api->set_persistent(CKCACHE_API_OPENCL, 1));
	WANT(CKCACHE_OK, api->get_persistent(CKCACHE_API_OPENCL, &on));
	CHECK(on == 1 && dir_is(client->arguments[0]));
	WANT(CKCACHE_OK, api->get_capacity(&bytes));
	CHECK(bytes == UINT64_C(8) << 30);
	WANT(CKCACHE_OK, api->set_capacity(UINT64_C(123456789012)));
	WANT(CKCACHE_OK, api->get_capacity(&bytes));
	CHECK(bytes == UINT64_C(123456789012));
	WANT(CKCACHE_OK, api->set_capacity(0));
	WANT(CKCACHE_OK, api->get_capacity(&bytes));
	CHECK(bytes == 0);
	WANT(CKCACHE_OK, api->set_dir("other"));
	CHECK(dir_is(below_here("other", room, sizeof(room))));
	/* It is made when something is stored. */
	CHECK(access("other", F_OK) != 0);
	WANT(CKCACHE_OK, api->set_dir(room));
	CHECK(dir_is(room));
	WANT(CKCACHE_OK, api->set_dir(NULL));
	CHECK(dir_is(client->arguments[0]));
	size = 3;
	WANT(CKCACHE_ERROR_BUFFER_TOO_SMALL, api->get_dir(&size, room));
	CHECK(size == strlen(client->arguments[0]) + 1 && room[0] == '/' && strstr(room, "other"));
	INVALID(api->set_dir(""));
	memset(room, 'a', sizeof(room) - 1);
	room[0] = '/';
	room[sizeof(room) - 1] = '\0';
	(void)api->set_dir(room);	/* a name that long, or a path that long: refused, or never found */
	WANT(CKCACHE_OK, api->set_dir(NULL));
	CHECK(dir_is(client->arguments[0]));
	WANT(CKCACHE_OK, api->flush());
	CHECK(api->version() >= CKCACHE_VERSION);
	for (int status = -20; status < 5; status++)
		CHECK(api->status_string((enum ckcache_status)status) != NULL);
}

/* What is stored after the directory changed lies in the new one, and the other way round. */
SCENARIO(moved)
{
	struct stat info = { .st_mode = 0 };

	build(client, "-DVALUE=1", CKCACHE_ORIGIN_BUILT);
	WANT(CKCACHE_OK, api->set_dir("other"));
	CHECK(entries_in(client->arguments[0]) > 0);
	CHECK(entries_in("other") == -1);
	build(client, "-DVALUE=2", CKCACHE_ORIGIN_BUILT);
	/* An unchanged application's build goes there too, where a layer is. */
	CHECK(clReleaseProgram(api_built(client, api_text, "-DVALUE=3")) == CL_SUCCESS);
	WANT(CKCACHE_OK, api->flush());
	CHECK(entries_in("other") > 0);
	CHECK(stat("other", &info) == 0 && (info.st_mode & 0777) == 0700);
	/* The level in memory stays. */
	build(client, "-DVALUE=1", CKCACHE_ORIGIN_MEMORY);
	WANT(CKCACHE_OK, api->set_dir(NULL));
	build(client, "-DVALUE=4", CKCACHE_ORIGIN_BUILT);
}

/* Before OpenCL is asked for anything. Argument: the directory. */
SCENARIO_WITHOUT_SESSION(early)
{
	cl_program program;
	int on = 7;

	api = api_functions(NULL);
	if (!api)
		client_fail("no functions", CL_INVALID_OPERATION);
	WANT(CKCACHE_OK, api->set_capacity(1 << 30));
	WANT(CKCACHE_OK, api->set_dir(client->arguments[0]));
	WANT(CKCACHE_OK, api->get_persistent(CKCACHE_API_OPENCL, &on));
	CHECK(on == 1 && dir_is(client->arguments[0]));
	if (clGetPlatformIDs(1, &client->platform, NULL) ||
	    clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_ALL, 1, client->devices, NULL))
		client_fail("clGetDeviceIDs", CL_INVALID_VALUE);
	client->context = clCreateContext(NULL, 1, client->devices, NULL, NULL, NULL);
	if (!client->context)
		client_fail("clCreateContext", CL_INVALID_VALUE);
	program = api_built(client, api_text, "-DVALUE=3");
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
	build(client, "-DVALUE=2", CKCACHE_ORIGIN_BUILT);
	WANT(CKCACHE_OK, api->flush());
	CHECK(dir_is(client->arguments[0]));
	(void)clReleaseContext(client->context);	/* it was made here */
}

/* Off writes nothing and finds nothing on disk; on again does. */
SCENARIO(persistent)
{
	WANT(CKCACHE_OK, api->set_persistent(CKCACHE_API_OPENCL, 0));
	build(client, "-DVALUE=1", CKCACHE_ORIGIN_BUILT);
	CHECK(clReleaseProgram(api_built(client, api_text, "-DVALUE=2")) == CL_SUCCESS);
	build(client, "-DVALUE=1", CKCACHE_ORIGIN_MEMORY);
	WANT(CKCACHE_OK, api->flush());
	CHECK(entries_in(client->arguments[0]) <= 0);
	WANT(CKCACHE_OK, api->set_dir("other"));
	CHECK(dir_is(NULL));
	build(client, "-DVALUE=3", CKCACHE_ORIGIN_BUILT);
	WANT(CKCACHE_OK, api->flush());
	CHECK(entries_in("other") == -1);
	WANT(CKCACHE_OK, api->set_persistent(CKCACHE_API_OPENCL, 1));
	build(client, "-DVALUE=4", CKCACHE_ORIGIN_BUILT);
	WANT(CKCACHE_OK, api->flush());
	CHECK(entries_in("other") > 0);
	CHECK(entries_in(client->arguments[0]) <= 0);
}

/* What is there to be read cannot be evicted or replaced. */
static void expect_no_change(struct client *client, bool read_only)
{
	const struct ckcache_library library = {
		.struct_size = sizeof(library), .name = "library", .hash = "0", .hash_size = 1,
	};
	struct ckcache_desc *desc = api_desc(client, api_text, "-DVALUE=1"), *device = NULL;

	WANT(CKCACHE_OK, api->opencl_device_desc_new(client->devices[0], &library, &device));
	WANT(read_only ? CKCACHE_ERROR_DENIED : CKCACHE_OK, api->desc_evict(desc, NULL));
	if (read_only)
		WANT(CKCACHE_ERROR_DENIED, api->device_store(device, NULL, 5, "data"));
	api->desc_free(device);
	api->desc_free(desc);
}

/* What the user has forbidden. Argument: "disable", "persistent" or "read-only". */
SCENARIO(denied)
{
	bool disable = !strcmp(client->arguments[0], "disable");
	bool read_only = !strcmp(client->arguments[0], "read-only");
	uint64_t bytes = 77;
	int on = 7;

	WANT(CKCACHE_OK, api->get_persistent(CKCACHE_API_OPENCL, &on));
	CHECK(on == (read_only ? 1 : 0));
	if (!read_only) {
		WANT(CKCACHE_ERROR_DENIED, api->set_persistent(CKCACHE_API_OPENCL, 1));
		WANT(CKCACHE_OK, api->set_persistent(CKCACHE_API_OPENCL, 0));
		WANT(CKCACHE_ERROR_DENIED, api->set_dir("other"));
		CHECK(dir_is(NULL));
	} else {
		(void)api->set_dir("other");	/* to be read from */
		(void)api->set_persistent(CKCACHE_API_OPENCL, 1);	/* likewise */
	}
	if (disable) {
		WANT(CKCACHE_ERROR_DENIED, api->set_capacity(5));
		WANT(CKCACHE_ERROR_DENIED, api->get_capacity(&bytes));
		CHECK(bytes == 77);
	}
	build(client, "-DVALUE=1", CKCACHE_ORIGIN_BUILT);
	build(client, "-DVALUE=1", disable ? CKCACHE_ORIGIN_BUILT : CKCACHE_ORIGIN_MEMORY);
	expect_no_change(client, read_only);
	WANT(CKCACHE_OK, api->flush());
	CHECK(entries_in("other") == -1);
}

/* Arguments: a directory, the status that is due, the directory in use afterwards. */
SCENARIO(set_dir)
{
	WANT((enum ckcache_status)atoi(client->arguments[1]), api->set_dir(client->arguments[0]));
	CHECK(dir_is(client->arguments[2]));
	build(client, "-DVALUE=1", CKCACHE_ORIGIN_STORAGE);
}

/* Stores programs under a bound. Arguments: the bound, the first one's and the last one's number. */
SCENARIO(capacity)
{
	WANT(CKCACHE_OK, api->set_capacity(strtoull(client->arguments[0], NULL, 10)));
	for (int i = atoi(client->arguments[1]); i <= atoi(client->arguments[2]); i++) {
		struct ckcache_desc *desc;
		cl_program program;
		char options[32];

		(void)snprintf(options, sizeof(options), "-DVALUE=%d", i);
		desc = api_desc(client, api_text, options);
		WANT(CKCACHE_OK, api->opencl_build(desc, NULL, &program, NULL));
		CHECK(clReleaseProgram(program) == CL_SUCCESS);
		api->desc_free(desc);
	}
	WANT(CKCACHE_OK, api->flush());
}

SCENARIO(evict_denied)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);

	WANT(CKCACHE_ERROR_DENIED, api->desc_evict(desc, NULL));
}
