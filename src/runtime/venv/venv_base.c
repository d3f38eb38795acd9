/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base of a virtualenv: the installation of Python that its interpreter belongs to. A directory
 * that came with somebody's project has the caller as its owner, and names any base that it likes,
 * with links to anywhere: so only a directory with a standard library in it is one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/venv/venv.h"

#define LANDMARK "os.py" /* by which Python itself knows its library */

/* "/usr" of "/usr/bin"; "": of a directory in the root. */
static void cut_last(char path[PATH_MAX])
{
	char *slash = strrchr(path, '/');

	if (slash) {
		*slash = '\0';
	}
}

void venv_base_prefix(const struct venv *venv, enum venv_base base, char ret[PATH_MAX])
{
	if (base == VENV_BASE_NAMED) {
		memcpy(ret, venv->cfg.home, PATH_MAX);
	} else {
		memcpy(ret, venv->real_program, PATH_MAX);
		cut_last(ret);
	}
	cut_last(ret);
}

int venv_base_library(const struct venv *venv, enum venv_base base, char ret[PATH_MAX])
{
	char prefix[PATH_MAX], landmark[PATH_MAX];
	struct stat info;

	venv_base_prefix(venv, base, prefix);
	int n = snprintf(ret, PATH_MAX, "%s/lib/python%s", prefix, venv->minor);
	int all = n < 0 || n >= PATH_MAX ? PATH_MAX
					 : snprintf(landmark, PATH_MAX, "%s/" LANDMARK, ret);

	return all > 0 && all < PATH_MAX && stat(landmark, &info) == 0 && S_ISREG(info.st_mode)
		       ? 0
		       : -ENOENT;
}
