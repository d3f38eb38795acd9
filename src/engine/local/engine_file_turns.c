/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of file calls, by tenant: see engine_files.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/engine_pack.h"
#include "engine/local/engine_files.h"

static unsigned count_waiting(const struct local *local, const char *tenant)
{
	unsigned count = 0;

	LIST_EACH(const struct local_file, f, &local->files, node) {
		count += !f->begun && strcmp(f->tenant, tenant) == 0;
	}
	return count;
}

static unsigned count_begun(const struct local *local, const char *tenant)
{
	unsigned count = 0;

	for (unsigned i = 0; i < FILES_BEGUN; i++) {
		const struct local_file *file = local->files_begun[i];
		count += file && (!tenant || strcmp(file->tenant, tenant) == 0);
	}
	return count;
}

/* The first waiting call of the tenant with the fewest active ones; NULL: enough are active. */
static struct local_file *next_to_begin(const struct local *local)
{
	struct local_file *best = NULL;
	unsigned least = FILES_BEGUN_TENANT;

	if (count_begun(local, NULL) == FILES_BEGUN) {
		return NULL;
	}
	LIST_EACH(struct local_file, f, &local->files, node) {
		unsigned own = f->begun ? least : count_begun(local, f->tenant);
		if (own < least) {
			least = own;
			best = f;
		}
		if (least == 0) {
			break;
		}
	}
	return best;
}

static void swap_begun(struct local *local, struct local_file *old, struct local_file *new)
{
	for (unsigned i = 0; i < FILES_BEGUN; i++) {
		if (local->files_begun[i] == old) {
			local->files_begun[i] = new;
			return;
		}
	}
}

static struct local_file *next_begun(const struct local *local)
{
	LIST_EACH(struct local_file, file, &local->files, node) {
		if (file->begun) {
			return file;
		}
	}
	return NULL;
}

/*
 * Does one slice of one call in a round of the loop, so that the warden's other work is not
 * delayed.
 */
static void turn(void *user)
{
	struct local *local = user;
	struct local_file *file = next_to_begin(local);

	if (local->files_held) {
		return;
	}
	if (file) {
		swap_begun(local, NULL, file);
	} else {
		file = next_begun(local);
	}
	if (!file) {
		return;
	}
	struct engine_run *run = file->run;
	if (local_file_step(file) == 1) {
		local_file_drop(run);
		local_finish(run);
	} else { /* behind those that wait */
		list_move_last(&local->files, &file->node);
	}
	local_files_go_on(local);
}

void local_files_go_on(struct local *local)
{
	if (!list_empty(&local->files) && !local->files_held && !local->files_turn.place) {
		local->files_turn.due = turn;
		local->files_turn.user = local;
		(void)loop_timer_set(local->loop, &local->files_turn, clock_now_ns());
	}
}

void local_file_drop(struct engine_run *run)
{
	struct local_file *file = TAKE_PTR(run->file);

	if (file) {
		swap_begun(run->local, file, NULL);
		list_remove(&run->local->files, &file->node);
		run->local->files_count--;
		local_file_done(file);
	}
}

/* Keeps the data to write: a reference to the block that contains it, or a copy. */
static int keep_data(struct local_file *file, const struct engine_call *call)
{
	file->size = call->size;
	if (call->block && engine_call_shares(call, call->data, call->size)) {
		file->block = block_ref(call->block);
		file->data = call->data;
		return 0;
	}
	file->data = file->copy = malloc(call->size ? call->size : 1);
	if (!file->copy) {
		return -ENOMEM;
	}
	if (call->size) {
		memcpy(file->copy, call->data, call->size);
	}
	return 0;
}

static int keep_call(struct local_file *file, const struct engine_call *call)
{
	file->tenant = strdup(call->tenant);
	file->session = call->session ? strdup(call->session) : NULL;
	file->path = call->path ? strdup(call->path) : NULL;
	if (!file->tenant || (call->session && !file->session) || (call->path && !file->path)) {
		return -ENOMEM;
	}
	file->size = call->list_max;
	return call->op == ENGINE_FILE_PUT ? keep_data(file, call) : 0;
}

int local_file_call(struct local *local, const struct engine_call *call, struct engine_run *run,
		    struct brig_error *err)
{
	if (call->op != ENGINE_FILE_LIST && !call->path) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "the name of the file is missing");
	}
	/* At once: an error for a missing session need not wait in the queue. */
	if (!local_session_find(local, call, err)) {
		return err && err->errnum ? -err->errnum : -ENOENT;
	}
	if (local->files_count >= FILES_WAITING ||
	    count_waiting(local, call->tenant) >= FILES_WAITING_TENANT) {
		return error_set(err, BRIG_E_SYSTEM, ENOBUFS, "too many file calls are waiting");
	}
	struct local_file *file = calloc(1, sizeof(*file));
	if (!file) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	file->run = run;
	file->from = file->upload.fd = file->upload.dir = -1;
	if (keep_call(file, call) < 0) {
		local_file_done(file);
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	run->file = file;
	list_append(&local->files, &file->node);
	local->files_count++;
	local_files_go_on(local);
	return 0;
}
