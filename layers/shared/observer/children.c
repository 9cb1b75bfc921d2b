/* SPDX-License-Identifier: MIT */
/*
 * children: the program's path and its arguments, each with its terminator, after their length. A child
 * that ran nothing, or something that does not fit, has told nothing.
 */
#include "layers/shared/observer/children.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layers/shared/driver/environment.h"

/* What the thread has that forked, in the child. */
static _Thread_local struct {
	const struct drv_driver *driver;	/* NULL: it is in no child */
	/* It has the end to read from, too, so that no signal comes if its parent does not wait for it. */
	int ends[2];
	ino_t pipe;
} child;

void drv_child_enter(const int ends[2], const struct drv_driver *driver)
{
	struct stat info;

	child.driver = driver;
	child.pipe = fstat(ends[0], &info) == 0 ? info.st_ino : 0;
	memcpy(child.ends, ends, sizeof(child.ends));
}

/* A child may close all that it has, and open something else by that number. */
static bool is_pipe(int end)
{
	struct stat info;

	return fstat(end, &info) == 0 && S_ISFIFO(info.st_mode) && info.st_ino == child.pipe;
}

bool drv_child_leave(void)
{
	int saved = errno;
	char told[512];

	if (!child.driver)
		return false;
	/* The program that it told of did not run. */
	while (is_pipe(child.ends[0]) && read(child.ends[0], told, sizeof(told)) > 0)
		continue;
	for (int i = 0; i < 2; i++) {
		if (is_pipe(child.ends[i]))
			(void)close(child.ends[i]);	/* nothing was written */
	}
	child.driver = NULL;
	errno = saved;
	return true;
}

/* Allocates nothing, since another thread of the parent may have been allocating. */
bool drv_child_runs(const struct drv_run *run, char *const environment[])
{
	char text[sizeof(uint32_t) + DRV_RUN_TEXT];
	const char *next = run->path;
	uint32_t len = 0;

	if (!child.driver)
		return false;
	for (size_t i = 0; next; next = run->arguments ? run->arguments[i++] : NULL) {
		size_t size = strlen(next) + 1;

		if (i > DRV_RUN_ARGUMENTS || size > DRV_RUN_TEXT - len)
			return true;
		memcpy(text + sizeof(len) + len, next, size);
		len += (uint32_t)size;
	}
	memcpy(text, &len, sizeof(len));
	/* What the pipe does not take whole was not told; nobody waits. */
	if (drv_environment_passes(child.driver, environment) && is_pipe(child.ends[1]))
		(void)!write(child.ends[1], text, sizeof(len) + len);
	return true;
}

struct drv_told_run *drv_child_told(int told)
{
	struct drv_told_run *ret = calloc(1, sizeof(*ret));
	uint32_t len = 0;
	size_t count = 0;

	if (!ret || read(told, &len, sizeof(len)) != sizeof(len) || !len || len > sizeof(ret->text) ||
	    read(told, ret->text, sizeof(ret->text)) != (ssize_t)len || ret->text[len - 1]) {
		free(ret);
		return NULL;
	}
	ret->run.path = ret->text;
	ret->run.arguments = ret->arguments;
	for (uint32_t at = (uint32_t)strlen(ret->text) + 1; at < len && count < DRV_RUN_ARGUMENTS;
	     at += (uint32_t)strlen(ret->text + at) + 1)
		ret->arguments[count++] = ret->text + at;
	return ret;
}
