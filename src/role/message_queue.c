/* SPDX-License-Identifier: Apache-2.0 */
/* The queue behind a role's socket: see message_queue.h. */
#include "role/message_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX   ((size_t)64 << 20)
#define RECORDS_MAX 4096u

static void waiting_free(struct message_waiting *waiting)
{
	for (unsigned i = 0; i < waiting->fds_count; i++) {
		close(waiting->fds[i]);
	}
	free(waiting);
}

static int copy_fd(struct message_waiting *waiting, int fd)
{
	struct stat info;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0) {
		return -errno;
	}
	waiting->fds[waiting->fds_count++] = copy;
	if (fstat(copy, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
		waiting->weight += (size_t)info.st_size;
	}
	return 0;
}

int message_queue_add(struct message_queue *queue, const struct message *message, const int *fds,
		      unsigned fds_count, const void *tail, size_t tail_size)
{
	struct message_waiting *waiting = malloc(sizeof(*waiting) + tail_size);
	int r = 0;

	if (!waiting) {
		return -ENOMEM;
	}
	*waiting = (struct message_waiting){ .message = *message,
					     .weight = tail_size,
					     .tail_size = tail_size };
	for (unsigned i = 0; r == 0 && i < fds_count; i++) {
		r = copy_fd(waiting, fds[i]);
	}
	if (r < 0) {
		waiting_free(waiting);
		return r;
	}
	if (tail_size) {
		memcpy(waiting->tail, tail, tail_size);
	}
	list_append(&queue->waiting, &waiting->node);
	queue->bytes += waiting->weight;
	queue->records++;
	return 0;
}

struct message_waiting *message_queue_first(const struct message_queue *queue)
{
	return LIST_FIRST(&queue->waiting, struct message_waiting, node);
}

void message_queue_drop(struct message_queue *queue)
{
	struct message_waiting *waiting = message_queue_first(queue);

	list_remove(&queue->waiting, &waiting->node);
	queue->bytes -= waiting->weight;
	queue->records--;
	waiting_free(waiting);
}

void message_queue_done(struct message_queue *queue)
{
	while (!list_empty(&queue->waiting)) {
		message_queue_drop(queue);
	}
}

bool message_queue_full(const struct message_queue *queue)
{
	return queue->records >= RECORDS_MAX || queue->bytes >= BYTES_MAX;
}

bool message_queue_has_room(const struct message_queue *queue)
{
	return queue->records <= RECORDS_MAX / 2 && queue->bytes <= BYTES_MAX / 2;
}
