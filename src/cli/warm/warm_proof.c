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

int warm_proof_make(char ret[WARM_PROOF_SIZE])
{
	unsigned char bytes[WARM_PROOF_SIZE / 2];
	char name[sizeof(WARM_PROOF_NAME) + WARM_PROOF_SIZE] = WARM_PROOF_NAME;
	char *digits = name + sizeof(WARM_PROOF_NAME) - 1;

	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(digits, WARM_PROOF_SIZE + 1, bytes, sizeof(bytes));
	memcpy(ret, digits, WARM_PROOF_SIZE);
	int fd = memfd_create(name, MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int warm_proof_show(char ret[WARM_PROOF_SIZE], struct brig_error *err)
{
	int fd = warm_proof_make(ret);

	if (fd == WARM_PROOF_FD) {
		return 0;
	}
	if (fd < 0 || dup3(fd, WARM_PROOF_FD, O_CLOEXEC) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot make the service's proof");
	}
	close(fd);
	return 0;
}

int warm_proof_read(pid_t pid, unsigned number, char ret[WARM_PROOF_SIZE])
{
	char path[48], target[LINK_START + WARM_PROOF_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, number);
	ssize_t n = readlink(path, target, sizeof(target));
	if (n != (ssize_t)sizeof(target) || memcmp(target, WARM_PROOF_LINK, LINK_START) != 0) {
		return n < 0 ? -errno : -ENODATA;
	}
	memcpy(ret, target + LINK_START, WARM_PROOF_SIZE);
	return 0;
}
