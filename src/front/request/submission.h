/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to an execution: permission, key, digest. */
#ifndef BRIG_FRONT_REQUEST_SUBMISSION_H
#define BRIG_FRONT_REQUEST_SUBMISSION_H

#include "front/request/request.h"

/*
 * Fills in the submission from the request and makes the execution; submission->execution_request
 * is taken over in any case. `begun` is called later for submissions with a key, and for queued
 * ones, unless the request has ended.
 */
int submission_begin(struct request *request, struct submission *submission,
		     void (*begun)(struct request *request, const struct problem *problem,
				   const char *existing_id, bool same),
		     struct execution **ret, struct problem *problem);
#endif
