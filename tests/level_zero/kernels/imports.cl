/* SPDX-License-Identifier: MIT */
/* imports: a kernel that needs functions of other modules. */
int twice(int value);
int thrice(int value);

kernel void needs(global int *out)
{
	out[get_global_id(0)] = twice(out[0]) + thrice(out[1]);
}
