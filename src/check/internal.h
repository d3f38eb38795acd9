/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the kinds of questions share. */
#ifndef BRIG_CHECK_INTERNAL_H
#define BRIG_CHECK_INTERNAL_H

#include "check/check.h"

/* The cell of a run under this policy: makes check->plan, fills check->cell. 0 or -errno. */
int check_cell(struct check *check);

/* Where the value in force was set: the operator's ceiling may have made it stricter. */
void check_origin_word(const struct check *check, const char *section, const char *key,
		       const char *word, struct origin *ret);
/* The same for a limit. */
void check_origin_limit(const struct check *check, const char *section,
			const struct limit_info *info, uint64_t value, struct origin *ret);

void check_set_answer(struct check_answer *answer, enum check_verdict verdict, const char *format,
		      ...) __attribute__((format(printf, 3, 4)));
/* "add X to KEY (FILE:LINE)": for a list; or "set KEY to X". */
enum repair_kind { REPAIR_ADD, REPAIR_SET };
void check_repair(const struct check *check, struct check_answer *answer, enum repair_kind kind,
		  const char *section, const char *key, const char *what);

/* One decision of the policy's filter; arguments may be unknown. */
struct check_call {
	unsigned number;
	uint64_t args[6];
	bool known[6];
};
int check_call_parse(const char *text, struct check_call *ret, struct brig_error *err);
void check_call_decide(struct check *check, const struct check_call *call,
		       struct check_answer *ret);

/* The file that a path in the cell resolves to. */
enum cell_path_kind {
	CELL_PATH_MISSING,
	CELL_PATH_MADE,     /* made by brig, read-only */
	CELL_PATH_HOST,     /* of the host, read-only: needed by the language */
	CELL_PATH_WRITABLE, /* the cell's own */
	CELL_PATH_SHM,      /* likewise, and never executable */
	CELL_PATH_DEVICE,
	CELL_PATH_PROC,
	CELL_PATH_CLOSED, /* exists, but the program's user has no access */
};
struct cell_path {
	enum cell_path_kind kind;
	char path[4096]; /* without links, as far as they are known */
	bool directory;
	unsigned mode; /* of CELL_PATH_HOST: its bits for the program's user, 0 to 7 */
};
void cell_path_resolve(const struct plan *plan, const char *path, struct cell_path *ret);

int check_answer_call(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
int check_answer_net(struct check *check, const char *text, struct check_answer *ret,
		     struct brig_error *err);
int check_answer_read(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
int check_answer_write(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err);
int check_answer_exec(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
int check_answer_limit(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err);
int check_answer_language(struct check *check, const char *text, struct check_answer *ret,
			  struct brig_error *err);
int check_answer_env(struct check *check, const char *text, struct check_answer *ret,
		     struct brig_error *err);
int check_answer_module(struct check *check, const char *text, struct check_answer *ret,
			struct brig_error *err);
#endif
