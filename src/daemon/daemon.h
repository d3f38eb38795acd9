/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that a container daemon makes, Docker's or Podman's: see README.md.
 *
 * The daemon is root's program, or the operator's, and brig's caller has chosen it by the policy.
 * Its answers are bounded and checked nevertheless; its word about the container's first process is
 * not taken: the process must be in a control group that names the container.
 */
#ifndef BRIG_DAEMON_DAEMON_H
#define BRIG_DAEMON_DAEMON_H

#include "agent_link/agent_link.h"
#include "base/list.h"
#include "daemon/daemon_call.h"
#include "daemon/demux.h"
#include "kernel/cgroup/cgroup.h"
#include "native/plan/plan.h"
#include "run/run_internal.h"
#include "run/spec/daemon_settings.h"

#define DAEMON_SOCKET_MAX 108
#define DAEMON_NAME_MAX   256 /* of an image */
#define DAEMON_ID_CHARS   64  /* of a container */
#define DAEMON_OWNER_MAX  128
#define DAEMON_STALE_MAX  8 /* containers that one cell removes */
/* Of a list: an entry has all mounts, and so 12 KB and more. */
#define DAEMON_LIST_ENTRIES 8u
#define DAEMON_LIST_LONG    128u
#define DAEMON_LIST_BYTES   (4u << 20)
/* From the end of the container to the end of its stream, or from its kill to its end. */
#define DAEMON_LAST_NS 5000000000ull
#define DAEMON_AGENT   "/brig-agent"
#define DAEMON_LABEL   "brig.owner"
/* Of the Engine API: 1.41 has all that is used. */
#define DAEMON_API_MINOR 41u

/* The differences between the daemons. */
struct daemon_kind {
	const struct provider *provider;
	const char *title;    /* "Docker" */
	const char *variable; /* of the environment, with the socket's URL */
	const char *sockets[2];
	const char *own_socket;   /* of an ordinary user, beneath XDG_RUNTIME_DIR; NULL: none */
	const char *image_prefix; /* of local images */
	const char *start;        /* what systemctl has to do, for the repair */
	bool tmpfs_details;       /* a tmpfs can have an owner, and a number of inodes */
	bool names_ulimits;       /* without them it asks for more than the host may allow */
	const char *covers[2];    /* directories that it would make writable; NULL: no more */
	const struct daemon_settings *(*settings)(const struct spec *spec);
};
extern const struct daemon_kind docker_kind, podman_kind;

/* --- where it is: daemon_find.c --------------------------------------------------------------- */

int daemon_find(const struct daemon_kind *kind, const struct daemon_settings *settings,
		char ret[DAEMON_SOCKET_MAX], struct brig_error *err);

/* --- brig's image: base_image.c --------------------------------------------------------------- */

/* A tar of the root of the cell, with the agent. Pure. */
int base_image_make(const struct plan *plan, struct buf *ret, struct brig_error *err);
/* Its name, without the prefix. */
void base_image_name(const struct buf *tar, char ret[DAEMON_NAME_MAX]);

/* --- files that the daemon binds: host_file.c ------------------------------------------------- */

/* The agent, for an operator's image. */
int agent_file_make(const struct spec *spec, char **ret_path, struct brig_error *err);
/* /etc/hosts, for all: Docker's has no names, and Podman's those of the host. */
int names_file_make(const struct spec *spec, char **ret_path, struct brig_error *err);

/* --- the container: daemon_body.c ------------------------------------------------------------- */

struct daemon_container {
	const struct daemon_kind *kind;
	const struct spec *spec;
	const struct plan *plan;
	const char *image, *runtime; /* runtime NULL: the daemon's choice */
	const char *agent;           /* a file of the host with it; NULL: the image has it */
	const char *names;           /* a file of the host: its /etc/hosts */
	const char *owner;           /* the label */
};
/* The body of the call that creates it. Pure but for the limits of this process. */
void daemon_body_write(const struct daemon_container *container, struct buf *out);
/* The size of each place that the program can write to. */
uint64_t daemon_place_bytes(const struct spec *spec);

/* --- whose it is: daemon_owner.c -------------------------------------------------------------- */

struct daemon_owner {
	uint64_t serial; /* of the cell, in this process; 0: it is none */
	int fd;          /* owned, if there is a serial: open as long as the cell is */
	char text[DAEMON_OWNER_MAX];
};
/* A new cell of this process. */
int daemon_owner_begin(struct daemon_owner *ret);
void daemon_owner_end(struct daemon_owner *owner);
/* Is it certain that the process is dead, on this host since its start? */
bool daemon_owner_is_dead(const char *owner, const char *own);
/* Is it a cell of this process that is closed? */
bool daemon_owner_is_closed(const char *owner, const char *own);

/* --- answers: daemon_answers.c ---------------------------------------------------------------- */

struct daemon_version {
	unsigned least, most; /* the minor numbers of API 1.x */
	char text[64];        /* of the daemon, for people */
};
struct daemon_info {
	bool memory, pids, cpu, rootless;
	bool old_groups; /* control groups of version 1 */
};
/* Each: 0, or -EPROTO. */
int daemon_answer_version(const struct buf *body, struct daemon_version *ret);
int daemon_answer_info(const struct buf *body, struct daemon_info *ret);
int daemon_answer_created(const struct buf *body, char ret[DAEMON_ID_CHARS + 1]);
int daemon_answer_pid(const struct buf *body, pid_t *ret);
/* Has the image places that would be mounted for writing? Also if that cannot be read. */
bool daemon_answer_volumes(const struct buf *body);
/*
 * Adds the containers of dead owners and of closed cells to *count others. How many the list has,
 * of whomever.
 */
size_t daemon_answer_stale(const struct buf *body, const char *own,
			   char ret[DAEMON_STALE_MAX][DAEMON_ID_CHARS + 1], size_t *count);
/* The daemon's reason for a refusal, harmless on a terminal. */
void daemon_answer_reason(const struct buf *body, char *ret, size_t size);

/* --- the container as the kernel shows it: daemon_look.c -------------------------------------- */

struct daemon_cell;
/* Files of its first process in /proc. */
struct daemon_seen {
	const char *mounts, *status, *users; /* mountinfo, status, uid_map */
};
/*
 * Can it write where it may, and nowhere else; and has it no privileges? 1; 0: it has ended; or
 * -errno, and cell->err has the reason.
 */
int daemon_look(struct daemon_cell *cell, uint64_t disk_bytes);
/* The same of these files: 0, or -errno and `why`. */
int daemon_look_at(const struct daemon_cell *cell, uint64_t disk_bytes,
		   const struct daemon_seen *seen, char *why, size_t size);

/* --- a cell: daemon_stages.c, daemon_cell.c --------------------------------------------------- */

enum daemon_stage {
	DAEMON_VERSION,
	DAEMON_LIST,
	DAEMON_SWEEP,
	DAEMON_IMAGE,
	DAEMON_IMPORT,
	DAEMON_CREATE,
	DAEMON_ATTACH,
	DAEMON_START,
	DAEMON_INSPECT,
	DAEMON_RUNS,   /* no call is under way */
	DAEMON_REMOVE, /* the container has to go */
	DAEMON_ENDING, /* its end is waited for, and nothing else */
	DAEMON_OVER,   /* there is no container */
	DAEMON_STAGES,
};

/* The containers of brig's that are asked for, one list after the other. */
enum daemon_list {
	DAEMON_LIST_CREATED, /* those that were never started, which stay for ever */
	DAEMON_LIST_SHORT,   /* some of all */
	DAEMON_LIST_ALL,     /* many of all */
	DAEMON_LISTS,
};

enum daemon_event {
	DAEMON_EVENT_CALL,
	DAEMON_EVENT_END,  /* the container's first process has ended */
	DAEMON_EVENT_OVER, /* the cell is over, whether its stream has ended or not */
	DAEMON_EVENT_LINK, /* the first of the link's */
};

struct daemon_cell {
	const struct daemon_kind *kind;
	const struct daemon_settings *settings;
	char socket[DAEMON_SOCKET_MAX];
	enum daemon_stage stage;
	struct daemon_call call;
	uint32_t listening; /* the events of the call in the set; 0: it is not in there */
	unsigned api;       /* the minor number that is used */
	struct plan plan;
	struct buf image; /* owned: the tar of brig's own */
	char image_name[DAEMON_NAME_MAX];
	char *agent_path; /* owned: beside an operator's image */
	char *names_path; /* owned: the file for /etc/hosts */
	struct daemon_owner owner;
	enum daemon_list list;
	char stale[DAEMON_STALE_MAX][DAEMON_ID_CHARS + 1];
	size_t stale_count;
	char id[DAEMON_ID_CHARS + 1]; /* of the container; "": there is none */
	struct demux demux;
	struct agent_link link;
	int inside[3];                  /* owned: the run's ends, until the link has them */
	struct cgroup *group;           /* owned */
	struct cgroup_manager *manager; /* owned: of the group */
	int pidfd;                      /* owned: of the container's first process */
	pid_t pid;                      /* its number */
	int over;                       /* owned: a timer: the cell ends with it */
	bool attached, asked;
	bool doomed;           /* it is to be removed as soon as it can be */
	bool released;         /* the agent was told that all has arrived */
	bool seen_exit;        /* its figures after the program's end were read */
	struct brig_error err; /* why it was not built */
	bool failed;
	const char *first_end; /* what ended first, for people; NULL: nothing yet */
};

static inline struct daemon_cell *daemon_of(const struct run *run)
{
	return run->cell;
}

/* The cell is closed: a container that may still be there is removed elsewhere: daemon_leave.c. */
void daemon_leave(struct daemon_cell *cell);
/* Begins the first call. */
int daemon_begin(struct run *run);
int daemon_on_call(struct run *run);
/* The call had its time. */
void daemon_late(struct run *run);
/* No further stage: the container is removed, if there is one. */
void daemon_remove(struct run *run);
/* The cell ends after this time, or before that with its stream. */
void daemon_end_after(const struct daemon_cell *cell, uint64_t after_ns);
/* The cell cannot be built; cell->err has the reason. */
void daemon_fail(struct run *run, const char *step);
/* The agent is ready, and perhaps all else. 1: the program may begin; 0: not yet; -errno. */
int daemon_ready(struct run *run);
int daemon_listen_call(struct run *run);

/* The path of a stage's call, and its kind: daemon_requests.c. */
struct daemon_stage_info {
	const char *name;   /* the step of an error, and a word for people */
	const char *method; /* NULL: there is no call */
	uint64_t most_ns;   /* its time */
	unsigned good[3];   /* statuses; 0: no more */
	const char *about;
};
extern const struct daemon_stage_info daemon_stages[DAEMON_STAGES];
/* Fills in `path` and the request. */
void daemon_request(const struct daemon_cell *cell, enum daemon_stage stage, struct buf *path,
		    struct daemon_request *ret);

/* Makes the image of brig's own, from the cell's plan, and its name: daemon_image.c. */
int daemon_own_image(struct daemon_cell *cell, struct brig_error *err);
/* See base_image() of a provider. */
int daemon_base_image(const struct daemon_kind *kind, const struct spec *spec, struct buf *tar,
		      char name[PROVIDER_SETTING_MAX], struct brig_error *err);

void daemon_explain(const struct daemon_kind *kind, const struct spec *spec, bool json,
		    struct buf *out);
void daemon_probe(const struct daemon_kind *kind, const struct spec *spec, uint64_t deadline_ns,
		  struct probe_finding *ret);
bool daemon_setting(const struct daemon_kind *kind, const struct spec *spec,
		    char ret[PROVIDER_SETTING_MAX]);
const char *daemon_means(enum layer layer);
int daemon_open(struct run *run, const struct daemon_kind *kind, struct brig_error *err);
const struct cgroup_manager *daemon_groups(const struct run *run);
layer_set daemon_resolve(const struct cgroup_manager *groups, struct spec *spec);

/* The functions of a provider that both have: daemon_cell.c. */
int daemon_launch(struct run *run, struct brig_error *err);
int daemon_assign(struct run *run, const struct spec *spec);
int daemon_handle(struct run *run, unsigned number);
int daemon_listen(struct run *run);
void daemon_mute(struct run *run);
int daemon_alarm(struct run *run);
bool daemon_has_program(const struct run *run);
int daemon_ask_to_end(struct run *run);
int daemon_interrupt(struct run *run);
void daemon_kill(struct run *run);
int daemon_ended(struct run *run, struct brig_error *err);
void daemon_next_round(struct run *run);
void daemon_take_options(struct run *run);
void daemon_report(struct run *run);
void daemon_advise(struct run *run);
void daemon_nothing(struct run *run);
void daemon_close(struct run *run);
int daemon_layer_of(const char *step);

#define DAEMON_LAYERS                                                                              \
	(LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) | LAYER_BIT(LAYER_NETNS) |                \
	 LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) | LAYER_BIT(LAYER_CGROUPNS) |             \
	 LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_CAPS) | LAYER_BIT(LAYER_NNP) |                  \
	 LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_KEYRING) | LAYERS_CGROUP)
#define DAEMON_ABILITIES                                                                           \
	(ABILITY_BIT(ABILITY_WALLS) | ABILITY_BIT(ABILITY_OWN_ROOT) |                              \
	 ABILITY_BIT(ABILITY_CALL_RULES) | ABILITY_BIT(ABILITY_HOLD) | ABILITY_BIT(ABILITY_VALUE))
/* A container's group is the daemon's: its limits stay. */
#define DAEMON_PROVIDER                                                                            \
	.abilities = DAEMON_ABILITIES, .layers = DAEMON_LAYERS,                                    \
	.fixed_limits = LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS),             \
	.own_processes = 1, /* the agent */                                                        \
		.resolve = daemon_resolve, .groups = daemon_groups, .means = daemon_means,         \
	.layer_of = daemon_layer_of, .launch = daemon_launch, .assign = daemon_assign,             \
	.event = daemon_handle, .listen = daemon_listen, .mute = daemon_mute,                      \
	.alarm = daemon_alarm, .has_program = daemon_has_program, .ask_to_end = daemon_ask_to_end, \
	.kill = daemon_kill, .ended = daemon_ended, .report = daemon_report,                       \
	.advise = daemon_advise, .interrupt = daemon_interrupt, .next_round = daemon_next_round,   \
	.rest = daemon_nothing, .take_options = daemon_take_options, .release = daemon_nothing,    \
	.close = daemon_close
#endif
