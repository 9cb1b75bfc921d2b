/* SPDX-License-Identifier: MIT */
/* days: a short list, replaced as a whole on the first use of a day. */
#include "cachecore/disk/space/days.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "common/file.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)
#define MAX_FILE ((size_t)CC_DAYS_MAX * 11)	/* ten digits and a newline each */
/* Whose clocks differ take turns: neither has to write each time. And around midnight. */
#define RECENT 2
/* Of a rank: above any date, the place of its day; then the time within the day. */
#define KNOWN_DAY (UINT64_C(1) << 63)
#define PLACE_SHIFT 47

static uint32_t day_of(uint64_t ns)
{
	return (uint32_t)(ns / DAY_NS);
}

void cc_days_load(struct cc_days *ret, int root_fd)
{
	struct cmn_buffer file;
	char *line, *end;

	ret->count = 0;
	if (cmn_file_read(root_fd, CC_DAYS_NAME, MAX_FILE, false, &file) != CMN_OK)
		return;
	cmn_buffer_append_u8(&file, '\0');
	/* A line without an end was cut. */
	for (line = file.failed ? NULL : (char *)file.data; line && ret->count < CC_DAYS_MAX; line = end + 1) {
		unsigned long day = strtoul(line, &end, 10);

		if (end == line || *end != '\n' || day > UINT32_MAX)
			break;
		ret->all[ret->count++] = (uint32_t)day;
	}
	cmn_buffer_release(&file);
}

/* Its place, from 1; 0: it is none of them. */
static size_t place_of(const struct cc_days *days, uint64_t used_ns)
{
	size_t place = days->count;

	while (place && days->all[place - 1] != day_of(used_ns))
		place--;
	return place;
}

static bool is_recent(const struct cc_days *days, uint64_t used_ns)
{
	return place_of(days, used_ns) && cc_days_since(days, used_ns) < RECENT;
}

static bool write_days(const struct cc_days *days, int locked_fd)
{
	struct cmn_buffer text = { 0 };
	bool written;

	for (size_t i = 0; i < days->count; i++)
		cmn_buffer_printf(&text, "%u\n", (unsigned int)days->all[i]);
	written = !text.failed && cmn_file_replace(locked_fd, CC_DAYS_NAME, cmn_buffer_view(&text)) == CMN_OK;
	cmn_buffer_release(&text);
	return written;
}

/* Its day becomes the last one. */
static void append(struct cc_days *days, uint64_t now_ns)
{
	size_t place = place_of(days, now_ns);

	if (!place && days->count == CC_DAYS_MAX)
		place = 1;	/* the oldest goes */
	if (place)
		memmove(days->all + place - 1, days->all + place, (days->count-- - place) * sizeof(*days->all));
	days->all[days->count++] = day_of(now_ns);
}

uint64_t cc_days_note(int root_fd, uint64_t now_ns, uint64_t until, struct cc_days *ret)
{
	bool noted;
	int fd = -1;

	cc_days_load(ret, root_fd);
	noted = is_recent(ret, now_ns);
	if (!noted && cc_account_lock(root_fd, until, &fd) == CMN_OK) {
		cc_days_load(ret, fd);
		noted = is_recent(ret, now_ns);
		if (!noted) {
			append(ret, now_ns);
			noted = write_days(ret, fd);
		}
		if (!noted)
			cc_days_load(ret, fd);
		cc_root_unlock(fd);
	}
	return noted || !ret->count ? now_ns : ret->all[ret->count - 1] * DAY_NS + now_ns % DAY_NS;
}

size_t cc_days_since(const struct cc_days *days, uint64_t used_ns)
{
	size_t place = place_of(days, used_ns), later = 0;

	if (place)
		return days->count - place;
	for (size_t i = 0; i < days->count; i++)
		later += days->all[i] > day_of(used_ns);
	return later;
}

uint64_t cc_days_rank(const struct cc_days *days, uint64_t used_ns)
{
	uint64_t place = days->count - cc_days_since(days, used_ns), time = used_ns % DAY_NS;

	/* A day that is none of them comes after the one before it. */
	if (place)
		return KNOWN_DAY | place << PLACE_SHIFT | (place_of(days, used_ns) ? time : DAY_NS + time / 2);
	/* Before all that is known, by date. */
	return used_ns < KNOWN_DAY ? used_ns + !used_ns : KNOWN_DAY - 1;
}

uint64_t cc_days_date(const struct cc_days *days, uint64_t used_ns, uint64_t now_ns)
{
	for (size_t i = place_of(days, used_ns); i > 1; i--) {
		if (days->all[i - 2] <= day_of(now_ns) && days->all[i - 2] > day_of(used_ns))
			used_ns = days->all[i - 2] * DAY_NS;
	}
	return used_ns;
}
