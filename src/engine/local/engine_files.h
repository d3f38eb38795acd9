/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File calls of sessions that are active or waiting. The program in the cell decides what they
 * cost: so tenants take turns, and each call does a slice of its work in a round of the loop. Bytes
 * go from file to file; none of them is kept on the heap.
 */
#ifndef BRIG_ENGINE_ENGINE_FILES_H
#define BRIG_ENGINE_ENGINE_FILES_H

#include "engine/local/engine_local.h"
#include "lib/session/session_files.h"

/* The largest file that can be read; it is copied to a memory file. */
#define FILE_GET_BYTES_MAX ((size_t)64 << 20)
/*
 * Active calls of one tenant, of FILES_BEGUN in total: this bounds the number of such memory files.
 */
#define FILES_BEGUN_TENANT 2u
/* Calls that wait to become active. */
#define FILES_WAITING        1024u
#define FILES_WAITING_TENANT 64u

struct local_file {
	struct engine_run *run;        /* borrowed: it owns this */
	struct list_node node;         /* of the engine's files */
	char *tenant, *session, *path; /* owned; the last may be NULL */
	struct block *block;           /* a reference: the data to write; or NULL... */
	char *copy;                    /* ...or owned: the same, when it is short */
	const char *data;
	size_t size; /* of the file; or the most items of a list, 0: all */
	size_t at;   /* copied or listed so far */
	bool begun;
	struct session_listing *list; /* owned; or NULL */
	struct json_out json;         /* of a list, when it is complete */
	size_t page_end;
	int from; /* owned; -1: none */
	struct session_upload upload;
};

/*
 * Copies a slice, skipping holes: data that was never written uses no memory in the copy either. 1:
 * done, with the file's current size; 0: there is more; -errno.
 */
int local_copy_slice(int from, int to, size_t size, size_t *at);

/* One slice. 1: done, with the run's answer or error; 0: there is more. */
int local_file_step(struct local_file *file);
void local_file_done(struct local_file *file);
#endif
