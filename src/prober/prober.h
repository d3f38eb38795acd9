/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions and answers of the prober. A question is a letter, a path and a NUL; each has one
 * answer, of fixed size, in the same order. Both sides are of one build and one machine.
 */
#ifndef BRIG_PROBER_PROBER_H
#define BRIG_PROBER_PROBER_H

#include <stdint.h>

/* More than any path that the kernel accepts: a longer one can be cut here, and stays too long. */
#define PROBER_PATH_MAX 4200
/* Enough for "/mnt/" and the name of a mount; the rest of a path is not needed. */
#define PROBER_WHERE_BYTES 104

enum prober_wish {
	PROBER_READ = 'r',
	PROBER_WRITE = 'w',
	PROBER_EXEC = 'x',
};

/* How the answer was found. */
enum prober_means {
	PROBER_TRIED,   /* by the system call itself */
	PROBER_MADE,    /* the same, for a file that was made there and removed again */
	PROBER_MODE,    /* by access(2): the call itself would have had an effect on the host */
	PROBER_DEPENDS, /* not asked: the path leads through the state of a running program */
	PROBER_UNKNOWN, /* not asked: the filter refuses a call that the prober needs */
	PROBER_MEANS_COUNT,
};

/* The kind of file system that the path, or the last directory of it that exists, is on. */
enum prober_place {
	PROBER_OWN,    /* the cell's own tmpfs */
	PROBER_DEVICE, /* a device node */
	PROBER_PROC,
	PROBER_OTHER, /* a mount of the host's files */
	PROBER_PLACES_COUNT,
};

struct prober_answer {
	uint32_t number;  /* of the question, from 0 */
	uint32_t errnum;  /* 0: the kernel allowed it */
	uint32_t missing; /* the errno of the component after `where`; 0: the whole path exists */
	uint8_t means, place;
	uint8_t directory; /* `where` is one */
	uint8_t reserved;
	/* That file or directory, without links, as the kernel names it; cut, and ends with NUL. */
	char where[PROBER_WHERE_BYTES];
};
#endif
