/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a request on the base that a pool has prepared for all requests like it. */
#include <errno.h>

#include "base/cleanup.h"
#include "lib/prepare/prepare.h"

static int load(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	int r = prepare_check(request, p->purpose, err);

	if (r < 0) {
		return r;
	}
	r = prepare_consent(p->policy, request, err);
	if (r < 0) {
		return r;
	}
	r = prepare_source(request, p, err);
	if (r < 0) {
		return r;
	}
	r = guard_decide(p->policy, request, p->runtime, &p->guard, err);
	if (r < 0) {
		return r;
	}
	runtime_source_name(p->runtime, request->file, p->code ? p->code : "", p->code_size,
			    &p->source);
	return 0;
}

static int make_command_line(const struct brig_request *request, struct prepared *p,
			     struct brig_error *err)
{
	int r = p->purpose == PURPOSE_SESSION ? prepare_session(request, p, err)
					      : prepare_argv(request, p, err);

	if (r < 0) {
		return r;
	}
	if (p->purpose == PURPOSE_RUN && p->guard.on &&
	    guard_add_instructions(&p->guard, &p->argv, 1) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the guard");
	}
	if (prepare_is_wasm(p)) {
		return prepare_wasm_request(p, err);
	}
	return prepare_wants_value(request, p) ? prepare_valued(request, p, &p->cold_argv, err) : 0;
}

static int prepare_on_base(const struct prepared *base, const struct brig_request *request,
			   enum purpose purpose, struct prepared *p, struct brig_error *err)
{
	static int (*const steps[])(const struct brig_request *request, struct prepared *p,
				    struct brig_error *err) = {
		load, prepare_limits, prepare_inputs, prepare_env, make_command_line,
	};

	*p = (struct prepared){
		.shared = base->shared,
		.purpose = purpose,
		.borrowed = true,
		.policy = base->policy,
		.runtime = base->runtime,
		.venv = base->venv,
		.closure = base->closure,
		.filter = base->filter,
		.watch = base->watch,
		.monitor = base->monitor,
		.ids = -1,
		.workdir_fd = -1,
		.spec = base->spec,
	};
	p->spec.devices = -1;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int r = steps[i](request, p, err);
		if (r < 0) {
			prepared_done(p);
			return r;
		}
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

	spec->kind = CELL_COLD;
	spec->driver = spec->driver_text = NULL;
	if (p->cold_argv.count) {
		strlist_done(&p->argv);
		p->argv = p->cold_argv;
		p->cold_argv = (struct strlist){ 0 };
		prepared_set_driver(p, p->runtime->value_driver);
		spec->kind = CELL_DRIVEN;
	}
	if (p->purpose == PURPOSE_SESSION) {
		prepared_set_driver(p, p->runtime->session_driver);
		spec->kind = CELL_DRIVEN;
	}
	if (prepare_is_wasm(p)) {
		spec->kind = CELL_DRIVEN; /* its descriptor 3 is for the report */
	}
	prepared_connect(p);
	return prepare_identity(p, err);
}
