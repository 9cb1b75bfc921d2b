/* SPDX-License-Identifier: MIT */
/*
 * uploader: uploads what is noted in a root, as a process in the background. It
 * waits for more for half a minute, by inotify, and once a second where that sees
 * nothing, as on a network file system. Whoever notes something after that starts another.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/uploads.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "common/spawn.h"
#include "tools/remote/remote.h"
#include "tools/remote/upload.h"
#include "tools/tool.h"

#define IDLE_NS (UINT64_C(30) * 1000000000)
#define LOOK_MS 1000
#define BATCH 64
#define NICENESS 10

struct batch {
	char leaves[BATCH][CC_LEAF_PATH_SIZE];
	size_t count;
};

static bool take(void *ctx, const char *leaf)
{
	struct batch *batch = ctx;

	memcpy(batch->leaves[batch->count++], leaf, CC_LEAF_PATH_SIZE);
	return batch->count < BATCH;
}

/* What cannot be uploaded at all is not tried again. */
static enum cmn_status upload_one(struct upload *upload, int root_fd, int uploads_fd,
				  const char *leaf)
{
	enum cmn_status status = upload_leaf(upload, root_fd, leaf);

	return status == CMN_OK || status == CMN_MISS ? cc_uploads_remove(uploads_fd, leaf) : status;
}

/*
 * Tries each. *batch keeps those that the server refuses, with a reason, since it may take
 * others. Another failure ends it. *ret_done: how many are done.
 */
static enum cmn_status try_each(struct upload *upload, int root_fd, int uploads_fd,
				struct batch *batch, size_t *ret_done)
{
	size_t refused = 0;

	*ret_done = 0;
	for (size_t i = 0; i < batch->count; i++) {
		enum cmn_status status = upload_one(upload, root_fd, uploads_fd, batch->leaves[i]);
		if (status == CMN_OK)
			++*ret_done;
		else if (status == CMN_ERR_IO && upload->helper.message[0])
			memmove(batch->leaves[refused++], batch->leaves[i], CC_LEAF_PATH_SIZE);
		else
			return status;
	}
	batch->count = refused;
	return CMN_OK;
}

/* CMN_MISS: nothing is noted. Failures: the tier is out of reach; the rest stays noted. */
static enum cmn_status upload_batch(struct upload *upload, int root_fd, int uploads_fd)
{
	struct batch batch = { .count = 0 };
	enum cmn_status status = cc_uploads_walk(uploads_fd, take, &batch);
	size_t done;

	if (status != CMN_OK)
		return status;
	status = try_each(upload, root_fd, uploads_fd, &batch, &done);
	if (status != CMN_OK || !batch.count)
		return status;
	if (!done)
		return CMN_ERR_IO;
	/* What a server that takes others refuses twice would keep them back for ever. */
	status = try_each(upload, root_fd, uploads_fd, &batch, &done);
	for (size_t i = 0; i < batch.count && status == CMN_OK; i++)
		status = cc_uploads_remove(uploads_fd, batch.leaves[i]);
	return status;
}

/* Until something is noted, or for a second. */
static void wait_for_more(int watch_fd)
{
	struct pollfd pollfd = { .fd = watch_fd, .events = POLLIN };
	char events[4096];

	if (poll(&pollfd, 1, LOOK_MS) > 0 && read(watch_fd, events, sizeof(events)) < 0)
		(void)usleep(LOOK_MS * 1000);	/* it does not come to that */
}

static int watch(int uploads_fd)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", uploads_fd);
	if (inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO) < 0) {
		(void)close(fd);	/* nothing was written through it */
		return -1;
	}
	return fd;
}

/* Until there is nothing for a while, or the tier fails. */
static enum cmn_status upload_all(struct upload *upload, int root_fd, int uploads_fd, int watch_fd)
{
	uint64_t end = cmn_clock_deadline(IDLE_NS);
	enum cmn_status status;

	for (;;) {
		status = upload_batch(upload, root_fd, uploads_fd);
		if (status == CMN_OK)
			end = cmn_clock_deadline(IDLE_NS);
		else if (status != CMN_MISS || cmn_clock_monotonic() >= end)
			return status;
		else
			wait_for_more(watch_fd);
	}
}

static enum cmn_status upload_root(struct upload *upload, int root_fd)
{
	enum cmn_status status;
	int uploads_fd, watch_fd;

	status = cc_uploads_open(root_fd, &uploads_fd);
	if (status != CMN_OK)
		return status;
	watch_fd = watch(uploads_fd);
	status = upload_all(upload, root_fd, uploads_fd, watch_fd);
	if (watch_fd >= 0)
		(void)close(watch_fd);	/* nothing was written through it */
	/* What is noted from now on is the next one's; what was noted just before is not forgotten. */
	if (status == CMN_MISS) {
		(void)close(CMN_SPAWN_KEPT_FD);	/* with its lock */
		status = upload_batch(upload, root_fd, uploads_fd);
	}
	(void)cmn_descriptor_close(uploads_fd);	/* a directory: nothing to be lost */
	return status;
}

int remote_upload(const struct cc_config *config, const struct cc_remote_setup *setup,
		  const char *root)
{
	enum cmn_status status = CMN_ERR_INVALID;
	struct upload upload;
	int root_fd, dir_fd;

	(void)setpriority(PRIO_PROCESS, 0, NICENESS);	/* a favour */
	if (upload_begin(config, setup, &upload) && cc_root_open(root, &root_fd) == CMN_OK) {
		status = upload_root(&upload, root_fd);
		(void)cmn_descriptor_close(root_fd);	/* a directory: nothing to be lost */
	}
	if (status != CMN_OK && status != CMN_MISS && upload.problem[0]) {
		tool_complain("%s", upload.problem);
		dir_fd = cc_node_open(&setup->node, NULL);
		if (dir_fd >= 0) {
			cc_node_set_down(&setup->node, dir_fd, upload.problem);
			(void)cmn_descriptor_close(dir_fd);	/* a directory: nothing to be lost */
		}
	}
	upload_release(&upload);
	return status == CMN_OK || status == CMN_MISS ? TOOL_OK : TOOL_FAILED;
}
