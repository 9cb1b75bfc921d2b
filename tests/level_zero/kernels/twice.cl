/* SPDX-License-Identifier: MIT */
/* twice: a module that others take a function from, with a kernel and a variable. */
global int doubled = 2;

int twice(int value)
{
	return value * doubled;
}

kernel void twice_of(global int *out)
{
	out[0] = twice(out[0]);
}
