/* SPDX-License-Identifier: MIT */
/* client_ways: scenarios of the less usual ways to a program: embedded headers, libraries, IL, devices in turn. */
#include <malloc.h>
#include <sys/mman.h>

#include "tests/opencl/client.h"
#include "tests/opencl/value_il.h"

static void print_value(struct client *client, cl_program program, const char *name)
{
	cl_kernel kernel = client_kernel(program, name);

	printf("value %lld\n", (long long)client_value(client, kernel));
	printf("release kernel %d\n", clReleaseKernel(kernel));
}

/* Compiles with an embedded header whose text is the first argument, then links. */
SCENARIO(embedded)
{
	static const char source[] = "#include \"embedded/value.h\"\n"
				     "kernel void value(global int *out) { out[0] = VALUE; }\n";
	static const char both[] = "#include \"embedded/value.h\"\n#include \"second.h\"\n"
				   "kernel void value(global int *out) { out[0] = VALUE; }\n";
	const char *second = client->arguments[0] && client->arguments[1] ? client->arguments[2] : NULL;
	const char *names[] = { client->arguments[1] ? client->arguments[1] : "embedded/value.h", "second.h" };
	cl_program headers[] = { client_program(client, client->arguments[0]),
				 client_program(client, second ? second : "") };
	cl_program header = headers[0], program = client_program(client, second ? both : source), linked;
	cl_int error = clCompileProgram(program, 0, NULL, "", second ? 2 : 1, headers, names, NULL, NULL);

	printf("compile %d\n", error);
	client_print_build(client, program);
	client_print_program(client, program);
	linked = client_print_linked(client, "", 1, &program, &error);
	if (linked && !error) {
		client_print_build(client, linked);
		client_print_program(client, linked);
		print_value(client, linked, "value");
		printf("release linked %d\n", clReleaseProgram(linked));
	}
	printf("release %d %d %d\n", clReleaseProgram(program), clReleaseProgram(header),
	       clReleaseProgram(headers[1]));
}

/* A library of one object, linked into another; the program outlives its parts, a kernel outlives it. */
SCENARIO(library)
{
	static const char function[] = "int add(int a) { return a + K; }\n";
	static const char user[] = "int add(int a);\n"
				   "kernel void value(global int *out) { out[0] = add(30); }\n";
	cl_program object = client_program(client, function), parts[2], linked;
	cl_kernel kernel;
	cl_int error = clCompileProgram(object, 0, NULL, "-DK=7", 0, NULL, NULL, NULL, NULL);

	printf("compile %d\n", error);
	parts[0] = client_program(client, user);
	printf("compile %d\n", clCompileProgram(parts[0], 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
	parts[1] = clLinkProgram(client->context, 0, NULL, "-create-library", 1, &object, NULL, NULL,
				 &error);
	printf("library %d\n", error);
	if (error)
		return;
	client_print_build(client, parts[1]);
	linked = client_print_linked(client, NULL, 2, parts, &error);
	if (error)
		return;
	kernel = client_kernel(linked, "value");
	printf("references %u\n", client_references(linked));
	printf("release %d %d %d %d\n", clReleaseProgram(object), clReleaseProgram(parts[0]),
	       clReleaseProgram(parts[1]), clReleaseProgram(linked));
	printf("value %lld\n", (long long)client_value(client, kernel));
	printf("release kernel %d\n", clReleaseKernel(kernel));
}

/* One source that fails, built by two programs, and twice by the second. */
SCENARIO(failing_again)
{
	static const char source[] = "#error not today\nkernel void none(global int *out) { }\n";

	for (int i = 0; i < 2; i++) {
		cl_program program = client_program(client, source);
		cl_int error;

		client_print_built(client, program, "-DA=1");
		client_print_program(client, program);
		(void)clCreateKernel(program, "none", &error);
		printf("kernel %d\n", error);
		printf("release %d\n", clReleaseProgram(program));
	}
}

/* A program built for the first device, then for the second, then for both; kernels of each. */
SCENARIO(devices_in_turn)
{
	cl_program program = client_program(client, client_source);

	for (cl_uint i = 0; i < 3; i++) {
		cl_uint count = i < 2 ? 1 : client->device_count;
		const cl_device_id *list = i < 2 ? &client->devices[i] : client->devices;
		size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, size = 0;

		printf("build %d\n", clBuildProgram(program, count, list, "-DK=6", NULL, NULL));
		printf("sizes %d", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes),
						    sizes, &size));
		for (size_t j = 0; j < size / sizeof(sizes[0]); j++)
			printf(" %s", sizes[j] ? "some" : "none");
		printf("\n");
		for (cl_uint j = 0; j < client->device_count; j++) {
			cl_build_status status = -99;
			cl_int error = clGetProgramBuildInfo(program, client->devices[j],
							     CL_PROGRAM_BUILD_STATUS,
							     sizeof(status), &status, NULL);

			printf("device %u: %d %d\n", j, error, status);
		}
	}
	printf("release %d\n", clReleaseProgram(program));
}

/* The second device alone, or ("all") all of them, with its binary read. */
SCENARIO(second_device)
{
	cl_program program = client_program(client, client_source);
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 };
	unsigned char *images[CLIENT_MAX_DEVICES] = { 0 };
	cl_int error = client->arguments[0] ? client_build(program, "-DK=3") :
		       clBuildProgram(program, 1, &client->devices[1], "-DK=3", NULL, NULL);

	printf("build %d\n", error);
	error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL);
	printf("sizes %d %d %d\n", error, sizes[0] != 0, sizes[1] != 0);
	images[1] = malloc(sizes[1] + 1);
	if (!images[1])
		client_fail("malloc", 0);
	images[1][0] = 0;
	error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(images), images, NULL);
	printf("binary %d %d\n", error, images[1][0] != 0);
	free(images[1]);
	printf("release %d\n", clReleaseProgram(program));
}

/* What there is of each device, for some of which a program was built, and in lists that are too short. */
SCENARIO(some_binaries)
{
	cl_program program = client_program(client, client_source);
	const cl_device_id list[] = { client->devices[client->device_count - 1], client->devices[1] };
	unsigned char *images[CLIENT_MAX_DEVICES] = { 0 };
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, size = 0;
	cl_int error = clBuildProgram(program, 2, list, "-DK=3", NULL, NULL);

	printf("build %d\n", error);
	printf("short %d", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes[0]), sizes, NULL));
	printf(" %d\n", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(images[0]), images, NULL));
	error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &size);
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++) {
		images[i] = calloc(1, sizes[i] + 1);
		if (!images[i])
			client_fail("calloc", 0);
	}
	printf("sizes %d, %zu", error, size / sizeof(sizes[0]));
	error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, size, images, NULL);
	printf(", binaries %d\n", error);
	for (size_t i = 0; i < size / sizeof(sizes[0]); i++) {
		unsigned int sum = 0;

		for (size_t j = 0; j < sizes[i]; j++)
			sum = 31 * sum + images[i][j];
		printf("binary of %zu bytes: %08x\n", sizes[i], sum);
		free(images[i]);
	}
	printf("release %d\n", clReleaseProgram(program));
}

/* Compiled for one device after the other, and for all of them. */
SCENARIO(compile_in_turn)
{
	cl_program program = client_program(client, client_source);

	for (cl_uint i = 0; i < 3; i++) {
		cl_uint count = i < 2 ? 1 : client->device_count;
		const cl_device_id *list = i < 2 ? &client->devices[i] : client->devices;
		size_t sizes[CLIENT_MAX_DEVICES] = { 0 }, size = 0;

		printf("compile %d\n", clCompileProgram(program, count, list, "-DK=6", 0, NULL, NULL, NULL,
							NULL));
		client_print_build(client, program);
		printf("sizes %d", clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes),
						    sizes, &size));
		for (size_t j = 0; j < size / sizeof(sizes[0]); j++)
			printf(" %zu", sizes[j]);
		printf("\n");
	}
	printf("release %d\n", clReleaseProgram(program));
}

/* Two objects that are compiled with each an option, linked with another, for all devices or ("second") one; then built, which some drivers do. */
SCENARIO(link_two)
{
	static const char *const sources[] = {
		"kernel void one(global int *out) { out[0] = ONE; }\n",
		"kernel void two(global int *out) { out[0] = TWO; }\n",
	};
	cl_program objects[2], linked;
	cl_int error;

	for (int i = 0; i < 2; i++) {
		objects[i] = client_program(client, sources[i]);
		printf("compile %d\n", client_compile(objects[i], client->arguments[i]));
	}
	linked = clLinkProgram(client->context, client->arguments[3] ? 1 : 0,
			       client->arguments[3] ? &client->devices[1] : NULL, client->arguments[2], 2,
			       objects, NULL, NULL, &error);
	printf("link %d\n", error);
	if (linked) {
		client_print_build(client, linked);
		client_print_program(client, linked);
		printf("build %d\n", client_build(linked, "-DO=1"));
		print_value(client, linked, "one");
		printf("release %d\n", clReleaseProgram(linked));
	}
	for (int i = 0; i < 2; i++)
		printf("release %d\n", clReleaseProgram(objects[i]));
}

/* An object that the application has from elsewhere: its binary, linked. */
SCENARIO(link_binary)
{
	cl_program object = client_program(client, client_source), loaded, linked;
	unsigned char *images[CLIENT_MAX_DEVICES] = { 0 };
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 };
	cl_int error;

	printf("compile %d\n", client_compile(object, client->arguments[0]));
	(void)clGetProgramInfo(object, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL);
	for (cl_uint i = 0; i < client->device_count; i++) {
		images[i] = malloc(sizes[i] + 1);
		if (!images[i])
			client_fail("malloc", 0);
	}
	(void)clGetProgramInfo(object, CL_PROGRAM_BINARIES, sizeof(images), images, NULL);
	loaded = clCreateProgramWithBinary(client->context, client->device_count, client->devices, sizes,
					   (const unsigned char **)images, NULL, &error);
	printf("create %d\n", error);
	linked = client_print_linked(client, "", 1, &loaded, &error);
	if (linked) {
		client_print_program(client, linked);
		printf("release %d\n", clReleaseProgram(linked));
	}
	for (cl_uint i = 0; i < client->device_count; i++)
		free(images[i]);
	printf("release %d %d\n", clReleaseProgram(object), clReleaseProgram(loaded));
}

/* Fails for want of a file, twice, and then that is there. */
SCENARIO(failing_until)
{
	static const char source[] = "#include \"late.h\"\nkernel void value(global int *out) { out[0] = 5; }\n";

	for (int i = 0; i < 3; i++) {
		cl_program program = client_program(client, source);
		FILE *file = i == 2 ? fopen("late.h", "w") : NULL;

		if (file)
			(void)fclose(file);	/* empty */
		client_print_built(client, program, "-I .");
		printf("release %d\n", clReleaseProgram(program));
	}
	(void)remove("late.h");
}

/* Lists that name a stranger beside a device that it is built for, and a device twice. */
SCENARIO(odd_list)
{
	const cl_device_id list[] = { client->devices[1], client->devices[0], client->devices[1] };
	const cl_device_id strangers[] = { client->devices[0], NULL };
	cl_program program = client_program(client, client_source);

	for (cl_uint i = 1; i <= 2; i++)
		printf("build %d\n", clBuildProgram(program, i, strangers, "-DK=3", NULL, NULL));
	printf("release %d\n", clReleaseProgram(program));
	program = client_program(client, client_source);
	printf("build %d\n", clBuildProgram(program, 3, list, "-DK=3", NULL, NULL));
	client_print_build(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

static void CL_CALLBACK note_link(cl_program program, void *data)
{
	(void)program;
	++*(int *)data;
}

/* The same link plainly, with a callback, and with arguments that a driver has to refuse. */
SCENARIO(link_odd)
{
	static const char source[] = "kernel void value(global int *out) { out[0] = 5; }\n";
	cl_program object = client_program(client, source), other = client_program(client, source), linked;
	cl_int error;
	int called = 0;

	printf("compile %d\n", clCompileProgram(object, 0, NULL, "-DO=1", 0, NULL, NULL, NULL, NULL));
	printf("headers of no number %d\n",
	       clCompileProgram(other, 0, NULL, "-DO=1", 0, &object, NULL, NULL, NULL));
	for (int i = 0; i < 4; i++) {
		linked = clLinkProgram(client->context, i == 2, NULL, "", 1, &object, i == 1 ? note_link : NULL,
				       i == 1 || i == 3 ? &called : NULL, &error);
		printf("link %d called %d\n", error, called);
		if (linked)
			printf("release %d\n", clReleaseProgram(linked));
	}
	printf("release %d %d\n", clReleaseProgram(object), clReleaseProgram(other));
}

/* A build after, with "link", a link that the layer lets pass: link-before [link]. */
SCENARIO(link_before)
{
	static const char source[] = "kernel void value(global int *out) { out[0] = 5; }\n";
	cl_program object = client_program(client, source), built = client_program(client, source), linked;
	cl_int error;
	int called = 0;

	printf("compile %d\n", clCompileProgram(object, 0, NULL, "-DO=1", 0, NULL, NULL, NULL, NULL));
	if (client->arguments[0]) {
		linked = clLinkProgram(client->context, 0, NULL, "", 1, &object, note_link, &called, &error);
		printf("link %d called %d release %d\n", error, called, clReleaseProgram(linked));
	}
	printf("build %d\n", clBuildProgram(built, 0, NULL, "-DO=2", NULL, NULL));
	printf("release %d %d\n", clReleaseProgram(object), clReleaseProgram(built));
}

static void write_value(const char *text)
{
	FILE *file = fopen("value.h", "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		client_fail("value.h", 0);
}

/*
 * An object of a file, or ("library") a library of it, is linked: link-changed OPTIONS
 * change|same|unresolved [library]. The file changes between the two, and back at the end.
 */
SCENARIO(link_changed)
{
	static const char source[] = "#include \"value.h\"\nkernel void value(global int *out) { out[0] = 5; }\n";
	cl_program object = client_program(client, source), library = NULL, linked;
	cl_int error;

	write_value("int first;\n");
	printf("compile %d\n", clCompileProgram(object, 0, NULL, "-I .", 0, NULL, NULL, NULL, NULL));
	if (client->arguments[2]) {
		library = clLinkProgram(client->context, 0, NULL, "-create-library", 1, &object, NULL, NULL,
					&error);
		printf("library %d\n", error);
	}
	if (strcmp(client->arguments[1], "same") != 0)
		write_value(!strcmp(client->arguments[1], "change") ? "int second;\n" : "int unresolved;\n");
	linked = clLinkProgram(client->context, 0, NULL, client->arguments[0], 1,
			       library ? &library : &object, NULL, NULL, &error);
	printf("link %d\n", error);
	write_value("int first;\n");
	if (linked) {
		client_print_program(client, linked);
		printf("release %d\n", clReleaseProgram(linked));
	}
	if (library)
		printf("release %d\n", clReleaseProgram(library));
	printf("release %d\n", clReleaseProgram(object));
}

/* What PyOpenCL appends to a source; the argument is its token. */
SCENARIO(token)
{
	const char *before = client->arguments[1] ? client->arguments[1] : "";
	const char *options = client->arguments[1] && client->arguments[2] ? client->arguments[2] : "";
	char source[4096];
	cl_program program;
	cl_kernel kernel;
	size_t kernels = 0;

	(void)snprintf(source, sizeof(source), "%s\n"
		       "kernel void value(global int *out) { out[0] = 5; }\n"
		       "\n\n__constant int pyopencl_defeat_cache_%s = 0;", before, client->arguments[0]);
	program = client_program(client, source);
	printf("build %d\n", client_build(program, options));
	printf("kernels %d", clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(kernels), &kernels, NULL));
	printf(" %zu\n", kernels);
	kernel = client_kernel(program, "value");
	printf("value %lld\n", (long long)client_value(client, kernel));
	printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program));
}

/* Complaints that may show the last line. */
SCENARIO(tokens_failing)
{
	static const char *const sources[] = {
		"#error not today\n\n__constant int pyopencl_defeat_cache_00112233445566778899aabbccddeeff = 0;",
		"#error not today\n\n__constant int pyopencl_defeat_cache_0f0e0d0c0b0a09080706050403020100 = 0;",
	};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		cl_program program = client_program(client, sources[i]);

		client_print_built(client, program, "");
		printf("release %d\n", clReleaseProgram(program));
	}
}

/* A header that changes between builds through a mapping, and whose mtime is long ago. */
SCENARIO(mapped)
{
	static const char text[] = "#define VALUE 1\n";
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	int fd = open("mapped.h", O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *mapped = MAP_FAILED;

	if (fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1)
		mapped = mmap(NULL, sizeof(text) - 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		client_fail("mapped.h", errno);
	printf("old %d\n", futimens(fd, old));
	for (int i = 0; i < 3; i++) {
		cl_program program = client_program(client, "#include \"mapped.h\"\n"
			"kernel void value(global int *out) { out[0] = VALUE; }\n");
		cl_kernel kernel;

		mapped[14] = (char)('1' + i);
		printf("build %d\n", client_build(program, "-I."));
		kernel = client_kernel(program, "value");
		printf("value %lld\n", (long long)client_value(client, kernel));
		printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program));
	}
	printf("end %d %d\n", munmap(mapped, sizeof(text) - 1), close(fd));
}

/* A source without a character. */
SCENARIO(empty)
{
	cl_program program = client_program(client, "");

	client_print_built(client, program, "-DK=5");
	printf("release %d\n", clReleaseProgram(program));
}

/* unknown-kernels COUNT: so many kernels that the program does not have, then three times one that it has. */
SCENARIO(unknown_kernels)
{
	cl_program program = client_program(client, client_source);
	int count = atoi(client->arguments[0]), refused = 0;
	size_t used;

	printf("build %d\n", client_build(program, "-DK=5"));
	used = mallinfo2().uordblks;
	for (int i = 0; i < count; i++) {
		char name[32];
		cl_int error;

		(void)snprintf(name, sizeof(name), "none_%d", i);
		(void)clCreateKernel(program, name, &error);
		refused += error == CL_INVALID_KERNEL_NAME;
	}
	/* Less than their names have. */
	printf("refused %d kept %d\n", refused,
	       mallinfo2().uordblks > used + (size_t)count * sizeof("none_1234"));
	for (int i = 0; i < 3; i++) {
		cl_kernel kernel = client_kernel(program, "scale");

		client_print_scaled(client, kernel, 2);
		printf("release %d\n", clReleaseKernel(kernel));
	}
	printf("release %d\n", clReleaseProgram(program));
}

/*
 * A module of SPIR-V, made by the call of OpenCL 2.1 or ("address") by the
 * extension's; then its constant is set to each further argument in turn, or
 * ("ID:SIZE:VALUE") another one.
 */
SCENARIO(il)
{
	typedef cl_program(CL_API_CALL * create_fn)(cl_context, const void *, size_t, cl_int *);
	typedef cl_int(CL_API_CALL * set_fn)(cl_program, cl_uint, size_t, const void *);
	create_fn create = clCreateProgramWithIL;
	set_fn set = clSetProgramSpecializationConstant;
	cl_program program;
	cl_int error, constant;

	if (!strcmp(client->arguments[0], "address")) {
		create = (create_fn)clGetExtensionFunctionAddressForPlatform(
			client->platform, "clCreateProgramWithILKHR");
		set = (set_fn)clGetExtensionFunctionAddressForPlatform(
			client->platform, "clSetProgramSpecializationConstant");
	}
	if (!create) {
		printf("no such function\n");
		return;
	}
	program = create(client->context, value_il, sizeof(value_il), &error);
	printf("create %d\n", error);
	if (error)
		return;
	for (char **at = client->arguments + 1; *at; at++) {
		unsigned int id, len;
		unsigned long long number;
		unsigned char wide[64] = { 0 };

		if (set && sscanf(*at, "%u:%u:%llx", &id, &len, &number) == 3 && len <= sizeof(wide)) {
			memcpy(wide, &number, sizeof(number));
			printf("constant %d\n", set(program, id, len, wide));
			continue;
		}
		constant = atoi(*at);
		if (set)
			printf("constant %d\n", set(program, 7, sizeof(constant), &constant));
		else
			printf("no such function\n");
	}
	client_print_built(client, program, NULL);
	client_print_program(client, program);
	print_value(client, program, "value");
	printf("release %d\n", clReleaseProgram(program));
}

/* What the first device takes beside sources; nothing: no intermediate language. */
SCENARIO(il_version)
{
	char version[256] = "";

	if (clGetDeviceInfo(client->devices[0], CL_DEVICE_IL_VERSION, sizeof(version), version, NULL))
		version[0] = '\0';	/* older than the question */
	printf("il \"%s\"\n", version);
}

/* Constants that the driver refuses change nothing. */
SCENARIO(il_refused)
{
	const unsigned char wide[65] = { 1 };
	cl_int error;
	cl_program program = clCreateProgramWithIL(client->context, value_il, sizeof(value_il), &error);

	printf("create %d\n", error);
	printf("constant %d\n", clSetProgramSpecializationConstant(program, 7, sizeof(wide), wide));
	printf("build %d\n", client_build(program, NULL));
	print_value(client, program, "value");
	printf("release %d\n", clReleaseProgram(program));
}

/* Large modules with a constant each, made and given back: what they leave behind. */
SCENARIO(il_again)
{
	enum { SIZE = 1 << 20, TIMES = 64 };
	char *il = calloc(1, SIZE);
	const int constant = 5;
	size_t before = 0, after;

	if (!il)
		client_fail("calloc", CL_OUT_OF_HOST_MEMORY);
	for (int i = 0; i < TIMES; i++) {
		cl_program program = clCreateProgramWithIL(client->context, il, SIZE, NULL);

		if (clSetProgramSpecializationConstant(program, 7, sizeof(constant), &constant) ||
		    clReleaseProgram(program))
			client_fail("constant", CL_INVALID_VALUE);
		if (i == 0)
			before = mallinfo2().uordblks + mallinfo2().hblkhd;
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	printf("grew %d\n", after > before + SIZE * (TIMES / 2));
	free(il);
}

/* Strings with and without a length; the argument stands in one without. */
SCENARIO(strings)
{
	const char *strings[] = { "kernel void value(global int *out) { out[0] = ",
				  client->arguments[0], "; }\nthis is not read" };
	const size_t lengths[] = { strlen(strings[0]), 0, 4 };
	cl_int error;
	cl_program program = clCreateProgramWithSource(client->context, 3, strings, lengths, &error);

	printf("create %d\n", error);
	printf("build %d\n", client_build(program, ""));
	print_value(client, program, "value");
	printf("release %d\n", clReleaseProgram(program));
}

/* All kernels of a program at once, of which one's name begins with another's. */
SCENARIO(kernel_order)
{
	cl_program program = client_program(client,
		"kernel void scaled(global int *out) { out[0] = 1; }\n"
		"kernel void scale(global int *out) { out[0] = 2; }\n"
		"kernel void shift(global int *out) { out[0] = 3; }\n");
	cl_kernel kernels[3];
	cl_uint count = 0;

	printf("build %d\n", client_build(program, ""));
	printf("create %d\n", clCreateKernelsInProgram(program, 3, kernels, &count));
	for (cl_uint i = 0; i < count; i++) {
		char name[64] = "";

		(void)clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name,
				      NULL);	/* empty: it failed */
		printf("%s\n", name);
		printf("release %d\n", clReleaseKernel(kernels[i]));
	}
	printf("release %d\n", clReleaseProgram(program));
}

/* The same bytes as a text and ("il") as an intermediate language, built, ("compile") compiled or included ("header"). */
SCENARIO(text_or_il)
{
	const char *text = "kernel void value(global int *out) { out[0] = 5; }\n";
	bool il = !strcmp(client->arguments[0], "il");
	bool compiles = client->arguments[1] && !strcmp(client->arguments[1], "compile");
	cl_int error = CL_SUCCESS;
	cl_program program = il ? clCreateProgramWithIL(client->context, text, strlen(text), &error) :
				  client_program(client, text);

	printf("create %d\n", error);
	if (client->arguments[1] && !strcmp(client->arguments[1], "header")) {
		const char *name = "value.h";
		cl_program header = program;

		program = client_program(client, "#include \"value.h\"\n");
		printf("compile %d\n", clCompileProgram(program, 0, NULL, "-DO=1", 1, &header, &name, NULL,
						       NULL));
		client_print_program(client, program);
		printf("release %d %d\n", clReleaseProgram(header), clReleaseProgram(program));
		return;
	}
	printf("build %d\n", compiles ? clCompileProgram(program, 0, NULL, "-DO=1", 0, NULL, NULL, NULL, NULL) :
					 client_build(program, "-DO=1"));
	client_print_build(client, program);
	client_print_program(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

/*
 * Builds for parts of the first device: "whole" (itself), "equally" (parts of one unit; the first), "counts"
 * (a part of one unit), "two" (two parts in one context).
 */
SCENARIO(part)
{
	const cl_device_partition_property equally[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	const cl_device_partition_property counts[] = { CL_DEVICE_PARTITION_BY_COUNTS, 1,
							CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0 };
	const char *way = client->arguments[0];
	cl_uint wanted = strcmp(way, "two") == 0 ? 2 : 1, count = 0;
	cl_device_id parts[64];
	cl_int error = CL_SUCCESS;

	if (strcmp(way, "whole") != 0)
		error = clCreateSubDevices(client->devices[0], strcmp(way, "counts") == 0 ? counts : equally,
					   64, parts, &count);
	printf("parts %d\n", error || (count && count < wanted));
	if (error || (count && count < wanted))
		return;
	if (count) {
		memcpy(client->devices, parts, wanted * sizeof(*parts));
		client->device_count = wanted;
		client->context = clCreateContext(NULL, wanted, parts, NULL, NULL, &error);
		client->queue = error ? NULL : clCreateCommandQueue(client->context, parts[0], 0, &error);
		if (error)
			client_fail("context of parts", error);
	}
	client->arguments++;
	client_run(client, "vector");
}
