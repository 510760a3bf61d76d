/* SPDX-License-Identifier: Apache-2.0 */
/* Counters and state of the agent, for Prometheus. */
#ifndef UX_AGENT_METRICS_H
#define UX_AGENT_METRICS_H

#include "disk_queue.h"
#include "error.h"
#include "host_watch.h"
#include "push_run.h"

#include <stdatomic.h>

struct ux_http_server;
struct ux_metrics_server;

/* Numbers that the agent's threads set. They are independent, so no memory order is needed. */
struct ux_agent_metrics {
	_Atomic uint64_t modules[UX_PUSH_STATUS_COUNT]; /* modules by the result of their push */
	_Atomic uint64_t upload_bytes;
	_Atomic uint64_t queued;      /* modules whose symbols went to the queue */
	_Atomic uint64_t known;       /* answers that are remembered */
	_Atomic uint64_t not_written; /* answers that could not be kept on disk */
	_Atomic uint64_t waiting;     /* files that were found and are not processed yet */
	_Atomic uint64_t away;        /* 1: the last attempt to reach the server failed */
	_Atomic uint64_t hung;        /* times that a file system did not answer the agent's loop */
	/* monotonic time in ms of the last sign of the agent's loop; 0: it waits for files */
	_Atomic uint64_t alive_ms;
	uint64_t patience_ms; /* the longest time without a sign: the loop waits for the server */
	_Atomic uint64_t cpu_ms;
	_Atomic uint64_t paused_ms;
	/* processes with run-time code that the agent follows */
	_Atomic uint64_t runtime_processes;
	_Atomic uint64_t runtime_left_out;  /* processes beyond the limit */
	_Atomic uint64_t runtime_snapshots; /* snapshots that had new code */
	_Atomic uint64_t runtime_bytes;     /* bytes of symbols in the snapshots */
	struct ux_disk_queue *queue;        /* NULL: none */
	struct ux_host_watch *watch;
	struct ux_http_server *http;      /* NULL: metrics are not served */
	struct ux_metrics_server *server; /* the context of `http`; malloc'ed */
	char *socket;                     /* path of the Unix socket, malloc'ed; NULL: none */
};

/*
 * Serves GET /metrics and GET /healthz at "HOST:PORT", or on a Unix socket at "unix:PATH", which
 * replaces an existing socket. *m must not move. UX_EINVAL, UX_EUNAVAILABLE, UX_EIO.
 */
enum ux_code ux_agent_metrics_open(struct ux_agent_metrics *m, const char *address,
				   struct ux_error *err) ux_must;
void ux_agent_metrics_close(struct ux_agent_metrics *m);

/*
 * Returns which part of the agent has made no progress for too long at this monotonic time; NULL:
 * none. Any thread.
 */
const char *ux_agent_metrics_stalled(const struct ux_agent_metrics *m, uint64_t now_ms);

/* Writes the metrics in Prometheus' text format. Any thread. */
void ux_agent_metrics_write(struct ux_agent_metrics *m, struct ux_out *out);

static inline void ux_agent_metric_set(_Atomic uint64_t *metric, uint64_t value)
{
	atomic_store_explicit(metric, value, memory_order_relaxed);
}

static inline void ux_agent_metric_add(_Atomic uint64_t *metric, uint64_t n)
{
	atomic_fetch_add_explicit(metric, n, memory_order_relaxed);
}

#endif
