/* SPDX-License-Identifier: MIT */
/* diff_images: a kernel with images, whose module some products refuse, and images of each kind as its arguments. */
#include "tests/level_zero/differential.h"

static void questions(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("image", NULL);
	struct diff_made made = diff_make(diff, "create", &desc);

	if (made.module)
		diff_ask_module(diff, "module", made.module);
	diff_unmake(diff, "destroy", &made);
}

/* Some are none of OpenCL's: a kernel of SPIR-V is not to have them. */
static const struct {
	const char *name;
	ze_image_format_t format;
} formats[] = {
	{ "rgba", { ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM,
		    ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
		    ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A } },
	{ "odd-order", { ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT,
			 ZE_IMAGE_FORMAT_SWIZZLE_A, ZE_IMAGE_FORMAT_SWIZZLE_0,
			 ZE_IMAGE_FORMAT_SWIZZLE_1, ZE_IMAGE_FORMAT_SWIZZLE_X } },
	{ "float", { ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT,
		     ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_0,
		     ZE_IMAGE_FORMAT_SWIZZLE_0, ZE_IMAGE_FORMAT_SWIZZLE_1 } },
	{ "packed", { ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_UNORM,
		      ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
		      ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A } },
	{ "packed-sint", { ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_SINT,
			   ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
			   ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A } },
	{ "nv12", { ZE_IMAGE_FORMAT_LAYOUT_NV12, ZE_IMAGE_FORMAT_TYPE_UNORM,
		    ZE_IMAGE_FORMAT_SWIZZLE_R, ZE_IMAGE_FORMAT_SWIZZLE_G,
		    ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A } },
};

static void set_one(struct diff *diff, void *place)
{
	const ze_kernel_desc_t kernel_desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = "image",
	};
	ze_image_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
		.type = ZE_IMAGE_TYPE_2D,
		.format = formats[*(size_t *)place].format,
		.width = 64,
		.height = 64,
		.depth = 1,
	};
	ze_image_handle_t image = NULL;
	ze_kernel_handle_t kernel = NULL;
	ze_module_handle_t module;

	diff_start_session(diff);
	module = diff_module(diff, "image", NULL);
	diff_print_status(diff, zeImageCreate(diff->context, diff->device, &desc, &image));
	if (module && image && !zeKernelCreate(module, &kernel_desc, &kernel))
		diff_print_status(diff, zeKernelSetArgumentValue(kernel, 0, sizeof(image), &image));
}

static void arguments(struct diff *diff)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		diff_survive(diff, formats[i].name, set_one, &i);
}

const struct diff_subject diff_images[] = {
	{ "image", questions, false },
	{ "image-arguments", arguments, true },
	{ NULL, NULL, false },
};
