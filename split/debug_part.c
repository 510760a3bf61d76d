/* SPDX-License-Identifier: Apache-2.0 */
/* The debug file of a pair. */
#include "pair_parts.h"

/* Bytes that all sections of one file may inflate to. The largest known ones, of browsers, have 3
 * GiB. */
#define INFLATED_MAX (UINT64_C(8) << 30)

/* The state of one debug file. */
struct debug_part {
	const struct ux_elf_pair *pair;
	struct ux_elf_section_records records;
	struct ux_elf_image *image;
	uint64_t inflate_left;
};

static void debug_part_deinit(struct debug_part *d)
{
	ux_elf_section_records_deinit(&d->records);
}

/* Makes the table of section names, with the new build ID's section at the end. */
static enum ux_code debug_part_names(struct debug_part *d, struct ux_elf_section_record *record,
				     struct ux_bytes *bytes, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out names = {0};
	(void)ux_pair_names_begin(&names, *bytes);
	ux_out_put(&names, ".note.gnu.build-id", sizeof(".note.gnu.build-id"));
	record->size = names.size;
	return ux_elf_image_own(d->image, &names, bytes, err);
}

/* Places the content of a section, or its substitute. */
static enum ux_code debug_part_section(struct debug_part *d, size_t i, struct ux_error *err)
{
	const struct ux_elf_pair *p = d->pair;
	const struct ux_elf_section *s = &p->elf.sections[i];
	struct ux_elf_section_record r = p->sections[i].record;
	struct ux_bytes bytes = UX_BYTES_NONE;
	if (i == 0) /* its fields are counts */
		return ux_elf_section_records_append(&d->records, r) ? UX_OK : ux_error_nomem(err);
	if (!p->sections[i].content && s->type != SHT_NOBITS && s->type != SHT_NULL)
		r.type = SHT_NOBITS;
	if (p->sections[i].content) {
		UX_TRY(ux_pair_pack(p, s, &r, &d->inflate_left, d->image, &bytes, err));
		if (i == p->tables.names && p->note_size > 0)
			UX_TRY(debug_part_names(d, &r, &bytes, err));
	}
	r.off = bytes.size > 0 ? ux_elf_image_align(d->image->size, r.align) : d->image->size;
	UX_TRY(ux_elf_image_put(d->image, r.off, bytes, err));
	return ux_elf_section_records_append(&d->records, r) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code debug_part_note(struct debug_part *d, struct ux_error *err)
{
	const struct ux_elf_pair *p = d->pair;
	uint32_t name = p->tables.names < d->records.size
				? (uint32_t)d->records.data[p->tables.names].size -
					  (uint32_t)sizeof(".note.gnu.build-id")
				: 0;
	/* Names that no table has are empty; they must not point at the build ID's. */
	for (size_t i = 1; i < d->records.size; i++)
		if (!p->elf.sections[i].name[0])
			d->records.data[i].name = name - 1;
	struct ux_elf_section_record r =
		ux_pair_note_record(p, name, ux_elf_image_align(d->image->size, 4));
	UX_TRY(ux_elf_image_put(d->image, r.off, ux_bytes(p->note, p->note_size), err));
	return ux_elf_section_records_append(&d->records, r) ? UX_OK : ux_error_nomem(err);
}

/*
 * Finds the notes of a PT_NOTE segment in the debug file. False unless every section in it has
 * moved by the same distance: then the segment gets no content.
 */
static bool debug_part_find_notes(const struct debug_part *d, const struct ux_elf_segment *segment,
				  uint64_t *ret)
{
	bool any = false;
	uint64_t off = 0;
	for (size_t i = 1; i < d->pair->elf.n_sections; i++) {
		const struct ux_elf_section_record *was = &d->pair->sections[i].record;
		if (was->type == SHT_NOBITS || was->size == 0 || was->off < segment->off ||
		    was->off - segment->off >= segment->filesz)
			continue;
		if (!d->pair->sections[i].content ||
		    d->records.data[i].off < was->off - segment->off)
			return false;
		uint64_t start = d->records.data[i].off - (was->off - segment->off);
		if (any && start != off)
			return false;
		off = start;
		any = true;
	}
	*ret = off;
	return any && off + segment->filesz <= d->image->size;
}

/*
 * Sets the offset and size of a segment in the debug file. A segment without content begins at an
 * offset that fits its address (gABI, "Program Header": they are congruent modulo p_align).
 */
static void debug_part_segment(const struct debug_part *d, const struct ux_elf_segment *s,
			       uint64_t *ret_off, uint64_t *ret_size)
{
	*ret_size = 0;
	*ret_off = 0;
	uint64_t header = ux_elf_header_size(&d->pair->elf);
	uint64_t tables = d->pair->elf.n_segments * (uint64_t)d->pair->tables.segment_size;
	if (s->type == PT_PHDR) {
		*ret_off = header;
		*ret_size = s->filesz;
	} else if (s->type == PT_LOAD && s->off == 0 && s->filesz >= header + tables) {
		*ret_size = header + tables;
	} else if (s->type == PT_NOTE && debug_part_find_notes(d, s, ret_off)) {
		*ret_size = s->filesz;
	} else if (s->align > 1 && (s->align & (s->align - 1)) == 0) {
		*ret_off = s->vaddr & (s->align - 1);
	}
}

/* Writes the table of segments into the room after the header. */
static void debug_part_segments(const struct debug_part *d, struct ux_out *out)
{
	const struct ux_elf *elf = &d->pair->elf;
	const struct ux_elf_tables *t = &d->pair->tables;
	size_t word = elf->is64 ? 8 : 4, first = elf->is64 ? 8 : 4; /* p_type, p_flags | p_type */
	for (size_t i = 0; i < elf->n_segments; i++) {
		const uint8_t *old = elf->file.data + t->segments_off + i * t->segment_size;
		uint64_t off = 0, size = 0;
		debug_part_segment(d, &elf->segments[i], &off, &size);
		ux_out_put(out, old, first);
		ux_elf_put_word(out, elf, off);
		ux_out_put(out, old + first + word, 2 * word); /* p_vaddr, p_paddr */
		ux_elf_put_word(out, elf, size);
		size_t done = first + 4 * word;
		ux_out_put(out, old + done, t->segment_size - done);
	}
}

static enum ux_code debug_part_make(struct debug_part *d, struct ux_error *err)
{
	const struct ux_elf_pair *p = d->pair;
	ux_cleanup(ux_out_deinit) struct ux_out segments = {.swap = p->elf.swap};
	uint8_t *head = NULL; /* header and table of segments, filled at the end */
	struct ux_elf_tables tables = p->tables;
	tables.segments_off = p->elf.n_segments > 0 ? ux_elf_header_size(&p->elf) : 0;
	size_t fixed = ux_elf_header_size(&p->elf);
	size_t head_size = fixed + p->elf.n_segments * tables.segment_size;
	UX_TRY(ux_elf_image_reserve(d->image, head_size, &head, err));
	UX_TRY(ux_elf_image_put(d->image, 0, ux_bytes(head, head_size), err));
	for (size_t i = 0; i < p->elf.n_sections; i++)
		UX_TRY(debug_part_section(d, i, err));
	if (p->note_size > 0)
		UX_TRY(debug_part_note(d, err));
	UX_TRY(ux_elf_image_finish(d->image, &p->elf, &tables, &d->records, head, err));
	debug_part_segments(d, &segments);
	UX_TRY(ux_out_status(&segments, err));
	if (segments.size > 0)
		memcpy(head + fixed, segments.data, segments.size);
	return UX_OK;
}

enum ux_code ux_elf_pair_debug(const struct ux_elf_pair *pair, struct ux_elf_image *ret,
			       struct ux_error *err)
{
	ux_cleanup(debug_part_deinit) struct debug_part d = {
		.pair = pair, .image = ret, .inflate_left = INFLATED_MAX};
	*ret = (struct ux_elf_image){0};
	enum ux_code code = debug_part_make(&d, err);
	if (code != UX_OK)
		ux_elf_image_deinit(ret);
	return code;
}
