/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that waits at the listener, for the observers of a run; and functions that read
 * more than its registers. The program controls all of that memory: another thread can change the
 * bytes at any time, so they are good for a record, but nothing may be decided by them.
 */
#ifndef BRIG_NATIVE_CALLS_WATCHED_CALL_H
#define BRIG_NATIVE_CALLS_WATCHED_CALL_H

#include <sys/types.h>

#include "kernel/filter/filter.h"

/* The longest path that is read. */
#define WATCHED_PATH_MAX 4096

struct watched_call {
	pid_t pid; /* of the thread, in brig's own pid namespace */
	unsigned number;
	uint64_t args[6];
	struct filter_decision decision; /* ALLOW: the call continues; else its answer */
	int listener;                    /* borrowed */
	uint64_t id;
};

/* An observer and its calls. It also receives every refused call. */
struct call_watch {
	struct call_set calls;
	bool needed; /* without the layer "notify" the run is refused */
	/* The call waits meanwhile: this must be quick, and must not touch the run. */
	void (*on_call)(void *user, const struct watched_call *call);
	void *user;
};

bool watched_is_waiting(const struct watched_call *call);
/* Reads the caller's memory: the number of bytes up to `size`, or -errno. */
ssize_t watched_read(const struct watched_call *call, uint64_t address, void *ret, size_t size);
/* Reads a string: its length, or -errno (-ENAMETOOLONG: no end within `size`). */
int watched_text(const struct watched_call *call, uint64_t address, char *ret, size_t size);
/*
 * A path as the cell sees it, not normalised: a relative one is appended to the directory of
 * `dirfd` (a descriptor of the caller's, or AT_FDCWD). An empty one is that directory.
 */
int watched_path(const struct watched_call *call, int dirfd, uint64_t address, char *ret,
		 size_t size);

/* The purpose for which a call names a file. */
enum watched_use {
	WATCHED_BY_FLAGS = 0, /* of open(2): see watched_use_of() */
	WATCHED_LOOK = 1,
	WATCHED_READ = 2,
	WATCHED_WRITE = 4,
	WATCHED_EXEC = 8,
};

/* A call that names a file, and its arguments that do: watched_paths.c. */
struct watched_name {
	unsigned call;
	int directory; /* index of the argument; negative: the working directory */
	int path;      /* the same */
	enum watched_use use;
	bool opens; /* gives access to the file's content */
};

/* NULL: the call names no file. */
const struct watched_name *watched_name_of(unsigned call);
/* Adds all calls that give access to a file's content. */
void watched_opening_calls(struct call_set *ret);
/* The path that it names, as watched_path() returns it. */
int watched_named_path(const struct watched_call *call, const struct watched_name *name, char *ret,
		       size_t size);
/* Bits of watched_use. */
unsigned watched_use_of(const struct watched_call *call, const struct watched_name *name);
/* The root directory of a waiting caller, only to resolve paths in (O_PATH); negative: none. */
int watched_root(const struct watched_call *call);
#endif
