/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that a caller can cause as often as it likes: one each second for an event and its cause,
 * with the number of those that were left out. Causes have words of callers in them, so there are
 * no more slots than these: whatever comes together in one counts as the same.
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
