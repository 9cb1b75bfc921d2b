/* SPDX-License-Identifier: MIT */
/* history_file: records, the file that they are appended to, and reading them. */
#include "cachecore/record/history_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"

static const char magic[4] = { 'c', 'k', 'h', '\n' };

enum { HEAD = 12, PREFIX = HEAD + CMN_HASH_SIZE };
enum { PAYLOAD_PART = 1, PAYLOAD_EVENT = 2, PAYLOAD_EVICTED = 3 };

/* Who has the lock writes some kB: this is a hundred times as long, and nobody's exit is held up. */
#define LOCK_WAIT_NS UINT64_C(20000000)
/* Another one may make the file full, or old, between two looks. */
#define OPEN_ATTEMPTS 4
/* What was ever written, whoever wrote beside it. */
#define MAX_READ (4 * CC_HISTORY_MAX_FILE)

uint64_t cc_history_leaf(const char *path)
{
	struct cmn_hash hash = cmn_hash_of(path, strlen(path));

	return cmn_hash_u64(&hash);
}

static struct cmn_hash hash_record(const uint8_t head[HEAD], struct cmn_view payload)
{
	struct cmn_hash fold[2];

	fold[0] = cmn_hash_of(head, HEAD);
	fold[1] = cmn_hash_of(payload.data, payload.len);
	return cmn_hash_of(fold, sizeof(fold));
}

/* Takes the payload. */
static void add_record(struct cmn_buffer *records, struct cmn_buffer *payload)
{
	struct cmn_view view = cmn_buffer_view(payload);
	struct cmn_hash hash;
	size_t start = records->len;

	records->failed |= payload->failed;
	if (!records->failed && view.len <= CC_HISTORY_MAX_RECORD - PREFIX) {
		cmn_buffer_append(records, magic, sizeof(magic));
		cmn_buffer_append_u32(records, CC_HISTORY_VERSION);
		cmn_buffer_append_u32(records, (uint32_t)view.len);
		if (!records->failed) {
			hash = hash_record(records->data + start, view);
			cmn_buffer_append(records, hash.bytes, CMN_HASH_SIZE);
		}
		cmn_buffer_append(records, view.data, view.len);
	}
	cmn_buffer_release(payload);
}

void cc_history_add_part(struct cmn_buffer *records, const struct cmn_hash *hash,
			 struct cmn_view outline)
{
	struct cmn_buffer payload = { 0 };

	cmn_buffer_append_u32(&payload, PAYLOAD_PART);
	cmn_buffer_append(&payload, hash->bytes, CMN_HASH_SIZE);
	cmn_buffer_append(&payload, outline.data, outline.len);
	add_record(records, &payload);
}

void cc_history_add_event(struct cmn_buffer *records, const struct cc_history_event *event)
{
	struct cmn_buffer payload = { 0 };

	cmn_buffer_append_u32(&payload, PAYLOAD_EVENT);
	cmn_buffer_append_u32(&payload, event->kind);
	cmn_buffer_append_u32(&payload, event->pid);
	cmn_buffer_append_u32(&payload, 0);
	cmn_buffer_append_u64(&payload, event->start_ns);
	cmn_buffer_append_u64(&payload, event->time_ns);
	cmn_buffer_append_u64(&payload, event->build_ns);
	for (int i = 0; i < CC_PART_COUNT; i++)
		cmn_buffer_append(&payload, event->parts[i].bytes, CMN_HASH_SIZE);
	cmn_buffer_append_sized(&payload, event->program.data, event->program.len);
	cmn_buffer_append_sized(&payload, event->reason.data, event->reason.len);
	cmn_buffer_append_sized(&payload, event->detail.data, event->detail.len);
	cmn_buffer_append_sized(&payload, event->name.data, event->name.len);
	add_record(records, &payload);
}

void cc_history_add_evicted(struct cmn_buffer *records, enum cc_history_cause cause,
			    uint64_t time_ns, const uint64_t *leaves, size_t count)
{
	const size_t at_once = CC_HISTORY_MAX_RECORD / (2 * sizeof(uint64_t));

	for (size_t i = 0; i < count;) {
		size_t end = count - i < at_once ? count : i + at_once;
		struct cmn_buffer payload = { 0 };

		cmn_buffer_append_u32(&payload, PAYLOAD_EVICTED);
		cmn_buffer_append_u32(&payload, cause);
		cmn_buffer_append_u64(&payload, time_ns);
		for (; i < end; i++)
			cmn_buffer_append_u64(&payload, leaves[i]);
		add_record(records, &payload);
	}
}

/* Whether the name still means this file. */
static bool is_named(int root_fd, const struct stat *info)
{
	struct stat named;

	return fstatat(root_fd, CC_HISTORY_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == info->st_dev && named.st_ino == info->st_ino;
}

/* CMN_STALE: another file has to be opened. */
static enum cmn_status prepare(int root_fd, int fd, uint64_t *ret_id)
{
	enum cmn_status status = cmn_file_lock(fd, cmn_clock_monotonic() + LOCK_WAIT_NS);
	struct stat info;

	/* Without locks two may write at one place: what is damaged by that is skipped. */
	if (status != CMN_OK && status != CMN_ERR_IO)
		return status;
	if (fstat(fd, &info) < 0)
		return CMN_ERR_IO;
	if (!is_named(root_fd, &info))
		return CMN_STALE;
	*ret_id = info.st_ino;
	if ((uint64_t)info.st_size < CC_HISTORY_MAX_FILE)
		return CMN_OK;
	if (renameat(root_fd, CC_HISTORY_NAME, root_fd, CC_HISTORY_OLD_NAME) == 0)
		return CMN_STALE;
	/* Something has the old one's name that no file replaces: bounded it is all the same. */
	return ftruncate(fd, 0) < 0 ? cmn_status_from_errno(errno) : CMN_OK;
}

enum cmn_status cc_history_open(int root_fd, int *ret_fd, uint64_t *ret_id)
{
	enum cmn_status status = CMN_STALE;
	int fd;

	for (int i = 0; i < OPEN_ATTEMPTS && status == CMN_STALE; i++) {
		status = cmn_file_open_healed(root_fd, CC_HISTORY_NAME, &fd);
		if (status != CMN_OK)
			return status;
		status = prepare(root_fd, fd, ret_id);
		if (status == CMN_OK)
			*ret_fd = fd;
		else
			cc_root_unlock(fd);
	}
	return status == CMN_STALE ? CMN_BUSY : status;
}

enum cmn_status cc_history_append(int fd, struct cmn_view records)
{
	struct stat info;
	ssize_t put;

	if (!records.len)
		return CMN_OK;
	if (fstat(fd, &info) < 0)
		return CMN_ERR_IO;
	do {
		put = cmn_file_write_at(fd, records.data, records.len, info.st_size);
	} while (put < 0 && errno == EINTR);
	if (put == (ssize_t)records.len)
		return CMN_OK;
	/* What cannot be cut off is skipped by who reads. */
	if (put > 0)
		(void)!ftruncate(fd, info.st_size);
	return put < 0 ? cmn_status_from_errno(errno) : CMN_ERR_NOSPACE;
}

static void parse_part(struct cmn_reader *payload, const struct cc_history_reader *reader)
{
	struct cmn_view bytes = cmn_reader_bytes(payload, CMN_HASH_SIZE);
	struct cmn_hash hash;

	if (payload->failed || !reader->part)
		return;
	memcpy(hash.bytes, bytes.data, CMN_HASH_SIZE);
	reader->part(reader->ctx, &hash, (struct cmn_view){ payload->data, payload->left });
}

static void parse_event(struct cmn_reader *payload, const struct cc_history_reader *reader)
{
	struct cc_history_event event = { 0 };
	uint32_t kind = cmn_reader_u32(payload);
	struct cmn_view bytes;

	event.pid = cmn_reader_u32(payload);
	(void)cmn_reader_u32(payload);	/* zero */
	event.start_ns = cmn_reader_u64(payload);
	event.time_ns = cmn_reader_u64(payload);
	event.build_ns = cmn_reader_u64(payload);
	bytes = cmn_reader_bytes(payload, sizeof(event.parts));
	event.program = cmn_reader_sized(payload);
	event.reason = cmn_reader_sized(payload);
	event.detail = cmn_reader_sized(payload);
	event.name = cmn_reader_sized(payload);
	if (payload->failed || kind < CC_HISTORY_MISS || kind >= CC_HISTORY_KIND_COUNT ||
	    !reader->event)
		return;
	memcpy(event.parts, bytes.data, sizeof(event.parts));
	event.kind = (enum cc_history_kind)kind;
	reader->event(reader->ctx, &event);
}

static void parse_evicted(struct cmn_reader *payload, const struct cc_history_reader *reader)
{
	uint32_t cause = cmn_reader_u32(payload);
	uint64_t time_ns = cmn_reader_u64(payload);

	if (payload->failed || cause < CC_HISTORY_BY_SIZE || cause >= CC_HISTORY_CAUSE_COUNT)
		return;
	while (reader->evicted && payload->left >= sizeof(uint64_t))
		reader->evicted(reader->ctx, (enum cc_history_cause)cause, time_ns,
				cmn_reader_u64(payload));
}

/* The payload of the record that a file begins with; false: it does not begin with a sound one. */
static bool find_payload(struct cmn_view file, struct cmn_view *ret)
{
	struct cmn_reader reader = cmn_reader_of(file);
	struct cmn_hash stored, hash;
	char start[sizeof(magic)];
	uint32_t version, len;

	cmn_reader_copy(&reader, start, sizeof(start));
	version = cmn_reader_u32(&reader);
	len = cmn_reader_u32(&reader);
	stored = cmn_reader_hash(&reader);
	if (reader.failed || memcmp(start, magic, sizeof(magic)) != 0 ||
	    version != CC_HISTORY_VERSION || len > CC_HISTORY_MAX_RECORD)
		return false;
	*ret = cmn_reader_bytes(&reader, len);
	if (reader.failed)
		return false;
	hash = hash_record(file.data, *ret);
	return cmn_hash_equal(&hash, &stored);
}

static void parse_payload(struct cmn_view view, const struct cc_history_reader *reader)
{
	struct cmn_reader payload = cmn_reader_of(view);

	switch (cmn_reader_u32(&payload)) {
	case PAYLOAD_PART:
		parse_part(&payload, reader);
		break;
	case PAYLOAD_EVENT:
		parse_event(&payload, reader);
		break;
	case PAYLOAD_EVICTED:
		parse_evicted(&payload, reader);
		break;
	}
}

void cc_history_parse(struct cmn_view file, const struct cc_history_reader *reader)
{
	const uint8_t *at = file.data, *end = at + file.len;
	struct cmn_view payload;

	while (at && end - at >= PREFIX) {
		if (find_payload((struct cmn_view){ at, (size_t)(end - at) }, &payload)) {
			parse_payload(payload, reader);
			at = (const uint8_t *)payload.data + payload.len;
			continue;
		}
		at = memmem(at + 1, (size_t)(end - at) - 1, magic, sizeof(magic));
	}
}

enum cmn_status cc_history_read(const char *root, enum cmn_file_trust trust,
				const struct cc_history_reader *reader)
{
	static const char *const names[] = { CC_HISTORY_OLD_NAME, CC_HISTORY_NAME };
	enum cmn_status status;
	int fd;

	status = cc_root_open(root, &fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct cmn_buffer file = { 0 };

		/* One that cannot be read has nothing to say. */
		if (cmn_file_read_into(fd, names[i], MAX_READ, trust, NULL, &file) == CMN_OK)
			cc_history_parse(cmn_buffer_view(&file), reader);
		cmn_buffer_release(&file);
	}
	(void)close(fd);	/* read only */
	return CMN_OK;
}
