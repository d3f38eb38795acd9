/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the real agent returns over its stream, into the warden's own place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/memfile.h"
#include "framed/agent_image.h"
#include "kernel/proc_write.h"
#include "kernel/process.h"

#define PATIENCE_MS 20000

struct cell {
	struct run run;
	struct spec spec;
	struct agent_link link;
	struct brig_result result;
	const char *argv[4];
	int input;
	int pid, pidfd;
	bool killed;
};

static struct cell *current;

/* --- the cell: the agent as root and pid 1 of its own namespaces ------------------------------ */

static void in_child(bool good)
{
	if (!good) {
		_exit(98);
	}
}

static void bind_to(const char *from, const char *to)
{
	struct stat info;

	if (lstat(from, &info) < 0) {
		return;
	}
	if (S_ISLNK(info.st_mode)) {
		char target[256] = "";
		in_child(readlink(from, target, sizeof(target) - 1) > 0 &&
			 symlink(target, to) == 0);
		return;
	}
	in_child(mkdir(to, 0755) == 0 && mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0);
}

static void make_root(void)
{
	in_child(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		 mount("t", "/mnt", "tmpfs", 0, "mode=0755") == 0 && chdir("/mnt") == 0);
	bind_to("/usr", "usr");
	bind_to("/bin", "bin");
	bind_to("/lib", "lib");
	bind_to("/lib64", "lib64");
	bind_to("/proc", "proc");
	in_child(mkdir("sandbox", 0755) == 0 && mkdir("tmp", 0755) == 0 &&
		 mkdir("dev", 0755) == 0 && mkdir("dev/shm", 0755) == 0 && chroot(".") == 0);
}

static _Noreturn void become_agent(int program, int stream, int go)
{
	char *argv[] = { (char[]){ "brig-agent" }, NULL };
	char byte;

	in_child(read(go, &byte, 1) == 1 && setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
	make_root();
	in_child(dup2(stream, 0) == 0 && dup2(stream, 1) == 1);
	fexecve(program, argv, environ);
	_exit(99);
}

static void start_agent(struct cell *cell, int stream)
{
	_cleanup_close_ int program = memfile_make("brig-agent", agent_image, agent_image_size);
	char users[32], groups[32];
	int go[2];

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	cell->pid = process_clone(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, -1, &cell->pidfd);
	assert_true(cell->pid >= 0);
	if (cell->pid == 0) {
		become_agent(program, stream, go[0]);
	}
	/* Root gives it a range, so that the program can have ids of its own. */
	snprintf(users, sizeof(users), "0 %u %u\n", geteuid(), geteuid() ? 1 : 65536);
	snprintf(groups, sizeof(groups), "0 %u %u\n", getegid(), geteuid() ? 1 : 65536);
	if (geteuid() != 0) {
		assert_int_equal(proc_write(cell->pid, "setgroups", "deny"), 0);
	}
	assert_int_equal(proc_write(cell->pid, "uid_map", users), 0);
	assert_int_equal(proc_write(cell->pid, "gid_map", groups), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	close(go[0]);
	close(go[1]);
}

static void kill_cell(struct run *run)
{
	(void)run;
	if (!agent_link_finishing(&current->link, run)) {
		current->killed = true;
		kill(current->pid, SIGKILL);
	}
}

static const struct provider test_provider = { .name = "test", .kill = kill_cell };

static int always_ready(struct run *run)
{
	(void)run;
	return 1;
}

static int set_up(void **state)
{
	struct cell *cell = calloc(1, sizeof(*cell));

	current = cell;
	cell->spec = (struct spec){ .provider = &test_provider, .argv = cell->argv };
	cell->spec.limits = (struct brig_limits){ .wall_ns = UINT64_MAX / 2,
						  .cpu_ns = UINT64_MAX,
						  .disk_bytes = 8u << 20,
						  .disk_inodes = 500,
						  .file_bytes = 64u << 20,
						  .open_files = 256 };
	cell->run = (struct run){ .provider = &test_provider,
				  .sandbox = -1,
				  .value = -1,
				  .end_fd = -1,
				  .result = &cell->result };
	cell->run.options.spec = &cell->spec;
	cell->run.watch = (struct limit_watch){
		.spec = &cell->spec, .sandbox = -1, .proc = -1, .sockets = -1
	};
	cell->run.epoll = epoll_create1(EPOLL_CLOEXEC);
	cell->run.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	assert_int_equal(run_pipe(&cell->input, &cell->run.inside[0], false), 0);
	for (int i = 0; i < 2; i++) {
		cell->run.out[i] =
			(struct stream){ .number = i + 1, .limit = 1u << 30, .keep = true };
		assert_int_equal(run_pipe(&cell->run.out[i].fd, &cell->run.inside[i + 1], true), 0);
	}
	cell->link = (struct agent_link)AGENT_LINK_CLOSED;
	*state = cell;
	return 0;
}

static int tear_down(void **state)
{
	struct cell *cell = *state;
	siginfo_t info;

	agent_link_close(&cell->link);
	if (cell->pid > 0) {
		kill(cell->pid, SIGKILL);
		waitid(P_PIDFD, (id_t)cell->pidfd, &info, WEXITED | __WALL);
		close(cell->pidfd);
	}
	close_fd(&cell->input);
	close_fd(&cell->run.sandbox);
	stream_done(&cell->run.out[0]);
	stream_done(&cell->run.out[1]);
	close_fd(&cell->run.epoll);
	close_fd(&cell->run.timer);
	free(cell->result.files_note);
	free(cell);
	return 0;
}

static void begin(struct cell *cell, const char *script, struct agent_options options)
{
	int ends[2];

	cell->argv[0] = "/bin/sh";
	cell->argv[1] = "-c";
	cell->argv[2] = script;
	options.returns = true;
	options.mounts = true;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	start_agent(cell, ends[1]);
	close(ends[1]);
	assert_int_equal(
		agent_link_open(&cell->link, &cell->run, ends[0], 0, always_ready, &options), 0);
}

/* Until the stream has ended. Returns the first error of the link. */
static int turns(struct cell *cell)
{
	uint64_t end_ns = clock_now_ns() + PATIENCE_MS * 1000000ull;
	int r = 0;

	while (r == 0 && !cell->link.ended && !cell->killed) {
		struct epoll_event ready[8];
		int count = epoll_wait(cell->run.epoll, ready, 8, 100);
		for (int i = 0; i < count && r == 0; i++) {
			r = agent_link_handle(&cell->link, &cell->run,
					      ready[i].data.u32 - RUN_EVENT_CELL);
		}
		stream_pump(&cell->run.out[0]);
		stream_pump(&cell->run.out[1]);
		assert_true(clock_now_ns() < end_ns);
	}
	agent_link_drain(&cell->link, &cell->run);
	return r;
}

static void run_script(struct cell *cell, const char *script)
{
	begin(cell, script, (struct agent_options){ 0 });
	assert_int_equal(turns(cell), 0);
	struct brig_error err = { 0 };
	agent_link_error(&cell->link, &err);
	assert_string_equal(err.message, "");
	assert_true(cell->run.facts.exited);
}

static char *text_of(struct cell *cell, const char *path)
{
	static char text[256];
	_cleanup_close_ int fd = openat(cell->run.sandbox, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0) {
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_tree(void **state)
{
	struct cell *cell = *state;
	static const struct spec_input inputs[] = {
		{ .name = "in/put", .data = "given", .size = 5, .fd = -1, .mode = 0644 }
	};
	struct stat info;
	char target[64] = "";

	cell->spec.inputs = inputs;
	cell->spec.inputs_count = 1;
	run_script(cell, "mkdir -p a/b; echo one > a/b/one; echo two > out/two; chmod 755 out/two;"
			 "ln -s /etc/passwd link; ln a/b/one again; mkfifo fifo; exit 3");
	assert_int_equal(cell->run.facts.end_status, 3);
	assert_int_equal(cell->run.state, RUN_ENDING);
	assert_true(cell->run.sandbox >= 0);
	assert_string_equal(text_of(cell, "a/b/one"), "one\n");
	assert_string_equal(text_of(cell, "out/two"), "two\n");
	assert_string_equal(text_of(cell, "in/put"), "given");
	assert_int_equal(fstatat(cell->run.sandbox, "out/two", &info, 0), 0);
	assert_int_equal(info.st_mode & 0777, 0755);
	assert_true(readlinkat(cell->run.sandbox, "link", target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/etc/passwd");
	assert_int_equal(fstatat(cell->run.sandbox, "again", &info, 0), 0);
	assert_int_equal(info.st_nlink, 2);
	assert_int_equal(cell->run.options.collect.left_over, 1); /* the fifo */
	assert_null(cell->result.files_note);
}

/* The place is a private tmpfs with the limits of the run. */
static void test_place(void **state)
{
	struct cell *cell = *state;
	struct statfs fs, here;

	run_script(cell, "true");
	assert_int_equal(fstatfs(cell->run.sandbox, &fs), 0);
	assert_int_equal(statfs("/", &here), 0);
	assert_int_equal(fs.f_type, 0x01021994);
	assert_memory_not_equal(&fs.f_fsid, &here.f_fsid, sizeof(here.f_fsid));
	assert_int_equal(fs.f_blocks * (uint64_t)fs.f_bsize, 9u << 20);
	assert_int_equal(fs.f_files, 516);
}

static void test_sparse(void **state)
{
	struct cell *cell = *state;
	struct stat info;

	run_script(cell, "truncate -s 60M big; printf end | dd of=big bs=1 seek=50000000 "
			 "conv=notrunc 2>/dev/null; truncate -s 0 none");
	assert_int_equal(fstatat(cell->run.sandbox, "big", &info, 0), 0);
	assert_int_equal(info.st_size, 60u << 20);
	assert_true(info.st_blocks < 64);
	_cleanup_close_ int fd = openat(cell->run.sandbox, "big", O_RDONLY | O_CLOEXEC);
	char bytes[4] = "";
	assert_int_equal(pread(fd, bytes, 3, 50000000), 3);
	assert_string_equal(bytes, "end");
}

static void test_large(void **state)
{
	struct cell *cell = *state;
	struct stat info;

	run_script(cell, "yes | head -c 6000000 > data");
	assert_int_equal(fstatat(cell->run.sandbox, "data", &info, 0), 0);
	assert_int_equal(info.st_size, 6000000);
	assert_true((uint64_t)info.st_blocks * 512 >= 6000000);
	assert_true(cell->run.facts.disk_peak_bytes >= 6000000);
	assert_false(cell->run.facts.disk_full);
}

static void test_full_disk(void **state)
{
	struct cell *cell = *state;

	run_script(cell, "yes > /tmp/a; yes > b; true");
	assert_true(cell->run.facts.disk_full);
	assert_true(cell->run.facts.disk_peak_bytes >= 8u << 20);
	assert_true(cell->run.sandbox >= 0);
}

static void test_full_inodes(void **state)
{
	struct cell *cell = *state;

	run_script(cell, "i=0; while : > f$i; do i=$((i+1)); done 2>/dev/null; true");
	assert_true(cell->run.facts.inodes_full);
	assert_true(cell->run.sandbox >= 0);
	assert_string_equal(text_of(cell, "f400"), "");
}

/* Names that brig does not pass on, and a tree that is too deep: counted, not sent. */
static void test_odd_names(void **state)
{
	struct cell *cell = *state;

	run_script(cell, "touch \"$(printf 'a\\nb')\" \"$(printf '\\377')\"; "
			 "i=0; while [ $i -lt 40 ]; do mkdir d && cd d; i=$((i+1)); done");
	assert_int_equal(cell->run.options.collect.left.odd_names, 2);
	assert_int_equal(cell->run.options.collect.left.too_deep, 1);
	assert_true(cell->run.sandbox >= 0);
}

static void test_unreadable(void **state)
{
	struct cell *cell = *state;

	run_script(cell, "mkdir d; echo x > d/f; chmod 0 d/f d");
	assert_int_equal(faccessat(cell->run.sandbox, "d", R_OK | W_OK | X_OK, 0), 0);
	struct stat info;
	assert_int_equal(fstatat(cell->run.sandbox, "d/f", &info, 0), 0);
	assert_int_equal(info.st_size, 2);
}

/* Orphans cannot change the files while they are returned. */
static void test_orphans_are_dead(void **state)
{
	struct cell *cell = *state;

	run_script(cell, "i=0; while [ $i -lt 30 ]; do (setsid sh -c 'while :; do echo x >> g; "
			 "done' &) ; i=$((i+1)); done; sleep 0.1");
	assert_true(cell->run.sandbox >= 0);
}

/* A program that has to end: its files are returned all the same. */
static void test_told_to_end(void **state)
{
	struct cell *cell = *state;
	struct pollfd output = { .fd = cell->run.out[0].fd, .events = POLLIN };

	begin(cell, "echo kept > file; echo up; trap '' TERM; while :; do :; done",
	      (struct agent_options){ 0 });
	while (poll(&output, 1, 0) == 0) {
		struct epoll_event ready[8];
		int count = epoll_wait(cell->run.epoll, ready, 8, 100);
		for (int i = 0; i < count; i++) {
			assert_int_equal(agent_link_handle(&cell->link, &cell->run,
							   ready[i].data.u32 - RUN_EVENT_CELL),
					 0);
		}
	}
	run_end_now(&cell->run, ENDING_WALL);
	assert_int_equal(turns(cell), 0);
	assert_false(cell->killed);
	assert_true(cell->run.over_ns > 0);
	assert_string_equal(text_of(cell, "file"), "kept\n");
}

static void test_stopped_agent(void **state)
{
	struct cell *cell = *state;

	begin(cell, "echo up; sleep 100", (struct agent_options){ 0 });
	while (cell->link.reports.state != REPORT_RUNNING) {
		struct epoll_event ready[8];
		int count = epoll_wait(cell->run.epoll, ready, 8, 100);
		for (int i = 0; i < count; i++) {
			assert_int_equal(agent_link_handle(&cell->link, &cell->run,
							   ready[i].data.u32 - RUN_EVENT_CELL),
					 0);
		}
	}
	kill(cell->pid, SIGSTOP);
	run_end_now(&cell->run, ENDING_WALL);
	assert_int_equal(turns(cell), 0);
	assert_true(cell->killed);
	assert_int_equal(cell->run.sandbox, -1);
	assert_string_equal(cell->result.files_note,
			    "the cell ended before it had returned its files");
}

/* The program is another user than the agent, and has no capability. */
static void test_ids(void **state)
{
	struct cell *cell = *state;

	if (geteuid() != 0) {
		return; /* one id cannot become another */
	}
	static const struct spec_input inputs[] = {
		{ .name = "d/f", .data = "mine", .size = 4, .fd = -1, .mode = 0600 }
	};
	cell->spec.inputs = inputs;
	cell->spec.inputs_count = 1;
	begin(cell,
	      "id -u; id -g; id -G; cat d/f; echo; grep -c 'Cap...:.0000000000000000' "
	      "/proc/self/status; touch /new 2>/dev/null || echo no; kill -9 1; echo x > out/x",
	      (struct agent_options){ .user = 1000, .group = 1001 });
	assert_int_equal(turns(cell), 0);
	assert_string_equal(cell->run.out[0].kept.data, "1000\n1001\n1001\nmine\n5\nno\n");
	assert_string_equal(text_of(cell, "out/x"), "x\n");
}

/* An agent that is not root of its kernel reports that it cannot. */
static void test_clock_of_another(void **state)
{
	struct cell *cell = *state;
	struct brig_error err = { 0 };

	begin(cell, "true", (struct agent_options){ .clock = true });
	assert_int_equal(turns(cell), 0);
	assert_true(cell->run.build_failed);
	assert_int_equal(agent_link_error(&cell->link, &err), -EPERM);
	assert_string_equal(err.step, "clock");
}

int main(void)
{
#define CELL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CELL(test_tree),
		CELL(test_place),
		CELL(test_sparse),
		CELL(test_large),
		CELL(test_full_disk),
		CELL(test_full_inodes),
		CELL(test_odd_names),
		CELL(test_unreadable),
		CELL(test_orphans_are_dead),
		CELL(test_told_to_end),
		CELL(test_stopped_agent),
		CELL(test_ids),
		CELL(test_clock_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
