/* SPDX-License-Identifier: Apache-2.0 */
/* What a run did to /sandbox: created, modified, deleted, against what was handed in. */
#ifndef BRIG_RUN_CHANGES_H
#define BRIG_RUN_CHANGES_H

#include "run/spec.h"
#include "run/walk.h"

/* Beyond this a change is listed without its hash. Inputs that kept their size come on top. */
#define CHANGES_HASH_BYTES_MAX (64ull << 20)
#define CHANGES_LINKS_MAX      64 /* files of several names whose hashes are kept for the next */

struct changes_base {
	char *path;                     /* owned */
	const struct spec_input *input; /* borrowed: its bytes */
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

/* How far the list is sorted: changes_sort.c. */
struct changes_sort {
	struct brig_change *spare; /* owned; NULL: not begun */
	size_t width;              /* so many in a row are sorted */
	size_t left, left_end, right, right_end, out;
};

struct changes {
	struct changes_base *base; /* owned, sorted by path */
	size_t base_count;
	struct brig_change *list; /* owned */
	size_t count, capacity;
	struct changes_sort sort;
	struct changes_link links[CHANGES_LINKS_MAX]; /* the latest of them, in a ring */
	size_t links_count;                           /* ever */
	uint64_t hashed_bytes; /* so far; sparse files cost the program nothing, but us time */
};

int changes_init(struct changes *changes, const struct spec_input *inputs, size_t count);
void changes_done(struct changes *changes);
/* What was handed in under this name; or NULL. */
struct changes_base *changes_find(const struct changes *changes, const char *path);
/* Is a regular file worth reading? If not, `sha256` is what is known of it: perhaps nothing. */
bool changes_wants_hash(const struct changes *changes, const struct walk_entry *entry,
			const struct changes_base *base, char sha256[65]);
/* It was read. */
void changes_hashed(struct changes *changes, const struct walk_entry *entry,
		    const struct changes_base *base, const char sha256[65]);
/* Must what was handed in be read, to tell whether it is the same? */
bool changes_wants_base(const struct walk_entry *entry, const struct changes_base *base,
			const char sha256[65]);
/* All that can be known of it is known; "": no hash. */
int changes_see(struct changes *changes, const struct walk_entry *entry, struct changes_base *base,
		const char sha256[65]);
/* There is nothing more to see: what was not seen was deleted. */
int changes_end(struct changes *changes);
/* The program chose how many there are, so they are sorted in steps. 1: done; 0: go on; -errno. */
int changes_sort(struct changes *changes);
/* Moves the list to the result. */
void changes_take(struct changes *changes, struct brig_result *result);
#endif
