/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a run in a session: checks the request against the session, keeps it until it begins. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/blank.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "lib/session/session.h"

/* Does the request set a limit that the cell has from its beginning? */
static bool sets_cell(const struct brig_limits *limits)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		if (limit_table[i].scope != LIMIT_OF_RUN && limit_value(limits, &limit_table[i])) {
			return true;
		}
	}
	return false;
}

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
	if (text_is_blank(request->code, size)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "the code is empty");
	}
	if (request->stdin_feed || request->stdin_size > SESSION_STDIN_BYTES_MAX) {
		return error_set(
			err, BRIG_E_INPUT, EFBIG,
			"the input of a run in a session must be sent at once, and have at "
			"most 32 MiB");
	}
	if (sets_cell(limits)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "a session's memory, processes, disk and files cannot be "
				  "limited anew for a run");
		error_remedy(err, "set these limits when the session is opened");
		return r;
	}
	if (prepare_check_out(request->out, err) < 0) {
		return -E2BIG;
	}
	/* The rules of the cell's gate are fixed: a run cannot tighten them. */
	if (request->network) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "a session's network cannot be chosen anew for a run");
		error_remedy(err, "choose the hosts when the session is opened");
		return r;
	}
	return request->mounts_count ? error_set(err, BRIG_E_INPUT, EINVAL,
						 "directories are given to a session when it is "
						 "opened")
				     : 0;
}

/* The limits of the run's request, else of the session's, else of the policy. */
static int find_limits(const struct brig_session *session, const struct brig_request *request,
		       struct brig_limits *ret, struct brig_error *err)
{
	struct brig_limits want = session->asked, own = request->limits;
	struct brig_limits usual, most = request->limits_most;
	if (request->clamp) {
		policy_limits_clamp(session->prepared.policy, &request->limits_most, &own);
	}
	int r = policy_limits_within(session->prepared.policy, &session->asked, &session->most,
				     &usual, err);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		uint64_t value = *limit_of(&own, &limit_table[i]);
		uint64_t bound = *limit_of(&most, &limit_table[i]);
		uint64_t unasked = *limit_of(&usual, &limit_table[i]);

		/* The caller of the run may be allowed less than the caller that opened it. */
		unasked = bound && bound < unasked ? bound : unasked;
		*limit_of(&want, &limit_table[i]) = value ? value : unasked;
	}
	return policy_limits(session->prepared.policy, &want, ret, err);
}

static int check_provider(const struct brig_session *session, const struct brig_request *request,
			  struct brig_error *err)
{
	const char *provider = session->prepared.spec.provider->name;

	if (!request->provider || strcmp(request->provider, provider) == 0) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL,
			  "the session was opened with provider %s, and keeps it", provider);
	error_remedy(err, "choose the provider when the session is opened");
	return r;
}

static int check_venv(const struct brig_session *session, const struct brig_request *request,
		      struct brig_error *err)
{
	const struct venv *venv = session->prepared.venv;

	if (!request->venv || (venv && strcmp(request->venv, venv->asked) == 0)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL,
			  "the session was opened with %s virtualenv, and keeps it",
			  venv ? "another" : "no");
	error_remedy(err, "choose the virtualenv when the session is opened");
	return r;
}

/* Earlier runs may have changed the interpreter: a tighter guard would have no effect. */
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
	if (session->state == SESSION_GONE || session->reason[0]) {
		int r = error_set(err, BRIG_E_INPUT, ESTALE, "the session is gone: %s",
				  session->reason);
		error_remedy(err, "open another one; files and variables are lost");
		return r;
	}
	if (session->current || session_is_busy(session)) {
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

/* Checks the request, and copies it. */
static int fill_run(struct session_run *run, struct brig_session *session,
		    const struct brig_request *request, struct brig_error *err)
{
	run->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->ended < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch a run");
	}
	int r = check_state(session, err);
	if (r < 0) {
		return r;
	}
	r = check_request(request, err);
	if (r < 0) {
		return r;
	}
	r = check_provider(session, request, err);
	if (r < 0) {
		return r;
	}
	r = check_venv(session, request, err);
	if (r < 0) {
		return r;
	}
	r = check_guard(session, request, err);
	if (r < 0) {
		return r;
	}
	r = find_limits(session, request, &run->limits, err);
	if (r < 0) {
		return r;
	}
	r = session_inputs_new(session, request, &run->inputs, err);
	return r < 0 ? r : keep(run, request, err);
}

int session_run_start(struct brig_session *session, const struct brig_request *request,
		      struct session_run **ret, struct brig_error *err)
{
	struct session_run *run = calloc(1, sizeof(*run));

	if (!run) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	int r = fill_run(run, session, request, err);
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
