/* SPDX-License-Identifier: MIT */
/* contents: a table of slots, read whole and written one by one. */
#include "cachecore/disk/contents.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/file_memo.h"
#include "common/clock.h"
#include "common/file.h"

enum {
	SLOTS = 512,
	SLOT_SIZE = 3 * CMN_HASH_SIZE,
};
/* What changed later than that may change again and keep its times. */
#define SETTLED_NS UINT64_C(2000000000)

static enum cmn_status open_root(const struct cc_config *config, int *ret_fd)
{
	return cc_root_open_as(config->dir, config->sharing == CC_SHARING_GROUP ? CC_ROOT_GROUP : CC_ROOT_OWN,
			       ret_fd);
}

/* Once, if anything is asked for. */
static void look(struct cc_contents *contents)
{
	int root_fd;

	if (contents->looked || open_root(contents->config, &root_fd) != CMN_OK)
		return;
	contents->looked = true;
	/* What is no such file has no slot that fits. */
	(void)!cmn_file_read(root_fd, CC_CONTENTS_NAME, (size_t)SLOTS * SLOT_SIZE, false, &contents->slots);
	(void)close(root_fd);	/* read only */
}

void cc_contents_release(struct cc_contents *contents)
{
	cmn_buffer_release(&contents->slots);
}

static struct cmn_hash hash_of_slot(const uint8_t *slot)
{
	return cmn_hash_of(slot, SLOT_SIZE - CMN_HASH_SIZE);
}

static bool find(const struct cc_contents *contents, const struct cmn_hash *file, size_t at,
		 struct cmn_hash *ret)
{
	const uint8_t *slot = contents->slots.data + at;
	struct cmn_hash hash;

	if (at + SLOT_SIZE > contents->slots.len ||
	    memcmp(slot, file->bytes, CMN_HASH_SIZE) != 0)
		return false;
	hash = hash_of_slot(slot);
	if (memcmp(hash.bytes, slot + SLOT_SIZE - CMN_HASH_SIZE, CMN_HASH_SIZE) != 0)
		return false;
	memcpy(ret->bytes, slot + CMN_HASH_SIZE, CMN_HASH_SIZE);
	return true;
}

/* What cannot be written is read again. */
static void remember(const struct cc_contents *contents, const struct cmn_hash *file, size_t at,
		     const struct cmn_hash *content)
{
	uint8_t slot[SLOT_SIZE];
	struct cmn_hash hash;
	int root_fd, fd;

	memcpy(slot, file->bytes, CMN_HASH_SIZE);
	memcpy(slot + CMN_HASH_SIZE, content->bytes, CMN_HASH_SIZE);
	hash = hash_of_slot(slot);
	memcpy(slot + SLOT_SIZE - CMN_HASH_SIZE, hash.bytes, CMN_HASH_SIZE);
	if (open_root(contents->config, &root_fd) != CMN_OK)
		return;
	if (cmn_file_open_healed(root_fd, CC_CONTENTS_NAME, &fd) == CMN_OK) {
		(void)!cmn_file_write_at(fd, slot, sizeof(slot), (off_t)at);
		(void)close(fd);	/* a lost slot is read again */
	}
	(void)close(root_fd);	/* nothing was written through it */
}

/* false: another file, or other content, could have the same. */
static bool identify(const char *path, const struct cc_file_identity *identity, struct cmn_hash *ret)
{
	struct cmn_buffer text = { 0 };
	bool identified;

	cmn_buffer_append(&text, path, strlen(path) + 1);
	cmn_buffer_append_u64(&text, identity->device);
	cmn_buffer_append_u64(&text, identity->inode);
	cmn_buffer_append_u64(&text, identity->size);
	cmn_buffer_append_u64(&text, identity->mtime_ns);
	cmn_buffer_append_u64(&text, identity->ctime_ns);
	identified = !text.failed && identity->ctime_ns != identity->mtime_ns &&
		     identity->ctime_ns + SETTLED_NS < cmn_clock_realtime();
	if (identified)
		*ret = cmn_hash_of(text.data, text.len);
	cmn_buffer_release(&text);
	return identified;
}

enum cmn_status cc_contents_hash(struct cc_contents *contents, const char *path,
				 struct cmn_hash *ret)
{
	const struct cc_config *config = contents->config;
	struct cc_file_identity identity;
	enum cmn_status status;
	struct cmn_hash file;
	struct stat info;
	size_t at = 0;
	bool known;

	if (stat(path, &info) != 0)
		return CMN_MISS;
	identity = cc_file_identity_of(&info);
	known = config && config->persistent && config->dir && identify(path, &identity, &file);
	if (known) {
		look(contents);
		at = cmn_hash_u64(&file) % SLOTS * SLOT_SIZE;
	}
	if (known && find(contents, &file, at, ret))
		return CMN_OK;
	status = cc_file_memo_hash_same(NULL, path, &identity, ret);
	if (status == CMN_OK && known && !config->read_only)
		remember(contents, &file, at, ret);
	return status;
}
