/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `brig run`: see run_pump.h. */
#include "cli/run/run_pump.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/run/screen.h"

enum { AT_RUN, AT_SIGNALS, AT_STDIN, AT_STDOUT, AT_STDERR, FDS };

int run_signals_open(bool resizes)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	sigset_t heard, blocked;

	sigemptyset(&heard);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
			sigaddset(&heard, ending[i]);
		}
	}
	if (resizes) {
		sigaddset(&heard, SIGWINCH);
	}
	blocked = heard;
	/*
	 * A closed reader is reported by EPIPE; dying of the signal would leave the cell unwatched.
	 */
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, NULL) < 0) {
		return -errno;
	}
	int fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void read_signal(struct run_pump *pump)
{
	struct signalfd_siginfo info;

	if (read(pump->signals, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
		return;
	}
	if (info.ssi_signo == SIGWINCH) {
		uint16_t rows, columns;

		screen_size(&rows, &columns);
		brig_run_resize(pump->run, rows, columns);
		return;
	}
	pump->caught = (int)info.ssi_signo;
	brig_run_cancel(pump->run);
}

/*
 * poll reports input, so this read does not block; O_NONBLOCK is not set, because the shell reads
 * from the same open file.
 */
static void read_stdin(struct run_pump *pump)
{
	ssize_t n = read(STDIN_FILENO, pump->chunk, sizeof(pump->chunk));

	if (n > 0) {
		pump->size = (size_t)n;
		pump->at = 0;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		pump->feeding = false;
		brig_run_feed_end(pump->run);
	}
}

static void feed(struct run_pump *pump)
{
	while (pump->at < pump->size) {
		long n = brig_run_feed(pump->run, pump->chunk + pump->at, pump->size - pump->at);
		if (n == 0) {
			return; /* full: the run's fd reports when there is room */
		}
		if (n < 0) {
			pump->at = pump->size = 0; /* the program closed its input */
			pump->feeding = false;
			return;
		}
		pump->at += (size_t)n;
	}
}

static void pump_outlets(struct run_pump *pump, const struct pollfd *fds)
{
	for (int i = 0; i < 2; i++) {
		if (fds[AT_STDOUT + i].fd >= 0 && fds[AT_STDOUT + i].revents) {
			output_writer_pump(pump->out[i]);
		}
	}
}

static void watch(const struct run_pump *pump, bool running, struct pollfd fds[FDS])
{
	bool hungry = running && pump->feeding && pump->at == pump->size;

	fds[AT_RUN] = (struct pollfd){ running ? brig_run_fd(pump->run) : -1, POLLIN, 0 };
	fds[AT_SIGNALS] = (struct pollfd){ pump->signals, POLLIN, 0 };
	fds[AT_STDIN] = (struct pollfd){ hungry ? STDIN_FILENO : -1, POLLIN, 0 };
	for (int i = 0; i < 2; i++) {
		const struct output_writer *out = pump->out[i];
		bool waits = out && output_writer_waits(out);
		fds[AT_STDOUT + i] = (struct pollfd){ waits ? out->fd : -1, POLLOUT, 0 };
	}
}

/* The reader of the program's output is gone: the program may end, as any filter would. */
static void check_reader(struct run_pump *pump)
{
	if (pump->out[0] && pump->out[0]->errnum && !pump->caught) {
		pump->caught = SIGPIPE;
		brig_run_cancel(pump->run);
	}
}

static bool out_waits(const struct run_pump *pump)
{
	return (pump->out[0] && output_writer_waits(pump->out[0])) ||
	       (pump->out[1] && output_writer_waits(pump->out[1]));
}

/* The run is over; its last bytes may still wait for a slow reader. A signal discards them. */
static void drain(struct run_pump *pump)
{
	struct pollfd fds[FDS];

	for (int i = 0; i < 2; i++) {
		if (pump->out[i]) {
			output_writer_end(pump->out[i]);
		}
	}
	while (out_waits(pump) && (pump->caught == 0 || pump->caught == SIGPIPE)) {
		watch(pump, false, fds);
		if (poll(fds, FDS, -1) < 0 && errno != EINTR) {
			return;
		}
		if (fds[AT_SIGNALS].revents) {
			read_signal(pump);
		}
		pump_outlets(pump, fds);
	}
}

int run_pump(struct run_pump *pump, struct brig_error *err)
{
	struct pollfd fds[FDS];
	int r;

	while ((r = brig_run_step(pump->run, err)) == 0) {
		feed(pump);
		check_reader(pump);
		watch(pump, true, fds);
		if (poll(fds, FDS, -1) < 0) {
			if (errno == EINTR) {
				continue;
			}
			r = error_errno(err, BRIG_E_SYSTEM, errno, "cannot wait for the run");
			break;
		}
		if (fds[AT_SIGNALS].revents) {
			read_signal(pump);
		}
		if (fds[AT_STDIN].revents) {
			read_stdin(pump);
			feed(pump);
		}
		pump_outlets(pump, fds);
	}
	drain(pump);
	return r < 0 ? r : 0;
}
