/* SPDX-License-Identifier: MIT */
/* reasons: two tables. */
#include "tools/explain/reasons.h"

#include <stddef.h>
#include <string.h>

struct reason {
	const char *word, *sentence;
};

static const struct reason bypasses[] = {
	{ "bad-arguments", "the driver has to refuse this call" },
	{ "capture-deferred", "reading the binary here would take long, and ckcache replay cannot do it" },
	{ "compiler-loaded-late", "the driver loaded its compiler during this build" },
	{ "constants-unknown", "a specialization constant is not known, or this driver's binaries lose it" },
	{ "date", "the source uses __DATE__" },
	{ "descriptor", "the module's description is none that is known" },
	{ "device-subset", "the program is built for other devices too" },
	{ "device-unidentified", "the device or its driver cannot be identified" },
	{ "devices-unknown", "the devices of the build are not known" },
	{ "directory-changed", "the working directory changed while the driver was building" },
	{ "directory-listed", "the driver read the names of the files in a directory" },
	{ "environment-changed", "a variable that the driver reads has another value than when it was loaded" },
	{ "file-made", "the driver made a file that a hit would not make, or a link" },
	{ "files-unseen", "no compiler was seen to look for files; perhaps the driver's own cache answered" },
	{ "format", "the module is neither SPIR-V nor a native binary" },
	{ "header-unknown", "a header that was handed over is no program from source" },
	{ "header-unreadable", "a header cannot be read" },
	{ "include-changed", "a header changed while the driver was building" },
	{ "instrumented", "debugging or instrumentation of programs is switched on" },
	{ "layer-below", "another layer between the cache and the driver may change what is built (ckcache doctor)" },
	{ "link-callback", "the link calls the application back" },
	{ "link-input", "an input of the link is not known by its entry" },
	{ "link-refused", "the driver refused to link what was cached, and linked what it compiled again" },
	{ "no-binary", "the driver gave no binary" },
	{ "no-memory", "out of memory" },
	{ "not-spirv", "the module is no SPIR-V" },
	{ "observer-blind", "which files this driver reads cannot be seen" },
	{ "observer-off", "watching what drivers read is switched off, or not known here" },
	{ "option", "a build option is not known: it could write a file" },
	{ "other", "the reason has no name" },
	{ "other-process", "the driver started another process" },
	{ "random-token", "its text is another each time, by a random word" },
	{ "settings-file", "a file with settings of the driver is there (igdrcl.config, Options.txt)" },
	{ "signal", "a signal came while the driver was looking for files" },
	{ "system-call", "the driver looked for files in a way that is not seen" },
	{ "too-many-files", "the driver looked for too many files" },
	{ "unknown-extension", "the module has an extension that is not known" },
};

static const struct reason losses[] = {
	{ "access", "the cache directory cannot be written to" },
	{ "busy", "another process held a lock for too long" },
	{ "failed", "writing failed" },
	{ "max_size", "with CKCACHE_MAX_SIZE it would be more than half of the store" },
	{ "no-space", "the disk is full" },
	{ "queue-full", "too much was waiting to be stored, or memory was short" },
	{ "random-token", "its text is another each time, by a random word (CKCACHE_ADMIT_ALL=1 stores it)" },
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
