/* SPDX-License-Identifier: Apache-2.0 */
/* The way of mapped files to the server: identify, query, extract, upload. */
#include "agent_work.h"

#include "clock.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	BATCH_MOST = 512, /* files of one query */
};

/* The modules of a batch of files. */
struct agent_batch {
	struct ux_agent *agent;
	struct ux_push_modules modules;
	struct ux_push_answer *answers;
};

static void agent_batch_deinit(struct agent_batch *b)
{
	ux_push_modules_free(&b->modules);
	free(b->answers);
}

/* Small files first: a large one would let many wait. */
static int agent_by_size(const void *a, const void *b)
{
	const struct ux_mapped_file *x = a, *y = b;
	return (x->key.size > y->key.size) - (x->key.size < y->key.size);
}

/* Other files that are mapped as code are data of a run-time compiler. */
static bool agent_is_elf(int fd)
{
	char magic[4];
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

/* Was a module with one of these IDs dealt with? Else they are now. */
static enum ux_code agent_take_ids(struct ux_agent *a, const struct ux_id_set *ids, bool *ret_known,
				   struct ux_error *err)
{
	*ret_known = false;
	for (size_t i = 0; i < ids->size; i++)
		*ret_known = *ret_known || ux_push_by_id_find(&a->done, ids->ids[i]) != NULL;
	for (size_t i = 0; i < ids->size && !*ret_known; i++) {
		bool fresh = false;
		if (!ux_push_by_id_insert(&a->done, ids->ids[i], &fresh))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Appends the modules of a file that are not known to the batch. */
static enum ux_code agent_identify(struct agent_batch *b, const struct ux_mapped_file *file,
				   struct ux_error *err)
{
	struct ux_agent *a = b->agent;
	ux_cleanup(ux_push_modules_free) struct ux_push_modules found = {0};
	const struct ux_sandbox_part whole = {file->fd, 0, file->key.size};
	struct ux_error why = UX_ERROR_INIT;
	if (!file->kernel && !agent_is_elf(file->fd))
		return UX_OK;
	enum ux_code code =
		ux_push_part_read(&a->work, file->path, &whole, /* packed= */ false, &found, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		ux_push_report_left_out(&a->work, file->path, /* named= */ false, &why);
	for (size_t i = 0; i < found.size; i++) {
		struct ux_push_module *m = &found.data[i];
		bool known = false;
		if (m->claim == UX_QUALITY_NONE)
			continue;
		UX_TRY(agent_take_ids(a, &m->ids, &known, err));
		if (known)
			continue;
		if (!ux_push_modules_append(&b->modules, *m))
			return ux_error_nomem(err);
		*m = (struct ux_push_module){0};
	}
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

/* After a failure the IDs count as new again, so that the files that wait find them. */
static void agent_forget_ids(struct ux_agent *a)
{
	ux_push_by_id_deinit(&a->done);
}

static enum ux_code agent_send_batch(struct ux_agent *a, const struct ux_mapped_file *files,
				     size_t n, struct ux_error *err)
{
	ux_cleanup(agent_batch_deinit) struct agent_batch b = {.agent = a};
	for (size_t i = 0; i < n; i++)
		UX_TRY(agent_identify(&b, &files[i], err));
	if (b.modules.size == 0)
		return UX_OK;
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	enum ux_code code = agent_query(&b, err);
	for (size_t i = 0; code == UX_OK && i < b.modules.size; i++) {
		a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
		code = ux_push_module_send(&a->work, &b.modules.data[i], &b.answers[i], err);
	}
	if (code != UX_OK)
		agent_forget_ids(a);
	return code;
}

enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err)
{
	struct ux_mapped_files *files = &a->files;
	if (files->size > 1)
		qsort(files->data, files->size, sizeof(*files->data), agent_by_size);
	while (files->size > 0) {
		size_t n = ux_min(files->size, (size_t)BATCH_MOST);
		UX_TRY(agent_send_batch(a, files->data, n, err));
		for (size_t i = 0; i < n; i++)
			ux_mapped_file_deinit(&files->data[i]);
		files->size -= n;
		ux_host_watch_give_back(&a->watch, n);
		memmove(files->data, files->data + n, files->size * sizeof(*files->data));
	}
	return UX_OK;
}
