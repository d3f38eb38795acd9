/* SPDX-License-Identifier: Apache-2.0 */
/* Packing plans: see plan_pack.h. */
#include "native/plan/plan_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "native/plan/step_members.h"

struct plan_head {
	uint64_t size;
	uint64_t count;
	uint64_t layers;
	uint64_t ranged;
	uint64_t kind, parks;
	uint64_t args_size, env_size;
};

/* In the block a step's pointers are offsets from its start; 0 is NULL. */
_Static_assert(sizeof(void *) == sizeof(uint64_t), "offsets become pointers in place");

static uint64_t aligned(uint64_t at)
{
	return (at + 7) & ~(uint64_t)7;
}

/* The bytes that a member points to; 0: none. */
static uint64_t pointed_size(const struct step *step, const struct step_member *member)
{
	const void *pointer = step_pointer(step, member);

	if (!pointer) {
		return 0;
	}
	return member->type == MEMBER_ITEMS ? step_items(step, member) * member->width
					    : strlen(pointer) + 1;
}

static bool is_pointer(const struct step_member *member)
{
	return member->type == MEMBER_PATH || member->type == MEMBER_TEXT ||
	       member->type == MEMBER_ITEMS;
}

static uint64_t put_bytes(char *block, uint64_t *at, const void *data, uint64_t size)
{
	uint64_t where = *at;

	memcpy(block + where, data, size);
	*at += aligned(size);
	return where;
}

static uint64_t texts_size(const char *const *list)
{
	uint64_t size = 0;

	for (; list && *list; list++) {
		size += strlen(*list) + 1;
	}
	return size;
}

static void fill_block(char *block, uint64_t size, const struct plan *plan)
{
	struct plan_head head = {
		.size = size,
		.count = plan->count,
		.layers = plan->spec->layers,
		.ranged = plan->spec->ranged,
		.kind = plan->spec->kind,
		.parks = plan->spec->parks,
		.args_size = texts_size(plan->spec->argv),
		.env_size = texts_size(plan->spec->envp),
	};
	struct step *steps = (struct step *)(void *)(block + sizeof(head));
	uint64_t at = sizeof(head) + plan->count * sizeof(*steps);

	memcpy(block, &head, sizeof(head));
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *from = &plan->steps[i];
		const struct step_member *member = NULL;
		steps[i] = *from;
		step_set_fd(&steps[i], -1); /* every clone receives its own */
		while ((member = step_member_next(from, member))) {
			if (!is_pointer(member)) {
				continue;
			}
			uint64_t length = pointed_size(from, member);
			uint64_t where =
				length ? put_bytes(block, &at, step_pointer(from, member), length)
				       : 0;
			step_set_pointer(&steps[i], member, (const void *)(uintptr_t)where);
		}
	}
}

int plan_pack(const struct plan *plan)
{
	uint64_t size = sizeof(struct plan_head) + plan->count * sizeof(struct step);

	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		const struct step_member *member = NULL;
		while ((member = step_member_next(step, member))) {
			size += is_pointer(member) ? aligned(pointed_size(step, member)) : 0;
		}
	}
	_cleanup_close_ int fd = memfd_create("brig-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
		return -errno;
	}
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (block == MAP_FAILED) {
		return -errno;
	}
	fill_block(block, size, plan);
	munmap(block, size);
	int r = memfile_seal(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

/* Turns the offset of a text or of items into a pointer. */
static bool make_pointer(char *block, uint64_t size, struct step *step,
			 const struct step_member *member)
{
	uint64_t at = (uintptr_t)step_pointer(step, member);

	if (at == 0) {
		return true;
	}
	if (at >= size) {
		return false;
	}
	step_set_pointer(step, member, block + at);
	if (member->type == MEMBER_ITEMS) {
		return step_items(step, member) <= (size - at) / member->width;
	}
	return memchr(block + at, 0, size - at) != NULL;
}

static bool is_flag(const struct step *step, const struct step_member *member)
{
	unsigned char byte;

	_Static_assert(sizeof(bool) == sizeof(byte), "a flag is a byte");
	memcpy(&byte, (const char *)step + member->offset, sizeof(byte));
	return byte <= 1;
}

static bool unpack_step(char *block, uint64_t size, struct step *step)
{
	const struct step_member *member = NULL;

	if ((unsigned)step->kind >= STEP_KINDS) {
		return false;
	}
	while ((member = step_member_next(step, member))) {
		if (is_pointer(member) ? !make_pointer(block, size, step, member)
				       : member->type == MEMBER_FLAG && !is_flag(step, member)) {
			return false;
		}
	}
	return true;
}

int plan_unpack(void *bytes, size_t size, struct plan *ret, struct plan_sizes *sizes,
		struct spec *spec)
{
	char *block = bytes;
	struct plan_head head;

	if (size < sizeof(head)) {
		return -EPROTO;
	}
	memcpy(&head, block, sizeof(head));
	if (head.size > size || head.size < sizeof(head) || head.count > PLAN_STEPS_MAX ||
	    head.count > (head.size - sizeof(head)) / sizeof(struct step) ||
	    head.kind >= CELL_KINDS) {
		return -EPROTO;
	}
	struct step *steps = (struct step *)(void *)(block + sizeof(head));
	for (uint64_t i = 0; i < head.count; i++) {
		if (!unpack_step(block, head.size, &steps[i])) {
			return -EPROTO;
		}
	}
	*spec = (struct spec){
		.layers = head.layers,
		.ranged = head.ranged != 0,
		.kind = (enum cell_kind)head.kind,
		.parks = head.parks != 0,
		.devices = -1,
	};
	*sizes = (struct plan_sizes){ head.args_size, head.env_size };
	*ret = (struct plan){ .steps = steps, .count = (unsigned)head.count, .spec = spec };
	return 0;
}
