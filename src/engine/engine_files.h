/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls about files of sessions, on their way. What they cost is the program's to choose: so each
 * has a turn, tenants by turns, and does a slice of its work in a round of the loop. Bytes go from
 * file to file; none of them is kept on the heap.
 */
#ifndef BRIG_ENGINE_ENGINE_FILES_H
#define BRIG_ENGINE_ENGINE_FILES_H

#include "engine/engine_local.h"
#include "lib/session/session_files.h"

/* A file that is read goes to a memory file of at most so many bytes. */
#define FILE_GET_BYTES_MAX ((size_t)64 << 20)
/* Begun and not ended, of FILES_BEGUN in all: so many such memory files there are at most. */
#define FILES_BEGUN_TENANT 2u
/* Waiting for that. */
#define FILES_WAITING        1024u
#define FILES_WAITING_TENANT 64u

struct local_file {
	struct engine_run *run; /* borrowed: it owns this */
	struct local_file *next, **link;
	char *tenant, *session, *path; /* owned; the last may be NULL */
	struct block *block;           /* a reference: what is to be written; or NULL... */
	char *copy;                    /* ...or owned: the same, when it is short */
	const char *data;
	size_t size; /* of the file; or so many of a list, 0: all that there are */
	size_t at;   /* so far it is copied, or listed */
	bool begun;
	struct session_listing *list; /* owned; or NULL */
	struct json_out json;         /* of a list, once that is complete */
	size_t page_end;
	int from; /* owned; -1: none */
	struct session_upload upload;
};

/*
 * A slice of a copy, holes left out: what was never written costs no memory, here neither. 1: that
 * was all, as long as it is now; 0: there is more; -errno.
 */
int local_copy_slice(int from, int to, size_t size, size_t *at);

/* One slice. 1: it has ended, with the run's answer or error; 0: there is more. */
int local_file_step(struct local_file *file);
void local_file_done(struct local_file *file);
#endif
