/* SPDX-License-Identifier: MIT */
/*
 * client_script: what the words of scripts do (client_scripts.c and diff_scripts.c have their list).
 * Programs and kernels are named by letters. A word about a program that a link did not give does nothing,
 * nor does one about kernels where the link said that it failed. Each prints what the driver answers, under
 * its own name or, in the differential, that of a first word "@NAME".
 */
#include <stdarg.h>

#include "tests/opencl/client.h"
#include "tests/opencl/value_il.h"
#include "tests/support/named_il.h"
#include "tests/support/words.h"

enum { LETTERS = 26, MAX_LINE = 16384, PATIENCE_S = 60 };

static struct client *client;

/* Letters stand for what they did in scripts before. */
static struct {
	bool ended;
	struct {
		cl_program program;
		cl_int error;		/* of its link */
		cl_kernel kernel;
		cl_program owner;	/* of the kernel */
	} at[LETTERS];
	cl_uint device_count;		/* of builds, and their list; 0 and NULL: all */
	cl_device_id devices[CLIENT_MAX_DEVICES];
	const cl_device_id *list;
	/* Of the next call alone. */
	cl_uint header_count;
	cl_program headers[CLIENT_MAX_DEVICES];
	const char *names[CLIENT_MAX_DEVICES];
	const cl_program *header_list;
	const char **name_list;
	void (CL_CALLBACK *notify)(cl_program program, void *data);
	void *data;
} script;

static int called;		/* back, of links */
static const char *label;	/* of the running line, if it has one */
void (*client_script_sayer)(const char *name, const char *text);

static void say(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const char *name, const char *format, ...)
{
	va_list arguments;
	char text[256];

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (client_script_sayer)
		client_script_sayer(client_script_label(name), text);
	else
		printf("%s %s\n", name, text);
}

static char *next(char **rest)
{
	char *word = strsep(rest, " ");

	return word ? word : (char *)"";
}

static int letter(char **rest)
{
	const char *word = next(rest);

	if (word[0] < 'a' || word[0] > 'z')
		client_fail(word, 0);
	return word[0] - 'a';
}

#define PROGRAM(rest) (script.at[letter(&(rest))].program)

cl_program client_script_program(char **rest, cl_int *ret_error)
{
	int at = letter(rest);

	*ret_error = script.at[at].error;
	return script.at[at].program;
}

cl_kernel client_script_kernel(char **rest)
{
	return script.at[letter(rest)].kernel;
}

const char *client_script_label(const char *usual)
{
	return label ? label : usual;
}

/* What is left of the line: nothing: NULL; "" and the like without their quotes. */
static char *options_of(char *rest)
{
	size_t len = rest ? strlen(rest) : 0;

	if (len < 2 || rest[0] != '"')
		return len ? rest : NULL;
	rest[len - 1] = '\0';
	return rest + 1;
}

static void end_call(void)
{
	script.header_count = 0;
	script.header_list = NULL;
	script.name_list = NULL;
	script.notify = NULL;
	script.data = NULL;
}

/* What is behind "= ". */
static const char *text_of(const char *value, const char *usual)
{
	return value ? value + strlen("= ") : usual;
}

/* source P [= TEXT]: client_source without one. */
WORD(source)
{
	int at = letter(&value);

	script.at[at].program = client_program(client, text_of(value, client_source));
	script.at[at].error = CL_SUCCESS;
}

/* before P TEXT: that line, and then client_source. */
WORD(before)
{
	cl_program *program = &PROGRAM(value);
	char text[4096];

	(void)snprintf(text, sizeof(text), "%s\n%s", value, client_source);
	*program = client_program(client, text);
}

/* il P [= TEXT]: value_il without one. */
WORD(il)
{
	cl_program *program = &PROGRAM(value);
	cl_int error;

	*program = clCreateProgramWithIL(client->context, text_of(value, (const char *)value_il),
					 value ? strlen(text_of(value, "")) : sizeof(value_il), &error);
	printf("create %d\n", error);
}

/* named P FILE: value_il with that file's name. */
WORD(named)
{
	cl_program *program = &PROGRAM(value);
	size_t size;
	uint32_t *il = named_il(value_il, sizeof(value_il), value, &size);
	cl_int error;

	*program = clCreateProgramWithIL(client->context, il, size, &error);
	printf("create %d\n", error);
	free(il);
}

/* constant P VALUE|ID:SIZE:HEXADECIMAL */
WORD(constant)
{
	cl_program program = PROGRAM(value);

	client_print_constant(program, value, clSetProgramSpecializationConstant);
}

/* devices [N|-N|*|none|missing]...: of further builds; nothing: all. */
WORD(devices)
{
	script.device_count = 0;
	script.list = script.devices;
	while (value) {
		const char *word = next(&value);
		int number = atoi(word);

		if (!strcmp(word, "missing")) {
			script.device_count = 1;
			script.list = NULL;
		} else if (!strcmp(word, "*")) {
			script.device_count = client->device_count;
			script.list = client->devices;
		} else {
			script.devices[script.device_count++] = !strcmp(word, "none") ? NULL :
				client->devices[number < 0 ? (int)client->device_count + number : number];
		}
	}
	if (!script.device_count)
		script.list = NULL;
}

/* headers P=NAME...|missing|unnamed P: of the next compilation. */
WORD(headers)
{
	while (value) {
		char *word = next(&value);

		script.header_count++;
		if (!strcmp(word, "missing"))
			return;
		script.header_list = script.headers;
		if (!strcmp(word, "unnamed")) {
			script.header_count = 0;
			script.headers[0] = PROGRAM(value);
			return;
		}
		script.name_list = script.names;
		script.headers[script.header_count - 1] = script.at[word[0] - 'a'].program;
		script.names[script.header_count - 1] = word + 2;
	}
}

/* data: for a callback that the next call does not have. */
WORD(data)
{
	script.data = &called;
}

static void CL_CALLBACK note_link(cl_program program, void *data)
{
	(void)program;
	++*(int *)data;
}

/* notify: of the next link; called: how often. */
WORD(notify)
{
	script.notify = note_link;
	script.data = &called;
}

WORD(called)
{
	printf("called %d\n", called);
}

WORD(build)
{
	int at = letter(&value);

	if (script.at[at].program)
		say("build", "%d", clBuildProgram(script.at[at].program, script.device_count, script.list,
						  options_of(value), script.notify, script.data));
	script.at[at].error = CL_SUCCESS;
	end_call();
}

WORD(compile)
{
	cl_program program = PROGRAM(value);

	say("compile", "%d", clCompileProgram(program, script.device_count, script.list, options_of(value),
					      script.header_count, script.header_list, script.name_list,
					      script.notify, script.data));
	end_call();
}

/* link RESULT PROGRAM,... OPTIONS */
WORD(link)
{
	int at = letter(&value);
	cl_program inputs[LETTERS];
	cl_uint count = 0;
	const char *options;

	for (char *words = next(&value), *word; (word = strsep(&words, ",")) != NULL; )
		inputs[count++] = script.at[word[0] - 'a'].program;
	options = options_of(value);
	script.at[at].program = clLinkProgram(client->context, script.device_count, script.list, options,
					      count, inputs, script.notify, script.data,
					      &script.at[at].error);
	say(options && strstr(options, "-create-library") ? "library" : "link", "%d %s",
	    script.at[at].error, script.at[at].program ? "P" : "none");
	end_call();
}

/* built P OPTIONS, compiled P OPTIONS: without a word, or the scenario fails. */
WORD(built)
{
	cl_program program = PROGRAM(value);
	cl_int error = client_build(program, options_of(value));

	if (error)
		client_fail("build", error);
}

WORD(compiled)
{
	cl_program program = PROGRAM(value);
	cl_int error = client_compile(program, options_of(value));

	if (error)
		client_fail("compile", error);
}

/* has P: the script ends where there is none; needs P: or where the link that gave it failed. */
WORD(has)
{
	script.ended = !PROGRAM(value);
}

WORD(needs)
{
	int at = letter(&value);

	script.ended = !script.at[at].program || script.at[at].error;
}

static struct client_notice notice = CLIENT_NOTICE;
static cl_program noticed;

/* start P OPTIONS: a build that calls back; wait: for that; notice: what it said. */
WORD(start)
{
	cl_program program = PROGRAM(value);

	notice.calls = 0;
	notice.program = NULL;
	notice.status = CL_BUILD_NONE;
	notice.device = client->devices[0];
	noticed = program;
	printf("build %d\n", clBuildProgram(program, 0, NULL, value, client_notice_take, &notice));
}

WORD(wait)
{
	client_notice_wait(&notice, 1, PATIENCE_S);
	if (!notice.calls)
		client_fail("no callback", 0);
}

WORD(notice)
{
	printf("calls %d program is ours %d status %d\n", notice.calls, notice.program == noticed,
	       notice.status);
}

/* load P Q: P of Q's binaries, for the devices of builds. */
WORD(load)
{
	cl_program *loaded = &PROGRAM(value), from = PROGRAM(value);
	cl_uint count = script.device_count ? script.device_count : client->device_count;
	unsigned char *images[CLIENT_MAX_DEVICES];
	size_t sizes[CLIENT_MAX_DEVICES];
	cl_int status[CLIENT_MAX_DEVICES] = { 0 };
	cl_int error = client_take_binaries(from, client->device_count, sizes, images);

	if (error || !sizes[0])
		client_fail("CL_PROGRAM_BINARIES", error);
	*loaded = clCreateProgramWithBinary(client->context, count,
					    script.device_count ? script.list : client->devices, sizes,
					    (const unsigned char **)images, status, &error);
	say("of-binary", "%d %d %s", error, status[0], *loaded ? "P" : "none");
	client_free_binaries(client->device_count, images);
}

/* binaries P: each device's, and what is said of lists that are too short. */
WORD(binaries)
{
	cl_program program = PROGRAM(value);
	unsigned char *images[CLIENT_MAX_DEVICES] = { 0 };
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, size = 0;
	cl_int error;

	error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes[0]), sizes, NULL);
	printf("short %d", error);
	error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(images[0]), images, NULL);
	printf(" %d\n", error);
	error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &size);
	printf("sizes %d, %zu", error, size / sizeof(sizes[0]));
	error = client_take_binaries(program, (cl_uint)(size / sizeof(sizes[0])), sizes, images);
	printf(", binaries %d\n", error);
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++) {
		unsigned int sum = 0;

		for (size_t j = 0; j < sizes[i]; j++)
			sum = 31 * sum + images[i][j];
		printf("binary of %zu bytes: %08x\n", sizes[i], sum);
	}
	client_free_binaries((cl_uint)(size / sizeof(sizes[0])), images);
}

/* taken P: the second device's binary alone. */
WORD(taken)
{
	cl_program program = PROGRAM(value);
	unsigned char *images[CLIENT_MAX_DEVICES] = { 0 };
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 };
	cl_int error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL);

	printf("sizes %d %d %d\n", error, sizes[0] != 0, sizes[1] != 0);
	images[1] = calloc(1, sizes[1] + 1);
	if (!images[1])
		client_fail("calloc", 0);
	error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(images), images, NULL);
	printf("binary %d %d\n", error, images[1][0] != 0);
	free(images[1]);
}

/* sizes P [exactly] */
WORD(sizes)
{
	cl_program program = PROGRAM(value);
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, size = 0;

	printf("sizes %d", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &size));
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++) {
		if (value)
			printf(" %zu", sizes[i]);
		else
			printf(" %s", sizes[i] ? "some" : "none");
	}
	printf("\n");
}

/* states P: of its build for each device. */
WORD(states)
{
	cl_program program = PROGRAM(value);

	for (cl_uint i = 0; i < client->device_count; i++) {
		cl_build_status status = -99;
		cl_int error = clGetProgramBuildInfo(program, client->devices[i], CL_PROGRAM_BUILD_STATUS,
						     sizeof(status), &status, NULL);

		printf("device %u: %d %d\n", i, error, status);
	}
}

/* What can be asked of P, of its build, or its count of references. */
WORD(print)
{
	cl_program program = PROGRAM(value);

	if (program)
		client_print_program(client, program);
}

WORD(status)
{
	cl_program program = PROGRAM(value);

	if (program)
		client_print_build(client, program);
}

WORD(references)
{
	cl_program program = PROGRAM(value);

	if (program)
		printf("references %u\n", client_references(program));
}

WORD(retain)
{
	printf("retain %d\n", clRetainProgram(PROGRAM(value)));
}

WORD(release)
{
	while (value) {
		cl_program program = PROGRAM(value);

		if (program)
			say("release", "%d", clReleaseProgram(program));
	}
}

/* kernel K P NAME */
WORD(kernel)
{
	int kernel = letter(&value), at = letter(&value);

	script.at[kernel].owner = script.at[at].program;
	script.at[kernel].kernel = client_kernel(script.at[at].program, value);
}

/* try P NAME: a kernel that it may not have. */
WORD(try)
{
	cl_program program = PROGRAM(value);
	cl_int error = CL_SUCCESS;
	cl_kernel kernel = clCreateKernel(program, value, &error);

	printf("kernel %d %d\n", kernel != NULL, error);
	if (kernel)
		printf("release %d\n", clReleaseKernel(kernel));
}

/* show K; run K FACTOR (of "scale"); compute K; drop K; keep K; clone NEW K */
WORD(show)
{
	int at = letter(&value);

	client_print_kernel(client, script.at[at].kernel, script.at[at].owner);
}

WORD(run)
{
	int at = letter(&value);

	client_print_scaled(client, script.at[at].kernel, atoi(next(&value)));
}

WORD(compute)
{
	say("value", "%lld", (long long)client_value(client, script.at[letter(&value)].kernel));
}

WORD(drop)
{
	while (value)
		say("release-kernel", "%d", clReleaseKernel(script.at[letter(&value)].kernel));
}

WORD(keep)
{
	printf("retain %d\n", clRetainKernel(script.at[letter(&value)].kernel));
}

WORD(clone)
{
	int to = letter(&value), from = letter(&value);
	cl_int error;

	script.at[to].kernel = clCloneKernel(script.at[from].kernel, &error);
	script.at[to].owner = script.at[from].owner;
	printf("clone %d\n", error);
}

/* owner P K: P is what the driver says that the kernel is of. */
WORD(owner)
{
	cl_program *program = &PROGRAM(value);
	int kernel = letter(&value);
	cl_int error = clGetKernelInfo(script.at[kernel].kernel, CL_KERNEL_PROGRAM, sizeof(*program),
				       (void *)program, NULL);

	printf("program %d same %d\n", error, *program == script.at[kernel].owner);
}

/* scaled P FACTOR; value P NAME: what its kernel gives. */
WORD(scaled)
{
	int at = letter(&value);
	cl_kernel kernel;

	if (!script.at[at].program || script.at[at].error)
		return;
	kernel = client_kernel(script.at[at].program, "scale");
	client_print_scaled(client, kernel, atoi(next(&value)));
	printf("release kernel %d\n", clReleaseKernel(kernel));
}

WORD(value)
{
	int at = letter(&value);
	cl_kernel kernel;

	if (!script.at[at].program || script.at[at].error)
		return;
	kernel = client_kernel(script.at[at].program, value);
	printf("value %lld\n", (long long)client_value(client, kernel));
	printf("release kernel %d\n", clReleaseKernel(kernel));
}

/* kernels P: all at once. */
WORD(kernels)
{
	cl_program program = PROGRAM(value);
	cl_kernel kernels[8] = { NULL };
	cl_uint count = 0;

	if (!program)
		return;
	printf("create all %d\n", clCreateKernelsInProgram(program, 8, kernels, &count));
	printf("count %u\n", count);
	for (cl_uint i = 0; i < count; i++)
		client_print_kernel(client, kernels[i], program);
	printf("references with kernels %u\n", client_references(program));
	for (cl_uint i = 0; i < count; i++)
		printf("release %d\n", clReleaseKernel(kernels[i]));
}

WORD(count)
{
	cl_program program = PROGRAM(value);
	size_t kernels = 0;
	cl_int error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(kernels), &kernels, NULL);

	printf("kernels %d %zu\n", error, kernels);
}

/* unbuilt P: kernels and variables asked of what may be no executable: the answers differ among drivers. */
WORD(unbuilt)
{
	static const char *const names[] = { "value", "no_such_kernel", "", NULL };
	cl_program program = PROGRAM(value);
	cl_bool constructors = 77;
	cl_kernel kernels[4];
	cl_uint count = 0;
	size_t known = 77, variables = 77;
	cl_int error;

	if (!program)
		return;
	error = clGetProgramBuildInfo(program, client->devices[0],
				      CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof(variables),
				      &variables, NULL);
	printf("variables %d %zu\n", error, variables);
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(known), &known, NULL);
	printf("number of kernels %d %zu\n", error, known);
	for (int i = 0; i < 4; i++) {
		cl_kernel kernel = clCreateKernel(program, names[i], &error);

		printf("kernel %s: %d\n", names[i] ? names[i] : "NULL", error);
		if (kernel)
			printf("release %d\n", clReleaseKernel(kernel));
	}
	error = clGetProgramInfo(program, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, sizeof(constructors),
				 &constructors, NULL);
	printf("constructors %d %u\n", error, constructors);
	error = clCreateKernelsInProgram(program, 4, kernels, &count);
	printf("kernels %d\n", error);
	for (cl_uint i = 0; error == CL_SUCCESS && i < count; i++)
		printf("release %d\n", clReleaseKernel(kernels[i]));
}

/* declare FILE WORDS: the file has that declaration from now on; forget FILE: it is gone. */
WORD(declare)
{
	FILE *file = fopen(next(&value), "w");

	if (!file || fprintf(file, "%s;\n", value) < 0 || fclose(file))
		client_fail("declare", errno);
}

WORD(forget)
{
	(void)remove(next(&value));
}

/* exit: with all that is alive. */
WORD(exit)
{
	exit(fflush(stdout) ? 2 : 0);
}

static const char *argument(char number)
{
	char **arguments = client->arguments;

	for (char i = '1'; *arguments; i++, arguments++) {
		if (i == number)
			return *arguments;
	}
	return "";
}

/* A statement with its arguments in place: $N, or ${N:what is there else}. */
static void expand(const char *from, size_t len, char line[MAX_LINE])
{
	const char *end = from + len;
	size_t at = 0;

	while (from < end && at < MAX_LINE - 1) {
		const char *text, *close = from[0] == '$' && from[1] == '{' ? strchr(from, '}') : NULL;

		if (*from != '$') {
			line[at++] = *from++;
			continue;
		}
		text = argument(from[close ? 2 : 1]);
		if (close && !*text)
			at += (size_t)snprintf(line + at, MAX_LINE - at, "%.*s",
					       (int)(close - from - 4), from + 4);
		else
			at += (size_t)snprintf(line + at, MAX_LINE - at, "%s", text);
		from = close ? close + 1 : from + 2;
	}
	if (at >= MAX_LINE)
		client_fail("a line is too long", 0);
	line[at] = '\0';
}

void client_run_script(struct client *of)
{
	const char *statement = of->script;

	client = of;
	script.ended = false;
	words_run("devices", NULL);
	end_call();
	while (statement && !script.ended) {
		const char *end = strstr(statement, " | ");
		size_t len = end ? (size_t)(end - statement) : strlen(statement);
		/* Headers' names stay there for the next call. */
		static char lines[2][MAX_LINE];
		static unsigned int turn;
		char *line, *verb;

		if ((statement[0] == '?' || statement[0] == '!') &&
		    (*argument(statement[1]) != '\0') != (statement[0] == '?')) {
			statement = end ? end + 3 : NULL;
			continue;
		}
		if (statement[0] == '?' || statement[0] == '!') {
			statement += 3;
			len -= 3;
		}
		line = lines[turn++ % 2];
		expand(statement, len, line);
		verb = strsep(&line, " ");
		label = verb[0] == '@' ? verb + 1 : NULL;
		if (label)
			verb = strsep(&line, " ");
		if (!words_run(verb, line))
			client_fail(verb, 0);
		statement = end ? end + 3 : NULL;
	}
}
