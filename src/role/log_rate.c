/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines that a client can cause as often as it likes: one per second for an event and its
 * cause, with the number of omitted lines. Causes contain text of clients, so the number of slots
 * is fixed: causes that share a slot count as the same.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "role/log.h"

#define SLOTS     64
#define EVERY_NS  UINT64_C(1000000000)
#define FNV_BASIS UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static struct {
	uint64_t last_ns; /* 0: never */
	unsigned long long left_out;
} slots[SLOTS];

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++) {
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	}
	return hash;
}

bool role_log_due(const char *event, const char *cause, unsigned long long *left_out)
{
	size_t i = hash_text(hash_text(FNV_BASIS, event), cause) % ARRAY_SIZE(slots);
	uint64_t now = clock_now_ns();

	if (slots[i].last_ns && now - slots[i].last_ns < EVERY_NS) {
		slots[i].left_out++;
		return false;
	}
	*left_out = slots[i].left_out;
	slots[i].last_ns = now;
	slots[i].left_out = 0;
	return true;
}
