/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that is a virtual machine, in a holder (holder/held.h).
 *
 * A machine needs a kernel of the host's distribution, an initial RAM disk (made in memory:
 * vm_init and modules), and an image of the cell's root, which is made once for each closure.
 * Starting a kernel is slow, so a machine is started once, saved when it waits for its limits, and
 * each run continues from that state. Images and states are in a cache; a run whose parts are not
 * there makes them first, in cells of their own (vm_make.c), while the warden does other work.
 *
 * A monitor other than qemu, which a data file describes, has no saved states: each run starts its
 * machine. The agent's stream is a serial port there, on which it is served by brig-vm-line
 * (vm_line/main.c), a program in the holder that starts the monitor.
 */
#ifndef BRIG_VM_VM_H
#define BRIG_VM_VM_H

#include <dirent.h>

#include "base/bytes/sha256.h"
#include "holder/held.h"
#include "policy/machine/machine.h"
#include "run/spec/vm_settings.h"

#define VM_NAME_MAX    96
#define VM_HASH_CHARS  40 /* of a name */
#define VM_VERSION_MAX 128
/* Of the guest's kernel, beyond the program's limit; and of qemu, beyond the guest's memory. */
#define VM_GUEST_BYTES (96ull << 20)
#define VM_QEMU_BYTES  (256ull << 20)
/* Of both, while it waits: what is used of them. */
#define VM_HELD_BYTES (224ull << 20)
/* The holder, the monitor and its threads: the program's processes are the guest's. */
#define VM_GROUP_TASKS 50
#define VM_BOOT_NS     180000000000ull

extern const char vm_init_image[];
extern const size_t vm_init_image_size;
extern const char vm_line_image[];
extern const size_t vm_line_image_size;

/* --- the parts: vm_find.c --------------------------------------------------------------------- */

struct vm_kernel {
	char path[HELD_PATH_MAX];
	char version[VM_VERSION_MAX]; /* "": not known, so it has no modules */
	char modules[HELD_PATH_MAX];  /* their directory; "": none */
};

struct vm_parts {
	char program[HELD_PATH_MAX]; /* the monitor */
	char mkfs[HELD_PATH_MAX];
	struct vm_kernel kernel;
};
int vm_find(const struct vm_settings *settings, struct vm_parts *ret, struct brig_error *err);

/* The initial RAM disk: initrd.c. */
int vm_initrd(const struct vm_kernel *kernel, struct buf *ret, struct brig_error *err);

/* --- the command line: vm_command.c ----------------------------------------------------------- */

/* The descriptors of the monitor, from 3 on. */
enum vm_file {
	VM_FILE_KERNEL,
	VM_FILE_INITRD,
	VM_FILE_IMAGE,
	VM_FILE_LAST,                  /* qemu: see enum vm_start */
	VM_FILE_CONFIG = VM_FILE_LAST, /* another monitor: its configuration, or nothing */
	VM_FILE_LINE,                  /* likewise: brig-vm-line */
};
/* Of the kernel of any machine. */
#define VM_CMDLINE "quiet panic=-1 reboot=t rcupdate.rcu_expedited=1 cryptomgr.notests"

enum vm_start {
	VM_START_BOOT, /* the kernel starts */
	VM_START_SAVE, /* likewise, and waits to be saved; the last file is the monitor's socket */
	VM_START_RESTORE, /* the last file is the saved state */
};

struct vm_machine {
	const char *program;
	const struct machine *file; /* borrowed: of its monitor; NULL: it is qemu */
	enum vm_accel accel;        /* KVM or TCG */
	uint64_t memory_bytes;
	enum vm_start start;
};
int vm_command(const struct vm_machine *machine, struct strlist *ret);
/* The same for a monitor with a file, and its configuration: vm_monitor.c. */
int vm_monitor_command(const struct vm_machine *machine, struct strlist *ret);
int vm_monitor_config(const struct vm_machine *machine, struct buf *out);
/* The files of the monitor, and the command of brig-vm-line, in the cell. */
int vm_monitor_equip(struct held_cell *held, const struct vm_machine *machine);
/* "firecracker is not here", for each built-in file. */
void vm_monitor_list(struct buf *out);
/* The guest's memory for a limit: one of a few sizes, because each has its own saved state. */
uint64_t vm_memory(uint64_t limit_bytes);
/* The memory of the host that it takes while it waits: not all pages of the guest are used. */
uint64_t vm_held_bytes(const struct spec *spec);
/* The limits of its group on the host, once it is ready. */
struct held_group vm_group(const struct vm_machine *machine);

/* --- checksums: vm_sum.c ---------------------------------------------------------------------- */

struct vm_sum {
	int fd;            /* borrowed */
	uint64_t at, size; /* size 0: nothing is to be summed up */
	uint64_t sums[4];
};
void vm_sum_begin(struct vm_sum *sum, int fd, uint64_t size);
/* Takes some more bytes. 1: *ret is the sum of all; 0: not yet; -errno. */
int vm_sum_turn(struct vm_sum *sum, uint64_t *ret);

/* --- the cache: vm_cache.c -------------------------------------------------------------------- */

struct vm_cache {
	int dir;                   /* owned */
	char *path;                /* owned */
	uint64_t bytes_max;        /* of all files */
	struct file_memory *known; /* borrowed: files that were checked; NULL: none is kept */
};
int vm_cache_open(const char *cache_dir, struct vm_cache *ret, struct brig_error *err);
void vm_cache_done(struct vm_cache *cache);
/*
 * A complete file of this name, for reading; -ENOENT: there is none. If sum->size is not 0 then, it
 * must be checked before it is used. NULL: it has no checksum.
 */
int vm_cache_find(const struct vm_cache *cache, const char *name, struct vm_sum *sum);
/* 1: it is as it was written; 0: call it again; -ENOENT: it was not, and is deleted. */
int vm_cache_check(const struct vm_cache *cache, const char *name, struct vm_sum *sum);
/* A file without a name, that is deleted if it is not published. `owner`: it can open it again. */
int vm_cache_new(const struct vm_cache *cache, const struct spec *spec);
/* It is complete, and does not change any more: begins its sum. */
int vm_cache_seal(int fd, struct vm_sum *sum);
/* `value`: of the sum; 0: it is not checked. */
int vm_cache_publish(const struct vm_cache *cache, const struct vm_sum *sum, uint64_t value,
		     const char *name);
/*
 * If there is too much, deletes the file that was used least recently and is not open. True: it
 * must be called again, soon and not at once, because a large file takes a tenth of a second.
 */
bool vm_cache_evict(const struct vm_cache *cache, const char *keep);
void vm_cache_remove(const struct vm_cache *cache, const char *name);
/* Facts that are worth a file: it is there, and not older than an hour. */
bool vm_cache_noted(const struct vm_cache *cache, const char *name);
void vm_cache_note(const struct vm_cache *cache, const char *name);
/* One process at a time makes files. The lock, or -EWOULDBLOCK, -errno. */
int vm_cache_lock(const struct vm_cache *cache);

/* --- names in the cache: vm_names.c, vm_naming.c ---------------------------------------------- */

struct vm_names {
	char image[VM_NAME_MAX];
	char state[VM_NAME_MAX];
	char no_state[VM_NAME_MAX]; /* the state did not work */
	char no_kvm[VM_NAME_MAX];   /* KVM did not work, since the host was started */
};
#define VM_NAMING_DEPTH 64
/* Of the files of an image, which is about as large; the cache has no more room for all. */
#define VM_IMAGE_BYTES_MAX (4ull << 30)
struct vm_naming {
	const struct plan *plan; /* borrowed */
	struct sha256 hash;
	unsigned step;              /* of the plan, the next one */
	unsigned left;              /* entries that may still come */
	uint64_t bytes;             /* of the files so far */
	DIR *dirs[VM_NAMING_DEPTH]; /* owned: being read, the outermost first */
	unsigned depth;
};
void vm_naming_begin(struct vm_naming *naming, const struct plan *plan);
/* Reads some more entries. 1: the name of the image; 0: not yet; -errno. */
int vm_naming_turn(struct vm_naming *naming, char ret[VM_NAME_MAX], struct brig_error *err);
void vm_naming_done(struct vm_naming *naming);
/* The identity of a file. */
struct stat;
void vm_hash_stat(struct sha256 *hash, const struct stat *info);
/* With the name of the image. */
int vm_name_state(const struct vm_parts *parts, const struct vm_machine *machine,
		  const struct buf *initrd, struct vm_names *ret);

/* --- making images and states: vm_make.c ------------------------------------------------------ */

struct vm_cell;
struct vm_making {
	const struct vm_cell *cell;
	bool state; /* or else an image */
	struct spec spec;
	struct run *run; /* owned; NULL: nothing is being made */
	int output;      /* owned: the file */
	bool sealed;     /* it is complete: */
	bool published;  /* it has its name, and others may have to go */
	struct vm_sum sum;
	int monitor; /* owned: qemu's, for a state */
};
int vm_make_start(struct run *run, struct vm_making *making, bool state, struct brig_error *err);
/* 1: it has ended, and the file is published; 0: not yet; -errno: it failed. */
/* If it is sealed then, it must be called again soon. */
int vm_make_step(struct vm_making *making, struct brig_error *err);
void vm_make_done(struct vm_making *making);

/* --- a cell: vm_stages.c ---------------------------------------------------------------------- */

struct vm_cell {
	struct vm_parts parts;
	struct vm_machine machine;
	struct vm_cache cache;
	struct vm_names names;
	struct buf initrd; /* owned */
	enum vm_accel wanted;
	struct vm_naming naming;
	struct vm_sum sum; /* of the state, until it is checked */
	int image, state;  /* owned */
	int inside[3];     /* owned: the run's, which closes them after its launch */
	struct vm_making making;
	int lock;             /* owned: while something is made */
	int timer;            /* owned: of the next attempt to get the lock */
	uint64_t deadline_ns; /* of all making */
	bool launched, killed;
	bool restored;  /* it comes from the state */
	bool stateless; /* no state could be made for this run */
	bool private;   /* its image serves no other run */
};

static inline struct vm_cell *vm_of(const struct run *run)
{
	return held_of(run)->own;
}

/* Fills in the cell's parts. */
int vm_prepare(struct run *run, struct brig_error *err);
/* Makes what is missing, or starts the machine. */
int vm_advance(struct run *run, struct brig_error *err);
/* The event of making. */
#define VM_EVENT_MAKING 11u
int vm_on_making(struct run *run);
int vm_listen_making(struct run *run);
void vm_cell_free(struct vm_cell *cell);
/* The files and the command of a machine, in the cell. */
int vm_equip(struct held_cell *held, const struct vm_cell *cell, const struct vm_machine *machine,
	     int last);

void vm_explain(const struct spec *spec, bool json, struct buf *out);
void vm_probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret);
void vm_probe_for(const struct probe_report *host, uint64_t deadline_ns, const struct spec *spec,
		  struct probe_finding *ret);
/*
 * Was it the tool that failed, by itself? If not, a step of the holder has, or something has killed
 * it, which proves nothing about its files or this host. For a cell whose agent was never ready.
 */
bool vm_tool_failed(const struct held_cell *held);
/* The figures of the guest: vm_report.c. */
void vm_report(struct run *run);
#endif
