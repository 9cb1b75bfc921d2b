/* SPDX-License-Identifier: MIT */
/* client: main, and the words of all programs. */
#include "tests/level_zero/client.h"

#include <sys/mman.h>

#include "tests/level_zero/kernels/kernels.h"
#include "tests/support/named_il.h"

#define MAX_HANDLES 16

struct client client;

void (*client_at_end)(void);

void client_give_up(const char *what, unsigned int status)
{
	printf("%s %#x\n", what, status);
	exit(2);
}

uint8_t *client_read(const char *path, size_t *ret_size)
{
	static uint8_t room[64 << 20];
	FILE *file = fopen(path, "rb");

	if (!file)
		client_give_up(path, 0);
	*ret_size = fread(room, 1, sizeof(room), file);
	(void)fclose(file);	/* only read */
	return room;
}

void client_write(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		client_give_up(path, 0);
}

void client_open_loader(const char *path)
{
#ifdef CLIENT_LINKED
	(void)path;
	client.loader = RTLD_DEFAULT;
#else
	client.loader = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!client.loader)
		client_give_up(dlerror(), 0);
#endif
}

WORD(loader)
{
	client_open_loader(value);
}

/* The layer stays. */
WORD(close)
{
	void *driver = value ? dlopen(value, RTLD_NOW | RTLD_NOLOAD) : NULL;
	Dl_info lay[2] = { { 0 } };

	if (value && (!dladdr((void *)CALL(zeInit), &lay[0]) ||
		       !dladdr(dlsym(driver, "zeGetModuleProcAddrTable"), &lay[1]) || dlclose(driver)))
		client_give_up("close", 1);
	if (dlclose(client.loader) || dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD))
		client_give_up("close", 0);
	client.loader = NULL;
	for (int i = 0; i < 2 && value; i++) {
		if (mmap(lay[i].dli_fbase, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
		    lay[i].dli_fbase)
			client_give_up("place", (unsigned int)i);
	}
}

WORD(pause)
{
	(void)value;
	(void)usleep(250000);
}

static void check(const char *what, ze_result_t status)
{
	if (status)
		client_give_up(what, status);
}

void client_find_driver(const char *text)
{
	unsigned long place = strtoul(text, NULL, 10);
	ze_driver_handle_t drivers[MAX_HANDLES];
	uint32_t count = 0, one = 1;

	if (!client.loader)
		client_open_loader("libze_loader.so.1");
	check("init", CALL(zeInit)(0));
	check("drivers", CALL(zeDriverGet)(&count, NULL));
	if (place >= count || count > MAX_HANDLES)
		client_give_up("driver", count);
	check("driver", CALL(zeDriverGet)(&count, drivers));
	client.driver = drivers[place];
	check("device", CALL(zeDeviceGet)(client.driver, &one, &client.device));
}

WORD(found)
{
	client_find_driver(value);
}

WORD(driver)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };

	client_find_driver(value);
	check("context", CALL(zeContextCreate)(client.driver, &desc, &client.context));
}

static ze_result_t get_devices(bool are_parts, uint32_t *count, ze_device_handle_t *devices)
{
	return are_parts ? CALL(zeDeviceGetSubDevices)(client.device, count, devices) :
			   CALL(zeDeviceGet)(client.driver, count, devices);
}

WORD(device)
{
	ze_device_handle_t devices[MAX_HANDLES];

	if (!*value) {
		client.device = NULL;
		return;
	}
	for (bool are_parts = false;; are_parts = true) {
		unsigned long place = strtoul(value, &value, 10);
		uint32_t count = 0;

		/* Never asked for more than there are: NEO reads behind its list. */
		check("device", get_devices(are_parts, &count, NULL));
		if (place >= count || count > MAX_HANDLES)
			client_give_up("device", count);
		check("device", get_devices(are_parts, &count, devices));
		client.device = devices[place];
		if (*value++ != '.')
			return;
	}
}

WORD(il)
{
	const struct kernel_il *il = kernel_il(value, strlen(value));

	if (!il)
		client_give_up(value, 0);
	client.input.il = il->words;
	client.input.size = il->size;
}

/* named=NAME: of the input's source, whose name it has from now on. */
WORD(named)
{
	static uint32_t *named;
	uint32_t *before = named;

	named = named_il((const uint32_t *)(const void *)client.input.il, client.input.size, value,
			 &client.input.size);
	client.input.il = (const uint8_t *)named;
	free(before);
}

WORD(flags)
{
	client.input.flags = value;
}

WORD(constant)
{
	struct client_input *input = &client.input;
	uint32_t place = input->constant_count++;
	char *end;

	input->ids[place] = (uint32_t)strtoul(value, &end, 0);
	input->sizes[place] = (uint32_t)strtoul(end + 1, &end, 0);
	input->values[place] = strtoull(end + 1, NULL, 0);
}

WORD(constants)
{
	client.input.constant_count = 0;
}

WORD(setenv)
{
	char *equals = strchr(value, '=');

	if (!equals)
		client_give_up(value, 0);
	*equals = '\0';
	(void)setenv(value, equals + 1, 1);
}

ze_module_constants_t client_constants(const struct client_input *input,
				       const void *values[CLIENT_MAX_CONSTANTS])
{
	for (uint32_t i = 0; i < input->constant_count; i++)
		values[i] = &input->values[i];
	return (ze_module_constants_t){ input->constant_count, input->ids, values };
}

void client_print_kernels(ze_module_handle_t module)
{
	const char *names[64];
	uint32_t count = 0;

	if (CALL(zeModuleGetKernelNames)(module, &count, NULL) || count > 64 ||
	    CALL(zeModuleGetKernelNames)(module, &count, names))
		count = 0;
	for (uint32_t i = 0; i < count; i++)
		printf(" %s", names[i]);
}

static pthread_barrier_t start;
static void (*act_at_once)(void);

static void *act(void *unused)
{
	(void)unused;
	(void)pthread_barrier_wait(&start);
	act_at_once();
	return NULL;
}

void client_in_threads(const char *text, void (*act_of_each)(void))
{
	unsigned int count = (unsigned int)strtoul(text, NULL, 10);
	pthread_t threads[CLIENT_MAX_THREADS];

	act_at_once = act_of_each;
	(void)pthread_barrier_init(&start, NULL, count);
	for (unsigned int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, act, NULL))
			client_give_up("thread", i);
	}
	for (unsigned int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!words_run_argument(argv[i]))
			client_give_up(argv[i], 0);
		(void)fflush(stdout);
	}
	if (client_at_end)
		client_at_end();
	return 0;
}
