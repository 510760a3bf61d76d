/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of records that wait for earlier ones. */
#include "perf_order.h"

#include "order.h"
#include "partition.h"

void ux_perf_order_deinit(struct ux_perf_order *o)
{
	for (size_t i = 0; i < o->list.size; i++)
		ux_perf_block_release(o->list.data[i].block);
	ux_perf_waiting_list_deinit(&o->list);
}

static int perf_waiting_compare(const void *a, const void *b)
{
	const struct ux_perf_waiting *x = a, *y = b;
	UX_ORDER(x->time, y->time);
	UX_ORDER(x->number, y->number);
	return 0;
}

/* Sorts the list. Renumbers it, so that records with equal times keep their order. */
static void perf_order_sort(struct ux_perf_order *o)
{
	if (o->sorted < o->list.size)
		ux_sort_by_start(o->list.data, o->list.size, sizeof(*o->list.data),
				 perf_waiting_compare);
	o->sorted = o->list.size;
	for (size_t i = 0; i < o->list.size; i++)
		o->list.data[i].number = (uint32_t)i;
}

/* Uses the first n records of the sorted list. */
static enum ux_code perf_order_use(struct ux_perf_order *o, size_t n, struct ux_error *err)
{
	assert(n <= o->list.size && o->sorted == o->list.size);
	enum ux_code code = UX_OK;
	size_t i = 0;
	for (; i < n && code == UX_OK; i++) {
		struct ux_perf_waiting *w = &o->list.data[i];
		if (w->time < o->used)
			o->late++;
		o->used = ux_max(o->used, w->time);
		code = o->use(o->ctx, w, err);
		ux_perf_block_release(w->block);
	}
	o->list.size -= i;
	o->sorted = o->list.size;
	if (i > 0 && o->list.size > 0)
		memmove(o->list.data, o->list.data + i, o->list.size * sizeof(*o->list.data));
	return code;
}

enum ux_code ux_perf_order_add(struct ux_perf_order *o, struct ux_perf_waiting record, size_t live,
			       struct ux_error *err)
{
	assert(o->sorted <= o->list.size);
	record.number = (uint32_t)o->list.size;
	bool behind = o->sorted == o->list.size && record.time >= o->newest;
	if (!ux_perf_waiting_list_append(&o->list, record))
		return ux_error_nomem(err);
	record.block->users++;
	if (behind)
		o->sorted = o->list.size;
	o->newest = ux_max(o->newest, record.time);
	if (o->list.size < UX_PERF_RECORDS_MAX && live < UX_PERF_WAITING_MAX / UX_PERF_BLOCK_BYTES)
		return UX_OK;
	perf_order_sort(o);
	return perf_order_use(o, (o->list.size + 1) / 2, err);
}

enum ux_code ux_perf_order_round(struct ux_perf_order *o, struct ux_error *err)
{
	perf_order_sort(o);
	size_t n = ux_partition_point(i, 0, o->list.size, o->list.data[i].time <= o->limit);
	o->limit = o->newest;
	return perf_order_use(o, n, err);
}

enum ux_code ux_perf_order_finish(struct ux_perf_order *o, struct ux_error *err)
{
	perf_order_sort(o);
	return perf_order_use(o, o->list.size, err);
}
