/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order: what a waiting cell is told when its turn comes. Arguments, environment, limits of
 * each process and input files, as one block of bytes in a memory file that the cell was born with.
 * The warden writes and seals it; the payload process carries it out while it is still ours, before
 * any of the program's code.
 */
#ifndef BRIG_NATIVE_ASSIGNMENT_H
#define BRIG_NATIVE_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

#include "run/spec.h"

/* More than this much input takes the cold way, which copies from file to file. */
#define ASSIGNMENT_BYTES_MAX (32u << 20)

struct assignment_rlimit {
	uint32_t resource;
	uint32_t reserved;
	uint64_t value;
};

struct assignment_input {
	const char *name; /* beneath /sandbox */
	const void *data;
	uint64_t size;
	uint64_t mode;
};

/* As the payload sees it. All pointers lead into the block itself. */
struct assignment {
	const char *const *argv;
	const char *const *envp;
	const struct assignment_rlimit *rlimits;
	const struct assignment_input *inputs;
	uint64_t argc, envc, rlimits_count, inputs_count;
};

/* An empty memory file for an order: its fd, or -errno. */
int assignment_open(void);
/* Writes the order there, and seals it. -E2BIG: too much for an order; or -errno. */
int assignment_write(int fd, const struct spec *spec);
/* The same bytes in memory, for free(). Numbers are as this machine has them. */
int assignment_pack(const struct spec *spec, char **ret, size_t *ret_size);

/*
 * Checks a block and turns its offsets into pointers, in place: so it must be writable, and stay
 * where it is. 8-byte aligned. Allocates nothing. 0 or -EPROTO.
 */
int assignment_read(void *block, size_t size, struct assignment *ret);
#endif
