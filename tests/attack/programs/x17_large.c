/* SPDX-License-Identifier: Apache-2.0 */
/* X17: arguments of 100 MiB, very many mappings, endless recursion. usage: x17_large WHAT */
#include <stdlib.h>
#include <sys/mman.h>

#include "say.h"

static int deeper(volatile char *above)
{
	volatile char here[4096];

	here[0] = *above;
	return here[0] == 0 ? deeper(here) + here[0] : 1;
}

static int arguments(void)
{
	static char *args[1001];
	char *one = malloc(100 * 1024 + 1);

	memset(one, 'x', 100 * 1024);
	one[100 * 1024] = '\0';
	for (int i = 0; i < 1000; i++) {
		args[i] = one;
	}
	return execv("/proc/self/exe", args);
}

static int mappings(void)
{
	int made = 0;

	/* Alternating protection: the kernel cannot merge them. */
	while (made < 10000 && mmap(NULL, 4096, made % 2 ? PROT_READ : PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
		made++;
	}
	say("mappings", "%d", made);
	return 0;
}

int main(int argc, char **argv)
{
	char start = 0;

	if (argc != 2) {
		return 99;
	}
	switch (argv[1][0]) {
	case 'a':
		try("exec", arguments());
		return 0;
	case 'm':
		return mappings();
	default:
		say("recursion", "starts");
		return deeper(&start);
	}
}
