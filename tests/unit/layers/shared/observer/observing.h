/* SPDX-License-Identifier: MIT */
/* observing: one observed build of a library that looks for files (observed.c), and what it depends on. One thread. */
#ifndef TESTS_UNIT_OBSERVING_H
#define TESTS_UNIT_OBSERVING_H

#include "layers/shared/observer/observer.h"

typedef void (*observed_fn)(const char *how, const char *path);

extern observed_fn observed;		/* of the library that the tests are run with */
extern const char *library_path;
extern struct cc_manifest *manifest;	/* of the last build */
extern const char *reason;		/* "": it is known what it depends on */

/* Loads the library; false, and says why. */
bool observing_load(const char *path);
/* Registers what libckcache does at forks. */
bool observing_fork(void);

struct drv_observation *begin_as(const struct drv_driver *driver, bool goes_on);
/*
 * The driver's row; of one that has none, one like the default: what is not seen of one of its builds
 * keeps no later ones from being stored (test_settings.c).
 */
const struct drv_driver *row_of(const char *library);
/* Of that. */
struct drv_observation *begin(bool goes_on);
enum cmn_status end_as(struct drv_observation *observation, const struct drv_observer_text *text);
enum cmn_status end_with(struct drv_observation *observation, const char *options, bool reads);
/* With an option that is not known. */
enum cmn_status end_unproven(struct drv_observation *observation);
/* Of a source of text. */
enum cmn_status end_text(struct drv_observation *observation, const char *source);
/* Of no text, as a later step of a build whose manifest before is. */
enum cmn_status end_after(struct drv_observation *observation, const struct cc_manifest *before);
/* A build that does only this. */
enum cmn_status watch(const char *how, const char *path);
/* Looks so one after the other: "how path, how path". */
void observed_all(const char *looks);
/* A build that does only this. */
enum cmn_status watch_all(const char *looks);
bool depends_on(enum cc_dependency kind, const char *path);

/* What a build ends with: it is not known what it depends on, for that reason; on so many things; on this. */
#define EXPECT_UNKNOWN(build, why) \
	do { \
		CU_ASSERT_EQUAL(build, CMN_MISS); \
		CU_ASSERT_STRING_EQUAL(reason, why); \
	} while (0)
#define EXPECT_COUNT(build, things) \
	do { \
		CU_ASSERT_EQUAL(build, CMN_OK); \
		CU_ASSERT_EQUAL(cc_manifest_count(manifest), things); \
	} while (0)
#define EXPECT_DEPENDS(build, kind, path) \
	do { \
		CU_ASSERT_EQUAL(build, CMN_OK); \
		CU_ASSERT(depends_on(kind, path)); \
	} while (0)

#endif
