/* SPDX-License-Identifier: MIT */
/*
 * fuzz_value: a value of any content from a remote tier. Where the input's first
 * byte is odd, the lengths in the header are made right first; with its next bit
 * the value says that a trusted key has signed it, which is never true.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/entry.h"
#include "cachecore/remote/value.h"

#define SEAL_AT 12
#define SRC_LEN_AT 16
#define KEY_ID_AT 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with one key, whose private half nobody has, and that key's id. */
static struct cc_trust *make_trust(uint8_t ret_id[CC_SODIUM_HASH_SIZE])
{
	static const char line[] = "ed25519 3d+PfQ2vJzBFfnRFAgVCcS/kUnM0c2D8m3nzlBGdVaM= x\n";
	char directory[] = "/tmp/ckcache-fuzz-XXXXXX", file[64];
	char *const paths[] = { file, NULL };
	struct cc_trust_place place;
	struct cc_trust *trust;
	FILE *stream;

	if (!mkdtemp(directory))
		exit(2);
	(void)snprintf(file, sizeof(file), "%s/keys", directory);
	(void)umask(022);
	stream = fopen(file, "w");
	if (!stream || fputs(line, stream) < 0 || fclose(stream) != 0 ||
	    cc_trust_new(NULL, paths, &trust) != CMN_OK || !cc_trust_at(trust, 0, &place) ||
	    cc_trust_key_id(cc_trust_at(trust, 0, &place)->key, ret_id) != CMN_OK)
		exit(2);
	(void)unlink(file);
	(void)rmdir(directory);
	return trust;
}

static void change(struct cmn_buffer *bytes, uint8_t how, const uint8_t id[CC_SODIUM_HASH_SIZE])
{
	uint64_t lengths[2], left = bytes->len - CC_REMOTE_HEADER_SIZE;

	if (how & 1) {
		lengths[0] = left * (how >> 2) / 64;	/* little-endian hosts only */
		lengths[1] = left - lengths[0];
		memcpy(bytes->data + SRC_LEN_AT, lengths, sizeof(lengths));
	}
	if (how & 2) {
		memcpy(bytes->data + SEAL_AT, "\1\0\0", 4);
		memcpy(bytes->data + KEY_ID_AT, id, CC_SODIUM_HASH_SIZE);
	}
}

static enum cmn_status take(const struct cc_remote_value *value, struct cmn_view key,
			    struct cc_entry **ret)
{
	struct cmn_buffer bin = { 0 };

	cmn_buffer_append(&bin, value->bin.data, value->bin.len);
	return cc_remote_value_take(value, &bin, key, ret);
}

static void open_value(const struct cc_remote_value *value)
{
	struct cc_entry *entry;
	struct cc_src src;

	if (cc_src_file_decode(value->src, &src) != CMN_OK)
		return;
	if (take(value, (struct cmn_view){ "no key", 6 }, &entry) == CMN_OK)
		abort();
	if (take(value, src.key, &entry) == CMN_OK)
		cc_entry_unref(entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t id[CC_SODIUM_HASH_SIZE];
	static struct cc_trust *trust;
	struct cmn_buffer bytes = { 0 };
	struct cc_remote_value value;

	if (!trust)
		trust = make_trust(id);
	if (!size)
		return 0;
	cmn_buffer_append(&bytes, data + 1, size - 1);
	if (bytes.len >= CC_REMOTE_HEADER_SIZE)
		change(&bytes, data[0], id);
	if (cc_remote_value_check(cmn_buffer_view(&bytes), trust, 0, &value) == CMN_OK)
		abort();
	if (cc_remote_value_check(cmn_buffer_view(&bytes), NULL, 0, &value) == CMN_OK) {
		if (value.src.len + value.bin.len + CC_REMOTE_HEADER_SIZE != bytes.len)
			abort();
		open_value(&value);
	}
	cmn_buffer_release(&bytes);
	return 0;
}
