/* SPDX-License-Identifier: MIT */
/* spilling: more values live at once than there are registers, of which the compiler warns. */
kernel __attribute__((intel_reqd_sub_group_size(32)))
void spilling(global float16 *data)
{
	size_t i = get_global_id(0);
	float16 a = data[i], b = data[i + 1], c = data[i + 2], d = data[i + 3], e = data[i + 4];
	float16 f = data[i + 5], g = data[i + 6], h = data[i + 7];

	for (int round = 0; round < 100; round++) {
		a = a * h + b;
		b = b * a + c;
		c = c * b + d;
		d = d * c + e;
		e = e * d + f;
		f = f * e + g;
		g = g * f + h;
		h = h * g + a;
	}
	data[i] = a;
	data[i + 1] = b;
	data[i + 2] = c;
	data[i + 3] = d;
	data[i + 4] = e;
	data[i + 5] = f;
	data[i + 6] = g;
	data[i + 7] = h;
}
