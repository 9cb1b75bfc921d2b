/* SPDX-License-Identifier: MIT */
/*
 * fuzz_bundle: a bundle of any content, read to its end as ckcache import reads it.
 * Where the input's first byte is odd, its header is made right first.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Not in a library of its own. */
#include "tools/bundle/bundle.c"

void tool_complain(const char *format, ...)
{
	(void)format;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t header[HEADER_SIZE];
	struct cc_remote_value value;
	struct bundle_reader reader;
	enum cmn_status status;
	int fd;

	if (!size)
		return 0;
	fd = memfd_create("bundle", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1))
		exit(2);
	make_header(header);
	if ((data[0] & 1) && size > HEADER_SIZE && pwrite(fd, header, HEADER_SIZE, 0) != HEADER_SIZE)
		exit(2);
	status = bundle_reader_begin(&reader, fd, size - 1);
	while (status == CMN_OK) {
		status = bundle_reader_next(&reader, NULL, 0, &value);
		/* Nothing is larger than the file. */
		if (reader.state.bytes > size - 1 ||
		    (status == CMN_OK && value.src.len + value.bin.len > size))
			abort();
	}
	if (status == CMN_MISS && reader.state.bytes != size - 1)
		abort();
	bundle_reader_release(&reader);
	(void)close(fd);
	return 0;
}
