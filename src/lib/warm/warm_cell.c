/* SPDX-License-Identifier: Apache-2.0 */
/* One cell made ahead: its identity and its start. See warm.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/idrange.h"
#include "lib/warm/warm.h"
#include "native/native.h"

/* The cell has its own ids and devices; all else is the pool's. */
static int identify(const struct warm_pool *pool, struct warm_cell *cell, struct brig_error *err)
{
	struct spec *spec = &cell->spec;

	if (!spec->ranged) {
		return 0;
	}
	cell->ids = idrange_take(&spec->first_id, err);
	if (cell->ids < 0) {
		return cell->ids;
	}
	cell->devices = spec->devices = context_devices(pool->warm->context);
	return cell->devices < 0
		       ? error_errno(err, BRIG_E_SYSTEM, -cell->devices, "cannot make device nodes")
		       : 0;
}

static int begin(struct warm_pool *pool, struct warm_cell *cell, struct brig_error *err)
{
	const struct filter *filter = &pool->base.policy->filter;
	struct run_options options = {
		.spec = &cell->spec,
		.groups = pool->warm->context->groups,
		.watchdog = pool->warm->context->watchdog,
		.checked_files = &pool->warm->context->checked_files,
		.filter = filter->count ? filter : NULL,
		.watch = pool->base.watch,
		.monitor = pool->base.monitor.on ? &pool->base.monitor : NULL,
		.stdin_feed = true, /* stays open until the assignment */
	};

	return run_begin(&options, &cell->run, err);
}

int warm_cell_launch(struct warm_cell *cell, pid_t pid, int pidfd, struct brig_error *err)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .ptr = &cell->readable } };

	if (pid) {
		native_cloned(cell->run, pid, pidfd);
	}
	int r = run_launch(cell->run, err);
	if (r < 0) {
		return r;
	}
	/* Not earlier: its input is writable from the start, which would only cause wake-ups. */
	return epoll_ctl(cell->set, EPOLL_CTL_ADD, cell->run->epoll, &want) < 0
		       ? error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch a waiting cell")
		       : 0;
}

static void warm_cell_freep(struct warm_cell **cell)
{
	warm_cell_free(*cell);
}

/* By the pool's template, which answers later, or here. */
static int make(struct warm_pool *pool, struct warm_cell *cell, struct brig_error *err)
{
	if (!pool->template) {
		return warm_cell_launch(cell, 0, -1, err);
	}
	int r = template_ask(pool->template, cell->run, cell->devices);
	if (r < 0) {
		error_errno(err, BRIG_E_SYSTEM, -r, "the template does not answer");
		return r;
	}
	cell->asked = true;
	return 0;
}

int warm_cell_new(struct warm_pool *pool, struct warm_cell **ret, struct brig_error *err)
{
	_cleanup_(warm_cell_freep)
	struct warm_cell *cell = calloc(1, sizeof(*cell));

	if (!cell) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a waiting cell");
	}
	cell->ids = cell->devices = -1;
	cell->set = pool->warm->epoll;
	cell->spec = pool->base.spec;
	cell->spec.devices = -1;
	int r = identify(pool, cell, err);
	if (r < 0) {
		return r;
	}
	r = begin(pool, cell, err);
	if (r < 0) {
		return r;
	}
	r = make(pool, cell, err);
	if (r < 0) {
		return r;
	}
	*ret = TAKE_PTR(cell);
	return 0;
}

void warm_cell_free(struct warm_cell *cell)
{
	if (!cell) {
		return;
	}
	/* Explicitly: a copy of the descriptor, as in a new keeper, would keep them in the set. */
	if (cell->run) {
		epoll_ctl(cell->set, EPOLL_CTL_DEL, cell->run->epoll, NULL);
		epoll_ctl(cell->set, EPOLL_CTL_DEL, cell->run->end_fd, NULL);
	}
	run_free(cell->run);
	close_fd(&cell->devices);
	close_fd(&cell->ids);
	free(cell);
}

struct warm_cell *warm_cell_remove(struct warm_cell **list, unsigned *count, unsigned index)
{
	struct warm_cell *cell = list[index];

	(*count)--;
	for (unsigned i = index; i < *count; i++) {
		list[i] = list[i + 1];
	}
	return cell;
}
