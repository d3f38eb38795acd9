/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D5: the changes that /dev/urandom allows; each with an argument that changes nothing on success.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <sys/ioctl.h>

#include "say.h"

int main(int argc, char **argv)
{
	int fd = open("/dev/urandom", O_RDONLY), zero = 0;
	struct {
		int entropy, size;
		char data[4];
	} pool = { 0 };
	const char *only = argc > 1 ? argv[1] : "";

	try("RNDGETENTCNT", ioctl(fd, RNDGETENTCNT, &zero));
	zero = 0;
	try("RNDADDTOENTCNT", ioctl(fd, RNDADDTOENTCNT, &zero));
	try("RNDADDENTROPY", ioctl(fd, RNDADDENTROPY, &pool));
	try("RNDRESEEDCRNG", ioctl(fd, RNDRESEEDCRNG, 0));
	/* The same number with other high bits: a filter that compares 64 bits lets it through. */
	try("RNDRESEEDCRNG-high", ioctl(fd, RNDRESEEDCRNG | (0xdeadbeefUL << 32), 0));
	/* These do change something on old kernels: in a cell only. */
	if (strcmp(only, "all") == 0) {
		try("RNDZAPENTCNT", ioctl(fd, RNDZAPENTCNT, 0));
		try("RNDCLEARPOOL", ioctl(fd, RNDCLEARPOOL, 0));
	}
	try("BLKROSET", ioctl(fd, BLKROSET, &zero));
	try("FITRIM", ioctl(fd, FITRIM, &zero));
}
