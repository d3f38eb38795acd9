/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run's request, and those of a token. */
#include "front/request/execution_request_parts.h"

#include "base/cleanup.h"
#include "base/limits.h"

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

/*
 * The fields of the table of limits, with these functions for times and for numbers. A limit whose
 * least value is above 1 is left to the policy, whose refusal names the range.
 */
typedef int (*take_function)(void *into, const struct field *field, json_t *value,
			     const char *where, struct problem *problem);

static void limit_fields(take_function ms, take_function count, struct field fields[LIMITS_COUNT])
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		bool time = info->unit == UNIT_TIME;
		fields[i] = (struct field){
			.name = info->name,
			.take = time ? ms : count,
			.offset = info->offset,
			.min = time                            ? info->least != 0
			       : info->unit == UNIT_MILLICORES ? info->least
			       : info->least > 1               ? 2
							       : 1,
			.max = time ? MS_MAX : BYTES_MAX,
		};
	}
}

int execution_request_ceilings(json_t *value, const char *where, struct brig_limits *ret,
			       struct problem *problem)
{
	struct field fields[LIMITS_COUNT];

	limit_fields(field_ms, field_count, fields);
	return fields_read(value, where, fields, LIMITS_COUNT, ret, problem);
}

int execution_request_take_limits(void *into, const struct field *field, json_t *value,
				  const char *where, struct problem *problem)
{
	struct field fields[LIMITS_COUNT];

	(void)field;
	limit_fields(execution_request_take_ms, asked_count, fields);
	return fields_read(value, where, fields, LIMITS_COUNT,
			   &((struct execution_request *)into)->call.run.limits, problem);
}
