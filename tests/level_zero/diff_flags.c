/* SPDX-License-Identifier: MIT */
/* diff_flags: modules of SPIR-V with each build flag, and what their binaries become. */
#include "tests/level_zero/differential.h"

static void ask_all(struct diff *diff, const char *il, const char *flags)
{
	const ze_module_desc_t desc = diff_desc(il, flags);
	struct diff_made made = diff_make(diff, "create", &desc);

	if (made.module)
		diff_ask_module(diff, "module", made.module);
	diff_unmake(diff, "destroy", &made);
}

static void plain(struct diff *diff) { ask_all(diff, "plain", NULL); }
static void optimized_less(struct diff *diff) { ask_all(diff, "plain", "-ze-opt-disable"); }
static void large_registers(struct diff *diff) { ask_all(diff, "plain", "-ze-opt-large-register-file"); }
static void debuggable(struct diff *diff) { ask_all(diff, "plain", "-g"); }
static void fp64(struct diff *diff) { ask_all(diff, "fp64", NULL); }

/* The small module with each of them: status, log and what its kernel is like. */
static void each_flag(struct diff *diff)
{
	static const char *const flags[] = {
		"", " ", "-ze-opt-disable", "-ze-opt-level=0", "-ze-opt-level=1", "-ze-opt-level=2",
		"-ze-opt-level=O2", "-ze-opt-level=9", "-ze-opt-level", "-ze-opt-large-register-file",
		"-ze-intel-has-buffer-offset-arg", "-ze-opt-has-buffer-offset-arg",
		"-ze-opt-greater-than-4GB-buffer-required", "-ze-kernel-debug-enable", "-g",
		"-g -ze-opt-disable", "-cl-fast-relaxed-math", "-cl-opt-disable", "-cl-mad-enable",
		"-cl-intel-greater-than-4GB-buffer-required", "-cl-intel-256-GRF-per-thread",
		"-cl-intel-allow-zebin", "-cl-intel-disable-zebin", "-library-compilation",
		"-ze-take-global-address", "-zet-profile-flags 0x1", "-Wno-everything",
		"-DX=1", "-vc-codegen", "-there-is-no-such-flag", "no flag at all",
		"-ze-opt-disable -ze-opt-large-register-file",
		"-ze-opt-large-register-file  -ze-opt-disable",
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const ze_module_desc_t desc = diff_desc("one", flags[i]);
		char prefix[16];
		struct diff_made made;

		(void)snprintf(prefix, sizeof(prefix), "flags-%zu", i);
		diff_say(diff, prefix, "[%s]", flags[i]);
		made = diff_make(diff, diff_name(1, prefix, "create"), &desc);
		if (made.module)
			diff_ask_module(diff, prefix, made.module);
		diff_unmake(diff, diff_name(1, prefix, "destroy"), &made);
	}
}

/* What an application with a cache of its own does: the binary is asked for and given back. */
static void ask_native_of(struct diff *diff, const char *il, const char *flags)
{
	ze_module_handle_t module = diff_module(diff, il, flags);
	ze_module_desc_t desc = diff_desc(il, flags);
	uint8_t *native, *again;
	size_t size = 0, again_size = 0;
	struct diff_made made;

	if (!module)
		diff_give_up(diff, il, 1);
	native = diff_native(module, &size);
	diff_say(diff, "destroy-first", "%#x", zeModuleDestroy(module));
	if (!native)
		diff_give_up(diff, "native", 1);
	desc.format = ZE_MODULE_FORMAT_NATIVE;
	desc.inputSize = size;
	desc.pInputModule = native;
	made = diff_make(diff, "create", &desc);
	if (made.module) {
		again = diff_native(made.module, &again_size);
		diff_say(diff, "native-of-native", "%s", again ? "some" : "none");
		free(again);
		diff_ask_module(diff, "module", made.module);
	}
	diff_unmake(diff, "destroy", &made);
	free(native);
}

static void native(struct diff *diff) { ask_native_of(diff, "plain", NULL); }
static void native_of_library(struct diff *diff) { ask_native_of(diff, "twice", "-library-compilation"); }

const struct diff_subject diff_flags[] = {
	{ "plain", plain, false },
	{ "optimized-less", optimized_less, false },
	{ "large-registers", large_registers, false },
	{ "debuggable", debuggable, false },
	{ "fp64", fp64, false },
	{ "each-flag", each_flag, false },
	{ "native", native, false },
	{ "native-of-library", native_of_library, false },
	{ NULL, NULL, false },
};
