/* SPDX-License-Identifier: MIT */
/* events: records, the file that they are appended to, and reading them. */
#include "cachecore/record/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"

static const char magic[4] = { 'c', 'k', 'e', '\n' };

enum { HASHED_AT = sizeof(magic) + CMN_HASH_SIZE, HEAD = HASHED_AT + 8 };
enum { PAYLOAD_PART = 1, PAYLOAD_EVENT = 2, PAYLOAD_REMOVED = 3, PAYLOAD_SHORT = 4 };
enum { FLAG_UNATTENDED = 1, FLAG_UNCACHED = 2 };

/* Those that find it full all append once more. */
#define MAX_READ (CC_EVENTS_MAX + ((size_t)1 << 20))
/* So many times its own bytes are hashed of a file at most before a sound record is found. */
#define HASHED_SHARE 4

uint64_t cc_events_entry_dir(const char *path)
{
	struct cmn_hash hash = cmn_hash_of(path, strlen(path));

	return cmn_hash_u64(&hash);
}

/* Where the record begins; its payload follows. */
static size_t begin_record(struct cmn_buffer *records, uint32_t kind)
{
	static const uint8_t unknown[CMN_HASH_SIZE];	/* filled in by end_record */
	size_t start = records->len;

	cmn_buffer_append(records, magic, sizeof(magic));
	cmn_buffer_append(records, unknown, sizeof(unknown));
	cmn_buffer_append_u32(records, CC_EVENTS_VERSION);
	cmn_buffer_append_u32(records, 0);	/* likewise */
	cmn_buffer_append_u32(records, kind);
	return start;
}

static void end_record(struct cmn_buffer *records, size_t start)
{
	uint8_t *record = records->data + start;
	struct cmn_hash hash;
	uint32_t len;

	if (records->failed)
		return;
	if (records->len - start > CC_EVENTS_MAX_RECORD) {
		records->len = start;
		return;
	}
	len = (uint32_t)(records->len - start - HEAD);
	for (unsigned int i = 0; i < 4; i++)
		record[HEAD - 4 + i] = (uint8_t)(len >> (8 * i));
	hash = cmn_hash_of(record + HASHED_AT, records->len - start - HASHED_AT);
	memcpy(record + sizeof(magic), hash.bytes, CMN_HASH_SIZE);
}

void cc_events_add_part(struct cmn_buffer *records, const struct cmn_hash *hash, struct cmn_view outline)
{
	size_t start = begin_record(records, PAYLOAD_PART);

	cmn_buffer_append(records, hash->bytes, CMN_HASH_SIZE);
	cmn_buffer_append(records, outline.data, outline.len);
	end_record(records, start);
}

void cc_events_add(struct cmn_buffer *records, const struct cc_event_record *event)
{
	bool is_short = cc_event_is_short(event->kind);
	size_t start = begin_record(records, is_short ? PAYLOAD_SHORT : PAYLOAD_EVENT);

	cmn_buffer_append_u32(records, event->kind);
	cmn_buffer_append_u32(records, is_short ? event->count :
			      (event->unattended ? FLAG_UNATTENDED : 0U) | (event->uncached ? FLAG_UNCACHED : 0U));
	cmn_buffer_append_u32(records, event->pid);
	cmn_buffer_append_u64(records, event->start_ns);
	cmn_buffer_append_u64(records, event->time_ns);
	cmn_buffer_append_u64(records, event->build_ns);
	for (int i = 0; i < CC_PART_COUNT && !is_short; i++)
		cmn_buffer_append(records, event->parts[i].bytes, CMN_HASH_SIZE);
	cmn_buffer_append_sized(records, event->program.data, event->program.len);
	if (!is_short) {
		cmn_buffer_append_sized(records, event->reason.data, event->reason.len);
		cmn_buffer_append_sized(records, event->detail.data, event->detail.len);
		cmn_buffer_append_sized(records, event->name.data, event->name.len);
	}
	end_record(records, start);
}

void cc_events_add_removed(struct cmn_buffer *records, enum cc_removal_cause cause, uint64_t time_ns,
			   const uint64_t *entry_dirs, size_t count)
{
	const size_t at_once = CC_EVENTS_MAX_RECORD / (2 * sizeof(uint64_t));

	for (size_t i = 0; i < count;) {
		size_t end = count - i < at_once ? count : i + at_once;
		size_t start = begin_record(records, PAYLOAD_REMOVED);

		cmn_buffer_append_u32(records, cause);
		cmn_buffer_append_u64(records, time_ns);
		for (; i < end; i++)
			cmn_buffer_append_u64(records, entry_dirs[i]);
		end_record(records, start);
	}
}

enum cmn_status cc_events_open(int root_fd, struct cc_events_log *ret)
{
	enum cmn_status status = CMN_OK;
	struct stat info;
	int fd;

	for (bool again = false; status == CMN_OK; again = true) {
		fd = cmn_file_open_to_write(root_fd, CC_EVENTS_NAME, O_RDWR | O_APPEND, 0, CMN_FILE_ANY,
					    &info, NULL);
		/* One without a name was added up just now. */
		if (fd >= 0 && info.st_nlink == 1) {
			*ret = (struct cc_events_log){ fd, (size_t)info.st_size };
			return CMN_OK;
		}
		if (fd >= 0)
			(void)close(fd);	/* nothing was written through it */
		status = again ? CMN_ERR_IO : cmn_file_open_healed(root_fd, CC_EVENTS_NAME, &fd);
		if (status == CMN_OK)
			(void)close(fd);	/* likewise */
	}
	return status;
}

uint64_t cc_events_log_id(const struct cc_events_log *log)
{
	struct cmn_buffer begin = { 0 };
	ssize_t got = 0;
	uint64_t id;

	if (log->size && cmn_buffer_reserve(&begin, CC_EVENTS_MAX_RECORD))
		got = pread(log->fd, begin.data, CC_EVENTS_MAX_RECORD, 0);
	id = got > 0 ? cc_events_id((struct cmn_view){ begin.data, (size_t)got }) : 0;
	cmn_buffer_release(&begin);
	return id;
}

bool cc_events_append(const struct cc_events_log *log, struct cmn_view records)
{
	/* Half of them is skipped by who reads. */
	bool done = records.len && cmn_file_write(log->fd, records.data, records.len) == (ssize_t)records.len;

	return close(log->fd) == 0 && done;
}

/* The length of the sound record that begins there; 0: none does. *hashed: the bytes that were looked at for that. */
static size_t record_at(const uint8_t *at, size_t left, uint64_t *hashed)
{
	struct cmn_reader reader = cmn_reader_of((struct cmn_view){ at, left });
	struct cmn_hash stored, hash;
	uint32_t version, len;

	(void)cmn_reader_u32(&reader);	/* magic */
	stored = cmn_reader_hash(&reader);
	version = cmn_reader_u32(&reader);
	len = cmn_reader_u32(&reader);
	if (left < HEAD || memcmp(at, magic, sizeof(magic)) != 0 || version != CC_EVENTS_VERSION ||
	    len > CC_EVENTS_MAX_RECORD || len > reader.left)
		return 0;
	*hashed += len;
	hash = cmn_hash_of(at + HASHED_AT, HEAD - HASHED_AT + len);
	return cmn_hash_equal(&hash, &stored) ? HEAD + len : 0;
}

bool cc_events_next(struct cmn_view *rest, struct cmn_view *ret_record)
{
	const uint8_t *at = rest->data, *end = rest->len ? at + rest->len : at;
	uint64_t hashed = 0;

	/* Heads that overlap are nobody's who writes a log. */
	while (at && end - at >= HEAD && hashed <= HASHED_SHARE * (uint64_t)rest->len) {
		size_t len = record_at(at, (size_t)(end - at), &hashed);

		if (len) {
			*ret_record = (struct cmn_view){ at, len };
			at += len;
			*rest = (struct cmn_view){ at, (size_t)(end - at) };
			return true;
		}
		at = memmem(at + 1, (size_t)(end - at) - 1, magic, sizeof(magic));
	}
	return false;
}

static struct cmn_reader payload_of(struct cmn_view record)
{
	return cmn_reader_of((struct cmn_view){ (const uint8_t *)record.data + HEAD, record.len - HEAD });
}

bool cc_events_is_short(struct cmn_view record)
{
	struct cmn_reader payload = payload_of(record);

	return cmn_reader_u32(&payload) == PAYLOAD_SHORT;
}

uint64_t cc_events_id(struct cmn_view file)
{
	struct cmn_hash hash;
	uint64_t hashed = 0;

	if (!file.len || !record_at(file.data, file.len, &hashed))
		return 0;
	memcpy(hash.bytes, (const uint8_t *)file.data + sizeof(magic), CMN_HASH_SIZE);
	return cmn_hash_u64(&hash);
}

static void parse_part(struct cmn_reader *payload, const struct cc_events_reader *reader)
{
	struct cmn_hash hash = cmn_reader_hash(payload);

	if (!payload->failed && reader->part)
		reader->part(reader->ctx, &hash, (struct cmn_view){ payload->data, payload->left });
}

static void parse_event(struct cmn_reader *payload, bool is_short, const struct cc_events_reader *reader)
{
	struct cc_event_record event = { .count = 1 };
	uint32_t kind = cmn_reader_u32(payload), flags = cmn_reader_u32(payload);

	event.pid = cmn_reader_u32(payload);
	event.start_ns = cmn_reader_u64(payload);
	event.time_ns = cmn_reader_u64(payload);
	event.build_ns = cmn_reader_u64(payload);
	if (is_short) {
		event.count = flags;
		event.program = cmn_reader_sized(payload);
	} else {
		event.unattended = flags & FLAG_UNATTENDED;
		event.uncached = flags & FLAG_UNCACHED;
		cmn_reader_copy(payload, event.parts, sizeof(event.parts));
		event.program = cmn_reader_sized(payload);
		event.reason = cmn_reader_sized(payload);
		event.detail = cmn_reader_sized(payload);
		event.name = cmn_reader_sized(payload);
	}
	if (payload->failed || kind < CC_EVENT_MISS || kind >= CC_EVENT_KIND_COUNT ||
	    cc_event_is_short((enum cc_event_kind)kind) != is_short || !reader->event)
		return;
	event.kind = (enum cc_event_kind)kind;
	reader->event(reader->ctx, &event);
}

static void parse_removed(struct cmn_reader *payload, const struct cc_events_reader *reader)
{
	uint32_t cause = cmn_reader_u32(payload);
	uint64_t time_ns = cmn_reader_u64(payload);

	if (payload->failed || cause < CC_REMOVED_BY_SIZE || cause >= CC_REMOVED_CAUSE_COUNT)
		return;
	while (reader->removed && payload->left >= sizeof(uint64_t))
		reader->removed(reader->ctx, (enum cc_removal_cause)cause, time_ns, cmn_reader_u64(payload));
}

void cc_events_parse(struct cmn_view file, const struct cc_events_reader *reader)
{
	struct cmn_view record;

	while (cc_events_next(&file, &record)) {
		struct cmn_reader payload = payload_of(record);
		uint32_t kind = cmn_reader_u32(&payload);

		if (kind == PAYLOAD_PART)
			parse_part(&payload, reader);
		else if (kind == PAYLOAD_EVENT || kind == PAYLOAD_SHORT)
			parse_event(&payload, kind == PAYLOAD_SHORT, reader);
		else if (kind == PAYLOAD_REMOVED)
			parse_removed(&payload, reader);
	}
}

enum cmn_status cc_events_load(int root_fd, const char *name, enum cmn_file_trust trust,
			       struct cmn_buffer *ret)
{
	return cmn_file_read_into(root_fd, name, MAX_READ, trust, NULL, ret);
}

enum cmn_status cc_events_read(const char *root, enum cmn_file_trust trust,
			       const struct cc_events_reader *reader)
{
	static const char *const names[] = { CC_EVENTS_OLD_NAME, CC_EVENTS_NAME };
	enum cmn_status status;
	int fd;

	status = cc_root_open(root, &fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct cmn_buffer file = { 0 };

		/* One that cannot be read has nothing to say. */
		if (cc_events_load(fd, names[i], trust, &file) == CMN_OK)
			cc_events_parse(cmn_buffer_view(&file), reader);
		cmn_buffer_release(&file);
	}
	(void)close(fd);	/* read only */
	return CMN_OK;
}
