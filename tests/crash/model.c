/* SPDX-License-Identifier: MIT */
/* model: replays what is kept into names and contents. */
#include "tests/crash/model.h"

#include "common/file.h"
#include "common/hash.h"
#include "tests/support/posix.h"

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

void crash_init(struct crash *crash, const struct tape *tape, size_t durable)
{
	*crash = (struct crash){ .tape = tape, .durable = durable };
	crash->kept = allocate(tape->count, sizeof(*crash->kept));
	crash->remains = allocate(tape->inodes, sizeof(*crash->remains));
	crash_keep_all(crash, tape->count);
}

void crash_release(struct crash *crash)
{
	free(crash->kept);
	free(crash->remains);
	*crash = (struct crash){ 0 };
}

void crash_keep_all(struct crash *crash, size_t cut)
{
	crash->cut = cut;
	for (size_t i = 0; i < crash->tape->count; i++)
		crash->kept[i] = i < cut;
	memset(crash->remains, 0, crash->tape->inodes * sizeof(*crash->remains));
}

/* Whether a sync of the inode came after operation i. */
static bool is_synced(const struct crash *crash, size_t i, unsigned int inode)
{
	while (++i < crash->cut) {
		const struct operation *operation = &crash->tape->operations[i];

		if (operation->kind == OPERATION_SYNC && operation->inode == inode)
			return true;
	}
	return false;
}

bool crash_is_durable(const struct crash *crash, size_t i)
{
	const struct operation *operation = &crash->tape->operations[i];

	if (i < crash->durable)
		return true;
	if (!operation_names(operation))
		return is_synced(crash, i, operation->inode);
	return is_synced(crash, i, operation->directory) ||
	       (operation->kind == OPERATION_RENAME && is_synced(crash, i, operation->to_directory));
}

static void set_len(struct cmn_buffer *content, uint64_t len)
{
	if (len > content->len) {
		if (!cmn_buffer_reserve(content, len - content->len))
			abort();
		memset(content->data + content->len, 0, len - content->len);
	}
	content->len = len;
}

/* What the file's writes made of it: all of them, or those on disk. */
static struct cmn_buffer content_of(const struct crash *crash, unsigned int inode, bool all)
{
	struct cmn_buffer content = { 0 };

	for (size_t i = 0; i < crash->cut; i++) {
		const struct operation *operation = &crash->tape->operations[i];

		if (operation->inode != inode || operation_names(operation) ||
		    operation->kind == OPERATION_SYNC || (!all && !crash_is_durable(crash, i)))
			continue;
		if (operation->kind == OPERATION_TRUNCATE) {
			set_len(&content, operation->offset);
			continue;
		}
		if (content.len < operation->offset + operation->len)
			set_len(&content, operation->offset + operation->len);
		memcpy(content.data + operation->offset, operation->data, operation->len);
	}
	return content;
}

bool crash_is_volatile(const struct crash *crash, unsigned int inode, uint64_t *ret_len)
{
	bool found = false;

	for (size_t i = crash->durable; i < crash->cut && !found; i++) {
		const struct operation *operation = &crash->tape->operations[i];

		found = operation->inode == inode && !operation_names(operation) &&
			operation->kind != OPERATION_SYNC && !crash_is_durable(crash, i);
	}
	if (found) {
		struct cmn_buffer content = content_of(crash, inode, true);

		*ret_len = content.len;
		cmn_buffer_release(&content);
	}
	return found;
}

/* The name that the file got last, or ends up with. */
static const char *name_of(const struct crash *crash, unsigned int inode)
{
	const char *name = "";

	for (size_t i = 0; i < crash->cut; i++) {
		const struct operation *operation = &crash->tape->operations[i];

		if (operation->inode != inode)
			continue;
		if (operation->kind == OPERATION_CREATE)
			name = operation->name;
		else if (operation->kind == OPERATION_RENAME)
			name = operation->to_name;
	}
	return name;
}

/* Another file of that name, made before this one or, failing that, after it. */
static unsigned int donor_of(const struct crash *crash, unsigned int inode)
{
	const char *name = name_of(crash, inode);

	for (unsigned int i = 1; i < crash->tape->inodes; i++) {
		unsigned int other = (inode + crash->tape->inodes - i) % crash->tape->inodes;

		if (other && strcmp(name_of(crash, other), name) == 0)
			return other;
	}
	return inode;
}

static void copy_part(struct cmn_buffer *to, const struct cmn_buffer *from, uint64_t start, uint64_t end)
{
	end = end < from->len ? end : from->len;
	end = end < to->len ? end : to->len;
	if (start < end)
		memcpy(to->data + start, from->data + start, end - start);
}

static void spoil_block(struct cmn_buffer *content, uint64_t at)
{
	uint64_t start = at / MODEL_BLOCK * MODEL_BLOCK;

	for (uint64_t i = start; i < content->len && i < start + MODEL_BLOCK; i++)
		content->data[i] = (uint8_t)(content->data[i] ^ (0x5a + i * 7));
}

static struct cmn_buffer remains_of(const struct crash *crash, unsigned int inode)
{
	const struct remains *remains = &crash->remains[inode];
	struct cmn_buffer full = content_of(crash, inode, true), foreign, rest;

	if (remains->kind == REMAINS_ALL)
		return full;
	rest = content_of(crash, inode, false);
	switch (remains->kind) {
	case REMAINS_CUT:
		if (rest.len < remains->at)
			set_len(&rest, remains->at < full.len ? remains->at : full.len);
		copy_part(&rest, &full, 0, remains->at);
		break;
	case REMAINS_ZEROS:
		set_len(&rest, full.len);
		break;
	case REMAINS_HOLE:
		set_len(&rest, full.len);
		copy_part(&rest, &full, 0, remains->at);
		break;
	case REMAINS_TAIL:
		set_len(&rest, full.len);
		copy_part(&rest, &full, remains->at, full.len);
		break;
	case REMAINS_GARBAGE:
		set_len(&rest, full.len);
		copy_part(&rest, &full, 0, full.len);
		spoil_block(&rest, remains->at);
		break;
	case REMAINS_FOREIGN:
		foreign = content_of(crash, donor_of(crash, inode), true);
		set_len(&rest, full.len);
		copy_part(&rest, &full, 0, full.len);
		copy_part(&rest, &foreign, 0, full.len);
		cmn_buffer_release(&foreign);
		break;
	default:
		break;
	}
	cmn_buffer_release(&full);
	return rest;
}

static void replay_names(const struct crash *crash, struct names *names)
{
	for (size_t i = 0; i < crash->cut; i++) {
		const struct operation *operation = &crash->tape->operations[i];

		if (!operation_names(operation) || !crash->kept[i])
			continue;
		switch (operation->kind) {
		case OPERATION_MAKE_DIRECTORY:
		case OPERATION_CREATE:
			names_set(names, operation->directory, operation->name, operation->inode);
			break;
		case OPERATION_RENAME:
			names_remove(names, operation->directory, operation->name, operation->inode);
			names_set(names, operation->to_directory, operation->to_name, operation->inode);
			break;
		default:
			names_remove(names, operation->directory, operation->name, operation->inode);
			break;
		}
	}
}

static bool *find_directories(const struct tape *tape)
{
	bool *directories = allocate(tape->inodes, sizeof(*directories));

	directories[0] = true;
	for (size_t i = 0; i < tape->count; i++) {
		if (tape->operations[i].kind == OPERATION_MAKE_DIRECTORY)
			directories[tape->operations[i].inode] = true;
	}
	return directories;
}

/* Which directories can be reached from the top: a lost one takes all below it along. */
static bool *find_reachable(const struct names *names, const bool *directories, unsigned int inodes)
{
	bool *reachable = allocate(inodes, sizeof(*reachable));
	bool more = true;

	reachable[0] = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < names->count; i++) {
			const struct name *name = &names->all[i];

			if (directories[name->inode] && reachable[name->directory] && !reachable[name->inode])
				more = reachable[name->inode] = true;
		}
	}
	return reachable;
}

uint64_t crash_hash(const struct crash *crash)
{
	bool *directories = find_directories(crash->tape), *reachable;
	struct names names = { 0 };
	uint64_t sum = 0;

	replay_names(crash, &names);
	reachable = find_reachable(&names, directories, crash->tape->inodes);
	for (size_t i = 0; i < names.count; i++) {
		struct name name = { 0 };
		struct cmn_buffer content = { 0 };
		struct cmn_hash parts[2], hash;

		if (!reachable[names.all[i].directory])
			continue;
		name.directory = names.all[i].directory;
		name.inode = names.all[i].inode;
		(void)snprintf(name.text, sizeof(name.text), "%s", names.all[i].text);
		if (!directories[name.inode])
			content = remains_of(crash, name.inode);
		parts[0] = cmn_hash_of(&name, sizeof(name));
		parts[1] = cmn_hash_of(content.data, content.len);
		hash = cmn_hash_of(parts, sizeof(parts));
		/* The order of the names means nothing. */
		sum += cmn_hash_u64(&hash);
		cmn_buffer_release(&content);
	}
	free(reachable);
	free(directories);
	names_release(&names);
	return sum;
}

static void make_file(const struct crash *crash, int dir_fd, const struct name *name)
{
	struct cmn_buffer content = remains_of(crash, name->inode);
	int fd = openat(dir_fd, name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || cmn_file_write_all(fd, content.data, content.len) != CMN_OK)
		abort();
	(void)close(fd);
	cmn_buffer_release(&content);
}

static void make_directory(const struct crash *crash, const struct names *names,
			   const bool *directories, int dir_fd, unsigned int directory)
{
	for (size_t i = 0; i < names->count; i++) {
		const struct name *name = &names->all[i];
		int fd;

		if (name->directory != directory)
			continue;
		if (!directories[name->inode]) {
			make_file(crash, dir_fd, name);
			continue;
		}
		if (mkdirat(dir_fd, name->text, 0700) < 0)
			abort();
		fd = openat(dir_fd, name->text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			abort();
		make_directory(crash, names, directories, fd, name->inode);
		(void)close(fd);
	}
}

void crash_materialize(const struct crash *crash, const char *directory)
{
	bool *directories = find_directories(crash->tape);
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct names names = { 0 };

	if (fd < 0)
		abort();
	replay_names(crash, &names);
	make_directory(crash, &names, directories, fd, 0);
	(void)close(fd);
	names_release(&names);
	free(directories);
}

void crash_print(const struct crash *crash)
{
	static const char *const kinds[REMAINS_COUNT] = { "all", "none", "zeros", "cut", "hole",
							  "tail", "garbage", "foreign" };

	(void)printf("  operations %zu to %zu of %zu were made\n", crash->durable, crash->cut, crash->tape->count);
	for (size_t i = crash->durable; i < crash->cut; i++) {
		const struct operation *operation = &crash->tape->operations[i];

		(void)printf("    %s ", operation_names(operation) && !crash->kept[i] ? "LOST" : "    ");
		operation_print(operation);
		(void)putchar('\n');
	}
	for (unsigned int i = 0; i < crash->tape->inodes; i++) {
		if (crash->remains[i].kind != REMAINS_ALL)
			(void)printf("    of #%u (%s): %s at %llu\n", i, name_of(crash, i),
				     kinds[crash->remains[i].kind], (unsigned long long)crash->remains[i].at);
	}
}
