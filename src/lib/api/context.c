/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: see context.h. */
#include "lib/context.h"
#include "base/cleanup.h"
#include "base/config_path.h"
#include "base/files/path.h"
#include "lib/api/audit_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/prepare/choice.h"
#include "lib/warm/warm.h"
#include "run/watchdog/watchdog.h"

/* It is made with mode 0700; one of another owner, or that others can write to, is not used. */
static bool usable_dir(const char *path)
{
	struct stat info;
	char parent[4096];
	const char *slash = strrchr(path, '/');

	/* ~/.cache may not exist yet in a new account. */
	if (mkdir(path, 0700) < 0 && errno == ENOENT && slash && slash != path &&
	    (size_t)(slash - path) < sizeof(parent)) {
		memcpy(parent, path, (size_t)(slash - path));
		parent[slash - path] = '\0';
		mkdir(parent, 0700);
		mkdir(path, 0700);
	}
	return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
	       (info.st_mode & 022) == 0;
}

static int set_dirs(struct brig_context *context, const struct brig_context_options *options)
{
	context->config_dir = options->config_dir ? strdup(options->config_dir) : config_path();
	if (!context->config_dir) {
		return -ENOMEM;
	}
	context->policies.config_dir = context->config_dir;
	context->runtimes.config_dir = context->config_dir;
	if (options->no_cache) {
		return 0;
	}
	char *cache = options->cache_dir ? strdup(options->cache_dir) : config_cache_path();
	if (cache && usable_dir(cache)) {
		context->cache_dir = cache;
	} else {
		free(cache);
	}
	return 0;
}

int brig_context_new(const struct brig_context_options *options, struct brig_context **ret,
		     struct brig_error *error)
{
	struct brig_context *context = calloc(1, sizeof(*context));
	struct brig_context_options whole = { 0 };

	if (context) {
		context->gate_programs[0] = context->gate_programs[1] = -1;
		context->audit = -1;
	}
	/* An older caller's struct is shorter: the missing fields are zero. */
	if (options) {
		memcpy(&whole, options,
		       options->size && options->size < sizeof(whole) ? options->size
								      : sizeof(whole));
	}
	if (context) {
		context->watchdog = watchdog_new();
	}
	if (!context || !context->watchdog || set_dirs(context, &whole) < 0) {
		brig_context_free(context);
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a context");
	}
	/* For tests, which simulate a host without cgroups; it can only disable them. */
	const char *off = secure_getenv("BRIG_NO_CGROUP");
	struct cgroup_options groups = { .disabled = off && *off };
	int r = cgroup_manager_new(&groups, &context->groups, error);
	if (r < 0) {
		brig_context_free(context);
		return r;
	}
	const char *audit = whole.audit_file ? whole.audit_file : secure_getenv("BRIG_AUDIT");
	context->audit = audit && *audit ? audit_log_open(audit, error) : -1;
	context->audit_file = context->audit >= 0 ? path_absolute(audit) : NULL;
	if (audit && *audit && !context->audit_file) {
		r = context->audit < 0 ? context->audit
				       : error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
		brig_context_free(context);
		return r;
	}
	r = whole.warm ? warm_new(context, whole.warm, &context->warm, error) : 0;
	if (r < 0) {
		brig_context_free(context);
		return r;
	}
	*ret = context;
	return 0;
}

void context_use_broker(struct brig_context *context, const struct broker *broker)
{
	context->broker = *broker;
	context->brokered = true;
	cgroup_manager_confine(context->groups);
	context->policies.broker = context->runtimes.broker = &context->broker;
}

int context_hurry(struct brig_context *context, struct brig_error *err)
{
	static const struct brig_warm_options none = { .size = sizeof(none) };

	context->hurried = true;
	cgroup_manager_hurry(context->groups);
	if (context->warm) {
		return 0;
	}
	int r = warm_new(context, &none, &context->warm, err);
	if (r == 0) {
		context->warm->closed = true;
	}
	return r;
}

void context_on_cells(struct brig_context *context, void (*on_cells)(void *user), void *user)
{
	if (context->warm) {
		context->warm->on_cells = on_cells;
		context->warm->user = user;
	}
}

int context_devices(const struct brig_context *context)
{
	return broker_devices(context->brokered ? &context->broker : NULL);
}

void context_sweep(struct brig_context *context, const struct provider *provider)
{
	if (provider->sweep) {
		provider->sweep();
	}
	if (!context->swept) {
		context->swept = true;
		cgroup_manager_sweep(context->groups);
	}
}

void brig_context_free(struct brig_context *context)
{
	if (!context) {
		return;
	}
	warm_free(context->warm);
	cgroup_manager_free(context->groups);
	close_fd(&context->gate_programs[0]);
	close_fd(&context->gate_programs[1]);
	close_fd(&context->audit);
	free(context->audit_file);
	free(context->config_dir);
	free(context->cache_dir);
	watchdog_free(context->watchdog);
	choice_memory_free(context->choices);
	free(context);
}
