/* SPDX-License-Identifier: MIT */
/* A small program of two kernels: what many libraries build one by one. */
__kernel void scale(__global float *out, __global const float *in, float factor, uint count)
{
	uint i = get_global_id(0);

	if (i < count)
		out[i] = factor * in[i];
}

__kernel void sum_rows(__global float *out, __global const float *in, uint columns)
{
	uint row = get_global_id(0);
	float sum = 0.0f;

	for (uint i = 0; i < columns; i++)
		sum += in[row * columns + i];
	out[row] = sum;
}
