/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rule was set: the file, or the built-in text, with the line. */
#ifndef BRIG_POLICY_ORIGIN_H
#define BRIG_POLICY_ORIGIN_H

#include "base/bytes/buf.h"
#include "base/json/json_out.h"

enum origin_kind {
	ORIGIN_UNSAID,  /* set by no text: brig's own behaviour */
	ORIGIN_FILE,    /* a file of the operator, or one given by the caller */
	ORIGIN_POLICY,  /* a built-in policy */
	ORIGIN_GROUP,   /* a built-in group of system calls: "@basic" */
	ORIGIN_MODULES, /* the guard's table of modules */
};

struct origin {
	enum origin_kind kind;
	char name[256]; /* path, name of the policy, "@basic" */
	char key[160];  /* "limits.memory"; or "" */
	int line, column;
};

/* "x.json:12:3", "built-in policy default, line 12", "@basic, basic.rules line 9". */
void origin_print(const struct origin *origin, struct buf *out);
/* {"kind", "name", "key", "line", "column"}; null when no text sets it. */
void origin_print_json(const struct origin *origin, const char *key, struct json_out *out);
#endif
