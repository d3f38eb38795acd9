/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources of MCP: kept outputs and files of runs, and files of sessions.
 *
 *   brig://execution/ID/stdout, .../stderr, .../file/PATH
 *   brig://session/ID/file/PATH
 *
 * One that is too long for a resource is read in pages: read_output, read_file.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "tools/tools_internal.h"

#define SCHEME             "brig://"
#define RESOURCE_BYTES_MAX (256u << 10)
#define LISTED_MAX         200u
#define PATH_ROOM          2048u

const struct mcp_resource tools_resources[] = {
	{ SCHEME "execution/{id}/{stream}", "output", "Output of an execution",
	  "stdout or stderr of an execution whose output was too long for its answer",
	  "text/plain" },
	{ SCHEME "execution/{id}/file/{+path}", "output-file", "File of an execution",
	  "a file that an execution has left in out/", NULL },
	{ SCHEME "session/{id}/file/{+path}", "session-file", "File of a session",
	  "a file of an open session", NULL },
};
const size_t tools_resources_count = ARRAY_SIZE(tools_resources);

/* --- addresses ------------------------------------------------------------------------------- */

struct address {
	bool session;         /* else an execution */
	char id[65];          /* or the caller's name for a session */
	char name[PATH_ROOM]; /* stdout, stderr, or the path of a file */
};

static int hex_value(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

static bool decode(const char *text, char *out, size_t room)
{
	size_t at = 0;

	for (; *text && at + 1 < room; text++) {
		int high = *text == '%' ? hex_value(text[1]) : 0;
		int low = *text == '%' && high >= 0 ? hex_value(text[2]) : 0;
		if (high < 0 || low < 0 || (*text == '%' && high + low == 0)) {
			return false;
		}
		out[at++] = *text == '%' ? (char)(high * 16 + low) : *text;
		text += *text == '%' ? 2 : 0;
	}
	out[at] = '\0';
	return at > 0 && !*text;
}

static bool parse(const char *uri, struct address *ret)
{
	static const char execution[] = SCHEME "execution/", session[] = SCHEME "session/";
	static const char file[] = "/file/";

	*ret = (struct address){ .session = strncmp(uri, session, strlen(session)) == 0 };
	if (!ret->session && strncmp(uri, execution, strlen(execution)) != 0) {
		return false;
	}
	const char *id = uri + (ret->session ? strlen(session) : strlen(execution));
	size_t size = strcspn(id, "/");
	if (size == 0 || size >= sizeof(ret->id)) {
		return false;
	}
	memcpy(ret->id, id, size);
	const char *rest = id + size;
	if (strncmp(rest, file, strlen(file)) == 0) {
		/* In an execution these names are reserved for its streams. */
		return decode(rest + strlen(file), ret->name, sizeof(ret->name)) &&
		       (ret->session ||
			(strcmp(ret->name, "stdout") != 0 && strcmp(ret->name, "stderr") != 0));
	}
	bool stream = strcmp(rest, "/stdout") == 0 || strcmp(rest, "/stderr") == 0;
	(void)strncat(ret->name, stream ? rest + 1 : "", sizeof(ret->name) - 1);
	return stream && !ret->session;
}

static void add_encoded(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (isalnum(c) || strchr("-._~/", c)) {
			buf_addc(out, (char)c);
		} else {
			buf_addf(out, "%%%02X", c);
		}
	}
}

/* --- reading --------------------------------------------------------------------------------- */

static void finish(struct mcp_call *mcp, const char *data, size_t size)
{
	const char *uri = mcp_call_name(mcp), *type = tools_image_type(data, size);
	bool text = !type && utf8_valid(data, size);
	json_t *contents =
		text ? mcp_contents_text(uri, "text/plain", data, size)
		     : mcp_contents_blob(uri, type ? type : "application/octet-stream", data, size);

	mcp_call_finish(mcp, contents ? json_pack("{s:[o]}", "contents", contents) : NULL);
}

static void too_long(struct mcp_call *mcp, const char *tool)
{
	mcp_call_fail(mcp, MCP_E_INVALID_PARAMS, NULL,
		      "it is longer than a resource may be (%u bytes): read it in pages with %s",
		      RESOURCE_BYTES_MAX, tool);
}

static void read_output(struct tools *tools, struct mcp_call *mcp, const struct address *address)
{
	struct kept_output *kept =
		kept_outputs_find(tools->kept, mcp_call_tenant(mcp), address->id);
	struct outcome_stream stream;
	struct output_positions *positions;
	size_t size = 0;

	if (!kept || !tools_find_output(kept, address->name, &stream, &positions)) {
		mcp_call_no_resource(mcp, mcp_call_name(mcp));
		return;
	}
	_cleanup_free_ char *data = tools_bytes(&stream, RESOURCE_BYTES_MAX + 1, &size);
	if (!data) {
		mcp_call_finish(mcp, NULL);
	} else if (size > RESOURCE_BYTES_MAX) {
		too_long(mcp, "read_output");
	} else {
		finish(mcp, data, size);
	}
}

void tools_answer_resource(struct tools_call *call, const char *data, size_t size)
{
	if (size > RESOURCE_BYTES_MAX) {
		too_long(call->mcp, "read_file");
	} else {
		finish(call->mcp, data ? data : "", size);
	}
}

void tools_fail_resource(struct mcp_call *mcp, const struct brig_error *error)
{
	if (error->code == BRIG_E_INPUT) {
		mcp_call_no_resource(mcp, mcp_call_name(mcp));
	} else {
		mcp_call_fail(mcp, MCP_E_INTERNAL, NULL, "%s", error->message);
	}
}

void tools_read_resource(void *user, struct mcp_call *mcp, const char *uri)
{
	struct tools *tools = user;
	struct address address;

	if (!parse(uri, &address)) {
		mcp_call_no_resource(mcp, uri);
	} else if (address.session) {
		struct engine_call call = { .op = ENGINE_FILE_GET,
					    .session = address.id,
					    .path = address.name };
		tools_start(
			tools, mcp, &call,
			&(struct tools_call){ .answer = tools_answer_resource, .resource = true });
	} else {
		read_output(tools, mcp, &address);
	}
}

/* --- the list -------------------------------------------------------------------------------- */

static void add(json_t *list, const char *id, const char *kind, const char *name, uint64_t size)
{
	_cleanup_(buf_done)
	struct buf uri = { 0 };

	buf_addf(&uri, SCHEME "execution/%s/%s", id, kind);
	add_encoded(&uri, name);
	if (!uri.failed && json_array_size(list) < LISTED_MAX) {
		json_array_append_new(list,
				      json_pack("{s:s, s:s%, s:I}", "uri", uri.data, "name", name,
						strlen(name), "size", (json_int_t)size));
	}
}

static void add_kept(void *user, const char *id, const struct block *result)
{
	json_t *list = user;
	struct outcome outcome;
	struct outcome_file file;
	const char *json;
	size_t at = 0;

	if (outcome_read(result->data, result->size, &outcome, &json) < 0) {
		return;
	}
	add(list, id, "", "stdout", outcome.bytes[0]);
	add(list, id, "", "stderr", outcome.bytes[1]);
	while (json_array_size(list) < LISTED_MAX &&
	       outcome_file_next(&outcome, json, &at, &file)) {
		_cleanup_free_ char *path = outcome_file_path(&file);
		if (path) {
			add(list, id, "file/", path, file.size);
		}
	}
}

void tools_list_resources(void *user, struct mcp_call *mcp, const char *cursor)
{
	struct tools *tools = user;
	json_t *list = json_array();

	/*
	 * All of it is on the first page: the kept outputs are bounded. The next run may change
	 * them.
	 */
	if (!cursor) {
		kept_outputs_each(tools->kept, mcp_call_tenant(mcp), add_kept, list);
	}
	mcp_call_finish(mcp, list ? json_pack("{s:o, s:i, s:s}", "resources", list, "ttlMs", 0,
					      "cacheScope", "private")
				  : NULL);
}
