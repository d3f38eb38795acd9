/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output and error of a clone. The engine writes them in a thread, whose start and end
 * cost more than a small program does, and a process with a second thread cannot report that it is
 * done (native/calls/done_call.h). So a clone writes them itself, until the program gives one of
 * the numbers to another file.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "wasm_template/wasm_template.h"

#define OUTPUT    1
#define ERRORS    2
#define PARTS_MAX 1024 /* as the kernel has it for writev(2) */

struct wasi_part {
	uint32_t at, size;
};

/* One program in one process. */
static bool given_away[ERRORS + 1];

static bool is_ours(int fd)
{
	return (fd == OUTPUT || fd == ERRORS) && !given_away[fd];
}

static void give_away(int fd)
{
	if (is_ours(fd)) {
		given_away[fd] = true;
	}
}

static int wasi_error(int errnum)
{
	static const struct {
		int errnum, error;
	} known[] = {
		{ EAGAIN, WASI_AGAIN },
		{ EBADF, WASI_BADF },
		{ ENOSPC, WASI_NOSPC },
		{ EPIPE, WASI_PIPE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].errnum == errnum) {
			return known[i].error;
		}
	}
	return WASI_IO;
}

/* Adds what was written to *written; an error number. */
static int write_part(int fd, const uint8_t *data, size_t size, uint32_t *written)
{
	while (size) {
		ssize_t n = write(fd, data, size);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? wasi_error(errno) : WASI_IO;
		}
		data += n;
		size -= (size_t)n;
		*written += (uint32_t)n;
	}
	return WASI_OK;
}

/* Every part is looked at before the first is written. */
static int check_parts(struct abi_caller *caller, const struct wasi_part *parts, uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++) {
		all += parts[i].size;
		if (!guest_memory(caller, parts[i].at, parts[i].size)) {
			return WASI_FAULT;
		}
	}
	return all <= INT32_MAX ? WASI_OK : WASI_INVAL;
}

static int write_parts(struct abi_caller *caller, int fd, const struct wasi_part *parts,
		       uint32_t count, uint32_t *written)
{
	int error = WASI_OK;

	for (uint32_t i = 0; error == WASI_OK && i < count; i++) {
		error = write_part(fd, guest_memory(caller, parts[i].at, parts[i].size),
				   parts[i].size, written);
	}
	return *written ? WASI_OK : error;
}

/* fd_write(fd, parts, count, written) */
bool stream_write(struct abi_caller *caller, const union abi_value *values, int *ret_error)
{
	int fd = values[0].i32;
	uint32_t count = (uint32_t)values[2].i32, written = 0;
	struct wasi_part parts[PARTS_MAX];

	if (!is_ours(fd)) {
		return false;
	}
	count = count < PARTS_MAX ? count : PARTS_MAX;
	const uint32_t size = count * (uint32_t)sizeof(*parts);
	const uint8_t *from = guest_memory(caller, (uint32_t)values[1].i32, size);
	uint8_t *to = guest_memory(caller, (uint32_t)values[3].i32, sizeof(written));
	if (!from || !to) {
		*ret_error = WASI_FAULT;
		return true;
	}
	memcpy(parts, from, size);
	*ret_error = check_parts(caller, parts, count);
	if (*ret_error == WASI_OK) {
		*ret_error = write_parts(caller, fd, parts, count, &written);
		memcpy(to, &written, sizeof(written));
	}
	return true;
}

/* fd_close(fd) */
bool stream_close(struct abi_caller *caller, const union abi_value *values, int *ret_error)
{
	(void)caller;
	(void)ret_error;
	give_away(values[0].i32);
	return false;
}

/* fd_renumber(from, to) */
bool stream_renumber(struct abi_caller *caller, const union abi_value *values, int *ret_error)
{
	(void)caller;
	(void)ret_error;
	give_away(values[0].i32);
	give_away(values[1].i32);
	return false;
}
