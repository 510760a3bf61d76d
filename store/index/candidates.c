/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates: adding them, recording measurements, removing them. */
#include "index_sql.h"

#include "path_base.h"

enum {
	MODULE_BUDGET = 64 << 20, /* bytes of one module's rows */
};

enum ux_quality ux_quality_of_column(int64_t v)
{
	return v > 0 && v < UX_QUALITY_COUNT ? (enum ux_quality)v : UX_QUALITY_NONE;
}

enum ux_trust ux_trust_of_column(int64_t v)
{
	return v > 0 && v < UX_TRUST_COUNT ? (enum ux_trust)v : UX_TRUST_NONE;
}

void ux_provenance_bind(struct ux_stmt *st, const struct ux_provenance *p)
{
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++) {
		char name[32];
		snprintf(name, sizeof(name), ":%s", ux_provenance_name((enum ux_provenance_fact)i));
		ux_stmt_bind_text(st, name, p->facts[i]);
	}
}

enum ux_code ux_provenance_read(struct ux_stmt *st, int first, struct ux_arena *arena,
				struct ux_provenance *ret, struct ux_error *err)
{
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++) {
		ret->facts[i] = ux_stmt_get_text(st, first + i, arena);
		if (!ret->facts[i])
			return ux_arena_fail(arena, err);
	}
	return UX_OK;
}

static enum ux_code candidate_kind_of(const char *text, enum ux_kind *ret, struct ux_error *err)
{
	return ux_kind_parse(ux_bytes_cstr(text), ret)
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the index is damaged: kind %.32s", text);
}

static struct ux_counts candidate_counts_of(struct ux_stmt *st, int first)
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

/*
 * Reads the rest of a row that does not fit its sum: a failed candidate, so that no answer uses it
 * and the next one answers.
 */
static enum ux_code candidate_read_damaged(struct ux_stmt *st, const char *kind,
					   struct ux_arena *arena, struct ux_candidate *ret,
					   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	char key[24];
	snprintf(key, sizeof(key), "%" PRId64, ret->number);
	(void)!ux_row_fail_damaged("candidates", key, &why);
	if (!ux_kind_parse(ux_bytes_cstr(kind), &ret->kind))
		ret->kind = UX_KIND_GSYM;
	if (ux_stmt_get_bytes(st, 5, ret->blob.bytes, sizeof(ret->blob.bytes), NULL) != UX_OK)
		ret->blob = (struct ux_blob_hash){0};
	ret->state = UX_CANDIDATE_FAILED;
	ret->reason = ux_arena_strndup(arena, why.text, strlen(why.text));
	return ret->reason ? UX_OK : ux_arena_fail(arena, err);
}

enum ux_code ux_candidate_row_read(struct ux_stmt *st, struct ux_arena *arena,
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
		.quality = ux_quality_of_column(ux_stmt_get_int(st, 7)),
		.claim = ux_quality_of_column(ux_stmt_get_int(st, 8)),
		.counts = candidate_counts_of(st, 9),
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
		.trust = ux_trust_of_column(ux_stmt_get_int(st, 26)),
		.file_id = ux_stmt_get_text(st, 27, arena),
		.apart_from = ux_stmt_get_text(st, 28, arena),
	};
	ret->damaged = ux_stmt_get_int(st, UX_CANDIDATE_FITS) == 0;
	if (!kind || !ret->reason || !ret->origin_name || !ret->description || !ret->file_name ||
	    !ret->key_id || !ret->file_id || !ret->apart_from)
		return ux_arena_fail(arena, err);
	UX_TRY(ux_provenance_read(st, UX_CANDIDATE_PROVENANCE, arena, &ret->provenance, err));
	if (ret->damaged)
		return candidate_read_damaged(st, kind, arena, ret, err);
	UX_TRY(candidate_kind_of(kind, &ret->kind, err));
	return ux_stmt_get_bytes(st, 5, ret->blob.bytes, sizeof(ret->blob.bytes), err);
}

static void candidate_bind_counts(struct ux_stmt *st, const struct ux_counts *c)
{
	ux_stmt_bind_int(st, ":functions", (int64_t)c->functions);
	ux_stmt_bind_int(st, ":inlines", (int64_t)c->inlines);
	ux_stmt_bind_int(st, ":rows", (int64_t)c->rows);
	ux_stmt_bind_int(st, ":code_bytes", (int64_t)c->code_bytes);
	ux_stmt_bind_int(st, ":line_bytes", (int64_t)c->line_bytes);
	ux_stmt_bind_int(st, ":unnamed", (int64_t)c->unnamed);
	ux_stmt_bind_int(st, ":unnamed_bytes", (int64_t)c->unnamed_bytes);
}

/* Binds the columns that describe the content, as far as it was read. */
static void candidate_bind_content(struct ux_stmt *st, const struct ux_candidate *c)
{
	ux_stmt_bind_text(st, ":kind", ux_kind_name(c->kind));
	ux_stmt_bind_int(st, ":state", c->state);
	ux_stmt_bind_text(st, ":reason", c->reason);
	ux_stmt_bind_int(st, ":quality", c->quality);
	candidate_bind_counts(st, &c->counts);
	ux_stmt_bind_int(st, ":code_total", (int64_t)c->code_total);
	ux_stmt_bind_int(st, ":holds", c->holds);
	ux_stmt_bind_int(st, ":parser", c->parser);
	ux_stmt_bind_int(st, ":forced", c->forced);
}

/* Binds the columns that describe the upload. */
static void candidate_bind_upload(struct ux_stmt *st, const struct ux_candidate *c)
{
	ux_stmt_bind_int(st, ":origin", c->origin);
	ux_stmt_bind_text(st, ":origin_name", c->origin_name);
	ux_stmt_bind_text(st, ":description", c->description);
	ux_stmt_bind_text(st, ":file_name", c->file_name);
	ux_stmt_bind_text(st, ":base_name", ux_path_base(c->file_name));
	ux_stmt_bind_text(st, ":key_id", c->key_id);
	ux_stmt_bind_int(st, ":trust", c->trust);
	ux_stmt_bind_text(st, ":file_id", c->file_id ? c->file_id : "");
	ux_provenance_bind(st, &c->provenance);
}

static bool candidate_is_cached(const struct ux_candidate *c)
{
	return c->parent != 0 || c->origin == UX_ORIGIN_UPSTREAM;
}

UX_SQL(sql_candidate_add,
       "INSERT INTO candidates (ns, module, parent, kind, state, reason, blob, size, "
       "quality, claim, functions, inlines, rows, code_bytes, line_bytes, unnamed, "
       "unnamed_bytes, code_total, holds, parser, forced, origin, origin_name, "
       "description, file_name, base_name, key_id, created, cached, trust, file_id, "
       "apart_from, " UX_SQL_PROVENANCE(
	       "") ") "
		   "VALUES (:ns, :module, :parent, :kind, :state, :reason, :blob, :size, "
		   ":quality, :claim, :functions, :inlines, :rows, :code_bytes, :line_bytes, "
		   ":unnamed, :unnamed_bytes, :code_total, :holds, :parser, :forced, :origin, "
		   ":origin_name, :description, :file_name, :base_name, :key_id, :now, :cached, "
		   ":trust, :file_id, :apart_from, " UX_SQL_PROVENANCE(":") ") RETURNING number");

static enum ux_code candidate_insert(struct ux_db *db, const char *ns, int64_t module,
				     const struct ux_candidate *c, ux_time now, int64_t *ret,
				     struct ux_error *err)
{
	UX_TRY(ux_blob_row_add(db, &c->blob, c->size, err));
	UX_STMT(st, db, &sql_candidate_add);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_int_or_null(&st, ":parent", c->parent);
	ux_stmt_bind_bytes(&st, ":blob", c->blob.bytes, sizeof(c->blob.bytes));
	ux_stmt_bind_int(&st, ":size", (int64_t)c->size);
	ux_stmt_bind_int(&st, ":claim", c->claim);
	ux_stmt_bind_int(&st, ":now", now);
	ux_stmt_bind_int(&st, ":cached", candidate_is_cached(c));
	ux_stmt_bind_text(&st, ":apart_from", c->apart_from ? c->apart_from : "");
	candidate_bind_content(&st, c);
	candidate_bind_upload(&st, c);
	return ux_stmt_run_returning(&st, ret, err);
}

/* Writes the result of an extraction, or the state of the same bytes that arrive again after a
 * failure. */
UX_SQL(sql_candidate_content,
       "UPDATE candidates "
       "SET kind = :kind, state = :state, reason = :reason, quality = :quality, functions "
       "= :functions, inlines = :inlines, rows = :rows, code_bytes = :code_bytes, "
       "line_bytes = :line_bytes, unnamed = :unnamed, unnamed_bytes = :unnamed_bytes, "
       "code_total = :code_total, holds = :holds, parser = :parser, forced = :forced "
       "WHERE number = :number");

static enum ux_code candidate_write_content(struct ux_db *db, int64_t number,
					    const struct ux_candidate *c, struct ux_error *err)
{
	UX_STMT(st, db, &sql_candidate_content);
	ux_stmt_bind_int(&st, ":number", number);
	candidate_bind_content(&st, c);
	return ux_stmt_run(&st, NULL, err);
}

/* Makes an upload of a candidate that was extracted or fetched. */
UX_SQL(sql_candidate_adopt,
       "UPDATE candidates "
       "SET parent = NULL, cached = 0, origin = :origin, origin_name = :origin_name, "
       "description = :description, file_name = :file_name, base_name = :base_name, "
       "key_id = :key_id, trust = :trust, file_id = :file_id, " UX_SQL_PROVENANCE_SET
       " WHERE number = :number");

static enum ux_code candidate_adopt(struct ux_db *db, int64_t number, const struct ux_candidate *c,
				    struct ux_error *err)
{
	UX_STMT(st, db, &sql_candidate_adopt);
	ux_stmt_bind_int(&st, ":number", number);
	candidate_bind_upload(&st, c);
	return ux_stmt_run(&st, NULL, err);
}

/* A more trusted client sent the same bytes: it also vouches for the GSYM that was extracted from
 * them. */
UX_SQL(sql_candidate_raise,
       "UPDATE candidates SET trust = :trust, file_id = :file_id, origin = :origin, origin_name = "
       ":origin_name, description = :description, file_name = :file_name, base_name = :base_name, "
       "key_id = :key_id, " UX_SQL_PROVENANCE_SET " WHERE number = :number OR parent = :number");

static enum ux_code candidate_raise(struct ux_db *db, int64_t number, const struct ux_candidate *c,
				    struct ux_error *err)
{
	UX_STMT(st, db, &sql_candidate_raise);
	ux_stmt_bind_int(&st, ":number", number);
	candidate_bind_upload(&st, c);
	return ux_stmt_run(&st, NULL, err);
}

/* also describes the GSYM that was extracted from it */
UX_SQL(sql_candidate_describe,
       "UPDATE candidates SET description = :description, " UX_SQL_PROVENANCE_SET
       " WHERE number = :number OR parent = :number");

/* Replaces the description and the provenance after a new upload of the same bytes, if it has
 * them. */
static enum ux_code candidate_describe(struct ux_db *db, const struct ux_candidate *same,
				       const struct ux_candidate *c, struct ux_error *err)
{
	bool described = c->description[0] != '\0', traced = ux_provenance_is_known(&c->provenance);
	if (!described && !traced)
		return UX_OK;
	UX_STMT(st, db, &sql_candidate_describe);
	ux_stmt_bind_int(&st, ":number", same->number);
	ux_stmt_bind_text(&st, ":description", described ? c->description : same->description);
	ux_provenance_bind(&st, traced ? &c->provenance : &same->provenance);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_candidate_delete, "DELETE FROM candidates WHERE number = :number");

static enum ux_code candidate_delete(struct ux_db *db, int64_t number, struct ux_error *err)
{
	uint64_t n = 0;
	UX_STMT(st, db, &sql_candidate_delete);
	ux_stmt_bind_int(&st, ":number", number);
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ENOTFOUND, "no such candidate");
}

/*
 * The arrival of a candidate counts as a use, so that a module is not removed before its first
 * request.
 */
UX_SQL(sql_module_changed,
       "UPDATE modules SET updated = :now, last_used = max(last_used, :now), marked = 0 "
       "WHERE number = :module");

static enum ux_code module_changed(struct ux_db *db, int64_t module, ux_time now,
				   struct ux_error *err)
{
	UX_STMT(st, db, &sql_module_changed);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_module_add, "INSERT INTO modules (ns, created, updated, last_used) "
		       "VALUES (:ns, :now, :now, :now) RETURNING number");

enum ux_code ux_module_row_add(struct ux_db *db, const char *ns, ux_time now, int64_t *ret,
			       struct ux_error *err)
{
	UX_STMT(st, db, &sql_module_add);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run_returning(&st, ret, err);
}

static enum ux_code module_insert(struct ux_db *db, const char *ns, ux_time now, int64_t *ret,
				  struct ux_error *err)
{
	UX_TRY(ux_namespace_check_quota(db, ns, 1, 0, err));
	UX_TRY(ux_namespace_ensure(db, ns, now, err));
	return ux_module_row_add(db, ns, now, ret, err);
}

/* The module's offer, which a query reads (store/schema/0022-trust.sql). */
#define ID_ADD                                                                           \
	"INSERT INTO ids (ns, id, module, rank, offer) SELECT :ns, :id, number, :rank, " \
	"CASE WHEN marked <> 0 THEN -1 ELSE offer END FROM modules WHERE number = :module"

UX_SQL(sql_id_take, ID_ADD " ON CONFLICT (ns, id) DO UPDATE SET module = excluded.module, "
			   "offer = excluded.offer");

UX_SQL(sql_id_add, ID_ADD);

enum ux_code ux_module_ids_add(struct ux_db *db, const char *ns, const struct ux_module *m,
			       const char *const *ids, size_t n, struct ux_error *err)
{
	UX_TRY(ux_ids_agree(m, ids, n, err));
	for (size_t i = 0; i < n; i++) {
		if (ux_text_among((const char *const *)m->ids, m->n_ids, ids[i]) ||
		    ux_text_among(ids, i, ids[i]))
			continue;
		UX_STMT(st, db, ux_id_is_shared(ids[i]) ? &sql_id_take : &sql_id_add);
		ux_stmt_bind_text(&st, ":ns", ns);
		ux_stmt_bind_text(&st, ":id", ids[i]);
		ux_stmt_bind_int(&st, ":module", m->number);
		ux_stmt_bind_int(&st, ":rank", ux_id_rank(ids[i]));
		if (db->filter) /* before other connections can see the row */
			ux_id_filter_add(db->filter, ns, ids[i]);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return UX_OK;
}

/*
 * The bytes of a candidate arrived again. A less trusted client changes nothing about them but that
 * extracted or fetched ones, which can be made again, are kept as an upload.
 */
static enum ux_code candidate_know_again(struct ux_db *db, const struct ux_candidate *same,
					 const struct ux_candidate *c, struct ux_error *err)
{
	const bool adopt = candidate_is_cached(same) && !candidate_is_cached(c);
	if (c->trust < same->trust)
		return UX_OK;
	if (adopt)
		UX_TRY(candidate_adopt(db, same->number, c, err));
	if (c->trust > same->trust)
		return candidate_raise(db, same->number, c, err);
	return adopt ? UX_OK : candidate_describe(db, same, c, err);
}

/* Writes the candidate according to the result of ux_candidate_judge(). */
static enum ux_code candidate_store(struct ux_db *db, const struct ux_arrival *what,
				    const struct ux_module *m, const struct ux_candidate *c,
				    ux_time now, struct ux_add_result *r, struct ux_error *err)
{
	const struct ux_candidate *same = ux_candidate_same(m, c);
	/* the same bytes arrive again: the new row replaces the damaged one */
	if (same && same->damaged) {
		UX_TRY(candidate_delete(db, same->number, err));
		same = NULL;
	}
	if (!same && r->add == UX_ADD_NEW) {
		if (m->n_candidates >= UX_INDEX_CANDIDATES_MAX)
			return ux_error_set(err, UX_ELIMIT,
					    "the module already has %zu candidates, the maximum",
					    m->n_candidates);
		if (!candidate_is_cached(c))
			UX_TRY(ux_namespace_check_quota(db, what->ns, 0, c->size, err));
		UX_TRY(candidate_insert(db, what->ns, m->number, c, now, &r->candidate, err));
	} else if (same && r->add != UX_ADD_POORER) {
		r->candidate = same->number;
		r->state = same->state;
		if (r->add == UX_ADD_NEW) {
			UX_TRY(candidate_write_content(db, same->number, c, err));
			r->state = c->state;
		}
		UX_TRY(candidate_know_again(db, same, c, err));
	}
	return r->candidate != 0 && r->state == UX_CANDIDATE_PENDING
		       ? ux_job_add_extract(db, what->ns, r->candidate, now, err)
		       : UX_OK;
}

/* Tests whether the candidate was refused because the module has a more trusted one. */
static bool candidate_is_outranked(const struct ux_add_result *r, const struct ux_candidate *c)
{
	return r->add == UX_ADD_POORER && c->trust < r->best_trust;
}

/* Updates other rows after a candidate and its IDs were written. */
static enum ux_code candidate_arrived(struct ux_db *db, int64_t module,
				      const struct ux_candidate *c, ux_time now,
				      struct ux_add_result *r, struct ux_error *err)
{
	if (r->add == UX_ADD_NEW && r->state == UX_CANDIDATE_READY &&
	    (c->holds & UX_HOLDS_DEBUG) != 0)
		UX_TRY(ux_supplementary_arrived(db, module, c->forced, now, &r->queued, err));
	return module_changed(db, module, now, err);
}

/*
 * Adds a candidate and its IDs. Aliases are added even if the candidate itself is refused as
 * poorer, but not if it is refused as less trusted. They are added after it, so that their rows are
 * written once, with the module's new offer.
 */
enum ux_code ux_candidate_row_add(struct ux_db *db, const struct ux_arrival *what,
				  const struct ux_candidate *cand, ux_time now,
				  struct ux_add_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, MODULE_BUDGET);
	struct ux_module m = {0};
	struct ux_apart apart;
	if (what->n_ids == 0 || what->n_ids > UX_INDEX_IDS_MAX || cand->size > INT64_MAX)
		return ux_error_set(err, UX_EINVAL, "a candidate needs 1 to %d IDs",
				    UX_INDEX_IDS_MAX);
	UX_TRY(ux_arrival_keep_apart(db, what, cand->trust, now, &apart, err));
	m.number = apart.module;
	if (m.number == 0) /* a new module without IDs and candidates */
		UX_TRY(module_insert(db, what->ns, now, &m.number, err));
	else
		UX_TRY(ux_module_row_fill(db, &arena, &m, err));
	struct ux_candidate c = *cand;
	c.forced = what->force;
	c.file_id = ux_arrival_file_id(what);
	c.apart_from = apart.from;
	struct ux_add_result r = ux_candidate_judge(&m, &c);
	r.module = m.number;
	r.apart = apart.from[0] != '\0';
	UX_TRY(candidate_store(db, &apart.what, &m, &c, now, &r, err));
	if (!candidate_is_outranked(&r, &c))
		UX_TRY(ux_module_ids_add(db, what->ns, &m, apart.what.ids, apart.what.n_ids, err));
	UX_TRY(candidate_arrived(db, m.number, &c, now, &r, err));
	*ret = r;
	return UX_OK;
}

static enum ux_code candidate_add(struct ux_index *ix, const struct ux_arrival *what,
				  const struct ux_candidate *cand, const struct ux_who *who,
				  ux_time now, struct ux_add_result *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct ux_add_result r;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_candidate_row_add(db, what, cand, now, &r, err));
	if (r.add == UX_ADD_NEW)
		UX_TRY(ux_audit_write(db, who, now, what->ns, "candidate-add", what->ids[0],
				      ux_kind_name(cand->kind), r.module, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = r;
	return UX_OK;
}

/* One candidate and its module. */
struct candidate_row {
	struct ux_candidate candidate;
	struct ux_idle of;
};

UX_SQL(sql_candidate, "SELECT " UX_SQL_CANDIDATE_COLUMNS ", m.number, m.ns, " UX_SQL_FIRST_ID
		      ", m.last_used, m.marked, " UX_SQL_MODULE_BYTES " FROM candidates c "
		      "JOIN modules m ON m.number = c.module WHERE c.number = :number");

static enum ux_code candidate_row_find(struct ux_db *db, int64_t number, struct ux_arena *arena,
				       struct candidate_row *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_candidate);
	ux_stmt_bind_int(&st, ":number", number);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "no such candidate");
	UX_TRY(ux_candidate_row_read(&st, arena, &ret->candidate, err));
	const int at = UX_CANDIDATE_COLUMN_COUNT;
	ret->of = (struct ux_idle){.module = ux_stmt_get_int(&st, at),
				   .ns = ux_stmt_get_text(&st, at + 1, arena),
				   .id = ux_stmt_get_text(&st, at + 2, arena),
				   .last_used = ux_stmt_get_int(&st, at + 3),
				   .marked = ux_stmt_get_int(&st, at + 4),
				   .bytes = (uint64_t)ux_stmt_get_int(&st, at + 5)};
	return ret->of.ns && ret->of.id ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code candidate_get(struct ux_index *ix, int64_t number, struct ux_arena *arena,
				  struct ux_candidate *ret, struct ux_idle *ret_of,
				  struct ux_error *err)
{
	struct candidate_row p;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_TRY(candidate_row_find(db, number, arena, &p, err));
	*ret = p.candidate;
	*ret_of = p.of;
	return UX_OK;
}

static enum ux_code candidate_remove(struct ux_index *ix, int64_t number, const struct ux_who *who,
				     ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_ARENA(arena, 1 << 20);
	struct candidate_row p;
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(candidate_row_find(db, number, &arena, &p, err));
	UX_TRY(candidate_delete(db, number, err));
	ux_blob_hash_text(&p.candidate.blob, hash);
	UX_TRY(ux_audit_write(db, who, now, p.of.ns, "candidate-delete", p.of.id, hash, p.of.module,
			      err));
	return ux_tx_commit(&tx, err);
}

/* The candidate after its extraction. */
static struct ux_candidate candidate_settled(const struct ux_candidate *before,
					     const struct ux_settled *s)
{
	struct ux_candidate c = *before;
	c.kind = s->kind;
	c.state = s->state;
	c.reason = s->state == UX_CANDIDATE_FAILED ? s->reason : "";
	c.quality = s->quality;
	c.counts = s->counts;
	c.code_total = s->code_total;
	c.holds = s->holds;
	c.parser = s->parser;
	return c;
}

UX_SQL(sql_candidates_replaced,
       "DELETE FROM candidates WHERE parent = :parent AND kind = 'gsym' AND number <> :number");

/* Removes the GSYM that was extracted from the parent earlier, with fewer files. */
static enum ux_code candidate_replace(struct ux_db *db, int64_t parent, int64_t number,
				      struct ux_error *err)
{
	UX_STMT(st, db, &sql_candidates_replaced);
	ux_stmt_bind_int(&st, ":parent", parent);
	ux_stmt_bind_int(&st, ":number", number);
	return ux_stmt_run(&st, NULL, err);
}

/* Adds the extracted GSYM, unless the module has it or a better one. */
static enum ux_code candidate_add_derived(struct ux_db *db, const struct candidate_row *p,
					  const struct ux_module *m,
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
	c.provenance = p->candidate.provenance;
	c.trust = p->candidate.trust;
	c.file_id = p->candidate.file_id;
	c.apart_from = p->candidate.apart_from;
	c.file_name = p->candidate.file_name;
	c.key_id = p->candidate.key_id;
	struct ux_add_result r = ux_candidate_judge(m, &c);
	if (r.add != UX_ADD_NEW || ux_candidate_same(m, &c))
		return UX_OK;
	UX_TRY(candidate_insert(db, p->of.ns, m->number, &c, now, &number, err));
	return candidate_replace(db, c.parent, number, err);
}

/* Adds the IDs found in the file, except IDs of other modules. */
static enum ux_code module_learn_ids(struct ux_db *db, const char *ns, const struct ux_module *m,
				     const struct ux_settled *s, struct ux_error *err)
{
	const char *ids[UX_INDEX_IDS_MAX];
	size_t n = 0;
	UX_TRY(ux_ids_agree(m, s->ids, s->n_ids, err));
	for (size_t i = 0; i < s->n_ids && n < ux_countof(ids); i++) {
		struct ux_module other;
		enum ux_code code = ux_module_row_find(db, ns, s->ids[i], &other, NULL);
		if (code != UX_OK && code != UX_ENOTFOUND)
			return ux_db_fail(db, err);
		if (code == UX_ENOTFOUND)
			ids[n++] = s->ids[i];
	}
	return ux_module_ids_add(db, ns, m, ids, n, err);
}

static enum ux_code candidate_settle_ready(struct ux_db *db, struct candidate_row *p,
					   const struct ux_settled *s, ux_time now,
					   struct ux_add_result *r, struct ux_error *err)
{
	UX_ARENA(arena, MODULE_BUDGET);
	struct ux_module m = {.number = p->of.module};
	char reason[128];
	UX_TRY(ux_module_row_fill(db, &arena, &m, err));
	UX_TRY(module_learn_ids(db, p->of.ns, &m, s, err));
	struct ux_candidate c = candidate_settled(&p->candidate, s);
	*r = ux_candidate_judge(&m, &c);
	r->module = m.number;
	if (r->add == UX_ADD_POORER) {
		ux_candidate_poorer_text(r, &c, reason, sizeof(reason));
		UX_TRY(ux_uploads_settle(db, c.number, UX_UPLOAD_FAILED, "better-there", reason,
					 now, err));
		return candidate_delete(db, c.number, err);
	}
	r->candidate = c.number;
	UX_TRY(candidate_write_content(db, c.number, &c, err));
	if (s->derived)
		UX_TRY(candidate_add_derived(db, p, &m, s->derived, now, err));
	UX_TRY(ux_supplementary_put(db, p->of.ns, c.number, s, now, err));
	/*
	 * only for new files: two that refer to each other would otherwise be extracted again
	 * forever
	 */
	if (p->candidate.state == UX_CANDIDATE_PENDING && (s->holds & UX_HOLDS_DEBUG) != 0)
		UX_TRY(ux_supplementary_arrived(db, m.number, p->candidate.forced, now, &r->queued,
						err));
	return ux_uploads_settle(db, c.number, UX_UPLOAD_DONE, "uploaded", "", now, err);
}

static enum ux_code candidate_settle_failed(struct ux_db *db, const struct candidate_row *p,
					    const struct ux_settled *s, ux_time now,
					    struct ux_add_result *r, struct ux_error *err)
{
	*r = (struct ux_add_result){.module = p->of.module,
				    .candidate = p->candidate.number,
				    .state = UX_CANDIDATE_FAILED};
	const struct ux_candidate c = candidate_settled(&p->candidate, s);
	UX_TRY(candidate_write_content(db, c.number, &c, err));
	return ux_uploads_settle(db, c.number, UX_UPLOAD_FAILED, "failed", s->reason, now, err);
}

static enum ux_code candidate_audit_settled(struct ux_db *db, const struct candidate_row *p,
					    const struct ux_settled *s,
					    const struct ux_add_result *r, ux_time now,
					    struct ux_error *err)
{
	static const struct ux_who server = {.key_id = "", .from = "server"};
	bool failed = s->state == UX_CANDIDATE_FAILED;
	const char *what = failed                    ? "extract-failed"
			   : r->add == UX_ADD_POORER ? "extract-poorer"
						     : "extract";
	return ux_audit_write(db, &server, now, p->of.ns, what, p->of.id,
			      failed ? s->reason : ux_quality_name(s->quality), p->of.module, err);
}

static enum ux_code candidate_settle(struct ux_index *ix, int64_t candidate,
				     const struct ux_settled *what, ux_time now,
				     struct ux_add_result *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_ARENA(arena, 1 << 20);
	struct candidate_row p;
	struct ux_add_result r;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	/*
	 * If a power cut loses the commit, the candidate is still pending, and its job is run
	 * again.
	 */
	UX_TRY(ux_tx_begin_lazy(&tx, db, err));
	UX_TRY(candidate_row_find(db, candidate, &arena, &p, err));
	if (what->state == UX_CANDIDATE_FAILED)
		UX_TRY(candidate_settle_failed(db, &p, what, now, &r, err));
	else
		UX_TRY(candidate_settle_ready(db, &p, what, now, &r, err));
	UX_TRY(module_changed(db, p.of.module, now, err));
	if (p.candidate.state == UX_CANDIDATE_PENDING)
		UX_TRY(candidate_audit_settled(db, &p, what, &r, now, err));
	if (what->job != 0)
		UX_TRY(ux_job_end(db, what->job, what->job_owner, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = r;
	return UX_OK;
}

UX_SQL(sql_jobs_retry,
       "INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
       "SELECT 'extract', CAST(number AS TEXT), ns, number, '', :now, :now FROM candidates "
       "WHERE state = 2 AND parser < :parser AND kind <> 'gsym' " UX_SQL_JOB_RESTART);

static enum ux_code candidate_retry_run(struct ux_db *db, const struct ux_sql *which,
					unsigned parser, ux_time now, uint64_t *ret,
					struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_bind_int(&st, ":parser", parser);
	if (which == &sql_jobs_retry)
		ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_candidates_retry, "UPDATE candidates SET state = 1 WHERE state = 2 AND parser < :parser "
			     "AND kind <> 'gsym'");

static enum ux_code candidate_retry_failed(struct ux_index *ix, unsigned parser, ux_time now,
					   uint64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(candidate_retry_run(db, &sql_jobs_retry, parser, now, NULL, err));
	UX_TRY(candidate_retry_run(db, &sql_candidates_retry, parser, now, &n, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n;
	return UX_OK;
}

UX_SQL(sql_jobs_requeue,
       "INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
       "SELECT 'extract', CAST(c.number AS TEXT), c.ns, c.number, '', :now, :now FROM candidates c "
       "WHERE c.state = 1 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'extract' "
       "AND j.candidate = c.number AND j.failed = 0) " UX_SQL_JOB_RESTART);

static enum ux_code candidate_requeue(struct ux_index *ix, ux_time now, uint64_t *ret,
				      struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_jobs_requeue);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, ret, err);
}

void ux_candidates_init(struct ux_index *ix)
{
	ix->modules.add = candidate_add;
	ix->modules.settle = candidate_settle;
	ix->modules.candidate = candidate_get;
	ix->modules.candidate_remove = candidate_remove;
	ix->modules.retry_failed = candidate_retry_failed;
	ix->modules.requeue = candidate_requeue;
}
