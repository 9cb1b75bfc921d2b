/* SPDX-License-Identifier: MIT */
/* library_client: arguments, and the calls that they are. */
#include "tests/level_zero/library_client.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/level_zero/kernels/kernels_il.h"

#define MAX_THREADS 64
#define MAX_DRIVERS 8

struct client client;

static const struct {
	const char *name;
	const void *data;
	size_t size;
} ils[] = {
#define IL(name) { #name, name##_il, sizeof(name##_il) }
	IL(plain), IL(one), IL(other), IL(imports), IL(twice), IL(thrice),
	IL(spilling), IL(fp64), IL(constants), IL(precise),
};

void client_give_up(const char *what, int status)
{
	printf("%s %d\n", what, status);
	exit(2);
}

uint8_t *client_read(const char *path, size_t *ret_size)
{
	static uint8_t room[16 << 20];
	FILE *file = fopen(path, "rb");

	if (!file)
		client_give_up(path, 0);
	*ret_size = fread(room, 1, sizeof(room), file);
	(void)fclose(file);	/* only read */
	return room;
}

void client_write(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		client_give_up(path, 0);
}

static void open_loader(char *path)
{
	client.loader = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!client.loader)
		client_give_up(dlerror(), 0);
}

static void find_driver(char *value)
{
	unsigned long place = strtoul(value, NULL, 10);
	ze_driver_handle_t drivers[MAX_DRIVERS];
	uint32_t count = MAX_DRIVERS, one = 1;

	if (!client.loader)
		open_loader((char[]){ "libze_loader.so.1" });
	if (CALL(zeInit)(0) || CALL(zeDriverGet)(&count, drivers) ||
	    place >= count)
		client_give_up("driver", 0);
	client.driver = drivers[place];
	if (CALL(zeDeviceGet)(client.driver, &one, &client.device))
		client_give_up("device", 0);
}

static void use_driver(char *value)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };

	find_driver(value);
	if (CALL(zeContextCreate)(client.driver, &desc, &client.context))
		client_give_up("context", 0);
}

static void use_sub_device(char *value)
{
	unsigned long place = strtoul(value, NULL, 10);
	ze_device_handle_t devices[MAX_DRIVERS];
	uint32_t count = 0;

	if (CALL(zeDeviceGetSubDevices)(client.device, &count, NULL) || place >= count ||
	    count > MAX_DRIVERS || CALL(zeDeviceGetSubDevices)(client.device, &count, devices))
		client_give_up("sub-device", 0);
	client.device = devices[place];
}

static void use_il(char *name)
{
	struct ckcache_program *program = &client.next.program;

	program->struct_size = sizeof(*program);
	program->language = CKCACHE_LANGUAGE_SPIRV;
	program->constants = client.next.constants;
	for (size_t i = 0; i < sizeof(ils) / sizeof(ils[0]); i++) {
		if (strcmp(ils[i].name, name) != 0)
			continue;
		program->source = ils[i].data;
		program->source_size = ils[i].size;
		return;
	}
	client_give_up(name, 0);
}

static void change_byte(char *value)
{
	struct ckcache_program *program = &client.next.program;
	uint8_t *copy = malloc(program->source_size);

	if (!copy)
		client_give_up("memory", 0);
	memcpy(copy, program->source, program->source_size);
	copy[program->source_size - 4 + strtoul(value, NULL, 10)] ^= 1;
	program->source = copy;		/* kept until the end */
}

static void add_constant(char *text)
{
	struct client_program *next = &client.next;
	size_t place = next->program.constant_count++;
	char *end;

	next->constants[place].id = (uint32_t)strtoul(text, &end, 0);
	next->constants[place].size = (uint32_t)strtoul(end + 1, &end, 0);
	next->values[place] = strtoull(end + 1, NULL, 0);
}

/* The structures may have been copied since they were filled. */
static struct ckcache_program *gather_programs(size_t *ret_count)
{
	static struct ckcache_program programs[CLIENT_MAX_PROGRAMS];

	if (!client.count)
		client.programs[0] = client.next;
	*ret_count = client.count ? client.count : 1;
	for (size_t i = 0; i < *ret_count; i++) {
		struct client_program *from = &client.programs[i];

		for (size_t k = 0; k < from->program.constant_count; k++)
			from->constants[k].value = &from->values[k];
		programs[i] = from->program;
		programs[i].constants = from->constants;
	}
	return programs;
}

static void describe(void)
{
	size_t count;
	struct ckcache_program *programs = gather_programs(&count);
	enum ckcache_status status;

	ckcache_desc_free(client.desc);
	client.desc = NULL;
	status = ckcache_level_zero_desc_new(client.driver, client.context, client.device, count,
					     programs, &client.desc);
	/* All was copied. */
	memset(programs, 0xa5, count * sizeof(*programs));
	printf("desc %d\n", status);
}

static void print_id(void)
{
	uint8_t id[256];
	size_t size = 0;
	enum ckcache_status status = ckcache_desc_get_id(client.desc, &size, NULL);

	printf("id %d %zu ", status, size);
	if (ckcache_desc_get_id(client.desc, &size, id) != CKCACHE_OK)
		client_give_up("id", 0);
	for (size_t i = 0; i < size; i++)
		printf("%02x", id[i]);
	printf("\n");
}

static void print_kernels(ze_module_handle_t module)
{
	const char *names[64];
	uint32_t count = 0;

	if (CALL(zeModuleGetKernelNames)(module, &count, NULL) || count > 64 ||
	    CALL(zeModuleGetKernelNames)(module, &count, names))
		count = 0;
	for (uint32_t i = 0; i < count; i++)
		printf(" %s", names[i]);
}

static void forget_modules(void)
{
	for (size_t i = 0; i < client.module_count; i++) {
		if (CALL(zeModuleDestroy)(client.modules[i]))
			client_give_up("destroy", 0);
	}
	client.module_count = 0;
}

static void take_modules(size_t count, const ze_module_handle_t *modules)
{
	forget_modules();
	memcpy(client.modules, modules, count * sizeof(*modules));
	client.module_count = count;
	for (size_t i = 0; i < count; i++)
		print_kernels(modules[i]);
}

static ze_result_t create_module(const struct ckcache_program *program, ze_module_handle_t *ret)
{
	uint32_t ids[CLIENT_MAX_CONSTANTS];
	const void *values[CLIENT_MAX_CONSTANTS];
	const ze_module_constants_t constants = { (uint32_t)program->constant_count, ids, values };
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = program->source_size,
		.pInputModule = program->source,
		.pBuildFlags = program->options,
		.pConstants = program->constant_count ? &constants : NULL,
	};

	for (size_t i = 0; i < program->constant_count; i++) {
		ids[i] = program->constants[i].id;
		values[i] = program->constants[i].value;
	}
	return CALL(zeModuleCreate)(client.context, client.device, &desc, ret, NULL);
}

static void create_modules(void)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS];
	size_t count;
	struct ckcache_program *programs = gather_programs(&count);

	printf("modules");
	for (size_t i = 0; i < count; i++) {
		ze_result_t result = create_module(&programs[i], &modules[i]);

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
	enum ckcache_status status = ckcache_level_zero_get_blob(client.desc, client.modules, &size,
								 room ? little : NULL);

	printf("blob %d %s\n", status, size ? "bytes" : "empty");
	if (status && status != CKCACHE_ERROR_BUFFER_TOO_SMALL)
		return;
	if (little[0])
		client_give_up("written", 0);
	blob = malloc(size + 64);
	again = size + 64;
	if (!blob || ckcache_level_zero_get_blob(client.desc, client.modules, &again, blob) ||
	    again != size)
		client_give_up("blob", 0);
	client_write(path, blob, size);
	free(blob);
}

static void create_from_blob(char *path)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS] = { NULL };
	size_t size, count = client.count ? client.count : 1;
	const uint8_t *blob = client_read(path, &size);
	enum ckcache_status status = ckcache_level_zero_create_from_blob(client.desc, size, blob,
									 modules);

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
		status = ckcache_level_zero_create_from_blob(client.desc, cut ? i + 1 : size, blob,
							     modules);
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
	enum ckcache_status status = ckcache_level_zero_build(client.desc, storage, modules,
							      &origin);

	printf("build %d from %d", status, (int)origin);
	if (storage)
		client_storage_print();
	if (!status)
		take_modules(client.count ? client.count : 1, modules);
	else if (modules[0])
		client_give_up("module", 0);
	printf("\n");
}

static void evict(char *directory)
{
	struct ckcache_storage *storage = directory ? client_storage(directory) : NULL;

	printf("evict %d", ckcache_desc_evict(client.desc, storage));
	if (storage)
		client_storage_print();
	printf("\n");
}

static pthread_barrier_t start;

static void *build_at_once(void *unused)
{
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS] = { NULL };
	enum ckcache_origin origin;
	uint8_t id[88];
	size_t size = sizeof(id), blob_size = 0;

	(void)unused;
	(void)pthread_barrier_wait(&start);
	if (ckcache_level_zero_build(client.desc, NULL, modules, &origin) ||
	    ckcache_desc_get_id(client.desc, &size, id) ||
	    ckcache_level_zero_get_blob(client.desc, modules, &blob_size, NULL) || !blob_size)
		client_give_up("build in a thread", 0);
	for (size_t i = 0; i < CLIENT_MAX_PROGRAMS; i++) {
		if (modules[i] && CALL(zeModuleDestroy)(modules[i]))
			client_give_up("destroy", 0);
	}
	return NULL;
}

static void build_in_threads(char *value)
{
	unsigned long count = strtoul(value, NULL, 10);
	pthread_t threads[MAX_THREADS];

	(void)pthread_barrier_init(&start, NULL, (unsigned int)count);
	for (unsigned long i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, build_at_once, NULL))
			client_give_up("thread", 0);
	}
	for (unsigned long i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	printf("threads\n");
}

static void print_settings(void)
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

static void describe_device(char *name)
{
	struct ckcache_library library = { sizeof(library), name, NULL, "hash", 4, NULL };
	char *colon = strchr(name, ':');

	if (colon) {
		*colon = '\0';
		library.version = colon + 1;
	}
	ckcache_desc_free(client.desc);
	client.desc = NULL;
	printf("device %d\n", ckcache_level_zero_device_desc_new(client.driver, client.device,
								 &library, &client.desc));
}

static void load_data(void)
{
	char data[256] = "";
	size_t size = sizeof(data) - 1;
	enum ckcache_status status = ckcache_device_load(client.desc, NULL, &size, data);

	printf("load %d %s\n", status, status ? "" : data);
}

static void wrap_data(char *path)
{
	uint8_t blob[1024];
	size_t size = sizeof(blob);

	if (ckcache_device_get_blob(client.desc, 4, "data", &size, blob))
		client_give_up("wrap", 0);
	client_write(path, blob, size);
	printf("wrap\n");
}

static void unwrap_data(char *path)
{
	char data[256] = "";
	size_t blob_size, size = sizeof(data) - 1;
	const uint8_t *blob = client_read(path, &blob_size);
	enum ckcache_status status = ckcache_device_get_data(client.desc, blob_size, blob, &size,
							     data);

	printf("unwrap %d %s\n", status, status ? "" : data);
}

static void ask_for_extension(void)
{
	static const char *const names[] = { "ckcache_functions", "ckcache_level_zero_build",
					     "ckcache_opencl_build", "zeNoSuchFunction" };

	printf("extension");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *function = NULL;
		ze_result_t result = CALL(zeDriverGetExtensionFunctionAddress)(client.driver, names[i],
									       &function);

		printf(" %s", !result && function ? "yes" : "no");
	}
	printf("\n");
}

static void set_variable(char *text)
{
	char *equals = strchr(text, '=');

	if (!equals)
		client_give_up(text, 0);
	*equals = '\0';
	(void)setenv(text, equals + 1, 1);
}

static void follow_word(const char *word)
{
	if (!strcmp(word, "flags"))
		client.next.program.options = NULL;
	else if (!strcmp(word, "constants"))
		client.next.program.constant_count = 0;
	else if (!strcmp(word, "add") && client.count < CLIENT_MAX_PROGRAMS)
		client.programs[client.count++] = client.next;
	else if (!strcmp(word, "desc"))
		describe();
	else if (!strcmp(word, "free"))
		ckcache_desc_free(client.desc), client.desc = NULL;
	else if (!strcmp(word, "id"))
		print_id();
	else if (!strcmp(word, "modules"))
		create_modules();
	else if (!strcmp(word, "build"))
		build(NULL);
	else if (!strcmp(word, "evict"))
		evict(NULL);
	else if (!strcmp(word, "settings"))
		print_settings();
	else if (!strcmp(word, "load"))
		load_data();
	else if (!strcmp(word, "extension"))
		ask_for_extension();
	else if (!strcmp(word, "invalid"))
		client_misuse();
	else
		client_give_up(word, 0);
}

static void use_flags(char *value)
{
	client.next.program.options = value;
}

static void open_object(char *path)
{
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
		client_give_up(dlerror(), 0);
}

static void get_whole_blob(char *path)
{
	get_blob(path, 0);
}

static void get_short_blob(char *path)
{
	get_blob(path, 16);
}

static void flip(char *path)
{
	try_damaged(path, 0);
}

static void cut(char *path)
{
	try_damaged(path, 1);
}

static void set_persistent(char *value)
{
	printf("persistent %d\n", ckcache_set_persistent(CKCACHE_API_LEVEL_ZERO, atoi(value)));
}

static void set_capacity(char *value)
{
	printf("capacity %d\n", ckcache_set_capacity(strtoull(value, NULL, 10)));
}

static void set_dir(char *value)
{
	printf("dir %d\n", ckcache_set_dir(*value ? value : NULL));
}

static void store_data(char *text)
{
	printf("store %d\n", ckcache_device_store(client.desc, NULL, strlen(text), text));
}

static void follow(char *argument)
{
	static const struct {
		const char *name;
		void (*run)(char *value);
	} words[] = {
		{ "driver", use_driver }, { "found", find_driver }, { "sub", use_sub_device },
		{ "loader", open_loader }, { "open", open_object },
		{ "il", use_il }, { "byte", change_byte }, { "flags", use_flags },
		{ "constant", add_constant }, { "blob", get_whole_blob },
		{ "short", get_short_blob }, { "create", create_from_blob }, { "flips", flip },
		{ "cuts", cut }, { "built", build }, { "evicted", evict },
		{ "threads", build_in_threads }, { "persistent", set_persistent },
		{ "capacity", set_capacity }, { "dir", set_dir }, { "device", describe_device },
		{ "store", store_data }, { "wrap", wrap_data }, { "unwrap", unwrap_data },
		{ "setenv", set_variable },
	};
	char *value = strchr(argument, '=');

	if (!value) {
		follow_word(argument);
		return;
	}
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(words[i].name, argument)) {
			words[i].run(value);
			return;
		}
	}
	client_give_up(argument, 0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		follow(argv[i]);
		(void)fflush(stdout);
	}
	forget_modules();
	ckcache_desc_free(client.desc);
	return 0;
}
