/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a request on the base that a pool has prepared for all requests like it. */
#include <errno.h>

#include "lib/prepare/prepare.h"

static int load(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	int r = prepare_check(request, p->purpose, err);

	if (r == 0) {
		r = prepare_consent(p->policy, request, err);
	}
	if (r == 0) {
		r = prepare_source(request, p, err);
	}
	if (r == 0) {
		r = guard_decide(p->policy, request, p->runtime, &p->guard, err);
	}
	if (r == 0) {
		runtime_source_name(p->runtime, request->file, p->code ? p->code : "", p->code_size,
				    &p->source);
	}
	return r;
}

static int make_command_line(const struct brig_request *request, struct prepared *p,
			     struct brig_error *err)
{
	int r = p->purpose == PURPOSE_SESSION ? prepare_session(request, p, err)
					      : prepare_argv(request, p, err);

	if (r == 0 && p->purpose == PURPOSE_RUN && p->guard.on &&
	    guard_add_instructions(&p->guard, &p->argv, 1) < 0) {
		r = error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the guard");
	}
	if (r == 0 && prepare_wants_value(request, p)) {
		r = prepare_valued(request, p, &p->cold_argv, err);
	}
	return r;
}

static int prepare_on_base(const struct prepared *base, const struct brig_request *request,
			   enum purpose purpose, struct prepared *p, struct brig_error *err)
{
	*p = (struct prepared){
		.shared = base->shared,
		.purpose = purpose,
		.borrowed = true,
		.policy = base->policy,
		.runtime = base->runtime,
		.closure = base->closure,
		.filter = base->filter,
		.watch = base->watch,
		.monitor = base->monitor,
		.ids = -1,
		.workdir_fd = -1,
		.spec = base->spec,
	};
	p->spec.devices = -1;
	int r = load(request, p, err);
	if (r == 0) {
		r = prepare_limits(request, p, err);
	}
	if (r == 0) {
		r = prepare_inputs(request, p, err);
	}
	if (r == 0) {
		r = prepare_env(request, p, err);
	}
	if (r == 0) {
		r = make_command_line(request, p, err);
	}
	if (r < 0) {
		prepared_done(p);
		return r;
	}
	prepared_connect(p);
	return 0;
}

int prepare_request(const struct prepared *base, const struct brig_request *request,
		    struct prepared *ret, struct brig_error *err)
{
	return prepare_on_base(base, request, PURPOSE_RUN, ret, err);
}

int prepare_session_request(const struct prepared *base, const struct brig_request *request,
			    struct prepared *ret, struct brig_error *err)
{
	return prepare_on_base(base, request, PURPOSE_SESSION, ret, err);
}

int prepare_cold(struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;

	spec->held = spec->cloned = spec->prestarted = false;
	spec->driver = spec->driver_text = NULL;
	if (p->cold_argv.count) {
		strlist_done(&p->argv);
		p->argv = p->cold_argv;
		p->cold_argv = (struct strlist){ 0 };
		prepared_set_driver(p, p->runtime->value_driver);
		spec->valued = true;
	}
	if (p->purpose == PURPOSE_SESSION) {
		prepared_set_driver(p, p->runtime->session_driver);
		spec->valued = true;
	}
	prepared_connect(p);
	return prepare_identity(p, err);
}
