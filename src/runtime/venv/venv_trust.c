/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users who can write to a virtualenv, and the users who can read it. Its own directories are
 * checked, those above it, its interpreter and the library of that: not every file of its packages,
 * of which there may be a hundred thousand. A directory that only its owner can write to keeps
 * others out of the files in it, unless the owner has let them in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config_path.h"
#include "broker_client/broker_client.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/venv/venv.h"

/* In the virtualenv: the path before its version of Python and after it. */
static const struct {
	const char *before, *after;
} parts[] = {
	{ "", NULL },     { "/" PYVENV_CFG, NULL }, { "/bin", NULL },
	{ "/lib", NULL }, { "/lib/python", "" },    { "/lib/python", "/site-packages" },
};

static const char *part_path(const struct venv *venv, size_t index, char ret[PATH_MAX])
{
	const char *after = parts[index].after;

	/* Shorter than this: checked when the virtualenv was opened. */
	snprintf(ret, PATH_MAX, "%.2048s%s%s%s", venv->real, parts[index].before,
		 after ? venv->minor : "", after ? after : "");
	return ret;
}

/* Many systems give each user a group, with the user's number, in which there is no one else. */
static bool others_write(const struct stat *info)
{
	bool own = info->st_gid == getegid() && getegid() == geteuid() && geteuid() != 0;
	bool group = (info->st_mode & S_IWGRP) && !own;

	return group || (info->st_mode & S_IWOTH);
}

static int refuse(const struct venv *venv, const char *path, const char *what,
		  struct brig_error *err)
{
	error_set(err, BRIG_E_INPUT, EPERM,
		  "virtualenv %.200s: %.200s %s: its code would run with your rights", venv->path,
		  path, what);
	error_remedy(err, "use a virtualenv that belongs to root or to you, and that no other user "
			  "can write to: chmod go-w, chown, or brig venv create");
	return -EPERM;
}

/* `above`: others may write to a directory with the sticky bit, but not replace files of ours. */
static int check_one(const struct broker *broker, const struct venv *venv, const char *path,
		     bool above, struct brig_error *err)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "virtualenv %.200s: %.200s",
				   venv->path, path);
	}
	if (S_ISLNK(info.st_mode)) {
		return refuse(venv, path, "is a link", err);
	}
	if (!owner_trusted(broker, fd, &info)) {
		return refuse(venv, path, "belongs to another user", err);
	}
	if (others_write(&info) && !(above && (info.st_mode & S_ISVTX))) {
		return refuse(venv, path, "can be written by other users", err);
	}
	return 0;
}

/* Every directory above the path, which has no links. */
static int check_above(const struct broker *broker, const struct venv *venv, const char *path,
		       struct brig_error *err)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
		*slash = '\0';
		int r = check_one(broker, venv, dir[0] ? dir : "/", true, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

struct trail_check {
	const struct broker *broker;
	const struct venv *venv;
	struct brig_error *err;
	int result;
};

/* A link belongs to its owner, who can make it lead elsewhere at any time. */
static int check_link(const struct trail_check *check, const char *place)
{
	_cleanup_close_ int fd = open(place, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(check->err, BRIG_E_INPUT, errno, "virtualenv %.200s: %.200s",
				   check->venv->path, place);
	}
	return S_ISLNK(info.st_mode) && !owner_trusted(check->broker, fd, &info)
		       ? refuse(check->venv, place, "is a link of another user", check->err)
		       : 0;
}

static bool is_open_to_others(void *user, const char *place)
{
	struct trail_check *check = user;
	int r = check_above(check->broker, check->venv, place, check->err);

	check->result = r < 0 ? r : check_link(check, place);
	return check->result < 0;
}

/* The standard library of its base is code, too. */
static int check_base(struct trail_check *check, enum venv_base base)
{
	char library[PATH_MAX], real[PATH_MAX];

	if (venv_base_library(check->venv, base, library) < 0 || !realpath(library, real)) {
		return 0;
	}
	return config_path_leads_by(library, is_open_to_others, check)
		       ? check->result
		       : check_one(check->broker, check->venv, real, false, check->err);
}

int venv_check_trust(const struct broker *broker, const struct venv *venv, struct brig_error *err)
{
	/* They are used by these names again: so every link on the way counts. */
	const char *const trails[] = { venv->path, venv->program, venv->cfg.home };
	struct trail_check check = { .broker = broker, .venv = venv, .err = err };
	char path[PATH_MAX];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(trails); i++) {
		if (config_path_leads_by(trails[i], is_open_to_others, &check)) {
			return check.result;
		}
	}
	for (int i = 0; r == 0 && i < VENV_BASES; i++) {
		r = check_base(&check, (enum venv_base)i);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		r = check_one(broker, venv, part_path(venv, i, path), false, err);
	}
	return r < 0 ? r : check_one(broker, venv, venv->real_program, false, err);
}

static int refuse_showing(const struct venv *venv, const char *path, const char *why,
			  struct brig_error *err)
{
	const char *tree = closure_refused_tree(path);
	bool base = path == venv->real_program;

	error_set(err, BRIG_E_INPUT, EPERM, "virtualenv %.200s: %s%.200s %s%s%s", venv->path,
		  base ? "its interpreter " : "", path, why, tree ? ", like all of " : "",
		  tree ? tree : "");
	error_remedy(err,
		     base ? "make it again with a Python that is installed elsewhere: brig venv "
			    "create NAME --python PYTHON"
			  : "make it at another path, such as /opt/NAME or a directory in your "
			    "home directory");
	return -EPERM;
}

int venv_check_visible(const struct venv *venv, struct brig_error *err)
{
	const char *const paths[] = { venv->path, venv->real, venv->real_program };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *why = closure_refuses(paths[i]);
		if (why) {
			return refuse_showing(venv, paths[i], why, err);
		}
	}
	return 0;
}

static bool others_have(const char *path, mode_t bits)
{
	struct stat info;

	return stat(path, &info) == 0 && (info.st_mode & bits) == bits;
}

static int refuse_reading(const struct venv *venv, const char *path, struct brig_error *err)
{
	error_set(err, BRIG_E_INPUT, EACCES,
		  "virtualenv %.200s: a cell has its own user, who cannot read %.200s", venv->path,
		  path);
	error_remedy(err, "make it, with a Python that every user can read, at another path such "
			  "as /opt/NAME; or chmod -R go+rX the directory");
	return -EACCES;
}

/* The directories above a path without links: it is enough if their names are known. */
static int check_reach(const struct venv *venv, const char *path, struct brig_error *err)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *slash = strrchr(dir, '/'); slash && slash != dir; slash = strrchr(dir, '/')) {
		*slash = '\0';
		if (!others_have(dir, S_IXOTH)) {
			return refuse_reading(venv, dir, err);
		}
	}
	return others_have(path, S_IROTH | S_IXOTH) ? 0 : refuse_reading(venv, path, err);
}

int venv_check_readable(const struct venv *venv, struct brig_error *err)
{
	char path[PATH_MAX];
	int r = check_reach(venv, venv->real, err);

	r = r < 0 ? r : check_reach(venv, venv->real_program, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		bool file = strcmp(parts[i].before, "/" PYVENV_CFG) == 0;
		if (!others_have(part_path(venv, i, path), file ? S_IROTH : S_IROTH | S_IXOTH)) {
			r = refuse_reading(venv, path, err);
		}
	}
	return r;
}
