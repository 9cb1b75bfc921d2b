/* SPDX-License-Identifier: MIT */
/* diff_lives: modules made again, of two contexts and of parts of a device, and who goes first. */
#include "tests/level_zero/differential.h"

static ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name)
{
	const ze_kernel_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = name,
	};
	ze_kernel_handle_t kernel = NULL;

	return zeKernelCreate(module, &desc, &kernel) ? NULL : kernel;
}

/* Each module has its own handle and variables, and each kernel its own arguments. */
static void made_again(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("plain", NULL);
	struct diff_made made[3];
	void *pointers[3] = { NULL };
	bool alike;

	for (int i = 0; i < 3; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "create-%d", i);
		made[i] = diff_make(diff, name, &desc);
		if (!made[i].module)
			diff_give_up(diff, name, made[i].status);
		if (zeModuleGetGlobalPointer(made[i].module, "counter", NULL, &pointers[i]))
			pointers[i] = NULL;
	}
	alike = made[0].module == made[1].module || made[1].module == made[2].module;
	diff_say(diff, "handles", "%s", alike ? "shared" : "apart");
	alike = pointers[0] == pointers[1] || pointers[1] == pointers[2];
	diff_say(diff, "variables", "%s", alike ? "shared" : "apart");
	diff_unmake(diff, "destroy-0", &made[0]);
	diff_ask_module(diff, "second", made[1].module);
	diff_unmake(diff, "destroy-1", &made[1]);
	diff_ask_module(diff, "third", made[2].module);
	diff_unmake(diff, "destroy-2", &made[2]);
	made[0] = diff_make(diff, "create-after", &desc);
	if (made[0].module)
		diff_ask_surface(diff, "after", made[0].module);
	diff_unmake(diff, "destroy-after", &made[0]);
}

/* Alternately with flags and without: none is answered with another's. */
static void in_turns(struct diff *diff)
{
	static const char *const flags[] = {
		NULL, "-ze-opt-disable", "", "-ze-opt-large-register-file", NULL, "-ze-opt-disable",
		"-ze-opt-large-register-file",
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		ze_module_handle_t module = diff_module(diff, "spilling", flags[i]);
		ze_kernel_properties_t properties = {
			.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES,
		};
		ze_kernel_handle_t kernel = module ? kernel_of(module, "spilling") : NULL;
		char name[16];

		(void)snprintf(name, sizeof(name), "turn-%zu", i);
		if (!kernel)
			diff_give_up(diff, name, 1);
		(void)zeKernelGetProperties(kernel, &properties);	/* zeros show it */
		diff_say(diff, name, "%s subgroup %u private %u spill %u",
			 flags[i] ? flags[i] : "NULL", properties.maxSubgroupSize,
			 properties.privateMemSize, properties.spillMemSize);
	}
}

static void two_contexts(struct diff *diff)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_module_desc_t module_desc = diff_desc("plain", NULL);
	struct diff other = *diff;
	struct diff_made here = diff_make(diff, "here", &module_desc), there;
	ze_result_t status = zeContextCreate(diff->driver, &desc, &other.context);

	diff_say(diff, "context", "%#x", status);
	if (status)
		return;
	there = diff_make(&other, "there", &module_desc);
	if (there.module)
		diff_ask_surface(diff, "there", there.module);
	diff_unmake(diff, "destroy-there", &there);
	diff_say(diff, "destroy-context", "%#x", zeContextDestroy(other.context));
	if (here.module)
		diff_ask_module(diff, "here", here.module);
	diff_unmake(diff, "destroy-here", &here);
}

static void context_ex(struct diff *diff)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_module_desc_t module_desc = diff_desc("one", NULL);
	struct diff other = *diff;
	struct diff_made made;
	ze_result_t status = zeContextCreateEx(diff->driver, &desc, 1, &diff->device,
					       &other.context);

	diff_say(diff, "context", "%#x", status);
	if (status)
		return;
	made = diff_make(&other, "create", &module_desc);
	if (made.module)
		diff_ask_module(diff, "module", made.module);
	diff_unmake(diff, "destroy", &made);
	diff_say(diff, "destroy-context", "%#x", zeContextDestroy(other.context));
}

static void make_on(const struct diff *diff, const char *kind, uint32_t count,
		    const ze_device_handle_t *devices)
{
	const ze_module_desc_t desc = diff_desc("plain", NULL);

	for (uint32_t i = 0; i < count && i < DIFF_MAX_DEVICES; i++) {
		struct diff part = *diff;
		struct diff_made made;
		char name[16];

		part.device = devices[i];
		(void)snprintf(name, sizeof(name), "%s-%u", kind, i);
		made = diff_make(&part, name, &desc);
		if (made.module)
			diff_ask_surface(diff, name, made.module);
		diff_unmake(diff, diff_name(1, name, "destroy"), &made);
	}
}

/* The Intel driver's debug keys can show more devices than there are. */
static void start_with(struct diff *diff, const char *key)
{
	if (setenv(key, "2", 1))
		exit(2);
	diff_start_session(diff);
}

static void subdevices(struct diff *diff)
{
	ze_device_handle_t handles[DIFF_MAX_DEVICES];
	uint32_t count = DIFF_MAX_DEVICES;
	ze_result_t status;

	start_with(diff, "CreateMultipleSubDevices");
	status = zeDeviceGetSubDevices(diff->device, &count, handles);
	diff_say(diff, "parts", "%#x count %u", status, count);
	if (status)
		return;
	make_on(diff, "whole", 1, &diff->device);
	make_on(diff, "part", count, handles);
	diff_end_session(diff);
}

static void devices(struct diff *diff)
{
	ze_device_handle_t handles[DIFF_MAX_DEVICES];
	uint32_t count = 0;
	ze_result_t status;

	start_with(diff, "CreateMultipleRootDevices");
	/* Asked for their count first: the driver leaves one that is too large as it is. */
	status = zeDeviceGet(diff->driver, &count, NULL);
	if (!status && count <= DIFF_MAX_DEVICES)
		status = zeDeviceGet(diff->driver, &count, handles);
	diff_say(diff, "devices", "%#x count %u", status, count);
	if (status || count > DIFF_MAX_DEVICES)
		return;
	make_on(diff, "device", count, handles);
	diff_end_session(diff);
}

static void endings(struct diff *diff)
{
	SURVIVE(diff, "contexts-again") {
		const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };

		for (int i = 0; i < 4; i++) {
			struct diff other = *diff;
			ze_module_handle_t module;

			printf(" %#x", zeContextCreate(diff->driver, &desc, &other.context));
			module = diff_module(&other, "one", NULL);
			printf(" %s", module ? "module" : "none");
			printf(" %#x", zeModuleDestroy(module));
			printf(" %#x", zeContextDestroy(other.context));
		}
	}
	SURVIVE(diff, "init-again") {
		ze_module_handle_t module;

		printf(" %#x", zeInit(0));
		printf(" %#x", zeInit(ZE_INIT_FLAG_GPU_ONLY));
		module = diff_module(diff, "one", NULL);
		printf(" %s", module ? "module" : "none");
		printf(" %#x", zeInit(0));
		printf(" %#x", zeModuleDestroy(module));
	}
	SURVIVE(diff, "kernel-outlives-module") {
		ze_module_handle_t module = diff_module(diff, "plain", NULL);
		ze_kernel_handle_t kernel = kernel_of(module, "scale");

		printf(" %s", kernel ? "kernel" : "none");
		/* The driver frees the module's kernels with it: the kernel is not asked. */
		printf(" %#x", zeModuleDestroy(module));
	}
	SURVIVE(diff, "module-outlives-context") {
		ze_module_handle_t module = diff_module(diff, "one", NULL);

		printf(" %#x", zeContextDestroy(diff->context));
		printf(" %s", module ? "module" : "none");
	}
	SURVIVE(diff, "all-left") {
		ze_module_handle_t module = diff_module(diff, "one", NULL);

		printf(" %s", kernel_of(module, "one") ? "kernel" : "none");
	}
}

const struct diff_subject diff_lives[] = {
	{ "made-again", made_again, false },
	{ "in-turns", in_turns, false },
	{ "two-contexts", two_contexts, false },
	{ "context-ex", context_ex, false },
	{ "subdevices", subdevices, true },
	{ "devices", devices, true },
	{ "lives", endings, true },
	{ NULL, NULL, false },
};
