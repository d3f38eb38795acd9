/* SPDX-License-Identifier: Apache-2.0 */
/* The tools, and those of them that answer at once. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixtures.h"

const unsigned char fixture_png[] = {
	0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 'I',  'H',
	'D',  'R',  0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
	0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 'I',  'D',  'A',  'T',  0x78,
	0x9c, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0x48, 0xaf, 0xa4, 0x71, 0x00,
	0x00, 0x00, 0x00, 'I',  'E',  'N',  'D',  0xae, 0x42, 0x60, 0x82,
};
const size_t fixture_png_size = sizeof(fixture_png);

const unsigned char fixture_wav[] = {
	'R', 'I', 'F', 'F', 40,  0,   0,   0,   'W',  'A',  'V', 'E', 'f',  'm',  't', ' ',
	16,  0,   0,   0,   1,   0,   1,   0,   0x40, 0x1f, 0,   0,   0x80, 0x3e, 0,   0,
	2,   0,   16,  0,   'd', 'a', 't', 'a', 4,    0,    0,   0,   0,    0,    0,   0,
};
const size_t fixture_wav_size = sizeof(fixture_wav);

json_t *fixture_text(const char *text)
{
	return mcp_text(text, strlen(text));
}

json_t *fixture_message(json_t *content)
{
	return json_pack("{s:s, s:o}", "role", "user", "content", content);
}

void fixture_finish(struct mcp_call *call, json_t *item)
{
	mcp_call_finish(call, mcp_result(1, &item));
}

static json_t *png(void)
{
	return mcp_image("image/png", fixture_png, sizeof(fixture_png));
}

static void simple_text(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	mcp_call_finish_text(call, false, "This is a simple text response for testing.");
}

static void image_content(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	fixture_finish(call, png());
}

static void audio_content(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	fixture_finish(call, mcp_audio("audio/wav", fixture_wav, sizeof(fixture_wav)));
}

static json_t *embedded(const char *uri, const char *type, const char *text)
{
	return mcp_embedded(mcp_contents_text(uri, type, text, strlen(text)));
}

static void embedded_resource(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	fixture_finish(call, embedded("test://embedded-resource", "text/plain",
				      "This is an embedded resource content."));
}

static void several_types(void *user, struct mcp_call *call, const json_t *arguments)
{
	json_t *items[] = {
		fixture_text("Multiple content types test:"),
		png(),
		embedded("test://mixed-content-resource", "application/json",
			 "{\"test\":\"data\",\"value\":123}"),
	};

	(void)user;
	(void)arguments;
	mcp_call_finish(call, mcp_result(ARRAY_SIZE(items), items));
}

static void error_handling(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	mcp_call_finish_text(call, true, "This tool intentionally returns an error for testing");
}

static void logging_tool(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	mcp_call_log(call, MCP_INFO, "fixtures", json_string("a log message"));
	mcp_call_finish_text(call, false, "logged, if anybody wanted it");
}

static void trigger(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct fixtures *fixtures = user;
	const char *uri = json_string_value(json_object_get(arguments, "uri"));

	mcp_server_updated(fixtures->server, mcp_call_tenant(call), uri);
	mcp_call_finish_text(call, false, "updated %s", uri);
}

static void trigger_tools(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct fixtures *fixtures = user;

	(void)arguments;
	mcp_server_changed(fixtures->server, MCP_TOOLS);
	mcp_call_finish_text(call, false, "tools changed");
}

static void trigger_prompts(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct fixtures *fixtures = user;

	(void)arguments;
	mcp_server_changed(fixtures->server, MCP_PROMPTS);
	mcp_call_finish_text(call, false, "prompts changed");
}

/* The received arguments and their sender; also as structured content. */
static void echo(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct fixtures *fixtures = user;
	json_t *structured =
		json_pack("{s:s, s:s, s:i}", "tenant", mcp_call_tenant(call), "version",
			  mcp_call_version(call), "cancelled", fixtures->cancelled);

	json_object_set_new(structured, "arguments", json_deep_copy(arguments));
	_cleanup_free_ char *text = json_dumps(structured, JSON_COMPACT);
	json_t *item = fixture_text(text ? text : "");
	json_t *result = mcp_result(1, &item);
	json_object_set_new(result, "structuredContent", structured);
	mcp_call_finish(call, result);
}

/* As much output as requested: for clients that read slowly. */
static void flood(void *user, struct mcp_call *call, const json_t *arguments)
{
	size_t size = (size_t)json_integer_value(json_object_get(arguments, "bytes"));
	_cleanup_free_ char *text = malloc(size + 1);

	(void)user;
	memset(text, 'x', size);
	for (unsigned i = 1; i <= 1000; i++) {
		mcp_call_progress(call, i, 1000, "a message that makes it longer");
	}
	fixture_finish(call, mcp_text(text, size));
}

#define SCHEMA_2020                                                                                \
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","       \
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"  \
	"\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"                      \
	"\"properties\":{\"name\":{\"type\":\"string\"},"                                          \
	"\"address\":{\"$ref\":\"#/$defs/address\"},"                                              \
	"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                  \
	"\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                        \
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"         \
	"\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                        \
	"\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                   \
	"\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

#define ONE_STRING(name)                                                                           \
	"{\"type\":\"object\",\"properties\":{\"" name                                             \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"],\"additionalProperties\":false}"
#define ONE_NUMBER(name)                                                                           \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"integer\",\"minimum\":0,"   \
	"\"maximum\":33554432}},\"required\":[\"" name "\"]}"

#define TOOL(tool_name, text, function)                                                            \
	{                                                                                          \
		.name = tool_name, .description = text, .input_schema = NO_ARGUMENTS,              \
		.call = function,                                                                  \
	}

const struct mcp_tool fixture_tools[] = {
	TOOL("test_simple_text", "Returns a text", simple_text),
	TOOL("test_image_content", "Returns an image", image_content),
	TOOL("test_audio_content", "Returns a sound", audio_content),
	TOOL("test_embedded_resource", "Returns a resource", embedded_resource),
	TOOL("test_multiple_content_types", "Returns all kinds", several_types),
	TOOL("test_error_handling", "Always an error", error_handling),
	TOOL("test_tool_with_progress", "Reports progress", step_progress),
	TOOL("test_tool_with_logging", "Logs", step_logging),
	TOOL("test_logging_tool", "Logs at once", logging_tool),
	TOOL("test_reconnection", "Lets the connection go", step_reconnection),
	TOOL("test_trigger_tool_change", "Says that tools have changed", trigger_tools),
	TOOL("test_trigger_prompt_change", "Says that prompts have changed", trigger_prompts),
	TOOL("test_streaming_elicitation", "Asks the user", ask_streaming),
	TOOL("test_elicitation_sep1034_defaults", "Asks, with defaults", ask_defaults),
	TOOL("test_elicitation_sep1330_enums", "Asks, with choices", ask_enums),
	TOOL("test_input_required_result_elicitation", "Asks for a name", input_elicitation),
	TOOL("test_input_required_result_sampling", "Asks a model", input_sampling),
	TOOL("test_input_required_result_list_roots", "Asks for roots", input_roots),
	TOOL("test_input_required_result_request_state", "Keeps a state", input_state),
	TOOL("test_input_required_result_multiple_inputs", "Asks for much", input_several),
	TOOL("test_input_required_result_multi_round", "Asks twice", input_rounds),
	TOOL("test_input_required_result_tampered_state", "Keeps a state", input_state),
	TOOL("test_input_required_result_capabilities", "Asks what it may", input_capabilities),
	{
		.name = "test_missing_capability",
		.description = "Needs sampling",
		.input_schema = NO_ARGUMENTS,
		.needs = MCP_SAMPLING,
		.call = simple_text,
	},
	{
		.name = "test_sampling",
		.description = "Asks the client's model",
		.input_schema = ONE_STRING("prompt"),
		.call = ask_sampling,
	},
	{
		.name = "test_elicitation",
		.description = "Asks the user",
		.input_schema = ONE_STRING("message"),
		.call = ask_elicitation,
	},
	{
		.name = "json_schema_2020_12_tool",
		.description = "Tool with JSON Schema 2020-12 features",
		.input_schema = SCHEMA_2020,
		.call = echo,
	},
	{
		.name = "test_custom_header",
		.description = "A parameter that is in a header too",
		.input_schema = "{\"type\":\"object\",\"properties\":{\"region\":"
				"{\"type\":\"string\",\"x-mcp-header\":\"Region\"},\"zone\":"
				"{\"type\":\"integer\",\"x-mcp-header\":\"Zone\"}},"
				"\"required\":[\"region\"]}",
		.call = echo,
	},
	{
		.name = "test_echo",
		.title = "Echo",
		.description = "Gives its arguments back",
		.input_schema = "{\"type\":\"object\",\"properties\":{\"text\":"
				"{\"type\":\"string\",\"maxLength\":2000000}}}",
		.output_schema = "{\"type\":\"object\",\"properties\":{\"tenant\":{\"type\":"
				 "\"string\"},\"arguments\":{\"type\":\"object\"}}}",
		.annotations = "{\"readOnlyHint\":true}",
		.call = echo,
	},
	{
		.name = "test_slow",
		.description = "Waits; can be cancelled",
		.input_schema = ONE_NUMBER("ms"),
		.call = step_slow,
	},
	{
		.name = "test_flood",
		.description = "Much output",
		.input_schema = ONE_NUMBER("bytes"),
		.call = flood,
	},
	{
		.name = "test_trigger_update",
		.description = "Says that a resource has changed",
		.input_schema = ONE_STRING("uri"),
		.call = trigger,
	},
};
const size_t fixture_tools_count = ARRAY_SIZE(fixture_tools);
