/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index inside: its two connections, and the functions of its parts. */
#ifndef UX_INDEX_SQLITE_H
#define UX_INDEX_SQLITE_H

#include "index.h"
#include "sqlite_db.h"

/*
 * Readers have a connection of their own, so that they do not wait while a writer syncs; a read
 * that begins after a write returned sees it.
 */
struct ux_index_sqlite {
	struct ux_index base;
	struct ux_db writer;
	struct ux_db reader;
	struct ux_id_filter *filter; /* both connections' */
};

static inline struct ux_index_sqlite *ux_index_sqlite_of(struct ux_index *ix)
{
	return ux_container_of(ix, struct ux_index_sqlite, base);
}

static inline struct ux_db *ux_sqlite_writer(struct ux_index *ix)
{
	return &ux_index_sqlite_of(ix)->writer;
}

static inline struct ux_db *ux_sqlite_reader(struct ux_index *ix)
{
	return &ux_index_sqlite_of(ix)->reader;
}

/* Fill in their part of base. */
void ux_sqlite_modules_init(struct ux_index *ix);
void ux_sqlite_candidates_init(struct ux_index *ix);
void ux_sqlite_keeping_init(struct ux_index *ix);
void ux_sqlite_blobs_init(struct ux_index *ix);
void ux_sqlite_uploads_init(struct ux_index *ix);
void ux_sqlite_sources_init(struct ux_index *ix);
void ux_sqlite_fetched_init(struct ux_index *ix);
void ux_sqlite_jobs_init(struct ux_index *ix);
void ux_sqlite_namespaces_init(struct ux_index *ix);
void ux_sqlite_keys_init(struct ux_index *ix);
void ux_sqlite_audit_init(struct ux_index *ix);

/* What follows is called with the connection's lock held. */

/* The module of an ID, without its IDs and candidates; UX_ENOTFOUND. */
enum ux_code ux_sqlite_module_row(struct ux_db *db, const char *ns, const char *id,
				  struct ux_module *ret, struct ux_error *err) ux_must;

/* Reads IDs and candidates of module ret->number. */
enum ux_code ux_sqlite_module_fill(struct ux_db *db, struct ux_arena *arena, struct ux_module *ret,
				   struct ux_error *err) ux_must;

/* The columns that each statement about candidates begins with. */
enum ux_code ux_sqlite_read_candidate(struct ux_stmt *st, struct ux_arena *arena,
				      struct ux_candidate *ret, struct ux_error *err) ux_must;
enum {
	UX_SQLITE_CANDIDATE_COLUMNS = 26
};

/* A number of the database as a quality. */
enum ux_quality ux_sqlite_quality(int64_t v);

/* index.modules.add inside of a transaction. */
enum ux_code ux_sqlite_candidate_arrive(struct ux_db *db, const struct ux_arrival *what,
					const struct ux_candidate *cand, ux_time now,
					struct ux_add_result *ret, struct ux_error *err) ux_must;

/* A row of blobs when there is none. */
enum ux_code ux_sqlite_blob_add(struct ux_db *db, const struct ux_blob_hash *hash, uint64_t size,
				struct ux_error *err) ux_must;

/* The IDs become aliases of module m, whose IDs are filled in. UX_ECONFLICT. */
enum ux_code ux_sqlite_ids_add(struct ux_db *db, const char *ns, const struct ux_module *m,
			       const char *const *ids, size_t n, struct ux_error *err) ux_must;

/* Ends the pending uploads of a candidate. */
enum ux_code ux_sqlite_uploads_settle(struct ux_db *db, int64_t candidate,
				      enum ux_upload_state state, const char *status,
				      const char *reason, ux_time now, struct ux_error *err)
	ux_must;

/* UX_ELIMIT: the namespace cannot take as much more. */
enum ux_code ux_sqlite_quota(struct ux_db *db, const char *ns, uint64_t modules, uint64_t bytes,
			     struct ux_error *err) ux_must;

enum ux_code ux_sqlite_namespace_ensure(struct ux_db *db, const char *ns, ux_time now,
					struct ux_error *err) ux_must;

/* A job of that candidate, due now. */
enum ux_code ux_sqlite_job_extract(struct ux_db *db, const char *ns, int64_t candidate, ux_time now,
				   struct ux_error *err) ux_must;

/* A line of the audit; detail may be NULL. */
enum ux_code ux_sqlite_audit(struct ux_db *db, const struct ux_who *who, ux_time now,
			     const char *ns, const char *what, const char *subject,
			     const char *detail, int64_t module, struct ux_error *err) ux_must;

/* Rows of one text column as an array in the arena. */
enum ux_code ux_sqlite_texts(struct ux_stmt *st, struct ux_arena *arena, const char ***ret,
			     size_t *ret_n, struct ux_error *err) ux_must;

/* Rows of a search, of which there is one more than limit when there are more. */
enum ux_code ux_sqlite_hits(struct ux_stmt *st, size_t limit, struct ux_arena *arena,
			    struct ux_hits *ret, struct ux_error *err) ux_must;

/* n elements of size bytes, copied into the arena; never NULL but on failure. */
void *ux_sqlite_keep(struct ux_arena *arena, const void *data, size_t n, size_t size);

#endif
