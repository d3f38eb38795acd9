/* Collection: see collect.h. Bounded by the policy in bytes and count, whatever is there. */
#include "core/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/sha256.h"
#include "core/changes.h"
#include "core/walk.h"

struct collection {
	const struct collect_options *options;
	struct brig_result *result;
	struct changes changes;
	uint64_t bytes;
	unsigned not_regular;
	unsigned over_budget;
};

static bool wanted(const struct collection *c, const char *path)
{
	if (strncmp(path, "out/", 4) == 0) {
		return true;
	}
	for (const char *const *glob = c->options->globs; glob && *glob; glob++) {
		if (path_glob(*glob, path)) {
			return true;
		}
	}
	return false;
}

/* By the time of the last change of any kind: that one no program can set. */
static bool is_old(const struct collection *c, const struct stat *stat)
{
	uint64_t changed_ns =
		(uint64_t)stat->st_ctim.tv_sec * 1000000000u + (uint64_t)stat->st_ctim.tv_nsec;

	return changed_ns < c->options->since_ns && !S_ISDIR(stat->st_mode);
}

static int read_all(int fd, void *data, size_t size, struct sha256 *hash)
{
	size_t at = 0;

	while (at < size) {
		ssize_t n = pread(fd, (char *)data + at, size - at, (off_t)at);
		if (n <= 0) {
			return n < 0 && errno == EINTR ? -EAGAIN : -EIO;
		}
		at += (size_t)n;
	}
	sha256_add(hash, data, size);
	return 0;
}

static int take_file(struct collection *c, const struct walk_entry *entry)
{
	uint64_t size = (uint64_t)entry->stat->st_size;
	struct brig_result *result = c->result;

	if (result->files_count >= c->options->count_max ||
	    size > c->options->bytes_max - c->bytes) {
		c->over_budget++;
		return 0;
	}
	_cleanup_close_ int fd = walk_open(entry);
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
	struct sha256 hash;
	struct brig_file_out file = {
		.size = size,
		.executable = (entry->stat->st_mode & 0100) != 0,
		.path = strdup(entry->path),
		.data = malloc(size ? size : 1),
	};
	sha256_init(&hash);
	if (!file.path || !file.data || read_all(fd, file.data, size, &hash) < 0) {
		free(file.path);
		free(file.data);
		return -ENOMEM;
	}
	sha256_hex(&hash, file.sha256);
	c->bytes += size;
	files[result->files_count++] = file;
	return 0;
}

static int each_entry(void *user, const struct walk_entry *entry)
{
	struct collection *c = user;
	int r = 0;

	if (wanted(c, entry->path) && !is_old(c, entry->stat)) {
		if (S_ISREG(entry->stat->st_mode)) {
			r = take_file(c, entry);
		} else if (!S_ISDIR(entry->stat->st_mode)) {
			c->not_regular++;
		}
	}
	if (r == 0 && c->options->changes) {
		r = changes_see(&c->changes, entry);
	}
	return r;
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

	add_note(&note, c->over_budget, "file(s) over the limit on output files were left behind");
	add_note(&note, c->not_regular, "link(s) or special file(s) were not followed");
	add_note(&note, report->odd_names, "entry(ies) with unusable names were left behind");
	add_note(&note, report->too_deep, "entry(ies) lie too deep");
	add_note(&note, report->too_many, "time(s) the walk ended at its entry limit");
	if (note.size) {
		c->result->files_note = buf_take(&note);
		return c->result->files_note ? 0 : -ENOMEM;
	}
	return 0;
}

int collect(int sandbox, const struct collect_options *options, struct brig_result *result)
{
	struct collection c = { .options = options, .result = result };
	struct walk_report report;
	int r = 0;

	if (options->changes) {
		r = changes_init(&c.changes, options->inputs, options->inputs_count);
	}
	if (r == 0) {
		r = walk_tree(sandbox, each_entry, &c, &report);
	}
	if (r == 0) {
		if (result->files_count) {
			qsort(result->files, result->files_count, sizeof(*result->files), by_path);
		}
		r = write_note(&c, &report);
	}
	if (r == 0 && options->changes) {
		r = changes_finish(&c.changes, result);
	}
	changes_done(&c.changes);
	return r;
}
