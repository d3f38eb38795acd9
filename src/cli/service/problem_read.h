/* SPDX-License-Identifier: Apache-2.0 */
/* A problem that a service has answered, as the error that brig would have had itself. */
#ifndef BRIG_CLI_SERVICE_PROBLEM_READ_H
#define BRIG_CLI_SERVICE_PROBLEM_READ_H

#include <jansson.h>

#include "base/error.h"

/* status: of HTTP; 0 within a stream of events. Returns what error_set() does. */
int problem_read(json_t *problem, int status, struct brig_error *err);
#endif
