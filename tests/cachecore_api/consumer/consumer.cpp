/* SPDX-License-Identifier: MIT */
/* consumer: a C++17 program outside of the tree: programs with kernels in memory, one binary on disk. */
#include <cachecore.h>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Handle {
	int references = 1;
};

cachecore_bytes bytes(const std::string &text)
{
	return { text.data(), text.size() };
}

void retain(void *value)
{
	static_cast<Handle *>(value)->references++;
}

void release(void *value)
{
	Handle *handle = static_cast<Handle *>(value);

	if (--handle->references == 0)
		delete handle;
}

cachecore_status build(void *ctx, cachecore_build_output *ret)
{
	++*static_cast<unsigned *>(ctx);
	ret->value = new Handle;
	ret->size = sizeof(Handle);
	return CACHECORE_OK;
}

bool useMemory()
{
	using Programs = std::unique_ptr<cachecore_programs, void (*)(cachecore_programs *)>;
	const std::string image = "image", options = "-O2", name = "_ZTS6Kernel";
	const int constants[] = { 1, 2, 3 };
	void *device = &std::cout;
	cachecore_programs_options settings = {};
	cachecore_program_key key = {};
	cachecore_programs *made = nullptr;
	cachecore_taken taken = {};
	void *kernel = nullptr;
	unsigned builds = 0;

	settings.struct_size = sizeof(settings);
	settings.program_ops = settings.kernel_ops = { retain, release };
	if (cachecore_programs_new(&settings, &made) != CACHECORE_OK)
		return false;
	Programs programs(made, cachecore_programs_free);
	key.image_id = bytes(image);
	key.constants = { constants, sizeof(constants) };
	key.devices = { &device, sizeof(device) };
	key.device_size = sizeof(device);
	key.options = bytes(options);
	if (cachecore_programs_get_or_build(made, &key, build, &builds, false, &taken) !=
	    CACHECORE_OK)
		return false;
	release(taken.value);
	if (cachecore_kernels_get_or_build(made, &key, bytes(name), build, &builds, &taken) !=
		    CACHECORE_OK ||
	    cachecore_fast_kernel_put(made, &key, key.constants, device, bytes(name),
				      taken.value) != CACHECORE_OK)
		return false;
	release(taken.value);
	if (cachecore_fast_kernel_get(made, key.constants, device, bytes(name), &kernel) !=
	    CACHECORE_OK)
		return false;
	release(kernel);
	return kernel == taken.value && builds == 2;
}

cachecore_status compile(void *ctx, cachecore_store_value *ret)
{
	static const cachecore_bytes image = { "binary", 6 };

	++*static_cast<unsigned *>(ctx);
	ret->images = &image;
	ret->image_count = 1;
	return CACHECORE_OK;
}

bool useDisk(const char *dir)
{
	const std::string device = "device", source = "kernel void k() {}";
	cachecore_store_options options = {};
	cachecore_store_key key = {};
	unsigned builds = 0;

	options.struct_size = sizeof(options);
	options.runtime = "consumer in C++";
	options.dir = dir;
	options.capacity = CACHECORE_CAPACITY_UNBOUNDED;
	key.device = bytes(device);
	key.image = bytes(source);
	for (bool expected : { true, false }) {
		cachecore_store *store = nullptr;
		cachecore_blob *blob = nullptr;
		bool built = false;

		if (cachecore_store_open(&options, &store) != CACHECORE_OK)
			return false;
		if (cachecore_store_get_or_build(store, &key, compile, &builds, &built, &blob) !=
			    CACHECORE_OK ||
		    built != expected || cachecore_blob_image(blob, 0).size != 6)
			return false;
		cachecore_blob_unref(blob);
		cachecore_store_close(store);
	}
	return builds == 1;
}

}

int main(int argc, char **argv)
{
	if (argc != 2 || cachecore_version() != CACHECORE_VERSION || !useMemory() ||
	    !useDisk(argv[1])) {
		std::cerr << "consumer: failed\n";
		return EXIT_FAILURE;
	}
	std::cout << CACHECORE_VERSION_MAJOR << '.' << CACHECORE_VERSION_MINOR << '\n';
	return EXIT_SUCCESS;
}
