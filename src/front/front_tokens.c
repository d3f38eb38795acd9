/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing the tokens while the service runs. Tokens that stay keep their sessions, runs and
 * counts; tokens that are gone keep nothing: an operator who revokes a token wants its activity to
 * end.
 */
#include <stdlib.h>

#include "base/json/json_out.h"
#include "front/request/request.h"
#include "role/log.h"

static void audit(struct front *front, size_t cancelled)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };

	json_open(&json, NULL, '{');
	json_u64(&json, "tokens", front->auth.tokens.count);
	json_u64(&json, "cancelled", cancelled);
	json_close(&json, '}');
	ledger_audit(front->ledger, "tokens.changed", "brig", facts.data ? facts.data : "{}", NULL,
		     NULL);
	buf_done(&facts);
}

/* Requests first: their runs end with them, and none of them starts another. */
int front_tokens(struct front *front, const char *text, size_t size, struct brig_error *error)
{
	struct tokens old = front->auth.tokens;
	struct tokens fresh = { 0 };

	if (size > 0) {
		int r = tokens_parse(text, size, &fresh, error);
		if (r < 0) {
			return r;
		}
	}
	front->auth.tokens = fresh;
	requests_revoke(front);
	front_mcp_revoke(front);
	size_t cancelled = executions_revoke(front);
	admission_tokens(&front->admission, &front->auth.tokens);
	audit(front, cancelled);
	role_log(ROLE_NOTICE, "tokens-changed", "count=%zu cancelled=%zu", fresh.count, cancelled);
	tokens_done(&old);
	front_check_drained(front);
	return 0;
}
