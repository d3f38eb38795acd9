/* SPDX-License-Identifier: Apache-2.0 */
/* The service's secret: see warm_proof.h. */
#include "cli/warm/warm_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINK_START (sizeof(WARM_PROOF_LINK) - 1)

int warm_proof_show(char ret[WARM_PROOF_SIZE], struct brig_error *err)
{
	unsigned char bytes[WARM_PROOF_SIZE / 2];
	char name[sizeof(WARM_PROOF_NAME) + WARM_PROOF_SIZE] = WARM_PROOF_NAME;
	char *digits = name + sizeof(WARM_PROOF_NAME) - 1;

	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(digits, WARM_PROOF_SIZE + 1, bytes, sizeof(bytes));
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || (fd != WARM_PROOF_FD && dup3(fd, WARM_PROOF_FD, O_CLOEXEC) < 0)) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot make the service's proof");
	}
	if (fd != WARM_PROOF_FD) {
		close(fd);
	}
	memcpy(ret, digits, WARM_PROOF_SIZE);
	return 0;
}

int warm_proof_read(pid_t pid, char ret[WARM_PROOF_SIZE])
{
	char path[48], target[LINK_START + WARM_PROOF_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, WARM_PROOF_FD);
	ssize_t n = readlink(path, target, sizeof(target));
	if (n != (ssize_t)sizeof(target) || memcmp(target, WARM_PROOF_LINK, LINK_START) != 0) {
		return n < 0 ? -errno : -ENODATA;
	}
	memcpy(ret, target + LINK_START, WARM_PROOF_SIZE);
	return 0;
}
