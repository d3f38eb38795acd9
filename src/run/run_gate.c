/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cell's gate, as the warden sees it: a socket on which it reports each connection when that
 * ends. When the cell has ended, our side of the socket is shut down; the gate reports the rest and
 * exits. A gate that exits earlier, or breaks the protocol, ends the run.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sys.h"
#include "net/gate_messages.h"
#include "run/run_internal.h"

#define GATE_CLOSE_NS 500000000u
/* So that a program with many refused connections does not hold up other runs. */
#define RECORDS_A_TURN 512 /* more than the socket holds at a time */

static const char *const verdicts[GATE_VERDICTS] = {
	[GATE_ALLOWED] = "allowed",
	[GATE_REFUSED_NAME] = "refused_name",
	[GATE_REFUSED_PORT] = "refused_port",
	[GATE_REFUSED_ADDRESS] = "refused_address",
	[GATE_REFUSED_PROTOCOL] = "refused_protocol",
	[GATE_REFUSED_COUNT] = "refused_count",
	[GATE_REFUSED_PEER] = "refused_peer",
	[GATE_UNRESOLVED] = "unresolved",
	[GATE_UNREACHABLE] = "unreachable",
	[GATE_SPENT_BYTES] = "limit",
};

static const char by_program[] = "the program did not finish the handshake: it does not trust the "
				 "cell's authority, or speaks no HTTP/1.1 in TLS 1.2 or later";

static const char *const causes[GATE_CAUSES] = {
	[GATE_CAUSE_UNTRUSTED] = "the host's certificate is not signed by a trusted authority",
	[GATE_CAUSE_NAME] = "the host's certificate is for another name",
	[GATE_CAUSE_TIME] = "the host's certificate has expired, or is not valid yet",
	[GATE_CAUSE_CERTIFICATE] = "the host's certificate is not valid for a server",
	[GATE_CAUSE_PROTOCOL] = "the host does not speak HTTP/1.1 in TLS 1.2 or later",
	[GATE_CAUSE_PROGRAM] = by_program,
};

int run_gate_listen(struct run *run)
{
	return run->gate.line < 0 ? 0 : run_listen(run, run->gate.line, RUN_EVENT_GATE, EPOLLIN);
}

static bool is_text(const char *text, size_t room)
{
	const char *end = memchr(text, '\0', room);

	for (; end && text < end; text++) {
		if (*text <= ' ' || *text == 0x7f) {
			return false;
		}
	}
	return end != NULL;
}

/* By verdict: its meaning, and the remedy. */
static const struct {
	const char *meaning, *operator_remedy;
} refusals[GATE_VERDICTS] = {
	[GATE_REFUSED_NAME] = { "no rule allows that name",
				"If it should be reached, name it with --net, or in network.allow "
				"of the policy." },
	[GATE_REFUSED_PORT] = { "the host is allowed, but not that port",
				"If it should be reached, name the port with --net HOST:PORT, or "
				"in network.allow." },
	[GATE_REFUSED_ADDRESS] = { "it is a private or special address, or one without a rule",
				   "If it should be reached, allow it as a local host: --net "
				   "local:HOST:PORT, or \"local\" in network.allow." },
	[GATE_REFUSED_PROTOCOL] = { "it was not TLS or HTTP for that host",
				    "If the host speaks something else there, set \"protocol\" "
				    "of its rule to \"any\"." },
	[GATE_REFUSED_PEER] = { "the host's certificate could not be verified, which is required "
				"where its TLS is opened",
				"If it is a private service, name the file with its authorities as "
				"\"authorities\" of its credential; else let the host renew its "
				"certificate." },
	[GATE_REFUSED_COUNT] = { "there were too many connections",
				 "Raise connections, connections_total or rate of the policy's "
				 "network." },
};

static void note_refusal(struct run *run, const struct gate_connection *record)
{
	char subject[NET_NAME_MAX + 16];
	int length = record->port ? snprintf(subject, sizeof(subject), "%s:%u", record->host,
					     record->port)
				  : snprintf(subject, sizeof(subject), "%s", record->host);

	run_note(run, &(struct event){ .kind = BRIG_EVENT_CONNECTION_REFUSED,
				       .subject = subject,
				       .subject_size = (size_t)length,
				       .reason = refusals[record->verdict].meaning });
}

/* Refused connections that the gate counted without a record each. */
static void note_refused(struct run *run, uint64_t count)
{
	if (count > run->gate.refused) {
		run_note_unnamed(run, BRIG_EVENT_CONNECTION_REFUSED, count - run->gate.refused);
		run->gate.refused = count;
	}
}

static int take_connection(struct run *run, const struct gate_connection *record)
{
	struct run_gate *gate = &run->gate;

	if (record->verdict >= GATE_VERDICTS || record->cause >= GATE_CAUSES ||
	    record->port > 65535 || !is_text(record->host, sizeof(record->host)) ||
	    !is_text(record->address, sizeof(record->address))) {
		return -EPROTO;
	}
	gate->bytes += record->bytes_up + record->bytes_down + record->extra_bytes;
	if (gate_is_refusal(record->verdict)) {
		note_refusal(run, record);
	}
	if (gate->count == GATE_TOLD_MAX) {
		gate->untold++;
		return 0;
	}
	struct brig_connection *list =
		reallocarray(gate->list, gate->count + 1, sizeof(*gate->list));
	if (!list) {
		return -ENOMEM;
	}
	gate->list = list;
	struct brig_connection *entry = &list[gate->count];
	*entry = (struct brig_connection){ .host = strdup(record->host),
					   .port = (uint16_t)record->port,
					   .reason = causes[record->cause],
					   .bytes_up = record->bytes_up,
					   .bytes_down = record->bytes_down,
					   .took_ns = record->took_ns };
	if (!entry->host) {
		return -ENOMEM;
	}
	snprintf(entry->address, sizeof(entry->address), "%s", record->address);
	snprintf(entry->verdict, sizeof(entry->verdict), "%s", verdicts[record->verdict]);
	gate->count++;
	return 0;
}

static int take_record(struct run *run, const void *data, size_t size)
{
	const struct gate_total *total = data;
	uint32_t kind;

	if (size < sizeof(kind)) {
		return -EPROTO;
	}
	memcpy(&kind, data, sizeof(kind));
	if (kind == GATE_CONNECTION && size == sizeof(struct gate_connection)) {
		return take_connection(run, data);
	}
	if (kind == GATE_REFUSED && size == sizeof(struct gate_word)) {
		struct gate_word word;
		memcpy(&word, data, sizeof(word));
		note_refused(run, word.value);
		return 0;
	}
	if (kind == GATE_SPENT && size == sizeof(struct gate_word)) {
		run->facts.net_bytes = run->options.spec->limits.net_bytes;
		run_end(run, ENDING_NETWORK);
		return 0;
	}
	if (kind == GATE_TOTAL && size == sizeof(*total) && run->gate.closing) {
		run->gate.bytes = total->bytes;
		run->gate.untold += total->untold;
		note_refused(run, total->refused);
		return 0;
	}
	return -EPROTO;
}

static void close_line(struct run *run)
{
	/* Removed explicitly: a copy in a process that the host forked would keep it in the set. */
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->gate.line, NULL);
	close_fd(&run->gate.line);
}

/* 1: the cell has ended, and the gate has reported everything. */
int run_on_gate(struct run *run)
{
	union {
		struct gate_connection connection;
		struct gate_total total;
		char more[sizeof(struct gate_connection) + 1];
	} record;

	for (int i = 0; run->gate.line >= 0 && i < RECORDS_A_TURN; i++) {
		ssize_t n = recv(run->gate.line, &record, sizeof(record), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return 0;
		}
		int r = n > 0 ? take_record(run, &record, (size_t)n) : -EPIPE;
		if (r == -ENOMEM) {
			return r;
		}
		if (r < 0) {
			close_line(run);
			if (run->gate.closing) {
				return 1;
			}
			run_end(run, ENDING_GATE);
		}
	}
	return 0;
}

bool run_gate_over(struct run *run)
{
	if (run->gate.line < 0 || run->gate.closing) {
		return true;
	}
	run->gate.closing = true;
	shutdown(run->gate.line, SHUT_WR);
	/* Descriptors that have reported the cell's end would report it again and again. */
	run->provider->mute(run);
	if (run->state < RUN_ENDING) {
		run_enter(run, RUN_ENDING);
	}
	run->kill_deadline_ns = clock_now_ns() + GATE_CLOSE_NS;
	run_arm(run);
	return run_on_gate(run) == 1;
}

void run_gate_fill(struct run *run)
{
	struct run_gate *gate = &run->gate;
	struct brig_result *result = run->result;

	if (!gate->any) {
		return;
	}
	if (run->facts.ending != ENDING_NETWORK) {
		run->facts.net_bytes = gate->bytes - gate->bytes_base;
	}
	result->networked = true;
	result->connections = TAKE_PTR(gate->list);
	result->connections_count = gate->count;
	result->connections_untold = gate->untold;
	gate->count = 0;
	gate->untold = 0;
}

void run_gate_remedy(struct brig_result *result)
{
	if (result->status != BRIG_FAILED || result->denied) {
		return;
	}
	for (size_t i = 0; i < result->connections_count; i++) {
		const struct brig_connection *entry = &result->connections[i];
		for (size_t j = 0; j < GATE_VERDICTS; j++) {
			if (!gate_is_refusal((uint32_t)j) ||
			    strcmp(entry->verdict, verdicts[j]) != 0) {
				continue;
			}
			snprintf(result->remedy, sizeof(result->remedy),
				 "The program failed after a connection to %.100s was refused: %s.",
				 entry->host, entry->reason ? entry->reason : refusals[j].meaning);
			snprintf(result->operator_remedy, sizeof(result->operator_remedy), "%s",
				 refusals[j].operator_remedy);
			return;
		}
	}
}

void run_gate_done(struct run *run)
{
	struct run_gate *gate = &run->gate;
	struct pollfd dead = { .fd = gate->pidfd, .events = POLLIN };
	siginfo_t info;

	close_fd(&gate->line);
	if (gate->pidfd >= 0) {
		/*
		 * It has reported everything, or the rest is not needed. Other runs wait for this
		 * thread.
		 */
		if (poll(&dead, 1, 0) <= 0) {
			sys_pidfd_send_signal(gate->pidfd, SIGKILL);
		}
		syscall(SYS_waitid, P_PIDFD, gate->pidfd, &info, WEXITED | __WALL, NULL);
		close_fd(&gate->pidfd);
	}
	for (size_t i = 0; i < gate->count; i++) {
		free(gate->list[i].host);
	}
	free(gate->list);
	gate->list = NULL;
	gate->count = 0;
}
