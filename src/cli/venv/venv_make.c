/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a virtualenv: see venv_make.h. */
#include "cli/venv/venv_make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Its output is for the user, not part of brig's own. */
static void execute(const struct strlist *argv)
{
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/* Cells have users of their own, who have to be able to read it. */
	umask(022);
	unsetenv("VIRTUAL_ENV");
	unsetenv("PYTHONHOME");
	unsetenv("PYTHONPATH");
	execvp(argv->items[0], argv->items);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Its exit status, or -errno. 127: there is no such program. */
static int run(const struct strlist *argv)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		execute(argv);
	}
	if (pid < 0) {
		return -errno;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int add_all(struct strlist *argv, const char *const *words)
{
	for (; words && *words; words++) {
		if (strlist_add(argv, *words) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int do_step(const char *what, const struct strlist *argv, const char *remedy,
		   struct brig_error *err)
{
	int status = run(argv);

	if (status == 0) {
		return 0;
	}
	if (status < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -status, "cannot start %s", argv->items[0]);
	}
	if (status == 127) {
		error_set(err, BRIG_E_INPUT, ENOENT, "%s is not installed", argv->items[0]);
	} else {
		error_set(err, BRIG_E_INPUT, EIO, "%s failed: %s ended with status %d", what,
			  argv->items[0], status);
	}
	error_remedy(err, "%s", remedy);
	return status == 127 ? -ENOENT : -EIO;
}

static bool has_uv(void)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t size = strcspn(path, ":");
		char program[4096];
		int n = snprintf(program, sizeof(program), "%.*s/uv", (int)size, path);
		if (size && n > 0 && (size_t)n < sizeof(program) && access(program, X_OK) == 0) {
			return true;
		}
		path += size + (path[size] == ':');
	}
	return false;
}

/* "3.12" is the name of no program, but uv knows it. */
static int add_python(struct strlist *argv, const char *python)
{
	bool version = python && python[0] >= '0' && python[0] <= '9';

	return strlist_addf(argv, "%s%s", version ? "python" : "", python ? python : "python3");
}

static int make_empty(const struct venv_order *order, bool uv, bool pip, struct brig_error *err)
{
	static const char *const by_uv[] = { "uv", "venv", "--quiet", NULL };
	static const char *const by_module[] = { "-m", "venv", NULL };
	_cleanup_(strlist_done)
	struct strlist argv = { 0 };
	int r = uv ? add_all(&argv, by_uv) : add_python(&argv, order->python);

	if (r == 0 && uv && order->python) {
		r = strlist_addf(&argv, "--python=%s", order->python);
	}
	r = r < 0 || uv ? r : add_all(&argv, by_module);
	if (r == 0 && !uv && !pip) {
		r = strlist_add(&argv, "--without-pip");
	}
	r = r < 0 ? r : strlist_add(&argv, order->path);
	if (r < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	return do_step("making the virtualenv", &argv,
		       uv ? "see the output above; --python names another Python"
			  : "apt install python3 python3-venv, or install uv",
		       err);
}

static int install(const struct venv_order *order, bool uv, struct brig_error *err)
{
	static const char *const by_uv[] = { "uv", "pip", "install", "--quiet", NULL };
	static const char *const by_pip[] = {
		"-m", "pip", "install", "--quiet", "--disable-pip-version-check", NULL
	};
	_cleanup_(strlist_done)
	struct strlist argv = { 0 };
	int r = uv ? add_all(&argv, by_uv) : strlist_addf(&argv, "%s/bin/python3", order->path);

	r = r < 0 ? r
	    : uv  ? strlist_addf(&argv, "--python=%s/bin/python3", order->path)
		  : add_all(&argv, by_pip);
	if (r == 0 && order->requirements) {
		r = strlist_add(&argv, "-r");
		r = r < 0 ? r : strlist_add(&argv, order->requirements);
	}
	r = r < 0 ? r : strlist_add(&argv, "--");
	r = r < 0 ? r : add_all(&argv, order->packages);
	if (r < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	return do_step("installing the packages", &argv, "see the output above", err);
}

int venv_make(const struct venv_order *order, struct brig_error *err)
{
	bool packages = order->requirements || (order->packages && order->packages[0]);
	bool uv = has_uv();
	int r = make_empty(order, uv, packages, err);

	return r < 0 || !packages ? r : install(order, uv, err);
}
