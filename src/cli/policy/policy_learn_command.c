/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig policy learn`: runs a program, watches its system calls, and proposes the smallest policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "cli/cli_report.h"
#include "cli/policy/cli_policy.h"
#include "cli/policy/policy_learn.h"
#include "cli/read_input.h"
#include "cli/run/output_writer.h"

#define INPUT_BYTES_MAX (16u << 20)
#define AT(field)       offsetof(struct learn_args, field)

static int read_earlier(struct learn_session *session, struct brig_error *err)
{
	const char *path = session->args->extend;
	_cleanup_(buf_done)
	struct buf text = { 0 };

	if (!path) {
		return 0;
	}
	int r = read_input(path, POLICY_BYTES_MAX, &text, err);
	if (r < 0) {
		return r;
	}
	r = policy_parse(path, text.data ? text.data : "", text.size, &session->extended, err);
	if (r < 0) {
		return r;
	}
	if (!provider_can(session->extended->provider, ABILITY_CALL_WATCH)) {
		return error_set(
			err, BRIG_E_POLICY, EINVAL,
			"%s: provider %s cannot watch system calls, so nothing can be learned",
			path, session->extended->provider->name);
	}
	return 0;
}

/* Before anything runs: a result that cannot be saved should not cost a run. */
static int check_file(const struct learn_args *args, struct brig_error *err)
{
	bool same = args->file && args->extend && strcmp(args->file, args->extend) == 0;

	if (!args->file || args->run.force || same || access(args->file, F_OK) != 0) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EEXIST, "%s already exists", args->file);
	error_remedy(err, "use --force to replace it, or --extend %s to keep its rules",
		     args->file);
	return r;
}

/* Completely or not at all: written to a temporary file, then renamed. */
static int write_file(const struct learn_args *args, const struct buf *text, struct brig_error *err)
{
	_cleanup_free_ char *temporary = NULL;

	if (asprintf(&temporary, "%s.XXXXXX", args->file) < 0) {
		temporary = NULL;
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	_cleanup_close_ int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot write %s", args->file);
	}
	bool replaces = args->run.force || args->extend;
	int r = write_all(fd, text->data, text->size);
	if (r == 0 &&
	    (fchmod(fd, 0644) < 0 || fsync(fd) < 0 ||
	     (replaces ? rename(temporary, args->file) : link(temporary, args->file)) < 0)) {
		r = -errno;
	}
	unlink(temporary);
	return r == 0 ? 0 : error_errno(err, BRIG_E_INPUT, -r, "cannot write %s", args->file);
}

/* Stdout is for the policy, so the program's output goes to stderr, escaped on a terminal. */
static void show_output(const struct brig_result *result)
{
	struct output_writer out;

	output_writer_init(&out, STDERR_FILENO);
	output_writer_add(&out, result->stdout_data, result->stdout_size);
	output_writer_add(&out, result->stderr_data, result->stderr_size);
	output_writer_end(&out);
	while (output_writer_waits(&out)) {
		struct pollfd ready = { .fd = out.fd, .events = POLLOUT };
		poll(&ready, 1, -1);
		output_writer_pump(&out);
	}
	output_writer_done(&out);
	report_verdict(result);
}

static void print_json(const struct learn_session *session, struct buf *out)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_text(&json, "status", brig_status_name(session->result->status));
	json_int(&json, "exit_code", session->result->exit_code);
	json_text(&json, "base", session->under->name);
	learn_json(&session->learn, &json);
	json_text(&json, "policy", session->text.data);
	if (session->verified) {
		json_open(&json, "verify", '{');
		json_bool(&json, "same", learn_session_same(session));
		json_text(&json, "status",
			  session->again ? brig_status_name(session->again->status) : NULL);
		json_int(&json, "exit_code", session->again ? session->again->exit_code : -1);
		json_text(&json, "error", session->refusal.code ? session->refusal.message : NULL);
		json_close(&json, '}');
	} else {
		json_nil(&json, "verify");
	}
	json_close(&json, '}');
}

static void report_outcome(const struct learn_session *session)
{
	if (session->result->status != BRIG_OK) {
		report_line("the program ended as %s: its further actions were not learned",
			    brig_status_name(session->result->status));
	}
	if (session->refusal.code) {
		report_line("verify: under the policy it cannot run: %s", session->refusal.message);
	} else if (session->verified && learn_session_same(session)) {
		bool alike = session->again->stdout_size == session->result->stdout_size &&
			     memcmp(session->again->stdout_data, session->result->stdout_data,
				    session->result->stdout_size) == 0;
		report_line("verify: under the policy it ended the same (%s)%s",
			    brig_status_name(session->again->status),
			    alike ? "" : ", with other output");
	} else if (session->verified && session->again) {
		report_line("verify: under the policy it ended differently: %s, exit status %d; it "
			    "was %s, %d",
			    brig_status_name(session->again->status), session->again->exit_code,
			    brig_status_name(session->result->status), session->result->exit_code);
		report_verdict(session->again);
	}
}

static int tell(const struct learn_session *session)
{
	const struct learn_args *args = session->args;
	struct brig_error error = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };
	int status = session->verified && !learn_session_same(session) ? 1 : 0;
	int printed = 0;

	if (args->file && write_file(args, &session->text, &error) < 0) {
		return report_error(&error, args->run.json);
	}
	if (args->run.json) {
		print_json(session, &out);
		printed = report_json(out.failed ? NULL : out.data);
	} else {
		report_outcome(session);
		printed = args->file ? 0 : report_text(&session->text);
	}
	return printed ? printed : status;
}

static int learn_line_run(const struct learn_args *args)
{
	struct learn_session *session = calloc(1, sizeof(*session));
	struct brig_error error = { 0 };
	int status;

	if (!session) {
		error_set(&error, BRIG_E_SYSTEM, ENOMEM, "no memory");
		return report_error(&error, args->run.json);
	}
	session->args = args;
	if (check_file(args, &error) < 0 ||
	    run_request_make(&args->run, &session->request, &error) < 0) {
		status = report_usage(&error, args->run.json);
	} else if (read_earlier(session, &error) < 0 ||
		   (args->input &&
		    read_input(args->input, INPUT_BYTES_MAX, &session->input, &error) < 0) ||
		   learn_session_run(session, &error) < 0) {
		status = report_error(&error, args->run.json);
	} else {
		if (!args->run.json) {
			show_output(session->result);
		}
		if (!args->no_verify) {
			learn_session_verify(session);
		}
		status = tell(session);
	}
	learn_session_done(session);
	free(session);
	return status;
}

static size_t make_options(struct option_info ret[OPTIONS_MAX])
{
	static const struct option_info own[] = {
		OPTION_TEXT("--out", "FILE", &complete_file, AT(file),
			    "write the policy to FILE; else to stdout"),
		OPTION_TEXT("--extend", "FILE", &complete_file, AT(extend),
			    "keep the rules of this policy, and add missing ones"),
		OPTION_TEXT("--stdin", "FILE", &complete_file, AT(input),
			    "standard input of the program; -: brig's own"),
		OPTION_FLAG("--no-verify", AT(no_verify),
			    "do not run it again under the proposed policy"),
		OPTION_FLAG("--json", AT(run.json), "print the record and the policy as JSON"),
	};
	size_t count = run_options(RUN_COMMAND_LEARN, ret);

	_Static_assert(RUN_OPTIONS_MAX + ARRAY_SIZE(own) <= OPTIONS_MAX, "room for all");
	memcpy(ret + count, own, sizeof(own));
	return count + ARRAY_SIZE(own);
}

const struct syntax policy_learn_syntax = {
	.command = "policy learn",
	.usage = "policy learn [OPTIONS] FILE [-- ARGS...]\n"
		 "policy learn [OPTIONS] -c CODE [-- ARGS...]\n"
		 "policy learn [OPTIONS] -- CMD [ARGS...]",
	.about = "Runs a program in a cell, watches every system call, and proposes the\n"
		 "smallest policy that the program needs. Then runs it again under that\n"
		 "policy.",
	.make_options = make_options,
	.operands_max = 1,
	.operands = &complete_file,
	.rest = true,
	.notes = "Exit status: 0 learned, and under the policy it ended the same; 1 it\n"
		 "ended differently; 125 error of brig itself; 2 usage.",
};

int policy_command_learn(int argc, char **argv)
{
	struct learn_args args = { 0 };
	struct brig_error error = { 0 };
	int status;

	if (options_parse(&policy_learn_syntax, argc, argv, &args, &args.run.given, &error) < 0) {
		status = report_usage(&error, options_mention(argc, argv, "--json"));
	} else if (args.run.given.help) {
		status = report_help(&policy_learn_syntax);
	} else {
		status = learn_line_run(&args);
	}
	run_args_done(&args.run);
	return status;
}
