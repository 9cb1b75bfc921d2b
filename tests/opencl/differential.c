/* SPDX-License-Identifier: MIT */
/* differential: the scenario, sessions, and what of the lines and processes is OpenCL's own. */
#include "tests/opencl/differential.h"

static const struct {
	const char *name;
	const struct diff_subject *subjects;
	const struct diff_subject *(*made)(void);	/* where they are not constant */
} groups[] = {
	{ "states", .made = diff_states },
	{ "kernels", .subjects = diff_kernels },
	{ "misuses", .subjects = diff_misuses },
	{ "links", .made = diff_links },
	{ "relinks", .made = diff_relinks },
	{ "corpus", .made = diff_corpus },
	{ "lives", .subjects = diff_lives },
	{ "ils", .subjects = diff_ils },
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

_Static_assert(offsetof(struct diff, running) == 0, "see diff_subjects.h");

/* Drivers name their temporary files in logs; how long the random part is, if text begins with one. */
static size_t temporary_name(const char *text, size_t size)
{
	static const char *const marks[] = { "tempfile_", "tempfile-" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t len = strlen(marks[i]);

		if (size >= len + 6 && !strncmp(text, marks[i], len))
			return len + 6;
	}
	return 0;
}

void diff_print_text(const char *text, size_t size)
{
	diff_print_masked(text, size, temporary_name, "TEMPORARY");
}

static const struct diff *running;

static void give_up(const char *what, cl_int error)
{
	diff_say(running, "given-up", "%s %d", what, error);
	diff_leave();
}

/* Some drivers crash or never return in the calls of versions that they do not know. */
static void read_version(struct diff *diff)
{
	char text[128] = "";
	int major = 1, minor = 0;
	cl_int error = clGetDeviceInfo(diff->cl.devices[0], CL_DEVICE_VERSION, sizeof(text), text, NULL);

	if (error || sscanf(text, "OpenCL %d.%d", &major, &minor) != 2)
		client_fail("version", error);
	diff->version = 10 * major + minor;
}

/* Two parts of the first device: its tiles, or a core each. */
static void divide(struct client *cl)
{
	const cl_device_partition_property ways[][4] = {
		{ CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE, 0 },
		{ CL_DEVICE_PARTITION_EQUALLY, 1, 0 },
	};
	cl_device_id parts[64];
	cl_uint count = 0;

	for (int i = 0; i < 2 && count < 2; i++) {
		if (clCreateSubDevices(cl->devices[0], ways[i], 64, parts, &count))
			count = 0;
	}
	cl->device_count = count;
	memcpy(cl->devices, parts, sizeof(cl->devices));
}

static void choose_devices(struct diff *diff)
{
	static const struct {
		const char *name;
		bool parts;
		cl_uint count, first, target_count;
	} arrangements[] = {
		{ "one", false, 1, 0, 1 }, { "two", false, 2, 0, 2 }, { "first", false, 2, 0, 1 },
		{ "second", false, 2, 1, 1 }, { "parts", true, 2, 0, 2 }, { "first-part", true, 2, 0, 1 },
		{ "second-part", true, 2, 1, 1 }, { NULL, false, 0, 0, 0 },
	}, *one = arrangements;
	cl_int error = CL_SUCCESS;

	while (one->name && strcmp(one->name, diff->devices) != 0)
		one++;
	if (one->parts)
		divide(&diff->cl);
	if (!one->name || diff->cl.device_count < one->count)
		client_fail("devices", CL_DEVICE_NOT_FOUND);
	diff->cl.device_count = one->count;
	diff->target_count = one->target_count;
	diff->targets = diff->cl.devices + one->first;
	diff->cl.context = clCreateContext(NULL, one->count, diff->cl.devices, NULL, NULL, &error);
	if (error)
		client_fail("context", error);
}

void diff_start_session(struct diff *diff)
{
	running = diff;
	client_on_failure(give_up);
	client_open(&diff->cl);
	if (diff->devices)
		choose_devices(diff);
	read_version(diff);
}

void diff_end_session(struct diff *diff)
{
	if (diff->cl.queue)
		diff_say(diff, "end-queue", "%d", clReleaseCommandQueue(diff->cl.queue));
	diff_say(diff, "end-context", "%d", clReleaseContext(diff->cl.context));
}

bool diff_reaches(const struct diff *diff, int version)
{
	if (diff->version >= version)
		return true;
	printf(" not before OpenCL %d.%d", version / 10, version % 10);
	return false;
}

void diff_prepared(struct diff *diff)
{
	if (diff->only_prepares)
		diff_end_process();
}

static void print_version(struct diff *diff)
{
	char text[128] = "";

	diff_start_session(diff);
	(void)clGetDeviceInfo(diff->cl.devices[0], CL_DRIVER_VERSION, sizeof(text), text, NULL);
	printf("%s\n", text + strcspn(text, "0123456789"));
	diff_end_process();
}

SCENARIO_WITHOUT_SESSION(differential)
{
	struct diff diff = { .running.patience_s = DIFF_PATIENCE_S, .cl = *client, .kind = "executable" };
	char **words = client->arguments - 1;	/* with the scenario's name, as getopt wants it */
	const char *group = NULL;
	bool list = false, any = false;
	int count = 1, option;

	if (!diff_print_by_lines())
		client_fail("setvbuf", 0);
	while (words[count])
		count++;
	while ((option = getopt(count, words, "plvg:bk:d:")) != -1) {
		if (option == 'p')
			diff.only_prepares = true;
		else if (option == 'v')
			print_version(&diff);
		else if (option == 'l')
			list = true;
		else if (option == 'g')
			group = optarg;
		else if (option == 'b')
			diff.of_binaries = true;
		else if (option == 'k')
			diff.kind = optarg;
		else if (option == 'd')
			diff.devices = optarg;
		else
			client_fail("option", 0);
	}
	for (size_t i = 0; i < GROUPS; i++) {
		if (group && strcmp(group, groups[i].name) != 0)
			continue;
		any = true;
		diff_run_subjects(&diff, groups[i].made ? groups[i].made() : groups[i].subjects, list,
				  words + optind);
	}
	if (!any)
		client_fail("group", 0);
}
