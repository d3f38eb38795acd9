/* SPDX-License-Identifier: Apache-2.0 */
/* C5: changing to another user, by every call. */
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	gid_t groups[1] = { 0 };

	try("setgroups", syscall(SYS_setgroups, 1, groups));
	try("setgroups-none", syscall(SYS_setgroups, 0, NULL));
	try("setgid", syscall(SYS_setgid, 0));
	try("setregid", syscall(SYS_setregid, 0, 0));
	try("setresgid", syscall(SYS_setresgid, 0, 0, 0));
	try("setuid", syscall(SYS_setuid, 0));
	try("setreuid", syscall(SYS_setreuid, 0, 0));
	try("setresuid", syscall(SYS_setresuid, 0, 0, 0));
	try("setuid-other", syscall(SYS_setuid, 1));
	/* These never fail: only the resulting ids count. */
	syscall(SYS_setfsuid, 0);
	syscall(SYS_setfsgid, 0);
	say("fsuid", "%ld", syscall(SYS_setfsuid, -1));
	say("fsgid", "%ld", syscall(SYS_setfsgid, -1));
	say("uid", "%d %d", getuid(), geteuid());
}
