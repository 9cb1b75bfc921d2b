/* SPDX-License-Identifier: MIT */
/*
 * node: what the processes of a user on this machine share of one remote tier,
 * in node_dir.h's directory, <id> being a hash of the address:
 *
 *   remote-<id>.sock    the helper's socket
 *   remote-<id>.lock    flock: a helper runs, or is being started
 *   remote-<id>.upload-<device>-<inode>
 *                       flock: a process uploads from that root, whatever its path leads to now
 *   remote-<id>.down    why and until when the tier is left alone:
 *                       "<seconds since the epoch> <reason>"
 *   remote-<id>.waited  until when nobody waits for another machine's compile, and how many
 *                       seconds that is: "<seconds since the epoch> <seconds> in vain"
 *
 * Thread-safe, also between processes. Nothing here waits.
 */
#ifndef CACHECORE_REMOTE_NODE_H
#define CACHECORE_REMOTE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/node_dir.h"
#include "cachecore/remote/address.h"
#include "common/status.h"

#define CC_NODE_ID_SIZE 17
#define CC_NODE_SOCKET_SIZE (CC_NODE_DIR_SIZE + 32)
/* A tier that failed is left alone for so long. */
#define CC_NODE_DOWN_S 60
/* No other machine's compile is waited for longer than this after some were waited for in vain. */
#define CC_NODE_VAIN_S 3600

struct cc_node {
	char *runtime_dir;	/* $XDG_RUNTIME_DIR, or NULL */
	char id[CC_NODE_ID_SIZE];
};

/* What is the same for all that use the helper is in the id: its address and attributes, and where its secrets are. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status cc_node_init(const struct cc_address *address, const char *secrets,
					 struct cc_node *ret);
void cc_node_release(struct cc_node *node);
/* The directory, as cc_node_dir_open. */
int cc_node_open(const struct cc_node *node, char ret_path[CC_NODE_DIR_SIZE]);
/* The socket's path below the directory's. */
void cc_node_socket(const struct cc_node *node, const char *path, char ret[CC_NODE_SOCKET_SIZE]);

/* A descriptor with the lock, to be passed on or given to cc_root_unlock. CMN_BUSY: another has it. */
CMN_CHECKED enum cmn_status cc_node_lock_helper(const struct cc_node *node, int dir_fd,
						int *ret_fd);
CMN_CHECKED enum cmn_status cc_node_lock_uploads(const struct cc_node *node, int dir_fd,
						 int root_fd, int *ret_fd);

/* Whether the tier is to be left alone. reason: filled with size bytes at most, printable; may be NULL. */
bool cc_node_is_down(const struct cc_node *node, int dir_fd, char *reason, size_t size);
/* The same; until when, in seconds since the epoch; 0: it is not. */
uint64_t cc_node_down_until(const struct cc_node *node, int dir_fd, char *reason, size_t size);
/* Leaves it alone for a while; best effort. */
void cc_node_set_down(const struct cc_node *node, int dir_fd, const char *reason);
/* Whether another machine's compile was waited for in vain lately. */
bool cc_node_waited_in_vain(const struct cc_node *node, int dir_fd);
/*
 * Nobody waits for a minute, though all ask. Each time more that this happens after such a pause, and before
 * another hour is over, the pause is twice as long, up to an hour: anybody who may write to the server
 * can make claims, and never build. Best effort.
 */
void cc_node_set_waited_in_vain(const struct cc_node *node, int dir_fd);
/* What was waited for came: the next pause is a minute again. Best effort. */
void cc_node_set_waited_well(const struct cc_node *node, int dir_fd);
/* The tier works again; best effort. */
void cc_node_set_up(const struct cc_node *node, int dir_fd);

#endif
