/* SPDX-License-Identifier: MIT */
/*
 * diff_scripts: subjects as words (client_script.c, and those below). States: all that can be asked of a
 * program in each. Links: compiling with embedded headers, linking of objects and libraries. Relinks:
 * links whose inputs come from the cache while the links are new: with other options and in another
 * order, of a library, of objects that the application brought as binaries; what stands before
 * "prepared" is all that a process before has done.
 */
#include "tests/opencl/differential.h"
#include "tests/support/words.h"

static struct diff *diff;

static void say(const char *name, const char *text)
{
	diff_say(diff, name, "%s", text);
}

static const char *joined(const char *prefix, const char *name)
{
	static char text[64];

	(void)snprintf(text, sizeof(text), "%s%s", prefix, name);
	return text;
}

/* What a word about a program is followed by; false: there is none. */
struct about {
	cl_program program;
	cl_int error;		/* of the link that it came from */
	const char *prefix;
};

static bool is_about(char *value, struct about *ret)
{
	ret->program = client_script_program(&value, &ret->error);
	ret->prefix = value ? value : "";
	return ret->program != NULL;
}

/* all P [PREFIX]; asked P PREFIX: of its build for the first device alone; program P: nothing of builds. */
WORD(all)
{
	struct about about;

	if (is_about(value, &about))
		diff_ask_all(diff, about.prefix, about.program);
}

WORD(asked)
{
	struct about about;

	if (is_about(value, &about))
		diff_ask_build(diff, about.prefix, about.program, diff->cl.devices[0]);
}

WORD(program)
{
	struct about about;

	if (is_about(value, &about))
		diff_ask_program(diff, about.prefix, about.program);
}

WORD(badly)
{
	struct about about;

	if (is_about(value, &about))
		diff_ask_binaries_badly(diff, about.prefix, about.program);
}

/* names P [PREFIX]: its kernel "value" and others that it has not. */
WORD(names)
{
	struct about about;

	if (is_about(value, &about))
		diff_ask_names(diff, about.prefix, about.program, "value");
}

/* leave P...: releases them after saying their counts. */
WORD(leave)
{
	while (value) {
		cl_int error;
		cl_program program = client_script_program(&value, &error);

		if (program)
			diff_say_release(diff, client_script_label("release"), program);
	}
}

/* answers K P: of a kernel. */
WORD(answers)
{
	cl_kernel kernel = client_script_kernel(&value);
	struct about about;

	if (is_about(value, &about))
		diff_ask_kernel(diff, "", kernel, about.program);
}

/* linked P [PREFIX]: a link's answers, its kernel's value, and its end. */
WORD(linked)
{
	struct about about;
	cl_kernel kernel;

	if (!is_about(value, &about))
		return;
	diff_ask_all(diff, about.prefix, about.program);
	kernel = about.error ? NULL : clCreateKernel(about.program, "value", &about.error);
	diff_say(diff, joined(about.prefix, "value"), "%d %d", about.error,
		 kernel ? diff_value(diff, kernel) : -2);
	if (kernel)
		diff_say(diff, joined(about.prefix, "end"), "%d", clReleaseKernel(kernel));
	diff_say(diff, joined(about.prefix, "end"), "%d", clReleaseProgram(about.program));
}

/* relinked P [PREFIX]: the same with everything about the kernel. */
WORD(relinked)
{
	struct about about;
	cl_kernel kernel;
	cl_int error = 77;

	if (!is_about(value, &about))
		return;
	diff_ask_all(diff, about.prefix, about.program);
	diff_ask_names(diff, about.prefix, about.program, "value");
	kernel = clCreateKernel(about.program, "value", &error);
	diff_say(diff, joined(about.prefix, "create"), "%d %s", error, kernel ? "K" : "none");
	if (kernel) {
		diff_ask_kernel(diff, about.prefix, kernel, about.program);
		diff_ask_arguments(diff, about.prefix, kernel);
		diff_ask_groups(diff, about.prefix, kernel, diff->cl.devices[0]);
		diff_say(diff, joined(about.prefix, "value"), "%d", diff_value(diff, kernel));
		(void)clReleaseKernel(kernel);	/* was asked above */
	}
	(void)clReleaseProgram(about.program);	/* likewise */
}

WORD(prepared)
{
	diff_prepared(diff);
}

static void built_in(struct diff *of)
{
	char names[4096] = "";
	cl_program program;
	cl_int error = clGetDeviceInfo(of->cl.devices[0], CL_DEVICE_BUILT_IN_KERNELS, sizeof(names),
				       names, NULL);

	diff_open(of, "names");
	printf(" %d ", error);
	diff_print_text(names, strlen(names));
	diff_close();
	if (!*names)
		return;
	names[strcspn(names, ";")] = '\0';
	program = clCreateProgramWithBuiltInKernels(of->cl.context, 1, of->cl.devices, names,
						    &error);
	diff_say(of, "create", "%d %s", error, program ? "P" : "none");
	if (!program)
		return;
	diff_ask_program(of, "", program);
	diff_ask_build(of, "", program, of->cl.devices[0]);
	diff_say(of, "build", "%d", client_build(program, ""));
	diff_say(of, "release", "%d", clReleaseProgram(program));
}

struct words_subject {
	const char *name, *words;
	void (*run)(struct diff *diff);		/* where there are no words */
	bool own_session;
};

#define SUBJECT(name, words) { name, words, NULL, false }

#define AFTER_BUILD(options) "source a | build a " options " | all a | release a"
#define AFTER_LINK(options) \
	"source o | compiled o -DK=3 | @link link a o " options " | all a | badly a | release a o"
#define TURN(n, options) "@build-" n " build a " options " | asked a after-" n "- | "
#define FAILS(n) "source a | @build-" n " build a -DK=5 -DFAIL | all a program-" n "- | release a"
#define WARNED(options) "source a = #warning beware\n" \
	"kernel void value(global int *out) { int unused; out[0] = 1; }\n | build a " options \
	" | all a | release a"

static const struct words_subject states[] = {
	SUBJECT("unbuilt", "source a | all a | badly a | release a"),
	SUBJECT("built", "source a | built a -DK=3 -cl-kernel-arg-info | all a | badly a | release a"),
	SUBJECT("built-spaces", AFTER_BUILD("  -D K=3   -cl-mad-enable ")),
	SUBJECT("failed", AFTER_BUILD("-DK=3 -DFAIL")),
	SUBJECT("bad-option", AFTER_BUILD("-DK=3 -no-such-option")),
	SUBJECT("bad-standard", AFTER_BUILD("-DK=3 -cl-std=CL9.9")),
	SUBJECT("undefined-name", "source a | build a | all a | release a"),
	SUBJECT("empty-options", AFTER_BUILD("\"\"")),
	SUBJECT("quoted-options", AFTER_BUILD("-DK=3 \"-DL=a b\"")),
	/* Built with each of the options in turn, and asked after the last. */
	SUBJECT("rebuilt", "source a | " TURN("0", "-DK=3") TURN("1", "-DK=4 -cl-fast-relaxed-math")
		TURN("2", "-DK=3") "program a | release a"),
	SUBJECT("built-then-failed", "source a | " TURN("0", "-DK=3") TURN("1", "-DK=3 -DFAIL")
		"program a | release a"),
	SUBJECT("failed-then-built", "source a | " TURN("0", "-DK=3 -DFAIL") TURN("1", "-DK=3")
		"program a | release a"),
	SUBJECT("failed-twice", "source a | " TURN("0", "-DK=3 -DFAIL") TURN("1", "-DK=3 -DFAIL")
		TURN("2", "-DK=4 -DFAIL") "program a | release a"),
	SUBJECT("bad-then-built", "source a | " TURN("0", "-DK=3") TURN("1", "-no-such-option")
		TURN("2", "-DK=3") "program a | release a"),
	SUBJECT("two-that-fail", FAILS("0") " | " FAILS("1")),
	SUBJECT("compiled", "source a | compile a -DK=3 -cl-mad-enable | all a | release a"),
	SUBJECT("compile-failed", "source a | compile a -DK=3 -DFAIL | "
		"@compile-again compile a -DK=3 -DFAIL | all a | release a"),
	SUBJECT("compiled-after-build", "source a | built a -DK=3 | compile a -DK=4 | all a | release a"),
	SUBJECT("compiled-after-failure", "source a | build a -DK=3 -DFAIL | compile a -DK=4 | all a | release a"),
	SUBJECT("built-after-compile", "source a | compiled a -DK=3 | build a -DK=4 | all a | release a"),
	SUBJECT("linked", "source o | compiled o -DK=3 | link a o | all a | badly a | release a o"),
	SUBJECT("linked-with-options", AFTER_LINK("-cl-fast-relaxed-math")),
	SUBJECT("linked-badly", AFTER_LINK("-no-such-option")),
	SUBJECT("library", AFTER_LINK("-create-library")),
	SUBJECT("of-binary", "source a | built a -DK=3 | @create load b a | all b unbuilt- | "
		"build b -DK=9 | all b built- | release b a"),
	{ "built-in", NULL, built_in, false },
	SUBJECT("warnings", WARNED("\"\"")),
	SUBJECT("no-warnings", WARNED("-w")),
	SUBJECT("warnings-as-errors", WARNED("-Werror")),
	{ NULL, NULL, NULL, false },
};

#define FUNCTION "int add(int a) { return a + K; }\n"
#define USER "int add(int a);\nkernel void value(global int *out) { out[0] = add(30); }\n"
#define HEADERS_USER "#include \"embedded/value.h\"\nkernel void value(global int *out) { out[0] = VALUE; }\n"

static const struct words_subject links[] = {
	/* Its header includes a second one; then the first is another. */
	SUBJECT("embedded-headers", "source h = #include \"embedded/number.h\"\n#define VALUE NUMBER\n | "
		"source n = #define NUMBER 21\n | source i = #define VALUE 22\n | source p = "
		HEADERS_USER " | headers h=embedded/value.h n=embedded/number.h | compile p \"\" | "
		"all p compiled- | link l p \"\" | linked l | headers i=embedded/value.h | "
		"@compile-again compile p \"\" | @again-link link l p \"\" | linked l again- | "
		"leave h n i p"),
	SUBJECT("embedded-missing", "source h = #define VALUE 1\n | source p = " HEADERS_USER " | "
		"headers h=embedded/other.h | compile p \"\" | headers h=embedded/other.h | "
		"@compile-again compile p \"\" | all p | leave h p"),
	SUBJECT("two-objects", "source f = " FUNCTION " | compiled f -DK=7 | source u = " USER " | "
		"compiled u | link l f,u | linked l | @again-link link l f,u | linked l again- | "
		"compile f -DK=8 | @changed-link link l f,u | linked l changed- | leave f u"),
	/* A kernel of what was linked with a library outlives it all. */
	SUBJECT("with-library", "source o = " FUNCTION " | compiled o -DK=9 | source u = " USER " | "
		"compiled u \"\" | link b o -create-library | has b | all b library- | link l u,b \"\" | "
		"has l | kernel k l value | @release-object release o | leave u b | "
		"@release-linked leave l | compute k | answers k l | drop k"),
	/* Nobody has the function; then twice the same one is there. */
	SUBJECT("unresolved", "source u = " USER " | compiled u \"\" | link l u \"\" | linked l | "
		"source f = " FUNCTION " | compiled f -DK=1 | source g = " FUNCTION " | "
		"compiled g -DK=2 | @twice-link link l u,f,g \"\" | linked l twice- | leave u f g"),
	/* What a linked program refuses. */
	SUBJECT("linked-again", "source o | compiled o -DK=3 | link l o \"\" | has l | build l -DK=4 | "
		"compile l \"\" | all l | @release-linked leave l | leave o"),
	{ "misuse-link", NULL, diff_misuse_of_links, true },
	{ NULL, NULL, NULL, false },
};

#define PARTS "source f = " FUNCTION " | compiled f -DK=7 | source u = " USER " | compiled u \"\" | "
#define NEW_LINK(options) PARTS "prepared | link l f,u " options " | relinked l | all u object- | leave f u"

static const struct words_subject relinks[] = {
	SUBJECT("relink", PARTS "prepared | link l f,u | relinked l | all u object- | leave f u"),
	SUBJECT("relink-denormals", NEW_LINK("-cl-denorms-are-zero")),
	SUBJECT("relink-zeros", NEW_LINK("-cl-no-signed-zeros -cl-finite-math-only")),
	SUBJECT("relink-unsafe", NEW_LINK("-cl-unsafe-math-optimizations")),
	SUBJECT("relink-unknown", NEW_LINK("-no-such-option")),
	/* Linked before, in one order and without options. */
	SUBJECT("relink-other", PARTS "link l f,u \"\" | relinked l | prepared | "
		"@options link l f,u -cl-denorms-are-zero | relinked l options- | "
		"@turned link l u,f \"\" | relinked l turned- | leave f u"),
	SUBJECT("relink-one", "source o = kernel void value(global int *out) { out[0] = K; }\n | "
		"compiled o -DK=5 | prepared | link l o | relinked l | @again link l o | "
		"relinked l again- | leave o"),
	/* One object is a hit, and the other was never seen. */
	SUBJECT("relink-one-hit", "source u = " USER " | compiled u \"\" | prepared | source f = "
		FUNCTION " | compiled f -DK=11 | link l f,u \"\" | relinked l | leave f u"),
	/* An object that was a hit, then compiled anew with other options. */
	SUBJECT("relink-anew", PARTS "prepared | compile f -DK=12 | link l f,u \"\" | relinked l | "
		"leave f u"),
	SUBJECT("relink-new-library", PARTS "prepared | link b f -create-library | has b | "
		"all b library- | names b library- | link l b,u \"\" | relinked l | leave f u b"),
	/*
	 * The library is known, too; linked before with the second object, and with none; then a library of
	 * it.
	 */
	SUBJECT("relink-known-library", PARTS "link b f -create-library -enable-link-options | has b | "
		"prepared | link l b,u \"\" | relinked l | @options link l b,u -cl-denorms-are-zero | "
		"relinked l options- | @both link c b -create-library | leave c f u b"),
	SUBJECT("relink-function-binary", PARTS "prepared | devices 0 | load g f | has g | devices | "
		"asked g binary- | link l g,u \"\" | relinked l | names g binary- | leave f u g"),
	SUBJECT("relink-user-binary", PARTS "prepared | devices 0 | load g u | has g | devices | "
		"asked g binary- | link l f,g \"\" | relinked l | names g binary- | leave f u g"),
	SUBJECT("relink-both-binaries", PARTS "prepared | devices 0 | load g f | has g | load h u | "
		"has h | devices | link l g,h \"\" | relinked l | leave f u g h"),
	SUBJECT("relink-library-binary", PARTS "link b f -create-library | has b | prepared | "
		"devices 0 | load g b | has g | devices | link l g,u \"\" | relinked l | leave f u g b"),
	/* An executable that was a hit is no input; the objects beside it are. */
	SUBJECT("relink-executable", "source e = kernel void other(global int *out) { out[0] = K; }\n | "
		"built e -DK=3 | source u = " USER " | compiled u \"\" | prepared | link l u,e \"\" | "
		"relinked l | leave u e"),
	{ NULL, NULL, NULL, false },
};

static const struct words_subject *group;

static void run(struct diff *of)
{
	const struct words_subject *subject = group;

	while (strcmp(subject->name, of->running.subject) != 0)
		subject++;
	diff = of;
	client_script_sayer = say;
	of->cl.script = subject->words;
	client_run_script(&of->cl);
}

/* The subjects of a group; one at a time is used. */
static const struct diff_subject *subjects_of(const struct words_subject *of)
{
	static struct diff_subject subjects[64];
	size_t count = 0;

	group = of;
	for (; of->name; of++)
		subjects[count++] = (struct diff_subject){ of->name, of->run ? of->run : run,
							   of->own_session };
	subjects[count] = (struct diff_subject){ NULL, NULL, false };
	return subjects;
}

const struct diff_subject *diff_states(void) { return subjects_of(states); }
const struct diff_subject *diff_links(void) { return subjects_of(links); }
const struct diff_subject *diff_relinks(void) { return subjects_of(relinks); }
