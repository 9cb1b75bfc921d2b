/* SPDX-License-Identifier: MIT */
/*
 * make_pack: packs that no recorder writes, for tests of who reads them; their
 * checksums are right, as an attacker's would be.
 *
 *   make_pack FILE sources TEXT...     a recipe for each source, for any device
 *   make_pack FILE options TEXT...     one for each build options
 *   make_pack FILE header PATH         one that wants PATH to have other bytes than it has
 *   make_pack FILE link TEXT...        one for a link of each, of which nobody knows how it is made
 *   make_pack FILE links N             a link of N links of N links …, eight deep, of a program
 *   make_pack FILE recipes N           N small programs
 *   make_pack FILE entries N           a file with N recipes, over the bound
 *   make_pack FILE text N              one with a source of N MiB
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/recipes/pack.h"

static void fail(const char *what)
{
	(void)fprintf(stderr, "make_pack: %s\n", what);
	exit(2);
}

static void write_file(const char *path, const struct cmn_buffer *file)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (file->failed || fd < 0 || cmn_file_write_all(fd, file->data, file->len) != CMN_OK)
		fail(path);
	(void)close(fd);
}

static void add_key(struct pack_maker *maker, const struct cc_key *key, const char *header)
{
	const struct pack_target any = { 0 };
	struct pack_header wanted = { .path = cmn_view_of(header), .size = 1 };

	if (pack_maker_add_recipe(maker, &any, cc_key_view(key), &wanted, header != NULL) != CMN_OK)
		fail("a recipe is not right");
}

static unsigned int places;	/* of devices that a program is built for; 0: all */

static void add(struct pack_maker *maker, const char *source, const char *options,
		const char *header)
{
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "kind", "source");
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", options);
	cc_key_add_u64(&key, CC_PART_OPTIONS, "devices", 1);
	for (unsigned int i = 0; i < places; i++)
		cc_key_add_u64(&key, CC_PART_OPTIONS, "subset", 0);
	add_key(maker, &key, header);
	cc_key_release(&key);
}

/* A link of count times the same input; *input becomes its own identity. */
static void add_link(struct pack_maker *maker, struct cmn_hash *input, long count)
{
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "kind", "link");
	for (long i = 0; i < count; i++)
		cc_key_add(&key, CC_PART_IMAGE, "input", input->bytes, CMN_HASH_SIZE);
	cc_key_add_text(&key, CC_PART_OPTIONS, "options", "-create-library");
	cc_key_add_u64(&key, CC_PART_OPTIONS, "devices", 1);
	add_key(maker, &key, NULL);
	if (pack_identity(cc_key_view(&key), input) != CMN_OK)
		fail("a link has no identity");
	cc_key_release(&key);
}

static void make(const char *path, const char *mode, int count, char **texts)
{
	struct pack_maker *maker = pack_maker_new();
	struct cmn_buffer file = { 0 };
	struct cmn_hash input = { { 0 } };

	if (!maker)
		fail("out of memory");
	if (strcmp(mode, "recipes") == 0) {
		for (long i = strtol(texts[0], NULL, 10); i > 0; i--) {
			char source[64];

			(void)snprintf(source, sizeof(source), "kernel void k%ld() {}", i);
			add(maker, source, "", NULL);
		}
	}
	for (int i = 0; strcmp(mode, "links") == 0 && i < 8; i++)
		add_link(maker, &input, strtol(texts[0], NULL, 10));
	for (int i = 0; i < count; i++) {
		if (strcmp(mode, "link") == 0) {
			input = cmn_hash_of(texts[i], strlen(texts[i]));
			add_link(maker, &input, 1);
		}
		places = strcmp(mode, "places") == 0 ? 1000 : 0;
		if (places || strcmp(mode, "sources") == 0)
			add(maker, texts[i], "", NULL);
		else if (strcmp(mode, "options") == 0)
			add(maker, "kernel void k() {}", texts[i], NULL);
		else if (strcmp(mode, "header") == 0)
			add(maker, "kernel void k() {}", "", texts[i]);
	}
	if (pack_maker_encode(maker, &file) != CMN_OK)
		fail("it is over a bound");
	write_file(path, &file);
	cmn_buffer_release(&file);
	pack_maker_free(maker);
}

/* What makers refuse, by hand. */
static void make_large(const char *path, bool entries, size_t count)
{
	struct cmn_buffer file = { 0 };
	struct cmn_hash hash;
	size_t len = entries ? 0 : count << 20;

	cmn_buffer_append_text(&file, PACK_MAGIC);
	cmn_buffer_append_u32(&file, PACK_VERSION);
	cmn_buffer_append_u32(&file, 0);
	cmn_buffer_append_u64(&file, entries ? 12 + count * 24 : 20 + len);
	cmn_buffer_append(&file, "0123456789abcdef", CMN_HASH_SIZE);
	cmn_buffer_append_u32(&file, 0);
	cmn_buffer_append_u32(&file, entries ? 0 : 1);
	if (!entries)
		cmn_buffer_append_u64(&file, len);
	for (size_t i = 0; i < len; i++)
		cmn_buffer_append_u8(&file, 'x');
	cmn_buffer_append_u32(&file, entries ? (uint32_t)count : 0);
	for (size_t i = 0; entries && i < count; i++) {
		/* In order, as they have to be: the vendor's number is little-endian. */
		cmn_buffer_append_u8(&file, (uint8_t)(i >> 16));
		cmn_buffer_append_u8(&file, (uint8_t)(i >> 8));
		cmn_buffer_append_u8(&file, (uint8_t)i);
		cmn_buffer_append(&file, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21);
	}
	if (file.failed)
		fail("out of memory");
	hash = pack_hash(cmn_buffer_view(&file));
	memcpy(file.data + PACK_HASH_AT, hash.bytes, CMN_HASH_SIZE);
	write_file(path, &file);
	cmn_buffer_release(&file);
}

int main(int argc, char **argv)
{
	bool entries;

	if (argc < 4)
		fail("too few arguments");
	entries = strcmp(argv[2], "entries") == 0;
	if (entries || strcmp(argv[2], "text") == 0)
		make_large(argv[1], entries, strtoul(argv[3], NULL, 10));
	else
		make(argv[1], argv[2], argc - 3, argv + 3);
	return 0;
}
