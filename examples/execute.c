/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way: run code to its end, then read the result.
 *
 *	execute LANGUAGE CODE     execute python 'print(6 * 7)'
 *	execute FILE              execute hello.go
 *
 * The program's output is printed unchanged; why it ended is printed on standard error, unless it
 * succeeded. The exit status is the program's, or 120 when it has none.
 */
#include <stdio.h>
#include <string.h>

#include <brig/brig.h>

#define STATUS_NONE 120 /* the program was ended, or never began */

static void print_error(const struct brig_error *error)
{
	fprintf(stderr, "execute: %s\n", error->message);
	if (error->remedy[0]) {
		fprintf(stderr, "  %s\n", error->remedy);
	}
}

static int print_result(const struct brig_result *result)
{
	fwrite(result->stdout_data, 1, result->stdout_size, stdout);
	fwrite(result->stderr_data, 1, result->stderr_size, stderr);
	if (result->status != BRIG_OK) {
		fprintf(stderr, "execute: %s (%s) after %.1f ms\n",
			brig_status_name(result->status), result->cause,
			(double)result->usage.wall_ns / 1e6);
		if (result->remedy[0]) {
			fprintf(stderr, "  %s\n", result->remedy);
		}
	}
	for (size_t i = 0; i < result->files_count; i++) {
		fprintf(stderr, "execute: it left %s, %llu bytes\n", result->files[i].path,
			(unsigned long long)result->files[i].size);
	}
	return result->exit_code >= 0 ? result->exit_code : STATUS_NONE;
}

int main(int argc, char **argv)
{
	struct brig_context *brig = NULL;
	struct brig_result *result = NULL;
	struct brig_error error = { 0 };
	/* Zero means "as in the policy". A request can ask for less, or for more up to its ceiling.
	 * */
	struct brig_request options = {
		.size = sizeof(options),
		.limits = { .wall_ns = 10ull * 1000 * 1000 * 1000 },
	};
	int status = STATUS_NONE;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: execute LANGUAGE CODE | execute FILE\n");
		return 2;
	}
	/* One context serves any number of runs; it is cheap, but one is enough. */
	int r = brig_context_new(NULL, &brig, &error);
	if (r == 0) {
		r = argc == 3 ? brig_execute_code(brig, argv[1], argv[2], &options, &result, &error)
			      : brig_execute_file(brig, argv[1], &options, &result, &error);
	}
	/* An error means: it did not run. A program that ran and failed gives a result. */
	if (r == 0 && result) {
		status = print_result(result);
	} else {
		print_error(&error);
	}
	brig_result_free(result);
	brig_context_free(brig);
	return status;
}
