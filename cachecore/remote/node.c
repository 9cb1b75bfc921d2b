/* SPDX-License-Identifier: MIT */
/* node: a socket, two locks and two notes on this machine. */
#include "cachecore/remote/node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/clock.h"
#include "common/env.h"
#include "common/file.h"
#include "common/hash.h"

#define MAX_NOTE 512
#define NAME_SIZE 80
#define NS_PER_S UINT64_C(1000000000)

enum cmn_status cc_node_init(const struct cc_address *address, const char *secrets,
			     struct cc_node *ret)
{
	struct cmn_buffer text = { 0 };
	char hex[CMN_HASH_HEX_SIZE];
	struct cmn_hash hash;

	*ret = (struct cc_node){ 0 };
	cmn_buffer_append_sized(&text, address->url, strlen(address->url));
	for (size_t i = 0; i < address->attribute_count; i++)
		cmn_buffer_append_sized(&text, address->attributes[i],
					strlen(address->attributes[i]));
	cmn_buffer_append_text(&text, secrets ? secrets : "");
	if (text.failed) {
		cmn_buffer_release(&text);
		return CMN_ERR_NOMEM;
	}
	hash = cmn_hash_of(text.data, text.len);
	cmn_hash_hex(&hash, hex);
	memcpy(ret->id, hex, sizeof(ret->id) - 1);
	cmn_buffer_release(&text);
	if (cmn_env_get("XDG_RUNTIME_DIR", &ret->runtime_dir) != CMN_OK)
		return CMN_ERR_NOMEM;
	if (ret->runtime_dir && ret->runtime_dir[0] != '/') {
		free(ret->runtime_dir);
		ret->runtime_dir = NULL;
	}
	return CMN_OK;
}

void cc_node_release(struct cc_node *node)
{
	free(node->runtime_dir);
	*node = (struct cc_node){ 0 };
}

int cc_node_open(const struct cc_node *node, char ret_path[CC_NODE_DIR_SIZE])
{
	return cc_node_dir_open(node->runtime_dir, ret_path);
}

void cc_node_socket(const struct cc_node *node, const char *path, char ret[CC_NODE_SOCKET_SIZE])
{
	(void)snprintf(ret, CC_NODE_SOCKET_SIZE, "%s/remote-%s.sock", path, node->id);	/* it fits */
}

static void name_file(const struct cc_node *node, const char *suffix, char ret[NAME_SIZE])
{
	(void)snprintf(ret, NAME_SIZE, "remote-%s.%s", node->id, suffix);	/* it fits */
}

static enum cmn_status lock_file(int dir_fd, const char *name, int *ret_fd)
{
	enum cmn_status status;
	int fd;

	status = cmn_file_open_own(dir_fd, name, &fd);
	if (status != CMN_OK)
		return status;
	status = cmn_file_lock(fd, 0);
	if (status == CMN_OK)
		*ret_fd = fd;
	else
		(void)close(fd);	/* nothing was written through it */
	return status;
}

enum cmn_status cc_node_lock_helper(const struct cc_node *node, int dir_fd, int *ret_fd)
{
	char name[NAME_SIZE];

	name_file(node, "lock", name);
	return lock_file(dir_fd, name, ret_fd);
}

enum cmn_status cc_node_lock_uploads(const struct cc_node *node, int dir_fd, int root_fd, int *ret_fd)
{
	char suffix[sizeof("upload--") + 32], name[NAME_SIZE];
	struct stat info;

	if (fstat(root_fd, &info) < 0)
		return cmn_status_from_errno(errno);
	(void)snprintf(suffix, sizeof(suffix), "upload-%jx-%jx", (uintmax_t)info.st_dev,
		       (uintmax_t)info.st_ino);	/* it fits */
	name_file(node, suffix, name);
	return lock_file(dir_fd, name, ret_fd);
}

struct note {
	uint64_t until;		/* seconds since the epoch, as it says */
	char rest[MAX_NOTE + 1];
};

/* Into an array: nothing is allocated. */
static bool read_note(const struct cc_node *node, int dir_fd, const char *suffix, struct note *ret)
{
	char name[NAME_SIZE], *end;
	uint8_t text[MAX_NOTE + 1];
	struct cmn_buffer file = { .data = text, .cap = MAX_NOTE };

	name_file(node, suffix, name);
	if (cmn_file_read_into(dir_fd, name, MAX_NOTE, CMN_FILE_ANY, NULL, &file) != CMN_OK)
		return false;
	text[file.len] = '\0';
	ret->until = strtoull((char *)text, &end, 10);
	memcpy(ret->rest, end, strlen(end) + 1);
	return true;
}

/* Until when a note counts, in seconds since the epoch; 0: it does not. most: seconds. */
static uint64_t note_until(const struct cc_node *node, int dir_fd, const char *suffix, uint64_t most,
			   char *reason, size_t size)
{
	uint64_t now = cmn_clock_realtime() / NS_PER_S;
	struct note note;

	/* A clock that was set back must not make it last. */
	if (!read_note(node, dir_fd, suffix, &note) || note.rest[0] != ' ' || note.until <= now ||
	    note.until > now + most)
		return 0;
	if (reason) {
		(void)snprintf(reason, size, "%s", note.rest + 1);	/* cut, if it must be */
		for (; *reason; reason++) {
			if ((unsigned char)*reason < ' ' || *reason == 0x7f)
				*reason = '\0';
		}
	}
	return note.until;
}

static void write_note(const struct cc_node *node, int dir_fd, const char *suffix, uint64_t seconds,
		       const char *reason)
{
	char text[MAX_NOTE], name[NAME_SIZE];
	struct cmn_view view = { text, 0 };

	name_file(node, suffix, name);
	view.len = (size_t)snprintf(text, sizeof(text), "%" PRIu64 " %.400s\n",
				    cmn_clock_realtime() / NS_PER_S + seconds, reason);	/* it fits */
	if (cmn_file_publish(dir_fd, name, &view, 1) != CMN_OK)
		(void)unlinkat(dir_fd, name, 0);	/* each process finds it out itself then */
}

bool cc_node_is_down(const struct cc_node *node, int dir_fd, char *reason, size_t size)
{
	return cc_node_down_until(node, dir_fd, reason, size) != 0;
}

uint64_t cc_node_down_until(const struct cc_node *node, int dir_fd, char *reason, size_t size)
{
	return note_until(node, dir_fd, "down", CC_NODE_DOWN_S, reason, size);
}

void cc_node_set_down(const struct cc_node *node, int dir_fd, const char *reason)
{
	write_note(node, dir_fd, "down", CC_NODE_DOWN_S, reason);
}

bool cc_node_waited_in_vain(const struct cc_node *node, int dir_fd)
{
	return note_until(node, dir_fd, "waited", CC_NODE_VAIN_S, NULL, 0) != 0;
}

/* How long the pause is to be: that of the last note, doubled. 0: it is still going on. */
static uint64_t next_pause(const struct cc_node *node, int dir_fd)
{
	uint64_t now = cmn_clock_realtime() / NS_PER_S, pause = CC_NODE_DOWN_S;
	uint64_t last, until;
	struct note note;

	if (!read_note(node, dir_fd, "waited", &note))
		return pause;
	until = note.until;
	last = strtoull(note.rest, NULL, 10);
	/* Who waited at the same time as another one has waited for the same. */
	if (until > now && until <= now + CC_NODE_VAIN_S)
		return 0;
	if (until <= now && now - until < CC_NODE_VAIN_S && last >= pause && last <= CC_NODE_VAIN_S)
		pause = 2 * last < CC_NODE_VAIN_S ? 2 * last : CC_NODE_VAIN_S;
	return pause;
}

void cc_node_set_waited_in_vain(const struct cc_node *node, int dir_fd)
{
	uint64_t pause = next_pause(node, dir_fd);
	char reason[40];

	(void)snprintf(reason, sizeof(reason), "%" PRIu64 " in vain", pause);	/* it fits */
	if (pause)
		write_note(node, dir_fd, "waited", pause, reason);
}

static void remove_note(const struct cc_node *node, int dir_fd, const char *suffix)
{
	char name[NAME_SIZE];

	name_file(node, suffix, name);
	(void)unlinkat(dir_fd, name, 0);	/* usually there is none */
}

void cc_node_set_waited_well(const struct cc_node *node, int dir_fd)
{
	remove_note(node, dir_fd, "waited");
}

void cc_node_set_up(const struct cc_node *node, int dir_fd)
{
	remove_note(node, dir_fd, "down");
}
