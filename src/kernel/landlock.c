/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: see landlock.h. The versions of the ABI (landlock(7): 1 is Linux 5.13, 2 is 5.19, 3 is
 * 6.2, 4 is 6.7, 5 is 6.10, 6 is 6.12) are in one table, so that a new kernel is a new row.
 */
#include "kernel/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

/* Rights newer than the headers of the oldest supported build system. */
#define RIGHT_REFER           (1ull << 13)
#define RIGHT_TRUNCATE        (1ull << 14)
#define RIGHT_IOCTL_DEV       (1ull << 15)
#define SCOPE_ABSTRACT_SOCKET (1ull << 0)
#define SCOPE_SIGNAL          (1ull << 1)

/* The kernel's struct as of ABI 6 (Linux 6.12); older kernels accept the shorter size. */
struct ruleset {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

#define RIGHTS_ABI_1 ((1ull << 13) - 1)
#define RIGHTS_READ                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_NODES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

static const struct {
	int abi;
	uint64_t rights;
	uint64_t scopes;
	size_t size;
} ladder[] = {
	{ 1, RIGHTS_ABI_1, 0, 8 },     { 2, RIGHT_REFER, 0, 8 },
	{ 3, RIGHT_TRUNCATE, 0, 8 },   { 4, 0, 0, 16 },
	{ 5, RIGHT_IOCTL_DEV, 0, 16 }, { 6, 0, SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL, 24 },
};

int landlock_abi(void)
{
	int abi = sys_landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : abi;
}

static int add_place(int ruleset, const struct landlock_place *place, uint64_t handled)
{
	uint64_t writable = handled & ~(RIGHTS_NODES | RIGHT_IOCTL_DEV);
	uint64_t device = RIGHTS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE;
	_cleanup_close_ int fd = open(place->path, O_PATH | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	struct landlock_path_beneath_attr rule = {
		.allowed_access = (place->writable ? writable
				   : place->device ? device
						   : RIGHTS_READ) &
				  handled,
		.parent_fd = fd,
	};
	return sys_landlock_add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule);
}

int landlock_enforce(int abi, const struct landlock_place *places, size_t count)
{
	struct ruleset attr = { 0 };
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ladder) && ladder[i].abi <= abi; i++) {
		attr.handled_fs |= ladder[i].rights;
		attr.scoped |= ladder[i].scopes;
		size = ladder[i].size;
	}
	_cleanup_close_ int ruleset = sys_landlock_create_ruleset(&attr, size, 0);
	if (ruleset < 0) {
		return ruleset;
	}
	for (size_t i = 0; i < count; i++) {
		int r = add_place(ruleset, &places[i], attr.handled_fs);
		if (r < 0) {
			return r;
		}
	}
	return sys_landlock_restrict_self(ruleset);
}
