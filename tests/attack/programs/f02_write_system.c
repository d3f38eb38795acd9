/* SPDX-License-Identifier: Apache-2.0 */
/* F2: in each directory of the arguments: creates files, and changes existing ones. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

static void report(const char *dir, const char *what, long result)
{
	char name[512];
	int saved = errno;

	snprintf(name, sizeof(name), "%s %s", what, dir);
	errno = saved;
	said(name, result);
}

/* The first regular file of a directory; 0: none. */
static int first_file(const char *dir, char *path, size_t size)
{
	DIR *list = opendir(dir);
	struct dirent *entry;
	struct stat info;

	while (list && (entry = readdir(list))) {
		snprintf(path, size, "%s/%s", dir, entry->d_name);
		if (lstat(path, &info) == 0 && S_ISREG(info.st_mode)) {
			closedir(list);
			return 1;
		}
	}
	if (list) {
		closedir(list);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char path[512], moved[600];

	for (int i = 1; i < argc; i++) {
		snprintf(path, sizeof(path), "%s/brig-attack", argv[i]);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		report(argv[i], "create", fd);
		report(argv[i], "mkdir", mkdir(strcat(path, "-dir"), 0755));
		if (!first_file(argv[i], path, sizeof(path))) {
			continue;
		}
		snprintf(moved, sizeof(moved), "%s-moved", path);
		report(argv[i], "append", open(path, O_WRONLY | O_APPEND));
		report(argv[i], "truncate", truncate(path, 0));
		report(argv[i], "chmod", chmod(path, 0777));
		report(argv[i], "link", link(path, moved));
		report(argv[i], "rename", rename(path, moved));
		report(argv[i], "unlink", unlink(path));
	}
}
