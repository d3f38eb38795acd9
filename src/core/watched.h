/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that waits at the listener, as whoever watches a run sees it; and what can be
 * learned of it beyond its registers. All of that is the caller's word: another thread can change
 * the bytes at any time, so it is good for a record, and nothing may be decided by it.
 */
#ifndef BRIG_CORE_WATCHED_H
#define BRIG_CORE_WATCHED_H

#include <sys/types.h>

#include "kernel/filter.h"

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
#endif
