/* SPDX-License-Identifier: Apache-2.0 */
/* The SQL index: its connections and the filter of its IDs. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(texts, const char *);

enum ux_code ux_stmt_read_texts(struct ux_stmt *st, struct ux_arena *arena, const char ***ret,
				size_t *ret_n, struct ux_error *err)
{
	ux_cleanup(texts_deinit) struct texts v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row) {
		const char *text = ux_stmt_get_text(st, 0, arena);
		if (!text)
			return ux_arena_fail(arena, err);
		if (!texts_append(&v, text))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	*ret = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	if (!*ret)
		return ux_arena_fail(arena, err);
	*ret_n = v.size;
	return UX_OK;
}

static void index_close(struct ux_index *ix)
{
	if (!ix)
		return;
	struct ux_index_sql *s = ux_index_sql_of(ix);
	ux_readers_close(&s->readers);
	ux_readers_close(&s->replica);
	ux_db_close(&s->watch_replica);
	ux_db_close(&s->writer);
	ux_db_close(&s->watch);
	free(s->location);
	ux_id_filter_destroy(s->filter);
	free(s);
}

/* counts no more IDs than a filter is made for: that would take minutes */
UX_SQL(sql_ids_count, "SELECT count(*) FROM (SELECT 1 FROM ids LIMIT :most) i");

static enum ux_code index_count_ids(struct ux_db *db, uint64_t *ret)
{
	UX_STMT(st, db, &sql_ids_count);
	ux_stmt_bind_int(&st, ":most", UX_ID_FILTER_MAX + 1);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, NULL));
	*ret = row ? (uint64_t)ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

UX_SQL(sql_ids_all, "SELECT ns, id FROM ids");

static enum ux_code index_add_ids(struct ux_db *db, struct ux_id_filter *f)
{
	UX_STMT(st, db, &sql_ids_all);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, NULL));
	while (row) {
		const char *ns = ux_stmt_peek_text(&st, 0), *id = ux_stmt_peek_text(&st, 1);
		if (!ns || !id)
			return UX_ENOMEM;
		ux_id_filter_add(f, ns, id);
		UX_TRY(ux_stmt_step(&st, &row, NULL));
	}
	return UX_OK;
}

static void index_make_filter(struct ux_index_sql *s)
{
	uint64_t n = 0;
	if (index_count_ids(&s->writer, &n) != UX_OK)
		return;
	struct ux_id_filter *f = ux_id_filter_create(n);
	if (!f || index_add_ids(&s->writer, f) != UX_OK) {
		ux_id_filter_destroy(f);
		return;
	}
	s->filter = s->writer.filter = f;
}

void ux_index_own(struct ux_index *ix)
{
	struct ux_index_sql *s = ux_index_sql_of(ix);
	index_make_filter(s);
	/* without it, commits sometimes wait for the copying */
	(void)!ux_db_checkpoint_aside(&s->writer, NULL);
}

void ux_index_throw_away(struct ux_index *ix)
{
	ux_index_writer(ix)->throwaway = true;
}

enum ux_code ux_index_read_from(struct ux_index *ix, const char *url, struct ux_error *err)
{
	if (!ux_db_is_url(url))
		return ux_error_set(err, UX_EINVAL,
				    "index-replica %.100s; expected postgres://HOST/NAME", url);
	return ux_readers_init(&ux_index_sql_of(ix)->replica, url, err);
}

void ux_index_limit(struct ux_index *ix, struct ux_room *room)
{
	ux_index_writer(ix)->room = room;
}

bool ux_index_may_have(struct ux_index *ix, const char *ns, const char *id)
{
	const struct ux_id_filter *f = ux_index_sql_of(ix)->filter;
	return !f || ux_id_filter_may_have(f, ns, id);
}

static enum ux_code index_copy(struct ux_index *ix, const char *path, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_LONG, err);
	return ux_db_copy(db, path, err);
}

static enum ux_code index_sync(struct ux_index *ix, enum ux_sync what, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	return ux_db_sync(db, what == UX_SYNC_ALL ? ux_db_committed(db) : ux_db_promised(db), err);
}

static void index_connections(struct ux_index *ix, bool replica, struct ux_index_connections *ret)
{
	struct ux_index_sql *s = ux_index_sql_of(ix);
	struct ux_db_counts counts = {0};
	*ret = (struct ux_index_connections){.replica = s->replica.path != NULL,
					     .answers = ux_replica_answers(ix)};
	ux_readers_count(replica ? &s->replica : &s->readers, ret, &counts);
	if (!replica)
		ux_db_count(&s->writer, &counts);
	ret->round_trips = counts.round_trips;
	ret->connected = counts.connected;
	ret->refused = counts.refused;
}

bool ux_index_is_url(const char *location)
{
	return ux_db_is_url(location);
}

enum ux_code ux_index_open(struct ux_index **ret, const char *path, struct ux_error *err)
{
	struct ux_index_sql *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	s->base.version = UX_INDEX_VERSION;
	s->base.close = index_close;
	s->base.copy = index_copy;
	s->base.sync = index_sync;
	s->base.connections = index_connections;
	ux_modules_init(&s->base);
	ux_module_known_init(&s->base);
	ux_candidates_init(&s->base);
	ux_retention_init(&s->base);
	ux_blob_rows_init(&s->base);
	ux_uploads_init(&s->base);
	ux_sources_init(&s->base);
	ux_fetched_init(&s->base);
	ux_jobs_init(&s->base);
	ux_namespaces_init(&s->base);
	ux_keys_init(&s->base);
	ux_row_sums_init(&s->base);
	ux_audit_init(&s->base);
	ux_supplementary_init(&s->base);
	ux_kept_profiles_init(&s->base);
	ux_packages_init(&s->base);
	ux_package_status_init(&s->base);
	ux_stored_objects_init(&s->base);
	ux_nodes_init(&s->base);
	s->location = strdup(path);
	enum ux_code code = s->location ? ux_db_open(&s->writer, path, err) : ux_error_nomem(err);
	if (code == UX_OK)
		code = ux_db_migrate(&s->writer, err);
	if (code == UX_OK)
		code = ux_readers_open(&s->readers, path, err);
	if (code != UX_OK) {
		index_close(&s->base);
		return code;
	}
	*ret = &s->base;
	return UX_OK;
}
