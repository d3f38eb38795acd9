/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a run for people and for programs. */
#include "check/rules.h"

/* "4, 94-96": consecutive numbers as one range. */
static void add_numbers(const struct run_rule *rule, struct buf *out)
{
	for (unsigned i = 0; i < rule->steps_count; i++) {
		unsigned last = i;

		while (last + 1 < rule->steps_count &&
		       rule->steps[last + 1] == rule->steps[last] + 1) {
			last++;
		}
		buf_addf(out, "%s%u", i ? ", " : "", rule->steps[i]);
		if (last > i) {
			buf_addf(out, "-%u", rule->steps[last]);
		}
		i = last;
	}
}

void run_rules_print(const struct run_rules *rules, struct buf *out)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct run_rule *rule = &rules->items[i];

		buf_addf(out, "%-17s  %-14s  %s", rule->name, rule->value,
			 rule->asked ? "requested, within " : "");
		origin_print(&rule->origin, out);
		if (rule->steps_count) {
			buf_addf(out, "; step%s ", rule->steps_count > 1 ? "s" : "");
			add_numbers(rule, out);
		}
		buf_addc(out, '\n');
	}
	out->failed |= rules->failed;
}

void run_rules_print_json(const struct run_rules *rules, const char *key, struct json_out *out)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < rules->count; i++) {
		const struct run_rule *rule = &rules->items[i];
		struct buf place = { 0 };

		origin_print(&rule->origin, &place);
		json_open(out, NULL, '{');
		json_text(out, "rule", rule->name);
		json_text(out, "value", rule->value);
		json_bool(out, "asked", rule->asked);
		json_text(out, "place", place.data);
		origin_print_json(&rule->origin, "origin", out);
		json_open(out, "steps", '[');
		for (unsigned k = 0; k < rule->steps_count; k++) {
			json_u64(out, NULL, rule->steps[k]);
		}
		json_close(out, ']');
		json_close(out, '}');
		out->buf->failed |= place.failed;
		buf_done(&place);
	}
	json_close(out, ']');
	out->buf->failed |= rules->failed;
}
