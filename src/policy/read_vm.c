/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of virtual machines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "policy/policy_reader.h"

const char *const vm_accel_names[VM_ACCELS] = { "kvm", "tcg", "auto" };

static int read_accel(struct policy_reader *reader, const char *path, json_t *value)
{
	unsigned choice = 0;
	int r = read_choice(reader, path, value,
			    &(const struct reader_choice){ vm_accel_names, VM_ACCELS }, &choice);

	if (r == 0) {
		reader->policy->vm.accel = (enum vm_accel)choice;
	}
	return r;
}

static int read_path(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (text[0] != '/') {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is no absolute path", text);
		error_remedy(reader->err, "write the whole path; or leave %s out", path);
		return -EINVAL;
	}
	char *copy = strdup(text);
	if (!copy) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	free(*ret);
	*ret = copy;
	return 0;
}

static int read_qemu(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_path(reader, path, value, &reader->policy->vm.qemu);
}

static int read_kernel(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_path(reader, path, value, &reader->policy->vm.kernel);
}

/* The loader reads its file, which only the operator can write. */
static int read_monitor_name(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (!id_name_valid(text)) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is no name of a machine", text);
		error_remedy(reader->err, "use \"qemu\", or NAME of a machines/NAME.json");
		return -EINVAL;
	}
	snprintf(reader->policy->vm_monitor, sizeof(reader->policy->vm_monitor), "%s", text);
	return 0;
}

int read_vm(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "accel", read_accel },
		{ "qemu", read_qemu },
		{ "kernel", read_kernel },
		{ "monitor", read_monitor_name },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}
