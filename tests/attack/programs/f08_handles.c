/* SPDX-License-Identifier: Apache-2.0 */
/* F8: a file by its handle, which is independent of the root directory. */
#include <fcntl.h>
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} file = { .handle = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount_id;
	const char *path = argc > 1 ? argv[1] : "/";
	int top = open("/", O_RDONLY | O_DIRECTORY);

	if (try("name_to_handle_at",
		name_to_handle_at(AT_FDCWD, path, &file.handle, &mount_id, 0)) < 0) {
		/* The root directory of an ext4: an attacker can guess it. */
		file.handle.handle_bytes = 8;
		file.handle.handle_type = 1;
		memcpy(file.handle.f_handle, "\2\0\0\0\0\0\0\0", 8);
	}
	try("open_by_handle_at", open_by_handle_at(top, &file.handle, O_RDONLY));
}
