/* SPDX-License-Identifier: MIT */
/* fp64: double precision, which not every product has. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void precise(global double *out, double factor)
{
	out[get_global_id(0)] *= factor;
}
