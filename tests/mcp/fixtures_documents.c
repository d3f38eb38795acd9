/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, prompts, completion. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixtures.h"

const struct mcp_resource fixture_resources[] = {
	{ "test://static-text", "Static text", NULL, "A text", "text/plain" },
	{ "test://static-binary", "Static binary", NULL, "An image", "image/png" },
	{ "test://watched-resource", "Watched", NULL, "May be subscribed to", "text/plain" },
	{ "test://template/{id}/data", "Template", NULL, "Has a parameter", "application/json" },
};
const size_t fixture_resources_count = ARRAY_SIZE(fixture_resources);

static void finish_contents(struct mcp_call *call, json_t *contents)
{
	mcp_call_finish(call, json_pack("{s:[o]}", "contents", contents));
}

static void read_template(struct mcp_call *call, const char *uri)
{
	char id[64], text[256];

	if (sscanf(uri, "test://template/%63[A-Za-z0-9_-]", id) != 1) {
		mcp_call_no_resource(call, uri);
		return;
	}
	snprintf(text, sizeof(text),
		 "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}", id, id);
	finish_contents(call, mcp_contents_text(uri, "application/json", text, strlen(text)));
}

void fixture_read(void *user, struct mcp_call *call, const char *uri)
{
	static const struct {
		const char *uri, *text;
	} texts[] = {
		{ "test://static-text", "This is the content of the static text resource." },
		{ "test://watched-resource", "Watched resource content." },
	};

	(void)user;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(texts[i].uri, uri) == 0) {
			finish_contents(call, mcp_contents_text(uri, "text/plain", texts[i].text,
								strlen(texts[i].text)));
			return;
		}
	}
	if (strcmp(uri, "test://static-binary") == 0) {
		finish_contents(call,
				mcp_contents_blob(uri, "image/png", fixture_png, fixture_png_size));
		return;
	}
	read_template(call, uri);
}

static void simple_prompt(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	mcp_call_finish(
		call,
		json_pack("{s:[o]}", "messages",
			  fixture_message(fixture_text("This is a simple prompt for testing."))));
}

static void arguments_prompt(void *user, struct mcp_call *call, const json_t *arguments)
{
	char text[512];

	(void)user;
	snprintf(text, sizeof(text), "Prompt with arguments: arg1='%s', arg2='%s'",
		 json_string_value(json_object_get(arguments, "arg1")),
		 json_string_value(json_object_get(arguments, "arg2")));
	mcp_call_finish(call, json_pack("{s:[o]}", "messages",
					fixture_message(mcp_text(text, strlen(text)))));
}

static void resource_prompt(void *user, struct mcp_call *call, const json_t *arguments)
{
	static const char text[] = "Embedded resource content for testing.";
	const char *uri = json_string_value(json_object_get(arguments, "resourceUri"));

	(void)user;
	mcp_call_finish(call, json_pack("{s:[o, o]}", "messages",
					fixture_message(mcp_embedded(mcp_contents_text(
						uri, "text/plain", text, strlen(text)))),
					fixture_message(fixture_text(
						"Please process the embedded resource above."))));
}

static void image_prompt(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	mcp_call_finish(
		call,
		json_pack("{s:[o, o]}", "messages",
			  fixture_message(mcp_image("image/png", fixture_png, fixture_png_size)),
			  fixture_message(fixture_text("Please analyze the image above."))));
}

static const struct mcp_prompt_argument two_arguments[] = {
	{ "arg1", "First test argument", true },
	{ "arg2", "Second test argument", true },
};
static const struct mcp_prompt_argument uri_argument[] = {
	{ "resourceUri", "URI of the resource to embed", true },
};

const struct mcp_prompt fixture_prompts[] = {
	{ "test_simple_prompt", NULL, "A prompt", NULL, 0, simple_prompt },
	{ "test_prompt_with_arguments", NULL, "With arguments", two_arguments, 2,
	  arguments_prompt },
	{ "test_prompt_with_embedded_resource", NULL, "With a resource", uri_argument, 1,
	  resource_prompt },
	{ "test_prompt_with_image", NULL, "With an image", NULL, 0, image_prompt },
	{ "test_input_required_result_prompt", NULL, "Asks first", NULL, 0, input_prompt },
};
const size_t fixture_prompts_count = ARRAY_SIZE(fixture_prompts);

void fixture_complete(void *user, struct mcp_call *call, const json_t *ref, const char *argument,
		      const char *value)
{
	static const char *const words[] = { "paris", "park", "party" };
	json_t *values = json_array();

	(void)user;
	(void)ref;
	(void)argument;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strncmp(words[i], value, strlen(value)) == 0) {
			json_array_append_new(values, json_string(words[i]));
		}
	}
	mcp_call_finish(call,
			json_pack("{s:{s:i, s:b, s:o}}", "completion", "total",
				  (int)json_array_size(values), "hasMore", 0, "values", values));
}
