/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a cell that shares no network with its gate. The agent in the cell listens on
 * the addresses of the gate, and each connection becomes a numbered stream of records:
 *
 *	1 byte kind, 3 bytes zero, 4 bytes number (little-endian), then the data
 *
 * A record is the data of one frame between agent and brig, and one packet between brig and gate.
 * brig checks no more than its form; the gate checks all of it, because the program may have taken
 * the agent over.
 *
 * Numbers grow, and none is used twice. Each side sends data only within the window of the other,
 * ends its direction with END, or both with RESET. Records of a stream that is over are dropped:
 * they were on their way. Queries and answers are those of DNS by UDP; the agent numbers them apart
 * from the streams, and may lose them.
 */
#ifndef BRIG_NET_CELL_STREAM_H
#define BRIG_NET_CELL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/address.h"

#define CELL_RECORD_HEAD 8u
#define CELL_PIECE_MAX   32768u /* bytes of data in one record */
#define CELL_RECORD_MAX  (CELL_RECORD_HEAD + CELL_PIECE_MAX)
#define CELL_WINDOW      131072u /* bytes that are not yet taken, of a stream in one direction */
#define CELL_STREAMS_MAX 320u    /* at a time: the most that a policy allows, and refused ones */
#define CELL_QUERY_MAX   512u    /* of DNS */
/* A part of the window is given back at once: not each byte alone. */
#define CELL_TAKEN_LEAST (CELL_WINDOW / 4)

enum cell_record_kind {
	CELL_OPEN,   /* from the cell: u8 family, u8 zero, u16 port, 16 bytes address: the target */
	CELL_DATA,   /* the next bytes */
	CELL_TAKEN,  /* u32: so many bytes were passed on, and may be sent again */
	CELL_END,    /* no more data comes */
	CELL_RESET,  /* it is over, in both directions */
	CELL_QUERY,  /* from the cell: a query of DNS */
	CELL_ANSWER, /* to the cell: its answer, with the same number */
	CELL_RECORD_KINDS,
};

#define CELL_TARGET_BYTES 20u

struct cell_record {
	enum cell_record_kind kind;
	uint32_t number;
	const unsigned char *data;
	size_t size;
};

void cell_record_head(unsigned char at[CELL_RECORD_HEAD], enum cell_record_kind kind,
		      uint32_t number);
/* 0; -EPROTO: no such kind, one of the other direction, or a size that it cannot have. */
int cell_record_read(const unsigned char *data, size_t size, bool from_cell,
		     struct cell_record *ret);
void cell_target_put(unsigned char at[CELL_TARGET_BYTES], const struct net_address *address,
		     uint16_t port);
/* 0, or -EPROTO: no such family. */
int cell_target_get(const unsigned char at[CELL_TARGET_BYTES], struct net_address *address,
		    uint16_t *port);
void cell_taken_put(unsigned char at[4], uint32_t taken);
uint32_t cell_taken_get(const unsigned char at[4]);
#endif
