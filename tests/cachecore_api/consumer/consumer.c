/* SPDX-License-Identifier: MIT */
/* consumer: a C11 program outside of the tree: one program in memory, one binary on disk. */
#include <cachecore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int builds;

static enum cachecore_status build(void *ctx, struct cachecore_build_output *ret)
{
	builds++;
	ret->value = ctx;
	ret->size = 100;
	return CACHECORE_OK;
}

static struct cachecore_bytes text(const char *from)
{
	return (struct cachecore_bytes){ from, strlen(from) };
}

static int check(int good, const char *what)
{
	if (!good)
		(void)fprintf(stderr, "consumer: %s failed\n", what);
	return good;
}

static int use_memory(void)
{
	const struct cachecore_program_key key = { .image_id = text("image"),
						   .options = text("-O2") };
	struct cachecore_programs *programs;
	struct cachecore_taken taken;
	int program = 0, good = 1;

	if (cachecore_programs_new(NULL, &programs) != CACHECORE_OK)
		return 0;
	for (int i = 0; i < 3; i++)
		good &= cachecore_programs_get_or_build(programs, &key, build, &program, false,
							&taken) == CACHECORE_OK &&
			taken.value == &program;
	cachecore_programs_free(programs);
	return good && builds == 1;
}

static int use_disk(const char *dir)
{
	const struct cachecore_store_options options = { .struct_size = sizeof(options),
							 .runtime = "consumer", .dir = dir };
	const struct cachecore_store_key key = { .device = text("device"),
						 .image = text("kernel void k() {}") };
	const struct cachecore_bytes binary = text("binary");
	const struct cachecore_store_value value = { .images = &binary, .image_count = 1 };
	struct cachecore_store *store;
	struct cachecore_blob *blob;
	int good;

	if (cachecore_store_open(&options, &store) != CACHECORE_OK)
		return 0;
	good = cachecore_store_get(store, &key, &blob) == CACHECORE_MISS &&
	       cachecore_store_put(store, &key, &value) == CACHECORE_OK;
	cachecore_store_flush(store);
	if (good && cachecore_store_get(store, &key, &blob) == CACHECORE_OK) {
		good = cachecore_blob_image(blob, 0).size == binary.size &&
		       !memcmp(cachecore_blob_image(blob, 0).data, binary.data, binary.size);
		cachecore_blob_unref(blob);
	} else {
		good = 0;
	}
	cachecore_store_close(store);
	return good;
}

int main(int argc, char **argv)
{
	int good = argc == 2 && check(cachecore_version() == CACHECORE_VERSION, "version") &&
		   check(use_memory(), "memory") && check(use_disk(argv[1]), "disk");

	printf("%d.%d\n", CACHECORE_VERSION_MAJOR, CACHECORE_VERSION_MINOR);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
