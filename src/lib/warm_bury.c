/* Used cells, until the kernel has taken them apart: nobody waits for that. See warm.h. */
#include <poll.h>
#include <sys/epoll.h>

#include "lib/warm.h"

static bool is_gone(const struct warm_cell *cell)
{
	struct pollfd ended = { .fd = cell->run->cell.pidfd, .events = POLLIN };

	return cell->run->cell.pidfd < 0 || cell->run->cell.pid == 0 || poll(&ended, 1, 0) != 0;
}

static void let_go(struct warm *warm, unsigned index)
{
	warm_cell_free(warm_cell_remove(warm->dead, &warm->dead_count, index));
}

void warm_bury(struct warm *warm, struct warm_cell *cell)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .ptr = &cell->stirred } };

	cell->stirred = false;
	/* The request's spec goes with the request. */
	cell->run->options.spec = cell->run->watch.spec = cell->run->denials.spec = &cell->spec;
	if (is_gone(cell) ||
	    epoll_ctl(warm->epoll, EPOLL_CTL_ADD, cell->run->cell.pidfd, &want) < 0) {
		warm_cell_free(cell);
		return;
	}
	if (warm->dead_count == WARM_DEAD_MAX) {
		let_go(warm, 0); /* waits for it */
	}
	warm->dead[warm->dead_count++] = cell;
}

void warm_bury_step(struct warm *warm, bool all)
{
	for (unsigned i = 0; i < warm->dead_count && (all || warm->pieces); i++) {
		if (all || (warm->dead[i]->stirred && is_gone(warm->dead[i]))) {
			warm->pieces -= !all;
			let_go(warm, i--);
		}
	}
}
