/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The changes that a run made in /sandbox: files created, modified or deleted, compared with the
 * input files.
 */
#ifndef BRIG_RUN_FILES_CHANGES_H
#define BRIG_RUN_FILES_CHANGES_H

#include "kernel/walk.h"
#include "run/spec/spec.h"

/* Beyond this sum a change is listed without its hash. Inputs of unchanged size are not counted. */
#define CHANGES_HASH_BYTES_MAX (64ull << 20)
#define CHANGES_LINKS_MAX      64 /* files with several names whose hashes are kept */

struct changes_base {
	char *path;                     /* owned */
	const struct spec_input *input; /* borrowed: it has the bytes */
	uint64_t size;
	char sha256[65]; /* "": not known yet */
	bool seen;
};

/* A file with several names is read once. */
struct changes_link {
	dev_t dev;
	ino_t ino;
	char sha256[65];
};

/* The progress of the sort: changes_sort.c. */
struct changes_sort {
	struct brig_change *spare; /* owned; NULL: not begun */
	size_t width;              /* sequences of this length are sorted */
	size_t left, left_end, right, right_end, out;
};

struct changes {
	struct changes_base *base; /* owned, sorted by path */
	size_t base_count;
	struct brig_change *list; /* owned */
	size_t count, capacity;
	struct changes_sort sort;
	struct changes_link links[CHANGES_LINKS_MAX]; /* the latest ones, in a ring */
	size_t links_count;                           /* of all that were added */
	/* so far; a sparse file costs the program nothing, but costs us time */
	uint64_t hashed_bytes;
};

int changes_init(struct changes *changes, const struct spec_input *inputs, size_t count);
void changes_done(struct changes *changes);
/* The input file of this name; or NULL. */
struct changes_base *changes_find(const struct changes *changes, const char *path);
/* Must a regular file be read? If not, `sha256` is set where the hash is known already. */
bool changes_wants_hash(const struct changes *changes, const struct walk_entry *entry,
			const struct changes_base *base, char sha256[65]);
/* The file was read. */
void changes_hashed(struct changes *changes, const struct walk_entry *entry,
		    const struct changes_base *base, const char sha256[65]);
/* Must the input file be read to find out whether it was modified? */
bool changes_wants_base(const struct walk_entry *entry, const struct changes_base *base,
			const char sha256[65]);
/* Nothing more has to be read of this entry: adds it to the list if it was changed. "": no hash. */
int changes_see(struct changes *changes, const struct walk_entry *entry, struct changes_base *base,
		const char sha256[65]);
/* After the last entry: inputs that were not seen were deleted. */
int changes_end(struct changes *changes);
/*
 * The program decides how many there are, so they are sorted in steps. 1: done; 0: more to do;
 * -errno.
 */
int changes_sort(struct changes *changes);
/* Moves the list to the result. */
void changes_take(struct changes *changes, struct brig_result *result);
#endif
