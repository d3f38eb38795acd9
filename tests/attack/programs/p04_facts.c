/* SPDX-License-Identifier: Apache-2.0 */
/* P4: facts of the host that are available by system call and not by file. */
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	struct sysinfo info = { 0 };
	struct utsname name;
	struct timespec boot, monotonic;

	try("sysinfo", sysinfo(&info));
	uname(&name);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	say("nodename", "%s", name.nodename);
	say("domainname", "%s", name.domainname);
	say("uptime", "%ld", info.uptime);
	say("loads", "%lu %lu %lu", info.loads[0], info.loads[1], info.loads[2]);
	say("totalram", "%lu", info.totalram * info.mem_unit);
	say("freeram", "%lu", info.freeram * info.mem_unit);
	say("procs", "%u", info.procs);
	say("hostid", "%lx", gethostid());
	say("online", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	say("boottime", "%ld", (long)boot.tv_sec);
	say("monotonic", "%ld", (long)monotonic.tv_sec);
}
