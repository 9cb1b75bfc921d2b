/* SPDX-License-Identifier: MIT */
/*
 * client_extremes: scenarios of input that is huge, empty or not valid. Texts
 * come from files and are printed by their sizes and digests. What create and
 * build took of processors, and the process's peak memory, go to stderr: "took MS peak KB".
 */
#include <sys/resource.h>

#include "tests/opencl/client.h"
#include "tests/opencl/digest.h"

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "r");
	size_t cap = 4096, len = 0;
	char *text = malloc(cap + 1);

	while (file && text) {
		size_t got = fread(text + len, 1, cap - len, file);

		len += got;
		if (!got)
			break;
		if (len == cap)
			text = realloc(text, 2 * cap + 1);
		cap = len == cap ? 2 * cap : cap;
	}
	if (!file || !text || ferror(file))
		client_fail(path, errno);
	(void)fclose(file);	/* only read */
	text[len] = '\0';
	if (ret_len)
		*ret_len = len;
	return text;
}

/* "-": NULL; "@path": what the file says; else the argument itself. */
static char *read_options(const char *argument)
{
	if (!argument || !strcmp(argument, "-"))
		return NULL;
	return argument[0] == '@' ? read_file(argument + 1, NULL) : strdup(argument);
}

static long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);	/* cannot fail */
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void report(long start)
{
	struct rusage usage = { 0 };

	(void)getrusage(RUSAGE_SELF, &usage);	/* cannot fail */
	(void)fprintf(stderr, "took %ld peak %ld\n", now_ms() - start, usage.ru_maxrss);
}

/* A text of any length; short ones are shown. */
static void print_long(const char *what, cl_int error, const char *text, size_t size)
{
	if (error)
		printf("%s: error %d\n", what, error);
	else if (size <= 2000)
		printf("%s: %zu [%s]\n", what, size, size ? text : "");
	else
		printf("%s: %zu digest %llx\n", what, size, (unsigned long long)digest_of(text));
}

static void print_build_text(cl_program program, cl_device_id device, const char *what, cl_program_build_info name)
{
	size_t size = 0;
	cl_int error = clGetProgramBuildInfo(program, device, name, 0, NULL, &size);
	char *text = calloc(1, size + 1);

	if (!text)
		client_fail("calloc", 0);
	if (!error && size)
		error = clGetProgramBuildInfo(program, device, name, size, text, NULL);
	/* comgr's directory has another name in each build. */
	for (char *at = strstr(text, "/comgr-"); at; at = strstr(at + 1, "/comgr-"))
		memset(at + 1, 'x', strcspn(at + 1, "/"));
	print_long(what, error, text, size);
	free(text);
}

static void print_program(struct client *client, cl_program program)
{
	size_t size = 0;
	char *text;
	cl_build_status status = 1;
	cl_int error = clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size);

	text = calloc(1, size + 1);
	if (!text)
		client_fail("calloc", 0);
	if (!error)
		error = clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text, NULL);
	print_long("source", error, text, size);
	free(text);
	error = clGetProgramBuildInfo(program, client->devices[0], CL_PROGRAM_BUILD_STATUS,
				      sizeof(status), &status, NULL);
	printf("status: %d %d\n", error, status);
	print_build_text(program, client->devices[0], "options", CL_PROGRAM_BUILD_OPTIONS);
	print_build_text(program, client->devices[0], "log", CL_PROGRAM_BUILD_LOG);
}

static void print_value(struct client *client, cl_program program)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, "value", &error);

	printf("kernel: %d\n", error);
	if (error)
		return;
	printf("value %lld\n", (long long)client_value(client, kernel));
	printf("release kernel %d\n", clReleaseKernel(kernel));
}

/* Each byte is a string; an embedded NUL is an empty one. */
static cl_program program_of_bytes(struct client *client, const char *text, size_t len, cl_int *ret_error)
{
	char *bytes = calloc(len + 1, 2);
	const char **strings = calloc(len + 1, sizeof(*strings));
	cl_program program;

	if (!bytes || !strings)
		client_fail("calloc", 0);
	for (size_t i = 0; i < len; i++) {
		bytes[2 * i] = text[i];
		strings[i] = bytes + 2 * i;
	}
	program = clCreateProgramWithSource(client->context, (cl_uint)len, strings, NULL, ret_error);
	free(strings);
	free(bytes);
	return program;
}

/* How the text is passed; see client_extreme. */
static cl_program program_of(struct client *client, const char *way, const char *text, size_t len)
{
	const char *strings[] = { "", text, "", "", "" };
	const size_t zeros[] = { 0, 0, 0, 0, 0 }, whole[] = { 0, len, 0, 0, 0 };
	const char *halves[] = { text, "", text + len / 2 };
	const size_t half[] = { len / 2, 0, len - len / 2 };
	cl_program program = NULL;
	cl_int error = CL_INVALID_VALUE;

	if (!strcmp(way, "plain"))
		program = clCreateProgramWithSource(client->context, 1, &text, NULL, &error);
	else if (!strcmp(way, "length"))
		program = clCreateProgramWithSource(client->context, 1, &text, &len, &error);
	else if (!strcmp(way, "bytes"))
		program = program_of_bytes(client, text, len, &error);
	else if (!strcmp(way, "halves"))
		program = clCreateProgramWithSource(client->context, 3, halves, half, &error);
	else if (!strcmp(way, "empty-strings"))
		program = clCreateProgramWithSource(client->context, 5, strings, NULL, &error);
	else if (!strcmp(way, "zero-lengths"))
		program = clCreateProgramWithSource(client->context, 5, strings, zeros, &error);
	else if (!strcmp(way, "mixed-lengths"))
		program = clCreateProgramWithSource(client->context, 5, strings, whole, &error);
	else if (!strcmp(way, "nothing"))
		program = clCreateProgramWithSource(client->context, 3, strings + 2, NULL, &error);
	printf("create %d\n", error);
	return program;
}

/* Arguments: the source's file, how it is passed (program_of), options (read_options). */
SCENARIO(extreme)
{
	size_t len;
	char *text = read_file(client->arguments[0], &len);
	char *options = read_options(client->arguments[2]);
	long start = now_ms();
	cl_program program = program_of(client, client->arguments[1], text, len);
	cl_int error = program ? client_build(program, options) : CL_INVALID_PROGRAM;

	report(start);
	printf("build %d\n", error);
	if (program) {
		print_program(client, program);
		print_value(client, program);
		printf("release %d\n", clReleaseProgram(program));
	}
	free(options);
	free(text);
}

/*
 * Arguments: the source's file, options, a header. Three programs are built:
 * the second while the header has another name, the third when it is back.
 * With a fourth argument nothing is printed of the build that failed.
 */
SCENARIO(extreme_vanish)
{
	char *text = read_file(client->arguments[0], NULL);
	const char *header = client->arguments[2];
	char away[4096];

	(void)snprintf(away, sizeof(away), "%s.away", header);
	for (int i = 0; i < 3; i++) {
		cl_program program = client_program(client, text);
		cl_int error;

		if ((i == 1 && rename(header, away)) || (i == 2 && rename(away, header)))
			client_fail(header, errno);
		error = client_build(program, client->arguments[1]);
		printf("build %d\n", error);
		if (!error || !client->arguments[3])
			print_program(client, program);
		if (!error)
			print_value(client, program);
		printf("release %d\n", clReleaseProgram(program));
	}
	free(text);
}

/* As client_extreme, but compiled for each further pair of name and file with that embedded header, and linked. */
SCENARIO(extreme_compile)
{
	size_t len;
	char *text = read_file(client->arguments[0], &len);
	char *options = read_options(client->arguments[1]);
	const char *names[8];
	cl_program headers[8], program = client_program(client, text), linked;
	cl_uint count = 0;
	cl_int error;

	for (char **at = client->arguments + 2; at[0] && at[1] && count < 8; at += 2, count++) {
		char *header = read_file(at[1], NULL);

		names[count] = at[0];
		headers[count] = client_program(client, header);
		free(header);
	}
	error = clCompileProgram(program, 0, NULL, options, count, count ? headers : NULL,
				 count ? names : NULL, NULL, NULL);
	printf("compile %d\n", error);
	print_program(client, program);
	linked = error ? NULL : clLinkProgram(client->context, 0, NULL, "", 1, &program, NULL, NULL, &error);
	printf("link %d\n", error);
	if (linked) {
		print_value(client, linked);
		printf("release linked %d\n", clReleaseProgram(linked));
	}
	printf("release %d\n", clReleaseProgram(program));
	for (cl_uint i = 0; i < count; i++)
		printf("release header %d\n", clReleaseProgram(headers[i]));
	free(options);
	free(text);
}

/* Argument: how many embedded headers, the last of which gives the value. */
SCENARIO(extreme_embedded)
{
	cl_uint count = (cl_uint)atoi(client->arguments[0]);
	cl_program *headers = calloc(count, sizeof(*headers)), program, linked;
	const char **names = calloc(count, sizeof(*names));
	char (*text)[64] = calloc(count, sizeof(*text));
	char source[256];
	cl_int error;
	long start = now_ms();

	if (!headers || !names || !text)
		client_fail("calloc", 0);
	for (cl_uint i = 0; i < count; i++) {
		char header[64];

		(void)snprintf(text[i], sizeof(text[i]), "many/h%u.h", i);
		(void)snprintf(header, sizeof(header), "#define VALUE%u %u\n", i, i);
		names[i] = text[i];
		headers[i] = client_program(client, header);
	}
	(void)snprintf(source, sizeof(source),
		       "#include \"many/h%u.h\"\nkernel void value(global int *out) { out[0] = VALUE%u; }\n",
		       count - 1, count - 1);
	program = client_program(client, source);
	error = clCompileProgram(program, 0, NULL, "", count, headers, names, NULL, NULL);
	report(start);
	printf("compile %d\n", error);
	print_program(client, program);
	linked = error ? NULL : clLinkProgram(client->context, 0, NULL, "", 1, &program, NULL, NULL, &error);
	printf("link %d\n", error);
	if (linked) {
		print_value(client, linked);
		printf("release linked %d\n", clReleaseProgram(linked));
	}
	for (cl_uint i = 0; i < count; i++)
		error |= clReleaseProgram(headers[i]);
	printf("release %d %d\n", clReleaseProgram(program), error);
	free(text);
	free(names);
	free(headers);
}

static void CL_CALLBACK ignore(cl_program program, void *data)
{
	(void)program;
	(void)data;
}

/* For CALL: true in a child, since a driver need not survive it; the parent says that it died. */
static bool begins_call(const char *name)
{
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);	/* else the child prints it again */
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);	/* cannot fail */
		return true;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		client_fail("fork", errno);
	if (!WIFEXITED(status))
		printf("%s: died\n", name);
	return false;
}

/* What it answered, and then what became of the program. */
static void end_call(struct client *client, cl_program program, const char *name, cl_int answer)
{
	printf("%s %d\n", name, answer);
	if (!client->arguments[0])
		client_print_build(client, program);
	printf("references %u\n", client_references(program));
	(void)fflush(stdout);	/* the parent sees what is missing */
	_exit(0);
}

#define CALL(name, answer) \
	if (begins_call(#name)) \
		end_call(client, program, #name, answer)

static void call_with_null(struct client *client, cl_program program)
{
	cl_program null = NULL, one_and_null[] = { program, NULL };
	size_t size = 0;
	cl_uint number = 0;
	cl_int error = 1;

	CALL(build_null, clBuildProgram(NULL, 0, NULL, "", NULL, NULL));
	CALL(compile_null, clCompileProgram(NULL, 0, NULL, "", 0, NULL, NULL, NULL, NULL));
	CALL(link_null, (clLinkProgram(client->context, 0, NULL, "", 1, &null, NULL, NULL, &error), error));
	CALL(link_one_and_null, (clLinkProgram(client->context, 0, NULL, "", 2, one_and_null, NULL,
					       NULL, &error), error));
	CALL(link_nothing, (clLinkProgram(client->context, 0, NULL, "", 0, NULL, NULL, NULL, &error), error));
	CALL(link_without_context, (clLinkProgram(NULL, 0, NULL, "", 1, &program, NULL, NULL, &error), error));
	CALL(retain_null, clRetainProgram(NULL));
	CALL(release_null, clReleaseProgram(NULL));
	CALL(ask_null, clGetProgramInfo(NULL, CL_PROGRAM_NUM_DEVICES, sizeof(number), &number, NULL));
	CALL(ask_build_of_null, clGetProgramBuildInfo(NULL, client->devices[0], CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
	CALL(ask_build_for_null, clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
}

static void call_for_kernels(struct client *client, cl_program program)
{
	cl_kernel kernel = NULL;
	cl_uint number = 0;
	cl_int error = 1;

	CALL(create_kernel_of_null, (clCreateKernel(NULL, "scale", &error), error));
	CALL(create_kernel_without_name, (clCreateKernel(program, NULL, &error), error));
	CALL(create_kernels_of_null, clCreateKernelsInProgram(NULL, 0, NULL, &number));
	CALL(create_kernels_in_no_room, clCreateKernelsInProgram(program, 1, &kernel, NULL));
	CALL(retain_null_kernel, clRetainKernel(NULL));
	CALL(release_null_kernel, clReleaseKernel(NULL));
	CALL(clone_null_kernel, (clCloneKernel(NULL, &error), error));
	CALL(ask_null_kernel, clGetKernelInfo(NULL, CL_KERNEL_NUM_ARGS, sizeof(number), &number, NULL));
	CALL(set_argument_of_null, clSetKernelArg(NULL, 0, sizeof(client), &client));
}

static cl_int create_from(cl_context context, cl_uint count, const char **strings, const size_t *lengths)
{
	cl_int error = 1;

	(void)clCreateProgramWithSource(context, count, strings, lengths, &error);
	return error;
}

static void call_for_programs(struct client *client, cl_program program)
{
	const char *text = client_source, *no_text = NULL, *strings[] = { "int a;\n", NULL };
	const size_t lengths[] = { 6, 3 };

	CALL(create_from_null_context, create_from(NULL, 1, &text, NULL));
	CALL(create_from_nothing, create_from(client->context, 0, NULL, NULL));
	CALL(create_from_no_list, create_from(client->context, 2, NULL, NULL));
	CALL(create_from_null_string, create_from(client->context, 2, strings, NULL));
	CALL(create_from_null_string_of_length, create_from(client->context, 2, strings, lengths));
	CALL(create_without_error, clCreateProgramWithSource(client->context, 1, &no_text, NULL, NULL) != NULL);
}

static void call_for_builds(struct client *client, cl_program program)
{
	const char *name = "name.h", *no_name = NULL, *itself = "itself.h";
	cl_device_id no_device = NULL;
	cl_program no_header = NULL;

	CALL(build_for_no_list, clBuildProgram(program, 1, NULL, "", NULL, NULL));
	CALL(build_for_no_number, clBuildProgram(program, 0, client->devices, "", NULL, NULL));
	CALL(build_for_null_device, clBuildProgram(program, 1, &no_device, "", NULL, NULL));
	CALL(build_with_data_alone, clBuildProgram(program, 0, NULL, "", NULL, client));
	CALL(build_refused_with_callback, clBuildProgram(program, 1, NULL, "", ignore, client));
	CALL(compile_header_without_name, clCompileProgram(program, 0, NULL, "", 1, &program, NULL, NULL, NULL));
	CALL(compile_name_without_header, clCompileProgram(program, 0, NULL, "", 1, NULL, &name, NULL, NULL));
	CALL(compile_headers_without_number, clCompileProgram(program, 0, NULL, "", 0, &program, &name, NULL, NULL));
	CALL(compile_null_header, clCompileProgram(program, 0, NULL, "", 1, &no_header, &name, NULL, NULL));
	CALL(compile_null_name, clCompileProgram(program, 0, NULL, "", 1, &program, &no_name, NULL, NULL));
	CALL(compile_with_itself, clCompileProgram(program, 0, NULL, "-DK=1", 1, &program, &itself, NULL, NULL));
	CALL(compile_with_data_alone, clCompileProgram(program, 0, NULL, "", 0, NULL, NULL, NULL, client));
}

static void print_calls(struct client *client, cl_program program)
{
	call_with_null(client, program);
	call_for_kernels(client, program);
	call_for_programs(client, program);
	call_for_builds(client, program);
}

/*
 * Handles and arguments that are not valid, on a program before and after its
 * build. With an argument only what they answer is printed, not what became
 * of the program.
 */
SCENARIO(invalid)
{
	cl_program program = client_program(client, client_source);

	print_calls(client, program);
	printf("build %d\n", client_build(program, "-DK=4"));
	print_calls(client, program);
	print_program(client, program);
	printf("references %u\n", client_references(program));
	printf("release %d\n", clReleaseProgram(program));
}
