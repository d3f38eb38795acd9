/* What a run did to /sandbox: created, modified, deleted, against what was handed in. */
#ifndef BRIG_CORE_CHANGES_H
#define BRIG_CORE_CHANGES_H

#include "core/spec.h"
#include "core/walk.h"

/* Beyond this a change is listed without its hash. Inputs that kept their size come on top. */
#define CHANGES_HASH_BYTES_MAX (64ull << 20)
#define CHANGES_LINKS_MAX      64 /* files of several names whose hashes are kept for the next */

struct changes_base {
	char *path; /* owned */
	uint64_t size;
	char sha256[65];
	bool seen;
};

/* A file with several names is read once. */
struct changes_link {
	dev_t dev;
	ino_t ino;
	char sha256[65];
};

struct changes {
	struct changes_base *base; /* owned, sorted by path */
	size_t base_count;
	struct brig_change *list; /* owned */
	size_t count, capacity;
	struct changes_link links[CHANGES_LINKS_MAX]; /* the latest of them, in a ring */
	size_t links_count;                           /* ever */
	uint64_t hashed_bytes; /* so far; sparse files cost the program nothing, but us time */
};

int changes_init(struct changes *changes, const struct spec_input *inputs, size_t count);
void changes_done(struct changes *changes);
int changes_see(struct changes *changes, const struct walk_entry *entry);
/* Moves the list to the result. */
int changes_finish(struct changes *changes, struct brig_result *result);
#endif
