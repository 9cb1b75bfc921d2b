/* SPDX-License-Identifier: MIT */
/*
 * test_library_files: what is found must be what dlopen loads. Each case runs
 * in a process of its own (this program again), which first looks, then loads,
 * and compares names, build-ids, and paths where there is no build-id. The
 * libraries are the system's, and small ones that the test writes.
 */
#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

#include "layers/shared/driver/elf_file.h"
#include "layers/shared/driver/libraries.h"
#include "layers/shared/driver/library_files.h"
#include "layers/shared/driver/search_directories.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define MAX_SEEN 256

/* This program, by a path that also holds under valgrind. */
static char self[4096];

/* The child's exit codes. */
enum outcome {
	SAME = 40,	/* found what was loaded then */
	MORE,		/* likewise, and files that were not loaded */
	DIFFERENT,	/* the one thing that must not be */
	UNKNOWN,	/* left something out; dlopen does load it */
	ABSENT,		/* left something out; dlopen fails too */
	IMAGINED,	/* found, but dlopen fails */
};

struct seen {
	char path[512];
	uint8_t id[64];
	size_t id_len;
};

struct seen_list {
	struct seen items[MAX_SEEN];
	size_t count;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static enum cmn_status note(void *ctx, const struct drv_library_file *file)
{
	struct seen_list *list = ctx;
	struct seen *seen = &list->items[list->count++];

	if (strcmp(file->name, last_part(file->path)) != 0 || file->build_id.len > sizeof(seen->id))
		exit(DIFFERENT);
	(void)snprintf(seen->path, sizeof(seen->path), "%s", file->path);
	if (file->build_id.len)
		memcpy(seen->id, file->build_id.data, file->build_id.len);
	seen->id_len = file->build_id.len;
	return CMN_OK;
}

static int note_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct seen_list *list = ctx;
	struct seen *seen = &list->items[list->count++];

	(void)size;
	(void)snprintf(seen->path, sizeof(seen->path), "%s", info->dlpi_name);
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uint8_t *at = (const void *)(info->dlpi_addr + header->p_vaddr);
		const uint8_t *end = at + header->p_memsz;

		while (header->p_type == PT_NOTE && !seen->id_len && end - at > 12) {
			const ElfW(Nhdr) *found = (const void *)at;
			size_t skip = header->p_align == 8 ? 7 : 3;

			at += sizeof(*found) + ((found->n_namesz + skip) & ~skip);
			if (found->n_type == NT_GNU_BUILD_ID) {
				seen->id_len = found->n_descsz;
				memcpy(seen->id, at, found->n_descsz);
			}
			at += (found->n_descsz + skip) & ~skip;
		}
	}
	return 0;
}

static bool has_path(const struct seen_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].path, path) == 0)
			return true;
	}
	return false;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
	return a->id_len == b->id_len && (a->id_len ? memcmp(a->id, b->id, a->id_len) == 0 :
						      strcmp(a->path, b->path) == 0);
}

static bool is_loaded(void *ctx, const char *soname)
{
	static struct seen_list loaded;

	(void)ctx;
	if (!loaded.count)
		(void)dl_iterate_phdr(note_loaded, &loaded);
	for (size_t i = 0; i < loaded.count; i++) {
		if (strcmp(last_part(loaded.items[i].path), soname) == 0)
			return true;
	}
	return false;
}

static bool is_never_loaded(void *ctx, const char *soname)
{
	(void)ctx;
	return strncmp(soname, "libc.so.", 8) == 0 || strncmp(soname, "ld-linux", 8) == 0;
}

/* The path by which the process has an object whose file name starts so. */
static const char *loaded_path(const char *start)
{
	static struct seen_list loaded;

	loaded.count = 0;
	(void)dl_iterate_phdr(note_loaded, &loaded);
	for (size_t i = 0; i < loaded.count; i++) {
		if (strncmp(last_part(loaded.items[i].path), start, strlen(start)) == 0)
			return loaded.items[i].path;
	}
	return NULL;
}

static enum outcome compare(const struct seen_list *files, const struct seen_list *before,
			    const struct seen_list *after, bool complete)
{
	size_t fresh = 0;

	for (size_t i = 0; i < after->count; i++) {
		const struct seen *now = &after->items[i];
		bool found = false;

		if (has_path(before, now->path))
			continue;
		fresh++;
		for (size_t j = 0; j < files->count; j++) {
			if (strcmp(last_part(files->items[j].path), last_part(now->path)) != 0)
				continue;
			if (!is_same(&files->items[j], now)) {
				fprintf(stderr, "loaded, but not found: %s\n", now->path);
				return DIFFERENT;
			}
			found = true;
		}
		if (!found && complete) {
			fprintf(stderr, "loaded, but not found: %s\n", now->path);
			return DIFFERENT;
		}
	}
	if (!complete)
		return UNKNOWN;
	return fresh == files->count ? SAME : MORE;
}

static int run_child(const char *soname)
{
	static struct seen_list files, before, after;
	enum cmn_status status = drv_library_files(loaded_path("libc.so."), &soname, 1, is_loaded, note, &files);
	void *handle;

	(void)dl_iterate_phdr(note_loaded, &before);
	handle = dlopen(soname, RTLD_LAZY);
	(void)dl_iterate_phdr(note_loaded, &after);
	if (!handle)
		return status == CMN_OK ? IMAGINED : ABSENT;
	return (int)compare(&files, &before, &after, status == CMN_OK);
}

/* variable: LD_LIBRARY_PATH, or NULL. */
static enum outcome look_and_load(const char *soname, const char *variable)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		if (variable)
			(void)setenv("LD_LIBRARY_PATH", variable, 1);
		(void)execl(self, self, soname, (char *)NULL);
		_exit(1);
	}
	CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
	CU_ASSERT_FATAL(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A shared object without code, which ld.so does load. */
struct object {
	const char *soname, *run_path, *run_path_old;
	const char *needed[4];
	size_t repeat;		/* needed[0] so often instead, each with a number */
	uint8_t id;		/* each byte of the build-id; 0: none */
	bool other_machine, other_class;
	bool old_comes_first;	/* of the two run paths */
	bool has_no_end;	/* the last string lacks its terminator */
	int64_t tag;		/* one more dynamic entry; 0: none */
	uint64_t value;
};

/* A word of DT_HASH. */
#ifdef __s390x__
typedef uint64_t hash_word;
#else
typedef uint32_t hash_word;
#endif

struct image {
	ElfW(Ehdr) header;
	ElfW(Phdr) parts[4];
	struct {
		ElfW(Nhdr) header;
		char name[4];
		uint8_t id[20];
	} note;
	ElfW(Sym) symbols[1];
	hash_word hash[4];
};

static void add_entry(struct cmn_buffer *dynamic, int64_t tag, uint64_t value)
{
	ElfW(Dyn) entry = { .d_tag = tag, .d_un.d_val = value };

	cmn_buffer_append(dynamic, &entry, sizeof(entry));
}

static void add_string(struct cmn_buffer *dynamic, struct cmn_buffer *strings, int64_t tag, const char *text)
{
	if (!text)
		return;
	add_entry(dynamic, tag, strings->len);
	cmn_buffer_append(strings, text, strlen(text) + 1);
}

static void add_needed(const struct object *object, struct cmn_buffer *dynamic, struct cmn_buffer *strings)
{
	char name[64];

	for (size_t i = 0; !object->repeat && i < 4; i++)
		add_string(dynamic, strings, DT_NEEDED, object->needed[i]);
	for (size_t i = 0; i < object->repeat; i++) {
		(void)snprintf(name, sizeof(name), "%s%zu", object->needed[0], i);
		add_string(dynamic, strings, DT_NEEDED, name);
	}
}

static void fill_header(struct image *image, const struct object *object)
{
	FILE *file = fopen(self, "rb");

	/* Our own is right for this machine. */
	CU_ASSERT_FATAL(file && fread(&image->header, sizeof(image->header), 1, file) == 1);
	(void)fclose(file);
	image->header.e_type = ET_DYN;
	image->header.e_entry = 0;
	image->header.e_phoff = offsetof(struct image, parts);
	image->header.e_phnum = 4;
	image->header.e_shoff = image->header.e_shnum = image->header.e_shstrndx = 0;
	if (object->other_machine)
		image->header.e_machine = image->header.e_machine == EM_S390 ? EM_X86_64 : EM_S390;
	if (object->other_class)
		image->header.e_ident[EI_CLASS] = ELFCLASSNUM - image->header.e_ident[EI_CLASS];
}

static void fill_parts(struct image *image, size_t dynamic_len, size_t total)
{
	image->parts[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W,
					.p_filesz = total, .p_memsz = total, .p_align = 4096 };
	image->parts[1] = (ElfW(Phdr)){ .p_type = PT_DYNAMIC, .p_flags = PF_R | PF_W,
					.p_offset = sizeof(*image), .p_vaddr = sizeof(*image),
					.p_filesz = dynamic_len, .p_memsz = dynamic_len,
					.p_align = 8 };
	image->parts[2] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_flags = PF_R,
					.p_offset = offsetof(struct image, note),
					.p_vaddr = offsetof(struct image, note),
					.p_filesz = sizeof(image->note),
					.p_memsz = sizeof(image->note), .p_align = 4 };
	image->parts[3] = (ElfW(Phdr)){ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W };
}

static struct cmn_buffer make_object(const struct object *object)
{
	struct cmn_buffer dynamic = { 0 }, strings = { 0 }, whole = { 0 };
	struct image image;
	size_t dynamic_len;

	memset(&image, 0, sizeof(image));
	fill_header(&image, object);
	image.note.header = (ElfW(Nhdr)){ 4, 20, object->id ? NT_GNU_BUILD_ID : NT_GNU_ABI_TAG };
	memcpy(image.note.name, "GNU", 4);
	memset(image.note.id, object->id, sizeof(image.note.id));
	image.hash[0] = image.hash[1] = 1;	/* one bucket, the null symbol */
	cmn_buffer_append_u8(&strings, 0);
	add_needed(object, &dynamic, &strings);
	add_string(&dynamic, &strings, DT_SONAME, object->soname);
	if (!object->old_comes_first)
		add_string(&dynamic, &strings, DT_RUNPATH, object->run_path);
	add_string(&dynamic, &strings, DT_RPATH, object->run_path_old);
	if (object->old_comes_first)
		add_string(&dynamic, &strings, DT_RUNPATH, object->run_path);
	if (object->tag)
		add_entry(&dynamic, object->tag, object->value);
	add_entry(&dynamic, DT_SYMTAB, offsetof(struct image, symbols));
	add_entry(&dynamic, DT_SYMENT, sizeof(ElfW(Sym)));
	add_entry(&dynamic, DT_HASH, offsetof(struct image, hash));
	dynamic_len = dynamic.len + 3 * sizeof(ElfW(Dyn));
	add_entry(&dynamic, DT_STRTAB, sizeof(image) + dynamic_len);
	add_entry(&dynamic, DT_STRSZ, strings.len - object->has_no_end);
	add_entry(&dynamic, DT_NULL, 0);
	fill_parts(&image, dynamic_len, sizeof(image) + dynamic_len + strings.len);
	cmn_buffer_append(&whole, &image, sizeof(image));
	cmn_buffer_append(&whole, dynamic.data, dynamic.len);
	cmn_buffer_append(&whole, strings.data, strings.len);
	CU_ASSERT_FATAL(!dynamic.failed && !strings.failed && !whole.failed);
	cmn_buffer_release(&dynamic);
	cmn_buffer_release(&strings);
	return whole;
}

static void write_object(const char *path, const struct object *object)
{
	struct cmn_buffer whole = make_object(object);

	unit_write_bytes(path, whole.data, whole.len);
	cmn_buffer_release(&whole);
}

TEST(finds_what_dlopen_loads)
{
	static const char *const names[] = {
		"libz.so.1", "libxxhash.so.0", "libstdc++.so.6", "libxml2.so.2", "libze_loader.so.1",
		"libOpenCL.so.1", "libLLVM-14.so.1", "libigc.so.1", "libigdfcl.so.1",
		"libze_intel_gpu.so.1",
		"libfakeroot-0.so",	/* in no built-in directory: only the cache knows it */
	};
	size_t same = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum outcome outcome = look_and_load(names[i], NULL);

		if (outcome != SAME && outcome != ABSENT)
			fprintf(stderr, "%s: %d\n", names[i], (int)outcome);
		CU_ASSERT(outcome == SAME || outcome == ABSENT);
		same += outcome == SAME;
	}
	/* The first two are what this project is built with. */
	CU_ASSERT(same >= 2);
}

TEST(a_missing_library_is_a_miss)
{
	CU_ASSERT_EQUAL(look_and_load("libnowhere.so.1", NULL), ABSENT);
	CU_ASSERT_EQUAL(look_and_load("/nowhere/libnowhere.so.1", NULL), ABSENT);
	write_object("a.so", &(struct object){ .needed = { "libz.so.1", "libnowhere.so.1" }, .id = 1 });
	CU_ASSERT_EQUAL(look_and_load(unit_path("a.so"), NULL), ABSENT);
}

TEST(the_variable_comes_before_the_cache)
{
	char variable[8500];

	write_object("one/libz.so.1", &(struct object){ .soname = "libz.so.1", .id = 1 });
	write_object("two/libz.so.1", &(struct object){ .soname = "libz.so.1", .id = 2 });
	(void)snprintf(variable, sizeof(variable), "%s:%s/", unit_path("two"), unit_path("one"));
	CU_ASSERT_EQUAL(look_and_load("libz.so.1", variable), SAME);
	/* A program that needs it, in another place, gets it from there too. */
	write_object("three/a.so", &(struct object){ .needed = { "libz.so.1" }, .id = 3 });
	CU_ASSERT_EQUAL(look_and_load(unit_path("three/a.so"), variable), SAME);
	/* Relative, empty, absent and repeated places. */
	(void)snprintf(variable, sizeof(variable), "nowhere::%s:one/", unit_path("nowhere"));
	CU_ASSERT_EQUAL(look_and_load("libz.so.1", variable), SAME);
	CU_ASSERT_EQUAL(look_and_load("libz.so.1", "/lib:/usr/lib:/lib:one"), SAME);
}

TEST(other_machines_are_passed_over)
{
	char variable[8500];

	write_object("one/libx.so", &(struct object){ .other_machine = true, .id = 1 });
	write_object("two/libx.so", &(struct object){ .id = 2 });
	(void)snprintf(variable, sizeof(variable), "%s:%s", unit_path("one"), unit_path("two"));
	CU_ASSERT_EQUAL(look_and_load("libx.so", variable), SAME);
	CU_ASSERT_EQUAL(look_and_load("libx.so", unit_path("one")), ABSENT);
	/* Nor does one of 32 bits hinder one of 64, or the other way round. */
	write_object("one/libx.so", &(struct object){ .other_class = true, .id = 1 });
	CU_ASSERT_EQUAL(look_and_load("libx.so", variable), SAME);
	/* But damage is not: ld.so fails there, even though another one follows. */
	unit_write("one/libx.so", "no library, though as long as the header of one would have to be");
	CU_ASSERT_EQUAL(look_and_load("libx.so", variable), ABSENT);
}

TEST(variants_for_processors_cannot_be_told)
{
	write_object("one/libx.so", &(struct object){ .id = 1 });
	write_object("one/glibc-hwcaps/x86-64-v2/libx.so", &(struct object){ .id = 2 });
	CU_ASSERT_EQUAL(look_and_load("libx.so", unit_path("one")), UNKNOWN);
	/* Another library's variants do not matter. */
	write_object("one/liby.so", &(struct object){ .id = 3 });
	CU_ASSERT_EQUAL(look_and_load("liby.so", unit_path("one")), SAME);
}

/* Where they all are one library it does not matter which is taken. */
TEST(copies_and_links_are_one_library)
{
	char variable[8500];

	write_object("one/libx.so", &(struct object){ .id = 1, .needed = { "libz.so.1" } });
	write_object("two/libx.so", &(struct object){ .id = 1, .needed = { "libz.so.1" } });
	write_object("one/glibc-hwcaps/x86-64-v2/libx.so",
		     &(struct object){ .id = 1, .needed = { "libz.so.1" } });
	CU_ASSERT_EQUAL(mkdir(unit_path("three"), 0700), 0);
	CU_ASSERT_EQUAL(symlink("../one/libx.so", unit_path("three/libx.so")), 0);
	(void)snprintf(variable, sizeof(variable), "%s:%s:%s", unit_path("two"), unit_path("one"), unit_path("three"));
	CU_ASSERT_EQUAL(look_and_load("libx.so", variable), SAME);
	/* A build-id alone does not make it one: somebody changed what it needs. */
	write_object("one/glibc-hwcaps/x86-64-v2/libx.so", &(struct object){ .id = 1 });
	CU_ASSERT_EQUAL(look_and_load("libx.so", variable), UNKNOWN);
}

/* Up to 2.36, glibc looks there on some processors. */
TEST(older_variants_cannot_be_told_either)
{
	write_object("one/libx.so", &(struct object){ .id = 1 });
	write_object("one/tls/haswell/libx.so", &(struct object){ .id = 2 });
	/* glibc looks there no more since 2.37. */
	CU_ASSERT_EQUAL(look_and_load("libx.so", unit_path("one")),
			strverscmp(gnu_get_libc_version(), "2.37") < 0 ? UNKNOWN : SAME);
}

/* As x/a.so is loaded, which needs that and has those run paths. */
static enum outcome load_by(const char *needed, const char *run_path, const char *run_path_old, const char *variable)
{
	write_object("x/a.so", &(struct object){ .needed = { needed }, .id = 1, .run_path = run_path,
						 .run_path_old = run_path_old });
	return look_and_load(unit_path("x/a.so"), variable);
}

TEST(run_paths_lead_to_what_is_needed)
{
	write_object("x/a.so", &(struct object){ .needed = { "libb.so" }, .id = 1,
						 .run_path = "/nowhere:$ORIGIN/../y" });
	write_object("y/libb.so", &(struct object){ .needed = { "libz.so.1" }, .id = 2 });
	CU_ASSERT_EQUAL(look_and_load(unit_path("x/a.so"), NULL), SAME);
	/* With the older kind, too, and where there are both. */
	CU_ASSERT_EQUAL(load_by("libb.so", NULL, "/nowhere:${ORIGIN}/../y", NULL), SAME);
	CU_ASSERT_EQUAL(load_by("libb.so", "$ORIGIN/../y", "$ORIGIN/../v", NULL), SAME);
	write_object("x/a.so", &(struct object){ .needed = { "libb.so" }, .id = 1,
						 .run_path = "$ORIGIN/../y",
						 .run_path_old = "$ORIGIN/../v",
						 .old_comes_first = true });
	CU_ASSERT_EQUAL(look_and_load(unit_path("x/a.so"), NULL), SAME);
	/* By another path of the file they lead elsewhere. */
	CU_ASSERT_EQUAL(mkdir(unit_path("z"), 0700), 0);
	CU_ASSERT_EQUAL(symlink("../x/a.so", unit_path("z/a.so")), 0);
	CU_ASSERT_EQUAL(look_and_load(unit_path("z/a.so"), NULL), SAME);
	/* Those have variants as well. */
	write_object("y/glibc-hwcaps/x86-64-v2/libb.so", &(struct object){ .id = 5 });
	CU_ASSERT_EQUAL(look_and_load(unit_path("x/a.so"), NULL), UNKNOWN);
	unit_remove("y/glibc-hwcaps/x86-64-v2/libb.so");
	CU_ASSERT_EQUAL(load_by("libb.so", "$LIB/../y:$ORIGIN/../y", NULL, NULL), UNKNOWN);
	CU_ASSERT_EQUAL(load_by("libz.so.1", "$ORIGIN.y", NULL, NULL), UNKNOWN);
}

/* Which of two it is depends on the kind of the path, and on whose it is. */
TEST(with_run_paths_different_libraries_cannot_be_told)
{
	write_object("y/libz.so.1", &(struct object){ .id = 3 });
	write_object("y/libb.so", &(struct object){ .needed = { "libz.so.1" }, .id = 2 });
	write_object("v/libb.so", &(struct object){ .id = 4 });
	CU_ASSERT_EQUAL(load_by("libb.so", "$ORIGIN/../y", NULL, NULL), UNKNOWN);
	CU_ASSERT_EQUAL(look_and_load(unit_path("x/a.so"), unit_path("v")), UNKNOWN);
	CU_ASSERT_EQUAL(load_by("libb.so", NULL, "$ORIGIN/../y", NULL), UNKNOWN);
	CU_ASSERT_EQUAL(look_and_load(unit_path("x/a.so"), unit_path("v")), UNKNOWN);
}

/* A run path goes before the cache, but not for what other libraries need. */
TEST(once_there_is_a_run_path_no_order_is_certain)
{
	char variable[8500];

	write_object("one/libb.so", &(struct object){ .id = 2 });
	write_object("two/libb.so", &(struct object){ .id = 3 });
	write_object("x/a.so", &(struct object){ .needed = { "libb.so" }, .id = 1 });
	(void)snprintf(variable, sizeof(variable), "%s:%s", unit_path("two"), unit_path("one"));
	CU_ASSERT_EQUAL(look_and_load(unit_path("x/a.so"), variable), SAME);
	CU_ASSERT_EQUAL(load_by("libb.so", "/nowhere", NULL, variable), UNKNOWN);
}

/* Another library may bring its own before the driver asks for that name. */
TEST(a_later_run_path_counts_for_earlier_names)
{
	const char *const names[] = { "libn.so", "liba.so" };
	struct seen_list *list = calloc(1, sizeof(*list));
	void *driver;

	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	write_object("driver.so", &(struct object){ .run_path_old = unit_path("y") });
	write_object("y/libn.so", &(struct object){ .id = 1 });
	write_object("y/liba.so", &(struct object){ .needed = { "libn.so" }, .id = 2,
						    .run_path = "$ORIGIN/../w" });
	driver = dlopen(unit_path("driver.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(driver);
	CU_ASSERT_EQUAL(drv_library_files(unit_path("driver.so"), names, 2, is_never_loaded, note, list), CMN_OK);
	CU_ASSERT_EQUAL(list->count, 2);
	write_object("w/libn.so", &(struct object){ .id = 3 });
	list->count = 0;
	CU_ASSERT_EQUAL(drv_library_files(unit_path("driver.so"), names, 2, is_never_loaded, note, list), CMN_MISS);
	CU_ASSERT_EQUAL(list->count, 1);
	CU_ASSERT_STRING_EQUAL(list->items[0].path, unit_path("y/liba.so"));
	(void)dlclose(driver);
	free(list);
}

/* The second file's soname is what the third needs, so that ld.so looks for no other file. */
TEST(more_may_be_found_than_is_loaded)
{
	write_object("a.so", &(struct object){ .needed = { "libb.so", "libc-one.so" }, .id = 1,
					       .run_path_old = "$ORIGIN" });
	write_object("libb.so", &(struct object){ .soname = "libz.so.1", .id = 2 });
	write_object("libc-one.so", &(struct object){ .needed = { "libz.so.1", "libd.so" }, .id = 3 });
	CU_ASSERT_EQUAL(symlink("libb.so", unit_path("libd.so")), 0);
	CU_ASSERT_EQUAL(look_and_load(unit_path("a.so"), NULL), MORE);
}

TEST(cycles_end)
{
	write_object("a.so", &(struct object){ .needed = { "libb.so", "a.so" }, .id = 1,
					       .run_path_old = "$ORIGIN" });
	write_object("libb.so", &(struct object){ .needed = { "libb.so", "libc-one.so" }, .id = 2 });
	write_object("libc-one.so", &(struct object){ .needed = { "a.so", "libb.so" }, .id = 3 });
	CU_ASSERT_EQUAL(look_and_load(unit_path("a.so"), NULL), SAME);
}

static enum cmn_status count(void *ctx, const struct drv_library_file *file)
{
	(void)file;
	++*(size_t *)ctx;
	return CMN_OK;
}

static enum cmn_status stop(void *ctx, const struct drv_library_file *file)
{
	(void)count(ctx, file);		/* CMN_OK */
	return CMN_ERR_NOSPACE;
}

static enum cmn_status files_of(const char *driver, const char *soname, drv_library_loaded_fn loaded,
				drv_library_file_fn visit, void *ctx)
{
	return drv_library_files(driver, &soname, 1, loaded, visit, ctx);
}

TEST(ten_thousand_needs_are_refused)
{
	struct object object = { .needed = { "lib" }, .repeat = 10000 };
	size_t visited = 0;

	write_object("a.so", &object);
	CU_ASSERT_EQUAL(files_of(loaded_path("libc.so."), unit_path("a.so"), is_never_loaded,
					  count, &visited), CMN_MISS);
	object.repeat = 4000;
	write_object("a.so", &object);
	CU_ASSERT_EQUAL(files_of(loaded_path("libc.so."), unit_path("a.so"), is_never_loaded,
					  count, &visited), CMN_MISS);
	CU_ASSERT_EQUAL(visited, 1);
}

TEST(the_visitor_can_end_the_walk)
{
	size_t visited = 0;

	write_object("a.so", &(struct object){ .needed = { "libb.so" }, .run_path = "$ORIGIN" });
	write_object("libb.so", &(struct object){ .id = 1 });
	CU_ASSERT_EQUAL(files_of(loaded_path("libc.so."), unit_path("a.so"), is_never_loaded,
					  stop, &visited), CMN_ERR_NOSPACE);
	CU_ASSERT_EQUAL(visited, 1);
}

TEST(the_askers_run_path_counts_for_what_it_asks_for)
{
	struct seen_list *list = calloc(1, sizeof(*list));
	void *driver, *other;
	char path[8500];

	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	write_object("driver.so", &(struct object){ .run_path = unit_path("y") });
	write_object("y/liba.so", &(struct object){ .needed = { "libb.so" }, .id = 1 });
	write_object("y/libb.so", &(struct object){ .id = 2 });
	driver = dlopen(unit_path("driver.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(driver);
	/* That libb.so is not looked for there, since the new kind is not inherited, does not matter. */
	CU_ASSERT_EQUAL(files_of(unit_path("driver.so"), "liba.so", is_never_loaded, note, list), CMN_OK);
	CU_ASSERT_EQUAL(list->count, 2);
	CU_ASSERT_STRING_EQUAL(list->items[0].path, unit_path("y/liba.so"));
	/* But where others are inherited, nobody knows which. */
	write_object("driver3.so", &(struct object){ .run_path_old = unit_path("y") });
	other = dlopen(unit_path("driver3.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	list->count = 0;
	CU_ASSERT_EQUAL(files_of(unit_path("driver.so"), "liba.so", is_never_loaded, note, list), CMN_MISS);
	CU_ASSERT_EQUAL(list->count, 1);
	CU_ASSERT_STRING_EQUAL(list->items[0].path, unit_path("y/liba.so"));
	(void)dlclose(other);
	/* One with a run path of each kind has the new one alone. Its offset is even. */
	write_object("driver4.so", &(struct object){
		.soname = "ab", .run_path = unit_path("y"), .run_path_old = unit_path("y") });
	other = dlopen(unit_path("driver4.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	list->count = 0;
	CU_ASSERT_EQUAL(files_of(unit_path("driver.so"), "liba.so", is_never_loaded, note, list), CMN_OK);
	(void)dlclose(other);
	(void)dlclose(driver);
	/* One that is not to look where all do, by itself. */
	(void)snprintf(path, sizeof(path), "%s:/usr/lib", unit_path("y"));
	write_object("driver5.so", &(struct object){ .run_path = path, .tag = DT_FLAGS_1, .value = DF_1_NODEFLIB });
	driver = dlopen(unit_path("driver5.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(driver);
	CU_ASSERT_EQUAL(files_of(unit_path("driver5.so"), "liba.so", is_never_loaded, note, list), CMN_MISS);
	(void)dlclose(driver);
	write_object("driver2.so", &(struct object){ .run_path_old = unit_path("y") });
	driver = dlopen(unit_path("driver2.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(driver);
	list->count = 0;
	CU_ASSERT_EQUAL(files_of(unit_path("driver2.so"), "liba.so", is_never_loaded, note, list), CMN_OK);
	CU_ASSERT_EQUAL(list->count, 2);
	CU_ASSERT_STRING_EQUAL(list->items[1].path, unit_path("y/libb.so"));
	(void)dlclose(driver);
	/* Not loaded any more: nothing is known of it. */
	CU_ASSERT_EQUAL(files_of(unit_path("driver2.so"), "liba.so", is_never_loaded, note, list), CMN_MISS);
	free(list);
}

static bool is_amds(const char *path)
{
	return strcmp(path, unit_path("libamdocl64.so")) == 0;
}

static bool key_has(const char *library)
{
	const struct drv_driver *row;
	struct cc_key key;
	bool found;

	cc_key_init(&key);
	CU_ASSERT_EQUAL(drv_libraries_identify(&(struct drv_libraries_query){ .is_driver = is_amds },
					       &(struct cc_contents){ 0 }, &key, &row), CMN_OK);
	found = memmem(cc_key_view(&key).data, cc_key_view(&key).len, library, strlen(library)) != NULL;
	cc_key_release(&key);
	return found;
}

/* By whatever file name. */
TEST(after_a_version_that_is_loaded_no_older_one_is_looked_for)
{
	void *driver, *compiler;

	write_object("libamdocl64.so", &(struct object){ .run_path = unit_path("y"), .id = 1 });
	write_object("y/libamd_comgr.so.2", &(struct object){ .soname = "libamd_comgr.so.2", .id = 2 });
	write_object("renamed.so", &(struct object){ .soname = "libamd_comgr.so.3", .id = 3 });
	driver = dlopen(unit_path("libamdocl64.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(driver);
	CU_ASSERT(key_has("library.libamd_comgr.so.2"));
	compiler = dlopen(unit_path("renamed.so"), RTLD_LAZY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(compiler);
	CU_ASSERT(key_has("library.renamed.so"));
	CU_ASSERT_FALSE(key_has("library.libamd_comgr.so.2"));
	(void)dlclose(compiler);
	(void)dlclose(driver);
}

TEST(what_is_loaded_is_not_looked_at)
{
	size_t visited = 0;

	CU_ASSERT_EQUAL(files_of("/nowhere", "libc.so.6", is_loaded, count, &visited), CMN_OK);
	CU_ASSERT_EQUAL(visited, 0);
}

/* Whatever a damaged file says, it is read within bounds and given back whole or not at all. */
static void read_damaged(const char *path, size_t *accepted)
{
	struct drv_elf_file file = { 0 };

	if (drv_elf_file_read(path, &file) != CMN_OK) {
		CU_ASSERT_PTR_NULL(file.needed.data);
		return;
	}
	++*accepted;
	CU_ASSERT(!file.needed.len || file.needed.data[file.needed.len - 1] == '\0');
	drv_elf_file_release(&file);
}

TEST(damaged_files_are_refused_or_read_within_bounds)
{
	struct cmn_buffer whole = make_object(&(struct object){
		.soname = "liba.so", .needed = { "libb.so", "libz.so.1" }, .run_path = "$ORIGIN",
		.id = 1 });
	size_t accepted = 0;

	for (size_t len = 0; len < whole.len; len++) {
		unit_write_bytes("a.so", whole.data, len);
		read_damaged("a.so", &accepted);
	}
	/* Its last string ends with the file: no shorter one is whole. */
	CU_ASSERT_EQUAL(accepted, 0);
	for (size_t bit = 0; bit < 8 * whole.len; bit++) {
		whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		unit_write_bytes("a.so", whole.data, whole.len);
		read_damaged("a.so", &accepted);
		whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CU_ASSERT(accepted > 0);
	cmn_buffer_release(&whole);
}

TEST(strings_end_in_their_table)
{
	static char name[5000];
	struct object object = { .needed = { "libb.so", "libz.so.1" }, .run_path = "$ORIGIN",
				 .has_no_end = true };
	struct drv_elf_file file;

	write_object("a.so", &object);
	CU_ASSERT_EQUAL_FATAL(drv_elf_file_read("a.so", &file), CMN_ERR_CORRUPT);
	/* No path can have such a name, and so the rest of it is not read. */
	memset(name, 'x', sizeof(name) - 1);
	object = (struct object){ .needed = { name, "libz.so.1" } };
	write_object("a.so", &object);
	CU_ASSERT_EQUAL_FATAL(drv_elf_file_read("a.so", &file), CMN_ERR_TOO_LARGE);
	/* Where nothing is needed, nothing of the table was read before: also not what another one's began with. */
	write_object("a.so", &(struct object){ .needed = { "" } });
	CU_ASSERT_EQUAL_FATAL(drv_elf_file_read("a.so", &file), CMN_OK);
	drv_elf_file_release(&file);
	write_object("a.so", &(struct object){ .run_path = "$ORIGIN" });
	CU_ASSERT_EQUAL_FATAL(drv_elf_file_read("a.so", &file), CMN_OK);
	CU_ASSERT_STRING_EQUAL(file.run_path, "$ORIGIN");
	drv_elf_file_release(&file);
}

TEST(unusual_ways_to_look_for_libraries_are_told)
{
	static const struct {
		int64_t tag;
		uint64_t value;
		bool is_unusual;
	} rows[] = {
		{ DT_FILTER, 0, true }, { DT_AUXILIARY, 0, true }, { DT_AUDIT, 0, true },
		{ DT_DEPAUDIT, 0, true }, { DT_FLAGS_1, DF_1_NODEFLIB, true },
		{ DT_FLAGS_1, DF_1_NODEFLIB | DF_1_NOW, true }, { DT_FLAGS_1, DF_1_NOW, false },
		{ DT_FLAGS_1, DF_1_INTERPOSE, false }, { DT_BIND_NOW, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct drv_elf_file file;

		write_object("a.so", &(struct object){ .tag = rows[i].tag, .value = rows[i].value });
		CU_ASSERT_EQUAL_FATAL(drv_elf_file_read("a.so", &file), CMN_OK);
		CU_ASSERT_EQUAL(file.unusual, rows[i].is_unusual);
		drv_elf_file_release(&file);
	}
}

/* As ld.so, which goes on to the next directory. */
TEST(unreadable_files_are_passed_over)
{
	struct drv_elf_file file;
	bool is_root = geteuid() == 0;

	write_object("a.so", &(struct object){ .id = 1 });
	CU_ASSERT_EQUAL(chmod("a.so", 0), 0);
	/* Nothing is unreadable to root, which in a namespace may have nobody else to be. */
	if (is_root && seteuid(65534) != 0)
		return;
	CU_ASSERT_EQUAL(drv_elf_file_read("a.so", &file), CMN_MISS);
	CU_ASSERT_EQUAL(is_root ? seteuid(0) : 0, 0);
}

TEST(only_regular_files_are_opened)
{
	struct drv_elf_file file;
	int free_fd = dup(STDERR_FILENO);

	CU_ASSERT_EQUAL(close(free_fd), 0);
	CU_ASSERT_EQUAL(mkfifo(unit_path("fifo"), 0600), 0);
	CU_ASSERT_EQUAL(drv_elf_file_read(unit_path("fifo"), &file), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(drv_elf_file_read(unit_dir(), &file), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(drv_elf_file_read(unit_path("nowhere"), &file), CMN_MISS);
	/* Nor are they left open. */
	CU_ASSERT_EQUAL(dup(STDERR_FILENO), free_fd);
	CU_ASSERT_EQUAL(close(free_fd), 0);
}

TEST(lists_and_files_that_were_released_are_empty)
{
	struct drv_search_directories list = { 0 };
	struct drv_elf_file file;

	CU_ASSERT_EQUAL(drv_search_directories_gather(loaded_path("libc.so."), &list), CMN_OK);
	CU_ASSERT(list.count > 0);
	write_object("a.so", &(struct object){ .needed = { "libb.so" }, .run_path = "$ORIGIN", .id = 1 });
	CU_ASSERT_EQUAL_FATAL(drv_elf_file_read("a.so", &file), CMN_OK);
	/* Once more does nothing. */
	for (int i = 0; i < 2; i++) {
		drv_search_directories_release(&list);
		CU_ASSERT(list.count == 0 && !list.items);
		drv_elf_file_release(&file);
		CU_ASSERT(!file.needed.data && !file.build_id.data && !file.run_path && file.inode == 0);
	}
}

struct cached {
	const char *path;
	uint64_t capabilities;
};

/* In this machine's order. */
static void append_word(struct cmn_buffer *bytes, uint32_t word)
{
	cmn_buffer_append(bytes, &word, sizeof(word));
}

/* A cache as ldconfig writes it, with two entries of a name, old format first where asked for. */
static struct cmn_buffer make_cache(bool old, uint32_t flags, const char *name, const struct cached entries[2])
{
	struct cmn_buffer bytes = { 0 }, strings = { 0 };

	if (old) {
		cmn_buffer_append(&bytes, "ld.so-1.7.0\0\1\0\0\0", 16);
		cmn_buffer_append(&bytes, "............\0\0\0\0", 16);	/* an entry, and padding */
	}
	cmn_buffer_append(&strings, name, strlen(name) + 1);
	cmn_buffer_append_text(&bytes, "glibc-ld.so.cache1.1");
	append_word(&bytes, 2);
	for (int i = 0; i < 6; i++)
		append_word(&bytes, 0);
	for (uint32_t i = 0; i < 2; i++) {
		append_word(&bytes, flags);
		append_word(&bytes, 48 + 2 * 24);
		append_word(&bytes, 48 + 2 * 24 + (uint32_t)strings.len);
		append_word(&bytes, 0);
		cmn_buffer_append(&bytes, &entries[i].capabilities, sizeof(entries[i].capabilities));
		cmn_buffer_append(&strings, entries[i].path, strlen(entries[i].path) + 1);
	}
	cmn_buffer_append(&bytes, strings.data, strings.len);
	CU_ASSERT_FATAL(!bytes.failed && !strings.failed);
	cmn_buffer_release(&strings);
	return bytes;
}

static const struct cached both[2] = { { "/a/libx.so.1", 0 }, { "/b/libx.so.1", 0 } };

/* The cache is the test's where it has one. */
static struct cmn_buffer given_cache;

WRAPPED(enum cmn_status, cmn_file_read, (int dir_fd, const char *path, size_t max_len, bool follow,
	struct cmn_buffer *ret))
{
	if (!given_cache.len || strcmp(path, DRV_LINKER_CACHE_PATH) != 0)
		return __real_cmn_file_read(dir_fd, path, max_len, follow, ret);
	*ret = given_cache;
	given_cache = (struct cmn_buffer){ 0 };
	return CMN_OK;
}

/* Which of two files a cache with both leads to: 1 or 2, 0: it cannot be told. */
static int taken_from_cache(const char *first, uint64_t capabilities, const char *second)
{
	static struct seen_list list;
	const char *const paths[] = { unit_path(first), unit_path(second) };
	struct cached entries[2] = { { paths[0], capabilities }, { paths[1], 0 } };
	enum cmn_status status;

	given_cache = make_cache(false, 0x303, last_part(first), entries);
	list.count = 0;
	status = files_of(loaded_path("libc.so."), last_part(first), is_never_loaded, note, &list);
	if (status != CMN_OK || list.count != 1)
		return 0;
	return strcmp(list.items[0].path, paths[0]) == 0 ? 1 : strcmp(list.items[0].path, paths[1]) == 0 ? 2 : -1;
}

TEST(the_first_entry_of_the_cache_is_taken)
{
	write_object("one/libx.so.1", &(struct object){ .id = 1 });
	write_object("two/libx.so.1", &(struct object){ .id = 2 });
	write_object("three/libx.so.1", &(struct object){ .id = 3, .other_machine = true });
	write_object("glibc-hwcaps/x/libx.so.1", &(struct object){ .id = 1 });
	CU_ASSERT_EQUAL(taken_from_cache("one/libx.so.1", 0, "two/libx.so.1"), 1);
	CU_ASSERT_EQUAL(taken_from_cache("two/libx.so.1", 0, "one/libx.so.1"), 1);
	CU_ASSERT_EQUAL(taken_from_cache("three/libx.so.1", 0, "one/libx.so.1"), 2);
	/* But not where the processor decides. */
	CU_ASSERT_EQUAL(taken_from_cache("one/libx.so.1", 1, "two/libx.so.1"), 0);
	CU_ASSERT_EQUAL(taken_from_cache("glibc-hwcaps/x/libx.so.1", 0, "two/libx.so.1"), 0);
}

TEST(the_cache_comes_before_the_built_in_directories)
{
	write_object("one/libz.so.1", &(struct object){ .id = 1 });
	CU_ASSERT_EQUAL(taken_from_cache("one/libz.so.1", 0, "two/libz.so.1"), 1);
	/* Where the first entry's file is gone, ld.so takes no second one. */
	CU_ASSERT_EQUAL(taken_from_cache("two/libz.so.1", 0, "one/libz.so.1"), 0);
}

TEST(cache_entries_come_in_their_order)
{
	for (int old = 0; old < 2; old++) {
		struct cmn_buffer bytes = make_cache(old != 0, 0x303, "libx.so.1", both);
		struct cmn_view cache = cmn_buffer_view(&bytes);
		struct drv_linker_cache_entry entry;
		uint32_t at = 0;

		CU_ASSERT_EQUAL(drv_linker_cache_next(cache, "libx.so.1", &at, &entry), CMN_OK);
		CU_ASSERT_STRING_EQUAL(entry.path, "/a/libx.so.1");
		CU_ASSERT(!entry.depends_on_processor);
		CU_ASSERT_EQUAL(drv_linker_cache_next(cache, "libx.so.1", &at, &entry), CMN_OK);
		CU_ASSERT_STRING_EQUAL(entry.path, "/b/libx.so.1");
		CU_ASSERT_EQUAL(drv_linker_cache_next(cache, "libx.so.1", &at, &entry), CMN_MISS);
		at = 0;
		CU_ASSERT_EQUAL(drv_linker_cache_next(cache, "libx.so", &at, &entry), CMN_MISS);
		cmn_buffer_release(&bytes);
	}
}

TEST(cache_entries_for_processors_are_told)
{
	struct cmn_buffer bytes = make_cache(false, 0x303, "libx.so.1",
					      (struct cached[2]){ { "/a", 1ull << 62 }, { "/b", 0 } });
	struct drv_linker_cache_entry entry;
	uint32_t at = 0;

	CU_ASSERT_EQUAL(drv_linker_cache_next(cmn_buffer_view(&bytes), "libx.so.1", &at, &entry), CMN_OK);
	CU_ASSERT(entry.depends_on_processor);
	cmn_buffer_release(&bytes);
	bytes = make_cache(false, 0x301, "libx.so.1", both);	/* not for glibc 2 */
	at = 0;
	CU_ASSERT_EQUAL(drv_linker_cache_next(cmn_buffer_view(&bytes), "libx.so.1", &at, &entry), CMN_MISS);
	cmn_buffer_release(&bytes);
}

static size_t walk_cache(const uint8_t *bytes, size_t len)
{
	/* malloc's own end is what the sanitizers watch. */
	uint8_t *copy = malloc(len + !len);
	struct drv_linker_cache_entry entry;
	size_t found = 0;
	uint32_t at = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, bytes, len);
	while (drv_linker_cache_next((struct cmn_view){ copy, len }, "libx.so.1", &at, &entry) == CMN_OK)
		found += strlen(entry.path) > 0;
	free(copy);
	return found;
}

TEST(a_damaged_cache_is_read_within_bounds)
{
	struct cmn_buffer bytes = make_cache(true, 0x303, "libx.so.1", both);

	CU_ASSERT_EQUAL(walk_cache(bytes.data, bytes.len), 2);
	for (size_t len = 0; len < bytes.len; len++)
		CU_ASSERT(walk_cache(bytes.data, len) < 2);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CU_ASSERT(walk_cache(bytes.data, bytes.len) <= 2);
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cmn_buffer_release(&bytes);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return run_child(argv[1]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	unit_count_descriptors();
	return unit_run(NULL);
}
