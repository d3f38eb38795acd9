/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person's consent through the client: the policy requires it (auto_run), the client can ask a
 * person (elicitation), and the caller may pass the answer on. The answer is valid only for the
 * call that was asked about: its arguments are sealed into the question (mcp_call_ask).
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"
#include "tools/tools_internal.h"

#define KEY         "consent"
#define SHOWN_BYTES 1500u
#define SHOWN_LINES 30u
/* Of files, arguments and hosts. */
#define SHOWN_NAMES      5u
#define SHOWN_NAME_BYTES 64u

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

/* Controls, which a terminal acts on; characters that are not seen, or change others' order. */
static bool is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0, 0x1f },        { 0x7f, 0x9f },     { 0xad, 0xad },       { 0x61c, 0x61c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

/* Text as a person can read it: a hidden character is '?', and so is a quote in a name. */
static void add_text(struct buf *text, const char *data, size_t size, bool is_name)
{
	for (size_t i = 0, used; i < size; i += used) {
		uint32_t c;
		bool valid = utf8_decode(data + i, size - i, &used, &c);
		bool hides =
			is_name ? is_hidden(c) || c == '"' : is_hidden(c) && c != '\n' && c != '\t';

		if (!valid || hides) {
			buf_addc(text, '?');
		} else {
			buf_add(text, data + i, used);
		}
	}
}

/* The start of the code. */
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
	add_text(text, code, shown, false);
	if (shown < size) {
		buf_addf(text, "\n(%zu bytes more)", size - shown);
	}
}

/* The first names of a list: strings, or objects with a path. */
static void add_names(struct buf *text, const json_t *list)
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count && i < SHOWN_NAMES; i++) {
		const json_t *item = json_array_get(list, i);
		const json_t *name = json_is_object(item) ? json_object_get(item, "path") : item;
		const char *data = json_string_value(name);
		size_t size = json_string_length(name);
		size_t shown = tools_cut(data, size, SHOWN_NAME_BYTES);

		buf_adds(text, i ? ", \"" : "\"");
		add_text(text, data, shown, true);
		buf_adds(text, shown < size ? "...\"" : "\"");
	}
	if (count > SHOWN_NAMES) {
		buf_addf(text, " and %zu more", count - SHOWN_NAMES);
	}
}

/* The rest of the arguments that the answer covers, in one line; nothing where there are none. */
static void add_rest(struct buf *text, const json_t *arguments)
{
	static const struct {
		const char *key, *one, *many;
	} lists[] = {
		{ "files", "file", "files" },
		{ "args", "argument", "arguments" },
		{ "network", "host to connect to", "hosts to connect to" },
	};
	const char *lead = "With ";
	size_t input = json_string_length(json_object_get(arguments, "stdin"));
	static const char *const words[][2] = {
		{ "provider", "the provider" },
		{ "venv", "the virtualenv" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const json_t *list = json_object_get(arguments, lists[i].key);
		size_t count = json_array_size(list);

		if (count > 0) {
			buf_addf(text, "%s%zu %s (", lead, count,
				 count == 1 ? lists[i].one : lists[i].many);
			add_names(text, list);
			buf_addc(text, ')');
			lead = ", ";
		}
	}
	if (input > 0) {
		buf_addf(text, "%s%zu bytes of standard input", lead, input);
		lead = ", ";
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *word = tools_text(arguments, words[i][0]);
		if (word) {
			buf_addf(text, "%s%s \"", lead, words[i][1]);
			add_text(text, word, strlen(word), true);
			buf_addc(text, '"');
			lead = ", ";
		}
	}
	if (lead[0] == ',') {
		buf_adds(text, ".\n");
	}
}

static json_t *question(const struct mcp_call *mcp, const char *why, bool opens_session)
{
	const json_t *arguments = mcp_call_arguments(mcp),
		     *code = json_object_get(arguments, "code");
	const char *language = tools_text(arguments, "language");
	_cleanup_(buf_done)
	struct buf text = { 0 };

	buf_addf(&text, "brig: %s.\n", why);
	if (code) {
		language = language ? language : "Python";
		buf_adds(&text, "Run this ");
		add_text(&text, language, strlen(language), true);
		buf_adds(&text, " program?\n");
		/* Before the code, which cannot imitate it there. */
		add_rest(&text, arguments);
		if (opens_session) {
			buf_addf(&text,
				 "The session %s is opened for it, whose later code runs without "
				 "being asked about.\n",
				 tools_text(arguments, "session_id"));
		}
		buf_addc(&text, '\n');
		add_code(&text, json_string_value(code), json_string_length(code));
	} else {
		buf_adds(&text, "Open a session whose code runs without being asked about?\n");
		add_rest(&text, arguments);
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
				    .params = question(mcp, why, call->arguments != NULL) };
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
