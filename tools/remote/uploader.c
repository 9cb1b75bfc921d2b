/* SPDX-License-Identifier: MIT */
/*
 * uploader: uploads what is noted in a root, as a process in the background. It
 * waits for more for half a minute, by inotify, and once a second where that sees
 * nothing, as on a network file system. Whoever notes something after that starts another.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/uploads.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/spawn.h"
#include "tools/remote/remote_main.h"
#include "tools/remote/upload.h"
#include "tools/tool.h"

#define IDLE_NS (UINT64_C(30) * 1000000000)
#define AGAIN_NS (UINT64_C(5) * 1000000000)
#define LOOK_MS 1000
#define BATCH 64
#define NICENESS 10

struct note {
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	int refusals;
};

struct batch {
	struct note notes[BATCH];
	size_t count;
	bool again;	/* those that were refused before */
};

static bool take(void *ctx, const char *entry_dir, int refusals)
{
	struct batch *batch = ctx;
	struct note *note = &batch->notes[batch->count];

	if ((refusals != CC_UPLOADS_FRESH) != batch->again)
		return true;
	memcpy(note->entry_dir, entry_dir, CC_ENTRY_DIR_PATH_SIZE);
	note->refusals = refusals;
	return ++batch->count < BATCH;
}

/* What is stored while this goes on is noted anew, and uploaded after it. */
static enum cmn_status upload_note(struct upload *upload, int root_fd, int uploads_fd,
				   struct note *note)
{
	enum cmn_status status = CMN_OK;

	if (note->refusals == CC_UPLOADS_FRESH) {
		status = cc_uploads_set_refusals(uploads_fd, note->entry_dir, CC_UPLOADS_FRESH, 0);
		note->refusals = 0;
	}
	if (status != CMN_OK)
		return CMN_OK;	/* somebody removed it */
	status = upload_entry_dir(upload, root_fd, note->entry_dir);
	/* What cannot be uploaded at all is not tried again. */
	if (status == CMN_OK || status == CMN_MISS)
		return cc_uploads_remove(uploads_fd, note->entry_dir, note->refusals);
	return status;
}

/* A server that has taken others refused it: some times, and then it is given up. */
static enum cmn_status note_refusal(int uploads_fd, const struct note *note)
{
	if (note->refusals >= CC_UPLOADS_MAX_REFUSALS)
		return cc_uploads_remove(uploads_fd, note->entry_dir, note->refusals);
	return cc_uploads_set_refusals(uploads_fd, note->entry_dir, note->refusals, note->refusals + 1);
}

/*
 * Tries each. The first *ret_refused notes of the batch are those that the server refuses, with a
 * reason, since it may take others. Another failure ends it.
 */
static enum cmn_status try_each(struct upload *upload, int root_fd, int uploads_fd,
				struct batch *batch, size_t *ret_refused)
{
	*ret_refused = 0;
	for (size_t i = 0; i < batch->count; i++) {
		enum cmn_status status = upload_note(upload, root_fd, uploads_fd, &batch->notes[i]);

		if (status == CMN_ERR_IO && upload->helper.message[0])
			batch->notes[(*ret_refused)++] = batch->notes[i];
		else if (status != CMN_OK)
			return status;
	}
	return CMN_OK;
}

/*
 * CMN_MISS: nothing is noted, or what is was refused just now. Failures: the tier is out of
 * reach; the rest stays noted.
 */
static enum cmn_status upload_batch(struct upload *upload, int root_fd, int uploads_fd, bool again)
{
	struct batch batch = { .count = 0, .again = again };
	enum cmn_status status = cc_uploads_walk(uploads_fd, take, &batch);
	size_t refused;

	if (status == CMN_OK && !batch.count)
		status = CMN_MISS;
	if (status != CMN_OK)
		return status;
	status = try_each(upload, root_fd, uploads_fd, &batch, &refused);
	/* A server that has taken nothing yet may be away: that says nothing of an entry. */
	if (status == CMN_OK && refused && !upload->count)
		return CMN_ERR_IO;
	for (size_t i = 0; i < refused && status == CMN_OK; i++)
		status = note_refusal(uploads_fd, &batch.notes[i]);
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

/* Until nothing new is noted for a while, the directory is gone, or the tier fails. */
static enum cmn_status upload_all(struct upload *upload, int root_fd, int uploads_fd, int watch_fd)
{
	uint64_t end = cmn_clock_deadline(IDLE_NS);
	uint64_t again_time = 0;
	enum cmn_status status;

	for (;;) {
		status = upload_batch(upload, root_fd, uploads_fd, false);
		/* Then what was refused: that may be over. It keeps nothing else back. */
		if (status == CMN_MISS && cmn_clock_monotonic() >= again_time) {
			again_time = cmn_clock_deadline(AGAIN_NS);
			(void)!upload_batch(upload, root_fd, uploads_fd, true);
			status = upload_batch(upload, root_fd, uploads_fd, false);
		}
		if (status == CMN_OK) {
			end = cmn_clock_deadline(IDLE_NS);
			again_time = 0;
		} else if (status != CMN_MISS || cmn_clock_monotonic() >= end ||
			   !cmn_file_is_named(root_fd, CC_UPLOADS_DIRECTORY, uploads_fd)) {
			return status;
		} else {
			wait_for_more(watch_fd);
		}
	}
}

static enum cmn_status upload_root(struct upload *upload, int root_fd)
{
	enum cmn_status status;
	int uploads_fd, watch_fd;

	for (;;) {
		status = cc_uploads_open(root_fd, &uploads_fd);
		if (status != CMN_OK)
			return status;	/* CMN_MISS: the root is gone */
		watch_fd = watch(uploads_fd);
		status = upload_all(upload, root_fd, uploads_fd, watch_fd);
		if (watch_fd >= 0)
			(void)close(watch_fd);	/* nothing was written through it */
		/* The one before this tidied it up: what is noted by now is in another one. */
		if (status != CMN_MISS || cmn_file_is_named(root_fd, CC_UPLOADS_DIRECTORY, uploads_fd))
			break;
		(void)close(uploads_fd);	/* a directory: nothing to be lost */
	}
	/* What is noted from now on is the next one's; what was noted just before is not forgotten. */
	if (status == CMN_MISS) {
		(void)close(CMN_SPAWN_KEPT_FD);	/* with its lock */
		do
			status = upload_batch(upload, root_fd, uploads_fd, false);
		while (status == CMN_OK);
	}
	(void)close(uploads_fd);	/* a directory: nothing to be lost */
	cc_uploads_tidy(root_fd);
	return status;
}

int remote_upload(const struct cc_config *config, const struct cc_remote_setup *setup,
		  const char *root)
{
	enum cmn_status status = CMN_ERR_INVALID;
	struct upload upload;
	int root_fd;

	if (upload_begin(config, setup, &upload) && cc_root_open(root, &root_fd) == CMN_OK) {
		/* The helper is others' too: it is started before this process steps back. */
		(void)!upload_connect(&upload);	/* who uploads finds out */
		if (getpriority(PRIO_PROCESS, 0) < NICENESS)
			(void)setpriority(PRIO_PROCESS, 0, NICENESS);	/* a favour */
		status = upload_root(&upload, root_fd);
		(void)close(root_fd);	/* a directory: nothing to be lost */
	}
	/* Look-ups find out themselves whether the tier is of use. */
	if (status != CMN_OK && status != CMN_MISS && upload.problem[0])
		tool_complain("%s", upload.problem);
	upload_release(&upload);
	return status == CMN_OK || status == CMN_MISS ? TOOL_OK : TOOL_FAILED;
}
