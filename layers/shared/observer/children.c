/* SPDX-License-Identifier: MIT */
/*
 * children: the program's path and its arguments, each with its terminator, after their length. A child
 * that ran nothing, or something that does not fit, has told nothing.
 */
#include "layers/shared/observer/children.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layers/shared/driver/environment.h"

/* What the thread has that forked, in the child. */
static _Thread_local struct {
	const struct drv_driver *driver;	/* NULL: it is in no child */
	int tell;
	bool strayed;
} child;

void drv_child_enter(int tell, const struct drv_driver *driver)
{
	child.driver = driver;
	child.tell = tell;
	child.strayed = false;
}

bool drv_child_strays(void)
{
	if (child.driver)
		child.strayed = true;
	return child.driver;
}

bool drv_child_leave(void)
{
	bool was = child.driver;

	if (was)
		(void)close(child.tell);	/* nothing was written */
	child.driver = NULL;
	return was;
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
	/* The pipe takes it whole or not; nobody waits. */
	if (!child.strayed && drv_environment_passes(child.driver, environment) &&
	    write(child.tell, text, sizeof(len) + len) < 0)
		child.strayed = true;
	return true;
}

struct drv_told_run *drv_child_told(int told)
{
	struct drv_told_run *ret = calloc(1, sizeof(*ret));
	uint32_t len = 0;
	size_t count = 0;

	/* Twice told, the first run failed. */
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
