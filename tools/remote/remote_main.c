/* SPDX-License-Identifier: MIT */
/*
 * ckcache-remote: does what an application must not do, for the remote tier and for recipes. The
 * cache starts it, as a process of its own, with the settings of the application:
 *
 *   ckcache-remote start SOCKET    becomes the storage helper: gives it what ccache's protocol says that
 *                                  it gets, and sees it start; its secrets are in no argument
 *   ckcache-remote upload ROOT     signs and uploads what is noted there: waits for more for half a minute,
 *                                  by inotify, and once a second where that sees nothing, as on a network
 *                                  file system; whoever notes something after that starts another
 *   ckcache-remote replay ROOT     becomes `ckcache replay`, in the background
 *
 * It holds the secrets: what the helper needs to reach its server, and the private key.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/remote/helper.h"
#include "cachecore/remote/launch.h"
#include "cachecore/remote/uploads.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/printable.h"
#include "common/spawn.h"
#include "common/trusted.h"
#include "tools/memory.h"
#include "tools/remote/remote.h"
#include "tools/tool.h"

/* ---- start ---- */

#define IDLE_S "600"		/* without requests a helper ends */
#define START_NS (UINT64_C(5) * 1000000000)
#define ANSWER_NS (UINT64_C(1) * 1000000000)
#define START_LOOK_MS 5
#define STDERR_SIZE 65536
#define REASON_SIZE 256

struct variables {
	char **names;	/* "NAME=VALUE", NULL-terminated */
	size_t count;	/* with that */
};

/* Takes the text. */
static void set(struct variables *variables, char *text)
{
	memory_grow(variables->names, variables->count);
	variables->names[variables->count++] = text;
}

/* The helper's whole environment. */
static void set_variables(struct variables *variables, const struct cc_address *address, const char *socket)
{
	char **kept;

	if (cc_launch_environment(&kept) != CMN_OK)
		memory_end();
	for (size_t i = 0; kept[i]; i++) {
		/* Its own settings come by the protocol. */
		if (strncmp(kept[i], "CKCACHE_", strlen("CKCACHE_")) != 0)
			set(variables, memory_copy(kept[i]));
	}
	cmn_strings_free(kept);
	set(variables, memory_printf("CRSH_IPC_ENDPOINT=%s", socket));
	set(variables, memory_printf("CRSH_URL=%s", address->url));
	set(variables, memory_printf("CRSH_IDLE_TIMEOUT=%s", IDLE_S));
	set(variables, memory_printf("CRSH_NUM_ATTR=%zu", address->attribute_count));
	for (size_t i = 0; i < address->attribute_count; i++) {
		const char *name = address->attributes[i], *value = strchr(name, '=');

		set(variables, memory_printf("CRSH_ATTR_KEY_%zu=%.*s", i, (int)(value - name), name));
		set(variables, memory_printf("CRSH_ATTR_VALUE_%zu=%s", i, value + 1));
	}
	set(variables, NULL);
}

static void forget(struct variables *variables)
{
	for (size_t i = 0; i < variables->count && variables->names[i]; i++) {
		explicit_bzero(variables->names[i], strlen(variables->names[i]));
		free(variables->names[i]);
	}
	free(variables->names);
}

/*
 * What the helper writes to its standard error goes to a file in memory that never grows: its
 * first line may say why it ends, and what comes later is lost without a signal. Under a limit of
 * files' sizes nothing can be said.
 */
static int make_stderr(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct rlimit limit;

	if (fd < 0 || getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return fd;
	if ((limit.rlim_cur < STDERR_SIZE || ftruncate(fd, STDERR_SIZE) == 0) &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0)
		return fd;
	(void)close(fd);	/* nothing was written through it */
	return -1;
}

static pid_t run_helper(const char *path, char *const *environment, int stderr_fd)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (dup2(stderr_fd, STDERR_FILENO) >= 0)
		(void)execve(path, argv, environment);
	_exit(127);
}

/* The first line of what it has written, into zeros. */
static void read_reason(int fd, char reason[REASON_SIZE])
{
	(void)!pread(fd, reason, REASON_SIZE - 1, 0);	/* it may have said nothing */
	reason[strcspn(reason, "\n")] = '\0';
}

/* CMN_OK: it answers. Else reason says why not. */
static enum cmn_status see_start(pid_t pid, const char *socket, int stderr_fd,
				 char reason[REASON_SIZE])
{
	uint64_t deadline = cmn_clock_deadline(START_NS);
	enum cmn_status status;
	struct cc_helper helper;
	int state;

	do {
		status = cc_helper_connect(socket, deadline, &helper);
		cc_helper_close(&helper);
		if (status == CMN_OK)
			return CMN_OK;
		(void)usleep(START_LOOK_MS * 1000);
		if (waitpid(pid, &state, WNOHANG) == pid) {
			read_reason(stderr_fd, reason);
			if (!reason[0])
				(void)snprintf(reason, REASON_SIZE, "the helper ended at once");
			return CMN_ERR_IO;
		}
	} while (cmn_clock_monotonic() < deadline);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &state, 0);
	(void)snprintf(reason, REASON_SIZE, "the helper did not start in time");
	return CMN_BUSY;
}

static bool answers(const char *socket)
{
	struct cc_helper helper;
	bool done = cc_helper_connect(socket, cmn_clock_deadline(ANSWER_NS), &helper) == CMN_OK;

	cc_helper_close(&helper);
	return done;
}

/* NULL, or why there is none. */
static const char *start(const struct cc_config *config, struct cc_remote_setup *setup,
			 const char *socket, char reason[REASON_SIZE])
{
	struct variables variables = { 0 };
	const char *problem = NULL;
	char path[PATH_MAX];
	int stderr_fd;
	pid_t pid;

	if (!remote_find_helper(config, setup, path)) {
		(void)snprintf(reason, REASON_SIZE, "there is no ckcache-storage-%s that nobody else may change",
			       setup->address.scheme);
		return reason;
	}
	if (config->remote_secrets)
		problem = remote_read_secrets(config->remote_secrets, &setup->address);
	/* The last one counts. */
	if (!problem && !setup->trust &&
	    cc_address_add(&setup->address, cmn_view_of("trusted-only=true")) != CMN_OK)
		problem = "too many attributes";
	if (problem)
		return problem;
	/* Another may have started one just before; what does not answer is a dead one's. */
	if (answers(socket))
		return NULL;
	(void)unlink(socket);
	stderr_fd = make_stderr();
	if (stderr_fd < 0)
		return "no memory or descriptors for a helper";
	set_variables(&variables, &setup->address, socket);
	pid = run_helper(path, variables.names, stderr_fd);
	forget(&variables);
	/* From here on it alone has the lock. */
	(void)close(CMN_SPAWN_KEPT_FD);
	if (pid < 0)
		problem = "no process for a helper";
	else if (see_start(pid, socket, stderr_fd, reason) != CMN_OK)
		problem = reason;
	(void)close(stderr_fd);	/* nothing was written through it */
	return problem;
}

/*
 * Becomes two processes: the storage helper, which listens on that socket and
 * keeps descriptor 3 with its lock; and this one, which sees it start, else says
 * why not (node.h). The exit code.
 */
static int start_helper(const struct cc_config *config, const struct cc_remote_setup *setup,
			const char *socket)
{
	/* Its attributes grow by the secrets. */
	struct cc_remote_setup own = *setup;
	char reason[REASON_SIZE] = "";
	const char *problem;
	int dir_fd;

	problem = start(config, &own, socket, reason);
	/* Those that were added are this function's. */
	for (size_t i = setup->address.attribute_count; i < own.address.attribute_count; i++) {
		explicit_bzero(own.address.attributes[i], strlen(own.address.attributes[i]));
		free(own.address.attributes[i]);
	}
	dir_fd = cc_node_open(&setup->node, NULL);
	/* That it has started says nothing of its server, which others may have found dead meanwhile. */
	if (dir_fd >= 0 && problem)
		cc_node_set_down(&setup->node, dir_fd, problem);
	if (dir_fd >= 0)
		(void)close(dir_fd);	/* a directory: nothing to be lost */
	if (problem)
		tool_complain("%s", problem);
	return problem ? TOOL_FAILED : TOOL_OK;
}

/* ---- upload ---- */

#define IDLE_NS (UINT64_C(30) * 1000000000)
#define AGAIN_NS (UINT64_C(5) * 1000000000)
#define LOOK_MS 1000
#define BATCH 64
#define NICENESS 10

struct note {
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	int refusals;
};

struct batch {
	struct note notes[BATCH];
	size_t count;
	bool again;	/* those that were refused before */
};

static bool take(void *ctx, const char *entry_dir, int refusals)
{
	struct batch *batch = ctx;
	struct note *note = &batch->notes[batch->count];

	if ((refusals != CC_UPLOADS_FRESH) != batch->again)
		return true;
	memcpy(note->entry_dir, entry_dir, CC_ENTRY_DIR_PATH_SIZE);
	note->refusals = refusals;
	return ++batch->count < BATCH;
}

/* What is stored while this goes on is noted anew, and uploaded after it. */
static enum cmn_status upload_note(struct upload *upload, int root_fd, int uploads_fd,
				   struct note *note)
{
	enum cmn_status status = CMN_OK;

	if (note->refusals == CC_UPLOADS_FRESH) {
		status = cc_uploads_set_refusals(uploads_fd, note->entry_dir, CC_UPLOADS_FRESH, 0);
		note->refusals = 0;
	}
	if (status != CMN_OK)
		return CMN_OK;	/* somebody removed it */
	status = upload_entry_dir(upload, root_fd, note->entry_dir);
	/* What cannot be uploaded at all is not tried again. */
	if (status == CMN_OK || status == CMN_MISS)
		return cc_uploads_remove(uploads_fd, note->entry_dir, note->refusals);
	return status;
}

/* A server that has taken others refused it: some times, and then it is given up. */
static enum cmn_status note_refusal(int uploads_fd, const struct note *note)
{
	if (note->refusals >= CC_UPLOADS_MAX_REFUSALS)
		return cc_uploads_remove(uploads_fd, note->entry_dir, note->refusals);
	return cc_uploads_set_refusals(uploads_fd, note->entry_dir, note->refusals, note->refusals + 1);
}

/*
 * Tries each. The first *ret_refused notes of the batch are those that the server refuses, with a
 * reason, since it may take others. Another failure ends it.
 */
static enum cmn_status try_each(struct upload *upload, int root_fd, int uploads_fd,
				struct batch *batch, size_t *ret_refused)
{
	*ret_refused = 0;
	for (size_t i = 0; i < batch->count; i++) {
		enum cmn_status status = upload_note(upload, root_fd, uploads_fd, &batch->notes[i]);

		if (status == CMN_ERR_IO && upload->helper.message[0])
			batch->notes[(*ret_refused)++] = batch->notes[i];
		else if (status != CMN_OK)
			return status;
	}
	return CMN_OK;
}

/*
 * CMN_MISS: nothing is noted, or what is was refused just now. Failures: the tier is out of
 * reach; the rest stays noted.
 */
static enum cmn_status upload_batch(struct upload *upload, int root_fd, int uploads_fd, bool again)
{
	struct batch batch = { .count = 0, .again = again };
	enum cmn_status status = cc_uploads_walk(uploads_fd, take, &batch);
	size_t refused;

	if (status == CMN_OK && !batch.count)
		status = CMN_MISS;
	if (status != CMN_OK)
		return status;
	status = try_each(upload, root_fd, uploads_fd, &batch, &refused);
	/* A server that has taken nothing since may be away: that says nothing of an entry. */
	if (status == CMN_OK && refused && upload->count == upload->counted)
		return CMN_ERR_IO;
	if (refused)
		upload->counted = upload->count;
	for (size_t i = 0; i < refused && status == CMN_OK; i++)
		status = note_refusal(uploads_fd, &batch.notes[i]);
	return status;
}

/* Until something is noted, or for a second. */
static void wait_for_more(int watch_fd)
{
	struct pollfd pollfd = { .fd = watch_fd, .events = POLLIN };
	char events[4096];

	if (poll(&pollfd, 1, LOOK_MS) > 0 && read(watch_fd, events, sizeof(events)) < 0)
		(void)usleep(LOOK_MS * 1000);	/* it does not come to that */
}

static int watch(int uploads_fd)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", uploads_fd);
	if (inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO) < 0) {
		(void)close(fd);	/* nothing was written through it */
		return -1;
	}
	return fd;
}

/* Until nothing new is noted for a while, the directory is gone, or the tier fails. */
static enum cmn_status upload_all(struct upload *upload, int root_fd, int uploads_fd, int watch_fd)
{
	uint64_t end = cmn_clock_deadline(IDLE_NS);
	uint64_t again_time = 0;
	enum cmn_status status;

	for (;;) {
		uint64_t count = upload->count;

		status = upload_batch(upload, root_fd, uploads_fd, false);
		/* Then what was refused: that may be over. It keeps nothing else back. */
		if (status == CMN_MISS && cmn_clock_monotonic() >= again_time) {
			again_time = cmn_clock_deadline(AGAIN_NS);
			(void)!upload_batch(upload, root_fd, uploads_fd, true);
			status = upload_batch(upload, root_fd, uploads_fd, false);
		}
		if (status == CMN_OK) {
			end = cmn_clock_deadline(IDLE_NS);
			if (upload->count > count)
				again_time = 0;
		} else if (status != CMN_MISS || cmn_clock_monotonic() >= end ||
			   !cmn_file_is_named(root_fd, CC_UPLOADS_DIRECTORY, uploads_fd)) {
			return status;
		} else {
			wait_for_more(watch_fd);
		}
	}
}

static enum cmn_status upload_root(struct upload *upload, int root_fd)
{
	enum cmn_status status;
	int uploads_fd, watch_fd;

	for (;;) {
		status = cc_uploads_open(root_fd, &uploads_fd);
		if (status != CMN_OK)
			return status;	/* CMN_MISS: the root is gone */
		watch_fd = watch(uploads_fd);
		status = upload_all(upload, root_fd, uploads_fd, watch_fd);
		if (watch_fd >= 0)
			(void)close(watch_fd);	/* nothing was written through it */
		/* The one before this tidied it up: what is noted by now is in another one. */
		if (status != CMN_MISS || cmn_file_is_named(root_fd, CC_UPLOADS_DIRECTORY, uploads_fd))
			break;
		(void)close(uploads_fd);	/* a directory: nothing to be lost */
	}
	/* What is noted from now on is the next one's; what was noted just before is not forgotten. */
	if (status == CMN_MISS) {
		cc_uploads_make_room(uploads_fd);	/* while nobody else has a note in work */
		(void)close(CMN_SPAWN_KEPT_FD);	/* with its lock */
		do
			status = upload_batch(upload, root_fd, uploads_fd, false);
		while (status == CMN_OK);
	}
	(void)close(uploads_fd);	/* a directory: nothing to be lost */
	cc_uploads_tidy(root_fd);
	return status;
}

/* Uploads what is noted in the root until nothing is noted for a while. The exit code. */
static int upload(const struct cc_config *config, const struct cc_remote_setup *setup,
		  const char *root)
{
	enum cmn_status status = CMN_ERR_INVALID;
	struct upload upload;
	int root_fd;

	if (upload_begin(config, setup, &upload) && cc_root_open(root, &root_fd) == CMN_OK) {
		/* The helper is others' too: it is started before this process steps back. */
		(void)!upload_connect(&upload);	/* who uploads finds out */
		if (getpriority(PRIO_PROCESS, 0) < NICENESS)
			(void)setpriority(PRIO_PROCESS, 0, NICENESS);	/* a favour */
		status = upload_root(&upload, root_fd);
		(void)close(root_fd);	/* a directory: nothing to be lost */
	}
	/* Look-ups find out themselves whether the tier is of use. */
	if (status != CMN_OK && status != CMN_MISS && upload.problem[0])
		tool_complain("%s", upload.problem);
	upload_release(&upload);
	return status == CMN_OK || status == CMN_MISS ? TOOL_OK : TOOL_FAILED;
}

/* ---- the program ---- */

#define MAX_MESSAGE 1024

void tool_complain(const char *format, ...)
{
	char text[MAX_MESSAGE] = "";
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);	/* cut, if it must be */
	va_end(arguments);
	cmn_printable_clean(text, '?');
	(void)fprintf(stderr, "ckcache-remote: %s\n", text);
}

/* An application's own limits are not those of what serves others, as far as that may be undone. */
static void raise_limits(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE };
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(limits[i], &limit);	/* up to there it is always allowed */
	}
}

/* For so long something new is begun at most. */
#define BUDGET "3600"

/* Descriptor 3 stays open, with its lock. */
static int become_replay(const char *root)
{
	char self[PATH_MAX], path[PATH_MAX + sizeof("/" CKCACHE_BINDIR "/ckcache")];
	char *slash, *installed = realpath(CKCACHE_LIBEXECDIR, NULL);
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *reason;
	bool is_installed;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	/* The application's may be relative to its own directory, or that of another user. */
	if (!slash || setenv("CKCACHE_DIR", root, 1) < 0)
		return TOOL_FAILED;
	*slash = '\0';
	/* As built it lies beside this program, and nowhere else. */
	is_installed = installed && strcmp(self, installed) == 0;
	free(installed);
	(void)snprintf(path, sizeof(path), "%s/%s/ckcache", self, is_installed ? CKCACHE_BINDIR : ".");	/* it fits */
	if (cmn_trusted_check(path, is_installed, &reason) == CMN_OK)
		(void)execl(path, "ckcache", "replay", "--background", "--budget", BUDGET, (char *)NULL);
	return TOOL_FAILED;
}

static int serve(const struct cc_config *config, const struct cmn_log *log, char **argv)
{
	struct cc_remote_setup setup;
	const char *problem = "no remote tier is configured";
	int code = TOOL_USAGE;

	if (cc_remote_setup(config, log, &setup, &problem) != CMN_OK) {
		tool_complain("%s", problem);
		return TOOL_FAILED;
	}
	if (!strcmp(argv[0], "start"))
		code = start_helper(config, &setup, argv[1]);
	else if (!strcmp(argv[0], "upload"))
		code = upload(config, &setup, argv[1]);
	cc_remote_setup_release(&setup);
	return code;
}

int main(int argc, char **argv)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };	/* the application's cache has logged it */
	struct cc_config config;
	int code;

	if (argc != 3) {
		tool_complain("the cache starts this program by itself");
		return TOOL_USAGE;
	}
	raise_limits();
	if (!strcmp(argv[1], "replay"))
		return become_replay(argv[2]);
	if (cc_config_load(&log, &config) != CMN_OK)
		return TOOL_FAILED;
	code = serve(&config, &log, argv + 1);
	cc_config_release(&config);
	return code;
}
