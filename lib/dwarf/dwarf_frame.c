/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame and .debug_frame: entries, each with a length and either a CIE (the data that functions
 * share) or an FDE (one range of code, which refers to its CIE):
 *
 *   CIE   length, ID (0, in .debug_frame all ones), version, augmentation text, in version 4 sizes
 *         of addresses and segments, two alignments, a register; with "z" in the text a length and
 *         the data of its other letters; the data of R is the encoding of addresses in FDEs
 *   FDE   length, offset of its CIE (in .eh_frame the distance back from this field), first
 *         address, size
 *
 * A length of 0 ends the part of an object file like crtend.o; other parts may follow.
 */
#include "dwarf_frame.h"

enum {
	AUGMENTATION_MAX = 16, /* most letters that are read; "zPLRSB" has six */

	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORM = 0x0f,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_ALIGNED = 0x50,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* The state of reading a section. */
struct frame_reader {
	const struct ux_dwarf_frames *frames;
	struct ux_dwarf_cie *cie; /* the last CIE that was read */
	struct ux_error *err;
};

/*
 * Reads a number with an encoding of PE_*, sign-extended; latches a failure for an unknown
 * encoding.
 */
static uint64_t frame_read_form(struct ux_cur *c, unsigned form, unsigned address_size)
{
	switch (form) {
	case PE_ABSPTR:
		return ux_cur_uint(c, address_size);
	case PE_ULEB128:
		return ux_cur_uleb(c);
	case PE_UDATA2:
		return ux_cur_u16(c);
	case PE_UDATA4:
		return ux_cur_u32(c);
	case PE_UDATA8:
	case PE_SDATA8:
		return ux_cur_u64(c);
	case PE_SLEB128:
		return (uint64_t)ux_cur_sleb(c);
	case PE_SDATA2:
		return (uint64_t)(int16_t)ux_cur_u16(c);
	case PE_SDATA4:
		return (uint64_t)(int32_t)ux_cur_u32(c);
	default:
		ux_cur_bad(c, "unknown pointer encoding");
		return 0;
	}
}

bool ux_dwarf_frame_pointer(struct ux_cur *c, const struct ux_dwarf_frames *f, uint8_t encoding,
			    unsigned address_size, uint64_t *ret)
{
	if (encoding == PE_OMIT)
		return false;
	uint64_t here = f->pc + ux_cur_off(c);
	if ((encoding & PE_BASE) == PE_ALIGNED) {
		ux_cur_skip(c, -here & (address_size - 1));
		encoding = PE_ABSPTR;
	}
	uint64_t v = frame_read_form(c, encoding & PE_FORM, address_size);
	switch (encoding & PE_BASE) {
	case 0:
		break;
	case PE_PCREL:
		v += here;
		break;
	case PE_TEXTREL:
		v += f->text_pc;
		break;
	case PE_DATAREL:
		v += f->data_pc;
		break;
	default:
		return false;
	}
	*ret = address_size == 4 ? (uint32_t)v : v;
	return (encoding & PE_INDIRECT) == 0;
}

/* Reads the data of the letters after "z". */
static void cie_read_augmentation(struct ux_cur *c, const struct ux_dwarf_frames *f,
				  struct ux_bytes text, struct ux_dwarf_cie *cie)
{
	uint64_t ignored = 0;
	cie->augmented = true;
	struct ux_cur data = ux_cur_sub(c, ux_cur_uleb(c));
	for (size_t i = 1; i < ux_min(text.size, (size_t)AUGMENTATION_MAX); i++) {
		uint8_t encoding = 0;
		switch (text.data[i]) {
		case 'R':
			cie->encoding = ux_cur_u8(&data);
			break;
		case 'P':
			encoding = ux_cur_u8(&data);
			(void)ux_dwarf_frame_pointer(&data, f, encoding, cie->address_size,
						     &ignored);
			break;
		case 'L':
			(void)ux_cur_u8(&data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
		case 'G':
			break;
		default:
			cie->known = false; /* the data of R may follow it */
			return;
		}
	}
	cie->known = cie->known && !data.failed;
}

/*
 * Reads the entry's length and returns a cursor for the entry. *ret_wide: the entry is in the
 * 64-bit format of DWARF.
 */
static struct ux_cur frame_read_length(struct ux_cur *c, bool *ret_wide)
{
	uint64_t length = ux_cur_u32(c);
	*ret_wide = length == UINT32_MAX;
	if (*ret_wide)
		length = ux_cur_u64(c);
	return ux_cur_sub(c, length);
}

/* Reads the CIE's ID or pointer. In .eh_frame it has four bytes in both formats. */
static uint64_t frame_read_id(struct ux_cur *c, bool wide, bool eh)
{
	return wide && !eh ? ux_cur_u64(c) : ux_cur_u32(c);
}

static bool frame_is_cie(uint64_t id, bool wide, bool eh)
{
	return id == (eh ? 0 : wide ? UINT64_MAX : UINT32_MAX);
}

/* Reads the CIE at off into r->cie; a malformed one is not `known`. */
static void cie_read(struct frame_reader *r, uint64_t off)
{
	const struct ux_dwarf_frames *f = r->frames;
	struct ux_dwarf_cie *cie = r->cie;
	struct ux_cur all = ux_cur_make(f->data, ".eh_frame", f->swap);
	bool wide = false;
	*cie = (struct ux_dwarf_cie){.off = off, .address_size = f->address_size, .known = true};
	ux_cur_seek(&all, off);
	struct ux_cur c = frame_read_length(&all, &wide);
	if (all.failed || !frame_is_cie(frame_read_id(&c, wide, f->eh), wide, f->eh)) {
		cie->known = false;
		return;
	}
	uint8_t version = ux_cur_u8(&c);
	struct ux_bytes text = ux_cur_str(&c);
	if (ux_bytes_eq(text, UX_STR("eh"))) /* written by GCC 2 */
		ux_cur_skip(&c, f->address_size);
	if (version >= 4) {
		cie->address_size = ux_cur_u8(&c);
		cie->segment_size = ux_cur_u8(&c);
	}
	cie->code_align = ux_cur_uleb(&c);
	cie->data_align = ux_cur_sleb(&c);
	cie->ra = version == 1 ? ux_cur_u8(&c) : ux_cur_uleb(&c);
	if (text.size > 0 && text.data[0] == 'z')
		cie_read_augmentation(&c, f, text, cie);
	cie->instructions = ux_bytes(c.pos, ux_cur_left(&c));
	cie->known = cie->known && !c.failed && version >= 1 && version <= 4 &&
		     (cie->address_size == 4 || cie->address_size == 8);
}

/* Reads an FDE from after its CIE pointer on. False: its address is unknown, or it is empty. */
static bool fde_read(struct frame_reader *r, struct ux_cur *c, uint64_t cie,
		     struct ux_dwarf_fde *ret)
{
	uint64_t size = 0;
	if (r->cie->off != cie)
		cie_read(r, cie);
	if (!r->cie->known)
		return false;
	ux_cur_skip(c, r->cie->segment_size);
	bool sure = ux_dwarf_frame_pointer(c, r->frames, r->cie->encoding, r->cie->address_size,
					   &ret->lo);
	size = frame_read_form(c, r->cie->encoding & PE_FORM, r->cie->address_size);
	if ((r->cie->encoding & PE_FORM) == PE_SDATA4) /* a size is unsigned */
		size = (uint32_t)size;
	ret->cie = r->cie;
	return sure && size > 0 && !__builtin_add_overflow(ret->lo, size, &ret->hi) &&
	       !(r->cie->address_size == 4 && ret->hi > (uint64_t)1 << 32);
}

/*
 * Reads the entry at the cursor, and moves the cursor past it. *ret_found: the entry is an FDE of a
 * function with a known range. `all` fails if the entry exceeds the section.
 */
static enum ux_code frame_read_entry(struct frame_reader *r, struct ux_cur *all,
				     struct ux_dwarf_fde *ret, bool *ret_found)
{
	const struct ux_dwarf_frames *f = r->frames;
	bool wide = false;
	*ret_found = false;
	*ret = (struct ux_dwarf_fde){.off = ux_cur_off(all)};
	struct ux_cur c = frame_read_length(all, &wide);
	if (!ux_cur_more(&c))
		return UX_OK; /* a terminator, or the failure of `all` */
	uint64_t field = ux_cur_off(&c);
	uint64_t id = frame_read_id(&c, wide, f->eh);
	UX_TRY(ux_cur_status(&c, r->err));
	if (frame_is_cie(id, wide, f->eh))
		return UX_OK;
	if (f->eh && id > field)
		return ux_error_at(r->err, UX_ECORRUPT, all->section, field,
				   "CIE is %" PRIu64 " bytes before the section", id - field);
	*ret_found = fde_read(r, &c, f->eh ? field - id : id, ret);
	UX_TRY(ux_cur_status(&c, r->err));
	if (*ret_found && r->cie->augmented)
		ux_cur_skip(&c, ux_cur_uleb(&c)); /* a damaged size leaves no instructions */
	ret->instructions = ux_bytes(c.pos, ux_cur_left(&c));
	return UX_OK;
}

enum ux_code ux_dwarf_frames_each(const struct ux_dwarf_frames *f, ux_dwarf_fde_fn *fn, void *ctx,
				  struct ux_error *err)
{
	struct ux_dwarf_cie cie = {.off = UINT64_MAX};
	struct frame_reader r = {.frames = f, .cie = &cie, .err = err};
	struct ux_cur all = ux_cur_make(f->data, f->eh ? ".eh_frame" : ".debug_frame", f->swap);
	while (ux_cur_more(&all)) {
		struct ux_dwarf_fde fde;
		bool found = false;
		UX_TRY(frame_read_entry(&r, &all, &fde, &found));
		if (found && !fn(ctx, &fde))
			return ux_error_nomem(err);
	}
	return ux_cur_status(&all, err);
}

enum ux_code ux_dwarf_fde_read(const struct ux_dwarf_frames *f, uint64_t off,
			       struct ux_dwarf_cie *cie, struct ux_dwarf_fde *ret,
			       struct ux_error *err)
{
	struct frame_reader r = {.frames = f, .cie = cie, .err = err};
	struct ux_cur all = ux_cur_make(f->data, f->eh ? ".eh_frame" : ".debug_frame", f->swap);
	bool found = false;
	ux_cur_seek(&all, off);
	UX_TRY(frame_read_entry(&r, &all, ret, &found));
	UX_TRY(ux_cur_status(&all, err));
	return found ? UX_OK
		     : ux_error_at(err, UX_ECORRUPT, all.section, off, "describes no function");
}

/* A ux_dwarf_fde_fn; ctx is a struct ux_range_vec. */
static bool frame_append_range(void *ctx, const struct ux_dwarf_fde *fde)
{
	return ux_range_vec_append(ctx, (struct ux_range){fde->lo, fde->hi});
}

enum ux_code ux_dwarf_frames_read(const struct ux_dwarf_frames *f, struct ux_range_vec *out,
				  struct ux_error *err)
{
	return ux_dwarf_frames_each(f, frame_append_range, out, err);
}

bool ux_dwarf_frame_hdr(struct ux_bytes hdr, uint64_t pc, bool swap, uint8_t address_size,
			uint64_t *ret_pc)
{
	struct ux_dwarf_frames f = {.pc = pc, .data_pc = pc, .swap = swap, .eh = true};
	struct ux_cur c = ux_cur_make(hdr, ".eh_frame_hdr", swap);
	uint8_t version = ux_cur_u8(&c), encoding = ux_cur_u8(&c);
	ux_cur_skip(&c, 2); /* the encodings of the number of entries and of the entries */
	return version == 1 && ux_dwarf_frame_pointer(&c, &f, encoding, address_size, ret_pc) &&
	       !c.failed;
}
