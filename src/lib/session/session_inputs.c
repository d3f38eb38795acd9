/* SPDX-License-Identifier: Apache-2.0 */
/* Input files of a run in a session: see session_inputs.h. */
#include "lib/session/session_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "lib/session/session.h"
#include "lib/session/session_files.h"

#define SLICE_NS    1000000u
#define PIECE_BYTES ((size_t)256 << 10)

struct session_input {
	char *name; /* owned */
	const char *data;
	char *copy;          /* owned: the data; NULL: it is in `block` */
	struct block *block; /* a reference; or NULL */
	size_t size;
	bool executable;
};

struct session_inputs {
	struct session_input *all; /* owned */
	size_t count;
	size_t at;                    /* the one that is being written */
	struct session_upload upload; /* of that one, once it has begun */
	size_t written;
};

/* The same bounds as for a run in its own cell, and for any file that is put into a session. */
static int check_files(const struct brig_session *session, const struct brig_request *request,
		       struct brig_error *err)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < request->files_count; i++) {
		bytes += request->files[i].size;
	}
	int r = session_file_check_reach(session, err);
	r = r < 0 ? r : prepare_check_inputs(&session->prepared, request->files_count, bytes, err);
	for (size_t i = 0; r == 0 && i < request->files_count; i++) {
		const struct brig_file_in *file = &request->files[i];
		r = file->path ? error_set(err, BRIG_E_INPUT, EINVAL,
					   "files for a run in a session are sent by content")
			       : session_file_check_name(file->name ? file->name : "", err);
	}
	return r;
}

static int keep_data(const struct brig_session *session, const struct brig_file_in *file,
		     struct session_input *input)
{
	struct block *block = prepare_shared_block(&session->prepared, file);

	if (block) {
		input->block = block_ref(block);
		input->data = file->data;
		return 0;
	}
	input->data = input->copy = malloc(file->size ? file->size : 1);
	if (input->copy && file->size) {
		memcpy(input->copy, file->data, file->size);
	}
	return input->copy ? 0 : -ENOMEM;
}

static int keep_files(const struct brig_session *session, const struct brig_request *request,
		      struct session_inputs *inputs)
{
	inputs->all = calloc(request->files_count, sizeof(*inputs->all));
	if (!inputs->all) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < request->files_count; i++) {
		const struct brig_file_in *file = &request->files[i];
		struct session_input *input = &inputs->all[inputs->count++];

		input->size = file->size;
		input->executable = file->executable;
		input->name = strdup(file->name);
		if (!input->name || keep_data(session, file, input) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

int session_inputs_new(const struct brig_session *session, const struct brig_request *request,
		       struct session_inputs **ret, struct brig_error *err)
{
	int r = request->files_count ? check_files(session, request, err) : 0;

	*ret = NULL;
	if (r < 0 || !request->files_count) {
		return r;
	}
	struct session_inputs *inputs = calloc(1, sizeof(*inputs));
	if (inputs) {
		inputs->upload.fd = inputs->upload.dir = -1;
	}
	r = inputs ? keep_files(session, request, inputs) : -ENOMEM;
	if (r < 0) {
		session_inputs_free(inputs);
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for input files");
	}
	*ret = inputs;
	return 0;
}

static int write_piece(struct session_inputs *inputs, const struct session_input *input,
		       struct brig_error *err)
{
	size_t left = input->size - inputs->written;
	ssize_t n = write(inputs->upload.fd, input->data + inputs->written,
			  left < PIECE_BYTES ? left : PIECE_BYTES);

	if (n < 0 && errno != EINTR) {
		return session_upload_failed(-errno, input->name, err);
	}
	inputs->written += n > 0 ? (size_t)n : 0;
	return 0;
}

static int end_file(struct session_inputs *inputs, const struct session_input *input,
		    struct brig_error *err)
{
	int r = session_upload_end(&inputs->upload, input->name, err);

	session_upload_done(&inputs->upload);
	inputs->written = 0;
	inputs->at++;
	return r;
}

/* Begins a file, writes a piece of it, or ends it. */
static int write_more(struct session_inputs *inputs, struct brig_session *session,
		      struct brig_error *err)
{
	const struct session_input *input = &inputs->all[inputs->at];

	if (inputs->upload.fd < 0) {
		return session_upload_begin(session, input->name, input->size, input->executable,
					    &inputs->upload, err);
	}
	return inputs->written < input->size ? write_piece(inputs, input, err)
					     : end_file(inputs, input, err);
}

int session_inputs_step(struct session_inputs *inputs, struct brig_session *session,
			struct brig_error *err)
{
	uint64_t deadline_ns = clock_now_ns() + SLICE_NS;
	int r = 0;

	while (r == 0 && inputs->at < inputs->count) {
		r = write_more(inputs, session, err);
		if (clock_now_ns() >= deadline_ns) {
			break;
		}
	}
	return r < 0 ? r : inputs->at == inputs->count;
}

void session_inputs_free(struct session_inputs *inputs)
{
	if (!inputs) {
		return;
	}
	session_upload_done(&inputs->upload);
	for (size_t i = 0; i < inputs->count; i++) {
		free(inputs->all[i].name);
		free(inputs->all[i].copy);
		block_unref(inputs->all[i].block);
	}
	free(inputs->all);
	free(inputs);
}
