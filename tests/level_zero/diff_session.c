/* SPDX-License-Identifier: MIT */
/* diff_session: what the subjects share: the session, inputs, and modules made of them. */
#include <dlfcn.h>

#include "tests/level_zero/differential.h"
const struct kernel_il *diff_il(const char *name)
{
	const struct kernel_il *il = kernel_il(name, strlen(name));

	if (!il)
		abort();	/* a subject misspells it */
	return il;
}

void diff_start_session(struct diff *diff)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t count = 1;
	ze_result_t status = zeInit(0);

	if (status)
		diff_give_up(diff, "init", status);
	status = zeDriverGet(&count, &diff->driver);
	if (status || count != 1)
		diff_give_up(diff, "driver", status);
	status = zeDeviceGet(diff->driver, &count, &diff->device);
	if (status || count != 1)
		diff_give_up(diff, "device", status);
	status = zeContextCreate(diff->driver, &desc, &diff->context);
	if (status)
		diff_give_up(diff, "context", status);
}

void diff_end_session(struct diff *diff)
{
	diff_say(diff, "end-context", "%#x", zeContextDestroy(diff->context));
}

/* Of loaders 1.9 and later. */
typedef ze_result_t(ZE_APICALL *get_last_error_fn)(ze_driver_handle_t driver, const char **text);

void diff_print_status(const struct diff *diff, ze_result_t status)
{
	get_last_error_fn get = (get_last_error_fn)dlsym(RTLD_DEFAULT,
							 "zeDriverGetLastErrorDescription");
	const char *text = NULL;

	printf(" %#x", status);
	if (status && get && !get(diff->driver, &text) && text) {
		printf(" ");
		diff_print_text(text, strlen(text));
	}
}

bool diff_natives;

/* The module and its log give way to those of its native, if it has one. */
static ze_result_t make_native(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_module_desc_t *desc, ze_module_handle_t *module,
			       ze_module_build_log_handle_t *log)
{
	ze_module_desc_t of_native = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_NATIVE,
		.pBuildFlags = desc->pBuildFlags,
	};
	uint8_t *native = diff_native(*module, &of_native.inputSize);
	ze_result_t status;

	if (!native)
		return ZE_RESULT_SUCCESS;
	of_native.pInputModule = native;
	/* What they answer is the second ones' affair. */
	if (log && *log)
		(void)zeModuleBuildLogDestroy(*log);
	(void)zeModuleDestroy(*module);
	status = zeModuleCreate(context, device, &of_native, module, log);
	free(native);
	return status;
}

ze_result_t diff_create(ze_context_handle_t context, ze_device_handle_t device,
			const ze_module_desc_t *desc, ze_module_handle_t *module,
			ze_module_build_log_handle_t *log)
{
	ze_result_t status = zeModuleCreate(context, device, desc, module, log);

	if (!diff_natives || status || desc->format != ZE_MODULE_FORMAT_IL_SPIRV)
		return status;
	return make_native(context, device, desc, module, log);
}

ze_module_desc_t diff_desc(const char *il, const char *flags)
{
	return (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = diff_il(il)->size,
		.pInputModule = diff_il(il)->words,
		.pBuildFlags = flags,
	};
}

static void print_log(ze_module_build_log_handle_t log)
{
	size_t size = 0;
	char *text;

	printf(" log");
	if (!log) {
		printf(" none");
		return;
	}
	printf(" %#x", zeModuleBuildLogGetString(log, &size, NULL));
	text = calloc(1, size + 1);
	if (!text)
		exit(2);
	printf(" %#x size %zu ", zeModuleBuildLogGetString(log, &size, text), size);
	diff_print_text(text, size);
	free(text);
}

struct diff_made diff_make(const struct diff *diff, const char *name, const ze_module_desc_t *desc)
{
	struct diff_made made = { 0 };

	made.status = diff_create(diff->context, diff->device, desc, &made.module, &made.log);
	diff_open(diff, diff_name(3, name, "build"));
	diff_print_status(diff, made.status);
	print_log(made.log);
	diff_close();
	/* Which of a failure's handles are written differs, and none may be used. */
	if (made.status)
		made.module = NULL;
	return made;
}

ze_module_handle_t diff_module(const struct diff *diff, const char *il, const char *flags)
{
	const ze_module_desc_t desc = diff_desc(il, flags);
	ze_module_handle_t module = NULL;

	if (diff_create(diff->context, diff->device, &desc, &module, NULL))
		return NULL;
	return module;
}

void diff_unmake(const struct diff *diff, const char *name, struct diff_made *made)
{
	diff_open(diff, name);
	if (made->log)
		printf(" log %#x", zeModuleBuildLogDestroy(made->log));
	if (made->module)
		printf(" module %#x", zeModuleDestroy(made->module));
	diff_close();
	*made = (struct diff_made){ 0 };
}

uint8_t *diff_native(ze_module_handle_t module, size_t *ret_size)
{
	size_t size = 0;
	uint8_t *native;

	if (zeModuleGetNativeBinary(module, &size, NULL) || size == 0)
		return NULL;
	native = malloc(size);
	if (!native || zeModuleGetNativeBinary(module, &size, native)) {
		free(native);
		return NULL;
	}
	*ret_size = size;
	return native;
}
