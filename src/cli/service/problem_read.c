/* SPDX-License-Identifier: Apache-2.0 */
/* From the API's codes to brig's: the exit status is the same as without a service. */
#include "cli/service/problem_read.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/service/client.h"

struct problem_row {
	const char *problem;
	enum brig_code code;
	int errnum;
	const char *remedy; /* where the service has none */
};

static const struct problem_row rows[] = {
	{ "invalid_request", BRIG_E_INPUT, ERANGE, NULL },
	{ "unsupported_language", BRIG_E_RUNTIME, ENOENT, NULL },
	{ "policy_not_allowed", BRIG_E_POLICY, EPERM, NULL },
	{ "policy_forbids", BRIG_E_POLICY, EPERM, NULL },
	{ "consent_required", BRIG_E_CONSENT, EPERM, NULL },
	{ "consent_not_allowed", BRIG_E_CONSENT, EPERM, NULL },
	{ "not_found", BRIG_E_INPUT, ENOENT, NULL },
	{ "host_unable", BRIG_E_HOST, EOPNOTSUPP, NULL },
	{ "unauthorized", BRIG_E_INPUT, EACCES,
	  "put a token into $BRIG_TOKEN; the operator creates one: brig token new "
	  "NAME" },
};

static const struct problem_row *row_of(const char *problem)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].problem, problem) == 0) {
			return &rows[i];
		}
	}
	return NULL;
}

int problem_read(json_t *problem, int status, struct brig_error *err)
{
	const struct problem_row *row = row_of(client_text(problem, "code"));
	const char *detail = client_text(problem, "detail");
	const char *remedy = client_text(problem, "remedy");
	bool ours = status >= 400 && status < 500;
	int r = error_set(err,
			  row    ? row->code
			  : ours ? BRIG_E_INPUT
				 : BRIG_E_SYSTEM,
			  row ? row->errnum : EACCES, "%s",
			  *detail ? detail : "the service refused the request");

	if (*remedy || (row && row->remedy)) {
		error_remedy(err, "%s", *remedy ? remedy : row->remedy);
	}
	return r;
}
