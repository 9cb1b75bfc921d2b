/* SPDX-License-Identifier: MIT */
/*
 * record: runs a command in a cache of its own, and makes a pack of what it
 * asked for. record_entry.c decides which of it other machines can use.
 */
#include "tools/recipes/record.h"

#include <argz.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/record/totals.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/memory.h"
#include "tools/output.h"
#include "tools/recipes/packs.h"
#include "tools/run/run_layers.h"
#include "tools/run/run_wait.h"
#include "tools/text.h"
#include "tools/tool.h"
#include "tools/worker/worker_process.h"

/* The cache has each program that the command builds, whatever is set for others. */
static const struct worker_variable settings[] = {
	WORKER_STORES_ALL, { "CKCACHE_REMOTE", "" }, { "CKCACHE_OBSERVE", "1" }, { 0 },
};

struct request {
	const char *output, *name, *licence, *licence_file;
	bool any_device;
	const struct arguments *arguments;
};

/* Returns only if the command could not be started. */
static int execute(char **command)
{
	(void)execvp(command[0], command);
	tool_complain("%s: %s", command[0], strerror(errno));
	return errno == ENOENT || errno == ENOTDIR ? 127 : 126;
}

/* false: complained about. */
static bool set_up(const char *scratch)
{
	if (!tool_set_path("CKCACHE_DIR", scratch))
		return false;
	if (!worker_set_variables(settings))
		memory_end();
	return run_layers_enable();
}

/* The name of the program, and the licence that was given. false: complained about. */
static bool add_origin(struct recording *recording, const struct request *request)
{
	char **command = request->arguments->command;
	const char *name = request->name;
	struct cmn_buffer file = { 0 };
	struct pack_origin origin;
	enum cmn_status status = CMN_OK;

	if (!name && command) {
		const char *slash = strrchr(command[0], '/');

		name = slash ? slash + 1 : command[0];
	}
	origin = (struct pack_origin){ cmn_view_of(name), cmn_view_of(request->licence) };
	if (request->licence_file) {
		status = cmn_file_read(AT_FDCWD, request->licence_file, PACK_MAX_LICENCE, true, &file);
		if (status != CMN_OK)
			tool_complain("%s: %s", request->licence_file, cmn_status_string(status));
		origin.licence = cmn_buffer_view(&file);
	}
	if (status == CMN_OK) {
		status = pack_maker_add_origin(recording->maker, &origin);
		if (status != CMN_OK)
			tool_complain("--name, --licence: %s", cmn_status_string(status));
	}
	cmn_buffer_release(&file);
	return status == CMN_OK;
}

/* false: complained about. */
static bool merge(struct recording *recording, const struct arguments *arguments)
{
	const char *path;
	size_t at = 0;

	while ((path = arguments_next(arguments, "merge", &at))) {
		struct cmn_buffer file = { 0 };
		struct pack pack;
		enum cmn_status status;

		if (!packs_read(path, &file, &pack))
			return false;
		status = pack_maker_add_pack(recording->maker, &pack);
		pack_release(&pack);
		cmn_buffer_release(&file);
		if (status != CMN_OK) {
			tool_complain("%s: %s", path, cmn_status_string(status));
			return false;
		}
	}
	return true;
}

/* What the layers did not store, and so nobody knows here. */
static void count_bypasses(struct recording *recording, const char *root)
{
	struct cc_totals *stats;

	if (cc_totals_load(root, &stats) == CMN_OK) {
		for (size_t i = 0; i < stats->bypass_count; i++) {
			tool_complain("left out: %" PRIu64 ", which ckcache does not cache (%s)",
				      stats->bypasses[i].count, stats->bypasses[i].reason);
		}
	}
	recording->seen += stats ? stats->counters[CC_MISSES] : 0;
	free(stats);
}

static void print_left_out(const struct recording *recording)
{
	for (size_t i = 0; i < RECORD_REASONS && recording->left_out[i].reason; i++) {
		const struct left_out *one = &recording->left_out[i];

		tool_complain("left out: %llu, because %s%s%s%s", one->count, one->reason,
			      *one->example ? " (" : "", one->example, *one->example ? ")" : "");
	}
}

/* The exit code. */
static int write_pack(struct recording *recording, const char *path)
{
	struct cmn_buffer file = { 0 };
	struct pack pack = { 0 };
	char size[TEXT_SIZE];
	struct output output;
	enum cmn_status status = pack_maker_encode(recording->maker, &file);
	bool done = false;

	if (status == CMN_OK)
		status = pack_decode(cmn_buffer_view(&file), &pack);
	if (status != CMN_OK) {
		tool_complain("%s: %s", path, cmn_status_string(status));
	} else if (!pack.recipe_count) {
		tool_complain("%s was not written: %s", path, recording->seen ?
			      "nothing that was built can be packed" :
			      "nothing was built from source (did the program have its own cache?)");
	} else if (output_open(path, "a pack", &output)) {
		status = cmn_file_write_all(output.fd, file.data, file.len);
		if (status != CMN_OK)
			tool_complain("%s: %s", path, cmn_status_string(status));
		done = output_close(&output, status == CMN_OK);
	}
	if (done)
		tool_complain("%s: %u recipes, %s", path, (unsigned int)pack.recipe_count,
			      text_bytes(file.len, size));
	pack_release(&pack);
	cmn_buffer_release(&file);
	return done ? TOOL_OK : TOOL_FAILED;
}

/* Runs the command and gathers what it built. false: complained about. */
static bool run_command(struct recording *recording, char **command, int *ret_code)
{
	char *scratch = tool_make_scratch();
	bool done = false;
	int state;

	if (!scratch) {
		tool_complain("cannot create a temporary directory");
		return false;
	}
	recording->scratch = scratch;
	*ret_code = TOOL_CANNOT_RUN;
	if (argz_create(environ, &recording->environment, &recording->environment_len))
		memory_end();
	if (set_up(scratch) && run_wait(command, execute, false, &state)) {
		*ret_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
		if (*ret_code)
			tool_complain("%s ended with exit code %d: what it had not built by then is "
				      "not in the pack", command[0], *ret_code);
		done = record_entries(recording, scratch);
		count_bypasses(recording, scratch);
	}
	tool_remove_scratch(scratch);
	recording->scratch = NULL;
	return done;
}

/* Whether the file can be written there, before minutes pass; complained about. */
static bool check_output(const char *path)
{
	struct output output;

	if (strcmp(path, "-") == 0) {
		tool_complain("record: standard output is the command's; --output names a file");
		return false;
	}
	if (!output_open(path, "a pack", &output))
		return false;
	(void)output_close(&output, false);	/* it was only tried */
	return true;
}

static int record(const struct request *request)
{
	struct recording recording = { .maker = pack_maker_new(),
		.any_device = request->any_device };
	char **command = request->arguments->command;
	int code = TOOL_OK, written = TOOL_FAILED;

	if (merge(&recording, request->arguments) &&
	    (!command || (add_origin(&recording, request) && run_command(&recording, command, &code)))) {
		print_left_out(&recording);
		written = write_pack(&recording, request->output);
	}
	pack_maker_free(recording.maker);
	free(recording.environment);
	return code ? code : written;
}

verb_function verb_record;

int verb_record(const struct arguments *arguments)
{
	const char *output = arguments_text(arguments, "output");
	const struct request request = {
		.output = output ? output : "",
		.name = arguments_text(arguments, "name"),
		.licence = arguments_text(arguments, "licence"),
		.licence_file = arguments_text(arguments, "licence-file"),
		.any_device = arguments_flag(arguments, "any-device"),
		.arguments = arguments,
	};
	const char *wrong = NULL;
	size_t at = 0;
	bool merges = arguments_next(arguments, "merge", &at) != NULL;

	if (arguments->operand)
		wrong = "the command comes behind \"--\"";
	else if (!*request.output)
		wrong = "--output FILE is missing";
	else if (!arguments->command && !merges)
		wrong = "-- COMMAND or --merge is missing";
	else if (!arguments->command && (request.name || request.licence || request.licence_file))
		wrong = "--name and --licence are for the programs of a COMMAND";
	else if (request.licence && request.licence_file)
		wrong = "--licence and --licence-file exclude each other";
	else if (request.name && (!*request.name || strlen(request.name) > PACK_MAX_NAME))
		wrong = "--name has 1 to 255 bytes";
	if (wrong) {
		tool_complain("record: %s (try ckcache record --help)", wrong);
		return TOOL_USAGE;
	}
	return check_output(request.output) ? record(&request) : TOOL_FAILED;
}
