/* SPDX-License-Identifier: MIT */
/*
 * test_hostile_users: roots and tiers of other users, as two users that are
 * nobody's accounts, and as the superuser. Who is not that cannot become
 * somebody else: skipped.
 */
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>

#include "common/file.h"
#include "tests/hostile/hostile.h"
#include "tests/support/unit.h"

#define SKIPPED 77

static uid_t alice, bob;	/* the user, and the other one */

static char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *pattern, ...)
{
	static char texts[64][4600];
	static unsigned int turn;
	char *text = texts[turn++ % 64];
	va_list args;

	va_start(args, pattern);
	(void)vsnprintf(text, sizeof(texts[0]), pattern, args);
	va_end(args);
	return text;
}

/* The path of something in the test's directory. */
static char *at(const char *name)
{
	return format("%s/%s", unit_dir(), name);
}

/* Everything below is readable by the other users, as a home directory's parents are. */
static void begin(void)
{
	CU_ASSERT_EQUAL_FATAL(chmod(unit_dir(), 0755), 0);
	hostile_shell("cp '" CLIENT_PROGRAM "' client && chmod 755 client");
}

static void make(const char *path, uid_t owner, mode_t mode)
{
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	CU_ASSERT_EQUAL_FATAL(chown(path, owner, owner), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(path, mode), 0);
}

static char output[4096], errors[4096];	/* of the last client */

static void slurp(const char *path, char *ret)
{
	struct cmn_buffer file;

	ret[0] = '\0';
	if (cmn_file_read(AT_FDCWD, path, 4095, false, &file) != CMN_OK)
		return;
	if (file.len)
		memcpy(ret, file.data, file.len);
	ret[file.len] = '\0';
	cmn_buffer_release(&file);
}

enum { READ_ONLY_SYSTEM = 1, UNMAPPED = 2 };

/* In a name space of its own every file system that was writable is not. */
static void become_read_only(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		_exit(SKIPPED);
	/* The test's own place, where that is another file system. */
	if (mount(unit_dir(), unit_dir(), NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, unit_dir(), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		_exit(SKIPPED);
}

/* Runs a program of the test's directory as a user with just these variables; its exit code. */
static int run_program(uid_t user, int flags, const char *program, const char *const *variables,
		       const char *const *arguments)
{
	char *argv[8] = { (char *)(uintptr_t)program }, *envp[8] = { NULL };
	int status = 0, out, err;
	pid_t pid;

	for (size_t i = 0; arguments[i] && i < 6; i++)
		argv[i + 1] = (char *)(uintptr_t)arguments[i];
	for (size_t i = 0; variables[i] && i < 7; i++)
		envp[i] = (char *)(uintptr_t)variables[i];
	(void)unlink("out");
	(void)unlink("err");
	out = open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	err = open("err", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_TRUE_FATAL(out >= 0 && err >= 0);
	pid = fork();
	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		if (flags & READ_ONLY_SYSTEM)
			become_read_only();
		(void)dup2(out, STDOUT_FILENO);
		(void)dup2(err, STDERR_FILENO);
		(void)alarm(60);
		if (user && (setgroups(0, NULL) < 0 || setgid(user) < 0 || setuid(user) < 0))
			_exit(126);
		/* Everybody is the overflow id there, this user too. */
		if ((flags & UNMAPPED) && unshare(CLONE_NEWUSER) < 0)
			_exit(SKIPPED);
		(void)execve(program, argv, envp);
		_exit(127);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	(void)close(out);
	(void)close(err);
	slurp("out", output);
	slurp("err", errors);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define LIST(...) (const char *const[]){ __VA_ARGS__, NULL }

/* That program prints this, and ends well. */
static void expect_output(const char *expected, uid_t user, int flags, const char *program,
			  const char *const *variables, const char *const *arguments)
{
	CU_ASSERT_EQUAL(run_program(user, flags, program, variables, arguments), 0);
	CU_ASSERT_STRING_EQUAL(output, expected);
}

#define BUILT "built right\nbuilt right\nbuilt right\n"
#define HIT "disk right\ndisk right\ndisk right\n"

static int use_with(uid_t user, int flags, const char *root)
{
	return run_program(user, flags, at("client"), LIST(format("CKCACHE_DIR=%s", root), "CKCACHE_READ_ONLY_DIRS="),
			   LIST("use"));
}

/* The client with that root: it always works; what it prints is in output and errors. */
static void use(uid_t user, const char *root)
{
	CU_ASSERT_EQUAL(use_with(user, 0, root), 0);
}

/* Nothing is taken from there nor written; one line says why. */
static void expect_refused(uid_t user, const char *root, const char *why)
{
	const char *line_end;

	hostile_shell("find '%s' -printf '%%p %%m %%U %%s %%T@ %%l\\n' | sort >before", root);
	use(user, root);
	hostile_shell("find '%s' -printf '%%p %%m %%U %%s %%T@ %%l\\n' | sort | cmp before "
		      "-", root);
	CU_ASSERT_STRING_EQUAL(output, BUILT);
	line_end = strchr(errors, '\n');
	CU_ASSERT_PTR_NOT_NULL(strstr(errors, why));
	CU_ASSERT_TRUE(line_end && line_end[1] == '\0');
	if (!strstr(errors, why))
		(void)fprintf(stderr, "  stderr: %s", errors);
}

static void expect_used(uid_t user, const char *root)
{
	use(user, root);
	CU_ASSERT_STRING_EQUAL(output, BUILT);
	CU_ASSERT_STRING_EQUAL(errors, "");
	use(user, root);
	CU_ASSERT_STRING_EQUAL(output, HIT);
	CU_ASSERT_STRING_EQUAL(errors, "");
}

TEST(a_root_of_another_user_is_refused)
{
	begin();
	make("home", alice, 0755);
	expect_used(alice, at("home/cache"));
	expect_refused(bob, at("home/cache"), "it belongs to another user");
	expect_refused(0, at("home/cache"), "it belongs to another user");
	/* Even one that could be read. */
	CU_ASSERT_EQUAL(chmod("home/cache", 0755), 0);
	expect_refused(bob, at("home/cache"), "it belongs to another user");
	expect_refused(0, at("home/cache"), "it belongs to another user");
	use(alice, at("home/cache"));
	CU_ASSERT_STRING_EQUAL(output, HIT);
}

/* In a user namespace without a mapping all owners are the overflow id, and so is the user. */
TEST(nobodys_root_is_anybodys_and_refused)
{
	const char *roots[2];

	begin();
	make("home", alice, 0755);
	make("project", bob, 0755);
	roots[0] = at("home/cache");
	roots[1] = at("project/cache");
	expect_used(alice, roots[0]);
	expect_used(bob, roots[1]);
	hostile_shell("chmod -R a+rX project");
	for (int i = 0; i < 2; i++) {
		if (use_with(alice, UNMAPPED, roots[i]) == SKIPPED) {
			(void)fprintf(stderr, "  SKIPPED: no user name space to be had\n");
			return;
		}
		CU_ASSERT_STRING_EQUAL(output, BUILT);
		CU_ASSERT_STRING_EQUAL(errors, format("ckcache: no disk cache: cannot use %s: its owner is "
						      "the id that stands for every user without a "
						      "mapping here\n", roots[i]));
		expect_output(BUILT, alice, UNMAPPED, at("client"), LIST(format("CKCACHE_READ_ONLY_DIRS=%s", roots[i])),
			      LIST("use"));
	}
	use(alice, roots[0]);
	CU_ASSERT_STRING_EQUAL(output, HIT);
}

TEST(a_root_that_others_may_write_to_is_refused)
{
	static const mode_t modes[] = { 0770, 0777, 0707, 01777, 02770, 03777 };

	begin();
	make("home", alice, 0755);
	expect_used(alice, at("home/cache"));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		CU_ASSERT_EQUAL(chmod("home/cache", modes[i]), 0);
		expect_refused(alice, at("home/cache"), "others may write to it");
	}
	CU_ASSERT_EQUAL(chmod("home/cache", 0700), 0);
	use(alice, at("home/cache"));
	CU_ASSERT_STRING_EQUAL(output, HIT);
}

/* The directory above is somebody's who may put something else in the root's place. */
TEST(a_root_below_anothers_directory_is_only_ever_ones_own)
{
	begin();
	make("project", bob, 0777);
	expect_used(alice, at("project/alice"));
	CU_ASSERT_EQUAL(run_program(bob, 0, at("client"), LIST(format("CKCACHE_DIR=%s", at("project/trap")),
					 "CKCACHE_READ_ONLY_DIRS="), LIST("use", "poison")), 0);
	hostile_shell("mv project/alice project/away && mv project/trap project/alice");
	expect_refused(alice, at("project/alice"), "it belongs to another user");
	hostile_shell("mv project/alice project/trap && ln -s trap project/alice && "
		      "chown -h %u project/alice", (unsigned int)bob);
	expect_refused(alice, at("project/alice"), "it is another user's symbolic link");
	/* A link to what is one's own leads somewhere that one did not choose. */
	hostile_shell("rm project/alice && ln -s away project/alice && chown -h %u project/alice", (unsigned int)bob);
	expect_refused(alice, at("project/alice"), "it is another user's symbolic link");
	hostile_shell("rm project/alice && mv project/away project/alice");
	use(alice, at("project/alice"));
	CU_ASSERT_STRING_EQUAL(output, HIT);
}

TEST(traps_in_a_directory_for_everybody_are_refused)
{
	begin();
	make("tmp", 0, 01777);
	make("home", alice, 0755);
	make("tmp/directory", bob, 0755);
	hostile_shell("ln -s ../home/new tmp/dangling && ln -s directory tmp/link && ln -s loop "
		      "tmp/loop && "
		      "ln -s ../home tmp/home && chown -h %u tmp/*", (unsigned int)bob);
	expect_refused(alice, at("tmp/directory"), "it belongs to another user");
	expect_refused(alice, at("tmp/link"), "it is another user's symbolic link");
	expect_refused(alice, at("tmp/dangling"), "it is another user's symbolic link");
	expect_refused(alice, at("tmp/loop"), "it is another user's symbolic link");
	expect_refused(alice, at("tmp/home"), "it is another user's symbolic link");
	CU_ASSERT_NOT_EQUAL(access("home/new", F_OK), 0);
	/* One's own is fine there, and so is one's own link to it. */
	expect_used(alice, at("tmp/own"));
	hostile_shell("ln -s own tmp/mine && chown -h %u tmp/mine", (unsigned int)alice);
	use(alice, at("tmp/mine"));
	CU_ASSERT_STRING_EQUAL(output, HIT);
}

static void use_tier(uid_t user, const char *tier)
{
	CU_ASSERT_EQUAL(run_program(user, 0, at("client"),
				    LIST(format("CKCACHE_READ_ONLY_DIRS=%s", tier)), LIST("use")), 0);
}

/* As the user, without HOME: what the tier has, and not a word. */
static void expect_tier(const char *tier, const char *expected)
{
	hostile_shell("find '%s' -printf '%%p %%m %%U %%s %%T@\\n' | sort >before", tier);
	use_tier(alice, tier);
	hostile_shell("find '%s' -printf '%%p %%m %%U %%s %%T@\\n' | sort | cmp before -", tier);
	CU_ASSERT_STRING_EQUAL(output, expected);
	CU_ASSERT_STRING_EQUAL(errors, "");
}

TEST(tiers_are_the_superusers_or_ones_own)
{
	begin();
	expect_used(0, at("tier"));
	hostile_shell("chmod -R a+rX tier && test $(find tier -name 0.bin | wc -l) = 3");
	expect_tier(at("tier"), HIT);
	hostile_shell("chown -R %u tier", (unsigned int)alice);
	expect_tier(at("tier"), HIT);
	hostile_shell("chown -R %u tier", (unsigned int)bob);
	expect_tier(at("tier"), BUILT);
	/* Who asks hears why, once. */
	CU_ASSERT_EQUAL(run_program(alice, 0, at("client"), LIST(format("CKCACHE_READ_ONLY_DIRS=%s", at("tier")),
					 "CKCACHE_LOG=warning", "CKCACHE_DIR=/nonexistent/cache",
					 "CKCACHE_READ_ONLY=1"), LIST("use")), 0);
	CU_ASSERT_STRING_EQUAL(errors, format("ckcache: %s is not looked in: "
					      "it belongs to another user\n", at("tier")));
	hostile_shell("chown -R 0 tier");
	expect_tier(at("tier"), HIT);
	for (mode_t writable = S_IWOTH; writable <= S_IWGRP; writable <<= 3) {
		CU_ASSERT_EQUAL(chmod("tier", 0755 | writable), 0);
		expect_tier(at("tier"), BUILT);
	}
	CU_ASSERT_EQUAL(chmod("tier", 0755), 0);
	/* What another user put into it, or may still write to. */
	hostile_shell("chown %u $(find tier -name 0.bin)", (unsigned int)bob);
	expect_tier(at("tier"), BUILT);
	hostile_shell("chown 0 $(find tier -name 0.bin) && chown %u $(find tier -name "
		      "0.src)", (unsigned int)bob);
	expect_tier(at("tier"), BUILT);
	hostile_shell("chown 0 $(find tier -name 0.src) && chmod 0666 $(find tier -name 0.bin)");
	expect_tier(at("tier"), BUILT);
	hostile_shell("chmod 0644 $(find tier -name 0.bin)");
	expect_tier(at("tier"), HIT);
	hostile_shell("mv tier real && ln -s real tier");
	expect_tier(at("tier"), HIT);
	hostile_shell("chown -h %u tier", (unsigned int)bob);
	use_tier(alice, at("tier"));
	CU_ASSERT_STRING_EQUAL(output, BUILT);
}

/* A file system image with a cache in it: no home, nothing that can be written. */
TEST(a_seeded_image_is_hit_and_nothing_else)
{
	const char *const homes[] = { "HOME=", NULL, NULL, NULL, NULL };
	const char *variables[4];
	int code = 0;

	begin();
	expect_used(0, at("seed"));
	hostile_shell("mkdir -p usr/share && cp -r seed usr/share/ckcache && rm -r seed && "
		      "chmod -R u=rwX,go=rX usr");
	make("home", 0, 0755);
	make("own-home", alice, 0755);
	for (int i = 0; i < 6 && code != SKIPPED; i++) {
		variables[0] = format("CKCACHE_READ_ONLY_DIRS=%s", at("usr/share/ckcache"));
		variables[1] = i == 0 ? homes[0] :
			       i == 1 ? "HOME=/nonexistent" :
			       i == 2 ? "CKCACHE_READ_ONLY=1" :
			       i == 3 ? format("HOME=%s", at("home")) :
			       i == 4 ? format("HOME=%s", at("own-home")) :
					format("CKCACHE_DIR=%s", at("usr/share/ckcache"));
		variables[2] = i == 5 ? "CKCACHE_READ_ONLY=1" : NULL;
		variables[3] = NULL;
		code = run_program(i == 5 ? 0 : alice, i == 3 ? 0 : READ_ONLY_SYSTEM, at("client"),
				   variables, LIST("use"));
		if (code == SKIPPED) {
			(void)fprintf(stderr, "  SKIPPED: no mount name space to be had for a read-only system\n");
			break;
		}
		CU_ASSERT_EQUAL(code, 0);
		CU_ASSERT_STRING_EQUAL(output, HIT);
		CU_ASSERT_STRING_EQUAL(errors, "");
	}
	hostile_shell("test -z \"$(find home own-home -mindepth 1)\"");
}

/* As services' users have. */
TEST(a_home_that_nobody_made_is_told)
{
	begin();
	expect_output(BUILT, alice, 0, at("client"), LIST("HOME=/nonexistent", "CKCACHE_LOG=warning"), LIST("use"));
	CU_ASSERT_STRING_EQUAL(errors,
			       "ckcache: no disk cache: none of CKCACHE_DIR, XDG_CACHE_HOME and HOME names a directory of this user\n");
}

/* su and sudo that keep HOME. */
TEST(the_superuser_leaves_a_users_home_alone)
{
	const char *home;

	begin();
	make("home", alice, 0755);
	home = format("HOME=%s", at("home"));
	/* A directory that it would make there would be closed to the user for ever. */
	expect_output(BUILT, 0, 0, at("client"), LIST(home, "CKCACHE_READ_ONLY_DIRS="), LIST("use"));
	CU_ASSERT_STRING_EQUAL(errors, "");
	hostile_shell("test -z \"$(find home -mindepth 1)\"");
	for (int i = 0; i < 2; i++) {
		home = format("HOME=%s", at("home"));
		expect_output(i ? HIT : BUILT, alice, 0, at("client"), LIST(home, "CKCACHE_READ_ONLY_DIRS="),
			      LIST("use"));
	}
	home = format("HOME=%s", at("home"));
	expect_output(BUILT, 0, 0, at("client"), LIST(home, "CKCACHE_READ_ONLY_DIRS="), LIST("use"));
	hostile_shell("test -z \"$(find home ! -uid %u)\"", (unsigned int)alice);
	/* And the other way: the superuser's home, open or closed. */
	make("root-home", 0, 0755);
	home = format("HOME=%s", at("root-home"));
	for (int i = 0; i < 2; i++)
		expect_output(i ? HIT : BUILT, 0, 0, at("client"), LIST(home, "CKCACHE_READ_ONLY_DIRS="),
			      LIST("use"));
	for (int i = 0; i < 2; i++) {
		home = format("HOME=%s", at("root-home"));
		expect_output(BUILT, alice, 0, at("client"), LIST(home, "CKCACHE_READ_ONLY_DIRS="), LIST("use"));
		CU_ASSERT_EQUAL(chmod("root-home", 0700), 0);
	}
}

TEST(a_set_user_id_program_has_no_cache_but_the_systems)
{
	const char *secret, *variable;

	if (UNIT_IS_SANITIZED) {
		(void)fprintf(stderr, "  not tried: sanitizers do not work in privileged programs\n");
		return;
	}
	begin();
	make("home", alice, 0700);
	make("hers", alice, 0700);
	hostile_shell("cp client privileged && chown %u privileged && chmod 4755 privileged", (unsigned int)alice);
	if (run_program(bob, 0, at("privileged"), LIST("A="), LIST("secure")) != 0) {
		(void)fprintf(stderr, "  not tried: set-user-ID programs do not work here\n");
		return;
	}
	secret = format("HOME=%s", at("home"));
	variable = format("CKCACHE_DIR=%s", at("hers/cache"));
	expect_output(BUILT, bob, 0, at("privileged"), LIST(variable, secret), LIST("use"));
	CU_ASSERT_STRING_EQUAL(errors, "");
	hostile_shell("test -z \"$(find home hers -mindepth 1)\"");
	/* What the program itself says counts, unless it leaves the choice to its caller. */
	CU_ASSERT_EQUAL(run_program(bob, 0, at("privileged"), LIST(variable, secret), LIST("dir", "relative")), 0);
	CU_ASSERT_STRING_EQUAL(output, format("%s\n" BUILT, cmn_status_string(CMN_ERR_INVALID)));
	make("his", bob, 0700);
	CU_ASSERT_EQUAL(run_program(bob, 0, at("privileged"), LIST(variable, secret), LIST("dir", at("his"))), 0);
	CU_ASSERT_STRING_EQUAL(output, format("%s\n" BUILT, cmn_status_string(CMN_ERR_ACCESS)));
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(run_program(bob, 0, at("privileged"), LIST(variable, secret),
					    LIST("dir", at("hers/chosen"))), 0);
		CU_ASSERT_STRING_EQUAL(output, format("%s\n%s", cmn_status_string(CMN_OK), i ? HIT : BUILT));
	}
	hostile_shell("test -z \"$(find home his -mindepth 1)\" && "
		      "test -z \"$(find hers/chosen ! -uid %u)\"", (unsigned int)alice);
	hostile_shell("rm -r hers/chosen");
	/* Nor does the user's file count. */
	hostile_shell("mkdir -p home/.config/ckcache && echo dir=%s "
		      ">home/.config/ckcache/ckcache.conf && "
		      "chown -R %u home", at("hers/cache"), (unsigned int)alice);
	CU_ASSERT_EQUAL(run_program(bob, 0, at("privileged"), LIST(variable, secret),
				    LIST("config", "/nonexistent")), 0);
	CU_ASSERT_EQUAL(strncmp(output, "- ", 2), 0);
	unit_write("system.conf", format("dir = %s\n", at("hers/system")));
	CU_ASSERT_EQUAL(chmod("system.conf", 0644), 0);
	expect_output(format("%s \n", at("hers/system")), bob, 0, at("privileged"), LIST(variable, secret),
		      LIST("config", at("system.conf")));
	/* Without privileges all of them do. */
	expect_output(format("%s \n", at("hers/cache")), alice, 0, at("privileged"), LIST(variable, secret),
		      LIST("config", at("system.conf")));
}

/* As an administrator's chown leaves them. */
TEST(files_of_others_in_ones_own_root_are_not_trusted)
{
	static const char *const names[] = { "0.src", "0.bin" };

	begin();
	make("home", alice, 0755);
	expect_used(alice, at("home/cache"));
	for (int i = 0; i < 2; i++) {
		hostile_shell("chown %u $(find home/cache -name %s)", (unsigned int)bob, names[i]);
		use(alice, at("home/cache"));
		CU_ASSERT_STRING_EQUAL(output, BUILT);
		use(alice, at("home/cache"));
		CU_ASSERT_STRING_EQUAL(output, HIT);
		hostile_shell("test -z \"$(find home/cache -uid %u)\"", (unsigned int)bob);
	}
	/* All but the root itself: what can be used again is, what cannot is not. */
	hostile_shell("chown -R %u home/cache/*", (unsigned int)bob);
	use(alice, at("home/cache"));
	CU_ASSERT_STRING_EQUAL(output, BUILT);
	CU_ASSERT_EQUAL(unlink("home/cache/events.log"), 0);
	hostile_shell("rm -r home/cache");
	expect_used(alice, at("home/cache"));
}

/* The first user from here on who has no account. */
static uid_t nobody_from(uid_t user)
{
	while (getpwuid(user))
		user++;
	return user;
}

int main(void)
{
	if (geteuid() != 0) {
		(void)fprintf(stderr, "SKIPPED: only the superuser can be two users\n");
		return SKIPPED;
	}
	alice = nobody_from(61001);
	bob = nobody_from(alice + 1);
	unit_count_descriptors();
	return unit_run(NULL);
}
