/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a cell, in the warden: group, holder, link. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "holder/held.h"
#include "kernel/proc_write.h"
#include "kernel/process.h"
#include "run/spec/group_limits.h"

/* How long the tool may take until the agent is ready. */
#define START_NS 20000000000ull
/*
 * The tool works in the cell's group, and needs more than some programs: until the agent is
 * ready, the limits are so much higher. A Go runtime has a dozen threads.
 */
#define START_BYTES     (128ull << 20)
#define START_PROCESSES 64
#define START_CORES     1000
/* The directories on the writable tmpfs: its root, sandbox, out, tmp, shm. */
#define WORK_INODES 5
#define PAGE_BYTES  4096u

int held_open(struct run *run, const struct held_kind *kind, struct brig_error *err)
{
	const struct spec *spec = run->options.spec;
	struct held_cell *held = calloc(1, sizeof(*held));

	run->cell = held;
	if (!held) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a cell");
	}
	held->kind = kind;
	held->pidfd = held->control = held->proc = held->sockets = held->log = held->gate = -1;
	held->outer = spec->ranged ? spec->first_id : spec->caller_uid;
	held->outer_group = spec->ranged ? spec->first_id : spec->caller_gid;
	held->ids = spec->ranged ? 2 : 1;
	held->link = (struct agent_link)AGENT_LINK_CLOSED;
	call_listener_init(&held->calls, run, HELD_EVENT_CALLS);
	/* A copy: the machine may start long after this. */
	if (spec->provider->network_by_stream && spec->gate >= 0) {
		held->gate = fcntl(spec->gate, F_DUPFD_CLOEXEC, 3);
		if (held->gate < 0) {
			return error_errno(err, BRIG_E_SYSTEM, errno, "cannot connect the gate");
		}
	}
	return plan_make(spec, &held->plan, err);
}

/* --- the group -------------------------------------------------------------------------------- */

struct cgroup_limits held_limits(const struct run *run)
{
	const struct held_group *group = &held_of(run)->tool_group;
	struct cgroup_limits limits = group_limits_of(run->options.spec);

	if (group->memory_bytes) {
		limits.memory_bytes = group->memory_bytes;
		limits.processes = group->processes;
	}
	return limits;
}

static struct cgroup_limits start_limits(const struct run *run)
{
	struct cgroup_limits limits = held_limits(run);

	/* A scope of systemd's has its limits from the start. */
	if (cgroup_manager_adjusts(run->options.groups)) {
		limits.memory_bytes += START_BYTES;
		limits.processes += START_PROCESSES;
		if (limits.cpu_millicores && limits.cpu_millicores < START_CORES) {
			limits.cpu_millicores = START_CORES;
		}
	}
	return limits;
}

static int make_group(struct run *run, struct holder_start *start)
{
	const struct spec *spec = run->options.spec;
	struct held_cell *held = held_of(run);
	struct cgroup_limits limits = start_limits(run);

	if (!(spec->layers & LAYERS_CGROUP)) {
		return 0;
	}
	int r = cgroup_new(run->options.groups, run->cell_name, &limits, &held->group, NULL);
	if (r < 0 || !spec->join_by_write) {
		return r;
	}
	r = spec->ranged ? cgroup_admit(held->group, held->outer) : 0;
	if (r < 0) {
		return r;
	}
	start->join_directories = r > 0;
	start->join_count = cgroup_join_fds(held->group, start->join);
	return start->join_count > 0 ? 0 : -EIO;
}

/* --- the holder ------------------------------------------------------------------------------- */

static bool is_among(const char *const *names, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) {
			return true;
		}
	}
	return false;
}

/* These have files of many people and programs: a tool in there sees its own directory only. */
static bool is_shared(const char *path)
{
	static const char *const shared[] = { "home", "root", "srv",   "tmp",
					      "var",  "run",  "media", "mnt" };

	return is_among(shared, ARRAY_SIZE(shared), path + 1, strcspn(path + 1, "/"));
}

/* A confined tool needs its program and libraries, and no other directory. */
static bool is_top_of(const struct held_cell *held, const char *name)
{
	static const char *const programs[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64" };
	size_t length = strlen(name);

	return is_among(programs, ARRAY_SIZE(programs), name, length) ||
	       (strncmp(held->path + 1, name, length) == 0 && held->path[length + 1] == '/' &&
		!is_shared(held->path));
}

/* A directory of the host, if it is there. */
static void add_place(struct holder_top *tops, size_t *count, const char *path)
{
	struct stat info;

	if (*count < HOLDER_TOP_MAX && lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
		struct holder_top *top = &tops[*count];
		*top = (struct holder_top){ 0 };
		int n = snprintf(top->name, sizeof(top->name), "%s", path + 1);
		*count += n > 0 && (size_t)n < sizeof(top->name);
	}
}

/* The directory of a program; and beside one that is called `bin`, libraries and files of qemu. */
static void add_places(const char *program, struct holder_top *tops, size_t *count)
{
	static const char *const beside[] = { "lib", "lib64", "share/qemu" };
	size_t length = (size_t)(strrchr(program, '/') - program);
	char path[HOLDER_PATH_MAX];

	if (length + sizeof("share/qemu") > sizeof(path)) {
		return;
	}
	snprintf(path, length + 1, "%s", program);
	add_place(tops, count, path);
	if (length <= 4 || strcmp(path + length - 4, "/bin") != 0) {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		stpcpy(path + length - 3, beside[i]);
		add_place(tops, count, path);
	}
}

/* A link to the program may be in one directory, and the program in another. */
static void add_program(const struct held_cell *held, struct holder_top *tops, size_t *count)
{
	_cleanup_free_ char *real = realpath(held->path, NULL);

	if (held->kind->confined && is_shared(held->path)) {
		add_places(held->path, tops, count);
	}
	if (held->kind->confined && real && is_shared(real) && strcmp(real, held->path) != 0) {
		add_places(real, tops, count);
	}
}

/* 1: it is an entry that the holder needs; 0: it is not; -errno. */
static int read_top(int dir, const char *name, struct holder_top *ret)
{
	/* The holder makes these itself. */
	static const char *const others[] = { ".", "..", "proc", HOLDER_DIR };
	struct stat info;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(name, others[i]) == 0) {
			return 0;
		}
	}
	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	*ret = (struct holder_top){ 0 };
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (S_ISLNK(info.st_mode)) {
		ssize_t n = readlinkat(dir, name, ret->target, sizeof(ret->target) - 1);
		return n > 0;
	}
	return S_ISDIR(info.st_mode);
}

/* The directories and links of the host's root directory. */
static int list_tops(const struct held_cell *held, struct holder_top *tops, size_t *ret_count)
{
	DIR *dir = opendir("/");
	int r = 0;

	if (!dir) {
		return -errno;
	}
	*ret_count = 0;
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		if (held->kind->confined && !is_top_of(held, entry->d_name)) {
			continue;
		}
		if (*ret_count == HOLDER_TOP_MAX) {
			r = -E2BIG;
			break;
		}
		r = read_top(dirfd(dir), entry->d_name, &tops[*ret_count]);
		*ret_count += r == 1;
		r = r < 0 ? r : 0;
	}
	closedir(dir);
	if (r == 0) {
		add_program(held, tops, ret_count);
	}
	return r;
}

static int clone_holder(struct run *run, struct holder_start *start)
{
	struct held_cell *held = held_of(run);
	int group = held->group ? cgroup_clone_fd(held->group) : -1;
	sigset_t all, before;

	/* A handler of the host program must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = process_clone(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, group, &held->pidfd);
	if (pid == 0) {
		holder_main(start);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		held->pidfd = -1;
		return pid;
	}
	held->pid = pid;
	run->end_fd = held->pidfd;
	return 0;
}

static int map_ids(const struct run *run)
{
	const struct spec *spec = run->options.spec;
	const struct held_cell *held = held_of(run);
	pid_t pid = held->pid;
	char users[64], groups[64];

	snprintf(users, sizeof(users), "0 %u %u\n", held->outer, held->ids);
	snprintf(groups, sizeof(groups), "0 %u %u\n", held->outer_group, held->ids);
	int r = spec->ranged ? 0 : proc_write(pid, "setgroups", "deny");
	r = r < 0 ? r : proc_write(pid, "uid_map", users);
	return r < 0 ? r : proc_write(pid, "gid_map", groups);
}

int held_listen(struct run *run)
{
	struct held_cell *held = held_of(run);
	const struct {
		int fd;
		enum held_event event;
	} list[] = {
		{ held->control, HELD_EVENT_CONTROL },
		{ held->pidfd, HELD_EVENT_END },
		{ held_hears(held) ? held->log : -1, HELD_EVENT_LOG },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(list); i++) {
		if (list[i].fd >= 0) {
			r = run_listen(run, list[i].fd, RUN_EVENT_CELL + list[i].event, EPOLLIN);
		}
	}
	r = r < 0 ? r : call_listener_add(&held->calls);
	return r < 0 ? r : agent_link_listen(&held->link, run);
}

/* The descriptors between the warden, the holder and the agent; [1] are theirs. */
struct channels {
	int control[2], stream[2], log[2];
};

static int make_channels(struct channels *channels)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels->control) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels->stream) < 0) {
		return -errno;
	}
	return run_pipe(&channels->log[0], &channels->log[1], true);
}

static void close_channels(struct channels *channels)
{
	int *const fds[] = { channels->control, channels->stream, channels->log };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		close_fd(&fds[i][0]);
		close_fd(&fds[i][1]);
	}
}

static int start_holder(struct run *run, struct holder_start *start)
{
	struct held_cell *held = held_of(run);
	int r = make_group(run, start);

	r = r < 0 ? r : clone_holder(run, start);
	if (held->group && run->options.spec->join_by_write) {
		cgroup_join_done(held->group);
	}
	if (r == 0 && held->group && !run->options.spec->join_by_write) {
		r = cgroup_attach(held->group, held->pid, NULL);
	}
	run->watch.group = held->group;
	run->watch.building = true;
	return r < 0 ? r : map_ids(run);
}

/* A new socket has room for it. */
static int send_greeting(const struct held_cell *held, int stream)
{
	ssize_t size = (ssize_t)held->greeting_size;

	return size == 0 || send(stream, held->greeting, (size_t)size, MSG_NOSIGNAL) == size ? 0
											     : -EIO;
}

static int start_all(struct run *run, struct channels *channels)
{
	const struct spec *spec = run->options.spec;
	struct held_cell *held = held_of(run);
	_cleanup_free_ struct holder_top *tops = calloc(HOLDER_TOP_MAX, sizeof(*tops));
	struct holder_start start = {
		.spec = spec,
		.plan = &held->plan,
		.bundle = held->bundle.data,
		.bundle_size = held->bundle.size,
		.owner = held->program,
		.whole = held->kind->whole,
		.stays = held->kind->stays,
		.alone = held->kind->alone,
		.confined = held->kind->confined,
		.kvm = held->kvm,
		.urandom = held->urandom,
		.files = held->files,
		.emulated = held->kind->emulated,
		.tool = held->starter ? held->starter : held->path,
		.arguments = held->arguments.items,
		.tops = tops,
	};
	const struct agent_options listening = { .listener = held_listener(spec) };
	int r = tops ? list_tops(held, tops, &start.tops_count) : -ENOMEM;

	r = r < 0 ? r : make_channels(channels);
	if (r < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return r;
	}
	/* The limit is of whole pages. */
	snprintf(start.work_size, sizeof(start.work_size), "%" PRIu64,
		 (spec->limits.disk_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
	snprintf(start.work_inodes, sizeof(start.work_inodes), "%" PRIu64,
		 spec->limits.disk_inodes + WORK_INODES);
	snprintf(start.meminfo, sizeof(start.meminfo), "MemTotal: %" PRIu64 " kB\n",
		 spec->limits.memory_bytes / 1024u);
	start.control = channels->control[1];
	start.stream = channels->stream[1];
	start.log = channels->log[1];
	r = send_greeting(held, channels->stream[0]);
	r = r < 0 ? r : start_holder(run, &start);
	held->control = TAKE_FD(channels->control[0]);
	held->log = TAKE_FD(channels->log[0]);
	r = r < 0 ? r
		  : agent_link_open(&held->link, run, TAKE_FD(channels->stream[0]), HELD_EVENT_LINK,
				    held_ready, held->kind->agent ? held->kind->agent : &listening);
	if (r == 0 && held->gate >= 0) {
		r = agent_link_network(&held->link, run, TAKE_FD(held->gate));
	}
	r = r < 0 ? r : send(held->control, "g", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
	if (r < 0) {
		return r;
	}
	run->cell_alarm_ns =
		clock_now_ns() + (held->kind->start_ns ? held->kind->start_ns : START_NS);
	return 0;
}

int held_launch(struct run *run, struct brig_error *err)
{
	struct held_cell *held = held_of(run);
	struct channels channels = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int r = start_all(run, &channels);

	close_channels(&channels);
	if (r == 0) {
		/* The link has added its own already. */
		r = run_listen(run, held->control, RUN_EVENT_CELL + HELD_EVENT_CONTROL, EPOLLIN);
	}
	r = r < 0 ? r : run_listen(run, held->pidfd, RUN_EVENT_CELL + HELD_EVENT_END, EPOLLIN);
	r = r < 0 ? r : run_listen(run, held->log, RUN_EVENT_CELL + HELD_EVENT_LOG, EPOLLIN);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot start a %s", held->kind->product)
		     : 0;
}
