/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a session like another one, for a fork: with the same request, limited to the rights of
 * both callers.
 */
#include <errno.h>

#include "base/error.h"
#include "engine/fork/engine_fork.h"

/* The old session may have more than the current caller may have. */
int fork_check_limits(const struct local_session *from, const struct brig_limits *may,
		      struct brig_error *err)
{
	struct brig_limits has = from->session->asked, most = *may;

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		uint64_t bound = *limit_of(&most, &limit_table[i]);
		if (bound && *limit_of(&has, &limit_table[i]) > bound) {
			error_set(err, BRIG_E_INPUT, EINVAL,
				  "%s: the session has more than the caller may have",
				  limit_table[i].name);
			return -EINVAL;
		}
	}
	return 0;
}

/* The smaller one of each; 0: no limit. */
static struct brig_limits least(struct brig_limits caller, struct brig_limits opener)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		uint64_t *a = limit_of(&caller, &limit_table[i]);
		uint64_t b = *limit_of(&opener, &limit_table[i]);
		*a = !*a || (b && b < *a) ? b : *a;
	}
	return caller;
}

/*
 * The hosts of the original request: no list means all hosts of the policy, an empty list means
 * none.
 */
static const char *const *network_of(const struct local_session *from)
{
	static const char *const none[] = { NULL };

	if (!from->network_asked) {
		return NULL;
	}
	return from->network.count ? (const char *const *)from->network.items : none;
}

/* Not less than the old session had; "off" may be less than the policy has for other languages. */
static const char *guard_of(const struct local_session *from)
{
	enum guard_mode mode = from->session->prepared.guard.mode;

	return mode == GUARD_OFF ? NULL : guard_mode_names[mode];
}

/* A path is the policy's own: no request may have one here. */
static const char *venv_of(const struct local_session *from)
{
	const struct venv *venv = from->session->prepared.venv;

	return venv && venv->asked[0] != '/' ? venv->asked : NULL;
}

int fork_open(struct local_fork *fork, const struct local_session *from, struct engine_call *call,
	      struct brig_error *err)
{
	call->op = ENGINE_SESSION_OPEN;
	call->idle_ns = from->idle_ns;
	call->life_ns = from->life_ns;
	call->run = (struct brig_request){
		.language = from->language,
		.policy = from->policy,
		.provider = from->session->prepared.spec.provider->name,
		.venv = venv_of(from),
		.guard = guard_of(from),
		.network = network_of(from),
		.limits = from->session->asked,
		.limits_most = least(fork->most, from->session->most),
		.env = (const char *const *)from->env.items,
	};
	return engine_start(&fork->run->local->engine, call, &fork->inner, err);
}
