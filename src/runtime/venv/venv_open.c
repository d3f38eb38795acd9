/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a virtualenv: reads its configuration, finds its interpreter, compares their versions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runtime/venv/venv.h"

#define CFG_BYTES_MAX 8192
/* They end a path in a list of directories, or have a meaning in a closure. */
#define BAD_IN_PATH ":*?[]{}\\"

#define REMAKE "make it again: python3 -m venv --clear %s, or brig venv create"

static int join(char ret[PATH_MAX], const char *dir, const char *name, struct brig_error *err)
{
	if ((size_t)snprintf(ret, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX) {
		return error_set(err, BRIG_E_INPUT, ENAMETOOLONG,
				 "the path of the virtualenv is too long");
	}
	return 0;
}

/* NULL: it can be used in a list of paths, and in a closure. */
static const char *path_fault(const char *path)
{
	bool bad = strpbrk(path, BAD_IN_PATH) != NULL;

	for (const char *at = path; *at; at++) {
		bad |= (unsigned char)*at < ' ' || *at == 0x7f;
	}
	return path[0] != '/'                 ? "not absolute"
	       : bad                          ? "with a control character, or one of " BAD_IN_PATH
	       : strlen(path) >= PATH_MAX / 2 ? "too long"
					      : NULL;
}

static int check_path(const char *path, struct brig_error *err)
{
	const char *fault = path_fault(path);

	if (fault) {
		error_set(err, BRIG_E_INPUT, EINVAL, "virtualenv %.128s: its path is %s", path,
			  fault);
		error_remedy(err, "name it by its full path, or make it at another path");
		return -EINVAL;
	}
	return 0;
}

/* Without slashes at its end. */
static int find_place(const char *path, struct venv *venv, struct brig_error *err)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/') {
		size--;
	}
	memcpy(venv->path, path, size);
	venv->path[size] = '\0';
	if (!realpath(venv->path, venv->real)) {
		int r = error_errno(err, BRIG_E_INPUT, errno, "virtualenv %s", venv->path);
		error_remedy(err, "make it: brig venv create %s, or python3 -m venv %s", venv->path,
			     venv->path);
		return r;
	}
	return 0;
}

static int read_cfg(struct venv *venv, struct brig_error *err)
{
	_cleanup_close_ int dir = open(venv->real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd =
		dir < 0 ? -1
			: openat(dir, PYVENV_CFG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[CFG_BYTES_MAX];
	struct stat info;
	ssize_t n;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		error_set(err, BRIG_E_INPUT, EINVAL,
			  "%s is not a virtualenv: it has no " PYVENV_CFG, venv->path);
		error_remedy(err, "make one at another path: brig venv create PATH, or python3 -m "
				  "venv PATH");
		return -EINVAL;
	}
	if (fd < 0 || fstat(fd, &info) < 0) {
		int r = error_errno(err, BRIG_E_INPUT, errno, "virtualenv %s: " PYVENV_CFG,
				    venv->path);
		error_remedy(err, REMAKE, venv->path);
		return r;
	}
	if (!S_ISREG(info.st_mode) || info.st_size >= CFG_BYTES_MAX) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 "virtualenv %s: " PYVENV_CFG " is not a regular file of less than "
				 "8 KiB",
				 venv->path);
	}
	n = read(fd, text, sizeof(text));
	if (n < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "virtualenv %s: " PYVENV_CFG,
				   venv->path);
	}
	pyvenv_cfg_parse(text, (size_t)n, &venv->cfg);
	return 0;
}

static bool is_dir(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int check_home(struct venv *venv, struct brig_error *err)
{
	const char *home = venv->cfg.home;

	if (!path_fault(home) && is_dir(home)) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EINVAL,
		  "virtualenv %s: \"home\" in its " PYVENV_CFG
		  " is not the directory of an interpreter: %.128s",
		  venv->path, home[0] ? home : "missing");
	error_remedy(err, REMAKE, venv->path);
	return -EINVAL;
}

static int find_program(struct venv *venv, struct brig_error *err)
{
	static const char *const names[] = { "bin/python3", "bin/python" };
	struct stat info;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int r = join(venv->program, venv->path, names[i], err);
		if (r < 0) {
			return r;
		}
		if (realpath(venv->program, venv->real_program) &&
		    stat(venv->real_program, &info) == 0 && S_ISREG(info.st_mode) &&
		    access(venv->real_program, X_OK) == 0) {
			return 0;
		}
	}
	error_set(err, BRIG_E_INPUT, ENOENT,
		  "virtualenv %s: its interpreter %s is missing, or leads to a program that is not "
		  "there (its base was in %s)",
		  venv->path, names[0], venv->cfg.home);
	error_remedy(err, "install that Python again, or " REMAKE, venv->path);
	return -ENOENT;
}

/* "3.11" of "3.11.2"; false: it is no version. */
static bool minor_of(const char *version, char ret[16])
{
	size_t major = strspn(version, "0123456789");
	size_t minor = version[major] == '.' ? strspn(version + major + 1, "0123456789") : 0;
	size_t size = major + 1 + minor;

	if (!major || !minor || size >= 16 || strchr(".", version[size]) == NULL) {
		return false;
	}
	memcpy(ret, version, size);
	ret[size] = '\0';
	return true;
}

/*
 * The packages are in a directory of their version, which another interpreter does not read. The
 * base may have been replaced by another version since: its name shows it.
 */
static int check_version(struct venv *venv, struct brig_error *err)
{
	const char *name = strrchr(venv->real_program, '/') + 1;
	char packages[PATH_MAX], part[64], base[16];
	const char *why = NULL;

	if (!minor_of(venv->cfg.version, venv->minor)) {
		error_set(err, BRIG_E_INPUT, EINVAL,
			  "virtualenv %s: its " PYVENV_CFG " has no version of Python", venv->path);
		error_remedy(err, REMAKE, venv->path);
		return -EINVAL;
	}
	snprintf(part, sizeof(part), "lib/python%s/site-packages", venv->minor);
	int r = join(packages, venv->real, part, err);
	if (r < 0) {
		return r;
	}
	if (strncmp(name, "python", 6) == 0 && minor_of(name + 6, base) &&
	    strcmp(base, venv->minor) != 0) {
		why = name;
	} else if (!is_dir(packages)) {
		why = "an interpreter that finds no packages there";
	}
	if (why) {
		error_set(err, BRIG_E_INPUT, EINVAL,
			  "virtualenv %s was made for Python %s, but its interpreter is %s",
			  venv->path, venv->minor, why);
		error_remedy(err, REMAKE, venv->path);
		return -EINVAL;
	}
	return 0;
}

int venv_open(const struct broker *broker, const char *path, struct venv *ret,
	      struct brig_error *err)
{
	static int (*const steps[])(struct venv * venv, struct brig_error * err) = {
		read_cfg,
		find_program,
		check_version,
		check_home,
	};
	int r = check_path(path, err);

	*ret = (struct venv){ 0 };
	r = r < 0 ? r : find_place(path, ret, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++) {
		r = steps[i](ret, err);
	}
	return r < 0 ? r : venv_check_trust(broker, ret, err);
}
