/* SPDX-License-Identifier: MIT */
/*
 * doctor_remote: the tier that machines share: keys, secrets, programs, and a value
 * that is written, read back and removed. It also tells the cache of a tier that
 * works again.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cachecore/remote/helper.h"
#include "cachecore/remote/launch.h"
#include "cachecore/remote/remote.h"
#include "common/clock.h"
#include "tools/doctor/doctor.h"
#include "tools/key/key_file.h"
#include "tools/memory.h"
#include "tools/remote/remote.h"
#include "tools/text.h"

#define NS_PER_S UINT64_C(1000000000)
/* More than any look-up waits: what takes longer is of no use. */
#define CONNECT_NS (8 * NS_PER_S)
#define REQUEST_NS (5 * NS_PER_S)
/* As a larger kernel's entry. */
#define VALUE_SIZE ((size_t)64 << 10)
#define SOON_S (UINT64_C(14) * 86400)

/* What servers say, and what can be done about it. */
static const struct {
	const char *part, *advice;
} remedies[] = {
	{ "NOAUTH", "put password=... into a file with mode 600, and name it in CKCACHE_REMOTE_SECRETS" },
	{ "this user or password", "correct the user or password in the file that CKCACHE_REMOTE_SECRETS names" },
	{ "does not let this user", "let the server's user read, write and delete keys" },
	{ "credentials are wanted", "put username=... and password=..., or bearer-token=..., into the file that CKCACHE_REMOTE_SECRETS names" },
	{ "not permitted", "let this user read, write and delete there" },
	{ "status 405", "let the server take PUT and DELETE (nginx: dav_methods PUT DELETE)" },
	{ "memory is full", "set maxmemory-policy allkeys-lru on the server" },
	{ "not trusted", "take the right to write there from others, or sign entries (ckcache key new)" },
	{ "refused", "start the server, or correct the address" },
};

static void complain(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)level;
	doctor_note(ctx, NULL, "%s", message);
}

static const char *advice_for(const char *reason)
{
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		if (strstr(reason, remedies[i].part))
			return remedies[i].advice;
	}
	return "see that the server runs and can be reached from here";
}

/* What helpers say often begins with the address. */
static void say_failure(struct doctor *doctor, const char *doing, const char *reason)
{
	const char *address = doctor->remote.address;
	bool begins = strncmp(reason, address, strlen(address)) == 0;

	doctor_problem(doctor, advice_for(reason), "%s%s%s%s%s", begins ? "" : address, begins ? "" : ": ",
		       doing, *doing ? ": " : "", reason);
}

static void look_at_key(struct doctor *doctor, const struct cc_trust_key *key,
			const struct cc_trust_place *place, uint64_t now)
{
	if (now >= key->end)
		doctor_note(doctor, "ckcache key trust --until a later day, or --remove it",
			    "the key of %s has expired (%s; %s, line %u)", key->name, key->until, place->file,
			    place->line);
	else if (key->end != UINT64_MAX && key->end - now < SOON_S)
		doctor_note(doctor, "ckcache key trust it --until a later day",
			    "the key of %s is trusted, but expires soon (%s; %s, line %u)", key->name,
			    key->until, place->file, place->line);
	else
		doctor_ok(doctor, "the key of %s is trusted%s%s (%s, line %u)", key->name,
			  key->until[0] ? " until " : "", key->until, place->file, place->line);
}

/* Whether reading can work with these keys: false was said. */
static bool look_at_trust(struct doctor *doctor, const struct cc_address *address,
			  const struct cc_trust *trust)
{
	uint64_t now = cmn_clock_realtime() / NS_PER_S;
	const struct cc_trust_key *key, *decides;
	struct cc_trust_place place, first;
	size_t count = 0, good = 0;

	for (; (key = cc_trust_at(trust, count, &place)); count++) {
		decides = cc_trust_decides(trust, count, &first);
		if (decides == key)
			look_at_key(doctor, key, &place, now);
		else
			doctor_note(doctor, "remove one of the two lines",
				    "the key of %s is listed twice: %s, line %u does not count, %s, line %u does",
				    key->name, place.file, place.line, first.file, first.line);
		good += now < decides->end;
	}
	if (!count && !address->write_only) {
		if (strcmp(address->scheme, "file") != 0) {
			doctor_problem(doctor,
				       "ckcache key trust LINE, with the line that ckcache key show prints on a machine that uploads",
				       "no key is trusted here, so no entry can be used");
			return false;
		}
		doctor_note(doctor, NULL,
			    "no key is trusted: entries are used unsigned, where only this user or root can write");
	}
	if (count && !good && !address->write_only)
		doctor_problem(doctor, "ckcache key trust the new key of who uploads",
			       "every trusted key has expired, so no entry can be used");
	if (count && !cc_sodium_available()) {
		doctor_problem(doctor, "install libsodium",
			       "no signature can be checked: libsodium is not installed");
		return false;
	}
	return true;
}

/* Others would refuse what it signs for now, or not. */
static void look_at_signer(struct doctor *doctor, const char *path, const struct cc_trust *trust)
{
	const struct cc_trust_key *trusted = NULL;
	struct cc_signer signer;

	if (!cc_sodium_available()) {
		doctor_problem(doctor, "install libsodium",
			       "nothing can be signed: libsodium is not installed");
		return;
	}
	if (!key_file_read_private(path, &signer)) {
		doctor_problem(doctor, "ckcache key new makes one; one with a passphrase is not read",
			       "%s, from remote_key, is no private key that can be used", path);
		return;
	}
	if (cc_trust_find(trust, signer.key_id, cmn_clock_realtime() / NS_PER_S, &trusted) != CMN_OK)
		doctor_note(doctor, NULL, "%s signs what is uploaded; that key is not trusted on this machine",
			    path);
	else
		doctor_ok(doctor, "%s signs what is uploaded, as %s", path, trusted->name);
	explicit_bzero(&signer, sizeof(signer));
}

static void look_at_signing(struct doctor *doctor, const struct cc_address *address,
			    const struct cc_trust *trust)
{
	const char *path = doctor->config.remote_key;
	struct cc_trust_place place;
	struct stat info;

	if (address->read_only || doctor->config.read_only) {
		doctor_ok(doctor, "read-only: nothing is uploaded");
	} else if (!path) {
		if (strcmp(address->scheme, "file") != 0 || cc_trust_at(trust, 0, &place))
			doctor_note(doctor, "ckcache key new makes a key; name its file in CKCACHE_REMOTE_KEY",
				    "nothing is uploaded: there is no key to sign with");
	} else if (stat(path, &info) < 0) {
		doctor_problem(doctor, "ckcache key new makes a key; name its file in CKCACHE_REMOTE_KEY",
			       "%s, from remote_key, cannot be read: %m", path);
	} else if (info.st_mode & 077) {
		doctor_problem(doctor, "chmod 600 it, or make another key",
			       "%s, from remote_key, is not its owner's alone: mode %04o", path,
			       info.st_mode & 07777);
	} else {
		look_at_signer(doctor, path, trust);
	}
}

static bool look_at_secrets(struct doctor *doctor)
{
	const char *path = doctor->config.remote_secrets, *problem;
	struct cc_address scratch = { 0 };

	if (!path)
		return true;
	problem = remote_read_secrets(path, &scratch);
	for (size_t i = 0; i < scratch.attribute_count; i++)
		explicit_bzero(scratch.attributes[i], strlen(scratch.attributes[i]));
	if (problem)
		doctor_problem(doctor, "lines NAME=VALUE, and chmod 600", "%s: %s", path, problem);
	else
		doctor_ok(doctor, "%s has %zu secrets for the helper", path, scratch.attribute_count);
	cc_address_release(&scratch);
	return !problem;
}

static void say_not_found(struct doctor *doctor, const char *program, const char *where)
{
	char **directory = doctor->config.remote_helpers, *directories;
	struct cmn_buffer text = { 0 };

	for (; directory && *directory; directory++)
		cmn_buffer_printf(&text, "%s, ", *directory);
	cmn_buffer_append_text(&text, cc_launch_directory);
	directories = memory_string(&text);
	doctor_problem(doctor, "install it, or name its directory in CKCACHE_REMOTE_HELPERS",
		       "%s not found in %s%s", program, directories, where);
	free(directories);
}

static bool look_at_programs(struct doctor *doctor, const struct cc_remote_setup *setup)
{
	char path[PATH_MAX], name[64];
	bool started = remote_find_starter(&doctor->config, path);

	if (!started)
		say_not_found(doctor, CC_LAUNCH_PROGRAM, "");
	if (!remote_find_helper(&doctor->config, setup, path)) {
		(void)snprintf(name, sizeof(name), "ckcache-storage-%s", setup->address.scheme);	/* it fits */
		say_not_found(doctor, name, setup->trust ? ", or in $PATH" : "");
		return false;
	}
	doctor->remote.helper = memory_copy(path);
	doctor_ok(doctor, "the storage helper is %s", path);
	return started;
}

/* Its identity and diagnostics, a line each. */
static bool say_info(struct doctor *doctor, struct cc_helper *helper)
{
	struct cmn_buffer info = { 0 };
	char *text, *line, *rest;

	if (!helper->has_info)
		return true;
	if (cc_helper_info(helper, &info) != CMN_OK) {
		cmn_buffer_release(&info);
		return false;
	}
	text = memory_string(&info);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		doctor_say(doctor, strstr(line, "unknown attribute") ? DOCTOR_NOTE : DOCTOR_OK, NULL,
			   "the helper says: %s", line);
	free(text);
	return true;
}

static const char *reason_of(const struct cc_helper *helper, enum cmn_status status)
{
	return helper->message[0] ? helper->message
	     : status == CMN_BUSY ? "no answer in time"
	     : status == CMN_MISS ? "it was not found" : cmn_status_string(status);
}

static bool write_value(struct doctor *doctor, struct cc_helper *helper, struct cmn_view name,
			struct cmn_view value)
{
	const uint64_t begun = cmn_clock_monotonic();
	enum cmn_status status;

	helper->deadline = cmn_clock_deadline(REQUEST_NS);
	status = cc_helper_put(helper, name, &value, 1);
	doctor->remote.put_ns = cmn_clock_monotonic() - begun;
	doctor->remote.was_written = status == CMN_OK;
	if (status == CMN_MISS)
		say_failure(doctor, "writing", "the server does not want the value");
	else if (status != CMN_OK)
		say_failure(doctor, "writing", reason_of(helper, status));
	return status == CMN_OK;
}

static bool read_value(struct doctor *doctor, struct cc_helper *helper, struct cmn_view name,
		       struct cmn_view value)
{
	const uint64_t begun = cmn_clock_monotonic();
	struct cmn_buffer got = { 0 };
	enum cmn_status status;
	bool same;

	helper->deadline = cmn_clock_deadline(REQUEST_NS);
	status = cc_helper_get(helper, name, VALUE_SIZE, &got);
	doctor->remote.get_ns = cmn_clock_monotonic() - begun;
	same = status != CMN_OK || cmn_view_equal(cmn_buffer_view(&got), value);
	cmn_buffer_release(&got);
	doctor->remote.was_read = status == CMN_OK && same;
	if (!same)
		say_failure(doctor, "reading", "the value came back with other bytes");
	else if (status == CMN_MISS)
		say_failure(doctor, "reading", "a value that was just written is gone");
	else if (status != CMN_OK)
		say_failure(doctor, "reading", reason_of(helper, status));
	return doctor->remote.was_read;
}

/* Nothing is written: asks for what is not there. */
static bool ask_for_nothing(struct doctor *doctor, struct cc_helper *helper, struct cmn_view name)
{
	const uint64_t begun = cmn_clock_monotonic();
	struct cmn_buffer got = { 0 };
	char time[TEXT_SIZE];
	enum cmn_status status;
	uint64_t took;

	helper->deadline = cmn_clock_deadline(REQUEST_NS);
	status = cc_helper_get(helper, name, VALUE_SIZE, &got);
	took = cmn_clock_monotonic() - begun;
	cmn_buffer_release(&got);
	if (status != CMN_MISS && status != CMN_OK) {
		say_failure(doctor, "reading", reason_of(helper, status));
		return false;
	}
	doctor_ok(doctor, "a look-up that finds nothing took %s", text_time(took, time));
	doctor->remote.asked = true;
	return true;
}

static void say_times(struct doctor *doctor)
{
	const struct doctor_remote *remote = &doctor->remote;
	char put[TEXT_SIZE], get[TEXT_SIZE], size[TEXT_SIZE];

	if (remote->was_read)
		doctor_ok(doctor, "a value of %s was written in %s and read back in %s",
			  text_bytes(VALUE_SIZE, size), text_time(remote->put_ns, put),
			  text_time(remote->get_ns, get));
	else
		doctor_ok(doctor, "a value of %s was written in %s", text_bytes(VALUE_SIZE, size),
			  text_time(remote->put_ns, put));
}

static bool try_values(struct doctor *doctor, const struct cc_remote_setup *setup,
		       struct cc_helper *helper)
{
	const uint64_t now = cmn_clock_realtime();
	static uint8_t bytes[VALUE_SIZE];
	const struct cmn_view value = { bytes, VALUE_SIZE };
	enum cmn_status removed;
	char name[64];
	bool good;

	(void)snprintf(name, sizeof(name), "ckcache-1-doctor-%lx-%" PRIx64, (long)getpid(), now);	/* it fits */
	/* First what is short: to who has no password, servers answer clearly only then. */
	if ((setup->reads && !ask_for_nothing(doctor, helper, cmn_view_of(name))) || !setup->writes)
		return doctor->remote.asked;
	(void)!getrandom(bytes, VALUE_SIZE, 0);	/* so that no server compresses it away */
	good = write_value(doctor, helper, cmn_view_of(name), value) &&
	       (!setup->reads || read_value(doctor, helper, cmn_view_of(name), value));
	if (good)
		say_times(doctor);
	helper->deadline = cmn_clock_deadline(REQUEST_NS);
	removed = good ? cc_helper_remove(helper, cmn_view_of(name)) : CMN_OK;
	if (removed != CMN_OK && removed != CMN_MISS)
		doctor_note(doctor, NULL, "the test value %s cannot be removed: %s", name,
			    reason_of(helper, removed));
	return good;
}

/* Why there is no connection: who started the helper left it on this machine. */
static void say_unconnected(struct doctor *doctor, const struct cc_node *node, enum cmn_status status)
{
	char reason[CC_REMOTE_TEXT_SIZE] = "";
	int dir_fd = cc_node_open(node, NULL);

	if (dir_fd < 0) {
		doctor_problem(doctor,
			       "set XDG_RUNTIME_DIR to a directory of this machine that only you can write to",
			       "the helper's socket has no place: neither $XDG_RUNTIME_DIR nor /tmp has a directory that is yours alone");
		return;
	}
	if (status != CMN_BUSY)
		(void)cc_node_is_down(node, dir_fd, reason, sizeof(reason));
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	say_failure(doctor, "the helper cannot be used", reason[0] ? reason
		    : status == CMN_BUSY ? "no answer in time"
		    : status == CMN_MISS ? "it did not start" : cmn_status_string(status));
}

static void try_tier(struct doctor *doctor, const struct cc_remote_setup *setup)
{
	struct cc_helper helper = { .fd = -1 };
	struct cc_remote *remote;
	enum cmn_status status;

	if (cc_remote_new(&doctor->config, &tool_silent, &remote) != CMN_OK || !remote)
		memory_end();
	status = cc_remote_connect(remote, CONNECT_NS, &helper);
	if (status != CMN_OK)
		say_unconnected(doctor, &setup->node, status);
	else if (!say_info(doctor, &helper))
		say_failure(doctor, "", "the helper does not say what it is");
	else
		doctor->remote.works = try_values(doctor, setup, &helper);
	cc_helper_close(&helper);
	cc_remote_free(remote);
}

/* What the applications of this machine found out, and what they left to do. */
static void look_at_past(struct doctor *doctor, const struct tier *tier)
{
	struct cmn_buffer text = { 0 };
	char *problem;

	tier_append_problem(tier, &text);
	problem = memory_string(&text);
	if (tier->state == TIER_AWAY)
		doctor_note(doctor, NULL, "%s", problem);
	free(problem);
	if (tier->waiting)
		doctor_note(doctor, NULL, "%" PRIu64 " entries wait to be uploaded", tier->waiting);
}

/* Applications need not wait for the end of the minute. */
static void end_pause(struct doctor *doctor, const struct cc_node *node)
{
	int dir_fd = cc_node_open(node, NULL);

	if (dir_fd < 0)
		return;
	cc_node_set_up(node, dir_fd);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	doctor_ok(doctor, "it works again, and is used from now on");
}

static void look_at_use(struct doctor *doctor)
{
	struct cc_remote_setup setup;
	const char *problem = "";
	struct tier tier;
	enum cmn_status status;

	tier_look(&doctor->config, &tier);
	status = cc_remote_setup(&doctor->config, &tool_silent, &setup, &problem);
	if (status != CMN_OK) {
		doctor_problem(doctor, NULL, "%s is not used: %s", doctor->remote.address, problem);
		tier_release(&tier);
		return;
	}
	look_at_past(doctor, &tier);
	if (look_at_programs(doctor, &setup))
		try_tier(doctor, &setup);
	if (tier.state == TIER_AWAY && doctor->remote.works)
		end_pause(doctor, &setup.node);
	tier_release(&tier);
	cc_remote_setup_release(&setup);
}

static void look_at_keys(struct doctor *doctor, const struct cc_address *address)
{
	const struct cmn_log log = { CMN_LOG_WARNING, complain, doctor };
	struct cc_trust *trust = NULL;
	bool usable;

	if (cc_remote_trust(&doctor->config, &log, &trust) != CMN_OK)
		memory_end();
	usable = look_at_trust(doctor, address, trust);
	look_at_signing(doctor, address, trust);
	cc_trust_free(trust);
	usable = look_at_secrets(doctor) && usable;	/* else no helper starts */
	if (usable)
		look_at_use(doctor);
}

void doctor_look_at_remote(struct doctor *doctor)
{
	struct cc_address address;
	const char *problem;

	if (!doctor->config.remote)
		return;
	if (cc_address_parse(doctor->config.remote, &address, &problem) != CMN_OK) {
		doctor_problem(doctor, "correct CKCACHE_REMOTE, or remove it", "CKCACHE_REMOTE: %s", problem);
		return;
	}
	doctor->remote.address = tier_show_address(&address);
	doctor_ok(doctor, "%s%s", doctor->remote.address,
		  address.write_only ? ", where this machine only writes" : "");
	look_at_keys(doctor, &address);
	cc_address_release(&address);
}
