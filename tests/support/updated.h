/* SPDX-License-Identifier: MIT */
/* updated: what a package manager does to a driver: another build of it takes its place. */
#ifndef TESTS_SUPPORT_UPDATED_H
#define TESTS_SUPPORT_UPDATED_H

#include <CUnit/CUnit.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts a copy of a library in place of another, by rename; it has a build-id of its own for each version. */
static inline void updated_library(const char *from, const char *to, unsigned char version)
{
	/* The head of a GNU build-id's note (ELF gABI, "Note Section"), as SHA-1 has it. */
	static const struct {
		Elf64_Nhdr head;
		char name[4];
	} note = { { 4, 20, NT_GNU_BUILD_ID }, "GNU" };
	char *temporary = NULL, *data, *found;
	FILE *file = fopen(from, "rb");
	long size;

	CU_ASSERT_FATAL(file && !fseek(file, 0, SEEK_END));
	size = ftell(file);
	data = malloc((size_t)size);
	CU_ASSERT_FATAL(data && !fseek(file, 0, SEEK_SET) &&
			fread(data, 1, (size_t)size, file) == (size_t)size);
	(void)fclose(file);	/* read only */
	found = memmem(data, (size_t)size, &note, sizeof(note));
	CU_ASSERT_FATAL(found && found + sizeof(note) + 20 <= data + size);
	found[sizeof(note)] = (char)version;
	CU_ASSERT_FATAL(asprintf(&temporary, "%s.new", to) > 0);
	file = fopen(temporary, "wb");
	CU_ASSERT_FATAL(file && fwrite(data, 1, (size_t)size, file) == (size_t)size);
	CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
	CU_ASSERT_EQUAL_FATAL(rename(temporary, to), 0);
	free(temporary);
	free(data);
}

#endif
