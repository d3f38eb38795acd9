/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's configuration of a cell, from the spec and its plan. The arguments, variables and
 * limits of the program are not in it: the agent gets them.
 */
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "oci/oci.h"
#include "run/spec/rlimits.h"

/* Of the five sets of capabilities, those that an agent needs: the first. */
#define HELD_SETS 3

/* An id of the container, and the id of the holder's user namespace that it stands for. */
struct id_pair {
	unsigned inside, outside;
};

struct ids {
	struct id_pair pairs[2];
	size_t count;
	unsigned program; /* inside */
};

static struct ids ids_of(const struct spec *spec, const struct oci_runtime *runtime)
{
	if (spec->ranged) {
		return (struct ids){ { { 0, 0 }, { SPEC_PROGRAM_ID, 1 } }, 2, SPEC_PROGRAM_ID };
	}
	/* An ordinary user has one id. */
	unsigned inside = runtime->needs_root ? 0 : SPEC_PROGRAM_ID;
	return (struct ids){ { { inside, 0 } }, 1, inside };
}

static void put_ids(struct json_out *json, const char *key, const struct ids *ids)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < ids->count; i++) {
		json_open(json, NULL, '{');
		json_u64(json, "containerID", ids->pairs[i].inside);
		json_u64(json, "hostID", ids->pairs[i].outside);
		json_u64(json, "size", 1);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_list(struct json_out *json, const char *key, const char *const *items, size_t count)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < count; i++) {
		json_text(json, NULL, items[i]);
	}
	json_close(json, ']');
}

/* The limits of every cell, which a process cannot set in gVisor's kernel. */
static void put_limits(struct json_out *json, const struct spec *spec)
{
	struct rlimit_value values[RLIMITS_MAX];
	size_t count = rlimits_of(spec, RLIMITS_FIXED, values);

	json_open(json, "rlimits", '[');
	for (size_t i = 0; i < count; i++) {
		char type[32] = "RLIMIT_";
		size_t at = strlen(type);
		for (const char *c = values[i].name; *c && at < sizeof(type) - 1; c++) {
			type[at++] = (char)(*c - 'a' + 'A');
		}
		type[at] = '\0';
		json_open(json, NULL, '{');
		json_text(json, "type", type);
		json_u64(json, "hard", values[i].value);
		json_u64(json, "soft", values[i].value);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/*
 * The agent's work with capabilities of gVisor's kernel, of which the program has none. /dev can be
 * written there, and belongs to root, which the program of an ordinary user is: the agent gives it
 * away. And it assigns the addresses of the gate: where the program has another id, as root, since
 * only root keeps capabilities when it is executed there (runsc of 2024).
 */
struct duties {
	bool gives, assigns, separates;
};

/* Each capability, and the duties for which it is needed. */
static const struct {
	const char *name;
	bool gives, assigns, separates;
	bool bounding; /* there too: a program that root executes would have them, but for that */
} powers[] = {
	{ "CAP_NET_ADMIN", false, true, true, false },
	{ "CAP_CHOWN", true, false, true, true },
	{ "CAP_SETPCAP", true, false, true, true },
	/* The program has an id of its own, and so have its files. */
	{ "CAP_DAC_OVERRIDE", false, false, true, true },
	{ "CAP_FOWNER", false, false, true, true },
	{ "CAP_KILL", false, false, true, true },
	{ "CAP_SETGID", false, false, true, true },
	{ "CAP_SETUID", false, false, true, true },
};

static void put_capabilities(struct json_out *json, struct duties duties)
{
	static const char *const sets[] = { "bounding", "effective", "permitted", "inheritable",
					    "ambient" };

	json_open(json, "capabilities", '{');
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const char *names[ARRAY_SIZE(powers)];
		size_t count = 0;
		for (size_t j = 0; j < ARRAY_SIZE(powers) && i < HELD_SETS; j++) {
			bool wanted = (duties.gives && powers[j].gives) ||
				      (duties.assigns && powers[j].assigns) ||
				      (duties.separates && powers[j].separates);
			if (wanted && (i > 0 || powers[j].bounding || duties.separates)) {
				names[count++] = powers[j].name;
			}
		}
		put_list(json, sets[i], names, count);
	}
	json_close(json, '}');
}

static void put_process(struct json_out *json, const struct ids *ids, const struct spec *limited)
{
	static const char *const agent[] = { ("/" HOLDER_AGENT), "/dev", "/dev/net" };
	const struct duties duties = { .gives = limited && ids->program == 0,
				       .assigns = limited && limited->gate_ports_count,
				       .separates = limited && spec_separates(limited) };
	const unsigned id = duties.separates ? 0 : ids->program;

	json_open(json, "process", '{');
	json_bool(json, "terminal", false);
	json_open(json, "user", '{');
	json_u64(json, "uid", id);
	json_u64(json, "gid", id);
	json_close(json, '}');
	put_list(json, "args", agent, duties.gives ? ARRAY_SIZE(agent) : 1);
	put_list(json, "env", NULL, 0);
	json_text(json, "cwd", "/");
	put_capabilities(json, duties);
	json_bool(json, "noNewPrivileges", true);
	if (limited) {
		put_limits(json, limited);
	}
	json_close(json, '}');
}

/* --- mounts ----------------------------------------------------------------------------------- */

#define OPTIONS_MAX 8

static void put_mount(struct json_out *json, const char *place, const char *type,
		      const char *source, const char *const options[OPTIONS_MAX])
{
	size_t count = 0;

	while (count < OPTIONS_MAX && options[count]) {
		count++;
	}
	json_open(json, NULL, '{');
	json_text(json, "destination", place);
	json_text(json, "type", type);
	json_text(json, "source", source);
	put_list(json, "options", options, count);
	json_close(json, '}');
}

static void put_bind(struct json_out *json, const char *place, const char *source, bool writable,
		     bool exec)
{
	const char *const options[OPTIONS_MAX] = {
		/* Recursive: a part of it may be another mount of the host, which stays covered. */
		"rbind", "nosuid", "nodev", writable ? "rw" : "ro", exec ? NULL : "noexec",
	};

	put_mount(json, place, "bind", source, options);
}

static void put_closure(struct json_out *json, const struct plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		char place[4096];

		if (step->kind != STEP_BIND && step->kind != STEP_MOUNT) {
			continue;
		}
		if (step->kind == STEP_BIND) {
			snprintf(place, sizeof(place), "/%s", step->bind.target);
			put_bind(json, place, step->bind.source, false,
				 !(step->bind.attributes & MOUNT_ATTR_NOEXEC));
			continue;
		}
		char source[4096];
		snprintf(place, sizeof(place), "/%s", step->mount.target);
		snprintf(source, sizeof(source), "/" HOLDER_MOUNTS "/%s",
			 step->mount.target + strlen("mnt/"));
		put_bind(json, place, source, !(step->mount.attributes & MOUNT_ATTR_RDONLY),
			 !(step->mount.attributes & MOUNT_ATTR_NOEXEC));
	}
}

static void put_mounts(struct json_out *json, const struct spec *spec, const struct plan *plan,
		       bool emulated)
{
	/* gVisor's own /proc has no options, and shows nothing of the host's. */
	const char *const proc[OPTIONS_MAX] = { "nosuid", "noexec", "nodev",
						emulated ? NULL : "subset=pid", "hidepid=2" };
	/* In a read-only /dev gVisor's kernel refuses to open devices for writing. */
	const char *const dev[OPTIONS_MAX] = { "nosuid",   "noexec",       "mode=755",
					       "size=64k", "nr_inodes=64", emulated ? NULL : "ro" };

	json_open(json, "mounts", '[');
	put_mount(json, "/proc", "proc", "proc", proc);
	put_mount(json, "/dev", "tmpfs", "tmpfs", dev);
	put_closure(json, plan);
	/* One tmpfs, and so one limit, for the three places that can be written. */
	put_bind(json, "/dev/shm", "/" HOLDER_WORK "/shm", true, false);
	put_bind(json, "/tmp", "/" HOLDER_WORK "/tmp", true, spec->exec_writable);
	put_bind(json, "/sandbox", "/" HOLDER_WORK "/sandbox", true, spec->exec_writable);
	json_close(json, ']');
}

static void put_namespaces(struct json_out *json, bool emulated)
{
	static const char *const namespaces[] = { "user", "pid", "mount", "network",
						  "ipc",  "uts", "cgroup" };
	/* gVisor's kernel has groups of its own, and runsc makes no namespace of the host's. */
	size_t count = ARRAY_SIZE(namespaces) - (emulated ? 1 : 0);

	json_open(json, "namespaces", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "type", namespaces[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_linux(struct json_out *json, const struct ids *ids, bool emulated)
{
	/* Behind /proc with processes only, and for runtimes that do not know that option. */
	static const char *const masked[] = { "/proc/acpi",          "/proc/asound",
					      "/proc/kcore",         "/proc/keys",
					      "/proc/latency_stats", "/proc/scsi",
					      "/proc/sched_debug",   "/proc/timer_list",
					      "/sys/firmware" };
	static const char *const fixed[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					     "/proc/sysrq-trigger" };

	json_open(json, "linux", '{');
	put_namespaces(json, emulated);
	put_ids(json, "uidMappings", ids);
	put_ids(json, "gidMappings", ids);
	if (!emulated) {
		put_list(json, "maskedPaths", masked, ARRAY_SIZE(masked));
		put_list(json, "readonlyPaths", fixed, ARRAY_SIZE(fixed));
	}
	json_close(json, '}');
}

void bundle_write(const struct spec *spec, const struct plan *plan, const struct oci_family *family,
		  const struct oci_runtime *runtime, struct buf *out)
{
	bool emulated = family->kind->emulated;
	struct json_out json = { .buf = out };
	struct ids ids = ids_of(spec, runtime);

	json_open(&json, NULL, '{');
	json_text(&json, "ociVersion", "1.0.2");
	put_process(&json, &ids, emulated ? spec : NULL);
	json_open(&json, "root", '{');
	json_text(&json, "path", "/" HOLDER_ROOT);
	json_bool(&json, "readonly", true);
	json_close(&json, '}');
	json_text(&json, "hostname", "brig");
	put_mounts(&json, spec, plan, emulated);
	put_linux(&json, &ids, emulated);
	json_close(&json, '}');
}
