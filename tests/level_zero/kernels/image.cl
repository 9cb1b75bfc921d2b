/* SPDX-License-Identifier: MIT */
/* image: apart, since some products have no images. */

kernel void image(read_only image2d_t in, write_only image2d_t out, sampler_t how)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1));

	write_imagef(out, at, read_imagef(in, how, (float2)(at.x, at.y)));
}
