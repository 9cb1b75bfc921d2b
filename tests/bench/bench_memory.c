/* SPDX-License-Identifier: MIT */
/*
 * bench_memory: what a hit in the in-memory level costs on one thread and on
 * two, side by side with std::unordered_map behind a mutex, with the three maps
 * of the SYCL document, and with no look-up at all. All take turns within each round; figures are of
 * the fastest round, as at this scale noise only adds. Exit code 1 if a
 * requirement is missed.
 *
 * "own": each thread takes values of its own; "shared": both take the same.
 * "counted": whoever takes a value counts it in the value, as a runtime's
 * handle does; where two threads count in one value, that is what is measured.
 *
 *	bench_memory [--rounds N] [--unjudged | --smoke]
 */
#include "tests/bench/bench_run.h"
#include "tests/bench/memory_clock.h"

#define ROUNDS 301
#define ROUND_NS 200000		/* per figure: short, so that nothing disturbs some rounds */
#define TRIAL_HITS 1000
#define LEAST_SCALING 1.7
#define VALUES_NAME 24		/* bytes */

/* The first ones are judged, and ratios are to the very first. */
static const struct memory_contender *const contenders[] = {
	&memory_public,
	&memory_cachecore,
	&memory_unordered,
	&memory_three_maps,
	&memory_nothing,
};

#define JUDGED 2

#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static const struct row {
	const char *what;
	enum memory_keys keys;
	enum memory_hit hit;
	bool shared, counted;
	double below;		/* ns on one thread that are required, or 0 */
	bool scales;		/* LEAST_SCALING is required */
} rows[] = {
	{ "program, runtime's key", MEMORY_KEYS_RUNTIME, MEMORY_PROGRAM, false, true, 150, false },
	{ "program, runtime's key", MEMORY_KEYS_RUNTIME, MEMORY_PROGRAM, true, false, 150, false },
	{ "program, runtime's key", MEMORY_KEYS_RUNTIME, MEMORY_PROGRAM, true, true, 150, false },
	{ "kernel", MEMORY_KEYS_RUNTIME, MEMORY_KERNEL, false, true, 0, false },
	{ "kernel", MEMORY_KEYS_RUNTIME, MEMORY_KERNEL, true, false, 0, false },
	{ "kernel", MEMORY_KEYS_RUNTIME, MEMORY_KERNEL, true, true, 0, false },
	{ "fast kernel", MEMORY_KEYS_RUNTIME, MEMORY_FAST_KERNEL, false, true, 50, true },
	{ "fast kernel", MEMORY_KEYS_RUNTIME, MEMORY_FAST_KERNEL, true, false, 50, true },
	{ "fast kernel", MEMORY_KEYS_RUNTIME, MEMORY_FAST_KERNEL, true, true, 50, false },
	{ "program, 4 KiB key", MEMORY_KEYS_LONG, MEMORY_PROGRAM, false, true, 0, false },
	{ "program, 4 KiB key", MEMORY_KEYS_LONG, MEMORY_PROGRAM, true, false, 0, false },
	{ "program, alike 4 KiB keys", MEMORY_KEYS_ALIKE, MEMORY_PROGRAM, false, true, 0, false },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* One contender's maps for one row, and its figures. */
struct entry {
	void *maps;
	size_t hits;
	double ns[MEMORY_THREADS];	/* per hit of a thread, by the number of threads less one */
};

struct bench {
	struct memory_items *items[ROWS];
	struct entry entries[ROWS][CONTENDERS];
	size_t rounds;
	bool smoke, judged;
};

static struct memory_work work_of(struct bench *bench, size_t row, size_t contender)
{
	return (struct memory_work){
		.contender = contenders[contender],
		.hit = rows[row].hit,
		.maps = bench->entries[row][contender].maps,
		.items = bench->items[row],
		.shared = rows[row].shared,
		.hits = TRIAL_HITS,
		.threads = 1,
	};
}

static void fill(struct bench *bench)
{
	for (size_t i = 0; i < ROWS; i++) {
		bench->items[i] = aligned_alloc(MEMORY_LINE, sizeof(*bench->items[i]));
		if (!bench->items[i])
			bench_fail("out of memory");
		memory_items_make(rows[i].keys, rows[i].counted, bench->items[i]);
		for (size_t c = 0; c < CONTENDERS; c++) {
			struct entry *entry = &bench->entries[i][c];
			struct memory_work work;
			double ns;

			entry->maps = contenders[c]->fill(bench->items[i]);
			if (!entry->maps)
				bench_fail("%s cannot be filled", contenders[c]->name);
			work = work_of(bench, i, c);
			ns = memory_clock_time(&work);
			entry->hits = bench->smoke ? TRIAL_HITS :
				      TRIAL_HITS + (size_t)(ROUND_NS / (ns + 1));
		}
	}
}

static void release(struct bench *bench)
{
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t c = 0; c < CONTENDERS; c++)
			contenders[c]->release(bench->entries[i][c].maps);
		memory_items_release(bench->items[i]);
		free(bench->items[i]);
	}
}

static void measure(struct bench *bench)
{
	for (size_t at = 0; at < bench->rounds * ROWS * CONTENDERS; at++) {
		size_t row = at / CONTENDERS % ROWS, contender = at % CONTENDERS;
		struct entry *entry = &bench->entries[row][contender];
		struct memory_work work = work_of(bench, row, contender);

		work.hits = entry->hits;
		for (work.threads = 1; work.threads <= MEMORY_THREADS; work.threads++) {
			double *fastest = &entry->ns[work.threads - 1];
			double ns = memory_clock_time(&work);

			*fastest = *fastest == 0 || ns < *fastest ? ns : *fastest;
		}
	}
}

static double scaling_of(const struct entry *entry)
{
	return MEMORY_THREADS * entry->ns[0] / entry->ns[MEMORY_THREADS - 1];
}

static void name_values(const struct row *row, char ret[VALUES_NAME])
{
	(void)snprintf(ret, VALUES_NAME, "%s%s", row->shared ? "shared" : "own",
		       row->counted ? ", counted" : "");	/* fits */
}

static void print_table(const struct bench *bench)
{
	printf("%-26s %-15s %-14s %8s %8s %8s %8s %8s\n", "hit", "values", "in", "ns, 1 th",
	       "ns, 2 th", "scaling", "ratio 1", "ratio 2");
	for (size_t i = 0; i < ROWS; i++) {
		const struct entry *ours = &bench->entries[i][0];
		char values[VALUES_NAME];

		name_values(&rows[i], values);
		for (size_t c = 0; c < CONTENDERS; c++) {
			const struct entry *entry = &bench->entries[i][c];

			printf("%-26s %-15s %-14s %8.1f %8.1f %8.2f %8.2f %8.2f\n", rows[i].what,
			       values, contenders[c]->name, entry->ns[0], entry->ns[1],
			       scaling_of(entry), entry->ns[0] / ours->ns[0],
			       entry->ns[1] / ours->ns[1]);
		}
	}
}

static size_t require(const struct row *row, const char *contender, const char *what,
		      double value, const char *than, double limit, bool met)
{
	char values[VALUES_NAME];

	name_values(row, values);
	printf("%-26s %-15s %-14s %-16s %7.2f  required %s %g: %s\n", row->what, values,
	       contender, what, value, than, limit, met ? "met" : "MISSED");
	return met ? 0 : 1;
}

static size_t judge(const struct bench *bench)
{
	size_t missed = 0;

	printf("\n");
	for (size_t at = 0; at < ROWS * JUDGED; at++) {
		const struct row *row = &rows[at / JUDGED];
		const struct entry *entry = &bench->entries[at / JUDGED][at % JUDGED];
		const char *name = contenders[at % JUDGED]->name;

		if (row->below > 0)
			missed += require(row, name, "ns, one thread", entry->ns[0], "<",
					  row->below, entry->ns[0] < row->below);
		if (row->scales)
			missed += require(row, name, "times one on two", scaling_of(entry), ">=",
					  LEAST_SCALING, scaling_of(entry) >= LEAST_SCALING);
	}
	if (missed)
		printf("%zu requirement(s) missed\n", missed);
	else
		printf("all requirements met\n");
	return missed;
}

static void read_options(int argc, char **argv, struct bench *bench)
{
	bench->rounds = ROUNDS;
	bench->judged = true;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--smoke") == 0) {
			bench->smoke = true;
			bench->judged = false;
			bench->rounds = 1;
		} else if (strcmp(argv[i], "--unjudged") == 0) {
			bench->judged = false;
		} else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
			bench->rounds = strtoul(argv[++i], NULL, 10);
		} else {
			bench->rounds = 0;
		}
		if (bench->rounds == 0)
			bench_fail("usage: bench_memory [--rounds N] [--unjudged | --smoke]");
	}
}

int main(int argc, char **argv)
{
	static struct bench bench;
	size_t missed = 0;

	read_options(argc, argv, &bench);
	memory_clock_start();
	fill(&bench);
	measure(&bench);
	memory_clock_end();
	print_table(&bench);
	if (bench.judged)
		missed = judge(&bench);
	release(&bench);
	return missed ? 1 : 0;
}
