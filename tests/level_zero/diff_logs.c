/* SPDX-License-Identifier: MIT */
/* diff_logs: build logs of modules that succeed, warn and fail, and their misuses. */
#include "tests/level_zero/differential.h"

static void ask_log_of(struct diff *diff, const char *il, const char *flags)
{
	const ze_module_desc_t desc = diff_desc(il, flags);
	struct diff_made made = diff_make(diff, "create", &desc);

	if (made.log) {
		diff_ask_log(diff, "first", made.log);
		diff_ask_log(diff, "again", made.log);
	}
	if (made.module)
		diff_say(diff, "destroy-module", "%#x", zeModuleDestroy(made.module));
	made.module = NULL;
	if (made.log)
		diff_ask_log(diff, "without-module", made.log);
	diff_unmake(diff, "destroy", &made);
}

static void quiet(struct diff *diff) { ask_log_of(diff, "one", NULL); }
static void warning(struct diff *diff) { ask_log_of(diff, "spilling", NULL); }
static void warning_of_flag(struct diff *diff) { ask_log_of(diff, "one", "-there-is-no-such-flag"); }
static void unresolved(struct diff *diff) { ask_log_of(diff, "imports", NULL); }
static void without_fp64(struct diff *diff) { ask_log_of(diff, "fp64", NULL); }

/* Of two modules at once, each has its own. */
static void two_logs(struct diff *diff)
{
	const ze_module_desc_t loud = diff_desc("spilling", NULL), still = diff_desc("one", NULL);
	struct diff_made first = diff_make(diff, "first", &loud);
	struct diff_made second = diff_make(diff, "second", &still);
	struct diff_made third = diff_make(diff, "third", &loud);

	if (first.log)
		diff_ask_log(diff, "first", first.log);
	if (second.log)
		diff_ask_log(diff, "second", second.log);
	diff_unmake(diff, "destroy-second", &second);
	if (third.log)
		diff_ask_log(diff, "third", third.log);
	diff_unmake(diff, "destroy-first", &first);
	if (third.log)
		diff_ask_log(diff, "third-alone", third.log);
	diff_unmake(diff, "destroy-third", &third);
}

static struct diff_made make_quietly(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("spilling", NULL);
	struct diff_made made = { 0 };

	made.status = diff_create(diff->context, diff->device, &desc, &made.module, &made.log);
	printf(" %#x", made.status);
	return made;
}

static void misuses(struct diff *diff)
{
	SURVIVE(diff, "too-small") {
		static const size_t sizes[] = { 0, 1, 8 };
		struct diff_made made = make_quietly(diff);

		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			char text[1024];
			size_t size = sizes[i];

			memset(text, '~', sizeof(text));
			printf(" %#x", zeModuleBuildLogGetString(made.log, &size, text));
			printf(" size %zu ", size);
			diff_print_text(text, 16);
		}
	}
	SURVIVE(diff, "null-size") {
		struct diff_made made = make_quietly(diff);
		char text[1024] = "";

		printf(" %#x", zeModuleBuildLogGetString(made.log, NULL, text));
	}
	SURVIVE(diff, "null-log") {
		size_t size = 77;

		printf(" %#x", zeModuleBuildLogGetString(NULL, &size, NULL));
		printf(" size %zu", size);
	}
	SURVIVE(diff, "destroy-null")
		printf(" %#x", zeModuleBuildLogDestroy(NULL));
	SURVIVE(diff, "log-outlives-context") {
		struct diff_made made = make_quietly(diff);
		size_t size = 0;

		printf(" %#x", zeModuleDestroy(made.module));
		printf(" %#x", zeContextDestroy(diff->context));
		printf(" %#x", zeModuleBuildLogGetString(made.log, &size, NULL));
		printf(" size %zu", size);
		printf(" %#x", zeModuleBuildLogDestroy(made.log));
	}
}

const struct diff_subject diff_logs[] = {
	{ "log-quiet", quiet, false },
	{ "log-warning", warning, false },
	{ "log-of-flag", warning_of_flag, false },
	{ "log-unresolved", unresolved, false },
	{ "log-without-fp64", without_fp64, false },
	{ "logs", two_logs, false },
	{ "log-misuse", misuses, true },
	{ NULL, NULL, false },
};
