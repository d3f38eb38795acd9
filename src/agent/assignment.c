/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of an assignment: what the program is, and the files that it finds. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/files/write_all.h"

static char *text_of(const unsigned char *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text) {
		memcpy(text, data, size);
		text[size] = '\0';
	}
	return text;
}

static int add_text(struct agent_texts *texts, const unsigned char *data, size_t size)
{
	if (texts->count == AGENT_TEXTS_MAX) {
		return -E2BIG;
	}
	char **items = realloc(texts->items, (texts->count + 2) * sizeof(*items));
	if (!items) {
		return -ENOMEM;
	}
	texts->items = items;
	texts->items[texts->count] = text_of(data, size);
	if (!texts->items[texts->count]) {
		return -ENOMEM;
	}
	texts->items[++texts->count] = NULL;
	return 0;
}

/* Where nobody else has made it: a daemon makes the writable file system, and nothing in it. */
static int make_out(const struct agent *agent)
{
	_cleanup_close_ int dir =
		open(agent->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0) {
		return 0; /* the start of the program reports it */
	}
	return mkdirat(dir, "out", 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int take_directory(struct agent *agent, const unsigned char *data, size_t size)
{
	free(agent->directory);
	agent->directory = text_of(data, size);
	return agent->directory ? make_out(agent) : -ENOMEM;
}

static int take_argument(struct agent *agent, const unsigned char *data, size_t size)
{
	return add_text(&agent->arguments, data, size);
}

static int take_variable(struct agent *agent, const unsigned char *data, size_t size)
{
	return add_text(&agent->variables, data, size);
}

static int take_limit(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)size;
	if (agent->limits_count == AGENT_LIMITS_MAX) {
		return -E2BIG;
	}
	agent->limits[agent->limits_count++] = (struct agent_limit){
		.resource = (int)frame_get_u32(data),
		.value = frame_get_u64(data + 4),
	};
	return 0;
}

static int take_filter(struct agent *agent, const unsigned char *data, size_t size)
{
	if (size % 8 != 0 || size > AGENT_FILTER_MAX - agent->filter_size) {
		return -E2BIG;
	}
	memcpy(agent->filter + agent->filter_size, data, size);
	agent->filter_size += size;
	return 0;
}

static int take_landlock(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)size;
	agent->landlock = (int)frame_get_u32(data);
	return 0;
}

static int take_place(struct agent *agent, const unsigned char *data, size_t size)
{
	uint32_t use = frame_get_u32(data);

	if (agent->places_count == AGENT_PLACES_MAX || use >= FRAME_PLACES) {
		return -E2BIG;
	}
	char *path = text_of(data + 4, size - 4);
	if (!path) {
		return -ENOMEM;
	}
	agent->places[agent->places_count++] =
		(struct landlock_place){ .path = path,
					 .writable = use == FRAME_PLACE_WRITE,
					 .device = use == FRAME_PLACE_DEVICE };
	return 0;
}

static int take_listen(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)data;
	(void)size;
	agent->listens = true;
	return 0;
}

static int take_ids(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)size;
	agent->has_ids = true;
	agent->user = frame_get_u32(data);
	agent->group = frame_get_u32(data + 4);
	return agent->user && agent->group ? 0 : -EINVAL;
}

static int take_value_file(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)size;
	agent->value_size = frame_get_u32(data);
	agent->value_sealed = frame_get_u32(data + 4) == 1;
	return agent->value_size <= FRAME_VALUE_MAX ? 0 : -E2BIG;
}

static int take_channel(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)size;
	for (int i = 0; i < 2; i++) {
		agent->channel[i] = frame_get_u32(data + 4 * (size_t)i);
		if (agent->channel[i] < 3 || agent->channel[i] >= AGENT_ROOM_FDS) {
			return -EINVAL;
		}
	}
	return 0;
}

static int take_return(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)size;
	agent->returns = true;
	frame_get_bounds(data, &agent->bounds);
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool is_plain(const char *part)
{
	return part[0] && strcmp(part, ".") != 0 && strcmp(part, "..") != 0;
}

/* The program's, if it is another user than the agent. */
static int give(const struct agent *agent, int dir, const char *name)
{
	int r = !agent->has_ids
			? 0
			: fchownat(dir, name, agent->user, agent->group, AT_SYMLINK_NOFOLLOW);

	return r < 0 ? -errno : 0;
}

static int make_parent(const struct agent *agent, int dir, const char *name)
{
	if (!is_plain(name)) {
		return -EINVAL;
	}
	if (mkdirat(dir, name, 0700) == 0) {
		int r = give(agent, dir, name);
		if (r < 0) {
			return r;
		}
	}
	int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return next < 0 ? -errno : next;
}

/* Makes the missing parents of a file. The innermost directory, or -errno. */
static int open_parent(const struct agent *agent, char *name, char **last)
{
	int dir = open(agent->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (char *slash; dir >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		*slash = '\0';
		int next = make_parent(agent, dir, name);
		close(dir);
		if (next < 0) {
			return next;
		}
		dir = next;
	}
	*last = name;
	return dir < 0 ? -errno : dir;
}

static int take_file(struct agent *agent, const unsigned char *data, size_t size)
{
	mode_t mode = (mode_t)frame_get_u32(data) & 0777;
	char name[4096], *last = NULL;

	close_fd(&agent->file);
	if (size - 4 >= sizeof(name) || !agent->directory) {
		return -EINVAL;
	}
	memcpy(name, data + 4, size - 4);
	name[size - 4] = '\0';
	_cleanup_close_ int dir = open_parent(agent, name, &last);
	if (dir < 0 || !is_plain(last)) {
		return dir < 0 ? dir : -EINVAL;
	}
	agent->file = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return agent->file < 0 ? -errno : give(agent, dir, last);
}

static int take_file_data(struct agent *agent, const unsigned char *data, size_t size)
{
	return agent->file < 0 ? -EINVAL : write_all(agent->file, data, size);
}

static const struct {
	int (*take)(struct agent *agent, const unsigned char *data, size_t size);
	enum frame_step step;
	bool late; /* also for an interpreter that waits: the rest is in force already */
} kinds[FRAME_KINDS] = {
	[FRAME_CLOCK] = { own_clock, FRAME_STEP_CLOCK, true },
	[FRAME_ENTROPY] = { own_entropy, FRAME_STEP_ENTROPY, false },
	[FRAME_WORK] = { own_work, FRAME_STEP_WORK, false },
	[FRAME_IDS] = { take_ids, FRAME_STEP_IDS, false },
	[FRAME_DIRECTORY] = { take_directory, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_ARGUMENT] = { take_argument, FRAME_STEP_ASSIGNMENT, true },
	[FRAME_VARIABLE] = { take_variable, FRAME_STEP_ASSIGNMENT, true },
	[FRAME_LIMIT] = { take_limit, FRAME_STEP_ASSIGNMENT, true },
	[FRAME_FILTER] = { take_filter, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_LANDLOCK] = { take_landlock, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_PLACE] = { take_place, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_LISTEN] = { take_listen, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_FILE] = { take_file, FRAME_STEP_FILE, true },
	[FRAME_FILE_DATA] = { take_file_data, FRAME_STEP_FILE, true },
	[FRAME_VALUE_FILE] = { take_value_file, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_CHANNEL] = { take_channel, FRAME_STEP_ASSIGNMENT, false },
	[FRAME_RETURN] = { take_return, FRAME_STEP_ASSIGNMENT, true },
	[FRAME_ADDRESS] = { network_address, FRAME_STEP_NETWORK, false },
	[FRAME_PORT] = { network_port, FRAME_STEP_NETWORK, false },
};

int assignment_take(struct agent *agent, const struct frame_head *head, const unsigned char *data,
		    enum frame_step *step)
{
	if (!kinds[head->kind].take || (agent->state == AGENT_HOLDS && !kinds[head->kind].late)) {
		return -EPROTO;
	}
	*step = kinds[head->kind].step;
	return kinds[head->kind].take(agent, data, head->size);
}
