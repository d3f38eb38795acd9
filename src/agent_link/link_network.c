/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a cell: records between the agent and the cell's gate (net/cell_stream.h). Only
 * their form is checked here: the gate checks the rest, and keeps all state. It always reads, so a
 * record that it does not take at once is taken soon.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "net/cell_stream.h"
#include "net/gate_messages.h"

/* NOLINTNEXTLINE(misc-redundant-expression): equal, as they must be */
_Static_assert(FRAME_RECORD_MOST == CELL_RECORD_MAX, "a record is the data of a frame");

int agent_link_network(struct agent_link *link, struct run *run, int line)
{
	const struct gate_word word = { .kind = GATE_STREAMS };

	link->network = line;
	link->reports.has_gate = 1;
	if (fcntl(line, F_SETFL, O_NONBLOCK) < 0 ||
	    send(line, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word)) {
		return -errno;
	}
	return run_listen(run, line, RUN_EVENT_CELL + link->first_event + AGENT_LINK_NETWORK,
			  EPOLLIN | EPOLLOUT | EPOLLET);
}

int network_pass(struct agent_link *link, size_t size)
{
	const unsigned char *data = link->in + FRAME_HEAD_BYTES;
	struct cell_record record;
	int r = cell_record_read(data, size, true, &record);
	ssize_t n = 0;

	if (r < 0) {
		return r;
	}
	do {
		n = link->network < 0 ? 0 : send(link->network, data, size, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	/* Where the gate is gone, the run ends because of that. */
	link->blocked = n < 0 && (errno == EAGAIN || errno == ENOBUFS);
	return link->blocked ? 0 : 1;
}

/*
 * A record that the gate has not taken in time is lost, and so are all that follow: a stream has no
 * hole. The end of the run comes after them, and is not lost.
 */
void network_await(struct agent_link *link, uint64_t deadline_ns)
{
	struct pollfd room = { .fd = link->network, .events = POLLOUT };
	uint64_t now = clock_now_ns();
	int left = now < deadline_ns ? (int)((deadline_ns - now) / 1000000u) : 0;
	int r = poll(&room, 1, left);

	if (r == 0 || (r < 0 && errno != EINTR)) {
		close_fd(&link->network);
	}
}

size_t network_read(struct agent_link *link, unsigned char *at, size_t room)
{
	ssize_t n;

	if (link->network < 0 || link->reports.state >= REPORT_RETURNS) {
		return 0;
	}
	do {
		n = recv(link->network, at, room, MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		return 0;
	}
	if (n < (ssize_t)FRAME_RECORD_LEAST || n > (ssize_t)room) {
		close_fd(&link->network);
		return 0;
	}
	return (size_t)n;
}
