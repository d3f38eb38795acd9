/* SPDX-License-Identifier: Apache-2.0 */
/* F9, F11: plants links in a directory that the next run will get. argv: where, target. */
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	(void)argc;
	if (chdir(argv[1]) < 0) {
		say("chdir", "%s", outcome(-1));
		return 1;
	}
	try("directory", symlink(argv[2], "next"));
	try("file", symlink(argv[3], "input.txt"));
	try("result", symlink(argv[2], "out"));
}
