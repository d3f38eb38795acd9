/* SPDX-License-Identifier: Apache-2.0 */
/* The exit of a clone: see clone_exit.h. */
#include "template/clone_exit.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/sys.h"
#include "native/calls/done_call.h"

struct clone_exit {
	pid_t pid; /* the process that may report that the program is done; 0: none yet */
	bool asked;
	int status;
	unsigned long long loaded; /* the count of objects ever loaded, in the template */
	void (*by)(void);          /* ends a child of the template, which is no program */
};

/* One template in one process. */
static struct clone_exit clone_exit;

bool template_is_single_threaded(void)
{
	struct stat info;

	/* Links of the directory: ".", "..", and one for each thread. */
	return stat("/proc/self/task", &info) == 0 && info.st_nlink == 3;
}

static int count(struct dl_phdr_info *info, size_t size, void *user)
{
	unsigned long long *loaded = user;

	(void)size;
	*loaded = info->dlpi_adds;
	return 1;
}

static unsigned long long count_loaded(void)
{
	unsigned long long loaded = 0;

	dl_iterate_phdr(count, &loaded);
	return loaded;
}

/*
 * Runs last of all that exit(3) calls, except for the C library's own work: destructors of loaded
 * objects, and flushing of streams. Those of the template's own objects have no visible effect;
 * where the program has loaded others, they are waited for.
 */
static void report_done(void)
{
	/*
	 * A thread may hold a stream's lock for ever; and with two threads the process is not at
	 * rest.
	 */
	if (!clone_exit.asked || getpid() != clone_exit.pid ||
	    count_loaded() != clone_exit.loaded || !template_is_single_threaded()) {
		return;
	}
	fflush(NULL);
	if (clone_exit.by) {
		clone_exit.by();
	}
	syscall(SYS_sysinfo, NULL, DONE_CALL_MAGIC, (long)clone_exit.status);
}

void template_exit_register(void)
{
	/*
	 * The first function to be registered is called last. If this fails, programs end the usual
	 * way.
	 */
	atexit(report_done);
}

void template_exit_prepare(void)
{
	clone_exit.loaded = count_loaded();
}

void template_exit_by(void (*end)(void))
{
	clone_exit.pid = getpid();
	clone_exit.by = end;
}

void template_exit_begin(bool parks)
{
	clone_exit.pid = parks ? getpid() : 0;
}

_Noreturn void template_exit(int status)
{
	clone_exit.asked = true;
	clone_exit.status = status;
	exit(status);
}
