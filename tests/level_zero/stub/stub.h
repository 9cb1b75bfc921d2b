/* SPDX-License-Identifier: MIT */
/*
 * stub: a Level Zero driver for tests, which "compiles" without a compiler and
 * writes what it is asked to do to a file, one event per line. Built as two
 * libraries that differ in STUB_INDEX and STUB_PRODUCT and can be used at once.
 * It never trusts a handle, and never accepts a native binary that changed. The second
 * one's lines in the counts begin with "stub2 ".
 */
#ifndef TESTS_LEVEL_ZERO_STUB_H
#define TESTS_LEVEL_ZERO_STUB_H

#include <level_zero/ze_api.h>

#include "tests/support/stub_core.h"

/* FNV-1a, 64 bits. */
uint64_t stub_hash(const void *data, size_t len);

/*
 * objects: what handles point to. The memory of a handle is never given back,
 * so that a stale one is always known for what it is, and a foreign one is
 * never looked into.
 */

enum stub_kind { STUB_DRIVER, STUB_DEVICE, STUB_CONTEXT, STUB_MODULE, STUB_LOG };

/* A live, zeroed object of size bytes, whose handle is its address. */
void *stub_object_new(enum stub_kind kind, size_t size);
/* True: handle is a live object of this kind. Else writes "bad-handle <kind> <call>". */
bool stub_object_check(const void *handle, enum stub_kind kind, const char *call);
/* The same, and the object is dead from now on; of two threads one gets true. */
bool stub_object_end(const void *handle, enum stub_kind kind, const char *call);

/*
 * The compiler's revision, which goes into natives. It is in a library of its
 * own for the first driver, which is opened by the first call, and built in for
 * the second. NULL: that library cannot be opened.
 */
const char *stub_library_revision(void);

/* images: what a module has, from SPIR-V or a native. */

struct stub_image {
	char **kernels;		/* their names, in the order of the inputs */
	size_t count;
};

void stub_image_add(struct stub_image *image, const char *name, size_t name_len);
void stub_image_release(struct stub_image *image);

/* SPIR-V */

struct stub_constant {
	uint32_t id;	/* its SpecId */
	uint32_t width;	/* bytes */
};

struct stub_spirv {
	struct stub_image image;
	struct stub_constant *constants;	/* by id */
	size_t constant_count;
};

/* False: not SPIR-V, or cut short; nothing is to be released then. */
bool stub_spirv_read(const uint8_t *data, size_t len, struct stub_spirv *ret);
void stub_spirv_release(struct stub_spirv *spirv);

/* natives */

enum stub_verdict {
	STUB_NATIVE_GOOD,
	STUB_NATIVE_FOREIGN,	/* no native of any stub, or another product's */
	STUB_NATIVE_CORRUPT,	/* was one, but bytes changed */
};

/* Puts magic and product before the body and the checksum after it. */
void stub_native_write(const char *body, const struct stub_image *image, struct stub_text *ret);
struct stub_native {
	struct stub_image image;
	struct stub_text body;
	bool stale;	/* written in another STUB_EPOCH */
};

/* Sets *ret only for STUB_NATIVE_GOOD. */
enum stub_verdict stub_native_read(const uint8_t *data, size_t len, bool any_product,
				   struct stub_native *ret);

/*
 * Translates one desc, of either format. log gets what the build log is to
 * say, whatever the result; the others are set for ZE_RESULT_SUCCESS only.
 */
ze_result_t stub_translate(const ze_module_desc_t *desc, struct stub_image *ret_image,
			   struct stub_text *ret_native, struct stub_text *log);

/* entry points */

/* Makes a build log's handle of text, which it takes. */
ze_module_build_log_handle_t stub_log_new(struct stub_text text);

struct stub_module {
	struct stub_image image;
	struct stub_text native;
};

/* Fills the table that the getter of this name is for, if the stub has any of its entries. */
void stub_tables_fill(const char *getter, uint32_t version, void *table);

#define STUB_ENTRY_POINT(name) __typeof__(name) stub_##name
STUB_ENTRY_POINT(zeInit);
STUB_ENTRY_POINT(zeDriverGet);
STUB_ENTRY_POINT(zeDriverGetApiVersion);
STUB_ENTRY_POINT(zeDriverGetProperties);
STUB_ENTRY_POINT(zeDriverGetExtensionProperties);
STUB_ENTRY_POINT(zeDriverGetExtensionFunctionAddress);
STUB_ENTRY_POINT(zeDeviceGet);
STUB_ENTRY_POINT(zeDeviceGetSubDevices);
STUB_ENTRY_POINT(zeDeviceGetProperties);
STUB_ENTRY_POINT(zeDeviceGetModuleProperties);
STUB_ENTRY_POINT(zeDevicePciGetPropertiesExt);
STUB_ENTRY_POINT(zeContextCreate);
STUB_ENTRY_POINT(zeContextCreateEx);
STUB_ENTRY_POINT(zeContextDestroy);
STUB_ENTRY_POINT(zeModuleCreate);
STUB_ENTRY_POINT(zeModuleDestroy);
STUB_ENTRY_POINT(zeModuleGetNativeBinary);
STUB_ENTRY_POINT(zeModuleGetKernelNames);
STUB_ENTRY_POINT(zeModuleBuildLogDestroy);
STUB_ENTRY_POINT(zeModuleBuildLogGetString);
/* Of 1.14. */
ze_context_handle_t ZE_APICALL stub_zerGetDefaultContext(void);
#if defined(ZE_API_VERSION_CURRENT_M) && ZE_API_VERSION_CURRENT_M >= ZE_MAKE_VERSION(1, 10)
#define STUB_HAS_INIT_DRIVERS
STUB_ENTRY_POINT(zeInitDrivers);
#endif

#endif
