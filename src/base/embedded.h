/* SPDX-License-Identifier: Apache-2.0 */
/* The files of data/, built into the program by scripts/embed.sh. */
#ifndef BRIG_BASE_EMBEDDED_H
#define BRIG_BASE_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
	const char *path; /* relative to data/: "policies/default.json" */
	const char *data; /* `size` bytes and a NUL */
	size_t size;
};

extern const struct embedded_file embedded_files[];
extern const size_t embedded_files_count;

/* NULL: not found. */
const struct embedded_file *embedded_find(const char *path);
#endif
