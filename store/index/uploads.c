/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads, and how they become candidates. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(uploads, struct ux_upload);

enum {
	UPLOAD_PROVENANCE = 16, /* the first provenance column in sql_upload_find */
	UPLOAD_ID = UPLOAD_PROVENANCE + UX_PROVENANCE_COUNT,
	UPLOAD_UID,
};

UX_SQL(sql_upload_add,
       "INSERT INTO uploads (uid, ns, key_id, size, hash, kind, claim, description, "
       "file_name, force, state, status, reason, created, updated, trust, " UX_SQL_PROVENANCE(
	       "") ") "
		   "VALUES (:uid, :ns, :key_id, :size, :hash, :kind, :claim, :description, "
		   ":file_name, :force, 0, '', '', :created, :created, :trust, " UX_SQL_PROVENANCE(
			   ":") ")");

static enum ux_code upload_insert(struct ux_db *db, const struct ux_upload *up,
				  struct ux_error *err)
{
	UX_STMT(st, db, &sql_upload_add);
	ux_stmt_bind_text(&st, ":uid", up->uid);
	ux_stmt_bind_text(&st, ":ns", up->ns);
	ux_stmt_bind_text(&st, ":key_id", up->key_id);
	ux_stmt_bind_int(&st, ":size", (int64_t)up->size);
	ux_stmt_bind_bytes(&st, ":hash", up->hash.bytes, sizeof(up->hash.bytes));
	ux_stmt_bind_text(&st, ":kind", ux_kind_name(up->kind));
	ux_stmt_bind_int(&st, ":claim", up->claim);
	ux_stmt_bind_text(&st, ":description", up->description);
	ux_stmt_bind_text(&st, ":file_name", up->file_name);
	ux_stmt_bind_int(&st, ":force", up->force);
	ux_stmt_bind_int(&st, ":created", up->created);
	ux_stmt_bind_int(&st, ":trust", up->trust);
	ux_provenance_bind(&st, &up->provenance);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code upload_limit_reached(struct ux_upload_limits *l, struct ux_error *err,
					 const char *what, uint64_t have, uint64_t max)
{
	l->reached = true;
	return ux_error_set(err, UX_EUNAVAILABLE,
			    "%s: %" PRIu64 " of %" PRIu64 "; finish some or retry later", what,
			    have, max);
}

UX_SQL(sql_upload_fresh,
       "SELECT count(*) FILTER (WHERE key_id = :key_id), count(*), coalesce(sum(size) "
       "FILTER (WHERE key_id = :key_id), 0), coalesce(sum(size), 0) FROM uploads "
       "WHERE state = 0 AND created > :since");

/*
 * Checks the limits. The sums cannot overflow: each size is at most INT64_MAX, and so is a sum that
 * SQLite returns.
 */
static enum ux_code upload_check_limits(struct ux_db *db, const struct ux_upload *up,
					struct ux_error *err)
{
	struct ux_upload_limits *l = up->limits;
	bool row = false;
	UX_STMT(st, db, &sql_upload_fresh);
	ux_stmt_bind_text(&st, ":key_id", up->key_id);
	ux_stmt_bind_int(&st, ":since", l->since);
	UX_TRY(ux_stmt_step(&st, &row, err));
	const uint64_t of_key = (uint64_t)ux_stmt_get_int(&st, 0);
	const uint64_t all = (uint64_t)ux_stmt_get_int(&st, 1);
	const uint64_t bytes_of_key = (uint64_t)ux_stmt_get_int(&st, 2);
	const uint64_t bytes_all = (uint64_t)ux_stmt_get_int(&st, 3);
	if (l->of_key != 0 && of_key >= l->of_key)
		return upload_limit_reached(l, err, "too many open uploads of this key", of_key,
					    l->of_key);
	if (l->all != 0 && all >= l->all)
		return upload_limit_reached(l, err, "too many open uploads", all, l->all);
	if (l->bytes_of_key != 0 && bytes_of_key + up->size > l->bytes_of_key)
		return upload_limit_reached(l, err, "open uploads of this key have too many bytes",
					    bytes_of_key, l->bytes_of_key);
	if (l->bytes_all != 0 && bytes_all + up->size > l->bytes_all)
		return upload_limit_reached(l, err, "open uploads have too many bytes", bytes_all,
					    l->bytes_all);
	return UX_OK;
}

UX_SQL(sql_upload_id_add,
       "INSERT INTO upload_ids (uid, position, id) VALUES (:uid, :position, :id)");

static enum ux_code upload_add(struct ux_index *ix, const struct ux_upload *up,
			       struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	if (up->n_ids == 0 || up->n_ids > UX_INDEX_IDS_MAX || up->size > INT64_MAX)
		return ux_error_set(err, UX_EINVAL, "an upload needs 1 to %d IDs",
				    UX_INDEX_IDS_MAX);
	struct ux_stage_clock clock = ux_stage_begin(ix->stages);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	/* After a power cut, an unfinished upload is announced again. */
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_UPLOADS, /* lazy= */ true, err));
	UX_TRY(ux_namespace_check_quota(db, up->ns, 0, up->size, err));
	if (up->limits)
		UX_TRY(upload_check_limits(db, up, err));
	UX_TRY(upload_insert(db, up, err));
	for (size_t i = 0; i < up->n_ids; i++) {
		UX_STMT(st, db, &sql_upload_id_add);
		ux_stmt_bind_text(&st, ":uid", up->uid);
		ux_stmt_bind_int(&st, ":position", (int64_t)i);
		ux_stmt_bind_text(&st, ":id", up->ids[i]);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	UX_TRY(ux_tx_commit(&tx, err));
	ux_stage_end(&clock, UX_STAGE_ANNOUNCE);
	return UX_OK;
}

static enum ux_upload_state upload_state_of(int64_t v)
{
	return v == UX_UPLOAD_OPEN      ? UX_UPLOAD_OPEN
	       : v == UX_UPLOAD_DONE    ? UX_UPLOAD_DONE
	       : v == UX_UPLOAD_PENDING ? UX_UPLOAD_PENDING
					: UX_UPLOAD_FAILED;
}

static enum ux_code upload_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_upload *ret,
				struct ux_error *err)
{
	const char *kind = ux_stmt_get_text(st, 4, arena);
	*ret = (struct ux_upload){
		.ns = ux_stmt_get_text(st, 0, arena),
		.key_id = ux_stmt_get_text(st, 1, arena),
		.size = (uint64_t)ux_stmt_get_int(st, 2),
		.claim = ux_quality_of_column(ux_stmt_get_int(st, 5)),
		.description = ux_stmt_get_text(st, 6, arena),
		.file_name = ux_stmt_get_text(st, 7, arena),
		.force = ux_stmt_get_int(st, 8) != 0,
		.state = upload_state_of(ux_stmt_get_int(st, 9)),
		.status = ux_stmt_get_text(st, 10, arena),
		.reason = ux_stmt_get_text(st, 11, arena),
		.created = ux_stmt_get_int(st, 12),
		.updated = ux_stmt_get_int(st, 13),
		.candidate = ux_stmt_get_int(st, 14),
		.trust = ux_trust_of_column(ux_stmt_get_int(st, 15)),
	};
	if (!ret->ns || !ret->key_id || !kind || !ret->description || !ret->file_name ||
	    !ret->status || !ret->reason)
		return ux_arena_fail(arena, err);
	UX_TRY(ux_provenance_read(st, UPLOAD_PROVENANCE, arena, &ret->provenance, err));
	if (!ux_kind_parse(ux_bytes_cstr(kind), &ret->kind))
		return ux_error_set(err, UX_EIO, "the index is damaged: kind %.32s", kind);
	return ux_stmt_get_bytes(st, 3, ret->hash.bytes, sizeof(ret->hash.bytes), err);
}

/*
 * A row for each ID, or one without an ID: one statement sees both tables at the same moment,
 * without a transaction.
 */
#define UPLOAD_COLUMNS                                                                                          \
	"u.ns, u.key_id, u.size, u.hash, u.kind, u.claim, u.description, u.file_name, "                         \
	"u.force, u.state, u.status, u.reason, u.created, u.updated, u.candidate, u.trust, " UX_SQL_PROVENANCE( \
		"u.") ", i.id, u.uid "

UX_SQL(sql_upload_find,
       "SELECT " UPLOAD_COLUMNS "FROM uploads u LEFT JOIN upload_ids i ON i.uid = u.uid "
       "WHERE u.uid = :uid ORDER BY i.position");

/*
 * Reads the IDs of an upload. Leaves the statement at the first row of the next upload; *ret_row:
 * there is one.
 */
static enum ux_code upload_read_ids(struct ux_stmt *st, struct ux_arena *arena,
				    struct ux_upload *ret, bool *ret_row, struct ux_error *err)
{
	const char *ids[UX_INDEX_IDS_MAX];
	bool row = true;
	while (row) {
		const char *uid = ux_stmt_peek_text(st, UPLOAD_UID);
		if (!uid)
			return ux_error_nomem(err);
		if (strcmp(uid, ret->uid) != 0)
			break;
		if (!ux_stmt_is_null(st, UPLOAD_ID) && ret->n_ids < UX_INDEX_IDS_MAX) {
			ids[ret->n_ids] = ux_stmt_get_text(st, UPLOAD_ID, arena);
			if (!ids[ret->n_ids++])
				return ux_arena_fail(arena, err);
		}
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	*ret_row = row;
	ret->ids = ux_rows_copy(arena, ids, ret->n_ids, sizeof(*ids));
	return ret->ids ? UX_OK : ux_arena_fail(arena, err);
}

/* Reads the rows of one upload. */
static enum ux_code upload_read_rows(struct ux_stmt *st, struct ux_arena *arena,
				     struct ux_upload *ret, bool *ret_row, struct ux_error *err)
{
	struct ux_upload up;
	UX_TRY(upload_read(st, arena, &up, err));
	const char *uid = ux_stmt_peek_text(st, UPLOAD_UID);
	if (!uid)
		return ux_error_nomem(err);
	snprintf(up.uid, sizeof(up.uid), "%s", uid);
	UX_TRY(upload_read_ids(st, arena, &up, ret_row, err));
	*ret = up;
	return UX_OK;
}

static enum ux_code upload_find_row(struct ux_db *db, const char *uid, struct ux_arena *arena,
				    struct ux_upload *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_upload_find);
	ux_stmt_bind_text(&st, ":uid", uid);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? upload_read_rows(&st, arena, ret, &row, err)
		   : ux_error_set(err, UX_ENOTFOUND, "no such upload");
}

static enum ux_code upload_find(struct ux_index *ix, const char *uid, struct ux_arena *arena,
				struct ux_upload *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	return upload_find_row(db, uid, arena, ret, err);
}

UX_SQL(sql_upload_same,
       "SELECT uid FROM uploads WHERE ns = :ns AND key_id = :key_id AND state IN (0, 3) AND "
       "state = 0 AND hash = :hash AND size = :size AND kind = :kind AND force = :force AND "
       "trust = :trust AND description = :description AND file_name = :file_name AND (SELECT id FROM upload_ids i "
       "WHERE i.uid = uploads.uid AND i.position = 0) = :id ORDER BY created DESC, uid LIMIT 1");

static bool upload_has_ids(const struct ux_upload *up, const struct ux_upload *other)
{
	bool same = up->n_ids == other->n_ids;
	for (size_t i = 0; i < up->n_ids && same; i++)
		same = strcmp(up->ids[i], other->ids[i]) == 0;
	return same;
}

static enum ux_code upload_find_same(struct ux_index *ix, const struct ux_upload *up,
				     struct ux_arena *arena, struct ux_upload *ret,
				     struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_STMT(st, db, &sql_upload_same);
	ux_stmt_bind_text(&st, ":ns", up->ns);
	ux_stmt_bind_text(&st, ":key_id", up->key_id);
	ux_stmt_bind_bytes(&st, ":hash", up->hash.bytes, sizeof(up->hash.bytes));
	ux_stmt_bind_int(&st, ":size", (int64_t)up->size);
	ux_stmt_bind_text(&st, ":kind", ux_kind_name(up->kind));
	ux_stmt_bind_int(&st, ":force", up->force);
	ux_stmt_bind_text(&st, ":description", up->description);
	ux_stmt_bind_text(&st, ":file_name", up->file_name);
	ux_stmt_bind_int(&st, ":trust", up->trust);
	ux_stmt_bind_text(&st, ":id", up->n_ids > 0 ? up->ids[0] : "");
	UX_TRY(ux_stmt_step(&st, &row, err));
	const char *uid = row ? ux_stmt_get_text(&st, 0, arena) : NULL;
	if (row && !uid)
		return ux_arena_fail(arena, err);
	struct ux_upload found;
	if (row)
		UX_TRY(upload_find_row(db, uid, arena, &found, err));
	if (!row || !upload_has_ids(up, &found))
		return ux_error_set(err, UX_ENOTFOUND, "no such upload is open");
	*ret = found;
	return UX_OK;
}

#define UPLOADS_PAGE(states)                                                                    \
	"SELECT " UPLOAD_COLUMNS "FROM (SELECT * FROM uploads WHERE ns = :ns AND state " states \
	" (0, 3) ORDER BY updated DESC, uid LIMIT :limit) u LEFT JOIN upload_ids i "            \
	"ON i.uid = u.uid ORDER BY u.updated DESC, u.uid, i.position"

UX_SQL(sql_uploads_running, UPLOADS_PAGE("IN"));

UX_SQL(sql_uploads_ended, UPLOADS_PAGE("NOT IN"));

static enum ux_code upload_list(struct ux_index *ix, const char *ns, bool running, size_t limit,
				struct ux_arena *arena, struct ux_upload_list *ret,
				struct ux_error *err)
{
	ux_cleanup(uploads_deinit) struct uploads v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_SCAN, err);
	UX_STMT(st, db, running ? &sql_uploads_running : &sql_uploads_ended);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":limit", (int64_t)ux_min(limit, (size_t)INT64_MAX));
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_upload up;
		UX_TRY(upload_read_rows(&st, arena, &up, &row, err));
		if (!uploads_append(&v, up))
			return ux_error_nomem(err);
	}
	ret->n = v.size;
	ret->uploads = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->uploads ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_upload_end, "UPDATE uploads "
		       "SET state = :state, status = :status, reason = :reason, updated = :now, "
		       "candidate = :candidate WHERE uid = :uid AND state = 0");

static enum ux_code upload_end(struct ux_db *db, const char *uid, enum ux_upload_state state,
			       const char *status, const char *reason, int64_t candidate,
			       ux_time now, struct ux_error *err)
{
	UX_STMT(st, db, &sql_upload_end);
	ux_stmt_bind_text(&st, ":uid", uid);
	ux_stmt_bind_int(&st, ":state", state);
	ux_stmt_bind_text(&st, ":status", status);
	ux_stmt_bind_text(&st, ":reason", reason);
	ux_stmt_bind_int(&st, ":now", now);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ECONFLICT, "the upload has already ended");
}

static enum ux_code upload_give_up(struct ux_index *ix, const char *uid, const char *status,
				   const char *reason, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	return upload_end(db, uid, UX_UPLOAD_FAILED, status, reason, 0, now, err);
}

UX_SQL(sql_upload_expire, "DELETE FROM uploads WHERE updated < :before AND state <> 3");

static enum ux_code upload_expire(struct ux_index *ix, ux_time before, uint64_t *ret,
				  struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_upload_expire);
	ux_stmt_bind_int(&st, ":before", before);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_upload_settle, "UPDATE uploads "
			  "SET state = :state, status = :status, reason = :reason, updated = :now "
			  "WHERE candidate = :candidate AND state = 3");

enum ux_code ux_uploads_settle(struct ux_db *db, int64_t candidate, enum ux_upload_state state,
			       const char *status, const char *reason, ux_time now,
			       struct ux_error *err)
{
	UX_STMT(st, db, &sql_upload_settle);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	ux_stmt_bind_int(&st, ":state", state);
	ux_stmt_bind_text(&st, ":status", status);
	ux_stmt_bind_text(&st, ":reason", reason);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code upload_end_with(struct ux_db *db, const struct ux_upload *up,
				    const struct ux_candidate *c, const struct ux_add_result *r,
				    ux_time now, struct ux_error *err)
{
	char reason[128] = "";
	if (r->apart)
		snprintf(reason, sizeof(reason),
			 "another file has the same build ID: kept apart, under its File ID alone");
	if (r->add != UX_ADD_POORER && r->state == UX_CANDIDATE_PENDING)
		return upload_end(db, up->uid, UX_UPLOAD_PENDING, "pending", reason, r->candidate,
				  now, err);
	switch (r->add) {
	case UX_ADD_NEW:
		return upload_end(db, up->uid, UX_UPLOAD_DONE, "uploaded", reason, r->candidate,
				  now, err);
	case UX_ADD_SAME:
		snprintf(reason, sizeof(reason), "the server already had the same bytes");
		return upload_end(db, up->uid, UX_UPLOAD_DONE, "already-there", reason,
				  r->candidate, now, err);
	case UX_ADD_POORER:
		break;
	}
	ux_candidate_poorer_text(r, c, reason, sizeof(reason));
	return upload_end(db, up->uid, UX_UPLOAD_FAILED, "better-there", reason, 0, now, err);
}

static enum ux_code upload_write_finish(struct ux_index *ix, const struct ux_upload *up,
					const struct ux_candidate *cand, const struct ux_who *who,
					ux_time now, struct ux_stage_clock *clock,
					struct ux_add_result *ret, uint64_t *ret_commit,
					struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	const struct ux_arrival what = {up->ns, up->ids, up->n_ids, up->force};
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_lazy(&tx, db, err));
	ux_stage_end(clock, UX_STAGE_INDEX_WAIT);
	UX_TRY(ux_candidate_row_add(db, &what, cand, now, ret, err));
	UX_TRY(upload_end_with(db, up, cand, ret, now, err));
	if (ret->add == UX_ADD_NEW)
		UX_TRY(ux_audit_write(db, who, now, up->ns, "upload", up->ids[0],
				      ux_kind_name(cand->kind), ret->module, err));
	UX_TRY(ux_tx_promise(&tx, err));
	ux_stage_end(clock, UX_STAGE_INDEX_WRITE);
	*ret_commit = tx.number;
	return UX_OK;
}

/* Finishes an upload. Releases the lock before the wait for the disk, which uploads share. */
static enum ux_code upload_finish(struct ux_index *ix, const struct ux_upload *up,
				  const struct ux_candidate *cand, const struct ux_who *who,
				  ux_time now, struct ux_add_result *ret, struct ux_error *err)
{
	struct ux_add_result r;
	uint64_t commit = 0;
	struct ux_stage_clock clock = ux_stage_begin(ix->stages);
	UX_TRY(upload_write_finish(ix, up, cand, who, now, &clock, &r, &commit, err));
	UX_TRY(ux_db_sync(ux_index_writer(ix), commit, err));
	ux_stage_end(&clock, UX_STAGE_INDEX_SYNC);
	*ret = r;
	return UX_OK;
}

UX_SQL(sql_upload_counts,
       "SELECT count(*) FILTER (WHERE key_id = :key_id "
       "AND ns = :ns), count(*) FILTER (WHERE ns = :ns), count(*), coalesce(sum(size) "
       "FILTER (WHERE ns = :ns AND state = 0), 0) FROM uploads WHERE state IN (0, 3)");

static enum ux_code upload_counts(struct ux_index *ix, const char *ns, const char *key_id,
				  struct ux_upload_counts *ret, struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_upload_counts);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":key_id", key_id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_upload_counts){
		.of_key = (uint64_t)ux_stmt_get_int(&st, 0),
		.of_ns = (uint64_t)ux_stmt_get_int(&st, 1),
		.all = (uint64_t)ux_stmt_get_int(&st, 2),
		.bytes_of_ns = (uint64_t)ux_stmt_get_int(&st, 3),
	};
	return UX_OK;
}

void ux_uploads_init(struct ux_index *ix)
{
	ix->uploads = (struct ux_index_uploads){
		.add = upload_add,
		.find = upload_find,
		.find_same = upload_find_same,
		.finish = upload_finish,
		.give_up = upload_give_up,
		.expire = upload_expire,
		.list = upload_list,
		.counts = upload_counts,
	};
}
