/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the agent: its state, and the steps from a found file to the server. */
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
	UX_AGENT_PUBLIC_MAX = 8,    /* debuginfod servers */
	UX_AGENT_SPENDERS_MAX = 16, /* users whose use is counted: the ones with the most */
};

enum {
	/* processes whose run-time code is followed at the same time */
	UX_RUNTIME_PROCESSES_MAX = 1024,
	UX_RUNTIME_FILES_MAX = 4,        /* open files of one process */
	UX_RUNTIME_FILE_MAX = 256 << 20, /* maximum size in bytes of a file that is read */
	UX_RUNTIME_BYTES_MAX = 64 << 20, /* maximum bytes of GSYMs that are sent for one process */
};

/* A perf map or jitdump. It stays open, so that its last part can be read after its process has
 * ended. */
struct ux_runtime_file {
	int fd;
	bool is_dump;
	uint64_t dev;
	uint64_t ino;
	uint64_t known; /* bytes of the file whose code was sent */
	/* size of the file when it was last read; bytes from `known` on are an incomplete line or
	 * record */
	uint64_t looked;
	int64_t mtime_ns; /* its time of modification when it was last read */
	int64_t from_ns;  /* wall-clock time up to which its code was sent */
};

/* A process with code that is in no file. */
struct ux_runtime_process {
	pid_t pid;
	int64_t started_ns;      /* start by the wall clock, in whole microseconds */
	int64_t started_boot_ns; /* start, counted from the boot of the machine */
	struct ux_runtime_file files[UX_RUNTIME_FILES_MAX];
	size_t n_files;
	int64_t due_ms; /* monotonic time of its next check */
	unsigned looks; /* without a file */
	uint64_t bytes; /* that were sent */
	bool over;      /* the limit of bytes for one process was exceeded */
};

UX_VEC(ux_runtime_processes, struct ux_runtime_process);

/* Zeroed: no process is known. One thread at a time. */
struct ux_runtime_code {
	struct ux_runtime_processes processes;
	char host[UX_RUNTIME_HOST_MAX + 1]; /* host name under which the snapshots are listed */
	uint64_t left_out;                  /* processes that exceed UX_RUNTIME_PROCESSES_MAX */
};

struct ux_proc;

/* Processor time for the files of a user. */
struct ux_agent_spender {
	uid_t owner;
	struct ux_usage_window cpu[2]; /* for small files, and for large ones */
};

struct ux_agent {
	const struct ux_agent_options *o;
	struct ux_agent_summary *summary;
	struct ux_push_options push; /* o->push, completed */
	struct ux_push_work work;    /* client, children, counts */
	struct ux_host_watch watch;
	struct ux_open_helper opener;      /* for debug files and copies; the watch has its own */
	struct ux_push_packs *debug_files; /* of the batch whose turn it is now */
	pid_t owner; /* a process that has mapped the module under extraction; 0: none */
	struct ux_mapped_files files;    /* files that were found and are in no batch */
	size_t ordered;                  /* files that were put in order, and still wait */
	int64_t ordered_ms;              /* monotonic time at which they were */
	struct ux_agent_batches batches; /* under way */
	struct ux_agent_senders senders;
	struct ux_agent_keys done;        /* IDs for which nothing is left to do */
	struct ux_agent_state state;      /* answers about IDs and files, for the next run */
	struct ux_disk_queue *queue;      /* queue of symbols for the server; NULL: none */
	bool failed;                      /* a result was a failure after this was last cleared */
	bool reached;                     /* the server has answered at least once */
	bool away;                        /* the last attempt to reach the server failed */
	unsigned attempts;                /* number of failed attempts in succession */
	int64_t again_ms;                 /* monotonic time of the next attempt */
	struct ux_usage_window cpu;       /* processor time... */
	struct ux_usage_window cpu_of[2]; /* ...for small files, and for large ones */
	bool large;                       /* processor time is charged to large files now */
	struct ux_agent_spender *spender; /* and to this user; NULL: to none */
	struct ux_agent_spender spenders[UX_AGENT_SPENDERS_MAX];
	pthread_mutex_t bytes_lock; /* of `bytes` */
	struct ux_bucket bytes;     /* for uploads over all connections */
	int64_t cpu_ns;             /* processor time that was used since the start */
	struct ux_agent_metrics metrics;
	struct ux_runtime_code runtime;
	struct ux_http_client *public_servers[UX_AGENT_PUBLIC_MAX];
};

/*
 * Sends the queue. Then identifies the files of a->files, queries the server about modules with a
 * new ID, and extracts and sends the modules that it wants. A confined child reads each file. Files
 * for which there is no time now stay in a->files or in a->batches. After a connection error, all
 * unprocessed files are in a->files. Codes of ux_push_query().
 */
enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Extracts all waiting files into the queue, without asking the server: a deleted file would be
 * lost when this process ends. Codes of ux_agent_queue_put(); after a failure the remaining files
 * stay in a->files.
 */
enum ux_code ux_agent_keep(struct ux_agent *a, struct ux_error *err) ux_must;

/* Shows that the loop goes on (ux_agent_metrics_stalled()). ctx: struct ux_agent. */
void ux_agent_beat(void *ctx);

/* Sorts files by the order in which they are processed, at this monotonic time. */
void ux_agent_order(struct ux_mapped_files *files, int64_t now_ms);

enum ux_agent_taken {
	UX_AGENT_NEW,
	UX_AGENT_TAKEN,      /* processed by this run, or on the way */
	UX_AGENT_REMEMBERED, /* the server answered earlier that it needs nothing */
};

/*
 * Returns whether a module with these IDs and this trust is known. If not, takes its IDs: they are
 * known from now on. Files with the same build ID and different File IDs are different modules, or
 * a program of any user could keep root's library from being sent. UX_ENOMEM.
 */
enum ux_code ux_agent_take_ids(struct ux_agent *a, const struct ux_id_set *ids, enum ux_trust trust,
			       enum ux_agent_taken *ret, struct ux_error *err) ux_must;

/*
 * Makes all taken IDs count as new again, except the IDs in the queue. Called after a failure, so
 * that the waiting files are sent. UX_ENOMEM.
 */
enum ux_code ux_agent_forget_ids(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Completes a module. Adds its debug file if that has better symbols, from this host or from the
 * root of process pid, which has mapped the module (0: none). If DWARF is not wanted, lowers the
 * quality accordingly. UX_ENOMEM.
 */
enum ux_code ux_agent_complete(struct ux_agent *a, struct ux_push_module *m, pid_t pid,
			       struct ux_error *err) ux_must;

/* Finds the supplementary file of a debug file. It is a ux_push_supplementary_fn; ctx: struct
 * ux_agent. */
enum ux_code ux_agent_find_supplementary(void *ctx, struct ux_push_module *m,
					 const struct ux_id *id, const char *path,
					 struct ux_sandbox_part *ret, struct ux_error *err) ux_must;

/* Closes the debug files of a batch's modules. */
void ux_agent_close_debug_files(struct ux_push_packs *files);

/* Keeps the answer about the module with these IDs and this trust for the next run. */
void ux_agent_remember_ids(struct ux_agent *a, const struct ux_id_set *ids, enum ux_trust trust,
			   enum ux_agent_known known);

/* --- what others have ------------------------------------------------------------------------- */

/* UX_EINVAL: a URL is malformed. UX_ELIMIT, UX_ENOMEM. */
enum ux_code ux_agent_public_open(struct ux_agent *a, struct ux_error *err) ux_must;
void ux_agent_public_close(struct ux_agent *a);

/* Returns whether a debuginfod server has a debug file for the module, and reports that to w. */
bool ux_agent_is_public(struct ux_agent *a, struct ux_push_work *w, const struct ux_push_module *m);

/* --- what may be used of the machine ---------------------------------------------------------- */

/* Lowers the priority of this thread, and of the threads and children that it starts later. */
void ux_agent_budget_begin(struct ux_agent *a);

/* Waits until there is processor time. Call it before each step that uses much of it. */
void ux_agent_budget_wait(struct ux_agent *a);

/*
 * Returns whether files of this kind (large or small, of ended or running processes) have used most
 * of their part of the minute's processor time.
 */
bool ux_agent_budget_is_low(struct ux_agent *a, bool large, bool ended);

/*
 * Returns whether the files of this user have used their part of the minute's processor time:
 * otherwise other users' files would wait for the next minute.
 */
bool ux_agent_budget_is_spent(struct ux_agent *a, bool large, uid_t owner);

/* Returns whether this user has used so little that its files need not wait for others' time. */
bool ux_agent_budget_is_light(struct ux_agent *a, bool large, uid_t owner);

/* Charges the use from now on to a file, and to small or large ones by this size; NULL: to none. */
void ux_agent_budget_charge(struct ux_agent *a, const struct ux_mapped_file *f, uint64_t size);

/* Stops a child while there is no processor time. ctx: struct ux_agent; see struct
 * ux_sandbox_limits. */
void ux_agent_budget_pace(void *ctx, int child);

/*
 * Waits until these bytes may be sent under the limit of all connections together, and extends the
 * client's deadline by the time it waited. ctx: struct ux_agent; see ux_push_client. Any thread.
 */
void ux_agent_budget_sends(void *ctx, struct ux_push_client *c, uint64_t bytes);

/* --- how far run-time code was sent, for the next run ----------------------------------------- */

/*
 * Sets the start time of the process to the one that an earlier run sent: computing it from the
 * wall clock is inexact, but all snapshots of a process must have the same time.
 */
void ux_agent_runtime_recall_start(struct ux_agent *a, struct ux_runtime_process *p,
				   const struct ux_proc *proc);

/* Sets up to where, and up to what time, an earlier run sent the file. */
void ux_agent_runtime_recall_file(struct ux_agent *a, const struct ux_runtime_process *p,
				  struct ux_runtime_file *f);

/* Keeps both. */
void ux_agent_runtime_remember(struct ux_agent *a, const struct ux_runtime_process *p,
			       const struct ux_runtime_file *f);

/* --- run-time code ---------------------------------------------------------------------------- */

void ux_runtime_code_deinit(struct ux_runtime_code *r);

/* Returns the monotonic time at which a process must be checked next; INT64_MAX: none. */
int64_t ux_agent_runtime_due(const struct ux_agent *a);

/*
 * Takes over newly found processes with run-time code, and sends new code from the perf maps and
 * jitdumps of the processes that are due. After a connection error they stay due. Codes of
 * ux_push_upload().
 */
enum ux_code ux_agent_runtime_step(struct ux_agent *a, struct ux_error *err) ux_must;

/* --- while the server is away ----------------------------------------------------------------- */

/* Notes that the server is away, and schedules the next attempt. */
void ux_agent_away(struct ux_agent *a);
void ux_agent_back(struct ux_agent *a);

/* Returns whether symbols are kept on disk. */
bool ux_agent_keeps(const struct ux_agent *a);

/* Tests whether the server answers. Codes of ux_http_client_call(). */
enum ux_code ux_agent_probe(struct ux_agent *a, struct ux_error *err) ux_must;

struct ux_agent_message;

/* Puts symbols into the queue. Codes of ux_disk_queue_add_parts(). */
enum ux_code ux_agent_queue_put(struct ux_agent *a, const struct ux_agent_message *m,
				struct ux_error *err) ux_must;

/* Extracts a module into the queue. A module that cannot be kept is reported. UX_ENOMEM. */
enum ux_code ux_agent_queue_module(struct ux_agent *a, struct ux_push_module *m,
				   struct ux_error *err) ux_must;

/* Marks the modules that an earlier run left in the queue as known. UX_ENOMEM. */
enum ux_code ux_agent_queue_ids(struct ux_agent *a, struct ux_error *err) ux_must;

/*
 * Sends the first messages of the queue that the server wants; sets *more if there were any. After
 * a connection error the unsent messages stay. Codes of ux_push_query().
 */
enum ux_code ux_agent_queue_send(struct ux_agent *a, bool *more, struct ux_error *err) ux_must;

#endif
