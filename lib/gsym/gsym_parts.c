/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that lookups read, in the order of reading: each step finds out where the next bytes
 * are.
 */
#include "gsym_parts.h"

#include "gsym_record.h"

enum {
	HEAD = 64 << 10, /* header, and the directory of version 2: at most 1024 entries of 20 */
	/*
	 * An address table up to this size is fetched as a whole. For a larger one, a part of this
	 * size is fetched for each address: fewer requests are worth more than fewer bytes. The
	 * binary search fetches the other bytes that it reads.
	 */
	TABLE_AT_ONCE = 256 << 10,
	RECORD_HEAD = 4 << 10,  /* first bytes of a record; most records are shorter */
	STRING_HEAD = 128,      /* first bytes of a string; most strings are shorter */
	STRING_NEXT = 16 << 10, /* further bytes of a longer string for each request */
};

/* An address, on its way to its frames. */
struct parts_address {
	uint64_t off; /* from the file's base */
	struct gsym_starts starts;
	struct ux_cur c; /* at the next block of its record */
	bool done;       /* the record has no further block */
};

struct parts_walk {
	const struct ux_gsym *g;
	const struct ux_gsym_parts *parts;
	size_t n;
	struct parts_address *addresses; /* addresses that may have a function */
};

static void parts_need(const struct ux_gsym *g, const struct ux_gsym_parts *p, const void *at,
		       uint64_t n)
{
	p->need(p->ctx, (uint64_t)((const uint8_t *)at - g->file.data), n);
}

static enum ux_code parts_bring(const struct ux_gsym_parts *p, struct ux_error *err)
{
	return p->bring(p->ctx, err);
}

/* --- opening ---------------------------------------------------------------------------------- */

/*
 * The header says where the tables are. Opening also reads the number of files and the last byte of
 * the strings; both are 0 until they are fetched, which is valid.
 */
enum ux_code ux_gsym_open_parts(struct ux_gsym *g, struct ux_bytes file,
				const struct ux_gsym_parts *parts, struct ux_error *err)
{
	struct ux_gsym part = {.file = file};
	parts->need(parts->ctx, 0, HEAD);
	UX_TRY(parts_bring(parts, err));
	if (ux_gsym_open(&part, file, NULL) == UX_OK) {
		parts_need(&part, parts, part.files - sizeof(uint32_t), sizeof(uint32_t));
		parts_need(&part, parts, part.strings.data + part.strings.size - 1, 1);
		UX_TRY(parts_bring(parts, err));
	}
	UX_TRY(ux_gsym_open(g, file, err));
	parts_need(g, parts, g->files, (uint64_t)g->n_files * 2 * g->offset_size);
	if (g->n_functions > 0) /* for ux_gsym_image_start() */
		parts_need(g, parts, g->addrs, g->addr_size);
	if (g->uuid.size > 0)
		parts_need(g, parts, g->uuid.data, g->uuid.size);
	return parts_bring(parts, err);
}

/* --- the address table ------------------------------------------------------------------------ */

static enum ux_code parts_read_start(const struct parts_walk *w, size_t i, uint64_t *ret,
				     struct ux_error *err)
{
	const struct ux_gsym *g = w->g;
	parts_need(g, w->parts, g->addrs + i * g->addr_size, g->addr_size);
	UX_TRY(parts_bring(w->parts, err));
	*ret = gsym_table_at(g->addrs, i, g->addr_size, g->swap);
	return UX_OK;
}

/* Reads the same bytes as gsym_table_search(), in the same order. */
static enum ux_code parts_search(const struct parts_walk *w, uint64_t off, struct ux_error *err)
{
	assert(w->g->n_functions > 0);
	size_t at = 0;
	uint64_t value = 0, found = 0;
	for (size_t left = w->g->n_functions; left > 1;) {
		size_t half = left / 2;
		UX_TRY(parts_read_start(w, at + half, &value, err));
		at += value <= off ? half : 0;
		left -= half;
	}
	UX_TRY(parts_read_start(w, at, &found, err));
	if (at == 0)
		return UX_OK;
	UX_TRY(parts_read_start(w, at - 1, &value, err));
	if (value != found)
		return UX_OK;
	size_t first = at;
	for (size_t left = at; left > 0;) {
		size_t half = left / 2;
		UX_TRY(parts_read_start(w, first - left + half, &value, err));
		if (value == found) {
			first -= left - half;
			left = half;
		} else {
			left -= half + 1;
		}
	}
	return UX_OK;
}

static enum ux_code parts_bring_starts(struct parts_walk *w, const uint64_t *pcs, size_t n,
				       struct ux_error *err)
{
	const struct ux_gsym *g = w->g;
	uint64_t table = (uint64_t)g->n_functions * g->addr_size;
	bool whole = table / TABLE_AT_ONCE <= n;
	if (g->n_functions == 0)
		return UX_OK;
	if (whole)
		parts_need(g, w->parts, g->addrs, table);
	UX_TRY(parts_bring(w->parts, err));
	for (size_t i = 0; i < n; i++) {
		struct parts_address a = {.off = pcs[i] - g->base};
		if (pcs[i] < g->base)
			continue;
		if (!whole)
			UX_TRY(parts_search(w, a.off, err));
		a.starts = gsym_starts_find(g, a.off);
		if (a.starts.value <= a.off)
			w->addresses[w->n++] = a;
	}
	return UX_OK;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Notes n bytes of the records from `off` on. */
static void parts_need_body(const struct parts_walk *w, uint64_t off, uint64_t n)
{
	const struct ux_gsym *g = w->g;
	if (off < g->body.size)
		parts_need(g, w->parts, g->body.data + off, ux_min(n, g->body.size - off));
}

static enum ux_code parts_bring_heads(const struct parts_walk *w, struct ux_error *err)
{
	const struct ux_gsym *g = w->g;
	for (size_t i = 0; i < w->n; i++) {
		const struct gsym_starts *s = &w->addresses[i].starts;
		parts_need(g, w->parts, g->records + s->first * g->offset_size,
			   (s->end - s->first) * g->offset_size);
	}
	UX_TRY(parts_bring(w->parts, err));
	for (size_t i = 0; i < w->n; i++) {
		const struct gsym_starts *s = &w->addresses[i].starts;
		for (size_t k = s->first; k < s->end; k++)
			parts_need_body(w, gsym_offset_at(g, g->records, k), RECORD_HEAD);
	}
	return parts_bring(w->parts, err);
}

enum {
	BLOCK_HEAD = 2 * sizeof(uint32_t), /* type and size of a block */
};

/* Notes the head of the next block. Returns whether there may be one. */
static bool parts_need_head(const struct parts_walk *w, const struct parts_address *a)
{
	if (!a->done)
		parts_need_body(w, ux_cur_off(&a->c) - a->c.base, BLOCK_HEAD);
	return !a->done;
}

/* Reads the head of a block, and notes the rest of it. */
static void parts_need_block(const struct parts_walk *w, struct parts_address *a)
{
	if (a->done)
		return;
	uint64_t at = ux_cur_off(&a->c) - a->c.base;
	uint32_t type = ux_cur_u32(&a->c);
	uint32_t size = ux_cur_u32(&a->c);
	a->done = a->c.failed || type == GSYM_INFO_END;
	if (a->c.failed)
		return;
	parts_need_body(w, at + BLOCK_HEAD, size);
	ux_cur_skip(&a->c, size);
	a->done = a->done || a->c.failed;
}

/*
 * Fetches the blocks of the records, as gsym_record_read() reads them: the first ones of all
 * records, then the second ones, so that what several addresses need is fetched at the same time.
 */
static enum ux_code parts_bring_records(const struct parts_walk *w, struct ux_error *err)
{
	UX_TRY(parts_bring_heads(w, err));
	for (size_t i = 0; i < w->n; i++) {
		struct parts_address *a = &w->addresses[i];
		struct gsym_record r;
		size_t k =
			gsym_record_choose(w->g, &a->starts, a->off - a->starts.value, &a->c, &r);
		a->done = k >= a->starts.end || a->c.failed;
	}
	bool more = true;
	for (unsigned block = 0; block <= GSYM_BLOCKS_MAX && more; block++) {
		more = false;
		for (size_t i = 0; i < w->n; i++)
			more |= parts_need_head(w, &w->addresses[i]);
		UX_TRY(parts_bring(w->parts, err)); /* also the rest of the blocks before these */
		for (size_t i = 0; i < w->n; i++)
			parts_need_block(w, &w->addresses[i]);
	}
	return parts_bring(w->parts, err);
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Calls fn for each string of the frames of the addresses. Lookups do not read strings. */
static enum ux_code parts_each_string(const struct parts_walk *w,
				      enum ux_code (*fn)(const struct parts_walk *w, const char *s,
							 struct ux_error *err),
				      struct ux_error *err)
{
	struct ux_frame frames[UX_GSYM_DEPTH_MAX + 1];
	for (size_t i = 0; i < w->n; i++) {
		size_t n = 0;
		if (ux_gsym_lookup(w->g, w->g->base + w->addresses[i].off, frames,
				   ux_countof(frames), &n, NULL) != UX_OK)
			continue;
		for (size_t k = 0; k < n; k++) {
			const char *const strings[] = {frames[k].function, frames[k].dir,
						       frames[k].base};
			for (size_t s = 0; s < ux_countof(strings); s++)
				UX_TRY(fn(w, strings[s], err));
		}
	}
	return UX_OK;
}

/*
 * Returns the number of bytes of the string table from s on; 0: s is not in the table, like the ""
 * of no file.
 */
static size_t parts_string_room(const struct ux_gsym *g, const char *s)
{
	uintptr_t at = (uintptr_t)s, begin = (uintptr_t)g->strings.data;
	return at >= begin && at - begin < g->strings.size ? g->strings.size - (at - begin) : 0;
}

static enum ux_code parts_need_string(const struct parts_walk *w, const char *s,
				      struct ux_error *err)
{
	size_t room = parts_string_room(w->g, s);
	(void)err;
	if (room > 0)
		parts_need(w->g, w->parts, s, ux_min(room, (size_t)STRING_HEAD));
	return UX_OK;
}

/* Fetches the rest of a string after its first bytes. */
static enum ux_code parts_end_string(const struct parts_walk *w, const char *s,
				     struct ux_error *err)
{
	size_t room = parts_string_room(w->g, s);
	size_t here = ux_min(room, (size_t)STRING_HEAD), done = 0;
	while (done < room && !memchr(s + done, 0, here - done)) {
		done = here;
		here = ux_min(room, here + STRING_NEXT);
		parts_need(w->g, w->parts, s + done, here - done);
		UX_TRY(parts_bring(w->parts, err));
	}
	return UX_OK;
}

enum ux_code ux_gsym_bring(const struct ux_gsym *g, const struct ux_gsym_parts *parts,
			   const uint64_t *pcs, size_t n, struct ux_error *err)
{
	assert(!g->index);
	struct parts_walk w = {.g = g, .parts = parts};
	ux_cleanup(ux_free_ptr) struct parts_address *addresses = calloc(n + 1, sizeof(*addresses));
	if (!addresses)
		return ux_error_nomem(err);
	w.addresses = addresses;
	UX_TRY(parts_bring_starts(&w, pcs, n, err));
	UX_TRY(parts_bring_records(&w, err));
	UX_TRY(parts_each_string(&w, parts_need_string, err));
	UX_TRY(parts_bring(parts, err));
	return parts_each_string(&w, parts_end_string, err);
}
