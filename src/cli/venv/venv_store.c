/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own virtualenvs, by name: see venv_store.h. */
#include "cli/venv/venv_store.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "base/id.h"
#include "runtime/venv/venv.h"

#define OPEN_DIRECTORIES 32

static char *store(struct brig_error *err)
{
	char *path = venv_store_dir();

	if (!path) {
		error_set(err, BRIG_E_INPUT, ENOENT, "there is no directory for virtualenvs");
		error_remedy(err, "set HOME or XDG_DATA_HOME, or name a path: ./NAME");
	}
	return path;
}

int venv_store_path(const char *word, char **ret, struct brig_error *err)
{
	if (strchr(word, '/')) {
		*ret = path_absolute(word);
		return *ret ? 0 : error_errno(err, BRIG_E_INPUT, errno, "%s", word);
	}
	if (!id_name_valid(word)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "'%.64s' is not a valid name of a virtualenv", word);
		error_remedy(err,
			     "use letters, digits, '.', '_' and '-', no '.' or '-' first; or "
			     "a path: ./%.64s",
			     word);
		return r;
	}
	_cleanup_free_ char *dir = store(err);
	if (!dir) {
		return -ENOENT;
	}
	return asprintf(ret, "%s/%s", dir, word) < 0
		       ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory")
		       : 0;
}

int venv_store_make_parents(const char *path, struct brig_error *err)
{
	char part[PATH_MAX];

	if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part)) {
		return error_set(err, BRIG_E_INPUT, ENAMETOOLONG, "%.128s...", path);
	}
	for (char *at = part + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST) {
			return error_errno(err, BRIG_E_SYSTEM, errno, "cannot make %s", part);
		}
	}
	return 0;
}

static int is_name(const struct dirent *entry)
{
	return id_name_valid(entry->d_name);
}

int venv_store_names(struct strlist *ret, struct brig_error *err)
{
	_cleanup_free_ char *dir = store(err);
	struct dirent **entries = NULL;
	int count = dir ? scandir(dir, &entries, is_name, alphasort) : 0, r = 0;

	if (!dir) {
		return -ENOENT;
	}
	if (count < 0) {
		return errno == ENOENT ? 0 : error_errno(err, BRIG_E_SYSTEM, errno, "%s", dir);
	}
	for (int i = 0; i < count; i++) {
		r = r < 0 ? r : strlist_add(ret, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory") : 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(path);
}

int venv_store_remove(const char *path, struct brig_error *err)
{
	if (nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot remove %s", path);
	}
	return 0;
}
