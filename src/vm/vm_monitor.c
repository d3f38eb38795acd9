/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A monitor that a data file describes: its command line and its configuration. Files are
 * descriptors, which it opens by their paths in /proc. The machine has one serial port, and
 * brig-vm-line between that and the warden's stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "vm/vm.h"
#include "vm_line/line.h"

#define MIB       (1ull << 20)
#define DIGITS    24
#define FIRST_FD  3
#define FD(file)  "/proc/self/fd/" file
#define LINE_NAME "brig-vm-line"
#define SERIAL    "/" HOLDER_STATE "/serial"
/*
 * The kernel prints on no serial port, also if it has no other console. ttyS0: vm_init's
 * SERIAL_PORT.
 */
#define CMDLINE VM_CMDLINE " console=tty0 brig.port=ttyS0"

_Static_assert(VM_FILE_KERNEL + FIRST_FD == 3 && VM_FILE_INITRD + FIRST_FD == 4 &&
		       VM_FILE_IMAGE + FIRST_FD == 5 && VM_FILE_CONFIG + FIRST_FD == 6 &&
		       VM_FILE_LINE + FIRST_FD == LINE_FIRST_FD,
	       "the numbers below, and those that brig-vm-line keeps");

struct values {
	char memory[DIGITS];
	const char *list[MACHINE_WORDS];
};

static void fill(const struct vm_machine *machine, struct values *ret)
{
	snprintf(ret->memory, sizeof(ret->memory), "%llu",
		 (unsigned long long)(machine->memory_bytes / MIB));
	ret->list[MACHINE_KERNEL] = FD("3");
	ret->list[MACHINE_INITRD] = FD("4");
	ret->list[MACHINE_IMAGE] = FD("5");
	ret->list[MACHINE_CONFIG] = FD("6");
	ret->list[MACHINE_SERIAL] = SERIAL;
	ret->list[MACHINE_MEMORY_MIB] = ret->memory;
	ret->list[MACHINE_CMDLINE] = CMDLINE;
}

int vm_monitor_command(const struct vm_machine *machine, struct strlist *ret)
{
	struct values values;
	int r = strlist_add(ret, machine->program);

	fill(machine, &values);
	return r < 0 ? r
		     : words_expand(&machine_words, &machine->file->arguments, values.list, ret);
}

int vm_monitor_config(const struct vm_machine *machine, struct buf *out)
{
	struct values values;

	fill(machine, &values);
	if (machine->file->config) {
		words_put(&machine_words, machine->file->config, values.list, out);
	}
	return out->failed ? -ENOMEM : 0;
}

int vm_monitor_equip(struct held_cell *held, const struct vm_machine *machine)
{
	const struct machine *file = machine->file;
	_cleanup_(buf_done)
	struct buf config = { 0 };
	int r = vm_monitor_config(machine, &config);

	held->files.fds[VM_FILE_CONFIG] = held->files.fds[VM_FILE_LINE] = -1;
	held->tool = file->name;
	held->package = file->package ? file->package : file->program;
	held->urandom = file->urandom;
	/* The holder executes it in place of the monitor. */
	held->starter = FD("7");
	r = r < 0 ? r : strlist_add(&held->arguments, LINE_NAME);
	r = r < 0 ? r
		  : strlist_add(&held->arguments,
				file->stream == MACHINE_SOCKET ? SERIAL : "stdio");
	r = r < 0 ? r : vm_monitor_command(machine, &held->arguments);
	if (r < 0) {
		return r;
	}
	held->files.fds[VM_FILE_CONFIG] =
		memfile_make("config", config.data ? config.data : "", config.size);
	held->files.fds[VM_FILE_LINE] = memfile_make(LINE_NAME, vm_line_image, vm_line_image_size);
	return 0;
}

void vm_monitor_list(struct buf *out)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };

	(void)machine_names(&names);
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(machine_done)
		struct machine file = { 0 };
		struct brig_error unused = { 0 };
		char path[HELD_PATH_MAX];
		if (machine_built_in(names.items[i], &file, &unused) < 0) {
			continue;
		}
		bool found = file.program[0] == '/' ? held_is_program(file.program)
						    : held_find_program(file.program, path);
		buf_addf(out, "%s%s %s", i ? ", " : "", names.items[i],
			 found ? "is here" : "is not here");
	}
}
