/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules the files. When a batch of files begins, it gets a turn of one second. Modules that are
 * left after it, such as the 10,000 cubins of a CUDA library, get further turns. After each turn,
 * files that were found meanwhile begin as a new batch with its own turn. So a new file waits for
 * seconds only, no matter how many modules are under way.
 *
 * One thread does all of this. More extracting threads would share the same processor time of a
 * minute. A file that went back to the waiting list after each turn would be identified again each
 * time, which takes seconds for a library of 500 MB.
 */
#include "agent_work.h"

#include "clock.h"

#include <sys/stat.h>

enum {
	BATCH_MAX = 32,    /* files of one query */
	BATCH_QUEUED = 16, /* files that are identified before they go to the queue */
	TURN_MS = 1000,    /* ms of a batch's turn */
	ORDER_MS = 1000,   /* ms for which files without new ones stay in their order */
	WAIT_MS = 200,     /* ms to wait for a sender before the agent looks for new files */
};

/* Moves a file to a lower index; the order of the files between stays. */
static void agent_move_file(struct ux_mapped_file *files, size_t from, size_t to)
{
	struct ux_mapped_file f = files[from];
	memmove(files + to + 1, files + to, (from - to) * sizeof(f));
	files[to] = f;
}

/* Returns whether the file has no name any more: it disappears when its processes and this process
 * end. */
static bool agent_is_fleeting(const struct ux_mapped_file *f)
{
	struct stat st;
	return !f->kernel && !f->far && f->key.dev != 0 && fstat(f->fd, &st) == 0 &&
	       st.st_nlink == 0;
}

/* --- far files -------------------------------------------------------------------------------- */

/* Copies a far file. UX_EUNAVAILABLE: it waits until its file system answers again. */
static enum ux_code agent_copy(struct ux_agent *a, struct ux_mapped_file *f, struct ux_error *err)
{
	const struct ux_opened before = {.fd = -1};
	struct ux_opened now;
	struct ux_proc_map map = f->map;
	map.path = f->path;
	UX_TRY(ux_open_helper_mapped(&a->opener, f->pid, &map, &before, /* copy= */ true, &now,
				     &f->again_ms, err));
	f->fd = now.fd;
	if (now.fd < 0 || now.size != f->key.size || now.mtime_ns != f->key.mtime_ns)
		return ux_error_set(err, UX_ENOTFOUND, "has changed since it was found");
	return UX_OK;
}

/*
 * Copies the far ones of the first n waiting files, unless their answer is known. A file whose file
 * system does not answer is put off; any other failure is reported, and the file is dropped.
 * Returns how many of the n are left.
 */
static size_t agent_copy_far(struct ux_agent *a, size_t n)
{
	struct ux_mapped_files *all = &a->files;
	for (size_t i = 0; i < n;) {
		struct ux_mapped_file *f = &all->data[i];
		struct ux_error why = UX_ERROR_INIT;
		if (!f->far || f->fd >= 0 ||
		    ux_agent_state_find(&a->state, ux_agent_file_key(&a->state, &f->key),
					ux_clock_wall()) != UX_AGENT_UNKNOWN ||
		    agent_copy(a, f, &why) == UX_OK) {
			i++;
			continue;
		}
		struct ux_mapped_file off = *f;
		memmove(f, f + 1, (all->size - i - 1) * sizeof(*f));
		n--;
		if (why.code == UX_EUNAVAILABLE && !off.ended) {
			all->data[all->size - 1] = off;
			continue;
		}
		ux_push_report_left_out(&a->work, off.path, /* named= */ true, &why);
		all->size--;
		a->ordered = 0; /* unknown: they are put in order again */
		ux_host_watch_give_back(&a->watch, &off, 1);
		ux_mapped_file_deinit(&off);
	}
	ux_agent_metric_set(&a->metrics.hung, a->opener.hung);
	return n;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Processes modules of a batch until its turn ends. */
static enum ux_code agent_turn(struct ux_agent *a, struct ux_agent_batch *b, struct ux_error *err)
{
	const int64_t end = ux_clock_ms() + TURN_MS;
	while (ux_agent_batch_next(b) && ux_clock_ms() < end) {
		ux_agent_beat(a);
		/* A process with run-time code may end before all files were sent. */
		UX_TRY(ux_agent_runtime_step(a, err));
		UX_TRY(ux_agent_batch_step(b, err));
	}
	return UX_OK;
}

/* Begins a batch with the first n waiting files, or some of them, and gives it a turn. */
static enum ux_code agent_begin(struct ux_agent *a, size_t n, bool kept, struct ux_error *err)
{
	struct ux_agent_batch *b = NULL;
	if (n == 0)
		return UX_OK;
	UX_TRY(ux_agent_batch_begin(a, n, kept, &b, err));
	return agent_turn(a, b, err);
}

/* Of the first *n files, puts the ones without a name into the queue, before the server is asked.
 */
static enum ux_code agent_keep_fleeting(struct ux_agent *a, size_t *n, struct ux_error *err)
{
	struct ux_mapped_file *files = a->files.data;
	size_t kept = 0;
	if (!a->queue || a->o->queue_max == 0)
		return UX_OK;
	for (size_t i = 0; i < *n; i++)
		if (agent_is_fleeting(&files[i]))
			agent_move_file(files, i, kept++);
	*n = kept > 0 ? 0 : *n; /* the other files have their turn later */
	return agent_begin(a, kept, /* kept= */ true, err);
}

/*
 * Moves the next files of a batch to the front and returns their number, at most max. They keep
 * their order, and all of them belong to running processes or all to ended ones. Files without
 * processor time left are skipped. 0: more files may be found before there is time again.
 */
static size_t agent_choose(struct ux_agent *a, size_t max)
{
	struct ux_mapped_file *f = a->files.data;
	size_t n = 0;
	const int64_t now = ux_clock_ms();
	bool low[2][2]; /* no time left: [large files][files of ended processes] */
	for (int i = 0; i < 4; i++)
		low[i / 2][i % 2] = !a->o->once && ux_agent_budget_is_low(a, i / 2, i % 2);
	for (size_t i = 0; i < a->files.size && n < max; i++) {
		const bool large = ux_mapped_is_large(f[i].key.size);
		if ((!low[large][f[i].ended] ||
		     ux_agent_budget_is_light(a, large, f[i].process_owner)) &&
		    f[i].again_ms <= now && (n == 0 || f[i].ended == f[0].ended) &&
		    (a->o->once || !ux_agent_budget_is_spent(a, large, f[i].process_owner)))
			agent_move_file(f, i, n++);
	}
	return n;
}

/*
 * Puts the waiting files in order, if there are new ones or processes may have ended. Sorting
 * thousands of files at each turn would take the whole share of a core, so more of them wait longer
 * for their place: a second for each thousand.
 */
static void agent_put_in_order(struct ux_agent *a)
{
	const int64_t now = ux_clock_ms();
	const int64_t since = now - a->ordered_ms, thousands = (int64_t)a->files.size / 1000;
	if (since < ORDER_MS * thousands || (a->files.size == a->ordered && since < ORDER_MS))
		return;
	ux_agent_order(&a->files, now);
	a->ordered = a->files.size;
	a->ordered_ms = now;
}

/* Begins a batch with some of the waiting files. *more: set if there were any. */
static enum ux_code agent_begin_some(struct ux_agent *a, bool kept, bool *more,
				     struct ux_error *err)
{
	UX_TRY(ux_host_watch_take(&a->watch, /* deadline_ms= */ 0, &a->files, err));
	if (a->batches.size >= UX_AGENT_BATCHES_MAX)
		return UX_OK;
	agent_put_in_order(a);
	size_t n = agent_choose(a, kept ? BATCH_QUEUED : BATCH_MAX);
	*more = *more || n > 0;
	n = agent_copy_far(a, n);
	if (!kept)
		UX_TRY(agent_keep_fleeting(a, &n, err));
	return agent_begin(a, n, kept, err);
}

/* Returns whether there is processor time for the next module of a batch. */
static bool agent_has_time(struct ux_agent *a, const struct ux_agent_batch *b)
{
	const struct ux_mapped_file *f = ux_agent_batch_next(b);
	return f &&
	       (a->o->once ||
		(!ux_agent_budget_is_low(a, ux_mapped_is_large(f->key.size), f->ended) &&
		 !ux_agent_budget_is_spent(a, ux_mapped_is_large(f->key.size), f->process_owner)));
}

/* Gives a turn to the batch that has waited longest, and makes it the last one. *more: set if there
 * is one. */
static enum ux_code agent_go_on(struct ux_agent *a, bool *more, struct ux_error *err)
{
	struct ux_agent_batch **all = a->batches.data;
	for (size_t i = 0; i < a->batches.size; i++) {
		struct ux_agent_batch *b = all[i];
		if (!agent_has_time(a, b))
			continue;
		memmove(all + i, all + i + 1, (a->batches.size - i - 1) * sizeof(*all));
		all[a->batches.size - 1] = b;
		*more = true;
		return agent_turn(a, b, err);
	}
	return UX_OK;
}

/* Waits for senders if there are tasks, and sets *more then. */
static enum ux_code agent_wait_sent(struct ux_agent *a, bool *more, struct ux_error *err)
{
	if (!ux_agent_senders_have_tasks(&a->senders))
		return UX_OK;
	*more = true;
	UX_TRY(ux_agent_runtime_step(a, err));
	return ux_agent_senders_report(a, WAIT_MS, err);
}

/* Processes all files for which there is time. kept: into the queue. */
static enum ux_code agent_deal(struct ux_agent *a, bool kept, struct ux_error *err)
{
	for (bool more = true; more;) {
		more = false;
		ux_agent_beat(a);
		if (!kept)
			UX_TRY(ux_agent_queue_send(a, &more, err));
		UX_TRY(agent_begin_some(a, kept, &more, err));
		UX_TRY(agent_go_on(a, &more, err));
		if (!more)
			UX_TRY(agent_wait_sent(a, &more, err));
		ux_agent_batches_settle(a);
	}
	return UX_OK;
}

/* After a connection error: files wait again, and their IDs count as new. */
static enum ux_code agent_fall_back(struct ux_agent *a, struct ux_error *err)
{
	ux_agent_senders_drop(a);
	ux_agent_senders_stop(a);
	UX_TRY(ux_agent_batches_give_back(a, err));
	return ux_agent_forget_ids(a, err);
}

enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	if (a->away || !a->reached)
		UX_TRY(ux_agent_probe(a, err));
	enum ux_code code = agent_deal(a, /* kept= */ false, &why);
	if (code != UX_OK) {
		UX_TRY(agent_fall_back(a, err));
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	if (a->batches.size == 0)
		ux_agent_senders_stop(a);
	return UX_OK;
}

/* Returns whether a batch under way needs the server. Sending run-time code may have found the
 * server away. */
static bool agent_needs_server(const struct ux_agent *a)
{
	for (size_t i = 0; i < a->batches.size; i++)
		if (!a->batches.data[i]->kept)
			return true;
	return false;
}

enum ux_code ux_agent_keep(struct ux_agent *a, struct ux_error *err)
{
	if (agent_needs_server(a))
		UX_TRY(agent_fall_back(a, err));
	return agent_deal(a, /* kept= */ true, err);
}
