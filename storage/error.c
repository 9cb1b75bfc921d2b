/* SPDX-License-Identifier: MIT */
/* error: messages for clients' logs. */
#include "storage/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void storage_error_set(struct storage_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vsnprintf(error->text, sizeof(error->text), format, args) < 0)
		error->text[0] = '\0';
	va_end(args);
	for (char *at = error->text; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

const char *storage_error_phrase(int number)
{
	return strerror(number);	/* of glibc and musl: safe in threads */
}
