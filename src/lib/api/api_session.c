/* SPDX-License-Identifier: Apache-2.0 */
/* A run in a session: for the caller the same as a run in a cell of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/api/api_run.h"
#include "lib/api/audit_log.h"

/* The run needs a step when either descriptor is readable. */
static int watch_session(struct brig_run *run, const struct brig_session *session)
{
	struct epoll_event want = { .events = EPOLLIN };

	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	return run->epoll < 0 || epoll_ctl(run->epoll, EPOLL_CTL_ADD, session->epoll, &want) < 0 ||
			       epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->session->ended, &want) < 0
		       ? -errno
		       : 0;
}

static int begin(struct brig_run *run, struct brig_session *session, struct brig_request *request,
		 struct brig_error *err)
{
	int r = prepare_id(request, run->id, err);

	if (r < 0) {
		return r;
	}
	request->id = run->id;
	r = audit_log_accepted(run, request, err);
	if (r < 0) {
		return r;
	}
	r = session_run_start(session, request, &run->session, err);
	if (r < 0) {
		return r;
	}
	r = watch_session(run, session);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch a run") : 0;
}

int brig_session_start(struct brig_session *session, const struct brig_request *request,
		       struct brig_run **ret, struct brig_error *error)
{
	struct brig_request whole = { 0 };
	struct brig_run *run = calloc(1, sizeof(*run));

	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	memcpy(&whole, request,
	       request->size && request->size < sizeof(whole) ? request->size : sizeof(whole));
	run->context = session->context;
	run->epoll = -1;
	run->program = (struct prepared){ .ids = -1, .workdir_fd = -1, .spec = { .devices = -1 } };
	run->compile = run->program;
	int r = begin(run, session, &whole, error);
	if (r < 0) {
		brig_run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}
