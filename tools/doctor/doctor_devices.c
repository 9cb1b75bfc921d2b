/* SPDX-License-Identifier: MIT */
/*
 * doctor_devices: for each device, whether its driver's binaries can be taken
 * and loaded again, and what that costs: a small program is built twice, in
 * two processes, with the layer and a fresh cache, the drivers' own caches
 * pointed at fresh directories each time. Whether it was a hit the layer's
 * counts say, never the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachecore/disk/root.h"
#include "cachecore/record/totals.h"
#include "layers/shared/driver/drivers.h"
#include "tools/doctor/doctor.h"
#include "tools/memory.h"
#include "tools/text.h"

/* One build of a device's trial. */
struct attempt {
	bool built;
	uint64_t ns;
	char problem[512];	/* "": none */
};

struct trial {
	struct doctor *doctor;
	struct doctor_device *device;
	char *directory;	/* its own, in the scratch */
	char *root;		/* its cache, in that */
	struct cc_totals *counts;	/* of that, after the last attempt */
};

static const char *capture_word(const struct doctor_device *device)
{
	return drv_driver_of(device->library)->capture == CC_CAPTURE_DEFERRED ?
		       "deferred: ckcache replay stores it" : "eager";
}

/* <directory>/<name>, made; NULL: it could not be. */
static char *make_below(const char *directory, const char *name)
{
	char *path = memory_printf("%s/%s", directory, name);

	if (mkdir(path, 0700) == 0)
		return path;
	free(path);
	return NULL;
}

static void read_attempt(const struct doctor_answer *answer, struct attempt *ret)
{
	const size_t size = sizeof(ret->problem);

	*ret = (struct attempt){ .built = answer->built != NULL };
	if (ret->built)
		ret->ns = strtoull(answer->built, NULL, 10);
	/* cut, if at all */
	if (*answer->problem)
		(void)snprintf(ret->problem, size, "a process %s when it asked %s%s", answer->problem,
			       answer->asked ? answer->asked : "anything", answer->words);
	else if (answer->failure)
		(void)snprintf(ret->problem, size, "%s: %s", answer->what, answer->failure);
	else if (!ret->built)
		(void)snprintf(ret->problem, size, "it gave no answer");
}

/* One process; caches: a name for its drivers' caches. false: the doctor is to end. */
static bool attempt(const struct trial *trial, bool layers, const char *caches,
		    struct attempt *ret)
{
	const char *const arguments[] = {
		trial->device->level_zero ? "level-zero-build" : "opencl-build",
		trial->device->indices[0], trial->device->indices[1], NULL,
	};
	char *own = make_below(trial->directory, caches);
	const struct worker_variable variables[] = {
		WORKER_STORES_ALL, { "CKCACHE_DIR", trial->root }, { "CKCACHE_SHARED", "none" },
		{ "CKCACHE_TRACE", NULL }, { "CKCACHE_LOG", "error" }, { "CKCACHE_LOG_FILE", "" },
		DOCTOR_OWN_CACHES(own),
		/* The environment may have brought the layers all the same. */
		{ layers ? NULL : "CKCACHE_DISABLE", "1" }, { 0 },
	};
	struct doctor_answer answer;
	bool done = own && doctor_ask(trial->doctor, own, arguments, variables, layers, &answer);

	if (done) {
		read_attempt(&answer, ret);
		doctor_answer_release(&answer);
	}
	free(own);
	return done;
}

static void fail(struct trial *trial, const char *result, enum doctor_mark mark,
		 const char *advice, const char *why)
{
	trial->device->result = result;
	doctor_say(trial->doctor, mark, advice, "%s: %s", trial->device->label, why);
}

/* A build that failed with the layer: is it the driver's own failure? */
static void blame(struct trial *trial, const struct attempt *with)
{
	struct attempt without;
	char why[1024];

	if (!attempt(trial, false, "blame", &without))
		return;
	if (*without.problem) {
		(void)snprintf(why, sizeof(why), "its driver does not build a small program, with "
			       "or without the cache: %s", without.problem);	/* it fits */
		fail(trial, "driver-fails", DOCTOR_NOTE, "repair or remove the driver", why);
		return;
	}
	(void)snprintf(why, sizeof(why), "its driver builds a small program, but not with the "
		       "cache: %s", with->problem);	/* it fits */
	fail(trial, "fails", DOCTOR_PROBLEM,
	     "report this to the ckcache project; until then, set CKCACHE_DISABLE=1", why);
}

/* Built and not stored: why, in the word that the layer counted. */
static void say_not_stored(struct trial *trial)
{
	const char *reason = trial->counts->bypass_count ? trial->counts->bypasses[0].reason : NULL, *refused;
	char why[256];

	if (cc_root_check(trial->root, CC_ROOT_OWN, &refused) == CMN_ERR_ACCESS) {
		(void)snprintf(why, sizeof(why), "a cache of this user is not used: %s", refused);	/* it fits */
		fail(trial, "not-cached", DOCTOR_PROBLEM, "use ckcache as another user", why);
		return;
	}
	(void)snprintf(why, sizeof(why), "its builds are not cached%s%s",
		       reason ? ": " : "", reason ? reason : "");	/* it fits */
	fail(trial, "not-cached", DOCTOR_PROBLEM,
	     "report this to the ckcache project, with the driver's name and version", why);
}

static void say_times(struct trial *trial)
{
	struct doctor_device *device = trial->device;
	char compile[TEXT_SIZE], capture[TEXT_SIZE], hit[TEXT_SIZE];

	device->result = "hit";
	device->measured = true;
	doctor_ok(trial->doctor, "%s: compiled in %s, loaded again in %s; reading its binary took %s (%s)",
		  device->label, text_time(device->compile_ns, compile), text_time(device->hit_ns, hit),
		  text_time(device->capture_ns, capture), capture_word(device));
}

static void run(struct trial *trial)
{
	static const char *const names[] = { "cold", "warm" };
	struct doctor_device *device = trial->device;
	struct attempt attempts[2];

	for (size_t i = 0; i < 2; i++) {
		if (!attempt(trial, true, names[i], &attempts[i]))
			return;
		free(trial->counts);
		trial->counts = NULL;
		(void)!cc_totals_load(trial->root, &trial->counts);	/* none: zeros */
		(void)memory_of(trial->counts);
		if (!attempts[i].built || (*attempts[i].problem && !trial->counts->counters[CC_STORES])) {
			blame(trial, &attempts[i]);
			return;
		}
		if (!trial->counts->counters[CC_STORES]) {
			say_not_stored(trial);
			return;
		}
	}
	if (!trial->counts->counters[CC_HITS_DISK]) {
		fail(trial, "no-hit", DOCTOR_PROBLEM,
		     "report this to the ckcache project, with the driver's name and version",
		     "the next process does not find what was stored");
		return;
	}
	device->compile_ns = trial->counts->counters[CC_COMPILE_NS_SPENT];
	device->capture_ns = attempts[0].ns > device->compile_ns ? attempts[0].ns - device->compile_ns : 0;
	device->hit_ns = attempts[1].ns;
	say_times(trial);
}

static void try(struct doctor *doctor, size_t i)
{
	struct doctor_device *device = &doctor->devices[i];
	struct trial trial = { .doctor = doctor, .device = device };
	char name[32];

	(void)snprintf(name, sizeof(name), "device-%zu", i);	/* it fits */
	trial.directory = doctor->scratch ? make_below(doctor->scratch, name) : NULL;
	if (trial.directory) {
		trial.root = memory_printf("%s/cache", trial.directory);
		run(&trial);
	} else {
		fail(&trial, "not-tried", DOCTOR_NOTE, "set TMPDIR to a directory with free space",
		     "not tried: cannot create a temporary directory");
	}
	free(trial.counts);
	free(trial.root);
	free(trial.directory);
}

/* Boards of one kind are tried once. */
static bool is_as_another(const struct doctor *doctor, const struct doctor_device *device)
{
	for (const struct doctor_device *other = doctor->devices; other < device; other++) {
		if (other->level_zero == device->level_zero && strcmp(other->label, device->label) == 0)
			return true;
	}
	return false;
}

void doctor_look_at_devices(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->device_count && !doctor->failed; i++) {
		struct doctor_device *device = &doctor->devices[i];

		if (is_as_another(doctor, device)) {
			device->result = "as-another";
		} else if (doctor->quick) {
			doctor_ok(doctor, "%s: not tried (--quick); capture %s", device->label, capture_word(device));
		} else if (doctor->ready) {
			try(doctor, i);
		}
	}
	if (!doctor->ready && !doctor->problem_count)
		doctor_problem(doctor,
			       "install a driver: pocl-opencl-icd runs on any processor, intel-opencl-icd and mesa-opencl-icd on GPUs",
			       "there is no device here to compile for");
}
