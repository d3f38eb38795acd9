/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as blocks of bytes: see engine_pack.h. */
#include "engine/engine_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/block.h"
#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/limits.h"

#define MAGIC 0x6c6c61636769726cu
#define NONE  UINT64_MAX /* as a length: NULL */
#define THERE (NONE - 1) /* as a length: offset and length in the shared block follow */

/* The fields of a call in their order, each once: packing and unpacking use the same lists. */
#define FIELD(member) offsetof(struct engine_call, member)

static const size_t texts[] = {
	FIELD(tenant),    FIELD(caller),       FIELD(proof),        FIELD(id),
	FIELD(session),   FIELD(path),         FIELD(run.language), FIELD(run.policy),
	FIELD(run.guard), FIELD(run.provider), FIELD(run.venv),
};

static const size_t numbers[] = {
	FIELD(list_max),
	FIELD(idle_ns),
	FIELD(life_ns),
};

/* Each is a row of LIMITS_COUNT numbers. */
static const size_t limits[] = { FIELD(run.limits), FIELD(run.limits_most) };

static const size_t flags[] = {
	FIELD(stream),      FIELD(run.changes), FIELD(run.want_value),
	FIELD(run.consent), FIELD(run.check),   FIELD(run.clamp),
};

static const struct {
	size_t data, size;
} blobs[] = {
	{ FIELD(data), FIELD(size) },
	{ FIELD(run.code), FIELD(run.code_size) },
	{ FIELD(run.stdin_data), FIELD(run.stdin_size) },
};

/* --- packing --------------------------------------------------------------------------------- */

static void put_number(struct buf *out, uint64_t value)
{
	buf_add(out, &value, sizeof(value));
}

/* Followed by a NUL that is not counted, so that text can be used in place. */
static void put_bytes(struct buf *out, const void *data, size_t size)
{
	put_number(out, data ? size : NONE);
	if (data) {
		buf_add(out, data, size);
		buf_addc(out, '\0');
	}
}

bool engine_call_shares(const struct engine_call *call, const void *data, size_t size)
{
	const struct block *shared = call->block;
	uintptr_t at = (uintptr_t)data, begin = shared ? (uintptr_t)shared->data : 0;

	return shared && shared->fd >= 0 && data && at >= begin && at - begin < shared->size &&
	       size < shared->size - (at - begin);
}

/* Long data may be in the shared block. */
static void put_long(struct buf *out, const struct engine_call *call, const void *data, size_t size)
{
	if (!engine_call_shares(call, data, size)) {
		put_bytes(out, data, size);
		return;
	}
	put_number(out, THERE);
	put_number(out, (uint64_t)((const char *)data - call->block->data));
	put_number(out, size);
}

static void put_text(struct buf *out, const char *text)
{
	put_bytes(out, text, text ? strlen(text) : 0);
}

static void put_list(struct buf *out, const char *const *list)
{
	uint64_t count = 0;

	while (list && list[count]) {
		count++;
	}
	put_number(out, list ? count : NONE);
	for (uint64_t i = 0; i < count; i++) {
		put_text(out, list[i]);
	}
}

static void put_files(struct buf *out, const struct engine_call *call)
{
	const struct brig_request *run = &call->run;

	put_number(out, run->files_count);
	for (size_t i = 0; i < run->files_count; i++) {
		const struct brig_file_in *file = &run->files[i];
		put_text(out, file->name);
		put_long(out, call, file->data ? file->data : "", file->data ? file->size : 0);
		put_number(out, file->executable);
	}
}

static void put_mounts(struct buf *out, const struct brig_request *run)
{
	put_number(out, run->mounts_count);
	for (size_t i = 0; i < run->mounts_count; i++) {
		put_text(out, run->mounts[i].path);
		put_text(out, run->mounts[i].name);
		put_number(out, run->mounts[i].writable);
	}
}

int engine_pack(const struct engine_call *call, char **ret, size_t *ret_size)
{
	const char *base = (const char *)call;
	struct buf out = { 0 };

	put_number(&out, MAGIC);
	put_number(&out, call->op);
	put_number(&out, call->run.start);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put_text(&out, *(const char *const *)(const void *)(base + texts[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		put_number(&out, *(const uint64_t *)(const void *)(base + numbers[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		buf_add(&out, base + limits[i], sizeof(struct brig_limits));
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		put_number(&out, *(const bool *)(base + flags[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(blobs); i++) {
		const char *data = *(const char *const *)(const void *)(base + blobs[i].data);
		size_t size = *(const size_t *)(const void *)(base + blobs[i].size);
		/* A source text may be given without its length. */
		bool measured = blobs[i].data == FIELD(run.code) && data && size == 0;
		put_long(&out, call, data, measured ? strlen(data) : size);
	}
	put_list(&out, call->run.args);
	put_list(&out, call->run.env);
	put_list(&out, call->run.out);
	put_list(&out, call->run.network);
	put_list(&out, call->policies);
	put_files(&out, call);
	put_mounts(&out, &call->run);

	*ret_size = out.size;
	*ret = buf_take(&out);
	if (!*ret) {
		return -ENOMEM;
	}
	if (*ret_size > ENGINE_BLOCK_MAX) {
		free(*ret);
		return -E2BIG;
	}
	return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

struct pack_reader {
	const char *at, *end;
	const struct block *shared; /* or NULL */
	bool broken;                /* everything that is read from then on is 0 or NULL */
};

static uint64_t get_number(struct pack_reader *in)
{
	uint64_t value = 0;

	if (in->broken || (size_t)(in->end - in->at) < sizeof(value)) {
		in->broken = true;
		return 0;
	}
	memcpy(&value, in->at, sizeof(value));
	in->at += sizeof(value);
	return value;
}

static uint64_t get_bounded(struct pack_reader *in, uint64_t max)
{
	uint64_t value = get_number(in);

	if (value > max) {
		in->broken = true;
		return 0;
	}
	return value;
}

static const char *get_bytes(struct pack_reader *in, size_t *size)
{
	uint64_t length = get_number(in);

	*size = 0;
	if (in->broken || length == NONE) {
		return NULL;
	}
	uint64_t left = (uint64_t)(in->end - in->at);
	if (length >= left || in->at[length] != '\0') {
		in->broken = true;
		return NULL;
	}
	const char *data = in->at;
	in->at += length + 1;
	*size = length;
	return data;
}

static const char *get_shared(struct pack_reader *in, size_t *size)
{
	uint64_t at = get_number(in), length = get_number(in);

	if (in->broken || at >= in->shared->size || length >= in->shared->size - at ||
	    in->shared->data[at + length] != '\0') {
		in->broken = true;
		return NULL;
	}
	*size = length;
	return in->shared->data + at;
}

static const char *get_long(struct pack_reader *in, size_t *size)
{
	uint64_t length;

	*size = 0;
	if (in->shared && (size_t)(in->end - in->at) >= sizeof(length)) {
		memcpy(&length, in->at, sizeof(length));
		if (length == THERE) {
			in->at += sizeof(length);
			return get_shared(in, size);
		}
	}
	return get_bytes(in, size);
}

static const char *get_text(struct pack_reader *in)
{
	size_t size;
	const char *text = get_bytes(in, &size);

	if (text && strlen(text) != size) {
		in->broken = true;
		return NULL;
	}
	return text;
}

static const char **get_list(struct pack_reader *in)
{
	uint64_t count = get_number(in);

	if (in->broken || count == NONE) {
		return NULL;
	}
	/* Each item takes at least nine bytes: an impossible count allocates nothing. */
	if (count > ENGINE_ITEMS_MAX || count > (uint64_t)(in->end - in->at) / 9) {
		in->broken = true;
		return NULL;
	}
	const char **list = calloc(count + 1, sizeof(char *));
	in->broken |= !list;
	for (uint64_t i = 0; list && i < count; i++) {
		list[i] = get_text(in);
		in->broken |= !list[i];
	}
	return list;
}

static struct brig_file_in *get_files(struct pack_reader *in, size_t *ret_count)
{
	uint64_t count = get_number(in);

	*ret_count = 0;
	if (in->broken || count == 0) {
		return NULL;
	}
	if (count > ENGINE_ITEMS_MAX || count > (uint64_t)(in->end - in->at) / 26) {
		in->broken = true;
		return NULL;
	}
	struct brig_file_in *files = calloc(count, sizeof(*files));
	in->broken |= !files;
	for (uint64_t i = 0; files && i < count; i++) {
		files[i].name = get_text(in);
		files[i].data = get_long(in, &files[i].size);
		files[i].executable = get_bounded(in, 1);
		in->broken |= !files[i].name || !files[i].data;
	}
	*ret_count = files ? count : 0;
	return files;
}

/* By name: a path of the host is rejected here. */
static struct brig_mount *get_mounts(struct pack_reader *in, size_t *ret_count)
{
	uint64_t count = get_bounded(in, ENGINE_MOUNTS_MAX);

	*ret_count = 0;
	if (in->broken || count == 0) {
		return NULL;
	}
	struct brig_mount *mounts = calloc(count, sizeof(*mounts));
	in->broken |= !mounts;
	for (uint64_t i = 0; mounts && i < count; i++) {
		mounts[i].path = get_text(in);
		mounts[i].name = get_text(in);
		mounts[i].writable = get_bounded(in, 1);
		in->broken |= !mounts[i].path || !id_name_valid(mounts[i].path) ||
			      (mounts[i].name && !id_name_valid(mounts[i].name));
	}
	*ret_count = mounts ? count : 0;
	return mounts;
}

static void get_fields(struct pack_reader *in, struct engine_unpacked *ret)
{
	struct engine_call *call = &ret->call;
	char *base = (char *)call;

	in->broken |= get_number(in) != MAGIC;
	call->op = (enum engine_op)get_bounded(in, ENGINE_OPS - 1);
	call->run.start = (enum brig_start)get_bounded(in, BRIG_START_WARM);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*(const char **)(void *)(base + texts[i]) = get_text(in);
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		*(uint64_t *)(void *)(base + numbers[i]) = get_number(in);
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		for (size_t j = 0; j < LIMITS_COUNT; j++) {
			((uint64_t *)(void *)(base + limits[i]))[j] = get_number(in);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		*(bool *)(base + flags[i]) = get_bounded(in, 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blobs); i++) {
		size_t size;
		*(const char **)(void *)(base + blobs[i].data) = get_long(in, &size);
		*(size_t *)(void *)(base + blobs[i].size) = size;
	}
	call->run.args = ret->args = get_list(in);
	call->run.env = ret->env = get_list(in);
	call->run.out = ret->out = get_list(in);
	call->run.network = ret->network = get_list(in);
	call->policies = ret->policies = get_list(in);
	call->run.files = ret->files = get_files(in, &call->run.files_count);
	call->run.mounts = ret->mounts = get_mounts(in, &call->run.mounts_count);
	call->run.mounts_listed = true;
}

int engine_unpack(const void *block, size_t size, struct block *shared, struct engine_unpacked *ret)
{
	struct pack_reader in = { .at = block, .end = block, .shared = shared };

	*ret = (struct engine_unpacked){ .call.run.size = sizeof(struct brig_request) };
	if (!block) {
		return -EPROTO;
	}
	in.end += size;
	get_fields(&in, ret);
	if (in.broken || in.at != in.end || ret->call.op == 0 || !ret->call.tenant ||
	    (ret->call.id && !id_valid(ret->call.id))) {
		engine_unpacked_done(ret);
		return -EPROTO;
	}
	ret->call.run.tenant = ret->call.tenant;
	ret->call.block = shared;
	return 0;
}

void engine_unpacked_done(struct engine_unpacked *unpacked)
{
	free(unpacked->args);
	free(unpacked->env);
	free(unpacked->out);
	free(unpacked->network);
	free(unpacked->mounts);
	free(unpacked->policies);
	free(unpacked->files);
	*unpacked = (struct engine_unpacked){ 0 };
}

int engine_error_read(const void *data, size_t size, struct brig_error *ret)
{
	if (!data || size != sizeof(*ret)) {
		return -EPROTO;
	}
	memcpy(ret, data, sizeof(*ret));
	ret->step[sizeof(ret->step) - 1] = '\0';
	ret->message[sizeof(ret->message) - 1] = '\0';
	ret->remedy[sizeof(ret->remedy) - 1] = '\0';
	return ret->code > BRIG_E_NONE && ret->code <= BRIG_E_SYSTEM ? 0 : -EPROTO;
}
