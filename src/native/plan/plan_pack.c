/* SPDX-License-Identifier: Apache-2.0 */
/* Packing plans: see plan_pack.h. */
#include "native/plan/plan_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memfile.h"

struct plan_head {
	uint64_t size;
	uint64_t count;
	uint64_t layers;
	uint64_t ranged;
	uint64_t held, cloned, parks;
	uint64_t args_size, env_size;
};

/* In the block a step's pointers are offsets from its start; 0 is NULL. */
_Static_assert(sizeof(void *) == sizeof(uint64_t), "offsets become pointers in place");

static uint64_t data_size(const struct step *step)
{
	if (!step->data) {
		return 0;
	}
	return step->kind == STEP_SECCOMP ? step->size * sizeof(struct sock_filter) : step->size;
}

static uint64_t aligned(uint64_t at)
{
	return (at + 7) & ~(uint64_t)7;
}

static uint64_t text_size(const char *text)
{
	return text ? aligned(strlen(text) + 1) : 0;
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
		.held = plan->spec->held,
		.cloned = plan->spec->cloned,
		.parks = plan->spec->parks,
		.args_size = texts_size(plan->spec->argv),
		.env_size = texts_size(plan->spec->envp),
	};
	struct step *steps = (struct step *)(void *)(block + sizeof(head));
	uint64_t at = sizeof(head) + plan->count * sizeof(*steps);

	memcpy(block, &head, sizeof(head));
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *from = &plan->steps[i];
		struct step to = *from;
		if (from->path) {
			to.path = (const char *)(uintptr_t)put_bytes(block, &at, from->path,
								     strlen(from->path) + 1);
		}
		if (from->text) {
			to.text = (const char *)(uintptr_t)put_bytes(block, &at, from->text,
								     strlen(from->text) + 1);
		}
		if (from->data) {
			to.data = (const void *)(uintptr_t)put_bytes(block, &at, from->data,
								     data_size(from));
		}
		to.fd = -1; /* every clone receives its own */
		steps[i] = to;
	}
}

int plan_pack(const struct plan *plan)
{
	uint64_t size = sizeof(struct plan_head) + plan->count * sizeof(struct step);

	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		size += text_size(step->path) + text_size(step->text) + aligned(data_size(step));
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

/* Turns one offset into a pointer; `need` bytes must follow, or a whole text when it is 0. */
static bool make_pointer(char *block, uint64_t size, const void **pointer, uint64_t need)
{
	uint64_t at = (uintptr_t)*pointer;

	if (at == 0) {
		return true;
	}
	if (at >= size || (need ? need > size - at : !memchr(block + at, 0, size - at))) {
		return false;
	}
	*pointer = block + at;
	return true;
}

static bool unpack_step(char *block, uint64_t size, struct step *step)
{
	const void *path = step->path, *text = step->text, *data = step->data;

	if ((unsigned)step->kind >= STEP_KINDS || (data && step->size > size) ||
	    !make_pointer(block, size, &path, 0) || !make_pointer(block, size, &text, 0) ||
	    (data && !make_pointer(block, size, &data, data_size(step)))) {
		return false;
	}
	step->path = path;
	step->text = text;
	step->data = data;
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
	    head.count > (head.size - sizeof(head)) / sizeof(struct step)) {
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
		.held = head.held != 0,
		.cloned = head.cloned != 0,
		.parks = head.parks != 0,
		.devices = -1,
	};
	*sizes = (struct plan_sizes){ head.args_size, head.env_size };
	*ret = (struct plan){ .steps = steps, .count = (unsigned)head.count, .spec = spec };
	return 0;
}
