/* SPDX-License-Identifier: MIT */
/* doctor_program: whether layers can come into the command that was named. */
#include <stdlib.h>

#include "tools/doctor/doctor.h"
#include "tools/run/run_program.h"

void doctor_look_at_program(struct doctor *doctor, const char *command)
{
	char *path;
	enum program_kind kind = program_look(command, &path);
	const char *obstacle = program_obstacle(kind);

	if (kind == PROGRAM_ABSENT)
		doctor_say(doctor, DOCTOR_PROGRAM, DOCTOR_PROBLEM, "give its path",
			   "%s was not found", command);
	else if (obstacle)
		doctor_say(doctor, DOCTOR_PROGRAM, DOCTOR_PROBLEM,
			   "build or start the program in another way",
			   "%s: %s", path, obstacle);
	else if (kind == PROGRAM_SCRIPT)
		doctor_say(doctor, DOCTOR_PROGRAM, DOCTOR_OK, NULL,
			   "%s is a script; the programs that it starts get the layers", path);
	else
		doctor_say(doctor, DOCTOR_PROGRAM, DOCTOR_OK, NULL, "layers can be loaded into %s", path);
	free(path);
}
