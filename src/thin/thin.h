/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of the attempt before main(). */
#ifndef BRIG_THIN_THIN_H
#define BRIG_THIN_THIN_H

enum thin_outcome {
	THIN_COLD, /* nothing was done */
	THIN_LOST, /* the service took the run, and ended before it */
};
extern enum thin_outcome thin_outcome;
#endif
