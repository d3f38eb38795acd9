/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments: see assignment.h. */
#include "native/messages/assignment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "run/spec/rlimits.h"

/* The block starts with this; tables follow, then texts and data. Offsets count from its start. */
struct assignment_head {
	uint64_t size;
	uint64_t argc, argv_at; /* argc + 1 offsets, the last one 0 */
	uint64_t envc, env_at;
	uint64_t rlimits_count, rlimits_at;
	uint64_t inputs_count, inputs_at;
};

/* In the block an input's two pointers are offsets of the same width. */
_Static_assert(sizeof(void *) == sizeof(uint64_t), "offsets become pointers in place");

static size_t count_of(const char *const *list)
{
	size_t count = 0;

	while (list && list[count]) {
		count++;
	}
	return count;
}

static uint64_t put_bytes(char *block, uint64_t *at, const void *data, size_t size)
{
	uint64_t where = *at;

	memcpy(block + where, data, size);
	*at += size;
	return where;
}

/* The file's bytes; it may have shrunk since it was measured. */
static int put_file(char *block, uint64_t *at, const struct spec_input *input)
{
	uint64_t done = 0;

	while (done < input->size) {
		ssize_t n = pread(input->fd, block + *at + done, input->size - done, (off_t)done);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? -errno : -ESTALE;
		}
		done += (uint64_t)n;
	}
	*at += done;
	return 0;
}

static uint64_t texts_size(const char *const *list)
{
	uint64_t size = 0;

	for (; list && *list; list++) {
		size += strlen(*list) + 1;
	}
	return size;
}

static uint64_t block_size(const struct spec *spec, size_t argc, size_t envc, size_t rlimits)
{
	uint64_t size = sizeof(struct assignment_head) + (argc + envc + 2) * sizeof(uint64_t) +
			rlimits * sizeof(struct assignment_rlimit) +
			spec->inputs_count * sizeof(struct assignment_input) +
			texts_size(spec->argv) + texts_size(spec->envp);

	for (size_t i = 0; i < spec->inputs_count && size <= ASSIGNMENT_BYTES_MAX; i++) {
		size += strlen(spec->inputs[i].name) + 1;
		size = spec->inputs[i].size > ASSIGNMENT_BYTES_MAX ? ASSIGNMENT_BYTES_MAX + 1u
								   : size + spec->inputs[i].size;
	}
	return size;
}

static void put_texts(char *block, uint64_t table, uint64_t *at, const char *const *list)
{
	uint64_t *offsets = (uint64_t *)(void *)(block + table);

	for (; list && *list; list++) {
		*offsets++ = put_bytes(block, at, *list, strlen(*list) + 1);
	}
	*offsets = 0;
}

static int fill_block(char *block, const struct spec *spec, const struct rlimit_value *rlimits,
		      struct assignment_head *head)
{
	struct assignment_rlimit *limits =
		(struct assignment_rlimit *)(void *)(block + head->rlimits_at);
	struct assignment_input *inputs =
		(struct assignment_input *)(void *)(block + head->inputs_at);
	uint64_t at = head->inputs_at + head->inputs_count * sizeof(*inputs);

	put_texts(block, head->argv_at, &at, spec->argv);
	put_texts(block, head->env_at, &at, spec->envp);
	for (size_t i = 0; i < head->rlimits_count; i++) {
		limits[i] = (struct assignment_rlimit){ .resource = (uint32_t)rlimits[i].resource,
							.value = rlimits[i].value };
	}
	for (size_t i = 0; i < head->inputs_count; i++) {
		const struct spec_input *input = &spec->inputs[i];
		uint64_t name = put_bytes(block, &at, input->name, strlen(input->name) + 1);
		uint64_t data = at;
		int r = 0;
		if (input->data) {
			put_bytes(block, &at, input->data, input->size);
		} else {
			r = put_file(block, &at, input);
		}
		if (r < 0) {
			return r;
		}
		inputs[i] = (struct assignment_input){ .name = (const char *)(uintptr_t)name,
						       .data = (const void *)(uintptr_t)data,
						       .size = input->size,
						       .mode = input->mode };
	}
	head->size = at;
	memcpy(block, head, sizeof(*head));
	return 0;
}

/* The offsets of all tables; texts and data follow them. */
static int lay_out(const struct spec *spec, struct rlimit_value *rlimits,
		   struct assignment_head *ret)
{
	size_t argc = count_of(spec->argv), envc = count_of(spec->envp);
	size_t count = rlimits_of(spec, RLIMITS_OF_REQUEST, rlimits);
	struct assignment_head head = { .argc = argc, .envc = envc, .rlimits_count = count };

	head.size = block_size(spec, argc, envc, count);
	head.inputs_count = spec->inputs_count;
	head.argv_at = sizeof(head);
	head.env_at = head.argv_at + (argc + 1) * sizeof(uint64_t);
	head.rlimits_at = head.env_at + (envc + 1) * sizeof(uint64_t);
	head.inputs_at = head.rlimits_at + count * sizeof(struct assignment_rlimit);
	*ret = head;
	return head.size > ASSIGNMENT_BYTES_MAX ? -E2BIG : 0;
}

int assignment_pack(const struct spec *spec, char **ret, size_t *ret_size)
{
	struct rlimit_value rlimits[RLIMITS_MAX];
	struct assignment_head head;
	int r = lay_out(spec, rlimits, &head);

	if (r < 0) {
		return r;
	}
	_cleanup_free_ char *block = malloc(head.size);
	r = block ? fill_block(block, spec, rlimits, &head) : -ENOMEM;
	if (r < 0) {
		return r;
	}
	*ret = TAKE_PTR(block);
	*ret_size = head.size;
	return 0;
}

int assignment_open(void)
{
	int fd = memfd_create("brig-assignment", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

/*
 * Writes directly into the file: input files may be large, and are copied only once. The space is
 * allocated first, since a lack of it could not be noticed later.
 */
int assignment_write(int fd, const struct spec *spec)
{
	struct rlimit_value rlimits[RLIMITS_MAX];
	struct assignment_head head;
	int r = lay_out(spec, rlimits, &head);

	if (r < 0) {
		return r;
	}
	if (fallocate(fd, 0, 0, (off_t)head.size) < 0) {
		return -errno;
	}
	size_t room = head.size;
	char *block = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (block == MAP_FAILED) {
		return -errno;
	}
	r = fill_block(block, spec, rlimits, &head);
	munmap(block, room);
	return r < 0 ? r : memfile_seal(fd);
}

/* A table of `count` entries of `width` bytes lies within the block, aligned. */
static bool table_fits(uint64_t size, uint64_t at, uint64_t count, uint64_t width)
{
	return at % sizeof(uint64_t) == 0 && at >= sizeof(struct assignment_head) && at <= size &&
	       count <= (size - at) / width;
}

static bool is_text(const char *block, uint64_t size, uint64_t at)
{
	return at >= sizeof(struct assignment_head) && at < size &&
	       memchr(block + at, 0, size - at);
}

static bool read_texts(char *block, uint64_t size, uint64_t count, uint64_t table)
{
	uint64_t *offsets = (uint64_t *)(void *)(block + table);

	for (uint64_t i = 0; i < count; i++) {
		if (!is_text(block, size, offsets[i])) {
			return false;
		}
	}
	if (offsets[count] != 0) {
		return false;
	}
	for (uint64_t i = 0; i < count; i++) {
		offsets[i] = (uint64_t)(uintptr_t)(block + offsets[i]);
	}
	return true;
}

static bool read_inputs(char *block, uint64_t size, const struct assignment_head *head)
{
	struct assignment_input *inputs =
		(struct assignment_input *)(void *)(block + head->inputs_at);

	for (uint64_t i = 0; i < head->inputs_count; i++) {
		uint64_t name = (uintptr_t)inputs[i].name;
		uint64_t data = (uintptr_t)inputs[i].data;
		if (!is_text(block, size, name) || data < sizeof(*head) || data > size ||
		    inputs[i].size > size - data) {
			return false;
		}
		inputs[i].name = block + name;
		inputs[i].data = block + data;
	}
	return true;
}

int assignment_read(void *bytes, size_t size, struct assignment *ret)
{
	char *block = bytes;
	struct assignment_head head;

	if (size < sizeof(head)) {
		return -EPROTO;
	}
	memcpy(&head, block, sizeof(head));
	if (head.size < sizeof(head) || head.size > size || head.argc >= head.size ||
	    head.envc >= head.size || head.argc == 0) {
		return -EPROTO;
	}
	if (!table_fits(head.size, head.argv_at, head.argc + 1, sizeof(uint64_t)) ||
	    !table_fits(head.size, head.env_at, head.envc + 1, sizeof(uint64_t)) ||
	    !table_fits(head.size, head.rlimits_at, head.rlimits_count,
			sizeof(struct assignment_rlimit)) ||
	    !table_fits(head.size, head.inputs_at, head.inputs_count,
			sizeof(struct assignment_input))) {
		return -EPROTO;
	}
	if (!read_texts(block, head.size, head.argc, head.argv_at) ||
	    !read_texts(block, head.size, head.envc, head.env_at) ||
	    !read_inputs(block, head.size, &head)) {
		return -EPROTO;
	}
	*ret = (struct assignment){
		.argv = (const char *const *)(void *)(block + head.argv_at),
		.envp = (const char *const *)(void *)(block + head.env_at),
		.rlimits = (const struct assignment_rlimit *)(void *)(block + head.rlimits_at),
		.inputs = (const struct assignment_input *)(void *)(block + head.inputs_at),
		.argc = head.argc,
		.envc = head.envc,
		.rlimits_count = head.rlimits_count,
		.inputs_count = head.inputs_count,
	};
	return 0;
}
