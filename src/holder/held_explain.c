/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start, for `brig explain`. */
#include "base/json/json_out.h"
#include "holder/held.h"

static void print_step(const struct held_step *step, unsigned number, struct json_out *json,
		       struct buf *out)
{
	if (!json) {
		buf_addf(out, "%3u  %-10s  %-13s  %-40s  %s\n", number, step->actor, step->name,
			 step->what, step->why);
		return;
	}
	json_open(json, NULL, '{');
	json_u64(json, "number", number);
	json_text(json, "actor", step->actor);
	json_text(json, "step", step->name);
	json_text(json, "what", step->what[0] ? step->what : NULL);
	json_text(json, "why", step->why);
	json_close(json, '}');
}

void held_print_steps(const struct held_step *steps, size_t count, const struct spec *spec,
		      struct json_out *json, struct buf *out)
{
	unsigned number = 0;

	if (json) {
		json_open(json, "steps", '[');
	}
	for (size_t i = 0; i < count; i++) {
		if (steps[i].layers == 0 || (steps[i].layers & spec->layers)) {
			print_step(&steps[i], ++number, json, out);
		}
	}
	if (json) {
		json_close(json, ']');
	}
}

const char *held_means(enum layer layer, const char *tool)
{
	switch (layer) {
	case LAYER_SECCOMP:
	case LAYER_NOTIFY:
	case LAYER_LANDLOCK:
		return "brig's agent";
	case LAYER_KEYRING:
	case LAYER_OVERLAY:
	case LAYER_TIMENS:
	case LAYER_UIDRANGE:
		return "brig's holder";
	default:
		return LAYERS_CGROUP & LAYER_BIT(layer) ? "brig's control group" : tool;
	}
}
