/* SPDX-License-Identifier: MIT */
/* sequence: the steps of a build in their order, over a real cache, with a driver that does what a test says. */
#include "layers/shared/sequence/sequence.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/build_lock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

/* One build, and what each step answers. */
struct script {
	struct drv_sequence sequence;	/* first */
	enum drv_outcome outcomes[3];	/* of the driver's calls, in turn */
	bool unkept;			/* the result may not be kept */
	bool key_changes, input_changes;
	enum cmn_status captured;	/* what capture says instead of CMN_OK */
	const char *capture_bypass;	/* and why */
	enum cmn_status attached;
	bool leaves_recipe;		/* of what the driver's own cache had */
	bool looks_in_call;		/* another sequence of the same key, while the driver builds */
	bool untold;			/* there is no memory for what the driver says of a failure */
	bool loads;			/* a library, whereupon another sequence begins, here and in a forked process */
	unsigned long long loaded, loaded_in_child;	/* before which these began */
	bool waited_for;		/* by another process, while the driver builds */
	unsigned int calls, prepared, captures, attaches, keys_asked;
};

static struct cc_cache *cache;
static struct cc_key key;

/* What the sequence does outside of its steps. */
static struct {
	unsigned int begun, ended, dropped;	/* observations */
	const char *unseen;		/* why it is not known what the driver read */
	unsigned long long loaded;	/* libraries, so far */
	char counted[128];		/* a word for each count */
	unsigned int rejected;
	bool goes_on, switched_off;	/* of the last observation */
	unsigned int noted;		/* that the environment may have changed */
	bool environment_changes;
	const struct cc_key *counted_key;	/* of the last build that was not kept */
} world;

WRAPPED(struct drv_observation *, drv_observer_begin, (const struct drv_observer_request *request))
{
	world.goes_on = request->goes_on;
	world.switched_off = request->switched_off;
	world.begun++;
	return (struct drv_observation *)&world;
}

WRAPPED(void, drv_observer_cached_as, (const struct drv_observation *observation, char ret[DRV_CACHED_AS_SIZE]))
{
	(void)observation;
	(void)snprintf(ret, DRV_CACHED_AS_SIZE, "cached");
}

WRAPPED(enum cmn_status, drv_observer_end, (struct drv_observation *observation,
	const struct drv_observer_text *text,
	struct cc_file_memo *memo, struct cc_manifest **ret,
	const char **ret_reason))
{
	CU_ASSERT_STRING_EQUAL(text->options, "-given");
	CU_ASSERT_PTR_NOT_NULL(memo);
	world.ended += observation != NULL;
	*ret_reason = world.unseen ? world.unseen : "files-unseen";
	if (world.unseen || !observation)
		return CMN_MISS;
	*ret = cc_manifest_new();
	return *ret ? CMN_OK : CMN_ERR_NOMEM;
}

WRAPPED(void, drv_observer_drop, (struct drv_observation *observation))
{
	world.dropped += observation != NULL;
}

WRAPPED(struct drv_library_epoch, drv_libraries_epoch, (void))
{
	return (struct drv_library_epoch){ .loaded = world.loaded };
}

WRAPPED(void, drv_environment_note_build, (void))
{
	world.noted++;
}

WRAPPED(bool, drv_environment_holds, (const struct drv_driver *driver))
{
	(void)driver;
	return !world.environment_changes;
}

WRAPPED(bool, drv_libraries_came, (const struct drv_library_epoch *before))
{
	return before->loaded != world.loaded;
}

static void note(const char *what)
{
	size_t len = strlen(world.counted);

	(void)snprintf(world.counted + len, sizeof(world.counted) - len, "%s%s", len ? " " : "", what);
}

WRAPPED(void, cc_cache_count_hit, (struct cc_cache *of, const struct cc_key *with, enum cc_origin origin,
	const struct cc_entry *entry, uint64_t took_ns))
{
	(void)of, (void)with, (void)entry, (void)took_ns;
	note(origin == CC_ORIGIN_MEMORY ? "memory" : "disk");
}

WRAPPED(void, cc_cache_count_miss, (struct cc_cache *of, const struct cc_key *with, uint64_t build_ns))
{
	(void)of, (void)with, (void)build_ns;
	note("miss");
}

WRAPPED(void, cc_cache_count_deferred, (struct cc_cache *of, const struct cc_key *with, uint64_t build_ns))
{
	(void)of, (void)with, (void)build_ns;
	note("deferred");
}

WRAPPED(void, cc_cache_count_unkept, (struct cc_cache *of, const struct cc_unkept_build *build))
{
	(void)of;
	world.counted_key = build->key;
	if (build->failure)
		note(build->failure[0] ? build->failure : "failed somehow");
	if (build->bypass)
		note(build->bypass);
}

WRAPPED(void, cc_cache_reject, (struct cc_cache *of, const struct cc_key *with, const struct cc_entry *entry))
{
	world.rejected++;
	__real_cc_cache_reject(of, with, entry);
}

static bool may_be_kept(struct drv_sequence *sequence, const char **ret_reason)
{
	*ret_reason = "option";
	return !((struct script *)sequence)->unkept;
}

static struct drv_observer_text text(struct drv_sequence *sequence)
{
	(void)sequence;
	return (struct drv_observer_text){ .options = "-given" };
}

static void prepare(struct drv_sequence *sequence)
{
	((struct script *)sequence)->prepared++;
}

static enum cmn_status build_nothing(void *ctx, struct cc_entry **ret)
{
	(void)ret;
	*(bool *)ctx = true;
	return CMN_MISS;
}

/* In the thread that builds: it would wait for itself. */
static void look_in_call(void)
{
	struct cc_entry *entry;
	enum cc_origin origin;
	bool asked = false;

	CU_ASSERT_EQUAL(cc_cache_get_or_build(cache, &key, build_nothing, &asked, &entry, &origin), CMN_MISS);
	CU_ASSERT(asked);
}

static unsigned long long loaded_at_begin(void)
{
	struct drv_sequence sequence = { 0 };

	drv_sequence_begin(&sequence);
	return sequence.epoch.loaded;
}

static void load_in_call(struct script *script)
{
	pid_t child;
	int status;

	world.loaded++;
	script->loaded = loaded_at_begin();
	child = fork();
	if (child == 0)
		_exit((int)loaded_at_begin());
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	script->loaded_in_child = (unsigned long long)WEXITSTATUS(status);
}

static enum drv_outcome call(struct drv_sequence *sequence)
{
	struct script *script = (struct script *)sequence;

	CU_ASSERT_FATAL(script->calls < 3);
	script->waited_for = build_turn_of_another(getenv("CKCACHE_DIR"), cc_key_view(&key), 0) ==
			     CC_BUILD_ALONE;
	if (script->looks_in_call)
		look_in_call();
	if (script->loads)
		load_in_call(script);
	return script->outcomes[script->calls++];
}

static bool key_holds(struct drv_sequence *sequence)
{
	struct script *script = (struct script *)sequence;

	script->keys_asked++;
	return !script->key_changes;
}

static const char *input_changed(struct drv_sequence *sequence)
{
	return ((struct script *)sequence)->input_changes ? "link-input" : NULL;
}

static enum cmn_status capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	struct script *script = (struct script *)sequence;
	struct cc_manifest *manifest = sequence->manifest;

	script->captures++;
	CU_ASSERT_STRING_EQUAL(sequence->cached_as, "cached");
	CU_ASSERT_PTR_NOT_NULL(manifest);
	if (script->captured != CMN_OK) {
		script->sequence.bypass = script->capture_bypass;
		return script->captured;
	}
	sequence->manifest = NULL;
	*ret = cc_entry_new(sequence->build_ns);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*ret);
	if (sequence->outcome == DRV_BUILD_FAILED)
		cc_entry_set_failed(*ret, true, 0);
	cc_entry_add(*ret, CC_TAG_IMAGE, 0, "image", 5);
	return cc_entry_finish(*ret, manifest);
}

static enum cmn_status attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	struct script *script = (struct script *)sequence;
	struct cmn_view image;

	script->attaches++;
	CU_ASSERT(cc_entry_find(entry, CC_TAG_IMAGE, 0, &image));
	return script->attached;
}

static char *failure(const struct drv_sequence *sequence)
{
	CU_ASSERT_NOT_EQUAL(sequence->outcome, DRV_BUILT);
	return ((const struct script *)sequence)->untold ? NULL : strdup("failed");
}

static bool leave_recipe(const struct drv_sequence *sequence)
{
	return ((const struct script *)sequence)->leaves_recipe;
}

static const struct drv_sequence_steps steps = {
	.may_be_kept = may_be_kept, .text = text, .prepare = prepare,
	.call = call, .failure = failure, .key_holds = key_holds, .input_changed = input_changed,
	.capture = capture, .attach = attach, .leave_recipe = leave_recipe,
};

static void end(void)
{
	cc_key_release(&key);
	cc_cache_close(cache);
	cache = NULL;
}

/* With a cache that has nothing, instead of the one that there is. */
static void renew(void)
{
	static unsigned int caches;
	char name[32];

	end();
	(void)snprintf(name, sizeof(name), "build %u", caches++);
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_DIR", unit_path(name), 1), 0);
	CU_ASSERT_EQUAL_FATAL(cc_cache_open(&cache), CMN_OK);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", name);
	memset(&world, 0, sizeof(world));
	world.loaded = 7;
}

/* The same with a setting. */
static void renew_with(const char *name, const char *value)
{
	CU_ASSERT_EQUAL(setenv(name, value, 1), 0);
	renew();
	CU_ASSERT_EQUAL(unsetenv(name), 0);
}

BEFORE_EACH
{
	renew();
}

AFTER_EACH
{
	end();
}

/* Whether it was a hit. Each observation ends once. loads: another library, before the driver is called. */
static bool run_steps(struct script *script, const struct drv_sequence_steps *with, bool loads)
{
	bool hit;

	script->sequence.steps = with;
	script->sequence.cache = cache;
	script->sequence.key = &key;
	world.counted[0] = '\0';
	drv_sequence_begin(&script->sequence);
	world.loaded += loads;
	hit = drv_sequence_run(&script->sequence);
	drv_sequence_release(&script->sequence);
	CU_ASSERT_EQUAL(world.begun, world.ended + world.dropped);
	CU_ASSERT_EQUAL(script->prepared, script->calls);
	return hit;
}

static bool run(struct script *script)
{
	return run_steps(script, &steps, false);
}

/* A word for each count. */
#define EXPECT_COUNTED(words) CU_ASSERT_STRING_EQUAL(world.counted, words)

/* The driver is called so often, and what it makes is captured so often. */
static void expect_built(struct script script, const char *counted, unsigned int calls, unsigned int captures)
{
	CU_ASSERT_FALSE(run(&script));
	EXPECT_COUNTED(counted);
	CU_ASSERT_EQUAL(script.calls, calls);
	CU_ASSERT_EQUAL(script.captures, captures);
}

/* The next sequence finds it. */
static void expect_kept(bool kept)
{
	struct script next = { 0 };

	CU_ASSERT_EQUAL(run(&next), kept);
	CU_ASSERT_EQUAL(next.calls, !kept);
}

TEST(what_was_built_is_a_hit_afterwards)
{
	struct script first = { 0 }, second = { 0 };

	CU_ASSERT_FALSE(run(&first));
	EXPECT_COUNTED("miss");
	CU_ASSERT_EQUAL(first.calls, 1);
	CU_ASSERT_EQUAL(first.keys_asked, 0);
	CU_ASSERT_EQUAL(world.noted, 1);
	CU_ASSERT(run(&second));
	EXPECT_COUNTED("memory");
	CU_ASSERT_EQUAL(second.calls, 0);
	CU_ASSERT_EQUAL(world.begun, 1);
}

TEST(a_look_up_alone_builds_nothing)
{
	struct script script = { .sequence = { .steps = &steps, .cache = cache, .key = &key } };

	drv_sequence_begin(&script.sequence);
	CU_ASSERT_FALSE(drv_sequence_look_up(&script.sequence));
	(void)run(&(struct script){ 0 });
	CU_ASSERT_TRUE(drv_sequence_look_up(&script.sequence));
	EXPECT_COUNTED("miss memory");
	CU_ASSERT_EQUAL(script.calls, 0);
}

TEST(a_refused_entry_is_built_once_and_replaced)
{
	struct script first = { 0 }, refused = { .attached = CMN_ERR_DRIVER };

	(void)run(&first);
	CU_ASSERT_FALSE(run(&refused));
	EXPECT_COUNTED("miss");
	CU_ASSERT_EQUAL(refused.attaches, 1);
	CU_ASSERT_EQUAL(refused.calls, 1);
	CU_ASSERT_EQUAL(world.rejected, 1);
	expect_kept(true);
}

/* Also where nothing takes its place. */
TEST(a_refused_entry_goes)
{
	struct script refused = { .attached = CMN_ERR_DRIVER, .outcomes = { DRV_BUILD_FAILED } };

	(void)run(&(struct script){ 0 });
	CU_ASSERT_FALSE(run(&refused));
	expect_kept(false);
}

TEST(an_entry_of_no_use_here_is_not_refused)
{
	static const enum cmn_status statuses[] = { CMN_MISS, CMN_ERR_NOMEM };

	(void)run(&(struct script){ 0 });
	for (size_t i = 0; i < 2; i++) {
		expect_built((struct script){ .attached = statuses[i], .outcomes = { DRV_ERROR } }, "failed", 1, 0);
		CU_ASSERT_EQUAL(world.rejected, 0);
		expect_kept(true);
	}
}

TEST(out_of_memory_is_tried_again_once)
{
	const struct script again = { .outcomes = { DRV_OUT_OF_MEMORY, DRV_BUILT } };
	struct script refused = again;

	expect_built(again, "miss", 2, 1);
	expect_kept(true);
	/* Whether or not others wait for the build; and without a level to make room in. */
	refused.attached = CMN_ERR_DRIVER;
	expect_built(refused, "miss", 2, 1);
	expect_kept(true);
	renew_with("CKCACHE_IN_MEM", "0");
	expect_built(again, "miss", 2, 1);
	renew();
	expect_built((struct script){ .outcomes = { DRV_OUT_OF_MEMORY, DRV_OUT_OF_MEMORY } }, "failed", 2, 0);
}

/* The driver succeeded: that it could not be captured is no reason to call it again. */
TEST(a_failed_capture_is_not_tried_again)
{
	expect_built((struct script){ .captured = CMN_ERR_NOMEM }, "miss", 1, 1);
	expect_kept(false);
}

TEST(what_may_not_be_kept_is_not_observed)
{
	expect_built((struct script){ .unkept = true, .looks_in_call = true }, "option", 1, 0);
	CU_ASSERT_EQUAL(world.begun, 0);
}

/* A driver that no row knows may read its settings once in the process, whatever it is called for. */
TEST(what_an_unknown_driver_reads_is_always_observed)
{
	const struct drv_sequence of_unknown = { .driver = drv_driver_of("libother.so") };

	CU_ASSERT_FALSE(run(&(struct script){ .sequence = of_unknown, .unkept = true }));
	CU_ASSERT_EQUAL(world.dropped, 1);
	CU_ASSERT_FALSE(run(&(struct script){ .sequence = of_unknown }));
	CU_ASSERT_EQUAL(world.ended, 1);
	CU_ASSERT(run(&(struct script){ .sequence = of_unknown }));
	CU_ASSERT_EQUAL(world.dropped, 2);
	CU_ASSERT(run(&(struct script){ .sequence = { .driver = drv_driver_of("libpocl.so") } }));
	CU_ASSERT_EQUAL(world.begun, 3);
}

TEST(the_observer_is_told_what_it_may_and_when)
{
	(void)run(&(struct script){ .sequence = { .goes_on = true } });
	CU_ASSERT(world.goes_on);
	CU_ASSERT_FALSE(world.switched_off);
	renew_with("CKCACHE_OBSERVE", "0");
	(void)run(&(struct script){ 0 });
	CU_ASSERT_FALSE(world.goes_on);
	CU_ASSERT(world.switched_off);
}

TEST(nobody_waits_for_a_build_without_an_entry)
{
	expect_built((struct script){ .sequence = { .apart = true }, .looks_in_call = true, .captured = CMN_MISS },
		     "miss", 1, 1);
}

/* It is not for what a failed build read that nothing is kept. */
TEST(failures_are_kept_where_they_are_wanted)
{
	const struct script failing = { .outcomes = { DRV_BUILD_FAILED } };
	struct drv_sequence_steps keeping = steps;
	struct script kept = failing, other = failing, error = { .outcomes = { DRV_ERROR } };

	world.unseen = "files-unseen";
	expect_built(failing, "failed", 1, 0);
	world.unseen = NULL;
	keeping.keeps_failures = true;
	CU_ASSERT_FALSE(run_steps(&kept, &keeping, false));
	EXPECT_COUNTED("failed");
	CU_ASSERT_EQUAL(kept.captures, 1);
	CU_ASSERT(run_steps(&other, &keeping, false));
	EXPECT_COUNTED("memory");
	/* Of an error that is none of the program's nothing is. */
	renew();
	CU_ASSERT_FALSE(run_steps(&error, &keeping, false));
	EXPECT_COUNTED("failed");
	CU_ASSERT_EQUAL(error.captures, 0);
}

/* From the gathering of the key on, whatever is loaded in between. */
TEST(a_compiler_that_the_key_lacks_is_noticed)
{
	struct script script = { .key_changes = true };

	CU_ASSERT_FALSE(run_steps(&script, &steps, true));
	EXPECT_COUNTED("compiler-loaded-late");
	CU_ASSERT_EQUAL(script.keys_asked, 1);
	CU_ASSERT_EQUAL(script.captures, 0);
	expect_kept(false);
}

/* What it loaded is in no identity yet. A forked process has no such build, which nothing would end there. */
TEST(what_begins_while_the_driver_builds_lacks_what_came_with_that)
{
	struct script script = { .loads = true, .outcomes = { DRV_OUT_OF_MEMORY, DRV_BUILT } };

	(void)run(&script);
	CU_ASSERT_EQUAL(script.calls, 2);
	CU_ASSERT_EQUAL(script.keys_asked, 1);
	CU_ASSERT_EQUAL(script.loaded, 7);
	CU_ASSERT_EQUAL(script.loaded_in_child, 9);
	CU_ASSERT_EQUAL(loaded_at_begin(), 9);
}

/* What a build that is not kept loaded is in the keys of those after it. */
TEST(libraries_count_whatever_became_of_the_build)
{
	struct script scripts[] = {
		{ .outcomes = { DRV_BUILD_FAILED } }, { .outcomes = { DRV_ERROR } },
		{ .unkept = true }, { .unkept = false },
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		renew();
		world.unseen = "files-unseen";
		(void)run_steps(&scripts[i], &steps, true);
		CU_ASSERT_EQUAL(scripts[i].keys_asked, 1);
	}
}

/* Not kept, but done anew later; not if the key is another one by now. */
TEST(what_the_drivers_own_cache_had_leaves_a_recipe)
{
	static const struct {
		bool leaves_recipe, environment_changes;
		const char *counted;
	} cases[] = {
		{ true, false, "deferred" }, { false, false, "driver-cached" },
		{ true, true, "environment-changed" },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		renew();
		world.environment_changes = cases[i].environment_changes;
		world.unseen = "driver-cached";
		expect_built((struct script){ .leaves_recipe = cases[i].leaves_recipe }, cases[i].counted, 1, 0);
		world.unseen = NULL;
		expect_kept(false);
	}
}

/* As of pocl, which compiles only then. */
TEST(what_the_drivers_own_cache_had_of_the_binary_leaves_a_recipe)
{
	for (unsigned int i = 0; i < 2; i++) {
		renew();
		expect_built((struct script){ .captured = CMN_MISS, .capture_bypass = "driver-cached",
					      .leaves_recipe = i }, i ? "deferred" : "driver-cached", 1, 1);
		expect_kept(false);
	}
}

TEST(the_first_reason_is_told)
{
	static const char *const reasons[] = { "files-unseen", "compiler-loaded-late",
					       "environment-changed", "link-input" };

	for (unsigned int i = 0; i < 4; i++) {
		struct script script = { .key_changes = i <= 1, .input_changes = true };

		renew();
		world.environment_changes = i <= 2;
		world.unseen = i == 0 ? "files-unseen" : NULL;
		CU_ASSERT_FALSE(run_steps(&script, &steps, true));
		EXPECT_COUNTED(reasons[i]);
		CU_ASSERT_EQUAL(script.captures, 0);
	}
}

TEST(other_processes_wait_for_what_may_be_kept_alone)
{
	struct script kept = { 0 }, apart = { .sequence = { .apart = true } }, unkept = { .unkept = true };

	(void)run(&apart);
	CU_ASSERT_FALSE(apart.waited_for);
	(void)run(&unkept);
	CU_ASSERT_FALSE(unkept.waited_for);
	renew();
	(void)run(&kept);
	CU_ASSERT_TRUE(kept.waited_for);
}

/* The line that matters, in one line: what went wrong before where. */
TEST(a_failures_words_are_one_line)
{
	static const char *const rows[][2] = {
		{ "", "BAD" }, { "one\ntwo\n", "BAD: one" }, { "\n \n\tthree \n", "BAD: three" },
		{ "a warning\nx.cl:3:1: error: no 'y'\n\n", "BAD: error: no 'y' (x.cl:3:1)" },
		{ "note\nmore\n  error: no 'y'", "BAD: error: no 'y'" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *said = drv_failure_text("BAD", cmn_view_of(rows[i][0]));

		CU_ASSERT_STRING_EQUAL(said, rows[i][1]);
		free(said);
	}
}

static const char *recipes_name;	/* by which the driver's cache has the program */

WRAPPED(bool, cc_cache_put_recipe, (struct cc_cache *to, const struct cc_recipe *recipe))
{
	const char *name = cc_recipe_cached_as(recipe);

	CU_ASSERT_PTR_EQUAL(to, cache);
	CU_ASSERT_STRING_EQUAL(name ? name : "none", recipes_name);
	return true;
}

TEST(a_recipe_names_what_the_drivers_cache_has_once)
{
	struct drv_sequence sequence = { .cache = cache, .key = &key, .cached_as = "a" };

	recipes_name = "a";
	CU_ASSERT_TRUE(drv_build_recipe_put(&sequence, NULL, (struct cmn_view){ 0 }));
	memcpy(sequence.cached_as, "\0b", 3);
	recipes_name = "none";
	CU_ASSERT_TRUE(drv_build_recipe_put(&sequence, NULL, (struct cmn_view){ 0 }));
}

TEST(a_failure_without_words_is_one)
{
	expect_built((struct script){ .outcomes = { DRV_BUILD_FAILED }, .untold = true }, "failed somehow", 1, 0);
	CU_ASSERT_PTR_EQUAL(world.counted_key, &key);
}

TEST(a_build_without_a_key_is_counted_without_one)
{
	/* Nor is it asked for another reason. */
	struct script script = { .sequence = { .steps = &steps, .bypass = "early", .key = &key, .cache = cache },
				 .unkept = true };

	CU_ASSERT_FALSE(drv_sequence_may_be_kept(&script.sequence));
	drv_sequence_run_without_key(&script.sequence, (struct cmn_view){ 0 });
	EXPECT_COUNTED("early");
	CU_ASSERT_PTR_NULL(world.counted_key);
}

/* The driver builds on: what became of it is not known. */
TEST(what_goes_on_without_a_key_has_not_failed_yet)
{
	struct script script = { .sequence = { .steps = &steps, .bypass = "early", .goes_on = true, .cache = cache },
				 .outcomes = { DRV_BUILD_FAILED } };

	drv_sequence_run_without_key(&script.sequence, (struct cmn_view){ 0 });
	EXPECT_COUNTED("early");
	CU_ASSERT_EQUAL(script.prepared, 1);
	CU_ASSERT_EQUAL(script.calls, 1);
	CU_ASSERT_EQUAL(script.sequence.build_ns, 0);
}

TEST(what_the_driver_alone_decides_is_not_counted)
{
	struct script script = { .sequence = { .steps = &steps, .cache = cache }, .outcomes = { DRV_ERROR } };

	drv_sequence_run_without_key(&script.sequence, (struct cmn_view){ 0 });
	EXPECT_COUNTED("");
	CU_ASSERT_EQUAL(script.prepared, 1);
	CU_ASSERT_EQUAL(script.calls, 1);
}
