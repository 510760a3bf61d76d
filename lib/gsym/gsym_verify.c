/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a whole file: its tables, its records one by one, and that nothing else is in it. */
#include "gsym_inspect.h"

#include "gsym_check.h"
#include "gsym_directory.h"
#include "gsym_format.h"
#include "gsym_record.h"
#include "vec.h"

enum {
	TREE_GROWTH = 8 /* bytes of a decoded inline tree for one of its block's, at most; twice */
};

const char *ux_gsym_note_name(enum ux_gsym_note note)
{
	static const char *const names[] = {
		[UX_GSYM_NOTE_SHADOWED_ROW] = "shadowed rows",
		[UX_GSYM_NOTE_UNUSED_STRING] = "unused strings",
		[UX_GSYM_NOTE_OVERLAP] = "functions inside others",
		[UX_GSYM_NOTE_TWIN] = "functions with equal ranges",
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

static enum ux_code add_part(struct parts *parts, uint64_t lo, uint64_t hi, struct ux_error *err)
{
	return parts_append(parts, (struct part){lo, hi}) ? UX_OK : ux_error_nomem(err);
}

static uint64_t off_of(const struct ux_gsym *g, const uint8_t *at)
{
	return (uint64_t)(at - g->file.data);
}

static enum ux_code check_header1(const struct ux_gsym *g, struct ux_error *err)
{
	struct ux_bytes rest = {g->uuid.data + g->uuid.size,
				GSYM1_HEADER_SIZE - GSYM1_UUID_OFF - g->uuid.size};
	for (size_t i = 0; i < rest.size; i++)
		if (rest.data[i] != 0)
			return ux_error_at(err, UX_ECORRUPT, NULL, off_of(g, rest.data + i),
					   "byte behind the build ID is not 0");
	return UX_OK;
}

static enum ux_code check_files(struct gsym_check *check, struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	size_t size = (size_t)g->n_files * 2 * g->offset_size;
	struct ux_cur c = ux_cur_make(g->file, NULL, g->swap);
	ux_cur_seek(&c, off_of(g, g->files));
	c = ux_cur_sub(&c, size);
	if (g->n_files == 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, ux_cur_off(&c),
				   "file table lacks entry 0");
	for (uint32_t i = 0; ux_cur_more(&c); i++) {
		uint64_t dir = gsym_name_read(&c, g->offset_size);
		uint64_t base = gsym_name_read(&c, g->offset_size);
		if (i == 0 && (dir | base) != 0)
			ux_cur_bad(&c, "file 0 has a name");
		if (!gsym_check_string(check, dir) || !gsym_check_string(check, base))
			ux_cur_bad(&c, "file's name is past the string table");
	}
	return ux_cur_status(&c, err);
}

static enum ux_code add_tables1(const struct ux_gsym *g, struct parts *parts, struct ux_error *err)
{
	uint64_t starts = off_of(g, g->addrs), records = off_of(g, g->records);
	uint64_t files = off_of(g, g->files), strings = off_of(g, g->strings.data);
	uint64_t n = g->n_functions;
	UX_TRY(check_header1(g, err));
	UX_TRY(add_part(parts, 0, GSYM1_HEADER_SIZE, err));
	UX_TRY(add_part(parts, starts, starts + n * g->addr_size, err));
	UX_TRY(add_part(parts, records, records + n * g->offset_size, err));
	UX_TRY(add_part(parts, files - sizeof(uint32_t),
			files + (uint64_t)g->n_files * 2 * g->offset_size, err));
	return add_part(parts, strings, strings + g->strings.size, err);
}

/* The section of records is not a part: each record is one. */
static enum ux_code add_tables2(struct gsym_check *check, struct parts *parts, struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	struct gsym_directory d = gsym_directory_open(g->file, g->swap);
	struct gsym_section s;
	while (gsym_directory_next(&d, &s)) {
		uint64_t end = s.off + s.content.size;
		check->notes.count[UX_GSYM_NOTE_UNKNOWN_SECTION] += s.type >= GSYM_SECTION_COUNT;
		if (s.type == GSYM_SECTION_FILES) /* its own count says where it ends */
			end = off_of(g, g->files) + (uint64_t)g->n_files * 2 * g->offset_size;
		if (s.type != GSYM_SECTION_FUNCTIONS)
			UX_TRY(add_part(parts, s.off, end, err));
	}
	UX_TRY(ux_cur_status(&d.c, err));
	return add_part(parts, 0, ux_cur_off(&d.c), err);
}

/* The functions before the one that is looked at. */
struct neighbours {
	uint64_t start; /* of the last one */
	uint64_t end;
	uint64_t reach; /* greatest end of all that begin before start */
	uint32_t same;  /* how many have this start */
};

static enum ux_code check_start(struct gsym_check *check, struct neighbours *before, uint32_t i,
				uint32_t size, struct ux_error *err)
{
	uint64_t *notes = check->notes.count;
	uint64_t start = ux_gsym_start(check->g, i);
	uint64_t off = off_of(check->g, check->g->addrs) + (uint64_t)i * check->g->addr_size;
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
	notes[UX_GSYM_NOTE_TWIN] += same && start + size == before->end;
	notes[UX_GSYM_NOTE_OVERLAP] += start < before->reach;
	notes[UX_GSYM_NOTE_UNTRIED] += before->same > UX_GSYM_SAME_START_MOST;
	before->end = same ? ux_max(before->end, start + size) : start + size;
	before->start = start;
	return UX_OK;
}

static enum ux_code check_record(struct gsym_check *check, uint64_t record, uint64_t *left,
				 uint32_t *ret_size, struct parts *parts, struct ux_error *err)
{
	struct ux_cur c = gsym_body_at(check->g, record);
	UX_TRY(ux_cur_status(&c, err));
	uint64_t at = ux_cur_off(&c);
	if (at % GSYM_RECORD_ALIGN != 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, at, "record is not aligned to 4 bytes");
	UX_TRY(gsym_check_record(check, &c, ret_size, err));
	uint64_t length = ux_cur_off(&c) - at;
	/* Else a file could have one large record checked once for each of its functions. */
	if (length > *left)
		return ux_error_at(err, UX_ECORRUPT, NULL, at, "records overlap");
	*left -= length;
	return add_part(parts, at, at + length, err);
}

static enum ux_code check_records(struct gsym_check *check, struct parts *parts,
				  struct ux_error *err)
{
	const struct ux_gsym *g = check->g;
	struct neighbours before = {0};
	uint64_t left = g->file.size;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		uint32_t size = 0;
		UX_TRY(check_record(check, ux_gsym_record(g, i), &left, &size, parts, err));
		UX_TRY(check_start(check, &before, i, size, err));
	}
	return UX_OK;
}

static void count_strings(struct gsym_check *check)
{
	const struct ux_bytes s = check->g->strings;
	for (size_t at = 0, next; at < s.size; at = next) {
		const uint8_t *nul = memchr(s.data + at, 0, s.size - at);
		next = (size_t)(nul - s.data) + 1;
		bool used = at == 0; /* the empty string is there by rule */
		for (size_t i = at; i < next && !used; i++)
			used = (check->used[i / 8] >> i % 8 & 1) != 0;
		check->notes.count[UX_GSYM_NOTE_UNUSED_STRING] += !used;
	}
}

static int part_cmp(const void *va, const void *vb)
{
	const struct part *a = va, *b = vb;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->hi > b->hi) - (a->hi < b->hi);
}

/* Bytes between two parts: zeros that align the next, or somebody's own. In version 2 each table
 * has an alignment of its own, up to 8. */
static uint64_t foreign_bytes(const struct ux_gsym *g, uint64_t lo, uint64_t hi)
{
	uint64_t least = g->version == 1 ? GSYM_RECORD_ALIGN : 2;
	if (hi - lo >= g->offset_size || (hi % least != 0 && hi != g->file.size))
		return hi - lo;
	for (uint64_t i = lo; i < hi; i++)
		if (g->file.data[i] != 0)
			return hi - lo;
	return 0;
}

static enum ux_code check_parts(struct gsym_check *check, const struct parts *parts,
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
		notes[UX_GSYM_NOTE_FOREIGN_BYTE] += foreign_bytes(check->g, before->hi, p->lo);
		before = p;
	}
	notes[UX_GSYM_NOTE_FOREIGN_BYTE] +=
		foreign_bytes(check->g, before->hi, check->g->file.size);
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
		return ux_error_at(err, UX_ECORRUPT, NULL, off_of(g, g->strings.data),
				   "string table does not begin with a NUL");
	UX_TRY(check_files(&check, err));
	UX_TRY(g->version == 1 ? add_tables1(g, &parts, err) : add_tables2(&check, &parts, err));
	UX_TRY(check_records(&check, &parts, err));
	count_strings(&check);
	qsort(parts.data, parts.size, sizeof(*parts.data), part_cmp);
	UX_TRY(check_parts(&check, &parts, err));
	*ret = check.notes;
	return UX_OK;
}
