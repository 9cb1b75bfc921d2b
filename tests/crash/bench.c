/* SPDX-License-Identifier: MIT */
/* bench: keys, images, and the sequence of one test. */
#include "tests/crash/bench.h"

#include <ftw.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/disk/writer/recipe.h"
#include "common/file.h"
#include "common/hash.h"
#include "tests/support/unit.h"

#define SMALL_IMAGE 700
#define LARGE_IMAGE 9000

void bench_key(struct cc_key *key, unsigned int id)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_DEVICE, "device", "one");
	cc_key_add_u64(key, CC_PART_IMAGE, "source", id / 4);
	cc_key_add_u64(key, CC_PART_OPTIONS, "options", id);
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

static uint8_t byte_at(unsigned int id, unsigned int version, size_t at)
{
	uint64_t word = (at / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) + id * 131071 + version * 8191;

	word ^= word >> 29;
	word *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint8_t)(word >> (at % 8 * 8));
}

static size_t image_len(unsigned int id)
{
	return id % 3 ? SMALL_IMAGE : LARGE_IMAGE;
}

bool bench_is(struct cmn_view image, unsigned int id, unsigned int version)
{
	const uint8_t *data = image.data;

	if (image.len != image_len(id))
		return false;
	for (size_t i = 0; i < image.len; i++) {
		if (data[i] != byte_at(id, version, i))
			return false;
	}
	return true;
}

static void header_path(char *ret, size_t size)
{
	(void)snprintf(ret, size, "%s/header.h", unit_dir());
}

static int header_text(unsigned int version, char *ret, size_t size)
{
	return snprintf(ret, size, "#define VERSION %03u\n", version);
}

void bench_set_header(unsigned int version)
{
	char path[4300], text[64];

	header_path(path, sizeof(path));
	(void)header_text(version, text, sizeof(text));
	unit_write(path, text);
}

static struct cc_manifest *make_manifest(unsigned int version)
{
	struct cc_manifest *manifest = cc_manifest_new();
	char path[4300], text[64];
	int len = header_text(version, text, sizeof(text));
	struct cmn_hash hash = cmn_hash_of(text, (size_t)len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	header_path(path, sizeof(path));
	CU_ASSERT_EQUAL_FATAL(cc_manifest_add_file(manifest, path, (uint64_t)len, &hash), CMN_OK);
	return manifest;
}

struct cc_entry *bench_entry(const struct bench *bench, unsigned int id, unsigned int version)
{
	struct cc_entry *entry = cc_entry_new(1000);
	uint8_t *image;

	CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
	image = cc_entry_add_room(entry, CC_TAG_IMAGE, 0, image_len(id));
	CU_ASSERT_PTR_NOT_NULL_FATAL(image);
	for (size_t i = 0; i < image_len(id); i++)
		image[i] = byte_at(id, version, i);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, bench->headers ? make_manifest(version) : NULL),
			      CMN_OK);
	return entry;
}

void bench_open(struct bench *bench, const char *name, unsigned int others)
{
	memset(bench, 0, sizeof(*bench));
	bench->name = name;
	bench->others = others;
	(void)snprintf(bench->base, sizeof(bench->base), "%s/recorded", unit_dir());
	(void)snprintf(bench->root, sizeof(bench->root), "%s" BENCH_ROOT, bench->base);
	CU_ASSERT_EQUAL_FATAL(mkdir(bench->base, 0700), 0);
	bench->config.dir = bench->root;
	bench->config.persistent = true;
	bench->config.max_device_image_size = 1 << 20;
	bench->config.threshold_days = 90;
	bench->config.compression = CC_COMPRESSION_AUTO;
	record_start(bench->base, &bench->tape);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&bench->config, NULL, &bench->store), CMN_OK);
}

void bench_sync(struct bench *bench)
{
	bench->durable = bench->tape.count;
	memcpy(bench->kept, bench->stored, sizeof(bench->kept));
}

static struct {
	uint64_t sum;
	size_t base_len;
} digest;

static int digest_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	struct cmn_buffer file = { 0 };
	struct cmn_hash parts[2], hash;

	(void)where;
	if (kind == FTW_F &&
	    cmn_file_read(AT_FDCWD, path, (size_t)info->st_size, false, &file) != CMN_OK)
		return 1;
	parts[0] = cmn_hash_of(path + digest.base_len, strlen(path + digest.base_len));
	parts[1] = cmn_hash_of(file.data, file.len);
	hash = cmn_hash_of(parts, sizeof(parts));
	digest.sum += cmn_hash_u64(&hash);
	cmn_buffer_release(&file);
	return 0;
}

static uint64_t digest_of(const char *directory)
{
	digest.sum = 0;
	digest.base_len = strlen(directory);
	CU_ASSERT_EQUAL(nftw(directory, digest_one, 16, FTW_PHYS), 0);
	return digest.sum;
}

/* With nothing lost the model gives what is there: nothing happened unseen. */
static void check_record(const struct bench *bench)
{
	struct crash crash;
	char path[4300];

	(void)snprintf(path, sizeof(path), "%s/replayed", unit_dir());
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	crash_init(&crash, &bench->tape, bench->durable);
	crash_materialize(&crash, path);
	CU_ASSERT_EQUAL(digest_of(path), digest_of(bench->base));
	crash_release(&crash);
	unit_remove(path);
}

void bench_close(struct bench *bench, const struct effort *effort)
{
	struct explored explored;

	record_stop();
	cc_store_close(bench->store);
	check_record(bench);
	explored = explore(&bench->tape, bench->durable, effort, bench_check, bench);
	CU_ASSERT(explored.states > 1);
	CU_ASSERT_EQUAL(explored.failures, 0);
	(void)printf("\n  crash.%s: %zu operations, %zu states ", bench->name, explored.operations,
		     explored.states);
	(void)fflush(stdout);
	tape_release(&bench->tape);
}

int bench_open_entry_dir(const struct bench *bench, unsigned int id)
{
	char path[CC_ENTRY_DIR_PATH_SIZE];
	struct cc_key key;
	int fd = -1, root_fd = open(bench->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_TRUE_FATAL(root_fd >= 0);
	bench_key(&key, id);
	cc_entry_dir_path(cc_key_view(&key), path);
	cc_key_release(&key);
	CU_ASSERT_EQUAL_FATAL(cc_entry_dir_open(root_fd, path, &fd), CMN_OK);
	(void)close(root_fd);
	return fd;
}

void bench_put(struct bench *bench, unsigned int id, unsigned int version)
{
	struct cc_entry *entry = bench_entry(bench, id, version);
	struct cc_key key;

	bench_key(&key, id);
	if (bench->headers)
		bench_set_header(version);
	CU_ASSERT_EQUAL(cc_store_put(bench->store, &key, entry), CMN_OK);
	bench->stored[id][version] = true;
	if (!bench->headers)
		bench_forget(bench, id);
	cc_key_release(&key);
	cc_entry_unref(entry);
}

bool bench_get(struct bench *bench, unsigned int id)
{
	struct cc_entry *entry;
	struct cc_key key;
	enum cmn_status status;

	bench_key(&key, id);
	status = cc_store_get(bench->store, &key, NULL, SIZE_MAX, &entry, NULL);
	cc_key_release(&key);
	if (status == CMN_OK)
		cc_entry_unref(entry);
	return status == CMN_OK;
}

void bench_remove(struct bench *bench, unsigned int id)
{
	struct cc_key key;

	bench_key(&key, id);
	CU_ASSERT_EQUAL(cc_store_remove(bench->store, &key), CMN_OK);
	cc_key_release(&key);
	bench_forget(bench, id);
}

void bench_forget(struct bench *bench, unsigned int id)
{
	memset(bench->kept[id], 0, sizeof(bench->kept[id]));
}

void bench_set_access(struct bench *bench, unsigned int id, uint64_t ns)
{
	int fd = bench_open_entry_dir(bench, id);

	cc_entry_dir_note_use(fd, NULL, 0, ns);
	(void)close(fd);
}

struct cmn_buffer bench_recipe(unsigned int number)
{
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe = { .directory = cmn_view_of("/somewhere") };
	struct cc_key key;

	bench_key(&key, 1000 + number);
	recipe.key = cc_key_view(&key);
	CU_ASSERT_EQUAL_FATAL(cc_recipe_encode(&recipe, &file), CMN_OK);
	cc_key_release(&key);
	return file;
}
