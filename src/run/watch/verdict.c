/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: see verdict.h. */
#include "run/watch/verdict.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"

/* A row for each cause of a run's end: its name, its limit, the remedies. */
struct cause {
	enum brig_status status;
	const char *name;
	const char *limit_name;
	size_t limit; /* offset in struct brig_limits */
	size_t peak;  /* offset in struct facts */
	const char *remedy;
	const char *operator_remedy;
};

#define LIMIT(field) offsetof(struct brig_limits, field)
#define PEAK(field)  offsetof(struct facts, field)
#define NOTHING      ((size_t)-1)

enum cause_kind {
	CAUSE_EXIT_OK,
	CAUSE_EXIT,
	CAUSE_SIGNAL,
	CAUSE_WALL,
	CAUSE_CPU,
	CAUSE_MEMORY,
	CAUSE_PROCESSES,
	CAUSE_DISK,
	CAUSE_INODES,
	CAUSE_FILE_SIZE,
	CAUSE_STDOUT,
	CAUSE_STDERR,
	CAUSE_FOREIGN_CALL,
	CAUSE_KILL_CALL, /* or a foreign call: the kernel does not report which */
	CAUSE_DENIALS,
	CAUSE_CONNECTIONS,
	CAUSE_WATCHED,
	CAUSE_NETWORK,
	CAUSE_GATE,
	CAUSE_LOCK,
	CAUSE_CANCELLED,
	CAUSE_PROTOCOL,
	CAUSE_STUCK,
	CAUSE_VANISHED,
	CAUSE_HOST_MEMORY,
	CAUSE_TRAP,
	CAUSE_INSTRUCTIONS,
	CAUSE_MODULE,
	CAUSE_ENGINE,
};

static const struct cause causes[] = {
	[CAUSE_EXIT_OK] = { BRIG_OK, "exit", "", NOTHING, NOTHING, "", "" },
	[CAUSE_EXIT] = { BRIG_FAILED, "exit", "", NOTHING, NOTHING,
			 "The program ended with a non-zero status; its stderr says why.", "" },
	[CAUSE_SIGNAL] = { BRIG_FAILED, "signal", "", NOTHING, NOTHING,
			   "The program was ended by a signal: a crash, an abort, or a kill of its "
			   "own.",
			   "" },
	[CAUSE_WALL] = { BRIG_TIMEOUT, "wall", "wall_ms", LIMIT(wall_ns), PEAK(wall_ns),
			 "The program did not end in time. Look for endless loops or waits on "
			 "input "
			 "or network; do less work.",
			 "Raise limits.wall in the policy." },
	[CAUSE_CPU] = { BRIG_CPU_LIMIT, "cpu_time", "cpu_ms", LIMIT(cpu_ns), PEAK(cpu_ns),
			"The program used up its cpu time. Use a better algorithm, or less data.",
			"Raise limits.cpu_time in the policy." },
	[CAUSE_MEMORY] = { BRIG_MEMORY_LIMIT, "memory", "memory_bytes", LIMIT(memory_bytes),
			   PEAK(memory_peak_bytes),
			   "The program needed more memory than it has. Work in smaller pieces; "
			   "files "
			   "in /tmp and /dev/shm count as memory too.",
			   "Raise limits.memory in the policy." },
	[CAUSE_PROCESSES] = { BRIG_PROCESS_LIMIT, "processes", "processes", LIMIT(processes),
			      PEAK(processes_peak),
			      "The program wanted more processes and threads than it may have. Use "
			      "a "
			      "smaller pool, and wait for children.",
			      "Raise limits.processes in the policy." },
	[CAUSE_DISK] = { BRIG_DISK_LIMIT, "disk", "disk_bytes", LIMIT(disk_bytes),
			 PEAK(disk_peak_bytes),
			 "The program filled its disk space (/sandbox, /tmp and /dev/shm "
			 "together). "
			 "Write less, or delete what is not needed.",
			 "Raise limits.disk in the policy." },
	[CAUSE_INODES] = { BRIG_DISK_LIMIT, "inodes", "disk_inodes", LIMIT(disk_inodes),
			   PEAK(inodes_peak),
			   "The program made too many files. Put many small things into one file.",
			   "Raise limits.inodes in the policy." },
	[CAUSE_FILE_SIZE] = { BRIG_DISK_LIMIT, "file_size", "file_bytes", LIMIT(file_bytes),
			      NOTHING, "One file grew beyond the size that a file may have.",
			      "Raise limits.file_size in the policy." },
	[CAUSE_STDOUT] = { BRIG_OUTPUT_LIMIT, "stdout", "stdout_bytes", LIMIT(stdout_bytes),
			   NOTHING,
			   "The program printed more than it may; what came before is kept. Print "
			   "less, or write to a file in out/.",
			   "Raise limits.stdout, or set on_output_limit to \"cut\" in the "
			   "policy." },
	[CAUSE_STDERR] = { BRIG_OUTPUT_LIMIT, "stderr", "stderr_bytes", LIMIT(stderr_bytes),
			   NOTHING,
			   "The program printed more to stderr than it may; what came before is "
			   "kept.",
			   "Raise limits.stderr, or set on_output_limit to \"cut\" in the "
			   "policy." },
	[CAUSE_FOREIGN_CALL] = { BRIG_DENIED, "syscall", "", NOTHING, NOTHING,
				 "The program used a system-call interface that cells do not have "
				 "(32-bit or x32), and was killed for it.",
				 "Run 64-bit programs only." },
	[CAUSE_KILL_CALL] = { BRIG_DENIED, "syscall", "", NOTHING, NOTHING,
			      "The program was killed for a system call.", "" },
	[CAUSE_DENIALS] = { BRIG_DENIED, "denials", "", NOTHING, NOTHING,
			    "The program kept trying operations that the policy refuses; the first "
			    "one is named in the denial.",
			    "Allow the call in the policy's syscalls, or raise "
			    "monitor.end_after.denied_calls (denials_max)." },
	[CAUSE_CONNECTIONS] = { BRIG_DENIED, "connections", "", NOTHING, NOTHING,
				"The program kept trying connections that the policy refuses.",
				"Allow the host in network.allow, or raise "
				"monitor.end_after.refused_connections." },
	[CAUSE_WATCHED] = { BRIG_DENIED, "watched", "", NOTHING, NOTHING,
			    "The program did too often what the policy watches.",
			    "Take it from the policy's monitor, or raise "
			    "monitor.end_after.watched." },
	[CAUSE_NETWORK] = { BRIG_NETWORK_LIMIT, "net", "net_bytes", LIMIT(net_bytes),
			    PEAK(net_bytes),
			    "The program sent and received as much over the network as it may. "
			    "Transfer less.",
			    "Raise limits.net in the policy." },
	[CAUSE_GATE] = { BRIG_ERROR, "gate", "", NOTHING, NOTHING,
			 "The cell's way to the network broke, and the run was ended.",
			 "Something ended brig-gate (an out-of-memory kill of the host?); see the "
			 "kernel's log." },
	[CAUSE_LOCK] = { BRIG_DENIED, "kernel_lock", "", NOTHING, NOTHING,
			 "The program held a kernel lock that brig needed for more than 250 ms, "
			 "and was killed: other programs would have had to wait for it. Write in "
			 "smaller pieces, and with fewer processes at once.",
			 "A process of the cell was in a long system call, or got no processor "
			 "within one: raise limits.cpu, or lower limits.processes." },
	[CAUSE_CANCELLED] = { BRIG_CANCELLED, "cancelled", "", NOTHING, NOTHING,
			      "The caller ended the run.", "" },
	[CAUSE_PROTOCOL] = { BRIG_ERROR, "protocol", "", NOTHING, NOTHING,
			     "The cell broke brig's own protocol and was killed.",
			     "Report this: a cell's init must never do that." },
	[CAUSE_STUCK] = { BRIG_LOST, "stuck", "", NOTHING, NOTHING,
			  "The program could not be ended in time.",
			  "A process of the cell hangs in the kernel; look for it with ps." },
	[CAUSE_VANISHED] = { BRIG_ERROR, "vanished", "", NOTHING, NOTHING,
			     "The cell ended without a word.",
			     "Something outside of brig killed the cell (an out-of-memory kill of "
			     "the host?); see the kernel's log." },
	[CAUSE_HOST_MEMORY] = { BRIG_ERROR, "host_memory", "", NOTHING, NOTHING,
				"Memory ran out outside of the cell; its own limit was not "
				"reached. "
				"Try again.",
				"The host, or a control group above the cell's, has less memory "
				"than is in use: raise memory.max there, or run less at a time." },
	[CAUSE_TRAP] = { BRIG_FAILED, "trap", "", NOTHING, NOTHING,
			 "The program was ended by a trap.", "" },
	[CAUSE_INSTRUCTIONS] = { BRIG_CPU_LIMIT, "instructions", "instructions",
				 LIMIT(instructions), PEAK(instructions),
				 "The program executed as many instructions as it may. Use a "
				 "better algorithm, or less data.",
				 "Raise limits.instructions in the policy." },
	[CAUSE_MODULE] = { BRIG_FAILED, "module", "", NOTHING, NOTHING,
			   "The module could not be started.", "" },
	[CAUSE_ENGINE] = { BRIG_ERROR, "engine", "", NOTHING, NOTHING,
			   "The engine for WebAssembly could not run the program.",
			   "See brig providers; prepared modules are made anew by brig wasm "
			   "prepare." },
};

static const enum cause_kind by_guest[GUEST_ENDS] = {
	[GUEST_TRAP] = CAUSE_TRAP,
	[GUEST_INSTRUCTIONS] = CAUSE_INSTRUCTIONS,
	[GUEST_INVALID] = CAUSE_MODULE,
	[GUEST_ENGINE] = CAUSE_ENGINE,
};

static const enum cause_kind by_ending[] = {
	[ENDING_WALL] = CAUSE_WALL,         [ENDING_CPU] = CAUSE_CPU,
	[ENDING_MEMORY] = CAUSE_MEMORY,     [ENDING_PROCESSES] = CAUSE_PROCESSES,
	[ENDING_STDOUT] = CAUSE_STDOUT,     [ENDING_STDERR] = CAUSE_STDERR,
	[ENDING_DENIALS] = CAUSE_DENIALS,   [ENDING_CANCELLED] = CAUSE_CANCELLED,
	[ENDING_PROTOCOL] = CAUSE_PROTOCOL, [ENDING_NETWORK] = CAUSE_NETWORK,
	[ENDING_GATE] = CAUSE_GATE,         [ENDING_CONNECTIONS] = CAUSE_CONNECTIONS,
	[ENDING_WATCHED] = CAUSE_WATCHED,   [ENDING_LOCK] = CAUSE_LOCK,
};

static enum cause_kind memory_cause(const struct facts *facts)
{
	return facts->oom_outside ? CAUSE_HOST_MEMORY : CAUSE_MEMORY;
}

static enum cause_kind find_cause(const struct facts *facts, const struct brig_result *result)
{
	const struct brig_limits *limits = &result->limits;

	if (facts->stuck) {
		return CAUSE_STUCK;
	}
	if (facts->ending == ENDING_MEMORY) {
		return memory_cause(facts);
	}
	if (facts->ending != ENDING_NONE) {
		return by_ending[facts->ending];
	}
	if (facts->oom_kills > 0) {
		return memory_cause(facts);
	}
	if (!facts->exited) {
		return CAUSE_VANISHED;
	}
	if (facts->guest != GUEST_NONE) {
		return by_guest[facts->guest];
	}
	if (facts->end_code == CLD_EXITED && facts->end_status == 0) {
		return CAUSE_EXIT_OK;
	}
	if (facts->end_code != CLD_EXITED) {
		switch (facts->end_status) {
		case SIGSYS:
			return facts->kill_calls[0] ? CAUSE_KILL_CALL : CAUSE_FOREIGN_CALL;
		case SIGXFSZ:
			return CAUSE_FILE_SIZE;
		case SIGXCPU: /* a program can also send it to itself */
		case SIGKILL:
			if (facts->cpu_ns >= limits->cpu_ns) {
				return CAUSE_CPU;
			}
			break;
		default:
			break;
		}
	}
	/* It failed; if a limit was reached, that is the more useful cause. */
	if (facts->disk_full) {
		return CAUSE_DISK;
	}
	if (facts->inodes_full) {
		return CAUSE_INODES;
	}
	if (facts->file_full) {
		return CAUSE_FILE_SIZE;
	}
	if (facts->fork_refusals > 0 || facts->processes_full) {
		return CAUSE_PROCESSES;
	}
	return facts->end_code == CLD_EXITED ? CAUSE_EXIT : CAUSE_SIGNAL;
}

/* Names the last event, and the line of the policy that ended the run. */
static void name_event(const struct event_over *over, struct brig_result *result)
{
	snprintf(result->remedy, sizeof(result->remedy),
		 "The policy ends a run after %llu such events, and the last was %.80s: %.70s.",
		 (unsigned long long)over->most, over->subject, over->reason);
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "It is monitor.end_after.%s of the policy, %llu, that ended it: raise that, or "
		 "allow what was tried.",
		 over->key, (unsigned long long)over->most);
}

/*
 * The kernel does not report the call that it killed for, so all calls that the policy kills for
 * are named.
 */
static void name_kill_calls(const struct facts *facts, struct brig_result *result)
{
	snprintf(
		result->remedy, sizeof(result->remedy),
		"The program was killed for a system call. The policy kills for: %s; cells also do "
		"for 32-bit and x32 calls.",
		facts->kill_calls);
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "Take the \"kill:\" line from the policy's syscalls, or refuse the call with "
		 "\"-call\": a refused call is named in the result.");
}

void verdict_give(const struct facts *facts, struct brig_result *result)
{
	const struct cause *cause = &causes[find_cause(facts, result)];

	result->status = cause->status;
	result->exit_code = -1;
	result->signal = 0;
	if (facts->exited && facts->ending == ENDING_NONE) {
		if (facts->end_code == CLD_EXITED) {
			result->exit_code = facts->end_status;
		} else {
			result->signal = facts->end_status;
		}
	}
	snprintf(result->cause, sizeof(result->cause), "%s", cause->name);
	snprintf(result->limit_name, sizeof(result->limit_name), "%s", cause->limit_name);
	if (cause->limit != NOTHING) {
		result->limit = *(const uint64_t *)((const char *)&result->limits + cause->limit);
	}
	if (cause->peak != NOTHING) {
		result->peak = *(const uint64_t *)((const char *)facts + cause->peak);
	} else if (cause->limit != NOTHING) {
		result->peak = result->limit;
	}
	snprintf(result->remedy, sizeof(result->remedy), "%s", cause->remedy);
	snprintf(result->operator_remedy, sizeof(result->operator_remedy), "%s",
		 cause->operator_remedy);
	if (cause == &causes[CAUSE_KILL_CALL]) {
		name_kill_calls(facts, result);
	}
	if (facts->guest_text[0] && cause == &causes[by_guest[facts->guest]] &&
	    cause->limit == NOTHING) {
		snprintf(result->remedy, sizeof(result->remedy), "%.*s: %s.",
			 (int)strlen(cause->remedy) - 1, cause->remedy, facts->guest_text);
	}
	if (facts->over.key && facts->ending == facts->over.ending) {
		name_event(&facts->over, result);
	}
	if (result->denied && cause->status == BRIG_FAILED) {
		snprintf(result->remedy, sizeof(result->remedy),
			 "The program failed after %s was refused: %.120s.", result->denial.call,
			 result->denial.reason);
		if (facts->denial_remedy) {
			snprintf(result->operator_remedy, sizeof(result->operator_remedy), "%s",
				 facts->denial_remedy);
			return;
		}
		snprintf(result->operator_remedy, sizeof(result->operator_remedy),
			 "If the program should be able to do this, allow %s in the policy's "
			 "syscalls.",
			 result->denial.call);
	}
}

bool verdict_of_limit(const char *key, enum brig_status *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (causes[i].limit != NOTHING && strcmp(causes[i].name, key) == 0) {
			*ret = causes[i].status;
			return true;
		}
	}
	return false;
}
