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

/* The text of a note, which the caller frees. CMN_ERR_NOMEM; anything else: there is none. */
static enum cmn_status read_note(const struct cc_node *node, int dir_fd, const char *suffix, char **ret)
{
	struct cmn_buffer note;
	char name[NAME_SIZE];
	enum cmn_status status;

	name_file(node, suffix, name);
	status = cmn_file_read(dir_fd, name, MAX_NOTE, false, &note);
	if (status != CMN_OK)
		return CMN_MISS;
	*ret = cmn_buffer_take_string(&note);
	return *ret ? CMN_OK : CMN_ERR_NOMEM;
}

/* Until when a note counts, in seconds since the epoch; 0: it does not. most: seconds. */
static uint64_t note_until(const struct cc_node *node, int dir_fd, const char *suffix, uint64_t most,
			   char *reason, size_t size)
{
	unsigned long long until;
	uint64_t now = cmn_clock_realtime() / NS_PER_S;
	char *text, *end;
	enum cmn_status status = read_note(node, dir_fd, suffix, &text);
	bool counts;

	if (status == CMN_ERR_NOMEM && reason)
		(void)snprintf(reason, size, "no memory");	/* cut, if it must be */
	if (status != CMN_OK)
		return status == CMN_ERR_NOMEM ? now + 1 : 0;
	until = strtoull(text, &end, 10);
	/* A clock that was set back must not make it last. */
	counts = *end == ' ' && until > now && until <= now + most;
	if (counts && reason) {
		(void)snprintf(reason, size, "%s", end + 1);
		for (; *reason; reason++) {
			if ((unsigned char)*reason < ' ' || *reason == 0x7f)
				*reason = '\0';
		}
	}
	free(text);
	return counts ? until : 0;
}

static void write_note(const struct cc_node *node, int dir_fd, const char *suffix, uint64_t seconds,
		       const char *reason)
{
	struct cmn_buffer text = { 0 };
	struct cmn_view view;
	char name[NAME_SIZE];

	name_file(node, suffix, name);
	cmn_buffer_printf(&text, "%" PRIu64 " %.400s\n",
			  cmn_clock_realtime() / NS_PER_S + seconds, reason);
	view = cmn_buffer_view(&text);
	if (!text.failed && cmn_file_publish(dir_fd, name, &view, 1) != CMN_OK)
		(void)unlinkat(dir_fd, name, 0);	/* each process finds it out itself then */
	cmn_buffer_release(&text);
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
	unsigned long long until, last;
	char *text, *end;

	if (read_note(node, dir_fd, "waited", &text) != CMN_OK)
		return pause;
	until = strtoull(text, &end, 10);
	last = strtoull(end, NULL, 10);
	free(text);
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
