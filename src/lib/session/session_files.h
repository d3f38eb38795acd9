/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session, for callers that copy them in small parts: session_files.c. */
#ifndef BRIG_LIB_SESSION_SESSION_FILES_H
#define BRIG_LIB_SESSION_SESSION_FILES_H

#include <brig/brig.h>
#include <sys/types.h>

/*
 * The user id for access to the files: per thread, and restored at the end of the scope. A changed
 * id clears the process's parent-death signal, and hides it in /proc from other processes of its
 * user, which have to write the id maps of the next cells: both are restored too.
 */
struct file_identity {
	bool taken;
	uid_t uid;
	gid_t gid;
	int dumpable, parent_signal;
};

/* 0: the cell has no id of its own. */
uint32_t session_file_owner(const struct brig_session *session);
void file_identity_take(uint32_t owner, struct file_identity *identity);
void file_identity_give_back(struct file_identity *identity);

/* Checks that the session exists, and that the path is valid. A NULL path is not checked. */
int session_file_check(const struct brig_session *session, const char *path,
		       struct brig_error *err);

/* The path alone. */
/* Can files of this session be reached at all? */
int session_file_check_reach(const struct brig_session *session, struct brig_error *err);
int session_file_check_name(const char *path, struct brig_error *err);

/* Opens a regular file of at most `max` bytes; its present size. The session may end meanwhile. */
int session_file_open(struct brig_session *session, const char *path, size_t max, int *ret_fd,
		      size_t *ret_size, struct brig_error *err);

/* Lists all regular files, some in each step. The session may end meanwhile. session_list.c */
struct session_listing;

int session_listing_new(struct brig_session *session, struct session_listing **ret,
			struct brig_error *err);
/* Lists some more. 1: complete; 0: there is more; -errno. */
int session_listing_step(struct session_listing *list, struct brig_error *err);
/* When it is complete: sorted by path; owned by the listing. */
const struct brig_session_file *session_listing_files(const struct session_listing *list,
						      size_t *ret_count, bool *ret_truncated);
void session_listing_free(struct session_listing *list);

/* An upload: written to `fd`, then renamed to its place. The session may end meanwhile. */
struct session_upload {
	int fd, dir;
	uint32_t owner;
	bool executable;
	char temporary[40];
	char name[256];
};

int session_upload_begin(struct brig_session *session, const char *path, size_t size,
			 bool executable, struct session_upload *ret, struct brig_error *err);
/* The same for a file of ours: no policy bounds its size. */
int session_upload_open(struct brig_session *session, const char *path, bool executable,
			struct session_upload *ret, struct brig_error *err);
int session_upload_end(struct session_upload *upload, const char *path, struct brig_error *err);
/* The error for a failed write. */
int session_upload_failed(int r, const char *path, struct brig_error *err);
/* Removes a file that was not renamed to its place. */
void session_upload_done(struct session_upload *upload);
#endif
