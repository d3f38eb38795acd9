/* SPDX-License-Identifier: Apache-2.0 */
/* `brig run --service URL`: the run is on the service, the streams and files are local. */
#ifndef BRIG_CLI_RUN_RUN_SERVICE_H
#define BRIG_CLI_RUN_RUN_SERVICE_H

#include "cli/run/run_options.h"

/* The request in the service's format (POST /v1/execute), into `ret`. */
int run_service_body(const struct run_args *args, const struct run_request *request,
		     struct buf *ret, struct brig_error *err);

/*
 * Runs it. `take` gets output as it arrives, on stream 1 or 2; any result but 0 ends the run and is
 * returned. *ret is owned by the caller; *ret_json is its text as the service wrote it.
 */
typedef int run_service_output(void *user, int stream, const void *data, size_t size);
int run_service(const struct run_args *args, const struct run_request *request,
		run_service_output *take, void *user, struct brig_result **ret, char **ret_json,
		struct brig_error *err);
#endif
