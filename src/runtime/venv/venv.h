/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A virtualenv: a directory with an interpreter of Python and packages of its own. The interpreter
 * is a link to another one, its base, which has the standard library.
 *
 * Its files decide which other directories of the host a cell sees, and are code: so a virtualenv
 * is used only if no other user can write to it.
 */
#ifndef BRIG_RUNTIME_VENV_VENV_H
#define BRIG_RUNTIME_VENV_VENV_H

#include <limits.h>

#include "runtime/runtime.h"

struct broker;

#define PYVENV_CFG "pyvenv.cfg"

/* Its configuration file. */
struct pyvenv_cfg {
	char home[PATH_MAX];         /* directory of the base interpreter; "": not set */
	char version[VERSION_BYTES]; /* "3.11.2", "3.12.8.final.0"; "": not set */
	bool system_packages;        /* those of the base are visible, too */
};
/* Of any bytes; keys that are not known are skipped, and values that are too long. */
void pyvenv_cfg_parse(const char *text, size_t size, struct pyvenv_cfg *ret);

struct venv {
	char asked[PATH_MAX];        /* the name or path in the request; set by its reader */
	char path[PATH_MAX];         /* absolute; there may be links in it */
	char real[PATH_MAX];         /* the same without links */
	char program[PATH_MAX];      /* PATH/bin/python3 */
	char real_program[PATH_MAX]; /* the base interpreter, without links */
	char minor[16];              /* "3.11" */
	struct pyvenv_cfg cfg;
};

/*
 * Opens and checks it; starts nothing. -EINVAL: it is not one, or its parts do not fit together;
 * -EPERM: another user could have written it.
 */
int venv_open(const struct broker *broker, const char *path, struct venv *ret,
	      struct brig_error *err);
/*
 * Can another user write to it, or to a directory above it? -EPERM. A directory with the sticky
 * bit protects its files, so it may be above. venv_trust.c
 */
int venv_check_trust(const struct broker *broker, const struct venv *venv, struct brig_error *err);
/* May a cell see it, at its own path? -EPERM. */
int venv_check_visible(const struct venv *venv, struct brig_error *err);
/* Can every user read it and its interpreter? A cell of its own user must be able to. -EACCES */
int venv_check_readable(const struct venv *venv, struct brig_error *err);

/* The installation of Python that it belongs to: by its interpreter's file, and by `home`. */
enum venv_base { VENV_BASE_REAL, VENV_BASE_NAMED, VENV_BASES };
/* "/usr" of "/usr/bin/python3.11"; "": the root. venv_base.c */
void venv_base_prefix(const struct venv *venv, enum venv_base base, char ret[PATH_MAX]);
/* Its standard library, PREFIX/lib/python3.11. -ENOENT: it has none. */
int venv_base_library(const struct venv *venv, enum venv_base base, char ret[PATH_MAX]);

/*
 * Makes its interpreter the runtime's program, and adds it and its base to the closure: in place of
 * runtime_find() and runtime_version(). Also for the runtime "command".
 */
int runtime_use_venv(struct runtime *runtime, const struct venv *venv, struct brig_error *err);
/*
 * The directory of virtualenvs that have a name: the user's own, or root's, which other users can
 * read. Free it; NULL: there is none, or no memory. venv_store_dir.c
 */
char *venv_store_dir(void);
/* The variables of its programs, after those of the runtime: VIRTUAL_ENV, PATH. */
int venv_env(const struct venv *venv, struct strlist *ret);
#endif
