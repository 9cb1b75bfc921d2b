/* SPDX-License-Identifier: MIT */
/* losses: lines of the two runs in pairs; a question is what stands behind a line's last dot. */
#include "tests/support/losses.h"

#include "tests/support/diff_compare.h"
#include "tests/support/posix.h"

enum { MAX_QUESTIONS = 256, MAX_NAME = 64, SHOWN = 60 };

const struct diff_explained diff_explained[] = { { NULL, NULL, NULL, NULL, 0 } };

struct question {
	char name[MAX_NAME];
	char built[SHOWN + 1], loaded[SHOWN + 1];	/* where the first pair of answers differs */
	unsigned int asked, differing;
};

static struct question questions[MAX_QUESTIONS];
static size_t question_count;
static bool prints_each;

void losses_give_up(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

/* "subject.case.question: answer": where the answer begins. Arguments and devices are not told apart. */
static const char *answer_of(const char *line, char ret_name[MAX_NAME])
{
	size_t end = strcspn(line, ":"), begin = end, len = 0;

	while (begin && line[begin - 1] != '.')
		begin--;
	for (size_t i = begin; i < end && len < MAX_NAME - 1; i++) {
		if (line[i] < '0' || line[i] > '9')
			ret_name[len++] = line[i];
	}
	ret_name[len] = '\0';
	return line[end] ? line + end + 1 : line + end;
}

static struct question *question_of(const char *name)
{
	size_t i = 0;

	while (i < question_count && strcmp(questions[i].name, name) != 0)
		i++;
	if (i == MAX_QUESTIONS)
		losses_give_up("too many questions");
	if (i == question_count)
		(void)strcpy(questions[question_count++].name, name);	/* of the same size */
	return &questions[i];
}

/* The words in which they differ, from the first to the last. */
static void note_difference(struct question *question, const char *built, const char *loaded)
{
	size_t same = 0, end = 0, lens[2] = { strlen(built), strlen(loaded) };
	size_t least = lens[0] < lens[1] ? lens[0] : lens[1];

	while (same < least && built[same] == loaded[same])
		same++;
	while (same && built[same - 1] != ' ')
		same--;
	while (end < least - same && built[lens[0] - end - 1] == loaded[lens[1] - end - 1])
		end++;
	while (end && built[lens[0] - end] != ' ')
		end--;
	(void)snprintf(question->built, sizeof(question->built), "%.*s",
		       (int)(lens[0] - end - same), built + same);
	(void)snprintf(question->loaded, sizeof(question->loaded), "%.*s",
		       (int)(lens[1] - end - same), loaded + same);
}

/* What follows something that could not be made is not there. */
static void compare(const char *built, const char *loaded)
{
	char name[MAX_NAME];
	const char *left = built ? answer_of(built, name) : "";
	const char *right = loaded ? answer_of(loaded, name) : "";
	struct question *question = question_of(name);

	if ((!built || !loaded) && strcmp(name, "exit") != 0 && strcmp(name, "given-up") != 0)
		return;
	question->asked++;
	if (!strcmp(left, right))
		return;
	if (prints_each)
		printf("%s\n    %s\n", built ? built : "", loaded ? loaded : "");
	if (!question->differing++)
		note_difference(question, left, right);
}

static char *output_of(const char *command)
{
	FILE *file = popen(command, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file || getdelim(&text, &size, '\0', file) <= 0)
		losses_give_up("no such driver or device");
	(void)pclose(file);	/* what it printed tells */
	return text;
}

void losses_print(const char *title, const char *built, const char *loaded, bool each)
{
	char *left = output_of(built), *right = output_of(loaded);

	question_count = 0;
	memset(questions, 0, sizeof(questions));
	prints_each = each;
	diff_each_pair(left, right, compare);
	free(left);
	free(right);
	printf("%s\n%-24s %9s %6s  %-*s  %s\n", title, "question", "differing", "of", SHOWN,
	       "as it was built", "made of its binary");
	for (size_t i = 0; i < question_count; i++) {
		if (questions[i].differing)
			printf("%-24s %9u %6u  %-*s  %s\n", questions[i].name, questions[i].differing,
			       questions[i].asked, SHOWN, questions[i].built, questions[i].loaded);
	}
}
