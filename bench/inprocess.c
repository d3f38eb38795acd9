/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrig inside a long-running program: one context, one run for each request on WORKER_FD (see
 * sample.h). The time of `brig run` above this is the start of the command line program.
 *
 * usage: inprocess CMD [ARGS]
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <brig/brig.h>

#include "sample.h"

static int64_t run_once(struct brig_context *brig, const struct brig_request *request)
{
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };
	int64_t status = -1;

	if (brig_run_start(brig, request, &run, &error) == 0 && brig_run_wait(run, &error) == 0) {
		struct brig_result *result = brig_run_take_result(run);
		status = result->status == BRIG_OK ? 0 : 1 + (int64_t)result->status;
		brig_result_free(result);
	}
	brig_run_free(run);
	if (error.message[0]) {
		fprintf(stderr, "inprocess: %s\n", error.message);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct brig_request request = { .size = sizeof(request) };
	struct brig_context *brig = NULL;
	struct brig_error error = { 0 };
	uint32_t which;

	if (argc < 2) {
		fprintf(stderr, "usage: inprocess CMD [ARGS]\n");
		return 2;
	}
	request.command = (const char *const *)(argv + 1);
	if (brig_context_new(NULL, &brig, &error) < 0) {
		fprintf(stderr, "inprocess: %s\n", error.message);
		return 1;
	}
	while (read(WORKER_FD, &which, sizeof(which)) == (ssize_t)sizeof(which)) {
		struct sample sample = { 0 };
		uint64_t start = now_ns();

		sample.status = run_once(brig, &request);
		sample.wall_ns = now_ns() - start;
		if (write(WORKER_FD, &sample, sizeof(sample)) != (ssize_t)sizeof(sample)) {
			break;
		}
	}
	brig_context_free(brig);
	return 0;
}
