/* SPDX-License-Identifier: MIT */
/*
 * descriptor: a fork between opening and noting would give the child one that it
 * knows nothing of, and that is locked later: forks are counted, and what was
 * opened during one is opened again.
 */
#include "common/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define COUNT 128
/*
 * A program that closes everything gives the lowest numbers to what it opens
 * next. The kernel's first table has 64, so that these cost no larger one.
 */
#define FIRST_NUMBER 48
/* A fork takes long where memory is large; who opens a file meanwhile waits so long, once. */
#define FORK_WAIT_NS UINT64_C(20000000)
#define FORK_PAUSE_NS 100000
/* A program that forks all the time: then one of its children may have it. */
#define OPEN_ATTEMPTS 16

enum { FREE = 0, BUSY = -1 };

struct slot {
	atomic_int number;	/* and one; leaving(it); FREE; BUSY: a thread changes it */
	dev_t device;		/* of who has the number to read and to change */
	ino_t inode;
};

static struct {
	atomic_uint begun, ended;	/* forks */
	atomic_uint in_vain;		/* of begun: the fork that was waited for in vain */
	atomic_uint used;		/* slots that ever had a number: no page is touched for others */
	struct slot slots[COUNT];
} table;

unsigned int cmn_descriptor_forks(void)
{
	const struct timespec pause = { 0, FORK_PAUSE_NS };
	unsigned int begun = atomic_load(&table.begun);
	uint64_t deadline = 0;

	while (atomic_load(&table.ended) != begun && atomic_load(&table.in_vain) != begun) {
		if (!deadline)
			deadline = cmn_clock_deadline(FORK_WAIT_NS);
		else if (cmn_clock_monotonic() >= deadline)
			atomic_store(&table.in_vain, begun);
		(void)nanosleep(&pause, NULL);	/* a signal only makes it shorter */
		begun = atomic_load(&table.begun);
	}
	return begun;
}

static bool is_of(const struct slot *slot, const struct stat *info)
{
	return info->st_dev == slot->device && info->st_ino == slot->inode;
}

/* What cannot be asked (a server that is gone) is open all the same. */
static bool is_file(const struct slot *slot, int fd)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return errno != EBADF;
	return is_of(slot, &info);
}

static struct slot *find(int number)
{
	unsigned int end = number == FREE ? COUNT : atomic_load(&table.used);

	for (unsigned int i = 0; i < end; i++) {
		if (atomic_load(&table.slots[i].number) == number)
			return &table.slots[i];
	}
	return NULL;
}

/* Before the slot has a number. */
static void note_use(const struct slot *slot)
{
	unsigned int end = (unsigned int)(slot - table.slots) + 1, used = atomic_load(&table.used);

	while (used < end && !atomic_compare_exchange_weak(&table.used, &used, end))
		continue;
}

/* What cannot be noted is a descriptor like others. */
static void note(int fd)
{
	struct slot *slot;
	struct stat info;
	int was;

	do {
		/* One of that number that was closed behind our back is in nobody's hands. */
		slot = find(fd + 1);
		was = slot ? fd + 1 : FREE;
		if (!slot)
			slot = find(FREE);
	} while (slot && !atomic_compare_exchange_strong(&slot->number, &was, BUSY));
	if (!slot)
		return;
	note_use(slot);
	if (fstat(fd, &info) == 0) {
		slot->device = info.st_dev;
		slot->inode = info.st_ino;
		atomic_store(&slot->number, fd + 1);
	} else {
		atomic_store(&slot->number, FREE);
	}
}

/*
 * Where no number is free there the old one serves. Not to one that is in the
 * table: a program closed it, and who has it must not take this file for his.
 */
static int move_up(int fd)
{
	int high = fd, next;

	while (high >= 0 && (high < FIRST_NUMBER || find(high + 1))) {
		next = fcntl(fd, F_DUPFD_CLOEXEC, high < FIRST_NUMBER ? FIRST_NUMBER : high + 1);
		if (high != fd)
			(void)close(high);	/* the file stays open */
		high = next;
	}
	if (high < 0 || high == fd)
		return fd;
	(void)close(fd);	/* the file stays open */
	return high;
}

int cmn_descriptor_keep(int fd, unsigned int forks)
{
	if (fd < 0)
		return fd;
	fd = move_up(fd);
	note(fd);
	if (atomic_load(&table.begun) == forks)
		return fd;
	(void)cmn_descriptor_close(fd);	/* nothing was written through it */
	errno = EINTR;
	return -1;
}

int cmn_descriptor_open(int dir_fd, const char *path, int flags)
{
	unsigned int forks;
	int fd;

	for (int i = 1;; i++) {
		forks = cmn_descriptor_forks();
		fd = openat(dir_fd, path, flags | O_CLOEXEC);
		if (fd < 0 || i == OPEN_ATTEMPTS)
			forks = atomic_load(&table.begun);
		fd = cmn_descriptor_keep(fd, forks);
		if (fd >= 0 || errno != EINTR || i >= OPEN_ATTEMPTS)
			return fd;
	}
}

bool cmn_descriptor_is_ours(int fd)
{
	const struct slot *slot = find(fd + 1);

	return !slot || is_file(slot, fd);
}

bool cmn_descriptor_stat(int fd, struct stat *ret)
{
	const struct slot *slot = find(fd + 1);

	return fstat(fd, ret) == 0 && (!slot || is_of(slot, ret));
}

/* One that is about to be closed: nobody's in this process, but a child that is forked before closes it, too. */
static int leaving(int fd)
{
	return -fd - 2;
}

int cmn_descriptor_close(int fd)
{
	struct slot *slot = find(fd + 1);
	bool ours = !slot || is_file(slot, fd);
	int result = -1, error;

	/* Before it is closed: afterwards the number may be any thread's. */
	if (slot)
		atomic_store(&slot->number, leaving(fd));
	if (ours)
		result = close(fd);
	else
		errno = EBADF;
	if (!slot)
		return result;
	/* Linux copies open files before memory: a child that has it open is to find it here. */
	error = errno;
	(void)cmn_descriptor_forks();
	errno = error;
	atomic_store(&slot->number, FREE);
	return result;
}

void cmn_descriptors_fork_prepare(void)
{
	(void)atomic_fetch_add(&table.begun, 1);
}

void cmn_descriptors_fork_parent(void)
{
	(void)atomic_fetch_add(&table.ended, 1);
}

void cmn_descriptors_fork_child(void)
{
	atomic_store(&table.ended, atomic_load(&table.begun));
	for (size_t i = 0; i < COUNT; i++) {
		struct slot *slot = &table.slots[i];
		int number = atomic_load(&slot->number);
		int fd = number > FREE ? number - 1 : leaving(number);

		if (number != FREE && number != BUSY && is_file(slot, fd))
			(void)close(fd);	/* the parent's to write */
		atomic_store(&slot->number, FREE);
	}
}
