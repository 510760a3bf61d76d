/* SPDX-License-Identifier: Apache-2.0 */
/* Merges kept profiles that are next to each other in time. */
#include "profile_slots.h"

#include "clock.h"
#include "event_log.h"
#include "profile_merge.h"
#include "profile_span.h"
#include "stored_profile.h"

enum {
	ROWS_BUDGET = 4 << 20, /* bytes for the rows of one slot */
};

/*
 * Lengths of slots, and how long after its end a slot is merged, because profiles arrive late; in
 * seconds.
 */
static const struct {
	ux_time slot_s;
	ux_time over_s;
} slot_levels[] = {
	{10 * 60, 5 * 60},
	{60 * 60, 6 * 60 * 60},
};

/* A sum and its parts. */
struct slot_sum {
	struct ux_profile profile;
	struct ux_profile_merger merger;
	int64_t numbers[UX_PROFILE_MERGE_MAX]; /* numbers of the parts */
	size_t n;
	struct ux_kept_profile row; /* row of the sum */
};

static void slot_sum_free(struct slot_sum **s)
{
	if (!*s)
		return;
	ux_profile_merger_deinit(&(*s)->merger);
	ux_profile_deinit(&(*s)->profile);
	free(*s);
}

static enum ux_code slot_sum_create(struct slot_sum **ret, struct ux_error *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return ux_error_nomem(err);
	UX_TRY(ux_profile_init(&(*ret)->profile, err));
	return ux_profile_merger_init(&(*ret)->merger, &(*ret)->profile, err);
}

/* Reads a part. *ret_skip: it cannot be read, and is never tried again. */
static enum ux_code slot_read(struct ux_profile_keeper *k, const struct ux_kept_profile *row,
			      struct ux_profile *p, bool *ret_skip, struct ux_error *err)
{
	struct ux_index *ix = k->server->store->index;
	struct ux_error why = UX_ERROR_INIT;
	char text[256], quoted[300];
	size_t size = 0;
	UX_TRY(ux_profile_init(p, err));
	p->max = UX_PROFILE_MEMORY_MAX;
	enum ux_code code = ux_kept_profile_read(k->server->store, row, p, &size, &why);
	*ret_skip = code != UX_OK;
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK)
		return UX_OK;
	ux_log_line("warning", "profiles", "profile=%" PRId64 " error=%s", row->number,
		    ux_log_quote(ux_bytes_cstr(ux_error_format(&why, text, sizeof(text))), quoted,
				 sizeof(quoted)));
	return ix->profiles.leave(ix, row->number, err);
}

static void slot_use_row(struct slot_sum *s, const struct ux_kept_profile *row)
{
	struct ux_kept_profile *sum = &s->row;
	if (s->n == 0) {
		*sum = *row;
		sum->level = row->level + 1;
	}
	sum->started = ux_min(sum->started, row->started);
	sum->ended = ux_max(sum->ended, row->ended);
	sum->created = ux_max(sum->created, row->created);
	sum->samples =
		s->n == 0 ? row->samples : ux_min(sum->samples + row->samples, (uint64_t)INT64_MAX);
	s->numbers[s->n++] = row->number;
}

/* Adds parts until the sum would become too large for some view; always adds the first one. */
static enum ux_code slot_add(struct ux_profile_keeper *k, const struct ux_kept_profiles *rows,
			     struct slot_sum *s, struct ux_error *err)
{
	for (size_t i = 0; i < rows->n; i++) {
		ux_cleanup(ux_profile_deinit) struct ux_profile p = {0};
		bool skip = false;
		UX_TRY(slot_read(k, &rows->items[i], &p, &skip, err));
		if (skip)
			continue;
		if (s->n > 0 && s->profile.charged + p.charged > UX_PROFILE_MEMORY_MAX / 4)
			break;
		UX_TRY(ux_profile_merge(&s->merger, &p, err));
		slot_use_row(s, &rows->items[i]);
	}
	return UX_OK;
}

/* Merges one slot. *ret: number of removed parts; *ret_any: a slot was found. */
static enum ux_code slot_merge(struct ux_profile_keeper *k, const struct ux_profile_slot *slot,
			       uint64_t *ret, bool *ret_any, struct ux_error *err)
{
	UX_ARENA(arena, ROWS_BUDGET);
	ux_cleanup(slot_sum_free) struct slot_sum *s = NULL;
	ux_cleanup(ux_out_deinit) struct ux_out bytes = {0};
	struct ux_store *store = k->server->store;
	struct ux_kept_profiles rows;
	uint64_t trimmed = 0;
	UX_TRY(store->index->profiles.slot(store->index, slot, &arena, &rows, err));
	*ret_any = rows.n > 0;
	if (rows.n == 0)
		return UX_OK;
	UX_TRY(slot_sum_create(&s, err));
	UX_TRY(slot_add(k, &rows, s, err));
	if (s->n == 0)
		return UX_OK;
	UX_TRY(ux_stored_profile_write(&s->profile, &bytes, err));
	s->row.off = 0;
	s->row.length = bytes.size;
	const struct ux_profile_addition what = {
		.rows = &s->row, .n = 1, .replaced = s->numbers, .n_replaced = s->n};
	enum ux_code code =
		ux_store_commit_profiles(store, ux_out_bytes(&bytes), &what, NULL, &trimmed, err);
	if (code == UX_OK)
		*ret += s->n - 1;
	return code;
}

enum ux_code ux_profile_slots_merge(struct ux_profile_keeper *k, int64_t max_ms, uint64_t *ret,
				    struct ux_error *err)
{
	const int64_t end = ux_clock_ms() + max_ms;
	ux_time now = ux_store_now(k->server->store);
	*ret = 0;
	for (size_t i = 0; i < ux_countof(slot_levels); i++) {
		const struct ux_profile_slot slot = {.level = (int)i,
						     .slot_s = slot_levels[i].slot_s,
						     .before = now - slot_levels[i].over_s};
		bool any = true;
		while (any && ux_clock_ms() < end)
			UX_TRY(slot_merge(k, &slot, ret, &any, err));
	}
	return UX_OK;
}
