/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a hostile agent: any frames after the end of its program. Nothing is made outside of
 * the directory, and no file is larger than it was declared.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_link/returned.h"
#include "base/cleanup.h"
#include "framed/report.h"

#define FRAMES_MAX 64
#define FILE_MAX   100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* Two levels: the upper one must keep its only entry. */
static int upper = -1;
static char upper_path[] = "/tmp/brig-fuzz-files-XXXXXX";

static void remove_upper(void)
{
	(void)unlinkat(upper, "root", AT_REMOVEDIR);
	(void)rmdir(upper_path);
}

static void make_upper(void)
{
	if (upper >= 0) {
		return;
	}
	must(mkdtemp(upper_path) != NULL);
	upper = open(upper_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(upper >= 0 && mkdirat(upper, "root", 0700) == 0);
	atexit(remove_upper);
}

/* Removes everything beneath, and checks it. */
static void clear(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fdopendir(copy);

	must(list != NULL);
	for (struct dirent *entry; (entry = readdir(list));) {
		struct stat info;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
			continue;
		}
		must(fstatat(dir, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0);
		must(!S_ISREG(info.st_mode) || info.st_size <= FILE_MAX);
		if (S_ISDIR(info.st_mode)) {
			int inner = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			must(inner >= 0);
			clear(inner);
			close(inner);
		}
		must(unlinkat(dir, entry->d_name, S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0) == 0);
	}
	closedir(list);
}

static unsigned count_entries(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fdopendir(copy);
	unsigned count = 0;

	must(list != NULL);
	while (readdir(list)) {
		count++;
	}
	closedir(list);
	return count - 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report_reader reports = { .state = REPORT_RETURNS, .returns = 1 };
	int r = 0;

	make_upper();
	int root = openat(upper, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct returned files = { .root = root, .file_max = FILE_MAX, .file = -1 };
	must(root >= 0);
	for (unsigned i = 0; r == 0 && i < FRAMES_MAX && size >= FRAME_HEAD_BYTES; i++) {
		struct frame_head head;
		r = frame_get_head(data, &head);
		r = r < 0 ? r : report_allow(&reports, &head);
		if (r < 0 || head.size > size - FRAME_HEAD_BYTES) {
			break;
		}
		data += FRAME_HEAD_BYTES;
		r = head.kind == FRAME_OUT_END ? report_take(&reports, &head, data)
					       : returned_take(&files, &head, data);
		data += head.size;
		size -= FRAME_HEAD_BYTES + head.size;
	}
	returned_done(&files);
	must(count_entries(upper) == 1);
	clear(root);
	close(root);
	return 0;
}
