/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig mcp`: brig's tools for the one client that started it, on standard input and output. No
 * server is needed: cells are started from this process.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "engine/engine.h"
#include "mcp/transport/mcp_stdio.h"
#include "tools/tools.h"

struct mcp_args {
	const char *config;
	const char *audit;
	const char *policy;
	bool cold;
	bool yes;
};

static const struct option_info options[] = {
	OPTION_TEXT("--policy", "POLICY", &complete_policy, offsetof(struct mcp_args, policy),
		    "the policy of the code (default)"),
	OPTION_DIRECTORY("--config", "DIR", offsetof(struct mcp_args, config),
			 "the operator's policies and runtimes (/etc/brig)"),
	OPTION_TEXT("--audit", "FILE", &complete_file, offsetof(struct mcp_args, audit),
		    "add a record of each run to this audit chain ($BRIG_AUDIT)"),
	OPTION_FLAG("--cold", offsetof(struct mcp_args, cold),
		    "make every cell on demand, none in advance"),
	OPTION_FLAG("--yes", offsetof(struct mcp_args, yes), "consent to these runs"),
};

const struct syntax mcp_syntax = {
	.command = "mcp",
	.usage = "mcp [OPTIONS]",
	.about = "Serves the Model Context Protocol on standard input and output: the tool\n"
		 "execute_code and those for sessions and files. For clients that start their\n"
		 "own MCP servers; a service for many clients is brig serve.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.notes = "In a client's list of servers: {\"command\": \"brig\", \"args\": [\"mcp\"]}",
};

#define TENANT "local"
/* Longer than it takes to answer the requests that the client sent before our start. */
#define WARM_AFTER_NS UINT64_C(5000000)

struct mcp_parts {
	const struct mcp_args *args;
	struct loop_timer warm;
	struct loop *loop;
	struct engine *engine;
	struct tools *tools;
	struct mcp_server *server;
	struct mcp_stdio *stdio;
};

static void parts_done(struct mcp_parts *parts)
{
	loop_timer_clear(&parts->warm);
	mcp_stdio_free(parts->stdio);
	mcp_server_free(parts->server);
	tools_free(parts->tools);
	engine_free(parts->engine);
	loop_free(parts->loop);
}

static void ended(void *user)
{
	struct mcp_parts *parts = user;

	loop_stop(parts->loop);
}

/* The client was started by the user, and asks that user. */
static bool may_consent(void *user, const char *caller)
{
	(void)user, (void)caller;
	return true;
}

/* A model thinks before its first call: a cell is ready by then. */
static void warm_up(void *user)
{
	struct mcp_parts *parts = user;
	const struct brig_request like = { .language = "python", .policy = parts->args->policy };

	engine_local_warm(parts->engine, TENANT, &like);
}

static int serve(const struct mcp_args *args, struct mcp_parts *parts, struct brig_error *err)
{
	const struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = 2 };
	const struct engine_options with = {
		.context = {
			.size = sizeof(with.context),
			.config_dir = args->config,
			.audit_file = args->audit,
			.warm = args->cold ? NULL : &warm,
		},
	};
	const struct tools_options tools = { .policy = args->policy,
					     .consent = args->yes,
					     .may_consent = may_consent };
	int r = loop_new(&parts->loop);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot create the event loop");
	}
	r = engine_local_new(parts->loop, &with, &parts->engine, err);
	r = r < 0 ? r : tools_new(parts->loop, parts->engine, &tools, &parts->tools, err);
	r = r < 0 ? r
		  : mcp_server_new(parts->loop, tools_provider(parts->tools), NULL, &parts->server,
				   err);
	if (r < 0) {
		return r;
	}
	r = mcp_stdio_new(parts->server, STDIN_FILENO, STDOUT_FILENO, TENANT, ended, parts,
			  &parts->stdio);
	parts->args = args;
	parts->warm = (struct loop_timer){ .due = warm_up, .user = parts };
	if (r == 0 && !args->cold) {
		r = loop_timer_set(parts->loop, &parts->warm, clock_now_ns() + WARM_AFTER_NS);
	}
	r = r < 0 ? r : loop_run(parts->loop);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot use standard input and output")
		     : 0;
}

static int work(void *into, const struct arguments *given)
{
	_cleanup_(parts_done)
	struct mcp_parts parts = { 0 };
	struct brig_error err = { 0 };

	(void)given;
	signal(SIGPIPE, SIG_IGN);
	return serve(into, &parts, &err) < 0 ? report_error(&err, false) : 0;
}

int command_mcp(int argc, char **argv)
{
	struct mcp_args args = { 0 };

	return command_work(&mcp_syntax, argc, argv, &args, work);
}
