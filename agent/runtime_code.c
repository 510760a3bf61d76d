/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of run-time code: finds the processes that have such code, schedules their checks, and
 * sends new code to the server.
 *
 * Perf maps and jitdumps only grow, so a snapshot contains the code in the bytes after the previous
 * snapshot. The interval between two snapshots is a sixteenth of the process' age. So a process has
 * about twenty snapshots in its first hour and as many more each time its age doubles, until there
 * is one an hour.
 */
#include "agent_work.h"

#include "agent_queue.h"
#include "clock.h"
#include "proc_files.h"
#include "process.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FIRST_MS = 100,   /* ms after the process was found: compilers open their files early */
	SECOND_MS = 1000, /* ms from a first check without a file to the second check */
	MIN_MS = 10000,   /* between two looks */
	MAX_MS = 3600000, /* at most */
	AGE_SHARE = 16,   /* the interval between checks is this part of the process' age */
	/* without files, the interval grows to at most 2^6 times the minimum */
	LOOKS_SHIFT_MAX = 6,
};

static void runtime_process_deinit(struct ux_runtime_process *p)
{
	for (size_t i = 0; i < p->n_files; i++)
		ux_fd_close(&p->files[i].fd);
	p->n_files = 0;
}

void ux_runtime_code_deinit(struct ux_runtime_code *r)
{
	for (size_t i = 0; i < r->processes.size; i++)
		runtime_process_deinit(&r->processes.data[i]);
	ux_runtime_processes_deinit(&r->processes);
}

/* --- processes -------------------------------------------------------------------------------- */

static enum ux_code runtime_add(struct ux_agent *a, const struct ux_host_pids *pids,
				struct ux_error *err)
{
	struct ux_runtime_processes *all = &a->runtime.processes;
	for (size_t i = 0; i < pids->size; i++) {
		size_t k = 0;
		while (k < all->size && all->data[k].pid != pids->data[i])
			k++;
		if (k < all->size)
			continue;
		if (all->size == UX_RUNTIME_PROCESSES_MAX) {
			a->runtime.left_out++;
			continue;
		}
		const struct ux_runtime_process p = {
			.pid = pids->data[i],
			.due_ms = a->o->once ? 0 : ux_clock_ms() + FIRST_MS,
		};
		if (!ux_runtime_processes_append(all, p))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

int64_t ux_agent_runtime_due(const struct ux_agent *a)
{
	int64_t due = INT64_MAX;
	for (size_t i = 0; i < a->runtime.processes.size; i++)
		due = ux_min(due, a->runtime.processes.data[i].due_ms);
	return due;
}

struct runtime_search {
	struct ux_agent *agent;
	struct ux_runtime_process *process;
};

/* Takes over an open file if it is new. ctx: struct runtime_search. */
static enum ux_code runtime_find_file(void *ctx, const struct ux_jit_found *found,
				      struct ux_error *err)
{
	const struct runtime_search *s = ctx;
	struct ux_runtime_process *p = s->process;
	(void)err;
	for (size_t i = 0; i < p->n_files; i++)
		if (p->files[i].dev == found->st.st_dev && p->files[i].ino == found->st.st_ino)
			return UX_OK;
	if (p->n_files == UX_RUNTIME_FILES_MAX || !S_ISREG(found->st.st_mode))
		return UX_OK;
	int fd = fcntl(found->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return UX_OK; /* no free descriptor: the next search finds it again */
	p->files[p->n_files++] = (struct ux_runtime_file){.fd = fd,
							  .is_dump = found->is_dump,
							  .dev = found->st.st_dev,
							  .ino = found->st.st_ino,
							  .from_ns = p->started_ns};
	ux_agent_runtime_recall_file(s->agent, p, &p->files[p->n_files - 1]);
	return UX_OK;
}

/* Searches perf maps and jitdumps of a process. False: it has ended. */
static enum ux_code runtime_find_files(struct ux_agent *a, struct ux_runtime_process *p,
				       bool *ret_lives, struct ux_error *err)
{
	struct runtime_search search = {.agent = a, .process = p};
	ux_cleanup(ux_proc_close) struct ux_proc proc = {.dir = -1, .stat = -1};
	*ret_lives = false;
	if (ux_proc_open(&proc, p->pid, NULL) != UX_OK)
		return UX_OK;
	if (p->started_ns == 0)
		ux_agent_runtime_recall_start(a, p, &proc);
	/* Another process has its ID now. The start time has an error of some hundredths of a
	 * second. */
	if (proc.started_ns > p->started_ns + UX_CLOCK_NS_IN_S)
		return UX_OK;
	enum ux_code code =
		ux_open_helper_jit(&a->opener, p->pid, runtime_find_file, &search, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	*ret_lives = code != UX_ENOTFOUND;
	return UX_OK;
}

/* --- a snapshot ------------------------------------------------------------------------------- */

/* The new part of a file. */
struct runtime_snapshot {
	struct ux_agent *agent;
	struct ux_runtime_process *process;
	struct ux_runtime_file *file;
	struct ux_runtime_request request;
	uint64_t used; /* bytes of the file that were parsed */
};

/* Computes the snapshot's identity from the process, the file and the time. */
static void runtime_seed(const struct ux_runtime_span *span, const struct ux_runtime_file *f,
			 uint8_t ret[UX_ID_FILE_SIZE])
{
	char path[UX_RUNTIME_PATH_MAX];
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	ux_runtime_path_format(span, path);
	sha256_init(&sha);
	sha256_update(&sha, strlen(path), (const uint8_t *)path);
	sha256_update(&sha, sizeof(f->dev), (const uint8_t *)&f->dev);
	sha256_update(&sha, sizeof(f->ino), (const uint8_t *)&f->ino);
	sha256_digest(&sha, sizeof(digest), digest);
	memcpy(ret, digest, UX_ID_FILE_SIZE);
}

static void runtime_report(struct ux_agent *a, const char *path, const struct ux_id *id,
			   enum ux_push_status status, const char *reason, uint64_t size)
{
	ux_push_report(&a->work, &(struct ux_push_result){.path = path,
							  .id = id,
							  .status = status,
							  .reason = reason,
							  .planned = a->push.dry_run,
							  .quality = UX_QUALITY_SYMTAB,
							  .size = size});
}

/* Sends a part of the output, or queues it while the server is away. */
static enum ux_code runtime_send_part(const struct runtime_snapshot *s, const struct ux_id_set *ids,
				      const char *path, enum ux_quality quality,
				      struct ux_bytes gsym, struct ux_error *err)
{
	struct ux_agent *a = s->agent;
	/* Any process writes such files: they are trusted as its user is, whoever that is. */
	const struct ux_push_origin origin = {
		.trust = UX_TRUST_USER, .file_owner = UINT32_MAX, .process_owner = UINT32_MAX};
	const struct ux_agent_message message = {.ids = *ids,
						 .quality = quality,
						 .origin = origin,
						 .path = ux_bytes_cstr(path),
						 .gsym = gsym};
	const struct ux_push_upload upload = {
		.ids = ids,
		.trust = origin.trust,
		.quality = quality,
		.bytes = gsym,
		.kind = "gsym",
		.description = a->push.description ? a->push.description : "",
		.file = path,
	};
	struct ux_push_answer answer = {0};
	if (a->push.dry_run) {
		runtime_report(a, path, &ids->ids[0], UX_PUSH_DONE_SKIPPED,
			       "dry run: would be uploaded", 0);
		return UX_OK;
	}
	if (ux_agent_keeps(a))
		return ux_agent_queue_put(a, &message, err);
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	UX_TRY(ux_push_upload(&a->work.client, &upload, &answer, err));
	enum ux_push_status status = ux_push_status_of(answer.verdict);
	runtime_report(a, path, &ids->ids[0], status, answer.reason,
		       status == UX_PUSH_DONE_UPLOADED ? gsym.size : 0);
	return UX_OK;
}

/* Sends all parts of the output. */
static enum ux_code runtime_send_parts(struct runtime_snapshot *s, struct ux_bytes output,
				       struct ux_error *err)
{
	struct ux_runtime_part part;
	struct ux_bytes gsym;
	struct ux_runtime_process *p = s->process;
	for (unsigned i = 0; ux_runtime_part_next(&output, &part, &gsym, err); i++) {
		struct ux_id_set ids = {.size = 1};
		char path[UX_RUNTIME_PATH_MAX];
		struct ux_runtime_span span = {.pid = (uint32_t)p->pid,
					       .started_ns = p->started_ns,
					       .from_ns = part.from_ns,
					       .until_ns = part.until_ns};
		memcpy(span.host, s->agent->runtime.host, sizeof(span.host));
		ux_runtime_path_format(&span, path);
		ids.ids[0].type = UX_ID_UUID;
		ids.ids[0].size = UX_ID_FILE_SIZE;
		memcpy(ids.ids[0].bytes, s->request.seed, UX_ID_FILE_SIZE);
		ids.ids[0].bytes[UX_ID_FILE_SIZE - 1] = (uint8_t)i;
		p->over = p->bytes + gsym.size > UX_RUNTIME_BYTES_MAX;
		if (p->over)
			return ux_error_set(err, UX_ELIMIT,
					    "has more than %d MiB of symbols; the rest is not sent",
					    UX_RUNTIME_BYTES_MAX >> 20);
		ux_agent_budget_wait(s->agent);
		UX_TRY(runtime_send_part(s, &ids, path,
					 part.lines ? UX_QUALITY_LINES : UX_QUALITY_SYMTAB, gsym,
					 err));
		p->bytes += gsym.size;
		ux_agent_metric_add(&s->agent->metrics.runtime_bytes, gsym.size);
		s->used = ux_min(part.used, (uint64_t)UX_RUNTIME_FILE_MAX);
	}
	return err->code;
}

static enum ux_code runtime_take_snapshot(struct runtime_snapshot *s, uint64_t size,
					  struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping output = {0};
	struct ux_runtime_file *f = s->file;
	const struct ux_sandbox_part whole = {f->fd, 0, size};
	const int64_t now = ux_clock_read(CLOCK_REALTIME);
	struct ux_runtime_span span = {.pid = (uint32_t)s->process->pid,
				       .started_ns = s->process->started_ns,
				       .from_ns = f->from_ns,
				       .until_ns = now};
	memcpy(span.host, s->agent->runtime.host, sizeof(span.host));
	s->request = (struct ux_runtime_request){
		.format = f->is_dump ? UX_RUNTIME_JITDUMP : UX_RUNTIME_PERF_MAP,
		.known = f->known,
		.wall_ns = now - ux_clock_ns(),
		.from_ns = f->from_ns,
		.until_ns = now,
	};
	runtime_seed(&span, f, s->request.seed);
	s->used = f->known;
	s->agent->work.client.deadline_ms = ux_clock_ms() + s->agent->push.timeout_ms;
	UX_TRY(ux_push_runtime_read(&s->agent->work, &whole, &s->request, &output, err));
	UX_TRY(runtime_send_parts(s, output.bytes, err));
	if (s->used > f->known) {
		f->known = s->used;
		f->from_ns = now;
		ux_agent_runtime_remember(s->agent, s->process, f);
		ux_agent_metric_add(&s->agent->metrics.runtime_snapshots, 1);
	}
	return UX_OK;
}

/* Sends the new code in a file. An unreadable file is reported, and not read again. */
static enum ux_code runtime_look_at_file(struct ux_agent *a, struct ux_runtime_process *p,
					 struct ux_runtime_file *f, struct ux_error *err)
{
	struct stat st;
	char name[64];
	struct ux_error why = UX_ERROR_INIT;
	struct runtime_snapshot s = {.agent = a, .process = p, .file = f};
	if (fstat(f->fd, &st) != 0)
		return UX_OK;
	uint64_t size = ux_min((uint64_t)st.st_size, (uint64_t)UX_RUNTIME_FILE_MAX);
	if (size == f->looked && f->mtime_ns == ux_jit_file_mtime(&st))
		return UX_OK;
	if (size < f->known) /* the file was truncated: start at its beginning */
		f->known = 0;
	if (size > 0) {
		ux_agent_budget_wait(a);
		enum ux_code code = runtime_take_snapshot(&s, size, &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code == UX_EUNAVAILABLE || code == UX_EDENIED) {
			*err = why;
			return code;
		}
	}
	f->looked = size;
	f->mtime_ns = ux_jit_file_mtime(&st);
	if (why.code != UX_OK) {
		snprintf(name, sizeof(name), "[run-time code of process %d]", (int)p->pid);
		ux_push_report_left_out(&a->work, name, /* named= */ p->over, &why);
	}
	return UX_OK;
}

/* --- when ------------------------------------------------------------------------------------- */

static int64_t runtime_pause(const struct ux_runtime_process *p)
{
	if (p->n_files == 0)
		return p->looks < 2
			       ? SECOND_MS
			       : (int64_t)MIN_MS << ux_min(p->looks - 2, (unsigned)LOOKS_SHIFT_MAX);
	int64_t age = (ux_clock_read(CLOCK_REALTIME) - p->started_ns) / UX_CLOCK_NS_IN_MS;
	return ux_min(ux_max(age / AGE_SHARE, (int64_t)MIN_MS), (int64_t)MAX_MS);
}

/* Checks a process and sends its new code. *ret_done: it has ended, and all of its code was
 * sent. */
static enum ux_code runtime_look(struct ux_agent *a, struct ux_runtime_process *p, bool *ret_done,
				 struct ux_error *err)
{
	bool lives = false;
	*ret_done = false;
	UX_TRY(runtime_find_files(a, p, &lives, err));
	for (size_t i = 0; i < p->n_files && !p->over; i++)
		UX_TRY(runtime_look_at_file(a, p, &p->files[i], err));
	p->looks += p->n_files == 0;
	p->due_ms = ux_clock_ms() + runtime_pause(p);
	*ret_done = !lives || p->over;
	return UX_OK;
}

enum ux_code ux_agent_runtime_step(struct ux_agent *a, struct ux_error *err)
{
	struct ux_runtime_processes *all = &a->runtime.processes;
	ux_cleanup(ux_host_pids_deinit) struct ux_host_pids pids = {0};
	if (!a->o->jit)
		return UX_OK;
	UX_TRY(ux_host_watch_take_compilers(&a->watch, &pids, err));
	UX_TRY(runtime_add(a, &pids, err));
	ux_agent_metric_set(&a->metrics.runtime_processes, all->size);
	ux_agent_metric_set(&a->metrics.runtime_left_out, a->runtime.left_out);
	if (a->away && !ux_agent_keeps(a)) {
		/* not before the next attempt to reach the server */
		for (size_t i = 0; i < all->size; i++)
			all->data[i].due_ms = ux_max(all->data[i].due_ms, a->again_ms);
		return UX_OK;
	}
	for (size_t i = 0; i < all->size;) {
		bool done = false;
		if (all->data[i].due_ms > ux_clock_ms()) {
			i++;
			continue;
		}
		UX_TRY(runtime_look(a, &all->data[i], &done, err));
		if (!done) {
			i++;
			continue;
		}
		runtime_process_deinit(&all->data[i]);
		all->data[i] = all->data[--all->size];
	}
	return UX_OK;
}
