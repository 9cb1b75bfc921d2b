/* SPDX-License-Identifier: MIT */
/* diff_links: modules with imports and exports: linked, inspected, and asked before and after. */
#include "tests/level_zero/differential.h"

static const char library[] = "-library-compilation";

struct parts {
	ze_module_handle_t imports, twice, thrice;
};

static struct parts make_parts(struct diff *diff)
{
	struct parts parts = {
		.imports = diff_module(diff, "imports", library),
		.twice = diff_module(diff, "twice", library),
		.thrice = diff_module(diff, "thrice", library),
	};

	diff_say(diff, "parts", "%s %s %s", parts.imports ? "imports" : "none",
		 parts.twice ? "twice" : "none", parts.thrice ? "thrice" : "none");
	if (!parts.imports || !parts.twice || !parts.thrice)
		diff_give_up(diff, "parts", 1);
	return parts;
}

static void say_kernel(const struct diff *diff, const char *name, ze_module_handle_t module,
		       const char *kernel_name)
{
	const ze_kernel_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = kernel_name,
	};
	ze_kernel_handle_t kernel = NULL;
	ze_result_t status = zeKernelCreate(module, &desc, &kernel);

	diff_say(diff, name, "%#x", status);
	if (status)
		return;
	diff_ask_kernel(diff, name, kernel);
	diff_say(diff, diff_name(1, name, "destroy"), "%#x", zeKernelDestroy(kernel));
}

static void link_and_ask(struct diff *diff, uint32_t count, ze_module_handle_t *modules)
{
	ze_module_build_log_handle_t log = NULL;
	ze_result_t status = zeModuleDynamicLink(count, modules, &log);

	diff_say(diff, "link", "%#x log %s", status, log ? "some" : "none");
	if (!log)
		return;
	diff_ask_log(diff, "link", log);
	diff_say(diff, "link-log-destroy", "%#x", zeModuleBuildLogDestroy(log));
}

static void ask_parts(struct diff *diff, const struct parts *parts)
{
	diff_ask_surface(diff, "imports", parts->imports);
	diff_ask_surface(diff, "twice", parts->twice);
	diff_ask_surface(diff, "thrice", parts->thrice);
	say_kernel(diff, "twice-twice_of", parts->twice, "twice_of");
	/* Last: dg2's driver ends the process when it makes a kernel that calls functions. */
	say_kernel(diff, "imports-needs", parts->imports, "needs");
}

static void unmake_parts(struct diff *diff, const struct parts *parts)
{
	diff_open(diff, "destroy");
	printf(" %#x", zeModuleDestroy(parts->imports));
	printf(" %#x", zeModuleDestroy(parts->twice));
	printf(" %#x", zeModuleDestroy(parts->thrice));
	diff_close();
}

static void unlinked(struct diff *diff)
{
	struct parts parts = make_parts(diff);

	ask_parts(diff, &parts);
	unmake_parts(diff, &parts);
}

static void linked(struct diff *diff)
{
	struct parts parts = make_parts(diff);
	ze_module_handle_t modules[] = { parts.imports, parts.twice, parts.thrice };

	link_and_ask(diff, 3, modules);
	ask_parts(diff, &parts);
	unmake_parts(diff, &parts);
}

static void linked_backwards(struct diff *diff)
{
	struct parts parts = make_parts(diff);
	ze_module_handle_t modules[] = { parts.thrice, parts.twice, parts.imports };

	link_and_ask(diff, 3, modules);
	link_and_ask(diff, 3, modules);
	ask_parts(diff, &parts);
	unmake_parts(diff, &parts);
}

static void linked_in_part(struct diff *diff)
{
	struct parts parts = make_parts(diff);
	ze_module_handle_t modules[] = { parts.imports, parts.twice, parts.thrice };

	link_and_ask(diff, 2, modules);
	diff_ask_surface(diff, "imports", parts.imports);
	link_and_ask(diff, 3, modules);
	say_kernel(diff, "imports-needs", parts.imports, "needs");
	unmake_parts(diff, &parts);
}

/* The binary is that of the module before it was linked: it can be linked again. */
static void natives_linked(struct diff *diff)
{
	static const char *const names[] = { "imports", "twice", "thrice" };
	struct parts parts = make_parts(diff);
	ze_module_handle_t modules[] = { parts.imports, parts.twice, parts.thrice };
	ze_module_handle_t of_natives[3] = { NULL };

	link_and_ask(diff, 3, modules);
	for (int i = 0; i < 3; i++) {
		ze_module_desc_t desc = diff_desc(names[i], library);
		size_t size = 0;
		uint8_t *native = diff_native(modules[i], &size);
		struct diff_made made;

		if (!native)
			diff_give_up(diff, names[i], 1);
		desc.format = ZE_MODULE_FORMAT_NATIVE;
		desc.inputSize = size;
		desc.pInputModule = native;
		made = diff_make(diff, diff_name(1, "native", names[i]), &desc);
		of_natives[i] = made.module;
		free(native);
		if (made.log)
			(void)zeModuleBuildLogDestroy(made.log);	/* the subject is a link */
		if (!made.module)
			return;
	}
	unmake_parts(diff, &parts);
	parts = (struct parts){ of_natives[0], of_natives[1], of_natives[2] };
	link_and_ask(diff, 3, of_natives);
	say_kernel(diff, "after", parts.imports, "needs");
	unmake_parts(diff, &parts);
}

static void print_inspection(struct diff *diff, uint32_t count, ze_module_handle_t *modules)
{
	static const ze_linkage_inspection_ext_flags_t flags[] = {
		ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS,
		ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS,
		ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS, 7, 0,
	};

	(void)diff;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		ze_linkage_inspection_ext_desc_t desc = {
			.stype = ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC,
			.flags = flags[i],
		};
		ze_module_build_log_handle_t log = NULL;
		char text[2048] = "";
		size_t size = sizeof(text);

		printf(" %#x", zeModuleInspectLinkageExt(&desc, count, modules, &log));
		if (log) {
			printf(" %#x", zeModuleBuildLogGetString(log, &size, text));
			printf(" size %zu ", size);
			diff_print_text(text, size < sizeof(text) ? size : sizeof(text));
			printf(" %#x", zeModuleBuildLogDestroy(log));
		}
	}
}

static void misuses(struct diff *diff)
{
	SURVIVE(diff, "inspect-all") {
		ze_module_handle_t modules[] = {
			diff_module(diff, "imports", library), diff_module(diff, "twice", library),
			diff_module(diff, "thrice", library),
		};

		print_inspection(diff, 3, modules);
	}
	SURVIVE(diff, "inspect-one") {
		ze_module_handle_t module = diff_module(diff, "imports", library);

		print_inspection(diff, 1, &module);
	}
	SURVIVE(diff, "twice-the-same") {
		ze_module_handle_t twice = diff_module(diff, "twice", library);
		ze_module_handle_t modules[] = { twice, twice };

		printf(" %#x", zeModuleDynamicLink(2, modules, NULL));
	}
	SURVIVE(diff, "rivals") {
		ze_module_handle_t modules[] = {
			diff_module(diff, "twice", library), diff_module(diff, "twice", library),
		};

		printf(" %#x", zeModuleDynamicLink(2, modules, NULL));
	}
	SURVIVE(diff, "none")
		printf(" %#x", zeModuleDynamicLink(0, NULL, NULL));
	SURVIVE(diff, "null") {
		ze_module_handle_t modules[] = { diff_module(diff, "twice", library), NULL };

		printf(" %#x", zeModuleDynamicLink(2, modules, NULL));
	}
	/* What is made a second time links as the first did. */
	SURVIVE(diff, "made-twice") {
		for (int i = 0; i < 2; i++) {
			ze_module_handle_t modules[] = {
				diff_module(diff, "imports", library), diff_module(diff, "twice", library),
				diff_module(diff, "thrice", library),
			};

			printf(" %#x", zeModuleDynamicLink(3, modules, NULL));
		}
	}
}

const struct diff_subject diff_links[] = {
	{ "unlinked", unlinked, false },
	{ "linked", linked, false },
	{ "linked-backwards", linked_backwards, false },
	{ "linked-in-part", linked_in_part, false },
	{ "natives-linked", natives_linked, false },
	{ "link-misuse", misuses, true },
	{ NULL, NULL, false },
};
