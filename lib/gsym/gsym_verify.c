/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a whole file: its tables, its records, and that it contains nothing else. */
#include "gsym_inspect.h"

#include "arena.h"
#include "cursor.h"
#include "gsym_decode.h"
#include "gsym_format.h"
#include "gsym_record.h"
#include "vec.h"

/* State of a verification; one thread. */
struct gsym_check {
	const struct ux_gsym *g;
	struct ux_gsym_notes notes;
	uint8_t *used; /* one bit for each byte of the string table: something refers to it */
	struct ux_arena *arena; /* empty between two trees */
};

/* Marks the string at off as used; false when it is outside of the table. */
bool verify_string(struct gsym_check *check, uint64_t off);

/* Checks the record at c, which moves behind its end. */
enum ux_code verify_record(struct gsym_check *check, struct ux_cur *c, uint32_t *ret_size,
			   struct ux_error *err) ux_must;

enum {
	NESTING_MOST = 4, /* deepest nesting of merged functions */
	BLOCKS_MOST = 64, /* as in a lookup */
	CALL_FLAGS = 3    /* internal and external call */
};

bool verify_string(struct gsym_check *check, uint64_t off)
{
	const struct ux_bytes s = check->g->strings;
	if (off >= s.size)
		return false;
	check->used[off / 8] |= (uint8_t)(1u << off % 8);
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
			ux_cur_bad(&l.c, "row lies before the row before it");
		else if (size > 0 && l.off >= size)
			ux_cur_bad(&l.c, "row lies behind its function");
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

/* True when one of n ascending ranges contains r. */
static bool range_is_inside(const struct ux_gsym_range *ranges, uint32_t n, struct ux_gsym_range r)
{
	uint32_t at = 0;
	for (uint32_t left = n; left > 1;) {
		uint32_t half = left / 2;
		at = ranges[at + half].lo <= r.lo ? at + half : at;
		left -= half;
	}
	return ranges[at].lo <= r.lo && r.hi <= ranges[at].hi;
}

static const char *verify_ranges(const struct ux_gsym_range *ranges, uint32_t n,
				 const struct ux_gsym_range *parent, uint32_t n_parent)
{
	for (uint32_t i = 0; i < n; i++) {
		if (ranges[i].lo >= ranges[i].hi)
			return "inlined call has an empty range";
		if (i > 0 && ranges[i].lo < ranges[i - 1].hi)
			return "ranges of an inlined call do not ascend";
		if (!range_is_inside(parent, n_parent, ranges[i]))
			return "range of an inlined call lies outside of its caller's";
	}
	return NULL;
}

static const char *verify_node(struct gsym_check *check, const struct ux_gsym_node *node)
{
	if (node->call_file >= check->g->n_files)
		return "inlined call's file is past the file table";
	return verify_string(check, node->name) ? NULL
						: "inlined call's name is past the string table";
}

static const char *verify_tree(struct gsym_check *check, const struct ux_gsym_tree *tree,
			       uint32_t size)
{
	const struct ux_gsym_node *path[UX_GSYM_DEPTH_MOST + 1];
	const struct ux_gsym_range whole = {0, size > 0 ? size : UINT32_MAX};
	for (size_t i = 0; i < tree->n_nodes; i++) {
		const struct ux_gsym_node *node = &tree->nodes[i];
		const struct ux_gsym_node *up = node->depth > 0 ? path[node->depth - 1] : NULL;
		const char *bad = verify_node(check, node);
		if (!bad)
			bad = verify_ranges(tree->ranges + node->range_first, node->range_count,
					    up ? tree->ranges + up->range_first : &whole,
					    up ? up->range_count : 1);
		if (bad)
			return bad;
		path[node->depth] = node;
	}
	return NULL;
}

static enum ux_code verify_inlines(struct gsym_check *check, struct ux_cur block,
				   const struct ux_gsym_raw *raw, struct ux_error *err)
{
	struct ux_arena_mark mark = ux_arena_mark(check->arena);
	struct ux_gsym_tree tree = {0};
	UX_TRY(ux_gsym_decode_inlines(check->g, block, check->arena, &tree, err));
	const char *bad = verify_tree(check, &tree, raw->size);
	check->notes.count[UX_GSYM_NOTE_ROOT] +=
		tree.nodes[0].name != raw->name || tree.nodes[0].range_count != 1 ||
		tree.ranges[0].lo != 0 || tree.ranges[0].hi != raw->size;
	ux_arena_rewind(check->arena, mark);
	if (bad)
		ux_cur_bad(&block, bad);
	return ux_cur_status(&block, err);
}

static enum ux_code verify_calls(struct gsym_check *check, struct ux_cur block, uint32_t size,
				 struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block);
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		if (ux_cur_u64(&block) > size)
			ux_cur_bad(&block, "call site returns behind its function");
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

static enum ux_code verify_nested(struct gsym_check *check, struct ux_cur *c, unsigned nesting,
				  uint32_t *ret_size, struct ux_error *err);

static enum ux_code verify_merged(struct gsym_check *check, struct ux_cur block, unsigned nesting,
				  struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block), size;
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		struct ux_cur one = ux_cur_sub(&block, ux_cur_u32(&block));
		UX_TRY(verify_nested(check, &one, nesting, &size, err));
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
				  uint32_t *ret_size, struct ux_error *err)
{
	struct ux_gsym_raw raw = ux_gsym_raw_open(check->g, c);
	struct ux_gsym_block block;
	unsigned n = 0;
	if (raw.name == 0)
		ux_cur_bad(&raw.rest, "function has no name");
	else if (!verify_string(check, raw.name))
		ux_cur_bad(&raw.rest, "function's name is past the string table");
	else if (nesting > NESTING_MOST)
		ux_cur_bad(&raw.rest, "merged functions are nested more than 4 deep");
	while (ux_gsym_raw_next(&raw, &block)) {
		if (++n > BLOCKS_MOST)
			ux_cur_bad(&block.content, "record has more than 64 blocks");
		UX_TRY(ux_cur_status(&block.content, err));
		UX_TRY(verify_block(check, &raw, block, nesting, err));
	}
	UX_TRY(ux_cur_status(&raw.rest, err));
	ux_cur_skip(c, ux_cur_left(c) - ux_cur_left(&raw.rest));
	*ret_size = raw.size;
	return UX_OK;
}

enum ux_code verify_record(struct gsym_check *check, struct ux_cur *c, uint32_t *ret_size,
			   struct ux_error *err)
{
	return verify_nested(check, c, 0, ret_size, err);
}

enum {
	TREE_GROWTH = 8 /* Arena budget for each byte of an inline block: twice the largest size of
			   its decoded tree. */
};

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

/* A part of the file. */
struct part {
	uint64_t lo;
	uint64_t hi;
};

UX_VEC(parts, struct part);

static enum ux_code parts_add(struct parts *parts, uint64_t lo, uint64_t hi, struct ux_error *err)
{
	return parts_append(parts, (struct part){lo, hi}) ? UX_OK : ux_error_nomem(err);
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
					   "byte behind the build ID is not 0");
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

static enum ux_code parts_add_tables1(const struct ux_gsym *g, struct parts *parts,
				      struct ux_error *err)
{
	uint64_t starts = verify_off(g, g->addrs), records = verify_off(g, g->records);
	uint64_t files = verify_off(g, g->files), strings = verify_off(g, g->strings.data);
	uint64_t n = g->n_functions;
	UX_TRY(verify_header1(g, err));
	UX_TRY(parts_add(parts, 0, GSYM1_HEADER_SIZE, err));
	UX_TRY(parts_add(parts, starts, starts + n * g->addr_size, err));
	UX_TRY(parts_add(parts, records, records + n * g->offset_size, err));
	UX_TRY(parts_add(parts, files - sizeof(uint32_t),
			 files + (uint64_t)g->n_files * 2 * g->offset_size, err));
	return parts_add(parts, strings, strings + g->strings.size, err);
}

/* Adds the tables of version 2. The section of records is not a part, since each record is one. */
static enum ux_code parts_add_tables2(struct gsym_check *check, struct parts *parts,
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
			UX_TRY(parts_add(parts, s.off, end, err));
	}
	UX_TRY(ux_cur_status(&d.c, err));
	return parts_add(parts, 0, ux_cur_off(&d.c), err);
}

/* What is known of the functions before the current one. */
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
	notes[UX_GSYM_NOTE_UNTRIED] += before->same > UX_GSYM_SAME_START_MOST;
	before->end = same ? ux_max(before->end, start + size) : start + size;
	before->start = start;
	return UX_OK;
}

static enum ux_code verify_record_at(struct gsym_check *check, uint64_t record, uint64_t *left,
				     uint32_t *ret_size, struct parts *parts, struct ux_error *err)
{
	struct ux_cur c = gsym_body_at(check->g, record);
	UX_TRY(ux_cur_status(&c, err));
	uint64_t at = ux_cur_off(&c);
	if (at % GSYM_RECORD_ALIGN != 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, at, "record is not aligned to 4 bytes");
	UX_TRY(verify_record(check, &c, ret_size, err));
	uint64_t length = ux_cur_off(&c) - at;
	/*
	 * Without this limit, one large record could be checked once for each function of a file.
	 */
	if (length > *left)
		return ux_error_at(err, UX_ECORRUPT, NULL, at, "records overlap");
	*left -= length;
	return parts_add(parts, at, at + length, err);
}

static enum ux_code verify_records(struct gsym_check *check, struct parts *parts,
				   struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	struct neighbours before = {0};
	uint64_t left = g->file.size;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		uint32_t size = 0;
		UX_TRY(verify_record_at(check, ux_gsym_record(g, i), &left, &size, parts, err));
		UX_TRY(verify_start(check, &before, i, size, err));
	}
	return UX_OK;
}

static void verify_count_strings(struct gsym_check *check)
{
	const struct ux_bytes s = check->g->strings;
	for (size_t at = 0, next; at < s.size; at = next) {
		const uint8_t *nul = memchr(s.data + at, 0, s.size - at);
		next = (size_t)(nul - s.data) + 1;
		bool used = at == 0; /* the empty string is required by the format */
		for (size_t i = at; i < next && !used; i++)
			used = (check->used[i / 8] >> i % 8 & 1) != 0;
		check->notes.count[UX_GSYM_NOTE_UNUSED_STRING] += !used;
	}
}

static int parts_cmp(const void *va, const void *vb)
{
	const struct part *a = va, *b = vb;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->hi > b->hi) - (a->hi < b->hi);
}

/*
 * Counts the bytes between two parts that are not padding. Padding is zeros that align the next
 * part; in version 2 each table has its own alignment of up to 8.
 */
static uint64_t parts_foreign_bytes(const struct ux_gsym *g, uint64_t lo, uint64_t hi)
{
	uint64_t least = g->version == 1 ? GSYM_RECORD_ALIGN : 2;
	if (hi - lo >= g->offset_size || (hi % least != 0 && hi != g->file.size))
		return hi - lo;
	for (uint64_t i = lo; i < hi; i++)
		if (g->file.data[i] != 0)
			return hi - lo;
	return 0;
}

static enum ux_code verify_parts(struct gsym_check *check, const struct parts *parts,
				 struct ux_error *err)
{
	uint64_t *notes = check->notes.count;
	const struct part *before = parts->data;
	for (size_t i = 1; i < parts->size; i++) {
		const struct part *p = &parts->data[i];
		if (p->lo < before->hi)
			return ux_error_at(err, UX_ECORRUPT, NULL, p->lo,
					   "two parts of the file overlap: 0x%" PRIx64
					   " belongs to the part at 0x%" PRIx64,
					   p->lo, before->lo);
		notes[UX_GSYM_NOTE_FOREIGN_BYTE] +=
			parts_foreign_bytes(check->g, before->hi, p->lo);
		before = p;
	}
	notes[UX_GSYM_NOTE_FOREIGN_BYTE] +=
		parts_foreign_bytes(check->g, before->hi, check->g->file.size);
	return UX_OK;
}

enum ux_code ux_gsym_verify(const struct ux_gsym *g, struct ux_gsym_notes *ret,
			    struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) uint8_t *used = calloc(g->strings.size / 8 + 1, 1);
	ux_cleanup(parts_deinit) struct parts parts = {0};
	UX_ARENA(arena, g->file.size * TREE_GROWTH + (1 << 20));
	if (!used)
		return ux_error_nomem(err);
	struct gsym_check check = {.g = g, .used = used, .arena = &arena};
	if (g->strings.data[0] != 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, verify_off(g, g->strings.data),
				   "string table does not begin with a NUL");
	UX_TRY(verify_files(&check, err));
	UX_TRY(g->version == 1 ? parts_add_tables1(g, &parts, err)
			       : parts_add_tables2(&check, &parts, err));
	UX_TRY(verify_records(&check, &parts, err));
	verify_count_strings(&check);
	qsort(parts.data, parts.size, sizeof(*parts.data), parts_cmp);
	UX_TRY(verify_parts(&check, &parts, err));
	*ret = check.notes;
	return UX_OK;
}
