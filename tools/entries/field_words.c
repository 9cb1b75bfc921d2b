/* SPDX-License-Identifier: MIT */
/* field_words: the names that the layers put into their keys, and what they took them from. */
#include "tools/entries/field_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A name that ends with "." stands for all that begin so. */
static const char *const words[][2] = {
	{ "api", "which interface the program used" },
	{ "platform.name", "the driver's platform" },
	{ "platform.version", "the OpenCL version of the platform" },
	{ "device.name", "the device, as its driver calls it" },
	{ "device.vendor", "who made it" },
	{ "device.vendor_id", "who made it, as a PCI number" },
	{ "device.version", "the OpenCL version of the device" },
	{ "device.driver_version", "the version that the driver reports" },
	{ "device.c_version", "the OpenCL C version that it compiles" },
	{ "device.type", "processor, graphics card or other" },
	{ "device.address_bits", "the size of its pointers" },
	{ "device.max_work_group_size", "a limit of the device" },
	{ "device.local_mem_size", "a limit of the device" },
	{ "device.max_arguments", "a limit of the device" },
	{ "device.printf_buffer", "a limit of the device" },
	{ "device.extensions", "what a kernel may use" },
	{ "device.ip_version", "the exact hardware" },
	{ "device.id", "the exact hardware, as a PCI number" },
	{ "device.cc_major", "the compute capability" },
	{ "device.cc_minor", "the compute capability" },
	{ "device.uuid", "the exact device" },
	{ "device.units", "how many compute units it has" },
	{ "device.partition", "which part of a device this is" },
	{ "device.sub_device", "which part of a device this is" },
	{ "device.sub_devices", "how many parts it has" },
	{ "device.spirv", "the SPIR-V version that it takes" },
	{ "device.native", "the format of its binaries" },
	{ "device.", "a property of the device that compilers see" },
	{ "driver.version", "the version that the driver reports" },
	{ "driver.api", "the Level Zero version of the driver" },
	{ "driver.path", "where the driver's file is" },
	{ "driver.file", "the driver's very file: an update changes it" },
	{ "driver.linker", "the linker that the driver runs, or a library that it finds by LIBRARY_PATH" },
	{ "processor.features", "what the processor can do, for drivers that compile for it" },
	{ "layer.", "what ckcache or another layer changes in the results" },
	{ "kind", "how it was made: from source, by a compile, by a link" },
	{ "source", "what was compiled" },
	{ "input.options", "the options of one module of several" },
	{ "input", "the hash of a program that was linked" },
	{ "header.name", "a header that the program itself supplied" },
	{ "header.text", "its text" },
	{ "library.name", "the library that stored it for itself" },
	{ "library.version", "the library's version" },
	{ "library.hash", "the library's very code" },
	{ "library.build_id", "the library's very code" },
	{ "library.", "the driver, its compiler or their libraries: an update changes it" },
	{ "constant", "the number and value of a specialization constant" },
	{ "options", "the build options, as the program gave them" },
	{ "devices", "how many devices the program has" },
	{ "subset", "which of these it was built for" },
	{ "env.", "a variable of the environment that the compiler reads" },
};

const char *field_words(struct cmn_view name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i][0]);
		bool prefix = words[i][0][len - 1] == '.';

		if ((prefix ? name.len > len : name.len == len) && memcmp(name.data, words[i][0], len) == 0)
			return words[i][1];
	}
	return NULL;
}
