/* SPDX-License-Identifier: Apache-2.0 */
/* The thread with which a node takes part in a fleet. */
#include "fleet.h"
#include "store.h"

#include "clock.h"
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAINTENANCE_S = 10,    /* seconds for which a node claims the maintenance */
	REPLICA_POLL_MS = 250, /* ms between two polls of a replica, which sends no notifications */
	POLL_MS = 1000,        /* ms between two polls for changes, without notifications */
	HEARTBEAT_MS = 3000,   /* ms between two heartbeats; several fit into UX_NODE_DEAD_S */
	/* ms; a longer gap between heartbeats means that the database was unavailable */
	GAP_MS = 2 * HEARTBEAT_MS,
	MISSED_CHANGES_MS =
		/* ms without a poll after which changes may be forgotten: half of
		 * UX_CHANGES_KEPT_S */
		300 * 1000,
	CHANGES_BUDGET = 4 << 20, /* bytes for changes */
	HOST_MAX = 40,            /* bytes of the machine's name in a node's name */
	NAME_FILE_MODE = 0600,
};

static_assert(2 * MISSED_CHANGES_MS <= UX_CHANGES_KEPT_S * 1000, "what was missed is still known");

/* Counters of struct ux_fleet_status. */
enum fleet_count {
	FLEET_NOTIFICATIONS,
	FLEET_POLLS,
	FLEET_FAILED_POLLS,
	FLEET_CHANGES,
	FLEET_LATE,
	FLEET_RESETS,
	FLEET_COUNTS
};

struct ux_fleet {
	struct ux_store *store;
	char instance[UX_NODE_INSTANCE];
	ux_time started;
	pthread_t thread;
	bool running;
	int stop_fd;          /* an eventfd */
	atomic_bool stopping; /* no memory order is needed: stop_fd wakes the thread */
	/*
	 * For people and monitoring, so no memory order is needed. Times are of the monotonic
	 * clock; 0: never.
	 */
	_Atomic int64_t duplicate_ms;
	_Atomic int64_t lag_ms;
	_Atomic int64_t answered_ms;
	atomic_bool outdated;
	_Atomic uint64_t alive;
	_Atomic uint64_t leases;
	_Atomic uint64_t counts[FLEET_COUNTS];
	/*
	 * monotonic time in ms until which this node does the maintenance; a hint: two nodes may do
	 * it
	 */
	_Atomic int64_t maintenance_ms;
	/* used by the thread; times in ms of the monotonic clock */
	struct ux_changes changes;
	int64_t polled_ms;    /* last successful poll */
	int64_t heartbeat_ms; /* last heartbeat */
};

/* --- the name --------------------------------------------------------------------------------- */

/* Returns the machine's name, as far as its characters are allowed in a node's name. */
static void node_host_name(char *text, size_t size)
{
	char host[HOST_MAX + 1] = "";
	(void)!gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(text, size, "%s", ux_node_name_valid(host) ? host : "node");
}

static enum ux_code node_name_make(char ret[UX_NODE_NAME], struct ux_error *err)
{
	char host[HOST_MAX + 1], suffix[UX_UPLOAD_UID_SIZE];
	UX_TRY(ux_upload_uid_make(suffix, err));
	node_host_name(host, sizeof(host));
	snprintf(ret, UX_NODE_NAME, "%s-%.8s", host, suffix);
	return UX_OK;
}

static enum ux_code node_name_read(const char *path, char ret[UX_NODE_NAME], struct ux_error *err)
{
	struct ux_mapping file = {0};
	enum ux_code code = ux_file_map(path, &file, err);
	if (code != UX_OK)
		return code;
	snprintf(ret, UX_NODE_NAME, "%.*s", (int)ux_min(file.bytes.size, (size_t)UX_NODE_NAME),
		 file.bytes.size > 0 ? (const char *)file.bytes.data : "");
	ret[strcspn(ret, "\n")] = '\0';
	ux_file_unmap(&file);
	return ux_node_name_valid(ret)
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL, "%.200s does not have the name of a node",
				      path);
}

static enum ux_code node_name_write(const char *path, const char *name, struct ux_error *err)
{
	ux_cleanup(ux_file_new_deinit) struct ux_file_new file = UX_FILE_NEW_INIT;
	UX_TRY(ux_file_new_open(&file, path, err));
	(void)!fchmod(file.fd, NAME_FILE_MODE);
	UX_TRY(ux_file_write(file.fd, ux_bytes_cstr(name), err));
	UX_TRY(ux_file_write(file.fd, UX_STR("\n"), err));
	return ux_file_new_commit(&file, /* sync= */ true, err);
}

enum ux_code ux_node_name_of(const char *dir, const char *name, char ret[UX_NODE_NAME],
			     struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (name && !ux_node_name_valid(name))
		return ux_error_set(
			err, UX_EINVAL,
			"node %.80s; expected at most %d letters, digits, '.', '_', '-'", name,
			UX_NODE_NAME - 1);
	if (name) {
		snprintf(ret, UX_NODE_NAME, "%s", name);
		return UX_OK;
	}
	if (asprintf(&path, "%s/node", dir) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	if (access(path, F_OK) == 0)
		return node_name_read(path, ret, err);
	UX_TRY(node_name_make(ret, err));
	return node_name_write(path, ret, err);
}

/* --- the thread ------------------------------------------------------------------------------- */

static struct ux_node fleet_node(const struct ux_fleet *f, ux_time now)
{
	return (struct ux_node){.name = f->store->node,
				.instance = f->instance,
				.version = UX_VERSION,
				.started = f->started,
				.seen = now};
}

/* Claims the maintenance, for a little longer than until the next heartbeat. */
static enum ux_code fleet_claim_maintenance(struct ux_fleet *f, ux_time now, struct ux_error *err)
{
	static const struct ux_job maintenance = {
		.kind = UX_JOB_MAINTENANCE, .subject = "all", .ns = UX_NAMESPACE_DEFAULT};
	struct ux_index *ix = f->store->index;
	int64_t until_ms = ux_clock_ms() + MAINTENANCE_S * 1000;
	bool mine = false;
	UX_TRY(ix->jobs.claim(ix, &maintenance, f->store->node, now, MAINTENANCE_S + 1, &mine,
			      err));
	atomic_store_explicit(&f->maintenance_ms, mine ? until_ms : 0, memory_order_relaxed);
	return UX_OK;
}

static void fleet_note_others(struct ux_fleet *f, const struct ux_node_others *others)
{
	if (others->duplicate)
		atomic_store_explicit(&f->duplicate_ms, ux_clock_ms(), memory_order_relaxed);
	atomic_store_explicit(&f->outdated, others->outdated, memory_order_relaxed);
	atomic_store_explicit(&f->alive, others->alive, memory_order_relaxed);
	atomic_store_explicit(&f->leases, others->leases, memory_order_relaxed);
}

/*
 * Sends a heartbeat. After a gap it does not end the leases of other nodes, because they could not
 * send heartbeats either.
 */
static enum ux_code fleet_heartbeat(struct ux_fleet *f, struct ux_error *err)
{
	struct ux_index *ix = f->store->index;
	int64_t now_ms = ux_clock_ms();
	ux_time now = ux_store_now(f->store);
	const struct ux_node node = fleet_node(f, now);
	struct ux_node_others others;
	bool regular = now_ms - f->heartbeat_ms < GAP_MS;
	uint64_t n = 0;
	UX_TRY(ix->nodes.seen(ix, &node, &others, err));
	f->heartbeat_ms = now_ms;
	fleet_note_others(f, &others);
	if (regular)
		UX_TRY(ix->nodes.reap(ix, now, &n, err));
	return fleet_claim_maintenance(f, now, err);
}

static void fleet_count(struct ux_fleet *f, enum fleet_count which, uint64_t n)
{
	atomic_fetch_add_explicit(&f->counts[which], n, memory_order_relaxed);
}

static void fleet_count_poll(struct ux_fleet *f, const struct ux_change_batch *batch, bool notified)
{
	fleet_count(f, FLEET_POLLS, 1);
	fleet_count(f, FLEET_NOTIFICATIONS, notified);
	fleet_count(f, FLEET_RESETS, batch->everything);
	fleet_count(f, FLEET_CHANGES, batch->n_modules);
	fleet_count(f, FLEET_LATE, notified ? 0 : batch->n_modules);
	atomic_store_explicit(&f->lag_ms, batch->lag_ms, memory_order_relaxed);
	atomic_store_explicit(&f->answered_ms, f->polled_ms, memory_order_relaxed);
}

/*
 * Polls for changes. Right after a notification, due jobs probably belong to the node that
 * notified, so leaves them.
 */
static enum ux_code fleet_poll(struct ux_fleet *f, bool notified, struct ux_error *err)
{
	struct ux_index *ix = f->store->index;
	UX_ARENA(arena, CHANGES_BUDGET);
	struct ux_change_batch batch;
	enum ux_code code = ix->nodes.poll(ix, &f->changes, &arena, &batch, err);
	if (code != UX_OK) {
		fleet_count(f, FLEET_FAILED_POLLS, 1);
		return code;
	}
	int64_t now_ms = ux_clock_ms();
	batch.everything |= now_ms - f->polled_ms > MISSED_CHANGES_MS;
	f->polled_ms = now_ms;
	fleet_count_poll(f, &batch, notified);
	if (batch.time_ms > 0)
		ux_store_clock_follow(&f->store->clock, batch.time_ms);
	batch.jobs_due &= !notified;
	ux_store_take_changes(f->store, &batch);
	return UX_OK;
}

/*
 * Polls until it is stopped. While the database is unavailable others cannot change anything. Then
 * the thread tries again once in POLL_MS.
 */
static void *fleet_run(void *ctx)
{
	struct ux_fleet *f = ctx;
	struct ux_index *ix = f->store->index;
	while (!atomic_load_explicit(&f->stopping, memory_order_relaxed)) {
		int64_t every_ms = f->store->has_replica ? REPLICA_POLL_MS : POLL_MS;
		int64_t wait_ms = f->polled_ms + every_ms - ux_clock_ms();
		bool notified = false;
		struct pollfd stop = {.fd = f->stop_fd, .events = POLLIN};
		wait_ms = ux_max(ux_min(wait_ms, (int64_t)POLL_MS), INT64_C(0));
		if (ix->nodes.wait(ix, f->stop_fd, (uint32_t)wait_ms, &notified, NULL) != UX_OK ||
		    fleet_poll(f, notified, NULL) != UX_OK)
			(void)poll(&stop, 1, POLL_MS);
		else if (ux_clock_ms() - f->heartbeat_ms >= HEARTBEAT_MS)
			(void)!fleet_heartbeat(f, NULL);
	}
	return NULL;
}

static enum ux_code fleet_begin(struct ux_fleet *f, struct ux_error *err)
{
	UX_TRY(ux_upload_uid_make(f->instance, err));
	f->started = ux_store_now(f->store);
	f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->stop_fd < 0)
		return ux_error_os(err, errno, "cannot create an eventfd");
	f->polled_ms = ux_clock_ms();
	UX_TRY(fleet_poll(f, /* notified= */ false, err));
	UX_TRY(fleet_heartbeat(f, err));
	/* the other process with this name was killed a moment ago */
	atomic_store_explicit(&f->duplicate_ms, 0, memory_order_relaxed);
	int r = pthread_create(&f->thread, NULL, fleet_run, f);
	if (r != 0)
		return ux_error_os(err, r, "cannot start the thread that watches other nodes");
	f->running = true;
	return UX_OK;
}

enum ux_code ux_fleet_start(struct ux_fleet **ret, struct ux_store *s, struct ux_error *err)
{
	assert(s->index && s->node[0] != '\0');
	static_assert((int)UX_NODE_INSTANCE == (int)UX_UPLOAD_UID_SIZE, "both are 32 hex digits");
	struct ux_fleet *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->store = s;
	f->stop_fd = -1;
	enum ux_code code = fleet_begin(f, err);
	if (code != UX_OK) {
		ux_fleet_stop(f);
		return code;
	}
	*ret = f;
	return UX_OK;
}

void ux_fleet_stop(struct ux_fleet *f)
{
	if (!f)
		return;
	if (f->running) {
		struct ux_index *ix = f->store->index;
		atomic_store_explicit(&f->stopping, true, memory_order_relaxed);
		(void)!eventfd_write(f->stop_fd, 1);
		pthread_join(f->thread, NULL);
		ux_time now = ux_store_now(f->store);
		const struct ux_node node = fleet_node(f, now);
		(void)!ix->nodes.leave(ix, &node, now, NULL);
	}
	if (f->stop_fd >= 0)
		close(f->stop_fd);
	ux_changes_deinit(&f->changes);
	free(f);
}

bool ux_fleet_does_maintenance(const struct ux_fleet *f)
{
	return ux_clock_ms() < atomic_load_explicit(&f->maintenance_ms, memory_order_relaxed);
}

static uint64_t fleet_count_of(const struct ux_fleet *f, enum fleet_count which)
{
	return atomic_load_explicit(&f->counts[which], memory_order_relaxed);
}

struct ux_fleet_status ux_fleet_status(const struct ux_fleet *f)
{
	int64_t now_ms = ux_clock_ms();
	int64_t duplicate_ms = atomic_load_explicit(&f->duplicate_ms, memory_order_relaxed);
	return (struct ux_fleet_status){
		.duplicate = duplicate_ms > 0 && now_ms - duplicate_ms < UX_NODE_DEAD_S * 1000,
		.outdated = atomic_load_explicit(&f->outdated, memory_order_relaxed),
		.maintains = ux_fleet_does_maintenance(f),
		.alive = atomic_load_explicit(&f->alive, memory_order_relaxed),
		.leases = atomic_load_explicit(&f->leases, memory_order_relaxed),
		.notifications = fleet_count_of(f, FLEET_NOTIFICATIONS),
		.polls = fleet_count_of(f, FLEET_POLLS),
		.failed_polls = fleet_count_of(f, FLEET_FAILED_POLLS),
		.changes = fleet_count_of(f, FLEET_CHANGES),
		.late = fleet_count_of(f, FLEET_LATE),
		.resets = fleet_count_of(f, FLEET_RESETS),
		.silent_ms = now_ms - atomic_load_explicit(&f->answered_ms, memory_order_relaxed),
		.lag_ms = atomic_load_explicit(&f->lag_ms, memory_order_relaxed),
	};
}
