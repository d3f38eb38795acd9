/* SPDX-License-Identifier: Apache-2.0 */
/* The reason for a network rule: a text for each, which the operator may require. */
#include <errno.h>
#include <string.h>

#include "policy/policy_reader.h"

#define REASON_MAX 256

int read_reason(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	size_t size = strlen(text);
	bool fits = size <= REASON_MAX && strspn(text, " ") < size;
	for (size_t i = 0; fits && i < size; i++) {
		fits = (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
	}
	if (!fits) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "must be one line of text, at most %d bytes", REASON_MAX);
		return -EINVAL;
	}
	free(*ret);
	*ret = strdup(text);
	return *ret ? 0 : error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
}

int read_reasons(struct policy_reader *reader, const char *path, json_t *value)
{
	static const char *const words[] = { "optional", "required" };
	const struct reader_choice names = { words, 2 };
	unsigned choice = 0;
	int r = read_choice(reader, path, value, &names, &choice);

	reader->policy->network.reasons_required = choice == 1;
	return r;
}

int policy_network_check_reasons(const struct policy_network *network, const char *name,
				 struct brig_error *err)
{
	for (size_t i = 0; network->reasons_required && i < network->allow_count; i++) {
		char text[NET_RULE_TEXT];

		if (network->reasons[i]) {
			continue;
		}
		error_set(
			err, BRIG_E_POLICY, EINVAL,
			"policy %s: network.allow[%zu] (%s) has no \"reason\", which the operator "
			"requires",
			name, i, net_rule_format(&network->allow[i], text));
		error_remedy(err, "write it as { \"host\": \"%s\", \"reason\": \"...\" }", text);
		return -EINVAL;
	}
	return 0;
}
