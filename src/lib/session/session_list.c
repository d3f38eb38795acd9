/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the files of a session, while its code may be running. See session_files.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "kernel/walk.h"
#include "lib/session/session.h"
#include "lib/session/session_files.h"

#define LIST_MAX       10000
#define LIST_BYTES_MAX ((size_t)2 << 20) /* of their names */
#define NAMES_AT_ONCE  256u

struct session_listing {
	struct walk *walk; /* owned */
	uint32_t owner;
	struct brig_session_file *files; /* owned */
	size_t count, seen, bytes;
	bool truncated;
};

static int keep_file(struct session_listing *list, const struct walk_entry *entry)
{
	if ((list->count & (list->count - 1)) == 0) {
		size_t room = list->count ? 2 * list->count : 1;
		struct brig_session_file *files = realloc(list->files, room * sizeof(*files));
		if (!files) {
			return -ENOMEM;
		}
		list->files = files;
	}
	char *path = strdup(entry->path);
	if (!path) {
		return -ENOMEM;
	}
	list->files[list->count++] = (struct brig_session_file){
		.path = path,
		.size = (uint64_t)entry->stat->st_size,
		.modified_ns = (uint64_t)entry->stat->st_mtim.tv_sec * 1000000000u +
			       (uint64_t)entry->stat->st_mtim.tv_nsec,
		.executable = (entry->stat->st_mode & 0100) != 0,
	};
	return 0;
}

/* 1: the list is full. */
static int list_entry(struct session_listing *list, const struct walk_entry *entry)
{
	list->bytes += strlen(entry->path);
	if (++list->seen > LIST_MAX || list->bytes > LIST_BYTES_MAX) {
		list->truncated = true;
		return 1;
	}
	return S_ISREG(entry->stat->st_mode) ? keep_file(list, entry) : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct brig_session_file *)a)->path,
		      ((const struct brig_session_file *)b)->path);
}

static int finish(struct session_listing *list)
{
	list->truncated |= walk_report_of(list->walk)->too_many;
	walk_free(TAKE_PTR(list->walk));
	if (list->count) {
		qsort(list->files, list->count, sizeof(*list->files), by_path);
	}
	return 1;
}

int session_listing_new(struct brig_session *session, struct session_listing **ret,
			struct brig_error *err)
{
	int r = session_file_check(session, NULL, err);

	if (r < 0) {
		return r;
	}
	struct session_listing *list = calloc(1, sizeof(*list));
	_cleanup_(file_identity_give_back)
	struct file_identity identity = { 0 };
	file_identity_take(session_file_owner(session), &identity);
	r = list ? walk_new(session->phase.run->sandbox, &list->walk) : -ENOMEM;
	if (r < 0) {
		free(list);
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot list the session's files");
	}
	list->owner = session_file_owner(session);
	*ret = list;
	return 0;
}

int session_listing_step(struct session_listing *list, struct brig_error *err)
{
	struct walk_entry entry;
	int r = 0;

	if (!list->walk) {
		return 1;
	}
	_cleanup_(file_identity_give_back)
	struct file_identity identity = { 0 };
	file_identity_take(list->owner, &identity);
	unsigned before = walk_names(list->walk);
	while (r == 0 && walk_names(list->walk) - before < NAMES_AT_ONCE) {
		int next = walk_next(list->walk, &entry);
		if (next == 2) {
			break;
		}
		r = next == 1 ? list_entry(list, &entry) : next == 0 ? 1 : next;
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot list the session's files");
	}
	return r == 1 ? finish(list) : 0;
}

const struct brig_session_file *session_listing_files(const struct session_listing *list,
						      size_t *ret_count, bool *ret_truncated)
{
	*ret_count = list->count;
	*ret_truncated = list->truncated;
	return list->files;
}

void session_listing_free(struct session_listing *list)
{
	if (list) {
		walk_free(list->walk);
		brig_session_files_free(list->files, list->count);
		free(list);
	}
}

int brig_session_list(struct brig_session *session, struct brig_session_file **ret,
		      size_t *ret_count, bool *truncated, struct brig_error *error)
{
	_cleanup_(run_section_leave)
	struct run_section section;
	struct session_listing *list = NULL;

	run_section_enter(session->phase.run, &section);
	int r = session_listing_new(session, &list, error);
	if (!list) {
		return r;
	}
	do {
		r = session_listing_step(list, error);
	} while (r == 0);
	if (r == 1) {
		*ret = TAKE_PTR(list->files);
		*ret_count = list->count;
		list->count = 0;
		if (truncated) {
			*truncated = list->truncated;
		}
	}
	session_listing_free(list);
	return r < 0 ? r : 0;
}

void brig_session_files_free(struct brig_session_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].path);
	}
	free(files);
}
