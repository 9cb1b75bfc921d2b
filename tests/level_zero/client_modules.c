/* SPDX-License-Identifier: MIT */
/*
 * client_modules: modules of all kinds, by these words:
 *   ex                make another context, by zeContextCreateEx
 *   file=PATH         the input: a file's content
 *   format=N          the input is of this format (ze_module_format_t)
 *   cut=N             only the first N bytes of it
 *   log, nolog        whether a build log is asked for
 *   inputs=NAME,NAME  several inputs (ze_module_program_exp_desc_t), the flags for each, "NAME:TEXT":
 *                     flags of its own, "NAME*": the constants so far, "NAME@" (before *): of
 *                     precise, with id 64 in place of 65; "inputs": one
 *   next              an unknown structure in pNext; "nonext"
 *   default           the default driver's context
 *   create            a module: prints status, build log, kernels, and a hash of its native binary
 *   quiet             the same, printing the status alone
 *   threads=N         N threads create it at once, each prints as create does
 *   fork              the same in a child and then in this process
 *   keep              go on without destroying what is created
 *   opencl            builds an OpenCL program, on the first device that its loader has
 */

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "tests/level_zero/client.h"
#include "tests/level_zero/kernels/kernels.h"

#define MAX_INPUTS 8

/* Of zer_ddi.h; older headers lack it. */
struct runtime_table {
	void *others[3];
	ze_context_handle_t(ZE_APICALL *get_default_context)(void);
};

static struct {
	ze_module_format_t format;	/* 0: SPIR-V */
	bool log, keep, unknown_next;
	const uint8_t *inputs[MAX_INPUTS];
	size_t input_sizes[MAX_INPUTS];
	const char *input_flags[MAX_INPUTS];
	const ze_module_constants_t *input_constants[MAX_INPUTS];
	uint32_t input_count;
} now;

static uint64_t hash_of(const uint8_t *data, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

WORD(ex)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_result_t status = CALL(zeContextCreateEx)(client.driver, &desc, 1, &client.device,
						     &client.context);

	if (status)
		client_give_up("context-ex", status);
}

WORD(file)
{
	client.input.il = client_read(value, &client.input.size);
}

WORD(cut)
{
	client.input.size = strtoul(value, NULL, 10);
}

WORD(format)
{
	now.format = (ze_module_format_t)strtoul(value, NULL, 10);
}

WORD(log) { now.log = true; }
WORD(nolog) { now.log = false; }
WORD(next) { now.unknown_next = true; }
WORD(nonext) { now.unknown_next = false; }
WORD(keep) { now.keep = true; }

/* A copy of precise whose constant has the id of one of constants. */
static const void *renumbered(const void *il, size_t size)
{
	static uint32_t words[4096];

	if (size > sizeof(words))
		client_give_up("renumbered", 0);
	memcpy(words, il, size);
	for (size_t i = 5; i + 3 < size / 4; i++) {
		if (words[i] == (4 << 16 | 71) && words[i + 2] == 1 && words[i + 3] == 65)
			words[i + 3] = 64;	/* OpDecorate … SpecId 65 */
	}
	return words;
}

WORD(inputs)
{
	static struct client_input input;
	static const void *values[CLIENT_MAX_CONSTANTS];
	static ze_module_constants_t constants;

	input = client.input;
	constants = client_constants(&input, values);
	now.input_count = 0;
	for (char *name = value ? strtok(value, ",") : NULL; name; name = strtok(NULL, ",")) {
		uint32_t i = now.input_count++;
		char *flags = strchr(name, ':');
		const struct kernel_il *il;
		size_t len;
		bool has_constants, is_renumbered;

		if (flags)
			*flags++ = '\0';
		len = strlen(name);
		has_constants = name[len - 1] == '*';
		len -= has_constants;
		is_renumbered = name[len - 1] == '@';
		len -= is_renumbered;
		il = kernel_il(name, len);
		if (!il)
			client_give_up(name, 0);
		now.inputs[i] = is_renumbered ? renumbered(il->words, il->size) : il->words;
		now.input_sizes[i] = il->size;
		now.input_flags[i] = flags ? flags : client.input.flags;
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
		client_give_up("log", 0);
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
	size_t size = 0;
	uint8_t *native;

	printf(" kernels");
	client_print_kernels(module);
	if (CALL(zeModuleGetNativeBinary)(module, &size, NULL) || !size) {
		printf(" no native");
		return;
	}
	native = malloc(size);
	if (!native || CALL(zeModuleGetNativeBinary)(module, &size, native))
		client_give_up("native", 0);
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
			client_give_up(getter, (unsigned int)i);
	}
	free(driver);
}

/* Older loaders have no such function. */
WORD(default)
{
	struct runtime_table table = { .get_default_context = dlsym(client.loader, "zerGetDefaultContext") };

	if (!table.get_default_context)
		fill("zerGetGlobalProcAddrTable", &table);
	if (!table.get_default_context)
		client_give_up("runtime", 0);
	client.context = table.get_default_context();
}

static ze_result_t create_module(ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	const ze_context_desc_t unknown = { .stype = (ze_structure_type_t)0x7fff0001 };
	const struct client_input *input = &client.input;
	const void *values[CLIENT_MAX_CONSTANTS];
	const ze_module_constants_t constants = client_constants(input, values);
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
		.inputSize = input->size,
		.pInputModule = input->il,
		.pBuildFlags = input->flags,
		.pConstants = input->constant_count ? &constants : NULL,
	};

	if (now.input_count) {
		program.pNext = desc.pNext;
		desc.pNext = &program;
	}
	return CALL(zeModuleCreate)(client.context, client.device, &desc, module, log);
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
	}
	printf("\n");
	(void)fflush(stdout);
	(void)pthread_mutex_unlock(&printing);
	if (!status && !now.keep && CALL(zeModuleDestroy)(module))
		client_give_up("destroy", 0);
}

static void create_and_print(void)
{
	create(false);
}

WORD(create)
{
	create(false);
}

WORD(quiet)
{
	create(true);
}

WORD(threads)
{
	client_in_threads(value, create_and_print);
}

WORD(fork)
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
		client_give_up("child", (unsigned int)state);
	create(false);
}

WORD(opencl)
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
		client_give_up("opencl", 0);
	context = OPENCL(clCreateContext)(NULL, 1, &device, NULL, NULL, &error);
	program = OPENCL(clCreateProgramWithSource)(context, 1, (const char **)&source, NULL, &error);
	printf("opencl %d\n", OPENCL(clBuildProgram)(program, 1, &device, "", NULL, NULL));
}
