/* One run in a session: taken, told to the driver, interrupted, ended. See session.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sys.h"
#include "lib/session.h"
#include "lib/value.h"

#define NO_LIMIT (1ull << 62)

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2)
#endif

/* --- a run is asked for --------------------------------------------------------------------- */

static int check_request(const struct brig_request *request, struct brig_error *err)
{
	const struct brig_limits *limits = &request->limits;
	size_t size = !request->code       ? 0
		      : request->code_size ? request->code_size
					   : strlen(request->code);

	if (!size || request->file || request->command) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "a run in a session needs code");
	}
	if (size > SESSION_CODE_BYTES_MAX || memchr(request->code, 0, size)) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 "the code has more than 16 MiB, or a NUL in it");
	}
	if (request->stdin_feed || request->stdin_size > SESSION_STDIN_BYTES_MAX) {
		return error_set(err, BRIG_E_INPUT, EFBIG,
				 "the input of a run in a session must be handed in at once, and "
				 "have at most 32 MiB");
	}
	if (limits->memory_bytes || limits->processes || limits->disk_bytes ||
	    limits->disk_inodes || limits->cpu_millicores || limits->open_files ||
	    limits->file_bytes || limits->net_bytes) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "a session's memory, processes, disk and files cannot be "
				  "limited anew for a run");
		error_remedy(err, "set these limits when the session is opened");
		return r;
	}
	return request->mounts_count ? error_set(err, BRIG_E_INPUT, EINVAL,
						 "directories are given to a session when it is "
						 "opened")
				     : 0;
}

/* What the run asks for, else what the session was opened with, else what the policy says. */
static int find_limits(const struct brig_session *session, const struct brig_request *request,
		       struct brig_limits *ret, struct brig_error *err)
{
	struct brig_limits want = session->asked, own = request->limits;
	struct brig_limits usual, most = request->limits_most;
	int r = policy_limits_within(session->prepared.policy, &session->asked, &session->most,
				     &usual, err);

	for (size_t i = 0; r == 0 && i < limit_table_count; i++) {
		uint64_t value = *limit_of(&own, &limit_table[i]);
		uint64_t bound = *limit_of(&most, &limit_table[i]);
		uint64_t unasked = *limit_of(&usual, &limit_table[i]);

		/* Whoever asks now may be allowed less than whoever opened the session. */
		unasked = bound && bound < unasked ? bound : unasked;
		*limit_of(&want, &limit_table[i]) = value ? value : unasked;
	}
	return r < 0 ? r : policy_limits(session->prepared.policy, &want, ret, err);
}

/* What ran before has seen to the interpreter: to tighten the guard would mean nothing. */
static int check_guard(const struct brig_session *session, const struct brig_request *request,
		       struct brig_error *err)
{
	const char *mode = guard_mode_names[session->prepared.guard.mode];

	if (request->check || (request->guard && strcmp(request->guard, mode) != 0)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "the session was opened with guard %s, and keeps it", mode);
		error_remedy(err, "choose the guard when the session is opened");
		return r;
	}
	return 0;
}

static int check_state(const struct brig_session *session, struct brig_error *err)
{
	if (session->state == BRIG_SESSION_GONE || session->reason[0]) {
		int r = error_set(err, BRIG_E_INPUT, ESTALE, "the session is gone: %s",
				  session->reason);
		error_remedy(err, "open another one; files and variables are lost");
		return r;
	}
	if (session->current || session->state == BRIG_SESSION_BUSY) {
		int r = error_set(err, BRIG_E_INPUT, EBUSY, "a run is under way in the session");
		error_remedy(err, "wait for its end, or interrupt it");
		return r;
	}
	return 0;
}

static int keep(struct session_run *run, const struct brig_request *request, struct brig_error *err)
{
	int r = 0;

	run->request = *request;
	buf_add(&run->code, request->code,
		request->code_size ? request->code_size : strlen(request->code));
	buf_add(&run->input, request->stdin_data, request->stdin_size);
	for (const char *const *arg = request->args; r == 0 && arg && *arg; arg++) {
		r = strlist_add(&run->args, *arg);
	}
	for (const char *const *glob = request->out; r == 0 && glob && *glob; glob++) {
		r = strlist_add(&run->globs, *glob);
	}
	run->request.code = run->code.data;
	run->request.code_size = run->code.size;
	run->request.stdin_data = run->input.data;
	run->request.args = (const char *const *)run->args.items;
	run->request.out = (const char *const *)run->globs.items;
	return r < 0 || run->code.failed || run->input.failed
		       ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a run")
		       : 0;
}

/* Its files are there before its code: so the cell must be. */
static int put_files(struct brig_session *session, const struct brig_request *request,
		     struct brig_error *err)
{
	int r = 0;

	while (request->files_count && session->state == BRIG_SESSION_OPENING) {
		struct pollfd ready = { .fd = session->epoll, .events = POLLIN };
		poll(&ready, 1, -1);
		brig_session_step(session);
	}
	for (size_t i = 0; r == 0 && i < request->files_count; i++) {
		const struct brig_file_in *file = &request->files[i];
		r = !file->path
			    ? brig_session_put(session, file->name, file->data, file->size,
					       file->executable, err)
			    : error_set(err, BRIG_E_INPUT, EINVAL,
					"files for a run in a session are handed in by content");
	}
	return r;
}

int session_run_start(struct brig_session *session, const struct brig_request *request,
		      struct session_run **ret, struct brig_error *err)
{
	struct session_run *run = calloc(1, sizeof(*run));

	if (!run) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	run->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = run->ended < 0 ? error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch a run")
			       : check_state(session, err);
	if (r == 0) {
		r = check_request(request, err);
	}
	if (r == 0) {
		r = check_guard(session, request, err);
	}
	if (r == 0) {
		r = find_limits(session, request, &run->limits, err);
	}
	if (r == 0) {
		r = put_files(session, request, err);
	}
	if (r == 0) {
		r = check_state(session, err);
	}
	if (r == 0) {
		r = keep(run, request, err);
	}
	if (r < 0) {
		session_run_free(run);
		return r;
	}
	run->session = session;
	session_use(session);
	session->current = run;
	session_begin_run(session);
	*ret = run;
	return 0;
}

/* --- and begins ----------------------------------------------------------------------------- */

static struct run_options options_of(const struct brig_session *session,
				     const struct session_run *run)
{
	const struct prepared *p = &session->prepared;
	const struct brig_request *request = &run->request;

	return (struct run_options){
		.spec = &p->spec,
		.groups = session->context->groups,
		.filter = p->policy->filter.count ? &p->policy->filter : NULL,
		.cut_output = p->policy->on_output_limit == OUTPUT_CUT,
		.denials_max = p->policy->denials_max,
		.collect = {
			.globs = request->out,
			.bytes_max = p->policy->files_out_bytes,
			.count_max = p->policy->files_out_count,
		},
		.keep_output = !request->discard_output,
		.on_output = request->on_output,
		.user = request->user,
		.warm = session->cell != NULL,
		.session = &session->link,
	};
}

static void finish(struct brig_session *session, const struct channel_answer *answer);

void session_begin_run(struct brig_session *session)
{
	struct session_run *run = session->current;

	if (!run || session->state != BRIG_SESSION_IDLE) {
		return;
	}
	session->limits = session->prepared.spec.limits = run->limits;
	session->soft = ENDING_NONE;
	session->state = BRIG_SESSION_BUSY;
	session_arm(session, 0);
	struct run_options options = options_of(session, run);
	int r = run_resume(session->phase.run, &options);
	if (r == 0 && session->cancelled) {
		session->phase.run->facts.ending = ENDING_CANCELLED;
		finish(session, &(struct channel_answer){ .value = "" });
		return;
	}
	if (r == 0) {
		r = channel_send_run(&session->channel, &run->request);
	}
	buf_done(&run->code);
	buf_done(&run->input);
	if (r < 0) {
		brig_session_end(session, "there was no memory for its run");
		return;
	}
	session_pump(session);
}

/* --- it has to stop ------------------------------------------------------------------------- */

/* The group is the driver's own from its start: it leads its session, and cannot leave it. */
void session_signal(const struct brig_session *session)
{
	pid_t pid = session->channel.driver;

	if (session->driver < 0) {
		return;
	}
	if (syscall(SYS_pidfd_send_signal, session->driver, SIGINT, NULL,
		    PIDFD_SIGNAL_PROCESS_GROUP) == 0) {
		return;
	}
	/* Before 6.9: by number, while the pidfd says that it is still the same process. */
	if (sys_pidfd_send_signal(session->driver, 0) == 0 && pid > 1) {
		kill(-pid, SIGINT);
	}
}

void session_interrupt(struct brig_session *session, enum ending why)
{
	struct run *run = session->phase.run;
	struct brig_limits *limits = &session->prepared.spec.limits;

	session_signal(session);
	if (session->soft != ENDING_NONE) {
		return;
	}
	session->soft = why;
	run->facts.ending = why;
	/* From now on it is the time of grace that runs out. */
	limits->wall_ns = clock_now_ns() - run->watch.start_ns + SESSION_GRACE_NS;
	limits->cpu_ns = NO_LIMIT;
	run_arm(run);
	session_arm(session, SESSION_GRACE_NS / 2);
}

enum ending session_due(void *user, enum ending why)
{
	struct brig_session *session = user;
	bool output = why == ENDING_STDOUT || why == ENDING_STDERR;

	if (session->state != BRIG_SESSION_BUSY) {
		return output ? ENDING_NONE : why;
	}
	if (why != ENDING_WALL && why != ENDING_CPU && !output) {
		return why;
	}
	if (session->soft == ENDING_NONE) {
		session_interrupt(session, why);
		return ENDING_NONE;
	}
	return output ? ENDING_NONE : session->soft;
}

/* --- it has ended --------------------------------------------------------------------------- */

/* With what it has come to; NULL and r: it could not. */
static void end_run(struct brig_session *session, struct brig_result *result, int r)
{
	struct session_run *run = TAKE_PTR(session->current);
	uint64_t one = 1;

	if (result) {
		session_describe(session, result);
		result->limits = session->limits;
		if (strcmp(result->limit_name, "wall_ms") == 0) {
			result->limit = session->limits.wall_ns;
		}
	}
	if (!run) {
		brig_result_free(result);
		return;
	}
	run->result = result;
	run->end = result ? 1 : r < 0 ? r : -EIO;
	if (write(run->ended, &one, sizeof(one)) < 0) {
		run->end = -errno;
	}
}

static void take_answer(const struct brig_session *session, const struct channel_answer *answer,
			struct brig_result *result)
{
	if (answer->stopped || answer->refused) {
		guard_take(&session->prepared.guard, answer->value, answer->value_size,
			   answer->refused, result);
	} else if (result->status == BRIG_OK) {
		result->value_json = value_check(answer->value, answer->value_size);
	}
}

static void finish(struct brig_session *session, const struct channel_answer *answer)
{
	struct brig_result *result = NULL;

	session->prepared.spec.limits = session->limits;
	int r = run_lap(session->phase.run, answer->status, &result);
	session->state = BRIG_SESSION_IDLE;
	session->soft = ENDING_NONE;
	session->cancelled = false;
	if (result) {
		take_answer(session, answer, result);
	}
	channel_forget(&session->channel);
	if (r == 0) {
		r = run_rest(session->phase.run);
	}
	session_arm(session, SESSION_LOOK_NS);
	end_run(session, result, r);
	if (r < 0) {
		brig_session_end(session, "there was no memory for a run's result");
	}
}

void session_finish_run(struct brig_session *session, const struct channel_answer *answer)
{
	finish(session, answer);
}

void session_lose_run(struct brig_session *session, struct brig_result *result, int r)
{
	end_run(session, result, r);
}

int session_run_step(struct session_run *run, struct brig_error *err)
{
	if (run->end == 0) {
		brig_session_step(run->session);
	}
	if (run->end < 0 && err) {
		*err = run->session->error;
		if (!err->message[0]) {
			error_set(err, BRIG_E_SYSTEM, -run->end, "the session is gone: %s",
				  run->session->reason);
		}
	}
	return run->end;
}

void session_run_cancel(struct session_run *run)
{
	struct brig_session *session = run->session;

	if (run->end || session->current != run) {
		return;
	}
	if (session->state == BRIG_SESSION_BUSY) {
		session_interrupt(session, ENDING_CANCELLED);
	} else {
		session->cancelled = true; /* as soon as there is something to interrupt */
	}
}

void session_run_pause(struct session_run *run, bool paused)
{
	struct brig_session *session = run->session;

	if (session->current == run && session->state == BRIG_SESSION_BUSY) {
		run_pause(session->phase.run, paused);
	}
}

/* The output would go to somebody who is not there any more. */
static void abandon(struct session_run *run)
{
	struct brig_session *session = run->session;
	struct run *cell = session->phase.run;

	if (session->state == BRIG_SESSION_BUSY) {
		for (int i = 0; i < 2; i++) {
			cell->out[i].on_output = NULL;
			cell->out[i].keep = false;
		}
		run_pause(cell, false);
		session_interrupt(session, ENDING_CANCELLED);
	}
	session->current = NULL;
	session->cancelled = false;
}

void session_run_free(struct session_run *run)
{
	if (!run) {
		return;
	}
	if (run->session) {
		if (run->session->current == run) {
			abandon(run);
		}
		session_unuse(run->session);
	}
	buf_done(&run->code);
	buf_done(&run->input);
	strlist_done(&run->args);
	strlist_done(&run->globs);
	brig_result_free(run->result);
	close_fd(&run->ended);
	free(run);
}
