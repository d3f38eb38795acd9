/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in a machine's file: machine_config.c. */
#ifndef BRIG_POLICY_MACHINE_CONFIG_H
#define BRIG_POLICY_MACHINE_CONFIG_H

#include "policy/machine/machine.h"
#include "policy/tool_keys.h"

/* Checks it, and keeps it as a text with words. */
int machine_read_config(struct policy_reader *reader, const char *path, json_t *value, char **ret);
#endif
