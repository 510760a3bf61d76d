/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: uploads, and how one becomes a candidate. */
#include "index_sqlite.h"

static enum ux_code add_row(struct ux_db *db, const struct ux_upload *up, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_UPLOAD_ADD);
	ux_stmt_text(&st, 1, up->uid);
	ux_stmt_text(&st, 2, up->ns);
	ux_stmt_text(&st, 3, up->key_id);
	ux_stmt_int(&st, 4, (int64_t)up->size);
	ux_stmt_bytes(&st, 5, up->hash.bytes, sizeof(up->hash.bytes));
	ux_stmt_text(&st, 6, up->kind);
	ux_stmt_int(&st, 7, up->claim);
	ux_stmt_text(&st, 8, up->description);
	ux_stmt_text(&st, 9, up->file_name);
	ux_stmt_int(&st, 10, up->force);
	ux_stmt_int(&st, 11, up->created);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code upload_add(struct ux_index *ix, const struct ux_upload *up,
			       struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	if (up->n_ids == 0 || up->n_ids > UX_INDEX_IDS_MOST || up->size > INT64_MAX)
		return ux_error_set(err, UX_EINVAL, "an upload has 1 to %d IDs", UX_INDEX_IDS_MOST);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(add_row(db, up, err));
	for (size_t i = 0; i < up->n_ids; i++) {
		UX_STMT(st, db, UX_SQL_UPLOAD_ID_ADD);
		ux_stmt_text(&st, 1, up->uid);
		ux_stmt_int(&st, 2, (int64_t)i);
		ux_stmt_text(&st, 3, up->ids[i]);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return ux_tx_commit(&tx, err);
}

static enum ux_upload_state state_of(int64_t v)
{
	return v == UX_UPLOAD_OPEN   ? UX_UPLOAD_OPEN
	       : v == UX_UPLOAD_DONE ? UX_UPLOAD_DONE
				     : UX_UPLOAD_FAILED;
}

static enum ux_code read_upload(struct ux_stmt *st, struct ux_arena *arena, struct ux_upload *ret,
				struct ux_error *err)
{
	int64_t claim = ux_stmt_get_int(st, 5);
	*ret = (struct ux_upload){
		.ns = ux_stmt_get_text(st, 0, arena),
		.key_id = ux_stmt_get_text(st, 1, arena),
		.size = (uint64_t)ux_stmt_get_int(st, 2),
		.kind = ux_stmt_get_text(st, 4, arena),
		.claim = claim > 0 && claim < UX_QUALITY_COUNT ? (enum ux_quality)claim
							       : UX_QUALITY_NONE,
		.description = ux_stmt_get_text(st, 6, arena),
		.file_name = ux_stmt_get_text(st, 7, arena),
		.force = ux_stmt_get_int(st, 8) != 0,
		.state = state_of(ux_stmt_get_int(st, 9)),
		.status = ux_stmt_get_text(st, 10, arena),
		.reason = ux_stmt_get_text(st, 11, arena),
		.created = ux_stmt_get_int(st, 12),
		.updated = ux_stmt_get_int(st, 13),
	};
	if (!ret->ns || !ret->key_id || !ret->kind || !ret->description || !ret->file_name ||
	    !ret->status || !ret->reason)
		return ux_arena_fail(arena, err);
	return ux_stmt_get_bytes(st, 3, ret->hash.bytes, sizeof(ret->hash.bytes), err);
}

static enum ux_code upload_find(struct ux_index *ix, const char *uid, struct ux_arena *arena,
				struct ux_upload *ret, struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->reader;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_STMT(st, db, UX_SQL_UPLOAD_FIND);
	ux_stmt_text(&st, 1, uid);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "there is no such upload");
	struct ux_upload up;
	UX_TRY(read_upload(&st, arena, &up, err));
	snprintf(up.uid, sizeof(up.uid), "%s", uid);
	UX_STMT(ids, db, UX_SQL_UPLOAD_IDS);
	ux_stmt_text(&ids, 1, uid);
	UX_TRY(ux_sqlite_texts(&ids, arena, &up.ids, &up.n_ids, err));
	*ret = up;
	return UX_OK;
}

static enum ux_code end_upload(struct ux_db *db, const char *uid, enum ux_upload_state state,
			       const char *status, const char *reason, ux_time now,
			       struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_UPLOAD_END);
	ux_stmt_text(&st, 1, uid);
	ux_stmt_int(&st, 2, state);
	ux_stmt_text(&st, 3, status);
	ux_stmt_text(&st, 4, reason);
	ux_stmt_int(&st, 5, now);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ECONFLICT, "the upload has ended already");
}

static enum ux_code upload_fail(struct ux_index *ix, const char *uid, const char *reason,
				ux_time now, struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	UX_LOCKED(&db->lock);
	return end_upload(db, uid, UX_UPLOAD_FAILED, "failed", reason, now, err);
}

static enum ux_code upload_expire(struct ux_index *ix, ux_time before, uint64_t *ret,
				  struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_UPLOAD_EXPIRE);
	ux_stmt_int(&st, 1, before);
	return ux_stmt_run(&st, ret, err);
}

static bool is_gnu(const char *id)
{
	return strncmp(id, "gnu:", 4) == 0;
}

static int rank_of(const char *id)
{
	static const char *const order[] = {"gnu:", "go:", "uuid:", "file:", "cubin-crc:"};
	int i = 0;
	while (i < (int)ux_countof(order) && strncmp(id, order[i], strlen(order[i])) != 0)
		i++;
	return i;
}

/* True for an ID that several modules may have: a name for lookups, which is the last one's that
 * came with it, and never what tells two modules to be one. */
static bool is_shared(const char *id)
{
	return strncmp(id, "cubin-crc:", 10) == 0;
}

/* The one module that any of the upload's IDs names; number 0 when there is none. */
static enum ux_code find_target(struct ux_db *db, const struct ux_upload *up, struct ux_module *ret,
				struct ux_error *err)
{
	const char *by = NULL;
	*ret = (struct ux_module){0};
	for (size_t i = 0; i < up->n_ids; i++) {
		struct ux_module m;
		if (is_shared(up->ids[i]) && up->n_ids > 1)
			continue;
		enum ux_code code = ux_sqlite_module_number(db, up->ns, up->ids[i], &m, NULL);
		if (code == UX_ENOTFOUND)
			continue;
		if (code != UX_OK)
			return ux_db_fail(db, err);
		if (by && m.number != ret->number)
			return ux_error_set(err, UX_ECONFLICT,
					    "%.60s and %.60s belong to different modules", by,
					    up->ids[i]);
		by = up->ids[i];
		*ret = m;
	}
	return UX_OK;
}

static enum ux_code add_module(struct ux_db *db, const char *ns, ux_time now, int64_t *ret,
			       struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_MODULE_ADD);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, now);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	*ret = sqlite3_last_insert_rowid(db->sqlite);
	return UX_OK;
}

static bool has_text(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

static const char *gnu_of(const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_gnu(ids[i]))
			return ids[i];
	return NULL;
}

/* A linked file has one build ID: a second one means that somebody mixed up two files. */
static enum ux_code check_gnu(const struct ux_module *m, const struct ux_upload *up,
			      struct ux_error *err)
{
	const char *one = gnu_of((const char *const *)m->ids, m->n_ids);
	for (size_t i = 0; i < up->n_ids; i++) {
		if (!is_gnu(up->ids[i]))
			continue;
		one = one ? one : up->ids[i];
		if (strcmp(one, up->ids[i]) != 0)
			return ux_error_set(err, UX_ECONFLICT,
					    "one module cannot be %.60s and %.60s", one,
					    up->ids[i]);
	}
	return UX_OK;
}

static enum ux_code add_ids(struct ux_db *db, const struct ux_module *m, const struct ux_upload *up,
			    struct ux_error *err)
{
	for (size_t i = 0; i < up->n_ids; i++) {
		if (has_text((const char *const *)m->ids, m->n_ids, up->ids[i]) ||
		    has_text((const char *const *)up->ids, i, up->ids[i]))
			continue;
		UX_STMT(st, db, is_shared(up->ids[i]) ? UX_SQL_ID_TAKE : UX_SQL_ID_ADD);
		ux_stmt_text(&st, 1, up->ns);
		ux_stmt_text(&st, 2, up->ids[i]);
		ux_stmt_int(&st, 3, m->number);
		ux_stmt_int(&st, 4, rank_of(up->ids[i]));
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return UX_OK;
}

static enum ux_code add_blob(struct ux_db *db, const struct ux_candidate *c, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_BLOB_ADD);
	ux_stmt_bytes(&st, 1, c->blob.bytes, sizeof(c->blob.bytes));
	ux_stmt_int(&st, 2, (int64_t)c->size);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code add_candidate(struct ux_db *db, const char *ns, int64_t module,
				  const struct ux_candidate *c, ux_time now, struct ux_error *err)
{
	UX_TRY(add_blob(db, c, err));
	UX_STMT(st, db, UX_SQL_CANDIDATE_ADD);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, module);
	ux_stmt_bytes(&st, 3, c->blob.bytes, sizeof(c->blob.bytes));
	ux_stmt_text(&st, 4, c->kind);
	ux_stmt_int(&st, 5, c->quality);
	ux_stmt_int(&st, 6, (int64_t)c->counts.functions);
	ux_stmt_int(&st, 7, (int64_t)c->counts.inlines);
	ux_stmt_int(&st, 8, (int64_t)c->counts.rows);
	ux_stmt_int(&st, 9, (int64_t)c->counts.code_bytes);
	ux_stmt_int(&st, 10, (int64_t)c->counts.line_bytes);
	ux_stmt_text(&st, 11, c->description);
	ux_stmt_text(&st, 12, c->file_name);
	ux_stmt_text(&st, 13, c->key_id);
	ux_stmt_int(&st, 14, now);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	UX_STMT(touch, db, UX_SQL_MODULE_TOUCH);
	ux_stmt_int(&touch, 1, module);
	ux_stmt_int(&touch, 2, now);
	return ux_stmt_run(&touch, NULL, err);
}

static struct ux_add_result judge(const struct ux_module *m, const struct ux_upload *up,
				  const struct ux_candidate *c)
{
	struct ux_add_result r = {.add = UX_ADD_NEW};
	if (m->n_candidates == 0)
		return r;
	const struct ux_candidate *best = &m->candidates[0];
	r.had_any = true;
	r.best = best->quality;
	for (size_t i = 0; i < m->n_candidates; i++) {
		if (memcmp(&m->candidates[i].blob, &c->blob, sizeof(c->blob)) == 0) {
			r.add = UX_ADD_SAME;
			return r;
		}
	}
	if (!up->force &&
	    ux_candidate_cmp(c->quality, &c->counts, best->quality, &best->counts) < 0)
		r.add = UX_ADD_POORER;
	return r;
}

static enum ux_code end_with(struct ux_db *db, const struct ux_upload *up,
			     const struct ux_candidate *c, struct ux_add_result r, ux_time now,
			     struct ux_error *err)
{
	char reason[128] = "";
	switch (r.add) {
	case UX_ADD_NEW:
		return end_upload(db, up->uid, UX_UPLOAD_DONE, "uploaded", reason, now, err);
	case UX_ADD_SAME:
		snprintf(reason, sizeof(reason), "the same bytes were there already");
		return end_upload(db, up->uid, UX_UPLOAD_DONE, "already-there", reason, now, err);
	case UX_ADD_POORER:
		break;
	}
	snprintf(reason, sizeof(reason), "what is there (%s) is better than this (%s)",
		 ux_quality_name(r.best), ux_quality_name(c->quality));
	return end_upload(db, up->uid, UX_UPLOAD_FAILED, "better-there", reason, now, err);
}

/* Aliases are learnt also from an upload whose bytes are not wanted. */
static enum ux_code upload_finish(struct ux_index *ix, const struct ux_upload *up,
				  const struct ux_candidate *cand, ux_time now,
				  struct ux_add_result *ret, struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	UX_ARENA(arena, (size_t)16 << 20);
	struct ux_module m;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(find_target(db, up, &m, err));
	if (m.number == 0)
		UX_TRY(add_module(db, up->ns, now, &m.number, err));
	UX_TRY(ux_sqlite_module_fill(db, &arena, &m, err));
	UX_TRY(check_gnu(&m, up, err));
	UX_TRY(add_ids(db, &m, up, err));
	struct ux_add_result r = judge(&m, up, cand);
	if (r.add == UX_ADD_NEW)
		UX_TRY(add_candidate(db, up->ns, m.number, cand, now, err));
	UX_TRY(end_with(db, up, cand, r, now, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = r;
	return UX_OK;
}

void ux_sqlite_uploads_init(struct ux_index *ix)
{
	ix->upload_add = upload_add;
	ix->upload_find = upload_find;
	ix->upload_fail = upload_fail;
	ix->upload_expire = upload_expire;
	ix->upload_finish = upload_finish;
}
