/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are built in: see embedded.h. */
#include "base/embedded.h"

#include <string.h>

const struct embedded_file *embedded_find(const char *path)
{
	for (size_t i = 0; i < embedded_files_count; i++) {
		if (strcmp(embedded_files[i].path, path) == 0) {
			return &embedded_files[i];
		}
	}
	return NULL;
}
