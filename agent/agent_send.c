/* SPDX-License-Identifier: Apache-2.0 */
/* The way of mapped files to the server: identify, query, extract, upload. */
#include "agent_work.h"

#include "clock.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BATCH_MAX = 32,    /* files of one query, during which others wait */
	BATCH_QUEUED = 16, /* files that are identified before they go to the queue */
};

/* The modules of a batch of files. */
struct agent_batch {
	struct ux_agent *agent;
	const struct ux_mapped_file *files; /* of the caller */
	struct ux_push_modules modules;
	struct ux_push_answer *answers;
	size_t *owners; /* of each module, the number of its file in the batch */
	size_t n_owners;
	enum ux_agent_known *known; /* of each file; UX_AGENT_UNKNOWN: something failed */
	bool *read;                 /* of each file: it was not known before */
};

static void agent_batch_deinit(struct agent_batch *b)
{
	ux_push_modules_free(&b->modules);
	ux_agent_close_debug_files(b->agent);
	free(b->answers);
	free(b->owners);
	free(b->known);
	free(b->read);
}

/* Other files that are mapped as code are data of a run-time compiler. */
static bool agent_is_elf(int fd)
{
	char magic[4];
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

enum ux_code ux_agent_take_ids(struct ux_agent *a, const struct ux_id_set *ids, bool *ret_known,
			       struct ux_error *err)
{
	struct ux_agent_key keys[UX_ID_SET_MAX];
	*ret_known = false;
	for (size_t i = 0; i < ids->size; i++) {
		keys[i] = ux_agent_id_key(&a->state, &ids->ids[i]);
		*ret_known = *ret_known || ux_agent_keys_find(&a->done, keys[i]) ||
			     ux_agent_state_find(&a->state, keys[i], ux_clock_wall()) !=
				     UX_AGENT_UNKNOWN;
	}
	for (size_t i = 0; i < ids->size && !*ret_known; i++) {
		bool fresh = false;
		if (!ux_agent_keys_insert(&a->done, keys[i], &fresh))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

void ux_agent_remember_ids(struct ux_agent *a, const struct ux_id_set *ids,
			   enum ux_agent_known known)
{
	for (size_t i = 0; i < ids->size; i++)
		ux_agent_state_put(&a->state, ux_agent_id_key(&a->state, &ids->ids[i]), known,
				   ux_clock_wall());
}

/* Appends a module to the batch unless it is known. */
static enum ux_code agent_add_module(struct agent_batch *b, size_t file, pid_t pid,
				     struct ux_push_module *m, struct ux_error *err)
{
	bool known = false;
	UX_TRY(ux_agent_complete(b->agent, m, pid, err));
	if (m->claim == UX_QUALITY_NONE) {
		ux_push_report(&b->agent->work,
			       &(struct ux_push_result){.path = m->path,
							.id = &m->ids.ids[0],
							.status = UX_PUSH_DONE_SKIPPED,
							.reason = UX_MODULE_NO_SYMBOLS,
							.quiet = true});
		return UX_OK;
	}
	b->known[file] = UX_AGENT_THERE;
	UX_TRY(ux_agent_take_ids(b->agent, &m->ids, &known, err));
	if (known)
		return UX_OK;
	size_t *owners = reallocarray(b->owners, b->n_owners + 1, sizeof(*owners));
	if (!owners)
		return ux_error_nomem(err);
	b->owners = owners;
	b->owners[b->n_owners++] = file;
	if (!ux_push_modules_append(&b->modules, *m))
		return ux_error_nomem(err);
	*m = (struct ux_push_module){0};
	return UX_OK;
}

/* Appends the modules of a file that are not known to the batch. */
static enum ux_code agent_identify(struct agent_batch *b, size_t number,
				   const struct ux_mapped_file *file, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	ux_cleanup(ux_push_modules_free) struct ux_push_modules found = {0};
	const struct ux_sandbox_part whole = {file->fd, 0, file->key.size};
	struct ux_error why = UX_ERROR_INIT;
	b->known[number] = ux_agent_state_find(&a->state, ux_agent_file_key(&a->state, &file->key),
					       ux_clock_wall());
	if (b->known[number] != UX_AGENT_UNKNOWN)
		return UX_OK;
	a->large = ux_mapped_is_large(file->key.size);
	ux_agent_budget_wait(a);
	b->known[number] = UX_AGENT_NOTHING;
	b->read[number] = true;
	if (!file->kernel && !agent_is_elf(file->fd))
		return UX_OK;
	enum ux_code code = ux_push_part_read(&a->work, file->path, &whole,
					      file->kernel && ux_member_name_is_packed(file->path),
					      &found, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		a->failed = false;
		ux_push_report_left_out(&a->work, file->path, /* named= */ false, &why);
		b->known[number] = a->failed ? UX_AGENT_UNKNOWN : UX_AGENT_NOTHING;
	}
	for (size_t i = 0; i < found.size; i++)
		UX_TRY(agent_add_module(b, number, file->pid, &found.data[i], err));
	return UX_OK;
}

static enum ux_code agent_query(struct agent_batch *b, struct ux_error *err)
{
	size_t n = b->modules.size;
	ux_cleanup(ux_free_ptr) struct ux_push_query_entry *entries = calloc(n, sizeof(*entries));
	b->answers = calloc(n, sizeof(*b->answers));
	if (!entries || !b->answers)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct ux_push_query_entry){&b->modules.data[i].ids,
							  b->modules.data[i].claim};
	return ux_push_query(&b->agent->work.client, entries, n, b->agent->push.force, b->answers,
			     err);
}

/*
 * The IDs count as new again, but for those in the queue: after a failure, so that the files that
 * wait find them.
 */
static enum ux_code agent_forget_ids(struct ux_agent *a, struct ux_error *err)
{
	ux_agent_keys_deinit(&a->done);
	return ux_agent_queue_ids(a, err);
}

/* Does with a module what the answer to its query demands, or keeps it while there is none. */
static enum ux_code agent_send_module(struct agent_batch *b, size_t i, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	struct ux_push_module *m = &b->modules.data[i];
	a->failed = false;
	a->owner = b->files[b->owners[i]].pid;
	a->large = ux_mapped_is_large(m->part.size);
	ux_agent_budget_wait(a);
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	enum ux_agent_known known = UX_AGENT_THERE;
	enum ux_code code = UX_OK;
	if (b->answers && b->answers[i].verdict == UX_PUSH_WANTED && ux_agent_is_public(a, m))
		known = UX_AGENT_PUBLIC;
	else if (b->answers)
		code = ux_push_module_send(&a->work, m, &b->answers[i], err);
	else
		code = ux_agent_queue_module(a, m, err);
	a->large = false;
	UX_TRY(code);
	if (a->failed)
		b->known[b->owners[i]] = UX_AGENT_UNKNOWN;
	else if (b->answers && !a->push.dry_run)
		ux_agent_remember_ids(a, &m->ids, known);
	return UX_OK;
}

/* With `kept`, symbols go to the queue, and the server is not asked: nothing is known. */
static enum ux_code agent_send_modules(struct agent_batch *b, bool kept, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	if (b->modules.size > 0 && !kept)
		UX_TRY(agent_query(b, err));
	for (size_t i = 0; i < b->modules.size; i++) {
		/* A process with run-time code may end before all files were sent. */
		UX_TRY(ux_agent_runtime_step(a, err));
		UX_TRY(agent_send_module(b, i, err));
	}
	return UX_OK;
}

static enum ux_code agent_send_batch(struct ux_agent *a, const struct ux_mapped_file *files,
				     size_t n, bool kept, struct ux_error *err)
{
	ux_cleanup(agent_batch_deinit) struct agent_batch b = {.agent = a, .files = files};
	b.known = calloc(n, sizeof(*b.known));
	b.read = calloc(n, sizeof(*b.read));
	if (!b.known || !b.read)
		return ux_error_nomem(err);
	if (a->done.size > UX_AGENT_KNOWN_MAX) /* most of them are in a->state, too */
		UX_TRY(agent_forget_ids(a, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(agent_identify(&b, i, &files[i], err));
	enum ux_code code = agent_send_modules(&b, kept, err);
	if (code != UX_OK) {
		UX_TRY(agent_forget_ids(a, err));
		return code;
	}
	for (size_t i = 0; i < n && !kept && !a->push.dry_run; i++)
		if (b.read[i] && b.known[i] != UX_AGENT_UNKNOWN)
			ux_agent_state_put(&a->state, ux_agent_file_key(&a->state, &files[i].key),
					   b.known[i], ux_clock_wall());
	return UX_OK;
}

/* Takes the first n files out of those that wait. */
static void agent_drop_files(struct ux_agent *a, size_t n)
{
	struct ux_mapped_files *files = &a->files;
	for (size_t i = 0; i < n; i++)
		ux_mapped_file_deinit(&files->data[i]);
	files->size -= n;
	ux_host_watch_give_back(&a->watch, n);
	ux_agent_metric_set(&a->metrics.waiting, files->size);
	memmove(files->data, files->data + n, files->size * sizeof(*files->data));
}

/* Deals with the first n files that wait; `kept`: by the queue. */
static enum ux_code agent_send_first(struct ux_agent *a, size_t n, bool kept, struct ux_error *err)
{
	if (n == 0)
		return UX_OK;
	UX_TRY(agent_send_batch(a, a->files.data, n, kept, err));
	agent_drop_files(a, n);
	return UX_OK;
}

/* Moves a file to a place before it; the files between keep their order. */
static void agent_move_file(struct ux_mapped_file *files, size_t from, size_t to)
{
	struct ux_mapped_file f = files[from];
	memmove(files + to + 1, files + to, (from - to) * sizeof(f));
	files[to] = f;
}

/* Has the file no name any more, so that it ends with its processes and this one? */
static bool agent_is_fleeting(const struct ux_mapped_file *f)
{
	struct stat st;
	return !f->kernel && f->key.dev != 0 && fstat(f->fd, &st) == 0 && st.st_nlink == 0;
}

/* Keeps those of the first *n files that have no name, before the server is asked. */
static enum ux_code agent_keep_fleeting(struct ux_agent *a, size_t *n, struct ux_error *err)
{
	struct ux_mapped_file *files = a->files.data;
	size_t kept = 0;
	if (!a->queue || a->o->queue_max == 0)
		return UX_OK;
	for (size_t i = 0; i < *n; i++)
		if (agent_is_fleeting(&files[i]))
			agent_move_file(files, i, kept++);
	*n -= kept;
	return agent_send_first(a, kept, /* kept= */ true, err);
}

/*
 * Moves the files that are dealt with next to the front, at most `most`, all of processes that live
 * or that have ended: in their order, but those that there is no time for now. Returns their
 * number; 0: others may be found before there is time again.
 */
static size_t agent_choose(struct ux_agent *a, size_t max)
{
	struct ux_mapped_file *f = a->files.data;
	size_t n = 0;
	bool low[2][2]; /* of large ones; of those that have ended */
	for (int i = 0; i < 4; i++)
		low[i / 2][i % 2] = !a->o->once && ux_agent_budget_is_low(a, i / 2, i % 2);
	for (size_t i = 0; i < a->files.size && n < max; i++) {
		if (!low[ux_mapped_is_large(f[i].key.size)][f[i].ended] &&
		    (n == 0 || f[i].ended == f[0].ended))
			agent_move_file(f, i, n++);
	}
	return n;
}

/* Takes what was found meanwhile, and puts all in order. */
static enum ux_code agent_take_files(struct ux_agent *a, struct ux_error *err)
{
	UX_TRY(ux_host_watch_take(&a->watch, /* deadline_ms= */ 0, &a->files, err));
	ux_agent_order(&a->files);
	return UX_OK;
}

enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err)
{
	if (a->away || !a->reached)
		UX_TRY(ux_agent_probe(a, err));
	UX_TRY(ux_agent_queue_send(a, err));
	UX_TRY(agent_take_files(a, err));
	for (size_t n; (n = agent_choose(a, BATCH_MAX)) > 0;) {
		UX_TRY(agent_keep_fleeting(a, &n, err));
		UX_TRY(ux_agent_queue_send(a, err));
		UX_TRY(agent_send_first(a, n, /* kept= */ false, err));
		UX_TRY(agent_take_files(a, err));
	}
	return UX_OK;
}

enum ux_code ux_agent_keep(struct ux_agent *a, struct ux_error *err)
{
	UX_TRY(agent_take_files(a, err));
	for (size_t n; (n = agent_choose(a, BATCH_QUEUED)) > 0;) {
		UX_TRY(agent_send_first(a, n, /* kept= */ true, err));
		UX_TRY(agent_take_files(a, err));
	}
	return UX_OK;
}
