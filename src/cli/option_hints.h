/* SPDX-License-Identifier: Apache-2.0 */
/* Options of other tools, and their equivalents in brig. */
#ifndef BRIG_CLI_OPTION_HINTS_H
#define BRIG_CLI_OPTION_HINTS_H

/* A remedy for an option that the command does not have; NULL: none is known. */
const char *option_hint(const char *command, const char *option);
#endif
