/* SPDX-License-Identifier: MIT */
/*
 * spirv: what the key must know about a SPIR-V module: that it is one, and how
 * many bytes each specialization constant has, because the application passes
 * values without sizes. SPIR-V 1.6: 2.3 Physical Layout of a SPIR-V Module and
 * Instruction, 2.4 Logical Layout of a Module, and of 3 the decoration SpecId
 * and the type-declaration and constant-creation instructions. Pure: bytes in,
 * numbers out; nothing in the bytes is trusted. Thread-safe. Words are
 * little-endian, as on every host with such a driver.
 */
#ifndef LEVEL_ZERO_SPIRV_H
#define LEVEL_ZERO_SPIRV_H

#include "common/bytes.h"
#include "common/status.h"

/* CMN_OK: begins as a module of SPIR-V 1.x does, in whole words. CMN_MISS: not so. */
CMN_CHECKED enum cmn_status lz_spirv_check(struct cmn_view module);

/* The module's specialization constants. {0} is a valid empty one. */
struct lz_spirv_constants {
	struct lz_spirv_constant *items;
	size_t count;
};

/*
 * One walk, up to the module's first function. CMN_ERR_CORRUPT: no module, or
 * its words cannot be walked, or contradict each other. CMN_ERR_TOO_LARGE:
 * more constants than any program has. CMN_ERR_NOMEM. *ret_constants is the
 * caller's to release; untouched on failure.
 */
CMN_CHECKED enum cmn_status lz_spirv_constants_gather(struct cmn_view module,
						      struct lz_spirv_constants *ret_constants);
void lz_spirv_constants_release(struct lz_spirv_constants *constants);	/* leaves {0} */

/*
 * The bytes that the constant has by its declared type: 1 for a boolean, 1, 2,
 * 4 or 8 for a number. CMN_MISS: no such constant, or several of different
 * sizes, or it is no such scalar.
 */
CMN_CHECKED enum cmn_status lz_spirv_constants_size(const struct lz_spirv_constants *constants,
						    uint32_t spec_id, size_t *ret_size);

#endif
