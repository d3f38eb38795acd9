/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of the program: the runtime's own; or a driver of ours, which reports a value,
 * waits for the program, or stays for a session. The guard is put in front of a driver.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "lib/prepare/prepare.h"

/* A century: only the warden limits the processor time of a run in a session. */
#define SESSION_CPU_NS (100ull * 365 * 86400 * 1000000000)

/* One of the runtime's argvs, with the values of this request. */
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

int prepare_argv(const struct brig_request *request, struct prepared *p, struct brig_error *err)
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
	return embedded_find(path);
}

/* Sets the path of the driver in the cell. */
static int name_driver(struct prepared *p, const char *name, struct brig_error *err)
{
	if (!find_driver(name)) {
		return error_set(err, BRIG_E_RUNTIME, ENOENT, "brig has no driver %s", name);
	}
	if (asprintf(&p->driver, "/etc/brig/%s", name) < 0) {
		p->driver = NULL;
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	return 0;
}

bool prepare_wants_value(const struct brig_request *request, const struct prepared *p)
{
	return (request->want_value || p->guard.on) && p->runtime && p->runtime->value_driver[0] &&
	       p->purpose == PURPOSE_RUN && provider_can(p->spec.provider, ABILITY_VALUE);
}

/*
 * Variables and files of the program must not influence the guard. In the looser modes the program
 * keeps its variables (PYTHON* are refused, see policy/env.c), but has no directory of its own from
 * which the interpreter runs code as it starts.
 */
static const char *const alone[] = { "-I", "-u", "-B", NULL };
static const char *const without_site[] = { "-s", NULL };

/* Puts the guard in front of the driver's text, and the instructions into `argv`. */
static int add_guard(struct prepared *p, struct strlist *argv, const struct embedded_file *driver,
		     struct brig_error *err)
{
	struct guard *guard = &p->guard;

	if (!guard->on) {
		return 0;
	}
	guard->text = guard_text(driver->data, driver->size, &guard->text_size);
	int r = guard->text ? guard_add_instructions(guard, argv, 2) : -ENOMEM;
	const char *const *options = guard->mode == GUARD_STRICT ? alone : without_site;
	for (size_t i = 0; r == 0 && options[i]; i++) {
		r = strlist_insert(argv, 1 + i, options[i]);
	}
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the guard") : 0;
}

/* The program is run by a driver of ours, which reports its value. */
int prepare_valued(const struct brig_request *request, struct prepared *p, struct strlist *ret,
		   struct brig_error *err)
{
	const char *name = p->runtime->value_driver;
	int r = name_driver(p, name, err);

	r = r < 0 ? r : expand(request, p, &p->runtime->value_argv, p->driver, ret, err);
	return r < 0 ? r : add_guard(p, ret, find_driver(name), err);
}

void prepared_set_driver(struct prepared *p, const char *name)
{
	const struct embedded_file *file = find_driver(name);

	p->spec.driver = p->driver + 1;
	p->spec.driver_text = p->guard.text ? p->guard.text : file->data;
	p->spec.driver_size = p->guard.text ? p->guard.text_size : file->size;
}

/* A driver of ours stays in the cell. The cell's limit on cpu time is for all runs together. */
int prepare_session(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	const char *name = p->runtime->session_driver;

	if (!name[0]) {
		int r = error_set(err, BRIG_E_RUNTIME, ENOTSUP, "%s has no sessions",
				  p->runtime->name);
		error_remedy(err, "run it without a session, or use python, javascript or bash");
		return r;
	}
	if (!provider_can(p->spec.provider, ABILITY_SESSIONS)) {
		int r = error_set(err, BRIG_E_POLICY, ENOTSUP, "provider %s has no sessions",
				  p->spec.provider->name);
		error_remedy(err, PROVIDER_REMEDY);
		return r;
	}
	int r = name_driver(p, name, err);
	p->spec.limits.cpu_ns = SESSION_CPU_NS;
	r = r < 0 ? r : expand(request, p, &p->runtime->session_argv, p->driver, &p->argv, err);
	return r < 0 ? r : add_guard(p, &p->argv, find_driver(name), err);
}

/* The script, which also gets the names of the modules that it imports before it waits. */
static int write_waiting(struct prepared *p, const struct embedded_file *file)
{
	const struct strlist *names = &p->runtime->preload;
	struct buf *text = &p->waiting.text;

	buf_adds(text, "WAITING = [");
	for (size_t i = 0; i < names->count; i++) {
		buf_addf(text, "'%s', ", names->items[i]);
	}
	buf_adds(text, "]\n");
	buf_add(text, file->data, file->size);
	return text->failed ? -ENOMEM : 0;
}

int prepare_waiting(struct prepared *p, const struct brig_request *request, struct brig_error *err)
{
	const char *name = p->runtime->waiting_driver;
	const struct embedded_file *file = find_driver(name);

	/* The start of the interpreter makes calls too, which would be missing in the record. */
	if (!name[0] || p->watch || p->monitor.on) {
		return 0;
	}
	if (!file) {
		return error_set(err, BRIG_E_RUNTIME, ENOENT, "brig has no driver %s", name);
	}
	int r = expand(request, p, &p->runtime->run, NULL, &p->waiting.argv, err);
	if (r < 0) {
		return r;
	}
	if (write_waiting(p, file) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a waiting interpreter");
	}
	p->waiting.spec = (struct spec_waiting){
		.argv = (const char *const *)p->waiting.argv.items,
		.name = p->source.file,
		.text = p->waiting.text.data,
		.size = p->waiting.text.size,
	};
	p->spec.waiting = &p->waiting.spec;
	return 0;
}

int prepare_driver(struct prepared *p, const struct brig_request *request, struct brig_error *err)
{
	const char *name = p->runtime->driver;
	struct strlist argv = { 0 };
	int r = name_driver(p, name, err);

	r = r < 0 ? r : prepare_limits(request, p, err);
	if (r < 0) {
		return r;
	}
	/* The warden limits the request's own time; the limits of the cell are a backstop. */
	p->spec.limits.cpu_ns = p->policy->ceiling.cpu_ns;
	p->spec.limits.wall_ns = p->policy->ceiling.wall_ns;
	p->spec.limits.grace_ns = 0;
	r = expand(request, p, &p->runtime->driver_argv, p->driver, &argv, err);
	if (r < 0) {
		return r;
	}
	strlist_done(&p->argv);
	p->argv = argv;
	p->spec.kind = CELL_STARTED;
	prepared_set_driver(p, name);
	prepared_connect(p);
	return 0;
}
