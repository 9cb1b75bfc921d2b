/* SPDX-License-Identifier: MIT */
/*
 * fuzz_trust: a file of trusted keys of any content; a line that begins with "K" gets
 * a sound beginning instead. Each key that the file gives makes sense, and its line
 * gives the same key again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/remote/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/dev/shm/ckcache-fuzz-XXXXXX", file[64];

static void remove_file(void)
{
	(void)unlink(file);
	(void)rmdir(directory);
}

static void make_file(void)
{
	if (!mkdtemp(directory) || atexit(remove_file) != 0)
		exit(2);
	(void)snprintf(file, sizeof(file), "%s/keys", directory);
	(void)umask(022);
}

static void write_lines(FILE *stream, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] == 'K' && (i == 0 || data[i - 1] == '\n'))
			(void)fputs("ed25519 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= ", stream);
		else
			(void)fputc(data[i], stream);
	}
}

static void check(const struct cc_trust_key *key)
{
	struct cmn_buffer line = { 0 };
	struct cc_trust_key again;
	const char *problem;

	cc_trust_key_append(&line, key);
	if (line.failed || cc_trust_key_parse(cmn_buffer_view(&line), &problem, &again) != CMN_OK ||
	    memcmp(key->key, again.key, sizeof(key->key)) != 0 ||
	    strcmp(key->name, again.name) != 0 || strcmp(key->until, again.until) != 0 ||
	    key->end != again.end || (key->end == UINT64_MAX) != !key->until[0])
		abort();
	cmn_buffer_release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const paths[] = { file, file, NULL };
	const struct cc_trust_key *key;
	struct cc_trust_place place;
	struct cc_trust *trust;
	FILE *stream;
	size_t i;

	if (!file[0])
		make_file();
	stream = fopen(file, "w");
	if (!stream)
		exit(2);
	write_lines(stream, data, size);
	if (fclose(stream) != 0)
		exit(2);
	if (cc_trust_new(NULL, paths, &trust) != CMN_OK)
		return 0;
	for (i = 0; (key = cc_trust_at(trust, i, &place)); i++)
		check(key);
	if (i > CC_TRUST_MAX_KEYS)
		abort();
	cc_trust_free(trust);
	return 0;
}
