/* SPDX-License-Identifier: Apache-2.0 */
/* The calls to a store: see store_class.h, which says what each does. */
#ifndef BRIG_LEDGER_STORE_H
#define BRIG_LEDGER_STORE_H

#include "ledger/store/store_class.h"

static inline void store_close(struct store *store)
{
	if (store) {
		store->class->close(store);
	}
}

static inline int store_recover(struct store *store, uint64_t *ret_lost, struct brig_error *error)
{
	return store->class->recover(store, ret_lost, error);
}

static inline int store_begin(struct store *store, struct brig_error *error)
{
	return store->class->begin(store, error);
}

static inline int store_commit(struct store *store, struct brig_error *error)
{
	return store->class->commit(store, error);
}

static inline void store_rollback(struct store *store)
{
	store->class->rollback(store);
}

static inline bool store_in_transaction(const struct store *store)
{
	return store->class->in_transaction(store);
}

static inline int store_mark(struct store *store, struct brig_error *error)
{
	return store->class->mark(store, error);
}

static inline int store_release(struct store *store, struct brig_error *error)
{
	return store->class->release(store, error);
}

static inline bool store_back(struct store *store)
{
	return store->class->back(store);
}

static inline int store_flush(struct store *store, bool truncate, struct brig_error *error)
{
	return store->class->flush(store, truncate, error);
}

static inline int store_logged(struct store *store, uint64_t sequence, struct brig_error *error)
{
	return store->class->logged(store, sequence, error);
}

static inline uint64_t store_bytes(struct store *store)
{
	return store->class->bytes(store);
}

static inline int store_execution_begin(struct store *store, const struct ledger_text *texts,
					bool queued, const struct store_request *request,
					struct buf *answer, struct brig_error *error)
{
	return store->class->execution_begin(store, texts, queued, request, answer, error);
}

static inline int store_execution_started(struct store *store, const char *id,
					  struct brig_error *error)
{
	return store->class->execution_started(store, id, error);
}

static inline int store_execution_ended(struct store *store, const char *id,
					struct ended_result *result, struct brig_error *error)
{
	return store->class->execution_ended(store, id, result, error);
}

static inline int store_ended_open(struct store *store, const char *id, struct ended_result *result,
				   struct store_ended **ret, struct brig_error *error)
{
	return store->class->ended_open(store, id, result, ret, error);
}

static inline int store_ended_step(struct store *store, struct store_ended *ended,
				   struct brig_error *error)
{
	return store->class->ended_step(store, ended, error);
}

static inline int store_ended_finish(struct store *store, struct store_ended *ended,
				     struct brig_error *error)
{
	return store->class->ended_finish(store, ended, error);
}

static inline int store_ended_undo(struct store *store, struct store_ended *ended,
				   struct brig_error *error)
{
	return store->class->ended_undo(store, ended, error);
}

static inline int store_request_step(struct store *store, struct store_request *request,
				     struct brig_error *error)
{
	return store->class->request_step(store, request, error);
}

static inline int store_request_undo(struct store *store, const struct store_request *request,
				     struct brig_error *error)
{
	return store->class->request_undo(store, request, error);
}

static inline int store_execution_get(struct store *store, const char *tenant, const char *id,
				      struct buf *answer, struct store_more *more,
				      struct brig_error *error)
{
	return store->class->execution_get(store, tenant, id, answer, more, error);
}

static inline int store_more_read(struct store *store, struct store_more *more, struct buf *out,
				  struct brig_error *error)
{
	return store->class->more_read(store, more, out, error);
}

static inline int store_execution_list(struct store *store, const char *tenant, const char *before,
				       unsigned limit, struct buf *answer, struct brig_error *error)
{
	return store->class->execution_list(store, tenant, before, limit, answer, error);
}

static inline int store_execution_pending(struct store *store, struct buf *answer,
					  struct brig_error *error)
{
	return store->class->execution_pending(store, answer, error);
}

static inline uint64_t store_execution_pending_count(struct store *store)
{
	return store->class->execution_pending_count(store);
}

static inline int store_execution_drop(struct store *store, unsigned *ret_dropped,
				       struct brig_error *error)
{
	return store->class->execution_drop(store, ret_dropped, error);
}

static inline int store_sweep(struct store *store, struct brig_error *error)
{
	return store->class->sweep(store, error);
}

static inline int store_session_opened(struct store *store, const struct ledger_text *texts,
				       uint64_t idle_ms, struct brig_error *error)
{
	return store->class->session_opened(store, texts, idle_ms, error);
}

static inline int store_session_ended(struct store *store, const char *tenant, const char *id,
				      const char *reason, uint64_t runs, struct brig_error *error)
{
	return store->class->session_ended(store, tenant, id, reason, runs, error);
}

static inline int store_session_get(struct store *store, const char *tenant, const char *id,
				    struct buf *answer, struct brig_error *error)
{
	return store->class->session_get(store, tenant, id, answer, error);
}

static inline int store_session_list(struct store *store, const char *tenant, const char *before,
				     unsigned limit, struct buf *answer, struct brig_error *error)
{
	return store->class->session_list(store, tenant, before, limit, answer, error);
}

static inline int store_usage_put(struct store *store, const char *caller, uint64_t day,
				  uint64_t cpu_ns, struct brig_error *error)
{
	return store->class->usage_put(store, caller, day, cpu_ns, error);
}

static inline int store_usage_list(struct store *store, uint64_t day, struct buf *answer,
				   struct brig_error *error)
{
	return store->class->usage_list(store, day, answer, error);
}

static inline int store_append(struct store *store, const char *kind, const char *tenant,
			       const char *facts, struct brig_error *error)
{
	return store->class->append(store, kind, tenant, facts, error);
}

static inline int store_audit(struct store *store, const char *kind, const char *tenant,
			      const char *facts, size_t facts_size, struct brig_error *error)
{
	return store->class->audit(store, kind, tenant, facts, facts_size, error);
}

static inline int store_checkpoint(struct store *store, struct brig_error *error)
{
	return store->class->checkpoint(store, error);
}
#endif
