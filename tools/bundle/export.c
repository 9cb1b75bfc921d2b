/* SPDX-License-Identifier: MIT */
/*
 * export: all sound entries of the root as a bundle, in the order of their
 * paths, so that the same cache gives the same bytes. Each entry is decoded
 * before it goes in: a bundle is never worse than what a look-up would take.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/entry_dir_walk.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/bundle/bundle.h"
#include "tools/json_output.h"
#include "tools/key/key_file.h"
#include "tools/text.h"
#include "tools/tool.h"

struct exporting {
	const char *file;	/* as given */
	int fd;
	enum cmn_file_trust trust;	/* in files of the cache */
	bool json;
	bool reader_left;	/* of standard output */
	const struct cc_signer *signer;	/* NULL: unsigned */
	struct bundle_writer writer;
	uint64_t total;		/* bytes, as the account says; 0: it does not */
	unsigned long long damaged, foreign;	/* left out */
};

static enum cmn_status write_out(void *ctx, const void *data, size_t len)
{
	struct exporting *exporting = ctx;

	if (exporting->fd != STDOUT_FILENO)
		return cmn_file_write_all(exporting->fd, data, len);
	/* As tool_print: a reader that has left ends the command by SIGPIPE. */
	if (fwrite(data, 1, len, stdout) == len)
		return CMN_OK;
	exporting->reader_left = errno == EPIPE;
	return cmn_status_from_errno(errno);
}

/* false: complained about, unless the reader has left. */
static bool flush_output(struct exporting *exporting)
{
	if (exporting->fd != STDOUT_FILENO || fflush(stdout) == 0)
		return true;
	exporting->reader_left = errno == EPIPE;
	if (!exporting->reader_left)
		tool_complain("standard output: %s", strerror(errno));
	return false;
}

/* CMN_OK: the two files are a sound entry's. */
static enum cmn_status read_entry(const struct exporting *exporting, int entry_dir_fd, unsigned int n,
				  struct cmn_buffer *src, struct cmn_buffer *bin)
{
	enum cmn_status status;

	status = cc_entry_dir_read_file(entry_dir_fd, NULL, CC_ENTRY_DIR_SRC, n, exporting->trust, NULL, src, NULL);
	if (status != CMN_OK)
		return status;
	status = cc_entry_dir_read_file(entry_dir_fd, NULL, CC_ENTRY_DIR_BIN, n, exporting->trust, NULL, bin, NULL);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_ERR_CORRUPT : status;	/* half of one */
	return cc_remote_files_check(cmn_buffer_view(src), cmn_buffer_view(bin), NULL);
}

static enum cmn_status export_entry(struct exporting *exporting, int entry_dir_fd, unsigned int n)
{
	struct cmn_buffer src = { 0 }, bin = { 0 };
	enum cmn_status status = read_entry(exporting, entry_dir_fd, n, &src, &bin);

	if (status == CMN_OK) {
		status = bundle_writer_add(&exporting->writer, cmn_buffer_view(&src),
					   cmn_buffer_view(&bin), exporting->signer);
	} else if (status != CMN_ERR_NOMEM) {
		exporting->foreign += status == CMN_ERR_VERSION;
		/* One that was evicted meanwhile is none. */
		exporting->damaged += status != CMN_ERR_VERSION && status != CMN_MISS;
		status = CMN_OK;
	}
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	return status;
}

static enum cmn_status export_entry_dir(void *ctx, int root_fd, const char *path, int entry_dir_fd)
{
	struct exporting *exporting = ctx;
	const struct bundle_state *state = &exporting->writer.state;
	enum cmn_status status = CMN_OK;
	uint64_t entries = tool_entries_in(entry_dir_fd);

	(void)root_fd;
	(void)path;
	terminal_progress("export", exporting->total ? state->bytes : state->count, exporting->total);
	while (entries && status == CMN_OK)
		status = export_entry(exporting, entry_dir_fd, tool_next_entry(&entries));
	return status;
}

static enum cmn_status export_entries(struct exporting *exporting, const char *root)
{
	const struct cc_entry_dir_choice by_path = { .order = 1 };
	enum cmn_status status;
	int root_fd = -1;

	status = bundle_writer_begin(&exporting->writer, write_out, exporting);
	if (status != CMN_OK)
		return status;
	status = cc_root_open(root, &root_fd);
	if (status == CMN_OK) {
		(void)!cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &exporting->total);	/* 0 else */
		status = cc_entry_dir_walk_chosen(root_fd, &by_path, export_entry_dir, exporting);
		terminal_progress_hide();
		(void)close(root_fd);	/* read only */
	} else if (status == CMN_MISS) {
		status = CMN_OK;	/* a cache that nothing was stored in yet */
	}
	return status == CMN_OK ? bundle_writer_end(&exporting->writer) : status;
}

/* Says what is in the bundle and what is not; the exit code. */
static int report(const struct exporting *exporting)
{
	struct cmn_buffer text = { 0 };

	if (exporting->damaged || exporting->foreign)
		tool_complain("left out: %llu damaged entries, %llu of another version",
			      exporting->damaged, exporting->foreign);
	if (exporting->fd == STDOUT_FILENO)
		return TOOL_OK;
	if (exporting->json) {
		struct json_object *object = json_new_object();

		json_add_number(object, "exported", exporting->writer.state.count);
		json_add_number(object, "damaged", exporting->damaged);
		json_add_number(object, "foreign", exporting->foreign);
		return json_print(object);
	}
	cmn_buffer_printf(&text, "%" PRIu64 " entries exported\n", exporting->writer.state.count);
	return tool_print(&text);
}

static int export_cache(const struct cc_store *store, const char *file,
			const struct cc_signer *signer, bool json)
{
	struct exporting exporting = {
		.file = file, .signer = signer, .trust = cc_store_trust(store), .json = json
	};
	const char *root = cc_store_root(store);
	struct output output;
	enum cmn_status status;
	int code = TOOL_FAILED;
	bool good;

	if (!output_open(file, "a bundle", &output))
		return TOOL_FAILED;
	exporting.fd = output.fd;
	status = export_entries(&exporting, root);
	good = status == CMN_OK;
	if (!good && !exporting.reader_left)
		tool_complain("%s to %s: %s", root, file, cmn_status_string(status));
	good = good && flush_output(&exporting);
	if (output_close(&output, good))
		code = report(&exporting);
	return code;
}

verb_function verb_export;

int verb_export(const struct arguments *arguments)
{
	struct cc_signer signer;
	const char *key_file = arguments_text(arguments, "sign");
	bool json = arguments_flag(arguments, "json");
	struct tool_cache *cache;
	int code = TOOL_FAILED;

	if (key_file && !key_file_read_private(key_file, &signer))
		return TOOL_FAILED;
	cache = tool_try_open();
	if (cache)
		code = export_cache(cache->store, arguments->operand, key_file ? &signer : NULL, json);
	explicit_bzero(&signer, sizeof(signer));
	return code;
}
