/* SPDX-License-Identifier: MIT */
/* one: the smallest kernel with an argument. */
kernel void one(global int *out)
{
	out[get_global_id(0)] = 1;
}
