/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicates with the user's systemd: finds its socket, calls it, and reads what it has
 * delegated.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/cgroup_internal.h"

#define ASK_NS UINT64_C(500000000)

/* systemd's own socket first: it exists even where no message bus is installed. */
int cgroup_systemd_find(struct cgroup_manager *manager)
{
	static const char *const names[] = { "systemd/private", "bus" };
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	const char *bus = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
	char path[sizeof(manager->bus.socket.sun_path)];
	int missing = -ENOENT;

	for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
		int r = -EINVAL;
		int fd;

		if (i < ARRAY_SIZE(names) && runtime &&
		    snprintf(path, sizeof(path), "%s/%s", runtime, names[i]) < (int)sizeof(path)) {
			r = dbus_address_path(path, &manager->bus);
		} else if (i == ARRAY_SIZE(names) && bus) {
			r = dbus_address_parse(bus, &manager->bus);
		}
		fd = r < 0 ? r : dbus_connect(&manager->bus);
		if (fd >= 0) {
			close(fd);
			manager->bus_is_private = i == 0;
			return 0;
		}
		missing = fd == -EXDEV ? fd : missing;
	}
	return missing;
}

int cgroup_systemd_call(const struct cgroup_manager *manager, const struct dbus_call *call,
			uint64_t deadline_ns, struct dbus_message *answer)
{
	_cleanup_close_ int fd = dbus_connect(&manager->bus);
	int r = fd < 0 ? fd : dbus_authenticate(fd, deadline_ns);

	return r < 0 ? r : dbus_call(fd, call, !manager->bus_is_private, deadline_ns, answer);
}

/* A unit's object path: all but letters and digits as _xx, a digit in front as well. */
static bool unit_path(const char *unit, char *path, size_t size)
{
	int n = snprintf(path, size, "/org/freedesktop/systemd1/unit/");
	size_t used = (size_t)n;

	for (const char *c = unit; *c; c++) {
		bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
		bool plain = letter || (*c >= '0' && *c <= '9' && c != unit);

		if (used + 4 > size) {
			return false;
		}
		used += (size_t)snprintf(path + used, size - used, plain ? "%c" : "_%02x",
					 (unsigned char)*c);
	}
	return true;
}

/*
 * Only the system's systemd marks delegated groups with an attribute; the user's (as of 252) must
 * be asked. `path` is a group's path in the v2 tree.
 */
bool cgroup_systemd_delegates(struct cgroup_manager *manager, const char *path)
{
	static const struct {
		const char *suffix;
		const char *interface;
	} kinds[] = {
		{ ".scope", "org.freedesktop.systemd1.Scope" },
		{ ".service", "org.freedesktop.systemd1.Service" },
	};
	const char *slash = strrchr(path, '/');
	const char *unit = slash ? slash + 1 : path;
	struct dbus_message answer = { 0 };
	struct buf body = { 0 };
	char object[1024], above[64];
	const char *interface = NULL;
	struct dbus_call call = {
		.destination = "org.freedesktop.systemd1",
		.path = object,
		.interface = "org.freedesktop.DBus.Properties",
		.member = "Get",
		.signature = "ss",
		.body = &body,
	};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t size = strlen(unit), end = strlen(kinds[i].suffix);

		if (size > end && strcmp(unit + size - end, kinds[i].suffix) == 0) {
			interface = kinds[i].interface;
		}
	}
	snprintf(above, sizeof(above), "/user@%u.service/", (unsigned)geteuid());
	if (!interface || !strstr(path, above) || !unit_path(unit, object, sizeof(object)) ||
	    cgroup_systemd_find(manager) < 0) {
		return false;
	}
	dbus_put_string(&body, interface);
	dbus_put_string(&body, "Delegate");
	r = cgroup_systemd_call(manager, &call, clock_now_ns() + ASK_NS, &answer);
	buf_done(&body);
	return r == 0 && answer.has_boolean && answer.boolean;
}
