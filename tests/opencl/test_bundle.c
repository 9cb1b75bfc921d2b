/* SPDX-License-Identifier: MIT */
/*
 * test_bundle: ckcache export and import with keys that openssl made: what was
 * built in one cache is a hit in another, and of a bundle that nobody vouches
 * for, or that is not as it was written, nothing is stored.
 */
#include <stdarg.h>

#include "tests/opencl/driver.h"
#include "tests/support/unit.h"

/* The exit code of a shell command in <unit_dir>/work. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
	char command[8192], full[12400];
	va_list args;
	int state;

	va_start(args, format);
	(void)vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	(void)snprintf(full, sizeof(full), "cd '%s/work' && { %s; }", unit_dir(), command);
	(void)fflush(NULL);
	state = system(full);	/* the test's own words */
	return WIFEXITED(state) ? WEXITSTATUS(state) : 128;
}

static bool cache_is_there(void)
{
	return access(driver_cache(), F_OK) == 0;
}

/* From now on the cache is another one, which is not there yet; the first is ../first. */
static void change_cache(void)
{
	CU_ASSERT_EQUAL_FATAL(shell("mv ../cache ../first"), 0);
}

/* Two keys, and a cache with two entries or more. */
static void fill(void)
{
	driver_begin();
	CU_ASSERT_EQUAL_FATAL(shell("for key in good other; do "
				    "openssl genpkey -algorithm ed25519 -out $key.pem && "
				    "openssl pkey -in $key.pem -pubout -out $key.pub || exit 1; "
				    "done && chmod 600 *.pem"), 0);
	GOOD_CLIENT(LAYERED, "vector");
	GOOD_CLIENT(LAYERED, "two-options");
	CU_ASSERT_FATAL(driver_stats().entries >= 2);
}

/* The import fails so, and nothing was stored: there is not even a root. */
static void refused(unsigned int line, const char *words, const char *const *arguments)
{
	if (cache_is_there())
		change_cache();
	driver_tool_says(__FILE__, line, 1, words, arguments);
	CU_ASSERT_FALSE(cache_is_there());
}
#define REFUSED(words, ...) refused(__LINE__, words, (const char *const[]){ __VA_ARGS__, NULL })

TEST(an_imported_entry_is_a_hit)
{
	struct outcome reference;
	unsigned long long entries;
	unsigned int built;
	char words[128];

	fill();
	reference = CLIENT(BARE, "vector");
	built = driver_counted("build-source");
	entries = driver_stats().entries;
	(void)snprintf(words, sizeof(words), "%llu entries exported", entries);
	TOOL_SAYS(0, words, "export", "bundle", "--sign", "good.pem");
	change_cache();
	(void)snprintf(words, sizeof(words), "%llu entries imported, 0 there already, 0 refused\n", entries);
	TOOL_SAYS(0, words, "import", "bundle", "--verify", "good.pub");
	(void)snprintf(words, sizeof(words), "0 entries imported, %llu there already, 0 refused\n", entries);
	TOOL_SAYS(0, words, "import", "bundle", "--verify", "good.pub");
	CU_ASSERT_EQUAL(driver_stats().entries, entries);
	SAME_AS(&reference, "vector");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built);
	EXPECT_STATS("hits_disk 1, misses 0");
	TOOL_SAYS(0, " 0 damaged", "verify");
}

TEST(the_same_cache_gives_the_same_bytes)
{
	fill();
	TOOL_SAYS(0, "exported", "export", "one");
	TOOL_SAYS(0, "exported", "export", "two");
	CU_ASSERT_EQUAL(shell("cmp one two"), 0);
	TOOL_SAYS(0, "exported", "export", "--sign", "good.pem", "one");
	TOOL_SAYS(0, "exported", "export", "--sign", "good.pem", "two");
	CU_ASSERT_EQUAL(shell("cmp one two"), 0);
	change_cache();
	TOOL_SAYS(0, "imported", "import", "one");
	TOOL_SAYS(0, "exported", "export", "three", "--sign", "good.pem");
	CU_ASSERT_EQUAL(shell("cmp one three"), 0);
	/* Nothing lies beside them, and the file is as other programs make it. */
	CU_ASSERT_EQUAL(shell("test -z \"$(ls -A | grep ckcache)\""), 0);
	CU_ASSERT_EQUAL(shell("test $(stat -c %%a one) = $(printf %%o $((0666 & ~$(umask))))"), 0);
}

TEST(unsigned_bundles_are_for_those_who_ask_for_no_key)
{
	fill();
	TOOL_SAYS(0, "exported", "export", "bundle");
	REFUSED("bundle: entry 1: it is not signed; nothing was imported", "import", "bundle", "--verify", "good.pub");
	TOOL_SAYS(0, "it is not signed: nobody vouches", "import", "bundle");
	CU_ASSERT(driver_stats().entries >= 2);
}

TEST(a_signature_that_nobody_checks_is_mentioned)
{
	fill();
	TOOL_SAYS(0, "exported", "export", "bundle", "--sign", "good.pem");
	change_cache();
	TOOL_SAYS(0, "its signatures were not checked (--verify): nobody vouches", "import", "bundle");
}

TEST(any_of_several_keys_will_do)
{
	fill();
	TOOL_SAYS(0, "exported", "export", "bundle", "--sign", "good.pem");
	REFUSED("entry 1: it is signed with a key that is not trusted here; nothing was imported", "import",
		"--verify", "other.pub", "bundle");
	TOOL_SAYS(0, "imported", "import", "--verify", "other.pub", "--verify", "good.pub", "bundle");
}

/* Each bit and each cut is tools.bundle's; here that the command asks. */
TEST(a_changed_bundle_is_refused_with_and_without_a_key)
{
	static const struct {
		const char *command, *words;
	} changes[] = {
		{ "cp bundle changed && printf xyz | dd of=changed bs=1 seek=160 conv=notrunc status=none",
		  NULL },
		{ "head -c -1 bundle > changed", "a damaged or incomplete one" },
		{ "cat bundle bundle > changed", "a damaged or incomplete one" },
		{ ": > changed", "a damaged or incomplete one" },
		{ "{ head -c 8 bundle; printf '\\1'; tail -c +10 bundle; } > changed",
		  "a bundle of another format version" },
	};

	fill();
	TOOL_SAYS(0, "exported", "export", "bundle", "--sign", "good.pem");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		CU_ASSERT_EQUAL(shell("%s", changes[i].command), 0);
		REFUSED(changes[i].words ? changes[i].words : "a damaged or incomplete one", "import", "changed");
		REFUSED(changes[i].words ? changes[i].words : "its signature is wrong", "import", "changed",
			"--verify", "good.pub");
	}
	REFUSED("no-such-file", "import", "no-such-file");
}

TEST(a_bundle_goes_through_a_pipe)
{
	fill();
	change_cache();
	CU_ASSERT_EQUAL(shell("CKCACHE_DIR=../first '%s' export - --sign good.pem | "
			      "CKCACHE_DIR=../cache TMPDIR=. '%s' import --verify good.pub - > said",
			      CKCACHE_PROGRAM, CKCACHE_PROGRAM), 0);
	CU_ASSERT_EQUAL(shell("grep -q ' entries imported, 0 there already, 0 refused' said"), 0);
	CU_ASSERT(driver_stats().entries >= 2);
	CU_ASSERT_EQUAL(shell("rm -r ../cache && "
			      "CKCACHE_DIR=../first '%s' export bundle --sign good.pem > said && "
			      "head -c -1 bundle | CKCACHE_DIR=../cache '%s' import --verify good.pub - "
			      "2> said", CKCACHE_PROGRAM, CKCACHE_PROGRAM), 1);
	CU_ASSERT_EQUAL(shell("grep -q incomplete said"), 0);
	CU_ASSERT_FALSE(cache_is_there());
	CU_ASSERT_EQUAL(shell("test -z \"$(ls -A | grep ckcache)\""), 0);
}

TEST(keys_that_are_none_are_refused)
{
	fill();
	CU_ASSERT_EQUAL_FATAL(shell("openssl genpkey -quiet -algorithm x25519 -out x.pem && "
		      "openssl ecparam -genkey -name prime256v1 -noout -out ec.pem 2> /dev/null && "
		      "openssl pkey -in ec.pem -pubout -out ec.pub && "
		      "openssl pkey -in good.pem -aes-256-cbc -passout pass:secret -out locked.pem && "
		      "chmod 600 *.pem && cp good.pem read.pem && chmod 640 read.pem && "
		      "cp good.pem written.pem && chmod 602 written.pem && echo no key > text.pem && "
		      "chmod 600 text.pem && mkdir directory"), 0);
	TOOL_SAYS(1, "x.pem: not an Ed25519 key", "export", "bundle", "--sign", "x.pem");
	TOOL_SAYS(1, "ec.pem: no private key", "export", "bundle", "--sign", "ec.pem");
	TOOL_SAYS(1, "read.pem: others may read", "export", "bundle", "--sign", "read.pem");
	TOOL_SAYS(1, "written.pem: others may read", "export", "bundle", "--sign", "written.pem");
	TOOL_SAYS(1, "text.pem: no private key", "export", "bundle", "--sign", "text.pem");
	TOOL_SAYS(1, "good.pub: ", "export", "bundle", "--sign", "good.pub");
	TOOL_SAYS(1, "none.pem: No such file", "export", "bundle", "--sign", "none.pem");
	TOOL_SAYS(1, "directory: not a file", "export", "bundle", "--sign", "directory");
	TOOL_SAYS(1, "locked.pem: it has a passphrase", "export", "bundle", "--sign", "locked.pem");
	CU_ASSERT_EQUAL(shell("test ! -e bundle"), 0);
	TOOL_SAYS(0, "exported", "export", "bundle", "--sign", "good.pem");
	REFUSED("ec.pub: not an Ed25519 key", "import", "bundle", "--verify", "ec.pub");
	REFUSED("good.pem: no public key", "import", "bundle", "--verify", "good.pem");
	REFUSED("none.pub: No such file", "import", "bundle", "--verify", "good.pub", "--verify", "none.pub");
}

/* What a look-up would not read is not signed either. */
TEST(entries_of_another_user_are_left_out)
{
	char paths[64][4096];
	unsigned int count;

	if (!unit_is_root())
		return;	/* nobody else's files can be made */
	fill();
	TOOL_SAYS(0, "exported", "export", "all");
	count = driver_cache_files(".bin", paths, 64);
	CU_ASSERT_EQUAL(chown(paths[0], 65534, 65534), 0);
	CU_ASSERT_EQUAL(chmod(paths[1], 0666), 0);
	TOOL_SAYS(0, "left out: 2 damaged entries, 0 of another version", "export", "bundle");
	TOOL_SAYS(0, "2 entries imported, ", "import", "all");
	TOOL_SAYS(0, "0 entries imported, ", "import", "all");
	CU_ASSERT_EQUAL(driver_stats().entries, count);
}

TEST(an_empty_cache_gives_an_empty_bundle)
{
	TOOL_SAYS(0, "0 entries exported", "export", "bundle");
	TOOL_SAYS(0, "0 entries imported, 0 there already, 0 refused", "import", "bundle");
}

TEST(a_damaged_entry_is_replaced)
{
	char paths[64][4096];
	unsigned int count;

	fill();
	TOOL_SAYS(0, "exported", "export", "bundle");
	count = driver_cache_files(".bin", paths, 64);
	CU_ASSERT_EQUAL(truncate(paths[0], 100), 0);
	TOOL_SAYS(1, " 1 damaged", "verify");
	TOOL_SAYS(0, "1 entries imported, ", "import", "bundle");
	TOOL_SAYS(0, " 0 damaged", "verify");
	CU_ASSERT_EQUAL(driver_stats().entries, count);
}

TEST(a_cache_that_is_not_to_be_written_is_not)
{
	fill();
	TOOL_SAYS(0, "exported", "export", "bundle");
	driver_setenv("CKCACHE_READ_ONLY", "1");
	REFUSED("the cache is read-only", "import", "bundle");
	TOOL_SAYS(0, "exported", "export", "again");	/* reading is fine */
	driver_setenv("CKCACHE_READ_ONLY", NULL);
	CU_ASSERT_EQUAL(shell("mkdir ../cache && chmod 777 ../cache"), 0);
	TOOL_SAYS(1, "others may write to it", "import", "bundle");
	CU_ASSERT_EQUAL(shell("chmod 555 ../cache"), 0);
	if (geteuid() != 0)	/* who may write anywhere */
		TOOL_SAYS(1, "it cannot be written: permission denied", "import", "bundle");
}

/* docs/SECURITY.md, "Seeding a tier": made by root, read by somebody else. */
TEST(a_tier_that_was_imported_serves_other_users)
{
	unsigned int built;

	fill();
	built = driver_counted("build-source");
	TOOL_SAYS(0, "exported", "export", "bundle", "--sign", "good.pem");
	change_cache();
	driver_setenv("CKCACHE_SHARED", "readers");
	TOOL_SAYS(0, " 0 refused", "import", "bundle", "--verify", "good.pub", "--dir", "../tier");
	CU_ASSERT_EQUAL(shell("test -z \"$(find ../tier -type d ! -perm 755)\""), 0);
	CU_ASSERT_EQUAL(shell("test -z \"$(find ../tier -name '*.[sb][ri][cn]' ! -perm 644)\""), 0);
	driver_setenv("CKCACHE_SHARED", NULL);
	driver_setenv("CKCACHE_READ_ONLY_DIRS", "../tier");
	/* Root's and not the user's, where this is root; else at least the user's own tier. */
	if (driver_as_nobody())
		CU_ASSERT_EQUAL_FATAL(shell("chown -R 0:0 ../tier"), 0);
	GOOD_CLIENT(LAYERED, "vector");
	CU_ASSERT_EQUAL(driver_counted("build-source"), built);
}

TEST(a_file_that_cannot_be_made_leaves_nothing)
{
	fill();
	TOOL_SAYS(1, "/dev/full: it exists and is not a regular file", "export", "/dev/full");
	TOOL_SAYS(1, "no/such/directory/bundle: No such file", "export", "no/such/directory/bundle");
	CU_ASSERT_EQUAL(shell("ln -s elsewhere link"), 0);
	TOOL_SAYS(1, "link: it exists and is not a regular file", "export", "link");
	CU_ASSERT_EQUAL(shell("CKCACHE_DIR=../cache '%s' export - > /dev/full 2> said", CKCACHE_PROGRAM), 1);
	CU_ASSERT_EQUAL(shell("grep -q 'no space left' said && test -z \"$(ls -A | grep ckcache)\""), 0);
	/* What was there before stays until the new one is whole. */
	CU_ASSERT_EQUAL(shell("echo old > bundle && CKCACHE_DIR=../cache "
			      "sh -c \"ulimit -f 1; trap '' XFSZ; exec '%s' export bundle\" 2> said",
			      CKCACHE_PROGRAM), 1);
	CU_ASSERT_EQUAL(shell("grep -q old bundle && test -z \"$(ls -A | grep ckcache)\""), 0);
}
