/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as one block of bytes, for the way from the front to the warden: what the front says is
 * not believed, only read. Numbers are as this machine has them.
 */
#ifndef BRIG_ENGINE_ENGINE_PACK_H
#define BRIG_ENGINE_ENGINE_PACK_H

#include "engine/engine.h"

#define ENGINE_BLOCK_MAX  (160u << 20)
#define ENGINE_ITEMS_MAX  65536u /* of each list */
#define ENGINE_MOUNTS_MAX 32u

/*
 * For free(). -E2BIG, -ENOMEM. Callbacks do not travel. What lies in call->block is not copied: its
 * place in there is packed, and the block travels along.
 */
int engine_pack(const struct engine_call *call, char **ret, size_t *ret_size);

/* Does it lie in call->block, with a byte behind it? */
bool engine_call_shares(const struct engine_call *call, const void *data, size_t size);

struct engine_unpacked {
	struct engine_call call; /* its strings lie in the block; its lists are owned */
	const char **args, **env, **out, **network, **policies;
	struct brig_file_in *files;
	struct brig_mount *mounts;
};

/*
 * The block must stay while the call is used, and so must `shared`, which came along with it; or
 * NULL: none did. -EPROTO: not such a block, to the last byte. A field
 * that a peer must not set (a file of the host's) has no place in it; mounts are names that the
 * policy has to know.
 */
int engine_unpack(const void *block, size_t size, struct block *shared,
		  struct engine_unpacked *ret);
void engine_unpacked_done(struct engine_unpacked *unpacked);

/* A brig_error for the way back: the struct itself, with every string ended. */
int engine_error_read(const void *data, size_t size, struct brig_error *ret);
#endif
