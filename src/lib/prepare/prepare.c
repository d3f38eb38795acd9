/* SPDX-License-Identifier: Apache-2.0 */
/* Preparing a run: see prepare.h. */
#include "lib/prepare/prepare.h"

#include <unistd.h>

#include "kernel/idrange.h"

int prepare_identity(struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;

	spec->caller_uid = geteuid();
	spec->caller_gid = getegid();
	spec->devices = -1;
	if (!(spec->layers & LAYER_BIT(LAYER_UIDRANGE))) {
		return 0;
	}
	p->ids = idrange_take(&spec->first_id, err);
	if (p->ids < 0) {
		return p->ids;
	}
	spec->ranged = spec->own_devices = true;
	return 0;
}

static int prepare_into(struct brig_context *context, const struct brig_request *request,
			struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;
	int r = prepare_check(request, p->purpose, err);

	if (r == 0) {
		r = policy_load(&context->policies, request->policy ? request->policy : "default",
				&p->policy, err);
	}
	if (r == 0) {
		r = prepare_consent(p->policy, request, err);
	}
	if (r == 0) {
		spec->provider = p->policy->provider;
		spec->exec_writable = p->policy->exec_writable || p->purpose == PURPOSE_COMPILE;
		r = request->command ? prepare_command(context, request, p, err)
				     : prepare_code(context, request, p, err);
	}
	if (r == 0 && p->purpose == PURPOSE_RUN && request->terminal) {
		r = prepare_terminal(p, err);
	}
	if (r == 0 && p->purpose != PURPOSE_COMPILE) {
		r = guard_decide(p->policy, request, p->runtime, &p->guard, err);
	}
	if (r == 0) {
		r = prepare_limits(request, p, err);
	}
	if (r == 0) {
		prepare_cpus(spec);
		r = prepare_layers(context, p, err);
	}
	if (r == 0) {
		r = prepare_network(request, p, err);
	}
	if (r == 0) {
		r = prepare_identity(p, err);
	}
	if (r == 0) {
		r = prepare_inputs(request, p, err);
	}
	if (r == 0 && p->purpose != PURPOSE_COMPILE) {
		r = prepare_mounts(context, request, p, err);
	}
	if (r == 0 && spec->provider->make_workdir) {
		r = spec->provider->make_workdir(&p->workdir, &p->workdir_fd, err);
	}
	if (r == 0) {
		r = prepare_env(request, p, err);
	}
	if (r == 0 && p->purpose == PURPOSE_SESSION) {
		r = prepare_session(request, p, err);
		if (r == 0) {
			prepared_set_driver(p, p->runtime->session_driver);
			spec->valued = true;
		}
	} else if (r == 0 && prepare_wants_value(request, p)) {
		r = prepare_valued(request, p, &p->argv, err);
		if (r == 0) {
			prepared_set_driver(p, p->runtime->value_driver);
			spec->valued = true;
		}
	} else if (r == 0) {
		r = prepare_argv(request, p, err);
	}
	if (r == 0) {
		r = prepare_filter(p, err);
	}
	return r;
}

int prepare(struct brig_context *context, const struct brig_request *request, enum purpose purpose,
	    struct prepared *ret, struct brig_error *err)
{
	*ret = (struct prepared){ .purpose = purpose, .ids = -1, .workdir_fd = -1 };
	ret->spec.devices = ret->spec.gate = -1;
	ret->watch = context->watch;
	ret->shared = &context->shared;
	int r = prepare_into(context, request, ret, err);
	if (r < 0) {
		prepared_done(ret);
		return r;
	}
	prepared_connect(ret);
	return 0;
}
