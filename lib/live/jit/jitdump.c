/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump. In the byte order of the machine that wrote it:
 *   header     u32 magic "JiTD", u32 version 1, u32 total_size, u32 machine, u32 pad, u32 pid,
 *              u64 time, u64 flags (bit 0: times are not CLOCK_MONOTONIC)
 *   record     u32 id, u32 total_size (of all of it), u64 time, then
 *   LOAD 0     u32 pid, u32 tid, u64 vma, u64 addr, u64 size, u64 index, name, NUL, code
 *   MOVE 1     u32 pid, u32 tid, u64 vma, u64 old addr, u64 new addr, u64 size, u64 index
 *   DEBUG 2    u64 addr, u64 n, n times: u64 addr, i32 line, i32 column, file name, NUL; the name
 *              ff 00 means the previous name; the rows belong to the next LOAD at addr
 *   CLOSE 3, UNWINDING 4: ignored
 * Some writers take the time in the header from another clock, so it is not used. V8 adds 0x40, the
 * size of an ELF header, to the addresses of DEBUG.
 */
#include "jit.h"

#include "cursor.h"
#include "order.h"
#include "text.h"

enum {
	MAGIC = 0x4a695444,
	VERSION = 1,
	HEADER_SIZE = 40,
	PREFIX_SIZE = 16,
	HEADER_MAX = 4096, /* a larger header is rejected */
	FLAG_OTHER_CLOCK = 1,
	V8_SHIFT = 0x40,
	TEXTS_BUDGET = 1 << 30,
	ROWS_MAX = 1 << 26,
	ROW_MIN = 17, /* least bytes of a row of DEBUG */
};

#define V8_PAD 0xdeadbeefu

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_DEBUG = 2,
	RECORD_CLOSE = 3,
	RECORD_UNWINDING = 4,
};

void ux_jitdump_init(struct ux_jitdump *d)
{
	*d = (struct ux_jitdump){0};
	ux_arena_init(&d->arena, TEXTS_BUDGET);
}

void ux_jitdump_deinit(struct ux_jitdump *d)
{
	ux_arena_deinit(&d->arena);
	ux_jit_code_list_deinit(&d->codes);
	ux_jit_row_list_deinit(&d->rows);
	ux_jit_path_list_deinit(&d->paths);
	ux_jit_paths_deinit(&d->path_numbers);
	ux_jit_numbers_deinit(&d->by_index);
	ux_jit_numbers_deinit(&d->by_address);
	ux_jit_waiting_deinit(&d->waiting);
	ux_jit_event_list_deinit(&d->events);
	ux_code_history_deinit(&d->history);
	*d = (struct ux_jitdump){0};
}

static enum ux_code jitdump_read_header(struct ux_jitdump *d, struct ux_bytes bytes,
					size_t *ret_used, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, "header", false);
	uint32_t magic = ux_cur_u32(&c);
	c.swap = d->swap = magic == __builtin_bswap32(MAGIC);
	uint32_t version = ux_cur_u32(&c);
	uint32_t size = ux_cur_u32(&c);
	ux_cur_skip(&c, 4);
	d->is_v8 = ux_cur_u32(&c) == V8_PAD;
	ux_cur_skip(&c, 12);
	uint64_t flags = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (magic != MAGIC && !d->swap)
		return ux_error_at(err, UX_EUNSUPPORTED, NULL, 0,
				   "starts with 0x%08" PRIx32 "; expected a jitdump's 0x%08x",
				   magic, (unsigned)MAGIC);
	if (version != VERSION || (flags & ~(uint64_t)FLAG_OTHER_CLOCK) != 0)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "is a jitdump of version %" PRIu32 ", flags 0x%" PRIx64
				    "; expected version 1, flags 0 or 1",
				    version, flags);
	if (size < HEADER_SIZE || size > HEADER_MAX)
		return ux_error_at(err, UX_ECORRUPT, NULL, 8,
				   "header is %" PRIu32 " bytes long; expected 40 to 4096", size);
	*ret_used = size;
	d->other_clock = (flags & FLAG_OTHER_CLOCK) != 0;
	return UX_OK;
}

static enum ux_code jitdump_path_number(struct ux_jitdump *d, struct ux_bytes path, uint32_t *ret,
					struct ux_error *err)
{
	const uint32_t *known = ux_jit_paths_find(&d->path_numbers, path);
	if (known) {
		*ret = *known;
		return UX_OK;
	}
	bool fresh = false;
	const char *key = ux_arena_strndup(&d->arena, path.data, path.size);
	const char *text = key ? ux_jit_path_parse(&d->arena, path) : NULL;
	if (!text)
		return ux_arena_fail(&d->arena, err);
	if (!ux_jit_path_list_append(&d->paths, text))
		return ux_error_nomem(err);
	uint32_t *slot = ux_jit_paths_insert(&d->path_numbers, ux_bytes(key, path.size), &fresh);
	if (!slot)
		return ux_error_nomem(err);
	*ret = *slot = (uint32_t)(d->paths.size - 1);
	return UX_OK;
}

/* Reads the rows of a DEBUG record. They are stored until a LOAD record for their address is
 * read. */
static enum ux_code jitdump_read_debug(struct ux_jitdump *d, struct ux_cur *c, struct ux_error *err)
{
	uint64_t addr = ux_cur_u64(c);
	uint64_t n = ux_cur_u64(c);
	struct ux_jit_rows rows = {.first = d->rows.size};
	uint32_t path = UINT32_MAX;
	if (n > ux_cur_left(c) / ROW_MIN)
		ux_cur_bad(c, "more lines than bytes");
	for (uint64_t i = 0; i < n && !c->failed; i++) {
		struct ux_jit_row row = {.offset = (int64_t)ux_cur_u64(c), .line = ux_cur_u32(c)};
		ux_cur_skip(c, 4);
		struct ux_bytes name = ux_cur_str(c);
		if (c->failed)
			break;
		if (!ux_bytes_eq(name, UX_STR("\xff"))) {
			path = UINT32_MAX;
			if (ux_utf8_is_printable(name)) /* V8 may write from freed memory */
				UX_TRY(jitdump_path_number(d, name, &path, err));
		}
		row.path = path;
		if (row.line > INT32_MAX)
			row.line = 0;
		if (d->rows.size == ROWS_MAX)
			return ux_error_set(err, UX_ELIMIT, "has more than %d source lines",
					    ROWS_MAX);
		if (!ux_jit_row_list_append(&d->rows, row))
			return ux_error_nomem(err);
	}
	if (c->failed) {
		d->rows.size = rows.first;
		return UX_OK;
	}
	bool fresh = false;
	rows.n = d->rows.size - rows.first;
	struct ux_jit_rows *slot = ux_jit_waiting_insert(&d->waiting, addr, &fresh);
	if (!slot)
		return ux_error_nomem(err);
	*slot = rows;
	return UX_OK;
}

static int jitdump_compare_rows(const void *a, const void *b)
{
	const struct ux_jit_row *x = a, *y = b;
	UX_ORDER(x->offset, y->offset);
	UX_ORDER(x->line, y->line);
	UX_ORDER(x->path, y->path);
	return 0;
}

/* Returns the rows that were stored for addr, with their addresses converted to offsets, and sorted
 * by them. */
static struct ux_jit_rows jitdump_take_rows(struct ux_jitdump *d, uint64_t addr)
{
	struct ux_jit_rows *slot = ux_jit_waiting_find(&d->waiting, addr);
	if (!slot || slot->n == 0)
		return (struct ux_jit_rows){0};
	struct ux_jit_rows rows = *slot;
	struct ux_jit_row *row = d->rows.data + rows.first;
	slot->n = 0;
	uint64_t min = UINT64_MAX;
	for (size_t i = 0; i < rows.n; i++)
		min = ux_min(min, (uint64_t)row[i].offset);
	uint64_t base = addr;
	if (d->is_v8 && min >= addr && min - addr >= V8_SHIFT)
		base += V8_SHIFT;
	bool sorted = true;
	for (size_t i = 0; i < rows.n; i++) {
		row[i].offset = (int64_t)((uint64_t)row[i].offset - base);
		sorted = sorted && (i == 0 || row[i - 1].offset <= row[i].offset);
	}
	if (!sorted)
		qsort(row, rows.n, sizeof(*row), jitdump_compare_rows);
	return rows;
}

static enum ux_code jitdump_set_number(struct ux_jit_numbers *numbers, uint64_t key,
				       uint32_t number, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *slot = ux_jit_numbers_insert(numbers, key, &fresh);
	if (!slot)
		return ux_error_nomem(err);
	*slot = number;
	return UX_OK;
}

static enum ux_code jitdump_add_event(struct ux_jitdump *d, struct ux_code_event e,
				      struct ux_error *err)
{
	if (d->events.size + d->history.n_events >= UX_CODE_EVENTS_MAX - 1)
		return ux_error_set(err, UX_ELIMIT, "has more than %d records; the rest is ignored",
				    UX_CODE_EVENTS_MAX);
	return ux_jit_event_list_append(&d->events, e) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code jitdump_read_load(struct ux_jitdump *d, uint64_t time, struct ux_cur *c,
				      struct ux_error *err)
{
	ux_cur_skip(c, 16);
	uint64_t addr = ux_cur_u64(c);
	uint64_t size = ux_cur_u64(c);
	uint64_t index = ux_cur_u64(c);
	struct ux_bytes name = ux_cur_str(c);
	if (size == 0 || addr > UINT64_MAX - size)
		ux_cur_bad(c, "code is empty or past the end of memory");
	if (c->failed)
		return UX_OK;
	struct ux_jit_code code = {ux_jit_name_parse(&d->arena, name), jitdump_take_rows(d, addr)};
	if (!code.name.text)
		return ux_arena_fail(&d->arena, err);
	uint32_t number = (uint32_t)d->codes.size;
	if (!ux_jit_code_list_append(&d->codes, code))
		return ux_error_nomem(err);
	UX_TRY(jitdump_set_number(&d->by_index, index, number, err));
	UX_TRY(jitdump_set_number(&d->by_address, addr, number, err));
	return jitdump_add_event(d, (struct ux_code_event){addr, addr + size, time, number, 0},
				 err);
}

static enum ux_code jitdump_read_move(struct ux_jitdump *d, uint64_t time, struct ux_cur *c,
				      struct ux_error *err)
{
	ux_cur_skip(c, 16);
	uint64_t from = ux_cur_u64(c);
	uint64_t to = ux_cur_u64(c);
	uint64_t size = ux_cur_u64(c);
	uint64_t index = ux_cur_u64(c);
	if (size == 0 || from > UINT64_MAX - size || to > UINT64_MAX - size)
		ux_cur_bad(c, "code is empty or past the end of memory");
	const uint32_t *known = ux_jit_numbers_find(&d->by_index, index);
	if (!known)
		known = ux_jit_numbers_find(&d->by_address, from);
	if (!known)
		ux_cur_bad(c, "moves code that was not loaded");
	if (c->failed)
		return UX_OK;
	uint32_t number = *known;
	UX_TRY(jitdump_set_number(&d->by_address, to, number, err));
	UX_TRY(jitdump_add_event(
		d, (struct ux_code_event){from, from + size, time, UX_CODE_NONE, 0}, err));
	return jitdump_add_event(d, (struct ux_code_event){to, to + size, time, number, 0}, err);
}

/* Reads a complete record. A damaged record is skipped. */
static enum ux_code jitdump_read_record(struct ux_jitdump *d, struct ux_cur *c,
					struct ux_error *err)
{
	enum ux_code code = UX_OK;
	uint32_t id = ux_cur_u32(c);
	ux_cur_skip(c, 4);
	uint64_t time = ux_cur_u64(c);
	switch (id) {
	case RECORD_LOAD:
		code = jitdump_read_load(d, time, c, err);
		break;
	case RECORD_MOVE:
		code = jitdump_read_move(d, time, c, err);
		break;
	case RECORD_DEBUG:
		code = jitdump_read_debug(d, c, err);
		break;
	case RECORD_CLOSE:
	case RECORD_UNWINDING:
		break;
	default:
		d->skipped++;
		break;
	}
	d->skipped += c->failed;
	return code;
}

/* Finds the size of the record at the start of `bytes`; 0 when there are too few bytes to know
 * it. */
static enum ux_code jitdump_next_size(struct ux_jitdump *d, struct ux_bytes bytes, size_t *ret,
				      struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, "record", d->swap);
	ux_cur_skip(&c, 4);
	uint32_t size = ux_cur_u32(&c);
	*ret = 0;
	if (c.failed)
		return UX_OK;
	if (size < PREFIX_SIZE)
		return ux_error_set(err, UX_ECORRUPT,
				    "record is %" PRIu32 " bytes long; expected 16 or more", size);
	if (size > UX_JITDUMP_RECORD_MAX)
		return ux_error_set(err, UX_ELIMIT, "record is %" PRIu32 " bytes long; at most %d",
				    size, UX_JITDUMP_RECORD_MAX);
	*ret = size;
	return UX_OK;
}

static enum ux_code jitdump_read_records(struct ux_jitdump *d, struct ux_bytes bytes, size_t *used,
					 size_t *need, struct ux_error *err)
{
	size_t size = 0;
	if (!d->has_header) {
		*need = HEADER_SIZE;
		if (bytes.size < HEADER_SIZE)
			return UX_OK;
		UX_TRY(jitdump_read_header(d, bytes, &size, err));
		*need = size;
		if (bytes.size < size)
			return UX_OK;
		d->has_header = true;
		*used = size;
	}
	for (;;) {
		struct ux_bytes rest = {bytes.data ? bytes.data + *used : NULL, bytes.size - *used};
		*need = PREFIX_SIZE;
		UX_TRY(jitdump_next_size(d, rest, &size, err));
		*need = ux_max(size, (size_t)PREFIX_SIZE);
		if (size == 0 || rest.size < size)
			return UX_OK;
		struct ux_cur c = ux_cur_make(ux_bytes(rest.data, size), "record", d->swap);
		UX_TRY(jitdump_read_record(d, &c, err));
		*used += size;
	}
}

enum ux_code ux_jitdump_feed(struct ux_jitdump *d, struct ux_bytes bytes, size_t *ret_used,
			     size_t *ret_need, struct ux_error *err)
{
	struct ux_error first = UX_ERROR_INIT;
	*ret_used = *ret_need = 0;
	if (d->stopped)
		return UX_OK;
	if (jitdump_read_records(d, bytes, ret_used, ret_need, &first) != UX_OK)
		*ret_need = 0;
	if (!ux_code_history_add(&d->history, d->events.data, d->events.size) &&
	    first.code == UX_OK)
		ux_error_nomem(&first);
	d->stopped = first.code != UX_OK;
	d->events.size = 0;
	if (first.code != UX_OK && err && err->code == UX_OK)
		*err = first;
	return first.code;
}

/* Sets file and line from the last row at or before the offset of the frame. */
static void jitdump_set_line(const struct ux_jitdump *d, struct ux_jit_rows rows,
			     struct ux_frame *frame)
{
	const struct ux_jit_row *row = rows.n > 0 ? d->rows.data + rows.first : NULL;
	int64_t offset = (int64_t)frame->offset;
	if (!row || row->offset > offset)
		return;
	size_t low = 0;
	for (size_t n = rows.n; n > 1; n -= n / 2)
		low += row[low + n / 2].offset <= offset ? n / 2 : 0;
	if (row[low].path == UINT32_MAX)
		return; /* a line number without a file is useless */
	frame->line = row[low].line;
	ux_jit_path_frame(d->paths.data[row[low].path], frame);
}

bool ux_jitdump_lookup(const struct ux_jitdump *d, uint64_t addr, uint64_t time,
		       struct ux_frame *ret, uint64_t *ret_size)
{
	const struct ux_code_event *e = ux_code_history_find(&d->history, addr, time);
	if (!e)
		return false;
	const struct ux_jit_code *code = &d->codes.data[e->code];
	*ret = ux_jit_name_frame(code->name, addr - e->start);
	jitdump_set_line(d, code->rows, ret);
	if (ret_size)
		*ret_size = e->end - e->start;
	return true;
}
