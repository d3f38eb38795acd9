/* SPDX-License-Identifier: Apache-2.0 */
/* P8: a second proc, and a mount over the one that is there. */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	mkdir("proc2", 0755);
	try("second", mount("proc", "proc2", "proc", 0, NULL));
	try("remount", mount("proc", "/proc", "proc", MS_REMOUNT, "subset=,hidepid=0"));
	try("bind", mount("/proc", "proc2", NULL, MS_BIND | MS_REC, NULL));
	try("over", mount("none", "/proc", "tmpfs", 0, NULL));
	try("fsopen", syscall(SYS_fsopen, "proc", 0));
}
