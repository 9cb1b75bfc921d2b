/* SPDX-License-Identifier: MIT */
/* level: one disk level: opening, look-up, storing. Which one is in use is level_switch.c's business. */
#include "cachecore/disk/level_internal.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* An application's thread waits that long for an entry that is just being stored. */
#define FORGET_NS (NS_PER_S / 50)

static enum cmn_status open_store(struct cc_level *disk)
{
	const struct cc_level_shared *around = disk->around;
	/* The store itself names the reason in the log. */
	enum cmn_status status = cc_store_open(&disk->config, around->log, &disk->store);

	if (status != CMN_OK)
		return status;
	/* A cache that is only read takes no statistics either. */
	if (disk->config.read_only || !disk->config.dir)
		return CMN_OK;
	disk->writer = cc_writer_new(disk->store, NULL, around->log);
	if (!disk->writer)
		return CMN_ERR_NOMEM;
	cc_writer_set_run(disk->writer, around->run);
	cc_writer_set_start(disk->writer, around->start_ns);
	if (disk->config.admit_all)
		cc_writer_admit_all(disk->writer);
	return CMN_OK;
}

enum cmn_status cc_level_open(const struct cc_level_shared *around, const char *dir,
			     uint64_t max_size, struct cc_level **ret)
{
	struct cc_level *disk = calloc(1, sizeof(*disk));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!disk)
		return CMN_ERR_NOMEM;
	disk->around = around;
	disk->config = *around->config;
	disk->config.dir = dir ? strdup(dir) : NULL;
	disk->config.max_size = max_size;
	disk->users = 1;
	if (!dir || disk->config.dir)
		status = open_store(disk);
	if (status != CMN_OK) {
		(void)cc_level_free(disk, 0);	/* no thread of its writer was started */
		return status;
	}
	*ret = disk;
	return CMN_OK;
}

bool cc_level_free(struct cc_level *disk, uint64_t timeout_ns)
{
	if (!disk)
		return true;
	/* A thread that hangs in the file system still uses what it was given. */
	if (!cc_writer_free(disk->writer, timeout_ns))
		return false;
	cc_store_close(disk->store);
	free(disk->config.dir);
	free(disk);
	return true;
}

bool cc_level_flush(struct cc_level *disk, uint64_t timeout_ns)
{
	return !disk->writer || cc_writer_flush(disk->writer, timeout_ns);
}

void cc_level_note(struct cc_level *disk, const struct cc_history_note *note)
{
	struct cc_history_note own = *note;

	if (!disk || !disk->writer)
		return;
	own.start_ns = disk->around->start_ns;
	cc_writer_note(disk->writer, &own);
}

/* What kept a look-up from being a hit. */
static void note_report(struct cc_level *disk, const struct cc_key *key,
			const struct cc_store_report *report)
{
	static const char *const reasons[] = {
		[CC_MANIFEST_CHANGED] = "changed", [CC_MANIFEST_VANISHED] = "vanished",
		[CC_MANIFEST_APPEARED] = "appeared", [CC_MANIFEST_DIRECTORY] = "directory",
		[CC_MANIFEST_ANOTHER] = "changed",
	};
	struct cc_history_note note = { .key = key };

	if (report->damaged) {
		note.kind = CC_HISTORY_DAMAGED;
		cc_level_note(disk, &note);
	}
	if (report->change.how != CC_MANIFEST_SAME) {
		note.kind = CC_HISTORY_CHANGED;
		note.reason = reasons[report->change.how];
		note.detail = report->change.path;
		cc_level_note(disk, &note);
	}
}

enum cmn_status cc_level_get(struct cc_level *disk, const struct cc_key *key,
			    struct cc_file_memo *memo, size_t kept_len, struct cc_entry **ret)
{
	struct cc_store_report report;
	enum cmn_status status;

	if (!disk)
		return CMN_MISS;
	status = cc_store_get(disk->store, key, memo, kept_len, ret, &report);
	if (report.damaged)
		cc_stats_add(disk->around->stats, CC_ERRORS, report.damaged);
	if (status != CMN_OK)
		note_report(disk, key, &report);
	if (status != CMN_OK || !disk->writer)
		return status;
	if (report.place.leaf[0])
		cc_writer_touch(disk->writer, &report.place);
	else if (disk->config.promote)
		(void)cc_writer_put(disk->writer, key, *ret, NULL);	/* the tier has it anyway */
	return CMN_OK;
}

void cc_level_put(struct cc_level *disk, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_flight *flight)
{
	const struct cc_history_note note = {
		.kind = CC_HISTORY_NOT_STORED, .key = key, .reason = "queue-full",
	};

	if (!disk || !disk->writer || cc_entry_in_memory_only(entry))
		cc_flight_end(flight);
	else if (!cc_writer_put(disk->writer, key, entry, flight))
		cc_level_note(disk, &note);	/* a later run stores it */
}

bool cc_level_put_recipe(struct cc_level *disk, const struct cc_recipe *recipe)
{
	struct cmn_buffer encoded;

	if (!disk || !disk->writer || cc_recipe_encode(recipe, &encoded) != CMN_OK)
		return false;
	return cc_writer_put_recipe(disk->writer, &encoded);
}

enum cmn_status cc_level_join_flight(struct cc_level *disk, const struct cc_key *key,
				    struct cc_flight **ret_flight)
{
	enum cc_flight_turn turn;

	*ret_flight = NULL;
	if (!disk || !disk->writer || !disk->around->flights)
		return CMN_MISS;
	turn = cc_flights_begin(disk->around->flights, disk->config.dir, cc_key_view(key),
				   disk->config.build_wait * NS_PER_S, ret_flight);
	/* Since the first look another one's may have begun and ended. */
	if (turn == CC_FLIGHT_LANDED ||
	    (turn == CC_FLIGHT_OWN && cc_store_may_have(disk->store, key)))
		return CMN_OK;
	if (turn == CC_FLIGHT_OWN)
		cc_writer_beat(disk->writer, disk->around->flights);
	return CMN_MISS;
}

enum cmn_status cc_level_remove(struct cc_level *disk, const struct cc_key *key)
{
	enum cmn_status status;
	bool removes_later;

	if (!disk)
		return CMN_OK;
	/* Else it would be stored after it was removed. */
	removes_later = disk->writer && cc_writer_forget(disk->writer, key, FORGET_NS);
	status = cc_store_remove(disk->store, key);
	return removes_later && status == CMN_BUSY ? CMN_OK : status;
}
