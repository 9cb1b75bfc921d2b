/* SPDX-License-Identifier: MIT */
/* terminal: ECMA-48 colours and the progress line. */
#include "tools/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"

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
