/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtualenv of a run: named by the request, else by the policy. A path shows a directory of
 * the host to the program, so only a caller of this process may choose one, and only where the
 * policy lets it mount directories; any other caller chooses among the names that the policy lists.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "lib/prepare/prepare.h"

/* The error for a name that the policy does not list. */
static int not_listed(const struct policy *policy, const char *name, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf names = { 0 };

	for (size_t i = 0; i < policy->venvs_count; i++) {
		buf_addf(&names, "%s%s", i ? ", " : "", policy->venvs[i].name);
	}
	int r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s lists no virtualenv named %.64s",
			  policy->name, name);
	error_remedy(err, "it has: %.300s; the operator lists them in the policy's venvs",
		     names.size ? names.data : "none");
	return r;
}

static int not_allowed(const struct policy *policy, const char *name, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_POLICY, EACCES,
			  "policy %s does not allow the caller's virtualenv %.200s", policy->name,
			  name);
	error_remedy(err, "list it in the policy's venvs, or allow caller_mounts");
	return r;
}

/* "brig venv create NAME" has made it, in the caller's own directory. */
static char *stored_path(const char *name)
{
	_cleanup_free_ char *dir = venv_store_dir();
	char *path = NULL;

	return dir && asprintf(&path, "%s/%s", dir, name) >= 0 ? path : NULL;
}

/* `owned` receives a path that has to be freed. */
static int find_caller_path(const struct prepared *p, const char *name, char **owned,
			    struct brig_error *err)
{
	if (provider_can(p->policy->provider, ABILITY_WALLS) &&
	    p->policy->caller_mounts == CALLER_MOUNTS_NONE) {
		return not_allowed(p->policy, name, err);
	}
	if (name[0] != '/' && !id_name_valid(name)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "virtualenv %.128s: neither an absolute path nor a name", name);
		error_remedy(err, "write ./%.128s for a directory here", name);
		return r;
	}
	*owned = name[0] == '/' ? strdup(name) : stored_path(name);
	return *owned ? 0 : error_set(err, BRIG_E_SYSTEM, ENOMEM, "no path for a virtualenv");
}

static int check_ability(const struct prepared *p, struct brig_error *err)
{
	if (provider_can(p->policy->provider, ABILITY_VENV)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_POLICY, ENOTSUP, "provider %s has no virtualenvs",
			  p->policy->provider->name);
	error_remedy(err, "leave the virtualenv out, or " PROVIDER_REMEDY);
	return r;
}

/* With walls, it is seen at its own path; without, the program sees the whole host. */
static int check_place(const struct brig_context *context, const struct prepared *p,
		       struct brig_error *err)
{
	const struct venv *venv = p->venv;
	const char *what = NULL;
	_cleanup_free_ char *where = NULL;

	if (prepare_overlaps_own(context, venv->real, &what, &where)) {
		int r = error_set(err, BRIG_E_INPUT, EACCES,
				  "virtualenv %.200s: brig's %s is in it, or above it, at %.200s",
				  venv->path, what, where ? where : "");
		error_remedy(err, "make it at another path, or by name: brig venv create NAME");
		return r;
	}
	return provider_can(p->policy->provider, ABILITY_OWN_ROOT) ? venv_check_visible(venv, err)
								   : 0;
}

static int open_venv(const struct brig_context *context, const char *asked, const char *path,
		     struct prepared *p, struct brig_error *err)
{
	p->venv = calloc(1, sizeof(*p->venv));
	if (!p->venv) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a virtualenv");
	}
	int r = venv_open(context->runtimes.broker, path, p->venv, err);
	snprintf(p->venv->asked, sizeof(p->venv->asked), "%s", asked);
	return r < 0 ? r : check_place(context, p, err);
}

/* A caller that knows only names does not learn the operator's paths. */
static int hide(const struct brig_request *request, const struct policy *policy, int r,
		struct brig_error *err)
{
	const char *name = request->venv;

	if (r < 0 && request->mounts_listed) {
		error_set(err, BRIG_E_POLICY, -r,
			  "the virtualenv%s%.64s of policy %s cannot be used", name ? " " : "",
			  name ? name : "", policy->name);
		error_remedy(err,
			     "the operator finds the cause with: brig run --policy %s%s%.64s "
			     "-c pass",
			     policy->name, name ? " --venv " : "", name ? name : "");
	}
	return r;
}

/* For Python and for commands; the policy's own is ignored by other languages. */
static int check_language(const struct brig_request *request, const struct prepared *p,
			  struct brig_error *err)
{
	if (!p->runtime || p->runtime->template) {
		return 1;
	}
	if (!request->venv) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s has no virtualenvs: they are for Python",
			  p->runtime->name);
	error_remedy(err, "leave the virtualenv out");
	return r;
}

int prepare_venv(const struct brig_context *context, const struct brig_request *request,
		 struct prepared *p, struct brig_error *err)
{
	const char *name = request->venv ? request->venv : p->policy->venv;
	int r = name ? check_language(request, p, err) : 0;

	if (r <= 0) {
		return r;
	}
	/* A path in the policy is the operator's; one in a request is not, whatever it names. */
	const char *path = name[0] != '/'  ? policy_venv_path(p->policy, name)
			   : request->venv ? NULL
					   : name;
	_cleanup_free_ char *owned = NULL;
	r = check_ability(p, err);
	if (r < 0) {
		return r;
	}
	if (!path && request->mounts_listed) {
		return not_listed(p->policy, name, err);
	}
	r = path ? 0 : find_caller_path(p, name, &owned, err);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
	r = r < 0 ? r : open_venv(context, name, path ? path : owned, p, err);
	return hide(request, p->policy, r, err);
}

int prepare_venv_readable(const struct brig_request *request, struct prepared *p,
			  struct brig_error *err)
{
	int r = p->venv && p->spec.ranged ? venv_check_readable(p->venv, err) : 0;

	return hide(request, p->policy, r, err);
}
