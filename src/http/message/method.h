/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that the server supports. */
#ifndef BRIG_HTTP_METHOD_H
#define BRIG_HTTP_METHOD_H

#include <stddef.h>

/* The supported methods, for an Allow header. */
extern const char method_allow[];

/* 0: *ret is from the table of methods; or the status to refuse with, and *why. */
int method_read(const char *text, size_t size, const char **ret, const char **why);
#endif
