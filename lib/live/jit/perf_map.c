/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf maps. A line is START SIZE NAME: two hexadecimal numbers, with or without 0x, and the rest
 * of the line including blanks. Lines of several writers may be torn into each other; malformed
 * lines are skipped. Some writers print the size in decimal: this is detected when no size has a
 * digit above 9, and many entries overlap if sizes are read as hexadecimal but not if they are read
 * as decimal.
 */
#include "jit.h"

#include "order.h"
#include "text.h"

enum {
	NAMES_BUDGET = 1 << 30,
	DIGITS_MAX = 16,
	DECIMAL_MIN = 16, /* least number of entries for which the base of the sizes is checked */
};

void ux_perf_map_init(struct ux_perf_map *m)
{
	*m = (struct ux_perf_map){0};
	ux_arena_init(&m->arena, NAMES_BUDGET);
}

void ux_perf_map_deinit(struct ux_perf_map *m)
{
	ux_arena_deinit(&m->arena);
	ux_perf_entries_deinit(&m->entries);
	ux_code_history_deinit(&m->history);
	*m = (struct ux_perf_map){0};
}

static void perf_map_skip_blanks(struct ux_bytes *s)
{
	while (s->size > 0 && ux_is_blank(s->data[0]))
		*s = ux_bytes(s->data + 1, s->size - 1);
}

/* Parses a number and the blank after it; sets *ret_letters when it must be hexadecimal. */
static bool perf_map_read_number(struct ux_bytes *s, uint64_t *ret, bool *ret_letters)
{
	uint64_t v = 0;
	perf_map_skip_blanks(s);
	bool prefix = ux_bytes_starts(*s, UX_STR("0x")) || ux_bytes_starts(*s, UX_STR("0X"));
	size_t i = prefix ? 2 : 0, begin = i;
	bool letters = prefix;
	for (int digit = 0; i < s->size && (digit = ux_hex_digit((char)s->data[i])) >= 0; i++) {
		v = v << 4 | (unsigned)digit;
		letters = letters || digit > 9;
	}
	if (i == begin || i - begin > DIGITS_MAX || i == s->size || !ux_is_blank(s->data[i]))
		return false;
	*s = ux_bytes(s->data + i + 1, s->size - i - 1);
	*ret = v;
	*ret_letters = *ret_letters || letters;
	return true;
}

/* Converts a number that was read as hexadecimal but was written in decimal: 0x120 becomes 120. */
static uint64_t perf_map_as_decimal(uint64_t v)
{
	uint64_t decimal = 0;
	for (int shift = 60; shift >= 0; shift -= 4)
		decimal = decimal * 10 + (v >> shift & 15);
	return decimal;
}

static uint64_t perf_entry_size(const struct ux_perf_entry *e, bool decimal)
{
	return decimal ? perf_map_as_decimal(e->size) : e->size;
}

static bool perf_map_add_line(struct ux_perf_map *m, struct ux_bytes line, struct ux_error *err)
{
	struct ux_perf_entry e = {0};
	bool letters = false, ignored = false;
	if (line.size > 0 && line.data[line.size - 1] == '\r')
		line.size--;
	if (line.size == 0)
		return true;
	bool good = perf_map_read_number(&line, &e.start, &ignored) &&
		    perf_map_read_number(&line, &e.size, &letters);
	perf_map_skip_blanks(&line);
	if (!good || e.size == 0 || e.start > UINT64_MAX - e.size || line.size == 0 ||
	    memchr(line.data, 0, line.size)) {
		m->skipped++;
		return true;
	}
	if (m->entries.size == UX_CODE_EVENTS_MAX) {
		ux_error_set(err, UX_ELIMIT, "has more than %d entries; the rest is ignored",
			     UX_CODE_EVENTS_MAX);
		return false;
	}
	m->letters = m->letters || letters;
	e.name = ux_jit_name_parse(&m->arena, line);
	if (!e.name.text) {
		ux_arena_fail(&m->arena, err);
		return false;
	}
	if (!ux_perf_entries_append(&m->entries, e)) {
		ux_error_nomem(err);
		return false;
	}
	return true;
}

/* The start of an entry, and its end for either base of its size. */
struct perf_map_extent {
	uint64_t start;
	uint64_t hex_end;
	uint64_t decimal_end;
};

static int perf_map_compare_extents(const void *a, const void *b)
{
	const struct perf_map_extent *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	UX_ORDER(x->hex_end, y->hex_end);
	return 0;
}

/* Returns whether the sizes are plausible only as decimal numbers. */
static bool perf_map_sizes_are_decimal(const struct ux_perf_map *m)
{
	size_t n = m->entries.size, hex = 0, decimal = 0;
	if (m->letters || n < DECIMAL_MIN)
		return false;
	ux_cleanup(ux_free_ptr) struct perf_map_extent *all = calloc(n, sizeof(*all));
	if (!all) /* out of memory: the last result is used */
		return m->decimal;
	for (size_t i = 0; i < n; i++) {
		const struct ux_perf_entry *e = &m->entries.data[i];
		all[i] = (struct perf_map_extent){e->start, e->start + e->size,
						  e->start + perf_map_as_decimal(e->size)};
	}
	ux_sort_by_start(all, n, sizeof(*all), perf_map_compare_extents);
	for (size_t i = 1; i < n; i++) {
		bool apart = all[i].start > all[i - 1].start;
		hex += apart && all[i].start < all[i - 1].hex_end;
		decimal += apart && all[i].start < all[i - 1].decimal_end;
	}
	return hex > n / 4 && decimal <= hex / 8;
}

/* Adds an event to the history for each entry from index `from` on. */
static enum ux_code perf_map_add_events(struct ux_perf_map *m, size_t from, struct ux_error *err)
{
	size_t n = m->entries.size - from;
	if (n == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct ux_code_event *events = calloc(n, sizeof(*events));
	if (!events)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct ux_perf_entry *e = &m->entries.data[from + i];
		events[i] = (struct ux_code_event){.start = e->start,
						   .end = e->start + perf_entry_size(e, m->decimal),
						   .code = (uint32_t)(from + i)};
	}
	return ux_code_history_add(&m->history, events, n) ? UX_OK : ux_error_nomem(err);
}

/* Checks the base of the sizes again whenever the number of entries has doubled. Returns the index
 * of the first entry that needs events. */
static size_t perf_map_check_sizes(struct ux_perf_map *m, size_t from)
{
	bool again = !m->letters && m->entries.size >= 2 * m->checked;
	bool decimal = again ? perf_map_sizes_are_decimal(m) : m->decimal && !m->letters;
	if (again)
		m->checked = m->entries.size;
	if (decimal == m->decimal)
		return from;
	m->decimal = decimal;
	ux_code_history_deinit(&m->history);
	return 0;
}

enum ux_code ux_perf_map_feed(struct ux_perf_map *m, struct ux_bytes bytes, size_t *ret_used,
			      struct ux_error *err)
{
	size_t from = m->entries.size, used = 0;
	struct ux_error first = UX_ERROR_INIT;
	for (;;) {
		const uint8_t *line = bytes.data + used;
		const uint8_t *end =
			used < bytes.size ? memchr(line, '\n', bytes.size - used) : NULL;
		if (!end)
			break;
		if (!perf_map_add_line(m, ux_bytes(line, (size_t)(end - line)), &first))
			break;
		used += (size_t)(end - line) + 1;
	}
	enum ux_code code = perf_map_add_events(m, perf_map_check_sizes(m, from), &first);
	if (code != UX_OK) /* drop entries without an event */
		m->entries.size = m->history.n_events;
	*ret_used = used;
	if (first.code != UX_OK && err && err->code == UX_OK)
		*err = first;
	return first.code;
}

bool ux_perf_map_lookup(const struct ux_perf_map *m, uint64_t addr, struct ux_frame *ret,
			uint64_t *ret_size)
{
	const struct ux_code_event *e = ux_code_history_find(&m->history, addr, UINT64_MAX);
	if (!e)
		return false;
	*ret = ux_jit_name_frame(m->entries.data[e->code].name, addr - e->start);
	if (ret_size)
		*ret_size = e->end - e->start;
	return true;
}
