/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of mapped files on its way to the server: identify, query, extract, upload. */
#include "agent_work.h"

#include "clock.h"
#include "order.h"

#include <stdlib.h>
#include <unistd.h>

static void batch_free(struct ux_agent_batch *b)
{
	ux_mapped_files_free(&b->files);
	ux_push_modules_free(&b->modules);
	ux_agent_close_debug_files(&b->debug_files);
	free(b->answers);
	free(b->owners);
	free(b->known);
	free(b->read);
	free(b);
}

void ux_agent_batches_free(struct ux_agent *a)
{
	for (size_t i = 0; i < a->batches.size; i++)
		batch_free(a->batches.data[i]);
	ux_agent_batches_deinit(&a->batches);
}

size_t ux_agent_waiting(const struct ux_agent *a)
{
	size_t n = a->files.size;
	for (size_t i = 0; i < a->batches.size; i++)
		n += a->batches.data[i]->files.size;
	return n;
}

/* --- IDs that are known ----------------------------------------------------------------------- */

/* Writes the keys of a module: of its File ID, or of all IDs if it has none. Returns their number.
 */
static size_t agent_id_keys(const struct ux_agent *a, const struct ux_id_set *ids,
			    enum ux_trust trust, struct ux_agent_key ret[UX_ID_SET_MAX])
{
	const struct ux_id *file = ux_id_set_find(ids, UX_ID_FILE);
	if (file) {
		ret[0] = ux_agent_id_key(&a->state, file, trust);
		return 1;
	}
	for (size_t i = 0; i < ids->size; i++)
		ret[i] = ux_agent_id_key(&a->state, &ids->ids[i], trust);
	return ids->size;
}

enum ux_code ux_agent_take_ids(struct ux_agent *a, const struct ux_id_set *ids, enum ux_trust trust,
			       enum ux_agent_taken *ret, struct ux_error *err)
{
	struct ux_agent_key keys[UX_ID_SET_MAX];
	const size_t n = agent_id_keys(a, ids, trust, keys);
	*ret = UX_AGENT_NEW;
	for (size_t i = 0; i < n; i++) {
		if (ux_agent_state_find(&a->state, keys[i], ux_clock_wall()) != UX_AGENT_UNKNOWN)
			*ret = UX_AGENT_REMEMBERED;
		else if (*ret == UX_AGENT_NEW && ux_agent_keys_find(&a->done, keys[i]))
			*ret = UX_AGENT_TAKEN;
	}
	for (size_t i = 0; i < n && *ret == UX_AGENT_NEW; i++) {
		bool fresh = false;
		if (!ux_agent_keys_insert(&a->done, keys[i], &fresh))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

void ux_agent_remember_ids(struct ux_agent *a, const struct ux_id_set *ids, enum ux_trust trust,
			   enum ux_agent_known known)
{
	struct ux_agent_key keys[UX_ID_SET_MAX];
	const size_t n = agent_id_keys(a, ids, trust, keys);
	for (size_t i = 0; i < n; i++)
		ux_agent_state_put(&a->state, keys[i], known, ux_clock_wall());
}

enum ux_code ux_agent_forget_ids(struct ux_agent *a, struct ux_error *err)
{
	ux_agent_keys_deinit(&a->done);
	return ux_agent_queue_ids(a, err);
}

/* --- identifying ------------------------------------------------------------------------------ */

/* Other files that are mapped as code are data of a run-time compiler. */
static bool batch_is_elf(int fd)
{
	char magic[4];
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

/* Appends a module of a file, and takes it over. */
static enum ux_code batch_append(struct ux_agent_batch *b, size_t file, struct ux_push_module *m,
				 struct ux_error *err)
{
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

/*
 * Appends a module unless it is known. If another file's copy of the module is still on its way to
 * the server, this file is not remembered: a restarted agent may no longer find the other file.
 */
static enum ux_code batch_add_module(struct ux_agent_batch *b, size_t file,
				     const struct ux_mapped_file *from, struct ux_push_module *m,
				     struct ux_error *err)
{
	enum ux_agent_taken taken = UX_AGENT_NEW;
	m->origin = (struct ux_push_origin){.trust = from->trust,
					    .file_owner = from->file_owner,
					    .process_owner = from->process_owner,
					    .mount_namespace = from->container};
	UX_TRY(ux_agent_complete(b->agent, m, from->pid, err));
	if (m->claim == UX_QUALITY_NONE) {
		ux_push_report(&b->agent->work,
			       &(struct ux_push_result){.path = m->path,
							.id = &m->ids.ids[0],
							.status = UX_PUSH_DONE_SKIPPED,
							.reason = UX_MODULE_NO_SYMBOLS,
							.quiet = true});
		return UX_OK;
	}
	if (b->known[file] == UX_AGENT_NOTHING)
		b->known[file] = UX_AGENT_THERE;
	UX_TRY(ux_agent_take_ids(b->agent, &m->ids, m->origin.trust, &taken, err));
	if (taken == UX_AGENT_TAKEN)
		b->known[file] = UX_AGENT_UNKNOWN;
	return taken == UX_AGENT_NEW ? batch_append(b, file, m, err) : UX_OK;
}

/* Appends the unknown modules of a file. */
static enum ux_code batch_identify(struct ux_agent_batch *b, size_t number,
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
	ux_agent_budget_charge(a, file, file->key.size);
	ux_agent_budget_wait(a);
	b->known[number] = UX_AGENT_NOTHING;
	b->read[number] = true;
	if (!file->kernel && !batch_is_elf(file->fd))
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
		UX_TRY(batch_add_module(b, number, file, &found.data[i], err));
	return UX_OK;
}

/* --- the order of modules --------------------------------------------------------------------- */

/* The place of a module in the order of its batch. */
struct batch_place {
	size_t turn;   /* of its file */
	size_t number; /* before */
};

static int batch_by_turn(const void *a, const void *b)
{
	const struct batch_place *x = a, *y = b;
	UX_ORDER(x->turn, y->turn);
	UX_ORDER(x->number, y->number);
	return 0;
}

static void batch_sort(struct ux_agent_batch *b, struct batch_place *places,
		       struct ux_push_module *modules, size_t *owners)
{
	size_t n = b->modules.size;
	for (size_t i = 0; i < n; i++) {
		bool follows = i > 0 && b->owners[i] == b->owners[i - 1];
		places[i] = (struct batch_place){follows ? places[i - 1].turn + 1 : 0, i};
	}
	qsort(places, n, sizeof(*places), batch_by_turn);
	for (size_t i = 0; i < n; i++) {
		modules[i] = b->modules.data[places[i].number];
		owners[i] = b->owners[places[i].number];
	}
	memcpy(b->modules.data, modules, n * sizeof(*modules));
	memcpy(b->owners, owners, n * sizeof(*owners));
}

/* Orders the modules so that files take turns. */
static enum ux_code batch_order(struct ux_agent_batch *b, struct ux_error *err)
{
	size_t n = b->modules.size;
	if (n < 2 || b->owners[0] == b->owners[n - 1])
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct batch_place *places = calloc(n, sizeof(*places));
	ux_cleanup(ux_free_ptr) struct ux_push_module *modules = calloc(n, sizeof(*modules));
	ux_cleanup(ux_free_ptr) size_t *owners = calloc(n, sizeof(*owners));
	if (!places || !modules || !owners)
		return ux_error_nomem(err);
	batch_sort(b, places, modules, owners);
	return UX_OK;
}

/* --- beginning -------------------------------------------------------------------------------- */

static enum ux_code batch_query(struct ux_agent_batch *b, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	size_t n = b->modules.size;
	if (n == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct ux_push_query_entry *entries = calloc(n, sizeof(*entries));
	b->answers = calloc(n, sizeof(*b->answers));
	if (!entries || !b->answers)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct ux_push_query_entry){&b->modules.data[i].ids,
							  b->modules.data[i].claim,
							  b->modules.data[i].origin.trust};
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	UX_TRY(ux_push_query(&a->work.client, entries, n, a->push.force, b->answers, err));
	for (size_t i = 0; i < n; i++)
		b->wanted += b->answers[i].verdict == UX_PUSH_WANTED;
	return UX_OK;
}

/* Takes over the first n waiting files. */
static enum ux_code batch_take_files(struct ux_agent_batch *b, size_t n, struct ux_error *err)
{
	struct ux_mapped_files *found = &b->agent->files;
	if (!ux_mapped_files_reserve(&b->files, n))
		return ux_error_nomem(err);
	memcpy(b->files.data, found->data, n * sizeof(*found->data));
	b->files.size = n;
	found->size -= n;
	memmove(found->data, found->data + n, found->size * sizeof(*found->data));
	b->agent->ordered -= ux_min(n, b->agent->ordered);
	return UX_OK;
}

static enum ux_code batch_fill(struct ux_agent_batch *b, size_t n, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	size_t i = 0;
	a->debug_files = &b->debug_files;
	while (i < n && b->modules.size < UX_AGENT_BATCH_MODULES) {
		UX_TRY(batch_identify(b, i, &a->files.data[i], err));
		i++;
	}
	UX_TRY(batch_take_files(b, i, err));
	UX_TRY(batch_order(b, err));
	return b->kept ? UX_OK : batch_query(b, err);
}

enum ux_code ux_agent_batch_begin(struct ux_agent *a, size_t n, bool kept,
				  struct ux_agent_batch **ret, struct ux_error *err)
{
	if (a->done.size > UX_AGENT_KNOWN_MAX) /* most of them are in a->state, too */
		UX_TRY(ux_agent_forget_ids(a, err));
	struct ux_agent_batch *b = calloc(1, sizeof(*b));
	if (!b || !ux_agent_batches_append(&a->batches, b)) {
		free(b);
		return ux_error_nomem(err);
	}
	*ret = b;
	b->agent = a;
	b->kept = kept;
	b->known = calloc(n, sizeof(*b->known));
	b->read = calloc(n, sizeof(*b->read));
	return b->known && b->read ? batch_fill(b, n, err) : ux_error_nomem(err);
}

/* --- a module --------------------------------------------------------------------------------- */

/* A module that is being sent. */
struct batch_task {
	struct ux_agent_task task; /* first */
	struct ux_agent_batch *batch;
	size_t module;
	enum ux_agent_known known; /* answer to remember after the upload */
	struct ux_push_gsym gsym;
	struct ux_extract_stats stats;
	bool no_memory; /* for a result */
};

static void batch_keep_result(void *ctx, const struct ux_push_result *r)
{
	struct batch_task *t = ctx;
	if (!ux_kept_results_add(&t->task.results, r))
		t->no_memory = true;
}

/* Called by any thread: neither the module nor its batch changes before the task has ended. */
static enum ux_code batch_send(struct ux_agent_task *task, struct ux_push_work *w,
			       struct ux_error *err)
{
	struct batch_task *t = (struct batch_task *)task;
	const struct ux_push_module *m = &t->batch->modules.data[t->module];
	enum ux_code code = ux_push_gsym_send(w, m, &t->gsym, &t->stats, err);
	/* frees it now, because the task may wait long for earlier tasks */
	ux_push_gsym_deinit(&t->gsym);
	return code;
}

static void batch_end_task(struct ux_agent *a, struct ux_agent_task *task, bool sent)
{
	struct batch_task *t = (struct batch_task *)task;
	struct ux_agent_batch *b = t->batch;
	const struct ux_push_module *m = &b->modules.data[t->module];
	if (!sent || a->failed)
		b->known[b->owners[t->module]] = UX_AGENT_UNKNOWN;
	else if (!a->push.dry_run)
		ux_agent_remember_ids(a, &m->ids, m->origin.trust, t->known);
	b->tasks--;
	ux_push_gsym_deinit(&t->gsym);
	free(t);
}

/* Extracts the module of a task. Its results wait for their turn. */
static enum ux_code batch_extract(struct batch_task *t, struct ux_error *err)
{
	struct ux_agent *a = t->batch->agent;
	struct ux_push_module *m = &t->batch->modules.data[t->module];
	const struct ux_push_answer *answer = &t->batch->answers[t->module];
	struct ux_push_options options = a->push;
	struct ux_push_summary none = {0}; /* results are counted when they are reported */
	struct ux_push_work work = a->work;
	bool sends = false;
	options.result = batch_keep_result;
	options.ctx = t;
	work.o = &options;
	work.summary = &none;
	t->known = UX_AGENT_THERE;
	if (answer->verdict == UX_PUSH_WANTED && ux_agent_is_public(a, &work, m))
		t->known = UX_AGENT_PUBLIC;
	else
		UX_TRY(ux_push_module_extract(&work, m, answer, &t->gsym, &t->stats, &sends, err));
	t->task.send = sends ? batch_send : NULL;
	t->task.bytes = t->gsym.file.bytes.size;
	return t->no_memory ? ux_error_nomem(err) : UX_OK;
}

static enum ux_code batch_send_module(struct ux_agent_batch *b, size_t i, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	struct batch_task *t = calloc(1, sizeof(*t));
	if (!t)
		return ux_error_nomem(err);
	t->batch = b;
	t->module = i;
	t->task.end = batch_end_task;
	b->tasks++;
	enum ux_code code = batch_extract(t, err);
	ux_agent_budget_charge(a, NULL, 0);
	if (code != UX_OK) {
		ux_kept_results_free(&t->task.results);
		batch_end_task(a, &t->task, /* sent= */ false);
		return code;
	}
	t->task.left_ms = a->work.client.deadline_ms - ux_clock_ms();
	return ux_agent_senders_add(a, &t->task, /* alone= */ b->wanted == 1, err);
}

static enum ux_code batch_queue_module(struct ux_agent_batch *b, size_t i, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	a->failed = false;
	enum ux_code code = ux_agent_queue_module(a, &b->modules.data[i], err);
	ux_agent_budget_charge(a, NULL, 0);
	return code;
}

const struct ux_mapped_file *ux_agent_batch_next(const struct ux_agent_batch *b)
{
	return b->next < b->modules.size ? &b->files.data[b->owners[b->next]] : NULL;
}

enum ux_code ux_agent_batch_step(struct ux_agent_batch *b, struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	size_t i = b->next++;
	a->debug_files = &b->debug_files;
	a->owner = b->files.data[b->owners[i]].pid;
	ux_agent_budget_charge(a, &b->files.data[b->owners[i]], b->modules.data[i].part.size);
	ux_agent_budget_wait(a);
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	return b->kept ? batch_queue_module(b, i, err) : batch_send_module(b, i, err);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Remembers the answers about the files. */
static void batch_remember(const struct ux_agent_batch *b)
{
	struct ux_agent *a = b->agent;
	if (b->kept || a->push.dry_run)
		return;
	for (size_t i = 0; i < b->files.size; i++)
		if (b->read[i] && b->known[i] != UX_AGENT_UNKNOWN)
			ux_agent_state_put(&a->state,
					   ux_agent_file_key(&a->state, &b->files.data[i].key),
					   b->known[i], ux_clock_wall());
}

static void batch_drop(struct ux_agent *a, size_t number)
{
	struct ux_agent_batches *all = &a->batches;
	batch_free(all->data[number]);
	all->size--;
	memmove(all->data + number, all->data + number + 1,
		(all->size - number) * sizeof(*all->data));
}

void ux_agent_batches_settle(struct ux_agent *a)
{
	for (size_t i = 0; i < a->batches.size;) {
		struct ux_agent_batch *b = a->batches.data[i];
		if (ux_agent_batch_next(b) || b->tasks > 0) {
			i++;
			continue;
		}
		batch_remember(b);
		ux_host_watch_give_back(&a->watch, b->files.data, b->files.size);
		batch_drop(a, i);
	}
	ux_agent_metric_set(&a->metrics.waiting, ux_agent_waiting(a));
}

enum ux_code ux_agent_batches_give_back(struct ux_agent *a, struct ux_error *err)
{
	for (size_t i = 0; i < a->batches.size;) {
		struct ux_mapped_files *files = &a->batches.data[i]->files;
		if (a->batches.data[i]->kept) {
			i++;
			continue;
		}
		if (!ux_mapped_files_reserve(&a->files, a->files.size + files->size))
			return ux_error_nomem(err);
		for (size_t k = 0; k < files->size; k++)
			a->files.data[a->files.size++] = files->data[k];
		files->size = 0;
		batch_drop(a, i);
	}
	return UX_OK;
}
