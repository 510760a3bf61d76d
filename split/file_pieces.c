/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an ELF file that stay together. */
#include "pair_parts.h"

#include "order.h"

static enum ux_code pieces_add(struct ux_file_pieces *pieces, uint64_t off, uint64_t size,
			       uint64_t align, struct ux_error *err)
{
	bool power = align > 0 && (align & (align - 1)) == 0;
	struct ux_file_piece piece = {.off = off, .end = off + size, .align = power ? align : 1};
	if (size == 0)
		return UX_OK;
	return ux_file_pieces_append(pieces, piece) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code pieces_collect(const struct ux_elf_pair *pair, struct ux_file_pieces *pieces,
				   struct ux_error *err)
{
	const struct ux_elf *elf = &pair->elf;
	UX_TRY(pieces_add(pieces, 0, ux_elf_header_size(elf), 1, err));
	UX_TRY(pieces_add(pieces, pair->tables.segments_off,
			  elf->n_segments * (uint64_t)pair->tables.segment_size, 8, err));
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		UX_TRY(pieces_add(pieces, s->off, s->filesz, s->align, err));
	}
	return UX_OK;
}

static int pieces_by_start(const void *a, const void *b)
{
	const struct ux_file_piece *x = a, *y = b;
	UX_ORDER(x->end, y->end);
	return 0;
}

static bool pieces_overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	return a < b_end && b < a_end;
}

/* Returns whether something between two pieces is not in the stripped file. */
static bool pieces_gap_is_freed(const struct ux_elf_pair *pair, uint64_t from, uint64_t to)
{
	const struct ux_elf_tables *t = &pair->tables;
	if (pieces_overlap(from, to, t->sections_off,
			   t->sections_off + pair->elf.n_sections * (uint64_t)t->section_size))
		return true;
	for (size_t i = 1; i < pair->elf.n_sections; i++) {
		const struct ux_elf_section_record *s = &pair->sections[i].record;
		if (!pair->sections[i].stripped && s->type != SHT_NOBITS &&
		    pieces_overlap(from, to, s->off, s->off + s->size))
			return true;
	}
	return false;
}

static void pieces_merge(const struct ux_elf_pair *pair, struct ux_file_pieces *pieces)
{
	size_t n = 0;
	for (size_t i = 0; i < pieces->size; i++) {
		struct ux_file_piece *next = &pieces->data[i];
		struct ux_file_piece *last = n > 0 ? &pieces->data[n - 1] : NULL;
		if (last &&
		    (next->off <= last->end || !pieces_gap_is_freed(pair, last->end, next->off))) {
			last->end = ux_max(last->end, next->end);
			last->align = ux_max(last->align, next->align);
		} else {
			pieces->data[n++] = *next;
		}
	}
	pieces->size = n;
}

enum ux_code ux_file_pieces_find(const struct ux_elf_pair *pair, struct ux_file_pieces *ret,
				 struct ux_error *err)
{
	UX_TRY(pieces_collect(pair, ret, err));
	ux_sort_by_start(ret->data, ret->size, sizeof(*ret->data), pieces_by_start);
	pieces_merge(pair, ret);
	uint64_t end = 0;
	for (size_t i = 0; i < ret->size; i++) {
		struct ux_file_piece *p = &ret->data[i];
		p->moved = end + ((p->off - end) & (p->align - 1));
		end = p->moved + (p->end - p->off);
	}
	return UX_OK;
}

const struct ux_file_piece *ux_file_pieces_at(const struct ux_file_pieces *pieces, uint64_t off,
					      uint64_t n)
{
	for (size_t i = 0; i < pieces->size; i++) {
		const struct ux_file_piece *p = &pieces->data[i];
		if (off >= p->off && off <= p->end && n <= p->end - off)
			return p;
	}
	return NULL;
}

uint64_t ux_file_pieces_move(const struct ux_file_pieces *pieces, uint64_t off, uint64_t n)
{
	const struct ux_file_piece *p = ux_file_pieces_at(pieces, off, n);
	return p ? off - p->off + p->moved : off;
}
