/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the agent: its state, and the way of a file to the server. */
#ifndef UX_AGENT_WORK_H
#define UX_AGENT_WORK_H

#include "agent.h"
#include "agent_batch.h"
#include "agent_metrics.h"
#include "agent_senders.h"
#include "agent_state.h"
#include "bucket.h"
#include "disk_queue.h"
#include "host_watch.h"
#include "push_work.h"
#include "runtime_part.h"
#include "usage_window.h"

enum {
	UX_AGENT_PUBLIC_MAX = 8, /* debuginfod servers */
};

enum {
	UX_RUNTIME_PROCESSES_MAX = 1024, /* that are watched at a time; others are left out */
	UX_RUNTIME_FILES_MAX = 4,        /* of one process; each is open */
	UX_RUNTIME_FILE_MAX = 256 << 20, /* bytes of a file that is read */
	UX_RUNTIME_BYTES_MAX = 64 << 20, /* of GSYMs that are sent for one process */
};

/* A perf map or jitdump. It is open, so that its end can be read after its process has ended. */
struct ux_runtime_file {
	int fd;
	bool is_dump;
	uint64_t dev;
	uint64_t ino;
	uint64_t known;  /* bytes whose code was sent */
	uint64_t looked; /* bytes that it had then: the rest is the beginning of a line or record */
	int64_t mtime_ns; /* when it was written last, as of then */
	int64_t from_ns;  /* until when its code was sent, by the wall clock */
};

/* A process with code that is in no file. */
struct ux_runtime_process {
	pid_t pid;
	int64_t started_ns;      /* by the wall clock, in whole microseconds */
	int64_t started_boot_ns; /* since the machine was started */
	struct ux_runtime_file files[UX_RUNTIME_FILES_MAX];
	size_t n_files;
	int64_t due_ms; /* of the monotonic clock: when it is looked at again */
	unsigned looks; /* without a file */
	uint64_t bytes; /* that were sent */
	bool over;      /* more than is sent for one process */
};

UX_VEC(ux_runtime_processes, struct ux_runtime_process);

/* Zeroed: no process is known. One thread at a time. */
struct ux_runtime_code {
	struct ux_runtime_processes processes;
	char host[UX_RUNTIME_HOST_MAX + 1]; /* under which the snapshots are listed */
	uint64_t left_out;                  /* processes beyond the limit */
};

struct ux_proc;

struct ux_agent {
	const struct ux_agent_options *o;
	struct ux_agent_summary *summary;
	struct ux_push_options push; /* o->push, completed */
	struct ux_push_work work;    /* client, children, counts */
	struct ux_host_watch watch;
	struct ux_push_packs *debug_files; /* of the batch whose turn it is */
	pid_t owner; /* a process that has mapped the module that is extracted; 0: none */
	struct ux_mapped_files files;    /* that were found, and are in no batch */
	struct ux_agent_batches batches; /* under way */
	struct ux_agent_senders senders;
	struct ux_agent_keys done;   /* of IDs that need nothing more */
	struct ux_agent_state state; /* the same, and files, for the next run */
	struct ux_disk_queue *queue; /* symbols that wait for the server; NULL: none are kept */
	bool failed;                 /* a result was a failure since this was cleared */
	bool reached;                /* the server has answered once */
	bool away;                   /* the server could not be reached the last time */
	unsigned attempts;           /* how often that was so in succession */
	int64_t again_ms;            /* when it is tried again, by the monotonic clock */
	struct ux_usage_window cpu;  /* processor time... */
	struct ux_usage_window cpu_of[2]; /* ...for small files, and for large ones */
	bool large;                       /* it is used for a large file */
	pthread_mutex_t bytes_lock;       /* of `bytes` */
	struct ux_bucket bytes;           /* of uploads, over all connections */
	int64_t cpu_ns;                   /* that was used in all */
	struct ux_agent_metrics metrics;
	struct ux_runtime_code runtime;
	struct ux_http_client *public_servers[UX_AGENT_PUBLIC_MAX];
};

/*
 * Sends the queue, then identifies the files, queries the server about modules that have an ID that
 * is new, extracts and sends the ones that it wants. Each file is read by a confined child. Takes
 * files out of a->files; files that there is no time for now stay there, or in a->batches. After an
 * error of the connection all that were not dealt with are in a->files. Codes: as of
 * ux_push_query().
 */
enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Extracts all files that were found into the queue, without the server: a file that is deleted
 * would be lost with this process. Codes: as of ux_agent_queue_put(), after which the others
 * stay in a->files.
 */
enum ux_code ux_agent_keep(struct ux_agent *a, struct ux_error *err) ux_must;

/* Sorts files: the next one to be dealt with first. */
void ux_agent_order(struct ux_mapped_files *files);

enum ux_agent_taken {
	UX_AGENT_NEW,
	UX_AGENT_TAKEN,      /* dealt with by this run, or on the way */
	UX_AGENT_REMEMBERED, /* the server has answered that nothing more is needed */
};

/* Was a module with one of these IDs dealt with? A new one is taken now. UX_ENOMEM. */
enum ux_code ux_agent_take_ids(struct ux_agent *a, const struct ux_id_set *ids,
			       enum ux_agent_taken *ret, struct ux_error *err) ux_must;

/*
 * IDs that were taken count as new again, except those in the queue: after a failure, so that the
 * files that wait find them. UX_ENOMEM.
 */
enum ux_code ux_agent_forget_ids(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Completes a module: its debug file, when that has more, of this host or in the root of the
 * process pid, which has mapped it (0: none); and without DWARF the quality that is left.
 * UX_ENOMEM.
 */
enum ux_code ux_agent_complete(struct ux_agent *a, struct ux_push_module *m, pid_t pid,
			       struct ux_error *err) ux_must;

/* Finds the supplementary file of a debug file. ctx: struct ux_agent; a ux_push_supplementary_fn.
 */
enum ux_code ux_agent_find_supplementary(void *ctx, struct ux_push_module *m,
					 const struct ux_id *id, const char *path,
					 struct ux_sandbox_part *ret, struct ux_error *err) ux_must;

/* Closes the debug files that modules of a batch have. */
void ux_agent_close_debug_files(struct ux_push_packs *files);

/* Keeps for the next run the answer about the module with these IDs. */
void ux_agent_remember_ids(struct ux_agent *a, const struct ux_id_set *ids,
			   enum ux_agent_known known);

/* --- what others have ------------------------------------------------------------------------- */

/* UX_EINVAL: a URL is malformed. UX_ELIMIT, UX_ENOMEM. */
enum ux_code ux_agent_public_open(struct ux_agent *a, struct ux_error *err) ux_must;
void ux_agent_public_close(struct ux_agent *a);

/* Does one of the debuginfod servers have a debug file for the module? Then that is reported to w.
 */
bool ux_agent_is_public(struct ux_agent *a, struct ux_push_work *w, const struct ux_push_module *m);

/* --- what may be used of the machine ---------------------------------------------------------- */

/* Lowers the priority of this thread, and of threads and children that it starts. */
void ux_agent_budget_begin(struct ux_agent *a);

/* Waits until there is processor time. To be called before each step that takes some. */
void ux_agent_budget_wait(struct ux_agent *a);

/*
 * Was most of the part of the minute's processor time used that is for such files: large ones, or
 * files of processes that have ended?
 */
bool ux_agent_budget_is_low(struct ux_agent *a, bool large, bool ended);

/* Stops a child while there is none. ctx: struct ux_agent; see struct ux_sandbox_limits. */
void ux_agent_budget_pace(void *ctx, int child);

/*
 * Waits until these bytes may be sent, so that all connections together keep the limit, and moves
 * the deadline of the client by that. ctx: struct ux_agent; see ux_push_client. Any thread.
 */
void ux_agent_budget_sends(void *ctx, struct ux_push_client *c, uint64_t bytes);

/* --- how far run-time code was sent, for the next run ----------------------------------------- */

/*
 * Sets when the process was started, as an earlier run has sent it: the wall clock gives it with an
 * error, and all snapshots of one process are to have one time.
 */
void ux_agent_runtime_recall_start(struct ux_agent *a, struct ux_runtime_process *p,
				   const struct ux_proc *proc);

/* Sets how far the file was sent, and when. */
void ux_agent_runtime_recall_file(struct ux_agent *a, const struct ux_runtime_process *p,
				  struct ux_runtime_file *f);

/* Keeps both. */
void ux_agent_runtime_remember(struct ux_agent *a, const struct ux_runtime_process *p,
			       const struct ux_runtime_file *f);

/* --- run-time code ---------------------------------------------------------------------------- */

void ux_runtime_code_deinit(struct ux_runtime_code *r);

/* When a process is to be looked at next, by the monotonic clock; INT64_MAX: there is none. */
int64_t ux_agent_runtime_due(const struct ux_agent *a);

/*
 * Takes over the processes that were found to have run-time code, and sends new code in the perf
 * maps and jitdumps of processes that are due. After an error of the connection they stay due.
 * Codes: as of ux_push_upload().
 */
enum ux_code ux_agent_runtime_step(struct ux_agent *a, struct ux_error *err) ux_must;

/* --- while the server is away ----------------------------------------------------------------- */

/* Notes that it could not be reached, and when it is tried again. */
void ux_agent_away(struct ux_agent *a);
void ux_agent_back(struct ux_agent *a);

/* Are symbols kept on disk? */
bool ux_agent_keeps(const struct ux_agent *a);

/* Does it answer? Codes: as of ux_http_client_call(). */
enum ux_code ux_agent_probe(struct ux_agent *a, struct ux_error *err) ux_must;

struct ux_agent_message;

/* Puts symbols into the queue. Codes: as of ux_disk_queue_add_parts(). */
enum ux_code ux_agent_queue_put(struct ux_agent *a, const struct ux_agent_message *m,
				struct ux_error *err) ux_must;

/* Extracts a module into the queue. What cannot be kept is reported. UX_ENOMEM. */
enum ux_code ux_agent_queue_module(struct ux_agent *a, struct ux_push_module *m,
				   struct ux_error *err) ux_must;

/* Counts the modules in the queue, of an earlier run, among the modules that were dealt with.
 * UX_ENOMEM.
 */
enum ux_code ux_agent_queue_ids(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Sends the first messages of the queue, as far as the server wants them; *more is set if there
 * were any. After an error of the connection the rest stays. Codes: as of ux_push_query().
 */
enum ux_code ux_agent_queue_send(struct ux_agent *a, bool *more, struct ux_error *err) ux_must;

#endif
