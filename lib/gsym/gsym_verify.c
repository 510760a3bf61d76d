/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a whole file: its tables, its records, and that it contains nothing else. */
#include "gsym_inspect.h"

#include "cursor.h"
#include "gsym_coverage.h"
#include "gsym_decode.h"
#include "gsym_format.h"
#include "gsym_names.h"
#include "gsym_record.h"
#include "gsym_segments.h"
#include "gsym_symbols.h"
#include "gsym_tree.h"

enum {
	RANGES_MAX = 1 << 20, /* ranges of one inlined call */
	SAMPLES_MAX = 4096,   /* most of these ranges that are kept in memory */
};

/* A range of an inlined call, and where in the block the next one is. */
struct range_sample {
	struct ux_gsym_range range;
	const uint8_t *next;
};

/*
 * The ranges of a call on the way from the function to the current call: every `step`-th one.
 * Ranges between two samples are read again when they are needed.
 */
struct path_node {
	struct range_sample *samples; /* room for SAMPLES_MAX; NULL: not used yet */
	uint32_t n_ranges;
	uint32_t step;
	uint64_t base; /* the ranges in the block are relative to this */
};

/* State of a verification; one thread. */
struct gsym_check {
	const struct ux_gsym *g;
	struct ux_gsym_notes notes;
	struct gsym_window used; /* one bit for each byte of the string table that something refers
				    to; may be empty */
	struct path_node path[UX_GSYM_DEPTH_MAX + 2]; /* the function's range, then by depth */
};

enum {
	NESTING_MAX = 4, /* deepest nesting of merged functions */
	BLOCKS_MAX = 64, /* as in a lookup */
	CALL_FLAGS = 3   /* internal and external call */
};

/* Marks the string at off as used; false when it is outside of the table. */
static bool verify_string(struct gsym_check *check, uint64_t off)
{
	const struct ux_bytes s = check->g->strings;
	if (off >= s.size)
		return false;
	if (off - check->used.lo < check->used.hi - check->used.lo)
		gsym_window_fill(&check->used, off, off + 1);
	check->notes.count[UX_GSYM_NOTE_INSIDE_STRING] += off > 0 && s.data[off - 1] != 0;
	return true;
}

static enum ux_code verify_lines(struct gsym_check *check, struct ux_cur block, uint32_t size,
				 struct ux_error *err)
{
	struct gsym_lines l = gsym_lines_start(block);
	uint64_t before = 0, n = 0;
	for (; gsym_lines_next(&l); n++) {
		if ((l.off | l.line | l.file) > UINT32_MAX)
			ux_cur_bad(&l.c, "row does not fit 32 bits");
		else if (l.off < before)
			ux_cur_bad(&l.c, "row lies before the previous row");
		else if (size > 0 && l.off >= size)
			ux_cur_bad(&l.c, "row lies after its function");
		else if (l.file >= check->g->n_files)
			ux_cur_bad(&l.c, "row's file is past the file table");
		check->notes.count[UX_GSYM_NOTE_SHADOWED_ROW] += n > 0 && l.off == before;
		before = l.off;
	}
	if (n == 0)
		ux_cur_bad(&l.c, "line table has no row");
	if (ux_cur_more(&l.c)) {
		ux_cur_u8(&l.c);
		ux_cur_bad(&l.c, "line table ends before its block");
	}
	return ux_cur_status(&l.c, err);
}

static enum ux_code path_node_start(struct path_node *node, uint64_t n_ranges, uint64_t base,
				    struct ux_cur *c, struct ux_error *err)
{
	if (n_ranges > RANGES_MAX) {
		ux_cur_bad(c, "an inlined call has more than 1,048,576 ranges");
		return ux_cur_status(c, err);
	}
	if (!node->samples)
		node->samples = reallocarray(NULL, SAMPLES_MAX, sizeof(*node->samples));
	if (!node->samples)
		return ux_error_nomem(err);
	node->n_ranges = (uint32_t)n_ranges;
	node->step = (node->n_ranges + SAMPLES_MAX - 1) / SAMPLES_MAX;
	node->base = base;
	return UX_OK;
}

/* Reads the range at c. Its bytes were checked when they were read for the first time. */
static struct ux_gsym_range path_range_read(const struct path_node *node, struct ux_cur *c)
{
	uint64_t lo = node->base + ux_cur_uleb(c);
	return (struct ux_gsym_range){(uint32_t)lo, (uint32_t)(lo + ux_cur_uleb(c))};
}

/* A position in a node's ranges, which ascend, for a search of ranges that ascend too. */
struct path_walk {
	const struct path_node *node;
	struct ux_gsym_range found; /* the last range that begins at or before the searched one */
	uint32_t sample;            /* the sample before it */
	uint32_t i;                 /* number of `found` */
	const uint8_t *next;        /* where the next range is */
};

static void path_walk_to_sample(struct path_walk *w, uint32_t sample)
{
	w->sample = sample;
	w->i = sample * w->node->step;
	w->found = w->node->samples[sample].range;
	w->next = w->node->samples[sample].next;
}

static struct path_walk path_walk_start(const struct path_node *node)
{
	struct path_walk w = {.node = node};
	path_walk_to_sample(&w, 0);
	return w;
}

/* Returns true when one of the ranges contains r. block: contains the ranges. */
static bool path_walk_find(struct path_walk *w, struct ux_cur block, struct ux_gsym_range r)
{
	const struct path_node *node = w->node;
	uint32_t at = w->sample, left = (node->n_ranges - 1) / node->step + 1 - at;
	if (left > 1 && node->samples[at + 1].range.lo > r.lo) /* the common case */
		left = 1;
	while (left > 1) {
		uint32_t half = left / 2;
		at = node->samples[at + half].range.lo <= r.lo ? at + half : at;
		left -= half;
	}
	if (at > w->sample)
		path_walk_to_sample(w, at);
	uint32_t end = ux_min(node->n_ranges, (at + 1) * node->step);
	block.pos = w->next;
	while (w->i + 1 < end) {
		struct ux_gsym_range next = path_range_read(node, &block);
		if (next.lo > r.lo)
			break;
		w->found = next;
		w->next = block.pos;
		w->i++;
	}
	return w->found.lo <= r.lo && r.hi <= w->found.hi;
}

/* Reads the ranges of the current node of `it`. *ret_bad: their error. */
static enum ux_code path_read(struct path_node *path, struct gsym_inlines *it, struct ux_cur *c,
			      const char **ret_bad, struct ux_error *err)
{
	struct path_walk parent = path_walk_start(&path[it->depth]);
	struct path_node *node = &path[it->depth + 1];
	struct gsym_inlines_range read;
	struct ux_gsym_range before = {0, 0};
	UX_TRY(path_node_start(node, it->n_ranges, it->base[it->depth], c, err));
	for (uint32_t i = 0; gsym_inlines_range(it, c, &read, GSYM_INLINES_STRICT); i++) {
		struct ux_gsym_range r = {(uint32_t)read.lo, (uint32_t)(read.lo + read.size)};
		if (i % node->step == 0)
			node->samples[i / node->step] = (struct range_sample){r, c->pos};
		if (*ret_bad)
			continue;
		if (r.lo >= r.hi)
			*ret_bad = "inlined call has an empty range";
		else if (i > 0 && r.lo < before.hi)
			*ret_bad = "ranges of an inlined call do not ascend";
		else if (!path_walk_find(&parent, *c, r))
			*ret_bad = "range of an inlined call lies outside its caller";
		before = r;
	}
	return UX_OK;
}

static const char *verify_node(struct gsym_check *check, const struct gsym_inlines_node *node)
{
	if (node->file >= check->g->n_files)
		return "inlined call's file is past the file table";
	return verify_string(check, node->name) ? NULL
						: "inlined call's name is past the string table";
}

static bool node_is_function(const struct gsym_inlines_node *node, const struct path_node *path,
			     const struct ux_gsym_raw *raw)
{
	struct ux_gsym_range r = path[1].samples[0].range;
	return node->name == raw->name && path[1].n_ranges == 1 && r.lo == 0 && r.hi == raw->size;
}

/* Of the tree, only samples of the ranges on the way to the current node are in memory. */
static enum ux_code verify_inlines(struct gsym_check *check, struct ux_cur block,
				   const struct ux_gsym_raw *raw, struct ux_error *err)
{
	struct ux_cur c = block;
	struct gsym_inlines it;
	struct gsym_inlines_node node;
	struct path_node *path = check->path;
	UX_TRY(path_node_start(&path[0], 1, 0, &c, err));
	path[0].samples[0] =
		(struct range_sample){{0, raw->size > 0 ? raw->size : UINT32_MAX}, c.pos};
	gsym_inlines_start(&it);
	while (gsym_inlines_next(&it, &c, GSYM_INLINES_STRICT)) {
		const char *bad = NULL;
		if (it.n_ranges == 0)
			continue;
		UX_TRY(path_read(path, &it, &c, &bad, err));
		gsym_inlines_node(&it, &c, check->g->offset_size, &node, GSYM_INLINES_STRICT);
		if (c.failed)
			break;
		const char *bad_node = verify_node(check, &node);
		if (bad || bad_node) {
			ux_cur_bad(&block, bad_node ? bad_node : bad);
			return ux_cur_status(&block, err);
		}
		check->notes.count[UX_GSYM_NOTE_ROOT] +=
			node.depth == 0 && !node_is_function(&node, path, raw);
	}
	if (ux_cur_more(&c))
		ux_cur_bad(&c, "inline tree ends before its block");
	return ux_cur_status(&c, err);
}

static enum ux_code verify_calls(struct gsym_check *check, struct ux_cur block, uint32_t size,
				 struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block);
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		if (ux_cur_u64(&block) > size)
			ux_cur_bad(&block, "call site returns after its function");
		if (ux_cur_u8(&block) > CALL_FLAGS)
			ux_cur_bad(&block, "call site has unknown flags");
		uint32_t patterns = ux_cur_u32(&block);
		for (uint32_t k = 0; k < patterns && !block.failed; k++)
			if (!verify_string(check, ux_gsym_name(check->g, &block)))
				ux_cur_bad(&block, "call site's pattern is past the string table");
	}
	check->notes.count[UX_GSYM_NOTE_CALL_SITE] += n;
	if (ux_cur_more(&block))
		ux_cur_bad(&block, "call sites end before their block");
	return ux_cur_status(&block, err);
}

/* *ret has the record's size and `before`. */
static enum ux_code verify_nested(struct gsym_check *check, struct ux_cur *c, unsigned nesting,
				  struct ux_gsym_raw *ret, struct ux_error *err);

static enum ux_code verify_merged(struct gsym_check *check, struct ux_cur block, unsigned nesting,
				  struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block);
	struct ux_gsym_raw raw;
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		struct ux_cur one = ux_cur_sub(&block, ux_cur_u32(&block));
		UX_TRY(verify_nested(check, &one, nesting, &raw, err));
		if (raw.before > 0)
			ux_cur_bad(&one, "merged function continues another one");
		if (ux_cur_more(&one))
			ux_cur_bad(&one, "merged function ends before its size");
		UX_TRY(ux_cur_status(&one, err));
	}
	check->notes.count[UX_GSYM_NOTE_MERGED] += n;
	if (ux_cur_more(&block))
		ux_cur_bad(&block, "merged functions end before their block");
	return ux_cur_status(&block, err);
}

static enum ux_code verify_block(struct gsym_check *check, const struct ux_gsym_raw *raw,
				 struct ux_gsym_block block, unsigned nesting, struct ux_error *err)
{
	switch (block.type) {
	case GSYM_INFO_LINES:
		return verify_lines(check, block.content, raw->size, err);
	case GSYM_INFO_INLINES:
		return verify_inlines(check, block.content, raw, err);
	case GSYM_INFO_MERGED:
		return verify_merged(check, block.content, nesting + 1, err);
	case GSYM_INFO_CALLS:
		return verify_calls(check, block.content, raw->size, err);
	default:
		check->notes.count[UX_GSYM_NOTE_UNKNOWN_BLOCK]++;
		return UX_OK;
	}
}

static enum ux_code verify_nested(struct gsym_check *check, struct ux_cur *c, unsigned nesting,
				  struct ux_gsym_raw *ret, struct ux_error *err)
{
	struct ux_gsym_raw raw = ux_gsym_raw_open(check->g, c);
	struct ux_gsym_block block;
	unsigned n = 0;
	if (raw.name == 0)
		ux_cur_bad(&raw.rest, "function has no name");
	else if (!verify_string(check, raw.name))
		ux_cur_bad(&raw.rest, "function's name is past the string table");
	else if (nesting > NESTING_MAX)
		ux_cur_bad(&raw.rest, "merged functions are nested more than 4 deep");
	while (ux_gsym_raw_next(&raw, &block)) {
		if (++n > BLOCKS_MAX)
			ux_cur_bad(&block.content, "record has more than 64 blocks");
		UX_TRY(ux_cur_status(&block.content, err));
		UX_TRY(verify_block(check, &raw, block, nesting, err));
	}
	UX_TRY(ux_cur_status(&raw.rest, err));
	ux_cur_skip(c, ux_cur_left(c) - ux_cur_left(&raw.rest));
	*ret = raw;
	return UX_OK;
}

const char *ux_gsym_note_name(enum ux_gsym_note note)
{
	static const char *const names[] = {
		[UX_GSYM_NOTE_SHADOWED_ROW] = "shadowed rows",
		[UX_GSYM_NOTE_UNUSED_STRING] = "unused strings",
		[UX_GSYM_NOTE_OVERLAP] = "functions inside others",
		[UX_GSYM_NOTE_SAME_RANGE] = "functions with equal ranges",
		[UX_GSYM_NOTE_NO_SIZE] = "functions without size",
		[UX_GSYM_NOTE_ROOT] = "inline trees of another root",
		[UX_GSYM_NOTE_MERGED] = "merged functions",
		[UX_GSYM_NOTE_CALL_SITE] = "call sites",
		[UX_GSYM_NOTE_UNKNOWN_BLOCK] = "unknown blocks",
		[UX_GSYM_NOTE_INSIDE_STRING] = "references into strings",
		[UX_GSYM_NOTE_UNKNOWN_SECTION] = "unknown sections",
		[UX_GSYM_NOTE_UNTRIED] = "functions past the limit of one start",
		[UX_GSYM_NOTE_FOREIGN_BYTE] = "bytes of no known part",
	};
	_Static_assert(ux_countof(names) == UX_GSYM_NOTE_COUNT, "a name for each note");
	return (unsigned)note < UX_GSYM_NOTE_COUNT ? names[note] : "unknown";
}

static uint64_t verify_off(const struct ux_gsym *g, const uint8_t *at)
{
	return (uint64_t)(at - g->file.data);
}

static enum ux_code verify_header1(const struct ux_gsym *g, struct ux_error *err)
{
	struct ux_bytes rest = {g->uuid.data + g->uuid.size,
				GSYM1_HEADER_SIZE - GSYM1_UUID_OFF - g->uuid.size};
	for (size_t i = 0; i < rest.size; i++)
		if (rest.data[i] != 0)
			return ux_error_at(err, UX_ECORRUPT, NULL, verify_off(g, rest.data + i),
					   "byte after the build ID is not 0");
	return UX_OK;
}

static enum ux_code verify_files(struct gsym_check *check, struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	size_t size = (size_t)g->n_files * 2 * g->offset_size;
	struct ux_cur c = ux_cur_make(g->file, NULL, g->swap);
	ux_cur_seek(&c, verify_off(g, g->files));
	c = ux_cur_sub(&c, size);
	if (g->n_files == 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, ux_cur_off(&c),
				   "file table lacks entry 0");
	for (uint32_t i = 0; ux_cur_more(&c); i++) {
		uint64_t dir = gsym_name_read(&c, g->offset_size);
		uint64_t base = gsym_name_read(&c, g->offset_size);
		if (i == 0 && (dir | base) != 0)
			ux_cur_bad(&c, "file 0 has a name");
		if (!verify_string(check, dir) || !verify_string(check, base))
			ux_cur_bad(&c, "file's name is past the string table");
	}
	return ux_cur_status(&c, err);
}

static enum ux_code tables_add_all1(const struct ux_gsym *g, struct gsym_tables *tables,
				    struct ux_error *err)
{
	uint64_t starts = verify_off(g, g->addrs), records = verify_off(g, g->records);
	uint64_t files = verify_off(g, g->files), strings = verify_off(g, g->strings.data);
	uint64_t n = g->n_functions;
	UX_TRY(verify_header1(g, err));
	UX_TRY(gsym_tables_add(tables, 0, GSYM1_HEADER_SIZE, err));
	UX_TRY(gsym_tables_add(tables, starts, starts + n * g->addr_size, err));
	UX_TRY(gsym_tables_add(tables, records, records + n * g->offset_size, err));
	UX_TRY(gsym_tables_add(tables, files - sizeof(uint32_t),
			       files + (uint64_t)g->n_files * 2 * g->offset_size, err));
	return gsym_tables_add(tables, strings, strings + g->strings.size, err);
}

/* Adds the tables of version 2. The section of records is not a part, since each record is one. */
static enum ux_code tables_add_all2(struct gsym_check *check, struct gsym_tables *tables,
				    struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	struct gsym_directory d = gsym_directory_open(g->file, g->swap);
	struct gsym_section s;
	while (gsym_directory_next(&d, &s)) {
		uint64_t end = s.off + s.content.size;
		check->notes.count[UX_GSYM_NOTE_UNKNOWN_SECTION] += s.type >= GSYM_SECTION_COUNT;
		if (s.type == GSYM_SECTION_FILES) /* its end is known from its own count */
			end = verify_off(g, g->files) + (uint64_t)g->n_files * 2 * g->offset_size;
		if (s.type != GSYM_SECTION_FUNCTIONS)
			UX_TRY(gsym_tables_add(tables, s.off, end, err));
	}
	UX_TRY(ux_cur_status(&d.c, err));
	return gsym_tables_add(tables, 0, ux_cur_off(&d.c), err);
}

/* Adds the table of segments at the end of the file, which both versions have. */
static enum ux_code tables_add_segments(const struct ux_gsym *g, struct gsym_tables *tables,
					struct ux_error *err)
{
	struct ux_gsym_segments segments;
	size_t size = ux_gsym_segments_read(g->file, &segments);
	return size > 0 ? gsym_tables_add(tables, g->file.size - size, g->file.size, err) : UX_OK;
}

/* Checks the table of symbols, which precedes the table of segments, and adds it. */
static enum ux_code tables_add_symbols(const struct ux_gsym *g, struct gsym_tables *tables,
				       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_gsym_symbols symbols;
	struct ux_gsym_symbol s;
	uint64_t off = 0;
	size_t size = ux_gsym_symbols_open(g, &symbols, &off);
	while (ux_gsym_symbols_next(&symbols, &s)) {
		const char *own = NULL;
		uint64_t code = 0;
		if (!ux_gsym_function_read(g, s.function, &own, &code) ||
		    (!s.part && !ux_gsym_symbol_name(&s, ux_bytes_cstr(own), &text)))
			ux_cur_bad(&symbols.entries, "symbol has no valid name");
		else if (s.off > 0 && s.off >= code)
			ux_cur_bad(&symbols.entries, "symbol is outside of its function");
	}
	if (text.failed)
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(&symbols.entries, err));
	return size > 0 ? gsym_tables_add(tables, off, off + size, err) : UX_OK;
}

/* The bytes after the last part begin with a table that is cut off. */
static enum ux_code verify_tail(const struct ux_gsym *g, uint64_t end, struct ux_error *err)
{
	struct ux_bytes tail = ux_bytes(g->file.data + end, (size_t)(g->file.size - end));
	size_t symbols = ux_gsym_symbols_length(tail, g->swap);
	if (symbols == SIZE_MAX)
		return ux_error_at(err, UX_ECORRUPT, NULL, end,
				   "the symbol table is truncated: it has %zu bytes", tail.size);
	tail = ux_bytes(tail.data + symbols, tail.size - symbols);
	if (g->n_functions > 0 && ux_gsym_segments_are_cut(tail, g->swap, ux_gsym_start(g, 0)))
		return ux_error_at(err, UX_ECORRUPT, NULL, end + symbols,
				   "the segment table is truncated: it has %zu bytes", tail.size);
	return UX_OK;
}

/* State of the functions before the current one. */
struct neighbours {
	uint64_t start; /* start of the last one */
	uint64_t end;
	uint64_t reach; /* greatest end of all functions that begin before start */
	uint32_t same;  /* how many have this start */
};

static enum ux_code verify_start(struct gsym_check *check, struct neighbours *before, uint32_t i,
				 uint32_t size, struct ux_error *err)
{
	uint64_t *notes = check->notes.count;
	uint64_t start = ux_gsym_start(check->g, i);
	uint64_t off = verify_off(check->g, check->g->addrs) + (uint64_t)i * check->g->addr_size;
	if (start < check->g->base || start > UINT64_MAX - size)
		return ux_error_at(err, UX_ECORRUPT, NULL, off,
				   "function at 0x%" PRIx64 " with 0x%" PRIx32
				   " bytes leaves the address space",
				   start, size);
	if (i > 0 && start < before->start)
		return ux_error_at(err, UX_ECORRUPT, NULL, off,
				   "function at 0x%" PRIx64 " comes after one at 0x%" PRIx64, start,
				   before->start);
	bool same = i > 0 && start == before->start;
	if (!same)
		before->reach = ux_max(before->reach, before->end);
	before->same = same ? before->same + 1 : 1;
	notes[UX_GSYM_NOTE_NO_SIZE] += size == 0;
	notes[UX_GSYM_NOTE_SAME_RANGE] += same && start + size == before->end;
	notes[UX_GSYM_NOTE_OVERLAP] += start < before->reach;
	notes[UX_GSYM_NOTE_UNTRIED] += before->same > UX_GSYM_SAME_START_MAX;
	before->end = same ? ux_max(before->end, start + size) : start + size;
	before->start = start;
	return UX_OK;
}

static enum ux_code verify_record_of(struct gsym_check *check, uint32_t i, uint64_t *left,
				     uint32_t *ret_size, struct ux_error *err)
{
	assert(i < check->g->n_functions);
	struct ux_cur c = gsym_body_at(check->g, ux_gsym_record(check->g, i));
	struct ux_gsym_raw raw;
	UX_TRY(ux_cur_status(&c, err));
	uint64_t at = ux_cur_off(&c);
	if (at % GSYM_RECORD_ALIGN != 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, at, "record is not aligned to 4 bytes");
	UX_TRY(verify_nested(check, &c, 0, &raw, err));
	if (raw.before > ux_gsym_start(check->g, i))
		return ux_error_at(err, UX_ECORRUPT, NULL, at,
				   "record begins %" PRIu32
				   " bytes after its function, at 0x%" PRIx64,
				   raw.before, ux_gsym_start(check->g, i));
	*ret_size = raw.size;
	uint64_t length = ux_cur_off(&c) - at;
	/*
	 * Without this limit, one large record could be checked once for each function of a file.
	 */
	if (length > *left)
		return ux_error_at(err, UX_ECORRUPT, NULL, at, "records overlap");
	*left -= length;
	return UX_OK;
}

static enum ux_code verify_records(struct gsym_check *check, struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	struct neighbours before = {0};
	uint64_t left = g->file.size;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		uint32_t size = 0;
		UX_TRY(verify_record_of(check, i, &left, &size, err));
		UX_TRY(verify_start(check, &before, i, size, err));
	}
	return UX_OK;
}

/*
 * Counts the strings that end in the window and that nothing refers to, not even to a part of them.
 */
static uint64_t window_unused_strings(const struct gsym_window *w, struct ux_bytes s, bool *used)
{
	uint64_t n = 0;
	for (uint64_t at = w->lo; at < w->hi;) {
		const uint8_t *nul = memchr(s.data + at, 0, w->hi - at);
		uint64_t end = nul ? (uint64_t)(nul - s.data) + 1 : w->hi;
		/* The format requires the empty string at 0. */
		*used |= at == 0 || gsym_window_find(w, at, end, true) < end;
		n += nul && !*used;
		*used &= !nul;
		at = end;
	}
	return n;
}

static void gsym_check_deinit(struct gsym_check *check)
{
	gsym_window_deinit(&check->used);
	for (size_t i = 0; i < ux_countof(check->path); i++)
		free(check->path[i].samples);
}

/* Checks everything that refers to strings. */
static enum ux_code verify_content(struct gsym_check *check, struct ux_error *err)
{
	check->notes = (struct ux_gsym_notes){{0}};
	UX_TRY(verify_files(check, err));
	return verify_records(check, err);
}

/* The first pass checks the content; the others only find the strings of their windows. */
static enum ux_code verify_strings(struct gsym_check *check, struct ux_error *err)
{
	const struct ux_bytes s = check->g->strings;
	bool used = false;
	UX_TRY(gsym_window_init(&check->used, s.size, err));
	UX_TRY(verify_content(check, err));
	uint64_t unused = window_unused_strings(&check->used, s, &used);
	while (gsym_window_next(&check->used, s.size)) {
		UX_TRY(verify_content(check, err));
		unused += window_unused_strings(&check->used, s, &used);
	}
	check->notes.count[UX_GSYM_NOTE_UNUSED_STRING] = unused;
	return UX_OK;
}

enum ux_code ux_gsym_verify(const struct ux_gsym *g, struct ux_gsym_notes *ret,
			    struct ux_error *err)
{
	ux_cleanup(gsym_check_deinit) struct gsym_check check = {.g = g};
	ux_cleanup(ux_free_ptr) struct gsym_tables *tables = calloc(1, sizeof(*tables));
	if (!tables)
		return ux_error_nomem(err);
	if (g->strings.data[0] != 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, verify_off(g, g->strings.data),
				   "string table does not begin with a NUL");
	UX_TRY(ret ? verify_strings(&check, err) : verify_content(&check, err));
	UX_TRY(g->version == 1 ? tables_add_all1(g, tables, err)
			       : tables_add_all2(&check, tables, err));
	UX_TRY(tables_add_segments(g, tables, err));
	UX_TRY(tables_add_symbols(g, tables, err));
	uint64_t end = 0;
	UX_TRY(gsym_coverage_check(g, tables, &check.notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], &end,
				   err));
	UX_TRY(verify_tail(g, end, err));
	if (ret)
		*ret = check.notes;
	return UX_OK;
}
