/* SPDX-License-Identifier: MIT */
/* ways: which program, with the layer or without. */
#include "tests/libckcache/ways.h"

#include "tests/support/unit.h"

static const struct {
	const char *program;
	enum driver_layer layer;
} ways[WAYS] = {
	[WAY_LINKED] = { API_CLIENT, BARE },
	[WAY_LAYERED] = { API_CLIENT, LAYERED },
	[WAY_EXTENSION] = { API_CLIENT_EXTENSION, LAYERED },
};

const char *way_cache(enum way way)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/cache-%d", unit_dir(), (int)way);
	return path;
}

bool way_begin(enum way way)
{
	driver_begin();
	driver_program(ways[way].program);
	driver_setenv("CKCACHE_DIR", way_cache(way));
	driver_stub_setting(NULL, NULL);
	driver_setenv("MESA_SHADER_CACHE_DISABLE", "true");	/* as in way_client */
	unit_write("counts", "");
	return true;
}

struct outcome way_client(enum way way, const char *const *arguments)
{
	/* What another client compiled would be left to replay; without its cache, pocl has no binary of some. */
	CU_ASSERT_EQUAL(system("rm -rf pocl pocl.bare pocl.layered"), 0);
	driver_program(ways[way].program);
	return driver_client(ways[way].layer, arguments);
}

const char *way_output(enum way way, const char *const *arguments)
{
	struct outcome outcome = way_client(way, arguments);

	if (!outcome_good(&outcome)) {
		(void)printf("    %s, way %d\n", arguments[0], (int)way);
		CU_FAIL("the client's checks did not hold");
	}
	return outcome.output;
}
