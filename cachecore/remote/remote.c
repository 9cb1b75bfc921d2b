/* SPDX-License-Identifier: MIT */
/* remote: asks the tier within its time, and checks what it says. */
#include "cachecore/remote/remote.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/budget.h"
#include "cachecore/remote/helper.h"
#include "cachecore/remote/launch.h"
#include "cachecore/remote/uploads.h"
#include "cachecore/remote/value.h"
#include "common/clock.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define FIRST_PAUSE_NS (5 * NS_PER_MS)
#define LAST_PAUSE_NS (200 * NS_PER_MS)
#define START_PAUSE_NS (2 * NS_PER_MS)
/* A look-up that takes so much longer than it may was stopped, by a debugger perhaps. */
#define STOOD_STILL_NS (100 * NS_PER_MS)
/* A process that uploads ends at once where it cannot; it is not started again for each entry. */
#define LAUNCH_NS (20 * NS_PER_S)
/* Releasing a claim is a favour to others. */
#define RELEASE_NS (100 * NS_PER_MS)
#define MINUTE_NS (CC_NODE_DOWN_S * NS_PER_S)

struct cc_remote {
	const struct cc_config *config;
	const struct cmn_log *log;
	struct cc_remote_setup setup;
	char **environment;	/* of programs that it starts */
	atomic_flag refusal_logged, failure_logged;
	struct cc_budget budget;
	atomic_bool claims_refused;
	atomic_uint failures;	/* in a row */
	/* Monotonic; 0: never. */
	atomic_uint_least64_t launched;		/* when it started to upload last */
	atomic_uint_least64_t start_failed;	/* when a helper was last waited for in vain */
	atomic_uint_least64_t away_said;	/* since when whoever asked knows that it is left alone */
};

void cc_remote_setup_release(struct cc_remote_setup *setup)
{
	cc_address_release(&setup->address);
	cc_node_release(&setup->node);
	cc_trust_free(setup->trust);
	*setup = (struct cc_remote_setup){ 0 };
}

enum cmn_status cc_remote_trust(const struct cc_config *config, const struct cmn_log *log,
				struct cc_trust **ret)
{
	char **paths = config->remote_trust;
	enum cmn_status status = CMN_OK;

	if (!paths)
		status = cc_trust_default_paths(&paths);
	if (status != CMN_OK)
		return status;
	status = cc_trust_new(log, paths, ret);
	if (paths != config->remote_trust)
		cmn_strings_free(paths);
	return status;
}

/* Whether somebody has named keys to trust, whatever became of them. */
static bool wants_signatures(const struct cc_config *config)
{
	char **paths;
	bool found = false;

	if (config->remote_trust || cc_trust_default_paths(&paths) != CMN_OK)
		return true;
	for (size_t i = 0; paths[i]; i++)
		found |= access(paths[i], F_OK) == 0 || errno != ENOENT;
	cmn_strings_free(paths);
	return found;
}

/*
 * Whose entries count: those that a trusted key has signed; where nobody has named keys, a
 * trusted directory's.
 */
static enum cmn_status decide_trust(const struct cc_config *config, struct cc_remote_setup *setup,
				    const char **ret_problem)
{
	bool signs = config->remote_key;
	bool is_directory = !strcmp(setup->address.scheme, "file");
	struct cc_trust_place place;

	if (cc_trust_at(setup->trust, 0, &place)) {
		*ret_problem = "its entries cannot be verified: libsodium is not installed";
		return cc_sodium_available() ? CMN_OK : CMN_ERR_INVALID;
	}
	/* Who only stores, and signs, trusts nobody; unsigned entries need the directory all the same. */
	if (!setup->reads && (signs || !is_directory))
		return CMN_OK;
	cc_trust_free(setup->trust);
	setup->trust = NULL;
	*ret_problem = "no key is trusted (ckcache key trust)";
	if (!is_directory)
		return CMN_ERR_ACCESS;
	*ret_problem = "none of the keys that are named counts (ckcache key show)";
	if (wants_signatures(config))
		return CMN_ERR_ACCESS;
	return cc_address_add(&setup->address, cmn_view_of("trusted-only=true"));
}

enum cmn_status cc_remote_setup(const struct cc_config *config, const struct cmn_log *log,
				struct cc_remote_setup *ret, const char **ret_problem)
{
	enum cmn_status status;

	*ret = (struct cc_remote_setup){ 0 };
	if (!config->remote)
		return CMN_MISS;
	/* It would start programs with more rights than the user's. */
	*ret_problem = "this program runs with other rights than its user's";
	if (getauxval(AT_SECURE))
		return CMN_ERR_ACCESS;
	status = cc_address_parse(config->remote, &ret->address, ret_problem);
	if (status != CMN_OK)
		return status;
	ret->reads = !ret->address.write_only;
	/* Without a key others would refuse what is uploaded, except into a trusted directory. */
	ret->writes = !ret->address.read_only && !config->read_only;
	status = cc_remote_trust(config, log, &ret->trust);
	if (status == CMN_OK)
		status = decide_trust(config, ret, ret_problem);
	if (status == CMN_OK && ret->writes && !config->remote_key)
		ret->writes = !strcmp(ret->address.scheme, "file") && !ret->trust;
	if (status == CMN_OK && !ret->reads && !ret->writes) {
		*ret_problem = config->remote_key ? "it is only written, and this cache is read-only"
			     : "it is only written, and there is no key to sign with (remote_key)";
		status = CMN_ERR_INVALID;
	}
	if (status == CMN_OK)
		status = cc_node_init(&ret->address, config->remote_secrets, &ret->node);
	if (status != CMN_OK)
		cc_remote_setup_release(ret);
	return status;
}

enum cmn_status cc_remote_new(const struct cc_config *config, const struct cmn_log *log,
			      struct cc_remote **ret)
{
	struct cc_remote_setup setup;
	struct cc_remote *remote;
	const char *problem;
	enum cmn_status status;

	*ret = NULL;
	status = cc_remote_setup(config, log, &setup, &problem);
	if (status == CMN_MISS || status == CMN_ERR_NOMEM)
		return status == CMN_MISS ? CMN_OK : status;
	if (status != CMN_OK) {
		cmn_log_write(log, CMN_LOG_ERROR, "the remote tier is off: %s", problem);
		return CMN_OK;
	}
	remote = calloc(1, sizeof(*remote));
	if (!remote || cc_launch_environment(&remote->environment) != CMN_OK) {
		free(remote);
		cc_remote_setup_release(&setup);
		return CMN_ERR_NOMEM;
	}
	remote->config = config;
	remote->log = log;
	remote->setup = setup;
	cc_budget_init(&remote->budget, config->dir);
	atomic_flag_clear(&remote->refusal_logged);
	atomic_flag_clear(&remote->failure_logged);
	*ret = remote;
	return CMN_OK;
}

void cc_remote_free(struct cc_remote *remote)
{
	if (!remote)
		return;
	cmn_strings_free(remote->environment);
	cc_remote_setup_release(&remote->setup);
	free(remote);
}

void cc_remote_note_build(struct cc_remote *remote, uint64_t build_ns)
{
	if (remote)
		cc_budget_add_build(&remote->budget, build_ns);
}

/* The program takes the lock, which ends with the helper. */
static enum cmn_status launch(struct cc_remote *remote, const char *const *arguments, int lock_fd)
{
	enum cmn_status status = cc_launch(remote->config->remote_helpers, remote->environment,
					   arguments, lock_fd);

	cmn_file_leave_lock(lock_fd);	/* it is the program's */
	return status;
}

static enum cmn_status start_helper(struct cc_remote *remote, int dir_fd, const char *socket,
				    char ret_message[CC_HELPER_MESSAGE_SIZE])
{
	const char *const arguments[] = { "start", socket, NULL };
	enum cmn_status status;
	int lock_fd;

	if (cc_node_lock_helper(&remote->setup.node, dir_fd, &lock_fd) != CMN_OK)
		return CMN_OK;	/* another does, or it runs */
	status = launch(remote, arguments, lock_fd);
	if (status == CMN_OK)
		return CMN_OK;
	(void)snprintf(ret_message, CC_HELPER_MESSAGE_SIZE, CC_LAUNCH_PROGRAM ": %s",
		       status == CMN_MISS ? "not found"
		       : status == CMN_ERR_CORRUPT ? "other users could change it (docs/SECURITY.md)"
		       : status == CMN_ERR_INVALID ? "this program is an init process (or a subreaper): "
						     "run it below one"
		       : cmn_status_string(status));	/* it fits */
	/* Once: no warning follows. */
	cmn_log_once(remote->log, &remote->failure_logged, CMN_LOG_ERROR,
		     "the remote tier cannot be used: %s", ret_message);
	/* An error of this installation is everybody's; that this process may start none is its own. */
	return status == CMN_MISS ? CMN_ERR_ACCESS : CMN_ERR_INVALID;
}

/* Less than a second. */
static void sleep_for(uint64_t ns)
{
	const struct timespec time = { 0, (long)ns };

	(void)nanosleep(&time, NULL);	/* a signal only makes it shorter */
}

/* Connects; where there is no helper, it is started, and waited for until start_until; 0: it is not. */
static enum cmn_status connect_helper(struct cc_remote *remote, int dir_fd, const char *path,
				      uint64_t deadline, uint64_t start_until,
				      struct cc_helper *ret)
{
	char socket[CC_NODE_SOCKET_SIZE];
	enum cmn_status status;

	cc_node_socket(&remote->setup.node, path, socket);
	status = cc_helper_connect(socket, deadline, ret);
	if (status != CMN_MISS || !start_until)
		return status;
	status = start_helper(remote, dir_fd, socket, ret->message);
	if (status != CMN_OK)
		return status;
	do {
		sleep_for(START_PAUSE_NS);
		status = cc_helper_connect(socket, deadline, ret);
	} while (status == CMN_MISS && cmn_clock_monotonic() < start_until);
	return status;
}

/* A value as it comes: its parts. */
struct received {
	struct cmn_buffer header, src, bin;
	struct cc_remote_value value;
};

static void set_report(const struct cc_remote *remote, enum cc_remote_event event,
		       const char *text, struct cc_remote_report *ret)
{
	ret->event = event;
	memcpy(ret->scheme, remote->setup.address.scheme, sizeof(ret->scheme));
	(void)snprintf(ret->text, sizeof(ret->text), "%s", text);	/* cut, if it must be */
}

/* That it is left alone is known once a minute: a look-up more that did not ask is no news. */
static void report_away(struct cc_remote *remote, const char *reason, struct cc_remote_report *ret)
{
	uint64_t said = atomic_load(&remote->away_said), now = cmn_clock_monotonic();

	if ((!said || now - said >= MINUTE_NS) &&
	    atomic_compare_exchange_strong(&remote->away_said, &said, now))
		set_report(remote, CC_REMOTE_AWAY, reason, ret);
}

static void report_refusal(struct cc_remote *remote, const char *reason,
			   struct cc_remote_report *ret)
{
	cmn_log_once(remote->log, &remote->refusal_logged, CMN_LOG_WARNING,
		     "an entry of the remote tier is not used: %s", reason);
	set_report(remote, CC_REMOTE_REFUSED, reason, ret);
}

/* Of a value that is not used. */
static enum cmn_status refuse(struct cc_remote *remote, const struct cc_remote_value *value,
			      enum cmn_status status, struct cc_remote_report *report)
{
	report_refusal(remote,
		       status == CMN_ERR_ACCESS ? cc_remote_refusal_string(value->refusal)
		       : status == CMN_ERR_CORRUPT ? "it is damaged, or another key's"
		       : status == CMN_ERR_VERSION ? "it has another format version"
		       : cmn_status_string(status), report);
	return CMN_MISS;
}

/* CMN_MISS: it is no value. */
static enum cmn_status receive_value(struct cc_remote *remote, struct cc_helper *helper,
				     uint64_t len, struct received *ret,
				     struct cc_remote_report *report)
{
	struct cc_remote_value *value = &ret->value;
	enum cmn_status status, begun;

	if (len < CC_SEAL_HEADER_SIZE || len > cc_address_max_value(&remote->setup.address)) {
		report_refusal(remote, "it has no possible length", report);
		return CMN_MISS;
	}
	status = cc_helper_read(helper, CC_SEAL_HEADER_SIZE, &ret->header);
	if (status != CMN_OK)
		return status;
	/* What will be refused whatever it holds need not come. */
	begun = cc_remote_value_begin(ret->header.data, len, remote->setup.trust,
				      cmn_clock_realtime() / NS_PER_S, value);
	/* It ends with bin. */
	if (begun == CMN_OK && value->src_len + value->bin_len != len - CC_SEAL_HEADER_SIZE)
		begun = CMN_ERR_CORRUPT;
	if (begun != CMN_OK)
		return refuse(remote, value, begun, report);
	status = cc_helper_read(helper, value->src_len, &ret->src);
	return status == CMN_OK ? cc_helper_read(helper, value->bin_len, &ret->bin) : status;
}

/* Whose it is, whether it is this key's, and whether it holds here. */
static enum cmn_status open_value(struct cc_remote *remote, struct received *received,
				  const struct cc_key *key, struct cc_file_memo *memo,
				  struct cc_entry **ret, struct cc_remote_report *report)
{
	struct cc_remote_value *value = &received->value;
	const struct cc_manifest *manifest;
	enum cmn_status status;

	status = cc_remote_value_finish(value, received->header.data, cmn_buffer_view(&received->src),
					cmn_buffer_view(&received->bin),
					cmn_clock_realtime() / NS_PER_S);
	if (status == CMN_OK)
		status = cc_remote_value_take(value, &received->bin, cc_key_view(key), ret);
	if (status != CMN_OK)
		return refuse(remote, value, status, report);
	manifest = cc_entry_manifest(*ret);
	if ((cc_manifest_count(manifest) || key->include_paths.count) &&
	    cc_manifest_compare_at(manifest, &key->include_paths, memo, NULL) != CMN_OK) {
		cc_entry_unref(*ret);
		*ret = NULL;
		return CMN_MISS;
	}
	(*ret)->remote = true;
	set_report(remote, CC_REMOTE_USED, value->signer ? value->signer->name : "", report);
	return CMN_OK;
}

/*
 * Asks until there is a value, or this caller is to build it. time_ns: for each request but the first,
 * whose deadline is set. *ret_waited: for another machine.
 */
static enum cmn_status ask(struct cc_remote *remote, int dir_fd, struct cc_helper *helper,
			   struct cmn_view name, uint64_t time_ns, uint64_t *ret_len,
			   bool *ret_claimed, bool *ret_waited)
{
	uint64_t begun = cmn_clock_monotonic(), claim_ns = cc_budget_claim_ns(&remote->budget);
	uint64_t wait_ns = remote->config->build_wait * NS_PER_S;
	uint64_t pause_ns = FIRST_PAUSE_NS, waited_ns;
	enum cmn_status status;

	if (!ret_claimed || !helper->has_claims || !remote->setup.writes ||
	    atomic_load(&remote->claims_refused))
		return cc_helper_ask(helper, name, ret_len);
	if (wait_ns > claim_ns)
		wait_ns = claim_ns;
	for (;;) {
		status = cc_helper_ask_or_claim(helper, name, claim_ns / NS_PER_MS, ret_len,
						ret_claimed);
		if (status == CMN_ERR_IO) {
			status = cc_helper_ask(helper, name, ret_len);
			/* As where this user may only read. */
			if (status == CMN_OK || status == CMN_MISS)
				atomic_store(&remote->claims_refused, true);
			return status;
		}
		waited_ns = cmn_clock_monotonic() - begun;
		if (status != CMN_MISS || *ret_claimed || waited_ns >= wait_ns ||
		    (!*ret_waited && cc_node_waited_in_vain(&remote->setup.node, dir_fd)))
			return status;
		*ret_waited = true;
		sleep_for(pause_ns < wait_ns - waited_ns ? pause_ns : wait_ns - waited_ns);
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
		helper->deadline = cmn_clock_deadline(time_ns);
	}
}

/*
 * Whether the tier is of no use to anybody now: a look-up's time was over, or the helper cannot be
 * used. Any other failure may be one entry's fault: the second one in a row is not.
 */
static bool is_everybodys(struct cc_remote *remote, enum cmn_status status, uint64_t took)
{
	return status == CMN_ERR_VERSION || status == CMN_ERR_ACCESS ||
	       took > cc_budget_deadline(&remote->budget) / 2 ||
	       atomic_fetch_add(&remote->failures, 1) > 0;
}

static void note_failure(struct cc_remote *remote, int dir_fd, const struct cc_helper *helper,
			 enum cmn_status status, struct cc_remote_report *report)
{
	const char *reason = helper->message[0] ? helper->message
			   : status == CMN_BUSY ? "no answer in time" : cmn_status_string(status);

	cmn_log_once(remote->log, &remote->failure_logged, CMN_LOG_WARNING,
		     "the remote tier is left alone for a while: %s", reason);
	cc_node_set_down(&remote->setup.node, dir_fd, reason);
	cc_budget_lose_all(&remote->budget);
	report_away(remote, reason, report);
}

static bool is_left_alone(struct cc_remote *remote, int dir_fd, struct cc_remote_report *report)
{
	char reason[CC_REMOTE_TEXT_SIZE];

	if (!cc_node_is_down(&remote->setup.node, dir_fd, reason, sizeof(reason)))
		return false;
	report_away(remote, reason, report);
	return true;
}

/*
 * Whether a failure says nothing of the tier: of a process that has no memory or no descriptors, stood
 * still, or had not a deadline's time any more.
 */
static bool is_own(struct cc_remote *remote, enum cmn_status status, const struct cc_helper *helper,
		   uint64_t time_ns, uint64_t now)
{
	return status == CMN_ERR_NOMEM || helper->lost ||
	       (status == CMN_BUSY && (now > helper->deadline + STOOD_STILL_NS ||
				       time_ns < cc_budget_deadline(&remote->budget)));
}

/*
 * What is received is to be checked. *ret_claimed, *ret_waited: as in ask. CMN_ERR_INVALID: nothing
 * can be started, and nothing is left of the budget.
 */
static enum cmn_status look_up(struct cc_remote *remote, int dir_fd, const char *path,
			       const struct cc_key *key, uint64_t time_ns, struct received *ret,
			       bool *ret_claimed, bool *ret_waited, struct cc_remote_report *report)
{
	uint64_t failed = atomic_load(&remote->start_failed), begun = cmn_clock_monotonic(), now, len;
	/* A helper may be slow to start: not more than once a minute, and what is left is for asking it. */
	bool starts = !failed || begun - failed >= MINUTE_NS;
	char name[CC_REMOTE_NAME_SIZE];
	struct cc_helper helper;
	enum cmn_status status;

	cc_remote_name(cc_key_view(key), name);
	status = connect_helper(remote, dir_fd, path, begun + time_ns,
				starts ? begun + time_ns / 4 * 3 : 0, &helper);
	if (status != CMN_MISS)
		atomic_store(&remote->start_failed, 0);
	else if (starts)
		atomic_store(&remote->start_failed, cmn_clock_monotonic());
	if (status == CMN_OK)
		status = ask(remote, dir_fd, &helper, cmn_view_of(name), time_ns, &len, ret_claimed,
			     ret_waited);
	if (status == CMN_OK)
		status = receive_value(remote, &helper, len, ret, report);
	cc_helper_close(&helper);
	now = cmn_clock_monotonic();
	if (status == CMN_OK || status == CMN_MISS)
		atomic_store(&remote->failures, 0);
	else if (status == CMN_ERR_INVALID)
		cc_budget_lose_all(&remote->budget);
	/* Since the last request: before it another machine's compile was waited for. */
	else if (!is_own(remote, status, &helper, time_ns, now) &&
		 is_everybodys(remote, status, now + time_ns - helper.deadline))
		note_failure(remote, dir_fd, &helper, status, report);
	return status;
}

/* A hit is worth its compile; one that took longer is as good as none. */
static void note_hit(struct cc_remote *remote, const struct cc_entry *entry, uint64_t took_ns)
{
	uint64_t saved_ns = cc_entry_build_ns(entry);

	if (!saved_ns)
		saved_ns = cc_budget_build_ns(&remote->budget);
	if (took_ns > saved_ns)
		cc_budget_lose(&remote->budget, took_ns - saved_ns);
	else
		cc_budget_win(&remote->budget, saved_ns - took_ns);
}

/*
 * Another machine's compile was waited for. Whether it is that machine's fault or the server's, and also
 * if what came is nobody's whom we trust: the next processes need not wait as long.
 */
static void note_wait(struct cc_remote *remote, int dir_fd, enum cmn_status status, bool came,
		      enum cc_remote_event event)
{
	if (status == CMN_OK)
		cc_node_set_waited_well(&remote->setup.node, dir_fd);
	else if (!came || event == CC_REMOTE_REFUSED)
		cc_node_set_waited_in_vain(&remote->setup.node, dir_fd);
}

static void note_loss(struct cc_remote *remote, uint64_t took_ns, bool waited,
		      struct cc_remote_report *report)
{
	cc_budget_lose(&remote->budget, took_ns);
	if (report->event == CC_REMOTE_NOTHING && !cc_budget_left(&remote->budget))
		report_away(remote, waited ? "another machine's compile did not come"
			    : "looking there took longer than it saves", report);
}

enum cmn_status cc_remote_get(struct cc_remote *remote, const struct cc_key *key,
			      struct cc_file_memo *memo, struct cc_entry **ret, bool *ret_claimed,
			      struct cc_remote_report *ret_report)
{
	uint64_t begun = cmn_clock_monotonic(), left_ns;
	struct received received = { 0 };
	enum cmn_status status = CMN_ERR_INVALID;
	char path[CC_NODE_DIR_SIZE];
	bool waited = false, came;
	int dir_fd;

	*ret_report = (struct cc_remote_report){ .event = CC_REMOTE_NOTHING };
	if (ret_claimed)
		*ret_claimed = false;
	left_ns = remote && remote->setup.reads ? cc_budget_left(&remote->budget) : 0;
	if (!left_ns)
		return CMN_MISS;
	dir_fd = cc_node_open(&remote->setup.node, path);
	if (dir_fd < 0) {
		cmn_log_once(remote->log, &remote->failure_logged, CMN_LOG_ERROR,
			     "the remote tier cannot be used: neither $XDG_RUNTIME_DIR nor /tmp has a place "
			     "for a socket of this user alone");
		return CMN_MISS;
	}
	if (!is_left_alone(remote, dir_fd, ret_report))
		status = look_up(remote, dir_fd, path, key, left_ns, &received, ret_claimed, &waited,
				 ret_report);
	came = status == CMN_OK;
	if (came)
		status = open_value(remote, &received, key, memo, ret, ret_report);
	if (waited && !*ret_claimed)
		note_wait(remote, dir_fd, status, came, ret_report->event);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	cmn_buffer_release(&received.header);
	cmn_buffer_release(&received.src);
	cmn_buffer_release(&received.bin);
	if (status == CMN_OK)
		note_hit(remote, *ret, cmn_clock_monotonic() - begun);
	else if (status != CMN_ERR_INVALID)
		note_loss(remote, cmn_clock_monotonic() - begun, waited, ret_report);
	return status == CMN_OK ? CMN_OK : CMN_MISS;
}

enum cmn_status cc_remote_connect(struct cc_remote *remote, uint64_t timeout_ns,
				  struct cc_helper *ret)
{
	uint64_t deadline = cmn_clock_deadline(timeout_ns);
	char path[CC_NODE_DIR_SIZE];
	enum cmn_status status;
	int dir_fd = cc_node_open(&remote->setup.node, path);

	*ret = (struct cc_helper){ .fd = -1 };
	if (dir_fd < 0)
		return CMN_ERR_ACCESS;
	status = connect_helper(remote, dir_fd, path, deadline, deadline, ret);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	return status;
}

void cc_remote_release(struct cc_remote *remote, const struct cc_key *key)
{
	uint64_t begun = cmn_clock_monotonic();
	char path[CC_NODE_DIR_SIZE], socket[CC_NODE_SOCKET_SIZE], name[CC_REMOTE_NAME_SIZE];
	int dir_fd = cc_node_open(&remote->setup.node, path);
	struct cc_helper helper;

	if (dir_fd < 0)
		return;
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	cc_node_socket(&remote->setup.node, path, socket);
	cc_remote_name(cc_key_view(key), name);
	/* Where this fails, the claim ends by itself. */
	if (cc_helper_connect(socket, cmn_clock_deadline(RELEASE_NS), &helper) == CMN_OK &&
	    cc_helper_release(&helper, cmn_view_of(name)) != CMN_OK)
		cmn_log_write(remote->log, CMN_LOG_DEBUG, "a claim ends by itself");
	cc_helper_close(&helper);
	cc_budget_lose(&remote->budget, cmn_clock_monotonic() - begun);
}

/* Whoever has the lock finds what is noted. While the tier is down it waits. */
static void launch_upload(struct cc_remote *remote, const char *root, int root_fd)
{
	const char *const arguments[] = { "upload", root, NULL };
	uint64_t last = atomic_load(&remote->launched), now = cmn_clock_monotonic();
	int fd, dir_fd;

	if (last && now - last < LAUNCH_NS)
		return;
	dir_fd = cc_node_open(&remote->setup.node, NULL);
	if (dir_fd < 0)
		return;
	if (!cc_node_is_down(&remote->setup.node, dir_fd, NULL, 0) &&
	    cc_node_lock_uploads(&remote->setup.node, dir_fd, root_fd, &fd) == CMN_OK) {
		if (atomic_compare_exchange_strong(&remote->launched, &last, now))
			(void)launch(remote, arguments, fd);	/* a later one may start it */
		else
			cc_root_unlock(fd);	/* another thread has just done it */
	}
	(void)close(dir_fd);	/* a directory: nothing to be lost */
}

void cc_remote_stored(struct cc_remote *remote, const char *root, const struct cc_key *key)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	enum cmn_status status;
	int fd;

	if (!remote || !remote->setup.writes || cc_root_open(root, &fd) != CMN_OK)
		return;
	cc_entry_dir_path_of(key, entry_dir);
	status = cc_uploads_add(fd, entry_dir);
	/* Where very many wait, or have waited, only an uploader makes room again. */
	if (status == CMN_OK || status == CMN_ERR_TOO_LARGE)
		launch_upload(remote, root, fd);
	(void)close(fd);	/* a directory: nothing to be lost */
}
