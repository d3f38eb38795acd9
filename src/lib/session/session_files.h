/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session for whoever copies them a little at a time: session_files.c. */
#ifndef BRIG_LIB_SESSION_SESSION_FILES_H
#define BRIG_LIB_SESSION_SESSION_FILES_H

#include <brig/brig.h>
#include <sys/types.h>

/*
 * As whom the files are touched: per thread, and given back at the end of the scope. Another id
 * costs a process the signal that it would get at its parent's death, and others of its user the
 * sight of it in /proc, which id maps of the next cells are written by: both are given back too.
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

/* Is there such a session, and is the path fit? NULL: there is none. */
int session_file_check(const struct brig_session *session, const char *path,
		       struct brig_error *err);

/* The path alone. */
int session_file_check_name(const char *path, struct brig_error *err);

/* A regular file of at most so many bytes, and its size now. The session may end meanwhile. */
int session_file_open(struct brig_session *session, const char *path, size_t max, int *ret_fd,
		      size_t *ret_size, struct brig_error *err);

/* All regular files, listed some at a time. The session may end meanwhile. session_list.c */
struct session_listing;

int session_listing_new(struct brig_session *session, struct session_listing **ret,
			struct brig_error *err);
/* Some more of them. 1: that was all; 0: there is more; -errno. */
int session_listing_step(struct session_listing *list, struct brig_error *err);
/* When that was all: by path, the listing's own. */
const struct brig_session_file *session_listing_files(const struct session_listing *list,
						      size_t *ret_count, bool *ret_truncated);
void session_listing_free(struct session_listing *list);

/* A file on its way in: written to `fd`, then put in its place. The session may end meanwhile. */
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
/* What a failed write means. */
int session_upload_failed(int r, const char *path, struct brig_error *err);
/* Removes what has not been put in its place. */
void session_upload_done(struct session_upload *upload);
#endif
