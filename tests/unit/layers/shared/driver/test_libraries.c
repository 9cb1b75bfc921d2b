/* SPDX-License-Identifier: MIT */
/*
 * test_libraries: what comes while a driver builds, and whose compiler it is
 * taken for. Drivers and compilers are copies of a small library that the
 * process has, told apart by their file names.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "layers/shared/driver/libraries.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static char driver_path[PATH_MAX];

static bool is_driver(const char *path)
{
	return strcmp(path, driver_path) == 0;
}

static void load(const char *name, char path[PATH_MAX])
{
	char command[2 * PATH_MAX + 16];
	Dl_info info;

	CU_ASSERT_FATAL(dladdr((void *)(uintptr_t)CU_get_error, &info) != 0);
	(void)snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX / 2, unit_dir(), name);
	(void)snprintf(command, sizeof(command), "cp '%s' '%s'", info.dli_fname, path);
	CU_ASSERT_FATAL(system(command) == 0);
	CU_ASSERT_FATAL(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);	/* for good, as drivers are */
}

static bool names(const char *driver, const char *field)
{
	const struct drv_libraries_query query = { .is_driver = is_driver };
	const struct drv_driver *row;
	struct cc_key key;
	bool found;

	(void)snprintf(driver_path, sizeof(driver_path), "%s", driver);
	cc_key_init(&key);
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_OK);
	found = memmem(cc_key_view(&key).data, cc_key_view(&key).len, field, strlen(field)) != NULL;
	cc_key_release(&key);
	return found;
}

TEST(an_object_is_all_its_segments)
{
	static const ElfW(Phdr) headers[] = { { .p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 16 },
					      { .p_type = PT_NOTE, .p_vaddr = 16, .p_memsz = 16 },
					      { .p_type = PT_LOAD, .p_vaddr = 32, .p_memsz = 16 } };
	static const char bytes[64];
	const struct drv_loaded object = { .base = (ElfW(Addr))bytes, .headers = headers, .header_count = 3 };

	for (size_t at = 0; at < sizeof(bytes); at++)
		CU_ASSERT_EQUAL(drv_loaded_contains(&object, bytes + at), at / 16 % 2 == 0 && at < 48);
}

TEST(nothing_came_where_nothing_was_loaded)
{
	struct drv_library_epoch before = drv_libraries_epoch();

	CU_ASSERT(!drv_libraries_came(&before));
}

/* A known driver's build may load what an unknown one's next build then finds there. */
TEST(what_came_in_any_build_counts_for_unknown_drivers)
{
	static char unknown[PATH_MAX], known[PATH_MAX], other[PATH_MAX];
	struct drv_library_epoch before;

	load("libunknown_driver.so", unknown);
	load("libpocl.so.9", known);
	load("libnot_of_a_build.so", other);
	before = drv_libraries_epoch();
	load("libsome_compiler.so", other);
	CU_ASSERT(drv_libraries_hold(drv_driver_of(unknown), &before));
	CU_ASSERT(drv_libraries_came(&before));
	/* Another device's identity, which was gathered before, lacks it; no known driver's does. */
	CU_ASSERT(!drv_libraries_hold(drv_driver_of(unknown), &before));
	CU_ASSERT(drv_libraries_hold(drv_driver_of("libpocl.so.9"), &before));
	before = drv_libraries_epoch();
	CU_ASSERT(drv_libraries_hold(drv_driver_of(unknown), &before));
	CU_ASSERT(names(unknown, "library.libunknown_driver.so"));
	CU_ASSERT(names(unknown, "library.libsome_compiler.so"));
	CU_ASSERT(!names(unknown, "library.libnot_of_a_build.so"));
	CU_ASSERT(names(known, "library.libpocl.so.9"));
	CU_ASSERT(!names(known, "library.libsome_compiler.so"));
}

/* The field's value as text, in room; false: there is none of that name. */
static bool value_of(const struct cc_key *key, const char *name, char room[PATH_MAX])
{
	struct cmn_reader reader;
	struct cc_key_field field;

	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(key), &reader), CMN_OK);
	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (!cmn_view_equal(field.name, cmn_view_of(name)) || field.value.len >= PATH_MAX)
			continue;
		memcpy(room, field.value.data, field.value.len);
		room[field.value.len] = '\0';
		return true;
	}
	return false;
}

static bool has_field(const struct cc_key *key, const char *name, const char *value)
{
	struct cmn_reader reader;
	struct cc_key_field field;

	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(key), &reader), CMN_OK);
	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (cmn_view_equal(field.name, cmn_view_of(name)) && cmn_view_equal(field.value, cmn_view_of(value)))
			return true;
	}
	return false;
}

static const char *both[2];

static bool is_one_of_both(const char *path)
{
	return strcmp(path, both[0]) == 0 || strcmp(path, both[1]) == 0;
}

/* As readelf tells it. */
static void read_build_id(const char *path, char ret[128])
{
	char command[PATH_MAX + 64];
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "readelf -n '%s' | sed -n 's/.*Build ID: //p'", path);
	pipe = popen(command, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
	ret[0] = '\0';
	(void)!fgets(ret, 128, pipe);
	ret[strcspn(ret, "\n")] = '\0';
	(void)pclose(pipe);
}

/* By its build-id, and where it has none by path and content, whatever its times; with what it is linked with. */
TEST(a_library_is_told_apart_from_any_other)
{
	static char first[PATH_MAX], second[PATH_MAX], stripped[PATH_MAX];
	const struct drv_libraries_query query = { .is_driver = is_one_of_both };
	char text[PATH_MAX], want[PATH_MAX + 128], command[3 * PATH_MAX];
	const struct drv_driver *row;
	struct cmn_hash hash;
	struct cc_key key;

	load("libsource_of_another.so", first);
	(void)snprintf(stripped, sizeof(stripped), "%.*s/libRusticlOpenCL.so.9", PATH_MAX / 2, unit_dir());
	(void)snprintf(command, sizeof(command), "objcopy -R .note.gnu.build-id '%s' '%s'", first, stripped);
	CU_ASSERT_FATAL(system(command) == 0);
	CU_ASSERT_FATAL(dlopen(stripped, RTLD_NOW | RTLD_LOCAL) != NULL);
	(void)snprintf(second, sizeof(second), "%s", stripped);
	load("libdriver_without_row.so", first);
	both[0] = first;
	both[1] = second;
	cc_key_init(&key);
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_OK);
	/* Of several nothing is known. */
	CU_ASSERT_PTR_NULL(row->library);
	read_build_id(first, want);
	CU_ASSERT(strlen(want) >= 32);
	CU_ASSERT(value_of(&key, "library.libdriver_without_row.so", text));
	CU_ASSERT_STRING_EQUAL(text, want);
	CU_ASSERT_EQUAL(cc_contents_hash(&(struct cc_contents){ 0 }, stripped, &hash), CMN_OK);
	(void)snprintf(want, sizeof(want), "%s ", stripped);
	for (size_t i = 0; i < sizeof(hash.bytes); i++)
		(void)snprintf(want + strlen(want), 3, "%02x", hash.bytes[i]);
	CU_ASSERT(value_of(&key, "library.libRusticlOpenCL.so.9", text));
	CU_ASSERT_STRING_EQUAL(text, want);
	CU_ASSERT(has_field(&key, "driver.path", first));
	CU_ASSERT(has_field(&key, "driver.path", second));
	CU_ASSERT(value_of(&key, "library.libc.so.6", text));
	cc_key_release(&key);
}

static void content_of(const char *path, time_t changed, char text[PATH_MAX])
{
	const struct timespec times[2] = { { changed, 7 }, { changed, 7 } };
	struct cc_key key;

	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
	cc_key_init(&key);
	drv_libraries_add_content(&key, &(struct cc_contents){ 0 }, "driver.file", path);
	CU_ASSERT(value_of(&key, "driver.file", text));
	cc_key_release(&key);
}

/* As it is in an image into which it was copied, and after an update. */
TEST(a_drivers_file_is_its_content_whatever_its_times)
{
	char one[PATH_MAX], other[PATH_MAX];

	unit_write("a.spv", "text");
	content_of("a.spv", 1000, one);
	content_of("a.spv", 2000, other);
	CU_ASSERT_STRING_EQUAL(one, other);
	unit_write("a.spv", "else");
	content_of("a.spv", 1000, other);
	CU_ASSERT_STRING_NOT_EQUAL(one, other);
}

/* Whichever of them was loaded last. */
TEST(of_several_drivers_none_is_known)
{
	static char unknown[PATH_MAX], known[PATH_MAX], other[PATH_MAX];
	const struct drv_libraries_query query = { .is_driver = is_one_of_both };
	const char *const pairs[][2] = { { known, known }, { unknown, known }, { known, other } };
	const struct drv_driver *row;
	struct cc_key key;

	load("libunknown_of_two.so", unknown);
	load("libpocl.so.9", known);
	load("libigdrcl.so.9", other);
	for (size_t i = 0; i < 3; i++) {
		both[0] = pairs[i][0];
		both[1] = pairs[i][1];
		cc_key_init(&key);
		CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_OK);
		CU_ASSERT_PTR_EQUAL(row, drv_driver_of(i ? "" : known));
		cc_key_release(&key);
	}
}

TEST(all_that_came_in_a_build_is_known)
{
	static char unknown[PATH_MAX], one[PATH_MAX], two[PATH_MAX];
	struct drv_library_epoch before;

	load("libunknown_driver_2.so", unknown);
	before = drv_libraries_epoch();
	load("libcompiler_a.so", one);
	load("libcompiler_b.so", two);
	CU_ASSERT(drv_libraries_came(&before));
	CU_ASSERT(names(unknown, "library.libcompiler_a.so"));
	CU_ASSERT(names(unknown, "library.libcompiler_b.so"));
}

/* Of a library that was there before, and under another name than it is asked for by. */
TEST(what_is_needed_is_found_wherever_it_came_from)
{
	char command[3 * PATH_MAX], path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.*s/renamed.so", PATH_MAX / 2, unit_dir());
	(void)snprintf(command, sizeof(command), "cp '%s' '%s'", DEEPEST, path);
	CU_ASSERT_FATAL(system(command) == 0);
	CU_ASSERT_FATAL(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);
	CU_ASSERT_FATAL(dlopen(INNER, RTLD_NOW | RTLD_LOCAL) != NULL);
	CU_ASSERT_FATAL(dlopen(THROUGH, RTLD_NOW | RTLD_LOCAL) != NULL);
	CU_ASSERT(names(THROUGH, "library.libobserved_inner.so"));
	CU_ASSERT(names(THROUGH, "library.renamed.so"));
}

static bool no_memory;

WRAPPED(char *, cmn_buffer_take_string, (struct cmn_buffer *buffer))
{
	if (!no_memory)
		return __real_cmn_buffer_take_string(buffer);
	cmn_buffer_release(buffer);
	return NULL;
}

static bool no_copy;	/* once */

WRAPPED(char *, strdup, (const char *text))
{
	bool fails = no_copy;

	no_copy = false;
	return fails ? NULL : __real_strdup(text);
}

static bool no_objects;

WRAPPED(void *, malloc, (size_t size))
{
	return no_objects && size >= DRV_LOADED_MAX ? NULL : __real_malloc(size);
}

/* Since then all that is loaded counts, also for a device that was identified before. In a child, since it stays so. */
static int learn_without_memory(void)
{
	static char unknown[PATH_MAX], other[PATH_MAX];
	struct drv_library_epoch before;

	load("libunknown_driver_3.so", unknown);
	before = drv_libraries_epoch();
	load("libforgotten_compiler.so", other);
	no_copy = true;
	if (!drv_libraries_came(&before) || no_copy || drv_libraries_hold(drv_driver_of(unknown), &before))
		return 2;
	before = drv_libraries_epoch();
	if (!names(unknown, "library.libforgotten_compiler.so") ||
	    !drv_libraries_hold(drv_driver_of(unknown), &before))
		return 3;
	load("libmore_compiler.so", other);
	return drv_libraries_hold(drv_driver_of(unknown), &before) ||
	       !names(unknown, "library.libmore_compiler.so") ? 4 : 0;
}

TEST(what_could_not_be_learned_counts)
{
	pid_t child = fork();

	if (child == 0)
		_exit(learn_without_memory());
	CU_ASSERT(unit_ended_well(child));
}

/* A key without one of its libraries is another's. */
TEST(without_memory_there_is_no_key)
{
	static char path[PATH_MAX];
	const struct drv_libraries_query query = { .is_driver = is_driver };
	const struct drv_driver *row;
	struct cc_key key;

	load("libpocl.so.7", path);
	(void)snprintf(driver_path, sizeof(driver_path), "%s", path);
	cc_key_init(&key);
	no_memory = true;
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_OK);
	no_memory = false;
	CU_ASSERT_EQUAL(cc_key_status(&key), CMN_ERR_NOMEM);
	cc_key_release(&key);
	cc_key_init(&key);
	no_copy = true;
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_ERR_NOMEM);
	CU_ASSERT_FALSE(no_copy);
	no_objects = true;
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_ERR_NOMEM);
	no_objects = false;
	cc_key_release(&key);
}

static bool is_nobody(const char *path)
{
	(void)path;
	return false;
}

TEST(without_a_driver_nothing_is_identified)
{
	const struct drv_libraries_query query = { .is_driver = is_nobody };
	const struct drv_driver *row;
	struct cc_key key;

	cc_key_init(&key);
	CU_ASSERT_EQUAL(drv_libraries_identify(&query, &(struct cc_contents){ 0 }, &key, &row), CMN_MISS);
	cc_key_release(&key);
}

static atomic_bool looking;

static void *look_all_the_time(void *data)
{
	(void)data;
	while (atomic_load(&looking))
		(void)drv_libraries_epoch();
	return NULL;
}

static int stop_at_first(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)info;
	(void)size;
	(void)ctx;
	return 1;
}

/* The dynamic linker's lock, which such a thread holds, stays locked in a child. */
TEST(a_child_loads_libraries_while_a_thread_looks)
{
	pthread_t thread;
	bool good = true;

	CU_ASSERT_EQUAL_FATAL(pthread_atfork(drv_loaded_fork_prepare, drv_loaded_fork_parent,
					     drv_loaded_fork_child), 0);
	atomic_store(&looking, true);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look_all_the_time, NULL), 0);
	for (int i = 0; i < 100 && good; i++) {
		pid_t child = fork();

		if (child == 0) {
			(void)alarm(20);
			_exit(dl_iterate_phdr(stop_at_first, NULL) == 1 ? 0 : 1);
		}
		good = unit_ended_well(child);
	}
	CU_ASSERT_TRUE(good);
	atomic_store(&looking, false);
	(void)pthread_join(thread, NULL);
}
