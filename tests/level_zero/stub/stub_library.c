/* SPDX-License-Identifier: MIT */
/* stub_library: when and how the stub driver opens its compiler's library. */
#include <dlfcn.h>

#include "tests/level_zero/stub/stub.h"

#if STUB_INDEX == 1

#define COMPILER "libstub_compiler.so.1"	/* its soname */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *revision;	/* written once, under it */

/*
 * A sanitizer calls dlopen in this library's stead, and then the dynamic linker
 * does not look into this library's RUNPATH: so the same file by its path.
 */
static void *open_beside(void)
{
	char path[4096];
	Dl_info info;
	int len;

	if (!dladdr(&once, &info) || !strrchr(info.dli_fname, '/'))
		return NULL;
	len = snprintf(path, sizeof(path), "%.*s/" COMPILER,
		       (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	return len > 0 && (size_t)len < sizeof(path) ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
}

static void load(void)
{
	/* LD_LIBRARY_PATH comes before this library's own directory. Never closed. */
	void *library = dlopen(COMPILER, RTLD_LAZY | RTLD_LOCAL);
	const char *(*get_revision)(void);

	if (!library)
		library = open_beside();
	if (!library) {
		fprintf(stderr, "stub: %s\n", dlerror());
		return;
	}
	get_revision = (const char *(*)(void))dlsym(library, "stub_compiler_get_revision");
	if (get_revision)
		revision = get_revision();
	stub_event("compiler-load");
}

const char *stub_library_revision(void)
{
	(void)pthread_once(&once, load);	/* cannot fail */
	return revision;
}

#else

const char *stub_library_revision(void)
{
	return "built-in";
}

#endif
