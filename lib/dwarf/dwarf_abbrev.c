/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviation tables into skip programs (DWARF 5, 7.5.3). */
#include "dwarf_abbrev.h"

#include "dwarf_defs.h"
#include "vec.h"

enum {
	TABLE_MOST = 16u << 20, /* bytes of one table; clang's largest have some 100,000 */
	ATTRS_MOST = 1024,      /* attributes of one abbreviation; real ones stay under 40 */
};

/* The longest run of fixed forms, 16 bytes each, fits beside the opcode. */
static_assert(ATTRS_MOST * 16 <= 0xffffff, "a SKIP's argument has 24 bits");

static_assert(UX_SLOT_COUNT < 32, "UX_OP_LOAD has five bits for the slot");

struct parser {
	struct ux_cur cur;
	struct ux_dwarf_layout layout;
	struct ux_dwarf_abbrev_room *room;
	struct ux_dwarf_abbrev entry; /* the one being read */
	uint32_t skip;                /* bytes of fixed forms since the last word */
	uint32_t seen;                /* slots of the entry so far, a bit each */
	bool simple;                  /* the entry so far has fixed forms only */
	bool naming;                  /* the second program is being made */
	bool no_memory;
};

void ux_dwarf_abbrev_room_deinit(struct ux_dwarf_abbrev_room *room)
{
	ux_dwarf_abbrev_vec_deinit(&room->list);
	ux_dwarf_word_vec_deinit(&room->words);
}

/* Sizes that the layout gives. */
enum {
	VARIABLE = -1,
	BY_ADDR = -2,
	BY_OFFSET = -3,
	BY_REF_ADDR = -4
};

int ux_dwarf_form_size(uint64_t form, struct ux_dwarf_layout layout)
{
	/* 0 of a form that is not listed: 1 is added, so that nothing listed is 0 */
	static const int8_t sizes[] = {
		[DW_FORM_flag_present] = 1,
		[DW_FORM_implicit_const] = 1,
		[DW_FORM_data1] = 2,
		[DW_FORM_flag] = 2,
		[DW_FORM_ref1] = 2,
		[DW_FORM_strx1] = 2,
		[DW_FORM_addrx1] = 2,
		[DW_FORM_data2] = 3,
		[DW_FORM_ref2] = 3,
		[DW_FORM_strx2] = 3,
		[DW_FORM_addrx2] = 3,
		[DW_FORM_strx3] = 4,
		[DW_FORM_addrx3] = 4,
		[DW_FORM_data4] = 5,
		[DW_FORM_ref4] = 5,
		[DW_FORM_strx4] = 5,
		[DW_FORM_addrx4] = 5,
		[DW_FORM_ref_sup4] = 5,
		[DW_FORM_data8] = 9,
		[DW_FORM_ref8] = 9,
		[DW_FORM_ref_sig8] = 9,
		[DW_FORM_ref_sup8] = 9,
		[DW_FORM_data16] = 17,
		[DW_FORM_addr] = BY_ADDR + 1,
		[DW_FORM_ref_addr] = BY_REF_ADDR + 1,
		[DW_FORM_strp] = BY_OFFSET + 1,
		[DW_FORM_sec_offset] = BY_OFFSET + 1,
		[DW_FORM_line_strp] = BY_OFFSET + 1,
		[DW_FORM_strp_sup] = BY_OFFSET + 1,
	};
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
		return layout.offset_size;
	int size = form < ux_countof(sizes) ? sizes[form] - 1 : VARIABLE;
	switch (size) {
	case BY_ADDR:
		return layout.addr_size;
	case BY_OFFSET:
		return layout.offset_size;
	case BY_REF_ADDR:
		return layout.ref_addr_size;
	default:
		return size;
	}
}

enum ux_dwarf_op ux_dwarf_form_op(uint64_t form)
{
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return UX_OP_ULEB;
	case DW_FORM_string:
		return UX_OP_STRING;
	case DW_FORM_block1:
		return UX_OP_BLOCK1;
	case DW_FORM_block2:
		return UX_OP_BLOCK2;
	case DW_FORM_block4:
		return UX_OP_BLOCK4;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return UX_OP_BLOCK;
	case DW_FORM_indirect:
		return UX_OP_INDIRECT;
	default:
		return UX_OP_END;
	}
}

static enum ux_dwarf_kind kind_of_tag(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return UX_KIND_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return UX_KIND_INLINE;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_skeleton_unit:
		return UX_KIND_ROOT;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return UX_KIND_CLASS;
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_GNU_formal_parameter_pack:
		return UX_KIND_LEAF;
	default:
		return UX_KIND_PLAIN;
	}
}

static enum ux_dwarf_slot root_slot(uint64_t attr)
{
	switch (attr) {
	case DW_AT_name:
		return UX_SLOT_NAME;
	case DW_AT_stmt_list:
		return UX_SLOT_STMT_LIST;
	case DW_AT_comp_dir:
		return UX_SLOT_COMP_DIR;
	case DW_AT_language:
		return UX_SLOT_LANGUAGE;
	case DW_AT_producer:
		return UX_SLOT_PRODUCER;
	case DW_AT_low_pc:
		return UX_SLOT_LOW_PC;
	case DW_AT_high_pc:
		return UX_SLOT_HIGH_PC;
	case DW_AT_ranges:
		return UX_SLOT_RANGES;
	case DW_AT_str_offsets_base:
		return UX_SLOT_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return UX_SLOT_ADDR_BASE;
	case DW_AT_rnglists_base:
		return UX_SLOT_RNGLISTS_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return UX_SLOT_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return UX_SLOT_DWO_ID;
	case DW_AT_GNU_ranges_base:
		return UX_SLOT_RANGES_BASE;
	default:
		return UX_SLOT_COUNT;
	}
}

static enum ux_dwarf_slot code_slot(uint64_t attr)
{
	switch (attr) {
	case DW_AT_name:
		return UX_SLOT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return UX_SLOT_LINKAGE_NAME;
	case DW_AT_low_pc:
		return UX_SLOT_LOW_PC;
	case DW_AT_high_pc:
		return UX_SLOT_HIGH_PC;
	case DW_AT_ranges:
		return UX_SLOT_RANGES;
	case DW_AT_abstract_origin:
		return UX_SLOT_ORIGIN;
	case DW_AT_specification:
		return UX_SLOT_SPECIFICATION;
	case DW_AT_call_file:
		return UX_SLOT_CALL_FILE;
	case DW_AT_call_line:
		return UX_SLOT_CALL_LINE;
	case DW_AT_sibling:
		return UX_SLOT_SIBLING;
	case DW_AT_LLVM_stmt_sequence:
		return UX_SLOT_STMT_LIST;
	default:
		return UX_SLOT_COUNT;
	}
}

static enum ux_dwarf_slot naming_slot(uint64_t attr)
{
	switch (attr) {
	case DW_AT_name:
		return UX_SLOT_NAME;
	case DW_AT_specification:
		return UX_SLOT_SPECIFICATION;
	case DW_AT_signature:
		return UX_SLOT_SIGNATURE;
	default:
		return UX_SLOT_COUNT;
	}
}

/* Where an attribute of a DIE of this kind goes; UX_SLOT_COUNT: nowhere. */
static enum ux_dwarf_slot slot_of(enum ux_dwarf_kind kind, uint64_t attr)
{
	switch (kind) {
	case UX_KIND_ROOT:
		return root_slot(attr);
	case UX_KIND_FUNCTION:
	case UX_KIND_INLINE:
		return code_slot(attr);
	case UX_KIND_CLASS:
	case UX_KIND_PLAIN:
	case UX_KIND_LEAF:
		return attr == DW_AT_sibling ? UX_SLOT_SIBLING : UX_SLOT_COUNT;
	}
	return UX_SLOT_COUNT;
}

static void word(struct parser *p, enum ux_dwarf_op op, uint32_t arg)
{
	if (!ux_dwarf_word_vec_append(&p->room->words, (uint32_t)op | arg << 8))
		p->no_memory = true;
}

static void flush_skip(struct parser *p)
{
	if (p->skip > 0)
		word(p, UX_OP_SKIP, p->skip);
	p->skip = 0;
}

static void read_const(struct parser *p, enum ux_dwarf_slot slot, uint64_t value)
{
	flush_skip(p);
	word(p, UX_OP_CONST, slot);
	if (!ux_dwarf_word_vec_append(&p->room->words, (uint32_t)value) ||
	    !ux_dwarf_word_vec_append(&p->room->words, (uint32_t)(value >> 32)))
		p->no_memory = true;
	p->simple = false;
}

static void load(struct parser *p, enum ux_dwarf_slot slot, uint32_t size, uint32_t form)
{
	word(p, UX_OP_LOAD, (uint32_t)slot | size << 5 | form << 9);
	if (!ux_dwarf_word_vec_append(&p->room->words, p->skip))
		p->no_memory = true;
	p->skip = 0;
}

/* Adds one (attribute, form) to the entry's program. */
static void add_attr(struct parser *p, uint64_t attr, uint64_t form)
{
	enum ux_dwarf_slot slot = p->naming ? naming_slot(attr) : slot_of(p->entry.kind, attr);
	if (slot != UX_SLOT_COUNT && (p->seen & 1u << slot) != 0)
		slot = UX_SLOT_COUNT; /* once is what the standard allows: hundreds would cost time
					 and no bytes */
	if (slot != UX_SLOT_COUNT)
		p->seen |= 1u << slot;
	if (slot == UX_SLOT_LOW_PC || slot == UX_SLOT_RANGES)
		p->entry.has_pc = true;
	if (form == DW_FORM_implicit_const) {
		int64_t value = ux_cur_sleb(&p->cur);
		if (slot != UX_SLOT_COUNT)
			read_const(p, slot, (uint64_t)value);
		return;
	}
	int size = ux_dwarf_form_size(form, p->layout);
	enum ux_dwarf_op op = ux_dwarf_form_op(form);
	if (slot == UX_SLOT_COUNT && size >= 0) {
		p->skip += (uint32_t)size;
		return;
	}
	p->simple = false;
	if (slot != UX_SLOT_COUNT && size > 0 && size <= (int)sizeof(uint64_t)) {
		load(p, slot, (uint32_t)size, (uint32_t)form);
		return;
	}
	flush_skip(p);
	if (size < 0 && op == UX_OP_END)
		word(p, UX_OP_UNKNOWN, 0);
	else if (op == UX_OP_INDIRECT)
		word(p, UX_OP_INDIRECT, slot);
	else if (slot != UX_SLOT_COUNT)
		word(p, UX_OP_READ, (uint32_t)slot | (uint32_t)form << 8);
	else
		word(p, op, 0);
}

static void parse_attrs(struct parser *p)
{
	for (unsigned n = 0; !p->cur.failed; n++) {
		uint64_t attr = ux_cur_uleb(&p->cur);
		uint64_t form = ux_cur_uleb(&p->cur);
		if (attr == 0 && form == 0)
			return;
		if (n == ATTRS_MOST)
			ux_cur_bad(&p->cur, "abbreviation with over 1024 attributes");
		add_attr(p, attr, form);
	}
}

static void make_program(struct parser *p)
{
	p->simple = true;
	p->seen = 0;
	p->skip = 0;
	parse_attrs(p);
}

static void end_program(struct parser *p)
{
	flush_skip(p);
	word(p, UX_OP_END, 0);
}

static void parse_entry(struct parser *p, uint64_t code)
{
	uint64_t tag = ux_cur_uleb(&p->cur);
	uint8_t children = ux_cur_u8(&p->cur);
	if (children > 1)
		ux_cur_bad(&p->cur, "children flag of an abbreviation is neither 0 nor 1");
	p->entry = (struct ux_dwarf_abbrev){
		.code = code,
		.program = (uint32_t)p->room->words.size,
		.fixed = UINT32_MAX,
		.tag = tag < 0xffff ? (uint16_t)tag : 0xffff,
		.kind = kind_of_tag(tag),
		.has_children = children != 0,
	};
	struct ux_cur attrs = p->cur;
	make_program(p);
	if (p->simple)
		p->entry.fixed = p->skip;
	end_program(p);
	if (ux_dwarf_tag_names(tag) && !p->cur.failed) {
		p->cur = attrs;
		p->naming = true;
		make_program(p);
		end_program(p);
		p->naming = false;
	}
	if (!ux_dwarf_abbrev_vec_append(&p->room->list, p->entry))
		p->no_memory = true;
}

static int by_code(const void *a, const void *b)
{
	const struct ux_dwarf_abbrev *x = a, *y = b;
	return (x->code > y->code) - (x->code < y->code);
}

/* Sorts by code; a code that stands twice keeps no promise about which entry is found. */
static bool sort_entries(struct ux_dwarf_abbrev_vec *list)
{
	bool ascending = true, dense = true;
	for (size_t i = 1; i < list->size; i++)
		ascending &= list->data[i - 1].code < list->data[i].code;
	if (!ascending)
		qsort(list->data, list->size, sizeof(*list->data), by_code);
	for (size_t i = 0; i < list->size; i++)
		dense &= list->data[i].code == i + 1;
	return dense;
}

enum ux_code ux_dwarf_abbrevs_parse_in(const struct ux_dwarf_sections *sections,
				       const struct ux_dwarf_table *table,
				       struct ux_dwarf_abbrev_room *room,
				       struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	struct parser p = {
		.cur = ux_dwarf_cur_at(sections, UX_DWARF_ABBREV, table->off),
		.layout = table->layout,
		.room = room,
	};
	room->list.size = room->words.size = 0;
	uint64_t most = ux_min(table->end - table->off, (uint64_t)TABLE_MOST);
	if (most < ux_cur_left(&p.cur))
		p.cur.end = p.cur.pos + most;
	while (!p.cur.failed && !p.no_memory) {
		uint64_t code = ux_cur_uleb(&p.cur);
		if (code == 0)
			break;
		parse_entry(&p, code);
	}
	if (p.no_memory)
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(&p.cur, err));
	*ret = (struct ux_dwarf_abbrevs){
		.dense = sort_entries(&room->list),
		.list = room->list.data,
		.words = room->words.data,
		.count = room->list.size,
	};
	return UX_OK;
}

enum ux_code ux_dwarf_abbrevs_parse(const struct ux_dwarf_sections *sections,
				    const struct ux_dwarf_table *table,
				    struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	ux_cleanup(ux_dwarf_abbrev_room_deinit) struct ux_dwarf_abbrev_room room = {0};
	struct ux_dwarf_abbrevs made;
	UX_TRY(ux_dwarf_abbrevs_parse_in(sections, table, &room, &made, err));
	/* One block, as long as it needs to be. */
	size_t list_bytes = room.list.size * sizeof(*room.list.data);
	size_t word_bytes = room.words.size * sizeof(*room.words.data);
	uint8_t *block = malloc(list_bytes + word_bytes + 1);
	if (!block)
		return ux_error_nomem(err);
	made.list = (struct ux_dwarf_abbrev *)(void *)block;
	made.words = (uint32_t *)(void *)(block + list_bytes);
	if (list_bytes > 0) {
		memcpy(made.list, room.list.data, list_bytes);
		memcpy(made.words, room.words.data, word_bytes);
	}
	*ret = made;
	return UX_OK;
}

void ux_dwarf_abbrevs_free(struct ux_dwarf_abbrevs *table)
{
	free(table->list);
	*table = (struct ux_dwarf_abbrevs){0};
}

const struct ux_dwarf_abbrev *ux_dwarf_abbrevs_search(const struct ux_dwarf_abbrevs *table,
						      uint64_t code)
{
	size_t lo = 0, hi = table->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (table->list[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < table->count && table->list[lo].code == code ? &table->list[lo] : NULL;
}

const uint32_t *ux_dwarf_abbrevs_naming(const struct ux_dwarf_abbrevs *table,
					const struct ux_dwarf_abbrev *abbrev)
{
	const uint32_t *words = table->words + abbrev->program;
	for (; (*words & 0xff) != UX_OP_END; words++) {
		enum ux_dwarf_op op = *words & 0xff;
		words += op == UX_OP_LOAD ? 1 : op == UX_OP_CONST ? 2 : 0;
	}
	return words + 1;
}
