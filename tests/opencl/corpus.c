/* SPDX-License-Identifier: MIT */
/* corpus: each source for what a binary might lose of it. */
#include "tests/opencl/corpus.h"

#define TEN "abcdefghij"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG_NAME HUNDRED HUNDRED TEN TEN TEN TEN TEN	/* 250: below what NVIDIA's driver survives */

const struct corpus_source corpus[] = {
	{ "plain", "", "kernel void f(global float *a) { a[get_global_id(0)] += 1; }", NULL },
	{ "nothing", "", "kernel void f(void) {}", NULL },
	{ "no-kernel", "", "int g(int x) { return x + 1; }", NULL },
	{ "arg-info", "-cl-kernel-arg-info",
	  "typedef struct { int a; float4 b; } pair;\n"
	  "kernel void f(global const float *restrict a, constant pair *b, local int *c,\n"
	  "              volatile global uint *d, const int e, float4 g, pair p) {\n"
	  "	d[0] = (uint)a[0] + b->a + c[0] + e + (uint)g.x + p.a; }", NULL },
	{ "options", "-DN=7 -cl-fast-relaxed-math -cl-mad-enable -w",
	  "kernel void f(global float *a) { a[0] = native_sin(a[1]) * N; }", NULL },
	{ "warning", "", "kernel void f(global int *a) { int unused; a[0] = 1; }\n"
			      "#warning seen\n", NULL },
	{ "required-size", "",
	  "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void f(global int *a) { a[get_local_id(0)] = 1; }", NULL },
	{ "hints", "",
	  "kernel __attribute__((work_group_size_hint(16, 1, 1))) __attribute__((vec_type_hint(float4)))\n"
	  "void f(global float4 *a) { a[get_global_id(0)] *= 2; }\n"
	  "kernel __attribute__((vec_type_hint(int))) void g(global int *a) { a[0] = 2; }", NULL },
	{ "sub-group-size", "",
	  "#ifdef cl_intel_required_subgroup_size\n"
	  "__attribute__((intel_reqd_sub_group_size(16)))\n"
	  "#endif\n"
	  "kernel void f(global int *a) { a[get_global_id(0)] = 3; }", NULL },
	{ "local-memory", "",
	  "kernel void f(global float *a) { local float t[256]; t[get_local_id(0)] = a[get_global_id(0)];\n"
	  "	barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[(get_local_id(0) + 1) % 256]; }", NULL },
	{ "local-memories", "",
	  "kernel void f(global float *a, local float *p) { local float t[64], u[32]; local int n;\n"
	  "	if (!get_local_id(0)) n = 1; t[get_local_id(0) % 64] = a[0]; u[get_local_id(0) % 32] = 2;\n"
	  "	barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[0] + u[1] + n + p[0]; }\n"
	  "kernel void g(global float *a) { a[0] = 1; }", NULL },
	{ "local-required", "",
	  "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void f(global float *a) { local float t[64];\n"
	  "	t[get_local_id(0)] = a[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
	  "	a[get_global_id(0)] = t[63 - get_local_id(0)]; }", NULL },
	{ "private-memory", "",
	  "kernel void f(global int *a) { int t[512]; for (int i = 0; i < 512; i++) t[i] = a[i] * i;\n"
	  "	a[0] = t[a[1] & 511] + t[a[2] & 511]; }", NULL },
	{ "barriers", "",
	  "kernel void f(global int *a, local int *t) { for (int i = 0; i < a[0]; i++) {\n"
	  "	t[get_local_id(0)] = i; barrier(CLK_LOCAL_MEM_FENCE); a[1] += t[0]; barrier(CLK_GLOBAL_MEM_FENCE); } }", NULL },
	{ "constants", "",
	  "constant float table[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };\n"
	  "kernel void f(global float *a) { a[0] = table[get_global_id(0) & 7]; }", NULL },
	{ "images", "-cl-kernel-arg-info",
	  "constant sampler_t s = CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP;\n"
	  "kernel void f(read_only image2d_t i, write_only image2d_t o, sampler_t t) {\n"
	  "	int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	  "	write_imagef(o, at, read_imagef(i, s, at) + read_imagef(i, t, at)); }", NULL },
	{ "printf", "", "kernel void f(int x) { printf(\"%d\\n\", x); }", NULL },
	{ "atomics", "", "kernel void f(global int *a) { atomic_add(a, 1); atomic_cmpxchg(a + 1, 0, 1); }", NULL },
	{ "math", "", "kernel void f(global float *a) { float x = a[0]; a[0] = sin(x) * exp(x) + pow(x, 3.5f) / sqrt(x); }", NULL },
	{ "double", "",
	  "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
	  "kernel void f(global double *a) { a[0] = sqrt(a[1]) * 2.0; }\n#else\nkernel void f(global int *a) {}\n#endif", NULL },
	{ "half", "",
	  "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
	  "kernel void f(global half *a) { a[0] = a[1] * (half)2; }\n#else\nkernel void f(global int *a) {}\n#endif", NULL },
	{ "vectors", "", "kernel void f(global int3 *a, char16 c, uchar2 d, long4 e) { a[0] += (int3)(c.s0, d.x, (int)e.w); }", NULL },
	{ "many-arguments", "-cl-kernel-arg-info",
	  "kernel void f(global int *a, int b, int c, int d, int e, int g, int h, int i, int j, int k, int l, int m,\n"
	  "	int n, int o, int p, int q, int r, int s, int t, int u) { a[0] = b+c+d+e+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u; }", NULL },
	{ "many-kernels", "",
	  "kernel void z(global int *a) { a[0] = 1; } kernel void y(global int *a, int b) { a[0] = b; }\n"
	  "kernel void a(global int *x) { x[0] = 3; } kernel void m(int b, global int *a) { a[0] = b; }\n"
	  "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void b(global int *a) { a[0] = 5; }", NULL },
	{ "calls-kernel", "",
	  "kernel void g(global int *a) { a[0] = 1; } kernel void f(global int *a) { g(a); a[1] = 2; }", NULL },
	{ "unrolled", "",
	  "kernel void f(global float *a) { float t = 0;\n#pragma unroll\n	for (int i = 0; i < 64; i++) t += a[i] * t; a[0] = t; }", NULL },
	{ "long-name", "", "kernel void " LONG_NAME "(global int *a) { a[0] = 1; }", NULL },
	{ "cl2", "-cl-std=CL2.0",
	  "global int counter = 5;\nkernel void f(global int *a) { a[0] = counter++; }", NULL },
	{ "cl3", "-cl-std=CL3.0", "kernel void f(global int *a) { a[0] = __OPENCL_C_VERSION__; }", NULL },
	{ "generic", "-cl-std=CL2.0",
	  "int g(int *p) { return *p; }\nkernel void f(global int *a) { local int t; t = a[0]; a[1] = g(&t) + g(a); }", NULL },
	{ "sub-groups", "-cl-std=CL2.0",
	  "#ifdef cl_khr_subgroups\n#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
	  "kernel void f(global int *a) { a[get_global_id(0)] = sub_group_reduce_add((int)get_local_id(0)); }\n"
	  "#else\nkernel void f(global int *a) {}\n#endif", NULL },
	{ "two-sources", "", "int g(int x);\nkernel void f(global int *a) { a[0] = g(a[1]); }",
	  "int g(int x) { return x * 3; }\nkernel __attribute__((reqd_work_group_size(2, 1, 1))) void h(global int *a) { a[0] = g(4); }" },
	{ "two-local", "", "void g(local int *t);\nkernel void f(global int *a) { local int t[32]; g(t); barrier(CLK_LOCAL_MEM_FENCE); a[0] = t[1]; }",
	  "void g(local int *t) { t[get_local_id(0) % 32] = 1; }" },
};

const size_t corpus_count = sizeof(corpus) / sizeof(corpus[0]);
