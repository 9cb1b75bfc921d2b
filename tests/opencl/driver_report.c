/* SPDX-License-Identifier: MIT */
/* driver_report: what a run left: outcomes, statistics, counts, cache files. */
#include <ctype.h>
#include <ftw.h>

#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

const char *outcome_squeezed(struct outcome *outcome)
{
	char *to = outcome->output;

	for (const char *from = to; *from; from++) {
		if (!isspace((unsigned char)*from))
			*to++ = *from;
	}
	*to = '\0';
	return outcome->output;
}

/* pocl and comgr name their temporary files in build logs. */
void outcome_mask_temporaries(char *text)
{
	static const char *const marks[] = { "tempfile_", "/comgr-" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		for (char *at = text; (at = strstr(at, marks[i])); ) {
			at += strlen(marks[i]);
			for (int j = 0; j < 6 && *at; j++)
				*at++ = '?';
		}
	}
}

/* oclgrind answers CL_KERNEL_ATTRIBUTES with bytes that it never wrote. */
static void mask_attributes(char *text)
{
	static const char mark[] = "\nattributes: ";

	for (char *at = text; (at = strstr(at, mark)); ) {
		char *end = strstr(at, "\nprogram is");

		at += sizeof(mark) - 1;
		if (end && end > at)
			memmove(at, end, strlen(end) + 1);
	}
}

/* Before a build it answers CL_PROGRAM_BINARY_TYPE from memory that it never set; after one, with a type. */
static void mask_unset_binary_type(char *text)
{
	static const char mark[] = "binary type: ";

	for (char *at = text; (at = strstr(at, mark)); ) {
		char *end;
		unsigned long type = strtoul(at + sizeof(mark) - 1, &end, 10);

		at += sizeof(mark) - 1;
		if (type != 1 && type != 2 && type != 4 && end > at) {
			*at = '?';
			memmove(at + 1, end, strlen(end) + 1);
		}
	}
}

static void mask(char *text)
{
	outcome_mask_temporaries(text);
	if (driver_is("oclgrind")) {
		mask_attributes(text);
		mask_unset_binary_type(text);
	}
}

bool outcome_same(const struct outcome *a, const struct outcome *b)
{
	const char *x = a->output, *y = b->output;

	mask(a->output);
	mask(b->output);
	if (a->code == b->code && !strcmp(x, y))
		return true;
	for (size_t i = 0; x[i] && x[i] == y[i]; i++) {
		if (x[i] == '\n') {
			x += i + 1;
			y += i + 1;
			i = (size_t)-1;
		}
	}
	(void)printf("\n    codes %d and %d; first differing lines:\n    %.*s\n    %.*s\n    %s\n",
		     a->code, b->code, (int)strcspn(x, "\n"), x, (int)strcspn(y, "\n"), y,
		     b->errors);
	return false;
}

bool outcome_good(const struct outcome *outcome)
{
	if (!outcome->code)
		return true;
	(void)printf("\n    client: code %d: %s\n", outcome->code, outcome->errors);
	return false;
}

bool contains(const char *text, const char *part)
{
	if (strstr(text, part))
		return true;
	(void)printf("\n    not there: \"%s\" in:\n%s", part, text);
	return false;
}

/* As CU_ASSERT, but for another place than this one. */
static void check(bool is_so, const char *what, const char *file, unsigned int line)
{
	(void)CU_assertImplementation(is_so, line, what, file, "", CU_FALSE);
}

struct outcome driver_good_client(const char *file, unsigned int line, enum driver_layer layer,
				  const char *const *arguments)
{
	struct outcome outcome = driver_client(layer, arguments);

	check(outcome_good(&outcome), "the client ends well", file, line);
	return outcome;
}

struct outcome driver_same_as(const char *file, unsigned int line, const struct outcome *reference,
			      const char *const *arguments)
{
	struct outcome layered = driver_client(LAYERED, arguments);

	check(outcome_same(reference, &layered), "the answers are the same", file, line);
	return layered;
}

void driver_same_as_bare(const char *file, unsigned int line, const char *const *arguments)
{
	struct outcome bare = driver_good_client(file, line, BARE, arguments);

	(void)driver_same_as(file, line, &bare, arguments);
}

void driver_tool_says(const char *file, unsigned int line, int code, const char *words,
		      const char *const *arguments)
{
	struct outcome outcome = driver_tool(arguments);
	bool is_said;

	for (const char *const *argument = arguments; *argument; argument++) {
		if (strcmp(*argument, "--json") == 0)
			(void)outcome_squeezed(&outcome);
	}
	is_said = strstr(outcome.output, words) || strstr(outcome.errors, words);
	check(outcome.code == code, "the command's exit code", file, line);
	check(is_said, "the command's words", file, line);
	if (outcome.code != code || !is_said)
		(void)printf("\n    wanted %d \"%s\", got %d \"%s\" \"%s\"\n", code, words, outcome.code,
			     outcome.output, outcome.errors);
}

static char *read_stats(const char *cache)
{
	const char *tool = getenv("CKCACHE_TEST_TOOL");
	char command[8192], *text = NULL;
	size_t size = 0;
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "CKCACHE_DIR='%s' '%s' stats --json",
		       cache, tool ? tool : CKCACHE_PROGRAM);
	pipe = popen(command, "r");
	CU_ASSERT_FATAL(pipe != NULL);
	CU_ASSERT_FATAL(getdelim(&text, &size, '\0', pipe) > 0);
	CU_ASSERT_EQUAL_FATAL(pclose(pipe), 0);
	return text;
}

/* The number after "name": from text on; 0 if there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	char quoted[80];
	const char *at;

	(void)snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	at = strstr(text, quoted);
	if (!at)
		return 0;
	at += strlen(quoted);
	return strtoull(at + strspn(at, " :\t\n"), NULL, 10);
}

/* The text of the bypasses object, cut at its end. */
static char *bypasses_of(char *text)
{
	char *at = strstr(text, "\"bypasses\"");

	CU_ASSERT_FATAL(at != NULL);
	at = strchr(at, '{');
	CU_ASSERT_FATAL(at != NULL);
	at[strcspn(at, "}")] = '\0';
	return at;
}

static uint64_t sum_of(const char *bypasses)
{
	uint64_t sum = 0;

	for (const char *at = bypasses; (at = strchr(at, ':')); at++)
		sum += strtoull(at + 1, NULL, 10);
	return sum;
}

struct driver_stats driver_stats_in(const char *cache)
{
	char *text = read_stats(cache);
	struct driver_stats stats = {
		.hits_memory = number_of(text, "hits_memory"),
		.hits_disk = number_of(text, "hits_disk"),
		.misses = number_of(text, "misses"),
		.deferred = number_of(text, "deferred"),
		.failed = number_of(text, "failed"),
		.stores = number_of(text, "stores"),
		.errors = number_of(text, "errors"),
		.entries = number_of(text, "entries"),
		.recipes = number_of(text, "recipes"),
		.quarantined = number_of(text, "recipes_quarantined"),
	};

	stats.bypasses = sum_of(bypasses_of(text));
	free(text);
	return stats;
}

struct driver_stats driver_stats(void)
{
	return driver_stats_in(driver_cache());
}

uint64_t driver_bypasses(const char *reason)
{
	char *text = read_stats(driver_cache());
	uint64_t count = number_of(bypasses_of(text), reason);

	free(text);
	return count;
}

void driver_expect_stats(const char *file, unsigned int line, const char *numbers)
{
	char *text = read_stats(driver_cache()), *again = strdup(text), *bypasses, name[64], quoted[72];
	unsigned long long wanted;
	int len = 0;

	CU_ASSERT_FATAL(again != NULL);
	bypasses = bypasses_of(again);
	for (; sscanf(numbers, "%63s %llu%n", name, &wanted, &len) == 2; numbers += len + strspn(numbers + len, ", ")) {
		uint64_t found;

		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", name);
		if (strncmp(name, "bypass.", 7) == 0)
			found = number_of(bypasses, name + 7);
		else if (strcmp(name, "bypasses") == 0)
			found = sum_of(bypasses);
		else
			found = strstr(text, quoted) ? number_of(text, name) : UINT64_MAX;
		check(found == wanted, "the cache's counts", file, line);
		if (found != wanted)
			(void)printf("\n    %s: wanted %llu, got %llu\n", name, wanted, (unsigned long long)found);
	}
	check(!*numbers, "the words of EXPECT_STATS", file, line);
	free(again);
	free(text);
}

void driver_print_stats(void)
{
	char *text = read_stats(driver_cache());

	(void)printf("\n%s", text);
	free(text);
}

unsigned int driver_counted(const char *event)
{
	char path[4096], line[64];
	unsigned int count = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/counts", unit_dir());
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		count += !strcmp(line, event);
	}
	if (file)
		(void)fclose(file);	/* only read */
	return count;
}

const char *driver_cache(void)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/cache", unit_dir());
	return path;
}

/* nftw has no argument for its visitor. */
static struct {
	const char *end;
	char (*paths)[4096];
	unsigned int size, count;
} search;

static int visit(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	size_t len = strlen(path), end = strlen(search.end);

	(void)info;
	(void)where;
	if (kind != FTW_F || len < end || strcmp(path + len - end, search.end) != 0)
		return 0;
	if (search.count < search.size)
		(void)snprintf(search.paths[search.count], sizeof(search.paths[0]), "%s", path);
	search.count++;
	return 0;
}

unsigned int driver_cache_files(const char *end, char (*ret_paths)[4096], unsigned int size)
{
	search.end = end;
	search.paths = ret_paths;
	search.size = size;
	search.count = 0;
	(void)nftw(driver_cache(), visit, 16, FTW_PHYS);	/* no directory: no files */
	return search.count;
}
