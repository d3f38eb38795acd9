/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brig's own directories, which no program may write to. A program that can write to the
 * configuration can write the policy of the next run; in the cache, the next run's program; in the
 * audit file, the record of its own run. Such a directory is not mounted for writing, nor is one in
 * which it could be made.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config_path.h"
#include "base/files/path.h"
#include "lib/context.h"
#include "lib/prepare/prepare.h"

static bool is_in(void *user, const char *place)
{
	return path_overlaps(user, place);
}

bool prepare_overlaps_own(const struct brig_context *context, const char *path, const char **what,
			  char **ret_where)
{
	/* Also the directories of another environment: the next run may have that one. */
	_cleanup_free_ char *config = config_user_path("XDG_CONFIG_HOME", ".config");
	_cleanup_free_ char *config_home = config_user_path(NULL, ".config");
	_cleanup_free_ char *cache = config_user_path("XDG_CACHE_HOME", ".cache");
	_cleanup_free_ char *cache_home = config_user_path(NULL, ".cache");
	const struct {
		const char *what, *path;
	} own[] = {
		{ "configuration", context->config_dir },
		{ "configuration", config },
		{ "configuration", config_home },
		{ "cache", context->cache_dir },
		{ "cache", cache },
		{ "cache", cache_home },
		{ "audit file", context->audit_file },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (own[i].path &&
		    config_path_leads_by(own[i].path, is_in, (void *)(uintptr_t)path)) {
			*what = own[i].what;
			*ret_where = strdup(own[i].path);
			return true;
		}
	}
	return false;
}

int prepare_check_protected(const struct brig_context *context, struct spec_mount *mount,
			    struct brig_error *err)
{
	_cleanup_free_ char *where = NULL;
	const char *what = NULL;

	if (!mount->writable || !prepare_overlaps_own(context, mount->path, &what, &where)) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EACCES,
			  "cannot mount %s for writing: brig's %s is in it, at %s", mount->path,
			  what, where ? where : "");
	error_remedy(err, "name the directory that the program needs, or mount it with --ro");
	return r;
}
