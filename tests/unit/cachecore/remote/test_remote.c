/* SPDX-License-Identifier: MIT */
/* remote: what is asked and when, whose entries are used, and when the tier is left alone. Time is the test's. */
#include "cachecore/remote/remote.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "cachecore/remote/helper.h"
#include "cachecore/remote/uploads.h"
#include "common/file.h"
#include "tests/support/clock.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"
#include "tests/unit/cachecore/remote/fake_helper.h"
#include "tests/unit/cachecore/remote/values.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define BEGIN (100000 * S)
#define EPOCH (UINT64_C(1700000000) * S)

/* A clock that moves when somebody waits, or when the helper says so. */
static atomic_uint_least64_t passed_ns;
static atomic_uint_least64_t later_ns, jump_ns;	/* of the day's time alone: it jumps while a value comes */
uint64_t test_clock(clockid_t id)
{
	if (id == CLOCK_MONOTONIC)
		return BEGIN + atomic_load(&passed_ns);
	return id == CLOCK_REALTIME ? EPOCH + atomic_load(&passed_ns) + atomic_load(&later_ns) : machine_clock(id);
}

WRAPPED(int, nanosleep, (const struct timespec *pause, struct timespec *rest))
{
	(void)rest;
	atomic_fetch_add(&passed_ns, (uint64_t)pause->tv_sec * S + (uint64_t)pause->tv_nsec);
	return 0;
}

/* Of a helper that will never answer the time is over as soon as it has heard the request. */
static atomic_bool is_silent, has_heard;
/* One that answers may take its time on a busy machine; where it is late already, this is set. */
static atomic_bool is_patient;
/* So much longer a wait takes. */
static atomic_uint_least64_t still_ns;
WRAPPED(int, ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask))
{
	const struct timespec shorter = { 0, 1000000 }, longer = { 60, 0 };
	bool silent = atomic_load(&is_silent), is_over = !timeout->tv_sec && !timeout->tv_nsec;
	bool shortens = silent && !is_over, lengthens = !silent && (!is_over || atomic_load(&is_patient));
	int ready;

	do {
		ready = __real_ppoll(fds, count, shortens ? &shorter : lengthens ? &longer : timeout, mask);
	} while (ready == 0 && shortens && !atomic_exchange(&has_heard, false));
	if (ready == 0)
		(void)__wrap_nanosleep(timeout, NULL);
	if (ready == 0 && shortens)
		atomic_fetch_add(&passed_ns, atomic_load(&still_ns));
	return ready;
}

WRAPPED(enum cmn_status, cc_helper_read, (struct cc_helper *helper, size_t len, struct cmn_buffer *ret))
{
	/* Its header has been looked at. */
	if (len != CC_SEAL_HEADER_SIZE)
		atomic_fetch_add(&later_ns, atomic_load(&jump_ns));
	return __real_cc_helper_read(helper, len, ret);
}

static bool is_privileged;
WRAPPED(unsigned long, getauxval, (unsigned long type))
{
	return type == AT_SECURE && is_privileged ? 1 : __real_getauxval(type);
}

static bool no_sodium;
WRAPPED(void *, dlopen, (const char *name, int flags))
{
	return no_sodium && strstr(name, "sodium") ? NULL : __real_dlopen(name, flags);
}

static bool is_remote;
WRAPPED(bool, cmn_file_is_remote, (int fd))
{
	return is_remote || __real_cmn_file_is_remote(fd);
}

static bool cannot_publish;
WRAPPED(enum cmn_status, cmn_file_publish, (int dir_fd, const char *name, const struct cmn_view *views, size_t count))
{
	return cannot_publish ? CMN_ERR_NOSPACE : __real_cmn_file_publish(dir_fd, name, views, count);
}

/* What fstat says of a directory's size; 0: the truth. */
static off_t directory_size;
WRAPPED(int, fstat, (int fd, struct stat *info))
{
	int result = __real_fstat(fd, info);

	if (result == 0 && directory_size && S_ISDIR(info->st_mode))
		info->st_size = directory_size;
	return result;
}

static bool no_room;
WRAPPED(void *, realloc, (void *memory, size_t size))
{
	return no_room ? NULL : __real_realloc(memory, size);
}

static size_t callocs_left;
WRAPPED(void *, calloc, (size_t count, size_t size))
{
	return callocs_left && !--callocs_left ? NULL : __real_calloc(count, size);
}

/* What is started, which is nothing but, where the test wants it, the fake. */
static struct {
	unsigned int count;
	enum cmn_status answer;
	char arguments[4500];	/* each with a blank before it */
	int kept_fd;		/* a copy; -1: none */
	bool begins_fake;
} starts;

/* What has been started ends, and its locks with it. */
static void end_started(void)
{
	if (starts.kept_fd >= 0)
		(void)close(starts.kept_fd);
	starts.kept_fd = -1;
}

/* The helper. */
static struct tier {
	struct cmn_buffer value;	/* of every key; empty: there is none */
	unsigned int others;	/* so many claims are another's; then there is a value, or the caller's is taken */
	const char *error;	/* what it says instead of an answer */
	const char *claims_error;	/* the same, where a claim is asked for */
	/* It goes away before it says anything, where a claim is asked for, or when nobody else has it. */
	atomic_bool ends, ends_at_claims, ends_after_others;
	bool hushes_after_others;	/* then it never answers again */
	const char *greeting;
	size_t greeting_len;
	uint64_t takes_ns, greeting_takes_ns;	/* of an answer, and of the greeting */
	uint64_t announced;	/* the length of the value, as it says; 0: the true one */
	size_t missing;		/* so much of the value does not come: it goes away */
	atomic_uint gets, claims, releases, others_left;
	uint64_t ttl_ms;
	char name[256];		/* of the key that was asked for last */
} tier;

static struct fake fake;
static bool runs;
static pthread_mutex_t answering = PTHREAD_MUTEX_INITIALIZER;	/* the value is used */

/* Whether the connection goes on. */
static bool answer(int fd, uint8_t request)
{
	uint64_t len = tier.announced ? tier.announced : tier.value.len;
	uint8_t claimed[2] = { 1, 0 };
	const char *error = request == 0x80 && tier.claims_error ? tier.claims_error : tier.error;

	atomic_fetch_add(&passed_ns, tier.takes_ns);
	if (request == 0x80 && tier.ends_at_claims)
		return false;
	if (error) {
		const uint8_t head[2] = { 2, (uint8_t)strlen(error) };

		return fake_write(fd, head, 2) && fake_write(fd, error, head[1]);
	}
	if (request == 0x80 && atomic_load(&tier.others_left)) {
		if (atomic_fetch_sub(&tier.others_left, 1) == 1 && tier.hushes_after_others)
			atomic_store(&is_silent, true);
		return fake_write(fd, claimed, 2);
	}
	if (request == 0x80 && tier.ends_after_others)
		return false;
	if (request != 0x81 && len)
		return fake_write(fd, "", 1) && fake_write(fd, &len, 8) &&
		       fake_write(fd, tier.value.data, tier.value.len - tier.missing) &&
		       !tier.missing;
	claimed[1] = 1;
	return fake_write(fd, request == 0x81 ? "" : (const char *)claimed, request == 0x80 ? 2 : 1);
}

static void serve(struct fake *me, int fd)
{
	uint8_t head[2];
	bool goes_on;

	(void)me;
	atomic_fetch_add(&passed_ns, tier.greeting_takes_ns);
	if (tier.ends || !fake_write(fd, tier.greeting, tier.greeting_len))
		return;
	while (fake_read(fd, head, 2) && fake_read(fd, tier.name, head[1])) {
		tier.name[head[1]] = '\0';
		atomic_fetch_add(head[0] == 0 ? &tier.gets : head[0] == 0x80 ? &tier.claims : &tier.releases, 1);
		if (head[0] == 0x80 && !fake_read(fd, &tier.ttl_ms, 8))
			return;
		if (atomic_load(&is_silent)) {
			atomic_store(&has_heard, true);
			fake_await_end(fd);
			return;
		}
		(void)pthread_mutex_lock(&answering);
		goes_on = answer(fd, head[0]);
		(void)pthread_mutex_unlock(&answering);
		if (!goes_on)
			return;
	}
}

static unsigned int requests(void)
{
	return atomic_load(&tier.gets) + atomic_load(&tier.claims) + atomic_load(&tier.releases);
}

WRAPPED(enum cmn_status, cmn_spawn_detached, (const char *path, char *const argv[], char *const envp[], int keep_fd))
{
	size_t len = 0;

	(void)path;
	CU_ASSERT_PTR_NOT_NULL(envp);
	starts.count++;
	starts.arguments[0] = '\0';
	for (size_t i = 1; argv[i]; i++)
		len += (size_t)snprintf(starts.arguments + len, sizeof(starts.arguments) - len, " %s", argv[i]);
	end_started();
	starts.kept_fd = starts.answer == CMN_OK ? fcntl(keep_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (starts.begins_fake) {
		fake_start(&fake, argv[2], serve, NULL);
		runs = true;
	}
	return starts.answer;
}

static char messages[4096];
static unsigned int complaints;
static void note(void *ctx, enum cmn_log_level level, const char *message)
{
	size_t len = strlen(messages);

	(void)ctx;
	(void)level;
	complaints++;
	(void)snprintf(messages + len, sizeof(messages) - len, "%s\n", message);
}

static struct cmn_log log_of_test = { .level = CMN_LOG_WARNING, .sink = note };
static struct cc_config config;
static char *setting(const char *text)
{
	return (char *)(uintptr_t)text;	/* nobody changes it */
}

static char *trusted[2];
static char trusted_file[4200], root[4200];
static struct cc_remote *remote, *other;		/* another process's, where the test has one */

BEFORE_EACH
{
	(void)snprintf(trusted_file, sizeof(trusted_file), "%s/keys/trusted", unit_dir());
	(void)snprintf(root, sizeof(root), "%s/root", unit_dir());
	unit_write("keys/trusted", VALUES_LINE_ONE " until 2020-01-01\n" VALUES_LINE_TWO "\n");
	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	CU_ASSERT_EQUAL(setenv("XDG_RUNTIME_DIR", unit_path("run"), 1), 0);
	messages[0] = '\0';
	complaints = 0;
	trusted[0] = trusted_file;
	config = (struct cc_config){ .remote = setting("redis://host"), .remote_trust = trusted,
				     .remote_key = setting("/a/key"), .build_wait = 3600 };
	memset(&tier, 0, sizeof(tier));
	tier.greeting = "\1\3\0\1\x80";
	tier.greeting_len = 5;
	starts.count = 0;
	starts.answer = CMN_MISS;
	starts.kept_fd = -1;
	starts.begins_fake = false;
	atomic_store(&passed_ns, 0);
	remote = other = NULL;
	runs = false;
}

static void stop(void)
{
	if (runs)
		fake_stop(&fake);
	runs = false;
}

AFTER_EACH
{
	cc_remote_free(remote);
	cc_remote_free(other);
	stop();
	cmn_buffer_release(&tier.value);
	end_started();
	is_privileged = is_remote = no_room = cannot_publish = false;
	log_of_test.level = CMN_LOG_WARNING;
	directory_size = 0;
	atomic_store(&is_patient, false);
	callocs_left = 0;
	atomic_store(&is_silent, false);
	atomic_store(&still_ns, 0);
	values_build_ns = 1000;
	atomic_store(&later_ns, 0);
	atomic_store(&jump_ns, 0);
}

static struct cc_remote *open_remote(void)
{
	struct cc_remote *ret = NULL;

	CU_ASSERT_EQUAL_FATAL(cc_remote_new(&config, &log_of_test, &ret), CMN_OK);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ret);
	return ret;
}

static void find_socket(char ret[CC_NODE_SOCKET_SIZE])
{
	char path[CC_NODE_DIR_SIZE];
	OWNED(cc_remote_setup_release) struct cc_remote_setup setup;
	const char *problem;
	int fd;

	CU_ASSERT_EQUAL_FATAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_OK);
	fd = cc_node_open(&setup.node, path);
	CU_ASSERT_FATAL(fd >= 0);
	cc_node_socket(&setup.node, path, ret);
	CU_ASSERT_EQUAL(close(fd), 0);
}

static void run_helper(void)
{
	char socket[CC_NODE_SOCKET_SIZE];

	find_socket(socket);
	fake_start(&fake, socket, serve, NULL);
	runs = true;
}

/* The helper runs, and remote is open. */
static void begin(void)
{
	atomic_store(&tier.others_left, tier.others);
	run_helper();
	remote = open_remote();
}

static void begin_two(void)
{
	begin();
	other = open_remote();
}

static void end(void)
{
	stop();
	cc_remote_free(remote);
	remote = NULL;
}

static void end_two(void)
{
	cc_remote_free(other);
	other = NULL;
	end();
}

/* As a process that begins. */
static void reopen(void)
{
	cc_remote_free(remote);
	remote = open_remote();
}

/* What the last look-up came across. */
static _Thread_local struct cc_remote_report report;

/* Whether the entry of "-O1" is found, which must be right. */
static bool finds_by(struct cc_remote *by, bool *ret_claimed)
{
	struct cc_entry *entry = NULL;
	struct cmn_view image = { 0 };
	enum cmn_status status;
	struct cc_key key;

	values_make_key(&key, "-O1");
	report.event = CC_REMOTE_USED + 100;
	status = cc_remote_get(by, &key, NULL, &entry, ret_claimed, &report);
	cc_key_release(&key);
	CU_ASSERT(status == CMN_OK || status == CMN_MISS);
	CU_ASSERT_EQUAL(!entry, status != CMN_OK);
	CU_ASSERT_EQUAL(report.event == CC_REMOTE_USED, status == CMN_OK);
	CU_ASSERT(report.event <= CC_REMOTE_AWAY);
	if (!entry)
		return false;
	CU_ASSERT(cc_entry_find(entry, CC_TAG_IMAGE, 0, &image));
	CU_ASSERT(cmn_view_equal(image, cmn_view_of("image")));
	CU_ASSERT(entry->remote);
	cc_entry_unref(entry);
	return true;
}

/* A look-up finds nothing, and what it finds out about a claim. */
static void check_miss(bool claims)
{
	bool claimed = !claims;

	CU_ASSERT_FALSE(finds_by(remote, &claimed));
	CU_ASSERT_EQUAL(claimed, claims);
}

static bool finds(void)
{
	return finds_by(remote, NULL);
}

/* The same, where a claim is asked for if there is nothing. */
static bool finds_or_claims(struct cc_remote *by)
{
	bool claimed = true;
	bool ret = finds_by(by, &claimed);

	CU_ASSERT_FALSE(ret && claimed);
	return ret;
}

/* Whether a look-up, which finds nothing, asks. */
static bool asks_by(struct cc_remote *by)
{
	unsigned int before = requests();

	CU_ASSERT_FALSE(finds_by(by, NULL));
	return requests() > before;
}

static bool asks(void)
{
	return asks_by(remote);
}

/* A look-up asks, finds nothing, and comes across that; text: what the report says, or NULL. */
#define CHECK_ASKS(expected, text_expected) \
	do { \
		const char *words = text_expected; \
\
		CU_ASSERT(asks()); \
		CU_ASSERT_EQUAL(report.event, expected); \
		if (words) \
			CU_ASSERT_STRING_EQUAL(report.text, words); \
	} while (0)

static struct cmn_buffer make_value(bool is_signed, enum who signer, enum who named)
{
	return values_make(values_make_files("-O1", "image", NULL), is_signed, signer, named);
}

static void has_value(struct cmn_buffer value)
{
	(void)pthread_mutex_lock(&answering);
	cmn_buffer_release(&tier.value);
	tier.value = value;
	(void)pthread_mutex_unlock(&answering);
}

static void begin_with(struct cmn_buffer value)
{
	has_value(value);
	begin();
}

/* In a child, as it is remembered that libsodium is missing. The first test, before anything has loaded it. */
TEST(without_libsodium_there_is_no_tier_with_keys)
{
	struct cc_remote_setup setup;
	const char *problem = "";
	int status;
	pid_t child = fork();

	if (child == 0) {
		no_sodium = true;
		status = cc_remote_setup(&config, NULL, &setup, &problem) == CMN_ERR_INVALID &&
			 strstr(problem, "libsodium") && !setup.trust && !setup.address.url;
		/* Who names keys that do not count wants signatures all the same. */
		unit_write("keys/trusted", "");
		config.remote = setting("file:/directory");
		status = status && cc_remote_setup(&config, NULL, &setup, &problem) == CMN_ERR_ACCESS;
		_exit(status ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
}

/* How often a helper has been started, after a look-up that finds nothing. */
static unsigned int starts_after_a_miss(void)
{
	CU_ASSERT_FALSE(finds());
	return starts.count;
}

TEST(what_a_trusted_key_has_signed_is_found)
{
	char name[CC_REMOTE_NAME_SIZE];
	struct cc_key key;

	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT(finds());
	CU_ASSERT_STRING_EQUAL(report.text, "two");
	CU_ASSERT_EQUAL(requests(), 1);
	CU_ASSERT_EQUAL(atomic_load(&tier.gets), 1);
	values_make_key(&key, "-O1");
	cc_remote_name(cc_key_view(&key), name);
	cc_key_release(&key);
	CU_ASSERT_STRING_EQUAL(tier.name, name);
	CU_ASSERT_EQUAL(starts.count, 0);
	CU_ASSERT_EQUAL(complaints, 0);
}

TEST(what_is_not_there_is_a_miss)
{
	bool claimed = true;

	begin();
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_EQUAL(requests(), 1);
	CU_ASSERT_FALSE(finds_by(NULL, &claimed));
	CU_ASSERT_FALSE(claimed);
	CU_ASSERT_EQUAL(complaints, 0);
}

/* A tier that is asked with a claim, or without. */
static void check_asked(bool with_claim)
{
	unsigned int gets, claims;

	begin();
	gets = atomic_load(&tier.gets);
	claims = atomic_load(&tier.claims);
	check_miss(with_claim);
	CU_ASSERT_EQUAL(atomic_load(&tier.claims) - claims, with_claim);
	CU_ASSERT_EQUAL(atomic_load(&tier.gets) - gets, !with_claim);
	end();
}

TEST(only_who_will_upload_claims)
{
	check_asked(true);
	config.read_only = true;
	check_asked(false);
	config.read_only = false;
	config.remote = setting("redis://host read-only=true");
	check_asked(false);
	config.remote = setting("redis://host");
	config.remote_key = NULL;
	check_asked(false);
	config.remote_key = setting("/a/key");
	tier.greeting = "\1\1\0";
	tier.greeting_len = 3;
	check_asked(false);
}

TEST(who_may_not_claim_asks_without)
{
	tier.claims_error = "this user only reads";
	begin();
	check_miss(false);
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_NOTHING);
	CU_ASSERT(atomic_load(&tier.claims) == 1 && atomic_load(&tier.gets) == 1);
	has_value(make_value(true, TWO, TWO));
	CU_ASSERT(finds_or_claims(remote));
	CU_ASSERT(atomic_load(&tier.claims) == 1 && atomic_load(&tier.gets) == 2);
	CU_ASSERT_EQUAL(complaints, 0);
}

TEST(a_server_that_answers_nothing_has_not_refused_a_claim)
{
	tier.error = "out of order";
	begin();
	check_miss(false);
	CU_ASSERT(atomic_load(&tier.claims) == 1 && atomic_load(&tier.gets) == 1);
	tier.error = NULL;
	check_miss(true);
	CU_ASSERT(atomic_load(&tier.claims) == 2 && atomic_load(&tier.gets) == 1);
}

TEST(who_goes_away_has_not_refused_a_claim)
{
	tier.ends_at_claims = true;
	begin();
	check_miss(false);
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_NOTHING);
	check_miss(false);
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_AWAY);
	atomic_fetch_add(&passed_ns, 61 * S);
	tier.ends_at_claims = false;
	check_miss(true);
	CU_ASSERT_EQUAL(atomic_load(&tier.claims), 3);
}

TEST(a_claim_lasts_as_long_as_some_compiles)
{
	static const struct {
		uint64_t build_ns, ttl_ms;
	} cases[] = { { 10 * MS, 2000 }, { 500 * MS, 2000 }, { S, 4000 }, { 10 * S, 40000 },
		      { 15 * S, 60000 }, { 1000 * S, 60000 } };

	begin();
	check_miss(true);
	CU_ASSERT_EQUAL(tier.ttl_ms, 4000);	/* of a program that nothing is known of */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		reopen();
		cc_remote_note_build(remote, cases[i].build_ns);
		check_miss(true);
		CU_ASSERT_EQUAL(tier.ttl_ms, cases[i].ttl_ms);
	}
	/* The mean. */
	reopen();
	cc_remote_note_build(remote, 4 * S);
	cc_remote_note_build(remote, 2 * S);
	check_miss(true);
	CU_ASSERT_EQUAL(tier.ttl_ms, 12000);
	cc_remote_note_build(NULL, S);
}

TEST(earlier_processes_compiles_are_known)
{
	unit_write("root/stats.txt", "log_id 0\nday 19000 0 0 99 0 99000000000 0 0 0\n"
		   "program another 19000 0 0 10 0 10000000000 0 0 0\n"
		   "program test_remote 19000 5 6 10 7 70000000000 8 0 0\n"
		   "others 0 0 10 0 10000000000 0 0 0\n");
	config.dir = root;
	begin();
	check_miss(true);
	CU_ASSERT_EQUAL(tier.ttl_ms, 28000);
	cc_remote_note_build(remote, 18 * S);
	check_miss(true);
	CU_ASSERT_EQUAL(tier.ttl_ms, 32000);
}

TEST(anothers_build_is_waited_for)
{
	tier.others = 5;
	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT(finds_or_claims(remote));
	CU_ASSERT_EQUAL(atomic_load(&tier.claims), 6);
	CU_ASSERT(atomic_load(&passed_ns) > 20 * MS && atomic_load(&passed_ns) < 200 * MS);
	CU_ASSERT_EQUAL(atomic_load(&fake.connections), 1);
}

TEST(what_another_gives_up_is_the_callers)
{
	tier.others = 3;
	begin();
	check_miss(true);
	CU_ASSERT_EQUAL(atomic_load(&tier.claims), 4);
}

/* Waits for another's claim that never ends; what it took. */
static uint64_t wait_in_vain(uint64_t build_ns, uint64_t build_wait)
{
	uint64_t start;

	config.build_wait = build_wait;
	tier.others = 100000;
	atomic_fetch_add(&passed_ns, 2 * 3601 * S);	/* what was waited for before is forgotten */
	begin();
	cc_remote_note_build(remote, build_ns);
	start = atomic_load(&passed_ns);
	check_miss(false);
	end();
	return atomic_load(&passed_ns) - start;
}

TEST(anothers_build_is_not_waited_for_without_end)
{
	uint64_t took = wait_in_vain(S, 3600);

	CU_ASSERT(took >= 4 * S && took < 4 * S + 50 * MS);
	CU_ASSERT_STRING_EQUAL(report.text, "another machine's compile did not come");
	/* Not more often than need be. */
	CU_ASSERT(atomic_load(&tier.claims) < 40);
	atomic_store(&tier.claims, 0);
	took = wait_in_vain(100 * S, 3600);
	CU_ASSERT(took >= 60 * S && took < 60 * S + 50 * MS);
	CU_ASSERT(atomic_load(&tier.claims) > 150);
	took = wait_in_vain(100 * S, 2);
	CU_ASSERT(took >= 2 * S && took < 2 * S + 50 * MS);
	atomic_store(&tier.claims, 0);
	CU_ASSERT_EQUAL(wait_in_vain(100 * S, 0), 0);
	CU_ASSERT_EQUAL(atomic_load(&tier.claims), 1);
	CU_ASSERT_EQUAL(complaints, 0);
}

/* Whoever answers that another machine builds it: that costs a node one wait a minute, not each process. */
TEST(what_one_waited_for_in_vain_others_do_not_wait_for)
{
	bool claimed = true;
	uint64_t start;

	CU_ASSERT(wait_in_vain(S, 3600) >= 4 * S);
	tier.others = 100000;
	begin_two();
	start = atomic_load(&passed_ns);
	atomic_store(&tier.claims, 0);
	CU_ASSERT_FALSE(finds_by(other, &claimed));
	CU_ASSERT_FALSE(claimed);
	CU_ASSERT_EQUAL(atomic_load(&tier.claims), 1);	/* it asks */
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), start);
	atomic_fetch_add(&passed_ns, 61 * S);
	start = atomic_load(&passed_ns);
	CU_ASSERT_FALSE(finds_or_claims(other));
	CU_ASSERT(atomic_load(&passed_ns) - start >= 4 * S);
}

/* Whether the other process waits for another machine's build, which never comes. */
static bool other_waits(void)
{
	uint64_t start = atomic_load(&passed_ns);

	atomic_store(&tier.others_left, 100000);
	has_value((struct cmn_buffer){ 0 });
	CU_ASSERT_FALSE(finds_or_claims(other));
	return atomic_load(&passed_ns) - start >= 2 * S;
}

/* It is in vain, too, if what comes is nobody's whom we trust. */
TEST(a_wait_for_what_is_refused_is_in_vain)
{
	for (int known = 0; known < 2; known++) {
		atomic_fetch_add(&passed_ns, 2 * 3601 * S);
		tier.others = 5;
		has_value(make_value(true, TWO, known ? TWO : NOBODY));
		begin_two();
		CU_ASSERT_EQUAL(finds_or_claims(remote), known);
		CU_ASSERT_EQUAL(other_waits(), known);
		end_two();
	}
}

TEST(a_wait_that_was_worth_it_makes_the_next_pause_short)
{
	for (int well = 0; well < 2; well++) {
		CU_ASSERT(wait_in_vain(S, 3600) >= 4 * S);
		atomic_fetch_add(&passed_ns, 61 * S);
		if (well) {
			tier.others = 5;
			begin_with(make_value(true, TWO, TWO));
			CU_ASSERT(finds_or_claims(remote));
			end();
		}
		begin_two();
		CU_ASSERT(other_waits());
		atomic_fetch_add(&passed_ns, 61 * S);
		CU_ASSERT_EQUAL(other_waits(), well);
		end_two();
	}
}

/* Whatever was late before: each request has its time. */
TEST(who_was_late_before_a_wait_does_not_wait_without_end)
{
	tier.greeting_takes_ns = 600 * MS;	/* and yet it comes */
	tier.others = 1;
	tier.hushes_after_others = true;
	atomic_store(&is_patient, true);
	begin();
	check_miss(false);
	CU_ASSERT_EQUAL(atomic_load(&tier.claims), 2);
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), 600 * MS + 5 * MS + 500 * MS);
}

/* An entry that is not used, with what is said once. */
static void check_refused(struct cmn_buffer value, const char *reason)
{
	has_value(value);
	messages[0] = '\0';
	complaints = 0;
	begin();
	for (unsigned int i = 1; i <= 3; i++) {
		CU_ASSERT(asks());
		check_miss(false);
		/* What is said once is reported each time. */
		CU_ASSERT_EQUAL(report.event, CC_REMOTE_REFUSED);
		CU_ASSERT_PTR_NOT_NULL(strstr(report.text, reason));
		CU_ASSERT(report.text[0] != '\0');
	}
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "is not used: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, reason));
	end();
}

TEST(what_no_trusted_key_has_signed_is_not_used)
{
	struct cmn_buffer value = make_value(true, TWO, TWO);

	value.data[value.len - 1] ^= 1;
	check_refused(value, cc_remote_refusal_string(CC_REMOTE_WRONG_SIGNATURE));
	check_refused(make_value(false, TWO, TWO), cc_remote_refusal_string(CC_REMOTE_NOT_SIGNED));
	check_refused(make_value(true, NOBODY, NOBODY), cc_remote_refusal_string(CC_REMOTE_UNKNOWN_KEY));
	check_refused(make_value(true, NOBODY, TWO), cc_remote_refusal_string(CC_REMOTE_WRONG_SIGNATURE));
	check_refused(make_value(true, ONE, ONE), cc_remote_refusal_string(CC_REMOTE_EXPIRED_KEY));
	check_refused(values_make(values_make_files("-O2", "image", NULL), true, TWO, TWO), "");
	value = make_value(true, TWO, TWO);
	value.len--;
	check_refused(value, "");
}

TEST(what_is_refused_costs_its_time)
{
	has_value(make_value(false, TWO, TWO));
	tier.takes_ns = 480 * MS;
	begin();
	CHECK_ASKS(CC_REMOTE_REFUSED, NULL);
	CU_ASSERT_FALSE(asks());
}

TEST(what_is_no_value_is_not_used)
{
	static const size_t lens[] = { 1, CC_SEAL_HEADER_SIZE - 1, CC_SEAL_HEADER_SIZE, 0 };
	struct cmn_buffer value;

	for (size_t at = 0; at < 4; at++) {
		value = make_value(true, TWO, TWO);
		value.len = lens[at] ? lens[at] : value.len - 1;
		check_refused(value, "");
	}
	for (size_t at = 0; at < 32; at += 8) {
		value = make_value(true, TWO, TWO);
		value.data[at] ^= 1;
		check_refused(value, "");
	}
	/* It is not waited for, nor is there memory for it. */
	tier.announced = CC_ADDRESS_MAX_VALUE + 1;
	check_refused(make_value(true, TWO, TWO), "no possible length");
	tier.announced = UINT64_MAX;
	check_refused(make_value(true, TWO, TWO), "no possible length");
}

TEST(a_value_that_does_not_come_is_a_failure)
{
	static const size_t missing[] = { 1, 100, 0 };

	for (size_t i = 0; i < 3; i++) {
		has_value(make_value(true, TWO, TWO));
		tier.missing = missing[i] ? missing[i] : tier.value.len - 10;
		messages[0] = '\0';
		begin();
		/* One may be that entry's fault. */
		CU_ASSERT(asks());
		CU_ASSERT(asks());
		CU_ASSERT_FALSE(asks());
		CU_ASSERT_PTR_NOT_NULL(strstr(messages, "left alone for a while: input/output error"));
		atomic_fetch_add(&passed_ns, 61 * S);
		end();
	}
}

TEST(a_key_may_expire_while_a_value_comes)
{
	unit_write("keys/trusted", VALUES_LINE_TWO " until 2023-11-14\n");	/* the day of EPOCH */
	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT(finds());
	jump_ns = 7200 * S;
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_REFUSED);
	CU_ASSERT_STRING_EQUAL(report.text, cc_remote_refusal_string(CC_REMOTE_EXPIRED_KEY));
}

/* Of which the header is enough. */
TEST(what_will_be_refused_is_not_waited_for)
{
	has_value(make_value(false, TWO, TWO));
	tier.missing = tier.value.len - CC_SEAL_HEADER_SIZE;
	begin();
	for (int i = 0; i < 3; i++) {
		CHECK_ASKS(CC_REMOTE_REFUSED, cc_remote_refusal_string(CC_REMOTE_NOT_SIGNED));
	}
	has_value(make_value(true, ONE, ONE));
	tier.missing = tier.value.len - CC_SEAL_HEADER_SIZE;
	CU_ASSERT(asks());
	CU_ASSERT_STRING_EQUAL(report.text, cc_remote_refusal_string(CC_REMOTE_EXPIRED_KEY));
}

static struct cmn_buffer make_dependent(const char *path, const char *content)
{
	const struct cmn_hash hash = cmn_hash_of(content, strlen(content));
	struct cc_manifest *manifest = cc_manifest_new();
	struct cmn_buffer value;

	CU_ASSERT_EQUAL_FATAL(cc_manifest_add_file(manifest, path, strlen(content), &hash), CMN_OK);
	value = values_make(values_make_files("-O1", "image", manifest), true, TWO, TWO);
	cc_manifest_free(manifest);
	return value;
}

TEST(an_entry_whose_files_are_others_here_is_not_used)
{
	const char *path = unit_path("header.h");

	has_value(make_dependent(path, "one"));
	begin();
	CU_ASSERT_FALSE(finds());
	unit_write(path, "one");
	CU_ASSERT(finds());
	unit_write(path, "two");
	CU_ASSERT_FALSE(finds());
	unit_write(path, "one");
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(complaints, 0);
}

TEST(a_trusted_directory_needs_no_signatures)
{
	struct cc_remote_setup setup;
	const char *problem;

	/* Nobody has named a key, at the usual places either. */
	CU_ASSERT_EQUAL(setenv("XDG_CONFIG_HOME", unit_dir(), 1), 0);
	config.remote_trust = NULL;
	config.remote = setting("file:/directory");
	CU_ASSERT_EQUAL_FATAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_OK);
	/* Which the helper is to see to. */
	CU_ASSERT_EQUAL_FATAL(setup.address.attribute_count, 1);
	CU_ASSERT_STRING_EQUAL(setup.address.attributes[0], "trusted-only=true");
	cc_remote_setup_release(&setup);
	begin_with(make_value(false, TWO, TWO));
	CU_ASSERT(finds());
	CU_ASSERT_STRING_EQUAL(report.scheme, "file");
	CU_ASSERT_STRING_EQUAL(report.text, "");
	has_value(make_value(true, NOBODY, NOBODY));
	CU_ASSERT(finds());
	has_value(values_make(values_make_files("-O2", "image", NULL), false, TWO, TWO));
	CU_ASSERT_FALSE(finds());
}

static void check_wants_signatures(void)
{
	struct cc_remote_setup setup;
	const char *problem = "";

	CU_ASSERT_EQUAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_ERR_ACCESS);
	CU_ASSERT_PTR_NOT_NULL(strstr(problem, "none of the keys that are named counts"));
	CU_ASSERT_PTR_NULL(setup.address.url);
}

/* Somebody wants signatures there, even if no key is left. */
TEST(a_directory_is_not_trusted_where_keys_are_named)
{
	struct cc_remote_setup setup;
	const char *problem;

	CU_ASSERT_EQUAL(setenv("XDG_CONFIG_HOME", unit_path("config"), 1), 0);
	config.remote = setting("file:/directory");
	unit_write("keys/trusted", "");
	check_wants_signatures();
	CU_ASSERT_EQUAL(unlink("keys/trusted"), 0);
	check_wants_signatures();
	config.remote_trust = NULL;
	CU_ASSERT_EQUAL_FATAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_OK);
	cc_remote_setup_release(&setup);
	unit_write("config/ckcache/trusted_keys", "");
	check_wants_signatures();
	unit_remove("config/ckcache");
	unit_write("config/ckcache", "no directory");
	check_wants_signatures();
	CU_ASSERT_EQUAL(unsetenv("XDG_CONFIG_HOME"), 0);
}

TEST(after_a_time_out_nothing_is_asked_for_a_minute)
{
	begin_two();
	atomic_store(&is_silent, true);
	CU_ASSERT(asks());
	/* Half of what a compile takes, as far as is known. */
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), 500 * MS);
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "left alone for a while: no answer in time"));
	atomic_store(&is_silent, false);
	atomic_fetch_add(&passed_ns, 59 * S);
	CU_ASSERT_FALSE(asks());
	CU_ASSERT_FALSE(asks_by(other));	/* as another process of this machine */
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_AWAY);
	CU_ASSERT_FALSE(asks_by(other));
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_NOTHING);
	CU_ASSERT_EQUAL(atomic_load(&fake.connections), 1);
	atomic_fetch_add(&passed_ns, 2 * S);
	CU_ASSERT(asks());
	CU_ASSERT(asks_by(other));
	CU_ASSERT_EQUAL(complaints, 1);
}

TEST(a_look_up_takes_half_of_a_compile_at_most)
{
	static const struct {
		uint64_t build_ns, deadline_ns;
	} cases[] = { { MS, 250 * MS }, { 500 * MS, 250 * MS }, { 2 * S, S }, { 6 * S, 3 * S },
		      { 600 * S, 3 * S } };

	begin();
	atomic_store(&is_silent, true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t start = atomic_load(&passed_ns);

		reopen();
		cc_remote_note_build(remote, cases[i].build_ns);
		CU_ASSERT(asks());
		CU_ASSERT_EQUAL(atomic_load(&passed_ns) - start, cases[i].deadline_ns);
		atomic_fetch_add(&passed_ns, 100 * S);
	}
}

TEST(after_a_failure_nothing_is_asked_for_a_minute)
{
	tier.error = "the server is on fire";
	begin();
	/* It may be the fault of one entry. */
	CHECK_ASKS(CC_REMOTE_NOTHING, NULL);
	CHECK_ASKS(CC_REMOTE_AWAY, "the server is on fire");
	CU_ASSERT_FALSE(asks());
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_NOTHING);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "left alone for a while: the server is on fire"));
	atomic_fetch_add(&passed_ns, 61 * S);
	CHECK_ASKS(CC_REMOTE_AWAY, NULL);
	CU_ASSERT_EQUAL(complaints, 1);
	/* One of another version. */
	stop();
	cc_remote_free(remote);
	atomic_fetch_add(&passed_ns, 61 * S);
	tier.error = NULL;
	tier.greeting = "\2\1\0";
	tier.greeting_len = 3;
	begin();
	CU_ASSERT_FALSE(asks());
	CU_ASSERT_EQUAL(atomic_load(&fake.connections), 1);
	CU_ASSERT_FALSE(asks());
	CU_ASSERT_EQUAL(atomic_load(&fake.connections), 1);
	CU_ASSERT_EQUAL(complaints, 2);
}

/* However short they are; without any, what kind of failure it is. */
TEST(a_failure_is_told_in_the_helpers_words)
{
	static const char *const rows[][2] = {
		{ "x", "x" }, { "no", "no" }, { "", "input/output error" }, { "on fire", "on fire" },
	};

	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tier.error = rows[i][0];
		reopen();
		CHECK_ASKS(CC_REMOTE_NOTHING, NULL);
		CHECK_ASKS(CC_REMOTE_AWAY, rows[i][1]);
		atomic_fetch_add(&passed_ns, 61 * S);
	}
}

TEST(who_cannot_tell_others_of_a_failure_remembers_it)
{
	cannot_publish = true;
	tier.error = "no";
	begin_two();
	CU_ASSERT(asks());
	CU_ASSERT(asks());
	CU_ASSERT_FALSE(asks());
	CU_ASSERT(asks_by(other));
	atomic_fetch_add(&passed_ns, 60 * S);
	CU_ASSERT(asks());
}

TEST(failures_of_entries_count_in_a_row)
{
	tier.error = "no";
	tier.takes_ns = 10 * MS;
	begin();
	CU_ASSERT(asks());
	tier.error = NULL;
	CU_ASSERT(asks());
	tier.error = "no";
	CHECK_ASKS(CC_REMOTE_NOTHING, NULL);
	tier.error = NULL;
	has_value(make_value(true, TWO, TWO));
	CU_ASSERT(finds());
	tier.error = "no";
	CHECK_ASKS(CC_REMOTE_NOTHING, NULL);
	CHECK_ASKS(CC_REMOTE_AWAY, NULL);
}

/* A server that fails after a while makes all wait. */
TEST(a_failure_that_takes_long_is_no_entrys)
{
	tier.error = "no";
	tier.takes_ns = 240 * MS;
	begin();
	CHECK_ASKS(CC_REMOTE_NOTHING, NULL);
	reopen();
	tier.takes_ns = 260 * MS;
	CHECK_ASKS(CC_REMOTE_AWAY, NULL);
}

/* What another machine's compile was waited for before it does not count. */
TEST(a_failure_after_a_wait_is_not_everybodys)
{
	tier.others = 15;
	tier.ends_after_others = true;
	begin_two();
	CU_ASSERT_FALSE(finds_or_claims(remote));
	CU_ASSERT(atomic_load(&passed_ns) > 500 * MS);
	CU_ASSERT(asks_by(other));
	CU_ASSERT_FALSE(asks());	/* it has lost a deadline's time */
}

TEST(a_process_that_stood_still_is_no_judge)
{
	begin_two();
	atomic_store(&is_silent, true);
	atomic_store(&still_ns, 101 * MS);
	CU_ASSERT(asks());
	CU_ASSERT_EQUAL(complaints, 0);
	/* The time is lost all the same: it may stand still each time. */
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_AWAY);
	CU_ASSERT_STRING_EQUAL(report.text, "looking there took longer than it saves");
	CU_ASSERT_FALSE(asks());
	atomic_store(&still_ns, 99 * MS);
	CU_ASSERT(asks_by(other));
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_AWAY);
	CU_ASSERT_EQUAL(complaints, 1);
}

TEST(who_has_not_a_deadlines_time_left_is_no_judge)
{
	begin_two();
	tier.takes_ns = 100 * MS;
	CU_ASSERT(asks());
	atomic_store(&is_silent, true);
	CU_ASSERT(asks());
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), 500 * MS);
	CU_ASSERT_EQUAL(complaints, 0);
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_AWAY);
	CU_ASSERT_STRING_EQUAL(report.text, "looking there took longer than it saves");
	CU_ASSERT_FALSE(asks());
	CU_ASSERT(asks_by(other));
	CU_ASSERT_EQUAL(complaints, 1);
}

TEST(who_has_no_memory_is_no_judge)
{
	has_value(make_value(true, TWO, TWO));
	tier.takes_ns = 480 * MS;
	begin_two();
	no_room = true;
	CU_ASSERT(asks());
	CU_ASSERT_STRING_EQUAL(report.text, "looking there took longer than it saves");
	CU_ASSERT_FALSE(asks());	/* the time is lost */
	no_room = false;
	CU_ASSERT_EQUAL(complaints, 0);
	CU_ASSERT(finds_by(other, NULL));
}

TEST(a_helper_that_was_ending_is_asked_again)
{
	tier.ends = true;
	begin();
	for (unsigned int i = 1; i <= 3; i++) {
		CU_ASSERT_FALSE(finds());
		CU_ASSERT_EQUAL(report.event, CC_REMOTE_NOTHING);
		CU_ASSERT_EQUAL(atomic_load(&fake.connections), i);
	}
	CU_ASSERT_EQUAL(complaints, 0);
}

/* answer: of who starts a program; said: what this process logs. */
static void check_starts_nothing(enum cmn_status answer, const char *said)
{
	starts.count = complaints = 0;
	starts.answer = answer;
	remote = open_remote();
	other = open_remote();
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_NOTHING);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, said));
	CU_ASSERT_EQUAL(starts_after_a_miss(), 1);
	CU_ASSERT_FALSE(finds_by(other, NULL));
	CU_ASSERT_EQUAL(starts.count, 2);
	atomic_fetch_add(&passed_ns, 61 * S);
	CU_ASSERT_EQUAL(starts_after_a_miss(), 3);
	CU_ASSERT_EQUAL(complaints, 2);
	end_two();
	atomic_fetch_add(&passed_ns, 61 * S);
}

TEST(who_can_start_nothing_is_no_judge)
{
	check_starts_nothing(CMN_ERR_INVALID, "this program is an init process");
	/* By a limit of processes, a filter of system calls, or for want of memory. */
	check_starts_nothing(CMN_ERR_IO, "ckcache-remote: input/output error");
	check_starts_nothing(CMN_ERR_ACCESS, "ckcache-remote: permission denied");
}

/* Of a helper whose answers take 200 ms: a look-up has a deadline of a second. */
static void begin_slow(void)
{
	tier.takes_ns = 200 * MS;
	begin();
	cc_remote_note_build(remote, 2 * S);
}

/* So many look-ups that find nothing. Whether all asked. */
static bool ask_often(unsigned int count)
{
	bool all = true;

	while (count--)
		all = asks() && all;
	return all;
}

TEST(look_ups_in_vain_have_a_budget)
{
	begin_slow();
	CU_ASSERT(ask_often(5));
	CU_ASSERT_EQUAL(report.event, CC_REMOTE_AWAY);
	CU_ASSERT_STRING_EQUAL(report.text, "looking there took longer than it saves");
	CU_ASSERT_FALSE(asks());
	CU_ASSERT_EQUAL(complaints, 0);
	atomic_fetch_add(&passed_ns, 60 * S - MS);
	CU_ASSERT_FALSE(asks());
	atomic_fetch_add(&passed_ns, MS);
	CU_ASSERT(asks());
}

TEST(a_budget_is_of_a_minute_and_of_one_process)
{
	begin_slow();
	other = open_remote();
	CU_ASSERT(ask_often(4));
	atomic_fetch_add(&passed_ns, 60 * S);
	CU_ASSERT(ask_often(5));
	CU_ASSERT_FALSE(asks());
	CU_ASSERT(asks_by(other));
}

TEST(who_compiles_much_may_ask_more)
{
	begin_slow();
	CU_ASSERT(ask_often(4));
	cc_remote_note_build(remote, 2 * S);	/* a tenth: 200 ms */
	CU_ASSERT(ask_often(2));
	CU_ASSERT_FALSE(asks());
}

/* What was compiled in build_ns is found, in takes_ns; so many more look-ups in vain are allowed then. */
static void check_won_back(uint64_t build_ns, uint64_t takes_ns, unsigned int more)
{
	begin_slow();
	CU_ASSERT(ask_often(4));
	values_build_ns = build_ns;
	has_value(make_value(true, TWO, TWO));
	tier.takes_ns = takes_ns;
	CU_ASSERT(finds());
	has_value((struct cmn_buffer){ 0 });
	tier.takes_ns = 200 * MS;
	CU_ASSERT(ask_often(more));
	CU_ASSERT_FALSE(asks());
	end();
}

TEST(a_hit_wins_back_what_it_saves)
{
	check_won_back(350 * MS, 150 * MS, 2);
	/* What is not known, as much as a usual compile. */
	check_won_back(0, 100 * MS, 5);
}

TEST(a_hit_that_takes_longer_than_its_compile_is_in_vain)
{
	tier.takes_ns = 150 * MS;
	values_build_ns = 50 * MS;
	begin();
	cc_remote_note_build(remote, 2 * S);
	has_value(make_value(true, TWO, TWO));
	for (int i = 0; i < 9; i++)
		CU_ASSERT(finds());	/* each costs 100 ms */
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_EQUAL(complaints, 0);
	atomic_fetch_add(&passed_ns, 60 * S);
	CU_ASSERT(finds());
}

TEST(a_claim_can_be_released)
{
	char name[CC_REMOTE_NAME_SIZE];
	OWNED(cc_key_release) struct cc_key key;

	begin();
	values_make_key(&key, "-O1");
	cc_remote_name(cc_key_view(&key), name);
	cc_remote_release(remote, &key);
	CU_ASSERT_EQUAL(atomic_load(&tier.releases), 1);
	CU_ASSERT_STRING_EQUAL(tier.name, name);
	/* A favour, for which nobody waits long, and nothing is started. */
	atomic_store(&is_silent, true);
	cc_remote_release(remote, &key);
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), 100 * MS);
	stop();
	cc_remote_release(remote, &key);
	is_remote = true;
	cc_remote_release(remote, &key);
	CU_ASSERT_EQUAL(starts.count, 0);
	CU_ASSERT_EQUAL(complaints, 0);
}

/* It is no complaint, and said only where it is so. */
TEST(a_claim_that_ends_by_itself_is_logged)
{
	OWNED(cc_key_release) struct cc_key key;

	log_of_test.level = CMN_LOG_DEBUG;
	begin();
	values_make_key(&key, "-O1");
	cc_remote_release(remote, &key);
	CU_ASSERT_PTR_NULL(strstr(messages, "ends by itself"));
	atomic_store(&is_silent, true);
	cc_remote_release(remote, &key);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "ends by itself"));
	/* Nobody is there to be told. */
	messages[0] = '\0';
	stop();
	cc_remote_release(remote, &key);
	CU_ASSERT_PTR_NULL(strstr(messages, "ends by itself"));
}

TEST(releases_in_vain_use_up_the_budget_too)
{
	OWNED(cc_key_release) struct cc_key key;

	begin();
	cc_remote_note_build(remote, MS);	/* a deadline of 250 ms */
	values_make_key(&key, "-O1");
	atomic_store(&is_silent, true);
	cc_remote_release(remote, &key);
	cc_remote_release(remote, &key);
	atomic_store(&is_silent, false);
	CU_ASSERT(asks());
	atomic_store(&is_silent, true);
	cc_remote_release(remote, &key);
	atomic_store(&is_silent, false);
	CU_ASSERT_FALSE(asks());	/* so that nothing is claimed that would have to be released */
	atomic_fetch_add(&passed_ns, 60 * S);
	CU_ASSERT(asks());
}

/* Whether another could have that lock now. */
static bool is_locked(const char *suffix)
{
	char command[4500];

	(void)snprintf(command, sizeof(command), "for file in \"$XDG_RUNTIME_DIR\"/ckcache/remote-*.%s; do "
		       "flock -n \"$file\" true && exit 1; done; exit 0", suffix);
	return system(command) == 0;
}

TEST(a_helper_that_does_not_run_is_started)
{
	char socket[CC_NODE_SOCKET_SIZE], wanted[200];

	find_socket(socket);
	(void)snprintf(wanted, sizeof(wanted), " start %s", socket);
	has_value(make_value(true, TWO, TWO));
	starts.answer = CMN_OK;
	starts.begins_fake = true;
	remote = open_remote();
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(starts.count, 1);
	CU_ASSERT_STRING_EQUAL(starts.arguments, wanted);
	CU_ASSERT(is_locked("lock"));
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(starts.count, 1);
	/* It has ended, and its lock with it. */
	stop();
	end_started();
	CU_ASSERT_FALSE(is_locked("lock"));
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(starts.count, 2);
}

TEST(a_helper_that_another_starts_is_waited_for)
{
	uint64_t start;

	starts.answer = CMN_OK;
	remote = open_remote();
	/* It does not come in time, and may later. */
	CU_ASSERT_EQUAL(starts_after_a_miss(), 1);
	/* The rest of the deadline is for when it is there; nobody waits for it again. */
	CU_ASSERT(atomic_load(&passed_ns) >= 375 * MS && atomic_load(&passed_ns) < 400 * MS);
	start = atomic_load(&passed_ns);
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), start);
	atomic_fetch_add(&passed_ns, 30 * S);
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_EQUAL(atomic_load(&passed_ns), start + 30 * S);
	atomic_fetch_add(&passed_ns, 30 * S);
	start = atomic_load(&passed_ns);
	CU_ASSERT_EQUAL(starts_after_a_miss(), 1);	/* the first one has the lock */
	CU_ASSERT(atomic_load(&passed_ns) - start >= 375 * MS);
	CU_ASSERT_EQUAL(complaints, 0);
	atomic_fetch_add(&passed_ns, 60 * S);
	cc_remote_free(remote);
	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT(finds());
}

TEST(a_helper_that_came_late_may_be_started_again)
{
	has_value(make_value(true, TWO, TWO));
	starts.answer = CMN_OK;
	remote = open_remote();
	CU_ASSERT_EQUAL(starts_after_a_miss(), 1);
	run_helper();
	CU_ASSERT(finds());
	stop();
	end_started();
	starts.begins_fake = true;
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(starts.count, 2);
}

TEST(what_cannot_be_started_is_said_once)
{
	remote = open_remote();
	CU_ASSERT_EQUAL(starts_after_a_miss(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "ckcache-remote: not found"));
	CU_ASSERT_EQUAL(starts_after_a_miss(), 1);
	atomic_fetch_add(&passed_ns, 61 * S);
	starts.answer = CMN_ERR_ACCESS;
	CU_ASSERT_EQUAL(starts_after_a_miss(), 2);
	CU_ASSERT_EQUAL(complaints, 1);
	cc_remote_free(remote);
	atomic_fetch_add(&passed_ns, 61 * S);
	remote = open_remote();
	CU_ASSERT_FALSE(finds());
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "ckcache-remote: permission denied"));
	CU_ASSERT_FALSE(is_locked("lock"));
}

TEST(others_may_use_the_connection)
{
	struct cc_helper helper;

	begin();
	CU_ASSERT_EQUAL(cc_remote_connect(remote, S, &helper), CMN_OK);
	CU_ASSERT(helper.has_claims);
	CU_ASSERT_EQUAL(cc_helper_release(&helper, cmn_view_of("key")), CMN_OK);
	cc_helper_close(&helper);
	is_remote = true;
	CU_ASSERT_EQUAL(cc_remote_connect(remote, S, &helper), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(helper.fd, -1);
	CU_ASSERT_FALSE(asks());
	is_remote = false;
	stop();
	CU_ASSERT_EQUAL(cc_remote_connect(remote, S, &helper), CMN_ERR_ACCESS);
	cc_helper_close(&helper);
	starts.answer = CMN_OK;
	starts.begins_fake = true;
	CU_ASSERT_EQUAL(cc_remote_connect(remote, S, &helper), CMN_OK);
	cc_helper_close(&helper);
}

static bool count_one(void *ctx, const char *entry_dir, int refusals)
{
	(void)refusals;
	(void)entry_dir;
	++*(unsigned int *)ctx;
	return true;
}

static unsigned int noted(void)
{
	int root_fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	unsigned int count = 0;

	if (access("root/uploads/.", F_OK) == 0) {
		CU_ASSERT_EQUAL(cc_uploads_open(root_fd, &fd), CMN_OK);
		CU_ASSERT(cc_uploads_walk(fd, count_one, &count) >= CMN_OK);
		CU_ASSERT_EQUAL(close(fd), 0);
	}
	(void)close(root_fd);
	return count;
}

/* One is stored: so many are noted then, and so many programs have been started. */
static void check_stored(struct cc_remote *by, const char *options, unsigned int notes, unsigned int started)
{
	OWNED(cc_key_release) struct cc_key key;

	values_make_key(&key, options);
	cc_remote_stored(by, root, &key);
	CU_ASSERT_EQUAL(noted(), notes);
	CU_ASSERT_EQUAL(starts.count, started);
}

TEST(what_was_stored_is_noted_and_uploaded)
{
	char wanted[4300];

	(void)snprintf(wanted, sizeof(wanted), " upload %s", root);
	starts.answer = CMN_OK;
	remote = open_remote();
	check_stored(remote, "-O1", 1, 1);
	CU_ASSERT_STRING_EQUAL(starts.arguments, wanted);
	CU_ASSERT(is_locked("upload-*"));
	other = open_remote();	/* as another process */
	check_stored(other, "-O1", 1, 1);
	/* Whoever uploads finds it. */
	check_stored(remote, "-O2", 2, 1);
	/* One that has ended cannot upload just now, perhaps: no other for each entry. */
	end_started();
	check_stored(remote, "-O2", 2, 1);
	atomic_fetch_add(&passed_ns, 21 * S);
	check_stored(remote, "-O2", 2, 2);
	CU_ASSERT_EQUAL(complaints, 0);
}

/* It may be empty by now: only an uploader tidies up. */
TEST(where_very_many_have_waited_one_is_started_that_tidies_up)
{
	starts.answer = CMN_OK;
	remote = open_remote();
	directory_size = 4 << 20;
	check_stored(remote, "-O1", 0, 1);
	end_started();
	CU_ASSERT_EQUAL(rmdir("root/uploads"), 0);
	directory_size = 0;
	check_stored(remote, "-O1", 1, 1);
}

TEST(what_cannot_be_uploaded_now_waits)
{
	tier.error = "no";
	begin();
	CU_ASSERT(asks());
	CU_ASSERT(asks());
	check_stored(remote, "-O1", 1, 0);
	atomic_fetch_add(&passed_ns, 61 * S);
	check_stored(remote, "-O2", 2, 1);	/* in vain */
	is_remote = true;
	check_stored(remote, "-O3", 3, 1);
}

TEST(who_does_not_upload_notes_nothing)
{
	check_stored(NULL, "-O1", 0, 0);
	config.remote_key = NULL;
	remote = open_remote();
	check_stored(remote, "-O1", 0, 0);
	config.remote_key = setting("/a/key");
	reopen();
	CU_ASSERT_EQUAL(chmod("root", 0777), 0);
	check_stored(remote, "-O1", 0, 0);
	CU_ASSERT_EQUAL(chmod("root", 0700), 0);
	unit_write("root/uploads", "no directory");
	check_stored(remote, "-O1", 0, 0);
}

/* What a setting comes to: "r" reads, "w" writes, "t" with keys, "o" a trusted directory's; NULL: it is a problem. */
static void check_setup(const char *address, bool keys, bool own_key, bool read_only, const char *wanted)
{
	char **const trust = config.remote_trust;
	struct cc_remote_setup setup;
	const char *problem = NULL;
	enum cmn_status status;
	char text[8] = "";

	unit_write("keys/trusted", keys ? VALUES_LINE_TWO "\n" : "");
	config.remote = setting(address);
	if (!keys)
		config.remote_trust = NULL;
	CU_ASSERT_EQUAL(setenv("XDG_CONFIG_HOME", unit_dir(), 1), 0);
	config.remote_key = own_key ? setting("/a/key") : NULL;
	config.read_only = read_only;
	status = cc_remote_setup(&config, NULL, &setup, &problem);
	CU_ASSERT_EQUAL(status, wanted ? CMN_OK : CMN_ERR_ACCESS);
	if (status == CMN_OK) {
		(void)snprintf(text, sizeof(text), "%s%s%s%s", setup.reads ? "r" : "", setup.writes ? "w" : "",
			       setup.trust ? "t" : "", setup.address.attribute_count ? "o" : "");
		CU_ASSERT_STRING_EQUAL(text, wanted);
		if (strcmp(text, wanted) != 0)
			(void)fprintf(stderr, "%s %d %d %d: %s\n", address, keys, own_key, read_only, text);
	} else {
		CU_ASSERT_STRING_EQUAL(problem, "no key is trusted (ckcache key trust)");
		CU_ASSERT(!setup.trust && !setup.address.url && !setup.node.runtime_dir);
	}
	cc_remote_setup_release(&setup);
	config.remote_trust = trust;
}

TEST(a_setting_says_what_is_read_and_written)
{
	check_setup("redis://host", true, true, false, "rwt");
	check_setup("redis://host", true, true, true, "rt");
	check_setup("redis://host", true, false, false, "rt");
	check_setup("redis://host read-only=true", true, true, false, "rt");
	check_setup("redis://host write-only=true", true, true, false, "wt");
	check_setup("redis://host", false, true, false, NULL);
	check_setup("redis://host read-only=true", false, true, false, NULL);
	check_setup("redis://host write-only=true", false, true, false, "wt");
	check_setup("file:/d", true, true, false, "rwt");
	check_setup("file:/d", true, false, false, "rt");
	check_setup("file:/d", false, false, false, "rwo");
	check_setup("file:/d", false, true, false, "rwo");
	check_setup("file:/d read-only=1", false, false, false, "ro");
	check_setup("file:/d write-only=1", false, false, false, "wo");
	check_setup("file:/d write-only=1", false, true, false, "wt");
	check_setup("file:/d", false, false, true, "ro");
	check_setup("filex:/d", false, false, false, NULL);
}

/* The tier is off, with one message. */
static void check_off(const char *reason)
{
	struct cc_remote *ret = (struct cc_remote *)&config;

	messages[0] = '\0';
	complaints = 0;
	CU_ASSERT_EQUAL(cc_remote_new(&config, &log_of_test, &ret), CMN_OK);
	CU_ASSERT_PTR_NULL(ret);
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, "the remote tier is off: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, reason));
	CU_ASSERT_PTR_NULL(strstr(messages, "secret"));
}

TEST(a_tier_that_cannot_be_used_is_off)
{
	config.remote = setting("//secret");
	check_off("begins with no URL");
	config.remote = setting("a://secret secret=x");
	check_off("unknown property");
	config.remote = setting("a://secret read-only=1 write-only=1");
	check_off("both read-only and write-only");
	config.remote = setting("redis://secret write-only=1");
	config.remote_key = NULL;
	check_off("there is no key to sign with (remote_key)");
	config.remote_key = setting("/a/key");
	config.read_only = true;
	check_off("it is only written, and this cache is read-only");
	config.read_only = false;
	config.remote = setting("redis://secret");
	unit_write("keys/trusted", "");
	check_off("no key is trusted");
	CU_ASSERT_EQUAL(unlink("keys/trusted"), 0);
	check_off("no key is trusted");
	is_privileged = true;
	check_off("other rights");
	CU_ASSERT_EQUAL(starts.count, 0);
}

TEST(the_usual_files_have_the_keys)
{
	CU_ASSERT_EQUAL(setenv("XDG_CONFIG_HOME", unit_path("config"), 1), 0);
	config.remote_trust = NULL;
	unit_write("config/ckcache/trusted_keys", VALUES_LINE_TWO "\n");
	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(unsetenv("XDG_CONFIG_HOME"), 0);
}

TEST(without_memory_there_is_none)
{
	struct cc_remote *ret;

	for (size_t i = 1; i < 20; i++) {
		enum cmn_status status;

		ret = (struct cc_remote *)&config;
		callocs_left = i;
		status = cc_remote_new(&config, &log_of_test, &ret);
		CU_ASSERT_EQUAL(status, callocs_left ? CMN_OK : CMN_ERR_NOMEM);
		CU_ASSERT_EQUAL(!ret, status != CMN_OK);
		callocs_left = 0;
		cc_remote_free(ret);
		if (status == CMN_OK)
			return;
	}
	CU_FAIL("it always fails");
}

TEST(a_privileged_program_has_none)
{
	OWNED(cc_remote_setup_release) struct cc_remote_setup setup;
	const char *problem;

	is_privileged = true;
	CU_ASSERT_EQUAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_ERR_ACCESS);
	CU_ASSERT_PTR_NULL(setup.address.url);
	is_privileged = false;
	CU_ASSERT_EQUAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_OK);
}

TEST(a_tier_that_is_only_written_is_not_asked)
{
	config.remote = setting("redis://host write-only=true");
	config.remote_key = setting("/a/key");
	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT_FALSE(asks());
	CU_ASSERT_EQUAL(atomic_load(&fake.connections), 0);
}

/* Their own calls of the kernel would end the process. */
static bool is_watched(void)
{
	const char *loaded = getenv("LD_PRELOAD");

#if defined(__SANITIZE_THREAD__)
	return true;
#endif
	return loaded && strstr(loaded, "vgpreload");
}

/* In a process that any call of the kernel but read, write and exit ends. */
TEST(without_a_setting_the_kernel_is_not_called)
{
	struct cc_remote *ret = remote;
	struct cc_remote_setup setup;
	const char *problem;
	struct cc_key key;
	pid_t child;
	int status;

	config.remote = NULL;
	CU_ASSERT_EQUAL(cc_remote_setup(&config, NULL, &setup, &problem), CMN_MISS);
	CU_ASSERT_EQUAL(cc_remote_new(&config, &log_of_test, &ret), CMN_OK);
	CU_ASSERT(!ret && !complaints);
	if (is_watched())
		return;
	values_make_key(&key, "-O1");
	child = fork();
	if (child == 0) {
		struct cc_entry *entry = NULL;
		bool claimed = true, right;

		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
			_exit(77);
		right = cc_remote_new(&config, &log_of_test, &ret) == CMN_OK && !ret &&
			cc_remote_get(ret, &key, NULL, &entry, &claimed, &report) == CMN_MISS &&
			!claimed && !entry && report.event == CC_REMOTE_NOTHING;
		cc_remote_note_build(ret, 1);
		cc_remote_stored(ret, root, &key);
		cc_remote_free(ret);
		syscall(SYS_exit, right ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 77));
	cc_key_release(&key);
	CU_ASSERT_EQUAL(starts.count, 0);
}

TEST(a_forked_child_goes_on)
{
	pid_t child;

	begin_with(make_value(true, TWO, TWO));
	CU_ASSERT(finds());
	child = fork();
	if (child == 0) {
		runs = false;
		_exit(finds() ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT(finds());
	CU_ASSERT_EQUAL(atomic_load(&tier.gets), 3);
}

static void *find_often(void *arg)
{
	atomic_uint *found = arg;

	for (int i = 0; i < 20; i++)
		atomic_fetch_add(found, finds_by(remote, NULL));
	return NULL;
}

TEST(many_threads_may_look_up)
{
	atomic_uint found = 0;

	begin_with(make_value(true, TWO, TWO));
	unit_run_threads(4, find_often, &found, 0);
	CU_ASSERT_EQUAL(atomic_load(&found), 80);
}
