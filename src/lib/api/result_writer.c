/* SPDX-License-Identifier: Apache-2.0 */
/* Results in slices: see result_writer.h. */
#include "lib/api/result_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "base/files/write_all.h"

#define CHANGES_AT_ONCE 256u
#define FILES_AT_ONCE   64u
#define HELD_MAX        ((size_t)1 << 20)  /* in memory; then it is written to the memory file */
#define INLINE_MAX      ((size_t)24 << 10) /* shorter results need no file */
/* Bytes of a change and a file besides their names, whose characters may take six bytes. */
#define CHANGE_BYTES 256u
#define FILE_BYTES   256u

enum state { MEASURE_OUT, MEASURE_ERR, PLAN, OUT, ERR, VALUE, FILES, CHANGES, REST, WHOLE };

struct result_writer {
	const struct brig_result *result;
	enum state state;
	size_t max;
	bool shared;
	struct json_measure measures[2];
	size_t kept[2]; /* bytes of each stream that are included */
	bool text;
	size_t room;     /* for files and changes */
	size_t item, at; /* the position in a list, and in a stream or file */
	size_t files_left, changes_left;
	size_t work; /* of this step: bytes that were read or written */
	struct outcome outcome;
	struct json_out json;
	struct buf text_buf; /* not yet in the file */
	int fd;
	size_t flushed;
};

/* If both streams together are too long: half each, and a part is left for files. */
static size_t stream_share(const struct result_writer *w)
{
	return (w->room - w->room / 8) / 2;
}

int result_writer_new(const struct brig_result *result, size_t max, bool shared,
		      struct result_writer **ret)
{
	struct result_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		return -ENOMEM;
	}
	w->result = result;
	w->max = max;
	w->shared = shared;
	w->fd = -1;
	w->json.buf = &w->text_buf;
	size_t value = result->value_json ? strlen(result->value_json) : 0;
	w->room = max ? max - OUTCOME_SKELETON_MAX - value : SIZE_MAX;
	w->measures[0].room = w->measures[1].room = stream_share(w);
	outcome_init(&w->outcome);
	buf_add(&w->text_buf, &w->outcome, sizeof(w->outcome));
	*ret = w;
	return 0;
}

void result_writer_free(struct result_writer *w)
{
	if (w) {
		buf_done(&w->text_buf);
		close_fd(&w->fd);
		free(w);
	}
}

/* --- measuring -------------------------------------------------------------------------------- */

static const char *stream_data(const struct brig_result *result, int stream, size_t *ret_size)
{
	const char *data = stream ? result->stderr_data : result->stdout_data;

	*ret_size = data ? (stream ? result->stderr_size : result->stdout_size) : 0;
	return data ? data : "";
}

static void measure(struct result_writer *w, int stream)
{
	size_t size;
	const char *data = stream_data(w->result, stream, &size);

	size_t before = w->measures[stream].at;
	w->state += json_measure(&w->measures[stream], data, size, RESULT_SLICE - w->work);
	w->work += w->measures[stream].at - before;
}

static size_t base64_size(size_t size)
{
	return (size + 2) / 3 * 4;
}

static void plan(struct result_writer *w)
{
	const struct json_measure *m = w->measures;
	size_t sizes[2], costs[2], half = stream_share(w);

	for (int i = 0; i < 2; i++) {
		stream_data(w->result, i, &sizes[i]);
		costs[i] = base64_size(sizes[i]);
		w->kept[i] = sizes[i];
	}
	size_t as_text = m[0].cost + m[1].cost, as_base64 = costs[0] + costs[1];
	w->text = !m[0].invalid && !m[1].invalid &&
		  (as_text <= RESULT_TEXT_MAX || as_text <= as_base64);
	for (int i = 0; i < 2; i++) {
		costs[i] = w->text ? m[i].cost : costs[i];
	}
	if (costs[0] > w->room || costs[1] > w->room - costs[0]) {
		for (int i = 0; i < 2; i++) {
			if (costs[i] > half) {
				w->kept[i] = w->text ? m[i].fits : half / 4 * 3;
				costs[i] = half;
			}
		}
	}
	w->room -= costs[0] + costs[1];
	w->state++;
}

/* --- the parts -------------------------------------------------------------------------------- */

static size_t json_at(const struct result_writer *w)
{
	return w->flushed + w->text_buf.size - sizeof(struct outcome);
}

static void part_begins(struct result_writer *w, enum outcome_part_kind kind)
{
	w->outcome.parts[kind].at = json_at(w);
}

static void part_ends(struct result_writer *w, enum outcome_part_kind kind)
{
	struct outcome_part *part = &w->outcome.parts[kind];

	part->size = json_at(w) - part->at;
	w->item = w->at = 0;
	w->state++;
}

/* Writes a slice of a stream or file. True: that was its end. */
static bool put_slice(struct result_writer *w, const char *data, size_t size, bool text)
{
	size_t left = size - w->at;
	size_t slice = left < RESULT_SLICE ? left : RESULT_SLICE / 3 * 3;

	if (!text) {
		json_part_base64(&w->json, data + w->at, slice);
	} else {
		while (slice < left && utf8_continues(data[w->at + slice])) {
			slice--;
		}
		json_part_text(&w->json, data + w->at, slice);
	}
	w->at += slice;
	return w->at == size;
}

static void put_stream(struct result_writer *w, int stream)
{
	static const char *const keys[] = { "stdout", "stderr" };
	enum outcome_part_kind kind = stream ? OUTCOME_STDERR : OUTCOME_STDOUT;
	size_t size;
	const char *data = stream_data(w->result, stream, &size);

	if (w->at == 0) {
		if (!stream) {
			result_json_begin(&w->json, w->result);
		}
		json_part_open(&w->json, keys[stream]);
		w->outcome.parts[kind].at = json_at(w) - 1;
	}
	if (put_slice(w, data, w->kept[stream], w->text)) {
		json_part_close(&w->json);
		w->outcome.bytes[stream] = w->kept[stream];
		part_ends(w, kind);
	}
}

static void put_value(struct result_writer *w)
{
	const struct brig_result *result = w->result;

	json_bool(&w->json, "stdout_truncated",
		  result->stdout_truncated || w->kept[0] < result->stdout_size);
	json_bool(&w->json, "stderr_truncated",
		  result->stderr_truncated || w->kept[1] < result->stderr_size);
	json_text(&w->json, "encoding", w->text ? "utf-8" : "base64");
	w->outcome.flags = w->text ? 0 : OUTCOME_BASE64;
	json_raw(&w->json, "value", "");
	part_begins(w, OUTCOME_VALUE);
	buf_adds(&w->text_buf, result->value_json ? result->value_json : "null");
	part_ends(w, OUTCOME_VALUE);
	if (result->value_repr) {
		json_text(&w->json, "value_repr", result->value_repr);
	}
}

/* Does the next item of a list fit? */
static bool charge(struct result_writer *w, const char *name, size_t bytes)
{
	size_t cost = 6 * strlen(name) + bytes;

	if (w->max && cost > w->room) {
		return false;
	}
	w->room -= w->max ? cost : 0;
	return true;
}

/* True: the file is complete, or left out. */
static bool put_file(struct result_writer *w, const struct brig_file_out *file)
{
	if (w->at == 0) {
		if (!charge(w, file->path, FILE_BYTES + base64_size((size_t)file->size))) {
			w->files_left++;
			return true;
		}
		json_open(&w->json, NULL, '{');
		json_text(&w->json, "path", file->path);
		json_u64(&w->json, "size", file->size);
		json_text(&w->json, "sha256", file->sha256);
		json_bool(&w->json, "executable", file->executable);
		json_part_open(&w->json, "content_base64");
	}
	if (!put_slice(w, file->data ? file->data : "", (size_t)file->size, false)) {
		return false;
	}
	json_part_close(&w->json);
	json_close(&w->json, '}');
	w->at = 0;
	return true;
}

static void put_files(struct result_writer *w)
{
	const struct brig_result *result = w->result;
	size_t before = json_at(w);

	if (w->item == 0 && w->at == 0) {
		json_open(&w->json, "files", '[');
		w->outcome.parts[OUTCOME_FILES].at = json_at(w) - 1;
	}
	for (unsigned i = 0; i < FILES_AT_ONCE && json_at(w) - before < RESULT_SLICE; i++) {
		if (w->item == result->files_count) {
			json_close(&w->json, ']');
			part_ends(w, OUTCOME_FILES);
			return;
		}
		if (!put_file(w, &result->files[w->item])) {
			return;
		}
		w->item++;
	}
}

static void put_note(struct result_writer *w)
{
	const char *note = w->result->files_note;
	struct buf text = { 0 };

	buf_adds(&text, note ? note : "");
	if (w->files_left) {
		buf_addf(&text, "%s%zu file(s) did not fit into the result", text.size ? "; " : "",
			 w->files_left);
	}
	if (w->changes_left) {
		buf_addf(&text, "%s%zu change(s) did not fit into the result",
			 text.size ? "; " : "", w->changes_left);
	}
	w->text_buf.failed |= text.failed;
	json_text(&w->json, "files_note", text.size ? text.data : NULL);
	buf_done(&text);
}

static void put_changes(struct result_writer *w)
{
	const struct brig_result *result = w->result;

	if (!result->changes_reported) {
		w->state++;
		return;
	}
	if (w->item == 0) {
		json_open(&w->json, "changes", '[');
		w->outcome.parts[OUTCOME_CHANGES].at = json_at(w) - 1;
	}
	for (unsigned i = 0; i < CHANGES_AT_ONCE && w->item < result->changes_count; i++) {
		const struct brig_change *change = &result->changes[w->item++];

		if (charge(w, change->path, CHANGE_BYTES)) {
			result_json_change(&w->json, change);
		} else {
			w->changes_left++;
		}
	}
	if (w->item == result->changes_count) {
		json_close(&w->json, ']');
		part_ends(w, OUTCOME_CHANGES);
	}
}

/* --- writing --------------------------------------------------------------------------------- */

static int flush(struct result_writer *w)
{
	if (w->fd < 0) {
		w->fd = memfd_create("brig-result", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	int r = w->fd < 0 ? -errno : write_all(w->fd, w->text_buf.data, w->text_buf.size);
	w->flushed += w->text_buf.size;
	w->text_buf.size = 0;
	return r;
}

static int finish(struct result_writer *w)
{
	const struct brig_result *result = w->result;
	struct outcome *outcome = &w->outcome;

	put_note(w);
	result_json_rest(&w->json, result);
	outcome->status = (uint32_t)result->status;
	outcome->exit_code = result->exit_code;
	outcome->cpu_ns = result->usage.cpu_ns;
	outcome->wall_ns = result->usage.wall_ns;
	memcpy(outcome->event_counts, result->event_counts, sizeof(outcome->event_counts));
	outcome->json_size = json_at(w);
	w->state = WHOLE;
	if (w->text_buf.failed) {
		return -ENOMEM;
	}
	if (w->fd < 0 && (!w->shared || w->text_buf.size <= INLINE_MAX)) {
		memcpy(w->text_buf.data, outcome, sizeof(*outcome));
		return 0;
	}
	int r = flush(w);
	if (r == 0 && pwrite(w->fd, outcome, sizeof(*outcome), 0) != (ssize_t)sizeof(*outcome)) {
		r = -EIO;
	}
	return r < 0 ? r : memfile_seal(w->fd);
}

static int advance(struct result_writer *w)
{
	size_t before = json_at(w);

	switch (w->state) {
	case MEASURE_OUT:
	case MEASURE_ERR:
		measure(w, w->state == MEASURE_ERR);
		break;
	case PLAN:
		plan(w);
		break;
	case OUT:
	case ERR:
		put_stream(w, w->state == ERR);
		break;
	case VALUE:
		put_value(w);
		break;
	case FILES:
		put_files(w);
		break;
	case CHANGES:
		put_changes(w);
		break;
	case REST:
		return finish(w);
	case WHOLE:
		return 0;
	}
	if (w->text_buf.failed) {
		return -ENOMEM;
	}
	w->work += json_at(w) - before + 1;
	int r = w->shared && w->text_buf.size > HELD_MAX ? flush(w) : 0;
	return r < 0 ? r : 1;
}

int result_writer_step(struct result_writer *w)
{
	int r;

	w->work = 0;
	do {
		r = advance(w);
	} while (r > 0 && w->work < RESULT_SLICE);
	return r;
}

struct block *result_writer_take(struct result_writer *w)
{
	struct block *block = NULL;
	size_t size = w->text_buf.size;

	if (w->state != WHOLE) {
		return NULL;
	}
	if (w->fd < 0) {
		return block_adopt(buf_take(&w->text_buf), size);
	}
	return block_map(&w->fd, SIZE_MAX, &block) == 0 ? block : NULL;
}

char *brig_result_json(const struct brig_result *result)
{
	struct result_writer *w = NULL;
	char *json = NULL;
	int r = result_writer_new(result, 0, false, &w);

	while (r >= 0 && (r = result_writer_step(w)) > 0) {
	}
	if (r == 0) {
		size_t size = (size_t)w->outcome.json_size;

		json = buf_take(&w->text_buf);
		if (json) { /* with the NUL behind it */
			memmove(json, json + sizeof(struct outcome), size + 1);
		}
	}
	result_writer_free(w);
	return json;
}
