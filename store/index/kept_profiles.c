/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of kept profiles, and of the services that have them. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(kept_rows, struct ux_kept_profile);
UX_VEC(service_rows, struct ux_profile_service);
UX_VEC(kept_texts, const char *);

enum {
	TRIM_MORE = 1000, /* profiles that an addition removes at most beyond those it adds */
};

/* Columns in the order in which kept_read() reads them. */
#define KEPT_COLUMNS                                                                          \
	"number, ns, service, host, build, started, ended, samples, level, blob, size, off, " \
	"length, key_id, created, " UX_SQL_PROFILE_FITS("") " "

static enum ux_code kept_read(struct ux_stmt *st, struct ux_arena *arena,
			      struct ux_kept_profile *ret, struct ux_error *err)
{
	*ret = (struct ux_kept_profile){
		.number = ux_stmt_get_int(st, 0),
		.ns = ux_stmt_get_text(st, 1, arena),
		.service = ux_stmt_get_text(st, 2, arena),
		.host = ux_stmt_get_text(st, 3, arena),
		.build = ux_stmt_get_text(st, 4, arena),
		.started = ux_stmt_get_int(st, 5),
		.ended = ux_stmt_get_int(st, 6),
		.samples = (uint64_t)ux_stmt_get_int(st, 7),
		.level = (int)ux_stmt_get_int(st, 8),
		.size = (uint64_t)ux_stmt_get_int(st, 10),
		.off = (uint64_t)ux_stmt_get_int(st, 11),
		.length = (uint64_t)ux_stmt_get_int(st, 12),
		.key_id = ux_stmt_get_text(st, 13, arena),
		.created = ux_stmt_get_int(st, 14),
		.damaged = ux_stmt_get_int(st, 15) == 0,
	};
	if (!ret->ns || !ret->service || !ret->host || !ret->build || !ret->key_id)
		return ux_arena_fail(arena, err);
	if (ret->damaged)
		ux_row_note_damaged();
	return ux_stmt_get_bytes(st, 9, ret->blob.bytes, sizeof(ret->blob.bytes), err);
}

/* Reads at most `limit` rows of a statement; sets `more` if there are others. */
static enum ux_code kept_read_all(struct ux_stmt *st, size_t limit, struct ux_arena *arena,
				  struct ux_kept_profiles *ret, struct ux_error *err)
{
	ux_cleanup(kept_rows_deinit) struct kept_rows v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row && v.size < limit) {
		struct ux_kept_profile p;
		UX_TRY(kept_read(st, arena, &p, err));
		if (!kept_rows_append(&v, p))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->more = row;
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

UX_SQL(sql_profile_drop, "DELETE FROM profiles WHERE number = :number");

static enum ux_code kept_drop(struct ux_db *db, int64_t number, uint64_t *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_profile_drop);
	ux_stmt_bind_int(&st, ":number", number);
	return ux_stmt_run(&st, ret, err);
}

#define KEPT_INSERT                                                                              \
	"INSERT INTO profiles (ns, service, host, build, started, ended, samples, level, blob, " \
	"size, off, length, key_id, created) VALUES (:ns, :service, :host, :build, :started, "   \
	":ended, :samples, :level, :blob, :size, :off, :length, :key, :created)"
UX_SQL(sql_profile_add, KEPT_INSERT);
UX_SQL(sql_profile_add_number, KEPT_INSERT " RETURNING number");

/* ret NULL: PostgreSQL gets the statement together with the next one. */
static enum ux_code kept_insert(struct ux_db *db, const struct ux_kept_profile *p, int64_t *ret,
				struct ux_error *err)
{
	UX_STMT(st, db, ret ? &sql_profile_add_number : &sql_profile_add);
	ux_stmt_bind_text(&st, ":ns", p->ns);
	ux_stmt_bind_text(&st, ":service", p->service);
	ux_stmt_bind_text(&st, ":host", p->host);
	ux_stmt_bind_text(&st, ":build", p->build);
	ux_stmt_bind_int(&st, ":started", p->started);
	ux_stmt_bind_int(&st, ":ended", p->ended);
	ux_stmt_bind_int(&st, ":samples", (int64_t)p->samples);
	ux_stmt_bind_int(&st, ":level", p->level);
	ux_stmt_bind_bytes(&st, ":blob", p->blob.bytes, sizeof(p->blob.bytes));
	ux_stmt_bind_int(&st, ":size", (int64_t)p->size);
	ux_stmt_bind_int(&st, ":off", (int64_t)p->off);
	ux_stmt_bind_int(&st, ":length", (int64_t)p->length);
	ux_stmt_bind_text(&st, ":key", p->key_id);
	ux_stmt_bind_int(&st, ":created", p->created);
	return ret ? ux_stmt_run_returning(&st, ret, err) : ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_profile_number, "SELECT profiles FROM profile_usage WHERE ns = :ns");

static enum ux_code kept_number(struct ux_db *db, const char *ns, uint64_t *ret,
				struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_profile_number);
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? (uint64_t)ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

UX_SQL(sql_profile_trim,
       "DELETE FROM profiles WHERE number IN (SELECT number FROM profiles WHERE ns = :ns "
       "AND number < :before ORDER BY created, number LIMIT :limit)");

/*
 * Removes the oldest profiles of the namespace if it has too many with the added ones, which begin
 * with the number `first`. After the limit was lowered, each transaction removes some more than it
 * adds, so that none holds up other writers for long.
 */
static enum ux_code kept_trim(struct ux_db *db, const struct ux_profile_addition *a, int64_t first,
			      uint64_t *ret, struct ux_error *err)
{
	const char *ns = a->rows[0].ns;
	uint64_t now = 0;
	*ret = 0;
	if (a->profiles_max == 0)
		return UX_OK;
	UX_TRY(kept_number(db, ns, &now, err));
	if (now <= a->profiles_max)
		return UX_OK;
	UX_STMT(st, db, &sql_profile_trim);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":before", first);
	ux_stmt_bind_int(&st, ":limit",
			 (int64_t)ux_min(now - a->profiles_max, (uint64_t)a->n + TRIM_MORE));
	return ux_stmt_run(&st, ret, err);
}

static enum ux_code kept_replace(struct ux_db *db, const int64_t *replaced, size_t n,
				 struct ux_error *err)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t changed = 0;
		UX_TRY(kept_drop(db, replaced[i], &changed, err));
		if (changed == 0)
			return ux_error_set(err, UX_ECONFLICT,
					    "profile %" PRId64 " no longer exists", replaced[i]);
	}
	return UX_OK;
}

/*
 * Adds the profiles of one blob. The new rows are inserted first: a trigger of the deletions could
 * remove the row of an equal blob.
 */
static enum ux_code kept_add(struct ux_index *ix, const struct ux_profile_addition *a,
			     int64_t *numbers, uint64_t *ret_trimmed, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	const struct ux_kept_profile *first = &a->rows[0];
	int64_t number = 0;
	assert(a->n > 0 && (a->profiles_max == 0 || a->n <= a->profiles_max));
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_namespace_ensure(db, first->ns, first->created, err));
	UX_TRY(ux_blob_row_add(db, &first->blob, first->size, err));
	UX_TRY(kept_insert(db, first, &number, err));
	for (size_t i = 1; i < a->n; i++)
		UX_TRY(kept_insert(db, &a->rows[i], numbers ? &numbers[i] : NULL, err));
	UX_TRY(kept_replace(db, a->replaced, a->n_replaced, err));
	UX_TRY(kept_trim(db, a, number, ret_trimmed, err));
	UX_TRY(ux_tx_commit(&tx, err));
	if (numbers)
		numbers[0] = number;
	return UX_OK;
}

UX_SQL(sql_profile_remove, "DELETE FROM profiles WHERE number = :number AND ns = :ns");

static enum ux_code kept_remove(struct ux_index *ix, const char *ns, int64_t number,
				const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t changed = 0;
	char subject[24];
	snprintf(subject, sizeof(subject), "%" PRId64, number);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	{
		UX_STMT(st, db, &sql_profile_remove);
		ux_stmt_bind_int(&st, ":number", number);
		ux_stmt_bind_text(&st, ":ns", ns);
		UX_TRY(ux_stmt_run(&st, &changed, err));
	}
	if (changed == 0)
		return ux_error_set(err, UX_ENOTFOUND, "profile %" PRId64 " does not exist",
				    number);
	UX_TRY(ux_audit_write(db, who, now, ns, "profile-removed", subject, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_profile_expire,
       "DELETE FROM profiles WHERE number IN (SELECT number FROM profiles WHERE created < :before "
       "ORDER BY created, number LIMIT :limit)");

static enum ux_code kept_expire(struct ux_index *ix, ux_time before, size_t limit, uint64_t *ret,
				struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	/* alone: a deletion beside another one of the same blob would count its bytes wrongly */
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	{
		UX_STMT(st, db, &sql_profile_expire);
		ux_stmt_bind_int(&st, ":before", before);
		ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
		UX_TRY(ux_stmt_run(&st, ret, err));
	}
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_profile_leave, "UPDATE profiles SET level = :level WHERE number = :number");

static enum ux_code kept_leave(struct ux_index *ix, int64_t number, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_profile_leave);
	ux_stmt_bind_int(&st, ":level", UX_PROFILE_LEVEL_ALONE);
	ux_stmt_bind_int(&st, ":number", number);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_profile_oldest,
       "SELECT number, size, blob FROM profiles WHERE ns = (SELECT ns FROM profile_usage "
       "ORDER BY bytes DESC, ns LIMIT 1) ORDER BY created, number LIMIT :limit");

/*
 * Lists the numbers of the oldest profiles of the largest namespace, until the sizes of their blobs
 * add up to `bytes`. The profiles of a blob arrived together, and only the last one frees it, so
 * none of them stays.
 */
static enum ux_code kept_list_oldest(struct ux_db *db, uint64_t bytes, size_t limit,
				     int64_t *numbers, size_t *ret_n, struct ux_error *err)
{
	bool row = false;
	uint64_t sum = 0;
	struct ux_blob_hash last = {0};
	*ret_n = 0;
	UX_STMT(st, db, &sql_profile_oldest);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && *ret_n < limit) {
		struct ux_blob_hash blob;
		UX_TRY(ux_stmt_get_bytes(&st, 2, blob.bytes, sizeof(blob.bytes), err));
		bool same = *ret_n > 0 && memcmp(&blob, &last, sizeof(blob)) == 0;
		if (!same && sum >= bytes)
			break;
		sum += same ? 0 : (uint64_t)ux_stmt_get_int(&st, 1);
		numbers[(*ret_n)++] = ux_stmt_get_int(&st, 0);
		last = blob;
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code kept_evict(struct ux_index *ix, uint64_t bytes, size_t limit, uint64_t *ret,
			       struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	ux_cleanup(ux_free_ptr) int64_t *numbers = calloc(limit, sizeof(*numbers));
	size_t n = 0;
	if (!numbers)
		return ux_error_nomem(err);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(kept_list_oldest(db, bytes, limit, numbers, &n, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(kept_drop(db, numbers[i], NULL, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n;
	return UX_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

UX_SQL(sql_profile_find,
       "SELECT " KEPT_COLUMNS "FROM profiles WHERE number = :number AND ns = :ns");

enum ux_code ux_kept_profile_check(const struct ux_kept_profile *p, struct ux_error *err)
{
	return !p->damaged ? UX_OK
			   : ux_error_set(err, UX_EIO,
					  "the index is damaged: row %" PRId64
					  " of table profiles does not fit its checksum",
					  p->number);
}

static enum ux_code kept_find(struct ux_index *ix, const char *ns, int64_t number,
			      struct ux_arena *arena, struct ux_kept_profile *ret,
			      struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_profile_find);
	ux_stmt_bind_int(&st, ":number", number);
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "profile %" PRId64 " does not exist",
				    number);
	UX_TRY(kept_read(&st, arena, ret, err));
	return ux_kept_profile_check(ret, err);
}

#define KEPT_FILTER                                                                   \
	"ns = :ns AND (service = :service OR :service IS NULL) "                      \
	"AND (host = :host OR :host IS NULL) AND (build = :build OR :build IS NULL) " \
	"AND started <= :until AND ended >= :from "

static void kept_bind_filter(struct ux_stmt *st, const struct ux_profile_filter *f)
{
	ux_stmt_bind_text(st, ":ns", f->ns);
	if (f->service)
		ux_stmt_bind_text(st, ":service", f->service);
	if (f->host)
		ux_stmt_bind_text(st, ":host", f->host);
	if (f->build)
		ux_stmt_bind_text(st, ":build", f->build);
	ux_stmt_bind_int(st, ":from", f->from);
	ux_stmt_bind_int(st, ":until", f->until);
}

UX_SQL(sql_profile_list, "SELECT " KEPT_COLUMNS "FROM profiles WHERE " KEPT_FILTER
			 "AND number < :before ORDER BY number DESC LIMIT :limit");

static enum ux_code kept_list(struct ux_index *ix, const struct ux_profile_filter *filter,
			      struct ux_arena *arena, struct ux_kept_profiles *ret,
			      struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_SCAN, err);
	UX_STMT(st, db, &sql_profile_list);
	kept_bind_filter(&st, filter);
	ux_stmt_bind_int(&st, ":before", filter->before > 0 ? filter->before : INT64_MAX);
	ux_stmt_bind_int(&st, ":limit", (int64_t)filter->limit + 1);
	return kept_read_all(&st, filter->limit, arena, ret, err);
}

/*
 * The index by service has this order, so rows of other services and of later times are not read.
 */
UX_SQL(sql_profile_span,
       "SELECT " KEPT_COLUMNS "FROM profiles WHERE ns = :ns AND service = :service "
       "AND (host = :host OR :host IS NULL) AND (build = :build OR :build IS NULL) "
       "AND started <= :until AND ended >= :from "
       "ORDER BY started DESC, number DESC LIMIT :limit");

static enum ux_code kept_span(struct ux_index *ix, const struct ux_profile_filter *filter,
			      struct ux_arena *arena, struct ux_kept_profiles *ret,
			      struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_SCAN, err);
	UX_STMT(st, db, &sql_profile_span);
	kept_bind_filter(&st, filter);
	ux_stmt_bind_int(&st, ":limit", (int64_t)filter->limit + 1);
	return kept_read_all(&st, filter->limit, arena, ret, err);
}

static enum ux_code service_read(struct ux_stmt *st, struct ux_arena *arena,
				 struct ux_profile_service *ret, struct ux_error *err)
{
	*ret = (struct ux_profile_service){
		.name = ux_stmt_get_text(st, 0, arena),
		.profiles = (uint64_t)ux_stmt_get_int(st, 1),
		.bytes = (uint64_t)ux_stmt_get_int(st, 2),
		.ended = ux_stmt_get_int(st, 3),
	};
	return ret->name ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_service, "SELECT service, profiles, bytes, ended FROM services WHERE ns = :ns "
		    "AND service = :service");

static enum ux_code kept_service(struct ux_index *ix, const char *ns, const char *name,
				 struct ux_arena *arena, struct ux_profile_service *ret,
				 struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_service);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":service", name);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? service_read(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "no profiles of service %.80s", name);
}

UX_SQL(sql_services, "SELECT service, profiles, bytes, ended FROM services WHERE ns = :ns "
		     "AND service > :after ORDER BY service LIMIT :limit");

static enum ux_code kept_services(struct ux_index *ix, const char *ns, const char *after,
				  size_t limit, struct ux_arena *arena,
				  struct ux_profile_services *ret, struct ux_error *err)
{
	ux_cleanup(service_rows_deinit) struct service_rows v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_services);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":after", after);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && v.size < limit) {
		struct ux_profile_service s;
		UX_TRY(service_read(&st, arena, &s, err));
		if (!service_rows_append(&v, s))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->more = row;
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_profile_hosts,
       "SELECT DISTINCT host FROM profiles WHERE " KEPT_FILTER "ORDER BY host LIMIT :limit");
UX_SQL(sql_profile_builds,
       "SELECT DISTINCT build FROM profiles WHERE " KEPT_FILTER "ORDER BY build LIMIT :limit");

static enum ux_code kept_texts(struct ux_index *ix, enum ux_profile_column column,
			       const struct ux_profile_filter *filter, struct ux_arena *arena,
			       struct ux_profile_texts *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_SCAN, err);
	UX_STMT(st, db, column == UX_PROFILE_HOSTS ? &sql_profile_hosts : &sql_profile_builds);
	kept_bind_filter(&st, filter);
	ux_stmt_bind_int(&st, ":limit", (int64_t)filter->limit + 1);
	UX_TRY(ux_stmt_read_texts(&st, arena, &ret->items, &ret->n, err));
	ret->more = ret->n > filter->limit;
	ret->n = ux_min(ret->n, filter->limit);
	return UX_OK;
}

UX_SQL(sql_profile_usage,
       "SELECT coalesce(sum(profiles), 0), coalesce(sum(bytes), 0) FROM profile_usage "
       "WHERE ns = :ns OR :ns IS NULL");

static enum ux_code kept_usage(struct ux_index *ix, const char *ns, struct ux_profile_usage *ret,
			       struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_profile_usage);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	ret->profiles = (uint64_t)ux_stmt_get_int(&st, 0);
	ret->bytes = (uint64_t)ux_stmt_get_int(&st, 1);
	return UX_OK;
}

UX_SQL(sql_profile_slot,
       "SELECT ns, service, host, build, started / :slot FROM profiles WHERE level = :level "
       "AND started < :before GROUP BY ns, service, host, build, started / :slot "
       "HAVING count(*) > 1 LIMIT 1");
UX_SQL(sql_profile_slot_rows,
       "SELECT " KEPT_COLUMNS "FROM profiles WHERE level = :level "
       "AND ns = :ns AND service = :service AND host = :host AND build = :build "
       "AND started >= :from AND started < :until ORDER BY started, number LIMIT :limit");

/*
 * Finds a slot with several profiles: sets `of` to one of them, and its start to the slot's start.
 */
static enum ux_code kept_find_slot(struct ux_db *db, const struct ux_profile_slot *slot,
				   struct ux_arena *arena, struct ux_kept_profile *of, bool *ret,
				   struct ux_error *err)
{
	UX_STMT(st, db, &sql_profile_slot);
	ux_stmt_bind_int(&st, ":level", slot->level);
	ux_stmt_bind_int(&st, ":slot", slot->slot_s);
	ux_stmt_bind_int(&st, ":before", slot->before / slot->slot_s * slot->slot_s);
	UX_TRY(ux_stmt_step(&st, ret, err));
	if (!*ret)
		return UX_OK;
	*of = (struct ux_kept_profile){
		.ns = ux_stmt_get_text(&st, 0, arena),
		.service = ux_stmt_get_text(&st, 1, arena),
		.host = ux_stmt_get_text(&st, 2, arena),
		.build = ux_stmt_get_text(&st, 3, arena),
		.started = ux_stmt_get_int(&st, 4) * slot->slot_s,
	};
	bool complete = of->ns && of->service && of->host && of->build;
	return complete ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code kept_slot(struct ux_index *ix, const struct ux_profile_slot *slot,
			      struct ux_arena *arena, struct ux_kept_profiles *ret,
			      struct ux_error *err)
{
	struct ux_kept_profile of = {0};
	bool found = false;
	UX_READER(db, ix, UX_READ_LONG, err);
	*ret = (struct ux_kept_profiles){0};
	UX_TRY(kept_find_slot(db, slot, arena, &of, &found, err));
	if (!found)
		return UX_OK;
	UX_STMT(st, db, &sql_profile_slot_rows);
	ux_stmt_bind_int(&st, ":level", slot->level);
	ux_stmt_bind_text(&st, ":ns", of.ns);
	ux_stmt_bind_text(&st, ":service", of.service);
	ux_stmt_bind_text(&st, ":host", of.host);
	ux_stmt_bind_text(&st, ":build", of.build);
	ux_stmt_bind_int(&st, ":from", of.started);
	ux_stmt_bind_int(&st, ":until", of.started + slot->slot_s);
	ux_stmt_bind_int(&st, ":limit", UX_PROFILE_MERGE_MAX + 1);
	return kept_read_all(&st, UX_PROFILE_MERGE_MAX, arena, ret, err);
}

void ux_kept_profiles_init(struct ux_index *ix)
{
	ix->profiles.add = kept_add;
	ix->profiles.find = kept_find;
	ix->profiles.list = kept_list;
	ix->profiles.span = kept_span;
	ix->profiles.service = kept_service;
	ix->profiles.services = kept_services;
	ix->profiles.texts = kept_texts;
	ix->profiles.remove = kept_remove;
	ix->profiles.expire = kept_expire;
	ix->profiles.leave = kept_leave;
	ix->profiles.usage = kept_usage;
	ix->profiles.evict = kept_evict;
	ix->profiles.slot = kept_slot;
}
