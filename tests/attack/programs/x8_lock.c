/* SPDX-License-Identifier: Apache-2.0 */
/* X8: memory that cannot be reclaimed: locked pages and huge pages. */
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "say.h"

int main(void)
{
	size_t size = 1024 * 1024;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	try("mlock", mlock(at, size));
	try("mlock2", mlock2(at, size, MLOCK_ONFAULT));
	try("mmap_locked",
	    mmap(NULL, size, PROT_READ, flags | MAP_LOCKED, -1, 0) == MAP_FAILED ? -1 : 0);
	try("mmap_huge",
	    mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0) == MAP_FAILED
		    ? -1
		    : 0);
	try("memfd_huge", memfd_create("x", MFD_HUGETLB));
	try("shm_huge", shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | 0600));
	try("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
	return 0;
}
