/* SPDX-License-Identifier: Apache-2.0 */
/* May the request run at all: it names one thing to run, and who must agree has agreed. */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "lib/prepare/prepare.h"

int prepare_check(const struct brig_request *request, enum purpose purpose, struct brig_error *err)
{
	int given = (request->code != NULL) + (request->file != NULL) + (request->command != NULL);

	if (purpose == PURPOSE_SESSION) {
		return given ? error_set(
				       err, BRIG_E_INPUT, EINVAL,
				       "a session is opened without code: that comes with its runs")
			     : 0;
	}

	if (given != 1) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 given ? "code, file and command exclude each other"
				       : "there is nothing to run");
	}
	return 0;
}

/* Each pattern may be compared with every file, so there is a bound on all of them together too. */
int prepare_check_out(const char *const *out, struct brig_error *err)
{
	size_t count = 0, bytes = 0;
	int r = 0;

	for (; out && out[count]; count++) {
		size_t size = strlen(out[count]);
		bytes += size;
		if (size > PATH_GLOB_BYTES_MAX) {
			r = error_set(err, BRIG_E_INPUT, E2BIG,
				      "pattern %zu for output files has %zu bytes; at most %d are "
				      "allowed",
				      count + 1, size, PATH_GLOB_BYTES_MAX);
			break;
		}
	}
	if (r == 0 && count > PATH_GLOBS_MAX) {
		r = error_set(err, BRIG_E_INPUT, E2BIG,
			      "there are %zu patterns for output files; at most %d are allowed",
			      count, PATH_GLOBS_MAX);
	} else if (r == 0 && bytes > PATH_GLOBS_BYTES_MAX) {
		r = error_set(
			err, BRIG_E_INPUT, E2BIG,
			"the patterns for output files have %zu bytes; at most %d are allowed "
			"in all",
			bytes, PATH_GLOBS_BYTES_MAX);
	}
	if (r < 0) {
		error_remedy(err, "use fewer or shorter patterns, such as results/**, or write to "
				  "out/, which always comes back");
	}
	return r;
}

/* auto_run: what may happen without a person's consent. */
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
