/* SPDX-License-Identifier: Apache-2.0 */
#include "run/spec/landlock_places.h"

const struct landlock_place landlock_fixed[LANDLOCK_FIXED] = {
	{ .path = "/" },
	{ .path = "/dev", .device = true },
	{ .path = "/dev/shm", .writable = true },
	{ .path = "/sandbox", .writable = true },
	{ .path = "/tmp", .writable = true },
};
