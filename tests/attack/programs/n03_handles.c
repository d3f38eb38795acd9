/* SPDX-License-Identifier: Apache-2.0 */
/* N3: a handle on an outer namespace, by each ioctl that gives one, and listns. */
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

#define PIDFD_IOCTL(number) _IO(0xFF, number)
#define NUMBER_LISTNS       470

int main(void)
{
	struct {
		unsigned size, type;
		unsigned long id, owner;
		unsigned space[2];
	} request = { .size = 32 };
	unsigned long ids[8];
	int user = open("/proc/self/ns/user", O_RDONLY);
	int pid = open("/proc/self/ns/pid", O_RDONLY);
	int net = open("/proc/self/ns/net", O_RDONLY);
	int mnt = open("/proc/self/ns/mnt", O_RDONLY);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	try("open", net);
	try("NS_GET_PARENT-user", ioctl(user, NS_GET_PARENT));
	try("NS_GET_PARENT-pid", ioctl(pid, NS_GET_PARENT));
	try("NS_GET_USERNS", ioctl(net, NS_GET_USERNS));
	try("NS_GET_USERNS-high", ioctl(net, NS_GET_USERNS | (1UL << 40)));
	try("NS_GET_NSTYPE", ioctl(net, NS_GET_NSTYPE));
	try("NS_MNT_GET_PREV", ioctl(mnt, _IOR(0xb7, 12, char[16]), ids));
	try("PIDFD_GET_USER", ioctl(self, PIDFD_IOCTL(9), 0));
	try("PIDFD_GET_NET", ioctl(self, PIDFD_IOCTL(4), 0));
	try("listns", syscall(NUMBER_LISTNS, &request, ids, 8, 0));
}
