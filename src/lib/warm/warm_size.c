/* SPDX-License-Identifier: Apache-2.0 */
/* The wanted number of cells of a pool: as many as were useful lately. See warm.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lib/warm/warm.h"

#define SECOND_NS 1000000000ull
/* A pool without requests is halved after each such time, down to nothing. */
#define IDLE_NS  (60 * SECOND_NS)
#define CHECK_NS SECOND_NS
/* The part of the host's memory that must be available; with less, no cells are kept. */
#define LEAST_PART 16
/* The estimate for a waiting cell: its own pages, page tables and kernel objects. */
#define CELL_BYTES (3u << 19)
/* The same for an interpreter that shares only its files with the others. */
#define STARTED_CELL_BYTES (8u << 20)

void warm_size_asked(struct warm_pool *pool, bool hit)
{
	unsigned most = pool->warm->options.cells_max;

	pool->used_ns = clock_now_ns();
	if (!hit) {
		pool->target = pool->target * 2 < most ? pool->target * 2 : most;
	}
	pool->target = pool->target ? pool->target : 1;
}

/* "MemAvailable:  1234 kB" and its like. */
static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024u : 0;
}

static bool host_is_short(void)
{
	char text[1024];
	_cleanup_close_ int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0) {
		return false;
	}
	text[n] = '\0';
	uint64_t all = field(text, "MemTotal:"), left = field(text, "MemAvailable:");
	return all && left < all / LEAST_PART;
}

static uint64_t bytes_of(const struct warm_pool *pool)
{
	const struct spec *spec = &pool->base.spec;
	uint64_t own = spec->provider->held_bytes ? spec->provider->held_bytes(spec) : 0;

	return own +
	       (spec->kind == CELL_STARTED || spec->waiting ? STARTED_CELL_BYTES : CELL_BYTES);
}

static bool same_tenant(const struct warm_pool *a, const struct warm_pool *b)
{
	return a->tenant == b->tenant ||
	       (a->tenant && b->tenant && strcmp(a->tenant, b->tenant) == 0);
}

/* The bytes that the other pools leave: of all memory, and of the tenant's equal share. */
static uint64_t bytes_left(const struct warm_pool *pool)
{
	const struct warm *warm = pool->warm;
	uint64_t all = 0, own = 0, tenants = 0;

	for (unsigned i = 0; i < warm->count; i++) {
		const struct warm_pool *other = warm->pools[i];
		uint64_t bytes = other == pool ? 0 : other->count * bytes_of(other);
		bool first = true;
		for (unsigned k = 0; k < i && first; k++) {
			first = !same_tenant(warm->pools[k], other);
		}
		tenants += first;
		all += bytes;
		own += same_tenant(pool, other) ? bytes : 0;
	}
	uint64_t most = warm->options.memory_bytes, share = most / (tenants ? tenants : 1);
	uint64_t left = most > all ? most - all : 0;
	share = share > own ? share - own : 0;
	return left < share ? left : share;
}

unsigned warm_size_target(struct warm_pool *pool, uint64_t now_ns)
{
	struct warm *warm = pool->warm;

	if (now_ns - warm->looked_ns > CHECK_NS) {
		warm->looked_ns = now_ns;
		warm->pressed = host_is_short();
	}
	while (pool->target && now_ns - pool->used_ns > IDLE_NS) {
		pool->target /= 2;
		pool->used_ns += IDLE_NS;
	}
	if (warm->pressed) {
		return 0;
	}
	uint64_t mine = bytes_left(pool) / bytes_of(pool);
	mine = mine < WARM_CELLS_MAX ? mine : WARM_CELLS_MAX;
	return pool->target < mine ? pool->target : (unsigned)mine;
}
