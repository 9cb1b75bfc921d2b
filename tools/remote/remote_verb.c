/* SPDX-License-Identifier: MIT */
/* remote_verb: the tier of the configuration, or why there is none. */
#include "tools/remote/remote_verb.h"

#include "tools/key/key_verb.h"
#include "tools/memory.h"

bool remote_verb_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup,
		       char **ret_address)
{
	struct cmn_buffer text = { 0 };
	const char *problem = "out of memory";
	enum cmn_status status = cc_remote_setup(&cache->config, &key_log, ret_setup, &problem);

	if (status == CMN_MISS) {
		tool_complain("no remote tier is set (CKCACHE_REMOTE)");
		return false;
	}
	if (status != CMN_OK) {
		tool_complain("the remote tier cannot be used: %s", problem);
		return false;
	}
	cc_address_show(&ret_setup->address, &text);
	*ret_address = memory_string(&text);
	return true;
}
