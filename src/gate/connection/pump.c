/* SPDX-License-Identifier: Apache-2.0 */
/* Pumps: see pump.h. */
#include "gate/connection/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Large enough to move many pages at once; small enough for the quota of pipes that a user has. */
#define PIPE_BYTES (512 << 10)
#define TURNS      8

int pump_init(struct pump *pump, int from, int to)
{
	*pump = (struct pump){ .from = from, .to = to, .pipe = { -1, -1 }, .left = UINT64_MAX };
	if (pipe2(pump->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		return -errno;
	}
	/* An ordinary user has a quota for large pipes; a small one works as well, only slower. */
	(void)fcntl(pump->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

void pump_done(struct pump *pump)
{
	close_fd(&pump->pipe[0]);
	close_fd(&pump->pipe[1]);
}

static bool is_nothing(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* 1: bytes arrived; 0: not now; -errno. */
static int take_in(struct pump *pump, uint64_t budget, int64_t *came)
{
	uint64_t most = pump->left < budget ? pump->left : budget;

	if (pump->dry || pump->held || most == 0) {
		return 0;
	}
	ssize_t n = splice(pump->from, NULL, pump->pipe[1], NULL,
			   most < PIPE_BYTES ? (size_t)most : PIPE_BYTES,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0) {
		return is_nothing() ? 0 : -errno;
	}
	pump->dry = n == 0;
	pump->held += (size_t)n;
	pump->left -= pump->left == UINT64_MAX ? 0 : (uint64_t)n;
	*came += n;
	return n > 0;
}

static int let_out(struct pump *pump)
{
	ssize_t n = splice(pump->pipe[0], NULL, pump->to, NULL, pump->held,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0) {
		return is_nothing() ? 0 : -errno;
	}
	pump->held -= (size_t)n;
	return n > 0;
}

int64_t pump_run(struct pump *pump, uint64_t budget)
{
	int64_t came = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		int in = take_in(pump, budget - (uint64_t)came, &came);
		int out = in >= 0 && pump->held ? let_out(pump) : 0;
		if (in < 0 || out < 0) {
			return in < 0 ? in : out;
		}
		if (in == 0 && out == 0) {
			break;
		}
	}
	if (pump->dry && !pump->held && !pump->over) {
		pump->over = true;
		(void)shutdown(pump->to, SHUT_WR);
	}
	return came;
}

bool pump_wants_in(const struct pump *pump)
{
	return !pump->dry && !pump->held && pump->left;
}

bool pump_wants_out(const struct pump *pump)
{
	return pump->held > 0;
}
