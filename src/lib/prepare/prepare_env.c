/* SPDX-License-Identifier: Apache-2.0 */
/* The program's environment: made from scratch; nothing of the caller's own is in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/prepare/prepare.h"

#define ENV_BYTES_MAX (128u << 10)

/* An entry with the same NAME is replaced. */
static int put(struct strlist *env, const char *pair)
{
	size_t length = strcspn(pair, "=");

	for (size_t i = 0; i < env->count; i++) {
		if (strncmp(env->items[i], pair, length + 1) == 0) {
			char *copy = strdup(pair);
			if (!copy) {
				return -ENOMEM;
			}
			free(env->items[i]);
			env->items[i] = copy;
			return 0;
		}
	}
	return strlist_add(env, pair);
}

static int put_all(struct strlist *env, const struct strlist *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		int r = put(env, pairs->items[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static bool name_is_plain(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char c = name[i];
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
		if (!letter && !(i > 0 && c >= '0' && c <= '9')) {
			return false;
		}
	}
	return length > 0;
}

static int put_request(const struct brig_request *request, struct prepared *p,
		       struct brig_error *err)
{
	size_t bytes = 0;

	for (const char *const *pair = request->env; pair && *pair; pair++) {
		size_t length = strcspn(*pair, "=");
		if ((*pair)[length] != '=' || !name_is_plain(*pair, length)) {
			return error_set(err, BRIG_E_INPUT, EINVAL,
					 "environment entry %s is not NAME=VALUE", *pair);
		}
		_cleanup_free_ char *name = strndup(*pair, length);
		if (!name) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
		}
		if (!policy_env_allowed(p->policy, name)) {
			int r = error_set(err, BRIG_E_POLICY, EACCES,
					  "policy %s does not allow a request to set %s",
					  p->policy->name, name);
			error_remedy(err, "name it in the policy's env.allow");
			return r;
		}
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		bytes += strlen(*pair) + 1;
		if (bytes > ENV_BYTES_MAX) {
			return error_set(err, BRIG_E_INPUT, E2BIG,
					 "the environment has more than 128 KiB");
		}
		if (put(&p->env, *pair) < 0) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
		}
	}
	return 0;
}

static int add_each(struct strlist *env, const char *const *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r = strlist_add(env, pairs[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int put_venv(struct prepared *p)
{
	_cleanup_(strlist_done)
	struct strlist pairs = { 0 };
	int r = p->venv ? venv_env(p->venv, &pairs) : 0;

	return r < 0 ? r : put_all(&p->env, &pairs);
}

/* With it, an interpreter ignores its virtualenv. */
static int check_home(const struct prepared *p, struct brig_error *err)
{
	for (size_t i = 0; p->venv && i < p->env.count; i++) {
		if (strncmp(p->env.items[i], "PYTHONHOME=", 11) == 0) {
			int r = error_set(err, BRIG_E_INPUT, EINVAL,
					  "PYTHONHOME and a virtualenv exclude each other");
			error_remedy(err, "leave one of them out");
			return r;
		}
	}
	return 0;
}

/* The variables that no request has asked for; later ones replace earlier ones. */
static int add_own(struct prepared *p)
{
	static const char *const base[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"HOME=/sandbox",
		"USER=sandbox",
		"LOGNAME=sandbox",
		"TMPDIR=/tmp",
		"LANG=C.UTF-8",
		"TZ=UTC0",
	};
	/* OpenSSL reads the file of its distribution; other programs know this variable. */
	static const char *const certificates[] = { "SSL_CERT_FILE=" SPEC_CERTIFICATES };
	/* Programs with a list of authorities of their own do not know the cell's authority. */
	static const char *const trusting[] = {
		"CURL_CA_BUNDLE=" SPEC_CERTIFICATES,    "REQUESTS_CA_BUNDLE=" SPEC_CERTIFICATES,
		"PIP_CERT=" SPEC_CERTIFICATES,          "GIT_SSL_CAINFO=" SPEC_CERTIFICATES,
		"CARGO_HTTP_CAINFO=" SPEC_CERTIFICATES, "AWS_CA_BUNDLE=" SPEC_CERTIFICATES,
		"NODE_EXTRA_CA_CERTS=" SPEC_AUTHORITY,  "DENO_CERT=" SPEC_AUTHORITY,
	};
	const struct {
		bool wanted;
		const char *const *pairs;
		size_t count;
	} groups[] = {
		{ true, base, ARRAY_SIZE(base) },
		{ p->spec.certificates || p->spec.opened, certificates, ARRAY_SIZE(certificates) },
		{ p->spec.opened, trusting, ARRAY_SIZE(trusting) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		int r = groups[i].wanted ? add_each(&p->env, groups[i].pairs, groups[i].count) : 0;
		if (r < 0) {
			return r;
		}
	}
	const struct strlist *runtime = !p->runtime                     ? NULL
					: p->purpose == PURPOSE_COMPILE ? &p->runtime->compile_env
									: &p->runtime->env;
	int r = runtime ? put_all(&p->env, runtime) : 0;
	r = r < 0 ? r : put_venv(p);
	return r < 0 ? r : put_all(&p->env, &p->policy->env_set);
}

int prepare_env(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	if (add_own(p) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the environment");
	}
	int r = p->purpose == PURPOSE_COMPILE ? 0 : put_request(request, p, err);
	return r < 0 ? r : check_home(p, err);
}
