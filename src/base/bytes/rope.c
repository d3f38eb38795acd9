/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in parts: see rope.h. */
#include "base/bytes/rope.h"

#include <stdint.h>
#include <stdlib.h>

void rope_done(struct rope *rope)
{
	for (size_t i = 0; i < rope->count; i++) {
		block_unref((struct block *)(uintptr_t)rope->parts[i].block);
	}
	free(rope->parts);
	buf_done(&rope->text);
	*rope = (struct rope){ 0 };
}

static void add_part(struct rope *rope, struct block *block, size_t at, size_t size)
{
	if (rope->count == rope->room) {
		size_t room = rope->room ? 2 * rope->room : 4;
		struct rope_part *more = reallocarray(rope->parts, room, sizeof(*more));

		if (!more) {
			rope->failed = true;
			return;
		}
		rope->parts = more;
		rope->room = room;
	}
	rope->parts[rope->count++] = (struct rope_part){
		.block = block ? block_ref(block) : NULL,
		.at = at,
		.size = size,
	};
	rope->size += size;
}

static void mark_text(struct rope *rope)
{
	if (rope->text.size > rope->marked) {
		add_part(rope, NULL, rope->marked, rope->text.size - rope->marked);
		rope->marked = rope->text.size;
	}
}

void rope_block(struct rope *rope, struct block *block, size_t at, size_t size)
{
	mark_text(rope);
	if (size) {
		add_part(rope, block, at, size);
	}
}

void rope_append(struct rope *rope, struct rope *more)
{
	size_t at = more->at;

	rope->failed |= !rope_finish(more);
	for (size_t i = more->part; i < more->count && !rope->failed; i++, at = 0) {
		const struct rope_part *part = &more->parts[i];

		if (part->block) {
			rope_block(rope, (struct block *)(uintptr_t)part->block, part->at + at,
				   part->size - at);
		} else {
			buf_add(&rope->text, more->text.data + part->at + at, part->size - at);
		}
	}
	(void)rope_finish(rope);
}

bool rope_finish(struct rope *rope)
{
	mark_text(rope);
	rope->failed |= rope->text.failed;
	return !rope->failed;
}

size_t rope_left(const struct rope *rope)
{
	return rope->size;
}

size_t rope_peek(const struct rope *rope, size_t max, struct iovec pieces[ROPE_PIECES])
{
	size_t count = 0, at = rope->at;

	for (size_t i = rope->part; i < rope->count && count < ROPE_PIECES && max; i++, at = 0) {
		const struct rope_part *part = &rope->parts[i];
		const char *data = part->block ? part->block->data : rope->text.data;
		size_t size = part->size - at < max ? part->size - at : max;

		pieces[count++] = (struct iovec){
			.iov_base = (void *)(uintptr_t)(data + part->at + at),
			.iov_len = size,
		};
		max -= size;
	}
	return count;
}

void rope_take(struct rope *rope, size_t size)
{
	rope->size -= size;
	while (size) {
		size_t left = rope->parts[rope->part].size - rope->at;

		if (size < left) {
			rope->at += size;
			return;
		}
		size -= left;
		rope->part++;
		rope->at = 0;
	}
}
