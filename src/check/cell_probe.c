/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers questions about files, and divides them among cells: see cell_probe.h. */
#include "check/cell_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check/internal.h"

/* A request has at most 32 mounts; more are for the next cell. */
#define CELL_MOUNTS_MAX 32

void probes_done(struct probes *probes)
{
	free(probes->items);
	*probes = (struct probes){ 0 };
}

int probes_add(struct probes *probes, enum prober_wish wish, const char *path, size_t *ret,
	       struct brig_error *err)
{
	for (size_t i = 0; i < probes->count; i++) {
		if (probes->items[i].wish == wish && strcmp(probes->items[i].path, path) == 0) {
			*ret = i;
			return 0;
		}
	}
	if (probes->count == probes->room) {
		size_t room = probes->room ? probes->room * 2 : 64;
		struct probe *items = realloc(probes->items, room * sizeof(*items));
		if (!items) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for questions");
		}
		probes->items = items;
		probes->room = room;
	}
	probes->items[probes->count] = (struct probe){ .wish = wish, .path = path };
	*ret = probes->count++;
	return 0;
}

bool probe_mount_name(const char *path, char ret[65])
{
	const char *from = path + strspn(path, "/");

	if (strncmp(from, "mnt/", strlen("mnt/")) != 0) {
		return false;
	}
	from += strlen("mnt/");
	from += strspn(from, "/");
	size_t length = strcspn(from, "/");
	if (length == 0 || length > 64) {
		return false;
	}
	memcpy(ret, from, length);
	ret[length] = '\0';
	return true;
}

int probe_mount(const struct check *check, const char *path)
{
	char name[65];

	if (!probe_mount_name(path, name)) {
		return -1;
	}
	for (size_t i = 0; i < check->policy->mounts_count; i++) {
		if (strcmp(check->policy->mounts[i].name, name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

/* Does it need a cell that mounts host directories for writing? */
static bool is_writing(const struct check *check, const struct probe *probe)
{
	int mount = probe->wish == PROBER_WRITE ? probe_mount(check, probe->path) : -1;

	return mount >= 0 && check->policy->mounts[mount].writable;
}

/* The unanswered questions for the cell of `first`, which comes first. */
static size_t gather(const struct check *check, size_t first, struct probe **ret)
{
	int mounts[CELL_MOUNTS_MAX];
	size_t mounts_count = 0, count = 0;
	const struct probes *probes = &check->probes;
	bool writing = is_writing(check, &probes->items[first]);

	for (size_t i = 0; i <= probes->count; i++) {
		size_t at = i == 0 ? first : i - 1;
		struct probe *probe = &probes->items[at];
		if (probe->answered || (i > 0 && at == first) || probe->path[0] != '/' ||
		    is_writing(check, probe) != writing) {
			continue;
		}
		int mount = probe_mount(check, probe->path);
		size_t known = 0;
		while (known < mounts_count && mounts[known] != mount) {
			known++;
		}
		if (mount >= 0 && known == CELL_MOUNTS_MAX) {
			continue;
		}
		if (mount >= 0 && known == mounts_count) {
			mounts[mounts_count++] = mount;
		}
		ret[count++] = probe;
	}
	return count;
}

int probe_ask(struct check *check, size_t place, struct brig_error *err)
{
	struct probes *probes = &check->probes;

	if (probes->items[place].answered) {
		return 0;
	}
	_cleanup_free_ struct probe **list = calloc(probes->count, sizeof(struct probe *));
	if (!list) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for questions");
	}
	/* The first one is always answered; the others are asked again by their own turn. */
	int r = probe_cell(check, list, gather(check, place, list), err);
	return r < 0 ? r : 0;
}
