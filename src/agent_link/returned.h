/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the files that an agent returns into a directory of brig's own. The agent may be the
 * program's: every path, size and order is checked, and the first lie ends it.
 */
#ifndef BRIG_AGENT_LINK_RETURNED_H
#define BRIG_AGENT_LINK_RETURNED_H

#include "framed/frame.h"

/* An entry counts as much as a page of data. */
#define RETURNED_ENTRY_BYTES 4096u

struct returned {
	int root;          /* borrowed */
	uint64_t file_max; /* bytes of the largest file that the program can make */
	int file;          /* owned: the last one; -1: none */
	uint64_t size, at; /* of that file: its size, and the end of its last data */
	uint64_t received; /* bytes of data, and a page for each entry */
};

/* Takes a complete OUT frame. 0; -EPROTO: it cannot be right. */
int returned_take(struct returned *returned, const struct frame_head *head,
		  const unsigned char *data);
void returned_done(struct returned *returned);
#endif
