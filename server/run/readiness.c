/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of a server, and whether it should get requests in spite of them. */
#include "readiness.h"

#include "clock.h"
#include "event_log.h"
#include "node_state.h"
#include "s3_client.h"
#include "timer.h"
#include "watch.h"

enum {
	LOOK_MS = 1000,
	/* ms; a look that takes this long waits for a disk that does not answer */
	LATE_MS = 10000,
	/*
	 * ms since the last failed request to the bucket. A node that gets no requests does not try
	 * again; it would stay degraded, and therefore get none.
	 */
	BUCKET_MS = 30000,
	NAMES_MAX = 256, /* bytes of the names of all causes in the log */
};

/* What follows from a fault. */
enum effect {
	NOTED,                 /* clients do not notice it */
	DEGRADES,              /* all nodes have it, so the others do no better */
	REFUSES_BEFORE_OTHERS, /* no requests while another node can answer instead */
	REFUSES,               /* no requests: nothing is answered, or not for long */
};

/* One row for each fault. message: what does not work. */
static const struct fault {
	const char *cause;
	const char *scope;
	enum effect effect;
	const char *message;
} all_faults[UX_FAULTS] = {
	[UX_FAULT_STOPPING] = {"stopping", "node", REFUSES, "the server is stopping"},
	[UX_FAULT_STUCK] = {"stuck", "node", REFUSES, "a thread makes no progress"},
	[UX_FAULT_OUTDATED] = {"outdated", "node", REFUSES,
			       "a newer unhex changed the index so that " UX_VERSION
			       " cannot use it"},
	[UX_FAULT_INDEX] = {"index", "node", REFUSES,
			    "the index cannot be read; only open modules are answered"},
	[UX_FAULT_STALLED] = {"stalled", "node", REFUSES_BEFORE_OTHERS,
			      "the disk or the index has not answered for 10 seconds"},
	[UX_FAULT_DISK] = {"disk", "node", REFUSES_BEFORE_OTHERS,
			   "the disk is full; uploads and copies of files of the bucket fail"},
	[UX_FAULT_CLOCK] = {"clock", "node", REFUSES_BEFORE_OTHERS,
			    "this machine's clock is wrong; buckets and TLS may refuse it, and "
			    "sweeps wait"},
	[UX_FAULT_DATABASE] = {"database", "shared", DEGRADES,
			       "the index database does not respond; only open modules are "
			       "answered, for keys that were used recently"},
	[UX_FAULT_BUCKET] = {"bucket", "shared", DEGRADES,
			     "the bucket does not respond; uploads fail, and so do files without "
			     "a copy on this node"},
	[UX_FAULT_DUPLICATE] = {"duplicate", "node", NOTED,
				"another process has the name of this node; work may be done "
				"twice"},
};

struct ux_readiness {
	struct ux_server *server;
	struct ux_timers *timers;
	struct ux_timer timer;
	/* results of the last look: hints, so no memory order is needed */
	_Atomic unsigned seen;
	_Atomic int64_t looked_ms;
	unsigned logged; /* used only by the timers' thread */
};

static bool fault_is_in(unsigned faults, enum ux_fault fault)
{
	return (faults & 1U << fault) != 0;
}

static unsigned fault_if(bool is, enum ux_fault fault)
{
	return is ? 1U << fault : 0;
}

/* Tests for a fault of an index in a file. The thread of struct ux_fleet watches a database. */
static bool readiness_index_fails(struct ux_store *s)
{
	struct ux_usage usage;
	return !s->fleet && s->index->namespaces.usage(s->index, NULL, &usage, NULL) != UX_OK;
}

/*
 * A node compares its clock with the database's. A server by itself has nothing to compare with; it
 * notices that its clock was changed.
 */
static bool readiness_clock_is_wrong(struct ux_store *s)
{
	int64_t ahead = s->fleet ? ux_store_clock_ahead(&s->clock) : 0;
	return s->fleet ? ahead > UX_CLOCK_AHEAD_MAX || ahead < -UX_CLOCK_AHEAD_MAX
			: !ux_store_clock_agrees(&s->clock);
}

static bool readiness_bucket_is_away(struct ux_blobs *b)
{
	struct ux_blob_copies copies;
	if (!b->copies)
		return false;
	b->copies(b, &copies);
	return ux_s3_failed_within(copies.s3, BUCKET_MS);
}

/* Looks at what takes system calls, locks or the index. */
static unsigned readiness_look(struct ux_server *s)
{
	struct ux_room_state room;
	bool full = ux_room_get(&s->store->room, &room, NULL) != UX_OK || !room.accepts;
	return fault_if(full, UX_FAULT_DISK) |
	       fault_if(readiness_clock_is_wrong(s->store), UX_FAULT_CLOCK) |
	       fault_if(readiness_bucket_is_away(s->store->blobs), UX_FAULT_BUCKET) |
	       fault_if(readiness_index_fails(s->store), UX_FAULT_INDEX);
}

struct ux_ready_state ux_ready_state_of(struct ux_server *s)
{
	struct ux_ready_state state = {.busy = ""};
	const struct ux_readiness *r = s->readiness;
	int64_t busy_ms = 0;
	bool late = r && ux_clock_ms() - atomic_load_explicit(&r->looked_ms, memory_order_relaxed) >
				 LATE_MS;
	state.faults = r ? atomic_load_explicit(&r->seen, memory_order_relaxed) : readiness_look(s);
	state.faults |= fault_if(late, UX_FAULT_STALLED);
	state.faults |= fault_if(atomic_load_explicit(&s->stopping, memory_order_relaxed),
				 UX_FAULT_STOPPING);
	state.faults |=
		fault_if(!ux_watch_is_fine(s->watch, &state.busy, &busy_ms), UX_FAULT_STUCK);
	state.busy_s = busy_ms / 1000;
	if (s->store->fleet) {
		const struct ux_fleet_status n = ux_fleet_status(s->store->fleet);
		state.others = n.alive > 1;
		state.faults |= fault_if(n.outdated, UX_FAULT_OUTDATED) |
				fault_if(n.duplicate, UX_FAULT_DUPLICATE) |
				fault_if(ux_node_is_cut_off(&n), UX_FAULT_DATABASE);
	}
	return state;
}

/* --- what they mean --------------------------------------------------------------------------- */

static bool fault_refuses(enum ux_fault fault, const struct ux_ready_state *state)
{
	enum effect effect = all_faults[fault].effect;
	return fault_is_in(state->faults, fault) &&
	       (effect == REFUSES || (effect == REFUSES_BEFORE_OTHERS && state->others));
}

/* Returns the first fault that refuses requests; UX_FAULTS: none does. */
static enum ux_fault ready_state_reason(const struct ux_ready_state *state)
{
	int i = 0;
	while (i < UX_FAULTS && !fault_refuses((enum ux_fault)i, state))
		i++;
	return (enum ux_fault)i;
}

bool ux_ready_state_refuses(const struct ux_ready_state *state)
{
	return ready_state_reason(state) != UX_FAULTS;
}

static const char *ready_state_status(const struct ux_ready_state *state)
{
	const char *status = "ready";
	for (int i = 0; i < UX_FAULTS; i++)
		if (fault_is_in(state->faults, (enum ux_fault)i) && all_faults[i].effect != NOTED)
			status = "degraded";
	return ux_ready_state_refuses(state) ? "not_ready" : status;
}

static const char *ready_state_uploads(const struct ux_ready_state *state)
{
	const unsigned away = 1U << UX_FAULT_OUTDATED | 1U << UX_FAULT_INDEX |
			      1U << UX_FAULT_DATABASE | 1U << UX_FAULT_BUCKET;
	return fault_is_in(state->faults, UX_FAULT_DISK) ? "disk_full"
	       : (state->faults & away) != 0             ? "unavailable"
							 : "accepted";
}

/* Messages are static text without characters that JSON escapes. */
static void ready_state_put_message(const struct ux_ready_state *state, enum ux_fault fault,
				    struct ux_out *out)
{
	if (fault == UX_FAULT_STUCK)
		ux_out_fmt(out, "\"%s has been busy for %" PRId64 " s\"", state->busy,
			   state->busy_s);
	else
		ux_out_fmt(out, "\"%s\"", all_faults[fault].message);
}

void ux_ready_state_write(const struct ux_ready_state *state, struct ux_out *out)
{
	enum ux_fault reason = ready_state_reason(state);
	const char *between = "";
	ux_out_cstr(out, "{");
	if (reason != UX_FAULTS) {
		ux_out_cstr(out, "\"error\":{\"code\":\"not_ready\",\"message\":");
		ready_state_put_message(state, reason, out);
		ux_out_cstr(out, "},");
	}
	ux_out_fmt(out, "\"status\":\"%s\",\"uploads\":\"%s\"", ready_state_status(state),
		   ready_state_uploads(state));
	ux_out_cstr(out, state->faults != 0 ? ",\"faults\":[" : "");
	for (int i = 0; i < UX_FAULTS; i++) {
		if (!fault_is_in(state->faults, (enum ux_fault)i))
			continue;
		ux_out_fmt(out, "%s{\"cause\":\"%s\",\"scope\":\"%s\",\"message\":", between,
			   all_faults[i].cause, all_faults[i].scope);
		ready_state_put_message(state, (enum ux_fault)i, out);
		ux_out_cstr(out, "}");
		between = ",";
	}
	ux_out_cstr(out, state->faults != 0 ? "]}\n" : "}\n");
}

/* --- looking once a second -------------------------------------------------------------------- */

static void readiness_log(struct ux_readiness *r)
{
	const struct ux_ready_state state = ux_ready_state_of(r->server);
	char names[NAMES_MAX] = "";
	size_t n = 0;
	if (state.faults == r->logged)
		return;
	for (int i = 0; i < UX_FAULTS; i++)
		if (fault_is_in(state.faults, (enum ux_fault)i) && n < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? "," : "",
					      all_faults[i].cause);
	ux_log_line(state.faults == 0 ? "info" : "warning", "readiness", "status=%s faults=%s",
		    ready_state_status(&state), state.faults == 0 ? "none" : names);
	r->logged = state.faults;
}

static void readiness_on_timer(struct ux_timer *timer)
{
	struct ux_readiness *r = ux_container_of(timer, struct ux_readiness, timer);
	atomic_store_explicit(&r->seen, readiness_look(r->server), memory_order_relaxed);
	atomic_store_explicit(&r->looked_ms, ux_clock_ms(), memory_order_relaxed);
	readiness_log(r);
	ux_timer_start(r->timers, &r->timer, LOOK_MS);
}

enum ux_code ux_readiness_open(struct ux_readiness **ret, struct ux_server *s, struct ux_error *err)
{
	struct ux_readiness *r = calloc(1, sizeof(*r));
	if (!r)
		return ux_error_nomem(err);
	r->server = s;
	r->timer.fire = readiness_on_timer;
	r->seen = readiness_look(s);
	r->looked_ms = ux_clock_ms();
	enum ux_code code = ux_timers_open(&r->timers, err);
	if (code != UX_OK) {
		free(r);
		return code;
	}
	*ret = r;
	ux_timer_start(r->timers, &r->timer, LOOK_MS);
	return UX_OK;
}

void ux_readiness_close(struct ux_readiness *r)
{
	if (!r)
		return;
	ux_timer_stop(r->timers, &r->timer);
	ux_timers_close(r->timers);
	free(r);
}
