/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X10: fills the writable places, all in turn. usage: x10_disk WHAT COUNT DIR... WHAT: bytes (COUNT
 * KiB in all), gone (the same in deleted files that are still open), or files, dirs, links, fifos
 * (COUNT of them).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "say.h"

static char block[4096];

static int make(char what, const char *path)
{
	switch (what) {
	case 'f':
		return open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	case 'd':
		return mkdir(path, 0700);
	case 'l':
		return symlink("nowhere", path);
	default:
		return mkfifo(path, 0600);
	}
}

static int many(char what, int count, int dirs, char **dir, int *made)
{
	for (; *made < count; ++*made) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/x-%d", dir[*made % dirs], *made);
		int fd = make(what == 'p' ? 'p' : what, path);
		if (fd < 0) {
			return -1;
		}
		if (what == 'f') {
			close(fd);
		}
	}
	return 0;
}

static int bytes(int gone, int kib, int dirs, char **dir, int *made)
{
	int fds[16];

	for (int i = 0; i < dirs; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/x-bytes", dir[i]);
		fds[i] = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fds[i] < 0) {
			return -1;
		}
		if (gone) {
			unlink(path);
		}
	}
	for (; *made < kib; *made += 4) {
		if (write(fds[*made / 4 % dirs], block, sizeof(block)) != sizeof(block)) {
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	int made = 0, r;

	if (argc < 4 || argc > 19) {
		return 99;
	}
	const char *what = argv[1];
	int count = atoi(argv[2]);
	if (strcmp(what, "bytes") == 0 || strcmp(what, "gone") == 0) {
		r = bytes(*what == 'g', count, argc - 3, argv + 3, &made);
	} else {
		r = many(strcmp(what, "fifos") == 0 ? 'p' : *what, count, argc - 3, argv + 3,
			 &made);
	}
	say("result", "%s", outcome(r));
	say("made", "%d", made);
	/* Long enough for a periodic watch. */
	usleep(250000);
	return r < 0;
}
