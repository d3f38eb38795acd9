/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: found for a request, created, retired. See warm.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "lib/prepare/choice.h"
#include "lib/warm/warm.h"

#define PATH_BYTES 4096
/* A tenant that replaces its own pools sooner than this has more kinds than pools can serve. */
#define CHURN_NS UINT64_C(30000000000)

static const struct prepared nothing_prepared = { .ids = -1,
						  .workdir_fd = -1,
						  .spec = { .devices = -1 } };

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static struct warm_stamp stamp_of(const char *dir, const char *kind, const char *name)
{
	char path[PATH_BYTES];
	struct stat info;
	bool own_path = strchr(name, '/') != NULL;

	snprintf(path, sizeof(path), own_path ? "%.0s%.0s%s" : "%s/%s/%s.json", dir, kind, name);
	if (stat(path, &info) < 0) {
		return (struct warm_stamp){ 0 };
	}
	return (struct warm_stamp){
		.device = info.st_dev,
		.inode = info.st_ino,
		.size = (uint64_t)info.st_size,
		.changed_ns = (uint64_t)info.st_ctim.tv_sec * 1000000000u +
			      (uint64_t)info.st_ctim.tv_nsec,
	};
}

/* A provider may have languages of its own. */
static struct warm_stamp stamp_of_runtime(const struct warm_pool *pool)
{
	const char *folder = pool->base.spec.provider->runtimes;
	char kind[64];

	snprintf(kind, sizeof(kind), "runtimes%s%s", folder ? "/" : "", folder ? folder : "");
	return stamp_of(pool->warm->context->config_dir, kind, pool->base.runtime->name);
}

static struct warm_stamp stamp_of_file(const char *path)
{
	return path ? stamp_of("", "", path) : (struct warm_stamp){ 0 };
}

static void stamp(const struct warm_pool *pool, struct warm_stamp stamps[WARM_STAMPS])
{
	const char *dir = pool->warm->context->config_dir;
	const char *parent = pool->base.policy->extends;

	stamps[0] = stamp_of(dir, "policies", pool->policy ? pool->policy : "default");
	stamps[1] = stamp_of_runtime(pool);
	stamps[2] = stamp_of(dir, ".", "ceiling");
	stamps[4] = (struct warm_stamp){ 0 };
	if (pool->base.venv) {
		char path[PATH_BYTES + sizeof(PYVENV_CFG)];
		snprintf(path, sizeof(path), "%s/" PYVENV_CFG, pool->base.venv->path);
		stamps[4] = stamp_of("", "", path);
	}
	stamps[5] = stamp_of_file(pool->base.engine);
	stamps[6] = stamp_of_file(pool->base.prepared_module);
	stamps[3] = parent[0] ? stamp_of(dir, "policies", parent) : (struct warm_stamp){ 0 };
}

/* The operator may have changed the rules since. */
static bool is_current(const struct warm_pool *pool)
{
	struct warm_stamp now[WARM_STAMPS];

	stamp(pool, now);
	return memcmp(now, pool->stamps, sizeof(now)) == 0;
}

static bool matches_language(const struct runtime *runtime, const struct brig_request *request)
{
	if (request->language) {
		return strcmp(request->language, runtime->name) == 0 ||
		       strlist_has(&runtime->aliases, request->language);
	}
	if (request->file) {
		const char *dot = strrchr(request->file, '.');
		return dot && strlist_has(&runtime->extensions, dot + 1);
	}
	return strcmp(runtime->name, "python") == 0 && strncmp(request->code, "#!", 2) != 0;
}

static bool same_process_limits(const struct brig_limits *a, const struct brig_limits *b)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		if (info->scope == LIMIT_OF_PROCESS &&
		    limit_value(a, info) != limit_value(b, info)) {
			return false;
		}
	}
	return true;
}

/* An interpreter that was started ahead already has its source's name and more limits. */
static bool fits_started(const struct warm_pool *pool, const struct brig_request *request,
			 const struct brig_limits *wanted)
{
	const struct prepared *base = &pool->base;
	struct runtime_source_name source;

	runtime_source_name(base->runtime, request->file, request->code ? request->code : "",
			    request->code ? request->code_size : 0, &source);
	return strcmp(source.file, base->source.file) == 0 &&
	       same_process_limits(wanted, &base->spec.limits);
}

/* The choice may be another one than when the pool was made. */
static bool same_provider(const struct warm_pool *pool, const struct brig_request *request)
{
	const struct choice choice = { pool->base.policy, request, PURPOSE_RUN };
	const struct provider *chosen = NULL;
	struct brig_error unused = { 0 };

	return choice_make(pool->warm->context, &choice, &chosen, &unused) == 0 &&
	       chosen == pool->base.spec.provider;
}

/* The limits of the request, by the pool's policy. */
static int limits_wanted(const struct warm_pool *pool, const struct brig_request *request,
			 struct brig_limits *ret, struct brig_error *err)
{
	const struct policy *policy = pool->base.policy;
	struct brig_limits asked = request->limits;

	if (request->clamp) {
		policy_limits_clamp(policy, &request->limits_most, &asked);
	}
	return policy_limits_within(policy, &asked, &request->limits_most, ret, err);
}

bool warm_pool_keeps(const struct provider *provider, const struct brig_limits *built,
		     const struct brig_limits *wanted)
{
	layer_set fixed = provider->fixed_limits;

	return (!(fixed & LAYER_BIT(LAYER_CGROUP_MEMORY)) ||
		wanted->memory_bytes == built->memory_bytes) &&
	       (!(fixed & LAYER_BIT(LAYER_CGROUP_PIDS)) || wanted->processes == built->processes);
}

/* Only the limits that are built into a cell are compared. */
static bool fits(const struct warm_pool *pool, const struct brig_request *request)
{
	const struct brig_limits *built = &pool->base.spec.limits;
	struct brig_limits wanted;
	struct brig_error unused = { 0 };

	if (pool->retired || !same_text(pool->policy, request->policy) ||
	    !same_text(pool->tenant, request->tenant) || !same_text(pool->venv, request->venv) ||
	    !matches_language(pool->base.runtime, request) ||
	    limits_wanted(pool, request, &wanted, &unused) < 0 || !same_provider(pool, request)) {
		return false;
	}
	/* A name may lead elsewhere for a caller that may use only the policy's. */
	if (request->venv && pool->listed != request->mounts_listed) {
		return false;
	}
	return wanted.instructions == built->instructions &&
	       wanted.disk_bytes == built->disk_bytes && wanted.disk_inodes == built->disk_inodes &&
	       wanted.cpu_millicores == built->cpu_millicores &&
	       warm_pool_keeps(pool->base.spec.provider, built, &wanted) &&
	       (pool->base.spec.kind != CELL_STARTED || fits_started(pool, request, &wanted));
}

static int refuse(struct brig_error *err, const char *why)
{
	return error_set(err, BRIG_E_INPUT, ENOTSUP, "no cell is made ahead for this: %s", why);
}

static int check_kind(const struct brig_request *request, struct brig_error *err)
{
	if (request->command || (!request->code && !request->file)) {
		return refuse(err, "it is a command, not code in a language");
	}
	if (request->network && request->network[0]) {
		return refuse(err, "it has a network");
	}
	/* The code that counts them is another, and so would be their number. */
	if (request->limits.instructions) {
		return refuse(err, "its instructions are counted");
	}
	return request->mounts_count ? refuse(err, "it has mounts") : 0;
}

static int check_base(const struct prepared *base, struct brig_error *err)
{
	if (!provider_can(base->spec.provider, ABILITY_HOLD)) {
		return error_set(err, BRIG_E_INPUT, ENOTSUP, "provider %s makes no cells ahead",
				 base->spec.provider->name);
	}
	if (base->gate) {
		return refuse(err, "the policy allows a network");
	}
	if (!base->runtime || base->runtime->compile.count) {
		return refuse(err, "the language is compiled first");
	}
	/* A waiting helper would still have to start the engine: there is nothing but templates. */
	if (prepare_is_wasm(base) && !template_possible(base)) {
		return refuse(err, "the language has no template");
	}
	return 0;
}

/* The limits that these cells keep are those of the first request. */
static int fix_limits(struct warm_pool *pool, const struct brig_request *request,
		      struct brig_request *like, struct brig_error *err)
{
	layer_set fixed = pool->base.spec.provider->fixed_limits;
	struct brig_limits wanted;
	int r = fixed ? limits_wanted(pool, request, &wanted, err) : 0;

	if (r < 0 || !fixed ||
	    warm_pool_keeps(pool->base.spec.provider, &pool->base.spec.limits, &wanted)) {
		return r;
	}
	like->limits.memory_bytes =
		fixed & LAYER_BIT(LAYER_CGROUP_MEMORY) ? wanted.memory_bytes : 0;
	like->limits.processes = fixed & LAYER_BIT(LAYER_CGROUP_PIDS) ? wanted.processes : 0;
	prepared_done(&pool->base);
	pool->base = nothing_prepared;
	return prepare(pool->warm->context, like, PURPOSE_RUN, &pool->base, err);
}

/* Prepares the common part of all requests of the pool; the rest is filled in for each. */
static int prepare_base(struct warm_pool *pool, const struct brig_request *request,
			struct brig_error *err)
{
	struct brig_request like = {
		.size = sizeof(like),
		.language = request->language,
		.code = request->file ? NULL : request->code,
		.code_size = request->code_size,
		.file = request->file,
		.policy = request->policy,
		.provider = request->provider,
		.venv = request->venv,
		.mounts_listed = request->mounts_listed,
		.consent = true, /* checked again for every request */
		.limits = { .disk_bytes = request->limits.disk_bytes,
			    .disk_inodes = request->limits.disk_inodes,
			    .cpu_millicores = request->limits.cpu_millicores },
		.clamp = request->clamp,
	};
	int r = prepare(pool->warm->context, &like, PURPOSE_RUN, &pool->base, err);

	r = r < 0 ? r : fix_limits(pool, request, &like, err);
	if (r < 0) {
		return r;
	}
	r = check_base(&pool->base, err);
	if (r < 0) {
		return r;
	}
	/* The guard is part of the template, so pooled cells carry no driver. */
	pool->base.spec.driver = pool->base.spec.driver_text = NULL;
	pool->base.spec.kind = CELL_HELD;
	/* A cell receives its input files with its assignment. */
	pool->base.spec.inputs_count = 0;
	if (!provider_can(pool->base.spec.provider, ABILITY_PLAN)) {
		return prepare_waiting(&pool->base, &like, err);
	}
	/* A waiting interpreter and its clones are made by steps of a plan. */
	if (pool->base.runtime->driver[0]) {
		like.limits = request->limits;
		r = prepare_driver(&pool->base, &like, err);
		pool->base.spec.inputs_count = 0;
	}
	return r;
}

/* 0, or -ENOTSUP: without a template there would be no cells. */
static int set_template(struct warm_pool *pool, struct brig_error *err)
{
	struct spec *spec = &pool->base.spec;
	bool possible = !pool->warm->options.no_templates && template_possible(&pool->base) &&
			provider_can(spec->provider, ABILITY_PLAN) &&
			(spec->layers & LAYER_BIT(LAYER_PIDNS)) &&
			(spec->layers & LAYER_BIT(LAYER_USERNS));

	spec->kind = possible ? CELL_CLONED : spec->kind;
	/* A clone is not created in its group: the template is not permitted to do that. */
	if (possible && strcmp(cgroup_manager_means(pool->warm->context->groups), "cgroup2") == 0) {
		layer_set groups = LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS) |
				   LAYER_BIT(LAYER_CGROUP_CPU);
		spec->join_by_write = (spec->layers & groups) != 0;
	}
	return possible || !prepare_is_wasm(&pool->base)
		       ? 0
		       : refuse(err, "this host can have no templates");
}

static bool matches_any(const struct strlist *patterns, const char *pair, size_t length)
{
	for (size_t i = 0; i < patterns->count; i++) {
		const char *pattern = patterns->items[i];
		size_t size = strcspn(pattern, "*");
		if (strncmp(pair, pattern, size) == 0 &&
		    (pattern[size] == '*' ? length >= size : length == size)) {
			return true;
		}
	}
	return false;
}

/* Variables that a started interpreter has already read must have the requested values. */
static int check_env(const struct warm_pool *pool, const struct brig_request *request,
		     struct brig_error *err)
{
	const struct prepared *base = &pool->base;

	/* Such an interpreter is a started one, too: it reads its environment once. */
	bool started = base->spec.kind == CELL_STARTED || prepare_is_wasm(base);

	for (const char *const *pair = request->env; pair && *pair; pair++) {
		if (started &&
		    matches_any(&base->runtime->driver_env, *pair, strcspn(*pair, "=")) &&
		    !strlist_has(&base->env, *pair)) {
			return refuse(err, "it sets a variable that the interpreter starts with");
		}
	}
	return 0;
}

static struct warm_pool *pool_new(struct warm *warm, const struct brig_request *request,
				  struct brig_error *err)
{
	struct warm_pool *pool = calloc(1, sizeof(*pool));

	if (!pool) {
		error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a pool");
		return NULL;
	}
	pool->warm = warm;
	pool->uses = 1;
	pool->born_ns = pool->used_ns = clock_now_ns();
	pool->base = nothing_prepared;
	pool->policy = request->policy ? strdup(request->policy) : NULL;
	pool->tenant = request->tenant ? strdup(request->tenant) : NULL;
	pool->listed = request->mounts_listed;
	pool->venv = request->venv ? strdup(request->venv) : NULL;
	if (prepare_base(pool, request, err) < 0 || set_template(pool, err) < 0) {
		warm_pool_free(pool);
		return NULL;
	}
	stamp(pool, pool->stamps);
	return pool;
}

void warm_pool_drop_last(struct warm_pool *pool)
{
	struct warm_cell *cell = pool->cells[--pool->count];

	epoll_ctl(pool->warm->epoll, EPOLL_CTL_DEL, cell->run->epoll, NULL);
	run_end_now(cell->run, ENDING_CANCELLED); /* kills it; the kernel needs time to remove it */
	warm_reap(pool->warm, cell);
	warm_tell(pool->warm);
}

void warm_pool_drop(struct warm_pool *pool)
{
	while (pool->count) {
		warm_pool_drop_last(pool);
	}
}

static void end_template(struct warm_pool *pool, struct template **template)
{
	if (*template) {
		epoll_ctl(pool->warm->epoll, EPOLL_CTL_DEL, (*template)->socket, NULL);
		warm_end_template(pool->warm, TAKE_PTR(*template));
	}
}

static void empty(struct warm_pool *pool)
{
	warm_pool_drop(pool);
	end_template(pool, &pool->template);
	end_template(pool, &pool->next);
}

void warm_pool_free(struct warm_pool *pool)
{
	empty(pool);
	prepared_done(&pool->base);
	free(pool->policy);
	free(pool->tenant);
	free(pool->venv);
	free(pool);
}

void warm_pool_unuse(struct warm_pool *pool)
{
	if (--pool->uses == 0) {
		warm_pool_free(pool);
	}
}

static void retire(struct warm *warm, unsigned index)
{
	struct warm_pool *pool = warm->pools[index];

	warm->pools[index] = warm->pools[--warm->count];
	pool->retired = true;
	empty(pool);
	warm_pool_unuse(pool);
}

static unsigned pools_of(const struct warm *warm, const char *tenant)
{
	unsigned count = 0;

	for (unsigned i = 0; i < warm->count; i++) {
		count += same_text(warm->pools[i]->tenant, tenant);
	}
	return count;
}

/*
 * The tenant with the most pools loses one, and among equals the tenant of the request: the
 * requests of one tenant cost no other tenant a pool. Of its pools the least recently used is
 * retired.
 */
static void retire_one(struct warm *warm, const char *tenant, struct warm_pool *fresh)
{
	unsigned victim = 0, most = 0;

	for (unsigned i = 0; i < warm->count; i++) {
		const struct warm_pool *pool = warm->pools[i];
		unsigned has = pools_of(warm, pool->tenant) + same_text(pool->tenant, tenant);
		if (has > most || (has == most && pool->used_ns < warm->pools[victim]->used_ns)) {
			most = has;
			victim = i;
		}
	}
	const struct warm_pool *pool = warm->pools[victim];
	/*
	 * The processor time of warming a pool is charged to no tenant. A tenant with a new kind of
	 * request each time would use it at the cost of others: its new pool waits for a while.
	 */
	if (same_text(pool->tenant, tenant) && fresh->born_ns - pool->born_ns < CHURN_NS) {
		fresh->rest_until_ns = fresh->born_ns + CHURN_NS;
	}
	retire(warm, victim);
}

static struct warm_pool *find_pool(struct warm *warm, const struct brig_request *request)
{
	for (unsigned i = 0; i < warm->count; i++) {
		if (!fits(warm->pools[i], request)) {
			continue;
		}
		if (is_current(warm->pools[i])) {
			warm_rotate(warm->pools[i], clock_now_ns());
			return warm->pools[i];
		}
		retire(warm, i--);
	}
	return NULL;
}

struct warm_pool *warm_pool_for(struct warm *warm, const struct brig_request *request,
				struct brig_error *err)
{
	if (warm->closed) {
		error_set(err, BRIG_E_INPUT, ENOTSUP, "the context has no pools");
		return NULL;
	}
	if (check_kind(request, err) < 0) {
		return NULL;
	}
	struct warm_pool *pool = find_pool(warm, request);
	if (!pool) {
		pool = pool_new(warm, request, err);
		if (!pool) {
			return NULL;
		}
		if (warm->count == warm->options.pools_max) {
			retire_one(warm, request->tenant, pool);
		}
		warm->pools[warm->count++] = pool;
	}
	return check_env(pool, request, err) < 0 ? NULL : pool;
}

unsigned warm_pool_ready(const struct warm_pool *pool)
{
	unsigned ready = 0;

	for (unsigned i = 0; i < pool->count; i++) {
		ready += !pool->cells[i]->asked && pool->cells[i]->run->state == RUN_HELD;
	}
	return ready;
}

bool warm_pool_making(const struct warm_pool *pool)
{
	return pool->count > warm_pool_ready(pool) && pool->failures == 0;
}

struct warm_cell *warm_pool_take(struct warm_pool *pool)
{
	for (unsigned i = 0; i < pool->count; i++) {
		struct warm_cell *cell = pool->cells[i];
		if (cell->asked || cell->run->state != RUN_HELD) {
			continue;
		}
		pool->lost = 0;
		/* The oldest first: the order of the others stays. */
		warm_cell_remove(pool->cells, &pool->count, i);
		epoll_ctl(pool->warm->epoll, EPOLL_CTL_DEL, cell->run->epoll, NULL);
		return cell;
	}
	return NULL;
}

void warm_pool_distrust(struct warm_pool *pool)
{
	empty(pool);
}
