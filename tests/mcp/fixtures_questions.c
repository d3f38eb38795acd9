/* SPDX-License-Identifier: Apache-2.0 */
/* Tools and a prompt that ask the client. */
#include <string.h>

#include "base/cleanup.h"
#include "fixtures.h"

json_t *fixture_form(const char *message, const char *field, const char *type)
{
	return json_pack("{s:s, s:{s:s, s:{s:{s:s}}, s:[s]}}", "message", message,
			 "requestedSchema", "type", "object", "properties", field, "type", type,
			 "required", field);
}

static json_t *sampling(const char *text, int tokens)
{
	return json_pack("{s:[{s:s, s:{s:s, s:s}}], s:i}", "messages", "role", "user", "content",
			 "type", "text", "text", text, "maxTokens", tokens);
}

static void finish_with(struct mcp_call *call, const char *before, const json_t *answer)
{
	_cleanup_free_ char *text = json_dumps(answer, JSON_COMPACT);

	mcp_call_finish_text(call, false, "%s%s", before, text ? text : "");
}

static void ask_one(struct mcp_call *call, const char *key, enum mcp_ability ability,
		    json_t *params, const char *state)
{
	struct mcp_question question = { key, ability, params };

	mcp_call_ask(call, &question, 1, state);
}

void ask_sampling(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *answer = mcp_call_answer(call, "sample");

	(void)user;
	if (answer) {
		const json_t *content = json_object_get(answer, "content");
		const char *text = json_string_value(json_object_get(content, "text"));
		mcp_call_finish_text(call, false, "LLM response: %s", text ? text : "");
	} else {
		const char *prompt = json_string_value(json_object_get(arguments, "prompt"));
		ask_one(call, "sample", MCP_SAMPLING, sampling(prompt, 100), NULL);
	}
}

void ask_elicitation(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *answer = mcp_call_answer(call, "user");
	const char *message = json_string_value(json_object_get(arguments, "message"));

	(void)user;
	if (answer) {
		finish_with(call, "User response: ", answer);
		return;
	}
	ask_one(call, "user", MCP_ELICITATION,
		json_pack("{s:s, s:{s:s, s:{s:{s:s, s:s}, s:{s:s, s:s}}, s:[s, s]}}", "message",
			  message, "requestedSchema", "type", "object", "properties", "username",
			  "type", "string", "description", "User's response", "email", "type",
			  "string", "description", "User's email address", "required", "username",
			  "email"),
		NULL);
}

static void ask_schema(struct mcp_call *call, const char *schema)
{
	const json_t *answer = mcp_call_answer(call, "form");

	if (answer) {
		finish_with(call, "Elicitation completed: ", answer);
		return;
	}
	ask_one(call, "form", MCP_ELICITATION,
		json_pack("{s:s, s:o}", "message", "Please fill this in", "requestedSchema",
			  json_loads(schema, 0, NULL)),
		NULL);
}

void ask_defaults(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	ask_schema(call, "{\"type\":\"object\",\"properties\":{"
			 "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
			 "\"age\":{\"type\":\"integer\",\"default\":30},"
			 "\"score\":{\"type\":\"number\",\"default\":95.5},"
			 "\"status\":{\"type\":\"string\","
			 "\"enum\":[\"active\",\"inactive\",\"pending\"],\"default\":\"active\"},"
			 "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}");
}

void ask_enums(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	ask_schema(call,
		   "{\"type\":\"object\",\"properties\":{"
		   "\"untitledSingle\":{\"type\":\"string\","
		   "\"enum\":[\"option1\",\"option2\",\"option3\"]},"
		   "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
		   "{\"const\":\"value1\",\"title\":\"First Option\"},"
		   "{\"const\":\"value2\",\"title\":\"Second Option\"},"
		   "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
		   "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
		   "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
		   "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
		   "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
		   "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
		   "{\"const\":\"value1\",\"title\":\"First Choice\"},"
		   "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
		   "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}},\"required\":[]}");
}

void ask_streaming(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *answer = mcp_call_answer(call, "user_name");

	(void)user;
	(void)arguments;
	if (answer) {
		finish_with(call, "", answer);
	} else {
		ask_one(call, "user_name", MCP_ELICITATION,
			fixture_form("What is your name?", "name", "string"), NULL);
	}
}

void input_elicitation(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *content = json_object_get(mcp_call_answer(call, "user_name"), "content");
	const char *name = json_string_value(json_object_get(content, "name"));

	(void)user;
	(void)arguments;
	if (name) {
		mcp_call_finish_text(call, false, "Hello, %s!", name);
	} else {
		ask_one(call, "user_name", MCP_ELICITATION,
			fixture_form("What is your name?", "name", "string"), NULL);
	}
}

void input_sampling(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *content =
		json_object_get(mcp_call_answer(call, "capital_question"), "content");
	const char *text = json_string_value(json_object_get(content, "text"));

	(void)user;
	(void)arguments;
	if (text) {
		mcp_call_finish_text(call, false, "%s", text);
	} else {
		ask_one(call, "capital_question", MCP_SAMPLING,
			sampling("What is the capital of France?", 100), NULL);
	}
}

void input_roots(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *roots = json_object_get(mcp_call_answer(call, "client_roots"), "roots");

	(void)user;
	(void)arguments;
	if (json_is_array(roots)) {
		finish_with(call, "Roots: ", roots);
	} else {
		ask_one(call, "client_roots", MCP_ROOTS, NULL, NULL);
	}
}

/* Also test_input_required_result_tampered_state: the layer refuses a state that is not ours. */
void input_state(void *user, struct mcp_call *call, const json_t *arguments)
{
	const char *state = mcp_call_state(call);

	(void)user;
	(void)arguments;
	if (mcp_call_answer(call, "confirm") && state && strcmp(state, "asked") == 0) {
		mcp_call_finish_text(call, false, "state-ok");
	} else {
		ask_one(call, "confirm", MCP_ELICITATION,
			fixture_form("Please confirm", "ok", "boolean"), "asked");
	}
}

void input_several(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	if (mcp_call_state(call) && mcp_call_answer(call, "user_name") &&
	    mcp_call_answer(call, "greeting") && mcp_call_answer(call, "client_roots")) {
		mcp_call_finish_text(call, false, "All inputs received");
		return;
	}
	struct mcp_question questions[] = {
		{ "user_name", MCP_ELICITATION,
		  fixture_form("What is your name?", "name", "string") },
		{ "greeting", MCP_SAMPLING, sampling("Generate a greeting", 50) },
		{ "client_roots", MCP_ROOTS, NULL },
	};
	mcp_call_ask(call, questions, 3, "several");
}

void input_rounds(void *user, struct mcp_call *call, const json_t *arguments)
{
	const char *state = mcp_call_state(call);

	(void)user;
	(void)arguments;
	if (state && strcmp(state, "round 2") == 0 && mcp_call_answer(call, "step2")) {
		mcp_call_finish_text(call, false, "All rounds done");
	} else if (state && mcp_call_answer(call, "step1")) {
		ask_one(call, "step2", MCP_ELICITATION,
			fixture_form("Step 2: What is your favorite color?", "color", "string"),
			"round 2");
	} else {
		ask_one(call, "step1", MCP_ELICITATION,
			fixture_form("Step 1: What is your name?", "name", "string"), "round 1");
	}
}

void input_capabilities(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	if (mcp_call_answer(call, "sample") || mcp_call_answer(call, "form")) {
		mcp_call_finish_text(call, false, "done");
	} else if (mcp_call_can(call, MCP_SAMPLING)) {
		ask_one(call, "sample", MCP_SAMPLING, sampling("Say something", 50), NULL);
	} else {
		ask_one(call, "form", MCP_ELICITATION, fixture_form("Your name?", "name", "string"),
			NULL);
	}
}

void input_prompt(void *user, struct mcp_call *call, const json_t *arguments)
{
	const json_t *content = json_object_get(mcp_call_answer(call, "user_context"), "content");
	const char *context = json_string_value(json_object_get(content, "context"));

	(void)user;
	(void)arguments;
	if (context) {
		mcp_call_finish(call, json_pack("{s:[o]}", "messages",
						fixture_message(fixture_text(context))));
	} else {
		ask_one(call, "user_context", MCP_ELICITATION,
			fixture_form("What context should the prompt use?", "context", "string"),
			NULL);
	}
}
