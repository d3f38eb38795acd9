/* Preparing a run: see prepare.h. */
#include "lib/prepare.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "kernel/idrange.h"
#include "lib/localdir.h"

/* A century: what a run may use is watched by the warden alone. */
#define SESSION_CPU_NS (100ull * 365 * 86400 * 1000000000)

static int check_request(const struct brig_request *request, enum purpose purpose,
			 struct brig_error *err)
{
	int given = (request->code != NULL) + (request->file != NULL) + (request->command != NULL);

	if (purpose == PURPOSE_SESSION) {
		return given ? error_set(
				       err, BRIG_E_INPUT, EINVAL,
				       "a session is opened without code: that comes with its runs")
			     : 0;
	}

	if (given != 1) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 given ? "code, file and command exclude each other"
				       : "there is nothing to run");
	}
	return 0;
}

/* auto_run: what may happen without a person's word. */
static int check_consent(const struct policy *policy, const struct brig_request *request,
			 struct brig_error *err)
{
	if (policy->auto_run == AUTO_RUN_YES ||
	    (policy->auto_run == AUTO_RUN_ASK && request->consent)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_CONSENT, EACCES,
			  "policy %s runs nothing without a person's word (auto_run: %s)",
			  policy->name, policy->auto_run == AUTO_RUN_ASK ? "ask" : "never");
	error_remedy(err, policy->auto_run == AUTO_RUN_ASK
				  ? "give it: brig run --yes, or consent in the request; or use a "
				    "policy with walls, such as default"
				  : "use another policy");
	return r;
}

/* A runtime's own limits are for what it needs less of: they never widen the policy's. */
static void tighten(struct brig_limits *limits, const struct brig_limits *by)
{
	for (size_t i = 0; i < limit_table_count; i++) {
		uint64_t value = *limit_of((struct brig_limits *)(uintptr_t)by, &limit_table[i]);
		if (value && value < *limit_of(limits, &limit_table[i])) {
			*limit_of(limits, &limit_table[i]) = value;
		}
	}
}

static int set_limits(const struct brig_request *request, struct prepared *p,
		      struct brig_error *err)
{
	struct spec *spec = &p->spec;

	if (p->purpose == PURPOSE_COMPILE) {
		spec->limits = p->policy->compile_limits;
		tighten(&spec->limits, &p->runtime->compile_limits);
		return 0;
	}
	int r = policy_limits_within(p->policy, &request->limits, &request->limits_most,
				     &spec->limits, err);
	if (r < 0 || !p->runtime) {
		return r;
	}
	const struct runtime *runtime = p->runtime;
	char text[32];
	if (spec->limits.memory_bytes < runtime->least_memory_bytes) {
		r = error_set(err, BRIG_E_INPUT, ERANGE, "%s cannot start with so little memory",
			      runtime->name);
		error_remedy(
			err, "give it at least %s",
			unit_format(UNIT_BYTES, runtime->least_memory_bytes, text, sizeof(text)));
	} else if (spec->limits.processes < runtime->least_processes) {
		r = error_set(err, BRIG_E_INPUT, ERANGE,
			      "%s cannot start with so few processes and threads", runtime->name);
		error_remedy(err, "give it at least %llu",
			     (unsigned long long)runtime->least_processes);
	}
	return r;
}

static void set_cpus(struct spec *spec)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned host = online > 0 ? (unsigned)online : 1;
	uint64_t share = (spec->limits.cpu_millicores + 999) / 1000;

	spec->cpus = share > 0 && share < host ? (unsigned)share : host;
}

static int set_identity(struct prepared *p, struct brig_error *err)
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

/* An argv of the runtime's, with this request's values. */
static int expand(const struct brig_request *request, struct prepared *p,
		  const struct strlist *argv, const char *driver, struct strlist *ret,
		  struct brig_error *err)
{
	const char *base = p->workdir ? p->workdir : "/sandbox";
	_cleanup_free_ char *source = NULL;
	_cleanup_free_ char *output = NULL;

	if (asprintf(&source, "%s/%s", base, p->source.file) < 0 ||
	    asprintf(&output, "%s/%s", base, p->runtime->output) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	struct runtime_values values = {
		.program = p->runtime->program,
		.prefix = p->runtime->prefix,
		.source = source,
		.output = output,
		.main = p->source.main,
		.args = request->args,
		.memory_bytes = p->spec.limits.memory_bytes,
		.driver = driver,
	};
	return runtime_expand(argv, &values, ret, err);
}

static int expand_argv(const struct brig_request *request, struct prepared *p,
		       struct brig_error *err)
{
	if (!p->runtime) {
		return 0;
	}
	return expand(request, p,
		      p->purpose == PURPOSE_COMPILE ? &p->runtime->compile : &p->runtime->run, NULL,
		      &p->argv, err);
}

static const struct embedded_file *find_driver(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "drivers/%s", name);
	for (size_t i = 0; i < embedded_files_count; i++) {
		if (strcmp(embedded_files[i].path, path) == 0) {
			return &embedded_files[i];
		}
	}
	return NULL;
}

static bool wants_value(const struct brig_request *request, const struct prepared *p)
{
	return (request->want_value || p->guard.on) && p->runtime && p->runtime->value_driver[0] &&
	       p->purpose == PURPOSE_RUN && p->spec.provider == PROVIDER_NATIVE;
}

/* As an interpreter's own: neither variables nor files of the program's have a say in the guard. */
static const char *const alone[] = { "-I", "-u", "-B" };

static int insert_options(struct strlist *argv)
{
	struct strlist words = { 0 };
	int r = strlist_add(&words, argv->items[0]);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(alone); i++) {
		r = strlist_add(&words, alone[i]);
	}
	for (size_t i = 1; r == 0 && i < argv->count; i++) {
		r = strlist_add(&words, argv->items[i]);
	}
	if (r < 0) {
		strlist_done(&words);
		return r;
	}
	strlist_done(argv);
	*argv = words;
	return 0;
}

/* The driver at `argv` gets the guard in front of it, and its order behind it. */
static int add_guard(struct prepared *p, struct strlist *argv, const struct embedded_file *driver,
		     struct brig_error *err)
{
	struct guard *guard = &p->guard;

	if (!guard->on) {
		return 0;
	}
	guard->text = guard_text(driver->data, driver->size, &guard->text_size);
	int r = guard->text ? guard_words(guard, argv, 2) : -ENOMEM;
	if (r == 0 && guard->mode == GUARD_STRICT) {
		r = insert_options(argv);
	}
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the guard") : 0;
}

/* The program is run by a script of ours, which hands out its value. */
static int expand_valued(const struct brig_request *request, struct prepared *p,
			 struct strlist *ret, struct brig_error *err)
{
	const char *name = p->runtime->value_driver;

	if (!find_driver(name)) {
		return error_set(err, BRIG_E_RUNTIME, ENOENT, "brig has no driver %s", name);
	}
	if (asprintf(&p->driver, "/etc/brig/%s", name) < 0) {
		p->driver = NULL;
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	int r = expand(request, p, &p->runtime->value_argv, p->driver, ret, err);
	return r < 0 ? r : add_guard(p, ret, find_driver(name), err);
}

static void set_driver(struct prepared *p, const char *name)
{
	const struct embedded_file *file = find_driver(name);

	p->spec.driver = p->driver + 1;
	p->spec.driver_text = p->guard.text ? p->guard.text : file->data;
	p->spec.driver_size = p->guard.text ? p->guard.text_size : file->size;
}

/* A script of ours stays in the cell. The cell's limit on cpu time is for all runs together. */
static int set_session(const struct brig_request *request, struct prepared *p,
		       struct brig_error *err)
{
	const char *name = p->runtime->session_driver;

	if (!name[0]) {
		int r = error_set(err, BRIG_E_RUNTIME, ENOTSUP, "%s has no sessions",
				  p->runtime->name);
		error_remedy(err, "run it without one, or use python, javascript or bash");
		return r;
	}
	if (p->spec.provider != PROVIDER_NATIVE) {
		return error_set(err, BRIG_E_POLICY, ENOTSUP,
				 "policy %s has no walls: there are no sessions without",
				 p->policy->name);
	}
	if (!find_driver(name)) {
		return error_set(err, BRIG_E_RUNTIME, ENOENT, "brig has no driver %s", name);
	}
	if (asprintf(&p->driver, "/etc/brig/%s", name) < 0) {
		p->driver = NULL;
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	p->spec.limits.cpu_ns = SESSION_CPU_NS;
	int r = expand(request, p, &p->runtime->session_argv, p->driver, &p->argv, err);
	return r < 0 ? r : add_guard(p, &p->argv, find_driver(name), err);
}

static int prepare_into(struct brig_context *context, const struct brig_request *request,
			struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;
	int r = check_request(request, p->purpose, err);

	if (r == 0) {
		r = policy_load(&context->policies, request->policy ? request->policy : "default",
				&p->policy, err);
	}
	if (r == 0) {
		r = check_consent(p->policy, request, err);
	}
	if (r == 0) {
		spec->provider = p->policy->provider;
		spec->exec_writable = p->policy->exec_writable || p->purpose == PURPOSE_COMPILE;
		r = request->command ? prepare_command(context, request, p, err)
				     : prepare_code(context, request, p, err);
	}
	if (r == 0 && p->purpose != PURPOSE_COMPILE) {
		r = guard_decide(p->policy, request, p->runtime, &p->guard, err);
	}
	if (r == 0) {
		r = set_limits(request, p, err);
	}
	if (r == 0) {
		set_cpus(spec);
		r = prepare_layers(context, p, err);
	}
	if (r == 0) {
		r = prepare_network(request, p, err);
	}
	if (r == 0) {
		r = set_identity(p, err);
	}
	if (r == 0) {
		r = prepare_inputs(request, p, err);
	}
	if (r == 0 && p->purpose != PURPOSE_COMPILE) {
		r = prepare_mounts(request, p, err);
	}
	if (r == 0 && spec->provider == PROVIDER_LOCAL) {
		r = localdir_make(&p->workdir, &p->workdir_fd, err);
	}
	if (r == 0) {
		r = prepare_env(request, p, err);
	}
	if (r == 0 && p->purpose == PURPOSE_SESSION) {
		r = set_session(request, p, err);
		if (r == 0) {
			set_driver(p, p->runtime->session_driver);
			spec->valued = true;
		}
	} else if (r == 0 && wants_value(request, p)) {
		r = expand_valued(request, p, &p->argv, err);
		if (r == 0) {
			set_driver(p, p->runtime->value_driver);
			spec->valued = true;
		}
	} else if (r == 0) {
		r = expand_argv(request, p, err);
	}
	if (r == 0) {
		r = prepare_filter(p, err);
	}
	return r;
}

/* What the spec points to; again after every change. */
static void connect_spec(struct prepared *p)
{
	struct spec *spec = &p->spec;

	spec->closure = &p->closure;
	spec->inputs = p->inputs;
	spec->inputs_count = p->inputs_count;
	spec->mounts = p->mounts;
	spec->mounts_count = p->mounts_count;
	spec->argv = (const char *const *)p->argv.items;
	spec->envp = (const char *const *)p->env.items;
	spec->workdir = p->workdir;
	spec->filter = p->filter.count ? &p->filter : NULL;
}

int prepare(struct brig_context *context, const struct brig_request *request, enum purpose purpose,
	    struct prepared *ret, struct brig_error *err)
{
	*ret = (struct prepared){ .purpose = purpose, .ids = -1, .workdir_fd = -1 };
	ret->spec.devices = ret->spec.gate = -1;
	int r = prepare_into(context, request, ret, err);
	if (r < 0) {
		prepared_done(ret);
		return r;
	}
	connect_spec(ret);
	return 0;
}

static int prepare_over(const struct prepared *base, const struct brig_request *request,
			enum purpose purpose, struct prepared *p, struct brig_error *err)
{
	*p = (struct prepared){
		.purpose = purpose,
		.borrowed = true,
		.policy = base->policy,
		.runtime = base->runtime,
		.closure = base->closure,
		.filter = base->filter,
		.ids = -1,
		.workdir_fd = -1,
		.spec = base->spec,
	};
	p->spec.devices = -1;
	int r = check_request(request, purpose, err);
	if (r == 0) {
		r = check_consent(p->policy, request, err);
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
		r = set_limits(request, p, err);
	}
	if (r == 0) {
		r = prepare_inputs(request, p, err);
	}
	if (r == 0) {
		r = prepare_env(request, p, err);
	}
	if (r == 0) {
		r = purpose == PURPOSE_SESSION ? set_session(request, p, err)
					       : expand_argv(request, p, err);
	}
	if (r == 0 && purpose == PURPOSE_RUN && p->guard.on &&
	    guard_words(&p->guard, &p->argv, 1) < 0) {
		r = error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the guard");
	}
	if (r == 0 && wants_value(request, p)) {
		r = expand_valued(request, p, &p->cold_argv, err);
	}
	if (r < 0) {
		prepared_done(p);
		return r;
	}
	connect_spec(p);
	return 0;
}

int prepare_on(const struct prepared *base, const struct brig_request *request,
	       struct prepared *ret, struct brig_error *err)
{
	return prepare_over(base, request, PURPOSE_RUN, ret, err);
}

int prepare_session_on(const struct prepared *base, const struct brig_request *request,
		       struct prepared *ret, struct brig_error *err)
{
	return prepare_over(base, request, PURPOSE_SESSION, ret, err);
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
		set_driver(p, p->runtime->value_driver);
		spec->valued = true;
	}
	if (p->purpose == PURPOSE_SESSION) {
		set_driver(p, p->runtime->session_driver);
		spec->valued = true;
	}
	connect_spec(p);
	return set_identity(p, err);
}

int prepare_driver(struct prepared *p, const struct brig_request *request, struct brig_error *err)
{
	const char *name = p->runtime->driver;
	struct strlist argv = { 0 };

	if (!find_driver(name)) {
		return error_set(err, BRIG_E_RUNTIME, ENOENT, "brig has no driver %s", name);
	}
	int r = set_limits(request, p, err);
	if (r < 0) {
		return r;
	}
	/* The warden counts the request's own time; the back-stop of the cell is for them all. */
	p->spec.limits.cpu_ns = p->policy->ceiling.cpu_ns;
	if (asprintf(&p->driver, "/etc/brig/%s", name) < 0) {
		p->driver = NULL;
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	r = expand(request, p, &p->runtime->driver_argv, p->driver, &argv, err);
	if (r < 0) {
		return r;
	}
	strlist_done(&p->argv);
	p->argv = argv;
	p->spec.prestarted = true;
	set_driver(p, name);
	connect_spec(p);
	return 0;
}

int prepared_add_input(struct prepared *p, const char *name, void *data, uint64_t size, int fd,
		       mode_t mode, struct brig_error *err)
{
	struct spec_input *inputs = realloc(p->inputs, (p->inputs_count + 1) * sizeof(*inputs));
	char *copy = strdup(name);

	if (inputs) {
		p->inputs = inputs;
	}
	if (!inputs || !copy) {
		free(copy);
		free(data);
		close_fd(&fd);
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for input files");
	}
	inputs[p->inputs_count++] = (struct spec_input){
		.name = copy, .data = data, .size = size, .fd = fd, .mode = mode
	};
	connect_spec(p);
	return 0;
}

void prepared_done(struct prepared *p)
{
	for (size_t i = 0; i < p->inputs_count; i++) {
		free((char *)(uintptr_t)p->inputs[i].name);
		free((void *)(uintptr_t)p->inputs[i].data);
		close_fd(&p->inputs[i].fd);
	}
	for (size_t i = 0; i < p->mounts_count; i++) {
		free((char *)(uintptr_t)p->mounts[i].name);
		free((char *)(uintptr_t)p->mounts[i].path);
		close_fd(&p->mounts[i].fd);
		close_fd(&p->mounts[i].tree);
	}
	localdir_remove(p->workdir);
	free(p->workdir);
	free(p->inputs);
	free(p->mounts);
	free(p->code);
	free(p->driver);
	prepared_gate_free(p->gate);
	guard_done(&p->guard);
	if (!p->borrowed) {
		policy_free(p->policy);
		runtime_free(p->runtime);
		closure_done(&p->closure);
		bpf_program_done(&p->filter);
	}
	strlist_done(&p->argv);
	strlist_done(&p->cold_argv);
	strlist_done(&p->env);
	close_fd(&p->ids);
	close_fd(&p->spec.devices);
	if (p->spec.gate_ports_count) {
		close_fd(&p->spec.gate);
	}
	close_fd(&p->workdir_fd);
	*p = (struct prepared){ .ids = -1, .workdir_fd = -1 };
	p->spec.devices = p->spec.gate = -1;
}
