/* SPDX-License-Identifier: Apache-2.0 */
/* The short form: runs to the end and returns the result. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "lib/owned.h"

static int execute(struct brig_context *context, const struct brig_request *request,
		   struct brig_result **ret, struct brig_error *error)
{
	_cleanup_(brig_run_freep)
	struct brig_run *run = NULL;
	int r = brig_run_start(context, request, &run, error);

	if (r < 0) {
		return r;
	}
	r = brig_run_wait(run, error);
	if (r < 0) {
		return r;
	}
	*ret = brig_run_take_result(run);
	return 0;
}

static struct brig_request copy_options(const struct brig_request *options)
{
	struct brig_request request = { 0 };

	if (options) {
		memcpy(&request, options,
		       options->size && options->size < sizeof(request) ? options->size
									: sizeof(request));
	}
	request.size = sizeof(request);
	request.code = request.file = NULL;
	request.command = NULL;
	request.stdin_feed = false;
	return request;
}

int brig_execute_code(struct brig_context *context, const char *language, const char *code,
		      const struct brig_request *options, struct brig_result **ret,
		      struct brig_error *error)
{
	struct brig_request request = copy_options(options);

	if (!code) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "missing code");
	}
	request.language = language;
	request.code = code;
	request.code_size = 0;
	return execute(context, &request, ret, error);
}

int brig_execute_file(struct brig_context *context, const char *path,
		      const struct brig_request *options, struct brig_result **ret,
		      struct brig_error *error)
{
	struct brig_request request = copy_options(options);

	if (!path) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "missing file");
	}
	request.file = path;
	return execute(context, &request, ret, error);
}
