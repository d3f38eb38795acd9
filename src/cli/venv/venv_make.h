/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a virtualenv and installs packages in it, by uv or by Python's own module. */
#ifndef BRIG_CLI_VENV_VENV_MAKE_H
#define BRIG_CLI_VENV_VENV_MAKE_H

#include "base/error.h"
#include "base/strlist.h"

struct venv_order {
	const char *path;            /* absolute */
	const char *python;          /* a path, a name, or a version such as 3.12; or NULL */
	const char *requirements;    /* a file for pip; or NULL */
	const char *const *packages; /* NULL-terminated; or NULL */
};

/* The programs run with the caller's rights, and print on stderr. */
int venv_make(const struct venv_order *order, struct brig_error *err);
#endif
