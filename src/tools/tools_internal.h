/* What the tools' functions share. */
#ifndef BRIG_TOOLS_TOOLS_INTERNAL_H
#define BRIG_TOOLS_TOOLS_INTERNAL_H

#include "tools/tools.h"

#define PAGE_BYTES      16384u /* of an output, in one answer */
#define PAGE_BYTES_MAX  65536u
#define IMAGE_BYTES_MAX (4u << 20)
#define IMAGES_MAX      8u

struct kept_outputs;
struct tools_call;

struct tools {
	struct loop *loop;
	struct engine *engine;
	struct tools_options options;
	struct mcp_provider provider;
	struct mcp_tool *tools;
	char **texts; /* that the table of tools points to */
	size_t texts_count;
	struct kept_outputs *kept;
	struct tools_call *calls; /* under way */
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
	struct loop_timer beat; /* tells of progress */
	uint64_t began_ns;
	size_t output_bytes;
	char *session; /* that it names; or NULL */
	size_t offset, limit;
	/* Ends the MCP call with what the engine has answered. */
	void (*answer)(struct tools_call *call, const char *data, size_t size);
	struct tools_call *next, **from;
};

/* Hands the call to the engine. Whatever happens, the MCP call will be ended. */
void tools_start(struct tools *tools, struct mcp_call *mcp, struct engine_call *call,
		 const struct tools_call *as);
void tools_fail(struct mcp_call *mcp, const struct brig_error *error);
/* The engine's JSON as text and as structured content. */
void tools_answer_json(struct tools_call *call, const char *data, size_t size);
void tools_answer_execution(struct tools_call *call, const char *data, size_t size);
void tools_answer_file(struct tools_call *call, const char *data, size_t size);

/* "content" or "content_base64" of an object, as bytes for free(); -EINVAL with an error. */
int tools_content(const json_t *object, char **ret, size_t *ret_size, struct brig_error *error);
/* Strings of an array, NULL-terminated, for free(); they stay the array's. */
int tools_words(const json_t *array, const char *name, const char ***ret, struct brig_error *error);
/* The type of an image that these bytes begin; NULL: none that clients show. */
const char *tools_image_type(const void *data, size_t size);
/* A page of bytes as content: text, or base64 when they are not text. */
json_t *tools_page(const char *data, size_t size, size_t offset, size_t limit);
/* Not in the middle of a character. */
size_t tools_cut(const char *data, size_t size, size_t limit);
char *tools_decode(const char *base64, size_t *ret_size);

/* Results whose rest may be asked for: for a while, within a bound, each for its own tenant. */
int kept_outputs_new(struct kept_outputs **ret);
void kept_outputs_free(struct kept_outputs *kept);
void kept_outputs_add(struct kept_outputs *kept, const char *tenant, json_t *result, size_t size);
const json_t *kept_outputs_find(struct kept_outputs *kept, const char *tenant, const char *id);

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
