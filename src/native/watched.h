/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that waits at the listener, as whoever watches a run sees it; and what can be
 * learned of it beyond its registers. All of that is the caller's word: another thread can change
 * the bytes at any time, so it is good for a record, and nothing may be decided by it.
 */
#ifndef BRIG_NATIVE_WATCHED_H
#define BRIG_NATIVE_WATCHED_H

#include <sys/types.h>

#include "kernel/filter/filter.h"

/* The longest path that is read. */
#define WATCHED_PATH_MAX 4096

struct watched_call {
	pid_t pid; /* of the thread, in brig's own numbers */
	unsigned number;
	uint64_t args[6];
	struct filter_decision decision; /* ALLOW: it goes on; else its answer */
	int listener;                    /* borrowed */
	uint64_t id;
};

/* Who watches, and what. Told of every refused call besides. */
struct call_watch {
	struct call_set calls;
	bool needed; /* without the layer "notify" there is no run */
	/* The call waits meanwhile: it must be quick, and must not touch the run. */
	void (*heard)(void *user, const struct watched_call *call);
	void *user;
};

bool watched_is_waiting(const struct watched_call *call);
/* Bytes of the caller's memory: how many there were up to `size`, or -errno. */
ssize_t watched_read(const struct watched_call *call, uint64_t address, void *ret, size_t size);
/* A string: its length, or -errno (-ENAMETOOLONG: no end within `size`). */
int watched_text(const struct watched_call *call, uint64_t address, char *ret, size_t size);
/*
 * A path as the cell sees it, not normalised: what is relative stands behind the directory that
 * `dirfd` (a descriptor of the caller's, or AT_FDCWD) is. An empty one is that directory.
 */
int watched_path(const struct watched_call *call, int dirfd, uint64_t address, char *ret,
		 size_t size);

/* What a file is named for. */
enum watched_use {
	WATCHED_BY_FLAGS = 0, /* of open(2): see watched_use_of() */
	WATCHED_LOOK = 1,
	WATCHED_READ = 2,
	WATCHED_WRITE = 4,
	WATCHED_EXEC = 8,
};

/* A call that names a file, and where: watched_paths.c. */
struct watched_name {
	unsigned call;
	int directory; /* number of the argument; negative: the working directory */
	int path;      /* the same */
	enum watched_use use;
	bool opens; /* a way to the file's content */
};

/* NULL: it names none. */
const struct watched_name *watched_name_of(unsigned call);
/* Adds all that are ways to a file's content. */
void watched_opening_calls(struct call_set *ret);
/* The path that it names, as watched_path() has it. */
int watched_named_path(const struct watched_call *call, const struct watched_name *name, char *ret,
		       size_t size);
/* Bits of watched_use. */
unsigned watched_use_of(const struct watched_call *call, const struct watched_name *name);
/* The root directory of a caller that waits still, only to resolve in (O_PATH); negative: none. */
int watched_root(const struct watched_call *call);
#endif
