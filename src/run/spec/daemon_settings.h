/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's settings of a container daemon: Docker or Podman. */
#ifndef BRIG_RUN_SPEC_DAEMON_SETTINGS_H
#define BRIG_RUN_SPEC_DAEMON_SETTINGS_H

struct daemon_settings {
	char *socket;  /* owned: absolute path; NULL: as the environment says, or the usual one */
	char *image;   /* owned: the operator's; NULL: brig's own */
	char *runtime; /* owned: the name of the daemon's OCI runtime; NULL: the daemon's choice */
};
#endif
