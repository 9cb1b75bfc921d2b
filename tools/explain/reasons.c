/* SPDX-License-Identifier: MIT */
/* reasons: two tables. */
#include "tools/explain/run_history.h"

#include <stddef.h>
#include <string.h>

struct reason {
	const char *word, *sentence;
};

static const struct reason bypasses[] = {
	{ "bad-arguments", "the driver has to refuse this call" },
	{ "capture-deferred", "reading the binary here would take long, and ckcache replay cannot do it later" },
	{ "compiled-again", "the program was built before, and the driver would end the process if a loaded object were asked for its kernels" },
	{ "compiler-loaded-late", "the driver loaded its compiler during this build" },
	{ "constants-unknown", "a specialization constant is not known, or this driver's binaries lose it" },
	{ "date", "the source uses __DATE__" },
	{ "descriptor", "the description of the module has an unknown form" },
	{ "device-subset", "the program is built for other devices too" },
	{ "device-unidentified", "the device or its driver cannot be identified" },
	{ "devices-unknown", "the devices of the build are not known" },
	{ "directory-changed", "the working directory changed during the build" },
	{ "directory-listed", "the driver listed a directory" },
	{ "driver-cached", "the driver's own cache answered, and no recipe of the build could be left for ckcache replay" },
	{ "environment-changed", "a variable that the driver reads has changed since the driver was loaded" },
	{ "file-made", "the driver made a file that a hit would not make, or a link" },
	{ "file-unwritten", "it failed, and the driver could not write a file, which may be why" },
	{ "files-unseen", "no compiler was seen to look for files" },
	{ "format", "the module is neither SPIR-V nor a native binary" },
	{ "header-unknown", "an embedded header is not a program from source" },
	{ "header-unreadable", "a header cannot be read" },
	{ "include-changed", "a header changed during the build" },
	{ "instrumented", "debugging or instrumentation of programs is switched on" },
	{ "layer-below", "another layer between the cache and the driver may change what is built (ckcache doctor)" },
	{ "library", "the driver would end the process if it were asked about a library of objects from the cache" },
	{ "link-callback", "the link has a callback" },
	{ "link-input", "an input of the link has no known entry" },
	{ "link-refused", "the driver refused to link cached objects, and a file that one was made from has changed" },
	{ "message-made", "a build option is not known, and the driver wrote a message, which a hit would not" },
	{ "no-binary", "the driver gave no binary" },
	{ "no-memory", "out of memory" },
	{ "not-reused", "each run has another kernel in its place, and none was used again" },
	{ "not-spirv", "the module is not SPIR-V" },
	{ "observer-blind", "the cache cannot observe which files this driver reads" },
	{ "observer-off", "observing what drivers read is switched off, or not possible here" },
	{ "observer-stopped", "none of the driver's first builds in this process could be stored, so it is no longer observed" },
	{ "option", "a build option is not known: it could write a file" },
	{ "other", "for a reason without a name" },
	{ "other-process", "the driver started another process" },
	{ "random-token", "a random name that the key lacks may be in the result" },
	{ "settings-file", "a settings file of the driver exists (igdrcl.config, Options.txt)" },
	{ "signal", "a signal arrived while the driver was looking for files" },
	{ "system-call", "the driver looked for files in a way that cannot be observed" },
	{ "too-many-files", "the driver looked for too many files" },
	{ "unknown-extension", "the module has an unknown extension" },
	{ "variable", "a variable asks the driver for files or messages (IGC_ShaderDumpEnable and others)" },
};

static const struct reason losses[] = {
	{ "access", "the cache directory cannot be written to" },
	{ "busy", "another process held a lock for too long" },
	{ "failed", "writing failed" },
	{ "file-limit", "a file may not grow so large (ulimit -f, LimitFSIZE=)" },
	{ "foreign", "the cache directory is another user's, or others may write to it" },
	{ "full", "the cache is full, and CKCACHE_EVICTION_ORDER=none evicts nothing" },
	{ "max_size", "it did not fit into CKCACHE_MAX_SIZE, of which one entry may take half" },
	{ "no-space", "the disk is full, or a quota is used up" },
	{ "not-reused", "each run has another kernel in its place, and none was used again" },
	{ "queue-full", "too much was waiting to be stored, or memory was short" },
	{ "read-only-disk", "the cache directory is on a read-only file system" },
};

static const char *find(const struct reason *table, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(table[i].word, word) == 0)
			return table[i].sentence;
	}
	return NULL;
}

const char *reason_of_bypass(const char *word)
{
	return find(bypasses, sizeof(bypasses) / sizeof(bypasses[0]), word);
}

const char *reason_of_loss(const char *word)
{
	return find(losses, sizeof(losses) / sizeof(losses[0]), word);
}
