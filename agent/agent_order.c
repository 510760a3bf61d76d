/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders the waiting files. Files of running processes come first: profiles show these, while a
 * program that ran once for a second may never run again. Users and containers take turns. Each of
 * them alternates between a small and a large file, so that thousands of small files do not keep a
 * large one waiting. Among small files, and among large ones, the smaller file comes first.
 */
#include "agent_work.h"

#include "order.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* Returns whether the process that mapped the file has ended. Another process with the same ID does
 * no harm. */
static bool order_has_ended(const struct ux_mapped_file *f)
{
	return f->pid != 0 && kill(f->pid, 0) != 0 && errno == ESRCH;
}

/* Sorts by owner, with large files apart. */
static int order_by_owner(const void *a, const void *b)
{
	const struct ux_mapped_file *x = a, *y = b;
	UX_ORDER(x->ended, y->ended);
	UX_ORDER(x->process_owner, y->process_owner);
	UX_ORDER(x->container, y->container);
	UX_ORDER(x->key.size, y->key.size);
	return 0;
}

static int order_by_turn(const void *a, const void *b)
{
	const struct ux_mapped_file *x = a, *y = b;
	UX_ORDER(x->ended, y->ended);
	UX_ORDER(x->turn, y->turn);
	UX_ORDER(x->key.size, y->key.size);
	return 0;
}

void ux_agent_order(struct ux_mapped_files *files)
{
	struct ux_mapped_file *f = files->data;
	if (files->size < 2)
		return;
	for (size_t i = 0; i < files->size; i++)
		f[i].ended = order_has_ended(&f[i]);
	qsort(f, files->size, sizeof(*f), order_by_owner);
	for (size_t i = 0; i < files->size; i++) {
		bool follows =
			i > 0 && f[i].ended == f[i - 1].ended &&
			f[i].process_owner == f[i - 1].process_owner &&
			f[i].container == f[i - 1].container &&
			ux_mapped_is_large(f[i].key.size) == ux_mapped_is_large(f[i - 1].key.size);
		f[i].turn = follows ? f[i - 1].turn + 1 : 0;
	}
	qsort(f, files->size, sizeof(*f), order_by_turn);
}
