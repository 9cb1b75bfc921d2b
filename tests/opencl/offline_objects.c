/* SPDX-License-Identifier: MIT */
/* offline_objects: one kind of struct, functions that ask it, and a table of where they go. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "tests/opencl/offline_objects.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind { QUEUE = 1, BUFFER, EVENT };

struct object {
	cl_icd_dispatch *table;		/* a loader's, so it comes first */
	enum kind kind;
	cl_uint references;		/* guarded by lock */
	struct object *next;		/* of the live ones; guarded by lock */
	cl_context context;		/* retained */
	cl_device_id device;
	cl_ulong properties;		/* a queue's; a buffer's flags; an event's command */
	struct object *parent;		/* an event's queue, a part's buffer; retained */
	cl_int status;			/* an event's */
	cl_ulong ended;
	char *memory;			/* a buffer's */
	size_t offset, size;
	bool owns_memory;
	void *host;
};

typedef void CL_CALLBACK destroyed_fn(cl_mem memory, void *user);
typedef void CL_CALLBACK happened_fn(cl_event event, cl_int status, void *user);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *live;		/* guarded by lock */
static cl_ulong clock_ns = 1000;	/* guarded by lock */
static cl_icd_dispatch *table, drivers;

static struct object *find(const void *handle, enum kind kind)
{
	struct object *object = live;

	while (object && (object != handle || object->kind != kind))
		object = object->next;
	return object;
}

/* NULL: it is no live object of that kind. */
static struct object *of(const void *handle, enum kind kind)
{
	struct object *object;

	(void)pthread_mutex_lock(&lock);
	object = find(handle, kind);
	(void)pthread_mutex_unlock(&lock);
	return object;
}

static struct object *retain(struct object *object)
{
	(void)pthread_mutex_lock(&lock);
	object->references++;
	(void)pthread_mutex_unlock(&lock);
	return object;
}

static struct object *make(enum kind kind, cl_context context, struct object *parent)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object || drivers.clRetainContext(context) != CL_SUCCESS) {
		free(object);
		return NULL;
	}
	*object = (struct object){ .table = table, .kind = kind, .references = 1, .context = context };
	if (parent)
		object->parent = retain(parent);
	(void)pthread_mutex_lock(&lock);
	object->next = live;
	live = object;
	(void)pthread_mutex_unlock(&lock);
	return object;
}

static cl_int release(void *handle, enum kind kind, cl_int error)
{
	struct object **link = &live, *object, *parent;

	(void)pthread_mutex_lock(&lock);
	object = find(handle, kind);
	if (!object || --object->references) {
		(void)pthread_mutex_unlock(&lock);
		return object ? CL_SUCCESS : error;
	}
	while (*link != object)
		link = &(*link)->next;
	*link = object->next;
	(void)pthread_mutex_unlock(&lock);
	parent = object->parent;
	(void)drivers.clReleaseContext(object->context);
	if (object->owns_memory)
		free(object->memory);
	free(object);
	if (parent)
		(void)release(parent, parent->kind, CL_SUCCESS);
	return CL_SUCCESS;
}

static cl_int retain_handle(const void *handle, enum kind kind, cl_int error)
{
	struct object *object = of(handle, kind);

	return object ? (void)retain(object), CL_SUCCESS : error;
}

cl_int offline_answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size)
{
	if (ret && size < value_size)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

#define ANSWER(value) offline_answer(&(value), sizeof(value), size, ret, ret_size)

static void *fails(cl_int code, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = code;
	return NULL;
}

static void *made(struct object *object, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = object ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
	return object;
}

/* Queues. */

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
						 cl_command_queue_properties properties, cl_int *ret_error)
{
	struct object *queue;
	cl_uint devices;

	if (drivers.clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(devices), &devices, NULL) != CL_SUCCESS)
		return fails(CL_INVALID_CONTEXT, ret_error);
	queue = make(QUEUE, context, NULL);
	if (queue) {
		queue->device = device;
		queue->properties = properties;
	}
	return made(queue, ret_error);
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
						      const cl_queue_properties *properties, cl_int *ret_error)
{
	cl_command_queue_properties found = 0;

	for (; properties && properties[0]; properties += 2) {
		if (properties[0] == CL_QUEUE_PROPERTIES)
			found = properties[1];
	}
	return create_queue(context, device, found, ret_error);
}

static cl_int CL_API_CALL retain_queue(cl_command_queue queue)
{
	return retain_handle(queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
	return release(queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
}

static cl_int CL_API_CALL queue_info(cl_command_queue handle, cl_command_queue_info param, size_t size, void *ret,
				     size_t *ret_size)
{
	const struct object *queue = of(handle, QUEUE);

	if (!queue)
		return CL_INVALID_COMMAND_QUEUE;
	switch (param) {
	case CL_QUEUE_CONTEXT:
		return ANSWER(queue->context);
	case CL_QUEUE_DEVICE:
		return ANSWER(queue->device);
	case CL_QUEUE_REFERENCE_COUNT:
		return ANSWER(queue->references);
	case CL_QUEUE_PROPERTIES:
		return ANSWER(queue->properties);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
	return of(queue, QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

/* Events. */

static struct object *make_event(cl_context context, struct object *queue, cl_ulong command)
{
	struct object *event = make(EVENT, context, queue);

	if (event) {
		event->properties = command;
		(void)pthread_mutex_lock(&lock);
		event->ended = clock_ns += 1000;
		(void)pthread_mutex_unlock(&lock);
	}
	return event;
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *ret_error)
{
	struct object *event = make_event(context, NULL, CL_COMMAND_USER);

	if (event)
		event->status = CL_SUBMITTED;
	return made(event, ret_error);
}

static cl_int CL_API_CALL set_user_event(cl_event handle, cl_int status)
{
	struct object *event = of(handle, EVENT);

	if (!event)
		return CL_INVALID_EVENT;
	event->status = status;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL retain_event(cl_event event)
{
	return retain_handle(event, EVENT, CL_INVALID_EVENT);
}

static cl_int CL_API_CALL release_event(cl_event event)
{
	return release(event, EVENT, CL_INVALID_EVENT);
}

static cl_int CL_API_CALL event_info(cl_event handle, cl_event_info param, size_t size, void *ret, size_t *ret_size)
{
	const struct object *event = of(handle, EVENT);
	cl_command_type command;

	if (!event)
		return CL_INVALID_EVENT;
	switch (param) {
	case CL_EVENT_COMMAND_QUEUE:
		return ANSWER(event->parent);
	case CL_EVENT_CONTEXT:
		return ANSWER(event->context);
	case CL_EVENT_COMMAND_TYPE:
		command = (cl_command_type)event->properties;
		return ANSWER(command);
	case CL_EVENT_COMMAND_EXECUTION_STATUS:
		return ANSWER(event->status);
	case CL_EVENT_REFERENCE_COUNT:
		return ANSWER(event->references);
	default:
		return CL_INVALID_VALUE;
	}
}

/* Each command takes as long as the next. */
static cl_int CL_API_CALL event_times(cl_event handle, cl_profiling_info param, size_t size, void *ret,
				      size_t *ret_size)
{
	const struct object *event = of(handle, EVENT);
	cl_ulong when;

	if (!event)
		return CL_INVALID_EVENT;
	when = event->ended - (param == CL_PROFILING_COMMAND_END || param == CL_PROFILING_COMMAND_COMPLETE ? 0 : 500);
	return ANSWER(when);
}

static cl_int CL_API_CALL on_event(cl_event handle, cl_int status, happened_fn *happened, void *user)
{
	if (!of(handle, EVENT))
		return CL_INVALID_EVENT;
	happened(handle, status, user);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_for(cl_uint count, const cl_event *events)
{
	(void)events;
	return count ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* Buffers. */

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
					cl_int *ret_error)
{
	struct object *buffer;

	if (!size)
		return fails(CL_INVALID_BUFFER_SIZE, ret_error);
	if (!(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != !host)
		return fails(CL_INVALID_HOST_PTR, ret_error);
	buffer = make(BUFFER, context, NULL);
	if (!buffer)
		return fails(CL_INVALID_CONTEXT, ret_error);
	buffer->properties = flags;
	buffer->size = size;
	buffer->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
	buffer->owns_memory = !buffer->host;
	buffer->memory = buffer->host ? host : calloc(1, size);
	if (!buffer->memory) {
		(void)release(buffer, BUFFER, CL_SUCCESS);
		return fails(CL_MEM_OBJECT_ALLOCATION_FAILURE, ret_error);
	}
	if (host && (flags & CL_MEM_COPY_HOST_PTR))
		memcpy(buffer->memory, host, size);
	return made(buffer, ret_error);
}

static cl_mem CL_API_CALL create_part(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
				      cl_int *ret_error)
{
	const cl_buffer_region *region = info;
	struct object *whole = of(handle, BUFFER), *part;

	if (!whole || type != CL_BUFFER_CREATE_TYPE_REGION)
		return fails(CL_INVALID_MEM_OBJECT, ret_error);
	if (region->origin > whole->size || region->size > whole->size - region->origin)
		return fails(CL_INVALID_VALUE, ret_error);
	part = make(BUFFER, whole->context, whole);
	if (part) {
		part->properties = flags ? flags : whole->properties;
		part->offset = region->origin;
		part->size = region->size;
		part->memory = whole->memory + region->origin;
	}
	return made(part, ret_error);
}

static cl_int CL_API_CALL retain_buffer(cl_mem buffer)
{
	return retain_handle(buffer, BUFFER, CL_INVALID_MEM_OBJECT);
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer)
{
	return release(buffer, BUFFER, CL_INVALID_MEM_OBJECT);
}

static cl_int CL_API_CALL buffer_info(cl_mem handle, cl_mem_info param, size_t size, void *ret, size_t *ret_size)
{
	static const cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
	static const cl_uint maps;
	static const cl_bool no;
	const struct object *buffer = of(handle, BUFFER);

	if (!buffer)
		return CL_INVALID_MEM_OBJECT;
	switch (param) {
	case CL_MEM_TYPE:
		return ANSWER(type);
	case CL_MEM_FLAGS:
		return ANSWER(buffer->properties);
	case CL_MEM_SIZE:
		return ANSWER(buffer->size);
	case CL_MEM_HOST_PTR:
		return ANSWER(buffer->host);
	case CL_MEM_MAP_COUNT:
		return ANSWER(maps);
	case CL_MEM_REFERENCE_COUNT:
		return ANSWER(buffer->references);
	case CL_MEM_CONTEXT:
		return ANSWER(buffer->context);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		return ANSWER(buffer->parent);
	case CL_MEM_OFFSET:
		return ANSWER(buffer->offset);
	case CL_MEM_USES_SVM_POINTER:
		return ANSWER(no);
	default:
		return CL_INVALID_VALUE;
	}
}

/* The driver knows none of these buffers. */
static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	static const cl_mem none;
	cl_mem given = NULL;

	if (value && size == sizeof(given))
		memcpy(&given, value, sizeof(given));
	return drivers.clSetKernelArg(kernel, index, size, given && of(given, BUFFER) ? &none : value);
}

/* Commands. */

static cl_int command(cl_command_queue handle, cl_command_type type, cl_event *ret)
{
	struct object *queue = of(handle, QUEUE);

	if (!queue)
		return CL_INVALID_COMMAND_QUEUE;
	if (ret)
		*ret = (cl_event)(void *)make_event(queue->context, queue, type);
	return !ret || *ret ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

/* Where a part of a buffer lies; NULL: it has no such part. */
static char *part_of(cl_mem handle, size_t offset, size_t size)
{
	const struct object *buffer = of(handle, BUFFER);

	return buffer && offset <= buffer->size && size <= buffer->size - offset ? buffer->memory + offset : NULL;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define AFTER cl_uint count, const cl_event *events, cl_event *ret

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, size_t offset, size_t size,
				      void *to, AFTER)
{
	const char *part = part_of(buffer, offset, size);

	if (!part)
		return CL_INVALID_VALUE;
	memcpy(to, part, size);
	return command(queue, CL_COMMAND_READ_BUFFER, ret);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, size_t offset,
				       size_t size, const void *from, AFTER)
{
	char *part = part_of(buffer, offset, size);

	if (!part)
		return CL_INVALID_VALUE;
	memcpy(part, from, size);
	return command(queue, CL_COMMAND_WRITE_BUFFER, ret);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, cl_map_flags flags,
				    size_t offset, size_t size, AFTER, cl_int *ret_error)
{
	char *part = part_of(buffer, offset, size);
	cl_int error = part ? command(queue, CL_COMMAND_MAP_BUFFER, ret) : CL_INVALID_VALUE;

	if (ret_error)
		*ret_error = error;
	return error == CL_SUCCESS ? part : NULL;
}

/* NOTHING(function, type of command, parameters before those of AFTER) */
#define NOTHING(name, type, ...) \
	static cl_int CL_API_CALL name(cl_command_queue queue, __VA_ARGS__, AFTER) { return command(queue, type, ret); }

NOTHING(unmap, CL_COMMAND_UNMAP_MEM_OBJECT, cl_mem buffer, void *mapped)
NOTHING(copy_buffer, CL_COMMAND_COPY_BUFFER, cl_mem from, cl_mem to, size_t at, size_t there, size_t size)
NOTHING(copy_box, CL_COMMAND_COPY_BUFFER_RECT, cl_mem from, cl_mem to, const size_t *at, const size_t *there,
	const size_t *region, size_t row, size_t slice, size_t row_there, size_t slice_there)
NOTHING(read_box, CL_COMMAND_READ_BUFFER_RECT, cl_mem buffer, cl_bool wait, const size_t *at, const size_t *there,
	const size_t *region, size_t row, size_t slice, size_t row_there, size_t slice_there, void *to)
NOTHING(write_box, CL_COMMAND_WRITE_BUFFER_RECT, cl_mem buffer, cl_bool wait, const size_t *at, const size_t *there,
	const size_t *region, size_t row, size_t slice, size_t row_there, size_t slice_there, const void *from)
NOTHING(fill_buffer, CL_COMMAND_FILL_BUFFER, cl_mem buffer, const void *pattern, size_t length, size_t at, size_t size)
NOTHING(migrate, CL_COMMAND_MIGRATE_MEM_OBJECTS, cl_uint buffers, const cl_mem *list, cl_mem_migration_flags flags)
NOTHING(run_kernel, CL_COMMAND_NDRANGE_KERNEL, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
	const size_t *global, const size_t *local)
NOTHING(run_task, CL_COMMAND_TASK, cl_kernel kernel)

static cl_int CL_API_CALL mark_list(cl_command_queue queue, AFTER)
{
	return command(queue, CL_COMMAND_MARKER, ret);
}

static cl_int CL_API_CALL mark(cl_command_queue queue, cl_event *ret)
{
	return command(queue, CL_COMMAND_MARKER, ret);
}

static cl_int CL_API_CALL wait_in(cl_command_queue queue, cl_uint count, const cl_event *events)
{
	return flush(queue);
}

static cl_int CL_API_CALL on_destruction(cl_mem buffer, destroyed_fn *destroyed, void *user)
{
	return of(buffer, BUFFER) ? CL_SUCCESS : CL_INVALID_MEM_OBJECT;
}

void offline_objects_install(cl_icd_dispatch *of_driver)
{
	drivers = *of_driver;
	table = of_driver;
	table->clCreateCommandQueue = create_queue;
	table->clCreateCommandQueueWithProperties = create_queue_with;
	table->clRetainCommandQueue = retain_queue;
	table->clReleaseCommandQueue = release_queue;
	table->clGetCommandQueueInfo = queue_info;
	table->clFlush = flush;
	table->clFinish = flush;
	table->clCreateUserEvent = create_user_event;
	table->clSetUserEventStatus = set_user_event;
	table->clRetainEvent = retain_event;
	table->clReleaseEvent = release_event;
	table->clGetEventInfo = event_info;
	table->clGetEventProfilingInfo = event_times;
	table->clSetEventCallback = on_event;
	table->clWaitForEvents = wait_for;
	table->clCreateBuffer = create_buffer;
	table->clCreateSubBuffer = create_part;
	table->clRetainMemObject = retain_buffer;
	table->clReleaseMemObject = release_buffer;
	table->clGetMemObjectInfo = buffer_info;
	table->clSetMemObjectDestructorCallback = on_destruction;
	table->clSetKernelArg = set_argument;
	table->clEnqueueReadBuffer = read_buffer;
	table->clEnqueueWriteBuffer = write_buffer;
	table->clEnqueueMapBuffer = map_buffer;
	table->clEnqueueUnmapMemObject = unmap;
	table->clEnqueueCopyBuffer = copy_buffer;
	table->clEnqueueReadBufferRect = read_box;
	table->clEnqueueWriteBufferRect = write_box;
	table->clEnqueueCopyBufferRect = copy_box;
	table->clEnqueueFillBuffer = fill_buffer;
	table->clEnqueueMigrateMemObjects = migrate;
	table->clEnqueueNDRangeKernel = run_kernel;
	table->clEnqueueTask = run_task;
	table->clEnqueueMarkerWithWaitList = mark_list;
	table->clEnqueueBarrierWithWaitList = mark_list;
	table->clEnqueueMarker = mark;
	table->clEnqueueWaitForEvents = wait_in;
	table->clEnqueueBarrier = flush;
}
