/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes of a file its parts cover. */
#include "gsym_coverage.h"

#include "gsym_decode.h"
#include "gsym_format.h"
#include "gsym_record.h"

enum ux_code gsym_window_init(struct gsym_window *w, uint64_t size, struct ux_error *err)
{
	*w = (struct gsym_window){.hi = ux_min(size, (uint64_t)GSYM_WINDOW_MAX * 8)};
	w->bits = calloc(w->hi / 8 + 1, 1);
	return w->bits ? UX_OK : ux_error_nomem(err);
}

void gsym_window_deinit(struct gsym_window *w)
{
	free(w->bits);
}

bool gsym_window_next(struct gsym_window *w, uint64_t size)
{
	if (w->hi >= size)
		return false;
	memset(w->bits, 0, GSYM_WINDOW_MAX);
	w->lo = w->hi;
	w->hi = ux_min(size, w->lo + (uint64_t)GSYM_WINDOW_MAX * 8);
	return true;
}

static void window_fill_byte(struct gsym_window *w, uint64_t from, uint64_t to)
{
	w->bits[from / 8] |= (uint8_t)((0xffu >> (8 - (to - from))) << from % 8);
}

void gsym_window_fill(struct gsym_window *w, uint64_t lo, uint64_t hi)
{
	assert(w->lo <= lo && lo <= hi && hi <= w->hi);
	uint64_t from = lo - w->lo, to = hi - w->lo;
	if (from / 8 == to / 8) {
		if (from < to)
			window_fill_byte(w, from, to);
		return;
	}
	window_fill_byte(w, from, (from | 7) + 1);
	memset(w->bits + from / 8 + 1, 0xff, to / 8 - from / 8 - 1);
	if (to % 8 != 0)
		window_fill_byte(w, to - to % 8, to);
}

uint64_t gsym_window_find(const struct gsym_window *w, uint64_t lo, uint64_t hi, bool value)
{
	const uint8_t none = value ? 0 : 0xff; /* a byte without the value */
	uint64_t from = lo - w->lo, to = hi - w->lo;
	while (from < to) {
		uint8_t left = (uint8_t)((w->bits[from / 8] ^ none) >> from % 8);
		if (left != 0)
			return ux_min(hi, w->lo + from + (unsigned)__builtin_ctz(left));
		from = (from | 7) + 1;
		while (from < to && w->bits[from / 8] == none)
			from += 8;
	}
	return hi;
}

enum ux_code gsym_tables_add(struct gsym_tables *t, uint64_t lo, uint64_t hi, struct ux_error *err)
{
	if (t->n == ux_countof(t->parts))
		return ux_error_at(err, UX_ECORRUPT, NULL, lo, "the file has more than %d tables",
				   GSYM_TABLES_MAX);
	t->parts[t->n++] = (struct gsym_part){lo, hi};
	return UX_OK;
}

/*
 * Counts the bytes between two parts that are not padding. Padding is zeros that align the next
 * part; in version 2 each table has its own alignment of up to 8.
 */
static uint64_t gap_foreign_bytes(const struct ux_gsym *g, uint64_t lo, uint64_t hi)
{
	uint64_t min = g->version == 1 ? GSYM_RECORD_ALIGN : 2;
	if (hi - lo >= g->offset_size || (hi % min != 0 && hi != g->file.size))
		return hi - lo;
	for (uint64_t i = lo; i < hi; i++)
		if (g->file.data[i] != 0)
			return hi - lo;
	return 0;
}

/* State of a check; one thread. */
struct coverage {
	const struct ux_gsym *g;
	const struct gsym_tables *tables;
	struct gsym_window bytes;  /* bytes of the file that belong to a part */
	struct gsym_part crossing; /* the part that reaches into the next windows */
	uint64_t gap;              /* start of the open gap */
	uint64_t foreign;
};

/* Returns the range of a record with verified content. */
static struct gsym_part record_part(const struct ux_gsym *g, uint32_t i)
{
	struct ux_gsym_block block;
	struct ux_cur c = gsym_body_at(g, ux_gsym_record(g, i));
	struct gsym_part p = {.lo = ux_cur_off(&c)};
	struct ux_gsym_raw raw = ux_gsym_raw_open(g, &c);
	while (ux_gsym_raw_next(&raw, &block))
		;
	p.hi = ux_cur_off(&raw.rest);
	return p;
}

static bool part_is_other_at(struct gsym_part p, struct gsym_part than, uint64_t at)
{
	return at >= p.lo && at < p.hi && (p.lo != than.lo || p.hi != than.hi);
}

/* Returns the start of the other part than p that contains the byte at `at`. */
static uint64_t coverage_owner(const struct coverage *v, struct gsym_part p, uint64_t at)
{
	for (size_t i = 0; i < v->tables->n; i++)
		if (part_is_other_at(v->tables->parts[i], p, at))
			return v->tables->parts[i].lo;
	for (uint32_t i = 0; i < v->g->n_functions; i++) {
		struct gsym_part other = record_part(v->g, i);
		if (part_is_other_at(other, p, at))
			return other.lo;
	}
	return p.lo; /* two functions have this record */
}

/* Marks the bytes of the part that are in the window. */
static enum ux_code coverage_add(struct coverage *v, struct gsym_part p, struct ux_error *err)
{
	uint64_t lo = ux_max(p.lo, v->bytes.lo), hi = ux_min(p.hi, v->bytes.hi);
	if (lo >= hi)
		return UX_OK;
	uint64_t twice = gsym_window_find(&v->bytes, lo, hi, true);
	if (twice < hi)
		return ux_error_at(err, UX_ECORRUPT, NULL, twice,
				   "two parts of the file overlap: 0x%" PRIx64
				   " belongs to the part at 0x%" PRIx64,
				   twice, coverage_owner(v, p, twice));
	gsym_window_fill(&v->bytes, lo, hi);
	if (p.hi > v->bytes.hi)
		v->crossing = p;
	return UX_OK;
}

static bool coverage_begins(const struct coverage *v, uint64_t lo)
{
	return lo >= v->bytes.lo && lo < v->bytes.hi;
}

/*
 * Marks the parts that begin in the window, and the one that crosses its start: if parts do not
 * overlap, at most one crosses it.
 */
static enum ux_code coverage_fill(struct coverage *v, struct ux_error *err)
{
	const uint64_t body = (uint64_t)(v->g->body.data - v->g->file.data);
	const struct gsym_part crossing = v->crossing;
	v->crossing = (struct gsym_part){0, 0};
	UX_TRY(coverage_add(v, crossing, err));
	for (size_t i = 0; i < v->tables->n; i++)
		if (coverage_begins(v, v->tables->parts[i].lo))
			UX_TRY(coverage_add(v, v->tables->parts[i], err));
	for (uint32_t i = 0; i < v->g->n_functions; i++)
		if (coverage_begins(v, body + ux_gsym_record(v->g, i)))
			UX_TRY(coverage_add(v, record_part(v->g, i), err));
	return UX_OK;
}

/* Counts foreign bytes in the gaps that end in the window. */
static void coverage_count_foreign(struct coverage *v)
{
	const struct gsym_window *w = &v->bytes;
	for (uint64_t at = w->lo; at < w->hi;) {
		uint64_t part = gsym_window_find(w, at, w->hi, true);
		if (part == w->hi)
			break;
		if (v->gap < part)
			v->foreign += gap_foreign_bytes(v->g, v->gap, part);
		at = v->gap = gsym_window_find(w, part, w->hi, false);
	}
}

static void coverage_deinit(struct coverage *v)
{
	gsym_window_deinit(&v->bytes);
}

enum ux_code gsym_coverage_check(const struct ux_gsym *g, const struct gsym_tables *tables,
				 uint64_t *ret_foreign, uint64_t *ret_end, struct ux_error *err)
{
	assert(tables->n <= GSYM_TABLES_MAX);
	ux_cleanup(coverage_deinit) struct coverage v = {.g = g, .tables = tables};
	UX_TRY(gsym_window_init(&v.bytes, g->file.size, err));
	do {
		UX_TRY(coverage_fill(&v, err));
		coverage_count_foreign(&v);
	} while (gsym_window_next(&v.bytes, g->file.size));
	if (v.gap < g->file.size)
		v.foreign += gap_foreign_bytes(g, v.gap, g->file.size);
	*ret_foreign = v.foreign;
	*ret_end = v.gap;
	return UX_OK;
}
