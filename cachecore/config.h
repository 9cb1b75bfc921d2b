/* SPDX-License-Identifier: MIT */
/*
 * config: every setting of the cache, read once. A variable CKCACHE_X wins
 * over key x of $XDG_CONFIG_HOME/ckcache/ckcache.conf (else
 * $HOME/.config/ckcache/ckcache.conf), which wins over /etc/ckcache.conf. In a
 * file (its grammar is below), what stands in the section of this program wins over what
 * is for all; the program's name is cc_path_program's (path.h).
 * A bad value is named once through the log and the default is used.
 * Some are variables alone, which no file and no list has (docs/FOUNDING.md).
 * In a privileged program (AT_SECURE) variables and the user's file are ignored.
 */
#ifndef CACHECORE_CONFIG_H
#define CACHECORE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/log.h"
#include "common/status.h"

enum cc_capture {
	CC_CAPTURE_AUTO,	/* the layer decides, by the driver */
	CC_CAPTURE_EAGER,	/* right after the build */
	CC_CAPTURE_DEFERRED,	/* out of process */
};

enum cc_sharing {
	CC_SHARING_NONE,	/* the root is the user's alone */
	CC_SHARING_GROUP,	/* it may be a group's (root.h) */
	CC_SHARING_READERS,	/* the user's, made readable by all: to be others' read-only tier */
};

enum cc_eviction_order {
	CC_EVICTION_LRU,	/* least recently used first */
	CC_EVICTION_COST,	/* first what saves least compile time per byte; its value sinks with time without use */
	CC_EVICTION_NONE,	/* nothing by size: what does not fit is not stored */
};

enum { CC_COMPRESSION_AUTO = -1, CC_COMPRESSION_NONE = 0 };	/* else a level of compression, 1 to 9 */

struct cc_config {
	char *dir;			/* root, absolute; NULL: no disk level (off, or dir_problem) */
	char *dir_problem;		/* why dir is NULL although the level is on, else NULL */
	bool disable;
	bool persistent;
	bool in_mem;
	uint64_t in_mem_eviction_threshold;	/* bytes; 0: no bound */
	bool eviction_disable;
	uint64_t max_size;		/* bytes; 0: no bound */
	uint64_t threshold_days;	/* 0: never */
	enum cc_eviction_order eviction_order;
	uint64_t min_device_image_size;	/* bytes */
	uint64_t max_device_image_size;	/* bytes */
	int compression;
	bool read_only;
	char **read_only_dirs;		/* NULL-terminated, absolute */
	enum cc_sharing sharing;
	enum cc_capture capture;
	bool observe;			/* observe what a driver reads while it builds */
	bool replay;			/* recipes are built by a process in the background (writer/background.h) */
	bool remember_failures;		/* on disk, for a day */
	uint64_t build_wait;		/* seconds to wait for the build of another process or machine; 0: never */
	enum cmn_log_level log_level;
	char *log_file;			/* instead of stderr (common/log_file.h), or NULL; never in a privileged program */
	char *trace;			/* file, or NULL */
	char *remote;			/* remote/address.h, or NULL */
	char *remote_key;		/* file of the private key that signs what is uploaded, or NULL */
	char **remote_trust;		/* files of trusted public keys, NULL-terminated; NULL: the usual ones */
	char *remote_secrets;		/* file of attributes for the storage helper, or NULL */
	char **remote_helpers;		/* directories of storage helpers, NULL-terminated, or NULL */
	/*
	 * No setting: this process is a worker of ckcache replay, which says so in
	 * CC_CONFIG_BUILT_FOR; the program for which it builds, "": not known. NULL: it is none.
	 */
	char *built_for;
	bool makes_no_root;	/* in a worker whose root was there: if it goes, somebody has removed it */
};

#define CC_CONFIG_BUILT_FOR "CKCACHE_BUILT_FOR"
/* Likewise, for the build that a worker has in work: what the driver's own cache calls the program for the application. */
#define CC_CONFIG_CACHED_AS "CKCACHE_CACHED_AS"

/*
 * CMN_ERR_NOMEM; CMN_BUSY: the environment cannot be read, or changes all the time. Messages go to
 * log; cc_config_release releases *ret.
 */
CMN_CHECKED enum cmn_status cc_config_load(const struct cmn_log *log, struct cc_config *ret);
/* The same with another file instead of /etc/ckcache.conf. */
CMN_CHECKED enum cmn_status cc_config_load_from(const struct cmn_log *log, const char *system_file,
						struct cc_config *ret);
void cc_config_release(struct cc_config *config);	/* {0} is fine */

/*
 * $variable/tail, or else $HOME/home_tail/tail, for the caller to free. The XDG base directory
 * specification has relative values ignored. A directory that su or sudo left as it was, or that
 * belongs to another user for whatever reason (trusted.h), is ignored too, and so is a HOME that
 * is not there: it is not to be made. *ret is NULL: neither is of use. CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_config_xdg_path(const char *variable, const char *home_tail,
					       const char *tail, char **ret);

#define CC_CONFIG_SYSTEM_FILE "/etc/ckcache.conf"
/* Where the user's file would be; the caller frees it. *ret is NULL: nowhere. */
CMN_CHECKED enum cmn_status cc_config_user_file(char **ret);
/* The same of another file beside it. */
CMN_CHECKED enum cmn_status cc_config_user_path(const char *name, char **ret);
#define CC_CONFIG_MAX_FILE 65536	/* bytes of one; some twenty lines are expected */

/* Where a value in force comes from. */
enum cc_config_place { CC_CONFIG_DEFAULT, CC_CONFIG_SYSTEM, CC_CONFIG_USER, CC_CONFIG_ENVIRONMENT };

struct cc_config_value {
	const char *name;
	char variable[64];	/* of the environment */
	char *text;		/* as a file would have it; "": none. It may hold a password (remote). */
	enum cc_config_place place;
	unsigned int line;	/* in the file */
	bool of_program;	/* in the program's section there */
};
/*
 * All settings as that program would have them (NULL: this process) with this
 * environment, in the order of the table, ended by one without a name.
 * CMN_ERR_NOMEM. cc_config_list_free frees them.
 */
CMN_CHECKED enum cmn_status cc_config_list(const struct cmn_log *log, const char *system_file,
					   const char *program, struct cc_config_value **ret);
void cc_config_list_free(struct cc_config_value *values);	/* NULL is fine */

struct cc_config_rule {
	const char *name;	/* as the table has it */
	const char *expected;	/* "0 or 1", for a message */
};
/*
 * Whether a file may have that line, in a program's section or before any.
 * CMN_MISS: there is no such setting; for others *ret is set. CMN_ERR_ACCESS: it
 * cannot be set for one program; CMN_ERR_INVALID: a bad value; CMN_ERR_NOMEM.
 */
CMN_CHECKED enum cmn_status cc_config_check(const char *name, const char *value, bool of_program,
					    struct cc_config_rule *ret);
/* Whether an environment variable of that name is a setting, or one that is a variable alone. */
bool cc_config_knows(const char *variable);

/*
 * The grammar of a settings file, line by line, which knows no setting:
 *
 *   line    = [ section | setting ] [ comment ]
 *   section = "[program " NAME "]"     what follows, up to the next section, is for that program
 *   setting = NAME "=" VALUE           blanks around NAME and VALUE are not part of them
 *   comment = "#", at the line's start or after a blank, and the rest of the line
 */
enum cc_config_line_kind {
	CC_CONFIG_LINE_EMPTY,
	CC_CONFIG_LINE_SETTING,
	CC_CONFIG_LINE_SECTION,
	CC_CONFIG_LINE_BAD_SECTION,	/* begins as one */
	CC_CONFIG_LINE_BAD,
};

struct cc_config_line {
	enum cc_config_line_kind kind;
	char *name;	/* of the setting, or of the section's program; of a bad line all of it */
	char *value;	/* of a setting, else NULL */
};

/* Splits a line without its end, in place: *ret points into it. */
void cc_config_line_split(char *line, struct cc_config_line *ret);

#endif
