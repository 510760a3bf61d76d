/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that agents found under one build ID, although they are different files. Any user of a host
 * can run a program with the build ID of another one, so a build ID alone proves nothing there.
 */
#include "index_sql.h"

#include "id.h"
#include "json_out.h"

/* The modules that an arrival's IDs name. 0: none. */
struct apart_targets {
	int64_t by_file;  /* by its File IDs */
	int64_t by_build; /* by the others */
};

const char *ux_arrival_file_id(const struct ux_arrival *what)
{
	for (size_t i = 0; i < what->n_ids; i++)
		if (ux_id_text_is_file(what->ids[i]))
			return what->ids[i];
	return "";
}

/* Returns the first ID that is not a File ID, or "". */
static const char *arrival_build_id(const struct ux_arrival *what)
{
	for (size_t i = 0; i < what->n_ids; i++)
		if (!ux_id_text_is_file(what->ids[i]))
			return what->ids[i];
	return "";
}

/* --- the modules of the IDs ------------------------------------------------------------------- */

UX_SQL(sql_modules_of_ids, "SELECT i.module, i.id, " UX_SQL_ID_FITS(
				   "i.") " FROM json_each(:ids) e CROSS JOIN ids i "
					 "WHERE i.ns = :ns AND i.id = e.value ORDER BY e.key");

/* Writes the IDs that belong to only one module; a single ID in any case. */
static enum ux_code arrival_write_ids(const struct ux_arrival *what, struct ux_out *list,
				      struct ux_error *err)
{
	struct ux_json j = ux_json_make(list);
	ux_json_array_begin(&j);
	for (size_t i = 0; i < what->n_ids; i++)
		if (!ux_id_is_shared(what->ids[i]) || what->n_ids == 1)
			ux_json_cstr(&j, what->ids[i]);
	ux_json_array_end(&j);
	ux_out_u8(list, 0);
	return ux_out_status(list, err);
}

static enum ux_code targets_fail(const char *a, const char *b, struct ux_error *err)
{
	return ux_error_set(err, UX_ECONFLICT, "IDs %.60s and %.60s belong to different modules", a,
			    b);
}

static enum ux_code targets_find(struct ux_db *db, const struct ux_arrival *what,
				 struct apart_targets *ret, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	char by[2][UX_INDEX_ID_BYTES + 1] = {"", ""}; /* the first ID of each */
	bool row = false;
	*ret = (struct apart_targets){0};
	UX_TRY(arrival_write_ids(what, &list, err));
	UX_STMT(st, db, &sql_modules_of_ids);
	ux_stmt_bind_text(&st, ":ids", (const char *)list.data);
	ux_stmt_bind_text(&st, ":ns", what->ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const int64_t module = ux_stmt_get_int(&st, 0);
		const char *id = ux_stmt_peek_text(&st, 1);
		if (!id)
			return ux_error_nomem(err);
		if (ux_stmt_get_int(&st, 2) == 0)
			return ux_row_fail_damaged("ids", id, err);
		const bool file = ux_id_text_is_file(id);
		int64_t *target = file ? &ret->by_file : &ret->by_build;
		if (*target != 0 && *target != module)
			return targets_fail(by[file], id, err);
		if (*target == 0)
			snprintf(by[file], sizeof(by[file]), "%s", id);
		*target = module;
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

/* --- moving candidates ------------------------------------------------------------------------ */

UX_SQL(sql_apart_ids, "UPDATE ids SET module = :to, offer = (SELECT CASE WHEN marked <> 0 THEN -1 "
		      "ELSE offer END FROM modules WHERE number = :to) "
		      "WHERE module = :of AND (:id = '' OR id = :id)");

UX_SQL(sql_apart_sources,
       "UPDATE sources SET module = :to WHERE module = :of AND candidate IN (SELECT number FROM "
       "candidates WHERE module = :of AND (:id = '' OR (file_id = :id AND trust BETWEEN 1 AND 3)))");

UX_SQL(sql_apart_candidates,
       "UPDATE candidates SET module = :to, apart_from = :apart_from "
       "WHERE module = :of AND (:id = '' OR (file_id = :id AND trust BETWEEN 1 AND 3))");

static enum ux_code apart_run(struct ux_db *db, const struct ux_sql *sql, int64_t of, int64_t to,
			      const char *id, const char *apart_from, struct ux_error *err)
{
	UX_STMT(st, db, sql);
	ux_stmt_bind_int(&st, ":of", of);
	ux_stmt_bind_int(&st, ":to", to);
	ux_stmt_bind_text(&st, ":id", id);
	if (sql == &sql_apart_candidates)
		ux_stmt_bind_text(&st, ":apart_from", apart_from);
	return ux_stmt_run(&st, NULL, err);
}

/* Moves a File ID (""; everything) and the candidates that agents sent for it. */
static enum ux_code apart_move(struct ux_db *db, int64_t of, int64_t to, const char *id,
			       const char *apart_from, struct ux_error *err)
{
	UX_TRY(apart_run(db, &sql_apart_sources, of, to, id, apart_from, err));
	UX_TRY(apart_run(db, &sql_apart_candidates, of, to, id, apart_from, err));
	return apart_run(db, &sql_apart_ids, of, to, id, apart_from, err);
}

UX_SQL(sql_apart_is_only,
       "SELECT NOT EXISTS (SELECT 1 FROM ids WHERE module = :module AND id NOT LIKE 'file:%') AND "
       "EXISTS (SELECT 1 FROM candidates WHERE module = :module AND apart_from = :from)");

/* Tests whether the module holds a file that was kept apart from a build ID, and nothing else. */
static enum ux_code apart_is_only(struct ux_db *db, int64_t module, const char *from, bool *ret,
				  struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_apart_is_only);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_text(&st, ":from", from);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row && ux_stmt_get_int(&st, 0) != 0;
	return UX_OK;
}

UX_SQL(sql_apart_doubles, "DELETE FROM candidates WHERE module = :of AND blob IN "
			  "(SELECT blob FROM candidates WHERE module = :to)");

UX_SQL(sql_apart_ended, "DELETE FROM modules WHERE number = :of");

/* Makes a module that was kept apart a part of another one again. */
static enum ux_code apart_rejoin(struct ux_db *db, int64_t of, int64_t to, struct ux_error *err)
{
	UX_STMT(doubles, db, &sql_apart_doubles);
	ux_stmt_bind_int(&doubles, ":of", of);
	ux_stmt_bind_int(&doubles, ":to", to);
	UX_TRY(ux_stmt_run(&doubles, NULL, err));
	UX_TRY(apart_move(db, of, to, "", "", err));
	UX_STMT(ended, db, &sql_apart_ended);
	ux_stmt_bind_int(&ended, ":of", of);
	return ux_stmt_run(&ended, NULL, err);
}

/* --- other files ------------------------------------------------------------------------------ */

/* What agents sent of a module for other files than the arrival's: the best of them. */
UX_SQL(sql_apart_other,
       "SELECT c.trust, c.file_id FROM candidates c WHERE c.module = :module AND c.trust BETWEEN 1 "
       "AND 3 AND c.file_id NOT IN ('', :id) AND NOT EXISTS (SELECT 1 FROM candidates o WHERE "
       "o.module = :module AND o.trust NOT BETWEEN 1 AND 3 AND o.file_id = c.file_id) "
       "ORDER BY c.trust DESC, c.file_id LIMIT 1");

UX_SQL(sql_apart_same,
       "SELECT max(trust) FROM candidates WHERE module = :module AND file_id = :id");

static enum ux_code apart_same_trust(struct ux_db *db, int64_t module, const char *id,
				     enum ux_trust *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_apart_same);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_text(&st, ":id", id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row && !ux_stmt_is_null(&st, 0) ? ux_trust_of_column(ux_stmt_get_int(&st, 0))
					       : UX_TRUST_NONE;
	return UX_OK;
}

/* Finds the most trusted other file. other[0] == '\0': there is none. */
static enum ux_code apart_find_other(struct ux_db *db, int64_t module, const char *id,
				     enum ux_trust *ret, char other[UX_INDEX_ID_BYTES + 1],
				     struct ux_error *err)
{
	bool row = false;
	other[0] = '\0';
	UX_STMT(st, db, &sql_apart_other);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_text(&st, ":id", id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return UX_OK;
	const char *text = ux_stmt_peek_text(&st, 1);
	if (!text)
		return ux_error_nomem(err);
	snprintf(other, UX_INDEX_ID_BYTES + 1, "%s", text);
	*ret = ux_trust_of_column(ux_stmt_get_int(&st, 0));
	return UX_OK;
}

/* Keeps the arrival apart: its module has the File IDs alone. */
static void apart_take(struct ux_apart *a, const char *from, int64_t module)
{
	size_t n = 0;
	for (size_t i = 0; i < a->what.n_ids; i++)
		if (ux_id_text_is_file(a->what.ids[i]))
			a->ids[n++] = a->what.ids[i];
	a->what.ids = a->ids;
	a->what.n_ids = n;
	a->from = from;
	a->module = module;
}

/* Moves the other files out of the module, or keeps the arrival apart from them. */
static enum ux_code apart_decide(struct ux_db *db, struct ux_apart *a, enum ux_trust trust,
				 ux_time now, struct ux_error *err)
{
	const char *from = arrival_build_id(&a->what), *id = ux_arrival_file_id(&a->what);
	char other[UX_INDEX_ID_BYTES + 1];
	enum ux_trust theirs = UX_TRUST_NONE, same = UX_TRUST_NONE;
	UX_TRY(apart_same_trust(db, a->module, id, &same, err));
	UX_TRY(apart_find_other(db, a->module, id, &theirs, other, err));
	if (other[0] != '\0' && theirs >= trust && theirs > same) {
		apart_take(a, from, 0);
		return UX_OK;
	}
	while (other[0] != '\0') {
		int64_t module = 0;
		UX_TRY(ux_module_row_add(db, a->what.ns, now, &module, err));
		UX_TRY(apart_move(db, a->module, module, other, from, err));
		UX_TRY(apart_find_other(db, a->module, id, &theirs, other, err));
	}
	return UX_OK;
}

/* The File ID has a module of its own. */
static enum ux_code apart_settle_both(struct ux_db *db, struct ux_apart *a,
				      const struct apart_targets *t, enum ux_trust trust,
				      struct ux_error *err)
{
	const char *from = arrival_build_id(&a->what), *id = ux_arrival_file_id(&a->what);
	char other[UX_INDEX_ID_BYTES + 1] = "";
	enum ux_trust theirs = UX_TRUST_NONE;
	bool apart = false;
	UX_TRY(apart_is_only(db, t->by_file, from, &apart, err));
	if (!apart)
		return targets_fail(from, id, err);
	if (ux_trust_is_found(trust))
		UX_TRY(apart_find_other(db, t->by_build, id, &theirs, other, err));
	if (other[0] != '\0' && theirs >= trust)
		apart_take(a, from, t->by_file);
	else
		UX_TRY(apart_rejoin(db, t->by_file, t->by_build, err));
	return UX_OK;
}

enum ux_code ux_arrival_keep_apart(struct ux_db *db, const struct ux_arrival *what,
				   enum ux_trust trust, ux_time now, struct ux_apart *ret,
				   struct ux_error *err)
{
	struct apart_targets t;
	*ret = (struct ux_apart){.what = *what, .from = ""};
	UX_TRY(targets_find(db, what, &t, err));
	ret->module = t.by_build != 0 ? t.by_build : t.by_file;
	if (t.by_build != 0 && t.by_file != 0 && t.by_build != t.by_file)
		UX_TRY(apart_settle_both(db, ret, &t, trust, err));
	if (ret->from[0] != '\0' || t.by_build == 0 || !ux_trust_is_found(trust) ||
	    ux_arrival_file_id(what)[0] == '\0')
		return UX_OK;
	return apart_decide(db, ret, trust, now, err);
}
