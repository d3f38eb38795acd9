/* SPDX-License-Identifier: Apache-2.0 */
/* The set of tools as an MCP provider: see tools.h. */
#include "tools/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/error.h"
#include "tools/tools_internal.h"

#define TEXTS_PER_TOOL 5

static const char instructions[] =
	"Runs code in sealed, one-shot sandboxes: no network except the hosts that the policy "
	"allows, no files except its own, limits on time, memory and output. Use execute_code for "
	"everything; open_session first when later code needs the variables or files of earlier "
	"code. A program's exit status and its error text are in the answer: read them, correct "
	"the code, run it again.";

const struct tools_entry tools_table[] = {
	{ "execute_code", tool_execute_code },
	{ "read_output", tool_read_output },
	{ "list_runtimes", tool_list_runtimes },
	{ "open_session", tool_open_session },
	{ "close_session", tool_close_session },
	{ "interrupt_session", tool_interrupt_session },
	{ "fork_session", tool_fork_session },
	{ "list_sessions", tool_list_sessions },
	{ "list_files", tool_list_files },
	{ "read_file", tool_read_file },
	{ "write_file", tool_write_file },
	{ "delete_file", tool_delete_file },
	{ "execute_python_sandbox", tool_execute_code },
};
const size_t tools_table_count = ARRAY_SIZE(tools_table);

static const struct embedded_file *file_of(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "tools/%s.json", name);
	return embedded_find(path);
}

/* The text of a member: a string unchanged, anything else as JSON. Owned by the tools. */
static const char *keep_text(struct tools *tools, const json_t *file, const char *member)
{
	const json_t *value = json_object_get(file, member);

	if (!value) {
		return NULL;
	}
	char *text = json_is_string(value) ? strdup(json_string_value(value))
					   : json_dumps(value, JSON_COMPACT);
	if (text) {
		tools->texts[tools->texts_count++] = text;
	}
	return text;
}

static int read_tool(struct tools *tools, size_t i)
{
	const struct embedded_file *file = file_of(tools_table[i].name);
	json_t *json =
		file ? json_loadb(file->data, file->size, JSON_REJECT_DUPLICATES, NULL) : NULL;

	if (!json) {
		return -EINVAL;
	}
	tools->tools[i] = (struct mcp_tool){
		.name = tools_table[i].name,
		.title = keep_text(tools, json, "title"),
		.description = keep_text(tools, json, "description"),
		.input_schema = keep_text(tools, json, "input"),
		.output_schema = keep_text(tools, json, "output"),
		.annotations = keep_text(tools, json, "annotations"),
		.hidden = json_is_true(json_object_get(json, "hidden")),
		.call = tools_table[i].call,
	};
	json_decref(json);
	return tools->tools[i].input_schema ? 0 : -ENOMEM;
}

static int fill(struct tools *tools)
{
	int r = kept_outputs_new(&tools->kept);

	r = r < 0 ? r : session_names_new(&tools->names);
	tools->tools = calloc(tools_table_count, sizeof(*tools->tools));
	tools->texts = calloc(tools_table_count * TEXTS_PER_TOOL, sizeof(*tools->texts));
	if (!tools->tools || !tools->texts) {
		r = -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < tools_table_count; i++) {
		r = read_tool(tools, i);
	}
	return r;
}

int tools_new(struct loop *loop, struct engine *engine, const struct tools_options *options,
	      struct tools **ret, struct brig_error *error)
{
	struct tools *tools = calloc(1, sizeof(*tools));

	if (!tools) {
		return error_errno(error, BRIG_E_SYSTEM, ENOMEM, "tools");
	}
	tools->loop = loop;
	tools->engine = engine;
	tools->options = options ? *options : (struct tools_options){ 0 };
	output_reads_init(tools);
	int r = fill(tools);
	if (r < 0) {
		tools_free(tools);
		return error_errno(error, BRIG_E_SYSTEM, -r, "tools");
	}
	tools->provider = (struct mcp_provider){
		.name = "brig",
		.title = "brig: a sandbox for code",
		.version = BRIG_VERSION,
		.instructions = instructions,
		.tools = tools->tools,
		.tools_count = tools_table_count,
		.resources = tools_resources,
		.resources_count = tools_resources_count,
		.read = tools_read_resource,
		.list = tools_list_resources,
		.prompts = tools_prompts,
		.prompts_count = tools_prompts_count,
		.ttl_ms = 3600000,
		.user = tools,
	};
	*ret = tools;
	return 0;
}

const struct mcp_provider *tools_provider(const struct tools *tools)
{
	return &tools->provider;
}
