/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person's consent through the client: the policy requires it (auto_run), the client can ask a
 * person (elicitation), and the caller may pass the answer on. The answer is valid only for the
 * call that was asked about: its arguments are sealed into the question (mcp_call_ask).
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/tools_internal.h"

#define KEY         "consent"
#define SHOWN_BYTES 1500u
#define SHOWN_LINES 30u

static bool has_agreed(const struct mcp_call *mcp)
{
	const json_t *answer = mcp_call_answer(mcp, KEY);
	const char *state = mcp_call_state(mcp), *action = tools_text(answer, "action");

	return state && strcmp(state, KEY) == 0 && action && strcmp(action, "accept") == 0 &&
	       json_is_true(json_object_get(json_object_get(answer, "content"), "run"));
}

bool tools_consent(const struct tools *tools, const struct mcp_call *mcp, const json_t *arguments)
{
	const struct tools_options *options = &tools->options;

	return options->consent || has_agreed(mcp) ||
	       (options->consent_asked && json_is_true(json_object_get(arguments, "consent")));
}

/* The start of the code, readable for a person: without characters that a terminal would act on. */
static void add_code(struct buf *text, const char *code, size_t size)
{
	size_t shown = tools_cut(code, size, SHOWN_BYTES);
	unsigned lines = 0;

	for (size_t i = 0; i < shown; i++) {
		lines += code[i] == '\n';
		if (lines == SHOWN_LINES) {
			shown = i;
		}
	}
	for (size_t i = 0; i < shown; i++) {
		unsigned char c = (unsigned char)code[i];
		buf_addc(text, (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : (char)c);
	}
	if (shown < size) {
		buf_addf(text, "\n(%zu bytes more)", size - shown);
	}
}

static json_t *question(const struct mcp_call *mcp, const char *why)
{
	const json_t *arguments = mcp_call_arguments(mcp),
		     *code = json_object_get(arguments, "code");
	const char *language = tools_text(arguments, "language");
	_cleanup_(buf_done)
	struct buf text = { 0 };

	buf_addf(&text, "brig: %s.\n", why);
	if (code) {
		buf_addf(&text, "Run this %s program?\n\n", language ? language : "Python");
		add_code(&text, json_string_value(code), json_string_length(code));
	} else {
		buf_adds(&text, "Open a session whose code runs without further questions?");
	}
	json_t *message = text.failed ? NULL : mcp_string(text.data, text.size);
	return json_pack("{s:o, s:{s:s, s:{s:{s:s, s:s, s:b}}, s:[s]}}", "message", message,
			 "requestedSchema", "type", "object", "properties", "run", "type",
			 "boolean", "title", "Run it", "default", 0, "required", "run");
}

bool tools_ask_consent(struct tools_call *call, const char *why)
{
	const struct tools_options *options = &call->tools->options;
	struct mcp_call *mcp = call->mcp;

	if (!mcp_call_can(mcp, MCP_ELICITATION) || mcp_call_answer(mcp, KEY) ||
	    mcp_call_is_cancelled(mcp) || !options->may_consent ||
	    !options->may_consent(options->user, mcp_call_tenant(mcp))) {
		return false;
	}
	struct mcp_question ask = { .key = KEY,
				    .ability = MCP_ELICITATION,
				    .params = question(mcp, why) };
	if (!ask.params) {
		return false;
	}
	mcp_call_ask(mcp, &ask, 1, KEY);
	return true;
}

bool tools_declined(const struct mcp_call *mcp)
{
	return mcp_call_answer(mcp, KEY) && !has_agreed(mcp);
}

/* A run that has not started: the risk of its code requires that a person agrees. */
bool tools_ask_for_risk(struct tools_call *call, const json_t *result)
{
	const json_t *verdict = json_object_get(result, "verdict");
	const char *cause = tools_text(verdict, "cause");
	const char *reason = tools_text(json_object_get(verdict, "refusal"), "reason");
	const char *setting = tools_text(verdict, "operator_remedy");

	/* For a session, consent is asked when it is opened. Code above refuse_from never runs. */
	return !call->session && cause && strcmp(cause, "risk") == 0 && reason && setting &&
	       strstr(setting, "auto_run.ask_from") && tools_ask_consent(call, reason);
}
