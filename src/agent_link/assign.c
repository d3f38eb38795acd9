/* SPDX-License-Identifier: Apache-2.0 */
/* The frames to the agent, one at a time: see agent_link.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "net/rule.h"
#include "run/spec/landlock_places.h"
#include "run/spec/rlimits.h"

#define PIECE_BYTES    65536u
#define ENTROPY_BYTES  64
#define SESSION_NUMBER 3 /* the descriptor of a driver that stays */

static unsigned char *data_of(struct agent_link *link)
{
	return link->out + FRAME_HEAD_BYTES;
}

static int put(struct agent_link *link, enum frame_kind kind, size_t size)
{
	if (size < frame_table[kind].least || size > frame_table[kind].most) {
		return -E2BIG;
	}
	frame_put_head(link->out, kind, (uint32_t)size);
	link->out_at = 0;
	link->out_size = FRAME_HEAD_BYTES + size;
	return 1;
}

static int put_bytes(struct agent_link *link, enum frame_kind kind, const void *data, size_t size)
{
	if (size > frame_table[kind].most) {
		return -E2BIG;
	}
	if (size) {
		memcpy(data_of(link), data, size);
	}
	return put(link, kind, size);
}

/* The phase is over, and nothing was put. */
static int next_phase(struct agent_link *link)
{
	link->phase++;
	link->index = 0;
	link->offset = 0;
	link->begun = false;
	return 0;
}

/* --- for an agent that is root ---------------------------------------------------------------- */

static int put_clock(struct agent_link *link, const struct spec *spec)
{
	struct timespec now;

	(void)spec;
	next_phase(link);
	if (!link->options.clock) {
		return 0;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	frame_put_u64(data_of(link), (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	return put(link, FRAME_CLOCK, 8);
}

static int put_entropy(struct agent_link *link, const struct spec *spec)
{
	(void)spec;
	next_phase(link);
	if (!link->options.entropy) {
		return 0;
	}
	if (getrandom(data_of(link), ENTROPY_BYTES, GRND_NONBLOCK) != ENTROPY_BYTES) {
		return -EIO;
	}
	return put(link, FRAME_ENTROPY, ENTROPY_BYTES);
}

static struct frame_bounds bounds_of(const struct spec *spec)
{
	return (struct frame_bounds){ .bytes = spec->limits.disk_bytes,
				      .inodes = spec->limits.disk_inodes };
}

static int put_work(struct agent_link *link, const struct spec *spec)
{
	const struct frame_work work = { .bounds = bounds_of(spec),
					 .exec = spec->exec_writable,
					 .user = link->options.user,
					 .group = link->options.group };

	next_phase(link);
	if (!link->options.mounts) {
		return 0;
	}
	frame_put_work(data_of(link), &work);
	return put(link, FRAME_WORK, FRAME_WORK_BYTES);
}

static int put_ids(struct agent_link *link, const struct spec *spec)
{
	bool separate = link->options.separates && spec_separates(spec);
	uint32_t user = separate ? SPEC_PROGRAM_ID : link->options.user;

	next_phase(link);
	if (!user) {
		return 0;
	}
	frame_put_u32(data_of(link), user);
	frame_put_u32(data_of(link) + 4, separate ? SPEC_PROGRAM_ID : link->options.group);
	return put(link, FRAME_IDS, 8);
}

/* --- the program ------------------------------------------------------------------------------ */

static int put_directory(struct agent_link *link, const struct spec *spec)
{
	static const char place[] = "/sandbox";

	(void)spec;
	next_phase(link);
	return put_bytes(link, FRAME_DIRECTORY, place, strlen(place));
}

static int put_text(struct agent_link *link, enum frame_kind kind, const char *const *texts)
{
	const char *text = texts ? texts[link->index] : NULL;

	if (!text) {
		return next_phase(link);
	}
	link->index++;
	return put_bytes(link, kind, text, strlen(text));
}

static int put_argument(struct agent_link *link, const struct spec *spec)
{
	return put_text(link, FRAME_ARGUMENT, spec->argv);
}

static int put_variable(struct agent_link *link, const struct spec *spec)
{
	return put_text(link, FRAME_VARIABLE, spec->envp);
}

static int put_limit(struct agent_link *link, const struct spec *spec)
{
	struct rlimit_value values[RLIMITS_MAX];
	const enum rlimits_which which = !link->holds                 ? RLIMITS_ALL
					 : link->parts & ASSIGN_AHEAD ? RLIMITS_FIXED
								      : RLIMITS_OF_REQUEST;
	size_t count = rlimits_of(spec, which, values);

	if (link->index == count) {
		return next_phase(link);
	}
	frame_put_u32(data_of(link), (uint32_t)values[link->index].resource);
	frame_put_u64(data_of(link) + 4, values[link->index].value);
	link->index++;
	return put(link, FRAME_LIMIT, FRAME_LIMIT_BYTES);
}

static int put_landlock(struct agent_link *link, const struct spec *spec)
{
	next_phase(link);
	if (!(spec->layers & LAYER_BIT(LAYER_LANDLOCK))) {
		return 0;
	}
	frame_put_u32(data_of(link), (uint32_t)spec->landlock_abi);
	return put(link, FRAME_LANDLOCK, 4);
}

static int put_one_place(struct agent_link *link, enum frame_place use, const char *path)
{
	size_t length = strlen(path);

	if (length + 4 > frame_table[FRAME_PLACE].most) {
		return -ENAMETOOLONG;
	}
	frame_put_u32(data_of(link), use);
	memcpy(data_of(link) + 4, path, length);
	return put(link, FRAME_PLACE, length + 4);
}

/* The fixed ones, then the directories that are mounted for writing. */
static int put_place(struct agent_link *link, const struct spec *spec)
{
	size_t number = link->index - LANDLOCK_FIXED;
	char path[4096];

	if (!(spec->layers & LAYER_BIT(LAYER_LANDLOCK)) ||
	    link->index == LANDLOCK_FIXED + spec->mounts_count) {
		return next_phase(link);
	}
	if (link->index < LANDLOCK_FIXED) {
		const struct landlock_place *place = &landlock_fixed[link->index++];
		return put_one_place(link,
				     place->writable ? FRAME_PLACE_WRITE
				     : place->device ? FRAME_PLACE_DEVICE
						     : FRAME_PLACE_READ,
				     place->path);
	}
	link->index++;
	if (!spec->mounts[number].writable) {
		return 0;
	}
	snprintf(path, sizeof(path), "/mnt/%s", spec->mounts[number].name);
	return put_one_place(link, FRAME_PLACE_WRITE, path);
}

static int put_filter(struct agent_link *link, const struct spec *spec)
{
	const struct bpf_program *filter = spec->filter;

	_Static_assert(sizeof(*filter->code) == 8, "an instruction is 8 bytes");
	if (!filter || link->offset == filter->count * sizeof(*filter->code)) {
		return next_phase(link);
	}
	size_t size = filter->count * sizeof(*filter->code);
	size_t part = size - link->offset < PIECE_BYTES ? size - link->offset : PIECE_BYTES;
	const char *from = (const char *)filter->code + link->offset;
	link->offset += part;
	return put_bytes(link, FRAME_FILTER, from, part);
}

static int put_listen(struct agent_link *link, const struct spec *spec)
{
	next_phase(link);
	return link->options.listener && spec->filter ? put(link, FRAME_LISTEN, 0) : 0;
}

static int put_file_data(struct agent_link *link, const struct spec_input *input)
{
	uint64_t left = input->size - link->offset;
	size_t part = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;

	if (input->fd < 0) {
		memcpy(data_of(link), (const char *)input->data + link->offset, part);
	} else {
		ssize_t n = pread(input->fd, data_of(link), part, (off_t)link->offset);
		if (n <= 0) {
			return n < 0 ? -errno : -ESTALE; /* shrank since it was measured */
		}
		part = (size_t)n;
	}
	link->offset += part;
	return put(link, FRAME_FILE_DATA, part);
}

static int put_file(struct agent_link *link, const struct spec *spec)
{
	if (link->index == spec->inputs_count) {
		return next_phase(link);
	}
	const struct spec_input *input = &spec->inputs[link->index];
	size_t length = strlen(input->name);
	if (!link->begun) {
		if (length + 4 > frame_table[FRAME_FILE].most) {
			return -ENAMETOOLONG;
		}
		link->begun = true;
		frame_put_u32(data_of(link), (uint32_t)input->mode);
		memcpy(data_of(link) + 4, input->name, length);
		return put(link, FRAME_FILE, length + 4);
	}
	if (link->offset < input->size) {
		return put_file_data(link, input);
	}
	link->index++;
	link->offset = 0;
	link->begun = false;
	return 0;
}

/* --- an interpreter that waits ---------------------------------------------------------------- */

static int put_script(struct agent_link *link, const struct spec *spec)
{
	const struct spec_waiting *waiting = spec->waiting;
	size_t left = waiting->size - link->offset;

	if (!link->begun) {
		size_t length = strlen(waiting->name);
		link->begun = true;
		frame_put_u32(data_of(link), 0600);
		memcpy(data_of(link) + 4, waiting->name, length);
		return put(link, FRAME_FILE, length + 4);
	}
	if (left == 0) {
		return next_phase(link);
	}
	size_t part = left < PIECE_BYTES ? left : PIECE_BYTES;
	const char *from = waiting->text + link->offset;
	link->offset += part;
	return put_bytes(link, FRAME_FILE_DATA, from, part);
}

static int put_waiting_argument(struct agent_link *link, const struct spec *spec)
{
	return put_text(link, FRAME_ARGUMENT, spec->waiting->argv);
}

/* Nothing more before there is a request. */
static int put_wait(struct agent_link *link, const struct spec *spec)
{
	const char *name = spec->waiting->name;

	next_phase(link);
	link->phase = ASSIGN_NOTHING;
	return put_bytes(link, FRAME_WAIT, name, strlen(name));
}

/* --- the files -------------------------------------------------------------------------------- */

/* /sandbox/out is an inode that the limit does not count. */
static int put_return(struct agent_link *link, const struct spec *spec)
{
	struct frame_bounds bounds = bounds_of(spec);

	next_phase(link);
	if (!link->options.returns) {
		return 0;
	}
	bounds.inodes += 1;
	frame_put_bounds(data_of(link), &bounds);
	return put(link, FRAME_RETURN, FRAME_BOUNDS_BYTES);
}

static int put_value(struct agent_link *link, const struct spec *spec)
{
	(void)spec;
	next_phase(link);
	if (link->value == VALUE_NONE || link->holds) {
		return 0;
	}
	frame_put_u32(data_of(link), RUN_FILE_BYTES);
	frame_put_u32(data_of(link) + 4, link->value == VALUE_SEALED);
	return put(link, FRAME_VALUE_FILE, 8);
}

static int put_channel(struct agent_link *link, const struct spec *spec)
{
	(void)spec;
	next_phase(link);
	if (link->channel < 0) {
		return 0;
	}
	frame_put_u32(data_of(link), SESSION_NUMBER);
	frame_put_u32(data_of(link) + 4, SESSION_NUMBER);
	return put(link, FRAME_CHANNEL, 8);
}

/* --- the network ------------------------------------------------------------------------------ */

static int put_address(struct agent_link *link, const struct spec *spec)
{
	if (link->network < 0 || link->index == spec->gate_routes_count) {
		return next_phase(link);
	}
	const struct net_prefix *prefix = &spec->gate_routes[link->index++];
	struct frame_address range = { .assigned = link->options.assigns,
				       .family = prefix->address.family,
				       .bits = prefix->bits };
	memcpy(range.bytes, prefix->address.bytes, sizeof(range.bytes));
	frame_put_address(data_of(link), &range);
	return put(link, FRAME_ADDRESS, FRAME_ADDRESS_BYTES);
}

/* That of DNS is the first. */
static int put_port(struct agent_link *link, const struct spec *spec)
{
	if (link->network < 0 || link->index > spec->gate_ports_count) {
		return next_phase(link);
	}
	frame_put_u32(data_of(link),
		      link->index ? spec->gate_ports[link->index - 1] : NET_DNS_PORT);
	link->index++;
	return put(link, FRAME_PORT, 4);
}

static int put_start(struct agent_link *link, const struct spec *spec)
{
	(void)spec;
	next_phase(link);
	link->assigned = true;
	return put(link, FRAME_START, 0);
}

/* One of the two streams to the program, and its frames. */
struct source {
	int *fd;
	struct report_window *window;
	enum frame_kind bytes, end;
};

static int put_stream(struct agent_link *link, const struct source *source)
{
	uint32_t room = FRAME_INPUT_WINDOW - source->window->sent;
	ssize_t n;

	if (source->window->closed) {
		close_fd(source->fd);
	}
	if (*source->fd < 0 || room == 0) {
		return 0;
	}
	do {
		n = read(*source->fd, data_of(link), room);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		source->window->sent += (uint32_t)n;
		return put(link, source->bytes, (size_t)n);
	}
	if (n < 0 && errno == EAGAIN) {
		return 0;
	}
	close_fd(source->fd);
	return put(link, source->end, 0);
}

static int put_record(struct agent_link *link)
{
	size_t n = network_read(link, data_of(link), frame_table[FRAME_FROM_GATE].most);

	return n ? put(link, FRAME_FROM_GATE, n) : 0;
}

static int put_streams(struct agent_link *link)
{
	const struct source channel = { &link->channel, &link->reports.driver, FRAME_TO_DRIVER,
					FRAME_TO_DRIVER_END };
	const struct source input = { &link->input, &link->reports.input, FRAME_INPUT,
				      FRAME_INPUT_END };
	int r = put_stream(link, &channel);

	return r == 0 ? put_stream(link, &input) : r;
}

/* In turns: the bytes of a host do not keep those of the run waiting, and the other way round. */
static int put_input(struct agent_link *link, const struct spec *spec)
{
	int r = link->network_next ? put_record(link) : put_streams(link);

	(void)spec;
	if (r == 0) {
		r = link->network_next ? put_streams(link) : put_record(link);
	} else {
		link->network_next = !link->network_next;
	}
	return r;
}

#define BOTH (ASSIGN_AHEAD | ASSIGN_RUN)

static const struct {
	int (*put)(struct agent_link *link, const struct spec *spec);
	unsigned parts;
	enum frame_step step; /* that has failed, if it cannot be sent */
} phases[] = {
	[ASSIGN_CLOCK] = { put_clock, BOTH, FRAME_STEP_CLOCK },
	[ASSIGN_ENTROPY] = { put_entropy, ASSIGN_AHEAD, FRAME_STEP_ENTROPY },
	[ASSIGN_WORK] = { put_work, ASSIGN_AHEAD, FRAME_STEP_WORK },
	[ASSIGN_IDS] = { put_ids, ASSIGN_AHEAD, FRAME_STEP_IDS },
	[ASSIGN_DIRECTORY] = { put_directory, ASSIGN_AHEAD, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_ARGUMENTS] = { put_argument, ASSIGN_RUN, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_VARIABLES] = { put_variable, ASSIGN_RUN, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_LIMITS] = { put_limit, BOTH, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_LANDLOCK] = { put_landlock, ASSIGN_AHEAD, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_PLACES] = { put_place, ASSIGN_AHEAD, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_FILTER] = { put_filter, ASSIGN_AHEAD, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_LISTEN] = { put_listen, ASSIGN_AHEAD, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_ADDRESSES] = { put_address, ASSIGN_AHEAD, FRAME_STEP_NETWORK },
	[ASSIGN_PORTS] = { put_port, ASSIGN_AHEAD, FRAME_STEP_NETWORK },
	[ASSIGN_SCRIPT] = { put_script, ASSIGN_HOLD, FRAME_STEP_WAIT },
	[ASSIGN_WAITING_ARGUMENTS] = { put_waiting_argument, ASSIGN_HOLD, FRAME_STEP_WAIT },
	[ASSIGN_WAITING_VARIABLES] = { put_variable, ASSIGN_HOLD, FRAME_STEP_WAIT },
	[ASSIGN_WAIT] = { put_wait, ASSIGN_HOLD, FRAME_STEP_WAIT },
	[ASSIGN_FILES] = { put_file, ASSIGN_RUN, FRAME_STEP_FILE },
	[ASSIGN_VALUE] = { put_value, ASSIGN_RUN, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_CHANNEL] = { put_channel, ASSIGN_RUN, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_RETURN] = { put_return, ASSIGN_RUN, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_START] = { put_start, ASSIGN_RUN, FRAME_STEP_ASSIGNMENT },
	[ASSIGN_INPUT] = { put_input, ASSIGN_RUN, FRAME_STEP_STDIO },
};

static int put_phase(struct agent_link *link, const struct spec *spec)
{
	enum assign_phase phase = link->phase;

	if (!(phases[phase].parts & link->parts)) {
		return next_phase(link);
	}
	int r = phases[phase].put(link, spec);
	if (r < 0) {
		link->error = -r;
		link->error_step = phases[phase].step;
	}
	return r;
}

int assign_next(struct agent_link *link, const struct spec *spec)
{
	int r = 0;

	if (link->phase == ASSIGN_NOTHING) {
		return 0;
	}
	if (link->phase == ASSIGN_INPUT && link->signal) {
		frame_put_u32(data_of(link), (uint32_t)link->signal);
		link->signal = 0;
		return put(link, FRAME_SIGNAL, 4);
	}
	if (link->phase == ASSIGN_INPUT && link->marks > 0) {
		link->marks--;
		return put(link, FRAME_MARK, 0);
	}
	/* A phase that puts nothing leads to the next one; the last waits for more input. */
	while (r == 0) {
		enum assign_phase phase = link->phase;
		size_t index = link->index;
		r = put_phase(link, spec);
		if (r == 0 && link->phase == phase && link->index == index) {
			return 0;
		}
	}
	return r;
}
