/* SPDX-License-Identifier: MIT */
/* key_new: a private key in a file of its own, and its public line on standard output. */
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "tools/key/key_file.h"
#include "tools/key/key_verb.h"
#include "tools/tool.h"

/* The user's directory for settings, which may not be there yet. false: complained about. */
static bool make_directory_of(const char *path)
{
	char *directory = strndup(path, (size_t)(strrchr(path, '/') - path));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (directory)
		status = cmn_file_make_dirs(directory, 0700);
	if (status != CMN_OK)
		tool_complain("%s: %s", directory ? directory : path, cmn_status_string(status));
	free(directory);
	return status == CMN_OK;
}

int key_new(const struct key_request *request)
{
	struct cc_signer signer = { 0 };
	struct cmn_buffer text = { 0 };
	struct cc_trust_key line;
	char *own = NULL;
	const char *path = request->operand;
	int code = TOOL_FAILED;

	if (!path)
		path = own = key_own_file();
	if (!path || (own && !make_directory_of(own)))
		goto out;
	/* The line first: no key is kept whose name is none. */
	if (!key_file_make(&signer) || !key_of(cc_signer_public(&signer), request->name, &line) ||
	    !key_file_write(path, &signer))
		goto out;
	tool_complain("%s is the private key: keep it. This line is for those who are to trust it:",
		      path);
	cc_trust_key_append(&text, &line);
	cmn_buffer_append_u8(&text, '\n');
	code = tool_print(&text);
out:
	explicit_bzero(&signer, sizeof(signer));
	free(own);
	return code;
}
