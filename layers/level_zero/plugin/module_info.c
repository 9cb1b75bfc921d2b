/* SPDX-License-Identifier: MIT */
/* module_info: two questions when a module is built, and two maps of handles, guarded by lz_maps. */
#include "layers/level_zero/plugin/module_info.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(element) (out_of_memory = true)

/* A space is in no identifier. */
#define NO_NAME "no such name"
/* Longer descriptions are cut: NEO's have some 80 characters. */
#define MAX_TEXT 256

struct answer {
	ze_result_t result;
	char text[MAX_TEXT];
};

struct questions {
	struct lz_next *next;
	ze_driver_handle_t driver;	/* NULL: not known */
	ze_module_handle_t module;
	struct answer function, global;
};

/* The driver's description of this thread's last error; NULL: it does not say. */
static const char *text_of(struct lz_next *next, ze_driver_handle_t driver)
{
	lz_get_last_error_fn get = LZ_NEXT_FIND(next, driver_get_last_error);
	lz_get_default_error_fn get_default = LZ_NEXT_FIND(next, default_get_last_error);
	const char *text = NULL;
	ze_result_t result = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;

	/* Of contexts that nobody created (zerGetDefaultContext) it is the default one. */
	if (!driver && get_default)
		result = get_default(&text);
	else if (driver && get)
		result = get(driver, &text);
	return result == ZE_RESULT_SUCCESS ? text : NULL;
}

/* "": none. */
static void read_text(struct lz_next *next, ze_driver_handle_t driver, char ret[MAX_TEXT])
{
	const char *text = text_of(next, driver);

	ret[0] = '\0';
	if (text)
		(void)strncat(ret, text, MAX_TEXT - 1);
}

static void *ask(void *data)
{
	struct questions *ask = data;
	void *pointer = NULL;

	ask->function.result = LZ_NEXT_FIND(ask->next, module_get_function)(ask->module, NO_NAME,
									    &pointer);
	read_text(ask->next, ask->driver, ask->function.text);
	ask->global.result = LZ_NEXT_FIND(ask->next, module_get_global)(ask->module, NO_NAME, NULL,
									&pointer);
	read_text(ask->next, ask->driver, ask->global.text);
	return NULL;
}

/* It says only that the name is not there, as modules of natives do, too (NEO; the last: 22.43). */
static bool is_plain(ze_result_t result)
{
	return result == ZE_RESULT_ERROR_INVALID_FUNCTION_NAME ||
	       result == ZE_RESULT_ERROR_INVALID_GLOBAL_NAME ||
	       result == ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static void add(struct cc_entry *entry, uint32_t tag, const struct answer *answer)
{
	uint8_t field[4 + MAX_TEXT];
	size_t len = strlen(answer->text) + 1;

	if (is_plain(answer->result) || answer->result == ZE_RESULT_SUCCESS)
		return;
	for (unsigned int i = 0; i < 4; i++)
		field[i] = (uint8_t)((uint32_t)answer->result >> (8 * i));
	memcpy(field + 4, answer->text, len);
	cc_entry_add(entry, tag, 0, field, 4 + len);
}

/* In a thread that takes none of the application's signals. false: nobody answered. */
static bool ask_apart(struct questions *questions)
{
	sigset_t all, old;
	pthread_t thread;
	bool asked;

	(void)sigfillset(&all);		/* cannot fail */
	if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
		return false;
	asked = pthread_create(&thread, NULL, ask, questions) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);	/* arguments are right */
	return asked && pthread_join(thread, NULL) == 0;
}

void lz_module_info_learn(const struct lz_target *target, ze_module_handle_t module,
		      struct cc_entry *entry)
{
	struct lz_next *next = target->next;
	struct questions questions = { .next = next, .driver = target->driver, .module = module };

	if (!target->identity->row->stands_absent_names ||
	    !LZ_NEXT_FIND(next, module_get_function) || !LZ_NEXT_FIND(next, module_get_global) ||
	    !ask_apart(&questions))
		return;
	add(entry, LZ_TAG_NO_FUNCTION, &questions.function);
	add(entry, LZ_TAG_NO_GLOBAL, &questions.global);
}

/* false: the entry has none, or none that can be read. */
static bool read_answer(const struct cc_entry *entry, uint32_t tag, struct answer *ret)
{
	const uint8_t *bytes;
	struct cmn_view field;
	uint32_t result = 0;

	if (!cc_entry_find(entry, tag, 0, &field) || field.len < 5 || field.len > 4 + MAX_TEXT)
		return false;
	bytes = field.data;
	for (unsigned int i = 0; i < 4; i++)
		result |= (uint32_t)bytes[i] << (8 * i);
	ret->result = (ze_result_t)result;
	memcpy(ret->text, bytes + 4, field.len - 4);
	return bytes[field.len - 1] == '\0';
}

/* A module or a log that answers from its entry. */
struct replayed {
	void *handle;
	ze_driver_handle_t driver;	/* of a module; NULL: not known */
	struct cc_entry *entry;		/* holds a reference */
	UT_hash_handle hh;
};

static struct replayed *modules, *logs;	/* guarded by lz_maps */
atomic_bool lz_module_info_any_module;

static void replayed_free(struct replayed *replayed)
{
	if (replayed)
		cc_entry_unref(replayed->entry);
	free(replayed);
}

static struct replayed *take_out(struct replayed **map, const void *handle)
{
	struct replayed *replayed;

	lz_maps_lock();
	HASH_FIND_PTR(*map, &handle, replayed);
	if (replayed)
		HASH_DEL(*map, replayed);
	lz_maps_unlock();
	return replayed;
}

/* Takes it; without memory it is gone. */
static void put_in(struct replayed **map, struct replayed *replayed)
{
	bool out_of_memory = false;

	lz_maps_lock();
	HASH_ADD_PTR(*map, handle, replayed);
	lz_maps_unlock();
	if (out_of_memory)
		replayed_free(replayed);
}

static void replay(struct replayed **map, void *handle, ze_driver_handle_t driver,
		   struct cc_entry *entry)
{
	struct replayed *replayed = calloc(1, sizeof(*replayed));

	if (!replayed)
		return;
	replayed->handle = handle;
	replayed->driver = driver;
	/* What the driver made of the image is its own. */
	replayed->entry = cc_entry_without_images(entry);
	put_in(map, replayed);
}

void lz_module_info_of_module(ze_module_handle_t handle, ze_driver_handle_t driver,
			  struct cc_entry *entry)
{
	struct answer answer;

	/* A handle that was another module's before, whose destruction passed the plugin by. */
	replayed_free(take_out(&modules, handle));
	if (!read_answer(entry, LZ_TAG_NO_FUNCTION, &answer) &&
	    !read_answer(entry, LZ_TAG_NO_GLOBAL, &answer))
		return;
	lz_module_info_any_module = true;
	replay(&modules, handle, driver, entry);
}

void lz_module_info_of_log(ze_module_build_log_handle_t handle, struct cc_entry *entry)
{
	struct cmn_view text;

	replayed_free(take_out(&logs, handle));	/* as above */
	/* Without a text in the entry the driver's own empty one is right. */
	if (cc_entry_find(entry, LZ_TAG_LOG, 0, &text))
		replay(&logs, handle, NULL, entry);
}

/* The thread's last answer from an entry, and the driver's description then: if that is still the same, the entry's is told. */
static _Thread_local struct {
	bool to_be_told;
	struct lz_next *next;
	ze_driver_handle_t driver;	/* NULL: not known */
	char text[MAX_TEXT], drivers[MAX_TEXT];
} last;

/* What the module's entry says instead of the driver's result; that itself where it says nothing. */
static ze_result_t answer_of(struct lz_next *next, ze_module_handle_t handle, uint32_t tag,
			     ze_result_t result)
{
	struct replayed *module;
	ze_driver_handle_t driver = NULL;
	struct answer answer;
	bool found = false;

	lz_maps_lock();
	HASH_FIND_PTR(modules, &handle, module);
	if (module) {
		driver = module->driver;
		found = read_answer(module->entry, tag, &answer);
	}
	lz_maps_unlock();
	if (!found)
		return result;
	last.next = next;
	last.driver = driver;
	read_text(next, driver, last.drivers);
	memcpy(last.text, answer.text, sizeof(last.text));
	last.to_be_told = true;
	return answer.result;
}

ze_result_t lz_module_info_get_function(struct lz_next *next, ze_module_handle_t module,
				  const char *name, void **ret)
{
	ze_result_t result = LZ_NEXT_FIND(next, module_get_function)(module, name, ret);

	if (result == ZE_RESULT_ERROR_INVALID_FUNCTION_NAME)
		return answer_of(next, module, LZ_TAG_NO_FUNCTION, result);
	return result;
}

ze_result_t lz_module_info_get_global(struct lz_next *next, ze_module_handle_t module, const char *name,
				size_t *ret_size, void **ret)
{
	ze_result_t result = LZ_NEXT_FIND(next, module_get_global)(module, name, ret_size, ret);

	if (result == ZE_RESULT_ERROR_INVALID_GLOBAL_NAME)
		return answer_of(next, module, LZ_TAG_NO_GLOBAL, result);
	return result;
}

/* Refused: it lives on, and goes on answering. */
static void end(struct replayed **map, struct replayed *replayed, ze_result_t result)
{
	if (replayed && result != ZE_RESULT_SUCCESS)
		put_in(map, replayed);
	else
		replayed_free(replayed);
}

ze_result_t lz_module_info_destroy_module(struct lz_next *next, ze_module_handle_t handle)
{
	/* Before the driver may give the handle to somebody else. */
	struct replayed *module = take_out(&modules, handle);
	ze_result_t result = LZ_NEXT_FIND(next, module_destroy)(handle);

	end(&modules, module, result);
	return result;
}

ze_result_t lz_module_info_get_log(struct lz_next *next, ze_module_build_log_handle_t handle,
			       size_t *size, char *text)
{
	struct cc_entry *entry = NULL;
	struct replayed *replayed;
	struct cmn_view log;
	ze_result_t result = ZE_RESULT_SUCCESS;

	lz_maps_lock();
	HASH_FIND_PTR(logs, &handle, replayed);
	if (replayed)
		entry = cc_entry_ref(replayed->entry);
	lz_maps_unlock();
	if (!entry || !size || !cc_entry_find(entry, LZ_TAG_LOG, 0, &log)) {
		result = LZ_NEXT_FIND(next, log_get_string)(handle, size, text);
	} else if (text && *size < log.len) {
		result = ZE_RESULT_ERROR_INVALID_SIZE;	/* as NEO: nothing is written */
	} else {
		if (text)
			memcpy(text, log.data, log.len);
		*size = log.len;
	}
	cc_entry_unref(entry);
	return result;
}

ze_result_t lz_module_info_destroy_log(struct lz_next *next, ze_module_build_log_handle_t handle)
{
	struct replayed *log = take_out(&logs, handle);
	ze_result_t result = LZ_NEXT_FIND(next, log_destroy)(handle);

	end(&logs, log, result);
	return result;
}

/* Once, and only if the driver has described nothing since. */
static void tell(const char **ret)
{
	last.to_be_told = false;
	if (strncmp(*ret, last.drivers, MAX_TEXT - 1) == 0)
		*ret = last.text;
}

ze_result_t lz_module_info_get_last_error(struct lz_next *next, ze_driver_handle_t driver,
				    const char **ret)
{
	ze_result_t result = LZ_NEXT_FIND(next, driver_get_last_error)(driver, ret);

	if (last.to_be_told && result == ZE_RESULT_SUCCESS && ret && *ret &&
	    (!last.driver || last.driver == driver))
		tell(ret);
	return result;
}

ze_result_t lz_module_info_get_default_error(struct lz_next *next, const char **ret)
{
	ze_result_t result = LZ_NEXT_FIND(next, default_get_last_error)(ret);

	/* Which driver is the default one nobody says; but each has its text at one place. */
	if (last.to_be_told && result == ZE_RESULT_SUCCESS && ret && *ret &&
	    (!last.driver || text_of(last.next, last.driver) == *ret))
		tell(ret);
	return result;
}
