/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts pieces, and makes pieces disjoint that lie inside of each other. */
#include "merge.h"

#include "order.h"

enum {
	NESTED_PART = 8, /* reserve room for 1/8 more pieces, cut by pieces inside of them */

	/* bytes of names that are compared when nothing else decides an order */
	NAMES_COMPARED = 1 << 12,

	/* Budget of inlined calls and ranges that are visited for cutting pieces that contain
	 * others, and of symbols inside of functions. */
	CALL_WORK_MAX = 1 << 26,
	CALL_WORK_KEPT = 32, /* cost of copying a call */
};

void ux_merger_init(struct ux_merger *m, struct ux_arena *arena, unsigned share)
{
	*m = (struct ux_merger){.arena = arena, .call_work = CALL_WORK_MAX / share};
}

void ux_merger_deinit(struct ux_merger *m)
{
	ux_gsym_drafter_deinit(&m->drafter);
}

/* --- lists of pieces -------------------------------------------------------------------------- */

static int piece_compare(const void *x, const void *y)
{
	const struct ux_piece *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	UX_ORDER(b->size, a->size);
	UX_ORDER(a->draft.n_rows == 0, b->draft.n_rows == 0);
	UX_ORDER(a->unit, b->unit);
	UX_ORDER(b->draft.n_inlines, a->draft.n_inlines);
	if (a->name == b->name)
		return 0;
	return strncmp(a->name ? a->name : "", b->name ? b->name : "", NAMES_COMPARED);
}

void ux_pieces_sort(struct ux_piece_vec *pieces)
{
	ux_sort_by_start_spilled(pieces->data, pieces->size, sizeof(*pieces->data), piece_compare,
				 pieces->spill);
}

enum ux_code ux_pieces_gather(const struct ux_collection *collection, enum ux_unit_list which,
			      struct ux_piece_vec *ret, struct ux_error *err)
{
	bool lines = which == UX_UNIT_LINES;
	size_t n = ret->size;
	for (size_t u = 0; u < collection->n_units; u++)
		n += lines ? collection->units[u].n_lines : collection->units[u].n_functions;
	if (!ux_piece_vec_reserve(ret, n))
		return ux_error_nomem(err);
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		const struct ux_piece *list = lines ? unit->lines : unit->functions;
		uint32_t size = lines ? unit->n_lines : unit->n_functions;
		if (size > 0)
			memcpy(ret->data + ret->size, list, size * sizeof(*list));
		ret->size += size;
	}
	return UX_OK;
}

enum ux_code ux_pieces_add(struct ux_piece_vec *pieces, const struct ux_piece *piece,
			   struct ux_error *err)
{
	return ux_piece_vec_append(pieces, *piece) ? UX_OK : ux_error_nomem(err);
}

/* --- pieces in pieces ------------------------------------------------------------------------- */

/* A piece in which others may begin, and the end of its emitted part. */
struct open_piece {
	const struct ux_piece *piece;
	uint64_t pos;
	struct ux_piece_reader reader;
};

UX_VEC(open_vec, struct open_piece);

static void open_stack_deinit(struct open_vec *stack)
{
	for (size_t i = 0; i < stack->size; i++)
		ux_piece_reader_deinit(&stack->data[i].reader);
	open_vec_deinit(stack);
}

enum ux_code ux_merger_cut(struct ux_merger *m, struct ux_piece_reader *reader,
			   const struct ux_piece *p, uint64_t lo, uint64_t hi, struct ux_piece *ret,
			   struct ux_error *err)
{
	UX_TRY(ux_piece_read(reader, p, err));
	uint64_t work = (uint64_t)p->draft.n_inlines + reader->n_ranges;
	bool calls = work <= m->call_work;
	m->call_work -= calls ? work : 0;
	UX_TRY(ux_piece_cut(reader, lo, hi, calls, &m->drafter, m->arena, ret, err));
	m->call_work -= ux_min(m->call_work, (uint64_t)CALL_WORK_KEPT * ret->draft.n_inlines);
	return UX_OK;
}

/* Emits the rest of the open piece up to `end`. */
static enum ux_code open_piece_emit(struct ux_merger *m, struct open_piece *open, uint64_t end,
				    struct ux_piece_vec *ret, struct ux_error *err)
{
	const struct ux_piece *p = open->piece;
	end = ux_min(end, ux_piece_end(p));
	if (open->pos >= end)
		return UX_OK;
	struct ux_piece part = *p;
	if (open->pos != p->start || end != ux_piece_end(p))
		UX_TRY(ux_merger_cut(m, &open->reader, p, open->pos, end, &part, err));
	open->pos = end;
	return ux_pieces_add(ret, &part, err);
}

/*
 * Closes the pieces that end at or before `pc`. The pieces that contain them continue after them.
 */
static enum ux_code open_stack_close(struct ux_merger *m, struct open_vec *stack, uint64_t pc,
				     struct ux_piece_vec *ret, struct ux_error *err)
{
	while (stack->size > 0 && ux_piece_end(stack->data[stack->size - 1].piece) <= pc) {
		struct open_piece *top = &stack->data[stack->size - 1];
		uint64_t end = ux_piece_end(top->piece);
		UX_TRY(open_piece_emit(m, top, end, ret, err));
		end = ux_max(end, top->pos); /* a piece that began inside may end later */
		ux_piece_reader_deinit(&top->reader);
		stack->size--;
		if (stack->size > 0)
			top[-1].pos = ux_max(top[-1].pos, end);
	}
	return UX_OK;
}

enum ux_code ux_merger_flatten(struct ux_merger *m, const struct ux_piece *sorted, size_t n,
			       struct ux_piece_vec *ret, struct ux_error *err)
{
	ux_cleanup(open_stack_deinit) struct open_vec stack = {0};
	/* Few pieces lie inside of others. A list that grows is copied, to new pages. */
	if (!ux_piece_vec_reserve(ret, ret->size + n + n / NESTED_PART))
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct ux_piece *p = &sorted[i];
		if (i > 0 && p->start == p[-1].start && p->size == p[-1].size)
			continue; /* equal ranges are rows or symbols; functions are unique here */
		UX_TRY(open_stack_close(m, &stack, p->start, ret, err));
		if (stack.size > 0)
			UX_TRY(open_piece_emit(m, &stack.data[stack.size - 1], p->start, ret, err));
		if (!open_vec_append(&stack, (struct open_piece){p, p->start, {0}}))
			return ux_error_nomem(err);
	}
	return open_stack_close(m, &stack, UINT64_MAX, ret, err);
}
