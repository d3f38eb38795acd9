/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as one block of bytes, sent from the front to the warden, which trusts nothing in it.
 * Numbers are in the format of this machine.
 */
#ifndef BRIG_ENGINE_ENGINE_PACK_H
#define BRIG_ENGINE_ENGINE_PACK_H

#include "engine/engine.h"

#define ENGINE_BLOCK_MAX  (160u << 20)
#define ENGINE_ITEMS_MAX  65536u /* of each list */
#define ENGINE_MOUNTS_MAX 32u

/*
 * For free(). -E2BIG, -ENOMEM. Callbacks are not packed. Data in call->block is not copied: its
 * offset is packed, and the block is sent too.
 */
int engine_pack(const struct engine_call *call, char **ret, size_t *ret_size);

/* Is it part of call->block, with a byte behind it? */
bool engine_call_shares(const struct engine_call *call, const void *data, size_t size);

struct engine_unpacked {
	struct engine_call call; /* its strings are in the block; its lists are owned */
	const char **args, **env, **out, **network, **policies;
	struct brig_file_in *files;
	struct brig_mount *mounts;
};

/*
 * The block must stay while the call is used, and so must `shared`, which was sent with it; or
 * NULL: none was. -EPROTO: not exactly such a block. It has no field that a peer must not set (a
 * file of the host); mounts are names that the policy must define.
 */
int engine_unpack(const void *block, size_t size, struct block *shared,
		  struct engine_unpacked *ret);
void engine_unpacked_done(struct engine_unpacked *unpacked);

/* A brig_error for the reply: the struct itself, with every string terminated. */
int engine_error_read(const void *data, size_t size, struct brig_error *ret);
#endif
