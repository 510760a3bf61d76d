/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end. */
#include "function_bounds.h"

#include "dwarf_frame.h"
#include "order.h"

enum {
	EXIDX_CANTUNWIND = 1,

	FRAMES_MOST = 1 << 30, /* bytes of a .debug_frame that is compressed */
};

/* One file at work. */
struct bounds {
	const struct ux_elf *elf;
	const struct ux_range_set *text;
	struct ux_range_vec list;
	struct ux_error bad; /* the first damage */
};

static uint64_t bounds_section_pc(const struct ux_elf *elf, const char *name)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	return s ? s->addr : 0;
}

static enum ux_code bounds_add_frames(struct bounds *b, struct ux_bytes data, uint64_t pc, bool eh)
{
	struct ux_dwarf_frames frames = {
		.data = data,
		.pc = pc,
		.text_pc = bounds_section_pc(b->elf, ".text"),
		.data_pc = bounds_section_pc(b->elf, ".got"),
		.eh = eh,
		.swap = b->elf->swap,
		.address_size = b->elf->is64 ? 8 : 4,
	};
	enum ux_code code = ux_dwarf_frames_read(&frames, &b->list, &b->bad);
	return code == UX_ENOMEM ? code : UX_OK;
}

/* .eh_frame of a file without a section table: up to the end of its segment or a terminator. */
static enum ux_code bounds_add_segment(struct bounds *b)
{
	const struct ux_elf *elf = b->elf;
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		uint64_t pc = 0;
		if (s->type != PT_GNU_EH_FRAME ||
		    !ux_dwarf_frame_hdr(ux_elf_bytes_at(elf, s->vaddr), s->vaddr, elf->swap,
					elf->is64 ? 8 : 4, &pc))
			continue;
		struct ux_error end = b->bad; /* what lies behind the frames makes no sense */
		UX_TRY(bounds_add_frames(b, ux_elf_bytes_at(elf, pc), pc, /* eh= */ true));
		b->bad = end;
		return UX_OK;
	}
	return UX_OK;
}

static enum ux_code bounds_add_section(struct bounds *b, const char *name, bool eh)
{
	const struct ux_elf_section *s = ux_elf_section_find(b->elf, name);
	ux_cleanup(ux_elf_content_free) struct ux_elf_content content = {0};
	uint64_t most = ux_min(b->elf->file.size * (uint64_t)32, (uint64_t)FRAMES_MOST);
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	enum ux_code code = ux_elf_section_load(b->elf, s, most, NULL, &content, &b->bad);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : UX_OK;
	return bounds_add_frames(b, content.bytes, eh ? s->addr : 0, eh);
}

/*
 * .ARM.exidx: two words a function, in the order of their addresses: the distance from the word to
 * the function in 31 bits, and how to unwind it (Exception Handling ABI for the ARM Architecture,
 * 5). Linkers make one entry of neighbours that unwind alike, which functions that cannot be
 * unwound all do: what is between is no function.
 */
static enum ux_code bounds_add_exidx(struct bounds *b)
{
	const struct ux_elf_section *s = ux_elf_section_find(b->elf, ".ARM.exidx");
	struct ux_bytes raw = UX_BYTES_NONE;
	if (b->elf->machine != EM_ARM || !s || ux_elf_section_raw(b->elf, s, &raw, NULL) != UX_OK)
		return UX_OK;
	struct ux_cur c = ux_cur_make(raw, s->name, b->elf->swap);
	uint32_t last = 0;
	bool any = false; /* the entry before can be unwound, so it is one function's */
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

/* Sorts, drops what begins outside of text, cuts what reaches into the next one. */
static void bounds_settle(struct bounds *b)
{
	struct ux_range *r = b->list.data;
	size_t kept = 0;
	if (b->list.size == 0)
		return;
	ux_sort_by_start(r, b->list.size, sizeof(*r), bounds_compare);
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

static enum ux_code bounds_gather(struct bounds *b)
{
	if (b->elf->type == ET_REL)
		return UX_OK;
	if (b->elf->n_sections == 0)
		return bounds_add_segment(b);
	UX_TRY(bounds_add_section(b, ".eh_frame", /* eh= */ true));
	UX_TRY(bounds_add_section(b, ".debug_frame", /* eh= */ false));
	return bounds_add_exidx(b);
}

enum ux_code ux_function_bounds(const struct ux_elf *elf, const struct ux_range_set *text,
				struct ux_range_vec *ret, struct ux_error *ret_bad,
				struct ux_error *err)
{
	struct bounds b = {.elf = elf, .text = text, .bad = UX_ERROR_INIT};
	if (bounds_gather(&b) != UX_OK) {
		ux_range_vec_deinit(&b.list);
		return ux_error_nomem(err);
	}
	bounds_settle(&b);
	*ret = b.list;
	if (ret_bad)
		*ret_bad = b.bad;
	return UX_OK;
}
