/* SPDX-License-Identifier: MIT */
/* differential: main, the processes that subjects run in, and how lines are printed. */
#include "tests/opencl/differential.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	const struct diff_subject *subjects;
} groups[] = {
	{ "states", diff_states },
	{ "kernels", diff_kernels },
	{ "misuses", diff_misuses },
	{ "links", diff_links },
	{ "lives", diff_lives },
	{ "ils", diff_ils },
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

/* Drivers name their temporary files in logs; how long the random part is, if text begins with one. */
static size_t temporary_name(const char *text, size_t size)
{
	static const char *const marks[] = { "tempfile_", "tempfile-" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t len = strlen(marks[i]);

		if (size >= len + 6 && !strncmp(text, marks[i], len))
			return len + 6;
	}
	return 0;
}

void diff_print_text(const char *text, size_t size)
{
	printf("[");
	for (size_t i = 0; i < size; i++) {
		size_t skip = temporary_name(text + i, size - i);
		unsigned char letter;

		if (skip) {
			printf("TEMPORARY");
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

void diff_give_up(const struct diff *diff, const char *what, cl_int error)
{
	diff_say(diff, "given-up", "%s %d", what, error);
	(void)fflush(stdout);	/* as far as it came */
	_exit(0);
}

void diff_end_process(void)
{
	exit(fflush(stdout) ? 2 : 0);
}

/* Some drivers crash or never return in the calls of versions that they do not know. */
static void read_version(struct diff *diff)
{
	char text[128] = "";
	int major = 1, minor = 0;
	cl_int error = clGetDeviceInfo(diff->devices[0], CL_DEVICE_VERSION, sizeof(text), text, NULL);

	if (error || sscanf(text, "OpenCL %d.%d", &major, &minor) != 2)
		diff_give_up(diff, "version", error);
	diff->version = 10 * major + minor;
}

void diff_start_session(struct diff *diff)
{
	cl_int error = clGetPlatformIDs(1, &diff->platform, NULL);

	if (error)
		diff_give_up(diff, "platform", error);
	error = clGetDeviceIDs(diff->platform, CL_DEVICE_TYPE_ALL, DIFF_MAX_DEVICES, diff->devices,
			       &diff->device_count);
	if (error)
		diff_give_up(diff, "devices", error);
	read_version(diff);
	diff->context = clCreateContext(NULL, diff->device_count, diff->devices, NULL, NULL,
					&error);
	if (error)
		diff_give_up(diff, "context", error);
	if (!diff->executes)
		return;
	/* Not the call of OpenCL 2.0: oclgrind's comes back to itself through the loader for ever. */
	diff->queue = clCreateCommandQueue(diff->context, diff->devices[0], 0, &error);
	if (error)
		diff_give_up(diff, "queue", error);
}

void diff_end_session(struct diff *diff)
{
	if (diff->queue)
		diff_say(diff, "end-queue", "%d", clReleaseCommandQueue(diff->queue));
	diff_say(diff, "end-context", "%d", clReleaseContext(diff->context));
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

void diff_survive(struct diff *diff, const char *name, void (*act)(struct diff *diff, void *data),
		  void *data)
{
	pid_t child;
	int status;

	diff_open(diff, name);
	child = fork_child();
	if (child == 0) {
		act(diff, data);
		_exit(fflush(stdout) ? 2 : 0);
	}
	status = wait_for(child);
	(void)alarm(DIFF_PATIENCE_S);	/* anew: cannot fail */
	if (status)
		print_end(status);
	diff_close();
}

static void act_with_session(struct diff *diff, void *data)
{
	const struct diff_case *one = data;

	diff_start_session(diff);
	if (diff->version >= one->version)
		one->act(diff, NULL);
	else
		printf(" not before OpenCL %d.%d", one->version / 10, one->version % 10);
	diff_end_process();
}

void diff_survive_each(struct diff *diff, const struct diff_case *cases)
{
	for (; cases->name; cases++)
		diff_survive(diff, cases->name, act_with_session, (void *)cases);
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

static void run_group(struct diff *diff, size_t group, bool list, char **names)
{
	for (const struct diff_subject *subject = groups[group].subjects; subject->name; subject++) {
		if (!is_chosen(subject->name, names))
			continue;
		if (list)
			printf("%s\n", subject->name);
		else
			run_subject(diff, subject);
	}
}

int main(int argc, char **argv)
{
	struct diff diff = { .executes = true };
	const char *group = NULL;
	bool list = false, any = false;
	int option;

	/* What came before a crash is to be seen. */
	if (setvbuf(stdout, NULL, _IOLBF, 0))
		return 2;
	while ((option = getopt(argc, argv, "nlg:")) != -1) {
		if (option == 'n')
			diff.executes = false;
		else if (option == 'l')
			list = true;
		else if (option == 'g')
			group = optarg;
		else
			return 2;
	}
	for (size_t i = 0; i < GROUPS; i++) {
		if (group && strcmp(group, groups[i].name) != 0)
			continue;
		any = true;
		run_group(&diff, i, list, argv + optind);
	}
	return fflush(stdout) || !any ? 2 : 0;
}
