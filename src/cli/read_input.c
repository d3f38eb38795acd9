/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files that the command line names: see read_input.h. */
#include "cli/read_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int read_input(const char *path, size_t max, struct buf *ret, struct brig_error *err)
{
	char chunk[8192];
	bool is_stdin = strcmp(path, "-") == 0;
	const char *name = is_stdin ? "stdin" : path;
	_cleanup_close_ int own = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int fd = is_stdin ? STDIN_FILENO : own;

	for (ssize_t n = 1; n != 0;) {
		n = fd < 0 ? -1 : read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return error_errno(err, BRIG_E_INPUT, errno, "cannot read %s", name);
		}
		buf_add(ret, chunk, (size_t)n);
		if (ret->size > max) {
			return error_set(err, BRIG_E_INPUT, EFBIG, "%s has more than %zu bytes",
					 name, max);
		}
	}
	return ret->failed ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for %s", name) : 0;
}
