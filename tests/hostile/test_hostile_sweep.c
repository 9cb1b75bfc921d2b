/* SPDX-License-Identifier: MIT */
/*
 * test_hostile_sweep: each file that a program leaves in its root, by a walk
 * over one, so that no new file is forgotten, replaced by each thing that can
 * stand there. The next runs give the right bytes in time, the third one finds
 * everything again, and the root can be evicted from. As a user without rights
 * of its own where the superuser runs it.
 */
#include <ftw.h>
#include <grp.h>

#include "common/clock.h"
#include "common/file.h"
#include "tests/hostile/hostile.h"
#include "tests/support/unit.h"

/* Ids that are nobody's. */
#define USER 61001
#define OTHER_USER 61002
/* What nothing may take, and how often a machine that is busy may take longer. */
#define LIMIT_NS UINT64_C(1000000000)
#define TRIES 6
#define PATIENCE_S 60

#define BUILT "built right\nbuilt right\nbuilt right\n"
#define HIT "disk right\ndisk right\ndisk right\n"

static char output[4096];	/* of the last program, both streams */

static void become_user(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(USER) < 0 || setuid(USER) < 0))
		_exit(126);
}

/* Exit code of a program of the test's directory with the root; max_size: as text, or NULL. *ret_ns: its time. */
static int run(const char *max_size, uint64_t *ret_ns, char *const *argv)
{
	uint64_t began = cmn_clock_monotonic();
	struct cmn_buffer file;
	int status = 0, fd;
	pid_t pid;

	(void)unlink("output");
	fd = open("output", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	pid = fork();
	CU_ASSERT_TRUE_FATAL(fd >= 0 && pid >= 0);
	if (pid == 0) {
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		(void)clearenv();
		(void)setenv("CKCACHE_DIR", "/proc/self/cwd/root", 1);
		(void)setenv("CKCACHE_READ_ONLY_DIRS", "", 1);
		if (max_size)
			(void)setenv("CKCACHE_MAX_SIZE", max_size, 1);
		(void)alarm(PATIENCE_S);
		become_user();
		(void)execv(argv[0], argv);
		_exit(127);
	}
	(void)close(fd);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	*ret_ns = cmn_clock_monotonic() - began;
	output[0] = '\0';
	if (cmn_file_read(AT_FDCWD, "output", sizeof(output) - 1, false, &file) == CMN_OK) {
		if (file.len)
			memcpy(output, file.data, file.len);
		output[file.len] = '\0';
		cmn_buffer_release(&file);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int use(uint64_t *ret_ns)
{
	return run(NULL, ret_ns, (char *[]){ "./client", "use", NULL });
}

/* Each line of it is one of these two. */
static bool is_right(void)
{
	const char *at = output;

	while (strncmp(at, "built right\n", 12) == 0 || strncmp(at, "disk right\n", 11) == 0)
		at = strchr(at, '\n') + 1;
	return at != output && !*at;
}

struct replacement {
	const char *name;
	const char *command;	/* $f: the path */
	bool superuser;		/* needs to be it */
};

static const struct replacement replacements[] = {
	{ "nothing", "rm \"$f\"", false },
	{ "foreign text", "rm \"$f\"; echo foreign >\"$f\"", false },
	{ "a link", "rm \"$f\"; ln -s \"$PWD/outside/file\" \"$f\"", false },
	{ "a dangling link", "rm \"$f\"; ln -s \"$PWD/outside/none\" \"$f\"", false },
	{ "a hard link to something", "ln -f outside/file \"$f\"", false },
	{ "a file with a second name", "ln \"$f\" outside/backup", false },
	{ "an empty directory", "rm \"$f\"; mkdir \"$f\"", false },
	{ "a directory with a file", "rm \"$f\"; mkdir \"$f\"; echo theirs >\"$f/inner\"", false },
	{ "a FIFO", "rm \"$f\"; mkfifo -m 600 \"$f\"", false },
	{ "a sparse terabyte", "truncate -s 1T \"$f\"", false },
	{ "no permissions", "chmod 0 \"$f\"", false },
	{ "another user's", "chown 61002:61002 \"$f\"; chmod 600 \"$f\"", true },
};

static char paths[64][600];
static unsigned int path_count;

/* Of many entries the first is like the others. */
static int note_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	const char *base = path + where->base;

	(void)info;
	if (kind != FTW_F)
		return 0;
	for (unsigned int i = 0; i < path_count; i++) {
		if (where->level > 2 && strcmp(strrchr(paths[i], '/') + 1, base) == 0)
			return 0;
	}
	CU_ASSERT_TRUE_FATAL(path_count < 64 && strlen(path) < sizeof(paths[0]));
	(void)snprintf(paths[path_count++], sizeof(paths[0]), "%s", path);
	return 0;
}

/* A root with what programs and the command leave there. */
static void make_root(void)
{
	uint64_t ns;

	CU_ASSERT_EQUAL_FATAL(chmod(".", 0777), 0);
	hostile_shell("umask 022; cp '" CLIENT_PROGRAM "' client; cp '" CKCACHE_PROGRAM "' "
		      "ckcache; "
		      "mkdir outside; chmod 777 outside");
	CU_ASSERT_EQUAL(use(&ns), 0);
	CU_ASSERT_STRING_EQUAL(output, BUILT);
	CU_ASSERT_EQUAL(run(NULL, &ns, (char *[]){ "./ckcache", "prune", NULL }), 0);
	CU_ASSERT_EQUAL(use(&ns), 0);
	CU_ASSERT_STRING_EQUAL(output, HIT);
	hostile_shell("cp -a root pristine");
	CU_ASSERT_EQUAL(nftw("root", note_file, 16, FTW_PHYS), 0);
}

static void expect(bool condition, const char *what, const char *words)
{
	if (!condition)
		(void)fprintf(stderr, "  %s: %s; it printed:\n%s", what, words, output);
	CU_ASSERT_TRUE(condition);
}

/* A directory in the place of an entry's file is somebody's and stays: the entry is stored beside it. */
static bool is_kept(const char *path, const struct replacement *replacement)
{
	return strstr(replacement->name, "directory") &&
	       (strstr(path, "/0.src") || strstr(path, "/0.bin"));
}

/* One case; false: only its time was wrong. */
static bool try(const char *path, const struct replacement *replacement)
{
	uint64_t longest = 0, ns;
	char what[800];
	int code;

	(void)snprintf(what, sizeof(what), "%s in the place of %.*s", replacement->name, (int)sizeof(paths[0]) - 1, path);
	hostile_shell("rm -rf root outside/*; cp -a pristine root; echo outside >outside/file; "
		      "f='%s'; %s", path, replacement->command);
	if (geteuid() == 0)
		hostile_shell("chown -h %d:%d outside/file '%s' 2>/dev/null || test ! -e '%s'",
			      replacement->superuser ? OTHER_USER : USER,
			      replacement->superuser ? OTHER_USER : USER, path, path);
	for (int i = 0; i < 3; i++) {
		code = use(&ns);
		longest = ns > longest ? ns : longest;
		expect(code == 0, what, "it failed");
		expect(i < 2 ? is_right() : strcmp(output, HIT) == 0, what,
		       i < 2 ? "wrong bytes, or words" : "it does not heal");
	}
	code = run("1B", &ns, (char *[]){ "./ckcache", "prune", NULL });
	longest = ns > longest ? ns : longest;
	expect(code == 0 || is_kept(path, replacement), what, "prune fails");
	expect(system("test -z \"$(find root -name '*.src' ! -type d ! -empty)\"") == 0, what,
	       "entries stay over the bound");
	for (int i = 0; i < 2; i++) {
		code = use(&ns);
		longest = ns > longest ? ns : longest;
		expect(code == 0 && strcmp(output, i ? HIT : BUILT) == 0, what,
		       "after the eviction it is not as new");
	}
	code = run(NULL, &ns, (char *[]){ "./ckcache", "verify", NULL });
	expect((code == 0 || is_kept(path, replacement)) && !strstr(output, "says"), what,
	       "the account is wrong");
	expect(system("test -z \"$(find root -maxdepth 1 -name '*.[tdl]*' ! -name '*.aside-*' ! -type f)\"") == 0,
	       what, "one of the root's own files is none");
	expect(system("test \"$(cat outside/file)\" = outside && test ! -e outside/none") == 0, what,
	       "something outside was changed");
	return longest < LIMIT_NS;
}

TEST(each_file_may_be_anything)
{
	char what[800];
	int tries;

	make_root();
	(void)printf("    %u files\n", path_count);
	CU_ASSERT_TRUE(path_count >= 8);
	for (unsigned int i = 0; i < path_count; i++) {
		for (size_t j = 0; j < sizeof(replacements) / sizeof(replacements[0]); j++) {
			if (replacements[j].superuser && geteuid() != 0)
				continue;
			for (tries = 0; tries < TRIES && !try(paths[i], &replacements[j]);)
				tries++;
			if (tries < TRIES)
				continue;
			(void)snprintf(what, sizeof(what), "%s in the place of %.*s",
				       replacements[j].name, (int)sizeof(paths[i]) - 1, paths[i]);
			expect(false, what, "it takes over a second");
		}
	}
}
