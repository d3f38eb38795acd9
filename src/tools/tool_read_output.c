/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rest of a run's output, in pages. To find a page, the text before it is decoded: a part of it
 * for one of the calls in each round of the loop, by turns, so that other work is done in between.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/tools_internal.h"

/* A call that waits for its turn. */
struct output_read {
	struct list_node node;
	struct mcp_call *mcp;
	const json_t *arguments; /* owned by the call */
};

static bool is_named(const struct outcome_file *file, const char *name)
{
	_cleanup_free_ char *path = outcome_file_path(file);

	return path && strcmp(path, name) == 0;
}

bool tools_find_output(struct kept_output *kept, const char *name, struct outcome_stream *ret,
		       struct output_positions **ret_positions)
{
	struct outcome outcome;
	struct outcome_file file;
	const char *json;
	size_t at = 0;

	if (outcome_read(kept->result->data, kept->result->size, &outcome, &json) < 0) {
		return false;
	}
	bool is_stderr = strcmp(name, "stderr") == 0;
	*ret_positions = &kept->positions[is_stderr];
	if (is_stderr || strcmp(name, "stdout") == 0) {
		outcome_stream_open(&outcome, json, is_stderr, ret);
		return true;
	}
	while (outcome_file_next(&outcome, json, &at, &file)) {
		if (is_named(&file, name)) {
			tools_file_stream(&file, ret);
			return true;
		}
	}
	return false;
}

static size_t number_of(const json_t *arguments, const char *name, size_t fallback)
{
	const json_t *value = json_object_get(arguments, name);

	return value ? (size_t)json_integer_value(value) : fallback;
}

static void answer_page(struct mcp_call *mcp, struct outcome_stream *bytes, size_t offset,
			size_t limit)
{
	size_t size = 0;
	_cleanup_free_ char *data =
		tools_bytes(bytes, bytes->offset == offset ? limit + 4 : 0, &size);
	json_t *page = data ? tools_page(data, size, 0, limit) : NULL;

	mcp_call_finish(mcp, mcp_result(1, &page));
}

/* True: the call has ended. */
static bool read_some(struct tools *tools, struct mcp_call *mcp, const json_t *arguments)
{
	const char *id = tools_text(arguments, "execution_id");
	const char *name = tools_text(arguments, "name") ? tools_text(arguments, "name") : "stdout";
	size_t offset = number_of(arguments, "offset", 0);
	struct outcome_stream bytes;
	struct output_positions *positions;

	if (mcp_call_is_cancelled(mcp)) {
		mcp_call_finish(mcp, NULL);
		return true;
	}
	struct kept_output *kept = kept_outputs_find(tools->kept, mcp_call_tenant(mcp), id);
	if (!kept) {
		mcp_call_finish_text(
			mcp, true,
			"Nothing is stored of execution %s: its output was shown completely, or it "
			"is too old. Run the code again if it is needed.",
			id);
		return true;
	}
	if (!tools_find_output(kept, name, &bytes, &positions)) {
		mcp_call_finish_text(mcp, true,
				     "Execution %s has no output of the name %s. Use stdout, "
				     "stderr or the path of one of its files.",
				     id, name);
		return true;
	}
	int r = output_positions_seek(positions, &bytes, offset);
	if (r > 0) {
		answer_page(mcp, &bytes, offset, number_of(arguments, "limit", PAGE_BYTES));
	} else if (r < 0) {
		mcp_call_finish(mcp, NULL); /* out of memory */
	}
	return r != 0;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* NULL: there is none. */
static struct output_read *take_first(struct tools *tools)
{
	struct output_read *read = LIST_FIRST(&tools->reads, struct output_read, node);

	if (read) {
		list_remove(&tools->reads, &read->node);
	}
	return read;
}

static bool go_on_later(struct tools *tools)
{
	return tools->reads_due.place || loop_timer_set(tools->loop, &tools->reads_due, 0) == 0;
}

static void reads_due(void *user)
{
	struct tools *tools = user;
	struct output_read *read = take_first(tools);

	/* Ending a call may start the next one of its client. */
	if (read_some(tools, read->mcp, read->arguments)) {
		free(read);
	} else {
		list_append(&tools->reads, &read->node);
	}
	while (!list_empty(&tools->reads) && !go_on_later(tools)) {
		read = take_first(tools);
		mcp_call_finish(read->mcp, NULL); /* out of memory */
		free(read);
	}
}

void tool_read_output(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	struct tools *tools = user;
	struct output_read *read = malloc(sizeof(*read));

	if (!read || !go_on_later(tools)) {
		free(read);
		mcp_call_finish(mcp, NULL); /* out of memory */
		return;
	}
	*read = (struct output_read){ .mcp = mcp, .arguments = arguments };
	list_append(&tools->reads, &read->node);
}

void output_reads_init(struct tools *tools)
{
	tools->reads_due = (struct loop_timer){ .due = reads_due, .user = tools };
}

/* The server of the calls has been freed: they are not answered. */
void output_reads_done(struct tools *tools)
{
	loop_timer_clear(&tools->reads_due);
	struct output_read *read;
	while ((read = take_first(tools))) {
		mcp_call_finish(read->mcp, NULL);
		free(read);
	}
}
