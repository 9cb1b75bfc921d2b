/* SPDX-License-Identifier: MIT */
/* level: one disk level: opening, look-up, storing. Which one is in use is level_switch.c's business. */
#include "cachecore/disk/level_internal.h"

#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/writer/hand_over.h"

#define NS_PER_S UINT64_C(1000000000)
/* An application's thread waits that long for an entry that is just being stored. */
#define FORGET_NS (NS_PER_S / 100)

static enum cmn_status open_store(struct cc_level *level)
{
	const struct cc_level_shared *around = level->around;
	struct cc_hand_over *hand_over;
	/* The store itself names the reason in the log. */
	enum cmn_status status = cc_store_open(&level->config, around->log, &level->store);

	if (status != CMN_OK)
		return status;
	/* A cache that is only read takes no statistics either. */
	if (level->config.read_only || !level->config.dir)
		return CMN_OK;
	level->writer = cc_writer_new(level->store, NULL, around->log);
	if (!level->writer)
		return CMN_ERR_NOMEM;
	cc_writer_set_run(level->writer, around->run);
	cc_writer_set_start(level->writer, around->start_ns);
	cc_writer_set_remote(level->writer, around->remote);
	cc_writer_set_program(level->writer, level->config.built_for);
	if (cc_hand_over_new(&level->config, &hand_over) != CMN_OK)
		return CMN_ERR_NOMEM;
	cc_writer_set_hand_over(level->writer, hand_over);
	if (level->config.admit_all)
		cc_writer_admit_all(level->writer);
	return CMN_OK;
}

/* Without its writer. */
static void release(struct cc_level *level)
{
	cc_store_close(level->store);
	free(level->config.dir);
	free(level);
}

enum cmn_status cc_level_open(const struct cc_level_shared *around, const char *dir,
			     uint64_t max_size, struct cc_level **ret)
{
	struct cc_level *level = calloc(1, sizeof(*level));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!level)
		return CMN_ERR_NOMEM;
	level->around = around;
	level->config = *around->config;
	level->config.dir = dir ? strdup(dir) : NULL;
	level->config.max_size = max_size;
	level->users = 1;
	if (!dir || level->config.dir)
		status = open_store(level);
	if (status != CMN_OK) {
		release(level);	/* it has no writer */
		return status;
	}
	*ret = level;
	return CMN_OK;
}

bool cc_level_free(struct cc_level *level, uint64_t timeout_ns)
{
	if (!level)
		return true;
	/* A thread that hangs in the file system still uses what it was given. */
	if (!cc_writer_free(level->writer, timeout_ns))
		return false;
	release(level);
	return true;
}

bool cc_level_flush(struct cc_level *level, uint64_t timeout_ns)
{
	return !level->writer || cc_writer_flush(level->writer, timeout_ns);
}

void cc_level_note(struct cc_level *level, const struct cc_history_note *note)
{
	struct cc_history_note own = *note;

	if (!level || !level->writer)
		return;
	own.start_ns = level->around->start_ns;
	cc_writer_note(level->writer, &own);
}

/* What kept a look-up from being a hit. */
static void note_report(struct cc_level *level, const struct cc_key *key,
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
		note.reason = report->distrusted == report->damaged ? "access" : NULL;
		cc_tally_find(level->around->tally, &note);
		cc_level_note(level, &note);
	}
	if (report->change.how != CC_MANIFEST_SAME) {
		note.kind = CC_HISTORY_CHANGED;
		note.reason = reasons[report->change.how];
		note.detail = report->change.path;
		cc_tally_find(level->around->tally, &note);
		cc_level_note(level, &note);
	}
}

enum cmn_status cc_level_get(struct cc_level *level, const struct cc_key *key,
			    struct cc_file_memo *memo, size_t kept_len, struct cc_entry **ret)
{
	struct cc_store_report report;
	enum cmn_status status;

	if (!level)
		return CMN_MISS;
	status = cc_store_get(level->store, key, memo, kept_len, ret, &report);
	if (report.damaged)
		cc_stats_add(level->around->stats, CC_ERRORS, report.damaged);
	if (status != CMN_OK)
		note_report(level, key, &report);
	if (status != CMN_OK || !level->writer)
		return status;
	if (report.place.leaf[0])
		cc_writer_touch(level->writer, &report.place);
	else if (level->config.promote)
		(void)cc_writer_put(level->writer, key, *ret, NULL);	/* the tier has it anyway */
	return CMN_OK;
}

void cc_level_put(struct cc_level *level, const struct cc_key *key, struct cc_entry *entry,
		 struct cc_flight *flight)
{
	const struct cc_history_note note = {
		.kind = CC_HISTORY_NOT_STORED, .key = key, .reason = "queue-full",
	};

	if (!level || !level->writer || cc_entry_in_memory_only(entry))
		cc_flight_end(flight);
	else if (!cc_writer_put(level->writer, key, entry, flight))
		cc_level_note(level, &note);	/* a later run stores it */
}

bool cc_level_stores(const struct cc_level *level)
{
	return level && level->writer;
}

bool cc_level_put_recipe(struct cc_level *level, const struct cc_recipe *recipe)
{
	struct cmn_buffer encoded;

	if (!level || !level->writer || cc_recipe_encode(recipe, &encoded) != CMN_OK)
		return false;
	return cc_writer_put_recipe(level->writer, &encoded);
}

enum cmn_status cc_level_join_flight(struct cc_level *level, const struct cc_key *key,
				    struct cc_flight **ret_flight)
{
	enum cc_flight_turn turn;

	*ret_flight = NULL;
	if (!level || !level->writer || !level->around->flights)
		return CMN_MISS;
	turn = cc_flights_begin(level->around->flights, level->config.dir, cc_key_view(key),
				   level->config.build_wait * NS_PER_S, ret_flight);
	/* Since the first look another one's may have begun and ended. */
	if (turn == CC_FLIGHT_LANDED ||
	    (turn == CC_FLIGHT_OWN && cc_store_may_have(level->store, key)))
		return CMN_OK;
	return CMN_MISS;
}

enum cmn_status cc_level_remove(struct cc_level *level, const struct cc_key *key)
{
	enum cmn_status status;
	bool removes_later;

	if (!level)
		return CMN_OK;
	/* Else it would be stored after it was removed. */
	removes_later = level->writer && cc_writer_forget(level->writer, key, FORGET_NS);
	status = cc_store_remove(level->store, key);
	return removes_later && status == CMN_BUSY ? CMN_OK : status;
}
