/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar: for each state the bytes that stay in it, those that lead on, and the error for all
 * others. No CR without LF, no LF without CR, no folded line, no optional blanks.
 */
#include "http1/states.h"

#include "http1/characters.h"

#define LF    CLASS_LF
#define CR    CLASS_CR
#define BLANK CLASS_BLANK
#define TOKEN CLASSES_TOKEN

#define IN_LINE  .budget = HTTP1_COUNTS_LINE
#define IN_HEAD  .budget = HTTP1_COUNTS_HEAD
#define IN_EXTRA .budget = HTTP1_COUNTS_EXTRA

#define ERROR_ON(classes, which)                                                                   \
	{                                                                                          \
		(classes), 0, (which)                                                              \
	}

/* Only this byte. */
#define ONLY(class, state, wrong) .edges = { { (class), (state), 0 } }, .otherwise = (wrong)

const struct http1_row http1_rows[HTTP1_STATES] = {
	[HTTP1_METHOD_FIRST] = { IN_LINE,
				 .edges = { { TOKEN, HTTP1_METHOD, 0 },
					    ERROR_ON(BLANK, HTTP1_BAD_LINE),
					    ERROR_ON(LF, HTTP1_BARE_LF) },
				 .otherwise = HTTP1_BAD_METHOD },
	[HTTP1_METHOD] = { IN_LINE, .stay = TOKEN,
			   .edges = { { BLANK, HTTP1_TARGET_FIRST, 0 },
				      ERROR_ON(CR, HTTP1_BAD_LINE),
				      ERROR_ON(LF, HTTP1_BARE_LF) },
			   .otherwise = HTTP1_BAD_METHOD },
	[HTTP1_TARGET_FIRST] = { IN_LINE,
				 .edges = { { CLASSES_VISIBLE | CLASS_HIGH, HTTP1_TARGET, 0 },
					    ERROR_ON(BLANK | CR, HTTP1_BAD_LINE),
					    ERROR_ON(LF, HTTP1_BARE_LF) },
				 .otherwise = HTTP1_BAD_LINE_BYTE },
	[HTTP1_TARGET] = { IN_LINE, .stay = CLASSES_VISIBLE,
			   .edges = { { BLANK, HTTP1_VERSION, 0 },
				      { CLASS_HIGH, HTTP1_TARGET, 0 },
				      ERROR_ON(CR, HTTP1_BAD_LINE),
				      ERROR_ON(LF, HTTP1_BARE_LF) },
			   .otherwise = HTTP1_BAD_LINE_BYTE },
	[HTTP1_VERSION] = { IN_LINE,
			    .edges = { { CLASSES_VISIBLE, HTTP1_VERSION, 0 },
				       { CR, HTTP1_LINE_END, 0 },
				       ERROR_ON(LF, HTTP1_BARE_LF),
				       ERROR_ON(BLANK, HTTP1_BAD_LINE) },
			    .otherwise = HTTP1_BAD_LINE_BYTE },
	[HTTP1_STATUS_VERSION] = { IN_LINE,
				   .edges = { { CLASSES_VISIBLE, HTTP1_STATUS_VERSION, 0 },
					      { BLANK, HTTP1_STATUS_CODE, 0 },
					      ERROR_ON(LF, HTTP1_BARE_LF) },
				   .otherwise = HTTP1_BAD_VERSION },
	[HTTP1_STATUS_CODE] = { IN_LINE,
				.edges = { { CLASS_DIGIT, HTTP1_STATUS_CODE, 0 },
					   { BLANK, HTTP1_REASON, 0 },
					   { CR, HTTP1_LINE_END, 0 },
					   ERROR_ON(LF, HTTP1_BARE_LF) },
				.otherwise = HTTP1_BAD_STATUS },
	[HTTP1_REASON] = { IN_LINE, .stay = CLASSES_VALUE,
			   .edges = { { CR, HTTP1_LINE_END, 0 }, ERROR_ON(LF, HTTP1_BARE_LF) },
			   .otherwise = HTTP1_BAD_LINE_BYTE },
	[HTTP1_LINE_END] = { IN_LINE, ONLY(LF, HTTP1_FIELD, HTTP1_BARE_CR) },

	[HTTP1_FIELD] = { IN_HEAD,
			  .edges = { { TOKEN, HTTP1_NAME, 0 },
				     { CR, HTTP1_HEAD_END, 0 },
				     ERROR_ON(CLASSES_SPACE, HTTP1_FOLDED),
				     ERROR_ON(LF, HTTP1_BARE_LF) },
			  .otherwise = HTTP1_BAD_NAME },
	[HTTP1_NAME] = { IN_HEAD, .stay = TOKEN,
			 .edges = { { CLASS_COLON, HTTP1_VALUE, 0 },
				    ERROR_ON(CLASSES_SPACE, HTTP1_SPACE_BEFORE_COLON) },
			 .otherwise = HTTP1_BAD_NAME },
	[HTTP1_VALUE] = { IN_HEAD, .stay = CLASSES_VALUE,
			  .edges = { { CR, HTTP1_VALUE_END, 0 }, ERROR_ON(LF, HTTP1_BARE_LF) },
			  .otherwise = HTTP1_BAD_VALUE },
	[HTTP1_VALUE_END] = { IN_HEAD, ONLY(LF, HTTP1_FIELD, HTTP1_BARE_CR) },
	[HTTP1_HEAD_END] = { IN_HEAD, ONLY(LF, HTTP1_HEAD_DONE, HTTP1_BARE_CR) },

	[HTTP1_CHUNK] = { ONLY(CLASSES_HEX, HTTP1_CHUNK_SIZE, HTTP1_BAD_CHUNK) },
	[HTTP1_CHUNK_SIZE] = { .edges = { { CLASSES_HEX, HTTP1_CHUNK_SIZE, 0 },
					  { CR, HTTP1_CHUNK_SIZE_END, 0 },
					  { CLASS_SEMICOLON, HTTP1_EXTENSION, 0 } },
			       .otherwise = HTTP1_BAD_CHUNK_SIZE_END },
	[HTTP1_EXTENSION] = { IN_EXTRA, ONLY(TOKEN, HTTP1_EXTENSION_NAME, HTTP1_BAD_EXTENSION) },
	[HTTP1_EXTENSION_NAME] = { IN_EXTRA, .stay = TOKEN,
				   .edges = { { CLASS_EQUALS, HTTP1_EXTENSION_IS, 0 },
					      { CLASS_SEMICOLON, HTTP1_EXTENSION, 0 },
					      { CR, HTTP1_CHUNK_SIZE_END, 0 } },
				   .otherwise = HTTP1_BAD_EXTENSION },
	[HTTP1_EXTENSION_IS] = { IN_EXTRA,
				 .edges = { { TOKEN, HTTP1_EXTENSION_TOKEN, 0 },
					    { CLASS_QUOTE, HTTP1_EXTENSION_QUOTED, 0 } },
				 .otherwise = HTTP1_BAD_EXTENSION },
	/* An extension ends with its value: llhttp 8.1 accepts nothing after one. */
	[HTTP1_EXTENSION_TOKEN] = { IN_EXTRA, .stay = TOKEN,
				    ONLY(CR, HTTP1_CHUNK_SIZE_END, HTTP1_BAD_EXTENSION) },
	[HTTP1_EXTENSION_QUOTED] = { IN_EXTRA,
				     .stay = CLASSES_VALUE & ~(CLASS_QUOTE | CLASS_BACKSLASH),
				     ONLY(CLASS_QUOTE, HTTP1_EXTENSION_CLOSED,
					  HTTP1_BAD_EXTENSION) },
	[HTTP1_EXTENSION_CLOSED] = { IN_EXTRA,
				     ONLY(CR, HTTP1_CHUNK_SIZE_END, HTTP1_BAD_EXTENSION) },
	[HTTP1_CHUNK_SIZE_END] = { ONLY(LF, HTTP1_CHUNK_DATA, HTTP1_BAD_CHUNK_SIZE_END) },
	[HTTP1_CHUNK_DATA_CR] = { ONLY(CR, HTTP1_CHUNK_DATA_END, HTTP1_LONG_CHUNK) },
	[HTTP1_CHUNK_DATA_END] = { ONLY(LF, HTTP1_CHUNK, HTTP1_BAD_CHUNK_END) },

	[HTTP1_TRAILER] = { .edges = { { TOKEN, HTTP1_TRAILER_NAME, 0 },
				       { CR, HTTP1_LAST_END, 0 } },
			    .otherwise = HTTP1_BAD_TRAILER },
	[HTTP1_TRAILER_NAME] = { IN_EXTRA, .stay = TOKEN,
				 ONLY(CLASS_COLON, HTTP1_TRAILER_VALUE, HTTP1_BAD_TRAILER) },
	[HTTP1_TRAILER_VALUE] = { IN_EXTRA, .stay = CLASSES_VALUE,
				  ONLY(CR, HTTP1_TRAILER_END, HTTP1_BAD_TRAILER) },
	[HTTP1_TRAILER_END] = { IN_EXTRA, ONLY(LF, HTTP1_TRAILER, HTTP1_BAD_TRAILER) },
	[HTTP1_LAST_END] = { ONLY(LF, HTTP1_DONE, HTTP1_BAD_LAST_CHUNK) },
};
