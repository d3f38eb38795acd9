/*
 * The network namespace. Making one takes longer than all other namespaces together, and needs
 * nothing that pid 1 is doing meanwhile; so a helper makes it on another core. The helper shares
 * our memory and descriptors and makes raw system calls only: errno is ours.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "core/cell.h"
#include "kernel/sys.h"

/* AF_INET is in every kernel that has networks; without it there is nothing to bring up. */
static int loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	long socket = sys_raw(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (socket < 0) {
		return (int)socket;
	}
	long r = sys_raw(SYS_ioctl, socket, SIOCSIFFLAGS, (long)&request);
	if (r == 0) {
		r = sys_raw(SYS_ioctl, socket, SIOCGSKNS, 0); /* the namespace itself, by fd */
	}
	sys_raw(SYS_close, socket, 0, 0);
	return (int)r;
}

static int helper(void *user)
{
	struct net_helper *net = user;
	long r = sys_raw(SYS_unshare, CLONE_NEWNET, 0, 0);

	net->fd = r < 0 ? (int)r : loopback_up();
	return 0;
}

int step_net(struct cell *cell, const struct step *step)
{
	struct net_helper *net = &cell->net;

	(void)step;
	net->fd = -EIO;
	net->pid = clone(helper, net->stack + sizeof(net->stack), CLONE_VM | CLONE_FILES, net);
	return net->pid < 0 ? -errno : 0;
}

int step_netenter(struct cell *cell, const struct step *step)
{
	struct net_helper *net = &cell->net;

	(void)step;
	while (waitpid(net->pid, NULL, __WALL) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	if (net->fd < 0) {
		return net->fd;
	}
	_cleanup_close_ int fd = net->fd;
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}
