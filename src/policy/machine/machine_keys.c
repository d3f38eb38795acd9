/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a machine's file; docs/providers.md explains them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "policy/machine/machine_config.h"

static struct machine *of(struct policy_reader *reader)
{
	return &reader->policy->machine;
}

static int read_description(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_text(reader, path, value, &of(reader)->description);
}

static int read_program(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_program(reader, path, value, &of(reader)->program);
}

static int read_package(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_package(reader, path, value, &of(reader)->package);
}

static int read_tried(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_text(reader, path, value, &of(reader)->tried);
}

static int read_probe_arguments(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct words none = { NULL, 0 };

	return tool_arguments(reader, path, value, &none, &of(reader)->probe);
}

static int read_probe_status(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 0, 255, &of(reader)->probe_status);
}

static int read_probe(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "arguments", read_probe_arguments },
		{ "status", read_probe_status },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

/* Its command line says one of the two: it cannot choose. */
static int read_accel(struct policy_reader *reader, const char *path, json_t *value)
{
	unsigned choice = 0;
	int r = read_choice(reader, path, value,
			    &(const struct reader_choice){ vm_accel_names, VM_ACCEL_AUTO },
			    &choice);

	of(reader)->accel = r < 0 ? VM_ACCEL_KVM : (enum vm_accel)choice;
	return r;
}

static int read_stream(struct policy_reader *reader, const char *path, json_t *value)
{
	static const char *const names[MACHINE_STREAMS] = { "stdio", "socket" };
	unsigned choice = 0;
	int r = read_choice(reader, path, value,
			    &(const struct reader_choice){ names, MACHINE_STREAMS }, &choice);

	of(reader)->stream = r < 0 ? MACHINE_STDIO : (enum machine_stream)choice;
	return r;
}

static int read_urandom(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_bool(reader, path, value, &of(reader)->urandom);
}

static int read_arguments(struct policy_reader *reader, const char *path, json_t *value)
{
	return tool_arguments(reader, path, value, &machine_words, &of(reader)->arguments);
}

static int read_config(struct policy_reader *reader, const char *path, json_t *value)
{
	return machine_read_config(reader, path, value, &of(reader)->config);
}

static const struct reader_key keys[] = {
	{ "description", read_description },
	{ "program", read_program },
	{ "package", read_package },
	{ "tried", read_tried },
	{ "probe", read_probe },
	{ "accel", read_accel },
	{ "stream", read_stream },
	{ "urandom", read_urandom },
	{ "arguments", read_arguments },
	{ "config", read_config },
};

static const char *const required[] = { "program", "arguments" };

/* --- the whole -------------------------------------------------------------------------------- */

static int missing(struct policy_reader *reader, enum machine_word word)
{
	char what[64], remedy[128];

	snprintf(what, sizeof(what), "{%s} is missing", machine_words.list[word].name);
	snprintf(remedy, sizeof(remedy), "name {%s} where the monitor wants it",
		 machine_words.list[word].name);
	return tool_wrong(reader, "arguments", what, remedy);
}

/* Without one of these there is no machine, or one without a limit. */
static int check_words(struct policy_reader *reader)
{
	static const enum machine_word always[] = { MACHINE_KERNEL, MACHINE_INITRD, MACHINE_IMAGE,
						    MACHINE_MEMORY_MIB, MACHINE_CMDLINE };
	const struct machine *machine = of(reader);
	_cleanup_(strlist_done)
	struct strlist all = { 0 };
	int r = strlist_add(&all, machine->config ? machine->config : "");

	for (size_t i = 0; r == 0 && i < machine->arguments.count; i++) {
		r = strlist_add(&all, machine->arguments.items[i]);
	}
	if (r < 0) {
		return error_errno(reader->err, BRIG_E_SYSTEM, -r, "arguments");
	}
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		if (!words_have(&machine_words, &all, always[i])) {
			return missing(reader, always[i]);
		}
	}
	bool config = words_have(&machine_words, &machine->arguments, MACHINE_CONFIG);
	if (config != (machine->config != NULL)) {
		return config ? tool_wrong(reader, "arguments", "there is no config for {config}",
					   "add the key config")
			      : missing(reader, MACHINE_CONFIG);
	}
	bool path = words_have(&machine_words, &all, MACHINE_SERIAL);
	if (path != (machine->stream == MACHINE_SOCKET)) {
		return path ? tool_wrong(reader, "arguments", "{socket} is of no use",
					 "set stream to \"socket\"")
			    : missing(reader, MACHINE_SERIAL);
	}
	return 0;
}

void machine_done(struct machine *machine)
{
	free(machine->description);
	free(machine->program);
	free(machine->package);
	free(machine->tried);
	free(machine->config);
	strlist_done(&machine->arguments);
	strlist_done(&machine->probe);
	*machine = (struct machine){ 0 };
}

int machine_parse(const char *name, const char *place, const char *text, size_t size,
		  struct machine *ret, struct brig_error *err)
{
	_cleanup_(json_doc_done)
	struct json_doc doc = { 0 };
	struct policy scratch = { 0 };
	struct policy_reader reader = { &doc, &scratch, err };
	int r = json_doc_load(&doc, place, text, size, err);

	r = r < 0 ? r : read_object(&reader, "", doc.root, keys, ARRAY_SIZE(keys));
	r = r < 0 ? r : tool_required(&reader, required, ARRAY_SIZE(required));
	r = r < 0 ? r : check_words(&reader);
	if (r < 0) {
		machine_done(&scratch.machine);
		return r;
	}
	(void)snprintf(scratch.machine.name, sizeof(scratch.machine.name), "%s", name);
	machine_done(ret);
	*ret = scratch.machine;
	return 0;
}
