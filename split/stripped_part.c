/* SPDX-License-Identifier: Apache-2.0 */
/* The stripped file of a pair. */
#include "pair_parts.h"

#include "cursor.h"
#include "order.h"

#define LINK_NAME ".gnu_debuglink"
#define NOTE_NAME ".note.gnu.build-id"

/* Content that replaces the input's. */
struct changed {
	bool is;
	struct ux_bytes bytes;
};

/* The state of one stripped file. */
struct stripped_part {
	const struct ux_elf_pair *pair;
	struct ux_file_pieces pieces;
	struct ux_elf_section_records records;
	struct changed *changed;  /* malloc'ed, for each section of the input */
	struct ux_symbol_cut cut; /* cut of .symtab; empty if there is no .symtab */
	size_t cut_table;         /* index of that table; 0: it is not in this file */
	uint32_t names_old;       /* index of the table of names in the input */
	uint32_t link_name;       /* offsets in the new table of names */
	uint32_t note_name;
	struct ux_elf_image *image;
};

static void stripped_part_deinit(struct stripped_part *s)
{
	ux_file_pieces_deinit(&s->pieces);
	ux_elf_section_records_deinit(&s->records);
	free(s->changed);
	ux_symbol_cut_deinit(&s->cut);
}

/* Replaces the content of a section by a buffer's. */
static enum ux_code stripped_change(struct stripped_part *s, size_t i, struct ux_out *out,
				    struct ux_error *err)
{
	s->changed[i].is = true;
	return ux_elf_image_own(s->image, out, &s->changed[i].bytes, err);
}

/* --- contents that refer to sections and symbols by number ------------------------------------ */

static uint32_t stripped_index(const struct stripped_part *s, uint32_t old)
{
	return old < s->pair->elf.n_sections ? s->pair->sections[old].index : 0;
}

static uint32_t stripped_symbol(const struct stripped_part *s, uint32_t old)
{
	return old < s->cut.count ? s->cut.index[old] : 0;
}

/* Returns whether some section that remains has a different number. */
static bool stripped_is_renumbered(const struct ux_elf_pair *p)
{
	for (size_t i = 1; i < p->elf.n_sections; i++)
		if (p->sections[i].stripped && p->sections[i].index != i)
			return true;
	return false;
}

/* Makes a table of symbols; in .dynsym only section indexes change, which no loader reads. */
static enum ux_code stripped_symbols(struct stripped_part *s, size_t i, struct ux_error *err)
{
	const struct ux_elf_section *table = &s->pair->elf.sections[i];
	bool dynamic = table->type == SHT_DYNSYM;
	if (dynamic) {
		ux_cleanup(ux_symbol_cut_deinit) struct ux_symbol_cut cut = {0};
		UX_TRY(ux_symbol_cut_make(s->pair, table, &cut, err));
		return cut.symbols.size == table->size ? stripped_change(s, i, &cut.symbols, err)
						       : UX_OK;
	}
	if (s->cut_table != 0)
		return ux_error_at(err, UX_EUNSUPPORTED, table->name, UX_ERROR_NO_OFF,
				   "a file with two symbol tables is not supported");
	UX_TRY(ux_symbol_cut_make(s->pair, table, &s->cut, err));
	s->cut_table = i;
	if (s->cut.strings.size > 0)
		UX_TRY(stripped_change(s, table->link, &s->cut.strings, err));
	for (size_t j = 1; j < s->pair->elf.n_sections; j++) {
		const struct ux_elf_section *x = &s->pair->elf.sections[j];
		if (x->type == SHT_SYMTAB_SHNDX && x->link == i && s->cut.extended.size > 0)
			UX_TRY(stripped_change(s, j, &s->cut.extended, err));
	}
	return stripped_change(s, i, &s->cut.symbols, err);
}

static enum ux_code stripped_relocations(struct stripped_part *s, size_t i, struct ux_error *err)
{
	const struct ux_elf *elf = &s->pair->elf;
	const struct ux_elf_section *r = &elf->sections[i];
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes bytes;
	if (r->link != s->cut_table || !s->cut.renumbered || (r->flags & SHF_ALLOC) != 0)
		return UX_OK;
	UX_TRY(ux_elf_section_raw(elf, r, &bytes, err));
	ux_out_put(&out, bytes.data, bytes.size);
	UX_TRY(ux_out_status(&out, err));
	size_t size = ux_relocation_size(elf, r->type);
	for (size_t at = 0; size <= out.size - at; at += size) {
		uint32_t old = ux_relocation_symbol(elf, out.data + at);
		ux_relocation_set_symbol(elf, out.data + at, stripped_symbol(s, old));
	}
	return stripped_change(s, i, &out, err);
}

/* Makes a group, gABI, "Section Groups": flags, then the indexes of members. */
static enum ux_code stripped_group(struct stripped_part *s, size_t i, struct ux_error *err)
{
	const struct ux_elf *elf = &s->pair->elf;
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = elf->swap};
	struct ux_bytes bytes;
	UX_TRY(ux_elf_section_raw(elf, &elf->sections[i], &bytes, err));
	struct ux_cur c = ux_cur_make(bytes, elf->sections[i].name, elf->swap);
	ux_out_u32(&out, ux_cur_u32(&c));
	while (ux_cur_left(&c) >= 4) {
		uint32_t member = stripped_index(s, ux_cur_u32(&c));
		if (member != 0)
			ux_out_u32(&out, member);
	}
	UX_TRY(ux_cur_status(&c, err));
	return stripped_change(s, i, &out, err);
}

static enum ux_code stripped_rewrite(struct stripped_part *s, struct ux_error *err)
{
	const struct ux_elf_pair *p = s->pair;
	bool renumbered = stripped_is_renumbered(p);
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		uint32_t type = p->elf.sections[i].type;
		if (p->sections[i].stripped &&
		    (type == SHT_SYMTAB || (type == SHT_DYNSYM && renumbered)))
			UX_TRY(stripped_symbols(s, i, err));
	}
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		uint32_t type = p->elf.sections[i].type;
		if (!p->sections[i].stripped)
			continue;
		if (ux_pair_is_relocations(type))
			UX_TRY(stripped_relocations(s, i, err));
		else if (type == SHT_GROUP)
			UX_TRY(stripped_group(s, i, err));
	}
	return UX_OK;
}

/* --- names of sections ------------------------------------------------------------------------ */

/* Sets the offsets of names in the new table, or in the input's if that has to stay. */
static bool stripped_names_fit(const struct stripped_part *s)
{
	const struct ux_elf_pair *p = s->pair;
	uint64_t sum = 1;
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		if (p->sections[i].stripped)
			sum += strlen(p->elf.sections[i].name) + 1;
		if (sum > p->elf.sections[s->names_old].size)
			return false;
	}
	for (size_t i = 1; i < p->elf.n_sections; i++)
		if (p->sections[i].stripped && p->elf.sections[i].link == s->names_old &&
		    p->elf.sections[i].type == SHT_SYMTAB)
			return false; /* symbol names are in the same table */
	return true;
}

/*
 * Makes the table of names. It has only the remaining names, unless they would take more bytes than
 * the whole old table, whose names may share their ends.
 */
static enum ux_code stripped_names(struct stripped_part *s, struct ux_error *err)
{
	const struct ux_elf_pair *p = s->pair;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes old;
	bool renew = stripped_names_fit(s);
	UX_TRY(ux_elf_section_raw(&p->elf, &p->elf.sections[s->names_old], &old, err));
	/* Names that no table has are empty; they must not point at the following ones. */
	const uint32_t empty = ux_pair_names_begin(&out, renew ? UX_BYTES_NONE : old);
	for (size_t i = 1; i < p->elf.n_sections; i++) {
		const char *name = p->elf.sections[i].name;
		if (!p->sections[i].stripped)
			continue;
		if (strcmp(name, LINK_NAME) == 0)
			return ux_error_set(err, UX_EUNSUPPORTED,
					    "section %zu must stay, but has the name " LINK_NAME
					    ", which the new section needs",
					    i);
		uint32_t *to = &s->records.data[p->sections[i].index].name;
		if (!name[0])
			*to = empty;
		else if (renew)
			*to = (uint32_t)out.size;
		if (renew && name[0])
			ux_out_put(&out, name, strlen(name) + 1);
	}
	s->link_name = (uint32_t)out.size;
	ux_out_put(&out, LINK_NAME, sizeof(LINK_NAME));
	s->note_name = (uint32_t)out.size;
	if (p->note_size > 0)
		ux_out_put(&out, NOTE_NAME, sizeof(NOTE_NAME));
	return stripped_change(s, s->names_old, &out, err);
}

/* --- section headers -------------------------------------------------------------------------- */

static enum ux_code stripped_record(struct stripped_part *s, size_t i, struct ux_error *err)
{
	const struct ux_elf_pair *p = s->pair;
	struct ux_elf_section_record r = p->sections[i].record;
	if (i > 0) { /* fields of the null section are counts */
		r.link = stripped_index(s, r.link);
		if (r.type == SHT_SYMTAB && i == s->cut_table && s->cut.locals > 0)
			r.info = s->cut.locals;
		else if (r.type == SHT_GROUP && p->elf.sections[i].link == s->cut_table)
			r.info = stripped_symbol(s, r.info);
		else if (ux_pair_is_relocations(r.type) || (r.flags & SHF_INFO_LINK) != 0)
			r.info = stripped_index(s, r.info);
	}
	return ux_elf_section_records_append(&s->records, r) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code stripped_records(struct stripped_part *s, struct ux_error *err)
{
	for (size_t i = 0; i < s->pair->elf.n_sections; i++)
		if (i == 0 || s->pair->sections[i].stripped)
			UX_TRY(stripped_record(s, i, err));
	return UX_OK;
}

/* --- the pieces of the file ------------------------------------------------------------------- */

/* Bytes of the input that are replaced in place. */
struct overlay {
	uint64_t off; /* in the input */
	struct ux_bytes bytes;
};

UX_VEC(overlays, struct overlay);

static int stripped_overlay_compare(const void *a, const void *b)
{
	const struct overlay *x = a, *y = b;
	UX_ORDER(x->bytes.size, y->bytes.size);
	return 0;
}

/* Copies a piece, with the overlays in it. */
static enum ux_code stripped_put_piece(struct stripped_part *s, const struct ux_file_piece *piece,
				       const struct overlays *overlays, struct ux_error *err)
{
	uint64_t at = piece->off;
	const uint8_t *file = s->pair->elf.file.data;
	for (size_t i = 0; i < overlays->size; i++) {
		const struct overlay *o = &overlays->data[i];
		if (o->off < at || o->off >= piece->end || o->bytes.size > piece->end - o->off)
			continue;
		UX_TRY(ux_elf_image_put(s->image, at - piece->off + piece->moved,
					ux_bytes(file + at, (size_t)(o->off - at)), err));
		UX_TRY(ux_elf_image_put(s->image, o->off - piece->off + piece->moved, o->bytes,
					err));
		at = o->off + o->bytes.size;
	}
	return ux_elf_image_put(s->image, at - piece->off + piece->moved,
				ux_bytes(file + at, (size_t)(piece->end - at)), err);
}

/* Makes the table of segments with their new offsets. */
static enum ux_code stripped_segments(struct stripped_part *s, struct ux_bytes *ret,
				      struct ux_error *err)
{
	const struct ux_elf *elf = &s->pair->elf;
	const struct ux_elf_tables *t = &s->pair->tables;
	size_t word = elf->is64 ? 8 : 4, first = word; /* p_type, and p_flags in 64 bits */
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = elf->swap};
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *g = &elf->segments[i];
		const uint8_t *old = elf->file.data + t->segments_off + i * t->segment_size;
		ux_out_put(&out, old, first);
		ux_elf_put_word(&out, elf, ux_file_pieces_move(&s->pieces, g->off, g->filesz));
		ux_out_put(&out, old + first + word, t->segment_size - first - word);
	}
	return ux_elf_image_own(s->image, &out, ret, err);
}

/* Returns whether each byte of the section is in a piece: then it stays there; other sections
 * follow after the pieces. */
static bool stripped_is_anchored(const struct stripped_part *s, size_t i)
{
	const struct ux_elf_section_record *r = &s->pair->sections[i].record;
	return r->type != SHT_NOBITS && r->size > 0 &&
	       ux_file_pieces_at(&s->pieces, r->off, r->size) &&
	       (!s->changed[i].is || s->changed[i].bytes.size == r->size);
}

static enum ux_code stripped_put_pieces(struct stripped_part *s, struct overlays *overlays,
					struct ux_error *err)
{
	ux_sort_by_start(overlays->data, overlays->size, sizeof(*overlays->data),
			 stripped_overlay_compare);
	for (size_t i = 0; i < s->pieces.size; i++)
		UX_TRY(stripped_put_piece(s, &s->pieces.data[i], overlays, err));
	return UX_OK;
}

/* --- sections after the pieces ---------------------------------------------------------------- */

static enum ux_code stripped_put_section(struct stripped_part *s, size_t i, struct ux_error *err)
{
	const struct ux_elf_pair *p = s->pair;
	struct ux_elf_section_record *r = &s->records.data[p->sections[i].index];
	struct ux_bytes bytes = s->changed[i].bytes;
	if (stripped_is_anchored(s, i)) {
		r->off = ux_file_pieces_move(&s->pieces, r->off, r->size);
		return UX_OK;
	}
	/* Keep an empty section, such as .tm_clone_table of Go programs, at its place in its
	 * segment. */
	if (r->type == SHT_NOBITS || r->type == SHT_NULL || (r->size == 0 && !s->changed[i].is)) {
		r->off = ux_min(ux_file_pieces_move(&s->pieces, r->off, 0), s->image->size);
		return UX_OK;
	}
	if (!s->changed[i].is)
		UX_TRY(ux_elf_section_raw(&p->elf, &p->elf.sections[i], &bytes, err));
	r->off = ux_elf_image_align(s->image->size, r->align);
	r->size = bytes.size;
	return ux_elf_image_put(s->image, r->off, bytes, err);
}

static enum ux_code stripped_put_added(struct stripped_part *s, struct ux_elf_section_record r,
				       struct ux_bytes bytes, struct ux_error *err)
{
	r.off = ux_elf_image_align(s->image->size, 4);
	r.size = bytes.size;
	UX_TRY(ux_elf_image_put(s->image, r.off, bytes, err));
	return ux_elf_section_records_append(&s->records, r) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code stripped_put_link(struct stripped_part *s, const char *link, uint32_t crc,
				      struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = s->pair->elf.swap};
	struct ux_bytes bytes;
	ux_out_put(&out, link, strlen(link) + 1);
	ux_out_align(&out, 4);
	ux_out_u32(&out, crc);
	UX_TRY(ux_elf_image_own(s->image, &out, &bytes, err));
	struct ux_elf_section_record r = {.name = s->link_name, .type = SHT_PROGBITS, .align = 4};
	return stripped_put_added(s, r, bytes, err);
}

/* --- the file --------------------------------------------------------------------------------- */

static enum ux_code stripped_collect_overlays(struct stripped_part *s, struct overlays *overlays,
					      struct ux_error *err)
{
	const struct ux_elf_pair *p = s->pair;
	struct ux_bytes segments = UX_BYTES_NONE;
	UX_TRY(stripped_segments(s, &segments, err));
	if (segments.size > 0 &&
	    !overlays_append(overlays, (struct overlay){p->tables.segments_off, segments}))
		return ux_error_nomem(err);
	for (size_t i = 1; i < p->elf.n_sections; i++)
		if (p->sections[i].stripped && s->changed[i].is && stripped_is_anchored(s, i) &&
		    !overlays_append(overlays, (struct overlay){p->sections[i].record.off,
								s->changed[i].bytes}))
			return ux_error_nomem(err);
	return UX_OK;
}

static enum ux_code stripped_part_make(struct stripped_part *s, const char *link, uint32_t crc,
				       struct ux_error *err)
{
	const struct ux_elf_pair *p = s->pair;
	struct ux_elf_tables tables = p->tables;
	ux_cleanup(overlays_deinit) struct overlays overlays = {0};
	uint8_t *head = NULL;
	s->changed = calloc(p->elf.n_sections, sizeof(*s->changed));
	if (!s->changed)
		return ux_error_nomem(err);
	UX_TRY(stripped_rewrite(s, err));
	UX_TRY(stripped_records(s, err));
	UX_TRY(stripped_names(s, err));
	UX_TRY(ux_file_pieces_find(p, &s->pieces, err));
	UX_TRY(ux_elf_image_reserve(s->image, ux_elf_header_size(&p->elf), &head, err));
	if (!overlays_append(&overlays,
			     (struct overlay){0, ux_bytes(head, ux_elf_header_size(&p->elf))}))
		return ux_error_nomem(err);
	UX_TRY(stripped_collect_overlays(s, &overlays, err));
	UX_TRY(stripped_put_pieces(s, &overlays, err));
	for (size_t i = 1; i < p->elf.n_sections; i++)
		if (p->sections[i].stripped)
			UX_TRY(stripped_put_section(s, i, err));
	if (p->note_size > 0)
		UX_TRY(stripped_put_added(s, ux_pair_note_record(p, s->note_name, 0),
					  ux_bytes(p->note, p->note_size), err));
	UX_TRY(stripped_put_link(s, link, crc, err));
	tables.names = stripped_index(s, s->names_old);
	if (p->elf.n_segments > 0)
		tables.segments_off =
			ux_file_pieces_move(&s->pieces, p->tables.segments_off,
					    p->elf.n_segments * (uint64_t)tables.segment_size);
	UX_TRY(ux_elf_image_finish(s->image, &p->elf, &tables, &s->records, head, err));
	return UX_OK;
}

enum ux_code ux_elf_pair_stripped(const struct ux_elf_pair *pair, const char *link, uint32_t crc,
				  struct ux_elf_image *ret, struct ux_error *err)
{
	ux_cleanup(stripped_part_deinit) struct stripped_part s = {
		.pair = pair, .names_old = pair->tables.names, .image = ret};
	*ret = (struct ux_elf_image){0};
	enum ux_code code = stripped_part_make(&s, link, crc, err);
	if (code != UX_OK)
		ux_elf_image_deinit(ret);
	return code;
}
