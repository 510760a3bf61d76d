/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the servers that share an index, the leases of dead ones, and the changes of the others.
 */
#include "index_sql.h"

#include "vec.h"

enum {
	/* changes that one poll reads; with more, everything counts as changed */
	CHANGES_MAX = 10000,
	WATCH_MS = 5000, /* longest ms of a statement of the watching thread */
};

/* A change of a module, by a transaction. */
struct ux_change {
	int64_t place;
	int64_t module;
};

UX_VEC(changes, struct ux_change);
UX_VEC(nodes, struct ux_node);

bool ux_node_name_valid(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	return n > 0 && n < UX_NODE_NAME && name[n] == '\0';
}

UX_SQL(sql_node_renew, "UPDATE nodes SET seen = :now WHERE name = :name AND instance = :instance");

static enum ux_code node_renew(struct ux_db *db, const struct ux_node *node, uint64_t *ret,
			       struct ux_error *err)
{
	UX_STMT(st, db, &sql_node_renew);
	ux_stmt_bind_int(&st, ":now", node->seen);
	ux_stmt_bind_text(&st, ":name", node->name);
	ux_stmt_bind_text(&st, ":instance", node->instance);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_node_other, "SELECT 1 FROM nodes WHERE name = :name AND seen > :alive");

static enum ux_code node_find_other(struct ux_db *db, const struct ux_node *node, bool *ret,
				    struct ux_error *err)
{
	UX_STMT(st, db, &sql_node_other);
	ux_stmt_bind_text(&st, ":name", node->name);
	ux_stmt_bind_int(&st, ":alive", node->seen - UX_NODE_DEAD_S);
	return ux_stmt_step(&st, ret, err);
}

UX_SQL(sql_node_put, "INSERT INTO nodes (name, instance, version, started, seen, steps) "
		     "VALUES (:name, :instance, :version, :started, :now, :steps) "
		     "ON CONFLICT (name) DO UPDATE SET instance = :instance, version = :version, "
		     "started = :started, seen = :now, steps = :steps");

static enum ux_code node_put(struct ux_db *db, const struct ux_node *node, struct ux_error *err)
{
	UX_STMT(st, db, &sql_node_put);
	ux_stmt_bind_text(&st, ":name", node->name);
	ux_stmt_bind_text(&st, ":instance", node->instance);
	ux_stmt_bind_text(&st, ":version", node->version);
	ux_stmt_bind_int(&st, ":started", node->started);
	ux_stmt_bind_int(&st, ":now", node->seen);
	ux_stmt_bind_int(&st, ":steps", ux_postgres_schema.version);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_node_others,
       "SELECT (SELECT count(*) FROM nodes WHERE seen > :alive), "
       "(SELECT count(*) FROM jobs WHERE lease_until > :now AND " UX_SQL_JOB_NODE(
	       "owner") " = :name), "
			"(SELECT count(*) FROM unhex_schema WHERE oldest > :steps)");

static enum ux_code node_read_others(struct ux_db *db, const struct ux_node *node,
				     struct ux_node_others *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_node_others);
	ux_stmt_bind_int(&st, ":alive", node->seen - UX_NODE_DEAD_S);
	ux_stmt_bind_int(&st, ":now", node->seen);
	ux_stmt_bind_text(&st, ":name", node->name);
	ux_stmt_bind_int(&st, ":steps", ux_postgres_schema.version);
	UX_TRY(ux_stmt_step(&st, &row, err));
	ret->alive = (uint64_t)ux_stmt_get_int(&st, 0);
	ret->leases = (uint64_t)ux_stmt_get_int(&st, 1);
	ret->outdated = ux_stmt_get_int(&st, 2) > 0;
	return UX_OK;
}

static enum ux_code node_seen(struct ux_index *ix, const struct ux_node *node,
			      struct ux_node_others *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t n = 0;
	*ret = (struct ux_node_others){0};
	UX_LOCKED(&db->lock);
	UX_TRY(node_renew(db, node, &n, err));
	if (n == 0) {
		UX_TRY(node_find_other(db, node, &ret->duplicate, err));
		UX_TRY(node_put(db, node, err));
	}
	return node_read_others(db, node, ret, err);
}

UX_SQL(sql_node_leave, "DELETE FROM nodes WHERE name = :name AND instance = :instance");

static enum ux_code node_leave(struct ux_index *ix, const struct ux_node *node, ux_time now,
			       struct ux_error *err)
{
	uint64_t n = 0;
	{
		struct ux_db *db = ux_index_writer(ix);
		UX_LOCKED(&db->lock);
		UX_STMT(st, db, &sql_node_leave);
		ux_stmt_bind_text(&st, ":name", node->name);
		ux_stmt_bind_text(&st, ":instance", node->instance);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return ix->nodes.reap(ix, now, &n, err);
}

UX_SQL(sql_node_reap,
       "UPDATE jobs SET lease_until = 0, owner = '', reason = 'the node ' || " UX_SQL_JOB_NODE(
	       "owner") " || ' ended' "
			"WHERE lease_until > 0 AND owner <> '' AND NOT EXISTS (SELECT 1 FROM nodes n "
			"WHERE n.name = " UX_SQL_JOB_NODE("jobs.owner") " AND n.seen > :alive)");

UX_SQL(sql_node_forget, "DELETE FROM nodes WHERE seen < :before");

UX_SQL(sql_changes_forget, "DELETE FROM changes WHERE time < :before");

static enum ux_code node_delete_before(struct ux_db *db, const struct ux_sql *which, ux_time before,
				       struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_bind_int(&st, ":before", before);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code node_reap(struct ux_index *ix, ux_time now, uint64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	{
		UX_STMT(st, db, &sql_node_reap);
		ux_stmt_bind_int(&st, ":alive", now - UX_NODE_DEAD_S);
		UX_TRY(ux_stmt_run(&st, ret, err));
	}
	UX_TRY(node_delete_before(db, &sql_node_forget, now - UX_NODE_FORGET_S, err));
	return node_delete_before(db, &sql_changes_forget, now - UX_CHANGES_KEPT_S, err);
}

UX_SQL(sql_node_list, "SELECT name, instance, version, started, seen FROM nodes "
		      "WHERE seen > :alive ORDER BY name");

static enum ux_code node_list(struct ux_index *ix, ux_time now, struct ux_arena *arena,
			      struct ux_node_list *ret, struct ux_error *err)
{
	ux_cleanup(nodes_deinit) struct nodes v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_node_list);
	ux_stmt_bind_int(&st, ":alive", now - UX_NODE_DEAD_S);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const struct ux_node node = {.name = ux_stmt_get_text(&st, 0, arena),
					     .instance = ux_stmt_get_text(&st, 1, arena),
					     .version = ux_stmt_get_text(&st, 2, arena),
					     .started = ux_stmt_get_int(&st, 3),
					     .seen = ux_stmt_get_int(&st, 4)};
		if (!node.name || !node.instance || !node.version)
			return ux_arena_fail(arena, err);
		if (!nodes_append(&v, node))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->nodes = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->nodes ? UX_OK : ux_arena_fail(arena, err);
}

/* --- changes of other nodes ------------------------------------------------------------------- */

/* Opens the connection of the one watching thread. */
static enum ux_code watch_open(struct ux_db *db, const char *location, struct ux_error *err)
{
	enum ux_code code = db->engine ? UX_OK : ux_db_open_reader(db, location, err);
	if (code != UX_OK)
		ux_db_close(db);
	else
		ux_db_limit(db, WATCH_MS);
	return code;
}

static enum ux_code node_watch(struct ux_index *ix, struct ux_db **ret, struct ux_error *err)
{
	struct ux_index_sql *s = ux_index_sql_of(ix);
	*ret = &s->watch;
	return watch_open(&s->watch, s->location, err);
}

/*
 * Gets the moment of the database whose changes are polled: the replica while it is used, because
 * answers come from it, otherwise the database itself. After a switch between the two, the moment
 * is earlier or later by some transactions, as after a restore.
 */
static enum ux_code node_moment(struct ux_index *ix, struct ux_db **ret,
				struct ux_db_moment *moment, struct ux_error *err)
{
	struct ux_index_sql *s = ux_index_sql_of(ix);
	*ret = &s->watch_replica;
	if (ux_replica_answers(ix)) {
		if (watch_open(&s->watch_replica, s->replica.path, NULL) == UX_OK &&
		    ux_db_moment(&s->watch_replica, moment, NULL) == UX_OK)
			return UX_OK;
		ux_replica_is_away(ix);
	}
	UX_TRY(node_watch(ix, ret, err));
	return ux_db_moment(*ret, moment, err);
}

static enum ux_code node_wait(struct ux_index *ix, int wake_fd, uint32_t timeout_ms, bool *ret,
			      struct ux_error *err)
{
	struct ux_db *db = NULL;
	UX_TRY(node_watch(ix, &db, err));
	return ux_db_wait(db, wake_fd, timeout_ms, ret, err);
}

static enum ux_code node_time(struct ux_index *ix, int64_t *ret_ms, struct ux_error *err)
{
	struct ux_db_moment moment;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_TRY(ux_db_moment(db, &moment, err));
	*ret_ms = moment.time_ms;
	return UX_OK;
}

UX_SQL(sql_changes_since, "SELECT place, module FROM changes WHERE place >= :place "
			  "ORDER BY place, module LIMIT :limit");

static enum ux_code changes_read(struct ux_db *db, int64_t from, struct changes *v,
				 struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_changes_since);
	ux_stmt_bind_int(&st, ":place", from);
	ux_stmt_bind_int(&st, ":limit", CHANGES_MAX + 1);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const struct ux_change one = {ux_stmt_get_int(&st, 0), ux_stmt_get_int(&st, 1)};
		if (!changes_append(v, one))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static bool change_is_before(const struct ux_change *a, const struct ux_change *b)
{
	return a->place != b->place ? a->place < b->place : a->module < b->module;
}

/*
 * Picks the changes that were not there at the last poll. Both lists are ascending. A transaction
 * that had not ended then may have a lower number than one that had, so the lists must be compared.
 */
static size_t changes_pick_new(const struct ux_changes *c, const struct changes *v, int64_t *ret)
{
	size_t n = 0, k = 0;
	for (size_t i = 0; i < v->size; i++) {
		while (k < c->n_seen && change_is_before(&c->seen[k], &v->data[i]))
			k++;
		if (k == c->n_seen || change_is_before(&v->data[i], &c->seen[k]))
			ret[n++] = v->data[i].module;
	}
	return n;
}

void ux_changes_deinit(struct ux_changes *c)
{
	free(c->seen);
	*c = (struct ux_changes){0};
}

/* Keeps the changes from `place` on: some of these transactions may not have ended yet. */
static void changes_keep(struct ux_changes *c, struct changes *v, int64_t place)
{
	size_t first = 0;
	while (first < v->size && v->data[first].place < place)
		first++;
	memmove(v->data, v->data + first, (v->size - first) * sizeof(*v->data));
	v->size -= first;
	free(c->seen);
	c->seen = changes_steal(v, &c->n_seen);
	c->from = place;
}

UX_SQL(sql_jobs_due, "SELECT 1 FROM jobs WHERE kind = '" UX_JOB_EXTRACT "' AND failed = 0 "
		     "AND next <= :now AND lease_until <= :now LIMIT 1");

static enum ux_code batch_find_jobs(struct ux_db *db, struct ux_change_batch *ret,
				    struct ux_error *err)
{
	UX_STMT(st, db, &sql_jobs_due);
	ux_stmt_bind_int(&st, ":now", ret->time_ms / 1000);
	return ux_stmt_step(&st, &ret->jobs_due, err);
}

/*
 * Reads the new changes. If the moment is before the last one, it is another database, and
 * everything counts as changed.
 */
static enum ux_code batch_find_changes(struct ux_db *db, struct ux_changes *c, int64_t place,
				       struct ux_arena *arena, struct ux_change_batch *ret,
				       struct ux_error *err)
{
	ux_cleanup(changes_deinit) struct changes v = {0};
	bool first = c->from == 0;
	ret->everything = place < c->from;
	UX_TRY(changes_read(db, first || ret->everything ? place : c->from, &v, err));
	ret->everything |= v.size > CHANGES_MAX;
	ret->modules = ux_arena_array(arena, int64_t, v.size + 1);
	if (!ret->modules)
		return ux_arena_fail(arena, err);
	ret->n_modules = changes_pick_new(c, &v, ret->modules);
	changes_keep(c, &v, place);
	return UX_OK;
}

/* Gets the time and the due jobs from the database, even if a replica provides the changes. */
static enum ux_code batch_find_rest(struct ux_index *ix, struct ux_change_batch *ret,
				    struct ux_error *err)
{
	struct ux_db *db = NULL;
	struct ux_db_moment moment;
	UX_TRY(node_watch(ix, &db, err));
	UX_TRY(ux_db_moment(db, &moment, err));
	ret->time_ms = moment.time_ms;
	return batch_find_jobs(db, ret, err);
}

static enum ux_code node_poll_changes(struct ux_index *ix, struct ux_changes *changes,
				      struct ux_arena *arena, struct ux_change_batch *ret,
				      struct ux_error *err)
{
	struct ux_db *db = NULL;
	struct ux_db_moment moment;
	UX_TRY(node_moment(ix, &db, &moment, err));
	*ret = (struct ux_change_batch){.time_ms = moment.time_ms, .lag_ms = moment.lag_ms};
	bool replica = db == &ux_index_sql_of(ix)->watch_replica;
	enum ux_code code =
		batch_find_changes(db, changes, moment.place, arena, ret, replica ? NULL : err);
	if (code != UX_OK && replica) { /* it may lag so far that it lacks the table */
		ux_replica_is_away(ix);
		return node_poll_changes(ix, changes, arena, ret, err);
	}
	if (code != UX_OK)
		return code;
	if (!replica)
		return batch_find_jobs(db, ret, err);
	/* while the database is unavailable, its replica suffices for answers */
	ret->time_ms = 0;
	(void)!batch_find_rest(ix, ret, NULL);
	return UX_OK;
}

void ux_nodes_init(struct ux_index *ix)
{
	ix->nodes = (struct ux_index_nodes){
		.seen = node_seen,
		.leave = node_leave,
		.reap = node_reap,
		.list = node_list,
		.time = node_time,
		.wait = node_wait,
		.poll = node_poll_changes,
	};
}
