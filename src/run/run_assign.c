/* SPDX-License-Identifier: Apache-2.0 */
/* A cell that was made ahead becomes the run of a request. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run_internal.h"
#include "run/spec/group_limits.h"

/*
 * Its size is fixed and cannot be changed; the program writes to it, and may write anything. The
 * last seal is set here, or by a driver that guards the code (lib/guard/guard.h), before the
 * program begins.
 */
int run_make_value(int *ret)
{
	_cleanup_close_ int fd = memfd_create("brig-value", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, RUN_FILE_BYTES) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
		return -errno;
	}
	*ret = TAKE_FD(fd);
	return 0;
}

static int seal_value(const struct run *run, const struct run_options *options)
{
	bool ours = run->value >= 0 && options->value != VALUE_GUARDED;

	return ours && fcntl(run->value, F_ADD_SEALS, F_SEAL_SEAL) < 0 ? -errno : 0;
}

int run_give_value(struct run *run, const struct run_options *options)
{
	if (options->session) {
		run->value = fcntl(options->session->channel, F_DUPFD_CLOEXEC, 3);
		return run->value < 0 ? -errno : 0;
	}
	if (options->value == VALUE_NONE) {
		return 0;
	}
	int r = run_make_value(&run->value);
	return r < 0 ? r : seal_value(run, options);
}

/*
 * Sets the limits of the cell's group to those of the request. A guest has a group of its own for
 * them, and that of the host has the limits of its emulator.
 */
static int limit_group(struct run *run, const struct spec *spec)
{
	struct cgroup_limits limits = group_limits_of(spec);

	if (spec->provider->own_groups) {
		return 0;
	}
	return run->watch.group ? cgroup_limit(run->watch.group, &limits) : 0;
}

/* Input files do not count as written by the program, as in a cell that is not made ahead. */
static void expect_inputs(struct limit_watch *watch, const struct spec *spec)
{
	for (size_t i = 0; i < spec->inputs_count; i++) {
		watch->disk_base_bytes += (spec->inputs[i].size + 4095) / 4096 * 4096;
		watch->inodes_base++;
	}
}

void run_take_output_options(struct run *run)
{
	const struct run_options *options = &run->options;
	const struct brig_limits *limits = &options->spec->limits;
	uint64_t most[2] = { limits->stdout_bytes, limits->stderr_bytes };

	for (int i = 0; i < 2; i++) {
		run->out[i].watchdog = options->watchdog;
		run->out[i].limit = most[i];
		run->out[i].keep = options->keep_output;
		run->out[i].on_output = options->on_output;
		run->out[i].user = options->user;
	}
}

static int take_options(struct run *run, const struct run_options *options)
{
	int in = TAKE_FD(run->in.fd);

	run->options = *options;
	run->watch.spec = options->spec;
	run->provider->take_options(run);
	run_note_start(run);
	run_take_output_options(run);
	feed_done(&run->in);
	return feed_init(&run->in, in, options->stdin_data, options->stdin_size,
			 options->stdin_feed);
}

void run_keep_spec(struct run *run, const struct spec *spec)
{
	run->options.spec = run->watch.spec = spec;
	run->provider->take_options(run);
}

int run_held(struct run *run)
{
	if (run->state == RUN_SETTING_UP) {
		run_enter(run, RUN_HELD);
	}
	/* The processor time of the build does not count for the program. */
	watch_rebase(&run->watch, &run->facts);
	return run_arm(run);
}

/* The file for a value is closed, or sealed. A session has a channel in its place. */
static int settle_value(struct run *run, const struct run_options *options)
{
	if (options->value == VALUE_NONE) {
		close_fd(&run->value);
		return 0;
	}
	return seal_value(run, options);
}

static int take_assignment(struct run *run, const struct run_options *options, uint64_t now)
{
	int r = run->state == RUN_HELD ? run_take_id(run, options) : -ESTALE;

	if (r < 0) {
		return r;
	}
	r = limit_group(run, options->spec);
	if (r < 0) {
		return r;
	}
	r = take_options(run, options);
	if (r < 0) {
		return r;
	}
	r = settle_value(run, options);
	if (r < 0) {
		return r;
	}
	expect_inputs(&run->watch, options->spec);
	watch_start(&run->watch, now);
	run_enter(run, RUN_ASSIGNED);
	r = run_arm(run);
	if (r < 0) {
		return r;
	}
	/* The last call that can fail: it may start the program. */
	return run->provider->assign(run, options->spec);
}

int run_assign(struct run *run, const struct run_options *options, struct brig_error *err)
{
	int r = take_assignment(run, options, clock_now_ns());

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r,
				   "cannot give the waiting cell its assignment");
	}
	feed_pump(&run->in);
	return 0;
}
