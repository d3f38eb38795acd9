/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound ownership: the declaration of a local that owns something shows it. */
#ifndef BRIG_BASE_CLEANUP_H
#define BRIG_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)     __attribute__((cleanup(f)))
#define _cleanup_free_   _cleanup_(cleanup_free)
#define _cleanup_close_  _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/* Moves ownership out of a variable: the value is returned, the variable owns nothing. */
#define TAKE_PTR(p)                                                                                \
	__extension__({                                                                            \
		__typeof__(p) *take_p_ = &(p);                                                     \
		__typeof__(p) taken_ = *take_p_;                                                   \
		*take_p_ = NULL;                                                                   \
		taken_;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	__extension__({                                                                            \
		int *take_fd_ = &(fd);                                                             \
		int taken_ = *take_fd_;                                                            \
		*take_fd_ = -1;                                                                    \
		taken_;                                                                            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

/* Closes it and sets it to -1. */
static inline void close_fd(int *fd)
{
	if (*fd >= 0) {
		close(*fd);
		*fd = -1;
	}
}

static inline void cleanup_close(int *fd)
{
	close_fd(fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f) {
		fclose(*f);
	}
}
#endif
