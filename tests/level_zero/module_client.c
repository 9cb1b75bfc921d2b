/* SPDX-License-Identifier: MIT */
/*
 * module_client: a Level Zero application that does what its arguments say, in
 * their order, through a loader that it opens with dlopen. Settings hold until
 * they are set again:
 *
 *   driver=N          use driver N (of those that the loader has); makes a context
 *   device=N          use its device N; "device=N.M": sub-device M of that; "device=": NULL
 *   ex                make another context, by zeContextCreateEx
 *   il=NAME           the input: one of kernels/
 *   file=PATH         the input: a file's content
 *   format=N          the input is of this format (ze_module_format_t)
 *   cut=N             only the first N bytes of it
 *   flags=TEXT        build flags; "flags": NULL
 *   constant=ID:BYTES:VALUE   one more specialization constant; "constants": none
 *   log, nolog        whether a build log is asked for
 *   inputs=NAME,NAME  several inputs (ze_module_program_exp_desc_t), the flags for each, "NAME:TEXT":
 *                     flags of its own, "NAME*": the constants so far, "NAME@" (before *): of
 *                     precise, with id 64 in place of 65; "inputs": one
 *   next              an unknown structure in pNext; "nonext"
 *   absent            what is created is also asked for names that it does not have
 *   runtime           the default driver, not the driver, is asked for its description of that
 *   default           the default driver's context
 *   create            a module: prints status, build log, kernels, and a hash of its native binary
 *   quiet             the same, printing the status alone
 *   threads=N         N threads create it at once, each prints as create does
 *   fork              the same in a child and then in this process
 *   keep              go on without destroying what is created
 *   setenv=NAME=VALUE
 *   opencl            builds an OpenCL program, on the first device that its loader has
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <level_zero/ze_api.h>

#include "tests/level_zero/kernels/kernels_il.h"

#define MAX_CONSTANTS 32
#define MAX_INPUTS 8
#define MAX_THREADS 64

static void *loader;
#define CALL(name) ((__typeof__(&name))dlsym(loader, #name))

static const struct {
	const char *name;
	const void *data;
	size_t size;
} ils[] = {
#define IL(name) { #name, name##_il, sizeof(name##_il) }
	IL(plain), IL(one), IL(other), IL(imports), IL(twice), IL(thrice),
	IL(spilling), IL(fp64), IL(constants), IL(precise),
};

/* Of zer_ddi.h; older headers lack it. */
struct runtime_table {
	ze_result_t(ZE_APICALL *get_last_error)(const char **ret);
	void *others[2];
	ze_context_handle_t(ZE_APICALL *get_default_context)(void);
};

static struct {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	const void *il;
	size_t size;
	const char *flags;
	uint32_t ids[MAX_CONSTANTS];
	uint64_t values[MAX_CONSTANTS];
	const void *value_pointers[MAX_CONSTANTS];
	uint32_t constant_count;
	ze_module_format_t format;	/* 0: SPIR-V */
	bool log, keep, unknown_next, absent;
	struct runtime_table runtime;	/* where get_last_error is NULL, the driver is asked */
	const uint8_t *inputs[MAX_INPUTS];
	size_t input_sizes[MAX_INPUTS];
	const char *input_flags[MAX_INPUTS];
	const ze_module_constants_t *input_constants[MAX_INPUTS];
	uint32_t input_count;
} now;

static void give_up(const char *what, unsigned int status)
{
	printf("%s %#x\n", what, status);
	exit(2);
}

static uint64_t hash_of(const uint8_t *data, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static const void *il_of(const char *name, size_t len, size_t *ret_size)
{
	for (size_t i = 0; i < sizeof(ils) / sizeof(ils[0]); i++) {
		if (strlen(ils[i].name) == len && !strncmp(ils[i].name, name, len)) {
			*ret_size = ils[i].size;
			return ils[i].data;
		}
	}
	give_up(name, 0);
	return NULL;
}

static void use_driver(unsigned long place)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_driver_handle_t drivers[8];
	uint32_t count = 0, one = 1;
	ze_result_t status = CALL(zeInit)(0);

	if (status)
		give_up("init", status);
	status = CALL(zeDriverGet)(&count, NULL);
	if (status || count > 8)
		give_up("drivers", status);
	status = CALL(zeDriverGet)(&count, drivers);
	if (status || place >= count)
		give_up("driver", status);
	now.driver = drivers[place];
	status = CALL(zeDeviceGet)(now.driver, &one, &now.device);
	if (status)
		give_up("device", status);
	status = CALL(zeContextCreate)(now.driver, &desc, &now.context);
	if (status)
		give_up("context", status);
}

static void use_device(const char *places)
{
	char *end;
	unsigned long place = strtoul(places, &end, 10);
	ze_device_handle_t devices[16];
	uint32_t count = 0;
	ze_result_t status = CALL(zeDeviceGet)(now.driver, &count, NULL);

	if (!*places) {
		now.device = NULL;
		return;
	}
	/* Never asked for more than there are: NEO reads behind its list. */
	if (status || place >= count || count > 16)
		give_up("device", status);
	status = CALL(zeDeviceGet)(now.driver, &count, devices);
	if (status)
		give_up("device", status);
	now.device = devices[place];
	if (*end != '.')
		return;
	count = 0;
	place = strtoul(end + 1, NULL, 10);
	status = CALL(zeDeviceGetSubDevices)(now.device, &count, NULL);
	if (status || place >= count || count > 16)
		give_up("sub-device", status);
	status = CALL(zeDeviceGetSubDevices)(now.device, &count, devices);
	if (status)
		give_up("sub-device", status);
	now.device = devices[place];
}

static void use_context_ex(void)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_result_t status = CALL(zeContextCreateEx)(now.driver, &desc, 1, &now.device,
						     &now.context);

	if (status)
		give_up("context-ex", status);
}

static void use_file(const char *path)
{
	static char room[64 << 20];
	FILE *file = fopen(path, "rb");

	if (!file)
		give_up(path, 0);
	now.size = fread(room, 1, sizeof(room), file);
	now.il = room;
	(void)fclose(file);	/* only read */
}

static void add_constant(const char *text)
{
	char *end;
	unsigned long id = strtoul(text, &end, 0), bytes = strtoul(end + 1, &end, 0);

	(void)bytes;	/* for who reads the test: the module's own type counts */
	now.ids[now.constant_count] = (uint32_t)id;
	now.values[now.constant_count] = strtoull(end + 1, NULL, 0);
	now.value_pointers[now.constant_count] = &now.values[now.constant_count];
	now.constant_count++;
}

/* A copy of precise whose constant has the id of one of constants. */
static const void *renumbered(const void *il, size_t size)
{
	static uint32_t words[4096];

	if (size > sizeof(words))
		give_up("renumbered", 0);
	memcpy(words, il, size);
	for (size_t i = 5; i + 3 < size / 4; i++) {
		if (words[i] == (4 << 16 | 71) && words[i + 2] == 1 && words[i + 3] == 65)
			words[i + 3] = 64;	/* OpDecorate … SpecId 65 */
	}
	return words;
}

static void use_inputs(char *names)
{
	static ze_module_constants_t constants;

	constants = (ze_module_constants_t){ now.constant_count, now.ids, now.value_pointers };
	now.input_count = 0;
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
		uint32_t i = now.input_count++;
		char *flags = strchr(name, ':');
		size_t len;
		bool has_constants, is_renumbered;

		if (flags)
			*flags++ = '\0';
		len = strlen(name);
		has_constants = name[len - 1] == '*';
		len -= has_constants;
		is_renumbered = name[len - 1] == '@';
		len -= is_renumbered;
		now.inputs[i] = il_of(name, len, &now.input_sizes[i]);
		if (is_renumbered)
			now.inputs[i] = renumbered(now.inputs[i], now.input_sizes[i]);
		now.input_flags[i] = flags ? flags : now.flags;
		now.input_constants[i] = has_constants ? &constants : NULL;
	}
}

static void print_log(ze_module_build_log_handle_t log)
{
	size_t size = 0;
	char *text;

	if (CALL(zeModuleBuildLogGetString)(log, &size, NULL)) {
		printf(" log fails");
		return;
	}
	text = calloc(1, size + 1);
	if (!text || CALL(zeModuleBuildLogGetString)(log, &size, text))
		give_up("log", 0);
	for (char *at = text; *at; at++) {
		if (*at == '\n')
			*at = '|';
	}
	printf(" log %zu [%s]", size, text);
	free(text);
	printf(" %#x", CALL(zeModuleBuildLogDestroy)(log));
}

static void print_module(ze_module_handle_t module)
{
	const char *names[64];
	uint32_t count = 0;
	size_t size = 0;
	uint8_t *native;

	if (CALL(zeModuleGetKernelNames)(module, &count, NULL) || count > 64 ||
	    CALL(zeModuleGetKernelNames)(module, &count, names))
		count = 0;
	printf(" kernels");
	for (uint32_t i = 0; i < count; i++)
		printf(" %s", names[i]);
	if (CALL(zeModuleGetNativeBinary)(module, &size, NULL) || !size) {
		printf(" no native");
		return;
	}
	native = malloc(size);
	if (!native || CALL(zeModuleGetNativeBinary)(module, &size, native))
		give_up("native", 0);
	printf(" native %016llx", (unsigned long long)hash_of(native, size));
	free(native);
}

typedef ze_result_t(ZE_APICALL *getter_fn)(ze_api_version_t, void *);

/* As loaders from 1.14 on fill a table: the first driver's, handed to what stands in the validation layer's place. */
static void fill(const char *getter, void *table)
{
	const char *drivers = getenv("ZE_ENABLE_ALT_DRIVERS");
	char *driver = strndup(drivers ? drivers : "", strcspn(drivers ? drivers : "", ","));
	const char *const libraries[] = { driver ? driver : "", "libze_validation_layer.so.1" };

	for (int i = 0; i < 2; i++) {
		void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
		getter_fn get = library ? (getter_fn)dlsym(library, getter) : NULL;

		if (get && get(ZE_MAKE_VERSION(1, 14), table))
			give_up(getter, (unsigned int)i);
	}
	free(driver);
}

/* The runtime's functions. Older loaders have none, nor zeDriverGetLastErrorDescription, of the drivers' table. */
static struct runtime_table find_runtime(void)
{
	struct runtime_table table = {
		.get_last_error = dlsym(loader, "zerGetLastErrorDescription"),
		.get_default_context = dlsym(loader, "zerGetDefaultContext"),
	};
	void *driver_table[64] = { NULL };

	if (!table.get_last_error) {
		fill("zeGetDriverProcAddrTable", driver_table);
		fill("zerGetGlobalProcAddrTable", &table);
	}
	if (!table.get_last_error || !table.get_default_context)
		give_up("runtime", 0);
	return table;
}

/* And what the driver says of it, once more after a failure of another kind. */
static void print_absent(ze_module_handle_t module)
{
	typedef ze_result_t(ZE_APICALL * get_fn)(ze_driver_handle_t, const char **);
	/* Of loaders 1.9 and later. */
	get_fn get = (get_fn)dlsym(loader, "zeDriverGetLastErrorDescription");
	const ze_kernel_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = "absent",
	};
	ze_kernel_handle_t kernel;
	const char *text;
	void *pointer = NULL;

	for (int i = 0; i < 4; i++) {
		printf(" absent %#x",
		       i == 0 ? CALL(zeModuleGetFunctionPointer)(module, "absent", &pointer) :
		       i == 1 ? CALL(zeModuleGetGlobalPointer)(module, "absent", NULL, &pointer) :
		       i == 2 ? CALL(zeKernelCreate)(module, &desc, &kernel) :
				CALL(zeModuleGetFunctionPointer)(module, "one", &pointer));
		text = "";
		if (now.runtime.get_last_error ? !now.runtime.get_last_error(&text) :
						 get && !get(now.driver, &text))
			printf(" [%s]", text);
	}
}

static ze_result_t create_module(ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	const ze_context_desc_t unknown = { .stype = (ze_structure_type_t)0x7fff0001 };
	const ze_module_constants_t constants = {
		now.constant_count, now.ids, now.value_pointers,
	};
	ze_module_program_exp_desc_t program = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
		.count = now.input_count,
		.inputSizes = now.input_sizes,
		.pInputModules = now.inputs,
		.pBuildFlags = now.input_flags,
		.pConstants = now.input_constants,
	};
	ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.pNext = now.unknown_next ? &unknown : NULL,
		.format = now.format,
		.inputSize = now.size,
		.pInputModule = now.il,
		.pBuildFlags = now.flags,
		.pConstants = now.constant_count ? &constants : NULL,
	};

	if (now.input_count) {
		program.pNext = desc.pNext;
		desc.pNext = &program;
	}
	return CALL(zeModuleCreate)(now.context, now.device, &desc, module, log);
}

/* One write per line: threads and children share the output. */
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static void create(bool quiet)
{
	ze_module_handle_t module = NULL;
	ze_module_build_log_handle_t log = NULL;
	ze_result_t status = create_module(&module, now.log ? &log : NULL);

	(void)pthread_mutex_lock(&printing);
	printf("create %#x", (unsigned int)status);
	if (!quiet) {
		/* With several drivers a failure's log is not to be touched. */
		if (log && !status)
			print_log(log);
		if (!status)
			print_module(module);
		if (!status && now.absent)
			print_absent(module);
	}
	printf("\n");
	(void)fflush(stdout);
	(void)pthread_mutex_unlock(&printing);
	if (!status && !now.keep && CALL(zeModuleDestroy)(module))
		give_up("destroy", 0);
}

static pthread_barrier_t start;

static void *create_at_once(void *unused)
{
	(void)unused;
	(void)pthread_barrier_wait(&start);
	create(false);
	return NULL;
}

static void create_in_threads(unsigned int count)
{
	pthread_t threads[MAX_THREADS];

	(void)pthread_barrier_init(&start, NULL, count);
	for (unsigned int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, create_at_once, NULL))
			give_up("thread", i);
	}
	for (unsigned int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
}

static void create_in_child(void)
{
	int state = 0;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		create(false);
		exit(0);
	}
	if (child < 0 || waitpid(child, &state, 0) != child || state)
		give_up("child", (unsigned int)state);
	create(false);
}

static void set_variable(char *text)
{
	char *equals = strchr(text, '=');

	if (!equals)
		give_up(text, 0);
	*equals = '\0';
	(void)setenv(text, equals + 1, 1);
}

static void build_opencl(void)
{
	static const char *const source = "kernel void k(global int *a) { a[0] = 1; }";
	void *opencl = dlopen("libOpenCL.so.1", RTLD_NOW);
	cl_platform_id platform;
	cl_program program;
	cl_context context;
	cl_device_id device;
	cl_int error = -1;

#define OPENCL(name) ((__typeof__(&name))dlsym(opencl, #name))
	if (!opencl || OPENCL(clGetPlatformIDs)(1, &platform, NULL) != CL_SUCCESS ||
	    OPENCL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		give_up("opencl", 0);
	context = OPENCL(clCreateContext)(NULL, 1, &device, NULL, NULL, &error);
	program = OPENCL(clCreateProgramWithSource)(context, 1, (const char **)&source, NULL, &error);
	printf("opencl %d\n", OPENCL(clBuildProgram)(program, 1, &device, "", NULL, NULL));
}

/* A setting without a value. */
static bool follow_word(const char *word)
{
	if (!strcmp(word, "ex"))
		use_context_ex();
	else if (!strcmp(word, "flags"))
		now.flags = NULL;
	else if (!strcmp(word, "constants"))
		now.constant_count = 0;
	else if (!strcmp(word, "inputs"))
		now.input_count = 0;
	else if (!strcmp(word, "log") || !strcmp(word, "nolog"))
		now.log = word[0] == 'l';
	else if (!strcmp(word, "next") || !strcmp(word, "nonext"))
		now.unknown_next = word[1] == 'e';
	else if (!strcmp(word, "absent"))
		now.absent = true;
	else if (!strcmp(word, "runtime"))
		now.runtime = find_runtime();
	else if (!strcmp(word, "default"))
		now.context = find_runtime().get_default_context();
	else if (!strcmp(word, "keep"))
		now.keep = true;
	else if (!strcmp(word, "create") || !strcmp(word, "quiet"))
		create(word[0] == 'q');
	else if (!strcmp(word, "fork"))
		create_in_child();
	else if (!strcmp(word, "opencl"))
		build_opencl();
	else
		return false;
	return true;
}

static void follow(char *argument)
{
	char *value = strchr(argument, '=');

	if (!value) {
		if (!follow_word(argument))
			give_up(argument, 0);
		return;
	}
	*value++ = '\0';
	if (!strcmp(argument, "driver"))
		use_driver(strtoul(value, NULL, 10));
	else if (!strcmp(argument, "device"))
		use_device(value);
	else if (!strcmp(argument, "il"))
		now.il = il_of(value, strlen(value), &now.size);
	else if (!strcmp(argument, "format"))
		now.format = (ze_module_format_t)strtoul(value, NULL, 10);
	else if (!strcmp(argument, "file"))
		use_file(value);
	else if (!strcmp(argument, "cut"))
		now.size = strtoul(value, NULL, 10);
	else if (!strcmp(argument, "flags"))
		now.flags = value;
	else if (!strcmp(argument, "constant"))
		add_constant(value);
	else if (!strcmp(argument, "inputs"))
		use_inputs(value);
	else if (!strcmp(argument, "threads"))
		create_in_threads((unsigned int)strtoul(value, NULL, 10));
	else if (!strcmp(argument, "setenv"))
		set_variable(value);
	else
		give_up(argument, 0);
}

int main(int argc, char **argv)
{
	loader = dlopen("libze_loader.so.1", RTLD_NOW);
	if (!loader)
		give_up("loader", 0);
	for (int i = 1; i < argc; i++)
		follow(argv[i]);
	return 0;
}
