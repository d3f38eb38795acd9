/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of brig's that nobody named: the user's own, or the machine's. */
#ifndef BRIG_BASE_CONFIG_PATH_H
#define BRIG_BASE_CONFIG_PATH_H

#include <stdbool.h>

#define CONFIG_DIR_MACHINE "/etc/brig"

/*
 * $NAME/brig if $NAME is an absolute path (NULL: there is no such name), else
 * $HOME/<fallback>/brig; NULL: neither is there.
 */
char *config_user_path(const char *name, const char *fallback);

/*
 * Where policies, runtimes and serve.json are looked for: for an ordinary user
 * $XDG_CONFIG_HOME/brig (or ~/.config/brig) if it is a directory, else /etc/brig. NULL: no memory.
 */
char *config_path(void);
/*
 * Asks of each place by which a path leads: every link on the way, and where it ends. What is not
 * there yet counts as well: a link that dangles can be given its target. True: one of them is it.
 */
bool config_path_leads_by(const char *path, bool (*is_it)(void *user, const char *place),
			  void *user);
#endif
