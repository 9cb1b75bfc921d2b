/* SPDX-License-Identifier: MIT */
/*
 * kernels_client FIRST COUNT [HOW]: builds that many small programs, each another one, from
 * that number on, in one process, and asks each for its kernel's name. Prints the
 * numbers of programs whose answers are wrong; its exit code says whether any is. HOW:
 *
 *   report   prints at its end what the process has then, a line each: its children, how
 *            often a SIGCHLD came, its threads, descriptors and libraries
 *   fork     a child builds them too, at the same time, having begun as the parent did
 *   close    another thread closes all descriptors meanwhile, over and over
 *   leave    ends by _exit, right after the last build
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static atomic_bool done;

static void fail(const char *what, cl_int error)
{
	(void)fprintf(stderr, "kernels_client: %s: error %d\n", what, error);
	exit(2);
}

static int is_right(cl_context context, unsigned long number)
{
	char source[256], expected[32], name[64] = "";
	const char *text = source;
	cl_program program;
	cl_kernel kernel;
	cl_int error;

	(void)snprintf(expected, sizeof(expected), "program_%lu", number);
	(void)snprintf(source, sizeof(source),
		       "__kernel void %s(__global int *a) { a[get_global_id(0)] += %lu; }\n", expected,
		       number);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	if (error)
		fail("clCreateProgramWithSource", error);
	error = clBuildProgram(program, 0, NULL, "", NULL, NULL);
	if (error)
		fail("clBuildProgram", error);
	kernel = clCreateKernel(program, expected, &error);
	if (error)
		fail("clCreateKernel", error);
	error = clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
	if (error)
		fail("clGetKernelInfo", error);
	(void)clReleaseKernel(kernel);
	(void)clReleaseProgram(program);
	return !strcmp(name, expected);
}

static int build(cl_context context, unsigned long first, unsigned long count)
{
	int code = 0;

	for (unsigned long i = 0; i < count; i++) {
		if (is_right(context, first + i))
			continue;
		printf("%lu\n", first + i);
		code = 1;
	}
	return code;
}

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void list(const char *what, const char *directory, int with_targets)
{
	DIR *dir = opendir(directory);
	const struct dirent *item;

	while (dir && (item = readdir(dir))) {
		char path[512], target[512] = "";

		(void)snprintf(path, sizeof(path), "%s/%s", directory, item->d_name);
		if (item->d_name[0] == '.' || atoi(item->d_name) == dirfd(dir))
			continue;
		if (with_targets && readlink(path, target, sizeof(target) - 1) < 0)
			continue;
		printf("%s %s\n", what, target);
	}
	if (dir)
		(void)closedir(dir);
}

static void report(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int child = waitpid(-1, NULL, WNOHANG | __WALL);
	char line[1024];

	/* One that starts another ends at once, and a wait without __WALL does not see it. */
	for (int i = 0; child == 0 && i < 3000; i++) {
		(void)usleep(10000);
		child = waitpid(-1, NULL, WNOHANG | __WALL);
	}
	printf("children %s\n", child < 0 && errno == ECHILD ? "none" : "some");
	printf("signals %d\n", (int)signals);
	list("thread", "/proc/self/task", 0);
	while (maps && fgets(line, sizeof(line), maps)) {
		const char *path = strchr(line, '/');

		if (path)
			printf("library %s", path);
	}
	if (maps)
		(void)fclose(maps);
	list("descriptor", "/proc/self/fd", 1);
}

static void *close_all(void *ctx)
{
	while (!atomic_load(&done)) {
		(void)close_range(3, ~0U, 0);
		(void)usleep(50);
	}
	return ctx;
}

static int build_with_child(cl_context context, unsigned long first, unsigned long count)
{
	int code = build(context, first, count / 2), state = 0;
	pid_t pid = fork();

	if (pid == 0) {
		code = build(context, first, count);
		(void)fflush(stdout);
		exit(code);
	}
	code |= build(context, first + count / 2, count - count / 2);
	if (pid < 0 || waitpid(pid, &state, 0) != pid || !WIFEXITED(state) || WEXITSTATUS(state))
		fail("the child", state);
	return code;
}

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	const char *how = argc > 3 ? argv[3] : "";
	cl_platform_id platform;
	cl_context context;
	cl_device_id device;
	pthread_t closer;
	cl_int error;
	int code;

	(void)signal(SIGCHLD, count_signal);
	error = clGetPlatformIDs(1, &platform, NULL);
	if (error)
		fail("clGetPlatformIDs", error);
	error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	if (error)
		fail("clGetDeviceIDs", error);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	if (error)
		fail("clCreateContext", error);
	if (!strcmp(how, "close") && pthread_create(&closer, NULL, close_all, NULL))
		fail("pthread_create", 0);
	code = strcmp(how, "fork") ? build(context, first, count)
				   : build_with_child(context, first, count);
	if (!strcmp(how, "close")) {
		atomic_store(&done, 1);
		(void)pthread_join(closer, NULL);
	}
	if (!strcmp(how, "report"))
		report();
	if (!strcmp(how, "leave"))
		_exit(code);
	(void)clReleaseContext(context);
	return code;
}
