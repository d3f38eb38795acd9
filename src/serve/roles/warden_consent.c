/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that may give a person's consent: see warden_consent.h. */
#include "serve/roles/warden_consent.h"

#include <string.h>

#include "base/error.h"
#include "role/message.h"
#include "serve/roles/role_process.h"

int warden_consent_take(struct warden_consent *consent, int block, struct brig_error *err)
{
	struct tokens fresh = { 0 };
	void *text = NULL;
	size_t size = 0;
	int r = message_block_map(block, TOKENS_BYTES_MAX, &text, &size);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "tokens");
	}
	r = size ? tokens_parse(text, size, &fresh, err) : 0;
	message_block_unmap(text, size);
	if (r < 0) {
		return r;
	}
	tokens_done(&consent->tokens);
	consent->tokens = fresh;
	return 0;
}

static bool user_may(const struct warden_consent *consent, const struct engine_call *call)
{
	return call->caller && strncmp(call->caller, "uid:", 4) == 0 &&
	       strcmp(call->caller, call->tenant) == 0 &&
	       strlist_has(consent->uids, call->caller + 4);
}

bool warden_may_consent(void *user, const struct engine_call *call)
{
	const struct warden_consent *consent = user;

	if (!call->proof || !call->proof[0]) {
		return user_may(consent, call);
	}
	const struct token *token = tokens_find(&consent->tokens, call->proof, time(NULL));
	return token && token->consent && strcmp(token->tenant, call->tenant) == 0;
}

void warden_consent_done(struct warden_consent *consent)
{
	tokens_done(&consent->tokens);
}
