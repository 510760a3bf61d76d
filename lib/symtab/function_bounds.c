/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of functions. */
#include "function_bounds.h"

#include "dwarf_frame.h"
#include "elf_file.h"
#include "order.h"

enum {
	EXIDX_CANTUNWIND = 1,

	FRAMES_MAX = 1 << 30, /* largest decompressed size of a .debug_frame */
};

/* State of reading one object. */
struct bounds {
	const struct ux_object *object;
	const struct ux_range_set *text;
	struct ux_range_vec list;
	struct ux_error bad; /* the first damage */
};

static uint64_t bounds_section_pc(const struct ux_object *object, const char *name)
{
	struct ux_section s;
	return ux_object_section_find(object, name, &s) ? s.pc : 0;
}

static enum ux_code bounds_add_frames(struct bounds *b, struct ux_bytes data, uint64_t pc, bool eh)
{
	struct ux_dwarf_frames frames = {
		.data = data,
		.pc = pc,
		.text_pc = bounds_section_pc(b->object, ".text"),
		.data_pc = bounds_section_pc(b->object, ".got"),
		.eh = eh,
		.swap = b->object->swap,
		.address_size = b->object->is64 ? 8 : 4,
	};
	enum ux_code code = ux_dwarf_frames_read(&frames, &b->list, &b->bad);
	return code == UX_ENOMEM ? code : UX_OK;
}

/* .eh_frame of an ELF file without a section table: it extends to the end of its segment or to a
 * terminator. */
static enum ux_code bounds_add_segment(struct bounds *b, const struct ux_elf *elf)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		uint64_t pc = 0;
		if (s->type != PT_GNU_EH_FRAME ||
		    !ux_dwarf_frame_hdr(ux_elf_bytes_at(elf, s->vaddr), s->vaddr, elf->swap,
					elf->is64 ? 8 : 4, &pc))
			continue;
		struct ux_error before = b->bad; /* damage after the frames is not counted */
		UX_TRY(bounds_add_frames(b, ux_elf_bytes_at(elf, pc), pc, /* eh= */ true));
		b->bad = before;
		return UX_OK;
	}
	return UX_OK;
}

static enum ux_code bounds_add_section(struct bounds *b, const char *name, bool eh)
{
	struct ux_section s;
	struct ux_section_bytes stored;
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	uint64_t max = ux_min(b->object->file.size * (uint64_t)32, (uint64_t)FRAMES_MAX);
	if (!ux_object_section_find(b->object, name, &s) || !s.stored)
		return UX_OK;
	enum ux_code code = ux_section_bytes(b->object, &s, &stored, &b->bad);
	if (code == UX_OK)
		code = ux_content_load(&stored, max, b->list.spill, &content, &b->bad);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : UX_OK;
	return bounds_add_frames(b, content.bytes, eh ? s.pc : 0, eh);
}

/*
 * .ARM.exidx has two words for each function, in the order of their addresses: the distance from
 * the word to the function in 31 bits, and how to unwind it (Exception Handling ABI for the ARM
 * Architecture, 5). Linkers merge consecutive functions that are unwound alike into one entry. All
 * functions that cannot be unwound are alike, so the range of their entry may cover several
 * functions.
 */
static enum ux_code bounds_add_exidx(struct bounds *b, const struct ux_elf *elf)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".ARM.exidx");
	struct ux_bytes raw = UX_BYTES_NONE;
	if (elf->machine != EM_ARM || !s || ux_elf_section_raw(elf, s, &raw, NULL) != UX_OK)
		return UX_OK;
	struct ux_cur c = ux_cur_make(raw, s->name, elf->swap);
	uint32_t last = 0;
	bool any = false; /* the previous entry can be unwound, so it covers one function */
	while (ux_cur_left(&c) >= 8) {
		uint32_t here = (uint32_t)(s->addr + ux_cur_off(&c));
		uint32_t pc = here + (uint32_t)((int32_t)(ux_cur_u32(&c) << 1) >> 1);
		uint32_t how = ux_cur_u32(&c);
		pc &= ~(uint32_t)1;
		if (any && pc > last && !ux_range_vec_append(&b->list, (struct ux_range){last, pc}))
			return UX_ENOMEM;
		last = pc;
		any = how != EXIDX_CANTUNWIND;
	}
	return UX_OK;
}

static int bounds_compare(const void *x, const void *y)
{
	const struct ux_range *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(a->hi, b->hi);
	return 0;
}

enum ux_code ux_object_text(const struct ux_object *object, struct ux_range_vec *ret,
			    struct ux_error *err)
{
	ux_cleanup(ux_object_ranges_deinit) struct ux_object_ranges all = {0};
	UX_TRY(object->format->text(object, &all, err));
	if (!ux_range_vec_reserve(ret, all.size))
		return ux_error_nomem(err);
	for (size_t i = 0; i < all.size; i++) {
		struct ux_range r = {.lo = all.data[i].pc};
		/* A section that is empty, or wraps around the address space, contains no code. */
		if (all.data[i].size > 0 && !__builtin_add_overflow(r.lo, all.data[i].size, &r.hi))
			ret->data[ret->size++] = r;
	}
	if (ret->size > 1)
		qsort(ret->data, ret->size, sizeof(*ret->data), bounds_compare);
	size_t kept = 0;
	struct ux_range *r = ret->data;
	for (size_t i = 0; i < ret->size; i++) {
		if (kept >
		    0) /* linkers do not make them overlap, but the binary search relies on this */
			r[i].lo = ux_max(r[i].lo, r[kept - 1].hi);
		if (r[i].lo < r[i].hi)
			r[kept++] = r[i];
	}
	ret->size = kept;
	return UX_OK;
}

/*
 * Sorts the ranges, drops ranges that begin outside of text, and cuts each at the start of the next
 * one.
 */
static void bounds_normalize(struct bounds *b)
{
	struct ux_range *r = b->list.data;
	size_t kept = 0;
	if (b->list.size == 0)
		return;
	ux_sort_by_start_spilled(r, b->list.size, sizeof(*r), bounds_compare, b->list.spill);
	for (size_t i = 0; i < b->list.size; i++) {
		const struct ux_range *home = ux_range_set_find(b->text, r[i].lo);
		if (!home || (kept > 0 && r[kept - 1].lo == r[i].lo))
			continue;
		if (kept > 0)
			r[kept - 1].hi = ux_min(r[kept - 1].hi, r[i].lo);
		r[kept++] = (struct ux_range){r[i].lo, ux_min(r[i].hi, home->hi)};
	}
	b->list.size = kept;
}

/* Adds the listed functions, each up to the start of the next one or to the end of its section. */
static enum ux_code bounds_add_starts(struct bounds *b, struct ux_error *err)
{
	ux_cleanup(ux_object_words_deinit) struct ux_object_words starts = {0};
	struct ux_range_vec *list = &b->list;
	UX_TRY(b->object->format->starts(b->object, &starts, err));
	for (size_t i = 0; i < starts.size; i++) {
		uint64_t pc = starts.data[i].pc;
		const struct ux_range *home = ux_range_set_find(b->text, pc);
		if (list->size > 0)
			list->data[list->size - 1].hi = ux_min(list->data[list->size - 1].hi, pc);
		if (home && !ux_range_vec_append(list, (struct ux_range){pc, home->hi}))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code bounds_add_unwind(struct bounds *b)
{
	const struct ux_elf *elf = ux_elf_of(b->object);
	if (!b->object->linked)
		return UX_OK;
	if (elf && b->object->no_sections) {
		UX_TRY(bounds_add_segment(b, elf));
	} else {
		UX_TRY(bounds_add_section(b, ".eh_frame", /* eh= */ true));
		UX_TRY(bounds_add_section(b, ".debug_frame", /* eh= */ false));
		if (elf)
			UX_TRY(bounds_add_exidx(b, elf));
	}
	bounds_normalize(b);
	return UX_OK;
}

enum ux_code ux_function_bounds_read(const struct ux_object *object,
				     const struct ux_range_set *text,
				     struct ux_function_bounds *ret, struct ux_error *ret_bad,
				     struct ux_error *err)
{
	struct bounds b = {.object = object,
			   .text = text,
			   .list.spill = ret->list.spill,
			   .bad = UX_ERROR_INIT};
	bool complete = object->format->starts != NULL;
	enum ux_code code = complete ? bounds_add_starts(&b, err) : bounds_add_unwind(&b);
	if (code != UX_OK) {
		ux_range_vec_deinit(&b.list);
		return complete ? code : ux_error_nomem(err);
	}
	*ret = (struct ux_function_bounds){.list = b.list, .complete = complete};
	*ret_bad = b.bad;
	return UX_OK;
}

void ux_function_bounds_deinit(struct ux_function_bounds *bounds)
{
	ux_range_vec_deinit(&bounds->list);
}
