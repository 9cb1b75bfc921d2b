/* SPDX-License-Identifier: MIT */
/* differential: main, the processes that subjects run in, and how lines are printed. */
#include "tests/level_zero/differential.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct diff_subject *const groups[] = {
	diff_flags, diff_logs, diff_constants, diff_links, diff_lives, diff_misuses,
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

void diff_open(const struct diff *diff, const char *name)
{
	printf("%s.%s:", diff->subject, name);
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

/* Logs of links name modules by their addresses: how long the one is that text begins with. */
static size_t address_len(const char *text, size_t size)
{
	size_t len = 2;

	if (size < len || memcmp(text, "0x", len) != 0)
		return 0;
	while (len < size && isxdigit((unsigned char)text[len]))
		len++;
	return len;
}

void diff_print_text(const char *text, size_t size)
{
	printf("[");
	for (size_t i = 0; i < size; i++) {
		size_t skip = address_len(text + i, size - i);
		unsigned char letter;

		if (skip) {
			printf("ADDRESS");
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

const char *diff_name(int place, const char *a, const char *b)
{
	static char names[4][128];

	(void)snprintf(names[place], sizeof(names[place]), "%s-%s", a, b);
	return names[place];
}

void diff_give_up(const struct diff *diff, const char *what, ze_result_t status)
{
	diff_say(diff, "given-up", "%s %#x", what, status);
	(void)fflush(stdout);	/* as far as it came */
	_exit(0);
}

static void print_end(int status)
{
	if (WIFSIGNALED(status))
		printf(" signal %d", WTERMSIG(status));
	else
		printf(" exit %d", WEXITSTATUS(status));
}

static pid_t fork_child(void)
{
	pid_t child;

	if (fflush(stdout))	/* else the child prints it too */
		exit(2);
	child = fork();
	if (child < 0)
		exit(2);
	if (child == 0)
		(void)alarm(DIFF_PATIENCE_S);	/* cannot fail */
	return child;
}

static int wait_for(pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		exit(2);
	return status;
}

void diff_survive_each(struct diff *diff, const struct diff_case *cases)
{
	for (; cases->name; cases++) {
		pid_t child;
		int status;

		(void)alarm(DIFF_PATIENCE_S);	/* anew: cannot fail */
		diff_open(diff, cases->name);
		child = fork_child();
		if (child == 0) {
			diff_start_session(diff);
			cases->act(diff);
			exit(fflush(stdout) ? 2 : 0);
		}
		status = wait_for(child);
		if (status)
			print_end(status);
		diff_close();
	}
}

static void run_subject(struct diff *diff, const struct diff_subject *subject)
{
	pid_t child;
	int status;

	diff->subject = subject->name;
	child = fork_child();
	if (child == 0) {
		if (!subject->own_session)
			diff_start_session(diff);
		subject->run(diff);
		if (!subject->own_session)
			diff_end_session(diff);
		exit(fflush(stdout) ? 2 : 0);
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

int main(int argc, char **argv)
{
	struct diff diff = { 0 };
	bool list = argc > 1 && !strcmp(argv[1], "-l");

	/* What came before a crash is to be seen. */
	if (setvbuf(stdout, NULL, _IOLBF, 0))
		return 2;
	for (size_t i = 0; i < GROUPS; i++) {
		for (const struct diff_subject *subject = groups[i]; subject->name; subject++) {
			if (!is_chosen(subject->name, argv + 1 + list))
				continue;
			if (list)
				printf("%s\n", subject->name);
			else
				run_subject(&diff, subject);
		}
	}
	return fflush(stdout) ? 2 : 0;
}
