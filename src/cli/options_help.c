/* SPDX-License-Identifier: Apache-2.0 */
/* The help text of a command, from the same table that parses its options. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

#define ABOUT_COLUMN 27

static void add_usage(const char *forms, struct buf *out)
{
	const char *lead = "usage: ";

	while (*forms) {
		size_t length = strcspn(forms, "\n");
		buf_addf(out, "%sbrig %.*s\n", lead, (int)length, forms);
		forms += length + (forms[length] == '\n');
		lead = "       ";
	}
}

static void add_option(const char *name, const char *value, const char *about, struct buf *out)
{
	char left[64];
	int width = snprintf(left, sizeof(left), "  %s%s%s", name, value ? " " : "",
			     value ? value : "");

	if (width < ABOUT_COLUMN - 1) {
		buf_addf(out, "%-*s%s\n", ABOUT_COLUMN, left, about);
	} else {
		buf_addf(out, "%s\n%*s%s\n", left, ABOUT_COLUMN, "", about);
	}
}

void options_help(const struct syntax *syntax, struct buf *out)
{
	struct option_info room[OPTIONS_MAX];
	struct option_rows options = syntax_options(syntax, room);

	add_usage(syntax->usage, out);
	buf_addf(out, "\n%s\n\nOptions:\n", syntax->about);
	for (size_t i = 0; i < options.count; i++) {
		const struct option_info *option = &options.items[i];
		add_option(option->name, option->value, option->about, out);
	}
	add_option("--help", NULL, "show this help", out);
	if (syntax->notes) {
		buf_addf(out, "\n%s\n", syntax->notes);
	}
}
