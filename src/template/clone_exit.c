/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a clone: see clone_exit.h. */
#include "template/clone_exit.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/sys.h"
#include "native/done.h"

struct leaving {
	pid_t pid; /* who may say that the program is done; 0: nobody yet */
	bool asked;
	int status;
	unsigned long long loaded; /* objects that were ever loaded, as of the template */
};

/* One template in one process. */
static struct leaving leaving;

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
 * Of all that exit(3) calls this comes last, but for what the C library does itself: it calls the
 * destructors of loaded objects, and writes out streams. Those of the template's own objects do
 * nothing that anybody could see; where the program has loaded others, they are waited for.
 */
static void say_done(void)
{
	/* A thread may hold a stream's lock for ever; and with two threads it is not at rest. */
	if (!leaving.asked || getpid() != leaving.pid || count_loaded() != leaving.loaded ||
	    !template_is_single_threaded()) {
		return;
	}
	fflush(NULL);
	syscall(SYS_sysinfo, NULL, DONE_MAGIC, (long)leaving.status);
}

void template_exit_register(void)
{
	/* What is registered first is called last. Without it a program ends as ever. */
	atexit(say_done);
}

void template_leave_prepare(void)
{
	leaving.loaded = count_loaded();
}

void template_leave_begin(bool parks)
{
	leaving.pid = parks ? getpid() : 0;
}

_Noreturn void template_leave(int status)
{
	leaving.asked = true;
	leaving.status = status;
	exit(status);
}
