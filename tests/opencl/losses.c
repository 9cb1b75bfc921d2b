/* SPDX-License-Identifier: MIT */
/*
 * losses: what a driver's own binary loses. For each source of the corpus, and
 * each of four kinds of program (executable, compiled object, library, linked
 * executable), every question that OpenCL knows about programs and kernels is
 * asked of the program as the driver built it, and of one that is made from its
 * binary. Prints, per driver and version, a table of the questions whose
 * answers differ. No layer is involved: layers/shared/driver/drivers.c follows from
 * this table.
 *
 *   losses [-v] [DEVICES]         all of it; -v: each difference
 *   losses SOURCE KIND DEVICES    one: a line a question, for the first form
 *
 * DEVICES: what the context has, and what is built for: the platform's first
 * device ("one", without an argument), the first two ("two"), or one of them
 * ("first", "second"); or the same of two parts of the first device ("parts",
 * "first-part", "second-part").
 *
 * Each source and kind is a process of its own: a driver that crashes on a
 * question is a line in the table.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "tests/opencl/corpus.h"
#include "tests/support/posix.h"

enum { MAX_ANSWERS = 4096, MAX_KERNELS = 32, MAX_ROWS = 256, WIDTH = 512, PATIENCE_S = 300 };

static const char *const kinds[] = { "executable", "object", "library", "linked" };
enum kind { EXECUTABLE, OBJECT, LIBRARY, LINKED, KINDS };

struct answer {
	char question[96];	/* what is asked */
	char of[320];		/* of which kernel or argument */
	char text[WIDTH];
};

struct answers {
	struct answer list[MAX_ANSWERS];
	size_t count;
};

static const struct arrangement {
	const char *name;
	bool parts;
	cl_uint count, first, target_count;
} arrangements[] = {
	{ "one", false, 1, 0, 1 }, { "two", false, 2, 0, 2 }, { "first", false, 2, 0, 1 },
	{ "second", false, 2, 1, 1 }, { "parts", true, 2, 0, 2 }, { "first-part", true, 2, 0, 1 },
	{ "second-part", true, 2, 1, 1 },
};

static const struct arrangement *arrangement = arrangements;
static cl_platform_id platform;
static cl_device_id devices[2], *targets, device;	/* the context's, the build's, the one that is asked about */
static cl_context context;

static void add(struct answers *answers, const char *question, const char *of, cl_int error,
		const unsigned char *bytes, size_t size)
{
	struct answer *answer = &answers->list[answers->count];
	size_t at = 0;
	bool text = size > 1 && !bytes[size - 1];

	if (answers->count == MAX_ANSWERS)
		return;
	answers->count++;
	(void)snprintf(answer->question, sizeof(answer->question), "%s", question);
	(void)snprintf(answer->of, sizeof(answer->of), "%.300s", of);
	if (error != CL_SUCCESS) {
		(void)snprintf(answer->text, sizeof(answer->text), "error %d", error);
		return;
	}
	for (size_t i = 0; text && i + 1 < size; i++)
		text = (bytes[i] >= ' ' && bytes[i] < 127) || bytes[i] == '\n' || bytes[i] == '\t';
	if (text || size == 1) {
		(void)snprintf(answer->text, sizeof(answer->text), "'%.*s'", (int)size, bytes);
		for (char *c = answer->text; *c; c++)
			*c = *c == '\n' || *c == '\t' ? ' ' : *c;
		return;
	}
	for (size_t i = 0; i < size && at + 24 < WIDTH; i += sizeof(unsigned long)) {
		unsigned long value = 0;

		memcpy(&value, bytes + i, size - i < sizeof(value) ? size - i : sizeof(value));
		at += (size_t)snprintf(answer->text + at, WIDTH - at, "%s%lu", at ? " " : "", value);
	}
}

static void add_error(struct answers *answers, const char *question, const char *of, cl_int error)
{
	add(answers, question, of, error, (const unsigned char *)"", 1);
}

/* One question: its two calls as every clGet...Info has them. */
#define ASK_ROOM(room, answers, question, of, CALL, ...) \
	do { \
		unsigned char bytes[room] = { 0 }; \
		size_t size = 0; \
		cl_int answer_ = CALL(__VA_ARGS__, sizeof(bytes), bytes, &size); \
		add(answers, question, of, answer_, bytes, size > sizeof(bytes) ? sizeof(bytes) : size); \
	} while (0)
#define ASK(...) ASK_ROOM(65536, __VA_ARGS__)

struct question {
	const char *name;
	cl_uint value;
};
#define Q(name) { #name, name }

static const struct question program_questions[] = {
	Q(CL_PROGRAM_NUM_KERNELS), Q(CL_PROGRAM_KERNEL_NAMES), Q(CL_PROGRAM_NUM_DEVICES),
	Q(CL_PROGRAM_REFERENCE_COUNT), Q(CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT),
	Q(CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT),
};
static const struct question build_questions[] = {
	Q(CL_PROGRAM_BUILD_STATUS), Q(CL_PROGRAM_BUILD_OPTIONS), Q(CL_PROGRAM_BUILD_LOG),
	Q(CL_PROGRAM_BINARY_TYPE), Q(CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE),
};
static const struct question kernel_questions[] = {
	Q(CL_KERNEL_FUNCTION_NAME), Q(CL_KERNEL_NUM_ARGS), Q(CL_KERNEL_ATTRIBUTES),
	Q(CL_KERNEL_REFERENCE_COUNT),
};
static const struct question argument_questions[] = {
	Q(CL_KERNEL_ARG_ADDRESS_QUALIFIER), Q(CL_KERNEL_ARG_ACCESS_QUALIFIER),
	Q(CL_KERNEL_ARG_TYPE_NAME), Q(CL_KERNEL_ARG_TYPE_QUALIFIER), Q(CL_KERNEL_ARG_NAME),
};
static const struct question group_questions[] = {
	Q(CL_KERNEL_WORK_GROUP_SIZE), Q(CL_KERNEL_COMPILE_WORK_GROUP_SIZE), Q(CL_KERNEL_LOCAL_MEM_SIZE),
	Q(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE), Q(CL_KERNEL_PRIVATE_MEM_SIZE),
	Q(CL_KERNEL_GLOBAL_WORK_SIZE), { "CL_KERNEL_SPILL_MEM_SIZE_INTEL", 0x4109 },
};
static const struct question sub_group_questions[] = {
	Q(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE), Q(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE),
	Q(CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT), Q(CL_KERNEL_MAX_NUM_SUB_GROUPS),
	Q(CL_KERNEL_COMPILE_NUM_SUB_GROUPS), { "CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL", 0x410A },
};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void ask_sub_groups(struct answers *answers, cl_kernel kernel, const char *name)
{
	static const size_t local[3] = { 32, 2, 1 };
	static const size_t groups = 2;

	for (size_t i = 0; i < COUNT(sub_group_questions); i++) {
		const struct question *question = &sub_group_questions[i];
		bool of_count = question->value == CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT;

		if (of_count)	/* the room is a part of the question: for how many dimensions */
			ASK_ROOM(sizeof(local), answers, question->name, name,
				 clGetKernelSubGroupInfo, kernel, device, question->value,
				 sizeof(groups), &groups);
		else
			ASK(answers, question->name, name, clGetKernelSubGroupInfo, kernel, device,
			    question->value, sizeof(local), local);
	}
}

static void ask_kernel(struct answers *answers, cl_kernel kernel, const char *name)
{
	cl_uint arguments = 0;

	for (size_t i = 0; i < COUNT(kernel_questions); i++)
		ASK(answers, kernel_questions[i].name, name, clGetKernelInfo, kernel,
		    kernel_questions[i].value);
	for (cl_uint t = 0; t < arrangement->target_count; t++) {
		char of[320];

		device = targets[t];
		(void)snprintf(of, sizeof(of), "%.300s@%u", name, t);
		for (size_t i = 0; i < COUNT(group_questions); i++)
			ASK(answers, group_questions[i].name, of, clGetKernelWorkGroupInfo, kernel,
			    device, group_questions[i].value);
		ask_sub_groups(answers, kernel, of);
	}
	(void)clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL);
	for (cl_uint i = 0; i < arguments; i++) {
		char of[320];

		(void)snprintf(of, sizeof(of), "%.300s:%u", name, i);
		for (size_t j = 0; j < COUNT(argument_questions); j++)
			ASK(answers, argument_questions[j].name, of, clGetKernelArgInfo, kernel, i,
			    argument_questions[j].value);
	}
	add_error(answers, "clSetKernelArg, no such argument", name,
		  clSetKernelArg(kernel, arguments, sizeof(cl_int), &arguments));
}

static void ask_kernel_named(struct answers *answers, cl_program program, const char *question,
			     const char *name)
{
	cl_int error = CL_SUCCESS;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	add_error(answers, question, name, error);
	if (kernel)
		ask_kernel(answers, kernel, name);
	if (kernel)
		(void)clReleaseKernel(kernel);
}

/* names: of the kernels as the source has them, separated by semicolons. */
static void ask_program(struct answers *answers, cl_program program, const char *names)
{
	cl_kernel kernels[MAX_KERNELS];
	cl_uint count = 0;
	cl_int error;

	for (size_t i = 0; i < COUNT(program_questions); i++) {
		cl_uint value = program_questions[i].value;

		/* NVIDIA's driver (580) must not be asked where there are none: it ends the process. */
		if (value == CL_PROGRAM_KERNEL_NAMES && !*names)
			continue;
		ASK(answers, program_questions[i].name, "", clGetProgramInfo, program, value);
	}
	for (size_t i = 0; i < COUNT(build_questions) * arrangement->target_count; i++) {
		const struct question *question = &build_questions[i % COUNT(build_questions)];
		size_t t = i / COUNT(build_questions);

		ASK(answers, question->name, t ? "@1" : "@0", clGetProgramBuildInfo, program, targets[t],
		    question->value);
	}
	error = clCreateKernelsInProgram(program, 0, NULL, &count);
	add(answers, "clCreateKernelsInProgram, their number", "", error, (unsigned char *)&count,
	    sizeof(count));
	error = clCreateKernelsInProgram(program, MAX_KERNELS, kernels, &count);
	add_error(answers, "clCreateKernelsInProgram", "", error);
	for (cl_uint i = 0; error == CL_SUCCESS && i < count; i++)
		(void)clReleaseKernel(kernels[i]);
	for (const char *at = names; *at; at += strcspn(at, ";"), at += *at == ';') {
		char name[320];

		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ";"), at);
		ask_kernel_named(answers, program, "clCreateKernel", name);
	}
	ask_kernel_named(answers, program, "clCreateKernel, no such name", "no_such_kernel");
}

static void fail(const char *what, cl_int error)
{
	(void)printf("unable\t%s: %d\n", what, error);
	exit(0);
}

static cl_program create(const char *text)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);

	if (!program)
		fail("clCreateProgramWithSource", error);
	return program;
}

static cl_program make_built(const struct corpus_source *source)
{
	const char *texts[2] = { source->text, source->second };
	cl_program program;
	cl_int error;

	program = clCreateProgramWithSource(context, source->second ? 2 : 1, texts, NULL, &error);
	if (!program)
		fail("clCreateProgramWithSource", error);
	error = clBuildProgram(program, arrangement->target_count, targets, source->options, NULL, NULL);
	if (error != CL_SUCCESS)
		fail("clBuildProgram", error);
	return program;
}

static cl_program compile(const char *text, const char *options)
{
	cl_program program = create(text);
	cl_int error = clCompileProgram(program, arrangement->target_count, targets, options, 0, NULL, NULL, NULL, NULL);

	if (error != CL_SUCCESS)
		fail("clCompileProgram", error);
	return program;
}

static cl_program link_objects(cl_uint count, const cl_program *objects, const char *options,
			       cl_int *ret_error)
{
	return clLinkProgram(context, arrangement->target_count, targets, options, count, objects, NULL, NULL, ret_error);
}

static cl_program make(const struct corpus_source *source, enum kind kind)
{
	cl_program objects[2], program;
	cl_uint count = source->second && kind != OBJECT ? 2 : 1;
	cl_int error;

	if (kind == EXECUTABLE)
		return make_built(source);
	objects[0] = compile(source->text, source->options);
	if (kind == OBJECT)
		return objects[0];
	if (count == 2)
		objects[1] = compile(source->second, source->options);
	program = link_objects(count, objects, kind == LIBRARY ? "-create-library" : "", &error);
	if (!program || error != CL_SUCCESS)
		fail("clLinkProgram", error);
	return program;
}

/* As the layer loads it: a binary of each device that it was built for, which the driver tells (pocl: of parts, the whole). */
static cl_program load(cl_program program, enum kind kind, const char *options)
{
	cl_uint count = arrangement->target_count, all = 0, first;
	cl_device_id owners[2] = { NULL };
	unsigned char *bytes[2] = { NULL };
	size_t sizes[2] = { 0 };
	cl_program loaded;
	cl_int error, statuses[2] = { CL_SUCCESS, CL_SUCCESS };

	/* A linked program may have no others. */
	error = clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(all), &all, NULL);
	first = all > count ? arrangement->first : 0;
	count = all < count ? all : count;
	if (error == CL_SUCCESS)
		error = clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(owners), owners, NULL);
	if (error == CL_SUCCESS)
		error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL);
	if (error != CL_SUCCESS || !sizes[first])
		fail("CL_PROGRAM_BINARY_SIZES", error);
	for (cl_uint i = 0; i < all && i < 2; i++)
		bytes[i] = malloc(sizes[i] + 1);
	error = bytes[0] ? clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), bytes, NULL)
			 : CL_OUT_OF_HOST_MEMORY;
	if (error != CL_SUCCESS)
		fail("CL_PROGRAM_BINARIES", error);
	loaded = clCreateProgramWithBinary(context, count, owners + first, sizes + first,
					   (const unsigned char **)bytes + first, statuses, &error);
	if (!loaded || error != CL_SUCCESS || statuses[0] != CL_SUCCESS || statuses[1] != CL_SUCCESS)
		fail("clCreateProgramWithBinary", error ? error : statuses[0]);
	if (kind == EXECUTABLE || kind == LINKED) {
		error = clBuildProgram(loaded, count, owners + first, kind == LINKED ? NULL : options, NULL,
				       NULL);
		if (error != CL_SUCCESS)
			fail("clBuildProgram of a binary", error);
	}
	free(bytes[0]);
	free(bytes[1]);
	return loaded;
}

/* What comes of a link of it. */
static void ask_link(struct answers *answers, cl_program program, const struct corpus_source *source,
		     enum kind kind)
{
	cl_program objects[2] = { program }, result;
	cl_int error = CL_SUCCESS;
	cl_uint count = 1;

	if (kind != OBJECT && kind != LIBRARY)
		return;
	if (kind == OBJECT && source->second)
		objects[count++] = compile(source->second, source->options);
	result = link_objects(count, objects, "", &error);
	add_error(answers, "clLinkProgram of it", "", error);
	if (result)
		(void)clReleaseProgram(result);
}

/* Two parts of the first device: its tiles, or a core each. */
static cl_int divide(cl_uint *ret_count)
{
	const cl_device_partition_property ways[][4] = {
		{ CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE, 0 },
		{ CL_DEVICE_PARTITION_EQUALLY, 1, 0 },
	};
	cl_device_id parts[64];
	cl_int error = CL_INVALID_VALUE;

	for (size_t i = 0; i < COUNT(ways) && (error != CL_SUCCESS || *ret_count < 2); i++)
		error = clCreateSubDevices(devices[0], ways[i], COUNT(parts), parts, ret_count);
	if (error == CL_SUCCESS && *ret_count >= 2)
		memcpy(devices, parts, sizeof(devices));
	return error;
}

static void set_up(void)
{
	cl_uint count = 0;
	cl_int error = clGetPlatformIDs(1, &platform, NULL);

	if (error == CL_SUCCESS)
		error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count);
	if (error == CL_SUCCESS && arrangement->parts)
		error = divide(&count);
	if (error == CL_SUCCESS && count < arrangement->count)
		error = CL_DEVICE_NOT_FOUND;
	targets = devices + arrangement->first;
	device = targets[0];
	if (error == CL_SUCCESS)
		context = clCreateContext(NULL, arrangement->count, devices, NULL, NULL, &error);
	if (error != CL_SUCCESS) {
		(void)fprintf(stderr, "no such OpenCL devices: %d\n", error);
		exit(2);
	}
}

static int run_one(const struct corpus_source *source, enum kind kind)
{
	static struct answers built, loaded;
	char names[4096] = "";
	size_t count = 0;
	cl_program program, again;

	set_up();
	/* A compiled object's kernels go by the names of the executable's. */
	program = make_built(source);
	if (clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count, NULL) ==
	    CL_SUCCESS && count)
		(void)clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof(names), names, NULL);
	if (kind != EXECUTABLE) {
		(void)clReleaseProgram(program);
		program = make(source, kind);
	}
	ask_program(&built, program, names);
	again = load(program, kind, source->options);
	ask_program(&loaded, again, names);
	ask_link(&built, program, source, kind);
	ask_link(&loaded, again, source, kind);
	for (size_t i = 0, j = 0; i < built.count; i++) {
		const struct answer *answer = &built.list[i];

		/* What follows a kernel that could not be made is not there. */
		for (j = 0; j < loaded.count; j++) {
			if (!strcmp(answer->question, loaded.list[j].question) &&
			    !strcmp(answer->of, loaded.list[j].of))
				break;
		}
		if (j < loaded.count)
			(void)printf("answer\t%s\t%s\t%s\t%s\n", answer->question, answer->of,
				     answer->text, loaded.list[j].text);
	}
	(void)fflush(stdout);
	_exit(0);	/* some drivers crash at exit, which is not what is asked */
}

struct row {
	char question[128];
	unsigned int asked, lost;
	char example[1400];
};

static struct row rows[MAX_ROWS];
static size_t row_count;

static struct row *row_of(const char *kind, const char *question)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s | %s", kind, question);
	for (size_t i = 0; i < row_count; i++) {
		if (!strcmp(rows[i].question, name))
			return &rows[i];
	}
	if (row_count == MAX_ROWS)
		exit(2);
	(void)snprintf(rows[row_count].question, sizeof(name), "%s", name);
	return &rows[row_count++];
}

static void take_line(char *line, const char *source, const char *kind, bool verbose)
{
	char *fields[5] = { NULL };
	struct row *row;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 5; i++)
		fields[i] = strsep(&line, "\t");
	if (!strcmp(fields[0], "unable")) {
		row = row_of(kind, fields[1]);
		row->lost++;
		row->asked++;
		(void)snprintf(row->example, sizeof(row->example), "%s: not possible", source);
		return;
	}
	if (strcmp(fields[0], "answer") != 0 || !fields[4])
		return;
	row = row_of(kind, fields[1]);
	row->asked++;
	if (!strcmp(fields[3], fields[4]))
		return;
	if (!row->lost++)
		(void)snprintf(row->example, sizeof(row->example), "%s %.60s: %.200s -> %.200s", source,
			       fields[2], fields[3], fields[4]);
	if (verbose)
		(void)printf("%s, %s, %s %.60s: %s -> %s\n", kind, fields[1], source, fields[2],
			     fields[3], fields[4]);
}

static void run_child(const char *self, size_t source, size_t kind, bool verbose)
{
	char number[24], line[4096];
	int ends[2], status = 0;
	FILE *output;
	pid_t pid;

	(void)snprintf(number, sizeof(number), "%zu", source);
	if (pipe(ends))
		exit(2);
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)close(ends[0]);
		(void)alarm(PATIENCE_S);
		(void)execl(self, self, number, kinds[kind], arrangement->name, (char *)NULL);
		_exit(126);
	}
	(void)close(ends[1]);
	output = fdopen(ends[0], "r");
	while (output && fgets(line, sizeof(line), output))
		take_line(line, corpus[source].name, kinds[kind], verbose);
	if (output)
		(void)fclose(output);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		struct row *row = row_of(kinds[kind], "the process ended");

		row->asked++;
		row->lost++;
		(void)snprintf(row->example, sizeof(row->example), "%s: %s %d", corpus[source].name,
			       WIFSIGNALED(status) ? "signal" : "exit code",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
}

static void print_driver(void)
{
	char name[256] = "", version[256] = "", driver[256] = "", of_device[256] = "";

	(void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
	(void)clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version), version, NULL);
	(void)clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(driver), driver, NULL);
	(void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(of_device), of_device, NULL);
	(void)printf("%s, %s, driver %s, %s: %s\n\n", name, version, driver, of_device, arrangement->name);
}

int main(int argc, char **argv)
{
	bool verbose = argc >= 2 && !strcmp(argv[1], "-v");
	const char *last = argc >= 2 ? argv[argc - 1] : "";
	unsigned int asked = 0, lost = 0;
	char self[4096] = "";

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < COUNT(arrangements); i++) {
		if (!strcmp(last, arrangements[i].name))
			arrangement = &arrangements[i];
	}
	if (argc == 4) {
		size_t source = strtoul(argv[1], NULL, 10);

		for (size_t i = 0; i < KINDS && source < corpus_count; i++) {
			if (!strcmp(argv[2], kinds[i]))
				return run_one(&corpus[source], (enum kind)i);
		}
		return 2;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 2;
	set_up();
	print_driver();
	for (size_t i = 0; i < corpus_count; i++) {
		for (size_t kind = 0; kind < KINDS; kind++)
			run_child(self, i, kind, verbose);
	}
	(void)printf("| program | question | differ | of | first: built -> loaded |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < row_count; i++) {
		asked += rows[i].asked;
		lost += rows[i].lost;
		if (rows[i].lost)
			(void)printf("| %s | %u | %u | %s |\n", rows[i].question, rows[i].lost,
				     rows[i].asked, rows[i].example);
	}
	(void)printf("\n%u of %u answers differ\n", lost, asked);
	(void)fflush(stdout);
	_exit(0);	/* as above */
}
