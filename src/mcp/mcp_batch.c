/* Batches (up to 2025-03-26): answers are gathered and go out as one array. */
#include <stdlib.h>

#include "mcp/mcp_internal.h"

struct batch {
	struct mcp_channel channel;
	struct mcp_channel *inner; /* NULL: gone */
	size_t missing;
	json_t *answers; /* owned */
};

static bool batch_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	struct batch *batch = (struct batch *)channel;

	return batch->inner && batch->inner->class->send(batch->inner, message, lossy);
}

static void batch_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	struct batch *batch = (struct batch *)channel;

	(void)status;
	if (message) {
		/* Whoever gave it does not change it any more. */
		json_array_append(batch->answers, (json_t *)(uintptr_t)message);
	}
	if (--batch->missing > 0) {
		return;
	}
	if (batch->inner) {
		bool any = json_array_size(batch->answers) > 0;
		batch->inner->class->answer(batch->inner, any ? batch->answers : NULL, 200);
	}
	json_decref(batch->answers);
	free(batch);
}

static const struct mcp_channel_class batch_class = { .send = batch_send, .answer = batch_answer };

struct mcp_channel *mcp_batch_new(struct mcp_channel *inner, size_t count)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch) {
		return NULL;
	}
	batch->channel.class = &batch_class;
	batch->inner = inner;
	batch->missing = count;
	batch->answers = json_array();
	return &batch->channel;
}

void mcp_batch_detach(struct mcp_channel *channel)
{
	((struct batch *)channel)->inner = NULL;
}
