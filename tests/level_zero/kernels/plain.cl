/* SPDX-License-Identifier: MIT */
/* plain: kernels that differ in what can be asked of them, and variables of the program's own. */

global int counter = 7;
global float table[16];
constant int weights[4] = { 3, 1, 4, 1 };

kernel void scale(global const int *in, global int *out, int factor)
{
	size_t i = get_global_id(0);

	out[i] = in[i] * factor + counter + weights[i & 3];
}

kernel void sum(global const int *in, global int *out, local int *part)
{
	size_t i = get_local_id(0);
	local int fixed[64];

	fixed[i & 63] = in[i];
	part[i] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_group_id(0)] = part[0] + fixed[1];
}

kernel __attribute__((reqd_work_group_size(8, 2, 1))) __attribute__((vec_type_hint(float4)))
void required(global float *out)
{
	out[get_global_id(0)] = table[get_local_id(0)];
}

kernel __attribute__((intel_reqd_sub_group_size(16)))
void grouped(global uint *out, uchar small, ulong large, float4 vector)
{
	out[get_global_id(0)] = small + (uint)large + (uint)vector.x;
}

kernel void room(global int *out, int n)
{
	int own[256];

	for (int i = 0; i < 256; i++)
		own[i] = out[i] ^ n;
	for (int i = 0; i < n; i++)
		own[(own[i & 255] + i) & 255] += i;
	out[get_global_id(0)] = own[n & 255];
}

kernel void empty(void)
{
}
