/* SPDX-License-Identifier: Apache-2.0 */
/* The agent itself, as a plain process at the other end of a socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "base/files/memfile.h"
#include "framed/agent_image.h"
#include "framed/frame.h"
#include "kernel/landlock.h"

#define PATIENCE_MS 20000
#define LEAKED_FD   77 /* open when the agent begins */

struct talk {
	int fd;
	pid_t pid;
	char dir[64];
	unsigned char data[FRAME_DATA_MAX];
	struct frame_head head;
	struct buf out[2];
	struct frame_exit end;
	bool closed; /* input */
};

static int begin_with(void **state, char *argument)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	char *argv[] = { (char[]){ "brig-agent" }, argument, NULL };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	_cleanup_close_ int program = memfile_make("brig-agent", agent_image, agent_image_size);
	assert_true(program >= 0);
	snprintf(talk->dir, sizeof(talk->dir), "/tmp/brig-agent-XXXXXX");
	assert_non_null(mkdtemp(talk->dir));
	talk->pid = fork();
	if (talk->pid == 0) {
		dup2(ends[1], 0);
		dup2(ends[1], 1);
		dup2(2, LEAKED_FD);
		fexecve(program, argv, environ);
		_exit(99);
	}
	close(ends[1]);
	talk->fd = ends[0];
	*state = talk;
	return 0;
}

static int begin(void **state)
{
	return begin_with(state, NULL);
}

static int begin_that_stays(void **state)
{
	return begin_with(state, (char[]){ FRAME_AGENT_STAYS });
}

static int finish(void **state)
{
	struct talk *talk = *state;
	char command[128];

	close_fd(&talk->fd);
	waitpid(talk->pid, NULL, 0); /* it ends when the stream ends */
	snprintf(command, sizeof(command), "rm -rf %s", talk->dir);
	assert_int_equal(system(command), 0);
	buf_done(&talk->out[0]);
	buf_done(&talk->out[1]);
	free(talk);
	return 0;
}

static void tell(struct talk *talk, enum frame_kind kind, const void *data, size_t size)
{
	unsigned char head[FRAME_HEAD_BYTES];

	frame_put_head(head, kind, (uint32_t)size);
	assert_int_equal(send(talk->fd, head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
	if (size) {
		assert_int_equal(send(talk->fd, data, size, MSG_NOSIGNAL), size);
	}
}

static void hear_bytes(struct talk *talk, unsigned char *at, size_t size)
{
	struct pollfd ready = { .fd = talk->fd, .events = POLLIN };

	while (size > 0) {
		assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
		ssize_t n = recv(talk->fd, at, size, 0);
		assert_true(n > 0);
		at += n;
		size -= (size_t)n;
	}
}

static enum frame_kind hear(struct talk *talk)
{
	unsigned char head[FRAME_HEAD_BYTES];

	hear_bytes(talk, head, sizeof(head));
	assert_int_equal(frame_get_head(head, &talk->head), 0);
	hear_bytes(talk, talk->data, talk->head.size);
	return talk->head.kind;
}

static void tell_shell(struct talk *talk, const char *script)
{
	assert_int_equal(hear(talk), FRAME_READY);
	tell(talk, FRAME_DIRECTORY, talk->dir, strlen(talk->dir));
	tell(talk, FRAME_ARGUMENT, "/bin/sh", 7);
	tell(talk, FRAME_ARGUMENT, "-c", 2);
	tell(talk, FRAME_ARGUMENT, script, strlen(script));
}

/* Everything until the last frame. */
static void hear_all(struct talk *talk)
{
	for (;;) {
		enum frame_kind kind = hear(talk);
		switch (kind) {
		case FRAME_STDOUT:
		case FRAME_STDERR:
			buf_add(&talk->out[kind == FRAME_STDERR], talk->data, talk->head.size);
			break;
		case FRAME_INPUT_CLOSED:
			talk->closed = true;
			break;
		case FRAME_EXITED:
			frame_get_exit(talk->data, &talk->end);
			return;
		default:
			assert_int_equal(kind, FRAME_INPUT_TAKEN);
		}
	}
}

static void run_shell(struct talk *talk, const char *script)
{
	tell_shell(talk, script);
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
}

static void test_streams_apart(void **state)
{
	struct talk *talk = *state;

	run_shell(talk, "echo out; echo err >&2; exit 3");
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "out\n");
	assert_string_equal(talk->out[1].data, "err\n");
	assert_int_equal(talk->end.code, CLD_EXITED);
	assert_int_equal(talk->end.status, 3);
	assert_true(talk->end.cpu_ns > 0 && talk->end.memory_peak_bytes > 0);
}

/* Podman drops what it has of an agent that ended before the last bytes for it arrived. */
static void test_stays_until_its_stream_ends(void **state)
{
	struct talk *talk = *state;
	siginfo_t info = { 0 };

	run_shell(talk, "echo out");
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "out\n");
	usleep(100000);
	tell(talk, FRAME_SIGNAL, "\x0f\0\0", 4); /* late, and dropped */
	usleep(100000);
	assert_int_equal(waitid(P_PID, (id_t)talk->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	assert_int_equal(info.si_pid, 0);
}

/* A runtime may leave a descriptor of the host open in the first process (CVE-2024-21626). */
static void test_nothing_is_inherited(void **state)
{
	struct talk *talk = *state;

	run_shell(talk, "cd /proc/$$/fd && ls -d 0 77; true");
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "0\n");
}

static void test_signals(void **state)
{
	struct talk *talk = *state;
	unsigned char number[4];

	run_shell(talk,
		  "trap 'echo asked; kill -ABRT $$' TERM; echo up; while :; do sleep 0.01; done");
	while (hear(talk) != FRAME_STDOUT) {
	}
	frame_put_u32(number, SIGTERM);
	tell(talk, FRAME_SIGNAL, number, 4);
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "asked\n");
	assert_true(talk->end.code == CLD_KILLED || talk->end.code == CLD_DUMPED);
	assert_int_equal(talk->end.status, SIGABRT);
}

static void test_input(void **state)
{
	struct talk *talk = *state;

	run_shell(talk, "cat; echo end");
	tell(talk, FRAME_INPUT, "one ", 4);
	tell(talk, FRAME_INPUT, "two\n", 4);
	tell(talk, FRAME_INPUT_END, NULL, 0);
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "one two\nend\n");
	assert_false(talk->closed);
}

static void test_input_not_read(void **state)
{
	struct talk *talk = *state;

	run_shell(talk, "exec 0<&-; sleep 0.1; echo end");
	hear_all(talk);
	assert_true(talk->closed);
	assert_string_equal(talk->out[0].data, "end\n");
}

/* A whole window that the program does not read: the agent still hears a signal. */
static void test_full_window(void **state)
{
	static const unsigned char zeros[FRAME_INPUT_WINDOW];
	struct talk *talk = *state;
	unsigned char number[4];
	uint32_t taken = 0;

	run_shell(talk, "exec sleep 100");
	tell(talk, FRAME_INPUT, zeros, sizeof(zeros));
	frame_put_u32(number, SIGKILL);
	tell(talk, FRAME_SIGNAL, number, 4);
	for (enum frame_kind kind = hear(talk); kind != FRAME_EXITED; kind = hear(talk)) {
		taken += kind == FRAME_INPUT_TAKEN ? frame_get_u32(talk->data) : 0;
	}
	assert_true(taken <= sizeof(zeros));
}

/* Output is not read from the program faster than it is taken here. */
static void test_back_pressure(void **state)
{
	struct talk *talk = *state;
	char path[128];
	struct stat before, after;

	snprintf(path, sizeof(path), "%s/count", talk->dir);
	run_shell(talk, "while :; do head -c 65536 /dev/zero; echo >> count; done");
	/* Waits until the writer stands still: the socket and the pipe are full. */
	int still = 0;
	before.st_size = -1;
	for (int i = 0; i < 200 && still < 10; i++) {
		usleep(50000);
		after.st_size = 0;
		stat(path, &after);
		still = after.st_size == before.st_size && after.st_size > 0 ? still + 1 : 0;
		before = after;
	}
	assert_int_equal(still, 10);
	assert_true(after.st_size < 64); /* rounds of 64 KiB */
	unsigned char number[4];
	frame_put_u32(number, SIGKILL);
	tell(talk, FRAME_SIGNAL, number, 4);
	hear_all(talk);
	assert_int_equal(talk->end.status, SIGKILL);
}

static void test_orphan(void **state)
{
	struct talk *talk = *state;

	run_shell(talk, "sleep 1000 & echo done");
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "done\n");
	assert_int_equal(talk->end.status, 0);
}

static void test_files_and_variables(void **state)
{
	struct talk *talk = *state;
	static const unsigned char name[] = "\xa4\x01\0\0a/b/text"; /* mode 0644 */

	tell_shell(talk, "cat a/b/text; echo $A; ulimit -n; pwd");
	unsigned char limit[FRAME_LIMIT_BYTES];
	frame_put_u32(limit, RLIMIT_NOFILE);
	frame_put_u64(limit + 4, 17);
	tell(talk, FRAME_LIMIT, limit, sizeof(limit));
	tell(talk, FRAME_VARIABLE, "A=b c", 5);
	tell(talk, FRAME_FILE, name, sizeof(name) - 1);
	tell(talk, FRAME_FILE_DATA, "first ", 6);
	tell(talk, FRAME_FILE_DATA, "second\n", 7);
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
	hear_all(talk);
	char expected[256];
	snprintf(expected, sizeof(expected), "first second\nb c\n17\n%s\n", talk->dir);
	assert_string_equal(talk->out[0].data, expected);
}

static void hear_failure(struct talk *talk, enum frame_step step, int errnum);
static void hear_all_of_driver(struct talk *talk);

/* --- an interpreter that waits ---------------------------------------------------------------- */

/* A shell stands for it. */
static void tell_waiting(struct talk *talk, const char *script)
{
	static const unsigned char name[] = "\x80\x01\0\0wait"; /* mode 0600 */
	char path[80];

	snprintf(path, sizeof(path), "%s/wait", talk->dir);
	assert_int_equal(hear(talk), FRAME_READY);
	tell(talk, FRAME_DIRECTORY, talk->dir, strlen(talk->dir));
	tell(talk, FRAME_FILE, name, sizeof(name) - 1);
	tell(talk, FRAME_FILE_DATA, script, strlen(script));
	tell(talk, FRAME_ARGUMENT, "/bin/sh", 7);
	tell(talk, FRAME_ARGUMENT, path, strlen(path));
	tell(talk, FRAME_VARIABLE, "EARLY=1", 7);
	tell(talk, FRAME_WAIT, "wait", 4);
}

static void tell_nofile(struct talk *talk, uint64_t value)
{
	unsigned char limit[FRAME_LIMIT_BYTES];

	frame_put_u32(limit, RLIMIT_NOFILE);
	frame_put_u64(limit + 4, value);
	tell(talk, FRAME_LIMIT, limit, sizeof(limit));
}

static void test_waiting(void **state)
{
	static const unsigned char file[] = "\xa4\x01\0\0in";
	struct talk *talk = *state;

	tell_waiting(talk, "echo $EARLY $(ls | wc -l); printf w >&3; read -r count <&3; "
			   "echo $count; tr '\\0' ,  <&3; echo; cat in - ; ls; ulimit -n; exit 7");
	assert_int_equal(hear(talk), FRAME_WAITING);
	tell(talk, FRAME_ARGUMENT, "one", 3);
	tell(talk, FRAME_ARGUMENT, "", 0);
	tell(talk, FRAME_VARIABLE, "A=b c", 5);
	tell_nofile(talk, 17);
	tell(talk, FRAME_FILE, file, sizeof(file) - 1);
	tell(talk, FRAME_FILE_DATA, "text\n", 5);
	tell(talk, FRAME_START, NULL, 0);
	tell(talk, FRAME_INPUT, "input\n", 6);
	tell(talk, FRAME_INPUT_END, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
	hear_all(talk);
	assert_string_equal(talk->out[0].data, "1 2\n2\none,,A=b c,\ntext\ninput\nin\nout\n17\n");
	assert_int_equal(talk->end.status, 7);
}

/* Its own start is not the program's. */
static void test_time_before_the_program(void **state)
{
	struct talk *talk = *state;
	struct rusage before, after;

	getrusage(RUSAGE_CHILDREN, &before);
	tell_waiting(talk, "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; "
			   "printf w >&3; read -r count <&3; read -r rest <&3; exit 0");
	assert_int_equal(hear(talk), FRAME_WAITING);
	tell(talk, FRAME_ARGUMENT, "x", 1);
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
	hear_all(talk);
	close_fd(&talk->fd);
	waitpid(talk->pid, NULL, 0);
	getrusage(RUSAGE_CHILDREN, &after);
	assert_true(after.ru_utime.tv_sec > before.ru_utime.tv_sec ||
		    after.ru_utime.tv_usec > before.ru_utime.tv_usec);
	uint64_t spent = (uint64_t)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000000u +
			 (uint64_t)after.ru_utime.tv_usec * 1000u -
			 (uint64_t)before.ru_utime.tv_usec * 1000u;
	assert_true(talk->end.cpu_ns < spent / 2);
}

static void test_does_not_wait(void **state)
{
	struct talk *talk = *state;

	tell_waiting(talk, "exit 1");
	hear_failure(talk, FRAME_STEP_WAIT, ECHILD);
}

static void test_waits_no_more(void **state)
{
	struct talk *talk = *state;

	tell_waiting(talk, "printf w >&3; while [ -e wait ]; do :; done; exit 1");
	assert_int_equal(hear(talk), FRAME_WAITING);
	hear_failure(talk, FRAME_STEP_WAIT, ECHILD);
}

/* Its walls are there: they cannot be given a second time. */
static void test_no_walls_later(void **state)
{
	struct talk *talk = *state;
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

	tell_waiting(talk, "printf w >&3; read -r count <&3");
	assert_int_equal(hear(talk), FRAME_WAITING);
	tell(talk, FRAME_FILTER, &allow, sizeof(allow));
	hear_failure(talk, FRAME_STEP_ASSIGNMENT, EPROTO);
}

/* --- values and drivers ----------------------------------------------------------------------- */

static void tell_numbers(struct talk *talk, enum frame_kind kind, uint32_t one, uint32_t two)
{
	unsigned char data[8];

	frame_put_u32(data, one);
	frame_put_u32(data + 4, two);
	tell(talk, kind, data, sizeof(data));
}

static void begin_driver(struct talk *talk)
{
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
}

static void test_value(void **state)
{
	struct talk *talk = *state;
	enum frame_kind kind;

	tell_shell(talk, "printf '[1]' >&3; exec 3>&-; true");
	tell_numbers(talk, FRAME_VALUE_FILE, 8192, 1);
	begin_driver(talk);
	while ((kind = hear(talk)) != FRAME_VALUE) {
		assert_int_not_equal(kind, FRAME_EXITED);
	}
	assert_int_equal(frame_get_u32(talk->data) & 0xf, 7); /* seal, shrink, grow */
	assert_int_equal(talk->head.size, 4 + 3);
	assert_memory_equal(talk->data + 4, "[1]", 3);
	assert_int_equal(hear(talk), FRAME_EXITED);
}

/* The memory of a value cannot grow, whatever the program does. */
static void test_value_is_bounded(void **state)
{
	struct talk *talk = *state;
	enum frame_kind kind;

	tell_shell(talk, "yes >&3; true");
	tell_numbers(talk, FRAME_VALUE_FILE, 8192, 1);
	begin_driver(talk);
	while ((kind = hear(talk)) != FRAME_VALUE) {
		assert_int_not_equal(kind, FRAME_EXITED);
	}
	assert_int_equal(talk->head.size, 4 + 8192);
}

static void test_no_such_value(void **state)
{
	struct talk *talk = *state;

	tell_shell(talk, ":");
	tell_numbers(talk, FRAME_VALUE_FILE, FRAME_VALUE_MAX + 1, 1);
	hear_failure(talk, FRAME_STEP_ASSIGNMENT, E2BIG);
}

/* A socket, read and written; the bytes that were printed before come before. */
static void test_driver(void **state)
{
	struct talk *talk = *state;
	struct buf all = { 0 };

	tell_shell(talk, "while read line <&3; do echo \"out $line\"; echo \"err $line\" >&2; "
			 "echo \"did $line\" >&3; done; echo over");
	tell_numbers(talk, FRAME_CHANNEL, 3, 3);
	begin_driver(talk);
	for (int i = 0; i < 50; i++) {
		enum frame_kind kind;
		tell(talk, FRAME_TO_DRIVER, "x\n", 2);
		buf_done(&talk->out[0]);
		buf_done(&talk->out[1]);
		while ((kind = hear(talk)) != FRAME_FROM_DRIVER) {
			if (kind == FRAME_STDOUT || kind == FRAME_STDERR) {
				buf_add(&talk->out[kind == FRAME_STDERR], talk->data,
					talk->head.size);
			}
		}
		buf_add(&all, talk->data, talk->head.size);
		assert_string_equal(talk->out[0].data, "out x\n");
		assert_string_equal(talk->out[1].data, "err x\n");
	}
	assert_int_equal(all.size, 50 * 6);
	buf_done(&all);
	tell(talk, FRAME_TO_DRIVER_END, NULL, 0);
	buf_done(&talk->out[0]);
	hear_all_of_driver(talk);
	assert_string_equal(talk->out[0].data, "over\n");
}

static void test_driver_with_pipes(void **state)
{
	struct talk *talk = *state;
	enum frame_kind kind;

	tell_shell(talk, "exec python3 -c 'import os; os.write(31, b\"r\" + os.read(30, 9))'");
	tell_numbers(talk, FRAME_CHANNEL, 30, 31);
	begin_driver(talk);
	tell(talk, FRAME_TO_DRIVER, "work", 4);
	while ((kind = hear(talk)) != FRAME_FROM_DRIVER) {
		assert_int_not_equal(kind, FRAME_EXITED);
	}
	assert_memory_equal(talk->data, "rwork", 5);
}

/* Output from before the mark is dropped, or comes before its answer. */
static void test_mark(void **state)
{
	struct talk *talk = *state;
	enum frame_kind kind;

	tell_shell(talk, "yes noise & echo up >&3; read line <&3; kill -9 $!; wait; echo mine; "
			 "echo done >&3; read line <&3");
	tell_numbers(talk, FRAME_CHANNEL, 3, 3);
	begin_driver(talk);
	while ((kind = hear(talk)) != FRAME_FROM_DRIVER) {
		assert_int_equal(kind, FRAME_STDOUT);
	}
	tell(talk, FRAME_TO_DRIVER, "x\n", 2);
	while ((kind = hear(talk)) != FRAME_FROM_DRIVER) {
	}
	tell(talk, FRAME_MARK, NULL, 0);
	while ((kind = hear(talk)) != FRAME_MARKED) {
	}
	tell(talk, FRAME_TO_DRIVER, "x\n", 2);
	hear_all_of_driver(talk);
	assert_int_equal(talk->out[0].size, 0);
}

static void hear_failure(struct talk *talk, enum frame_step step, int errnum)
{
	assert_int_equal(hear(talk), FRAME_FAILED);
	assert_int_equal(frame_get_u32(talk->data), step);
	assert_int_equal(frame_get_u32(talk->data + 4), errnum);
}

static void hear_all_of_driver(struct talk *talk)
{
	for (enum frame_kind kind = hear(talk); kind != FRAME_EXITED; kind = hear(talk)) {
		if (kind == FRAME_STDOUT) {
			buf_add(&talk->out[0], talk->data, talk->head.size);
		}
	}
}

/* --- the filter ------------------------------------------------------------------------------- */

/* The next frame is LISTENER, with its descriptor. */
static int hear_listener(struct talk *talk)
{
	unsigned char bytes[FRAME_HEAD_BYTES];
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct frame_head head;
	int fd = -1;

	assert_int_equal(recvmsg(talk->fd, &message, MSG_CMSG_CLOEXEC), sizeof(bytes));
	assert_int_equal(frame_get_head(bytes, &head), 0);
	assert_int_equal(head.kind, FRAME_LISTENER);
	assert_int_equal(fdpass_take(&message, &fd, 1), 1);
	return fd;
}

/* Answers the next call: with an error, or it goes on. */
static unsigned answer(int listener, int error)
{
	struct pollfd ready = { .fd = listener, .events = POLLIN };
	struct seccomp_notif call = { 0 };

	assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call), 0);
	struct seccomp_notif_resp reply = {
		.id = call.id,
		.error = -error,
		.flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply), 0);
	return (unsigned)call.data.nr;
}

/* exec itself waits for brig, which has the listener by then. */
static void test_listener(void **state)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chdir, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	unsigned char limit[FRAME_LIMIT_BYTES];
	struct talk *talk = *state;

	tell_shell(talk, "cd / && echo entered; ls /proc/self/fd; exit 0");
	/* Few descriptors: those of the agent are not in the way. */
	frame_put_u32(limit, RLIMIT_NOFILE);
	frame_put_u64(limit + 4, 8);
	tell(talk, FRAME_LIMIT, limit, sizeof(limit));
	tell(talk, FRAME_FILTER, code, sizeof(code));
	tell(talk, FRAME_LISTEN, NULL, 0);
	tell(talk, FRAME_START, NULL, 0);
	_cleanup_close_ int listener = hear_listener(talk);
	assert_int_equal(answer(listener, 0), SYS_execve);
	assert_int_equal(hear(talk), FRAME_STARTED);
	assert_int_equal(answer(listener, EXDEV), SYS_chdir);
	assert_int_equal(answer(listener, 0), SYS_execve);
	hear_all(talk);
	buf_add(&talk->out[0], "", 1);
	/* With the directory itself, and nothing of the agent's. */
	assert_string_equal(talk->out[0].data, "0\n1\n2\n3\n");
}

/* Without its owner no call waits for ever: exec fails, and so does the start. */
static void test_listener_closed(void **state)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct talk *talk = *state;

	tell_shell(talk, "true");
	tell(talk, FRAME_FILTER, code, sizeof(code));
	tell(talk, FRAME_LISTEN, NULL, 0);
	tell(talk, FRAME_START, NULL, 0);
	close(hear_listener(talk));
	assert_int_equal(hear(talk), FRAME_FAILED);
	assert_int_equal(frame_get_u32(talk->data), FRAME_STEP_EXEC);
	assert_int_equal(frame_get_u32(talk->data + 4), ENOSYS);
}

static void tell_landlock(struct talk *talk)
{
	unsigned char abi[4];

	assert_int_not_equal(landlock_abi(), 0);
	frame_put_u32(abi, (uint32_t)landlock_abi());
	tell(talk, FRAME_LANDLOCK, abi, sizeof(abi));
}

static void tell_place(struct talk *talk, enum frame_place use, const char *path)
{
	unsigned char data[128];

	frame_put_u32(data, use);
	memcpy(data + 4, path, strlen(path));
	tell(talk, FRAME_PLACE, data, 4 + strlen(path));
}

static void test_landlock(void **state)
{
	struct talk *talk = *state;

	tell_shell(talk, "echo x > in && cat in; (echo x > ../brig-out) 2>/dev/null || echo no");
	tell_landlock(talk);
	tell_place(talk, FRAME_PLACE_READ, "/");
	tell_place(talk, FRAME_PLACE_DEVICE, "/dev");
	tell_place(talk, FRAME_PLACE_WRITE, talk->dir);
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
	hear_all(talk);
	buf_add(&talk->out[0], "", 1);
	assert_string_equal(talk->out[0].data, "x\nno\n");
}

static void test_landlock_without_a_place(void **state)
{
	struct talk *talk = *state;

	tell_shell(talk, "true");
	tell_landlock(talk);
	tell_place(talk, FRAME_PLACE_READ, "/nonexistent");
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_FAILED);
	assert_int_equal(frame_get_u32(talk->data), FRAME_STEP_LANDLOCK);
	assert_int_equal(frame_get_u32(talk->data + 4), ENOENT);
}

static void test_no_program(void **state)
{
	struct talk *talk = *state;

	assert_int_equal(hear(talk), FRAME_READY);
	tell(talk, FRAME_DIRECTORY, talk->dir, strlen(talk->dir));
	tell(talk, FRAME_ARGUMENT, "/nonexistent", 12);
	tell(talk, FRAME_START, NULL, 0);
	hear_failure(talk, FRAME_STEP_EXEC, ENOENT);
}

static void test_no_directory(void **state)
{
	struct talk *talk = *state;

	assert_int_equal(hear(talk), FRAME_READY);
	tell(talk, FRAME_DIRECTORY, "/nonexistent", 12);
	tell(talk, FRAME_ARGUMENT, "/bin/true", 9);
	tell(talk, FRAME_START, NULL, 0);
	hear_failure(talk, FRAME_STEP_DIRECTORY, ENOENT);
}

static void test_file_outside(void **state)
{
	struct talk *talk = *state;

	tell_shell(talk, ":");
	tell(talk, FRAME_FILE, "\xa4\x01\0\0../x", 8);
	hear_failure(talk, FRAME_STEP_FILE, EINVAL);
}

static void test_end_of_stream(void **state)
{
	struct talk *talk = *state;
	char path[128];
	FILE *file;
	int pid = 0;

	run_shell(talk, "echo $$ > pid; echo up; sleep 1000");
	while (hear(talk) != FRAME_STDOUT) {
	}
	snprintf(path, sizeof(path), "%s/pid", talk->dir);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	close_fd(&talk->fd);
	int status;
	assert_int_equal(waitpid(talk->pid, &status, 0), talk->pid);
	for (int i = 0; i < 400 && kill(pid, 0) == 0; i++) {
		usleep(50000);
	}
	assert_int_equal(kill(pid, 0), -1);
}

/* The program can neither trace nor read its agent. */
static void test_closed_to_the_program(void **state)
{
	struct talk *talk = *state;

	if (getuid() == 0) {
		return; /* root may do both */
	}
	run_shell(talk, "cat /proc/$PPID/environ /proc/$PPID/maps; ls /proc/$PPID/fd");
	hear_all(talk);
	assert_int_equal(talk->out[0].size, 0);
	assert_int_not_equal(talk->end.status, 0);
}

int main(void)
{
#define TALK(test) cmocka_unit_test_setup_teardown(test, begin, finish)
#define STAY(test) cmocka_unit_test_setup_teardown(test, begin_that_stays, finish)
	const struct CMUnitTest tests[] = {
		STAY(test_stays_until_its_stream_ends),
		TALK(test_streams_apart),
		TALK(test_nothing_is_inherited),
		TALK(test_signals),
		TALK(test_input),
		TALK(test_input_not_read),
		TALK(test_full_window),
		TALK(test_back_pressure),
		TALK(test_orphan),
		TALK(test_files_and_variables),
		TALK(test_waiting),
		TALK(test_time_before_the_program),
		TALK(test_does_not_wait),
		TALK(test_waits_no_more),
		TALK(test_no_walls_later),
		TALK(test_value),
		TALK(test_value_is_bounded),
		TALK(test_no_such_value),
		TALK(test_driver),
		TALK(test_driver_with_pipes),
		TALK(test_mark),
		TALK(test_listener),
		TALK(test_listener_closed),
		TALK(test_landlock),
		TALK(test_landlock_without_a_place),
		TALK(test_no_program),
		TALK(test_no_directory),
		TALK(test_file_outside),
		TALK(test_end_of_stream),
		TALK(test_closed_to_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
