/* SPDX-License-Identifier: Apache-2.0 */
/* The context's pools, and the work for them in small steps. See warm.h. */
#include "lib/warm/warm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SECOND_NS 1000000000ull
/* After so many failures in a row the pool makes no cells for a while. */
#define FAILURES_MAX 3
#define REST_NS      (30 * SECOND_NS)
/* The time that a template may take to warm up. */
#define WARM_UP_NS (60 * SECOND_NS)
/* Cells made at a time, for each processor: most of the time they wait for the kernel (RCU). */
#define MAKING_MAX 3
#define EVENTS_MAX 64
/* The time that a keeper may take to end, once all of its children are ending. */
#define KEEPER_MS 5000

static unsigned count_processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 0 ? (unsigned)online : 1;
}

void warm_options_complete(struct brig_warm_options *options)
{
	unsigned processors = count_processors();

	options->cells_max = options->cells_max ? options->cells_max : 4 * processors;
	options->cells_max =
		options->cells_max < WARM_CELLS_MAX ? options->cells_max : WARM_CELLS_MAX;
	options->pools_max = options->pools_max ? options->pools_max : 16;
	options->pools_max =
		options->pools_max < WARM_POOLS_MAX ? options->pools_max : WARM_POOLS_MAX;
	options->memory_bytes = options->memory_bytes ? options->memory_bytes : WARM_MEMORY_USUAL;
	options->clones_max = options->clones_max ? options->clones_max : 1000;
	options->age_ns = options->age_ns ? options->age_ns : 600 * SECOND_NS;
}

int warm_new(struct brig_context *context, const struct brig_warm_options *options,
	     struct warm **ret, struct brig_error *err)
{
	struct warm *warm = calloc(1, sizeof(*warm));

	if (!warm) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for pools");
	}
	warm->context = context;
	memcpy(&warm->options, options,
	       options->size && options->size < sizeof(*options) ? options->size
								 : sizeof(*options));
	warm_options_complete(&warm->options);
	warm->making_max = MAKING_MAX * count_processors();
	warm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (warm->epoll < 0) {
		free(warm);
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch pools");
	}
	*ret = warm;
	return 0;
}

static void wait_for_keepers(struct warm *warm, int wait_ms)
{
	uint64_t deadline = clock_now_ns() + (uint64_t)wait_ms * 1000000u;

	for (unsigned i = 0; i < warm->keepers_count; i++) {
		uint64_t now = clock_now_ns();
		int left = now < deadline ? (int)((deadline - now) / 1000000u) : 0;
		if (template_gone(warm->keepers[i], left)) {
			warm->keepers[i--] = warm->keepers[--warm->keepers_count];
		}
	}
}

static bool make_room(struct warm *warm)
{
	if (warm->keepers_count < warm->keepers_room) {
		return true;
	}
	unsigned room = warm->keepers_room ? 2 * warm->keepers_room : 16;
	int *list = realloc(warm->keepers, room * sizeof(*list));
	if (!list) {
		return false;
	}
	warm->keepers = list;
	warm->keepers_room = room;
	return true;
}

/* A keeper stays as long as a run of its template: this does not wait for it. */
void warm_end_template(struct warm *warm, struct template *template)
{
	int keeper = template_end(template);

	if (keeper < 0) {
		return;
	}
	if (make_room(warm)) {
		warm->keepers[warm->keepers_count++] = keeper;
	} else {
		close(keeper);
	}
}

void warm_free(struct warm *warm)
{
	if (!warm) {
		return;
	}
	while (warm->count) {
		warm_pool_unuse(warm->pools[--warm->count]);
	}
	warm_reap_step(warm, true);
	wait_for_keepers(warm, KEEPER_MS);
	free(warm->keepers);
	free(warm->ended);
	close_fd(&warm->epoll);
	free(warm);
}

void warm_tell(const struct warm *warm)
{
	if (warm->on_cells) {
		warm->on_cells(warm->user);
	}
}

static void drop_cell(struct warm_pool *pool, unsigned index)
{
	warm_cell_free(warm_cell_remove(pool->cells, &pool->count, index));
}

static void fail(struct warm_pool *pool)
{
	warm_tell(pool->warm);
	if (++pool->failures >= FAILURES_MAX) {
		pool->rest_until_ns = clock_now_ns() + REST_NS;
		pool->failures = pool->lost = 0;
		warm_pool_distrust(pool);
		/* Next time without a template or driver: they may be the cause. */
		if (!prepare_is_wasm(&pool->base)) {
			pool->base.spec.kind = CELL_HELD;
		}
		pool->base.spec.waiting = NULL;
	}
}

/* The template's next answer is for the cell that has waited longest. */
static void answer(struct warm_pool *pool, pid_t pid, int pidfd)
{
	struct brig_error unused = { 0 };

	for (unsigned i = 0; i < pool->count; i++) {
		struct warm_cell *cell = pool->cells[i];
		if (!cell->asked) {
			continue;
		}
		cell->asked = false;
		close_fd(&cell->devices);
		if (warm_cell_launch(cell, pid, pidfd, &unused) < 0) {
			drop_cell(pool, i);
			fail(pool);
		}
		return;
	}
	close(pidfd);
}

static void step_template(struct warm_pool *pool)
{
	pid_t pid = 0;
	int pidfd = -1, r = 0;

	if (!pool->template || !pool->template->readable) {
		return;
	}
	pool->template->readable = false;
	while (pool->template && pool->warm->pieces &&
	       (r = template_receive(pool->template, &pid, &pidfd)) == 1) {
		pool->warm->pieces--;
		answer(pool, pid, pidfd);
	}
	if (pool->template && (r < 0 || pool->template->state == TEMPLATE_BROKEN)) {
		warm_pool_distrust(pool);
		fail(pool);
	}
}

static void step_next(struct warm_pool *pool)
{
	pid_t pid = 0;
	int pidfd = -1;

	if (!pool->next || !pool->next->readable) {
		return;
	}
	pool->next->readable = false;
	if (template_receive(pool->next, &pid, &pidfd) != 0 ||
	    pool->next->state == TEMPLATE_BROKEN) {
		close_fd(&pidfd);
		epoll_ctl(pool->warm->epoll, EPOLL_CTL_DEL, pool->next->socket, NULL);
		warm_end_template(pool->warm, TAKE_PTR(pool->next));
		fail(pool);
	}
}

/* Does a cell wait for the template's answer? */
static bool is_asked(const struct warm_pool *pool)
{
	for (unsigned i = 0; i < pool->count; i++) {
		if (pool->cells[i]->asked) {
			return true;
		}
	}
	return false;
}

static void step_cells(struct warm_pool *pool)
{
	struct brig_error unused = { 0 };

	for (unsigned i = 0; i < pool->count; i++) {
		struct warm_cell *cell = pool->cells[i];
		if (cell->asked || !cell->readable) {
			continue;
		}
		cell->readable = false;
		enum run_state before = cell->run->state;
		int r = run_step(cell->run, &unused);
		if (r != 0) {
			drop_cell(pool, i--);
			pool->lost += before == RUN_HELD;
			fail(pool);
			if (!pool->count) {
				return;
			}
		} else if (before == RUN_SETTING_UP && cell->run->state == RUN_HELD) {
			/* A start that works says nothing about how long the cell then waits. */
			pool->failures = pool->lost;
			warm_tell(pool->warm);
			context_sweep(pool->warm->context, pool->base.spec.provider);
		}
	}
}

static bool is_used_up(const struct warm_pool *pool)
{
	return pool->template->clones >= pool->warm->options.clones_max;
}

static bool is_old(const struct warm_pool *pool, uint64_t now_ns)
{
	return now_ns - pool->template->born_ns > pool->warm->options.age_ns;
}

/* Early enough that the next template is warm when it is needed. */
static bool wants_next(const struct warm_pool *pool, uint64_t now_ns)
{
	const struct brig_warm_options *options = &pool->warm->options;

	return pool->template->clones + 2 * options->cells_max >= options->clones_max ||
	       now_ns - pool->template->born_ns > options->age_ns / 10 * 9;
}

static void start_template(struct warm_pool *pool, struct template **ret)
{
	struct epoll_event want = { .events = EPOLLIN };
	struct brig_error unused = { 0 };
	struct template *template = NULL;
	int r = template_start(&pool->base, &template, &unused);

	if (r < 0 || !template) {
		fail(pool);
		return;
	}
	*ret = template;
	want.data.ptr = &template->readable;
	if (epoll_ctl(pool->warm->epoll, EPOLL_CTL_ADD, template->socket, &want) < 0) {
		fail(pool);
	}
}

static void take_next(struct warm_pool *pool)
{
	epoll_ctl(pool->warm->epoll, EPOLL_CTL_DEL, pool->template->socket, NULL);
	warm_end_template(pool->warm, pool->template);
	pool->template = TAKE_PTR(pool->next);
}

void warm_rotate(struct warm_pool *pool, uint64_t now_ns)
{
	if (!pool->template || now_ns < pool->rest_until_ns) {
		return;
	}
	if (pool->template->state != TEMPLATE_READY &&
	    now_ns - pool->template->born_ns > WARM_UP_NS) {
		warm_pool_distrust(pool); /* an import that does not end, or no answer any more */
		fail(pool);
		return;
	}
	if (!pool->next && pool->template->state == TEMPLATE_READY && wants_next(pool, now_ns)) {
		start_template(pool, &pool->next);
	}
	bool next = pool->next && pool->next->state == TEMPLATE_READY;
	if (pool->template && is_old(pool, now_ns)) {
		warm_pool_drop(pool); /* its cells are as old */
		if (next) {
			take_next(pool);
		} else {
			warm_pool_distrust(pool);
		}
	} else if (pool->template && is_used_up(pool) && next && !is_asked(pool)) {
		take_next(pool);
	}
}

/* True: cells can be made now. */
static bool have_template(struct warm_pool *pool)
{
	if (pool->base.spec.kind != CELL_CLONED) {
		return true;
	}
	if (!pool->template) {
		start_template(pool, &pool->template);
		return false;
	}
	return pool->template->state == TEMPLATE_READY && !is_used_up(pool);
}

static unsigned making(const struct warm_pool *pool)
{
	return pool->count - warm_pool_ready(pool);
}

static void fill(struct warm_pool *pool, uint64_t now_ns)
{
	warm_rotate(pool, now_ns);
	unsigned target = warm_size_target(pool, now_ns);
	struct brig_error unused = { 0 };

	/* Not a cell whose answer is still due: the next cell would receive that answer. */
	while (pool->count > target && !pool->cells[pool->count - 1]->asked) {
		warm_pool_drop_last(pool);
	}
	if (now_ns < pool->rest_until_ns || pool->count >= target || !have_template(pool)) {
		return;
	}
	while (pool->count < target && making(pool) < pool->warm->making_max &&
	       pool->warm->pieces) {
		pool->warm->pieces--;
		if (warm_cell_new(pool, &pool->cells[pool->count], &unused) < 0) {
			fail(pool);
			return;
		}
		pool->count++;
	}
}

/* Marks the cells and templates with data: only these are stepped, however many are waiting. */
static void mark_readable(struct warm *warm)
{
	struct epoll_event ready[EVENTS_MAX];
	int count = epoll_wait(warm->epoll, ready, EVENTS_MAX, 0);

	for (int i = 0; i < count; i++) {
		*(bool *)ready[i].data.ptr = true;
	}
}

bool warm_is_low(const struct warm *warm)
{
	for (unsigned i = 0; i < warm->count; i++) {
		const struct warm_pool *pool = warm->pools[i];
		if (warm_pool_ready(pool) < (pool->target + 1) / 2) {
			return true;
		}
	}
	return warm->ended_count > WARM_ENDED_MANY;
}

void warm_step(struct warm *warm, unsigned pieces)
{
	uint64_t now = clock_now_ns();

	warm->pieces = pieces;
	mark_readable(warm);

	warm_reap_step(warm, false);
	wait_for_keepers(warm, 0);
	/* A different pool is first each time, so that no pool takes all of the work. */
	warm->turn++;
	for (unsigned i = 0; i < warm->count; i++) {
		struct warm_pool *pool = warm->pools[(i + warm->turn) % warm->count];
		step_template(pool);
		step_next(pool);
		step_cells(pool);
		fill(pool, now);
	}
}
