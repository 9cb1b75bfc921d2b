/* SPDX-License-Identifier: MIT */
/* stub_program: the stub driver's programs: creation, builds, links. */
#include <dlfcn.h>

#include "tests/opencl/stub_driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void stub_program_lock(void)
{
	(void)pthread_mutex_lock(&lock);	/* a default mutex does not fail */
}

void stub_program_unlock(void)
{
	(void)pthread_mutex_unlock(&lock);	/* as above */
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();	/* a test driver has nothing better to do */
	return copy;
}

static void build_clear(struct stub_build *build)
{
	free(build->options);
	free(build->log);
	free(build->image);
	build->options = build->log = build->image = NULL;
	build->type = CL_PROGRAM_BINARY_TYPE_NONE;
}

static cl_program program_new(cl_context context, cl_uint count, const cl_device_id *devices)
{
	cl_program program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	program->dispatch = &stub_dispatch;
	atomic_init(&program->references, 1);
	program->context = context;
	(void)context->dispatch->clRetainContext(context);	/* cannot fail here */
	program->device_count = count;
	for (cl_uint i = 0; i < count; i++) {
		program->devices[i] = devices[i];
		atomic_init(&program->builds[i].status, CL_BUILD_NONE);
	}
	return program;
}

cl_program CL_API_CALL stub_clCreateProgramWithSource(cl_context context, cl_uint count,
						      const char **strings, const size_t *lengths, cl_int *ret_error)
{
	cl_program program = NULL;
	cl_int error = !context ? CL_INVALID_CONTEXT : !count || !strings ? CL_INVALID_VALUE
									  : CL_SUCCESS;
	size_t all = 0;

	for (cl_uint i = 0; !error && i < count; i++) {
		if (!strings[i])
			error = CL_INVALID_VALUE;
		else
			all += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	}
	if (!error && !(program = program_new(context, context->device_count, context->devices)))
		error = CL_OUT_OF_HOST_MEMORY;
	if (program) {
		program->source = calloc(1, all + 1);
		if (!program->source)
			abort();
		all = 0;
		for (cl_uint i = 0; i < count; i++) {
			size_t len = lengths && lengths[i] ? strnlen(strings[i], lengths[i])
							   : strlen(strings[i]);

			memcpy(program->source + all, strings[i], len);
			all += len;
		}
		stub_event("create-source");
	}
	if (ret_error)
		*ret_error = error;
	return program;
}

/* The text that is compiled for IL: a kernel, and a comment for each thing that it is made of. */
static void write_source(cl_program program)
{
	size_t size = strlen(program->il) + 1;

	for (int i = 0; i < STUB_MAX_CONSTANTS && program->constants[i]; i++)
		size += strlen(program->constants[i]);
	free(program->source);
	program->source = malloc(size);
	if (!program->source)
		abort();
	(void)strcpy(program->source, program->il);
	for (int i = 0; i < STUB_MAX_CONSTANTS && program->constants[i]; i++)
		(void)strcat(program->source, program->constants[i]);
}

cl_program CL_API_CALL stub_clCreateProgramWithIL(cl_context context, const void *il, size_t len, cl_int *ret_error)
{
	cl_program program = context && il && len ?
		program_new(context, context->device_count, context->devices) : NULL;
	unsigned int sum = 0;

	for (size_t i = 0; program && i < len; i++)
		sum = 31 * sum + ((const unsigned char *)il)[i];
	if (program) {
		if (asprintf(&program->il, "kernel void value(global int *out) {}\n// %zu %08x\n", len,
			     sum) < 0)
			abort();
		write_source(program);
		stub_event("create-source");
	}
	if (ret_error)
		*ret_error = program ? CL_SUCCESS : CL_INVALID_VALUE;
	return program;
}

cl_int CL_API_CALL stub_clSetProgramSpecializationConstant(cl_program program, cl_uint id,
							   size_t size, const void *value)
{
	char start[32], line[256];
	int i = 0, len;

	if (!program || !program->il)
		return CL_INVALID_PROGRAM;
	if (!value || size > 64)
		return CL_INVALID_VALUE;
	len = snprintf(line, sizeof(line), "// constant %u %zu ", id, size);
	(void)snprintf(start, sizeof(start), "// constant %u ", id);
	for (size_t at = 0; at < size; at++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, "%02x", ((const unsigned char *)value)[at]);
	(void)snprintf(line + len, sizeof(line) - (size_t)len, "\n");
	while (i < STUB_MAX_CONSTANTS && program->constants[i] &&
	       strncmp(program->constants[i], start, strlen(start)) != 0)
		i++;
	if (i == STUB_MAX_CONSTANTS)
		return CL_OUT_OF_RESOURCES;
	free(program->constants[i]);
	program->constants[i] = copy_text(line);
	write_source(program);
	return CL_SUCCESS;
}

/* STUB_PER_DEVICE: what the image and the log of a device end with; its length. */
static size_t mark_of(cl_device_id device, char ret[32])
{
	ret[0] = '\0';
	return stub_is_set("STUB_PER_DEVICE") ?
	       (size_t)snprintf(ret, 32, "for device %u%.*s\n", device->index, (int)device->index, "........") : 0;
}

static void add_mark(char **text, cl_device_id device)
{
	char mark[32], *marked;

	if (!*text || !mark_of(device, mark))
		return;
	if (asprintf(&marked, "%s%s", *text, mark) < 0)
		abort();	/* a test driver has nothing better to do */
	free(*text);
	*text = marked;
}

static cl_int check_binary(cl_device_id device, const unsigned char *binary, size_t len)
{
	size_t magic = strlen(STUB_BINARY_MAGIC), mark_len;
	char mark[32];

	mark_len = mark_of(device, mark);
	return binary && len > magic + mark_len && !memcmp(binary, STUB_BINARY_MAGIC, magic) &&
	       !memcmp(binary + len - mark_len, mark, mark_len) ? CL_SUCCESS : CL_INVALID_BINARY;
}

static cl_int refusal(void)
{
	return stub_says("STUB_REFUSE_BINARY", "memory") ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_BINARY;
}

/* STUB_LOADS_ABORT: a moment in which no other thread may load. */
static void load_alone(void)
{
	static atomic_int loading;

	stub_wait_gate("STUB_LOAD_GATE");
	if (!stub_is_set("STUB_LOADS_ABORT"))
		return;
	if (atomic_fetch_add(&loading, 1))
		abort();
	(void)usleep(3000);
	atomic_fetch_sub(&loading, 1);
}

/* As text: what an image has zeros for, as the end of a name within it, becomes spaces. */
static char *copy_image(const unsigned char *bytes, size_t len)
{
	char *text = malloc(len + 1);

	for (size_t i = 0; text && i < len; i++)
		text[i] = bytes[i] ? (char)bytes[i] : ' ';
	if (text)
		text[len] = '\0';
	return text;
}

cl_program CL_API_CALL stub_clCreateProgramWithBinary(cl_context context, cl_uint device_count,
						      const cl_device_id *devices, const size_t *lengths,
						      const unsigned char **binaries, cl_int *status, cl_int *ret_error)
{
	size_t magic = strlen(STUB_BINARY_MAGIC);
	cl_program program = NULL;
	cl_int error = CL_SUCCESS, one;
	char mode[32];

	(void)stub_setting("STUB_STATUS_ONLY", mode, sizeof(mode));
	load_alone();
	stub_event("create-binary");
	if (!context || !device_count || device_count > STUB_MAX_DEVICES || !devices || !lengths || !binaries)
		error = CL_INVALID_VALUE;
	for (cl_uint i = 0; !error && i < device_count; i++) {
		one = stub_is_set("STUB_REFUSE_BINARY") ? refusal() : check_binary(devices[i], binaries[i], lengths[i]);
		if (status)
			status[i] = !strcmp(mode, "status") ? CL_INVALID_BINARY : one;
		if (one || !strcmp(mode, "error"))
			error = one ? one : CL_INVALID_BINARY;
	}
	if (!error && !(program = program_new(context, device_count, devices)))
		error = CL_OUT_OF_HOST_MEMORY;
	if (program)
		program->loaded = true;
	if (program && stub_setting("STUB_WHOLE_CONTEXT", mode, sizeof(mode))) {
		program->device_count = context->device_count;
		memcpy(program->devices, context->devices, sizeof(program->devices));
		program->tells_loaded_only = !strcmp(mode, "places");
	}
	for (cl_uint i = 0; program && i < device_count; i++) {
		cl_uint place = 0;

		while (program->devices[place] != devices[i])
			place++;
		program->builds[place].image = copy_image(binaries[i] + magic, lengths[i] - magic);
		if (!program->builds[place].image)
			abort();
		if (stub_is_set("STUB_LOADS_BUILT")) {
			program->builds[place].type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
			atomic_store(&program->builds[place].status, CL_BUILD_SUCCESS);
		}
	}
	if (ret_error)
		*ret_error = error;
	return program;
}

cl_int CL_API_CALL stub_clRetainProgram(cl_program program)
{
	if (!program)
		return CL_INVALID_PROGRAM;
	atomic_fetch_add(&program->references, 1);
	return CL_SUCCESS;
}

cl_int CL_API_CALL stub_clReleaseProgram(cl_program program)
{
	static atomic_flag refused = ATOMIC_FLAG_INIT;

	if (!program)
		return CL_INVALID_PROGRAM;
	if (stub_is_set("STUB_REFUSE_RELEASE") && atomic_load(&program->references) == 3 &&
	    !atomic_flag_test_and_set(&refused))
		return CL_OUT_OF_RESOURCES;
	if (atomic_fetch_sub(&program->references, 1) != 1)
		return CL_SUCCESS;
	stub_event("free-program");
	if (program->source)
		stub_event("free-source");
	for (cl_uint i = 0; i < program->device_count; i++)
		build_clear(&program->builds[i]);
	(void)stub_dispatch.clReleaseContext(program->context);	/* it was retained */
	for (int i = 0; i < STUB_MAX_CONSTANTS; i++)
		free(program->constants[i]);
	free(program->il);
	free(program->source);
	free(program);
	return CL_SUCCESS;
}

static bool in_list(cl_device_id device, cl_uint count, const cl_device_id *devices)
{
	for (cl_uint i = 0; i < count; i++) {
		if (devices[i] == device)
			return true;
	}
	return !count;
}

static cl_int failure(void)
{
	return stub_number("STUB_FAIL_ERROR", CL_BUILD_PROGRAM_FAILURE);
}

static cl_int build_source(cl_program program, cl_uint i, const char *options, cl_program_binary_type type)
{
	struct stub_build *build = &program->builds[i];
	char *log = NULL, *image = stub_compile(program->source, options, &log);

	add_mark(&image, program->devices[i]);
	add_mark(&log, program->devices[i]);
	stub_program_lock();
	build_clear(build);
	build->options = copy_text(options);
	build->log = log;
	build->image = !image && stub_is_set("STUB_LEFT_BINARY") ? strdup("half of it") : image;
	build->type = image ? type : CL_PROGRAM_BINARY_TYPE_NONE;
	atomic_store(&build->status, image ? CL_BUILD_SUCCESS : CL_BUILD_ERROR);
	stub_program_unlock();
	return image ? CL_SUCCESS : failure();
}

static cl_int build_binary(struct stub_build *build, const char *options)
{
	size_t len = build->image ? strcspn(build->image, "\n") : 0;

	load_alone();
	if (stub_is_set("STUB_REFUSE_BINARY_BUILD") || (stub_is_set("STUB_BINARY_WANTS_OPTIONS") &&
	     (strlen(options) != len || strncmp(options, build->image, len) != 0))) {
		atomic_store(&build->status, CL_BUILD_ERROR);
		return CL_BUILD_PROGRAM_FAILURE;
	}
	stub_program_lock();
	build->type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
	atomic_store(&build->status, CL_BUILD_SUCCESS);
	stub_program_unlock();
	return CL_SUCCESS;
}

struct work {
	cl_program program;
	cl_uint count;
	cl_device_id devices[STUB_MAX_DEVICES];
	char *options;
	cl_program_binary_type type;
	void (CL_CALLBACK *notify)(cl_program, void *);
	void *data;
};

/* As drivers do that have one before they compile. */
static void leave_binary(cl_program program, cl_uint i)
{
	stub_program_lock();
	if (!program->builds[i].image) {
		program->builds[i].image = strdup("intermediate ");
		add_mark(&program->builds[i].image, program->devices[i]);
	}
	stub_program_unlock();
}

static cl_int work_build(struct work *work)
{
	static atomic_int builds;
	cl_program program = work->program;
	cl_int error = CL_SUCCESS, one;

	stub_event(!program->source ? "build-binary" :
		   work->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE ? "build-source" : "compile");
	if (stub_is_among_first("STUB_NO_MEMORY", &builds))
		return CL_OUT_OF_HOST_MEMORY;
	if (program->source) {
		stub_wait_gate("STUB_GATE");
		stub_set_variable("STUB_SETENV");
	}
	for (cl_uint i = 0; i < program->device_count; i++) {
		if (!in_list(program->devices[i], work->count, work->devices)) {
			if (stub_is_set("STUB_OTHERS_FAIL") && !program->builds[i].image)
				atomic_store(&program->builds[i].status, CL_BUILD_ERROR);
			if (stub_is_set("STUB_OTHERS_HAVE_BINARY"))
				leave_binary(program, i);
			continue;
		}
		one = program->source ? build_source(program, i, work->options, work->type) :
					build_binary(&program->builds[i], work->options);
		error = one ? one : error;
	}
	stub_wait_note_build(program);
	return error;
}

static void work_end(void *data)
{
	struct work *work = data;

	if (work->notify)
		work->notify(work->program, work->data);
	(void)stub_clReleaseProgram(work->program);	/* retained by work_start */
	free(work->options);
	free(work);
}

static cl_int work_run(struct work *work)
{
	cl_int error = work_build(work);

	work_end(work);
	return error;
}

static void *work_thread(void *work)
{
	(void)work_run(work);	/* the callback asks for the status */
	return NULL;
}

static cl_int work_start(cl_program program, cl_uint count, const cl_device_id *devices,
			 const char *options, cl_program_binary_type type,
			 void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	struct work *work;
	pthread_t thread;
	cl_int error;

	if (!program)
		return CL_INVALID_PROGRAM;
	if (!count != !devices || count > STUB_MAX_DEVICES || (!notify && data))
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < count; i++) {
		if (!in_list(devices[i], program->device_count, program->devices))
			return CL_INVALID_DEVICE;
	}
	if (atomic_load(&program->kernels) && !stub_is_set("STUB_REBUILD"))
		return CL_INVALID_OPERATION;
	work = calloc(1, sizeof(*work));
	if (!work)
		return CL_OUT_OF_HOST_MEMORY;
	work->program = program;
	work->count = count;
	if (count)
		memcpy(work->devices, devices, count * sizeof(*devices));
	work->options = copy_text(options ? options : "");
	work->type = type;
	work->notify = notify;
	work->data = data;
	(void)stub_clRetainProgram(program);	/* cannot fail here */
	for (cl_uint i = 0; i < program->device_count; i++) {
		if (in_list(program->devices[i], count, devices))
			atomic_store(&program->builds[i].status, CL_BUILD_IN_PROGRESS);
	}
	if (notify && stub_wait_is_set()) {
		error = work_build(work);
		stub_wait_start(program, work_end, work);
		return error;
	}
	if (notify && stub_is_set("STUB_ASYNC")) {
		if (pthread_create(&thread, NULL, work_thread, work))
			abort();
		(void)pthread_detach(thread);	/* it was just made */
		return CL_SUCCESS;
	}
	return work_run(work);
}

cl_int CL_API_CALL stub_clBuildProgram(cl_program program, cl_uint device_count,
				       const cl_device_id *devices, const char *options,
				       void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	return work_start(program, device_count, devices, options, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, notify, data);
}

cl_int CL_API_CALL stub_clCompileProgram(cl_program program, cl_uint device_count,
					 const cl_device_id *devices, const char *options,
					 cl_uint header_count, const cl_program *headers, const char **names,
					 void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	cl_int error;

	if ((header_count == 0) != (headers == NULL) || (header_count == 0) != (names == NULL))
		return CL_INVALID_VALUE;
	if (program && !program->source)
		return CL_INVALID_OPERATION;
	/* Of a compilation in another thread no test needs them. */
	stub_compile_headers(header_count, names, headers);
	error = work_start(program, device_count, devices, options,
			   CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, notify, data);
	stub_compile_headers(0, NULL, NULL);
	return error == CL_BUILD_PROGRAM_FAILURE ? CL_COMPILE_PROGRAM_FAILURE : error;
}

/* What a program brings to a link: compiled, or loaded from a binary; NULL: nothing. */
static const char *input_of_link(cl_program program, cl_device_id device)
{
	struct stub_build *build = stub_program_build(program, device);

	if (build && build->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE && stub_is_set("STUB_REFUSE_EXECUTABLES"))
		return NULL;
	for (cl_uint i = 0; !build && !program->source && i < program->device_count; i++) {
		if (program->devices[i] == device)
			build = &program->builds[i];
	}
	return build ? build->image : NULL;
}

/* The inputs' images one after another; false: one of them is not compiled. */
static bool link_images(cl_device_id device, cl_uint count, const cl_program *programs,
			const char *options, struct stub_build *ret)
{
	size_t len = 1;
	char *image;

	for (cl_uint i = 0; i < count; i++) {
		const char *input = input_of_link(programs[i], device);

		if (!input || (programs[i]->loaded && stub_is_set("STUB_REFUSE_LOADED_LINK")))
			return false;
		len += strlen(input);
	}
	image = calloc(1, len);
	if (!image)
		abort();
	for (cl_uint i = 0; i < count; i++)
		strcat(image, input_of_link(programs[i], device));
	ret->image = image;
	if (strstr(image, "unresolved")) {
		atomic_store(&ret->status, CL_BUILD_ERROR);
		return true;
	}
	ret->log = copy_text("stub: warning: linked\n");
	ret->type = options && strstr(options, "-create-library") ? CL_PROGRAM_BINARY_TYPE_LIBRARY :
								     CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
	atomic_store(&ret->status, CL_BUILD_SUCCESS);
	return true;
}

cl_program CL_API_CALL stub_clLinkProgram(cl_context context, cl_uint device_count,
					  const cl_device_id *devices, const char *options,
					  cl_uint count, const cl_program *programs,
					  void (CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *ret_error)
{
	static atomic_int links;
	FILE *cached;
	char late[4096];
	cl_program program = NULL;
	cl_int error = !context ? CL_INVALID_CONTEXT :
		       !count || !programs || (device_count == 0) != (devices == NULL) ||
		       (!notify && data) ? CL_INVALID_VALUE : CL_SUCCESS;

	stub_wait_gate("STUB_LINK_GATE");
	stub_set_variable("STUB_LINK_SETENV");
	if (!error && stub_is_among_first("STUB_LINK_NO_MEMORY", &links))
		error = CL_OUT_OF_HOST_MEMORY;
	if (!error && !(program = program_new(context, device_count ? device_count : context->device_count,
					      device_count ? devices : context->devices)))
		error = CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; program && !error && i < program->device_count; i++) {
		program->builds[i].options = copy_text(options ? options : "");
		if (!link_images(program->devices[i], count, programs, options, &program->builds[i]))
			error = CL_INVALID_OPERATION;
	}
	if (program && error) {
		(void)stub_clReleaseProgram(program);	/* ours alone */
		program = NULL;
	}
	/* OpenCL 3.0, clLinkProgram: there is a program also where the link fails. */
	if (program && atomic_load(&program->builds[0].status) == CL_BUILD_ERROR)
		error = CL_LINK_PROGRAM_FAILURE;
	(void)!access("./stub_linker.h", R_OK);	/* as those of real ones look for libraries */
	if (stub_is_set("STUB_LINK_DATE")) {
		time_t now = time(NULL);
		struct tm date;

		(void)localtime_r(&now, &date);
	}
	if (stub_setting("STUB_LINK_CACHED", late, sizeof(late)) && (cached = fopen(late, "re")) != NULL)
		(void)fclose(cached);	/* only read */
	if (stub_setting("STUB_LATE_LINKER", late, sizeof(late)) && !dlopen(late, RTLD_NOW | RTLD_LOCAL))
		abort();
	stub_event("link");
	if (program && notify)
		notify(program, data);
	if (ret_error)
		*ret_error = error;
	return program;
}

struct stub_build *stub_program_build(cl_program program, cl_device_id device)
{
	for (cl_uint i = 0; i < program->device_count; i++) {
		struct stub_build *build = &program->builds[i];

		if ((!device || program->devices[i] == device) && atomic_load(&build->status) == CL_BUILD_SUCCESS)
			return build;
	}
	return NULL;
}
