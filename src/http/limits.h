/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIG_HTTP_LIMITS_H
#define BRIG_HTTP_LIMITS_H

#include "http/http.h"

/* These are the same everywhere. */
#define LIMIT_EMPTY_BODY (64u << 10) /* of a body that says nothing */
#define LIMIT_CODE       (16u << 20) /* of a program's text; libbrig has the same */
#define LIMIT_STDIN      (64u << 20)

/* Sets those that are 0. */
void limits_complete(struct http_limits *limits);
#endif
