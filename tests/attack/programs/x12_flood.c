/* SPDX-License-Identifier: Apache-2.0 */
/* X12: prints numbered lines of 16 bytes. usage: x12_flood out|err|both KIB */
#include <stdlib.h>

#include "say.h"

int main(int argc, char **argv)
{
	char block[4096 + 1];
	long lines = argc > 2 ? atol(argv[2]) * 64 : 0;
	int out = argc > 1 && strcmp(argv[1], "err") != 0;
	int err = argc > 1 && strcmp(argv[1], "out") != 0;

	for (long line = 0; line < lines; line += 256) {
		for (int i = 0; i < 256; i++) {
			snprintf(block + 16 * i, 17, "%015ld\n", line + i);
		}
		if ((out && write(1, block, 4096) != 4096) ||
		    (err && write(2, block, 4096) != 4096)) {
			return 3;
		}
	}
	return 0;
}
