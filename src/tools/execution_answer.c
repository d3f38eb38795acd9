/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run for a model: text first, images as images, the rest by handle. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "tools/tools_internal.h"

#define CONTENT_MAX (IMAGES_MAX + 1)

struct answer_stream {
	const char *name;
	char *data; /* owned: its beginning */
	size_t size, shown;
};

static void stream_done(struct answer_stream *stream)
{
	free(stream->data);
}

static void read_stream(const struct outcome *outcome, const char *json, int which,
			struct answer_stream *ret)
{
	struct outcome_stream bytes;
	size_t got = 0;

	outcome_stream_open(outcome, json, which, &bytes);
	*ret = (struct answer_stream){
		.name = which ? "stderr" : "stdout",
		.data = tools_bytes(&bytes, PAGE_BYTES + 4, &got),
		.size = (size_t)outcome->bytes[which],
	};
	ret->shown = ret->data ? tools_cut(ret->data, got, PAGE_BYTES) : 0;
}

static void add_stream(struct buf *out, const json_t *result, const struct answer_stream *stream)
{
	if (stream->size == 0) {
		return;
	}
	if (strcmp(stream->name, "stderr") == 0) {
		tools_add_mark(out, MARK_STDERR);
		buf_addc(out, '\n');
	}
	tools_add_foreign(out, stream->data, stream->shown);
	if (stream->shown < stream->size) {
		tools_add_mark(out, MARK_CUT);
		buf_addf(out,
			 " %zu of %zu bytes of %s; read_output with execution_id \"%s\", name "
			 "\"%s\" and offset %zu gives more",
			 stream->shown, stream->size, stream->name, tools_text(result, "id"),
			 stream->name, stream->shown);
	}
}

static void add_value(struct buf *out, const json_t *result)
{
	const json_t *value = json_object_get(result, "value");
	const char *repr = tools_text(result, "value_repr");

	if (!repr && (!value || json_is_null(value))) {
		return;
	}
	_cleanup_free_ char *text =
		repr ? strdup(repr) : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	size_t size = text ? strlen(text) : 0;
	size_t shown = text ? tools_cut(text, size, PAGE_BYTES) : 0;
	tools_add_mark(out, MARK_VALUE);
	buf_addc(out, ' ');
	tools_add_foreign(out, text ? text : "", shown);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	buf_adds(out, shown < size ? " ..." : "");
}

static void add_files(struct buf *out, const json_t *result)
{
	const json_t *files = json_object_get(result, "files");

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		tools_add_mark(out, MARK_FILE);
		buf_addc(out, ' ');
		tools_add_name(out, tools_text(file, "path") ? tools_text(file, "path") : "");
		buf_addf(out, ", %lld bytes",
			 (long long)json_integer_value(json_object_get(file, "size")));
	}
	if (tools_text(result, "files_note")) {
		tools_add_mark(out, MARK_FILE);
		buf_addc(out, ' ');
		tools_add_name(out, tools_text(result, "files_note"));
	}
}

static void copy_member(json_t *to, const char *as, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	json_object_set_new(to, as, value ? json_incref(value) : json_null());
}

static json_t *structured(const struct tools_call *call, const json_t *result,
			  const struct answer_stream *out, const struct answer_stream *err,
			  const struct buf *why)
{
	json_t *object = json_object();

	copy_member(object, "execution_id", result, "id");
	copy_member(object, "status", result, "status");
	copy_member(object, "exit_code", result, "exit_code");
	copy_member(object, "signal", result, "signal");
	json_object_set_new(object, "stdout", mcp_string(out->data, out->shown));
	json_object_set_new(object, "stderr", mcp_string(err->data, err->shown));
	json_object_set_new(object, "stdout_bytes", json_integer((json_int_t)out->size));
	json_object_set_new(object, "stderr_bytes", json_integer((json_int_t)err->size));
	copy_member(object, "value", result, "value");
	if (json_object_get(result, "value_repr")) {
		copy_member(object, "value_repr", result, "value_repr");
	}
	copy_member(object, "files", result, "files");
	json_object_set_new(object, "explanation",
			    why->size ? mcp_string(why->data, why->size) : json_null());
	json_object_set_new(object, "error_code", tools_error_code(tools_text(result, "status")));
	copy_member(object, "duration_ms", result, "duration_ms");
	copy_member(object, "language", result, "language");
	json_object_set_new(object, "session_id",
			    call->session ? json_string(call->session) : json_null());
	copy_member(object, "expires_at", result, "expires_at");
	return object;
}

/* The first bytes determine the type of an image; its base64 is passed on unchanged. */
static json_t *image_of(const struct outcome_file *file)
{
	struct outcome_stream bytes;
	size_t size = 0;

	tools_file_stream(file, &bytes);
	_cleanup_free_ char *data = tools_bytes(&bytes, 16, &size);
	const char *type = data ? tools_image_type(data, size) : NULL;
	return type ? json_pack("{s:s, s:s%, s:s}", "type", "image", "data", file->base64,
				file->base64_size, "mimeType", type)
		    : NULL;
}

static size_t add_images(const struct outcome *outcome, const char *json,
			 json_t *items[CONTENT_MAX], size_t count)
{
	struct outcome_file file;
	size_t at = 0, room = IMAGE_BYTES_MAX;

	while (count < CONTENT_MAX && outcome_file_next(outcome, json, &at, &file)) {
		json_t *image = file.size <= room ? image_of(&file) : NULL;
		if (image) {
			items[count++] = image;
			room -= (size_t)file.size;
		}
	}
	return count;
}

static void write_text(const json_t *result, const struct answer_stream *out,
		       const struct answer_stream *err, const struct buf *why, struct buf *text)
{
	add_stream(text, result, out);
	add_stream(text, result, err);
	add_value(text, result);
	add_files(text, result);
	if (why->size) {
		tools_add_mark(text, MARK_END);
		buf_addc(text, ' ');
		tools_add_name(text, why->data ? why->data : "");
	}
	if (text->size == 0) {
		tools_add_mark(text, MARK_NOTHING);
	}
}

void tools_answer_execution(struct tools_call *call, struct block *block)
{
	struct outcome outcome;
	const char *json = NULL;
	_cleanup_(stream_done)
	struct answer_stream out = { 0 };
	_cleanup_(stream_done)
	struct answer_stream err = { 0 };
	_cleanup_(buf_done)
	struct buf why = { 0 };
	_cleanup_(buf_done)
	struct buf text = { 0 };
	json_t *items[CONTENT_MAX];
	json_t *result = outcome_read(block->data, block->size, &outcome, &json) < 0
				 ? NULL
				 : tools_skeleton(&outcome, json);

	if (!result) {
		mcp_call_finish_text(call->mcp, true, "The result of the run could not be read.");
		return;
	}
	if (tools_ask_for_risk(call, result)) {
		json_decref(result);
		return;
	}
	read_stream(&outcome, json, 0, &out);
	read_stream(&outcome, json, 1, &err);
	tools_explain(result, &why);
	write_text(result, &out, &err, &why, &text);
	items[0] = mcp_text(text.data, text.size);
	json_t *answer = mcp_result(add_images(&outcome, json, items, 1), items);
	if (answer) {
		json_object_set_new(answer, "structuredContent",
				    structured(call, result, &out, &err, &why));
		json_object_set_new(answer, "isError", json_boolean(!tools_went_well(result)));
	}
	if (tools_text(result, "id") && (out.shown < out.size || err.shown < err.size ||
					 json_array_size(json_object_get(result, "files")))) {
		kept_outputs_add(call->tools->kept, mcp_call_tenant(call->mcp),
				 tools_text(result, "id"), block);
	}
	json_decref(result);
	mcp_call_finish(call->mcp, answer);
}
