/* SPDX-License-Identifier: MIT */
/*
 * stub_translate: from a module's description to kernels, a native and a log.
 * Of SPIR-V the native holds, after its kernels and in this order: the
 * compiler's revision, the first line of stub.options in the working directory, as
 * compilers read settings of their own, and of each input its flags, its length and hash, and
 * each constant that is set and declared, by id, as wide as it is declared.
 */
#include <inttypes.h>

#include "tests/level_zero/stub/stub.h"

#define MAX_CONSTANT 8	/* bytes of the widest scalar */

/* Of the driver that this one behaves like, word for word. */
static const char recompiled[] =
	"warning: module got recompiled from IR because provided native binary is incompatible "
	"with underlying device and/or driver [-Wrecompiled-from-ir]\n";

/* What of a description is compiled: one input, or those of the program extension. */
struct inputs {
	uint32_t count;
	const size_t *sizes;
	const uint8_t *const *data;
	const char *const *flags;			/* may be NULL, and so may each */
	const ze_module_constants_t *const *constants;	/* as above */
	const char *all_flags;				/* of the description itself; may be NULL */
};

static const ze_module_program_exp_desc_t *find_program(const ze_module_desc_t *desc)
{
	const ze_base_desc_t *next = desc->pNext;

	while (next && next->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
		next = next->pNext;
	return (const ze_module_program_exp_desc_t *)next;
}

/* Where each constant's value was given last; NULL: it was not. */
static const void *find_value(const ze_module_constants_t *constants, uint32_t id)
{
	const void *value = NULL;

	for (uint32_t i = 0; constants && i < constants->numConstants; i++)
		if (constants->pConstantIds[i] == id)
			value = constants->pConstantValues[i];
	return value;
}

/* An unknown one fails the build, as with the real driver, which says nothing in the log. */
static bool constants_are_declared(const struct stub_spirv *spirv,
				   const ze_module_constants_t *constants)
{
	for (uint32_t i = 0; constants && i < constants->numConstants; i++) {
		size_t k = 0;

		while (k < spirv->constant_count && spirv->constants[k].id != constants->pConstantIds[i])
			k++;
		if (k == spirv->constant_count || !constants->pConstantValues[i])
			return false;
	}
	return true;
}

static void print_constants(const struct stub_spirv *spirv, const ze_module_constants_t *constants,
			    struct stub_text *body)
{
	for (size_t i = 0; i < spirv->constant_count; i++) {
		const struct stub_constant *constant = &spirv->constants[i];
		const uint8_t *value = find_value(constants, constant->id);

		if (!value || constant->width > MAX_CONSTANT)
			continue;
		stub_text_print(body, "constant %" PRIu32 " ", constant->id);
		for (uint32_t k = 0; k < constant->width; k++)
			stub_text_print(body, "%02x", value[k]);
		stub_text_print(body, "\n");
	}
}

static ze_result_t compile_input(const struct inputs *inputs, uint32_t i, struct stub_image *image,
				 struct stub_text *body, struct stub_text *log)
{
	const ze_module_constants_t *constants = inputs->constants ? inputs->constants[i] : NULL;
	const char *flags = inputs->flags && inputs->flags[i] ? inputs->flags[i] : "";
	struct stub_spirv spirv;
	bool good;

	if (!stub_spirv_read(inputs->data[i], inputs->sizes[i], &spirv)) {
		stub_event("garbage");
		if (stub_is_set("STUB_GARBAGE_EXITS"))
			_exit(3);
		stub_text_print(log, "error: input %" PRIu32 " is not SPIR-V\n", i);
		return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	}
	good = constants_are_declared(&spirv, constants);
	for (size_t k = 0; k < spirv.image.count; k++)
		stub_image_add(image, spirv.image.kernels[k], strlen(spirv.image.kernels[k]));
	stub_text_print(body, "flags %zu %s\n", strlen(flags), flags);
	stub_text_print(body, "input %zu %016" PRIx64 "\n", inputs->sizes[i],
			stub_hash(inputs->data[i], inputs->sizes[i]));
	print_constants(&spirv, constants, body);
	if (strstr(flags, "-Wstub"))
		stub_text_print(log, "warning: stub\n");
	stub_spirv_release(&spirv);
	return good ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

/* False, and *ret_status is set: a setting says that this compilation fails. */
static bool may_compile(struct stub_text *log, ze_result_t *ret_status)
{
	static atomic_int compilations;

	/* Each, or the first ones of the process. */
	if (stub_is_set("STUB_FAIL_OOM") || stub_is_among_first("STUB_FIRST_OOM", &compilations)) {
		*ret_status = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		return false;
	}
	if (stub_is_set("STUB_FAIL")) {
		stub_text_print(log, "error: the setting says so\n");
		*ret_status = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
		return false;
	}
	return true;
}

static void print_options(struct stub_text *body)
{
	FILE *file = fopen("stub.options", "re");
	char line[256] = "";

	if (!file)
		return;
	if (fgets(line, sizeof(line), file))
		stub_text_print(body, "options %s\n", line);
	(void)fclose(file);	/* only read */
}

/* As a compiler does that runs another program. */
static void run_child(void)
{
	pid_t child = stub_is_set("STUB_FORKS") ? fork() : -1;

	if (child == 0)
		_exit(0);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

static ze_result_t compile_inputs(const struct inputs *inputs, struct stub_image *image,
				  struct stub_text *body, struct stub_text *log)
{
	const char *flags = inputs->all_flags ? inputs->all_flags : "";
	const char *revision = stub_library_revision();
	ze_result_t status = ZE_RESULT_SUCCESS;

	if (!revision)
		return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
	if (!may_compile(log, &status))
		return status;
	run_child();
	print_options(body);
	stub_text_print(body, "compiler %s\nflags %zu %s\n", revision, strlen(flags), flags);
	if (strstr(flags, "-Wstub"))
		stub_text_print(log, "warning: stub\n");
	for (uint32_t i = 0; !status && i < inputs->count; i++)
		status = compile_input(inputs, i, image, body, log);
	return status;
}

/* STUB_CACHED: what an earlier process left of the module; no compiler is asked. */
static bool read_cached(struct stub_image *ret_image, struct stub_text *ret_native)
{
	struct stub_native native;
	char path[256], text[65536];
	FILE *file = stub_setting("STUB_CACHED", path, sizeof(path)) ? fopen(path, "re") : NULL;
	size_t len = file ? fread(text, 1, sizeof(text), file) : 0;

	if (file)
		(void)fclose(file);	/* only read */
	if (stub_native_read((const uint8_t *)text, len, false, &native) != STUB_NATIVE_GOOD)
		return false;
	stub_event("cached");
	stub_text_add(ret_native, text, len);
	free(native.body.data);
	*ret_image = native.image;
	return true;
}

static void write_cached(const struct stub_text *native)
{
	char path[256];
	FILE *file = stub_setting("STUB_CACHED", path, sizeof(path)) ? fopen(path, "we") : NULL;

	if (file && (fwrite(native->data, 1, native->len, file) != native->len || fclose(file)))
		abort();	/* a test driver has nothing better to do */
}

static ze_result_t translate_spirv(const ze_module_desc_t *desc, struct stub_image *ret_image,
				   struct stub_text *ret_native, struct stub_text *log)
{
	const ze_module_program_exp_desc_t *program = find_program(desc);
	struct inputs inputs = {
		1, &desc->inputSize, &desc->pInputModule, NULL, &desc->pConstants, desc->pBuildFlags,
	};
	struct stub_image image = { 0 };
	struct stub_text body = { 0 };
	ze_result_t status;

	if (program) {
		if (!program->count || !program->inputSizes || !program->pInputModules)
			return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
		inputs = (struct inputs){
			program->count, program->inputSizes, program->pInputModules,
			program->pBuildFlags, program->pConstants, desc->pBuildFlags,
		};
	}
	if (read_cached(ret_image, ret_native))
		return ZE_RESULT_SUCCESS;
	stub_event("compile");
	stub_set_variable("STUB_SETENV");
	stub_delay();
	status = compile_inputs(&inputs, &image, &body, log);
	if (!status) {
		stub_native_write(body.data, &image, ret_native);
		write_cached(ret_native);
		*ret_image = image;
	} else {
		stub_image_release(&image);
	}
	free(body.data);
	stub_event(status ? "compile-failed" : "compiled");
	return status;
}

/* The native with this product and epoch: what the driver made of the other's IR. */
static void recompile(const struct stub_native *native, const char *flags,
		      struct stub_text *ret_native, struct stub_text *log)
{
	stub_event("recompile");
	stub_delay();
	if (!flags || !strstr(flags, "-Wno-recompiled-from-ir"))
		stub_text_print(log, "%s", recompiled);
	stub_native_write(native->body.data, &native->image, ret_native);
}

/* STUB_REFUSE_NATIVE: how; "later": all but the process's first. */
static bool refuses_native(char *how, size_t size)
{
	static atomic_uint loads;

	if (!stub_is_set("STUB_REFUSE_NATIVE") || !stub_setting("STUB_REFUSE_NATIVE", how, size))
		return false;
	return strcmp(how, "later") != 0 || atomic_fetch_add(&loads, 1) > 0;
}

static ze_result_t translate_native(const ze_module_desc_t *desc, struct stub_image *ret_image,
				    struct stub_text *ret_native, struct stub_text *log)
{
	bool recompiles = stub_is_set("STUB_RECOMPILES");
	struct stub_native native = { 0 };
	char how[32];

	stub_event("load-native");
	if (find_program(desc))		/* as the real driver answers */
		return ZE_RESULT_ERROR_INVALID_ENUMERATION;
	if (desc->pBuildFlags && *desc->pBuildFlags)
		stub_event("load-flags %.200s", desc->pBuildFlags);
	if (desc->pConstants)
		stub_event("native-constants");
	if (refuses_native(how, sizeof(how))) {
		stub_event("refuse-native");
		return strcmp(how, "host-memory") == 0 ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY :
		       strcmp(how, "device-memory") == 0 ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY :
		       strcmp(how, "device-lost") == 0 ? ZE_RESULT_ERROR_DEVICE_LOST :
							 ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	}
	switch (stub_native_read(desc->pInputModule, desc->inputSize, recompiles, &native)) {
	case STUB_NATIVE_FOREIGN:
		stub_event("foreign-native");
		return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
	case STUB_NATIVE_CORRUPT:
		stub_event("corrupt-native");
		abort();
	case STUB_NATIVE_GOOD:
		break;
	}
	if (recompiles) {
		recompile(&native, desc->pBuildFlags, ret_native, log);
	} else {
		if (native.stale)
			stub_event("stale-native");
		stub_text_add(ret_native, desc->pInputModule, desc->inputSize);
	}
	free(native.body.data);
	*ret_image = native.image;
	return ZE_RESULT_SUCCESS;
}

ze_result_t stub_translate(const ze_module_desc_t *desc, struct stub_image *ret_image,
			   struct stub_text *ret_native, struct stub_text *log)
{
	switch (desc->format) {
	case ZE_MODULE_FORMAT_IL_SPIRV:
		return translate_spirv(desc, ret_image, ret_native, log);
	case ZE_MODULE_FORMAT_NATIVE:
		return translate_native(desc, ret_image, ret_native, log);
	default:
		return ZE_RESULT_ERROR_INVALID_ENUMERATION;
	}
}
