/* SPDX-License-Identifier: MIT */
/*
 * soak_client: one program of soak.py. Does what its arguments say, in order:
 *   build=N       builds program N of a small set; prints a line with digests of what it became
 *   meanwhile=N   the same in a thread, while the next ones are done
 *   fork=MS       forks a child that lives so long and ends by _exit
 *   clone=MS      the same by clone(2), without the handlers of fork
 *   forks=N       forks N times in a thread, while the next ones are done; children as above
 *   fork-build=N  a child does build=N and ends by exit; waits for it
 *   daemon        forks; the parent ends by _exit, the child goes on in a session of its own
 *   close-all     closes all descriptors but the first three; the numbers become a file of its own
 *   spawn         runs `true` by posix_spawn
 *   sleep=MS      does nothing
 *   _exit         ends without handlers, at once
 * At the end it looks whether its own files are what it wrote. Exit: 0 all was done,
 * whatever came of it; 2 something could not be.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

#include <CL/cl.h>

#include "tests/opencl/digest.h"
#include "tests/stress/soak_watch.h"
#include "tests/support/posix.h"

enum { MAX_SOURCE = 64 << 10, MAX_LOG = 4096, MAX_THREADS = 8, LAST_OWN = 80 };

static const char own_text[] = "what the program wrote into its own file\n";

static cl_device_id device;
static cl_context context;
static pthread_t threads[MAX_THREADS];
static unsigned int thread_count;
static int own_fd = -1;

static void fail(const char *what, int error)
{
	(void)fprintf(stderr, "soak_client: %s: %d\n", what, error);
	_exit(2);
}

/* A call that the layer may be in. */
#define CALL(call) \
	(__extension__({ \
		__typeof__(call) result_; \
		if (soak_call) \
			soak_call(); \
		result_ = (call); \
		if (soak_called) \
			soak_called(); \
		result_; \
	}))

static void open_session(void)
{
	cl_platform_id platform;
	cl_int error;

	error = clGetPlatformIDs(1, &platform, NULL);
	if (!error)
		error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	if (!error)
		context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	if (error)
		fail("no context", error);
}

/* From 300 bytes to 40 kB; no hexadecimal letters, or each would have a random word of its own. */
static char *source_of(long n)
{
	size_t filler = 100u << (n % 9), len;
	uint64_t state = (uint64_t)n * 0x9e3779b97f4a7c15u + 1;
	char *text = malloc(MAX_SOURCE);

	if (!text)
		fail("malloc", 0);
	len = (size_t)snprintf(text, MAX_SOURCE,
			       "kernel void soak(global int *out)\n{\n\tout[0] = %ld + K;\n}\n//", n);
	for (size_t i = 0; i < filler * 3 / 2; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		text[len++] = (char)('g' + (state >> 33) % 20);
	}
	text[len] = '\0';
	return text;
}

/* Of bytes; what has a zero in it, too. */
static uint64_t digest_bytes(const unsigned char *data, size_t len)
{
	uint64_t hash = len;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ data[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t binary_of(cl_program program)
{
	unsigned char *data;
	uint64_t digest = 0;
	size_t len = 0;

	if (CALL(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(len), &len, NULL)) || !len)
		return 0;
	data = malloc(len);
	if (data && !CALL(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, NULL)))
		digest = digest_bytes(data, len);
	free(data);
	return digest;
}

static void build(long n)
{
	char *source = source_of(n), log[MAX_LOG] = "", options[64], line[256];
	const char *text = source;
	cl_program program;
	cl_kernel kernel = NULL;
	cl_ulong size = 0;
	cl_int error, built;
	int len;

	(void)snprintf(options, sizeof(options), "-DK=%ld", n);
	program = CALL(clCreateProgramWithSource(context, 1, &text, NULL, &error));
	if (error)
		fail("clCreateProgramWithSource", error);
	built = CALL(clBuildProgram(program, 1, &device, options, NULL, NULL));
	(void)CALL(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL));
	kernel = CALL(clCreateKernel(program, "soak", &error));
	if (!error)
		error = CALL(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE,
						      sizeof(size), &size, NULL));
	len = snprintf(line, sizeof(line), "program %ld: %d %d %llu %llx %llx\n", n, built, error,
		       (unsigned long long)size, (unsigned long long)binary_of(program),
		       (unsigned long long)digest_of(log));
	/* Whole, or not at all where it is killed. */
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		fail("write", errno);
	if (kernel)
		(void)CALL(clReleaseKernel(kernel));
	(void)CALL(clReleaseProgram(program));
	free(source);
}

static void *run_build(void *data)
{
	build((long)(intptr_t)data);
	return NULL;
}

static void pause_for(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		continue;
}

/* Not waited for: it may outlive its parent. */
static void let_live(pid_t child, long ms)
{
	if (child < 0)
		fail("fork", errno);
	if (child)
		return;
	pause_for(ms);
	_exit(0);
}

static void *run_forks(void *data)
{
	for (long i = (long)(intptr_t)data; i > 0; i--) {
		let_live(fork(), i * 40);
		pause_for(1);
	}
	return NULL;
}

static void start(void *(*run)(void *data), long n)
{
	if (thread_count == MAX_THREADS ||
	    pthread_create(&threads[thread_count], NULL, run, (void *)(intptr_t)n))
		fail("pthread_create", 0);
	thread_count++;
}

static void fork_build(long n)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		build(n);
		if (soak_exit)
			soak_exit();
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		fail("fork", errno);
	/* Killed is what the test does; anything else it may not be. */
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		fail("a child", status);
}

static void become_daemon(void)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork", errno);
	if (child > 0)
		_exit(0);
	(void)setsid();
}

/* As daemons do; the numbers become those of a file of its own. */
static void close_all(void)
{
	char name[64];

	for (int fd = 3; fd < 1024; fd++)
		(void)close(fd);	/* most are not open */
	(void)snprintf(name, sizeof(name), "own-%d", (int)getpid());
	own_fd = open(name, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	if (own_fd < 0 || write(own_fd, own_text, sizeof(own_text)) != sizeof(own_text))
		fail(name, errno);
	(void)unlink(name);	/* it lives as long as a number leads to it */
	while (own_fd < LAST_OWN) {
		int next = fcntl(own_fd, F_DUPFD_CLOEXEC, own_fd + 1);

		if (next < 0)
			break;
		own_fd = next;
	}
}

static void look_at_own(void)
{
	char text[sizeof(own_text) + 1];

	if (own_fd < 0)
		return;
	if (pread(own_fd, text, sizeof(text), 0) != sizeof(own_text) ||
	    memcmp(text, own_text, sizeof(own_text)) != 0)
		fail("its own file was written to", 0);
}

static void spawn(void)
{
	char *arguments[] = { "true", NULL }, *environment[] = { NULL };
	pid_t child;
	int status;

	if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment) ||
	    waitpid(child, &status, 0) != child)
		fail("posix_spawn", errno);
}

static void run(const char *what, long n)
{
	if (!strcmp(what, "build"))
		build(n);
	else if (!strcmp(what, "meanwhile"))
		start(run_build, n);
	else if (!strcmp(what, "fork"))
		let_live(fork(), n);
	else if (!strcmp(what, "clone"))
		let_live((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL), n);
	else if (!strcmp(what, "forks"))
		start(run_forks, n);
	else if (!strcmp(what, "fork-build"))
		fork_build(n);
	else if (!strcmp(what, "daemon"))
		become_daemon();
	else if (!strcmp(what, "close-all"))
		close_all();
	else if (!strcmp(what, "spawn"))
		spawn();
	else if (!strcmp(what, "sleep"))
		pause_for(n);
	else if (!strcmp(what, "_exit"))
		_exit(0);
	else
		fail(what, 0);
}

int main(int argc, char **argv)
{
	open_session();
	for (int i = 1; i < argc; i++) {
		char *equal = strchr(argv[i], '=');

		if (equal)
			*equal = '\0';
		run(argv[i], equal ? atol(equal + 1) : 0);
	}
	for (unsigned int i = 0; i < thread_count; i++)
		(void)pthread_join(threads[i], NULL);	/* it was made, and is joined once */
	look_at_own();
	(void)CALL(clReleaseContext(context));
	if (soak_exit)
		soak_exit();
	return 0;
}
