/* SPDX-License-Identifier: MIT */
/* text: each chooses a unit, and as many digits as say something; ECMA-48 colours and the progress line. */
#include "tools/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/printable.h"

/* None of the texts is longer than TEXT_SIZE, so that snprintf cuts nothing. */

const char *text_bytes(uint64_t bytes, char ret[TEXT_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		(void)snprintf(ret, TEXT_SIZE, "%" PRIu64 " B", bytes);
		return ret;
	}
	/* What would be shown as 1024.0 is one of the next unit. */
	while (value >= 1023.95 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	(void)snprintf(ret, TEXT_SIZE, "%.1f %s", value, units[i]);
	return ret;
}

const char *text_time(uint64_t ns, char ret[TEXT_SIZE])
{
	const uint64_t second = UINT64_C(1000000000), minute = 60, hour = 3600, day = 86400;
	uint64_t seconds = ns / second + (ns % second >= second / 2);
	double ms = (double)ns / 1e6;

	if (ns < second)
		(void)snprintf(ret, TEXT_SIZE, ms < 10 ? "%.2f ms" : "%.1f ms", ms);
	else if (seconds < minute)
		(void)snprintf(ret, TEXT_SIZE, "%.2f s", ms / 1000);
	else if (seconds < hour)
		(void)snprintf(ret, TEXT_SIZE, "%" PRIu64 " min %" PRIu64 " s", seconds / minute,
			       seconds % minute);
	else if (seconds < day)
		(void)snprintf(ret, TEXT_SIZE, "%" PRIu64 " h %" PRIu64 " min", seconds / hour,
			       seconds % hour / minute);
	else
		(void)snprintf(ret, TEXT_SIZE, "%" PRIu64 " d %" PRIu64 " h", seconds / day,
			       seconds % day / hour);
	return ret;
}

const char *text_share(uint64_t part, uint64_t whole, char ret[TEXT_SIZE])
{
	if (!whole)
		(void)snprintf(ret, TEXT_SIZE, "-");
	else
		(void)snprintf(ret, TEXT_SIZE, "%.1f %%", 100 * (double)part / (double)whole);
	return ret;
}

const char *text_date(uint64_t ns, bool seconds, char ret[TEXT_SIZE])
{
	time_t time = (time_t)(ns / UINT64_C(1000000000));
	struct tm parts;

	if (!ns || !localtime_r(&time, &parts) ||
	    !strftime(ret, TEXT_SIZE, seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &parts))
		(void)snprintf(ret, TEXT_SIZE, ns ? "?" : "-");
	return ret;
}

/* The next line with something in it, without the blanks before it, from *at on, which moves behind it. */
static struct cmn_view next_line(const char **at, const char *end)
{
	const char *start;

	while (*at < end && isspace((unsigned char)**at))
		++*at;
	for (start = *at; *at < end && **at != '\n'; ++*at)
		;
	return (struct cmn_view){ start, (size_t)(*at - start) };
}

struct cmn_view text_first_line(struct cmn_view text)
{
	const char *at = text.data, *end = at + text.len;
	struct cmn_view first = next_line(&at, end), line = first;

	/* Directives and comments are the same in many programs. */
	while (line.len && memchr("#/*", *(const char *)line.data, 3))
		line = next_line(&at, end);
	return line.len ? line : first;
}

void text_append_clean(struct cmn_buffer *buf, struct cmn_view text, size_t max)
{
	cmn_printable_append(buf, text, max, ' ');
	if (text.len > max)
		cmn_buffer_append_text(buf, "...");
}

void text_append_short_path(struct cmn_buffer *buf, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/.");

		cmn_buffer_append(buf, path, len < 8 ? len : 8);
		if (path[len] != '/')
			return;
		cmn_buffer_append_u8(buf, '/');
		path += len + 1;
	}
}

void text_append_cell(struct cmn_buffer *buf, const char *text, size_t columns)
{
	struct cmn_view rest = cmn_view_of(text);
	size_t used = 0;

	for (; rest.len && used < columns; used++) {
		struct cmn_character next = cmn_printable_next(rest);

		cmn_printable_append(buf, rest, next.len, ' ');
		rest = (struct cmn_view){ (const char *)rest.data + next.len, rest.len - next.len };
	}
	cmn_buffer_printf(buf, "%*s", (int)(columns - used), "");
}

/* How many columns a word takes, with the blanks before it. */
static size_t width_of(const char *word, size_t len)
{
	bool sequence = false;
	size_t width = 0;

	for (size_t i = 0; i < len; i++) {
		sequence |= word[i] == '\033';
		width += !sequence && ((unsigned char)word[i] & 0xc0) != 0x80;
		sequence &= word[i] != 'm';
	}
	return width;
}

void text_wrap(struct cmn_buffer *buf, size_t start, size_t indent, size_t columns)
{
	struct cmn_buffer wrapped = { 0 };
	const char *line = (const char *)buf->data + start;
	size_t len = buf->len - start, used = 0;
	bool begun = false;	/* the line has a word */

	if (buf->failed || !columns || width_of(line, len) <= columns)
		return;
	for (size_t at = 0; at < len;) {
		size_t blanks = strspn(line + at, " "), end = at + blanks, width;

		while (end < len && line[end] != ' ')
			end++;
		width = width_of(line + at, end - at);
		if (begun && used + width > columns) {
			cmn_buffer_printf(&wrapped, "\n%*s", (int)indent, "");
			used = indent;
			at += blanks;
			width -= blanks;
		}
		cmn_buffer_append(&wrapped, line + at, end - at);
		begun |= end > at;
		used += width;
		at = end;
	}
	buf->len = start;
	cmn_buffer_append(buf, wrapped.data, wrapped.len);
	buf->failed |= wrapped.failed;
	cmn_buffer_release(&wrapped);
}

enum {
	USUAL_COLUMNS = 80,
	MIN_COLUMNS = 40,	/* below it a bar says nothing */
	MAX_BAR = 40,
	COUNTED = 64,		/* read in some ms */
};
#define REDRAW_NS UINT64_C(100000000)

/* The verb's only thread draws. */
static struct {
	uint64_t drawn_ns;	/* monotonic; 0: never */
	bool visible;
} progress;

bool terminal_is(int fd)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0 && isatty(fd);
}

const char *terminal_sequence(int fd, const char *sequence)
{
	const char *no = getenv("NO_COLOR");

	return (no && *no) || !terminal_is(fd) ? "" : sequence;
}

unsigned int terminal_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_col ? USUAL_COLUMNS : size.ws_col;
}

/* Output that fails is not worth a word: there is nobody else to tell. */
static void draw(const char *what, uint64_t done, uint64_t total)
{
	/* "ckcache: WHAT [bar] 100 %" in one column less, where a terminal would wrap. */
	int width = (int)terminal_columns(STDERR_FILENO);
	int room = width - 1 - (int)strlen("ckcache:  [] 100 %") - (int)strlen(what);
	int bar = room < MAX_BAR ? room : MAX_BAR;
	double share = total ? (double)done / (double)total : 0;
	char cells[MAX_BAR + 1];

	if (share > 1)
		share = 1;
	if (!total) {
		(void)fprintf(stderr, "\r\033[Kckcache: %s %" PRIu64, what, done);
	} else if (bar < 4 || width < MIN_COLUMNS) {
		(void)fprintf(stderr, "\r\033[K%3d %%", (int)(100 * share));
	} else {
		memset(cells, ' ', (size_t)bar);
		memset(cells, '=', (size_t)(share * bar));
		cells[bar] = '\0';
		(void)fprintf(stderr, "\r\033[Kckcache: %s [%s] %3d %%", what, cells,
			      (int)(100 * share));
	}
	(void)fflush(stderr);
}

void terminal_progress(const char *what, uint64_t done, uint64_t total)
{
	uint64_t now = cmn_clock_monotonic();

	if (progress.drawn_ns && now - progress.drawn_ns < REDRAW_NS)
		return;
	progress.drawn_ns = now;
	if (!terminal_is(STDERR_FILENO))
		return;
	draw(what, done, total);
	progress.visible = true;
}

void terminal_progress_count(const char *what, uint64_t done)
{
	if (done % COUNTED == 0)
		terminal_progress(what, done, 0);
}

void terminal_progress_hide(void)
{
	if (!progress.visible)
		return;
	progress.visible = false;
	progress.drawn_ns = 0;	/* what was hidden is drawn again at once */
	(void)fputs("\r\033[K", stderr);	/* as draw */
	(void)fflush(stderr);
}
