/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a run ended, in words that a model can act on. */
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "tools/tools_internal.h"

#define EVENTS_TOLD 5

static void explain_refusal(const json_t *refusal, struct buf *out)
{
	json_int_t line = json_integer_value(json_object_get(refusal, "line"));

	if (!tools_text(refusal, "reason")) {
		return;
	}
	if (line > 0) {
		buf_addf(out, " In line %lld", (long long)line);
	}
	buf_addf(out, "%s %s.", line > 0 ? ":" : "", tools_text(refusal, "reason"));
}

/* The description of an event; NULL: it is not mentioned. */
static const char *event_words(const json_t *event)
{
	static const struct {
		const char *kind, *words;
	} described[] = {
		{ "connection.refused", "The sandbox refused a connection to" },
		{ "limit.touched", "It reached the limit" },
	};
	const char *kind = tools_text(event, "kind");

	for (size_t i = 0; i < ARRAY_SIZE(described) && kind; i++) {
		if (strcmp(kind, described[i].kind) == 0 && tools_text(event, "subject") &&
		    tools_text(event, "reason")) {
			return described[i].words;
		}
	}
	return NULL;
}

/* A name lookup in a run without a network. */
static bool is_failed_lookup(const json_t *result, const json_t *event)
{
	const char *words = event_words(event);

	return words && !json_object_get(result, "network") &&
	       strcmp(tools_text(event, "kind"), "connection.refused") == 0;
}

/* Denied hosts and limits that were reached, with alternatives. */
static void explain_events(const json_t *result, struct buf *out)
{
	const json_t *events = json_object_get(result, "events");
	unsigned count = 0;

	for (size_t i = 0; i < json_array_size(events) && count < EVENTS_TOLD; i++) {
		const json_t *event = json_array_get(events, i);
		const char *words = event_words(event);
		if (words && !is_failed_lookup(result, event)) {
			count++;
			buf_addf(out, " %s %s: %s.", words, tools_text(event, "subject"),
				 tools_text(event, "reason"));
		}
	}
}

/* Mentioned once, also for a program that went on without them. */
static void explain_names(const json_t *result, struct buf *out)
{
	const json_t *events = json_object_get(result, "events");
	const char *remedy = tools_text(json_object_get(result, "verdict"), "remedy");
	_cleanup_(buf_done)
	struct buf names = { 0 };
	bool mentioned = false;

	for (size_t i = 0, count = 0; i < json_array_size(events) && count < EVENTS_TOLD; i++) {
		const json_t *event = json_array_get(events, i);
		if (is_failed_lookup(result, event)) {
			const char *name = tools_text(event, "subject");
			mentioned |= remedy && strstr(remedy, name);
			buf_addf(&names, "%s%s", count++ ? ", " : "", name);
		}
	}
	if (names.size && !mentioned) {
		buf_addf(out,
			 " The program looked up %s: this run has no network. A run may reach the "
			 "hosts in network.allow of the policy.",
			 names.data);
	}
}

static void explain_end(const json_t *result, struct buf *out)
{
	const json_t *verdict = json_object_get(result, "verdict");
	const json_t *denial = json_object_get(verdict, "denial");
	const char *status = tools_text(result, "status");
	const json_t *code = json_object_get(result, "exit_code");

	bool exited = strcmp(status, "failed") == 0 && json_is_integer(code);

	if (exited) {
		buf_addf(out, " The program ended with exit status %d.",
			 (int)json_integer_value(code));
	} else {
		buf_addf(out, " Status: %s.", status);
	}
	explain_refusal(json_object_get(verdict, "refusal"), out);
	/* For a program that just exits, the remedy would repeat the reason. */
	if (tools_text(verdict, "remedy") && (!exited || tools_text(verdict, "operator_remedy"))) {
		buf_addf(out, " %s", tools_text(verdict, "remedy"));
		/* The remedy has the names of the command line and of the API. */
		if (tools_text(verdict, "limit_name") &&
		    strcmp(tools_text(verdict, "limit_name"), "wall_ms") == 0) {
			buf_adds(out, " In this tool it is the argument timeout, in seconds.");
		}
	}
	if (json_is_object(denial) && tools_text(denial, "meaning")) {
		const char *reason = tools_text(denial, "reason");
		buf_addf(out, " The sandbox refused %s: %s.", tools_text(denial, "meaning"),
			 reason ? reason : "not allowed");
	}
	explain_events(result, out);
}

bool tools_went_well(const json_t *result)
{
	const char *status = tools_text(result, "status");

	return !status || strcmp(status, "ok") == 0;
}

void tools_explain(const json_t *result, struct buf *out)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	if (!tools_went_well(result)) {
		explain_end(result, &text);
	}
	explain_names(result, &text);
	if (text.size) {
		buf_add(out, text.data + 1, text.size - 1); /* each sentence begins with a blank */
	}
}
