/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's loop: waits for new mappings, and has them sent. */
#include "agent_work.h"

#include "clock.h"
#include "file.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>

enum {
	PATH_SIZE = 4096,
	TIME_MS = 1000, /* ms before files that wait for processor time are tried again */
	/* bytes; freed blocks of at least this size go back to the system */
	MAPPED_MIN = 256 << 10,
};

static void agent_deinit(struct ux_agent *a)
{
	ux_agent_senders_deinit(a);
	ux_agent_batches_free(a);
	(void)pthread_mutex_destroy(&a->bytes_lock);
	ux_agent_metrics_close(&a->metrics);
	ux_agent_public_close(a);
	ux_host_watch_deinit(&a->watch);
	ux_open_helper_deinit(&a->opener);
	ux_mapped_files_free(&a->files);
	ux_runtime_code_deinit(&a->runtime);
	ux_agent_keys_deinit(&a->done);
	ux_agent_state_close(&a->state);
	ux_disk_queue_close(a->queue);
	ux_push_client_close(&a->work.client);
	ux_push_archives_close(&a->work);
}

/* Raises the limit of open files: waiting files are open. */
static void agent_raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = ux_min(limit.rlim_max, (rlim_t)UX_FILE_ROOM_MAX * 2);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void agent_notice_line(const struct ux_agent *a, const char *line)
{
	if (a->o->notice)
		a->o->notice(a->o->push.ctx, line);
}

static void agent_notice(const struct ux_agent *a, const char *what, const struct ux_error *why)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	char line[UX_ERROR_TEXT + UX_ERROR_SECTION + 256];
	snprintf(line, sizeof(line), "%.100s: %s", what, ux_error_format(why, text, sizeof(text)));
	agent_notice_line(a, line);
}

/* Tells the user once which processes are hidden from the agent, and which right would help. */
static void agent_notice_hidden(struct ux_agent *a)
{
	char line[256];
	const struct ux_host_seen s = ux_host_watch_seen(&a->watch);
	snprintf(line, sizeof(line),
		 "%" PRIu64 " of %" PRIu64
		 " processes belong to other users and are not read; reading them needs "
		 "CAP_SYS_PTRACE",
		 s.denied, s.processes);
	if (s.denied > 0)
		agent_notice_line(a, line);
	snprintf(line, sizeof(line),
		 "%" PRIu64
		 " mapped files are deleted or unreadable; deleted files need CAP_SYS_ADMIN or "
		 "CAP_CHECKPOINT_RESTORE, unreadable files CAP_DAC_READ_SEARCH",
		 s.hidden);
	if (s.hidden > 0)
		agent_notice_line(a, line);
	snprintf(line, sizeof(line),
		 "the kernel or its modules have no symbols (%" PRIu64 " files)", s.nameless);
	if (s.nameless > 0 && s.kernel_why.code != UX_OK)
		agent_notice(a, line, &s.kernel_why);
}

/*
 * Sends the waiting files. While the server is away, keeps them on disk: the user is told once, and
 * it is no failure.
 */
static enum ux_code agent_try_send(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	if (!a->away || ux_clock_ms() >= a->again_ms) {
		enum ux_code code = ux_agent_send(a, &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code == UX_OK) {
			ux_agent_back(a);
			return UX_OK;
		}
		if (!a->away)
			agent_notice(a, "files wait until the server answers", &why);
		ux_agent_away(a);
	}
	if (!ux_agent_keeps(a))
		return UX_OK;
	why = (struct ux_error)UX_ERROR_INIT;
	if (ux_agent_keep(a, &why) == UX_ENOMEM)
		return ux_error_nomem(err);
	if (why.code != UX_OK) /* such as a full disk */
		agent_notice(a, "files wait in memory", &why);
	return UX_OK;
}

void ux_agent_beat(void *ctx)
{
	struct ux_agent *a = ctx;
	ux_agent_metric_set(&a->metrics.alive_ms, (uint64_t)ux_clock_ms());
}

/* Publishes the state of the agent as metrics. */
static void agent_count(struct ux_agent *a)
{
	ux_agent_metric_set(&a->metrics.waiting, ux_agent_waiting(a));
	ux_agent_metric_set(&a->metrics.away, a->away);
	ux_agent_metric_set(&a->metrics.known, a->state.known.n);
	ux_agent_metric_set(&a->metrics.not_written, a->state.not_written);
	ux_agent_metric_set(&a->metrics.hung, a->opener.hung);
}

/* Sends the snapshots of run-time code that are due. */
static enum ux_code agent_follow_runtime(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_agent_runtime_step(a, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK)
		return UX_OK;
	if (!a->away)
		agent_notice(a, "files wait until the server answers", &why);
	ux_agent_away(a);
	return UX_OK;
}

static enum ux_code agent_follow(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_host_watch_start(&a->watch, &why, err));
	if (why.code != UX_OK)
		agent_notice(a, "scanning for new mappings instead of kernel events", &why);
	for (bool first = true;; first = false) {
		int64_t until = a->away ? a->again_ms : INT64_MAX;
		until = ux_min(until, ux_agent_runtime_due(a));
		if (ux_agent_waiting(a) > 0) /* files wait for processor time */
			until = ux_min(until, ux_clock_ms() + TIME_MS);
		ux_agent_metric_set(&a->metrics.alive_ms, 0);
		UX_TRY(ux_host_watch_take(&a->watch, until, &a->files, err));
		ux_agent_beat(a);
		if (first)
			agent_notice_hidden(a);
		agent_count(a);
		bool any = ux_agent_waiting(a) > 0;
		UX_TRY(agent_try_send(a, err));
		UX_TRY(agent_follow_runtime(a, err));
		agent_count(a);
		if (any) /* freed memory lies between small blocks that stay */
			(void)malloc_trim(0);
	}
}

static enum ux_code agent_once(struct ux_agent *a, struct ux_error *err)
{
	UX_TRY(ux_host_watch_once(&a->watch, err));
	UX_TRY(ux_host_watch_take(&a->watch, 0, &a->files, err));
	agent_notice_hidden(a);
	UX_TRY(ux_agent_send(a, err));
	return ux_agent_runtime_step(a, err);
}

/* Counts a result, and passes it to the caller. */
static void agent_on_result(void *ctx, const struct ux_push_result *r)
{
	struct ux_agent *a = ctx;
	a->failed = a->failed || r->status == UX_PUSH_DONE_FAILED;
	ux_agent_metric_add(&a->metrics.modules[r->status], 1);
	ux_agent_metric_add(&a->metrics.upload_bytes, r->size);
	if (a->o->push.result)
		a->o->push.result(a->o->push.ctx, r);
}

/* Opens the known answers and the queue. The queue's lock keeps other agents out of the folder. */
static enum ux_code agent_open_state(struct ux_agent *a, struct ux_error *err)
{
	const struct ux_agent_options *o = a->o;
	char url[PATH_SIZE], known[PATH_SIZE], queue[PATH_SIZE];
	const char *dir = a->push.dry_run ? NULL : o->state;
	/* An answer about symbols without DWARF says nothing about symbols with it. */
	int n = snprintf(url, sizeof(url), "%s%s", a->push.url, a->push.no_dwarf ? "" : " dwarf");
	int m = snprintf(known, sizeof(known), "%s/known", dir ? dir : "");
	int k = snprintf(queue, sizeof(queue), "%s/queue", dir ? dir : "");
	if (n >= PATH_SIZE || m >= PATH_SIZE || k >= PATH_SIZE)
		return ux_error_set(err, UX_ELIMIT, "the path %.100s... is too long",
				    dir ? dir : a->push.url);
	if (dir)
		UX_TRY(ux_file_make_folders(known, 0700, err));
	const struct ux_disk_queue_options options = {.dir = queue,
						      .suffix = ".symbols",
						      .bytes_max = o->queue_max,
						      .lanes = 1,
						      .drops_oldest = true};
	if (dir)
		UX_TRY(ux_disk_queue_open(&a->queue, &options, err));
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_agent_state_open(&a->state, dir ? known : NULL, url, &why);
	if (code == UX_EIO) { /* such as a full disk: the agent still sends files */
		agent_notice(a, "known files are remembered only until the agent ends", &why);
		code = ux_agent_state_open(&a->state, NULL, url, &why);
	}
	if (code != UX_OK) {
		*err = why;
		return code;
	}
	return ux_agent_queue_ids(a, err);
}

/* Sets the name under which the server knows this host. Recordings use the same name. */
static void agent_name_host(struct ux_agent *a)
{
	struct utsname host;
	const char *name = a->o->host;
	if (!name && uname(&host) == 0)
		name = host.nodename;
	snprintf(a->runtime.host, sizeof(a->runtime.host), "%.*s", UX_RUNTIME_HOST_MAX,
		 name ? name : "");
	a->push.provenance.facts[UX_HOST] = a->runtime.host;
}

enum ux_code ux_agent_run(const struct ux_agent_options *options, struct ux_agent_summary *ret,
			  struct ux_error *err)
{
	*ret = (struct ux_agent_summary){0};
	ux_cleanup(agent_deinit) struct ux_agent a = {
		.o = options,
		.summary = ret,
		.push = options->push,
		.state = UX_AGENT_STATE_INIT,
		.work = {.summary = &ret->push, .scratch = -1},
		.bytes_lock = PTHREAD_MUTEX_INITIALIZER,
	};
	ux_agent_senders_init(&a.senders);
	a.work.o = &a.push;
	a.push.threads = 1;
	a.push.names_at_least = true;
	a.push.result = agent_on_result;
	a.push.ctx = &a;
	a.push.pace = ux_agent_budget_pace;
	a.push.pace_ctx = &a;
	a.push.supplementary = ux_agent_find_supplementary;
	a.push.supplementary_ctx = &a;
	agent_raise_files();
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	(void)mallopt(M_ARENA_MAX, 1); /* otherwise the watching thread would get its own arena */
	ux_agent_budget_begin(&a);
	UX_TRY(ux_host_watch_init(&a.watch, err));
	a.watch.debug_dirs = a.push.debug_dirs;
	a.watch.table.follow_runtime = options->jit;
	a.watch.table.root_only = options->root_only;
	a.watch.table.exclude = options->exclude;
	a.watch.table.n_exclude = options->n_exclude;
	agent_name_host(&a);
	ret->subject = options->state;
	UX_TRY(agent_open_state(&a, err));
	ret->subject = NULL;
	UX_TRY(ux_agent_public_open(&a, err));
	a.opener.works = ux_agent_beat;
	a.opener.ctx = &a;
	a.metrics.patience_ms = (uint64_t)a.push.timeout_ms;
	a.metrics.queue = a.queue;
	a.metrics.watch = &a.watch;
	ret->subject = options->metrics;
	if (options->metrics)
		UX_TRY(ux_agent_metrics_open(&a.metrics, options->metrics, err));
	ret->subject = NULL;
	UX_TRY(ux_push_client_open(&a.work.client, &a.push, err));
	a.work.client.sends = ux_agent_budget_sends;
	a.work.client.sends_ctx = &a;
	return options->once ? agent_once(&a, err) : agent_follow(&a, err);
}
