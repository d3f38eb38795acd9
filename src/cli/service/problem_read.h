/* SPDX-License-Identifier: Apache-2.0 */
/* Converts an error response of a service to the error that brig itself would report. */
#ifndef BRIG_CLI_SERVICE_PROBLEM_READ_H
#define BRIG_CLI_SERVICE_PROBLEM_READ_H

#include <jansson.h>

#include "base/error.h"

/* status: of HTTP; 0 within a stream of events. Returns the result of error_set(). */
int problem_read(json_t *problem, int status, struct brig_error *err);
#endif
