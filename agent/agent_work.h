/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the agent: its state, and the way of a file to the server. */
#ifndef UX_AGENT_WORK_H
#define UX_AGENT_WORK_H

#include "agent.h"
#include "agent_metrics.h"
#include "agent_state.h"
#include "bucket.h"
#include "disk_queue.h"
#include "host_watch.h"
#include "push_work.h"
#include "runtime_code.h"

enum {
	UX_AGENT_PUBLIC_MOST = 8, /* debuginfod servers */
};

struct ux_agent {
	const struct ux_agent_options *o;
	struct ux_agent_summary *summary;
	struct ux_push_options push; /* o->push, completed */
	struct ux_push_work work;    /* client, children, counts */
	struct ux_host_watch watch;
	struct ux_mapped_files files; /* that were found and not sent yet */
	struct ux_push_by_id done;    /* IDs that need nothing more; the values have no meaning */
	struct ux_agent_state state;  /* the same, and files, for the next run */
	struct ux_disk_queue *queue;  /* symbols that wait for the server; NULL: none are kept */
	bool failed;                  /* a result was a failure since this was cleared */
	bool reached;                 /* the server has answered once */
	bool away;                    /* the server could not be reached the last time */
	unsigned attempts;            /* how often that was so in succession */
	int64_t away_ms;              /* since when, by the monotonic clock */
	int64_t again_ms;             /* when it is tried again; 0: at once */
	struct ux_bucket cpu;         /* processor time */
	struct ux_bucket bytes;       /* of uploads */
	int64_t cpu_ns;               /* that was used in all */
	struct ux_agent_metrics metrics;
	struct ux_runtime_code runtime;
	struct ux_http_client *public_servers[UX_AGENT_PUBLIC_MOST];
};

/*
 * Identifies the files, queries the server about those that have an ID that is new, extracts and
 * sends those that it wants. Each file is read by a confined child. Takes the files that it has
 * dealt with out of a->files; after an error of the connection the others stay there. Codes: those
 * of ux_push_query().
 */
enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err) ux_must;

/* Were modules with one of these IDs dealt with? Else they are now. UX_ENOMEM. */
enum ux_code ux_agent_take_ids(struct ux_agent *a, const struct ux_id_set *ids, bool *ret_known,
			       struct ux_error *err) ux_must;

/*
 * Completes a module: its debug file, when that has more, and without DWARF the quality that is
 * left. UX_ENOMEM.
 */
enum ux_code ux_agent_complete(struct ux_agent *a, struct ux_push_module *m, struct ux_error *err)
	ux_must;

/* Keeps for the next run what is known of the module with these IDs. */
void ux_agent_remember_ids(struct ux_agent *a, const struct ux_id_set *ids,
			   enum ux_agent_known known);

/* --- what others have ------------------------------------------------------------------------- */

/* UX_EINVAL: a URL is malformed. UX_ELIMIT, UX_ENOMEM. */
enum ux_code ux_agent_public_open(struct ux_agent *a, struct ux_error *err) ux_must;
void ux_agent_public_close(struct ux_agent *a);

/* Does one of the debuginfod servers have a debug file for the module? Then that is reported. */
bool ux_agent_is_public(struct ux_agent *a, const struct ux_push_module *m);

/* --- what may be used of the machine ---------------------------------------------------------- */

/* Lowers the priority of this thread, and of threads and children that it starts. */
void ux_agent_budget_begin(struct ux_agent *a);

/* Waits until there is processor time. To be called before each step that takes some. */
void ux_agent_budget_wait(struct ux_agent *a);

/* Stops a child while there is none. ctx: struct ux_agent; see struct ux_sandbox_limits. */
void ux_agent_budget_pace(void *ctx, int child);

/* Waits until these bytes were allowed to be sent. ctx: struct ux_agent; see ux_push_client. */
void ux_agent_budget_sent(void *ctx, uint64_t bytes);

/* --- run-time code ---------------------------------------------------------------------------- */

/* When a process is to be looked at next, by the monotonic clock; INT64_MAX: there is none. */
int64_t ux_agent_runtime_due(const struct ux_agent *a);

/*
 * Takes over the processes that were found to have run-time code, and sends what is new in the perf
 * maps and jitdumps of processes that are due. After an error of the connection they stay due.
 * Codes: those of ux_push_upload().
 */
enum ux_code ux_agent_runtime_step(struct ux_agent *a, struct ux_error *err) ux_must;

/* --- while the server is away ----------------------------------------------------------------- */

/* Notes that it could not be reached, and when it is tried again. */
void ux_agent_away(struct ux_agent *a);
void ux_agent_back(struct ux_agent *a);

/* Has it been away for so long that symbols are kept on disk? */
bool ux_agent_keeps(const struct ux_agent *a);

/* Does it answer? Codes: those of ux_http_client_call(). */
enum ux_code ux_agent_probe(struct ux_agent *a, struct ux_error *err) ux_must;

struct ux_agent_message;

/* Puts symbols into the queue. Codes: those of ux_disk_queue_add_parts(). */
enum ux_code ux_agent_queue_put(struct ux_agent *a, const struct ux_agent_message *m,
				struct ux_error *err) ux_must;

/* Extracts a module into the queue. What cannot be kept is reported. UX_ENOMEM. */
enum ux_code ux_agent_queue_module(struct ux_agent *a, struct ux_push_module *m,
				   struct ux_error *err) ux_must;

/* Counts the modules in the queue, of an earlier run, among those that were dealt with. UX_ENOMEM.
 */
enum ux_code ux_agent_queue_ids(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Sends what is in the queue, as far as the server wants it. After an error of the connection the
 * rest stays. Codes: those of ux_push_query().
 */
enum ux_code ux_agent_queue_send(struct ux_agent *a, struct ux_error *err) ux_must;

#endif
