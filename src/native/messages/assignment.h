/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assignment of a waiting cell: arguments, environment, limits of each process and input files,
 * as one block of bytes in a memory file that the cell has had since it was made. The warden writes
 * and seals it; the payload process carries it out while it still runs brig's code, before any of
 * the program's code.
 */
#ifndef BRIG_NATIVE_MESSAGES_ASSIGNMENT_H
#define BRIG_NATIVE_MESSAGES_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

#include "run/spec/spec.h"

/* A request with more input is started cold, which copies from file to file. */
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

/* As the payload reads it. All pointers are into the block itself. */
struct assignment {
	const char *const *argv;
	const char *const *envp;
	const struct assignment_rlimit *rlimits;
	const struct assignment_input *inputs;
	uint64_t argc, envc, rlimits_count, inputs_count;
};

/* Makes an empty memory file for an assignment: its fd, or -errno. */
int assignment_open(void);
/* Writes the assignment to it, and seals it. -E2BIG: too large for an assignment; or -errno. */
int assignment_write(int fd, const struct spec *spec);
/* The same bytes in memory, for free(). Numbers are in the byte order of this machine. */
int assignment_pack(const struct spec *spec, char **ret, size_t *ret_size);

/*
 * Checks a block and turns its offsets into pointers, in place: so it must be writable, and must
 * not move. 8-byte aligned. Allocates nothing. 0 or -EPROTO.
 */
int assignment_read(void *block, size_t size, struct assignment *ret);
#endif
