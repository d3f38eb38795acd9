/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a run at its end: the input of the verdict. */
#ifndef BRIG_RUN_WATCH_FACTS_H
#define BRIG_RUN_WATCH_FACTS_H

#include <brig/brig.h>
#include <stdbool.h>
#include <stdint.h>

/* Why the warden ended the run; NONE: it ended by itself. */
enum ending {
	ENDING_NONE,
	ENDING_WALL,
	ENDING_CPU,
	ENDING_MEMORY,
	ENDING_PROCESSES,
	ENDING_STDOUT,
	ENDING_STDERR,
	ENDING_DENIALS,
	ENDING_CONNECTIONS, /* too many were refused */
	ENDING_WATCHED,
	ENDING_NETWORK, /* too many bytes */
	ENDING_GATE,    /* the gate is gone */
	ENDING_LOCK,    /* it kept the warden waiting for a kernel lock */
	ENDING_CANCELLED,
	ENDING_PROTOCOL, /* brig-init sent an invalid message: the cell is not trusted */
};

/* How an engine in the cell ended its program: it reports this itself. */
enum guest_end {
	GUEST_NONE, /* there is no engine, or the program ended by itself */
	GUEST_TRAP,
	GUEST_INSTRUCTIONS, /* as many as it may execute */
	GUEST_INVALID,      /* no program that the engine can start */
	GUEST_ENGINE,       /* the engine itself failed */
	GUEST_ENDS,
};

/* The threshold of the policy's monitor.end_after that an event has crossed. */
struct event_over {
	const char *key; /* NULL: none */
	enum ending ending;
	uint64_t most;
	char subject[96], reason[96]; /* of the last one */
};

struct facts {
	enum ending ending;
	bool exited;  /* brig-init reported the program's end */
	int end_code; /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
	int end_status;
	bool stuck; /* could not be killed in bounded time */

	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t memory_peak_bytes;
	uint64_t processes_peak;
	uint64_t tasks_now; /* at the last check, with brig-init; 0: not counted */
	uint64_t disk_peak_bytes;
	uint64_t inodes_peak;
	uint64_t net_bytes;
	uint64_t oom_kills;
	bool oom_outside;  /* by a limit above the cell's, or by the host */
	bool sockets_over; /* too much data waits in sockets, which are counted separately */
	uint64_t fork_refusals;
	bool disk_full; /* some check found no free page */
	bool inodes_full;
	bool file_full;            /* a file has the largest size allowed */
	bool processes_full;       /* the same, where no cgroup counts refusals */
	char kill_calls[96];       /* calls for which the policy kills; "": none */
	const char *denial_remedy; /* advice for the operator; NULL: change the policy */
	struct event_over over;
	enum guest_end guest;
	char guest_text[200]; /* about it, for people */
	uint64_t instructions;
};
#endif
