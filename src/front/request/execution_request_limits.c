/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run's request, and those of a token. */
#include "front/request/execution_request_parts.h"

#include "base/cleanup.h"

#define MS_MAX    UINT64_C(1000000000000)
#define BYTES_MAX (UINT64_C(1) << 50)

/*
 * The values are not checked here: the policy knows the allowed range and names it in its refusal.
 * 0 would mean the policy's default, so a value below any range is passed on as the smallest
 * number.
 */
int execution_request_take_ms(void *into, const struct field *field, json_t *value,
			      const char *where, struct problem *problem)
{
	uint64_t *ret = (uint64_t *)(void *)((char *)into + field->offset);

	if (!json_is_number(value)) {
		return field_wrong(problem, where, "a number of milliseconds", value);
	}
	double ms = json_number_value(value);
	if (ms == 0 && field->min == 0) {
		return 0; /* the policy's default, which is the least */
	}
	*ret = !(ms >= 1e-6) ? 1 : ms > (double)MS_MAX ? MS_MAX * 1000000 : (uint64_t)(ms * 1e6);
	return 0;
}

static int asked_count(void *into, const struct field *field, json_t *value, const char *where,
		       struct problem *problem)
{
	uint64_t *ret = (uint64_t *)(void *)((char *)into + field->offset);

	if (!json_is_integer(value)) {
		return field_wrong(problem, where, "a whole number", value);
	}
	json_int_t number = json_integer_value(value);
	if (number < 1 && field->min == 1) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: must be at least 1",
				   where);
	}
	*ret = number < 1 ? 1 : (uint64_t)number > BYTES_MAX ? BYTES_MAX : (uint64_t)number;
	return 0;
}

/* The smallest value that makes sense, and a value above the limits of any policy. */
#define LIMIT(key, take, name, least, most)                                                        \
	{                                                                                          \
		key, take, offsetof(struct brig_limits, name), least, most                         \
	}
#define LIMITS(ms, count)                                                                          \
	LIMIT("wall_ms", ms, wall_ns, 1, MS_MAX), LIMIT("cpu_ms", ms, cpu_ns, 1, MS_MAX),          \
		LIMIT("cpu_millicores", count, cpu_millicores, 10, BYTES_MAX),                     \
		LIMIT("memory_bytes", count, memory_bytes, 2, BYTES_MAX),                          \
		LIMIT("processes", count, processes, 1, BYTES_MAX),                                \
		LIMIT("disk_bytes", count, disk_bytes, 2, BYTES_MAX),                              \
		LIMIT("disk_inodes", count, disk_inodes, 2, BYTES_MAX),                            \
		LIMIT("open_files", count, open_files, 2, BYTES_MAX),                              \
		LIMIT("file_bytes", count, file_bytes, 1, BYTES_MAX),                              \
		LIMIT("stdout_bytes", count, stdout_bytes, 1, BYTES_MAX),                          \
		LIMIT("stderr_bytes", count, stderr_bytes, 1, BYTES_MAX),                          \
		LIMIT("net_bytes", count, net_bytes, 1, BYTES_MAX),                                \
		LIMIT("grace_ms", ms, grace_ns, 0, MS_MAX)

int execution_request_ceilings(json_t *value, const char *where, struct brig_limits *ret,
			       struct problem *problem)
{
	static const struct field fields[] = { LIMITS(field_ms, field_count) };

	return fields_read(value, where, fields, ARRAY_SIZE(fields), ret, problem);
}

int execution_request_take_limits(void *into, const struct field *field, json_t *value,
				  const char *where, struct problem *problem)
{
	static const struct field fields[] = { LIMITS(execution_request_take_ms, asked_count) };

	(void)field;
	return fields_read(value, where, fields, ARRAY_SIZE(fields),
			   &((struct execution_request_fields *)into)->limits, problem);
}
