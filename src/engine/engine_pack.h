/*
 * A call as one block of bytes, for the way from the front to the warden: what the front says is
 * not believed, only read. Numbers are as this machine has them.
 */
#ifndef BRIG_ENGINE_ENGINE_PACK_H
#define BRIG_ENGINE_ENGINE_PACK_H

#include "engine/engine.h"

#define ENGINE_BLOCK_MAX (160u << 20)
#define ENGINE_ITEMS_MAX 65536u /* of each list */

/* For free(). -E2BIG, -ENOMEM. Callbacks do not travel. */
int engine_pack(const struct engine_call *call, char **ret, size_t *ret_size);

struct engine_unpacked {
	struct engine_call call; /* its strings lie in the block; its lists are owned */
	const char **args, **env, **out, **network, **policies;
	struct brig_file_in *files;
};

/*
 * The block must stay while the call is used. -EPROTO: not such a block, to the last byte. A field
 * that a peer must not set (a file of the host's, a mount) has no place in it.
 */
int engine_unpack(const void *block, size_t size, struct engine_unpacked *ret);
void engine_unpacked_done(struct engine_unpacked *unpacked);

/* A brig_error for the way back: the struct itself, with every string ended. */
int engine_error_read(const void *data, size_t size, struct brig_error *ret);
#endif
