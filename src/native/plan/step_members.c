/* SPDX-License-Identifier: Apache-2.0 */
/* Members of steps: see step_members.h. */
#include "native/plan/step_members.h"

#include <string.h>

#define AT(member) offsetof(struct step, member)
#define PATH(member)                                                                               \
	{                                                                                          \
		MEMBER_PATH, AT(member), 0, 0                                                      \
	}
#define TEXT(member)                                                                               \
	{                                                                                          \
		MEMBER_TEXT, AT(member), 0, 0                                                      \
	}
#define FD(member)                                                                                 \
	{                                                                                          \
		MEMBER_FD, AT(member), 0, 0                                                        \
	}
#define FLAG(member)                                                                               \
	{                                                                                          \
		MEMBER_FLAG, AT(member), 0, 0                                                      \
	}
#define ITEMS(member, count, width)                                                                \
	{                                                                                          \
		MEMBER_ITEMS, AT(member), AT(count), width                                         \
	}

const struct step_member step_members[STEP_KINDS][STEP_MEMBERS_MAX] = {
	[STEP_IDMAP] = { TEXT(idmap.uids), TEXT(idmap.gids), FLAG(idmap.deny_setgroups) },
	[STEP_SELFMAP] = { TEXT(selfmap.line) },
	[STEP_BECOME] = { FLAG(become.may_setgroups) },
	[STEP_COUNTS] = { PATH(counts.file), TEXT(counts.content) },
	[STEP_ROOT] = { TEXT(root.bytes_text), TEXT(root.inodes_text) },
	[STEP_OVERLAY] = { PATH(overlay.target), TEXT(overlay.options) },
	[STEP_DIR] = { PATH(dir.target) },
	[STEP_LINK] = { PATH(link.path), TEXT(link.to) },
	[STEP_FILE] = { PATH(file.target), TEXT(file.about), ITEMS(file.data, file.size, 1) },
	[STEP_BIND] = { PATH(bind.target), TEXT(bind.source) },
	[STEP_DEVICE] = { PATH(bind.target), TEXT(bind.source) },
	[STEP_DEVICES] = { PATH(devices.target), TEXT(devices.shm), FD(devices.fd) },
	[STEP_PROC] = { PATH(proc.target), TEXT(proc.options) },
	[STEP_WRITABLE] = { PATH(writable.target) },
	[STEP_INPUT] = { PATH(input.name), ITEMS(input.data, input.size, 1), FD(input.fd) },
	[STEP_MOUNT] = { PATH(mount.target), TEXT(mount.source), FD(mount.fd), FLAG(mount.cloned) },
	[STEP_ROUTE] = { TEXT(route.text) },
	[STEP_LISTEN] = { TEXT(listen.address) },
	[STEP_GATE] = { FD(gate.fd) },
	[STEP_HOSTNAME] = { TEXT(hostname.name) },
	[STEP_SEAL] = { FLAG(seal.drop_caps) },
	[STEP_INNER] = { TEXT(inner.line) },
	[STEP_WORKDIR] = { PATH(workdir.path) },
	[STEP_RLIMIT] = { TEXT(rlimit.name) },
	[STEP_SECCOMP] = { ITEMS(seccomp.code, seccomp.count, sizeof(struct sock_filter)),
			   FLAG(seccomp.listens) },
	[STEP_CHANNEL] = { FD(channel.fd) },
	[STEP_EXEC] = { PATH(exec.path) },
};

const struct step_member *step_member_next(const struct step *step,
					   const struct step_member *member)
{
	const struct step_member *first = step_members[step->kind];
	const struct step_member *next = member ? member + 1 : first;

	return next == first + STEP_MEMBERS_MAX || next->type == MEMBER_END ? NULL : next;
}

static const struct step_member *find_member(const struct step *step, enum step_member_type type)
{
	const struct step_member *member = NULL;

	while ((member = step_member_next(step, member)) && member->type != type) {
	}
	return member;
}

const void *step_pointer(const struct step *step, const struct step_member *member)
{
	const void *pointer;

	memcpy(&pointer, (const char *)step + member->offset, sizeof(pointer));
	return pointer;
}

void step_set_pointer(struct step *step, const struct step_member *member, const void *to)
{
	memcpy((char *)step + member->offset, &to, sizeof(to));
}

uint64_t step_items(const struct step *step, const struct step_member *member)
{
	uint64_t count;

	memcpy(&count, (const char *)step + member->count, sizeof(count));
	return count;
}

const char *step_path(const struct step *step)
{
	const struct step_member *member = find_member(step, MEMBER_PATH);

	return member ? step_pointer(step, member) : NULL;
}

int step_fd(const struct step *step)
{
	const struct step_member *member = find_member(step, MEMBER_FD);
	int fd = -1;

	if (member) {
		memcpy(&fd, (const char *)step + member->offset, sizeof(fd));
	}
	return fd;
}

void step_set_fd(struct step *step, int fd)
{
	const struct step_member *member = find_member(step, MEMBER_FD);

	if (member) {
		memcpy((char *)step + member->offset, &fd, sizeof(fd));
	}
}

void step_init(struct step *step, enum step_kind kind)
{
	*step = (struct step){ .kind = kind };
	step_set_fd(step, -1);
}
