/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksum of a saved state: hundreds of megabytes, of which one turn of the warden takes some.
 * It shows accidents, not attacks.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "vm/vm.h"

#define WORD         8u
#define BYTES_A_TURN (8ull << 20) /* whole pages */

void vm_sum_begin(struct vm_sum *sum, int fd, uint64_t size)
{
	*sum = (struct vm_sum){ .fd = fd, .size = size, .sums = { 1, 2, 3, 4 } };
}

/* Four sums side by side: as fast as memory, and any changed word changes one of them. */
static void add(struct vm_sum *sum, const unsigned char *data, size_t size)
{
	size_t i = 0;

	for (; i + sizeof(sum->sums) <= size; i += sizeof(sum->sums)) {
		for (size_t k = 0; k < 4; k++) {
			uint64_t word;
			memcpy(&word, data + i + WORD * k, WORD);
			sum->sums[k] = (sum->sums[k] ^ word) * 0x9e3779b97f4a7c15u;
			sum->sums[k] ^= sum->sums[k] >> 29;
		}
	}
	for (; i < size; i++) {
		sum->sums[0] = (sum->sums[0] ^ data[i]) * 0x100000001b3u;
	}
}

int vm_sum_turn(struct vm_sum *sum, uint64_t *ret)
{
	uint64_t left = sum->size - sum->at;
	size_t part = left < BYTES_A_TURN ? (size_t)left : BYTES_A_TURN;

	if (part == 0) {
		return -EBADMSG; /* an empty file */
	}
	void *data =
		mmap(NULL, part, PROT_READ, MAP_PRIVATE | MAP_POPULATE, sum->fd, (off_t)sum->at);
	if (data == MAP_FAILED) {
		return -errno;
	}
	add(sum, data, part);
	munmap(data, part);
	sum->at += part;
	*ret = sum->sums[0] ^ sum->sums[1] * 3 ^ sum->sums[2] * 5 ^ sum->sums[3] * 7;
	return sum->at == sum->size;
}
