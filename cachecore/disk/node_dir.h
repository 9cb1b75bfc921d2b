/* SPDX-License-Identifier: MIT */
/*
 * node_dir: this user's directory on this machine, for locks and sockets that a
 * network file system cannot have: $XDG_RUNTIME_DIR/ckcache, or
 * /tmp/ckcache-<user> where there is no such directory of this user; or, where another
 * user has taken that name, /tmp/ckcache-<user>.<6 letters>. Thread-safe.
 */
#ifndef CACHECORE_DISK_NODE_DIR_H
#define CACHECORE_DISK_NODE_DIR_H

/* Fits into the address of a socket, with a name of 32 bytes below it. */
#define CC_NODE_DIR_SIZE 75

/*
 * Opens it, made with mode 0700 if it is not there; for close.
 * runtime_dir: $XDG_RUNTIME_DIR, or NULL. ret_path (may be NULL): its path, for
 * which a longer $XDG_RUNTIME_DIR does not count. -1: there is none to be used: another
 * user's, one that others may write to, or on a network file system.
 */
int cc_node_dir_open(const char *runtime_dir, char ret_path[CC_NODE_DIR_SIZE]);
/* The same, by the environment's $XDG_RUNTIME_DIR. */
int cc_node_dir_open_mine(void);

#endif
