/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the functions of the tools. */
#ifndef BRIG_TOOLS_TOOLS_INTERNAL_H
#define BRIG_TOOLS_TOOLS_INTERNAL_H

#include "base/bytes/buf.h"
#include "base/list.h"
#include "tools/tools.h"

#define PAGE_BYTES 16384u /* of an output, in one answer */
/* Files of a list, the same as in data/tools/list_files.json. */
#define PAGE_FILES      500u
#define PAGE_BYTES_MAX  65536u
#define IMAGE_BYTES_MAX (4u << 20) /* of all images in one answer */
#define IMAGES_MAX      8u

#define SESSION_NAME_MAX 64u

struct kept_outputs;
struct output_read;
struct session_names;
struct tools_call;

struct tools {
	struct loop *loop;
	struct engine *engine;
	struct tools_options options;
	struct mcp_provider provider;
	struct mcp_tool *tools;
	char **texts; /* the table of tools points to them */
	size_t texts_count;
	struct kept_outputs *kept;
	struct session_names *names;
	struct list calls; /* in progress */
	/* Waiting calls of read_output, in turn; see tool_read_output.c. */
	struct list reads; /* owned */
	struct loop_timer reads_due;
};

/* One row for each tool: its file in data/tools and its function. */
struct tools_entry {
	const char *name;
	void (*call)(void *user, struct mcp_call *call, const json_t *arguments);
};
extern const struct tools_entry tools_table[];
extern const size_t tools_table_count;

/* One call of a tool, while the engine works on it. */
struct tools_call {
	struct tools *tools;
	struct mcp_call *mcp;
	struct engine_run *run;
	struct loop_timer beat; /* reports progress */
	uint64_t began_ns;
	size_t output_bytes;
	char *session; /* the caller's name or id for it; or NULL */
	/*
	 * For execute_code, which continues when its session is open; owned by the call. Or NULL.
	 */
	const json_t *arguments;
	bool executes; /* runs code */
	bool resource; /* not a tool: a resource is read */
	size_t offset, limit;
	/* Ends the MCP call with the engine's answer; for a run: tools_answer_execution. */
	void (*answer)(struct tools_call *call, const char *data, size_t size);
	struct list_node node;
};

/* Passes the call to the engine. The MCP call will be ended in any case. */
void tools_start(struct tools *tools, struct mcp_call *mcp, struct engine_call *call,
		 const struct tools_call *as);
/* Has a person agreed, and may the caller pass that on? */
bool tools_consent(const struct tools *tools, const struct mcp_call *mcp, const json_t *arguments);
/*
 * A run was refused for lack of consent. True: the client asks a person, and the tool will be
 * called again with the answer; the MCP call must not be used any more. `why`: shown to the person.
 */
bool tools_ask_consent(struct tools_call *call, const char *why);
/* The same for a result, if its code is too risky to run without consent. */
bool tools_ask_for_risk(struct tools_call *call, const json_t *result);
/* A person was asked, and did not agree. */
bool tools_declined(const struct mcp_call *mcp);
void tools_fail(struct mcp_call *mcp, const struct brig_error *error);
/* The same for a run, with its code in the structured content. */
void tools_fail_execution(struct mcp_call *mcp, const struct brig_error *error);
/* The error code for the status of a run; null: it succeeded. */
json_t *tools_error_code(const char *status);
/* The engine's JSON as text and as structured content. */
void tools_answer_json(struct tools_call *call, const char *data, size_t size);
void tools_answer_execution(struct tools_call *call, struct block *result);
void tools_answer_file(struct tools_call *call, const char *data, size_t size);

/* The text of an answer: brig's own marks, and foreign text, in which marks are escaped. */
enum tools_mark { MARK_STDERR, MARK_CUT, MARK_VALUE, MARK_FILE, MARK_END, MARK_NOTHING };
void tools_add_mark(struct buf *out, enum tools_mark mark); /* at the start of a line */
void tools_add_foreign(struct buf *out, const char *data, size_t size);
void tools_add_name(struct buf *out, const char *name);

static inline const char *tools_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}
bool tools_went_well(const json_t *result);
/* Why a run ended, and what to do about it; empty if there is nothing to explain. */
void tools_explain(const json_t *result, struct buf *out);

/*
 * "content" or "content_base64" of an object, as bytes; the caller frees them. -EINVAL with an
 * error.
 */
int tools_content(const json_t *object, char **ret, size_t *ret_size, struct brig_error *error);
/*
 * The strings of an array, NULL-terminated; the caller frees the list, the strings remain the
 * array's.
 */
int tools_words(const json_t *array, const char *name, const char ***ret, struct brig_error *error);
/* The type of an image that begins with these bytes; NULL: none that clients can show. */
const char *tools_image_type(const void *data, size_t size);
/* A page of bytes as content: text, or base64 when they are not text. */
json_t *tools_page(const char *data, size_t size, size_t offset, size_t limit);
/* The length of the part up to `limit` that ends with a whole character. */
size_t tools_cut(const char *data, size_t size, size_t limit);
char *tools_decode(const char *base64, size_t *ret_size);

/* A result without its long parts; "value" and "files", without their content, are put back. */
json_t *tools_skeleton(const struct outcome *outcome, const char *json);
/* About `want` bytes from the stream's position; the caller frees them. NULL: no memory. */
char *tools_bytes(struct outcome_stream *stream, size_t want, size_t *ret_size);
/* A file's content as a stream. */
void tools_file_stream(const struct outcome_file *file, struct outcome_stream *ret);

/* Positions in an output, so that no part of its text is decoded twice. */
struct output_position {
	const char *at; /* in the text */
	size_t offset;  /* in the decoded bytes */
};
struct output_positions {
	struct output_position *positions; /* owned */
	size_t count, room;
};
/*
 * Moves a stream from its beginning to an offset. 1: it is there, or at its end; 0: enough for one
 * go, call again with a new stream; -ENOMEM.
 */
int output_positions_seek(struct output_positions *positions, struct outcome_stream *stream,
			  size_t offset);
void output_positions_done(struct output_positions *positions);

struct kept_output {
	struct block *result;                 /* a reference */
	struct output_positions positions[2]; /* of stdout and of stderr */
};

/* Results whose rest can be read later: for a while, within limits, each for its own tenant. */
int kept_outputs_new(struct kept_outputs **ret);
void kept_outputs_free(struct kept_outputs *kept);
void kept_outputs_add(struct kept_outputs *kept, const char *tenant, const char *id,
		      struct block *result);
/* NULL: not found. */
struct kept_output *kept_outputs_find(struct kept_outputs *kept, const char *tenant,
				      const char *id);

void output_reads_init(struct tools *tools);
void output_reads_done(struct tools *tools);

/*
 * Sessions that were opened by the first use of a name. Names are 1 to 64 letters, digits, '_' and
 * '-', and none looks like an id of brig's.
 */
int session_names_new(struct session_names **ret);
void session_names_free(struct session_names *names);
bool session_name_valid(const char *text, size_t size);
/* The session's id; "": it is being opened; NULL: not found. */
const char *session_names_find(struct session_names *names, const char *caller, const char *name);
/* A new name, whose session is being opened; then call opened() or forget(). */
int session_names_begin(struct session_names *names, const char *caller, const char *name,
			struct brig_error *err);
void session_names_opened(struct session_names *names, const char *caller, const char *name,
			  const char *id, uint64_t idle_ns);
void session_names_forget(struct session_names *names, const char *caller, const char *name);

/* stdout, stderr or a file, and its positions; those of a file stay empty. False: not found. */
bool tools_find_output(struct kept_output *kept, const char *name, struct outcome_stream *ret,
		       struct output_positions **ret_positions);
/* All that are kept for the tenant, the newest first. */
void kept_outputs_each(struct kept_outputs *kept, const char *tenant,
		       void (*each)(void *user, const char *id, const struct block *result),
		       void *user);

/* Resources and prompts: tool_resources.c, tool_prompts.c. */
extern const struct mcp_resource tools_resources[];
extern const size_t tools_resources_count;
void tools_read_resource(void *user, struct mcp_call *mcp, const char *uri);
void tools_list_resources(void *user, struct mcp_call *mcp, const char *cursor);
void tools_answer_resource(struct tools_call *call, const char *data, size_t size);
void tools_fail_resource(struct mcp_call *mcp, const struct brig_error *error);
extern const struct mcp_prompt tools_prompts[];
extern const size_t tools_prompts_count;

/* Opens the session that execute_code names. */
void tool_open_for(struct tools *tools, struct mcp_call *mcp, const json_t *arguments);
/* execute_code, in the session that has just been opened for it. */
void tool_execute_opened(struct tools *tools, struct mcp_call *mcp, const json_t *arguments);
void tool_execute_code(void *user, struct mcp_call *call, const json_t *arguments);
void tool_read_output(void *user, struct mcp_call *call, const json_t *arguments);
void tool_list_runtimes(void *user, struct mcp_call *call, const json_t *arguments);
void tool_open_session(void *user, struct mcp_call *call, const json_t *arguments);
void tool_close_session(void *user, struct mcp_call *call, const json_t *arguments);
void tool_interrupt_session(void *user, struct mcp_call *call, const json_t *arguments);
void tool_fork_session(void *user, struct mcp_call *call, const json_t *arguments);
void tool_list_sessions(void *user, struct mcp_call *call, const json_t *arguments);
void tool_list_files(void *user, struct mcp_call *call, const json_t *arguments);
void tool_read_file(void *user, struct mcp_call *call, const json_t *arguments);
void tool_write_file(void *user, struct mcp_call *call, const json_t *arguments);
void tool_delete_file(void *user, struct mcp_call *call, const json_t *arguments);
#endif
