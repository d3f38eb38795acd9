/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start, for `brig explain`: the plan, with times if it was carried out. */
#include "native/native.h"
#include "native/native_internal.h"

static void print(const struct plan *plan, const uint64_t *took_ns, bool json, struct buf *out)
{
	if (json) {
		plan_print_json(plan, took_ns, out);
	} else {
		plan_print(plan, took_ns, out);
	}
}

void native_explain(const struct spec *spec, bool json, struct buf *out)
{
	struct brig_error unused = { 0 };
	struct plan plan = { 0 };

	if (plan_make(spec, &plan, &unused) < 0) {
		out->failed = true;
		return;
	}
	print(&plan, NULL, json, out);
	plan_done(&plan);
}

void native_explain_run(const struct run *run, bool json, struct buf *out)
{
	const struct native_cell *native = native_of(run);

	print(&native->plan, native->took_ns, json, out);
}
