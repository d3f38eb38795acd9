/* SPDX-License-Identifier: Apache-2.0 */
/* The reason for which a program did not begin, as an error. */
#include <errno.h>

#include "agent_link/agent_link.h"

static const struct {
	const char *step, *message, *remedy;
} steps[FRAME_STEPS] = {
	[FRAME_STEP_ASSIGNMENT] = { "assign", "the arguments or variables cannot be passed on",
				    "pass fewer or shorter ones" },
	[FRAME_STEP_FILE] = { "input", "an input file cannot be written",
			      "raise limits.disk or limits.inodes, or pass smaller files" },
	[FRAME_STEP_SPAWN] = { "spawn", "cannot start a process",
			       "raise limits.processes in the policy" },
	[FRAME_STEP_STDIO] = { "stdio", "cannot connect the streams", "see brig doctor" },
	[FRAME_STEP_DIRECTORY] = { "workdir", "cannot enter /sandbox", "see brig doctor" },
	[FRAME_STEP_LIMIT] = { "rlimit", "cannot set the limits of a process",
			       "lower the limits of the policy" },
	[FRAME_STEP_FILTER] = { "seccomp", "cannot install the system call filter",
				"see brig doctor" },
	[FRAME_STEP_CLOCK] = { "clock", "the agent cannot set the clock of its machine",
			       "let the agent be root of the machine" },
	[FRAME_STEP_ENTROPY] = { "entropy", "the agent cannot add random bytes to its kernel",
				 "let the agent be root of the machine" },
	[FRAME_STEP_WORK] = { "work", "the agent cannot mount the writable places",
			      "let the agent be root of its container or machine" },
	[FRAME_STEP_IDS] = { "ids", "the program cannot get ids of its own",
			     "let the agent be root of its container or machine" },
	[FRAME_STEP_EXEC] = { "exec", "the program cannot be executed",
			      "name it by its full path, and chmod +x it" },
	[FRAME_STEP_WAIT] = { "wait", "the interpreter of a held cell does not wait",
			      "remove warm.wait from the file of the runtime" },
	[FRAME_STEP_LANDLOCK] = { "landlock", "cannot restrict files with Landlock",
				  "see brig doctor" },
	[FRAME_STEP_NETWORK] = { "network", "the agent cannot make the addresses of the gate",
				 "leave ranges of addresses out of the network rules, or use "
				 "another provider" },
	[FRAME_STEP_RETURN] = { "return", "cannot make a place on the host for returned files",
				"allow brig's user namespaces of its own, and raise "
				"user.max_user_namespaces: see brig doctor" },
};

int agent_link_error(const struct agent_link *link, struct brig_error *err)
{
	enum frame_step step =
		link->error ? link->error_step : (enum frame_step)link->reports.failed_step;
	int errnum = link->error ? link->error : (int)link->reports.failed_errnum;

	if (errnum == 0) {
		return 0;
	}
	bool input =
		step == FRAME_STEP_EXEC || step == FRAME_STEP_FILE || step == FRAME_STEP_ASSIGNMENT;
	int r = error_errno(err, input && errnum != ENOMEM ? BRIG_E_INPUT : BRIG_E_SYSTEM, errnum,
			    "%s", steps[step].message);
	error_remedy(err, "%s", steps[step].remedy);
	error_step(err, steps[step].step);
	return r;
}
