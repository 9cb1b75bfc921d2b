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

static void print_build_text(cl_program program, cl_device_id device, const char *what,
			     cl_program_build_info name)
{
	size_t size = 0;
	cl_int error = clGetProgramBuildInfo(program, device, name, 0, NULL, &size);
	char *text = calloc(1, size + 1);

	if (!text)
		client_fail("calloc", 0);
	if (!error && size)
		error = clGetProgramBuildInfo(program, device, name, size, text, NULL);
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
static cl_program program_of_bytes(struct client *client, const char *text, size_t len,
				   cl_int *ret_error)
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
	linked = error ? NULL : clLinkProgram(client->context, 0, NULL, "", 1, &program, NULL, NULL,
					      &error);
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
	linked = error ? NULL : clLinkProgram(client->context, 0, NULL, "", 1, &program, NULL, NULL,
					      &error);
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

/* What the calls below are made on; before or after a build. */
struct subject {
	struct client *client;
	cl_program program;
};

static cl_int build_null(struct subject *subject)
{
	(void)subject;
	return clBuildProgram(NULL, 0, NULL, "", NULL, NULL);
}

static cl_int compile_null(struct subject *subject)
{
	(void)subject;
	return clCompileProgram(NULL, 0, NULL, "", 0, NULL, NULL, NULL, NULL);
}

static cl_int link_null(struct subject *subject)
{
	cl_program programs[] = { NULL };
	cl_int error = 1;

	(void)clLinkProgram(subject->client->context, 0, NULL, "", 1, programs, NULL, NULL, &error);
	return error;
}

static cl_int link_one_and_null(struct subject *subject)
{
	cl_program programs[] = { subject->program, NULL };
	cl_int error = 1;

	(void)clLinkProgram(subject->client->context, 0, NULL, "", 2, programs, NULL, NULL, &error);
	return error;
}

static cl_int link_nothing(struct subject *subject)
{
	cl_int error = 1;

	(void)clLinkProgram(subject->client->context, 0, NULL, "", 0, NULL, NULL, NULL, &error);
	return error;
}

static cl_int link_without_context(struct subject *subject)
{
	cl_int error = 1;

	(void)clLinkProgram(NULL, 0, NULL, "", 1, &subject->program, NULL, NULL, &error);
	return error;
}

static cl_int retain_null(struct subject *subject)
{
	(void)subject;
	return clRetainProgram(NULL);
}

static cl_int release_null(struct subject *subject)
{
	(void)subject;
	return clReleaseProgram(NULL);
}

static cl_int ask_null(struct subject *subject)
{
	cl_uint number = 0;

	(void)subject;
	return clGetProgramInfo(NULL, CL_PROGRAM_NUM_DEVICES, sizeof(number), &number, NULL);
}

static cl_int ask_build_of_null(struct subject *subject)
{
	size_t size = 0;

	return clGetProgramBuildInfo(NULL, subject->client->devices[0], CL_PROGRAM_BUILD_LOG, 0,
				     NULL, &size);
}

static cl_int ask_build_for_null(struct subject *subject)
{
	size_t size = 0;

	return clGetProgramBuildInfo(subject->program, NULL, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
}

static cl_int create_kernel_of_null(struct subject *subject)
{
	cl_int error = 1;

	(void)subject;
	(void)clCreateKernel(NULL, "scale", &error);
	return error;
}

static cl_int create_kernel_without_name(struct subject *subject)
{
	cl_int error = 1;

	(void)clCreateKernel(subject->program, NULL, &error);
	return error;
}

static cl_int create_kernels_of_null(struct subject *subject)
{
	cl_uint number = 0;

	(void)subject;
	return clCreateKernelsInProgram(NULL, 0, NULL, &number);
}

static cl_int create_kernels_in_no_room(struct subject *subject)
{
	cl_kernel kernel = NULL;

	return clCreateKernelsInProgram(subject->program, 1, &kernel, NULL);
}

static cl_int retain_null_kernel(struct subject *subject)
{
	(void)subject;
	return clRetainKernel(NULL);
}

static cl_int release_null_kernel(struct subject *subject)
{
	(void)subject;
	return clReleaseKernel(NULL);
}

static cl_int clone_null_kernel(struct subject *subject)
{
	cl_int error = 1;

	(void)subject;
	(void)clCloneKernel(NULL, &error);
	return error;
}

static cl_int ask_null_kernel(struct subject *subject)
{
	cl_uint number = 0;

	(void)subject;
	return clGetKernelInfo(NULL, CL_KERNEL_NUM_ARGS, sizeof(number), &number, NULL);
}

static cl_int set_argument_of_null(struct subject *subject)
{
	(void)subject;
	return clSetKernelArg(NULL, 0, sizeof(subject), &subject);
}

static cl_int create_from_null_context(struct subject *subject)
{
	const char *text = client_source;
	cl_int error = 1;

	(void)subject;
	(void)clCreateProgramWithSource(NULL, 1, &text, NULL, &error);
	return error;
}

static cl_int create_from_nothing(struct subject *subject)
{
	cl_int error = 1;

	(void)clCreateProgramWithSource(subject->client->context, 0, NULL, NULL, &error);
	return error;
}

static cl_int create_from_no_list(struct subject *subject)
{
	cl_int error = 1;

	(void)clCreateProgramWithSource(subject->client->context, 2, NULL, NULL, &error);
	return error;
}

static cl_int create_from_null_string(struct subject *subject)
{
	const char *strings[] = { "int a;\n", NULL };
	cl_int error = 1;

	(void)clCreateProgramWithSource(subject->client->context, 2, strings, NULL, &error);
	return error;
}

static cl_int create_from_null_string_of_length(struct subject *subject)
{
	const char *strings[] = { "int a;\n", NULL };
	const size_t lengths[] = { 6, 3 };
	cl_int error = 1;

	(void)clCreateProgramWithSource(subject->client->context, 2, strings, lengths, &error);
	return error;
}

static cl_int create_without_error(struct subject *subject)
{
	const char *text = NULL;

	return clCreateProgramWithSource(subject->client->context, 1, &text, NULL, NULL) != NULL;
}

static cl_int build_for_no_list(struct subject *subject)
{
	return clBuildProgram(subject->program, 1, NULL, "", NULL, NULL);
}

static cl_int build_for_no_number(struct subject *subject)
{
	return clBuildProgram(subject->program, 0, subject->client->devices, "", NULL, NULL);
}

static cl_int build_for_null_device(struct subject *subject)
{
	cl_device_id none = NULL;

	return clBuildProgram(subject->program, 1, &none, "", NULL, NULL);
}

static cl_int build_with_data_alone(struct subject *subject)
{
	return clBuildProgram(subject->program, 0, NULL, "", NULL, subject);
}

static void CL_CALLBACK ignore(cl_program program, void *data)
{
	(void)program;
	(void)data;
}

static cl_int build_refused_with_callback(struct subject *subject)
{
	return clBuildProgram(subject->program, 1, NULL, "", ignore, subject);
}

static cl_int compile_header_without_name(struct subject *subject)
{
	return clCompileProgram(subject->program, 0, NULL, "", 1, &subject->program, NULL, NULL, NULL);
}

static cl_int compile_name_without_header(struct subject *subject)
{
	const char *name = "name.h";

	return clCompileProgram(subject->program, 0, NULL, "", 1, NULL, &name, NULL, NULL);
}

static cl_int compile_headers_without_number(struct subject *subject)
{
	const char *name = "name.h";

	return clCompileProgram(subject->program, 0, NULL, "", 0, &subject->program, &name, NULL,
				NULL);
}

static cl_int compile_null_header(struct subject *subject)
{
	cl_program header = NULL;
	const char *name = "name.h";

	return clCompileProgram(subject->program, 0, NULL, "", 1, &header, &name, NULL, NULL);
}

static cl_int compile_null_name(struct subject *subject)
{
	const char *name = NULL;

	return clCompileProgram(subject->program, 0, NULL, "", 1, &subject->program, &name, NULL, NULL);
}

static cl_int compile_with_itself(struct subject *subject)
{
	const char *name = "itself.h";

	return clCompileProgram(subject->program, 0, NULL, "-DK=1", 1, &subject->program, &name, NULL,
				NULL);
}

static cl_int compile_with_data_alone(struct subject *subject)
{
	return clCompileProgram(subject->program, 0, NULL, "", 0, NULL, NULL, NULL, subject);
}

static const struct {
	const char *name;
	cl_int (*make)(struct subject *subject);
} calls[] = {
#define CALL(function) { #function, function }
	CALL(build_null), CALL(compile_null), CALL(link_null), CALL(link_one_and_null),
	CALL(link_nothing), CALL(link_without_context), CALL(retain_null), CALL(release_null),
	CALL(ask_null), CALL(ask_build_of_null), CALL(ask_build_for_null),
	CALL(create_kernel_of_null), CALL(create_kernel_without_name), CALL(create_kernels_of_null),
	CALL(create_kernels_in_no_room), CALL(retain_null_kernel), CALL(release_null_kernel),
	CALL(clone_null_kernel), CALL(ask_null_kernel), CALL(set_argument_of_null),
	CALL(create_from_null_context), CALL(create_from_nothing), CALL(create_from_no_list),
	CALL(create_from_null_string), CALL(create_from_null_string_of_length),
	CALL(create_without_error), CALL(build_for_no_list), CALL(build_for_no_number),
	CALL(build_for_null_device), CALL(build_with_data_alone), CALL(build_refused_with_callback),
	CALL(compile_header_without_name), CALL(compile_name_without_header),
	CALL(compile_headers_without_number), CALL(compile_null_header), CALL(compile_null_name),
	CALL(compile_with_itself), CALL(compile_with_data_alone),
#undef CALL
};

/* One call in a child, since a driver need not survive it; then what became of the program. */
static void print_call(struct subject *subject, size_t i)
{
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);	/* else the child prints it again */
	pid = fork();
	if (pid == 0) {
		(void)alarm(10);	/* cannot fail */
		printf("%s %d\n", calls[i].name, calls[i].make(subject));
		if (!subject->client->arguments[0])
			client_print_build(subject->client, subject->program);
		printf("references %u\n", client_references(subject->program));
		(void)fflush(stdout);	/* the parent sees what is missing */
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		client_fail("fork", errno);
	if (!WIFEXITED(status))
		printf("%s: died\n", calls[i].name);
}

/*
 * Handles and arguments that are not valid, on a program before and after its
 * build. With an argument only what they answer is printed, not what became
 * of the program.
 */
SCENARIO(invalid)
{
	struct subject subject = { client, client_program(client, client_source) };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		print_call(&subject, i);
	printf("build %d\n", client_build(subject.program, "-DK=4"));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		print_call(&subject, i);
	print_program(client, subject.program);
	printf("references %u\n", client_references(subject.program));
	printf("release %d\n", clReleaseProgram(subject.program));
}
