/* SPDX-License-Identifier: MIT */
/*
 * diff_corpus: varied kernels, each asked everything, since drivers' binaries
 * lose what only the compilation knew. What a driver does not support is a
 * line that says so, the same with and without the layer.
 */
#include "tests/opencl/differential.h"

#define FIVE(text) text text text text text
#define N250 FIVE(FIVE("abcdefghij"))
#define VOID "kernel void "

struct piece {
	const char *name;
	const char *source;
	const char *kernel;	/* NULL: "value"; "": it has none */
	const char *options;
	const char *extension;	/* that the device must have */
	int version;		/* likewise; 0: any */
	const char *second;	/* what it is linked with: it is no executable by itself */
};

static const struct piece pieces[] = {
	{ "corpus-plain", .source = VOID "value(global int *out) { out[get_global_id(0)] = 1; }" },
	{ "corpus-no-arguments", .source = VOID "value(void) { }" },
	{ "corpus-local", .source = "kernel void value(global int *out) {\n"
	  "local int room[64]; room[get_local_id(0)] = out[0]; barrier(CLK_LOCAL_MEM_FENCE);\n"
	  "out[get_global_id(0)] = room[63 - get_local_id(0)]; }" },
	{ "corpus-two-locals", .source = "kernel void value(global float *out) {\n"
	  "local float a[32]; local double4 *none; local int b[7][3]; none = 0;\n"
	  "a[get_local_id(0) % 32] = out[0]; b[get_local_id(0) % 7][1] = 2; barrier(CLK_LOCAL_MEM_FENCE);\n"
	  "out[get_global_id(0)] = a[1] + b[2][1]; }" },
	{ "corpus-local-argument", .source = "kernel void value(global int *out, local int *room) {\n"
	  "local int own[16]; own[get_local_id(0) % 16] = room[0] = 4; barrier(CLK_LOCAL_MEM_FENCE);\n"
	  "out[get_global_id(0)] = room[0] + own[3]; }" },
	{ "corpus-required-size", .source = "__attribute__((reqd_work_group_size(8, 4, 2)))\n"
	  VOID "value(global int *out) { out[get_local_id(1)] = 1; }" },
	{ "corpus-required-and-local", .source = "__attribute__((reqd_work_group_size(16, 1, 1)))\n"
	  "kernel void value(global int *out) { local int room[16];\n"
	  "room[get_local_id(0)] = out[0]; barrier(CLK_LOCAL_MEM_FENCE); out[1] = room[15]; }" },
	{ "corpus-hint", .source = "__attribute__((work_group_size_hint(32, 2, 1)))\n"
	  VOID "value(global int *out) { out[get_local_id(1)] = 1; }" },
	{ "corpus-vector-hint", .source = "__attribute__((vec_type_hint(float4)))\n"
	  VOID "value(global float4 *out) { out[0] = 1; }" },
	{ "corpus-all-attributes", .source = "__attribute__((vec_type_hint(int2), work_group_size_hint(4, 1, 1)))\n"
	  "__attribute__((reqd_work_group_size(4, 1, 1)))\n"
	  VOID "value(global int2 *out) { out[0] = 1; }" },
	{ "corpus-sub-group", .source = "#pragma OPENCL EXTENSION cl_intel_subgroups : enable\n"
	  "__attribute__((intel_reqd_sub_group_size(16)))\n"
	  VOID "value(global int *out) { out[get_global_id(0)] = get_sub_group_size(); }",
	  .extension = "cl_intel_required_subgroup_size" },
	{ "corpus-sub-groups", .source = "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
	  VOID "value(global int *out) { out[get_global_id(0)] = sub_group_reduce_add(out[0]); }",
	  .extension = "cl_khr_subgroups", .options = "-cl-std=CL3.0", .version = 30 },
	{ "corpus-constants", .source = "constant int table[4] = { 1, 2, 3, 4 };\n"
	  VOID "value(global int *out, constant float *in) { out[0] = table[out[1] & 3] + in[2]; }" },
	{ "corpus-image", .source = VOID "value(read_only image2d_t in, write_only image2d_t out, sampler_t how) {\n"
	  "int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	  "write_imagef(out, at, read_imagef(in, how, at)); }" },
	{ "corpus-sampler", .source = "constant sampler_t how = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP |"
	  " CLK_FILTER_NEAREST;\n"
	  VOID "value(read_only image2d_t in, global float4 *out) {\n"
	  "out[0] = read_imagef(in, how, (int2)(1, 2)); }" },
	{ "corpus-images", .source = VOID "value(read_only image3d_t volume, read_only image1d_t line,\n"
	  "read_only image2d_array_t layers, write_only image1d_t out) {\n"
	  "write_imagef(out, 0, (float4)(get_image_width(volume) + get_image_width(line) +"
	  " get_image_width(layers))); }" },
	{ "corpus-image-both", .source = VOID "value(read_write image2d_t both) {\n"
	  "write_imagef(both, (int2)(0, 0), read_imagef(both, (int2)(1, 1))); }",
	  .options = "-cl-std=CL2.0 -cl-kernel-arg-info", .version = 20 },
	{ "corpus-printf", .source = VOID "value(global int *out) { printf(\"%d %s\\n\", out[0], \"text\"); }" },
	{ "corpus-structs", .source = "typedef struct { int a; char b; float4 c; } inner;\n"
	  "typedef struct __attribute__((packed)) { char d; inner e[2]; } outer;\n"
	  VOID "value(global outer *out, outer by_value, constant inner *in) {\n"
	  "out[0] = by_value; out[1].e[0] = in[0]; }", .options = "-cl-kernel-arg-info" },
	{ "corpus-qualifiers", .source = VOID "value(global const volatile int *restrict in,\n"
	  "global float *restrict out, const uint4 vector, unsigned long number) {\n"
	  "out[0] = in[0] + vector.x + number; }", .options = "-cl-kernel-arg-info" },
	{ "corpus-barriers", .source = "kernel void value(global int *out, local int *room) {\n"
	  "for (int i = 0; i < 5; i++) { room[get_local_id(0)] = out[i];\n"
	  "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); out[i] = room[0]; } }" },
	{ "corpus-private", .source = "kernel void value(global int *out, int at) { int many[600];\n"
	  "for (int i = 0; i < 600; i++) many[(i * at) % 600] = out[i];\n"
	  "for (int i = 0; i < 600; i++) out[i] = many[(i + at) % 600]; }" },
	{ "corpus-calls", .source = "__attribute__((noinline)) int twice(int a) { return a * 2; }\n"
	  VOID "value(global int *out) { out[0] = twice(out[1]); }" },
	{ "corpus-many-arguments", .source = VOID "value(global int *a, global int *b, global int *c, char d,\n"
	  "short e, int f, long g, float h, char2 i, short3 j, int4 k, float8 l, long16 m, uchar n,\n"
	  "ushort o, uint p, ulong q, global char *r, constant short *s, local long *t) {\n"
	  "a[0] = b[0] + c[0] + d + e + f + g + h + i.x + j.x + k.x + l.s0 + m.s0 + n + o + p + q +"
	  " r[0] + s[0] + t[0]; }", .options = "-cl-kernel-arg-info" },
	{ "corpus-double", .source = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
	  VOID "value(global double *out, double4 in) { out[0] = sin(out[1]) + in.y; }",
	  .extension = "cl_khr_fp64" },
	{ "corpus-half", .source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
	  VOID "value(global half *out, half4 in) { out[0] = out[1] + in.y; }",
	  .extension = "cl_khr_fp16" },
	{ "corpus-atomics", .source = VOID "value(global int *out) { local int sum; sum = 0;\n"
	  "barrier(CLK_LOCAL_MEM_FENCE); atomic_add(&sum, 1); barrier(CLK_LOCAL_MEM_FENCE);\n"
	  "atomic_max(out, sum); }" },
	{ "corpus-variable", .source = "global int counter = 5;\n"
	  VOID "value(global int *out) { out[0] = counter++; }",
	  .options = "-cl-std=CL2.0", .version = 20 },
	{ "corpus-variable-3", .source = "global int counter = 5; global int *pointer;\n"
	  VOID "value(global int *out) { pointer = out; *pointer = counter++; }",
	  .options = "-cl-std=CL3.0", .version = 30 },
	{ "corpus-generic", .source = "int read(const int *from) { return *from; }\n"
	  VOID "value(global int *out, local int *room) { room[0] = 1; out[0] = read(out) + read(room); }",
	  .options = "-cl-std=CL2.0", .version = 20 },
	{ "corpus-math", .source = VOID "value(global float *out) { out[0] = native_sin(out[1]) / sqrt(out[2]); }",
	  .options = "-cl-fast-relaxed-math -cl-mad-enable" },
	{ "corpus-uniform", .source = VOID "value(global int *out) { out[get_global_id(0)] = get_local_size(0); }",
	  .options = "-cl-std=CL2.0 -cl-uniform-work-group-size", .version = 20 },
	{ "corpus-unoptimised", .source = "kernel void value(global int *out) { local int room[4]; int copy[9];\n"
	  "for (int i = 0; i < 9; i++) copy[i] = out[i]; room[1] = copy[out[3] % 9]; out[0] = room[1]; }",
	  .options = "-cl-opt-disable" },
	{ "corpus-name-255", .source = VOID "n255" N250 "z(global int *out) { local int a[9]; a[1] = 2; *out = a[1]; }",
	  .kernel = "n255" N250 "z" },
	{ "corpus-name-300", .source = VOID N250 FIVE("1234567890") "(global int *out) { local int a[9]; a[1] = 2; *out = a[1]; }",
	  .kernel = N250 FIVE("1234567890") },
	{ "corpus-several", .source = VOID "first(void) { }\n" VOID "value(global int *a) { local int r[8];"
	  " r[get_local_id(0)] = 1; a[0] = r[1]; }\n" VOID "third(float x, local char *y) { y[0] = x; }" },
	{ "corpus-no-kernel", .source = "int g(int x) { return x + 1; }", .kernel = "" },
	{ "corpus-warning", .source = VOID "value(global int *a) { int unused; a[0] = 1; }\n#warning seen\n" },
	{ "corpus-calls-kernel", .source = VOID "g(global int *a) { a[0] = 1; }\n"
	  VOID "value(global int *a) { g(a); a[1] = 2; }" },
	{ "corpus-unrolled", .source = VOID "value(global float *a) { float t = 0;\n#pragma unroll\n"
	  "for (int i = 0; i < 64; i++) t += a[i] * t; a[0] = t; }" },
	{ "corpus-atomic-exchange", .source = VOID "value(global int *a) { atomic_cmpxchg(a + 1, 0, 1); }" },
	{ "corpus-version-3", .source = VOID "value(global int *a) { a[0] = __OPENCL_C_VERSION__; }",
	  .options = "-cl-std=CL3.0", .version = 30 },
	{ "corpus-two-sources", .source = "int g(int x);\n" VOID "value(global int *a) { a[0] = g(a[1]); }",
	  .second = "int g(int x) { return x * 3; }\n__attribute__((reqd_work_group_size(2, 1, 1)))\n"
	  VOID "h(global int *a) { a[0] = g(4); }" },
	{ "corpus-two-local", .source = "void g(local int *t);\n" VOID "value(global int *a) { local int t[32];\n"
	  "g(t); barrier(CLK_LOCAL_MEM_FENCE); a[0] = t[1]; }",
	  .second = "void g(local int *t) { t[get_local_id(0) % 32] = 1; }" },
};

static bool has_extension(const struct diff *diff, const char *name)
{
	size_t size = 0;
	char *text;
	bool has;

	if (clGetDeviceInfo(diff->cl.devices[0], CL_DEVICE_EXTENSIONS, 0, NULL, &size))
		return false;
	text = calloc(1, size + 1);
	if (!text)
		client_fail("memory", 0);
	has = !clGetDeviceInfo(diff->cl.devices[0], CL_DEVICE_EXTENSIONS, size, text, NULL) &&
		strstr(text, name);
	free(text);
	return has;
}

static void ask(struct diff *diff, cl_program program, const char *name)
{
	cl_kernel kernel = client_kernel(program, name);

	diff_ask_kernel(diff, "", kernel, program);
	diff_ask_arguments(diff, "", kernel);
	diff_ask_groups(diff, "", kernel, diff->cl.devices[0]);
	if (!diff_is_older(diff, "sub-groups", 21))
		diff_ask_sub_groups(diff, "", kernel, diff->cl.devices[0]);
	diff_say(diff, "release", "%d", clReleaseKernel(kernel));
}

static cl_program link_of(struct diff *diff, const char *options, cl_uint count, const cl_program *objects,
			  cl_int *ret_error)
{
	return clLinkProgram(diff->cl.context, diff->target_count, diff->targets, options, count, objects,
			     NULL, NULL, ret_error);
}

static cl_program compile(struct diff *diff, const char *source, const char *options, cl_int *ret_error)
{
	cl_program program = client_program(&diff->cl, source);

	*ret_error = clCompileProgram(program, diff->target_count, diff->targets, options, 0, NULL, NULL,
				      NULL, NULL);
	return program;
}

/* Of the kind that is asked for. */
static cl_program make(struct diff *diff, const struct piece *piece, cl_int *ret_error)
{
	cl_program objects[2];
	cl_uint count = 1;

	if (!strcmp(diff->kind, "executable")) {
		objects[0] = client_program(&diff->cl, piece->source);
		*ret_error = clBuildProgram(objects[0], diff->target_count, diff->targets, piece->options,
					    NULL, NULL);
		return objects[0];
	}
	objects[0] = compile(diff, piece->source, piece->options, ret_error);
	if (*ret_error || !strcmp(diff->kind, "object"))
		return objects[0];
	if (piece->second)
		objects[count++] = compile(diff, piece->second, piece->options, ret_error);
	return *ret_error ? objects[0] :
		link_of(diff, strcmp(diff->kind, "library") ? "" : "-create-library", count, objects,
			ret_error);
}

/*
 * As the layer loads it: a binary of each device that it was built for, which the driver tells (pocl: of
 * parts, the whole).
 */
static cl_program reloaded(struct diff *diff, cl_program program, const struct piece *piece)
{
	unsigned char *images[CLIENT_MAX_DEVICES];
	cl_device_id owners[CLIENT_MAX_DEVICES];
	size_t sizes[CLIENT_MAX_DEVICES];
	bool linked = !strcmp(diff->kind, "linked");
	cl_uint all = 0, count = 0;
	cl_program loaded;
	cl_int error;

	if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(all), &all, NULL) ||
	    all > CLIENT_MAX_DEVICES ||
	    clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(owners), owners, NULL) ||
	    client_take_binaries(program, all, sizes, images))
		client_fail("binaries", 0);
	for (cl_uint i = 0; i < all; i++) {
		if (sizes[i]) {
			images[count] = images[i];
			owners[count] = owners[i];
			sizes[count++] = sizes[i];
		}
	}
	if (!count)
		client_fail("no binary", 0);
	loaded = clCreateProgramWithBinary(diff->cl.context, count, owners, sizes,
					   (const unsigned char **)images, NULL, &error);
	if (!error && (linked || !strcmp(diff->kind, "executable")))
		error = clBuildProgram(loaded, count, owners, linked ? NULL : piece->options, NULL, NULL);
	if (error)
		client_fail("program of a binary", error);
	return loaded;
}

static void run(struct diff *diff)
{
	const struct piece *piece = pieces;
	bool executable = strcmp(diff->kind, "object") != 0 && strcmp(diff->kind, "library") != 0;
	cl_program program, linked;
	cl_int error;

	while (strcmp(piece->name, diff->running.subject) != 0)
		piece++;
	if (diff_is_older(diff, "program", piece->version))
		return;
	if (piece->extension && !has_extension(diff, piece->extension)) {
		diff_say(diff, "program", "needs %s", piece->extension);
		return;
	}
	if (piece->second && !strcmp(diff->kind, "executable")) {
		diff_say(diff, "program", "needs a link");
		return;
	}
	program = make(diff, piece, &error);
	diff_say(diff, "build", "%d", error);
	if (!program)
		return;
	if (!error && diff->of_binaries)
		program = reloaded(diff, program, piece);
	diff_ask_all(diff, "", program);
	if (!error && executable && (!piece->kernel || *piece->kernel))
		ask(diff, program, piece->kernel ? piece->kernel : "value");
	if (!error && !executable) {
		diff_ask_names(diff, "", program, "value");
		linked = link_of(diff, "", 1, &program, &error);
		diff_say(diff, "link", "%d %s", error, linked ? "P" : "none");
	}
	diff_say_release(diff, "release", program);
}

enum { PIECES = sizeof(pieces) / sizeof(pieces[0]) };

/* A subject for each piece. */
const struct diff_subject *diff_corpus(void)
{
	static struct diff_subject subjects[PIECES + 1];

	for (size_t i = 0; i < PIECES; i++)
		subjects[i] = (struct diff_subject){ pieces[i].name, run, false };
	return subjects;
}
