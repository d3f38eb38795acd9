/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the plan for people and for programs. The same spec prints the same text on every host and
 * in every run: ids and descriptors, which change from run to run, are described in words.
 */
#include <inttypes.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/json/json_out.h"
#include "base/units.h"
#include "native/plan/step_members.h"

#define WHAT_WIDTH 44

static const char *const actors[] = {
	[ACTOR_WARDEN] = "warden",
	[ACTOR_INIT] = "init",
	[ACTOR_PAYLOAD] = "payload",
};

static const struct {
	uint64_t flag;
	const char *name;
} namespaces[] = {
	{ CLONE_NEWUSER, "user" },     { CLONE_NEWPID, "pid" }, { CLONE_NEWNS, "mount" },
	{ CLONE_NEWNET, "net" },       { CLONE_NEWIPC, "ipc" }, { CLONE_NEWUTS, "uts" },
	{ CLONE_NEWCGROUP, "cgroup" },
};

static void add_size(struct buf *out, uint64_t bytes)
{
	char text[40];

	buf_adds(out, unit_format(UNIT_BYTES, bytes, text, sizeof(text)));
}

static void add_namespaces(struct buf *out, uint64_t flags)
{
	const char *blank = "";

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (flags & namespaces[i].flag) {
			buf_addf(out, "%s%s", blank, namespaces[i].name);
			blank = " ";
		}
	}
}

static void print_clone(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	add_namespaces(out, step->clone.namespaces);
}

static void print_idmap(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)step;
	buf_adds(out, plan->spec->ranged ? "0-1 are two ids that no other cell has"
					 : "0 is the caller's id");
}

static void print_root(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	add_size(out, step->root.bytes);
	buf_addf(out, ", %" PRIu64 " inodes", step->root.inodes);
}

/* A path within the new root. */
static void print_path(const struct plan *plan, const struct step *step, struct buf *out)
{
	const char *path = step_path(step);

	(void)plan;
	buf_addf(out, "%s%s", path && path[0] == '/' ? "" : "/", path ? path : "");
}

static void print_dir(const struct plan *plan, const struct step *step, struct buf *out)
{
	print_path(plan, step, out);
	buf_addf(out, " %04o", (unsigned)step->dir.mode);
}

static void print_link(const struct plan *plan, const struct step *step, struct buf *out)
{
	print_path(plan, step, out);
	buf_addf(out, " -> %s", step->link.to);
}

static void print_file(const struct plan *plan, const struct step *step, struct buf *out)
{
	print_path(plan, step, out);
	if (step->file.size) {
		buf_addf(out, " (%" PRIu64 " bytes)", step->file.size);
	}
	if (step->file.about) {
		buf_addf(out, " %s", step->file.about);
	}
}

static void print_input(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	buf_addf(out, "/sandbox/%s (%" PRIu64 " bytes)", step->input.name, step->input.size);
}

static void print_mount(const struct plan *plan, const struct step *step, struct buf *out)
{
	print_path(plan, step, out);
	buf_adds(out, step->mount.attributes & MOUNT_ATTR_RDONLY ? " ro" : " rw");
}

static void print_writable(const struct plan *plan, const struct step *step, struct buf *out)
{
	print_path(plan, step, out);
	buf_adds(out, step->writable.attributes & MOUNT_ATTR_NOEXEC ? " noexec" : "");
}

static void print_user(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	buf_addf(out, "id %u of the set-up namespace", step->user.id);
}

static void print_inner(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	add_namespaces(out, step->inner.namespaces);
	buf_adds(out, "; id 1000");
}

static void print_rlimit(const struct plan *plan, const struct step *step, struct buf *out)
{
	bool bytes =
		step->rlimit.resource == RLIMIT_FSIZE || step->rlimit.resource == RLIMIT_DATA ||
		step->rlimit.resource == RLIMIT_STACK || step->rlimit.resource == RLIMIT_MEMLOCK;

	(void)plan;
	buf_addf(out, "%s=", step->rlimit.name);
	if (bytes) {
		add_size(out, step->rlimit.value);
	} else {
		buf_addf(out, "%" PRIu64 "%s", step->rlimit.value,
			 step->rlimit.resource == RLIMIT_CPU ? "s" : "");
	}
}

static void print_landlock(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	buf_addf(out, "ABI %d", step->landlock.abi);
}

static void print_seccomp(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	buf_addf(out, "%" PRIu64 " instructions%s", step->seccomp.count,
		 step->seccomp.listens ? ", refusals are recorded" : "");
}

static void print_exec(const struct plan *plan, const struct step *step, struct buf *out)
{
	const char *blank = "";

	(void)step;
	for (const char *const *word = plan->spec->argv; word && *word; word++) {
		buf_adds(out, blank);
		buf_adds(out, *word);
		blank = " ";
	}
}

static void print_port(const struct plan *plan, const struct step *step, struct buf *out)
{
	(void)plan;
	buf_addf(out, "%s %s%s%u", step->listen.type == SOCK_DGRAM ? "udp" : "tcp",
		 step->listen.address ? step->listen.address : "", step->listen.address ? " " : "",
		 step->listen.port);
}

/* The details of a step: a function, or a member that is a text. Neither: its name suffices. */
static const struct {
	void (*print)(const struct plan *, const struct step *, struct buf *);
	size_t text;
} details[STEP_KINDS] = {
	[STEP_CLONE] = { .print = print_clone },
	[STEP_IDMAP] = { .print = print_idmap },
	[STEP_ROOT] = { .print = print_root },
	[STEP_OVERLAY] = { .print = print_path },
	[STEP_DIR] = { .print = print_dir },
	[STEP_LINK] = { .print = print_link },
	[STEP_FILE] = { .print = print_file },
	[STEP_BIND] = { .text = offsetof(struct step, bind.source) },
	[STEP_DEVICE] = { .text = offsetof(struct step, bind.source) },
	[STEP_PROC] = { .text = offsetof(struct step, proc.options) },
	[STEP_WRITABLE] = { .print = print_writable },
	[STEP_INPUT] = { .print = print_input },
	[STEP_MOUNT] = { .print = print_mount },
	[STEP_ROUTE] = { .text = offsetof(struct step, route.text) },
	[STEP_LISTEN] = { .print = print_port },
	[STEP_HOSTNAME] = { .text = offsetof(struct step, hostname.name) },
	[STEP_USER] = { .print = print_user },
	[STEP_INNER] = { .print = print_inner },
	[STEP_WORKDIR] = { .text = offsetof(struct step, workdir.path) },
	[STEP_RLIMIT] = { .print = print_rlimit },
	[STEP_LANDLOCK] = { .print = print_landlock },
	[STEP_SECCOMP] = { .print = print_seccomp },
	[STEP_EXEC] = { .print = print_exec },
};

static void describe(const struct plan *plan, const struct step *step, struct buf *out)
{
	if (details[step->kind].print) {
		details[step->kind].print(plan, step, out);
	} else if (details[step->kind].text) {
		const char *text;
		memcpy(&text, (const char *)step + details[step->kind].text, sizeof(text));
		buf_adds(out, text);
	}
}

/* Arguments may contain any bytes; a line of the plan stays one line. */
static void replace_controls(struct buf *text)
{
	for (size_t i = 0; i < text->size; i++) {
		unsigned char c = (unsigned char)text->data[i];
		if (c < 0x20 || c == 0x7f) {
			text->data[i] = '?';
		}
	}
}

void plan_print(const struct plan *plan, const uint64_t *took_ns, struct buf *out)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		const struct step_info *info = &step_table[step->kind];
		struct buf what = { 0 };

		describe(plan, step, &what);
		replace_controls(&what);
		if (took_ns) {
			buf_addf(out, "%8.1f us ", (double)took_ns[i] / 1000.0);
		}
		buf_addf(out, "%3u  %-7s  %-14s  %-*s  %s\n", i + 1, actors[info->actor],
			 info->name, WHAT_WIDTH, what.data ? what.data : "", info->about);
		out->failed |= what.failed;
		buf_done(&what);
	}
}

void plan_print_json(const struct plan *plan, const uint64_t *took_ns, struct buf *out)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_open(&json, "steps", '[');
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		const struct step_info *info = &step_table[step->kind];
		struct buf what = { 0 };

		describe(plan, step, &what);
		json_open(&json, NULL, '{');
		json_u64(&json, "number", i + 1);
		json_text(&json, "actor", actors[info->actor]);
		json_text(&json, "step", info->name);
		json_text(&json, "what", what.data && what.size ? what.data : NULL);
		json_text(&json, "why", info->about);
		if (took_ns) {
			json_u64(&json, "took_ns", took_ns[i]);
		}
		json_close(&json, '}');
		out->failed |= what.failed;
		buf_done(&what);
	}
	json_close(&json, ']');
	json_close(&json, '}');
}
