/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the SQL index: connections, rows of other nouns' tables, common rules. */
#ifndef UX_INDEX_SQL_H
#define UX_INDEX_SQL_H

#include "db.h"
#include "index.h"

/* Fragments of statements about modules m. */
#define UX_SQL_FIRST_ID \
	"(SELECT i.id FROM ids i WHERE i.module = m.number ORDER BY i.rank, i.id LIMIT 1)"
#define UX_SQL_MODULE_BYTES \
	"(SELECT coalesce(sum(c.size), 0) FROM candidates c WHERE c.module = m.number)"
/* Columns in the order in which ux_module_row_read() reads them. */
#define UX_SQL_MODULE_COLUMNS                                     \
	"m.number, m.created, m.updated, m.last_used, m.marked, " \
	"EXISTS (SELECT 1 FROM pins p WHERE p.module = m.number) "
#define UX_SQL_NOT_PINNED "NOT EXISTS (SELECT 1 FROM pins p WHERE p.module = m.number)"
/*
 * Condition: no candidate refers to the module as its supplementary file. A module that itself
 * refers to one does not count as a supplementary file, so that two files cannot keep each other
 * forever.
 */
#define UX_SQL_NOT_REFERRED                                                                      \
	"(NOT EXISTS (SELECT 1 FROM ids i JOIN supplementary s ON s.ns = i.ns AND s.id = i.id "  \
	"WHERE i.module = m.number) OR EXISTS (SELECT 1 FROM candidates c JOIN supplementary t " \
	"ON t.candidate = c.number WHERE c.module = m.number))"
/* The node of a lease's owner, which is a node or one of its threads, "NODE#...". */
#define UX_SQL_JOB_NODE(owner) "substr(" owner ", 1, instr(" owner " || '#', '#') - 1)"
/* Condition: nothing but its use keeps the module. */
#define UX_SQL_NOT_KEPT UX_SQL_NOT_PINNED " AND " UX_SQL_NOT_REFERRED

/*
 * Conditions: the row fits its sum, so that its columns are as they were written. p is the table's
 * prefix, "c." or "". Each has the columns of the table's triggers, which write the sums.
 */
#define UX_SQL_ID_FITS(p) p "sum = row_sum(" p "ns, " p "id, " p "module)"
#define UX_SQL_CANDIDATE_FITS(p)                                                         \
	p "sum = row_sum(" p "number, " p "module, " p "blob, " p "kind, " p "state, " p \
	  "quality, " p "trust, " p "holds, " p "parent, " p "file_id)"
#define UX_SQL_TOKEN_FITS(p) p "sum = row_sum(" p "id, " p "hash, " p "key, " p "expires)"
#define UX_SQL_KEY_FITS(p) \
	p "sum = row_sum(" p "id, " p "ns, " p "scopes, " p "expires, " p "revoked)"
#define UX_SQL_SOURCE_FITS(p) \
	p "sum = row_sum(" p "module, " p "path, " p "candidate, " p "blob, " p "off, " p "size)"
#define UX_SQL_PROFILE_FITS(p)                                                             \
	p "sum = row_sum(" p "number, " p "ns, " p "service, " p "started, " p "ended, " p \
	  "blob, " p "size, " p "off, " p "length)"
#define UX_SQL_NAMESPACE_FITS(p) p "sum = row_sum(" p "name, " p "reading)"

/* Columns of candidates c in the order in which ux_candidate_row_read() reads them. */
#define UX_SQL_CANDIDATE_COLUMNS                                                              \
	"c.number, c.parent, c.kind, c.state, c.reason, c.blob, c.size, c.quality, "          \
	"c.claim, c.functions, c.inlines, c.rows, c.code_bytes, c.line_bytes, "               \
	"c.unnamed, c.unnamed_bytes, c.code_total, c.holds, c.parser, c.forced, "             \
	"c.origin, c.origin_name, c.description, c.file_name, c.key_id, c.created, c.trust, " \
	"c.file_id, c.apart_from, " UX_SQL_PROVENANCE("c.") ", " UX_SQL_CANDIDATE_FITS("c.") " "

enum {
	UX_CANDIDATE_PROVENANCE = 29, /* the first provenance column */
	UX_CANDIDATE_FITS = UX_CANDIDATE_PROVENANCE + UX_PROVENANCE_COUNT,
	UX_CANDIDATE_COLUMN_COUNT = UX_CANDIDATE_FITS + 1,
	UX_READERS_MAX = 8, /* connections for reads */
	UX_SCANS_MAX = 2,   /* connections among them for queries that may read every row */
};

/* The purpose for which a connection is taken; it decides how long its statements may run. */
enum ux_read {
	UX_READ_POINT,   /* rows by a key, or a page of them */
	UX_READ_REPLICA, /* the same, for an answer; from a replica, if there is one */
	UX_READ_SCAN,    /* a query that may look at every row, for a client */
	UX_READ_LONG,    /* the server's own work or an operator's, without a limit */
};

/*
 * Connections for reads, each used by one thread at a time. They are opened when they are first
 * needed. Any thread.
 */
struct ux_readers {
	pthread_mutex_t lock; /* a connection was returned */
	pthread_cond_t given; /* a connection was given back */
	char *path;
	struct ux_db *items[UX_READERS_MAX];
	size_t n;
	size_t scans;    /* taken for UX_READ_SCAN */
	int64_t away_ms; /* ms of the monotonic clock until which the replica is not tried again */
	uint64_t waits;  /* how often threads waited for a connection */
	int64_t wait_ns;
};

/* Opens the first connection. The file must exist. */
enum ux_code ux_readers_open(struct ux_readers *r, const char *path, struct ux_error *err) ux_must;
void ux_readers_close(struct ux_readers *r);

/* Prepares a pool without opening a connection. */
enum ux_code ux_readers_init(struct ux_readers *r, const char *path, struct ux_error *err) ux_must;

/* Adds the counts of the pool. */
void ux_readers_count(struct ux_readers *r, struct ux_index_connections *ret,
		      struct ux_db_counts *counts);

/* Tests whether there is a replica that answered recently, or was not tried. */
bool ux_replica_answers(struct ux_index *ix);

/* Notes that the replica did not answer: for some seconds the database answers instead. */
void ux_replica_is_away(struct ux_index *ix);

/*
 * Takes a connection; a thread never holds two. UX_EUNAVAILABLE: too many searches are running; try
 * again later.
 */
enum ux_code ux_reader_take(struct ux_index *ix, enum ux_read use, struct ux_db **ret,
			    struct ux_error *err) ux_must;
void ux_reader_give(struct ux_db **db);

/* Declares a connection that is returned at the end of the scope. */
#define UX_READER(name, ix, use, err)                           \
	ux_cleanup(ux_reader_give) struct ux_db *(name) = NULL; \
	UX_TRY(ux_reader_take((ix), (use), &(name), (err)))

/*
 * Reads use connections of their own, so that they do not wait while a write is synced. A read
 * that begins after a write returned sees that write.
 */
struct ux_index_sql {
	struct ux_index base;
	struct ux_db writer;
	struct ux_readers readers;
	struct ux_readers replica;  /* zeroed: no replica */
	struct ux_db watch_replica; /* like the next one */
	struct ux_db watch; /* used by the thread that watches other nodes; opened on first use */
	char *location;
	struct ux_id_filter *filter; /* filter of all IDs in the index; NULL: no filter */
};

static inline struct ux_index_sql *ux_index_sql_of(struct ux_index *ix)
{
	return ux_container_of(ix, struct ux_index_sql, base);
}

static inline struct ux_db *ux_index_writer(struct ux_index *ix)
{
	return &ux_index_sql_of(ix)->writer;
}

/* Tests for an ID without a query. False: the namespace certainly does not have it. */
bool ux_index_may_have(struct ux_index *ix, const char *ns, const char *id);

/* Each function fills in its part of base. */
void ux_module_search_init(struct ux_index *ix);
void ux_modules_init(struct ux_index *ix);
void ux_module_known_init(struct ux_index *ix);
void ux_candidates_init(struct ux_index *ix);
void ux_retention_init(struct ux_index *ix);
void ux_blob_rows_init(struct ux_index *ix);
void ux_uploads_init(struct ux_index *ix);
void ux_sources_init(struct ux_index *ix);
void ux_fetched_init(struct ux_index *ix);
void ux_jobs_init(struct ux_index *ix);
void ux_namespaces_init(struct ux_index *ix);
void ux_keys_init(struct ux_index *ix);
void ux_row_sums_init(struct ux_index *ix);
void ux_audit_init(struct ux_index *ix);
void ux_supplementary_init(struct ux_index *ix);
void ux_kept_profiles_init(struct ux_index *ix);
void ux_packages_init(struct ux_index *ix);
void ux_package_status_init(struct ux_index *ix);
void ux_stored_objects_init(struct ux_index *ix);
void ux_nodes_init(struct ux_index *ix);

/* The functions below are called with the connection's lock held. */

/* Counts a row that does not fit its sum (ux_index_row_damages()). */
void ux_row_note_damaged(void);

/* Counts it, and returns UX_EIO with the name of the table and the row's key. */
enum ux_code ux_row_fail_damaged(const char *table, const char *key, struct ux_error *err);

/* Finds the module of an ID, without its IDs and candidates. UX_ENOTFOUND. */
enum ux_code ux_module_row_find(struct ux_db *db, const char *ns, const char *id,
				struct ux_module *ret, struct ux_error *err) ux_must;

/*
 * Reads a module without its IDs and candidates, from a row that begins with UX_SQL_MODULE_COLUMNS.
 */
struct ux_module ux_module_row_read(struct ux_stmt *st);

/* Reads the IDs and candidates of module ret->number. */
enum ux_code ux_module_row_fill(struct ux_db *db, struct ux_arena *arena, struct ux_module *ret,
				struct ux_error *err) ux_must;

/* The same for n modules, with two statements for some hundred of them. */
enum ux_code ux_module_rows_fill(struct ux_db *db, struct ux_arena *arena,
				 struct ux_module *modules, size_t n, struct ux_error *err) ux_must;

/* The same without their candidates. */
enum ux_code ux_module_rows_fill_ids(struct ux_db *db, struct ux_arena *arena,
				     struct ux_module *modules, size_t n, struct ux_error *err)
	ux_must;

/* Reads a candidate from a row that begins with UX_SQL_CANDIDATE_COLUMNS. */
enum ux_code ux_candidate_row_read(struct ux_stmt *st, struct ux_arena *arena,
				   struct ux_candidate *ret, struct ux_error *err) ux_must;

/* Converts a stored number to a quality. */
enum ux_quality ux_quality_of_column(int64_t v);

/* modules.add, inside a transaction. */
enum ux_code ux_candidate_row_add(struct ux_db *db, const struct ux_arrival *what,
				  const struct ux_candidate *cand, ux_time now,
				  struct ux_add_result *ret, struct ux_error *err) ux_must;

/* Converts a stored number to a level of trust. */
enum ux_trust ux_trust_of_column(int64_t v);

/* What ux_arrival_keep_apart() decided about an arrival. */
struct ux_apart {
	struct ux_arrival what; /* the arrival, with the File IDs alone if it is kept apart */
	const char *ids[UX_INDEX_IDS_MAX];
	const char *from; /* the build ID that it is kept apart from; "": it is not */
	int64_t module;   /* its module; 0: a new one */
};

/*
 * Decides which module an arrival belongs to. Files that agents found under one build ID, with
 * different File IDs, are kept apart: the file with the higher trust, or the first one, has the
 * build ID, and the others have modules with their File IDs alone. Moves candidates that have to
 * give way. UX_ECONFLICT: the IDs belong to different modules.
 */
enum ux_code ux_arrival_keep_apart(struct ux_db *db, const struct ux_arrival *what,
				   enum ux_trust trust, ux_time now, struct ux_apart *ret,
				   struct ux_error *err) ux_must;

/* Returns the first File ID, or "". */
const char *ux_arrival_file_id(const struct ux_arrival *what);

/* Adds a module without IDs. UX_ELIMIT: the namespace's quota. */
enum ux_code ux_module_row_add(struct ux_db *db, const char *ns, ux_time now, int64_t *ret,
			       struct ux_error *err) ux_must;

/* Inserts a row for the blob if it has none. */
enum ux_code ux_blob_row_add(struct ux_db *db, const struct ux_blob_hash *hash, uint64_t size,
			     struct ux_error *err) ux_must;

/* Makes the IDs aliases of module m, whose IDs have been read. UX_ECONFLICT. */
enum ux_code ux_module_ids_add(struct ux_db *db, const char *ns, const struct ux_module *m,
			       const char *const *ids, size_t n, struct ux_error *err) ux_must;

/* Ends the pending uploads of a candidate. */
enum ux_code ux_uploads_settle(struct ux_db *db, int64_t candidate, enum ux_upload_state state,
			       const char *status, const char *reason, ux_time now,
			       struct ux_error *err) ux_must;

/*
 * Checks the namespace's quota for that many more modules and bytes. UX_ELIMIT: it would be
 * exceeded.
 */
enum ux_code ux_namespace_check_quota(struct ux_db *db, const char *ns, uint64_t modules,
				      uint64_t bytes, struct ux_error *err) ux_must;

enum ux_code ux_namespace_ensure(struct ux_db *db, const char *ns, ux_time now,
				 struct ux_error *err) ux_must;

/* Adds an extract job for the candidate, due now. */
enum ux_code ux_job_add_extract(struct ux_db *db, const char *ns, int64_t candidate, ux_time now,
				struct ux_error *err) ux_must;

/* Removes a job if the owner has its lease. Does nothing otherwise. */
enum ux_code ux_job_end(struct ux_db *db, int64_t number, const char *owner, struct ux_error *err)
	ux_must;

/* Records the supplementary file of a candidate; queues its extraction if the file is there now. */
enum ux_code ux_supplementary_put(struct ux_db *db, const char *ns, int64_t candidate,
				  const struct ux_settled *s, ux_time now, struct ux_error *err)
	ux_must;

/*
 * Queues the candidates that were extracted without a file of this module, which now has one. With
 * forced also the candidates that were extracted with another file of it, which may have been
 * damaged. *ret: their number.
 */
enum ux_code ux_supplementary_arrived(struct ux_db *db, int64_t module, bool forced, ux_time now,
				      uint64_t *ret, struct ux_error *err) ux_must;

/* Writes an entry of the audit log; detail may be NULL. */
enum ux_code ux_audit_write(struct ux_db *db, const struct ux_who *who, ux_time now, const char *ns,
			    const char *what, const char *subject, const char *detail,
			    int64_t module, struct ux_error *err) ux_must;

/* Reads rows of one text column into an array in the arena. */
enum ux_code ux_stmt_read_texts(struct ux_stmt *st, struct ux_arena *arena, const char ***ret,
				size_t *ret_n, struct ux_error *err) ux_must;

/* The columns of ux_provenance_name(), each after a prefix, in the order of the facts. */
#define UX_SQL_PROVENANCE(prefix)                                                            \
	prefix "git_revision, " prefix "git_branch, " prefix "git_repository, " prefix       \
	       "ci_run, " prefix "distribution, " prefix "suite, " prefix "package, " prefix \
	       "package_version, " prefix "package_sha256, " prefix "host, " prefix          \
	       "owner, " prefix "mount_namespace"

/* The end of an INSERT of jobs: a job that exists already is due now, as a new one. */
#define UX_SQL_JOB_RESTART \
	"ON CONFLICT (kind, subject) DO UPDATE SET failed = 0, attempts = 0, next = :now"

/* Assignments of the parameters of these names to these columns. */
#define UX_SQL_PROVENANCE_SET                                                               \
	"git_revision = :git_revision, git_branch = :git_branch, git_repository = "         \
	":git_repository, ci_run = :ci_run, distribution = :distribution, suite = :suite, " \
	"package = :package, package_version = :package_version, package_sha256 = "         \
	":package_sha256, host = :host, owner = :owner, mount_namespace = :mount_namespace"

/* Binds the parameters of these names. */
void ux_provenance_bind(struct ux_stmt *st, const struct ux_provenance *p);

/* Reads these columns, from number `first` on, into the arena. */
enum ux_code ux_provenance_read(struct ux_stmt *st, int first, struct ux_arena *arena,
				struct ux_provenance *ret, struct ux_error *err) ux_must;

/* Reads the rows of a search, which returns one more than limit if there are more. */
enum ux_code ux_hits_read(struct ux_stmt *st, size_t limit, struct ux_arena *arena,
			  struct ux_hits *ret, struct ux_error *err) ux_must;

/* Returns the module's other candidate with the same bytes as c; NULL: none. */
const struct ux_candidate *ux_candidate_same(const struct ux_module *m,
					     const struct ux_candidate *c);

/*
 * Decides the result of adding c; it may already be one of the module's candidates. Only GSYM,
 * executable and debuginfo are compared, and only ready ones, with ready ones that hold at least as
 * much as c; a module may have any number of .dwo files and sources. The result for the same bytes
 * is UX_ADD_SAME, or UX_ADD_NEW if they failed before. Leaves module and candidate 0.
 */
struct ux_add_result ux_candidate_judge(const struct ux_module *m, const struct ux_candidate *c);

/* Formats the reason of UX_ADD_POORER. */
void ux_candidate_poorer_text(const struct ux_add_result *r, const struct ux_candidate *c,
			      char *text, size_t size);

/*
 * Tests for a type of ID that several modules may share. A lookup of such an ID finds the module
 * that most recently came with it, and it never joins two modules.
 */
bool ux_id_is_shared(const char *id);

/* Sort key of a module's IDs. */
int ux_id_rank(const char *id);

bool ux_text_among(const char *const *texts, size_t n, const char *text);

/*
 * A filter that rejects nearly all IDs that were never added, and never one that was. A removed ID
 * stays in it until the filter is rebuilt. Any thread.
 */
struct ux_id_filter;

enum {
	UX_ID_FILTER_MAX = 4 << 20, /* IDs; a filter of that many has 16 MB */
};

/*
 * Creates a filter with capacity for n IDs and some thousand more; beyond that it rejects fewer
 * unknown IDs. NULL: memory is short, or n is too large for a filter to pay off.
 */
struct ux_id_filter *ux_id_filter_create(uint64_t n);
void ux_id_filter_destroy(struct ux_id_filter *f);

void ux_id_filter_add(struct ux_id_filter *f, const char *ns, const char *id);

/* Tests for an ID. False: the namespace certainly does not have it. */
bool ux_id_filter_may_have(const struct ux_id_filter *f, const char *ns, const char *id);

#endif
