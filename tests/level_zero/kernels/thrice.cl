/* SPDX-License-Identifier: MIT */
/* thrice: a library without kernels, which itself needs twice. */
int twice(int value);

int thrice(int value)
{
	return value + twice(value);
}
