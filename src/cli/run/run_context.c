/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that stay, or not: see run_context.h. */
#include "cli/run/run_context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/strlist.h"

/*
 * For one client at a time: cells for the runs that follow each other, not for those that come
 * together, which have workers of their own.
 */
#define KEPT_CELLS 4

const char *const run_context_variables[] = {
	"BRIG_NO_CGROUP", "BRIG_WASM_ENGINE",
	"CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS",
	"DOCKER_HOST",    "HOME",
	"PATH",           "TMPDIR",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	"XDG_DATA_HOME",  "XDG_RUNTIME_DIR",
	"XDG_STATE_HOME", NULL,
};

static struct {
	bool keeps;
	struct brig_context *context;
	char *key;                  /* of `context` */
	struct strlist environment; /* likewise */
} kept;

/* Everything that a context is made from. NULL: no memory. */
static char *key_of(const struct brig_context_options *options)
{
	struct buf key = { 0 };

	buf_addf(&key, "%s\n", options->config_dir ? options->config_dir : "");
	for (size_t i = 0; run_context_variables[i]; i++) {
		const char *value = getenv(run_context_variables[i]);
		buf_addf(&key, "%zu%c%s\n", i, value ? '=' : '-', value ? value : "");
	}
	return buf_take(&key);
}

/* A record is of this run alone, as are the wish for no cache and a path in this directory. */
static bool can_stay(const struct brig_context_options *options)
{
	const char *audit = getenv("BRIG_AUDIT"), *config = options->config_dir;

	return kept.keeps && !options->audit_file && !(audit && *audit) && !options->no_cache &&
	       (!config || config[0] == '/');
}

static int keep_environment(void)
{
	for (size_t i = 0; run_context_variables[i]; i++) {
		const char *value = getenv(run_context_variables[i]);
		if (value &&
		    strlist_addf(&kept.environment, "%s=%s", run_context_variables[i], value) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int open_kept(const struct brig_context_options *options, struct brig_context **ret,
		     struct brig_error *err)
{
	struct brig_context_options whole = *options;
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = KEPT_CELLS };
	_cleanup_free_ char *key = key_of(options);

	if (!key) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a context");
	}
	if (!kept.context || strcmp(kept.key, key) != 0) {
		run_context_forget();
		if (keep_environment() < 0) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a context");
		}
		whole.warm = &warm;
		int r = brig_context_new(&whole, &kept.context, err);
		if (r < 0) {
			kept.context = NULL;
			return r;
		}
		kept.key = TAKE_PTR(key);
	}
	*ret = kept.context;
	return 0;
}

int run_context_open(const struct brig_context_options *options, bool warm,
		     struct brig_context **ret, struct brig_error *err)
{
	struct brig_context_options whole = *options;
	/* One cell is made in advance, for this run: there will be no second one. */
	struct brig_warm_options one = { .size = sizeof(one), .cells_max = 1, .pools_max = 1 };

	if (can_stay(options)) {
		return open_kept(options, ret, err);
	}
	whole.warm = warm ? &one : NULL;
	return brig_context_new(&whole, ret, err);
}

void run_context_close(struct brig_context *context)
{
	if (context != kept.context) {
		brig_context_free(context);
	}
}

void run_context_closep(struct brig_context **context)
{
	run_context_close(*context);
}

void run_context_keep(void)
{
	kept.keeps = true;
}

struct brig_context *run_context_kept(void)
{
	return kept.context;
}

void run_context_forget(void)
{
	brig_context_free(kept.context);
	kept.context = NULL;
	free(kept.key);
	kept.key = NULL;
	strlist_done(&kept.environment);
}

char **run_context_environment(void)
{
	static char *none[] = { NULL };

	return kept.environment.items ? kept.environment.items : none;
}
