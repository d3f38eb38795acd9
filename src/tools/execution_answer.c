/* The result of a run, as a model wants it: text first, images as images, the rest by handle. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tools/tools_internal.h"

#define CONTENT_MAX (IMAGES_MAX + 1)
#define EVENTS_TOLD 5

struct stream {
	const char *name;
	char *decoded; /* owned; when the result has it in base64 */
	const char *data;
	size_t size, shown;
};

static void stream_done(struct stream *stream)
{
	free(stream->decoded);
}

static void read_stream(const json_t *result, const char *name, struct stream *ret)
{
	const json_t *text = json_object_get(result, name);
	const char *encoding = json_string_value(json_object_get(result, "encoding"));

	*ret = (struct stream){ .name = name, .data = "", .size = 0 };
	if (encoding && strcmp(encoding, "base64") == 0) {
		ret->decoded = tools_decode(json_string_value(text), &ret->size);
		ret->data = ret->decoded ? ret->decoded : "";
		ret->size = ret->decoded ? ret->size : 0;
	} else if (json_is_string(text)) {
		ret->data = json_string_value(text);
		ret->size = json_string_length(text);
	}
	ret->shown = tools_cut(ret->data, ret->size, PAGE_BYTES);
}

static const char *text_at(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void explain_refusal(const json_t *refusal, struct buf *out)
{
	json_int_t line = json_integer_value(json_object_get(refusal, "line"));

	if (!text_at(refusal, "reason")) {
		return;
	}
	if (line > 0) {
		buf_addf(out, " In line %lld", (long long)line);
	}
	buf_addf(out, "%s %s.", line > 0 ? ":" : "", text_at(refusal, "reason"));
}

/* Which hosts it cannot have, and which limits it met: what can be done otherwise. */
static void explain_events(const json_t *events, struct buf *out)
{
	static const struct {
		const char *kind, *words;
	} told[] = {
		{ "connection.refused", "The sandbox refused a connection to" },
		{ "limit.touched", "It met the limit" },
	};
	unsigned count = 0;

	for (size_t i = 0; i < json_array_size(events) && count < EVENTS_TOLD; i++) {
		const json_t *event = json_array_get(events, i);
		const char *kind = text_at(event, "kind");
		for (size_t j = 0; j < ARRAY_SIZE(told) && kind; j++) {
			if (strcmp(kind, told[j].kind) == 0 && text_at(event, "subject") &&
			    text_at(event, "reason")) {
				count++;
				buf_addf(out, " %s %s: %s.", told[j].words,
					 text_at(event, "subject"), text_at(event, "reason"));
			}
		}
	}
}

/* Why it ended, in words that can be acted on; "" when there is nothing to say. */
static void explain(const json_t *result, struct buf *out)
{
	const json_t *verdict = json_object_get(result, "verdict");
	const json_t *denial = json_object_get(verdict, "denial");
	const char *status = text_at(result, "status");

	if (!status || strcmp(status, "ok") == 0) {
		return;
	}
	const json_t *code = json_object_get(result, "exit_code");
	if (strcmp(status, "failed") == 0 && json_is_integer(code)) {
		buf_addf(out, "The program ended with exit status %d.",
			 (int)json_integer_value(code));
	} else {
		buf_addf(out, "Status: %s.", status);
	}
	explain_refusal(json_object_get(verdict, "refusal"), out);
	if (text_at(verdict, "remedy")) {
		buf_addf(out, " %s", text_at(verdict, "remedy"));
	}
	if (json_is_object(denial) && text_at(denial, "meaning")) {
		buf_addf(out, " The sandbox refused %s: %s.", text_at(denial, "meaning"),
			 text_at(denial, "reason") ? text_at(denial, "reason") : "not allowed");
	}
	explain_events(json_object_get(result, "events"), out);
}

static void add_stream(struct buf *out, const json_t *result, const struct stream *stream)
{
	if (stream->size == 0) {
		return;
	}
	if (strcmp(stream->name, "stderr") == 0) {
		buf_addf(out, "%s[stderr]\n", out->size ? "\n" : "");
	}
	buf_add(out, stream->data, stream->shown);
	if (stream->shown < stream->size) {
		buf_addf(out,
			 "\n[%zu of %zu bytes of %s; read_output with execution_id \"%s\", name "
			 "\"%s\" and offset %zu gives more]",
			 stream->shown, stream->size, stream->name, text_at(result, "id"),
			 stream->name, stream->shown);
	}
}

static void add_value(struct buf *out, const json_t *result)
{
	const json_t *value = json_object_get(result, "value");

	if (!value || json_is_null(value)) {
		return;
	}
	_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	size_t size = text ? strlen(text) : 0;
	size_t shown = text ? tools_cut(text, size, PAGE_BYTES) : 0;
	buf_addf(out, "%s[value] ", out->size ? "\n" : "");
	buf_add(out, text ? text : "", shown);
	buf_adds(out, shown < size ? " ..." : "");
}

static void add_files(struct buf *out, const json_t *result)
{
	const json_t *files = json_object_get(result, "files");

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		buf_addf(out, "%s[file] %s, %lld bytes", out->size ? "\n" : "",
			 text_at(file, "path") ? text_at(file, "path") : "",
			 (long long)json_integer_value(json_object_get(file, "size")));
	}
	if (text_at(result, "files_note")) {
		buf_addf(out, "%s[files] %s", out->size ? "\n" : "", text_at(result, "files_note"));
	}
}

/* The files without their content: that is had by read_output. */
static json_t *file_list(const json_t *result)
{
	const json_t *files = json_object_get(result, "files");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(files); i++) {
		json_t *file = json_copy(json_array_get(files, i));
		json_object_del(file, "content_base64");
		json_array_append_new(list, file);
	}
	return list;
}

static void copy_member(json_t *to, const char *as, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	json_object_set_new(to, as, value ? json_incref(value) : json_null());
}

static json_t *structured(const struct tools_call *call, const json_t *result,
			  const struct stream *out, const struct stream *err, const struct buf *why)
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
	json_object_set_new(object, "files", file_list(result));
	json_object_set_new(object, "explanation",
			    why->size ? mcp_string(why->data, why->size) : json_null());
	copy_member(object, "duration_ms", result, "duration_ms");
	copy_member(object, "language", result, "language");
	json_object_set_new(object, "session_id",
			    call->session ? json_string(call->session) : json_null());
	copy_member(object, "expires_at", result, "expires_at");
	return object;
}

static size_t add_images(const json_t *result, json_t *items[CONTENT_MAX], size_t count)
{
	const json_t *files = json_object_get(result, "files");

	for (size_t i = 0; i < json_array_size(files) && count < CONTENT_MAX; i++) {
		const json_t *file = json_array_get(files, i);
		size_t size = 0;
		if (json_integer_value(json_object_get(file, "size")) > IMAGE_BYTES_MAX ||
		    !text_at(file, "content_base64")) {
			continue;
		}
		_cleanup_free_ char *data = tools_decode(text_at(file, "content_base64"), &size);
		const char *type = data ? tools_image_type(data, size) : NULL;
		if (type) {
			items[count++] = mcp_image(type, data, size);
		}
	}
	return count;
}

void tools_answer_execution(struct tools_call *call, const char *data, size_t size)
{
	json_t *result = json_loadb(data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	_cleanup_(stream_done)
	struct stream out = { 0 };
	_cleanup_(stream_done)
	struct stream err = { 0 };
	_cleanup_(buf_done)
	struct buf why = { 0 };
	_cleanup_(buf_done)
	struct buf text = { 0 };
	json_t *items[CONTENT_MAX];

	if (!json_is_object(result)) {
		json_decref(result);
		mcp_call_finish_text(call->mcp, true, "The result of the run could not be read.");
		return;
	}
	read_stream(result, "stdout", &out);
	read_stream(result, "stderr", &err);
	explain(result, &why);
	add_stream(&text, result, &out);
	add_stream(&text, result, &err);
	add_value(&text, result);
	add_files(&text, result);
	if (why.size) {
		buf_addf(&text, "%s[end] ", text.size ? "\n" : "");
		buf_add(&text, why.data, why.size);
	}
	if (text.size == 0) {
		buf_adds(&text, "[no output]");
	}
	items[0] = mcp_text(text.data, text.size);
	json_t *answer = mcp_result(add_images(result, items, 1), items);
	if (answer) {
		json_object_set_new(answer, "structuredContent",
				    structured(call, result, &out, &err, &why));
		json_object_set_new(answer, "isError", json_boolean(why.size != 0));
	}
	if (out.shown < out.size || err.shown < err.size ||
	    json_array_size(json_object_get(result, "files"))) {
		kept_outputs_add(call->tools->kept, mcp_call_tenant(call->mcp), result, size);
	}
	json_decref(result);
	mcp_call_finish(call->mcp, answer);
}

/* --- the rest, in pages ---------------------------------------------------------------------- */

static bool find_bytes(const json_t *result, const char *name, struct stream *ret)
{
	const json_t *files = json_object_get(result, "files");

	if (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) {
		read_stream(result, name, ret);
		return true;
	}
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		if (text_at(file, "path") && strcmp(text_at(file, "path"), name) == 0) {
			*ret = (struct stream){ .name = name };
			ret->decoded = tools_decode(text_at(file, "content_base64"), &ret->size);
			ret->data = ret->decoded;
			return ret->decoded != NULL;
		}
	}
	return false;
}

static size_t number_of(const json_t *arguments, const char *name, size_t fallback)
{
	const json_t *value = json_object_get(arguments, name);

	return value ? (size_t)json_integer_value(value) : fallback;
}

void tool_read_output(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	struct tools *tools = user;
	const char *id = text_at(arguments, "execution_id");
	const char *name = text_at(arguments, "name") ? text_at(arguments, "name") : "stdout";
	const json_t *result = kept_outputs_find(tools->kept, mcp_call_tenant(mcp), id);
	_cleanup_(stream_done)
	struct stream bytes = { 0 };

	if (!result) {
		mcp_call_finish_text(mcp, true,
				     "Nothing is kept of execution %s: its output was shown whole, "
				     "or it is too long ago. Run the code again if it is needed.",
				     id);
		return;
	}
	if (!find_bytes(result, name, &bytes)) {
		mcp_call_finish_text(mcp, true,
				     "Execution %s has no output of the name %s. Ask for stdout, "
				     "stderr or the path of one of its files.",
				     id, name);
		return;
	}
	json_t *page = tools_page(bytes.data, bytes.size, number_of(arguments, "offset", 0),
				  number_of(arguments, "limit", PAGE_BYTES));
	mcp_call_finish(mcp, mcp_result(1, &page));
}
