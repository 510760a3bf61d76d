/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of this server as one node of several. */
#include "node_state.h"

#include "event_log.h"

enum {
	SILENT_MS =
		5000, /* ms without an answer of the database, before the node counts as cut off */
};

static void node_log_change(bool now, bool *logged, const char *what, const char *advice)
{
	if (now && !*logged)
		ux_log_line("error", "node", "%s=yes advice=\"%s\"", what, advice);
	else if (!now && *logged)
		ux_log_line("info", "node", "%s=no", what);
	*logged = now;
}

void ux_node_log(struct ux_server *s, struct ux_node_logged *logged)
{
	const struct ux_fleet *f = s->store->fleet;
	if (!f)
		return;
	const struct ux_fleet_status n = ux_fleet_status(f);
	node_log_change(n.duplicate, &logged->duplicate, "duplicate",
			"another process uses this node's name; give each node a unique name");
	node_log_change(n.outdated, &logged->outdated, "outdated",
			"a newer unhex changed the index; upgrade this server");
	node_log_change(ux_node_is_cut_off(&n), &logged->silent, "cut_off",
			"the index database does not respond");
}

bool ux_node_is_cut_off(const struct ux_fleet_status *n)
{
	return n->silent_ms > SILENT_MS;
}

/* Writes a value of the connections to the database, and to its replica if there is one. */
static void node_put_pools(struct ux_out *out, const char *name, const char *type, const char *help,
			   const uint64_t *values, size_t n)
{
	static const char *const pools[] = {"database", "replica"};
	ux_metric_head(out, name, type, help);
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(out, "%s{pool=\"%s\"} %" PRIu64 "\n", name, pools[i], values[i]);
}

static void node_put_connections(struct ux_server *s, struct ux_out *out)
{
	struct ux_index *ix = s->store->index;
	struct ux_index_connections of[2];
	static const struct {
		const char *name;
		const char *type;
		const char *help;
		size_t at;
	} all[] = {
		{"unhex_index_connections", "gauge", "Connections for reads.",
		 offsetof(struct ux_index_connections, open)},
		{"unhex_index_connections_used", "gauge", "Connections in use by a thread.",
		 offsetof(struct ux_index_connections, used)},
		{"unhex_index_waits_total", "counter",
		 "How often a thread waited for a connection.",
		 offsetof(struct ux_index_connections, waits)},
		{"unhex_index_wait_microseconds_total", "counter",
		 "Time that threads waited for a connection.",
		 offsetof(struct ux_index_connections, wait_us)},
		{"unhex_index_round_trips_total", "counter", "Round trips to the database.",
		 offsetof(struct ux_index_connections, round_trips)},
		{"unhex_index_connected_total", "counter", "Connections opened.",
		 offsetof(struct ux_index_connections, connected)},
		{"unhex_index_refused_total", "counter", "Connections that failed to open.",
		 offsetof(struct ux_index_connections, refused)},
	};
	ix->connections(ix, /* replica= */ false, &of[0]);
	ix->connections(ix, /* replica= */ true, &of[1]);
	for (size_t i = 0; i < ux_countof(all); i++) {
		uint64_t values[2];
		for (size_t k = 0; k < 2; k++)
			memcpy(&values[k], (const char *)&of[k] + all[i].at, sizeof(values[k]));
		node_put_pools(out, all[i].name, all[i].type, all[i].help, values,
			       of[0].replica ? 2 : 1);
	}
	ux_metric_one(out, "unhex_index_damaged_rows_total", "counter",
		      "How often a read row did not fit its checksum.", ux_index_row_damages());
	if (of[0].replica)
		ux_metric_one(out, "unhex_index_replica_up", "gauge",
			      "1 if the replica answers lookups.", of[0].answers);
}

static void node_put_thousandths(struct ux_out *out, const char *name, const char *help, int64_t ms)
{
	ux_metric_head(out, name, "gauge", help);
	ux_out_fmt(out, "%s %.3f\n", name, (double)ms / 1000);
}

/* Writes the state of this node, and its view of the other nodes. */
static void node_put_fleet(struct ux_server *s, struct ux_out *out)
{
	const struct ux_fleet_status n = ux_fleet_status(s->store->fleet);
	ux_metric_one(out, "unhex_node_duplicate", "gauge",
		      "1 if another process uses this node's name.", n.duplicate);
	ux_metric_one(out, "unhex_node_outdated", "gauge",
		      "1 if a newer unhex changed the index so that this one cannot use it.",
		      n.outdated);
	ux_metric_one(out, "unhex_node_maintains", "gauge",
		      "1 if this node sweeps, expires and merges for all nodes.", n.maintains);
	ux_metric_one(out, "unhex_nodes", "gauge", "Nodes that share the index and are alive.",
		      n.alive);
	ux_metric_one(out, "unhex_node_leases", "gauge", "Jobs leased by this node.", n.leases);
	ux_metric_one(out, "unhex_node_notifications_total", "counter",
		      "Change notifications after which this node polled.", n.notifications);
	ux_metric_one(out, "unhex_node_polls_total", "counter",
		      "Polls for changes, with and without a notification.", n.polls);
	ux_metric_one(out, "unhex_node_polls_failed_total", "counter", "Polls that failed.",
		      n.failed_polls);
	ux_metric_one(out, "unhex_node_changes_total", "counter", "Module changes received.",
		      n.changes);
	ux_metric_one(out, "unhex_node_late_changes_total", "counter",
		      "Module changes found by a poll without a notification.", n.late);
	ux_metric_one(out, "unhex_node_resets_total", "counter",
		      "Polls after which all caches were invalidated.", n.resets);
	node_put_thousandths(out, "unhex_node_silent_seconds",
			     "Time since the last successful poll.", n.silent_ms);
	node_put_thousandths(
		out, "unhex_index_replica_lag_seconds",
		"Age of the replica's last transaction; nodes make one every 3 seconds. 0: no "
		"replica, or it is unreachable.",
		n.lag_ms);
}

void ux_node_metrics(struct ux_server *s, struct ux_out *out)
{
	node_put_connections(s, out);
	if (s->store->fleet)
		node_put_fleet(s, out);
}
