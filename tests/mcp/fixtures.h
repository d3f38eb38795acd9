/* SPDX-License-Identifier: Apache-2.0 */
/* The fixtures that the conformance suites need, and a few for our own tests of the protocol. */
#ifndef BRIG_TESTS_MCP_FIXTURES_H
#define BRIG_TESTS_MCP_FIXTURES_H

#include "mcp/mcp.h"

struct fixtures {
	struct loop *loop;
	struct mcp_server *server;
	unsigned cancelled; /* calls, so far */
};

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"

/* A PNG of one pixel, and a WAV of two samples. */
extern const unsigned char fixture_png[];
extern const size_t fixture_png_size;
extern const unsigned char fixture_wav[];
extern const size_t fixture_wav_size;

json_t *fixture_text(const char *text);
void fixture_finish(struct mcp_call *call, json_t *item);
/* {"role":"user","content":...} */
json_t *fixture_message(json_t *content);
/* An elicitation for one field. */
json_t *fixture_form(const char *message, const char *field, const char *type);

/* fixtures_questions.c */
void ask_sampling(void *user, struct mcp_call *call, const json_t *arguments);
void ask_elicitation(void *user, struct mcp_call *call, const json_t *arguments);
void ask_defaults(void *user, struct mcp_call *call, const json_t *arguments);
void ask_enums(void *user, struct mcp_call *call, const json_t *arguments);
void ask_streaming(void *user, struct mcp_call *call, const json_t *arguments);
void input_elicitation(void *user, struct mcp_call *call, const json_t *arguments);
void input_sampling(void *user, struct mcp_call *call, const json_t *arguments);
void input_roots(void *user, struct mcp_call *call, const json_t *arguments);
void input_state(void *user, struct mcp_call *call, const json_t *arguments);
void input_several(void *user, struct mcp_call *call, const json_t *arguments);
void input_rounds(void *user, struct mcp_call *call, const json_t *arguments);
void input_capabilities(void *user, struct mcp_call *call, const json_t *arguments);
void input_prompt(void *user, struct mcp_call *call, const json_t *arguments);

/* fixtures_steps.c: tools that take time */
void step_progress(void *user, struct mcp_call *call, const json_t *arguments);
void step_logging(void *user, struct mcp_call *call, const json_t *arguments);
void step_reconnection(void *user, struct mcp_call *call, const json_t *arguments);
void step_slow(void *user, struct mcp_call *call, const json_t *arguments);

/* fixtures_tables.c */
extern const struct mcp_tool fixture_tools[];
extern const size_t fixture_tools_count;
/* fixtures_documents.c */
extern const struct mcp_resource fixture_resources[];
extern const size_t fixture_resources_count;
extern const struct mcp_prompt fixture_prompts[];
extern const size_t fixture_prompts_count;
void fixture_read(void *user, struct mcp_call *call, const char *uri);
void fixture_complete(void *user, struct mcp_call *call, const json_t *ref, const char *argument,
		      const char *value);
#endif
