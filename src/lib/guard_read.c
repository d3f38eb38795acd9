/* What the guard in a cell has to say: see guard.h. Every byte may be the program's. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/run.h"
#include "lib/guard.h"

static void copy(char *to, size_t size, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(to, size, "%s", text ? text : "");
	/* A character that does not fit goes as a whole. */
	size_t length = strlen(to);
	while (length > 0 && text && strlen(text) > length &&
	       ((unsigned char)to[length - 1] & 0x80)) {
		bool first = ((unsigned char)to[length - 1] & 0xc0) == 0xc0;
		to[--length] = '\0';
		if (first) {
			break;
		}
	}
	for (char *at = to; *at; at++) {
		if ((unsigned char)*at < ' ' && *at != '\n') {
			*at = ' ';
		}
	}
}

static uint32_t number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && value < INT32_MAX ? (uint32_t)value : 0;
}

static void take_risk(const json_t *risk, struct brig_result *result)
{
	if (!json_is_object(risk)) {
		return;
	}
	result->risk_known = true;
	result->risk = number(risk, "score") > 100 ? 100 : number(risk, "score");
	copy(result->risk_reasons, sizeof(result->risk_reasons), risk, "reasons");
}

static void take_refusal(const json_t *why, struct brig_result *result)
{
	struct brig_refusal *refusal = &result->refusal;

	result->refused = true;
	refusal->line = number(why, "line");
	refusal->column = number(why, "column");
	copy(refusal->rule, sizeof(refusal->rule), why, "rule");
	copy(refusal->reason, sizeof(refusal->reason), why, "reason");
	copy(result->remedy, sizeof(result->remedy), why, "remedy");
	copy(result->operator_remedy, sizeof(result->operator_remedy), why, "operator_remedy");
	events_note(result, &(struct event){ .kind = BRIG_EVENT_GUARD_REFUSED,
					     .subject = refusal->rule,
					     .subject_size = strlen(refusal->rule),
					     .reason = refusal->reason,
					     .at_ns = result->usage.wall_ns });
}

/* Before it ran. */
static void reject(struct brig_result *result)
{
	result->status = BRIG_REJECTED;
	result->exit_code = -1;
	result->signal = 0;
	snprintf(result->cause, sizeof(result->cause), "%s",
		 strcmp(result->refusal.rule, "risk") == 0 ? "risk" : "guard");
}

/* The refusals that come while a program runs: of these the program itself may be the author. */
static const struct {
	const char *rule;
	bool limited; /* the rule's name is that of a limit, too */
	bool ends;    /* the program was not asked */
} stops[] = {
	{ "import", false, false },   { "attribute", false, false }, { "call", false, false },
	{ "operations", true, true }, { "recursion", true, false },
};

static void stop(const json_t *why, struct brig_result *result)
{
	char rule[32];
	size_t i = 0;

	copy(rule, sizeof(rule), why, "rule");
	while (i < ARRAY_SIZE(stops) && strcmp(rule, stops[i].rule) != 0) {
		i++;
	}
	if (i == ARRAY_SIZE(stops)) {
		return;
	}
	take_refusal(why, result);
	snprintf(result->cause, sizeof(result->cause), "%s", stops[i].limited ? rule : "guard");
	if (stops[i].limited) {
		json_int_t limit = json_integer_value(json_object_get(why, "limit"));
		snprintf(result->limit_name, sizeof(result->limit_name), "%s", rule);
		result->limit = result->peak = limit > 0 ? (uint64_t)limit : 0;
	}
	if (stops[i].ends) {
		result->status = BRIG_DENIED;
		result->exit_code = -1;
	}
}

void guard_take(const struct guard *guard, const char *text, size_t size, bool refused,
		struct brig_result *result)
{
	json_t *record = size ? json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
	json_t *why = json_object_get(record, "refusal");

	take_risk(json_object_get(record, "risk"), result);
	if (refused && json_is_object(why)) {
		take_refusal(why, result);
		reject(result);
	} else if (json_is_object(why) && guard->mode != GUARD_OFF &&
		   result->status == BRIG_FAILED) {
		stop(why, result);
	}
	json_decref(record);
}

/* It ended well, and the guard has not said that it may begin: then something is wrong with us. */
static void doubt(struct brig_result *result)
{
	if (result->status != BRIG_OK && result->status != BRIG_FAILED) {
		return;
	}
	result->status = BRIG_ERROR;
	result->exit_code = -1;
	snprintf(result->cause, sizeof(result->cause), "guard");
	snprintf(result->remedy, sizeof(result->remedy),
		 "The guard could not look at the code; the code was not run.");
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "stderr has what went wrong; report this.");
}

void guard_read(const struct guard *guard, int fd, struct brig_result *result)
{
	char text[RUN_GUARD_BYTES];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), RUN_VALUE_BYTES);
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
	bool decided = seals >= 0 && (seals & F_SEAL_SEAL);
	bool refused = decided && (seals & F_SEAL_WRITE);

	if (!decided) {
		doubt(result);
	}
	if (decided && n > 0) {
		guard_take(guard, text, strnlen(text, (size_t)n), refused, result);
	}
	if (refused && guard->check && result->status == BRIG_OK) {
		snprintf(result->cause, sizeof(result->cause), "checked");
	}
}
