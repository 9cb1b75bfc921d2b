/* SPDX-License-Identifier: MIT */
/* diff_subjects: lines, and a process for each subject and for what may end it. */
#include "tests/support/diff_subjects.h"

#include <stdarg.h>

static struct diff_running *running(struct diff *diff)
{
	return (struct diff_running *)diff;	/* its first member */
}

void diff_open(const struct diff *diff, const char *name)
{
	printf("%s.%s:", ((const struct diff_running *)diff)->subject, name);
}

void diff_close(void)
{
	printf("\n");
}

void diff_say(const struct diff *diff, const char *name, const char *format, ...)
{
	va_list arguments;

	diff_open(diff, name);
	printf(" ");
	va_start(arguments, format);
	(void)vprintf(format, arguments);	/* main checks stdout at the end */
	va_end(arguments);
	diff_close();
}

void diff_print_masked(const char *text, size_t size,
		       size_t (*varying)(const char *text, size_t size), const char *word)
{
	printf("[");
	for (size_t i = 0; i < size; i++) {
		size_t skip = varying(text + i, size - i);
		unsigned char letter;

		if (skip) {
			printf("%s", word);
			i += skip;
			if (i >= size)
				break;
		}
		letter = (unsigned char)text[i];
		if (letter == '\n')
			printf("\\n");
		else if (letter < ' ' || letter > '~' || letter == '\\')
			printf("\\%02x", letter);
		else
			printf("%c", letter);
	}
	printf("]");
}

static void print_end(int status)
{
	if (WIFSIGNALED(status))
		printf(" signal %d", WTERMSIG(status));
	else
		printf(" exit %d", WEXITSTATUS(status));
}

static pid_t fork_child(struct diff *diff)
{
	pid_t child;

	if (fflush(stdout))	/* else the child prints it too */
		exit(2);
	child = fork();
	if (child < 0)
		exit(2);
	if (child == 0)
		(void)alarm(running(diff)->patience_s);	/* cannot fail */
	return child;
}

static int wait_for(pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		exit(2);
	return status;
}

/* Whether this is the child that the case is for. */
static bool is_the_cases(struct diff *diff, const char *name)
{
	pid_t child;
	int status;

	(void)alarm(running(diff)->patience_s);	/* anew for each: cannot fail */
	diff_open(diff, name);
	child = fork_child(diff);
	if (child == 0)
		return true;
	status = wait_for(child);
	(void)alarm(running(diff)->patience_s);	/* and for what follows: likewise */
	if (status)
		print_end(status);
	diff_close();
	return false;
}

void diff_survive(struct diff *diff, const char *name, void (*act)(struct diff *diff, void *data),
		  void *data)
{
	if (is_the_cases(diff, name)) {
		act(diff, data);
		_exit(fflush(stdout) ? 2 : 0);
	}
}

bool diff_begins_case(struct diff *diff, const char *name)
{
	if (!is_the_cases(diff, name))
		return false;
	diff_start_session(diff);
	return true;
}

void diff_end_process(void)
{
	exit(fflush(stdout) ? 2 : 0);
}

void diff_leave(void)
{
	(void)fflush(stdout);	/* as far as it came */
	_exit(0);
}

static void run_subject(struct diff *diff, const struct diff_subject *subject)
{
	pid_t child;
	int status;

	running(diff)->subject = subject->name;
	child = fork_child(diff);
	if (child == 0) {
		if (!subject->own_session)
			diff_start_session(diff);
		subject->run(diff);
		if (!subject->own_session)
			diff_end_session(diff);
		diff_end_process();
	}
	status = wait_for(child);
	diff_open(diff, "exit");
	print_end(status);
	diff_close();
}

static bool is_chosen(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++) {
		if (!strcmp(*names, name))
			return true;
	}
	return false;
}

bool diff_print_by_lines(void)
{
	return setvbuf(stdout, NULL, _IOLBF, 0) == 0;
}

void diff_run_subjects(struct diff *diff, const struct diff_subject *subjects, bool list,
		       char **names)
{
	for (const struct diff_subject *subject = subjects; subject->name; subject++) {
		if (!is_chosen(subject->name, names))
			continue;
		if (list)
			printf("%s\n", subject->name);
		else
			run_subject(diff, subject);
	}
}
