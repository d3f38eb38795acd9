/* SPDX-License-Identifier: Apache-2.0 */
/* Used cells, until the kernel has removed them, so that no caller waits for it. See warm.h. */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "lib/warm/warm.h"

static bool is_gone(const struct warm_cell *cell)
{
	struct pollfd ended = { .fd = cell->run->end_fd, .events = POLLIN };

	return cell->run->end_fd < 0 || cell->run->life == CELL_GONE || poll(&ended, 1, 0) != 0;
}

static void free_cell(struct warm *warm, unsigned index)
{
	warm_cell_free(warm_cell_remove(warm->ended, &warm->ended_count, index));
}

/* Not bounded here: the descriptors are bounded where a run begins. */
static bool make_room(struct warm *warm)
{
	if (warm->ended_count < warm->ended_room) {
		return true;
	}
	unsigned room = warm->ended_room ? 2 * warm->ended_room : 64;
	struct warm_cell **list = reallocarray(warm->ended, room, sizeof(struct warm_cell *));
	if (!list) {
		return false;
	}
	warm->ended = list;
	warm->ended_room = room;
	return true;
}

void warm_reap(struct warm *warm, struct warm_cell *cell)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .ptr = &cell->readable } };

	cell->readable = false;
	/* The request's spec is freed with the request. */
	run_keep_spec(cell->run, &cell->spec);
	if (is_gone(cell) || !make_room(warm) ||
	    epoll_ctl(warm->epoll, EPOLL_CTL_ADD, cell->run->end_fd, &want) < 0) {
		warm_cell_free(cell);
		return;
	}
	warm->ended[warm->ended_count++] = cell;
}

bool warm_reap_run(struct warm *warm, struct run **run, struct prepared *prepared)
{
	struct warm_cell *cell = calloc(1, sizeof(*cell));

	if (!cell) {
		return false;
	}
	cell->spec = prepared->spec;
	cell->ids = TAKE_FD(prepared->ids);
	cell->devices = -1;
	cell->set = warm->epoll;
	run_end_now(*run, ENDING_CANCELLED);
	cell->run = TAKE_PTR(*run);
	warm_reap(warm, cell);
	return true;
}

void warm_reap_step(struct warm *warm, bool all)
{
	for (unsigned i = 0; i < warm->ended_count && (all || warm->pieces); i++) {
		if (all || (warm->ended[i]->readable && is_gone(warm->ended[i]))) {
			warm->pieces -= !all;
			free_cell(warm, i--);
		}
	}
}
