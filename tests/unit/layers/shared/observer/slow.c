/* SPDX-License-Identifier: MIT */
/* slow: a library that the dynamic linker has half relocated as long as a test pleases, with calls that are watched. */
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int slow_do(void);
__attribute__((visibility("default"))) int slow_look(const char *path);

/* Before all calls lead anywhere. */
static long call(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) :
			 "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#else
	(void)number;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return -1;
#endif
}

static int done(void)
{
	return 1;
}

/* The linker asks which function it is, and waits at the gate until the test closes it. */
__attribute__((used)) static int (*choose(void))(void)
{
	long fd = call(SYS_openat, AT_FDCWD, (long)"gate", O_RDONLY | O_CLOEXEC, 0);
	char byte;

	while (fd >= 0 && call(SYS_read, fd, (long)&byte, 1, 0) > 0)
		continue;
	if (fd >= 0)
		(void)call(SYS_close, fd, 0, 0, 0);
	return done;
}

int slow_do(void) __attribute__((ifunc("choose")));

int slow_look(const char *path)
{
	struct stat info;

	return slow_do() && stat(path, &info) == 0;
}
