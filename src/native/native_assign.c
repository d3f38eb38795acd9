/* SPDX-License-Identifier: Apache-2.0 */
/* The assignment of a native cell that was made ahead, by a template or by a driver. */
#include "base/cleanup.h"
#include "native/cell/init.h"
#include "native/native_internal.h"

int native_assign(struct run *run, const struct spec *spec)
{
	struct native_cell *native = native_of(run);
	struct init_go go = { .wants = run->options.session ? INIT_WANTS_CHANNEL
				       : run->options.value ? INIT_WANTS_VALUE
							    : INIT_WANTS_NOTHING };

	if (!run->options.session) {
		close_fd(&native->channel);
	}
	if (native->driver.state != DRIVER_NONE) {
		return native_driver_assign(run, spec);
	}
	int r = assignment_write(native->assignment, spec);
	if (r == 0) {
		r = feed_write(native->go, &go, sizeof(go));
	}
	close_fd(&native->assignment);
	close_fd(&native->go);
	return r;
}
