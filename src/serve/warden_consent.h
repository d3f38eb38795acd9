/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers that may give consent, as the warden knows it from the supervisor: tokens that the
 * operator has marked, and users. The front cannot add to it; of a token it must show the token
 * itself, which it has only while somebody uses it.
 */
#ifndef BRIG_SERVE_WARDEN_CONSENT_H
#define BRIG_SERVE_WARDEN_CONSENT_H

#include "engine/engine.h"
#include "front/access/tokens.h"

struct warden_consent {
	struct tokens tokens;
	const struct strlist *uids; /* borrowed: of users */
};

/* The tokens in a block of the supervisor's, in place of those that there were. */
int warden_consent_take(struct warden_consent *consent, int block, struct brig_error *err);
/* For engine_service_consent(). */
bool warden_may_consent(void *user, const struct engine_call *call);
void warden_consent_done(struct warden_consent *consent);
#endif
