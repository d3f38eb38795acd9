/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the layers of a launcher from outside, in /proc, when its agent is ready. Until then only
 * the operator's launcher and brig's agent have run in the cell: the figures are not hostile, but
 * everything is bounded nevertheless.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launcher/launcher_provider.h"

#define FILE_MAX      (256u * 1024u)
#define PROCESSES_MAX 256u

struct sight {
	struct run *run;
	struct held_cell *held;
	char why[160];
};

/* --- the agent's files in /proc --------------------------------------------------------------- */

static int stat_of(const struct held_cell *held, long pid, const char *name, struct stat *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "%ld/%s", pid, name);
	return fstatat(held->proc, path, ret, 0) < 0 ? -errno : 0;
}

/* With a NUL at its end. -EFBIG: it is too long to be right. */
static int read_of(const struct held_cell *held, const char *name, struct buf *ret)
{
	char path[64], chunk[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "%ld/%s", held->agent, name);
	_cleanup_close_ int fd = openat(held->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0 && ret->size <= FILE_MAX) {
		buf_add(ret, chunk, (size_t)n);
	}
	if (n < 0 || ret->failed || ret->size > FILE_MAX) {
		return n < 0 ? -errno : ret->failed ? -ENOMEM : -EFBIG;
	}
	return ret->size ? 0 : -ENODATA;
}

static bool is_agent(const struct held_cell *held, long pid)
{
	struct stat info;

	return stat_of(held, pid, "exe", &info) == 0 && info.st_dev == held->identity.device &&
	       info.st_ino == held->identity.agent;
}

/* Calls `see` for each process but the holder, until it fails. -E2BIG: there are too many. */
static int each_process(struct held_cell *held, int (*see)(struct held_cell *held, long pid))
{
	_cleanup_close_ int fd = openat(held->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned count = 0;
	int r = 0;

	if (!dir) {
		return -errno;
	}
	(void)TAKE_FD(fd); /* closedir closes it */
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		long pid = strtol(entry->d_name, NULL, 10);
		if (pid > 1) {
			r = ++count > PROCESSES_MAX ? -E2BIG : see(held, pid);
		}
	}
	closedir(dir);
	return r;
}

/* The process that executes brig's agent: there must be one. */
static int find_agent(struct held_cell *held, long pid)
{
	if (!is_agent(held, pid)) {
		return 0;
	}
	if (held->agent) {
		return -EEXIST;
	}
	held->agent = pid;
	return 0;
}

/* Another process in the agent's pid namespace? */
static int find_companion(struct held_cell *held, long pid)
{
	struct stat own, other;

	if (pid == held->agent) {
		return 0;
	}
	int r = stat_of(held, pid, "ns/pid", &other);
	if (r < 0) {
		return r == -ENOENT || r == -ESRCH ? 0 : r; /* it has ended */
	}
	r = stat_of(held, held->agent, "ns/pid", &own);
	return r < 0 ? r : own.st_ino == other.st_ino ? -EEXIST : 0;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* Another one than the holder's, which has the host's own where it has none itself. */
static bool check_namespace(struct sight *sight, enum layer layer)
{
	static const enum layer layers[HOLDER_NAMESPACES] = {
		LAYER_USERNS, LAYER_PIDNS, LAYER_MNTNS,    LAYER_NETNS,
		LAYER_IPCNS,  LAYER_UTSNS, LAYER_CGROUPNS, LAYER_TIMENS,
	};
	char path[32];
	struct stat info;

	for (size_t i = 0; i < HOLDER_NAMESPACES; i++) {
		if (layers[i] != layer) {
			continue;
		}
		snprintf(path, sizeof(path), "ns/%s", holder_namespaces[i]);
		uint64_t outside = sight->held->identity.namespaces[i];
		snprintf(sight->why, sizeof(sight->why), "the agent has none of its own");
		return outside && stat_of(sight->held, sight->held->agent, path, &info) == 0 &&
		       info.st_ino != outside;
	}
	return false;
}

/*
 * The agent alone: a process of the launcher's would have no filter, and a program that may trace
 * could take it over.
 */
static bool check_processes(struct sight *sight, enum layer layer)
{
	if (!check_namespace(sight, layer)) {
		return false;
	}
	snprintf(sight->why, sizeof(sight->why), "the agent is not the only process in it");
	return each_process(sight->held, find_companion) == 0;
}

/* An own network with a way out is none. Kernels add these to each new one, without a link. */
static bool is_harmless(const char *name, size_t length)
{
	static const char *const known[] = { "lo",   "tunl0",   "gre0",    "gretap0", "erspan0",
					     "sit0", "ip6tnl0", "ip6gre0", "ip_vti0", "ip6_vti0" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i]) == length && memcmp(known[i], name, length) == 0) {
			return true;
		}
	}
	return false;
}

static bool check_network(struct sight *sight, enum layer layer)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	if (!check_namespace(sight, layer) || read_of(sight->held, "net/dev", &text) < 0) {
		return false;
	}
	/* Two lines of headings, then "  NAME: figures". */
	char *save = NULL;
	unsigned number = 0;
	for (char *line = strtok_r(text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " ");
		size_t length = strcspn(line, ":");
		if (++number > 2 && !is_harmless(line, length)) {
			snprintf(sight->why, sizeof(sight->why), "there is a network device %.*s",
				 length < 16 ? (int)length : 16, line);
			return false;
		}
	}
	return number > 2;
}

static bool check_capabilities(struct sight *sight, enum layer layer)
{
	static const char *const sets[] = { "\nCapInh:", "\nCapPrm:", "\nCapEff:", "\nCapBnd:",
					    "\nCapAmb:" };
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)layer;
	if (read_of(sight->held, "status", &text) < 0) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const char *at = strstr(text.data, sets[i]);
		if (!at || strtoull(at + strlen(sets[i]), NULL, 16) != 0) {
			snprintf(sight->why, sizeof(sight->why), "the set %s is not empty",
				 sets[i] + 1);
			return false;
		}
	}
	return true;
}

static bool check_root(struct sight *sight, enum layer layer)
{
	const struct holder_identity *identity = &sight->held->identity;
	_cleanup_(buf_done)
	struct buf text = { 0 };
	struct stat root;

	(void)layer;
	snprintf(sight->why, sizeof(sight->why), "the root is not {root}");
	if (stat_of(sight->held, sight->held->agent, "root", &root) < 0 ||
	    root.st_dev != identity->device || root.st_ino != identity->root) {
		return false;
	}
	return read_of(sight->held, "mountinfo", &text) == 0 &&
	       launcher_check_mounts(sight->run, text.data, sight->why, sizeof(sight->why)) == 0;
}

static bool check_proc(struct sight *sight, enum layer layer)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)layer;
	snprintf(sight->why, sizeof(sight->why), "/proc is not mounted with subset=pid");
	return read_of(sight->held, "mountinfo", &text) == 0 && launcher_check_proc(text.data);
}

static bool (*const checks[LAYER_COUNT])(struct sight *sight, enum layer layer) = {
	[LAYER_USERNS] = check_namespace,  [LAYER_PIDNS] = check_processes,
	[LAYER_MNTNS] = check_namespace,   [LAYER_NETNS] = check_network,
	[LAYER_IPCNS] = check_namespace,   [LAYER_UTSNS] = check_namespace,
	[LAYER_TIMENS] = check_namespace,  [LAYER_CGROUPNS] = check_namespace,
	[LAYER_ROOTFS] = check_root,       [LAYER_PROC] = check_proc,
	[LAYER_CAPS] = check_capabilities,
};

static int refuse(const struct launcher *launcher, const char *what, const char *why,
		  struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ENOTSUP,
			  "the launcher %s did not %s: %s; the program was not started",
			  launcher->name, what, why);

	error_remedy(err, "correct launchers/%s.json, or name another launcher in the policy",
		     launcher->name);
	error_step(err, "launcher");
	return r;
}

int launcher_find_agent(struct run *run, struct brig_error *err)
{
	struct held_cell *held = held_of(run);
	int r = each_process(held, find_agent);

	if (r < 0 || held->agent == 0) {
		return refuse(run->options.spec->launcher, "start the agent",
			      "no process, or more than one, executes {agent}", err);
	}
	return 0;
}

int launcher_check(struct run *run, struct brig_error *err)
{
	const struct launcher *launcher = run->options.spec->launcher;
	/* /proc is the holder's work. */
	layer_set wanted = launcher->layers | LAYER_BIT(LAYER_PROC);
	struct sight sight = { .run = run, .held = held_of(run) };

	for (int layer = 0; layer < LAYER_COUNT; layer++) {
		snprintf(sight.why, sizeof(sight.why), "it cannot be seen");
		if (!(wanted & LAYER_BIT(layer)) ||
		    (checks[layer] && checks[layer](&sight, (enum layer)layer))) {
			continue;
		}
		char what[48];
		snprintf(what, sizeof(what), "make the layer %s", layer_table[layer].name);
		return refuse(launcher, what, sight.why, err);
	}
	return 0;
}
