/* SPDX-License-Identifier: MIT */
/*
 * client_library: a program that uses ckcache.h, and prints a line for each of these words:
 *   open=PATH         dlopen, no more
 *   byte=N            the input with its last word's byte N changed
 *   add               one more program, of what was set; without it there is one
 *   text=TEXT         the input is this instead
 *   desc, free        a description of the programs (instead of the one that is there); frees it
 *   id                prints it
 *   modules           the application's own zeModuleCreate of each program
 *   blob=FILE         the blob of the modules
 *   short=FILE        asks for the blob with too little room first
 *   swap              exchanges the last two modules
 *   sized             asks for the blob's size only
 *   lacking           asks for the blob without the last module
 *   create=FILE       modules from the blob
 *   flips=FILE, cuts=FILE   the same with each bit changed, with each shorter length
 *   build             from the machine's cache
 *   built=DIR         from a storage in that directory (made)
 *   children          a child builds, a child of it, and one more
 *   evict, evicted=DIR
 *   threads=N         N threads build at once
 *   settings, persistent=N, capacity=N, dir=PATH    prints, sets
 *   describe=NAME     a library's description of the device; describe=NAME:VERSION
 *   store=TEXT, load  its data in the machine's cache
 *   wrap=FILE, unwrap=FILE   its data "data" as a blob
 *   extension         what zeDriverGetExtensionFunctionAddress gives
 *   invalid           calls with arguments that are none
 */
#include "tests/level_zero/client_library.h"

struct client_library library;

WORD(open)
{
	if (!dlopen(value, RTLD_NOW | RTLD_LOCAL))
		client_give_up(dlerror(), 0);
}

WORD(byte)
{
	struct client_input *input = &client.input;
	uint8_t *copy = malloc(input->size);

	if (!copy)
		client_give_up("memory", 0);
	memcpy(copy, input->il, input->size);
	copy[input->size - 4 + strtoul(value, NULL, 10)] ^= 1;
	input->il = copy;		/* kept until the end */
}

WORD(add)
{
	if (library.count == CLIENT_MAX_PROGRAMS)
		client_give_up("add", 0);
	library.inputs[library.count++] = client.input;
}

WORD(text)
{
	client.input.il = (const uint8_t *)value;
	client.input.size = strlen(value);
}

/* What a description is made of. */
static struct {
	struct ckcache_program programs[CLIENT_MAX_PROGRAMS];
	struct ckcache_constant constants[CLIENT_MAX_PROGRAMS][CLIENT_MAX_CONSTANTS];
	uint64_t values[CLIENT_MAX_PROGRAMS][CLIENT_MAX_CONSTANTS];
} given;

struct ckcache_program *client_programs(size_t *ret_count)
{
	if (!library.count)
		library.inputs[0] = client.input;
	*ret_count = library.count ? library.count : 1;
	for (size_t i = 0; i < *ret_count; i++) {
		const struct client_input *input = &library.inputs[i];

		memcpy(given.values[i], input->values, sizeof(given.values[i]));
		for (size_t k = 0; k < input->constant_count; k++)
			given.constants[i][k] = (struct ckcache_constant){
				input->ids[k], input->sizes[k], &given.values[i][k] };
		given.programs[i] = (struct ckcache_program){
			.struct_size = sizeof(given.programs[i]),
			.language = CKCACHE_LANGUAGE_SPIRV,
			.source = input->il,
			.source_size = input->size,
			.options = input->flags,
			.constant_count = input->constant_count,
			.constants = given.constants[i],
		};
	}
	return given.programs;
}

WORD(desc)
{
	size_t count;
	struct ckcache_program *programs = client_programs(&count);
	enum ckcache_status status;

	ckcache_desc_free(library.desc);
	library.desc = NULL;
	status = ckcache_level_zero_desc_new(client.driver, client.context, client.device, count,
					     programs, &library.desc);
	/* All was copied. */
	memset(&given, 0xa5, sizeof(given));
	printf("desc %d\n", status);
}

WORD(id)
{
	uint8_t id[256];
	size_t size = 0;
	enum ckcache_status status = ckcache_desc_get_id(library.desc, &size, NULL);

	printf("id %d %zu ", status, size);
	if (ckcache_desc_get_id(library.desc, &size, id) != CKCACHE_OK)
		client_give_up("id", 0);
	for (size_t i = 0; i < size; i++)
		printf("%02x", id[i]);
	printf("\n");
}

static void forget_modules(void)
{
	for (size_t i = 0; i < library.module_count; i++) {
		if (CALL(zeModuleDestroy)(library.modules[i]))
			client_give_up("destroy", 0);
	}
	library.module_count = 0;
}

static void take_modules(size_t count, const ze_module_handle_t *modules)
{
	forget_modules();
	memcpy(library.modules, modules, count * sizeof(*modules));
	library.module_count = count;
	for (size_t i = 0; i < count; i++)
		client_print_kernels(modules[i]);
}

static ze_result_t create_module(const struct client_input *input, ze_module_handle_t *ret)
{
	const void *values[CLIENT_MAX_CONSTANTS];
	const ze_module_constants_t constants = client_constants(input, values);
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = input->size,
		.pInputModule = input->il,
		.pBuildFlags = input->flags,
		.pConstants = input->constant_count ? &constants : NULL,
	};

	return CALL(zeModuleCreate)(client.context, client.device, &desc, ret, NULL);
}

WORD(modules)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS];
	size_t count;

	(void)client_programs(&count);	/* as a description has them */
	printf("modules");
	for (size_t i = 0; i < count; i++) {
		ze_result_t result = create_module(&library.inputs[i], &modules[i]);

		if (result)
			client_give_up("", (int)result);
	}
	take_modules(count, modules);
	printf("\n");
}

static void get_blob(const char *path, size_t room)
{
	size_t size = room, again;
	uint8_t little[16] = { 0 }, *blob;
	enum ckcache_status status = ckcache_level_zero_get_blob(library.desc, library.modules, &size,
								 room ? little : NULL);

	printf("blob %d %s\n", status, size ? "bytes" : "empty");
	if (status && status != CKCACHE_ERROR_BUFFER_TOO_SMALL)
		return;
	if (little[0])
		client_give_up("written", 0);
	blob = malloc(size + 64);
	again = size + 64;
	if (!blob || ckcache_level_zero_get_blob(library.desc, library.modules, &again, blob) || again != size)
		client_give_up("blob", 0);
	client_write(path, blob, size);
	free(blob);
}

WORD(swap)
{
	ze_module_handle_t *last = &library.modules[library.module_count - 1], module = *last;

	*last = last[-1];
	last[-1] = module;
}

WORD(sized)
{
	size_t size = 0;
	enum ckcache_status status = ckcache_level_zero_get_blob(library.desc, library.modules, &size, NULL);

	printf("size %d\n", status);
}

WORD(lacking)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS];
	size_t size = 0;

	memcpy(modules, library.modules, sizeof(modules));
	modules[library.module_count - 1] = NULL;
	printf("blob %d\n", ckcache_level_zero_get_blob(library.desc, modules, &size, NULL));
}

WORD(create)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS] = { NULL };
	size_t size, count = library.count ? library.count : 1;
	const uint8_t *blob = client_read(value, &size);
	enum ckcache_status status = ckcache_level_zero_create_from_blob(library.desc, size, blob, modules);

	printf("create %d", status);
	if (status && modules[0])
		client_give_up("module", 0);
	if (!status)
		take_modules(count, modules);
	printf("\n");
}

/* Each bit, or each length: how many were refused, and as what first and last. */
static void try_damaged(const char *path, int cut)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS] = { NULL };
	size_t size, refused = 0, tries;
	uint8_t *blob = client_read(path, &size);

	tries = cut ? size - 1 : size * 8;
	for (size_t i = 0; i < tries; i++) {
		enum ckcache_status status;

		if (!cut)
			blob[i / 8] ^= (uint8_t)(1 << i % 8);
		status = ckcache_level_zero_create_from_blob(library.desc, cut ? i + 1 : size, blob, modules);
		refused += status == CKCACHE_ERROR_DAMAGED || status == CKCACHE_ERROR_VERSION;
		if (!cut)
			blob[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	printf("refused %s\n", refused == tries && tries > 100 && !modules[0] ? "all" : "not all");
}

static void build(char *directory)
{
	struct ckcache_storage *storage = directory ? client_storage(directory) : NULL;
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS] = { NULL };
	enum ckcache_origin origin = (enum ckcache_origin)9;
	enum ckcache_status status = ckcache_level_zero_build(library.desc, storage, modules, &origin);

	printf("build %d from %d", status, (int)origin);
	if (storage)
		client_storage_print();
	if (!status)
		take_modules(library.count ? library.count : 1, modules);
	else if (modules[0])
		client_give_up("module", 0);
	printf("\n");
}

/* In a child, and in a child of that; the exit code of either is 0 where all went well. */
static int build_in_child(int generations)
{
	int status = 1;
	pid_t child;

	(void)fflush(stdout);	/* else the child writes it again */
	child = fork();
	if (child == 0) {
		(void)alarm(60);	/* one that waits for ever ends */
		build(NULL);
		exit(generations > 1 ? build_in_child(generations - 1) : 0);
	}
	return child < 0 || waitpid(child, &status, 0) != child ? 1 : status;
}

WORD(children)
{
	if (build_in_child(2) || build_in_child(1))
		client_give_up("children", 0);
	printf("children\n");
}

static void evict(char *directory)
{
	struct ckcache_storage *storage = directory ? client_storage(directory) : NULL;

	printf("evict %d", ckcache_desc_evict(library.desc, storage));
	if (storage)
		client_storage_print();
	printf("\n");
}

static void build_at_once(void)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS] = { NULL };
	enum ckcache_origin origin;
	uint8_t id[88];
	size_t size = sizeof(id), blob_size = 0;

	if (ckcache_level_zero_build(library.desc, NULL, modules, &origin) ||
	    ckcache_desc_get_id(library.desc, &size, id) ||
	    ckcache_level_zero_get_blob(library.desc, modules, &blob_size, NULL) || !blob_size)
		client_give_up("build in a thread", 0);
	for (size_t i = 0; i < CLIENT_MAX_PROGRAMS; i++) {
		if (modules[i] && CALL(zeModuleDestroy)(modules[i]))
			client_give_up("destroy", 0);
	}
}

WORD(threads)
{
	client_in_threads(value, build_at_once);
	printf("threads\n");
}

WORD(settings)
{
	char dir[4096] = "";
	size_t size = sizeof(dir);
	uint64_t capacity = 0;
	int enabled = -1;

	if (ckcache_get_persistent(CKCACHE_API_LEVEL_ZERO, &enabled) ||
	    ckcache_get_capacity(&capacity) || ckcache_get_dir(&size, dir))
		client_give_up("settings", 0);
	printf("settings %d %llu %s\n", enabled, (unsigned long long)capacity, dir);
}

WORD(describe)
{
	struct ckcache_library described = { sizeof(described), value, NULL, "hash", 4, NULL };
	char *colon = strchr(value, ':');

	if (colon) {
		*colon = '\0';
		described.version = colon + 1;
	}
	ckcache_desc_free(library.desc);
	library.desc = NULL;
	printf("device %d\n", ckcache_level_zero_device_desc_new(client.driver, client.device,
								 &described, &library.desc));
}

WORD(load)
{
	char data[256] = "";
	size_t size = sizeof(data) - 1;
	enum ckcache_status status = ckcache_device_load(library.desc, NULL, &size, data);

	printf("load %d %s\n", status, status ? "" : data);
}

WORD(wrap)
{
	uint8_t blob[1024];
	size_t size = sizeof(blob);

	if (ckcache_device_get_blob(library.desc, 4, "data", &size, blob))
		client_give_up("wrap", 0);
	client_write(value, blob, size);
	printf("wrap\n");
}

WORD(unwrap)
{
	char data[256] = "";
	size_t blob_size, size = sizeof(data) - 1;
	const uint8_t *blob = client_read(value, &blob_size);
	enum ckcache_status status = ckcache_device_get_data(library.desc, blob_size, blob, &size, data);

	printf("unwrap %d %s\n", status, status ? "" : data);
}

WORD(extension)
{
	static const char *const names[] = { "ckcache_functions", "ckcache_level_zero_build",
					     "ckcache_opencl_build", "zeNoSuchFunction" };

	printf("extension");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *function = NULL;
		ze_result_t result = CALL(zeDriverGetExtensionFunctionAddress)(client.driver, names[i], &function);

		if (!result && function && i == 0 &&
		    !((const struct ckcache_functions *(*)(void))function)()->level_zero_build)
			function = NULL;
		printf(" %s", !result && function ? "yes" : "no");
	}
	printf("\n");
}

WORD(free)
{
	ckcache_desc_free(library.desc);
	library.desc = NULL;
}

WORD(blob) { get_blob(value, 0); }
WORD(short) { get_blob(value, 16); }
WORD(flips) { try_damaged(value, 0); }
WORD(cuts) { try_damaged(value, 1); }
WORD(build) { build(NULL); }
WORD(built) { build(value); }
WORD(evict) { evict(NULL); }
WORD(evicted) { evict(value); }
WORD(invalid) { client_misuse(); }

WORD(persistent)
{
	printf("persistent %d\n", ckcache_set_persistent(CKCACHE_API_LEVEL_ZERO, atoi(value)));
}

WORD(capacity)
{
	printf("capacity %d\n", ckcache_set_capacity(strtoull(value, NULL, 10)));
}

WORD(dir)
{
	printf("dir %d\n", ckcache_set_dir(*value ? value : NULL));
}

WORD(store)
{
	printf("store %d\n", ckcache_device_store(library.desc, NULL, strlen(value), value));
}

static void end(void)
{
	forget_modules();
	ckcache_desc_free(library.desc);
}

__attribute__((constructor)) static void set_end(void)
{
	client_at_end = end;
}
