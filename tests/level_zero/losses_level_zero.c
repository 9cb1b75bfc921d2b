/* SPDX-License-Identifier: MIT */
/*
 * losses_level_zero: what modules lose when they are made of their own natives.
 * Asks everything that level_zero_differential asks, of modules of SPIR-V and of
 * modules of natives, without any layer, and prints the questions whose answers
 * differ: a table for the driver and its version. The driver compiles without
 * hardware, as each product given ("tgllp").
 *   losses_level_zero [PRODUCT...]
 */
#include "tests/level_zero/intel.h"
#include "tests/support/posix.h"

enum { MAX_QUESTIONS = 256, MAX_NAME = 64, SHOWN = 60 };

struct question {
	char name[MAX_NAME];
	char built[SHOWN + 1], loaded[SHOWN + 1];	/* where the first pair of answers differs */
	unsigned int asked, differing;
};

static struct question questions[MAX_QUESTIONS];
static size_t question_count;

static void give_up(const char *what)
{
	(void)fprintf(stderr, "losses_level_zero: %s\n", what);
	exit(1);
}

static FILE *start(const char *product, const char *arguments)
{
	char command[2048];

	(void)snprintf(command, sizeof(command),
		       "d=$(mktemp -d) && cd $d && env -i PATH=\"$PATH\" " INTEL_WITHOUT_HARDWARE
		       "%s timeout -k 5 600 '" DIFFERENTIAL_PROGRAM "' %s 2>errors </dev/null; "
		       "cd / && rm -rf $d", product, arguments);
	return popen(command, "r");
}

/* "subject.case.question: answer": the last part, and where the answer begins. */
static const char *answer_of(const char *line, char ret_name[MAX_NAME])
{
	size_t end = strcspn(line, ":"), begin = end;

	while (begin && line[begin - 1] != '.')
		begin--;
	(void)snprintf(ret_name, MAX_NAME, "%.*s", (int)(end - begin), line + begin);
	return line[end] ? line + end + 1 : line + end;
}

static struct question *question_of(const char *name)
{
	size_t i = 0;

	while (i < question_count && strcmp(questions[i].name, name) != 0)
		i++;
	if (i == MAX_QUESTIONS)
		give_up("too many questions");
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

static void compare(const char *built, const char *loaded)
{
	char name[MAX_NAME], other[MAX_NAME];
	const char *left = answer_of(built, name), *right = answer_of(loaded, other);
	struct question *question = question_of(name);

	if (strcmp(name, other) != 0)
		give_up("the driver ended a process: see level_zero_differential");
	question->asked++;
	if (strcmp(left, right) != 0 && !question->differing++)
		note_difference(question, left, right);
}

static bool read_line(FILE *file, char **line)
{
	size_t size = 0;

	free(*line);
	*line = NULL;
	if (getline(line, &size, file) <= 0)
		return false;
	(*line)[strcspn(*line, "\n")] = '\0';
	return true;
}

static unsigned int compare_all(const char *product)
{
	FILE *built = start(product, ""), *loaded = start(product, "-n");
	char *left = NULL, *right = NULL;
	unsigned int lines = 0;

	if (!built || !loaded)
		give_up("cannot run level_zero_differential");
	while (read_line(built, &left)) {
		if (!read_line(loaded, &right))
			give_up("modules of natives answer less");
		compare(left, right);
		lines++;
	}
	free(left);
	free(right);
	(void)pclose(built);	/* what they printed tells */
	(void)pclose(loaded);
	return lines;
}

static void print_table(const char *product)
{
	FILE *asked = start(product, "-v");
	char *version = NULL;
	unsigned int lines;

	if (!asked || !read_line(asked, &version) || version[0] < '0' || version[0] > '9')
		give_up("no Level Zero driver");
	(void)pclose(asked);	/* it said its version */
	question_count = 0;
	memset(questions, 0, sizeof(questions));
	lines = compare_all(product);
	printf("Intel's driver %s as %s: %u answers\n", version, product, lines);
	printf("%-16s %9s %6s  %-*s  %s\n", "question", "differing", "of", SHOWN, "built from SPIR-V",
	       "made of its native");
	for (size_t i = 0; i < question_count; i++) {
		if (questions[i].differing)
			printf("%-16s %9u %6u  %-*s  %s\n", questions[i].name,
			       questions[i].differing, questions[i].asked, SHOWN,
			       questions[i].built, questions[i].loaded);
	}
	free(version);
}

int main(int argc, char **argv)
{
	static char *usual[] = { "tgllp" };
	char **products = argc > 1 ? argv + 1 : usual;
	int count = argc > 1 ? argc - 1 : 1;

	for (int i = 0; i < count; i++)
		print_table(products[i]);
	return fflush(stdout) ? 1 : 0;
}
