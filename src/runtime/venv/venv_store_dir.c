/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of virtualenvs that have a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config_path.h"
#include "runtime/venv/venv.h"

/* Cells of root have users of their own, who cannot enter root's home directory. */
#define STORE_OF_ROOT "/usr/local/lib/brig/venvs"

char *venv_store_dir(void)
{
	const char *chosen = getenv("XDG_DATA_HOME");
	_cleanup_free_ char *data = config_user_path("XDG_DATA_HOME", ".local/share");
	char *path = NULL;

	if (geteuid() == 0 && !(chosen && chosen[0] == '/')) {
		return strdup(STORE_OF_ROOT);
	}
	return data && asprintf(&path, "%s/venvs", data) >= 0 ? path : NULL;
}
