/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-broker: does what only root may do, when the service runs as root. It is a program of its
 * own that links the C library and nothing else; the supervisor carries its image and starts it.
 *
 * Privileges: at its start it has all of root's, to find the host's control groups, to remove
 * leftovers of processes that died, and to map the warden's ids. All of that is done before the
 * warden has read any input of a client. Then it is sealed (role/seal.c), and keeps only the
 * capabilities to make device nodes and to remove the warden's group.
 *
 * It answers the warden on one socket and the supervisor on another, one record at a time, and ends
 * when the supervisor tells it to or is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "role/control.h"
#include "role/log.h"
#include "role/seal.h"

#define MS             UINT64_C(1000000)
#define WARDEN_GOES_MS 8000 /* longer than the supervisor waits before it kills */

enum { STATUS_FINE = 0, STATUS_BROKEN_RULES = 1, STATUS_WRONG_START = 2, STATUS_FAILED = 125 };

/* These exist only if the supervisor started the process. */
static bool is_ours(void)
{
	static const int lines[] = { FD_CONTROL, FD_BROKER_WARDEN };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		int type = 0;
		socklen_t size = sizeof(type);
		if (getsockopt(lines[i], SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
		    type != SOCK_SEQPACKET) {
			return false;
		}
	}
	return geteuid() == 0;
}

static void send_control(enum control_message message)
{
	char byte = (char)message;

	(void)send(FD_CONTROL, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* 1: continue; 0: end. */
static int read_supervisor(void)
{
	char message;
	ssize_t n = recv(FD_CONTROL, &message, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 1;
	}
	if (n == 1 && message == CONTROL_PING) {
		send_control(CONTROL_PONG);
		return 1;
	}
	return n == 1 && message == CONTROL_DRAIN;
}

/* 1: answered; 0: the warden has closed the line; -errno. */
static int handle_warden(struct broker_state *state)
{
	struct broker_request request;
	_cleanup_close_ int answer = -1;
	int r = broker_request_read(FD_BROKER_WARDEN, &request);

	if (r <= 0) {
		return r == -EAGAIN || r == -EINTR ? 1 : r;
	}
	int result = broker_handle(state, &request, &answer);
	close_fd(&request.fd);
	if (result == -EPROTO) {
		return result;
	}
	r = broker_request_reply(FD_BROKER_WARDEN, request.kind, result, answer);
	return r < 0 ? r : 1;
}

/* Runs until the supervisor ends the broker (0) or the phase is `until` (1). */
static int turn(struct broker_state *state, bool *warden_gone, enum broker_phase until)
{
	while (state->phase != until && !(until == PHASE_MAPPED && *warden_gone)) {
		struct pollfd ready[] = {
			{ .fd = FD_CONTROL, .events = POLLIN },
			{ .fd = *warden_gone ? -1 : FD_BROKER_WARDEN, .events = POLLIN },
		};
		if (poll(ready, ARRAY_SIZE(ready), -1) < 0) {
			if (errno != EINTR) {
				return -errno;
			}
			continue;
		}
		int r = ready[1].revents ? handle_warden(state) : 1;
		if (r < 0) {
			return r;
		}
		*warden_gone |= r == 0;
		if (ready[0].revents && read_supervisor() == 0) {
			return 0;
		}
	}
	return 1;
}

static int seal(pid_t supervisor, struct brig_error *err)
{
	struct seal_options options = {
		.role = ROLE_BROKER, .directory = -1, .supervisor = supervisor, .broker = -1
	};
	struct seal_report report;

	return seal_apply(&options, &report, err);
}

/*
 * The warden's group is busy until the warden has ended. The supervisor told it to end when it told
 * the broker, and kills it if it stays. A request that it sent before is still answered, because
 * the warden waits for the reply and reads nothing else meanwhile; but only a sealed broker
 * answers.
 */
static void await_warden(struct broker_state *state, bool answers)
{
	struct pollfd line = { .fd = FD_BROKER_WARDEN, .events = answers ? POLLIN : 0 };
	uint64_t now = clock_now_ns(), end = now + WARDEN_GOES_MS * MS;

	while (now < end) {
		int n = poll(&line, 1, (int)((end - now) / MS) + 1);
		if (n == 0 || (n < 0 && errno != EINTR) ||
		    (n > 0 && (!answers || handle_warden(state) <= 0))) {
			return;
		}
		now = clock_now_ns();
	}
}

static int serve_warden(struct broker_state *state, bool *sealed, struct brig_error *err)
{
	bool warden_gone = false;
	int r = cgroup_manager_new(NULL, &state->groups, err);

	if (r < 0) {
		return r;
	}
	cgroup_manager_sweep(state->groups);
	/* A warden that stays root does not need the broker, and closes the line. */
	r = turn(state, &warden_gone, PHASE_MAPPED);
	if (r == 1) {
		r = seal(state->supervisor, err);
		if (r < 0) {
			return r;
		}
		*sealed = true;
		role_log(ROLE_INFO, "sealed", "warden=%u", (unsigned)state->warden_id);
		send_control(CONTROL_READY);
		r = turn(state, &warden_gone, PHASE_COUNT);
	}
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "the warden's line") : 0;
}

int main(void)
{
	struct brig_error error = { 0 };
	struct broker_state state = { .supervisor = getppid() };

	role_log_open("broker", ROLE_INFO);
	prctl(PR_SET_NAME, ROLE_PREFIX "broker", 0, 0, 0);
	if (!is_ours()) {
		role_log(ROLE_ERROR, "not-a-command", "remedy=%s",
			 "roles are started by brig serve only");
		return STATUS_WRONG_START;
	}
	tzset(); /* while files can be opened: log lines have times */
	state.warden_id = seal_id(ROLE_WARDEN);
	close(FD_CONFIG); /* not needed: the broker parses no text */
	for (int fd = FD_CONTROL; fd <= FD_BROKER_LOCK; fd++) {
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	bool sealed = false;
	int r = serve_warden(&state, &sealed, &error);
	if (r < 0) {
		role_log(ROLE_ERROR, "failed", "cause=%s", error.message);
	} else {
		await_warden(&state, sealed);
	}
	broker_state_done(&state);
	return r == -EPROTO ? STATUS_BROKEN_RULES : r < 0 ? STATUS_FAILED : STATUS_FINE;
}
