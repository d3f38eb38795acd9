/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts of MCP: how to use the sandbox well, for a person to choose in the client. */
#include "base/cleanup.h"
#include "tools/tools_internal.h"

static void finish(struct mcp_call *mcp, const char *what, const struct buf *text)
{
	json_t *content = text->failed ? NULL : mcp_text(text->data, text->size);

	mcp_call_finish(mcp, content ? json_pack("{s:s, s:[{s:s, s:o}]}", "description", what,
						 "messages", "role", "user", "content", content)
				     : NULL);
}

static void solve(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	const char *language = tools_text(arguments, "language");
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)user;
	buf_addf(&text, "Solve this by running code, not by guessing:\n\n%s\n\n",
		 tools_text(arguments, "task"));
	buf_addf(
		&text,
		"Write a %s program and run it with execute_code. Print what you need to see. Hand "
		"in data as files, and have the program write charts and results to out/. Read "
		"the exit status and stderr: if something failed, correct the program and run it "
		"again. Use a session (session_id with a name of your own) when later code needs "
		"what earlier code has made. Then answer with the results that the program "
		"printed.",
		language ? language : "Python");
	finish(mcp, "Solve a task by running code in the sandbox", &text);
}

static void repair(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	const char *language = tools_text(arguments, "language");
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)user;
	buf_addf(&text,
		 "This %s program does not do what it should. Run it first, as it is, with "
		 "execute_code, and read how it ends.\n\n%s\n\n",
		 language ? language : "Python", tools_text(arguments, "code"));
	if (tools_text(arguments, "problem")) {
		buf_addf(&text, "The problem: %s\n\n", tools_text(arguments, "problem"));
	}
	buf_adds(&text, "Find the cause, change as little as possible, and run it again until it "
			"works. If a limit of the sandbox ended it, say which one: do not work "
			"around it. Answer with the cause and the changed program.");
	finish(mcp, "Find out why a program fails, and repair it", &text);
}

static const struct mcp_prompt_argument solve_arguments[] = {
	{ "task", "the task to solve", true },
	{ "language", "the language to write in (Python)", false },
};
static const struct mcp_prompt_argument repair_arguments[] = {
	{ "code", "the program", true },
	{ "problem", "the problem with it", false },
	{ "language", "its language (Python)", false },
};

const struct mcp_prompt tools_prompts[] = {
	{ "solve_with_code", "Solve with code", "Solve a task by running code in the sandbox",
	  solve_arguments, ARRAY_SIZE(solve_arguments), solve },
	{ "repair_code", "Repair code", "Find out why a program fails, and repair it",
	  repair_arguments, ARRAY_SIZE(repair_arguments), repair },
};
const size_t tools_prompts_count = ARRAY_SIZE(tools_prompts);
