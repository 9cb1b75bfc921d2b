/* SPDX-License-Identifier: MIT */
/* upload: reads an entry as a look-up does, signs it, and gives it to the helper. */
#include "tools/remote/remote.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/value.h"
#include "common/clock.h"
#include "tools/key/key_file.h"
#include "tools/memory.h"
#include "tools/tool.h"

#define NS_PER_S UINT64_C(1000000000)
/* Nobody waits for an upload, but it is not to hang for ever: so long, and a second for each MiB. */
#define PUT_NS (60 * NS_PER_S)
#define LOCK_NS (60 * NS_PER_S)
#define LOCK_PAUSE_NS 50000000
#define LOCK_NAME_SIZE 128

void upload_begin_to_get(const struct cc_config *config, struct upload *ret)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };	/* the set-up is known to be sound */

	*ret = (struct upload){ .helper = { .fd = -1 } };
	if (cc_remote_new(config, &log, &ret->remote) != CMN_OK || !ret->remote)
		memory_end();
}

bool upload_begin(const struct cc_config *config, const struct cc_remote_setup *setup,
		  struct upload *ret)
{
	upload_begin_to_get(config, ret);
	ret->setup = setup;
	ret->trust = config->sharing == CC_SHARING_GROUP ? CMN_FILE_ANY : CMN_FILE_TRUSTED;
	if (!setup->writes) {
		tool_complain("nothing is uploaded: %s", setup->address.read_only || config->read_only
			      ? "the tier is read-only" : "there is no key to sign with (remote_key)");
		return false;
	}
	if (config->remote_key) {
		if (!key_file_read_private(config->remote_key, &ret->own))
			return false;
		ret->signer = &ret->own;
	}
	return true;
}

void upload_release(struct upload *upload)
{
	cc_helper_close(&upload->helper);
	cc_remote_free(upload->remote);
	explicit_bzero(&upload->own, sizeof(upload->own));
}

/* The number of the result that was stored last; false: there is none. What failed here is nothing to others. */
static bool find_newest(int entry_dir_fd, unsigned int *ret)
{
	struct timespec newest = { 0 };
	struct cc_entry_dir_scan scan;
	bool found = false;

	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK)
		return false;
	for (uint64_t left = scan.present[CC_ENTRY_DIR_SRC]; left; left &= left - 1) {
		unsigned int n = (unsigned int)__builtin_ctzll(left);
		char name[CC_ENTRY_DIR_NAME_SIZE];
		struct cc_entry_header header;
		struct stat info;

		if (cc_entry_dir_read_bin_header(entry_dir_fd, n, NULL, &header) == CMN_OK && header.failed)
			continue;
		cc_entry_dir_name(CC_ENTRY_DIR_SRC, n, name);
		if (fstatat(entry_dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!found || info.st_mtim.tv_sec > newest.tv_sec ||
		    (info.st_mtim.tv_sec == newest.tv_sec &&
		     info.st_mtim.tv_nsec > newest.tv_nsec)) {
			newest = info.st_mtim;
			*ret = n;
			found = true;
		}
	}
	return found;
}

enum cmn_status upload_connect(struct upload *upload)
{
	enum cmn_status status = CMN_OK;

	if (upload->helper.fd < 0)
		status = cc_remote_connect(upload->remote, PUT_NS, &upload->helper);
	upload->helper.deadline = cmn_clock_deadline(PUT_NS);
	/* Who is asked for an entry may say that there is none; who is asked to listen may not. */
	return status == CMN_MISS ? CMN_ERR_IO : status;
}

/* After a failure the next request has a connection of its own. */
static enum cmn_status note_problem(struct upload *upload, enum cmn_status status)
{
	if (status == CMN_OK || status == CMN_MISS)
		return status;
	(void)snprintf(upload->problem, sizeof(upload->problem), "%s",
		       upload->helper.message[0] ? upload->helper.message
		       : status == CMN_BUSY ? "no answer in time" : cmn_status_string(status));
	cc_helper_close(&upload->helper);
	return status;
}

static enum cmn_status put_once(struct upload *upload, struct cmn_view name,
				const struct cmn_view *views, size_t count)
{
	enum cmn_status status = upload_connect(upload);

	for (size_t i = 0; i < count; i++)
		upload->helper.deadline += (views[i].len >> 20) * NS_PER_S;
	if (status == CMN_OK)
		status = cc_helper_put(&upload->helper, name, views, count);
	/* What the helper itself says ends no connection, but it is as good as new after one. */
	if (status != CMN_OK && status != CMN_MISS)
		cc_helper_close(&upload->helper);
	return status;
}

enum cmn_status upload_value(struct upload *upload, struct cmn_view name,
			     const struct cmn_view *views, size_t count)
{
	bool was_connected = upload->helper.fd >= 0;
	enum cmn_status status = put_once(upload, name, views, count);

	/* The helper may have ended since the last one; then another is started. */
	if (status == CMN_ERR_IO && was_connected && !upload->helper.message[0])
		status = put_once(upload, name, views, count);
	return note_problem(upload, status);
}

enum cmn_status upload_get(struct upload *upload, struct cmn_view name, size_t max,
			   struct cmn_buffer *ret)
{
	enum cmn_status status = upload_connect(upload);

	if (status == CMN_OK)
		status = cc_helper_get(&upload->helper, name, max, ret);
	return note_problem(upload, status);
}

static struct cmn_view name_lock(const char *name, char ret[LOCK_NAME_SIZE])
{
	(void)snprintf(ret, LOCK_NAME_SIZE, "%s-lock", name);	/* it fits */
	return cmn_view_of(ret);
}

void upload_lock(struct upload *upload, const char *name)
{
	const struct timespec pause = { 0, LOCK_PAUSE_NS };
	uint64_t end = cmn_clock_deadline(LOCK_NS), len;
	enum cmn_status status = upload_connect(upload);
	char lock_name[LOCK_NAME_SIZE];
	struct cmn_view lock = name_lock(name, lock_name);
	bool claimed = false;

	while (status == CMN_OK && upload->helper.has_claims && !claimed) {
		status = cc_helper_ask_or_claim(&upload->helper, lock, LOCK_NS / (NS_PER_S / 1000),
						&len, &claimed);
		/* Also a value in the lock's place, which is not read: the next request has another connection. */
		if (status != CMN_MISS || cmn_clock_monotonic() >= end) {
			cc_helper_close(&upload->helper);
			break;
		}
		status = CMN_OK;
		if (!claimed)
			(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
	}
}

void upload_unlock(struct upload *upload, const char *name)
{
	char lock_name[LOCK_NAME_SIZE];
	struct cmn_view lock = name_lock(name, lock_name);

	/* Else it ends by itself. */
	if (upload->helper.fd >= 0 && upload->helper.has_claims &&
	    cc_helper_release(&upload->helper, lock) != CMN_OK)
		cc_helper_close(&upload->helper);
}

static enum cmn_status put_entry(struct upload *upload, const struct cmn_buffer *src,
				 const struct cmn_buffer *bin)
{
	uint8_t header[CC_SEAL_HEADER_SIZE];
	const struct cmn_view views[] = {
		{ header, sizeof(header) }, cmn_buffer_view(src), cmn_buffer_view(bin),
	};
	char name[CC_REMOTE_NAME_SIZE];
	struct cmn_hash hash;
	enum cmn_status status;

	/* What others are to trust is looked at first. */
	status = cc_remote_files_check(views[1], views[2], &hash);
	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? status : CMN_MISS;
	cc_remote_name_of(&hash, name);
	status = cc_remote_value_make(views[1], views[2], upload->signer, header);
	if (status == CMN_OK)
		status = upload_value(upload, cmn_view_of(name), views,
				      sizeof(views) / sizeof(views[0]));
	if (status == CMN_OK) {
		upload->last = hash;
		upload->count++;
		upload->bytes += sizeof(header) + src->len + bin->len;
	}
	return status;
}

enum cmn_status upload_entry_dir(struct upload *upload, int root_fd, const char *entry_dir)
{
	struct cmn_buffer src = { 0 }, bin = { 0 };
	enum cmn_status status = CMN_MISS;
	unsigned int n;
	int entry_dir_fd;

	upload->problem[0] = '\0';
	if (cc_entry_dir_find(root_fd, entry_dir, &entry_dir_fd) != CMN_OK)
		return CMN_MISS;	/* it was evicted */
	/* Whatever cannot be read is not uploaded. */
	if (find_newest(entry_dir_fd, &n) &&
	    cc_entry_dir_read_file(entry_dir_fd, NULL, CC_ENTRY_DIR_SRC, n, upload->trust, NULL,
				     &src, NULL) == CMN_OK &&
	    cc_entry_dir_read_file(entry_dir_fd, NULL, CC_ENTRY_DIR_BIN, n, upload->trust, NULL,
				     &bin, NULL) == CMN_OK)
		status = put_entry(upload, &src, &bin);
	(void)close(entry_dir_fd);	/* read only */
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	return status;
}
