/* SPDX-License-Identifier: Apache-2.0 */
/* S8: system calls by the entries of other ABIs. argv[1]: which. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

static long int80(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	long result = -1;
	/* i386 takes 32-bit pointers */
	unsigned *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	say("alive", "%s", which);
	if (strcmp(which, "getpid") == 0) {
		result = int80(20, 0, 0, 0);
	} else if (strcmp(which, "socketcall") == 0) {
		low[0] = 2; /* AF_INET, SOCK_STREAM, 0 */
		low[1] = 1;
		low[2] = 0;
		result = int80(102, 1, (long)low, 0);
	} else if (strcmp(which, "ipc") == 0) {
		result = int80(117, 2, 0, 1); /* semget(0, 1) */
	} else if (strcmp(which, "unshare") == 0) {
		result = int80(310, 0x10000000, 0, 0);
	} else if (strcmp(which, "x32") == 0) {
		result = syscall(SYS_getpid | 0x40000000);
		result = result < 0 ? -errno : result;
	} else if (strcmp(which, "x32-unshare") == 0) {
		result = syscall(SYS_unshare | 0x40000000, 0x10000000);
		result = result < 0 ? -errno : result;
	}
	errno = result < 0 ? (int)-result : 0;
	say("result", "%s", outcome(result));
}
