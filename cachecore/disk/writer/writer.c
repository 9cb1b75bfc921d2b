/* SPDX-License-Identifier: MIT */
/* writer: each step as far as it can be done; how long it may take is computed here. */
#include "cachecore/disk/writer/writer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cachecore/disk/nonce.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/evict.h"
#include "cachecore/disk/writer/background.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/event_text.h"
#include "cachecore/record/recorder.h"
#include "cachecore/remote/remote.h"
#include "common/clock.h"

#define NS_PER_MS UINT64_C(1000000)
/* Of the compile time that the caller has just waited for. */
#define EVICT_SHARE 20
#define EVICT_LEAST_NS (5 * NS_PER_MS)
#define EVICT_MOST_NS (250 * NS_PER_MS)
#define LOCK_SHARE 8
#define LOCK_LEAST_NS (250 * NS_PER_MS)	/* many processes that store at once on a busy machine */
#define LOCK_MOST_NS (1000 * NS_PER_MS)
/* What is noted of one build stays together, however small the root may be. */
#define TRIM_PAUSE_NS (1000 * NS_PER_MS)

struct cc_writer {
	struct cc_writer_setup setup;
	atomic_flag failure_logged, token_logged;
	_Atomic uint64_t trimmed;	/* monotonic, when room was made for the log */
	struct cc_background background;
};

struct cc_writer *cc_writer_new(const struct cc_writer_setup *setup)
{
	struct cc_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->setup = *setup;
	atomic_flag_clear(&writer->failure_logged);
	atomic_flag_clear(&writer->token_logged);
	return writer;
}

void cc_writer_free(struct cc_writer *writer)
{
	free(writer);
}

static uint64_t share_of(uint64_t build_ns, unsigned int share, uint64_t least, uint64_t most)
{
	uint64_t ns = build_ns / share;

	return ns < least ? least : ns > most ? most : ns;
}

static const char *root_of(const struct cc_writer *writer)
{
	return cc_store_root(writer->setup.store);
}

static void trim(struct cc_writer *writer)
{
	uint64_t now = cmn_clock_monotonic(), last = atomic_load(&writer->trimmed);

	if ((last && now - last < TRIM_PAUSE_NS) || !atomic_compare_exchange_strong(&writer->trimmed, &last, now))
		return;
	cc_store_trim(writer->setup.store);
}

void cc_writer_note(struct cc_writer *writer, const struct cc_event *event)
{
	trim(writer);
	cc_recorder_write(writer->setup.recorder, root_of(writer), event);
}

/* Whether it is that limit, and not the disk. Asked afterwards: where something has changed since, what is likeliest. */
static bool is_file_limit(const char *root, size_t size)
{
	struct rlimit limit;
	struct statvfs disk;

	if (statvfs(root, &disk) < 0 || (uint64_t)disk.f_bavail * disk.f_frsize <= size ||
	    (disk.f_files && !disk.f_favail))
		return false;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* size: of what was to be written, as far as it is known. */
static void log_failure(struct cc_writer *writer, const char *what, enum cmn_status status, size_t size)
{
	bool limited = status == CMN_ERR_NOSPACE && is_file_limit(root_of(writer), size);

	cmn_log_once(writer->setup.log, &writer->failure_logged, CMN_LOG_ERROR, "cannot write %s: %s", what,
		     limited ? "a file may not grow so large (RLIMIT_FSIZE)" : cmn_status_string(status));
}

/* Why an entry is not there. Nor will it be uploaded to those who wait. */
static void note_not_stored(struct cc_writer *writer, const struct cc_key *key,
			    const struct cc_entry *entry, const char *reason)
{
	char size[24];
	const struct cc_event event = {
		.kind = CC_EVENT_NOT_STORED, .key = key, .reason = reason, .detail = size,
	};

	(void)snprintf(size, sizeof(size), "%zu", cc_entry_image_size(entry));
	cc_event_say(writer->setup.log, &event);
	cc_writer_note(writer, &event);
	if (cc_entry_is_claimed(entry))
		cc_remote_release(writer->setup.remote, key);
}

/* By what cc_store_put answered. */
static const char *reason_of(struct cc_writer *writer, const struct cc_entry *entry,
			     enum cmn_status status)
{
	const char *bound = cc_store_bound_of(writer->setup.store, entry), *why;
	const char *root = root_of(writer);
	struct statvfs disk;

	switch (status) {
	case CMN_ERR_TOO_LARGE:
		return bound ? bound : cc_evict_makes_room(writer->setup.config) ? "max_size" : "full";
	case CMN_ERR_ACCESS:
		if (cc_root_check(root, CC_ROOT_GROUP, &why) == CMN_ERR_ACCESS)
			return "foreign";
		return statvfs(root, &disk) == 0 && (disk.f_flag & ST_RDONLY) ? "read-only-disk" : "access";
	case CMN_BUSY:
		return "busy";
	case CMN_ERR_NOSPACE:
		return is_file_limit(root, cc_entry_payload_size(entry)) ? "file-limit" : "no-space";
	default:
		return "failed";
	}
}

/* false: it would be one more of many that nobody ever asks for again. */
static bool is_welcome(struct cc_writer *writer, struct cmn_view key)
{
	/* That a worker's are many and come one after another says nothing of the programs. */
	if (writer->setup.config->built_for ||
	    cc_nonce_admits(root_of(writer), key, writer->setup.run, cmn_clock_realtime()))
		return true;
	cmn_log_once(writer->setup.log, &writer->token_logged, CMN_LOG_WARNING,
		     "this program's kernels differ by a random word each time: they are not stored");
	return false;
}

static enum cmn_status put(struct cc_writer *writer, const struct cc_key *key, const struct cc_entry *entry)
{
	uint64_t build_ns = cc_entry_build_ns(entry);

	/* Nobody waits for a worker of ckcache replay. */
	if (writer->setup.config->built_for)
		return cc_store_put(writer->setup.store, key, entry);
	/* Whoever has the lock that is wanted may be stopped. */
	return cc_store_put_within(writer->setup.store, key, entry,
				   share_of(build_ns, LOCK_SHARE, LOCK_LEAST_NS, LOCK_MOST_NS),
				   share_of(build_ns, EVICT_SHARE, EVICT_LEAST_NS, EVICT_MOST_NS));
}

void cc_writer_put(struct cc_writer *writer, const struct cc_key *key, struct cc_entry *entry,
		   struct cc_build_lock *lock)
{
	const struct cc_event stored = { .kind = CC_EVENT_STORED };
	enum cmn_status status;

	if (!is_welcome(writer, cc_key_view(key))) {
		cc_build_lock_release(lock);
		note_not_stored(writer, key, entry, "random-token");
		return;
	}
	cc_entry_set_witness(entry, writer->setup.run);
	status = put(writer, key, entry);
	cc_build_lock_release(lock);
	/* It is no result, which is counted and shared. */
	if (status == CMN_OK && cc_entry_failed(entry))
		return;
	if (status == CMN_OK) {
		cc_recorder_write(writer->setup.recorder, root_of(writer), &stored);
		if (!cc_entry_is_remote(entry))
			cc_remote_stored(writer->setup.remote, root_of(writer), key);
		return;
	}
	note_not_stored(writer, key, entry, reason_of(writer, entry, status));
	if (status < 0 && status != CMN_ERR_TOO_LARGE && status != CMN_ERR_ACCESS)
		log_failure(writer, "an entry", status, cc_entry_payload_size(entry));
}

void cc_writer_put_recipe(struct cc_writer *writer, struct cmn_view key, struct cmn_view encoded)
{
	const struct cc_event unwelcome = { .kind = CC_EVENT_NOT_STORED, .reason = "random-token" };
	const struct cc_event failed = { .kind = CC_EVENT_ERROR };
	enum cmn_status status;

	if (!is_welcome(writer, key)) {
		cc_writer_note(writer, &unwelcome);
		return;
	}
	/* A recipe only saves time. */
	if (cc_store_is_full(writer->setup.store, encoded.len))
		return;
	status = cc_recipes_put(root_of(writer), encoded);
	if (status == CMN_OK)
		cc_background_start(&writer->background, writer->setup.config, root_of(writer));
	if (status < 0 && status != CMN_ERR_TOO_LARGE && status != CMN_ERR_ACCESS) {
		cc_recorder_write(writer->setup.recorder, root_of(writer), &failed);
		log_failure(writer, "a recipe", status, encoded.len);
	}
}
