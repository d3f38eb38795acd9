/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: see template.h. */
#include "lib/warm/template.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/files/memfile.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "kernel/sys.h"
#include "lib/warm/cell_init_image.h"
#include "lib/warm/template_image.h"
#include "native/keeper/keeper.h"
#include "native/messages/wire.h"
#include "native/native.h"
#include "native/plan/plan_pack.h"
#include "wasm/wasm.h"

static const uint32_t template_edges[TEMPLATE_STATES] = {
	[TEMPLATE_WARMING] = STATE_BIT(TEMPLATE_READY) | STATE_BIT(TEMPLATE_BROKEN),
	[TEMPLATE_READY] = STATE_BIT(TEMPLATE_BROKEN),
	/* It can be found broken once more before its pool ends it. */
	[TEMPLATE_BROKEN] = STATE_BIT(TEMPLATE_BROKEN),
};

static void template_enter(struct template *template, enum template_state state)
{
	invariant(state_allows(template_edges, template->state, state));
	template->state = state;
}

/* The drivers that a clone can become: one stays in a session, the other runs a program. */
#define SESSION "drivers/session.py"
#define DRIVER  "drivers/python.py"

#define WASM "drivers/wasm.py"

/* Of WebAssembly: the engine in place of the image, and the interpreter in place of the driver. */
enum { FD_SOCKET, FD_IMAGE, FD_PLAN, FD_DRIVER };

/* 3 is the socket, 4 the image, 5 the plan, 6 the driver. The arguments are modules to preload. */
static const char boot[] = "def boot():\n"
			   " import sys\n"
			   " from importlib import machinery as m, util as u\n"
			   " l = m.ExtensionFileLoader('_brig', '/proc/self/fd/4')\n"
			   " x = u.module_from_spec(u.spec_from_loader('_brig', l))\n"
			   " l.exec_module(x)\n"
			   " sys.modules.pop('_brig', None)\n"
			   " with open(6, 'rb') as f: text = f.read()\n"
			   " import os\n"
			   " os.close(4)\n"
			   " n = os.path.basename(sys.executable or sys.orig_argv[0])\n"
			   " return text, {'__name__': 'brig.driver', 'text': text,\n"
			   "  'serve': lambda: x.serve(3, 5, n),\n"
			   "  'leave': x.leave,\n"
			   "  'preload': sys.argv[1:]}\n"
			   "t, g = boot()\n"
			   "del boot\n"
			   "exec(compile(t, '<brig>', 'exec'), g)\n";

bool template_possible(const struct prepared *base)
{
	if (prepare_is_wasm(base)) {
		return base->runtime && base->runtime->template && base->prepared_module &&
		       wasm_template_image_size > 0 && embedded_find(WASM) &&
		       base->spec.limits.instructions >= LIMIT_INSTRUCTIONS_NONE;
	}
	return base->runtime && base->runtime->template && template_image_size > 0 &&
	       embedded_find(SESSION) && embedded_find(DRIVER);
}

/* One text: the guard and the session only define names, the last part runs. */
static int driver_file(void)
{
	const struct embedded_file *session = embedded_find(SESSION),
				   *driver = embedded_find(DRIVER);
	_cleanup_(buf_done)
	struct buf text = { 0 };

	buf_add(&text, session->data, session->size);
	buf_add(&text, driver->data, driver->size);
	size_t size = 0;
	_cleanup_free_ char *whole = text.failed ? NULL : guard_text(text.data, text.size, &size);
	return whole ? memfile_make("brig-driver", whole, size) : -ENOMEM;
}

/* The interpreter must be an ELF program: it is not known what a script would start. */
static int open_program(const char *path)
{
	char magic[4];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, "\177ELF", sizeof(magic)) != 0) {
		return -ENOEXEC;
	}
	return TAKE_FD(fd);
}

/* A clone executes nothing: it needs no files for that in its cell. */
static int pack(const struct spec *spec, struct brig_error *err)
{
	struct plan plan = { 0 };
	struct spec clone = *spec;

	clone.binds_count = 0;
	clone.prober = NULL;
	int r = plan_make(&clone, &plan, err);

	if (r == 0) {
		r = plan_pack(&plan);
		plan_done(&plan);
	}
	return r;
}

/*
 * LD_BIND_NOW: symbols are resolved ahead, since a first call in a clone would write to a shared
 * page of tables. One thread: libraries that start threads at import cannot be cloned. BRIG_ROOM:
 * space for the variables that a program's own environment has in addition.
 */
static const char *const more_env[] = {
	"LD_BIND_NOW=1",
	"OPENBLAS_NUM_THREADS=1",
	"OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1",
	"NUMEXPR_NUM_THREADS=1",
#define ROOM "################################################################"
	"BRIG_ROOM=" ROOM ROOM ROOM ROOM ROOM ROOM ROOM ROOM,
#undef ROOM
};

static const char **template_env(const struct strlist *env)
{
	const char **list = calloc(env->count + ARRAY_SIZE(more_env) + 1, sizeof(*list));

	for (size_t i = 0; list && i < env->count; i++) {
		list[i] = env->items[i];
	}
	for (size_t i = 0; list && i < ARRAY_SIZE(more_env); i++) {
		list[env->count + i] = more_env[i];
	}
	return list;
}

/* The command of the interpreter up to the modules: their number. */
static size_t begin_command(const struct prepared *base, const char **argv)
{
	size_t argc = 0;

	if (prepare_is_wasm(base)) {
		argv[argc++] = WASM_HOST_PATH;
		argv[argc++] = base->runtime->name;
		argv[argc++] = "-c";
		argv[argc++] = (const char *)embedded_find(WASM)->data;
		return argc;
	}
	argv[argc++] = base->runtime->program;
	argv[argc++] = "-c";
	argv[argc++] = boot;
	return argc;
}

static const char *name_of(const struct prepared *base)
{
	return strrchr(prepare_is_wasm(base) ? WASM_HOST_PATH : base->runtime->real_program, '/') +
	       1;
}

/* Files that a template needs, by its descriptors, and its programs. All owned. */
struct template_files {
	int image, driver, program, init;
};

static int start(const struct prepared *base, int fds[KEEPER_FDS], int outside,
		 const struct template_files *files, int *pidfd)
{
	const struct strlist *preload = &base->runtime->preload;
	_cleanup_free_ const char **argv = calloc(preload->count + 7, sizeof(*argv));
	_cleanup_free_ const char **envp = template_env(&base->env);

	if (!argv || !envp) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return -ENOMEM;
	}
	size_t argc = begin_command(base, argv);
	for (size_t i = 0; i < preload->count; i++) {
		argv[argc++] = preload->items[i];
	}
	if (base->guard.on) {
		argv[argc++] = GUARD_MARK; /* it then rehearses the guard, too */
	}
	struct keeper keeper = {
		.ranged = base->spec.ranged,
		.id = base->spec.first_id,
		.closure = &base->closure,
		.outside = outside,
		.program = files->program,
		.init = files->init,
		.name = name_of(base),
		.argv = argv,
		.envp = envp,
	};
	memcpy(keeper.fds, fds, sizeof(keeper.fds));
	int pid = keeper_start(&keeper, pidfd);
	if (pid < 0) {
		return pid;
	}
	return keeper.ranged ? 0 : keeper_map(pid, base->spec.caller_uid, base->spec.caller_gid);
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static struct template_files open_files(const struct prepared *base)
{
	bool wasm = prepare_is_wasm(base);

	return (struct template_files){
		.image = wasm ? open_file(base->engine)
			      : memfile_make("brig", template_image, template_image_size),
		.driver = wasm ? open_file(base->prepared_module) : driver_file(),
		.program = wasm ? memfile_make("wasm-template", wasm_template_image,
					       wasm_template_image_size)
				: open_program(base->runtime->real_program),
		.init = memfile_make("brig-init", cell_init_image, cell_init_image_size),
	};
}

static void close_files(struct template_files *files)
{
	close_fd(&files->image);
	close_fd(&files->driver);
	close_fd(&files->program);
	close_fd(&files->init);
}

static int launch(struct template *template, const struct prepared *base, int socket,
		  struct brig_error *err)
{
	_cleanup_close_ int plan = pack(&base->spec, err);
	_cleanup_(close_files)
	struct template_files files = open_files(base);
	int fds[KEEPER_FDS] = { [FD_SOCKET] = socket,
				[FD_IMAGE] = files.image,
				[FD_PLAN] = plan,
				[FD_DRIVER] = files.driver };
	struct wire_record release = { .kind = WIRE_RELEASE };

	if (files.program < 0 || files.init < 0) {
		return files.program < 0 ? files.program : files.init;
	}
	for (int i = 0; i < KEEPER_FDS; i++) {
		if (fds[i] < 0) {
			return fds[i];
		}
	}
	int r = start(base, fds, template->socket, &files, &template->keeper);
	return r < 0 ? r : wire_send(template->socket, &release, NULL, 0);
}

static void give_up(struct template *template)
{
	int keeper = template_end(template);

	if (keeper < 0) {
		return;
	}
	sys_pidfd_send_signal(keeper, SIGKILL);
	if (!template_gone(keeper, 1000)) {
		close(keeper);
	}
}

int template_start(const struct prepared *base, struct template **ret, struct brig_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot make a template");
	}
	_cleanup_close_ int ours = ends[0];
	_cleanup_close_ int theirs = ends[1];
	struct template *template = calloc(1, sizeof(*template));
	if (!template) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "cannot make a template");
	}
	*template = (struct template){ .keeper = -1, .socket = TAKE_FD(ours) };
	template->born_ns = clock_now_ns();
	int r = launch(template, base, theirs, err);
	if (r < 0) {
		give_up(template);
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot start the template of %s",
				   base->runtime->name);
	}
	*ret = template;
	return 0;
}

int template_ask(struct template *template, struct run *run, int devices)
{
	template->clones++;
	int r = native_ask_clone(run, template->socket, devices);
	if (r < 0) {
		template_enter(template, TEMPLATE_BROKEN);
	}
	return r;
}

int template_receive(struct template *template, pid_t *ret_pid, int *ret_pidfd)
{
	struct wire_record record;
	int fds[WIRE_FDS_MAX] = { [0 ... WIRE_FDS_MAX - 1] = -1 };
	unsigned count;
	int r = wire_receive(template->socket, &record, fds, &count);

	if (r == -EAGAIN) {
		return 0;
	}
	if (r == 1 && record.kind == WIRE_WARM && count == 0 &&
	    template->state == TEMPLATE_WARMING) {
		/*
		 * Programs have the pid 2 or 3 in every cell. Libraries that detect a fork by a
		 * changed pid would not detect it if the template had the same pid.
		 */
		bool usable = record.value != 2 && record.value != 3;
		template->pinned = record.status;
		template_enter(template, usable ? TEMPLATE_READY : TEMPLATE_BROKEN);
		return 0;
	}
	if (r == 1 && record.kind == WIRE_CLONED && count == 1 && record.value > 0) {
		*ret_pid = (pid_t)record.value;
		*ret_pidfd = fds[0];
		return 1;
	}
	for (int i = 0; i < WIRE_FDS_MAX; i++) {
		close_fd(&fds[i]);
	}
	template_enter(template, TEMPLATE_BROKEN);
	return r == 1 && record.kind == WIRE_CLONED && record.errnum > 0 ? -record.errnum : -EPIPE;
}

int template_end(struct template *template)
{
	int keeper = template->keeper;

	close_fd(&template->socket);
	free(template);
	return keeper;
}

bool template_gone(int keeper, int wait_ms)
{
	struct pollfd ended = { .fd = keeper, .events = POLLIN };
	siginfo_t info;

	if (poll(&ended, 1, wait_ms) <= 0) {
		return false;
	}
	syscall(SYS_waitid, P_PIDFD, keeper, &info, WEXITED | __WALL, NULL);
	close(keeper);
	return true;
}
