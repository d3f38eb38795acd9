/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collection: see collect.h. Bytes and files are bounded by the policy. The entries of the tree are
 * handled one after the other; a file is read piece by piece before the next entry.
 */
#include "run/files/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/path.h"
#include "kernel/walk.h"
#include "run/files/changes.h"
#include "run/files/hash_pieces.h"

/* The purpose of the file that is being read. */
enum reading {
	READING_NOTHING,
	READING_FILE,   /* it is returned */
	READING_CHANGE, /* only its hash is needed */
	READING_INPUT,  /* the input file of that name */
};

struct collection {
	struct collect_options options;
	struct brig_result *result;
	struct path_globs *globs; /* owned */
	struct walk *walk;        /* owned */
	struct walk_entry entry;  /* the current one */
	struct changes changes;
	struct changes_base *base; /* of the entry; or NULL */
	bool sorting;              /* after the last entry: the list of changes is being sorted */
	enum reading reading;
	struct hash_pieces pieces;
	struct brig_file_out file; /* owned while it is read */
	char sha256[65];           /* of the entry; "": not known */
	uint64_t bytes;
	uint64_t work;
	unsigned not_regular;
	unsigned over_budget;
	unsigned not_matched;
};

static bool is_wanted(struct collection *c, const char *path)
{
	if (strncmp(path, "out/", 4) == 0) {
		return true;
	}
	if (c->work > c->options.work_max) {
		c->not_matched++;
		return false;
	}
	return path_globs_find(c->globs, path, true, &c->work) >= 0;
}

/* By the time of the last change of the inode (ctime): no program can set that. */
static bool is_old(const struct collection *c, const struct stat *stat)
{
	uint64_t changed_ns =
		(uint64_t)stat->st_ctim.tv_sec * 1000000000u + (uint64_t)stat->st_ctim.tv_nsec;

	return changed_ns < c->options.since_ns;
}

static void begin_reading(struct collection *c, enum reading what, struct hash_pieces pieces)
{
	c->reading = what;
	c->pieces = pieces;
	hash_pieces_begin(&c->pieces);
}

/* 1: it is being read; 0: it is not returned. */
static int begin_file(struct collection *c)
{
	uint64_t size = (uint64_t)c->entry.stat->st_size;
	struct brig_result *result = c->result;

	if (result->files_count >= c->options.count_max || size > c->options.bytes_max - c->bytes) {
		c->over_budget++;
		return 0;
	}
	_cleanup_close_ int fd = walk_open(&c->entry);
	if (fd < 0) {
		c->not_regular++;
		return 0;
	}
	struct brig_file_out *files =
		realloc(result->files, (result->files_count + 1) * sizeof(*files));
	if (!files) {
		return -ENOMEM;
	}
	result->files = files;
	c->file = (struct brig_file_out){
		.size = size,
		.executable = (c->entry.stat->st_mode & 0100) != 0,
		.path = strdup(c->entry.path),
		.data = malloc(size ? size : 1),
	};
	if (!c->file.path || !c->file.data) {
		return -ENOMEM;
	}
	begin_reading(
		c, READING_FILE,
		(struct hash_pieces){ .fd = TAKE_FD(fd), .into = c->file.data, .size = size });
	return 1;
}

/* Nothing more has to be read of this entry. */
static int end_change(struct collection *c)
{
	return changes_see(&c->changes, &c->entry, c->base, c->sha256);
}

static int compare_input(struct collection *c)
{
	const struct spec_input *input;

	if (!changes_wants_base(&c->entry, c->base, c->sha256)) {
		return end_change(c);
	}
	input = c->base->input;
	begin_reading(c, READING_INPUT,
		      (struct hash_pieces){ .fd = input->fd,
					    .borrowed = true,
					    .from = input->data,
					    .size = c->base->size });
	return 0;
}

static int begin_change(struct collection *c)
{
	const struct stat *stat = c->entry.stat;

	c->base = changes_find(&c->changes, c->entry.path);
	/* A file that is returned has its hash already. */
	if (c->sha256[0] || !S_ISREG(stat->st_mode) ||
	    !changes_wants_hash(&c->changes, &c->entry, c->base, c->sha256)) {
		return compare_input(c);
	}
	int fd = walk_open(&c->entry);
	if (fd < 0) {
		return end_change(c);
	}
	begin_reading(c, READING_CHANGE,
		      (struct hash_pieces){ .fd = fd, .size = (uint64_t)stat->st_size });
	return 0;
}

static int look_for_change(struct collection *c)
{
	return c->options.changes && !S_ISDIR(c->entry.stat->st_mode) ? begin_change(c) : 0;
}

static int begin_entry(struct collection *c)
{
	const struct stat *stat = c->entry.stat;
	int r = 0;

	c->sha256[0] = '\0';
	if (!S_ISDIR(stat->st_mode) && !is_old(c, stat) && is_wanted(c, c->entry.path)) {
		if (S_ISREG(stat->st_mode)) {
			r = begin_file(c);
		} else {
			c->not_regular++;
		}
	}
	return r == 0 ? look_for_change(c) : r < 0 ? r : 0;
}

static int end_file(struct collection *c)
{
	memcpy(c->file.sha256, c->sha256, sizeof(c->sha256));
	c->bytes += c->file.size;
	c->result->files[c->result->files_count++] = c->file;
	c->file = (struct brig_file_out){ 0 };
	return look_for_change(c);
}

/*
 * The last piece was read; or the file could not be read, which is no error if only its hash was
 * needed.
 */
static int end_reading(struct collection *c, int r)
{
	enum reading what = c->reading;
	char sha256[65] = "";

	c->reading = READING_NOTHING;
	hash_pieces_done(&c->pieces);
	if (r < 0 && what != READING_CHANGE) {
		return r;
	}
	if (r == 1) {
		sha256_hex(&c->pieces.hash, sha256);
	}
	if (what == READING_INPUT) {
		memcpy(c->base->sha256, sha256, sizeof(sha256));
		return end_change(c);
	}
	memcpy(c->sha256, sha256, sizeof(sha256));
	if (what == READING_FILE) {
		return end_file(c);
	}
	if (r == 1) {
		changes_hashed(&c->changes, &c->entry, c->base, sha256);
	}
	return compare_input(c);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct brig_file_out *)a)->path,
		      ((const struct brig_file_out *)b)->path);
}

static void add_note(struct buf *note, unsigned count, const char *text)
{
	if (count) {
		buf_addf(note, "%s%u %s", note->size ? "; " : "", count, text);
	}
}

static int write_note(struct collection *c, const struct walk_report *report)
{
	_cleanup_(buf_done)
	struct buf note = { 0 };

	add_note(&note, c->over_budget,
		 "file(s) were left behind: the policy allows no more output files, or bytes of "
		 "them (files.out_count, files.out_bytes)");
	add_note(&note, c->not_regular, "link(s) or special file(s) were not followed");
	add_note(&note, c->not_matched,
		 "entry(ies) were not compared with the patterns, which need too much work");
	const struct walk_report *left = &c->options.left;
	add_note(&note, report->odd_names + left->odd_names,
		 "entry(ies) with unusable names were left behind");
	add_note(&note, report->too_deep + left->too_deep, "entry(ies) are too deep");
	add_note(&note, report->too_many || left->too_many,
		 "time(s) the walk ended at its entry limit");
	add_note(&note, c->options.left_over,
		 "special file(s), or entry(ies) above the limits, were not copied from the cell");
	if (note.size) {
		c->result->files_note = buf_take(&note);
		return c->result->files_note ? 0 : -ENOMEM;
	}
	return 0;
}

static int end_walk(struct collection *c)
{
	struct brig_result *result = c->result;

	if (result->files_count) {
		qsort(result->files, result->files_count, sizeof(*result->files), by_path);
	}
	int r = write_note(c, walk_report_of(c->walk));
	if (r < 0 || !c->options.changes) {
		return r < 0 ? r : 1;
	}
	c->sorting = true;
	return changes_end(&c->changes);
}

static int sort_some(struct collection *c)
{
	int r = changes_sort(&c->changes);

	if (r == 1) {
		changes_take(&c->changes, c->result);
	}
	return r;
}

static void free_collection(struct collection **c)
{
	collect_free(*c);
}

int collect_begin(int sandbox, const struct collect_options *options, struct brig_result *result,
		  struct collection **ret)
{
	_cleanup_(free_collection)
	struct collection *c = calloc(1, sizeof(*c));

	if (!c) {
		return -ENOMEM;
	}
	c->options = *options;
	c->options.work_max = options->work_max ? options->work_max : COLLECT_WORK_MAX;
	c->result = result;
	c->pieces.fd = -1;
	int r = path_globs_new(options->globs, &c->globs);
	if (r < 0) {
		return r;
	}
	r = walk_new(sandbox, &c->walk);
	if (r < 0) {
		return r;
	}
	if (options->changes) {
		r = changes_init(&c->changes, options->inputs, options->inputs_count);
		if (r < 0) {
			return r;
		}
	}
	*ret = TAKE_PTR(c);
	return 0;
}

/*
 * Reads a piece of the current file, or takes the next entry, or after the last one sorts a part.
 */
static int do_step(struct collection *c)
{
	if (c->reading != READING_NOTHING) {
		int r = hash_pieces_step(&c->pieces);
		return r == 0 ? 0 : end_reading(c, r);
	}
	if (c->sorting) {
		return sort_some(c);
	}
	int r = walk_next(c->walk, &c->entry);
	if (r == 1) {
		return begin_entry(c);
	}
	return r == 0 ? end_walk(c) : r == 2 ? 0 : r;
}

int collect_step(struct collection *c, uint64_t deadline_ns)
{
	int r = 0;

	do {
		r = do_step(c);
	} while (r == 0 && clock_now_ns() < deadline_ns);
	return r;
}

bool collect_is_cut(const struct collection *c)
{
	const struct walk_report *report = walk_report_of(c->walk);

	return c->over_budget || c->not_regular || c->not_matched || report->odd_names ||
	       report->too_deep || report->too_many || c->options.left.odd_names ||
	       c->options.left.too_deep || c->options.left.too_many || c->options.left_over;
}

void collect_free(struct collection *c)
{
	if (!c) {
		return;
	}
	hash_pieces_done(&c->pieces);
	free(c->file.path);
	free(c->file.data);
	changes_done(&c->changes);
	walk_free(c->walk);
	path_globs_free(c->globs);
	free(c);
}

int collect(int sandbox, const struct collect_options *options, struct brig_result *result)
{
	struct collection *c = NULL;
	int r = collect_begin(sandbox, options, result, &c);

	r = r < 0 ? r : collect_step(c, UINT64_MAX);
	collect_free(c);
	return r < 0 ? r : 0;
}
