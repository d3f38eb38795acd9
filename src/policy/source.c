/* SPDX-License-Identifier: Apache-2.0 */
/* Reads policy texts, and trusts only files that no other user can change. */
#include "policy/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/id.h"
#include "broker_client/broker_client.h"

#define POLICY_SIZE_MAX (1024 * 1024)

void policy_text_done(struct policy_text *text)
{
	free(text->place);
	free(text->owned);
	*text = (struct policy_text){ 0 };
}

/* Root and brig's own user may own it; group and others may not write to it. */
static int check_trust(const struct policy_source *source, int fd, const char *place, mode_t kind,
		       off_t *ret_size, struct brig_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", place);
	}
	if ((st.st_mode & S_IFMT) != kind) {
		error_set(err, BRIG_E_POLICY, EINVAL, "%s: not a %s", place,
			  kind == S_IFDIR ? "directory" : "regular file");
		error_remedy(err, "put a %s in its place", kind == S_IFDIR ? "directory" : "file");
		return -EINVAL;
	}
	if (!owner_trusted(source->broker, fd, &st)) {
		error_set(err, BRIG_E_POLICY, EPERM,
			  "%s: owned by user %u, who could change what programs may do", place,
			  (unsigned)st.st_uid);
		error_remedy(err, "chown %s %s", geteuid() == 0 ? "root" : "root, or yourself,",
			     place);
		return -EPERM;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		error_set(err, BRIG_E_POLICY, EPERM, "%s: others may write to it", place);
		error_remedy(err, "chmod go-w %s", place);
		return -EPERM;
	}
	*ret_size = st.st_size;
	return 0;
}

static int cannot_open(const struct policy_source *source, const char *place, int errnum,
		       struct brig_error *err)
{
	const char *remedy = owner_remedy(source->broker, errnum);

	error_errno(err, BRIG_E_POLICY, errnum, "%s", place);
	if (remedy) {
		error_remedy(err, "%s %s", remedy, place);
	}
	return -errnum;
}

static int open_trusted(const struct policy_source *source, int dir, const char *name,
			const char *place, mode_t kind, off_t *ret_size, struct brig_error *err)
{
	int flags = kind == S_IFDIR ? O_DIRECTORY : O_NOCTTY | O_NONBLOCK;
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);

	if (fd < 0 && errno == ENOENT) {
		return -ENOENT;
	}
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) {
		int errnum = errno;

		error_set(err, BRIG_E_POLICY, errnum, "%s: a link, or not a %s", place,
			  kind == S_IFDIR ? "directory" : "file");
		error_remedy(err, "put the %s itself in its place",
			     kind == S_IFDIR ? "directory" : "file");
		return -errnum;
	}
	if (fd < 0) {
		return cannot_open(source, place, errno, err);
	}

	int r = check_trust(source, fd, place, kind, ret_size, err);

	return r < 0 ? r : TAKE_FD(fd);
}

/* The directory itself may be a link: its name was given by the operator. */
static int open_config(const struct policy_source *source, struct brig_error *err)
{
	const char *config_dir = source->config_dir;
	_cleanup_close_ int fd = open(config_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	off_t size;

	if (fd < 0) {
		if (errno == ENOENT) {
			return -ENOENT;
		}
		return cannot_open(source, config_dir, errno, err);
	}

	int r = check_trust(source, fd, config_dir, S_IFDIR, &size, err);

	return r < 0 ? r : TAKE_FD(fd);
}

/* `below` in config_dir; "": config_dir itself. */
static int open_directory(const struct policy_source *source, const char *below,
			  struct brig_error *err)
{
	const char *config_dir = source->config_dir;
	_cleanup_close_ int config = open_config(source, err);
	_cleanup_free_ char *place = NULL;
	off_t size;

	if (config < 0 || !below[0]) {
		return config < 0 ? config : TAKE_FD(config);
	}
	if (asprintf(&place, "%s/%s", config_dir, below) < 0) {
		place = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", config_dir);
	}
	return open_trusted(source, config, below, place, S_IFDIR, &size, err);
}

static int read_whole(int fd, off_t size, struct policy_text *text, struct brig_error *err)
{
	size_t used = 0;

	if (size > POLICY_SIZE_MAX) {
		return error_set(err, BRIG_E_POLICY, EFBIG, "%s: larger than 1M", text->place);
	}
	text->owned = malloc((size_t)size + 1);
	if (!text->owned) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", text->place);
	}
	while (used < (size_t)size) {
		ssize_t n = read(fd, text->owned + used, (size_t)size - used);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return error_errno(err, BRIG_E_POLICY, errno, "%s", text->place);
		}
		if (n == 0) {
			break;
		}
		used += (size_t)n;
	}
	text->owned[used] = '\0';
	text->data = text->owned;
	text->size = used;
	return 0;
}

int policy_text_configured(const struct policy_source *source, const char *file,
			   struct policy_text *ret, struct brig_error *err)
{
	const char *config_dir = source->config_dir;
	_cleanup_(policy_text_done)
	struct policy_text text = { 0 };
	const char *slash = strrchr(file, '/');
	char below[32] = "";

	if (slash) {
		snprintf(below, sizeof(below), "%.*s", (int)(slash - file), file);
	}
	_cleanup_close_ int dir = open_directory(source, below, err);
	off_t size = 0;

	if (dir < 0) {
		return dir == -ENOENT ? 0 : dir;
	}
	if (asprintf(&text.place, "%s/%s", config_dir, file) < 0) {
		text.place = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", config_dir);
	}

	_cleanup_close_ int fd = open_trusted(source, dir, slash ? slash + 1 : file, text.place,
					      S_IFREG, &size, err);

	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}

	int r = read_whole(fd, size, &text, err);

	if (r < 0) {
		return r;
	}
	*ret = text;
	text = (struct policy_text){ 0 };
	return 1;
}

int policy_text_given(const struct policy_source *source, const char *name, struct policy_text *ret,
		      struct brig_error *err)
{
	const struct policy_given *given = source->given;

	if (!given || strcmp(given->name, name) != 0) {
		return 0;
	}

	char *place = strdup(given->place);

	if (!place) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", given->place);
	}
	*ret = (struct policy_text){ .place = place, .data = given->text, .size = given->size };
	return 1;
}

int policy_text_built_in(const char *file, struct policy_text *ret, struct brig_error *err)
{
	for (size_t i = 0; i < embedded_files_count; i++) {
		if (strcmp(embedded_files[i].path, file) != 0) {
			continue;
		}

		char *place = strdup(file);

		if (!place) {
			return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", file);
		}
		*ret = (struct policy_text){
			.place = place,
			.data = embedded_files[i].data,
			.size = embedded_files[i].size,
			.built_in = true,
		};
		return 1;
	}
	return 0;
}

int policy_names_configured(const struct policy_source *source, struct strlist *ret,
			    struct brig_error *err)
{
	const char *config_dir = source->config_dir;
	_cleanup_close_ int fd = open_directory(source, "policies", err);
	struct dirent *entry;
	int r = 0;

	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}

	DIR *dir = fdopendir(fd);

	if (!dir) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s/policies", config_dir);
	}
	TAKE_FD(fd);
	while (r == 0 && (entry = readdir(dir))) {
		char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".json") != 0) {
			continue;
		}
		*dot = '\0';
		if (id_name_valid(entry->d_name) && !strlist_has(ret, entry->d_name)) {
			r = strlist_add(ret, entry->d_name);
		}
	}
	closedir(dir);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "%s/policies", config_dir) : 0;
}
