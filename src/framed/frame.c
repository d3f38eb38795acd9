/* SPDX-License-Identifier: Apache-2.0 */
/* The format of frames: see frame.h. */
#include "framed/frame.h"

#include <errno.h>
#include <string.h>

#define ANY FRAME_DATA_MAX

const struct frame_info frame_table[FRAME_KINDS] = {
	[FRAME_CLOCK] = { "clock", 8, 8 },
	[FRAME_ENTROPY] = { "entropy", 16, 512 },
	[FRAME_WORK] = { "work", FRAME_WORK_BYTES, FRAME_WORK_BYTES },
	[FRAME_IDS] = { "ids", 8, 8 },
	[FRAME_DIRECTORY] = { "directory", 1, 4095 },
	[FRAME_ARGUMENT] = { "argument", 0, ANY - 1 },
	[FRAME_VARIABLE] = { "variable", 1, ANY - 1 },
	[FRAME_LIMIT] = { "limit", FRAME_LIMIT_BYTES, FRAME_LIMIT_BYTES },
	[FRAME_FILTER] = { "filter", 8, ANY },
	[FRAME_FILE] = { "file", 5, 4 + 4095 },
	[FRAME_FILE_DATA] = { "file data", 1, ANY },
	[FRAME_RETURN] = { "return", FRAME_BOUNDS_BYTES, FRAME_BOUNDS_BYTES },
	[FRAME_VALUE_FILE] = { "value file", 8, 8 },
	[FRAME_CHANNEL] = { "channel", 8, 8 },
	[FRAME_START] = { "start", 0, 0 },
	[FRAME_INPUT] = { "input", 1, FRAME_INPUT_WINDOW },
	[FRAME_INPUT_END] = { "input end", 0, 0 },
	[FRAME_TO_DRIVER] = { "to driver", 1, FRAME_INPUT_WINDOW },
	[FRAME_TO_DRIVER_END] = { "to driver end", 0, 0 },
	[FRAME_MARK] = { "mark", 0, 0 },
	[FRAME_SIGNAL] = { "signal", 4, 4 },
	[FRAME_READY] = { "ready", 4, 4 },
	[FRAME_STARTED] = { "started", 0, 0 },
	[FRAME_STDOUT] = { "stdout", 1, ANY },
	[FRAME_STDERR] = { "stderr", 1, ANY },
	[FRAME_INPUT_TAKEN] = { "input taken", 4, 4 },
	[FRAME_INPUT_CLOSED] = { "input closed", 0, 0 },
	[FRAME_FROM_DRIVER] = { "from driver", 1, ANY },
	[FRAME_DRIVER_TAKEN] = { "driver taken", 4, 4 },
	[FRAME_DRIVER_CLOSED] = { "driver closed", 0, 0 },
	[FRAME_MARKED] = { "marked", 0, 0 },
	[FRAME_VALUE] = { "value", 4, 4 + FRAME_VALUE_MAX },
	[FRAME_DISK] = { "disk", FRAME_DISK_BYTES, FRAME_DISK_BYTES },
	[FRAME_EXITED] = { "exited", FRAME_EXIT_BYTES, FRAME_EXIT_BYTES },
	[FRAME_FAILED] = { "failed", 8, 8 },
	[FRAME_OUT_DIRECTORY] = { "out directory", 1, FRAME_PATH_MAX },
	[FRAME_OUT_LINK] = { "out link", 4 + 2, 4 + FRAME_PATH_MAX + FRAME_TARGET_MAX },
	[FRAME_OUT_NAME] = { "out name", 4 + 2, 4 + 2 * FRAME_PATH_MAX },
	[FRAME_OUT_FILE] = { "out file", 12 + 1, 12 + FRAME_PATH_MAX },
	[FRAME_OUT_DATA] = { "out data", 8 + 1, ANY },
	[FRAME_OUT_END] = { "out end", FRAME_LEFT_BYTES, FRAME_LEFT_BYTES },
	[FRAME_LANDLOCK] = { "landlock", 4, 4 },
	[FRAME_PLACE] = { "place", 5, 4 + 4095 },
	[FRAME_LISTEN] = { "listen", 0, 0 },
	[FRAME_LISTENER] = { "listener", 0, 0 },
	[FRAME_WAIT] = { "wait", 1, 255 },
	[FRAME_WAITING] = { "waiting", 0, 0 },
	[FRAME_ADDRESS] = { "address", FRAME_ADDRESS_BYTES, FRAME_ADDRESS_BYTES },
	[FRAME_PORT] = { "port", 4, 4 },
	[FRAME_FROM_GATE] = { "from gate", FRAME_RECORD_LEAST, FRAME_RECORD_MOST },
	[FRAME_TO_GATE] = { "to gate", FRAME_RECORD_LEAST, FRAME_RECORD_MOST },
};

void frame_put_u32(unsigned char *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++) {
		at[i] = (unsigned char)(value >> (8 * i));
	}
}

void frame_put_u64(unsigned char *at, uint64_t value)
{
	frame_put_u32(at, (uint32_t)value);
	frame_put_u32(at + 4, (uint32_t)(value >> 32));
}

uint32_t frame_get_u32(const unsigned char *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

uint64_t frame_get_u64(const unsigned char *at)
{
	return frame_get_u32(at) | (uint64_t)frame_get_u32(at + 4) << 32;
}

void frame_put_head(unsigned char at[FRAME_HEAD_BYTES], enum frame_kind kind, uint32_t size)
{
	frame_put_u32(at, (uint32_t)kind);
	frame_put_u32(at + 4, size);
}

int frame_get_head(const unsigned char at[FRAME_HEAD_BYTES], struct frame_head *ret)
{
	uint32_t kind = frame_get_u32(at), size = frame_get_u32(at + 4);

	if (kind >= FRAME_KINDS || size < frame_table[kind].least ||
	    size > frame_table[kind].most) {
		return -EPROTO;
	}
	*ret = (struct frame_head){ .kind = (enum frame_kind)kind, .size = size };
	return 0;
}

void frame_put_exit(unsigned char at[FRAME_EXIT_BYTES], const struct frame_exit *value)
{
	frame_put_u32(at, value->code);
	frame_put_u32(at + 4, value->status);
	frame_put_u64(at + 8, value->cpu_ns);
	frame_put_u64(at + 16, value->memory_peak_bytes);
}

void frame_get_exit(const unsigned char at[FRAME_EXIT_BYTES], struct frame_exit *ret)
{
	*ret = (struct frame_exit){
		.code = frame_get_u32(at),
		.status = frame_get_u32(at + 4),
		.cpu_ns = frame_get_u64(at + 8),
		.memory_peak_bytes = frame_get_u64(at + 16),
	};
}

void frame_put_bounds(unsigned char at[FRAME_BOUNDS_BYTES], const struct frame_bounds *value)
{
	frame_put_u64(at, value->bytes);
	frame_put_u64(at + 8, value->inodes);
}

void frame_get_bounds(const unsigned char at[FRAME_BOUNDS_BYTES], struct frame_bounds *ret)
{
	*ret = (struct frame_bounds){ .bytes = frame_get_u64(at), .inodes = frame_get_u64(at + 8) };
}

void frame_put_work(unsigned char at[FRAME_WORK_BYTES], const struct frame_work *value)
{
	frame_put_bounds(at, &value->bounds);
	frame_put_u32(at + 16, value->exec);
	frame_put_u32(at + 20, value->user);
	frame_put_u32(at + 24, value->group);
}

void frame_get_work(const unsigned char at[FRAME_WORK_BYTES], struct frame_work *ret)
{
	frame_get_bounds(at, &ret->bounds);
	ret->exec = frame_get_u32(at + 16);
	ret->user = frame_get_u32(at + 20);
	ret->group = frame_get_u32(at + 24);
}

void frame_put_disk(unsigned char at[FRAME_DISK_BYTES], const struct frame_disk *value)
{
	frame_put_bounds(at, &value->peak);
	frame_put_u32(at + 16, value->full);
}

void frame_get_disk(const unsigned char at[FRAME_DISK_BYTES], struct frame_disk *ret)
{
	frame_get_bounds(at, &ret->peak);
	ret->full = frame_get_u32(at + 16);
}

void frame_put_left(unsigned char at[FRAME_LEFT_BYTES], const struct frame_left *value)
{
	frame_put_u32(at, value->odd_names);
	frame_put_u32(at + 4, value->too_deep);
	frame_put_u32(at + 8, value->too_many);
	frame_put_u32(at + 12, value->over);
}

void frame_get_left(const unsigned char at[FRAME_LEFT_BYTES], struct frame_left *ret)
{
	*ret = (struct frame_left){
		.odd_names = frame_get_u32(at),
		.too_deep = frame_get_u32(at + 4),
		.too_many = frame_get_u32(at + 8),
		.over = frame_get_u32(at + 12),
	};
}

void frame_put_address(unsigned char at[FRAME_ADDRESS_BYTES], const struct frame_address *value)
{
	frame_put_u32(at, value->assigned);
	at[4] = value->family;
	at[5] = value->bits;
	memcpy(at + 6, value->bytes, sizeof(value->bytes));
}

int frame_get_address(const unsigned char at[FRAME_ADDRESS_BYTES], struct frame_address *ret)
{
	*ret = (struct frame_address){
		.assigned = frame_get_u32(at),
		.family = at[4],
		.bits = at[5],
	};
	memcpy(ret->bytes, at + 6, sizeof(ret->bytes));
	return (ret->family == 4 && ret->bits <= 32) || (ret->family == 6 && ret->bits <= 128)
		       ? 0
		       : -EPROTO;
}
