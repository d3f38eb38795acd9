/* SPDX-License-Identifier: Apache-2.0 */
/* The whole record as JSON, for other programs. */
#include "lib/learn/learn.h"

static void print_calls(const struct learn *learn, struct json_out *json)
{
	json_open(json, "calls", '[');
	for (unsigned i = 0; i < FILTER_CALLS_MAX; i++) {
		const struct learn_call *use = &learn->calls[i];

		if (!use->allowed && !use->answered && !use->refused) {
			continue;
		}
		json_open(json, NULL, '{');
		json_text(json, "call", syscall_name(i));
		json_u64(json, "allowed", use->allowed);
		json_u64(json, "answered", use->answered);
		json_u64(json, "refused", use->refused);
		json_text(json, "first", use->first[0] ? use->first : NULL);
		json_text(json, "reason", use->refused ? use->denial : use->reason);
		if (use->refused) {
			json_text(json, "denied", use->denied_first);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void print_files(const struct learn *learn, struct json_out *json)
{
	json_open(json, "files", '[');
	for (size_t i = 0; i < learn->paths_count; i++) {
		const struct learn_path *path = &learn->paths[i];

		json_open(json, NULL, '{');
		json_text(json, "path", path->path);
		json_bool(json, "read", (path->uses & WATCHED_READ) != 0);
		json_bool(json, "written", (path->uses & WATCHED_WRITE) != 0);
		json_bool(json, "executed", (path->uses & WATCHED_EXEC) != 0);
		json_bool(json, "in_cell", !path->absent);
		json_u64(json, "count", path->count);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "files_untold", learn->paths_untold);
}

void learn_json(const struct learn *learn, struct json_out *json)
{
	json_u64(json, "runs", learn->runs);
	print_calls(learn, json);
	print_files(learn, json);
	json_open(json, "network", '{');
	json_list(json, "reached", &learn->reached);
	json_list(json, "refused", &learn->missed);
	json_list(json, "names", &learn->names);
	json_list(json, "addresses", &learn->addresses);
	json_close(json, '}');
	json_u64(json, "children", learn->children);
	json_bool(json, "exec_writable", learn->exec_writable);
	json_open(json, "peak", '{');
	json_ms(json, "wall_ms", learn->peak.wall_ns);
	json_ms(json, "cpu_ms", learn->peak.cpu_ns);
	json_u64(json, "memory_bytes", learn->peak.memory_peak_bytes);
	json_u64(json, "processes", learn->peak.processes_peak);
	json_u64(json, "disk_bytes", learn->peak.disk_bytes);
	json_u64(json, "net_bytes", learn->peak.net_bytes);
	json_u64(json, "stdout_bytes", learn->stdout_bytes);
	json_u64(json, "stderr_bytes", learn->stderr_bytes);
	json_close(json, '}');
}
