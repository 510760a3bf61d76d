/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders the waiting files. Files of running processes come first: profiles show these, while a
 * program that ran once for a second may never run again. Users take turns, whatever number of
 * processes and containers each of them has; so do the containers of a user. Each of them
 * alternates between a small and a large file, so that thousands of small files do not keep a large
 * one waiting. Among small files, and among large ones, the smaller file comes first. So that none
 * waits for ever, the small and the large file that have waited longest come before all others once
 * they have waited for a minute.
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

enum {
	OLD_MS = 60000, /* ms after which a file has its turn for its age */
};

/* Sorts by user and container, with large files apart. */
static int order_by_container(const void *a, const void *b)
{
	const struct ux_mapped_file *x = a, *y = b;
	UX_ORDER(x->ended, y->ended);
	UX_ORDER(x->process_owner, y->process_owner);
	UX_ORDER(x->container, y->container);
	UX_ORDER(x->key.size, y->key.size);
	return 0;
}

/* Sorts by user, with large files apart and containers in turn. */
static int order_by_user(const void *a, const void *b)
{
	const struct ux_mapped_file *x = a, *y = b;
	UX_ORDER(x->ended, y->ended);
	UX_ORDER(x->process_owner, y->process_owner);
	UX_ORDER(ux_mapped_is_large(x->key.size), ux_mapped_is_large(y->key.size));
	UX_ORDER(x->turn, y->turn);
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

/* Numbers the sorted files of each user, or with `containers` of each container. */
static void order_number(struct ux_mapped_file *f, size_t n, bool containers)
{
	for (size_t i = 0; i < n; i++) {
		bool follows =
			i > 0 && f[i].ended == f[i - 1].ended &&
			f[i].process_owner == f[i - 1].process_owner &&
			(!containers || f[i].container == f[i - 1].container) &&
			ux_mapped_is_large(f[i].key.size) == ux_mapped_is_large(f[i - 1].key.size);
		f[i].turn = follows ? f[i - 1].turn + 1 : 0;
	}
}

/* Moves the file of this kind that has waited longest to the front, if it is old. */
static void order_put_old_first(struct ux_mapped_file *f, size_t n, bool large, int64_t now_ms)
{
	size_t oldest = n;
	for (size_t i = 0; i < n; i++)
		if (ux_mapped_is_large(f[i].key.size) == large &&
		    now_ms - f[i].found_ms >= OLD_MS && f[i].again_ms <= now_ms &&
		    (oldest == n || f[i].found_ms < f[oldest].found_ms))
			oldest = i;
	if (oldest == n)
		return;
	struct ux_mapped_file file = f[oldest];
	memmove(f + 1, f, oldest * sizeof(file));
	file.ended = false; /* else it would wait for all of running processes */
	f[0] = file;
}

void ux_agent_order(struct ux_mapped_files *files, int64_t now_ms)
{
	struct ux_mapped_file *f = files->data;
	const size_t n = files->size;
	for (size_t i = 0; i < n; i++)
		f[i].ended = order_has_ended(&f[i]);
	if (n < 2)
		return;
	qsort(f, n, sizeof(*f), order_by_container);
	order_number(f, n, /* containers= */ true);
	qsort(f, n, sizeof(*f), order_by_user);
	order_number(f, n, /* containers= */ false);
	qsort(f, n, sizeof(*f), order_by_turn);
	order_put_old_first(f, n, /* large= */ true, now_ms);
	order_put_old_first(f, n, /* large= */ false, now_ms);
}
