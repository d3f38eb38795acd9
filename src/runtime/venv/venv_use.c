/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime whose program is the interpreter of a virtualenv, and the variables of its programs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/placeholder.h"
#include "runtime/venv/venv.h"

/*
 * The base interpreter's own directories. In the prefix of a distribution it shares them with other
 * programs, so only the standard library is added; any other prefix is one that was made for it (by
 * pyenv, uv, conda), with libraries beside the standard library.
 */
static int add_base(struct runtime *runtime, const struct venv *venv, enum venv_base base)
{
	char prefix[PATH_MAX], library[PATH_MAX];

	venv_base_prefix(venv, base, prefix);
	if (prefix[0] == '\0' || closure_refuses(prefix)) {
		return strlist_addf(&runtime->closure, "%s/lib/python%s", prefix, venv->minor);
	}
	/* An entry of a closure is a pattern. */
	if (venv_base_library(venv, base, library) < 0 || strpbrk(prefix, "*?{}")) {
		return 0;
	}
	/* The library itself may be behind a link. */
	int r = strlist_addf(&runtime->closure, "%s/lib", prefix);
	return r < 0 ? r : strlist_add(&runtime->closure, library);
}

static bool is_of_usual_program(const char *entry)
{
	return placeholder_used(entry, PLACEHOLDER_PREFIX) ||
	       placeholder_used(entry, PLACEHOLDER_REALNAME);
}

/* The directories of the usual interpreter, by names that are the virtualenv's to choose now. */
static void drop_usual(struct strlist *closure)
{
	size_t kept = 0;

	for (size_t i = 0; i < closure->count; i++) {
		if (is_of_usual_program(closure->items[i])) {
			free(closure->items[i]);
		} else {
			closure->items[kept++] = closure->items[i];
		}
	}
	if (closure->items) {
		closure->items[kept] = NULL;
	}
	closure->count = kept;
}

static int add_closure(struct runtime *runtime, const struct venv *venv)
{
	drop_usual(&runtime->closure);
	int r = strlist_add(&runtime->closure, venv->path);

	r = r < 0 ? r : strlist_add(&runtime->closure, venv->program);
	r = r < 0 ? r : strlist_addf(&runtime->closure, "/usr/local/lib/python%s", venv->minor);
	r = r < 0 ? r : add_base(runtime, venv, VENV_BASE_REAL);
	/* As the virtualenv names it: there may be links on the way. */
	return r < 0 ? r : add_base(runtime, venv, VENV_BASE_NAMED);
}

/* Variables that lead to files of the host's own packages: the virtualenv has others. */
static void drop_paths(struct strlist *env)
{
	size_t kept = 0;

	for (size_t i = 0; i < env->count; i++) {
		const char *equals = strchr(env->items[i], '=');
		if (equals && equals[1] == '/') {
			free(env->items[i]);
		} else {
			env->items[kept++] = env->items[i];
		}
	}
	if (env->items) {
		env->items[kept] = NULL;
	}
	env->count = kept;
}

static int replace(char **text, const char *by)
{
	free(*text);
	*text = strdup(by);
	return *text ? 0 : -ENOMEM;
}

int runtime_use_venv(struct runtime *runtime, const struct venv *venv, struct brig_error *err)
{
	char prefix[PATH_MAX];

	venv_base_prefix(venv, VENV_BASE_REAL, prefix);
	int r = replace(&runtime->program, venv->program);
	r = r < 0 ? r : replace(&runtime->real_program, venv->real_program);
	r = r < 0 ? r : replace(&runtime->prefix, prefix);
	r = r < 0 ? r : add_closure(runtime, venv);
	if (r < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a virtualenv");
	}
	snprintf(runtime->version, sizeof(runtime->version), "%s", venv->cfg.version);
	if (!venv->cfg.system_packages) {
		drop_paths(&runtime->env);
	}
	return 0;
}

int venv_env(const struct venv *venv, struct strlist *ret)
{
	int r = strlist_addf(ret, "VIRTUAL_ENV=%s", venv->path);

	return r < 0 ? r
		     : strlist_addf(ret, "PATH=%s/bin:/usr/local/bin:/usr/bin:/bin", venv->path);
}
