/* SPDX-License-Identifier: Apache-2.0 */
/* Host directories of a request: opened once, without following links, then used by fd. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/files/path.h"
#include "base/id.h"
#include "kernel/idmount.h"
#include "kernel/nolinks.h"
#include "kernel/submount.h"
#include "kernel/sys.h"
#include "lib/prepare/prepare.h"

#define MOUNTS_MAX 32

/*
 * The kernel's own file systems and the whole root are never mounted, whatever their path.
 */
static int check_directory(int fd, const char *path, struct brig_error *err)
{
	static const long refused[] = { PROC_SUPER_MAGIC,    SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,
					CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,      TRACEFS_MAGIC,
					SECURITYFS_MAGIC,    DEVPTS_SUPER_MAGIC, BPF_FS_MAGIC };
	struct stat here, root;
	struct statfs fs;

	if (fstat(fd, &here) < 0 || stat("/", &root) < 0 || fstatfs(fd, &fs) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot examine %s", path);
	}
	bool bad = here.st_dev == root.st_dev && here.st_ino == root.st_ino;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		bad |= (long)fs.f_type == refused[i];
	}
	if (bad) {
		int r = error_set(err, BRIG_E_INPUT, EACCES, "%s is never mounted into a cell",
				  path);
		error_remedy(err, "name the directory that the program needs, nothing above it");
		return r;
	}
	return 0;
}

static const struct policy_mount *by_policy(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->mounts_count; i++) {
		if (strcmp(policy->mounts[i].name, name) == 0) {
			return &policy->mounts[i];
		}
	}
	return NULL;
}

static int check_allowed(const struct policy *policy, const struct policy_mount *listed,
			 const struct brig_mount *mount, struct brig_error *err)
{
	bool allowed = listed            ? listed->writable || !mount->writable
		       : mount->writable ? policy->caller_mounts == CALLER_MOUNTS_RW
					 : policy->caller_mounts != CALLER_MOUNTS_NONE;

	if (allowed) {
		return 0;
	}
	int r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s does not allow to mount %s %s",
			  policy->name, mount->path,
			  mount->writable ? "for writing" : "for reading");
	error_remedy(err, "list the directory in the policy's mounts, or allow caller_mounts");
	return r;
}

const char *prepare_mount_name(const struct brig_mount *mount)
{
	const char *slash = strrchr(mount->path, '/');

	return mount->name ? mount->name : slash ? slash + 1 : mount->path;
}

/* The path of an open directory, without links, as the kernel reports it. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	return n < 0 ? NULL : strndup(path, (size_t)n);
}

/*
 * Only the directory's own file system goes into the cell. If another one is mounted on a part of
 * it, the covered files would become visible; the kernel allows that to root only, and returns
 * EINVAL to other users.
 */
static int check_submounts(const char *path, struct brig_error *err)
{
	_cleanup_free_ char *found = NULL;
	int r = submount_find("/proc/self/mountinfo", path, &found);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot find the mounts beneath %s",
				   path);
	}
	if (r == 0) {
		return 0;
	}
	r = error_set(err, BRIG_E_INPUT, EXDEV,
		      "cannot mount %s: another file system is mounted beneath it, at %s", path,
		      found);
	error_remedy(err, "name each directory that the program needs by itself");
	return r;
}

/* The error for a caller that may use only the directories that the operator has listed. */
static int check_listed(const struct policy *policy, const char *name, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf names = { 0 };

	for (size_t i = 0; i < policy->mounts_count; i++) {
		buf_addf(&names, "%s%s", i ? ", " : "", policy->mounts[i].name);
	}
	int r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s lists no directory named %.64s",
			  policy->name, name);
	error_remedy(err, "it has: %s; the operator lists directories in the policy's mounts",
		     names.size ? names.data : "none");
	return r;
}

static int add_mount(struct prepared *p, const struct brig_mount *mount, bool listed_only,
		     struct brig_error *err)
{
	const struct policy_mount *listed = by_policy(p->policy, mount->path);
	const char *path = listed ? listed->path : mount->path;
	const char *name = prepare_mount_name(mount);

	/* A caller that knows only the names does not learn the operator's paths. */
	const char *shown = listed_only ? mount->path : path;

	if (listed_only && !listed) {
		return check_listed(p->policy, mount->path, err);
	}
	int r = check_allowed(p->policy, listed, mount, err);

	if (r < 0) {
		return r;
	}
	if (!id_name_valid(name)) {
		r = error_set(err, BRIG_E_INPUT, EINVAL, "%s has no usable name for /mnt", shown);
		error_remedy(err, "give it one: NAME=%s with letters, digits, . _ -", shown);
		return r;
	}
	for (size_t i = 0; i < p->mounts_count; i++) {
		const char *other = p->mounts[i].name;
		if (other && strcmp(other, name) == 0) {
			return error_set(err, BRIG_E_INPUT, EEXIST, "two mounts are called %s",
					 name);
		}
	}
	_cleanup_close_ int fd = open_without_links(path);
	if (fd < 0) {
		r = error_errno(err, BRIG_E_INPUT, -fd, "cannot mount %s", shown);
		if (r == -ELOOP || r == -ENOTDIR) {
			error_remedy(err, "name the directory by a path without links (see "
					  "realpath)");
		}
		return r;
	}
	r = check_directory(fd, shown, err);
	if (r < 0) {
		return r;
	}
	_cleanup_free_ char *found = path_of(fd);
	if (!found) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot find the path of %s", shown);
	}
	r = check_submounts(found, err);
	if (r < 0 && listed_only) {
		r = error_set(err, BRIG_E_INPUT, EXDEV,
			      "cannot mount %s: another file system is mounted beneath it", shown);
	}
	if (r < 0) {
		return r;
	}
	_cleanup_free_ char *inside = strdup(name);
	if (!inside) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for mounts");
	}
	p->mounts[p->mounts_count++] = (struct spec_mount){
		.name = TAKE_PTR(inside),
		.path = TAKE_PTR(found),
		.fd = TAKE_FD(fd),
		.tree = -1,
		.writable = mount->writable,
	};
	return 0;
}

int prepare_mounts(const struct brig_context *context, const struct brig_request *request,
		   struct prepared *p, struct brig_error *err)
{
	if (request->mounts_count == 0) {
		return 0;
	}
	if (request->mounts_count > MOUNTS_MAX) {
		return error_set(err, BRIG_E_INPUT, E2BIG, "more than %d mounts", MOUNTS_MAX);
	}
	if (!provider_can(p->spec.provider, ABILITY_MOUNTS)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "provider %s has no mounts: the program sees the host's "
				  "directories as they are",
				  p->spec.provider->name);
		error_remedy(err, "leave --ro and --rw out, or " PROVIDER_REMEDY);
		return r;
	}
	p->mounts = calloc(request->mounts_count, sizeof(*p->mounts));
	if (!p->mounts) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for mounts");
	}
	for (size_t i = 0; i < request->mounts_count; i++) {
		int r = add_mount(p, &request->mounts[i], request->mounts_listed, err);
		if (r < 0) {
			return r;
		}
		/* The directories of the policy were checked when it was loaded. */
		r = request->mounts_listed ? 0
					   : prepare_check_protected(context, &p->mounts[i], err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* A detached mount can be used by one cell only: a second try needs new ones. */
int prepare_trees(struct brig_context *context, struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;

	if (!spec->own_devices) {
		return 0;
	}
	close_fd(&spec->devices);
	spec->devices = context_devices(context);
	if (spec->devices < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -spec->devices, "cannot make device nodes");
	}
	/* With a kernel of the cell's own, a process with its first id makes the files. */
	const struct idmount_ids ids = { spec->first_id + 1, spec->first_id + 1,
					 spec->provider->tasks_each ? spec->first_id : 0 };
	for (size_t i = 0; i < p->mounts_count; i++) {
		struct spec_mount *mount = &p->mounts[i];
		close_fd(&mount->tree);
		mount->tree = idmount_clone(mount->fd, &ids);
		if (mount->tree < 0) {
			/* A file system without id maps (tmpfs before 6.3) is mounted as it is,
			 * with its own permissions. It is cloned here, as root: the set-up of the
			 * cell may not be permitted to reach it. */
			mount->tree = sys_open_tree(
				mount->fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
		}
		if (mount->tree < 0) {
			return error_errno(err, BRIG_E_SYSTEM, -mount->tree, "cannot mount %s",
					   mount->path);
		}
	}
	return 0;
}
