/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIG_HTTP_HTTP_LIMITS_H
#define BRIG_HTTP_HTTP_LIMITS_H

#include "http/http.h"

/* Limits that cannot be configured. */
#define LIMIT_EMPTY_BODY (64u << 10) /* for requests that need no body */
#define LIMIT_CODE       (16u << 20) /* of a program's text; the same as in libbrig */
#define LIMIT_STDIN      (64u << 20)

/* Sets the defaults of those that are 0. */
void limits_complete(struct http_limits *limits);
#endif
