/* SPDX-License-Identifier: MIT */
/*
 * interposer: decides which calls are the product's and which of them fails.
 * It is preloaded, so that libc's functions are looked up here first; a call
 * is the product's if its return address lies in one of FAULT_OBJECTS.
 */
#include "tests/fault/interposer.h"

#include <dlfcn.h>
#include <ftw.h>
#include <link.h>
#include <sys/mman.h>

#include "tests/support/posix.h"

#define EXPORTED __attribute__((visibility("default")))
#define TWO_YEARS_S (2L * 366 * 86400)

static _Atomic(struct fault_control *) current;
static char objects[512];
static atomic_long clock_shift;

static const char *const names[] = {
#define FUNCTION(name, class) [FAULT_##name] = #name,
#include "tests/fault/functions.def"
#undef FUNCTION
};
static const uint8_t classes[] = {
#define FUNCTION(name, class) [FAULT_##name] = FAULT_##class,
#include "tests/fault/functions.def"
#undef FUNCTION
};

void *interposer_real(enum fault_function function)
{
	static _Atomic(void *) found[FAULT_FUNCTION_COUNT];
	void *real = atomic_load(&found[function]);

	if (!real) {
		real = dlsym(RTLD_NEXT, names[function]);
		if (!real)
			abort();
		atomic_store(&found[function], real);
	}
	return real;
}

EXPORTED void fault_use(struct fault_control *control)
{
	atomic_store(&clock_shift, 0);
	atomic_store(&current, control);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULT_CONTROL"), *list = getenv("FAULT_OBJECTS");
	void *block;
	int fd;

	if (!path || !list)
		return;
	(void)snprintf(objects, sizeof(objects), "%s", list);
	fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;	/* a child that may not see it */
	block = mmap(NULL, sizeof(struct fault_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)REAL(close)(fd);	/* it stays mapped */
	if (block != MAP_FAILED)
		fault_use(block);
}

/* NULL: not an object of the product's. */
static const struct link_map *object_of(const void *address)
{
	struct dl_find_object info;
	const char *name, *end;

	if (_dl_find_object((void *)address, &info) != 0)
		return NULL;
	name = strrchr(info.dlfo_link_map->l_name, '/');
	for (const char *one = name ? objects : ""; *one; one = *end ? end + 1 : end) {
		end = strchrnul(one, ',');
		if (strncmp(name + 1, one, (size_t)(end - one)) == 0)
			return info.dlfo_link_map;
	}
	return NULL;
}

/* The block, if the caller is the product and is looked at. */
static struct fault_control *control_for(const void *caller, const struct link_map **ret_object)
{
	struct fault_control *control = atomic_load(&current);

	if (!control || !atomic_load_explicit(&control->armed, memory_order_relaxed))
		return NULL;
	*ret_object = object_of(caller);
	return *ret_object ? control : NULL;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	(void)remove(path);	/* another thread may be quicker */
	return 0;
}

/* What happens beside the call; 0: it is to be made. */
static int act(const struct fault_control *control)
{
	switch (control->task.kind) {
	case FAULT_REMOVE:
		(void)nftw(control->tree, remove_one, 16, FTW_PHYS | FTW_DEPTH);
		return 0;
	case FAULT_BACK:
		atomic_store(&clock_shift, -TWO_YEARS_S);
		return 0;
	case FAULT_FORWARD:
		atomic_store(&clock_shift, TWO_YEARS_S);
		return 0;
	default:
		return control->task.kind;
	}
}

/* Whether the call is the task's; it is counted. */
static bool is_point(struct fault_control *control, struct fault_call call)
{
	const struct fault_task *task = &control->task;

	return fault_alike(call, task->call) &&
	       atomic_fetch_add(&control->alike, 1) + 1 == task->turn;
}

static bool same_family(enum fault_function a, enum fault_function b)
{
	return a == b || (classes[a] == FAULT_MEMORY && classes[b] == FAULT_MEMORY);
}

int interposer_next(enum fault_function function, unsigned int flags, const void *caller)
{
	const struct link_map *object;
	struct fault_control *control = control_for(caller, &object);
	int error = errno, kind = 0;
	unsigned int number, fired;
	struct fault_call call;

	if (!control || !(classes[function] & control->classes))
		return 0;
	call = (struct fault_call){ .function = (uint8_t)function, .flags = (uint8_t)flags,
				    .site = (uint32_t)((uintptr_t)caller - object->l_addr) };
	number = atomic_fetch_add(&control->count, 1);
	if (number < FAULT_MAX_POINTS)
		control->calls[number] = call;
	fired = atomic_load(&control->fired);
	if (is_point(control, call)) {
		atomic_store(&control->fired, function);
		kind = act(control);
	} else if (fired && control->task.sticky &&
		   same_family(function, (enum fault_function)fired)) {
		kind = control->task.kind;
	}
	errno = error;
	return kind;
}

int interposer_note_file(int fd, const void *caller)
{
	const struct link_map *object;
	struct fault_control *control = fd < 0 ? NULL : control_for(caller, &object);

	if (control)
		atomic_fetch_add(&control->files, 1);
	return fd;
}

void interposer_drop_file(const void *caller)
{
	const struct link_map *object;
	struct fault_control *control = control_for(caller, &object);

	if (control)
		atomic_fetch_sub(&control->files, 1);
}

void *interposer_note_block(void *block, const void *caller)
{
	const struct link_map *object;
	struct fault_control *control = block ? control_for(caller, &object) : NULL;

	if (control)
		atomic_fetch_add(&control->blocks, 1);
	return block;
}

void interposer_drop_block(const void *caller)
{
	const struct link_map *object;
	struct fault_control *control = control_for(caller, &object);

	if (control)
		atomic_fetch_sub(&control->blocks, 1);
}

long interposer_clock_shift(void)
{
	return atomic_load(&clock_shift);
}
