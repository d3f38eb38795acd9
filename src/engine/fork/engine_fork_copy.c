/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copying part of a fork: the interpreter's state, then the files, one slice in each turn, from
 * file to file. Nothing is kept on the heap, and a file that cannot fit is not read.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/fork/engine_fork.h"
#include "engine/local/engine_files.h"

#define STATE_BYTES    (16u << 20) /* each name twice, at worst */
#define FILES_AT_ONCE  16u
#define COPIED_AT_ONCE (512u << 10)

struct session_pair {
	struct local_session *from, *to;
};

static void end_file(struct fork_copy *copy)
{
	close_fd(&copy->from);
	if (copy->upload.fd >= 0) {
		session_upload_done(&copy->upload);
	}
	copy->at = 0;
}

void fork_copy_done(struct fork_copy *copy)
{
	end_file(copy);
	session_listing_free(TAKE_PTR(copy->list));
}

/* One step of the current file. 1: it is complete; 0: there is more of it; -errno. */
static int go_on(struct fork_copy *copy, const char *path, struct brig_error *err)
{
	size_t before = copy->at;
	int r = local_copy_slice(copy->from, copy->upload.fd, copy->size, &copy->at);

	copy->bytes += r == 1 ? copy->size - before : copy->at - before;
	if (r < 0) {
		r = session_upload_failed(r, path, err);
	} else if (r == 1) {
		r = session_upload_end(&copy->upload, path, err);
		r = r < 0 ? r : 1;
	}
	if (r != 0) {
		end_file(copy);
	}
	return r;
}

/* --- the state ------------------------------------------------------------------------------- */

static int begin_state(struct local_fork *fork, const struct session_pair *pair)
{
	struct fork_copy *copy = &fork->copy;
	int r = session_file_open(pair->from->session, fork->state_path, STATE_BYTES, &copy->from,
				  &copy->size, NULL);

	if (r == 0 && copy->size == 0) {
		r = -ENODATA;
	}
	return r < 0 ? r
		     : session_upload_open(pair->to->session, fork->state_path, false,
					   &copy->upload, NULL);
}

static int step_state(struct local_fork *fork, const struct session_pair *pair)
{
	struct fork_copy *copy = &fork->copy;
	int r = fork->has_state && copy->from < 0 ? begin_state(fork, pair) : 0;

	if (r == 0 && fork->has_state) {
		r = go_on(copy, fork->state_path, NULL);
	}
	if (r == 0 && fork->has_state) {
		return 0;
	}
	end_file(copy);
	(void)brig_session_delete(pair->from->session, fork->state_path, NULL);
	if (r < 0) {
		fork_nothing_carried(fork, "the interpreter could not save its state");
	}
	copy->bytes = 0; /* the state file is removed later */
	fork_enter(fork, FORK_COPY_LIST);
	return session_listing_new(pair->from->session, &copy->list, &fork->run->error);
}

/* --- files ----------------------------------------------------------------------------------- */

static int step_list(struct local_fork *fork, const struct session_pair *pair)
{
	(void)pair;
	int r = session_listing_step(fork->copy.list, &fork->run->error);

	if (r == 1) {
		fork_enter(fork, FORK_COPY_FILES);
	}
	return r < 0 ? r : 0;
}

static void leave_file(struct local_fork *fork, const char *path, const struct brig_error *error)
{
	if (fork->files_left.count < FORK_NAMES_MAX) {
		(void)strlist_addf(&fork->files_left, "%.*s\t%s", FORK_NAME_BYTES, path,
				   error->message);
	} else {
		fork->truncated = true;
	}
}

/*
 * Holes and links cost the program nothing, but cost us time: a file that cannot fit is not
 * started.
 */
static int begin_file(struct fork_copy *copy, const struct session_pair *pair,
		      const struct brig_session_file *file, struct brig_error *err)
{
	uint64_t most = pair->from->session->prepared.policy->files_in_bytes;
	uint64_t disk = pair->to->session->prepared.spec.limits.disk_bytes;
	uint64_t room = disk > copy->bytes ? disk - copy->bytes : 0;

	if (file->size > room) {
		return error_set(err, BRIG_E_INPUT, ENOSPC,
				 "cannot write %s: the session's disk is full", file->path);
	}
	int r = session_file_open(pair->from->session, file->path, most < room ? most : room,
				  &copy->from, &copy->size, err);
	return r < 0 ? r
		     : session_upload_begin(pair->to->session, file->path, copy->size,
					    file->executable, &copy->upload, err);
}

static void copy_file(struct local_fork *fork, const struct session_pair *pair,
		      const struct brig_session_file *file)
{
	struct fork_copy *copy = &fork->copy;
	struct brig_error error = { 0 };
	int r = copy->from < 0 ? begin_file(copy, pair, file, &error) : 0;

	r = r < 0 ? r : go_on(copy, file->path, &error);
	if (r < 0) {
		end_file(copy);
		leave_file(fork, file->path, &error);
	}
	fork->copied += r == 1;
	copy->file += r != 0;
}

/* 1: done. */
static int step_files(struct local_fork *fork, const struct session_pair *pair)
{
	struct fork_copy *copy = &fork->copy;
	uint64_t before = copy->bytes;
	size_t count = 0;
	bool truncated = false;
	const struct brig_session_file *files =
		session_listing_files(copy->list, &count, &truncated);

	fork->truncated |= truncated;
	for (unsigned i = 0; i < FILES_AT_ONCE && copy->bytes - before < COPIED_AT_ONCE; i++) {
		if (copy->file == count) {
			return 1;
		}
		copy_file(fork, pair, &files[copy->file]);
	}
	return 0;
}

/* --- turns ----------------------------------------------------------------------------------- */

static int (*const steps[])(struct local_fork *fork, const struct session_pair *pair) = {
	[FORK_COPY_STATE] = step_state,
	[FORK_COPY_LIST] = step_list,
	[FORK_COPY_FILES] = step_files,
};

/* Only the old session runs code of the tenant's that could be in the way. */
static int step(struct local_fork *fork, const struct session_pair *pair)
{
	struct run_section section;

	run_section_enter(pair->from->session->phase.run, &section);
	int r = steps[fork->state](fork, pair);
	run_section_leave(&section);
	return r;
}

void fork_copy_step(struct local_fork *fork)
{
	struct session_pair pair = { .from = fork_session(fork, fork->from) };

	if (pair.from && !(pair.to = fork_find_new(fork))) {
		return;
	}
	int r = pair.from ? step(fork, &pair) : -ENOENT;
	if (r < 0) {
		fork_fail(fork);
	} else if (r == 1) {
		fork_copy_done(&fork->copy);
		fork_copied(fork);
	}
}
