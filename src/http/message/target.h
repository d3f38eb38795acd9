/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request: turns "/a%20b?c" into an unambiguous path, and a query. */
#ifndef BRIG_HTTP_TARGET_H
#define BRIG_HTTP_TARGET_H

#include <stddef.h>

#define TARGET_MAX 8192

/*
 * 0: *ret_path is the decoded path (owned by the caller), *ret_query the offset of the query in
 * `target` (after "?"), or 0. Otherwise the status to refuse with, and *why.
 */
int target_read(const char *target, size_t size, char **ret_path, size_t *ret_query,
		const char **why);
#endif
