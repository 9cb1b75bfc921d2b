/* SPDX-License-Identifier: MIT */
/*
 * root: which directories may be trusted as the root of a store. An entry is
 * code that will run, so a root must belong to the effective user (a
 * read-only tier: or to the superuser) and be writable by its owner alone,
 * unless the user's setting says that it may be a group's.
 * No descriptor is kept between operations: a root may be removed and made
 * again while the process runs, and an application may close descriptors that it
 * does not know. Thread-safe.
 *
 * In it are entry directories: one has all entries whose keys have the same
 * four hashes. Entries have numbers from 0 to CC_ENTRY_DIR_VARIANTS - 1; any other
 * name is left alone. To add or remove a name, hold the entry directory's lock
 * (cc_entry_dir_lock); readers need no lock.
 */
#ifndef CACHECORE_DISK_ROOT_H
#define CACHECORE_DISK_ROOT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachecore/entry.h"
#include "cachecore/key.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/status.h"

enum cc_root_kind {
	/*
	 * Read and written. Whether it is a cache or an empty directory (mark.h) is asked when it is
	 * checked or made, not each time that it is opened.
	 */
	CC_ROOT_OWN,
	CC_ROOT_PRIVATE,	/* the same, and whatever is in it: it is no cache */
	CC_ROOT_TIER,		/* a read-only tier */
	/*
	 * Read and written, and a group's by its permissions: the group may write
	 * to it, has the process as a member, and owns what is made in it (the
	 * set-group-ID bit). Its owner and all of the group are trusted.
	 */
	CC_ROOT_GROUP,
};

/* CMN_OK; CMN_MISS: not there; CMN_ERR_ACCESS: not to be used, *ret_reason (static) says why. */
CMN_CHECKED enum cmn_status cc_root_check(const char *path, enum cc_root_kind kind,
					  const char **ret_reason);
/*
 * The same, and a descriptor: the directory that was checked, whatever has its
 * name by then. access: O_PATH, to open what is in it; O_RDONLY, for everything
 * else too.
 */
CMN_CHECKED enum cmn_status cc_root_open_by(const char *path, enum cc_root_kind kind, int access,
					    int *ret_fd, const char **ret_reason);

static inline CMN_CHECKED enum cmn_status cc_root_find(const char *path, enum cc_root_kind kind,
						       int *ret_fd, const char **ret_reason)
{
	return cc_root_open_by(path, kind, O_PATH, ret_fd, ret_reason);
}

static inline CMN_CHECKED enum cmn_status cc_root_open_as(const char *path, enum cc_root_kind kind,
							  int *ret_fd)
{
	const char *reason;

	return cc_root_open_by(path, kind, O_RDONLY, ret_fd, &reason);
}

/*
 * The mode of directories in a root: the owner's alone, or the group's too
 * (with its set-group-ID and sticky bits) where the root is the group's.
 */
mode_t cc_root_dir_mode(int root_fd);
/* Opens the own root, or a group's. Whether a group's is wanted is the store's to check. */
static inline CMN_CHECKED enum cmn_status cc_root_open(const char *path, int *ret_fd)
{
	return cc_root_open_as(path, CC_ROOT_GROUP, ret_fd);
}

/* The same, made with mode 0700 if it is not there, and marked. CMN_ERR_ACCESS also: it is none (mark.h). CMN_ERR_IO: it cannot be marked. */
CMN_CHECKED enum cmn_status cc_root_make(const char *path, int *ret_fd);
/*
 * Gives back a lock taken by cmn_file_lock and closes. Closing alone would
 * not do: a child that the application forked meanwhile shares the lock.
 */
void cc_root_unlock(int fd);

/*
 * More states of one key's dependencies than anybody keeps at a time; and the
 * names fit into one word.
 */
#define CC_ENTRY_DIR_VARIANTS 64
#define CC_ENTRY_DIR_PATH_SIZE ((size_t)CC_PART_COUNT * CMN_HASH_HEX_SIZE)	/* four names, slashes, terminator */
#define CC_ENTRY_DIR_NAME_SIZE 32
#define CC_ENTRY_DIR_SRC_SUFFIX ".src"
#define CC_ENTRY_DIR_FILE_PATH_SIZE (CC_ENTRY_DIR_PATH_SIZE + CC_ENTRY_DIR_NAME_SIZE)

enum cc_entry_dir_file {
	CC_ENTRY_DIR_SRC,
	CC_ENTRY_DIR_BIN,		/* its modification time is the entry's last use */
	CC_ENTRY_DIR_OWN_COUNT,
	CC_ENTRY_DIR_FORMER = CC_ENTRY_DIR_OWN_COUNT,	/* a former version's time of last use: not read, and goes with the entry */
	CC_ENTRY_DIR_FILE_COUNT,
};

/* Of the numbers that are there, one bit each. */
struct cc_entry_dir_scan {
	uint64_t present[CC_ENTRY_DIR_FILE_COUNT];
	bool temporaries;	/* a writer's, or what a dead one left */
};

/* The entry directory's path below the root: "<hash>/<hash>/<hash>/<hash>". */
void cc_entry_dir_path(struct cmn_view key, char ret[CC_ENTRY_DIR_PATH_SIZE]);
void cc_entry_dir_path_by(const struct cmn_hash hashes[CC_PART_COUNT], char ret[CC_ENTRY_DIR_PATH_SIZE]);

static inline void cc_entry_dir_path_of(const struct cc_key *key, char ret[CC_ENTRY_DIR_PATH_SIZE])
{
	struct cmn_hash hashes[CC_PART_COUNT];

	cc_key_hashes(key, hashes);
	cc_entry_dir_path_by(hashes, ret);
}

/* Returns where the name begins in ret, which has CC_ENTRY_DIR_FILE_PATH_SIZE; path: NULL: the name alone. */
const char *cc_entry_dir_file_path(const char *path, enum cc_entry_dir_file file, unsigned int n, char *ret);
static inline void cc_entry_dir_name(enum cc_entry_dir_file file, unsigned int n,
				     char ret[CC_ENTRY_DIR_NAME_SIZE])
{
	(void)cc_entry_dir_file_path(NULL, file, n, ret);
}
/* false: not a name of an entry directory. */
bool cc_entry_dir_parse(const char *name, enum cc_entry_dir_file *ret_file, unsigned int *ret_n);

/*
 * Links are not followed, on no level. CMN_MISS: not there, or something else is. access: O_PATH, to open files, to
 * scan; or O_RDONLY.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_open_by(int root_fd, const char *path, int access, int *ret_fd);

static inline CMN_CHECKED enum cmn_status cc_entry_dir_find(int root_fd, const char *path, int *ret_fd)
{
	return cc_entry_dir_open_by(root_fd, path, O_PATH, ret_fd);
}

static inline CMN_CHECKED enum cmn_status cc_entry_dir_open(int root_fd, const char *path, int *ret_fd)
{
	return cc_entry_dir_open_by(root_fd, path, O_RDONLY, ret_fd);
}

/*
 * Opens a file of entry n for reading, as open does, neither it nor what leads to it a link: by one
 * system call from the root's descriptor and the entry directory's path, or, path NULL, from the entry directory's. Sets
 * errno: ENOENT and ENOTDIR also where the entry directory itself is not there or cannot be entered.
 */
int cc_entry_dir_open_file(int dir_fd, const char *path, enum cc_entry_dir_file file, unsigned int n);
/*
 * <n>.src and <n>.bin, read and verified; takes no lock and changes nothing. Where the functions
 * take a path, dir_fd is the root's, and path the entry directory's; or path is NULL, and dir_fd the entry directory's.
 */

/*
 * One of the two files whole, whatever it holds, in the buffer's room, the
 * room given (may be NULL) or malloc's. Of a long one the head is looked at
 * first. CMN_MISS: not there. CMN_ERR_CORRUPT: it is longer than any of ours,
 * or shrinks; CMN_ERR_ACCESS as below; others of file.h. ret_used_ns: as cc_entry_dir_used_ns, of a
 * .bin; NULL: nobody asks.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_read_file(int dir_fd, const char *path,
						   enum cc_entry_dir_file file, unsigned int n,
						   enum cmn_file_trust trust,
						   const struct cmn_room *room, struct cmn_buffer *buf,
						   uint64_t *ret_used_ns);
/*
 * CMN_OK: the views of *ret point into *file, whose room is used where it
 * suffices and which the caller releases in any case.
 * CMN_MISS: not there. CMN_ERR_CORRUPT: damaged; CMN_ERR_VERSION: not ours to
 * judge; CMN_ERR_ACCESS: not readable, not trusted, or not a regular file; CMN_ERR_NOMEM, CMN_ERR_IO.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_read_src(int dir_fd, unsigned int n,
						  enum cmn_file_trust trust,
						  struct cmn_buffer *file, struct cc_src *ret);
/*
 * The same for a long key, which the file is expected to have: it is compared
 * piece by piece and not kept, since fresh memory for it takes longer than the
 * rest. ret->key is the given one. false: anything else, and the file is to be read
 * whole. Keys that are not long are as quickly read whole, in memory that is used again.
 */
#define CC_ENTRY_DIR_LONG_KEY ((size_t)64 << 10)
bool cc_entry_dir_match_src(int dir_fd, const char *path, unsigned int n, enum cmn_file_trust trust,
			    struct cmn_view key, struct cmn_buffer *file, struct cc_src *ret);
/*
 * The result, in the room given (may be NULL) or malloc's; takes manifest on
 * success. Also CMN_STALE: sound, but belongs to another .src.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_read_bin(int dir_fd, const char *path, unsigned int n,
						  enum cmn_file_trust trust,
						  const struct cc_src *src, const struct cmn_room *room,
						  struct cc_manifest *manifest, struct cc_entry **ret);
/* The header alone, against the file's size and src, which may be NULL. Statuses as above. */
CMN_CHECKED enum cmn_status cc_entry_dir_read_bin_header(int dir_fd, unsigned int n,
							 const struct cc_src *src,
							 struct cc_entry_header *ret);
/*
 * Every byte of both is read. CMN_OK: sound; CMN_MISS: there is no .src.
 * CMN_ERR_CORRUPT also: a .src without the .bin that belongs to it.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_judge(int dir_fd, unsigned int n, enum cmn_file_trust trust);
/* Whether a status of this file says that the file itself is bad, not the moment. */
bool cc_entry_dir_status_damaged(enum cmn_status status);

/* Makes the levels first, with that mode whatever the umask. CMN_MISS: somebody removed one meanwhile; try again. */
CMN_CHECKED enum cmn_status cc_entry_dir_make(int root_fd, const char *path, mode_t mode,
					      int *ret_fd);
/*
 * As cmn_file_lock. CMN_OK: locked and still part of the tree; CMN_BUSY;
 * CMN_MISS: it was removed meanwhile. CMN_ERR_IO: the file system has no locks.
 */
CMN_CHECKED enum cmn_status cc_entry_dir_lock(int entry_dir_fd, uint64_t until);
void cc_entry_dir_unlock(int entry_dir_fd);	/* for a descriptor that stays open; see cc_root_unlock */
CMN_CHECKED enum cmn_status cc_entry_dir_scan(int entry_dir_fd, struct cc_entry_dir_scan *ret);

/*
 * What entry n takes on disk: the blocks of its files, or their sizes if these
 * are larger (a file system may allocate blocks later, or compress), and the
 * directories that lead to it, as if it were alone there. 0: there is no entry n.
 */
uint64_t cc_entry_dir_bytes(int entry_dir_fd, unsigned int n);
/* The directories' part of that, by any directory of the root. */
uint64_t cc_entry_dir_directories(int dir_fd);
/*
 * When entry n was last used, by the clock of who used it, as exactly as the file system has it;
 * 0: there is no .bin. dir_fd and path as for cc_entry_dir_open_file.
 */
uint64_t cc_entry_dir_used_ns(int dir_fd, const char *path, unsigned int n);
/* Set in the time of what was never used since it was stored, where the file system has times so exact. */
#define CC_ENTRY_DIR_UNUSED UINT64_C(1)
/* Notes that use, without a lock; best effort. A group's member can only say "now" of another's entry. */
void cc_entry_dir_note_use(int dir_fd, const char *path, unsigned int n, uint64_t used_ns);
/* The next three need the lock. */
/* Removes entry n, .src first, so that no reader sees half of it; returns the bytes freed. */
uint64_t cc_entry_dir_remove(int entry_dir_fd, unsigned int n);
/* Removes dead writers' temporary files; without a working lock (locked false) only old ones. */
void cc_entry_dir_sweep(int dir_fd, bool locked);
/* Removes the entry directory and the directories above it, as far as they are empty. */
void cc_entry_dir_prune(int root_fd, const char *path);

#endif
