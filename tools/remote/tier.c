/* SPDX-License-Identifier: MIT */
/* tier: the setting, the notes of this machine, and what the root has for uploading. */
#include "tools/remote/tier.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/uploads.h"
#include "common/file.h"
#include "tools/memory.h"

static void show_address(const struct cc_address *address, struct tier *tier)
{
	struct cmn_buffer text = { 0 };

	cc_address_show(address, &text);
	tier->address = memory_string(&text);
}

/* What cannot be used has an address all the same, if it is one. */
static void look_at_unusable(const struct cc_config *config, const char *problem, struct tier *tier)
{
	struct cc_address address;
	const char *unread;

	tier->state = TIER_OFF;
	(void)snprintf(tier->problem, sizeof(tier->problem), "%s", problem);	/* it fits */
	if (cc_address_parse(config->remote, &address, &unread) != CMN_OK)
		return;
	show_address(&address, tier);
	cc_address_release(&address);
}

static bool count_one(void *ctx, const char *entry_dir, int refusals)
{
	(void)entry_dir;
	(void)refusals;
	++*(uint64_t *)ctx;
	return true;
}

/* Only looks: cc_uploads_open would make the directory. */
static uint64_t count_waiting(const struct cc_config *config)
{
	uint64_t count = 0;
	int root_fd, fd;

	if (!config->dir || cc_root_open(config->dir, &root_fd) != CMN_OK)
		return 0;
	fd = cmn_file_open(root_fd, CC_UPLOADS_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd >= 0) {
		if (cc_uploads_walk(fd, count_one, &count) < 0)
			count = 0;	/* what cannot be read is not uploaded either */
		(void)close(fd);	/* a directory: nothing to be lost */
	}
	(void)close(root_fd);	/* likewise */
	return count;
}

static void look_at_node(const struct cc_node *node, struct tier *tier)
{
	int dir_fd = cc_node_open(node, NULL);

	if (dir_fd < 0)
		return;
	tier->until_s = cc_node_down_until(node, dir_fd, tier->problem, sizeof(tier->problem));
	if (tier->until_s)
		tier->state = TIER_AWAY;
	(void)close(dir_fd);	/* a directory: nothing to be lost */
}

void tier_look(const struct cc_config *config, struct tier *ret)
{
	struct cc_remote_setup setup;
	const char *problem = "";
	enum cmn_status status;

	*ret = (struct tier){ .waiting = count_waiting(config) };
	status = cc_remote_setup(config, &tool_silent, &setup, &problem);
	if (status == CMN_ERR_NOMEM)
		memory_end();
	if (status != CMN_OK && status != CMN_MISS)
		look_at_unusable(config, problem, ret);
	if (status != CMN_OK)
		return;
	ret->state = TIER_IN_USE;
	show_address(&setup.address, ret);
	look_at_node(&setup.node, ret);
	cc_remote_setup_release(&setup);
}

void tier_release(struct tier *tier)
{
	free(tier->address);
	*tier = (struct tier){ 0 };
}

void tier_append_problem(const struct tier *tier, struct cmn_buffer *text)
{
	time_t until = (time_t)tier->until_s;
	char clock[16];
	struct tm local;

	if (tier->state == TIER_OFF)
		cmn_buffer_printf(text, "off: %s", tier->problem);
	if (tier->state != TIER_AWAY)
		return;
	if (!localtime_r(&until, &local) || !strftime(clock, sizeof(clock), "%T", &local))
		clock[0] = '\0';
	cmn_buffer_printf(text, "left alone until %s: %s", clock, tier->problem);
}

bool tier_begin(const struct tool_cache *cache, struct cc_remote_setup *ret_setup,
		       char **ret_address)
{
	struct cmn_buffer text = { 0 };
	const char *problem = "out of memory";
	enum cmn_status status = cc_remote_setup(&cache->config, &tool_log, ret_setup, &problem);

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
