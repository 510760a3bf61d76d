/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: how something becomes a candidate. */
#include "index_sqlite.h"

#include "candidate_judge.h"

enum {
	MODULE_BUDGET = 64 << 20 /* bytes of one module's row */
};

enum ux_quality ux_sqlite_quality(int64_t v)
{
	return v > 0 && v < UX_QUALITY_COUNT ? (enum ux_quality)v : UX_QUALITY_NONE;
}

static enum ux_code kind_of(const char *text, enum ux_kind *ret, struct ux_error *err)
{
	return ux_kind_parse(ux_bytes_cstr(text), ret)
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the index is damaged: kind %.32s", text);
}

static struct ux_counts counts_of(struct ux_stmt *st, int first)
{
	return (struct ux_counts){
		.functions = (uint64_t)ux_stmt_get_int(st, first),
		.inlines = (uint64_t)ux_stmt_get_int(st, first + 1),
		.rows = (uint64_t)ux_stmt_get_int(st, first + 2),
		.code_bytes = (uint64_t)ux_stmt_get_int(st, first + 3),
		.line_bytes = (uint64_t)ux_stmt_get_int(st, first + 4),
		.unnamed = (uint64_t)ux_stmt_get_int(st, first + 5),
		.unnamed_bytes = (uint64_t)ux_stmt_get_int(st, first + 6),
	};
}

enum ux_code ux_sqlite_read_candidate(struct ux_stmt *st, struct ux_arena *arena,
				      struct ux_candidate *ret, struct ux_error *err)
{
	const char *kind = ux_stmt_get_text(st, 2, arena);
	int64_t state = ux_stmt_get_int(st, 3), origin = ux_stmt_get_int(st, 20);
	*ret = (struct ux_candidate){
		.number = ux_stmt_get_int(st, 0),
		.parent = ux_stmt_get_int(st, 1),
		.state = state == 0   ? UX_CANDIDATE_READY
			 : state == 1 ? UX_CANDIDATE_PENDING
				      : UX_CANDIDATE_FAILED,
		.reason = ux_stmt_get_text(st, 4, arena),
		.size = (uint64_t)ux_stmt_get_int(st, 6),
		.quality = ux_sqlite_quality(ux_stmt_get_int(st, 7)),
		.claim = ux_sqlite_quality(ux_stmt_get_int(st, 8)),
		.counts = counts_of(st, 9),
		.code_total = (uint64_t)ux_stmt_get_int(st, 16),
		.holds = (unsigned)ux_stmt_get_int(st, 17),
		.parser = (unsigned)ux_stmt_get_int(st, 18),
		.forced = ux_stmt_get_int(st, 19) != 0,
		.origin = origin == 1   ? UX_ORIGIN_UPSTREAM
			  : origin == 2 ? UX_ORIGIN_CRAWL
					: UX_ORIGIN_UPLOAD,
		.origin_name = ux_stmt_get_text(st, 21, arena),
		.description = ux_stmt_get_text(st, 22, arena),
		.file_name = ux_stmt_get_text(st, 23, arena),
		.key_id = ux_stmt_get_text(st, 24, arena),
		.created = ux_stmt_get_int(st, 25),
	};
	if (!kind || !ret->reason || !ret->origin_name || !ret->description || !ret->file_name ||
	    !ret->key_id)
		return ux_arena_fail(arena, err);
	UX_TRY(kind_of(kind, &ret->kind, err));
	return ux_stmt_get_bytes(st, 5, ret->blob.bytes, sizeof(ret->blob.bytes), err);
}

static void bind_counts(struct ux_stmt *st, int first, const struct ux_counts *c)
{
	const uint64_t v[] = {c->functions,  c->inlines, c->rows,         c->code_bytes,
			      c->line_bytes, c->unnamed, c->unnamed_bytes};
	for (int i = 0; i < (int)ux_countof(v); i++)
		ux_stmt_int(st, first + i, (int64_t)v[i]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_cached(const struct ux_candidate *c)
{
	return c->parent != 0 || c->origin == UX_ORIGIN_UPSTREAM;
}

static enum ux_code insert(struct ux_db *db, const char *ns, int64_t module,
			   const struct ux_candidate *c, ux_time now, int64_t *ret,
			   struct ux_error *err)
{
	UX_TRY(ux_sqlite_blob_add(db, &c->blob, c->size, err));
	UX_STMT(st, db, UX_SQL_CANDIDATE_ADD);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, module);
	ux_stmt_number(&st, 3, c->parent);
	ux_stmt_text(&st, 4, ux_kind_name(c->kind));
	ux_stmt_int(&st, 5, c->state);
	ux_stmt_text(&st, 6, c->reason);
	ux_stmt_bytes(&st, 7, c->blob.bytes, sizeof(c->blob.bytes));
	ux_stmt_int(&st, 8, (int64_t)c->size);
	ux_stmt_int(&st, 9, c->quality);
	ux_stmt_int(&st, 10, c->claim);
	bind_counts(&st, 11, &c->counts);
	ux_stmt_int(&st, 18, (int64_t)c->code_total);
	ux_stmt_int(&st, 19, c->holds);
	ux_stmt_int(&st, 20, c->parser);
	ux_stmt_int(&st, 21, c->forced);
	ux_stmt_int(&st, 22, c->origin);
	ux_stmt_text(&st, 23, c->origin_name);
	ux_stmt_text(&st, 24, c->description);
	ux_stmt_text(&st, 25, c->file_name);
	ux_stmt_text(&st, 26, base_name(c->file_name));
	ux_stmt_text(&st, 27, c->key_id);
	ux_stmt_int(&st, 28, now);
	ux_stmt_int(&st, 29, is_cached(c));
	UX_TRY(ux_stmt_run(&st, NULL, err));
	*ret = sqlite3_last_insert_rowid(db->sqlite);
	return UX_OK;
}

static enum ux_code again(struct ux_db *db, int64_t number, const struct ux_candidate *c,
			  struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_CANDIDATE_AGAIN);
	ux_stmt_int(&st, 1, number);
	ux_stmt_text(&st, 2, ux_kind_name(c->kind));
	ux_stmt_int(&st, 3, c->state);
	ux_stmt_int(&st, 4, c->quality);
	bind_counts(&st, 5, &c->counts);
	ux_stmt_int(&st, 12, (int64_t)c->code_total);
	ux_stmt_int(&st, 13, c->holds);
	ux_stmt_int(&st, 14, c->parser);
	ux_stmt_int(&st, 15, c->forced);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code adopt(struct ux_db *db, int64_t number, const struct ux_candidate *c,
			  struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_CANDIDATE_ADOPT);
	ux_stmt_int(&st, 1, number);
	ux_stmt_int(&st, 2, c->origin);
	ux_stmt_text(&st, 3, c->origin_name);
	ux_stmt_text(&st, 4, c->description);
	ux_stmt_text(&st, 5, c->file_name);
	ux_stmt_text(&st, 6, base_name(c->file_name));
	ux_stmt_text(&st, 7, c->key_id);
	return ux_stmt_run(&st, NULL, err);
}

/* Whoever sends the same bytes again has the last word on what they are. */
static enum ux_code describe(struct ux_db *db, int64_t number, const char *text,
			     struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_CANDIDATE_DESCRIBE);
	ux_stmt_int(&st, 1, number);
	ux_stmt_text(&st, 2, text);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code delete (struct ux_db *db, int64_t number, struct ux_error *err) {
	UX_STMT(st, db, UX_SQL_CANDIDATE_DELETE); ux_stmt_int(&st, 1, number); uint64_t n = 0;
		UX_TRY(ux_stmt_run(&st, &n, err));
		return n > 0 ? UX_OK
			     : ux_error_set(err, UX_ENOTFOUND, "there is no such candidate");
}

static enum ux_code module_changed(struct ux_db *db, int64_t module, ux_time now,
				   struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_MODULE_CHANGED);
	ux_stmt_int(&st, 1, module);
	ux_stmt_int(&st, 2, now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code add_module(struct ux_db *db, const char *ns, ux_time now, int64_t *ret,
			       struct ux_error *err)
{
	UX_TRY(ux_sqlite_quota(db, ns, 1, 0, err));
	UX_TRY(ux_sqlite_namespace_ensure(db, ns, now, err));
	UX_STMT(st, db, UX_SQL_MODULE_ADD);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, now);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	*ret = sqlite3_last_insert_rowid(db->sqlite);
	return UX_OK;
}

/* The one module that any of the IDs names; number 0 when there is none. */
static enum ux_code find_target(struct ux_db *db, const struct ux_arrival *what,
				struct ux_module *ret, struct ux_error *err)
{
	const char *by = NULL;
	*ret = (struct ux_module){0};
	for (size_t i = 0; i < what->n_ids; i++) {
		struct ux_module m;
		if (ux_id_is_shared(what->ids[i]) && what->n_ids > 1)
			continue;
		enum ux_code code = ux_sqlite_module_row(db, what->ns, what->ids[i], &m, NULL);
		if (code == UX_ENOTFOUND)
			continue;
		if (code != UX_OK)
			return ux_db_fail(db, err);
		if (by && m.number != ret->number)
			return ux_error_set(err, UX_ECONFLICT,
					    "%.60s and %.60s belong to different modules", by,
					    what->ids[i]);
		by = what->ids[i];
		*ret = m;
	}
	return UX_OK;
}

enum ux_code ux_sqlite_ids_add(struct ux_db *db, const char *ns, const struct ux_module *m,
			       const char *const *ids, size_t n, struct ux_error *err)
{
	UX_TRY(ux_ids_agree(m, ids, n, err));
	for (size_t i = 0; i < n; i++) {
		if (ux_text_among((const char *const *)m->ids, m->n_ids, ids[i]) ||
		    ux_text_among(ids, i, ids[i]))
			continue;
		UX_STMT(st, db, ux_id_is_shared(ids[i]) ? UX_SQL_ID_TAKE : UX_SQL_ID_ADD);
		ux_stmt_text(&st, 1, ns);
		ux_stmt_text(&st, 2, ids[i]);
		ux_stmt_int(&st, 3, m->number);
		ux_stmt_int(&st, 4, ux_id_rank(ids[i]));
		if (db->filter) /* before others can see the row */
			ux_id_filter_add(db->filter, ns, ids[i]);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return UX_OK;
}

/* What is to be done with the candidate, which ux_candidate_judge() has looked at. */
static enum ux_code place(struct ux_db *db, const struct ux_arrival *what,
			  const struct ux_module *m, const struct ux_candidate *c, ux_time now,
			  struct ux_add_result *r, struct ux_error *err)
{
	const struct ux_candidate *same = ux_candidate_same(m, c);
	if (!same && r->add == UX_ADD_NEW) {
		if (m->n_candidates >= UX_INDEX_CANDIDATES_MOST)
			return ux_error_set(err, UX_ELIMIT, "the module has %zu candidates",
					    m->n_candidates);
		if (!is_cached(c))
			UX_TRY(ux_sqlite_quota(db, what->ns, 0, c->size, err));
		UX_TRY(insert(db, what->ns, m->number, c, now, &r->candidate, err));
	} else if (same && r->add != UX_ADD_POORER) {
		r->candidate = same->number;
		r->state = same->state;
		if (r->add == UX_ADD_NEW) {
			UX_TRY(again(db, same->number, c, err));
			r->state = c->state;
		}
		if (is_cached(same) && !is_cached(c))
			UX_TRY(adopt(db, same->number, c, err));
		else if (c->description[0] != '\0')
			UX_TRY(describe(db, same->number, c->description, err));
	}
	if (r->candidate != 0 && r->state == UX_CANDIDATE_PENDING)
		UX_TRY(ux_sqlite_job_extract(db, what->ns, r->candidate, now, err));
	return module_changed(db, m->number, now, err);
}

/* Aliases are learnt also from what is not wanted. */
enum ux_code ux_sqlite_candidate_arrive(struct ux_db *db, const struct ux_arrival *what,
					const struct ux_candidate *cand, ux_time now,
					struct ux_add_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, MODULE_BUDGET);
	struct ux_module m;
	if (what->n_ids == 0 || what->n_ids > UX_INDEX_IDS_MOST || cand->size > INT64_MAX)
		return ux_error_set(err, UX_EINVAL, "a candidate comes with 1 to %d IDs",
				    UX_INDEX_IDS_MOST);
	UX_TRY(find_target(db, what, &m, err));
	if (m.number == 0)
		UX_TRY(add_module(db, what->ns, now, &m.number, err));
	UX_TRY(ux_sqlite_module_fill(db, &arena, &m, err));
	UX_TRY(ux_sqlite_ids_add(db, what->ns, &m, what->ids, what->n_ids, err));
	struct ux_candidate c = *cand;
	c.forced = what->force;
	struct ux_add_result r = ux_candidate_judge(&m, &c);
	r.module = m.number;
	UX_TRY(place(db, what, &m, &c, now, &r, err));
	*ret = r;
	return UX_OK;
}

static enum ux_code module_add(struct ux_index *ix, const struct ux_arrival *what,
			       const struct ux_candidate *cand, const struct ux_who *who,
			       ux_time now, struct ux_add_result *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	struct ux_add_result r;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_sqlite_candidate_arrive(db, what, cand, now, &r, err));
	if (r.add == UX_ADD_NEW)
		UX_TRY(ux_sqlite_audit(db, who, now, what->ns, "candidate-add", what->ids[0],
				       ux_kind_name(cand->kind), r.module, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = r;
	return UX_OK;
}

/* One candidate with where it belongs. */
struct placed {
	struct ux_candidate candidate;
	struct ux_idle of;
};

static enum ux_code read_placed(struct ux_db *db, int64_t number, struct ux_arena *arena,
				struct placed *ret, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_CANDIDATE);
	ux_stmt_int(&st, 1, number);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "there is no such candidate");
	UX_TRY(ux_sqlite_read_candidate(&st, arena, &ret->candidate, err));
	const int at = UX_SQLITE_CANDIDATE_COLUMNS;
	ret->of = (struct ux_idle){.module = ux_stmt_get_int(&st, at),
				   .ns = ux_stmt_get_text(&st, at + 1, arena),
				   .id = ux_stmt_get_text(&st, at + 2, arena),
				   .last_used = ux_stmt_get_int(&st, at + 3),
				   .marked = ux_stmt_get_int(&st, at + 4),
				   .bytes = (uint64_t)ux_stmt_get_int(&st, at + 5)};
	return ret->of.ns && ret->of.id ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code module_candidate(struct ux_index *ix, int64_t number, struct ux_arena *arena,
				     struct ux_candidate *ret, struct ux_idle *ret_of,
				     struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	struct placed p;
	UX_LOCKED(&db->lock);
	UX_TRY(read_placed(db, number, arena, &p, err));
	*ret = p.candidate;
	*ret_of = p.of;
	return UX_OK;
}

static enum ux_code candidate_remove(struct ux_index *ix, int64_t number, const struct ux_who *who,
				     ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_ARENA(arena, 1 << 20);
	struct placed p;
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(read_placed(db, number, &arena, &p, err));
	UX_TRY(delete (db, number, err));
	ux_blob_hash_text(&p.candidate.blob, hash);
	UX_TRY(ux_sqlite_audit(db, who, now, p.of.ns, "candidate-delete", p.of.id, hash,
			       p.of.module, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code write_settled(struct ux_db *db, int64_t number, const struct ux_settled *s,
				  struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_CANDIDATE_SETTLE);
	ux_stmt_int(&st, 1, number);
	ux_stmt_text(&st, 2, ux_kind_name(s->kind));
	ux_stmt_int(&st, 3, s->state);
	ux_stmt_text(&st, 4, s->state == UX_CANDIDATE_FAILED ? s->reason : "");
	ux_stmt_int(&st, 5, s->quality);
	bind_counts(&st, 6, &s->counts);
	ux_stmt_int(&st, 13, (int64_t)s->code_total);
	ux_stmt_int(&st, 14, s->holds);
	ux_stmt_int(&st, 15, s->parser);
	return ux_stmt_run(&st, NULL, err);
}

/* The extracted GSYM, unless it is there or something better is. */
static enum ux_code add_derived(struct ux_db *db, const struct placed *p, const struct ux_module *m,
				const struct ux_candidate *derived, ux_time now,
				struct ux_error *err)
{
	struct ux_candidate c = *derived;
	int64_t number = 0;
	c.parent = p->candidate.number;
	c.forced = p->candidate.forced;
	c.origin = p->candidate.origin;
	c.origin_name = p->candidate.origin_name;
	c.description = p->candidate.description;
	c.file_name = p->candidate.file_name;
	c.key_id = p->candidate.key_id;
	struct ux_add_result r = ux_candidate_judge(m, &c);
	return r.add == UX_ADD_NEW && !ux_candidate_same(m, &c)
		       ? insert(db, p->of.ns, m->number, &c, now, &number, err)
		       : UX_OK;
}

/* Those that the bytes tell and that no other module has. */
static enum ux_code learn_ids(struct ux_db *db, const char *ns, const struct ux_module *m,
			      const struct ux_settled *s, struct ux_error *err)
{
	const char *ids[UX_INDEX_IDS_MOST];
	size_t n = 0;
	UX_TRY(ux_ids_agree(m, s->ids, s->n_ids, err));
	for (size_t i = 0; i < s->n_ids && n < ux_countof(ids); i++) {
		struct ux_module other;
		enum ux_code code = ux_sqlite_module_row(db, ns, s->ids[i], &other, NULL);
		if (code != UX_OK && code != UX_ENOTFOUND)
			return ux_db_fail(db, err);
		if (code == UX_ENOTFOUND)
			ids[n++] = s->ids[i];
	}
	return ux_sqlite_ids_add(db, ns, m, ids, n, err);
}

static enum ux_code settle_ready(struct ux_db *db, struct placed *p, const struct ux_settled *s,
				 ux_time now, struct ux_add_result *r, struct ux_error *err)
{
	UX_ARENA(arena, MODULE_BUDGET);
	struct ux_module m = {.number = p->of.module};
	char reason[128];
	UX_TRY(ux_sqlite_module_fill(db, &arena, &m, err));
	UX_TRY(learn_ids(db, p->of.ns, &m, s, err));
	struct ux_candidate c = p->candidate;
	c.state = UX_CANDIDATE_READY;
	c.kind = s->kind;
	c.quality = s->quality;
	c.counts = s->counts;
	c.holds = s->holds;
	*r = ux_candidate_judge(&m, &c);
	r->module = m.number;
	if (r->add == UX_ADD_POORER) {
		ux_candidate_poorer_text(r, c.quality, reason, sizeof(reason));
		UX_TRY(ux_sqlite_uploads_settle(db, c.number, UX_UPLOAD_FAILED, "better-there",
						reason, now, err));
		return delete (db, c.number, err);
	}
	r->candidate = c.number;
	UX_TRY(write_settled(db, c.number, s, err));
	if (s->derived)
		UX_TRY(add_derived(db, p, &m, s->derived, now, err));
	return ux_sqlite_uploads_settle(db, c.number, UX_UPLOAD_DONE, "uploaded", "", now, err);
}

static enum ux_code settle_failed(struct ux_db *db, const struct placed *p,
				  const struct ux_settled *s, ux_time now, struct ux_add_result *r,
				  struct ux_error *err)
{
	*r = (struct ux_add_result){.module = p->of.module,
				    .candidate = p->candidate.number,
				    .state = UX_CANDIDATE_FAILED};
	UX_TRY(write_settled(db, p->candidate.number, s, err));
	return ux_sqlite_uploads_settle(db, p->candidate.number, UX_UPLOAD_FAILED, "failed",
					s->reason, now, err);
}

static enum ux_code tell_settled(struct ux_db *db, const struct placed *p,
				 const struct ux_settled *s, const struct ux_add_result *r,
				 ux_time now, struct ux_error *err)
{
	static const struct ux_who server = {.key_id = "", .from = "server"};
	bool failed = s->state == UX_CANDIDATE_FAILED;
	const char *what = failed                    ? "extract-failed"
			   : r->add == UX_ADD_POORER ? "extract-poorer"
						     : "extract";
	return ux_sqlite_audit(db, &server, now, p->of.ns, what, p->of.id,
			       failed ? s->reason : ux_quality_name(s->quality), p->of.module, err);
}

static enum ux_code settle(struct ux_index *ix, int64_t candidate, const struct ux_settled *what,
			   ux_time now, struct ux_add_result *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_ARENA(arena, 1 << 20);
	struct placed p;
	struct ux_add_result r;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(read_placed(db, candidate, &arena, &p, err));
	if (what->state == UX_CANDIDATE_FAILED)
		UX_TRY(settle_failed(db, &p, what, now, &r, err));
	else
		UX_TRY(settle_ready(db, &p, what, now, &r, err));
	UX_TRY(module_changed(db, p.of.module, now, err));
	if (p.candidate.state == UX_CANDIDATE_PENDING)
		UX_TRY(tell_settled(db, &p, what, &r, now, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = r;
	return UX_OK;
}

static enum ux_code retry_run(struct ux_db *db, enum ux_sql which, unsigned parser, ux_time now,
			      uint64_t *ret, struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_int(&st, 1, parser);
	if (which == UX_SQL_JOBS_RETRY)
		ux_stmt_int(&st, 2, now);
	return ux_stmt_run(&st, ret, err);
}

static enum ux_code retry_failed(struct ux_index *ix, unsigned parser, ux_time now, uint64_t *ret,
				 struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(retry_run(db, UX_SQL_JOBS_RETRY, parser, now, NULL, err));
	UX_TRY(retry_run(db, UX_SQL_CANDIDATES_RETRY, parser, now, &n, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n;
	return UX_OK;
}

static enum ux_code requeue(struct ux_index *ix, ux_time now, uint64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_JOBS_REQUEUE);
	ux_stmt_int(&st, 1, now);
	return ux_stmt_run(&st, ret, err);
}

void ux_sqlite_candidates_init(struct ux_index *ix)
{
	ix->modules.add = module_add;
	ix->modules.settle = settle;
	ix->modules.candidate = module_candidate;
	ix->modules.candidate_remove = candidate_remove;
	ix->modules.retry_failed = retry_failed;
	ix->modules.requeue = requeue;
}
