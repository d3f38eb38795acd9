/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as people write them: a parsed rule is written and parsed again as the same. */
#include <stdlib.h>
#include <string.h>

#include "net/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	char written[NET_RULE_TEXT], again[NET_RULE_TEXT];
	struct net_rule rule, other;

	if (text && net_rule_parse(text, &rule, NULL) == 0) {
		if (!net_rule_is_sound(&rule) || !net_rule_covers(&rule, &rule) ||
		    net_rule_parse(net_rule_format(&rule, written), &other, NULL) < 0 ||
		    strcmp(written, net_rule_format(&other, again)) != 0) {
			abort();
		}
	}
	free(text);
	return 0;
}
