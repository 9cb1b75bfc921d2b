/* SPDX-License-Identifier: MIT */
/* processor: "name : value", a line for each property of each processor. */
#include "layers/opencl/key/processor.h"

#include <string.h>

/* The next line of *rest with its end, which *rest is moved behind. */
static struct cmn_view next_line(struct cmn_view *rest)
{
	const char *start = rest->data, *end = memchr(start, '\n', rest->len);
	struct cmn_view line = { start, end ? (size_t)(end - start) + 1 : rest->len };

	*rest = (struct cmn_view){ start + line.len, rest->len - line.len };
	return line;
}

/* Whether it tells one processor from another of the same kind, or changes while they run. */
static bool is_of_one(struct cmn_view line)
{
	static const char *const names[] = {
		"processor", "hart", "apicid", "initial apicid", "physical id", "core id", "siblings",
		"cpu cores", "cpu MHz", "CPU MHz", "clock", "bogomips", "BogoMIPS",
	};
	size_t len = 0;

	while (len < line.len && !strchr(":\t\n", ((const char *)line.data)[len]))
		len++;
	while (len && ((const char *)line.data)[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == len && memcmp(line.data, names[i], len) == 0)
			return true;
	}
	return len == 0;
}

static bool has_line(struct cmn_view text, struct cmn_view line)
{
	while (text.len) {
		if (cmn_view_equal(next_line(&text), line))
			return true;
	}
	return false;
}

void ocl_processor_describe(struct cmn_view cpuinfo, struct cmn_buffer *ret)
{
	while (cpuinfo.len) {
		struct cmn_view line = next_line(&cpuinfo);

		if (!is_of_one(line) && !has_line(cmn_buffer_view(ret), line))
			cmn_buffer_append(ret, line.data, line.len);
	}
}
