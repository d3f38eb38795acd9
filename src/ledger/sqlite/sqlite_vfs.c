/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite opens files by path, and makes every path absolute. The role has a directory's descriptor
 * and may not even search the directories above it. So its files are named through that descriptor;
 * everything else is SQLite's own. Nothing can be loaded.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ledger/sqlite/sqlite_store.h"

#define VFS_NAME "brig-ledger"

static struct sqlite_store *store_of(sqlite3_vfs *vfs)
{
	return (struct sqlite_store *)(void *)((char *)vfs - offsetof(struct sqlite_store, vfs));
}

static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	int length = snprintf(out, (size_t)size, "/proc/self/fd/%d/%s", store_of(vfs)->dir, name);

	return length > 0 && length < size && !strchr(name, '/') ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void *load_nothing(sqlite3_vfs *vfs, const char *name)
{
	(void)vfs;
	(void)name;
	return NULL;
}

int sqlite_vfs_register(struct store *store, struct brig_error *error)
{
	sqlite3_vfs *plain = sqlite3_vfs_find("unix");

	if (!plain) {
		return error_set(error, BRIG_E_SYSTEM, ENOSYS, "SQLite has no way to open files");
	}
	sqlite_of(store)->vfs = *plain;
	sqlite_of(store)->vfs.zName = VFS_NAME;
	sqlite_of(store)->vfs.pNext = NULL;
	sqlite_of(store)->vfs.xFullPathname = full_path;
	sqlite_of(store)->vfs.xDlOpen = load_nothing;
	if (sqlite3_vfs_register(&sqlite_of(store)->vfs, 0) != SQLITE_OK) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for SQLite");
	}
	sqlite_of(store)->vfs_registered = true;
	return 0;
}

void sqlite_vfs_unregister(struct store *store)
{
	if (sqlite_of(store)->vfs_registered) {
		sqlite3_vfs_unregister(&sqlite_of(store)->vfs);
		sqlite_of(store)->vfs_registered = false;
	}
}
