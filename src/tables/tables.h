/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of brig as JSON; each function adds one key to the object. */
#ifndef BRIG_TABLES_TABLES_H
#define BRIG_TABLES_TABLES_H

#include "base/json/json_out.h"

void tables_commands(struct json_out *out);     /* "commands": with options and actions */
void tables_limits(struct json_out *out);       /* "limits" */
void tables_providers(struct json_out *out);    /* "providers": names */
void tables_config_keys(struct json_out *out);  /* "config_keys": of serve.json */
void tables_policy_keys(struct json_out *out);  /* "policy_keys": names */
void tables_runtime_keys(struct json_out *out); /* "runtime_keys": names, "compile.argv" */
#endif
