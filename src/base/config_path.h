/* SPDX-License-Identifier: Apache-2.0 */
/* Default directories of brig: the user's own, or the machine's. */
#ifndef BRIG_BASE_CONFIG_PATH_H
#define BRIG_BASE_CONFIG_PATH_H

#include <stdbool.h>

#define CONFIG_DIR_MACHINE "/etc/brig"

/*
 * $NAME/brig if $NAME is an absolute path (NULL: no such variable), else $HOME/<fallback>/brig;
 * NULL: neither is set.
 */
char *config_user_path(const char *name, const char *fallback);

/*
 * The directory of policies, runtimes and serve.json: for an ordinary user $XDG_CONFIG_HOME/brig
 * (or ~/.config/brig) if it is a directory, else /etc/brig. NULL: no memory.
 */
char *config_path(void);
/*
 * The directory of compiled programs and other things that can be made again: of root, or of the
 * user. NULL: it has no place, or there is no memory.
 */
char *config_cache_path(void);
/*
 * Calls `is_it` for every link on a path, and for its end. Paths that do not exist yet count as
 * well: the target of a dangling link can be created later. True: it returned true for one of them.
 */
bool config_path_leads_by(const char *path, bool (*is_it)(void *user, const char *place),
			  void *user);
#endif
