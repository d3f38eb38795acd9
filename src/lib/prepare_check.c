/* May the request run at all: it names one thing to run, and who must agree has agreed. */
#include <errno.h>

#include "lib/prepare.h"

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

/* auto_run: what may happen without a person's word. */
int prepare_consent(const struct policy *policy, const struct brig_request *request,
		    struct brig_error *err)
{
	if (policy->auto_run == AUTO_RUN_YES ||
	    (policy->auto_run == AUTO_RUN_ASK && request->consent)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_CONSENT, EACCES,
			  "policy %s runs nothing without a person's word (auto_run: %s)",
			  policy->name, auto_run_names[policy->auto_run]);
	error_remedy(err, policy->auto_run == AUTO_RUN_ASK
				  ? "give it: brig run --yes, or consent in the request; or use a "
				    "policy with walls, such as default"
				  : "use another policy");
	return r;
}
