/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's end of the stream to an agent: see agent_link.h. */
#include "agent_link/agent_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The link does a bounded piece of work in one turn. */
#define FRAMES_A_TURN 64

#define FRAME_BYTES (FRAME_HEAD_BYTES + FRAME_DATA_MAX)

/* --- the set ---------------------------------------------------------------------------------- */

static int listen_to_stream(struct agent_link *link, struct run *run, uint32_t wanted)
{
	struct epoll_event want = { .events = wanted,
				    .data = { .u32 = RUN_EVENT_CELL + link->first_event +
						     AGENT_LINK_STREAM } };
	int how = !wanted ? EPOLL_CTL_DEL : link->listening ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (wanted == link->listening) {
		return 0;
	}
	link->listening = wanted;
	return epoll_ctl(run->epoll, how, link->fd, &want) < 0 ? -errno : 0;
}

/* Not in the set while nothing can be done: a peer that is gone would be reported all the time. */
static int update(struct agent_link *link, struct run *run)
{
	bool sends = link->out_at < link->out_size || link->more;
	uint32_t wanted = (link->ended || link->blocked ? 0 : EPOLLIN) |
			  (sends && !link->ended ? EPOLLOUT : 0);

	return link->fd < 0 ? 0 : listen_to_stream(link, run, wanted);
}

int agent_link_listen(struct agent_link *link, struct run *run)
{
	const struct {
		int fd;
		enum agent_link_event event;
		uint32_t events;
	} list[] = {
		/* Edge-triggered: the news is bytes, or room, where there was none. */
		{ link->input, AGENT_LINK_INPUT, EPOLLIN | EPOLLET },
		{ link->output[0], AGENT_LINK_STDOUT, EPOLLOUT | EPOLLET },
		{ link->output[1], AGENT_LINK_STDERR, EPOLLOUT | EPOLLET },
		{ link->channel, AGENT_LINK_CHANNEL, EPOLLIN | EPOLLOUT | EPOLLET },
		{ link->network, AGENT_LINK_NETWORK, EPOLLIN | EPOLLOUT | EPOLLET },
		{ link->place.root < 0 ? link->place.socket : -1, AGENT_LINK_PLACE, EPOLLIN },
		{ link->timer, AGENT_LINK_TIMER, EPOLLIN },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(list); i++) {
		if (list[i].fd >= 0) {
			r = run_listen(run, list[i].fd,
				       RUN_EVENT_CELL + link->first_event + list[i].event,
				       list[i].events);
		}
	}
	link->listening = 0;
	return r < 0 ? r : update(link, run);
}

/* The session has the other end; run->value is closed as soon as the driver is ready. */
static int take_channel(struct agent_link *link, const struct run *run)
{
	if (!run->options.session || run->value < 0) {
		return 0;
	}
	link->channel = fcntl(run->value, F_DUPFD_CLOEXEC, 3);
	if (link->channel < 0 || fcntl(link->channel, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
		return -errno;
	}
	link->reports.has_channel = 1;
	return 0;
}

int agent_link_open(struct agent_link *link, struct run *run, int fd, unsigned first_event,
		    int (*on_ready)(struct run *run), const struct agent_options *options)
{
	*link = (struct agent_link){
		.fd = fd,
		.first_event = first_event,
		.on_ready = on_ready,
		.passed = -1,
		.options = options ? *options : (struct agent_options){ 0 },
		.files = { .file = -1, .root = -1 },
		.place = OWN_TMPFS_NONE,
		.timer = -1,
		.channel = -1,
		.network = -1,
		.in = malloc(FRAME_BYTES),
		.out = malloc(FRAME_BYTES),
		.input = TAKE_FD(run->inside[0]),
		.output = { TAKE_FD(run->inside[1]), TAKE_FD(run->inside[2]) },
	};
	if (!link->in || !link->out) {
		return -ENOMEM;
	}
	/* A session's files stay where they are: between its runs its programs go on. */
	link->options.returns = link->options.returns && !run->options.session;
	const int ours[] = { link->fd, link->input, link->output[0], link->output[1] };
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if (fcntl(ours[i], F_SETFL, O_NONBLOCK) < 0) {
			return -errno;
		}
	}
	int r = link->options.listener ? 0 : plain_socket_begin(link->fd, true, &link->plain);
	r = r < 0 ? r : take_channel(link, run);
	r = r == 0 && link->options.returns ? files_begin(link, run) : r;
	return r < 0 ? r : agent_link_listen(link, run);
}

void agent_link_close(struct agent_link *link)
{
	plain_socket_close(&link->fd);
	close_fd(&link->input);
	close_fd(&link->channel);
	close_fd(&link->network);
	close_fd(&link->output[0]);
	close_fd(&link->output[1]);
	close_fd(&link->passed);
	files_done(link);
	free(TAKE_PTR(link->in));
	free(TAKE_PTR(link->out));
}

/* --- sending ---------------------------------------------------------------------------------- */

/* 1: all of the frame is sent; 0: there is no room; -errno. */
static int send_frame(struct agent_link *link)
{
	while (link->out_at < link->out_size) {
		ssize_t n = send(link->fd, link->out + link->out_at, link->out_size - link->out_at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return errno == EAGAIN ? 0 : -errno;
		}
		link->out_at += (size_t)n;
	}
	return 1;
}

static int send_some(struct agent_link *link, struct run *run)
{
	link->more = false;
	if (link->fd < 0 || link->ended) {
		return 0;
	}
	for (unsigned i = 0; i < FRAMES_A_TURN; i++) {
		int r = send_frame(link);
		if (r < 0) {
			/* Its end will be reported; until then nothing is sent. */
			link->phase = ASSIGN_NOTHING;
			link->out_at = link->out_size = 0;
			return 0;
		}
		r = r == 0 ? 0 : assign_next(link, run->options.spec);
		if (r <= 0) {
			return r;
		}
	}
	link->more = true;
	return 0;
}

/* The program's descriptor 3, if it has one. */
int link_begin(struct agent_link *link, const struct run *run)
{
	link->phase = ASSIGN_FIRST;
	link->parts = link->holds ? ASSIGN_RUN : ASSIGN_AHEAD | ASSIGN_RUN;
	link->value = run->value >= 0 && !run->options.session ? run->options.value : VALUE_NONE;
	link->reports.wants_value = link->value != VALUE_NONE;
	/* Until there is a program, the agent's bytes are its own. */
	return link->options.listener && !run->options.spec->filter
		       ? plain_socket_begin(link->fd, true, &link->plain)
		       : 0;
}

int agent_link_begin(struct agent_link *link, struct run *run)
{
	int r = link_begin(link, run);

	r = r < 0 ? r : send_some(link, run);
	return r < 0 ? r : update(link, run);
}

int agent_link_hold(struct agent_link *link, struct run *run)
{
	link->phase = ASSIGN_FIRST;
	link->parts = ASSIGN_AHEAD | ASSIGN_HOLD;
	link->holds = true;
	link->reports.wants_waiting = 1;
	int r = send_some(link, run);
	return r < 0 ? r : update(link, run);
}

bool agent_link_is_waiting(const struct agent_link *link)
{
	return link->holds && !link->reports.wants_waiting && link->phase == ASSIGN_NOTHING;
}

bool agent_link_has_begun(const struct agent_link *link)
{
	return link->phase != ASSIGN_NOTHING && (link->parts & ASSIGN_RUN);
}

int agent_link_signal(struct agent_link *link, struct run *run, int signal)
{
	link->signal = signal;
	int r = send_some(link, run);
	return r < 0 ? r : update(link, run);
}

int agent_link_mark(struct agent_link *link, struct run *run)
{
	link->marks++;
	link->reports.marks++;
	link->blocked = false;
	int r = send_some(link, run);
	return r < 0 ? r : update(link, run);
}

int agent_link_handle(struct agent_link *link, struct run *run, unsigned event)
{
	int r = event == AGENT_LINK_PLACE   ? files_have_place(link, run)
		: event == AGENT_LINK_TIMER ? files_late(link, run)
					    : 0;

	r = r < 0 || event == AGENT_LINK_INPUT ? r : link_receive(link, run);
	if (r == 0) {
		r = send_some(link, run);
	}
	if (r < 0) {
		link->ended = true;
	}
	int updated = update(link, run);
	return r < 0 ? r : updated;
}
