/* SPDX-License-Identifier: MIT */
/* doctor_settings: configuration files and variables, bad values, and what is switched off. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"

static void complain(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)level;
	doctor_say(ctx, DOCTOR_SETTINGS, DOCTOR_NOTE, "correct it or remove it", "%s", message);
}

static void look_at_file(struct doctor *doctor, const char *path)
{
	if (access(path, R_OK) == 0)
		doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_OK, NULL, "%s is in use", path);
}

static void look_at_variables(struct doctor *doctor)
{
	static const char prefix[] = "CKCACHE_";

	for (size_t i = 0; environ && environ[i]; i++) {
		char *name = strndup(environ[i], strcspn(environ[i], "="));

		if (!name) {
			doctor_out_of_memory(doctor);
			return;
		}
		if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
			if (strcmp(name, "CKCACHE_REMOTE") == 0)
				doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_OK, NULL,
					   "%s is set (see the remote tier)", name);	/* it may hold a password */
			else if (cc_config_knows(name))
				doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_OK, NULL, "%s is set",
					   environ[i]);
			else
				doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_NOTE,
					   "look for its name in ckcache.conf(5)",
					   "%s is set, but there is no such setting", name);
		}
		free(name);
	}
}

/* Switches that leave nothing for the next run, or take nothing from the last one. */
static void look_at_switches(struct doctor *doctor)
{
	const struct cc_config *config = &doctor->config;

	if (config->disable)
		doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_PROBLEM,
			   "unset CKCACHE_DISABLE, or remove disable from ckcache.conf",
			   "the cache is switched off: CKCACHE_DISABLE");
	if (!config->persistent)
		doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_PROBLEM, "unset CKCACHE_PERSISTENT",
			   "nothing is stored for the next run: CKCACHE_PERSISTENT is 0");
	if (config->read_only)
		doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_NOTE, NULL,
			   "nothing new is stored: CKCACHE_READ_ONLY is 1");
	if (config->trace)
		doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_NOTE, NULL,
			   "each look-up adds a line to %s: CKCACHE_TRACE", config->trace);
}

void doctor_look_at_settings(struct doctor *doctor)
{
	const struct cmn_log log = { CMN_LOG_WARNING, complain, doctor };
	const size_t before = doctor->finding_count;
	char *user_file = NULL;

	if (cc_config_load(&log, &doctor->config) != CMN_OK ||
	    cc_config_user_file(&user_file) != CMN_OK) {
		doctor_out_of_memory(doctor);
		return;
	}
	look_at_file(doctor, CC_CONFIG_SYSTEM_FILE);
	if (user_file)
		look_at_file(doctor, user_file);
	look_at_variables(doctor);
	look_at_switches(doctor);
	if (doctor->finding_count == before)
		doctor_say(doctor, DOCTOR_SETTINGS, DOCTOR_OK, NULL, "all settings have their defaults");
	free(user_file);
}
