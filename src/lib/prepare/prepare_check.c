/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a request names one program to run, and has a valid id and the needed consent. */
#include <errno.h>
#include <string.h>

#include "base/files/path.h"
#include "base/id.h"
#include "lib/prepare/prepare.h"

int prepare_check(const struct brig_request *request, enum purpose purpose, struct brig_error *err)
{
	int given = (request->code != NULL) + (request->file != NULL) + (request->command != NULL);

	if (purpose == PURPOSE_SESSION) {
		return given ? error_set(
				       err, BRIG_E_INPUT, EINVAL,
				       "a session is opened without code; send code with its runs")
			     : 0;
	}

	if (given != 1) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 given ? "code, file and command exclude each other"
				       : "missing code or command");
	}
	return 0;
}

int prepare_id(const struct brig_request *request, char id[27], struct brig_error *err)
{
	if (!request->id) {
		int r = id_make(id);
		return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot make an id") : 0;
	}
	if (!id_valid(request->id)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "the id is not a ULID");
		error_remedy(err, "set 26 characters of Crockford's base 32 in upper case, or no "
				  "id: brig makes one");
		return r;
	}
	memcpy(id, request->id, 27);
	return 0;
}

/* Each pattern may be compared with every file, so their sum is bounded too. */
static int bound_out(const char *const *out, struct brig_error *err)
{
	size_t count = 0, bytes = 0;

	for (; out && out[count]; count++) {
		size_t size = strlen(out[count]);
		bytes += size;
		if (size > PATH_GLOB_BYTES_MAX) {
			return error_set(err, BRIG_E_INPUT, E2BIG,
					 "pattern %zu for output files has %zu bytes; at most %d "
					 "are allowed",
					 count + 1, size, PATH_GLOB_BYTES_MAX);
		}
	}
	if (count > PATH_GLOBS_MAX) {
		return error_set(err, BRIG_E_INPUT, E2BIG,
				 "%zu patterns for output files; at most %d are allowed", count,
				 PATH_GLOBS_MAX);
	}
	if (bytes > PATH_GLOBS_BYTES_MAX) {
		return error_set(err, BRIG_E_INPUT, E2BIG,
				 "the patterns for output files have %zu bytes in all; at most %d "
				 "are allowed",
				 bytes, PATH_GLOBS_BYTES_MAX);
	}
	return 0;
}

/* Each pattern may be compared with every file, so their sum is bounded too. */
int prepare_check_out(const char *const *out, struct brig_error *err)
{
	int r = bound_out(out, err);

	if (r < 0) {
		error_remedy(err, "use fewer or shorter patterns, such as results/**, or write to "
				  "out/, whose files are always returned");
	}
	return r;
}

/* auto_run decides whether a run needs a person's consent. */
int prepare_consent(const struct policy *policy, const struct brig_request *request,
		    struct brig_error *err)
{
	if (policy->auto_run == AUTO_RUN_YES ||
	    (policy->auto_run == AUTO_RUN_ASK && request->consent)) {
		return 0;
	}
	bool asks = policy->auto_run == AUTO_RUN_ASK;
	int r = error_set(err, BRIG_E_CONSENT, asks ? EACCES : EPERM,
			  "policy %s runs nothing without a person's consent (auto_run: %s)",
			  policy->name, auto_run_names[policy->auto_run]);
	error_remedy(err, asks ? "give it: brig run --yes, or consent in the request; or use a "
				 "policy with walls, such as default"
			       : "use another policy");
	return r;
}
