/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a virtual machine, from the initial RAM disk. It prepares the guest, starts
 * brig's agent in it, and ends the machine when the agent ends.
 *
 * Theory of operation. It loads the modules of the disk, mounts the root of the cell (a read-only
 * image on a block device) and opens two ports: the agent's stream, and one for a last report. With
 * "brig.park" on the kernel's command line it then says that it is ready, as an agent would: the
 * machine is saved in this state, and each machine that is restored from it goes on from here. Then
 * it waits for the limits of the cell and for randomness (struct vm_go), reseeds the kernel's
 * generator, makes a control group, and starts the agent in it, with namespaces of its own and the
 * image as its root. The agent gets everything else over its stream. Only this process itself has
 * the same canary and addresses in all machines of one state.
 *
 * When the agent has ended, the group's figures go to the second port, one line of text, and the
 * machine ends as soon as the host has taken the last bytes of both.
 *
 * A monitor that has no such ports has a serial one, which "brig.port=ttyS0" on the command line
 * names. Both streams are then those of a process that passes them on over that line
 * (vm_line/line.h), and nothing else differs.
 *
 * Privileges: all of the guest's. It reads 48 bytes of its stream, all from brig, and nothing that
 * the program writes except for the kernel's own figures.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/reseed.h"
#include "framed/frame.h"
#include "vm_init/go.h"
#include "vm_init/serial.h"

#define ROOT          "/root"
#define GROUP         "/group"
#define CELL          GROUP "/cell"
#define STREAM_PORT   "/dev/vport0p1"
#define REPORT_PORT   "/dev/vport0p2"
#define DISK          "/dev/vda"
#define AGENT         "/brig-agent"
#define DEVICE_MS     10000
#define FLUSH_MS      5000
#define MODULES_MAX   64
#define COMPRESSED    4 /* MODULE_INIT_COMPRESSED_FILE, since Linux 5.17 */
#define NO_DESCRIPTOR (-1)

static int stream = NO_DESCRIPTOR, report = NO_DESCRIPTOR;
static pid_t serial; /* the process that serves both; 0: none */

static void pause_ms(long ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* The host takes what is written: the kernel allows another write. */
static void flush(int fd)
{
	for (int i = 0; fd >= 0 && i < FLUSH_MS; i++) {
		struct pollfd ready = { .fd = fd, .events = POLLOUT };
		if (poll(&ready, 1, 0) < 0 || (ready.revents & (POLLOUT | POLLHUP))) {
			return;
		}
		pause_ms(1);
	}
}

/* It ends when the host has everything; how long that takes, the host decides. */
static void flush_serial(void)
{
	close_fd(&stream);
	close_fd(&report);
	while (waitpid(serial, NULL, 0) < 0 && errno == EINTR) {
	}
}

/* qemu ends instead of starting the machine again. */
static _Noreturn void end_machine(void)
{
	if (serial > 0) {
		flush_serial();
	}
	flush(report);
	reboot(RB_AUTOBOOT);
	for (;;) {
		pause();
	}
}

static _Noreturn void fail(const char *step)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "the guest cannot %s: %s\n", step, strerror(errno));

	if (report >= 0 && n > 0) {
		(void)!write(report, line, (size_t)n);
	}
	end_machine();
}

/* --- the devices ------------------------------------------------------------------------------ */

/* 1: it is loaded; 0: not, and it may be later; -1: there is no such module. */
static int load_module(int number)
{
	char path[32];

	snprintf(path, sizeof(path), "/modules/%02d", number);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -1;
	}
	long r = syscall(SYS_finit_module, fd, "", 0);
	if (r < 0 && errno == ENOEXEC) {
		r = syscall(SYS_finit_module, fd, "", COMPRESSED);
	}
	return r == 0 || errno == EEXIST;
}

/*
 * /modules/00, /modules/01, ...: one that needs another is tried again after it. One that cannot be
 * loaded is missed later, by what it would have made.
 */
static void load_modules(void)
{
	bool loaded[MODULES_MAX] = { false }, more = true;

	while (more) {
		more = false;
		for (int i = 0; i < MODULES_MAX; i++) {
			int r = loaded[i] ? 0 : load_module(i);
			if (r < 0) {
				break;
			}
			loaded[i] |= r == 1;
			more |= r == 1;
		}
	}
}

/* Is the word on the kernel's command line? */
static bool is_told(const char *word)
{
	char text[2048];
	_cleanup_close_ int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0) {
		fail("read its command line");
	} else {
		text[n] = '\0';
	}
	return strstr(text, word) != NULL;
}

static int open_device(const char *path, int flags)
{
	for (int i = 0; i < DEVICE_MS; i++) {
		int fd = open(path, flags | O_CLOEXEC);
		if (fd >= 0 || (errno != ENOENT && errno != ENXIO && errno != ENODEV)) {
			return fd;
		}
		pause_ms(1);
	}
	return -1;
}

/* Until the host's end of the port is connected, a read would report the end of the stream. */
static int open_port(const char *path)
{
	int fd = open_device(path, O_RDWR);

	for (int i = 0; fd >= 0 && i < DEVICE_MS; i++) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		if (poll(&ready, 1, 0) >= 0 && !(ready.revents & POLLHUP)) {
			break;
		}
		pause_ms(1);
	}
	return fd;
}

static void open_streams(void)
{
	if (!is_told("brig.port=" SERIAL_PORT)) {
		report = open_port(REPORT_PORT);
		stream = open_port(STREAM_PORT);
	} else {
		int port = open_device("/dev/" SERIAL_PORT, O_RDWR | O_NOCTTY | O_NONBLOCK);
		int r = port < 0 ? -errno : serial_start(port, &stream, &report, &serial);
		close_fd(&port);
		errno = r < 0 ? -r : 0;
	}
	if (stream < 0) {
		fail("open its stream");
	}
}

static void mount_root(void)
{
	_cleanup_close_ int disk = open_device(DISK, O_RDONLY);

	if (disk < 0) {
		fail("find its disk");
	}
	if (mount(DISK, ROOT, "erofs", MS_RDONLY | MS_NOSUID, NULL) < 0) {
		fail("mount the root of the cell");
	}
}

/* --- the group -------------------------------------------------------------------------------- */

static int write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		return -errno;
	}
	return 0;
}

static void write_number(const char *path, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (write_text(path, text) < 0) {
		fail("set the limits of the cell");
	}
}

static void make_group(void)
{
	if (mount("cgroup2", GROUP, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
	    write_text(GROUP "/cgroup.subtree_control", "+memory +pids") < 0 ||
	    mkdir(CELL, 0755) < 0) {
		fail("make a control group");
	}
}

static void limit_group(const struct vm_go *go)
{
	write_number(CELL "/memory.max", go->memory_bytes);
	write_number(CELL "/pids.max", go->processes);
}

/* A number of a file with "NAME VALUE" lines, or of its only line. */
static uint64_t read_number(const char *path, const char *name)
{
	char text[1024], *at = text;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0) {
		return 0;
	}
	text[n] = '\0';
	while (name) {
		size_t length = strlen(name);
		if (strncmp(at, name, length) == 0 && at[length] == ' ') {
			at += length + 1;
			break;
		}
		at = strchr(at, '\n');
		if (!at) {
			return 0;
		}
		at++;
	}
	return strtoull(at, NULL, 10);
}

static void report_use(void)
{
	char line[160];
	int n = snprintf(line, sizeof(line), VM_REPORT_FORMAT,
			 read_number(CELL "/memory.events", "oom_kill"),
			 read_number(CELL "/memory.peak", NULL),
			 read_number(CELL "/pids.events", "max"),
			 read_number(CELL "/pids.peak", NULL));

	if (n > 0) {
		(void)!write(report, line, (size_t)n);
	}
}

/* --- the agent -------------------------------------------------------------------------------- */

static void say_ready(void)
{
	unsigned char frame[FRAME_HEAD_BYTES + 4];

	frame_put_head(frame, FRAME_READY, 4);
	frame_put_u32(frame + FRAME_HEAD_BYTES, FRAME_VERSION);
	if (write(stream, frame, sizeof(frame)) != sizeof(frame)) {
		end_machine();
	}
}

static void wait_for_go(struct vm_go *ret)
{
	unsigned char bytes[VM_GO_BYTES];

	for (size_t have = 0; have < sizeof(bytes);) {
		ssize_t n = read(stream, bytes + have, sizeof(bytes) - have);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			/* Between a save and a restore nobody is at the other end. */
			struct pollfd ready = { .fd = stream, .events = POLLIN };
			if (n == 0 && poll(&ready, 1, 10) >= 0) {
				pause_ms(1);
				continue;
			}
			end_machine();
		}
		have += (size_t)n;
	}
	ret->memory_bytes = frame_get_u64(bytes);
	ret->processes = frame_get_u64(bytes + 8);
	memcpy(ret->seed, bytes + 16, VM_GO_SEED);
}

static _Noreturn void become_agent(void)
{
	static char name[] = "brig-agent", stays[] = FRAME_AGENT_STAYS;
	/* The end of the serial process is that of all it has taken. */
	char *const arguments[] = { name, serial > 0 ? NULL : stays, NULL };
	char *const nothing[] = { NULL };

	if (write_text(CELL "/cgroup.procs", "0") < 0 || unshare(CLONE_NEWCGROUP) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		fail("enter the control group");
	}
	if (mount("proc", ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "subset=pid,hidepid=invisible") < 0) {
		fail("mount /proc");
	}
	if (sethostname("brig", 4) < 0 || chdir(ROOT) < 0 ||
	    mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0) {
		fail("enter the root of the cell");
	}
	if (dup2(stream, 0) < 0 || dup2(stream, 1) < 0 || dup2(report, 2) < 0) {
		fail("connect the agent");
	}
	execve(AGENT, arguments, nothing);
	fail("execute the agent");
}

static void run_agent(void)
{
	const unsigned long spaces =
		CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;
	pid_t agent = (pid_t)syscall(SYS_clone, spaces | SIGCHLD, NULL, NULL, NULL, NULL);

	if (agent < 0) {
		fail("start the agent");
	}
	if (agent == 0) {
		become_agent();
	}
	for (pid_t pid = 0; pid != agent;) {
		pid = waitpid(-1, NULL, __WALL);
		if (pid < 0 && errno != EINTR) {
			return;
		}
	}
}

int main(void)
{
	struct vm_go go;

	if (mount("dev", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, NULL) < 0 && errno != EBUSY) {
		end_machine();
	}
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	load_modules();
	open_streams();
	mount_root();
	make_group();
	if (is_told("brig.park")) {
		say_ready();
	}
	wait_for_go(&go);
	/* Before the agent: its canary and its addresses are not those of another machine. */
	if (reseed_kernel(go.seed, sizeof(go.seed)) < 0) {
		fail("reseed its generator");
	}
	limit_group(&go);
	run_agent();
	report_use();
	flush(stream);
	end_machine();
}
