/* SPDX-License-Identifier: Apache-2.0 */
/* Preparing a run: see prepare.h. */
#include "lib/prepare/prepare.h"

#include <unistd.h>

#include "kernel/idrange.h"
#include "lib/prepare/choice.h"

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

/* Loads the policy and the program that the request names. */
static int load(struct brig_context *context, const struct brig_request *request,
		struct prepared *p, struct brig_error *err)
{
	int r = prepare_check(request, p->purpose, err);
	if (r < 0) {
		return r;
	}
	r = policy_load(&context->policies, request->policy ? request->policy : "default",
			&p->policy, err);
	if (r < 0) {
		return r;
	}
	r = prepare_consent(p->policy, request, err);
	if (r < 0) {
		return r;
	}
	const struct choice choice = { p->policy, request, p->purpose };
	r = choice_make(context, &choice, &p->policy->provider, err);
	if (r < 0) {
		return r;
	}
	p->spec.provider = p->policy->provider;
	p->spec.oci_runtime = p->policy->oci_runtime;
	p->spec.gvisor_runtime = p->policy->gvisor_runtime;
	p->spec.gvisor_platform = p->policy->gvisor_platform;
	p->spec.launcher = &p->policy->launcher;
	p->spec.vm = &p->policy->vm;
	p->spec.docker = &p->policy->docker;
	p->spec.podman = &p->policy->podman;
	p->spec.cache_dir = context->cache_dir;
	p->spec.wasm_engine = p->policy->wasm_engine;
	p->spec.exec_writable = p->policy->exec_writable || p->purpose == PURPOSE_COMPILE;
	return request->command ? prepare_command(context, request, p, err)
				: prepare_code(context, request, p, err);
}

/* Decides terminal, guard, limits and layers. */
static int decide(struct brig_context *context, const struct brig_request *request,
		  struct prepared *p, struct brig_error *err)
{
	bool terminal = p->purpose == PURPOSE_RUN && request->terminal;
	int r = terminal ? prepare_terminal(p, err) : 0;

	if (r < 0) {
		return r;
	}
	if (p->purpose != PURPOSE_COMPILE) {
		r = guard_decide(p->policy, request, p->runtime, &p->guard, err);
	}
	if (r < 0) {
		return r;
	}
	r = prepare_limits(request, p, err);
	if (r < 0) {
		return r;
	}
	prepare_cpus(&p->spec);
	return prepare_layers(context, p, err);
}

/* Takes the identity, and opens the files and directories of the run. */
static int acquire(struct brig_context *context, const struct brig_request *request,
		   struct prepared *p, struct brig_error *err)
{
	const struct provider *provider = p->spec.provider;
	int r = prepare_network(request, p, err);

	if (r < 0) {
		return r;
	}
	r = prepare_identity(p, err);
	if (r < 0) {
		return r;
	}
	r = prepare_venv_readable(request, p, err);
	if (r < 0) {
		return r;
	}
	r = prepare_inputs(request, p, err);
	if (r < 0) {
		return r;
	}
	if (p->purpose != PURPOSE_COMPILE) {
		r = prepare_mounts(context, request, p, err);
	}
	if (r < 0) {
		return r;
	}
	return provider->make_workdir ? provider->make_workdir(&p->workdir, &p->workdir_fd, err)
				      : 0;
}

/* The program alone, or with a driver, which reports its value or stays for a session. */
static int make_command_line(const struct brig_request *request, struct prepared *p,
			     struct brig_error *err)
{
	bool session = p->purpose == PURPOSE_SESSION;

	if (!session && !prepare_wants_value(request, p)) {
		return prepare_argv(request, p, err);
	}
	int r = session ? prepare_session(request, p, err)
			: prepare_valued(request, p, &p->argv, err);
	if (r < 0) {
		return r;
	}
	prepared_set_driver(p, session ? p->runtime->session_driver : p->runtime->value_driver);
	p->spec.kind = CELL_DRIVEN;
	return 0;
}

static int prepare_into(struct brig_context *context, const struct brig_request *request,
			struct prepared *p, struct brig_error *err)
{
	int r = load(context, request, p, err);

	if (r < 0) {
		return r;
	}
	r = decide(context, request, p, err);
	if (r < 0) {
		return r;
	}
	r = acquire(context, request, p, err);
	if (r < 0) {
		return r;
	}
	r = prepare_env(request, p, err);
	if (r < 0) {
		return r;
	}
	r = make_command_line(request, p, err);
	if (r < 0) {
		return r;
	}
	r = prepare_wasm(context, p, err);
	return r < 0 ? r : prepare_filter(p, err);
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
