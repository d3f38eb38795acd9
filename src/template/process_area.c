/* SPDX-License-Identifier: Apache-2.0 */
/* How a process was started: see process_area.h. */
#include "template/process_area.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define AUXV_MAX 64

/* Fields of /proc/self/stat, counted from 1. */
enum {
	STAT_START_CODE = 26,
	STAT_END_CODE,
	STAT_START_STACK,
	STAT_START_DATA = 45,
	STAT_END_DATA,
	STAT_START_BRK,
	STAT_ARG_START,
	STAT_ARG_END,
	STAT_ENV_START,
	STAT_ENV_END,
	STAT_FIELDS,
};

static bool read_stat(uint64_t fields[STAT_FIELDS])
{
	char text[2048];
	_cleanup_close_ int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0) {
		return false;
	}
	text[n] = '\0';
	/* The name, in parentheses, may contain blanks; the fields after it do not. */
	char *at = strrchr(text, ')');
	for (int field = 3; at && field < STAT_FIELDS; field++) {
		at = strchr(at + 1, ' ');
		fields[field] = at ? strtoull(at, NULL, 10) : 0;
	}
	return at && fields[STAT_ARG_START] && fields[STAT_ENV_END] >= fields[STAT_ENV_START] &&
	       fields[STAT_ARG_END] >= fields[STAT_ARG_START];
}

/*
 * The auxiliary values that the C library reads: behind the pointers to arguments and environment.
 */
static Elf64_auxv_t *stack_auxv(uint64_t start_stack)
{
	uint64_t *at = (uint64_t *)(uintptr_t)start_stack;

	at += 1 + *at + 1; /* argc, argv, NULL */
	while (*at) {
		at++;
	}
	return (Elf64_auxv_t *)(void *)(at + 1);
}

static size_t set_ids(Elf64_auxv_t *auxv, uint32_t id)
{
	size_t count = 0;

	for (; count < AUXV_MAX - 1 && auxv[count].a_type != AT_NULL; count++) {
		switch (auxv[count].a_type) {
		case AT_UID:
		case AT_EUID:
		case AT_GID:
		case AT_EGID:
			auxv[count].a_un.a_val = id;
			break;
		case AT_EXECFN: /* the descriptor that it was started by */
			memset((char *)(uintptr_t)auxv[count].a_un.a_val, 0,
			       strlen((char *)(uintptr_t)auxv[count].a_un.a_val));
			break;
		default:
			break;
		}
	}
	return (count + 1) * sizeof(*auxv);
}

static uint64_t shorter(uint64_t start, uint64_t end, size_t size)
{
	return size && size < end - start ? start + size : end;
}

void process_area_take(struct process_area *area, size_t args_size, size_t env_size, uint32_t id)
{
	uint64_t stat[STAT_FIELDS] = { 0 };

	*area = (struct process_area){ 0 };
	if (!read_stat(stat)) {
		return;
	}
	area->args = (char *)(uintptr_t)stat[STAT_ARG_START];
	area->args_end = (char *)(uintptr_t)stat[STAT_ARG_END];
	area->env = (char *)(uintptr_t)stat[STAT_ENV_START];
	area->env_end = (char *)(uintptr_t)stat[STAT_ENV_END];
	Elf64_auxv_t *auxv = stack_auxv(stat[STAT_START_STACK]);
	size_t auxv_size = set_ids(auxv, id);
	struct prctl_mm_map map = {
		.start_code = stat[STAT_START_CODE],
		.end_code = stat[STAT_END_CODE],
		.start_data = stat[STAT_START_DATA],
		.end_data = stat[STAT_END_DATA],
		.start_brk = stat[STAT_START_BRK],
		.brk = (uint64_t)syscall(SYS_brk, 0),
		.start_stack = stat[STAT_START_STACK],
		.arg_start = stat[STAT_ARG_START],
		.arg_end = shorter(stat[STAT_ARG_START], stat[STAT_ARG_END], args_size),
		.env_start = stat[STAT_ENV_START],
		.env_end = shorter(stat[STAT_ENV_START], stat[STAT_ENV_END], env_size),
		.auxv = (void *)auxv,
		.auxv_size = (uint32_t)auxv_size,
		.exe_fd = (uint32_t)-1,
	};
	/* Since Linux 3.18; a kernel without it shows zeros after the text, which does no harm. */
	prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0);
}

static void write_list(char *at, const char *end, const char *const *list)
{
	for (; at && list && *list; list++) {
		size_t size = strlen(*list) + 1;
		if (size > (size_t)(end - at)) {
			break;
		}
		memcpy(at, *list, size);
		at += size;
	}
	if (at) {
		memset(at, 0, (size_t)(end - at));
	}
}

void process_area_write(const struct process_area *area, const char *const *argv,
			const char *const *envp)
{
	write_list(area->args, area->args_end, argv);
	write_list(area->env, area->env_end, envp);
}
