/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers that may give a person's consent, as the supervisor reports it to the warden: users, and
 * tokens that the operator has marked. The front cannot add any; for a token it must send the token
 * itself, which it has only while a client uses it.
 */
#ifndef BRIG_SERVE_WARDEN_CONSENT_H
#define BRIG_SERVE_WARDEN_CONSENT_H

#include "engine/engine.h"
#include "front/access/tokens.h"

struct warden_consent {
	struct tokens tokens;
	const struct strlist *uids; /* borrowed: of users */
};

/* Replaces the tokens with those in a block of the supervisor's. */
int warden_consent_take(struct warden_consent *consent, int block, struct brig_error *err);
/* For engine_service_consent(). */
bool warden_may_consent(void *user, const struct engine_call *call);
void warden_consent_done(struct warden_consent *consent);
#endif
