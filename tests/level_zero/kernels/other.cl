/* SPDX-License-Identifier: MIT */
/* other: beside one, in a program of several inputs. */
int twice(int value);

kernel void other(global int *out)
{
	out[get_global_id(0)] = twice(2);
}
