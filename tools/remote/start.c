/* SPDX-License-Identifier: MIT */
/*
 * start: gives a storage helper what ccache's protocol says that it gets, and
 * sees it start. Its secrets are in no argument.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachecore/remote/helper.h"
#include "cachecore/remote/launch.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/spawn.h"
#include "tools/remote/remote_program.h"
#include "tools/remote/remote_main.h"
#include "tools/tool.h"

#define IDLE_S "600"		/* without requests a helper ends */
#define START_NS (UINT64_C(5) * 1000000000)
#define ANSWER_NS (UINT64_C(1) * 1000000000)
#define LOOK_MS 5
#define STDERR_SIZE 65536
#define REASON_SIZE 256

struct variables {
	char **names;	/* "NAME=VALUE", NULL-terminated */
	size_t count;
};

/* false: no memory. */
static bool set(struct variables *variables, const char *format, const char *name,
		const char *value)
{
	char **names = realloc(variables->names, (variables->count + 2) * sizeof(*names));

	if (!names)
		return false;
	variables->names = names;
	if (asprintf(&names[variables->count], format, name, value) < 0)
		return false;
	names[++variables->count] = NULL;
	return true;
}

/* The helper's whole environment. */
static bool set_variables(struct variables *variables, const struct cc_address *address,
			  const char *socket)
{
	char **kept, number[24];
	bool done;

	if (cc_launch_environment(&kept) != CMN_OK)
		return false;
	done = true;
	for (size_t i = 0; kept[i] && done; i++) {
		/* Its own settings come by the protocol. */
		if (strncmp(kept[i], "CKCACHE_", strlen("CKCACHE_")) != 0)
			done = set(variables, "%s%s", kept[i], "");
	}
	cmn_strings_free(kept);
	(void)snprintf(number, sizeof(number), "%zu", address->attribute_count);
	done = done && set(variables, "%s=%s", "CRSH_IPC_ENDPOINT", socket) &&
	       set(variables, "%s=%s", "CRSH_URL", address->url) &&
	       set(variables, "%s=%s", "CRSH_IDLE_TIMEOUT", IDLE_S) &&
	       set(variables, "%s=%s", "CRSH_NUM_ATTR", number);
	for (size_t i = 0; i < address->attribute_count && done; i++) {
		const char *value = strchr(address->attributes[i], '=');
		char name[CC_HELPER_MESSAGE_SIZE];

		(void)snprintf(name, sizeof(name), "CRSH_ATTR_KEY_%zu=%.*s", i,
			       (int)(value - address->attributes[i]), address->attributes[i]);
		done = set(variables, "%s%s", name, "");
		(void)snprintf(name, sizeof(name), "CRSH_ATTR_VALUE_%zu", i);
		done = done && set(variables, "%s=%s", name, value + 1);
	}
	return done;
}

static void forget(struct variables *variables)
{
	for (size_t i = 0; i < variables->count; i++) {
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

/* The first line of what it has written. */
static void read_reason(int fd, char reason[REASON_SIZE])
{
	ssize_t got = pread(fd, reason, REASON_SIZE - 1, 0);

	reason[got > 0 ? got : 0] = '\0';
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
		(void)usleep(LOOK_MS * 1000);
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
	if (stderr_fd < 0 || !set_variables(&variables, &setup->address, socket)) {
		if (stderr_fd >= 0)
			(void)close(stderr_fd);	/* nothing was written through it */
		forget(&variables);
		return "no memory or descriptors for a helper";
	}
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

int remote_start_helper(const struct cc_config *config, const struct cc_remote_setup *setup,
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
