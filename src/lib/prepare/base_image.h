/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the images of brig's own that the containers of a language begin from, before the first run
 * needs them. It waits for the daemon: for the command line.
 */
#ifndef BRIG_LIB_PREPARE_BASE_IMAGE_H
#define BRIG_LIB_PREPARE_BASE_IMAGE_H

#include "base/bytes/buf.h"
#include "lib/context.h"

struct base_images {
	const char *policy;   /* whose provider has images */
	const char *provider; /* NULL: the policy's */
	const char *language;
	/*
	 * Called for each: its name, and its bytes, which the daemon gets only if there is no
	 * `take_tar`. `made` is false where the daemon had it.
	 */
	int (*take_tar)(void *user, const char *name, const struct buf *tar,
			struct brig_error *err);
	void (*take_name)(void *user, const char *name, bool made);
	void *user;
};

/* That of its compiler, if it has one, and that of its programs. */
int build_base_images(struct brig_context *context, const struct base_images *wanted,
		      struct brig_error *err);
#endif
