/* SPDX-License-Identifier: Apache-2.0 */
/* P9: writes to the process's own files of /proc that could widen its rights. */
#include <fcntl.h>
#include <unistd.h>

#include "say.h"

static const char *put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	const char *result;

	if (fd < 0) {
		return outcome(-1);
	}
	result = outcome(write(fd, text, strlen(text)));
	close(fd);
	return result;
}

int main(void)
{
	say("oom_score_adj", "%s", put("/proc/self/oom_score_adj", "-1000"));
	say("oom_adj", "%s", put("/proc/self/oom_adj", "-17"));
	say("attr/current", "%s", put("/proc/self/attr/current", "unconfined"));
	say("attr/exec", "%s", put("/proc/self/attr/exec", "unconfined"));
	say("setgroups", "%s", put("/proc/self/setgroups", "allow"));
	say("uid_map", "%s", put("/proc/self/uid_map", "0 0 4294967295"));
	say("gid_map", "%s", put("/proc/self/gid_map", "0 0 4294967295"));
	say("timens_offsets", "%s", put("/proc/self/timens_offsets", "monotonic 1 0"));
	say("comm", "%s", put("/proc/self/comm", "other"));
	/* Raising is harmless, and brig itself might want it; recorded for the control. */
	say("raise", "%s", put("/proc/self/oom_score_adj", "1000"));
}
