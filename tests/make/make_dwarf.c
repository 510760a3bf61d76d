/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for DWARF sections. */
#include "make_dwarf.h"

static void need(bool ok)
{
	if (!ok)
		abort();
}

void make_dwarf_init(struct make_dwarf *m, bool big)
{
	*m = (struct make_dwarf){.big = big, .unit = {.addr_size = 8, .offset_size = 4}};
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		m->out[i].swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void make_dwarf_deinit(struct make_dwarf *m)
{
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_out_deinit(&m->out[i]);
}

struct ux_dwarf_sections make_dwarf_sections(const struct make_dwarf *m)
{
	struct ux_dwarf_sections s = {.swap = m->out[0].swap};
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		need(!m->out[i].failed);
		s.data[i] = ux_out_bytes(&m->out[i]);
	}
	return s;
}

size_t make_off(const struct make_dwarf *m, enum ux_dwarf_section section)
{
	return m->out[section].size;
}

void make_patch(struct make_dwarf *m, enum ux_dwarf_section section, size_t off, uint64_t value,
		unsigned size)
{
	need(off + size <= m->out[section].size);
	for (unsigned i = 0; i < size; i++)
		m->out[section].data[off + (m->big ? size - 1 - i : i)] = (uint8_t)(value >> 8 * i);
}

/* Room for an initial length; returns where the length itself goes. */
static size_t length_begin(struct ux_out *out, uint8_t offset_size)
{
	if (offset_size == 8)
		ux_out_u32(out, 0xffffffff);
	ux_out_uint(out, 0, offset_size);
	return out->size - offset_size;
}

static void length_end(struct make_dwarf *m, enum ux_dwarf_section section, size_t at,
		       uint8_t offset_size)
{
	make_patch(m, section, at, m->out[section].size - at - offset_size, offset_size);
}

void make_abbrev_add(struct make_dwarf *m, uint64_t code, uint64_t tag, bool children,
		     const struct make_attr *attrs, size_t n)
{
	struct ux_out *out = &m->out[UX_DWARF_ABBREV];
	if (m->table_ended)
		m->n_abbrevs = 0;
	m->table_ended = false;
	need(m->n_abbrevs < MAKE_ABBREVS_MAX && n <= MAKE_ATTRS_MAX);
	struct make_abbrev *abbrev = &m->abbrevs[m->n_abbrevs++];
	*abbrev = (struct make_abbrev){.code = code, .n_attrs = n};
	memcpy(abbrev->attrs, attrs, n * sizeof(*attrs));
	ux_out_uleb(out, code);
	ux_out_uleb(out, tag);
	ux_out_u8(out, children);
	for (size_t i = 0; i < n; i++) {
		ux_out_uleb(out, attrs[i].name);
		ux_out_uleb(out, attrs[i].form);
		if (attrs[i].form == DW_FORM_implicit_const)
			ux_out_sleb(out, attrs[i].constant);
	}
	ux_out_u16(out, 0);
}

size_t make_table_end(struct make_dwarf *m)
{
	ux_out_u8(&m->out[UX_DWARF_ABBREV], 0);
	m->table_ended = true;
	return m->out[UX_DWARF_ABBREV].size;
}

size_t make_unit_begin(struct make_dwarf *m, struct make_unit unit)
{
	struct ux_out *out = &m->out[UX_DWARF_INFO];
	unit.version = unit.version ? unit.version : 5;
	unit.type = unit.type ? unit.type : DW_UT_compile;
	unit.addr_size = unit.addr_size ? unit.addr_size : 8;
	unit.offset_size = unit.offset_size ? unit.offset_size : 4;
	m->unit = unit;
	m->unit_off = out->size;
	m->unit_length_at = length_begin(out, unit.offset_size);
	ux_out_u16(out, unit.version);
	if (unit.version >= 5) {
		ux_out_u8(out, unit.type);
		ux_out_u8(out, unit.addr_size);
		ux_out_uint(out, unit.abbrev_off, unit.offset_size);
	} else {
		ux_out_uint(out, unit.abbrev_off, unit.offset_size);
		ux_out_u8(out, unit.addr_size);
	}
	if (unit.version >= 5 && unit.type != DW_UT_compile && unit.type != DW_UT_partial)
		ux_out_u64(out, unit.id ? unit.id : 0x5157a7e5157a7e55);
	if (unit.version >= 5 && (unit.type == DW_UT_type || unit.type == DW_UT_split_type))
		ux_out_uint(out, 0, unit.offset_size);
	return m->unit_off;
}

void make_unit_end(struct make_dwarf *m)
{
	length_end(m, UX_DWARF_INFO, m->unit_length_at, m->unit.offset_size);
}

static void put_bytes(struct ux_out *out, struct ux_bytes bytes)
{
	ux_out_put(out, bytes.data, bytes.size);
}

/* A length of n bytes (0: ULEB128), and as many bytes. */
static void put_block(struct ux_out *out, struct ux_bytes bytes, unsigned n)
{
	if (n == 0)
		ux_out_uleb(out, bytes.size);
	else
		ux_out_uint(out, bytes.size, n);
	put_bytes(out, bytes);
}

static void put_u24(struct make_dwarf *m, struct ux_out *out, uint64_t v)
{
	for (int i = 0; i < 3; i++)
		ux_out_u8(out, (uint8_t)(v >> 8 * (m->big ? 2 - i : i)));
}

/* Forms of a fixed number of bytes; false for others. */
static bool put_fixed(struct make_dwarf *m, struct ux_out *out, uint32_t form, uint64_t number)
{
	struct form_size {
		uint32_t form;
		unsigned size;
	} sizes[] = {
		{DW_FORM_data1, 1},
		{DW_FORM_flag, 1},
		{DW_FORM_ref1, 1},
		{DW_FORM_strx1, 1},
		{DW_FORM_addrx1, 1},
		{DW_FORM_data2, 2},
		{DW_FORM_ref2, 2},
		{DW_FORM_strx2, 2},
		{DW_FORM_addrx2, 2},
		{DW_FORM_data4, 4},
		{DW_FORM_ref4, 4},
		{DW_FORM_strx4, 4},
		{DW_FORM_addrx4, 4},
		{DW_FORM_ref_sup4, 4},
		{DW_FORM_data8, 8},
		{DW_FORM_ref8, 8},
		{DW_FORM_ref_sig8, 8},
		{DW_FORM_ref_sup8, 8},
		{DW_FORM_flag_present, 0},
		{DW_FORM_addr, m->unit.addr_size},
		{DW_FORM_ref_addr, m->unit.version == 2 ? m->unit.addr_size : m->unit.offset_size},
		{DW_FORM_sec_offset, m->unit.offset_size},
		{DW_FORM_strp, m->unit.offset_size},
		{DW_FORM_line_strp, m->unit.offset_size},
		{DW_FORM_strp_sup, m->unit.offset_size},
		{DW_FORM_GNU_ref_alt, m->unit.offset_size},
		{DW_FORM_GNU_strp_alt, m->unit.offset_size},
	};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		if (sizes[i].form != form)
			continue;
		if (sizes[i].size > 0)
			ux_out_uint(out, number, sizes[i].size);
		return true;
	}
	return false;
}

static bool is_local_ref(uint32_t form)
{
	return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
	       form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
}

static void put_value(struct make_dwarf *m, uint32_t form, const struct make_value *v)
{
	struct ux_out *out = &m->out[UX_DWARF_INFO];
	uint64_t number = v->number - (is_local_ref(form) ? m->unit_off : 0);
	if (v->text && form == DW_FORM_strp)
		number = make_text(m, UX_DWARF_STR, v->text);
	if (v->text && form == DW_FORM_line_strp)
		number = make_text(m, UX_DWARF_LINE_STR, v->text);
	if (put_fixed(m, out, form, number))
		return;
	switch (form) {
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		put_u24(m, out, number);
		return;
	case DW_FORM_sdata:
		ux_out_sleb(out, (int64_t)number);
		return;
	case DW_FORM_string:
		need(v->text != NULL);
		ux_out_cstr(out, v->text);
		ux_out_u8(out, 0);
		return;
	case DW_FORM_block1:
		put_block(out, v->bytes, 1);
		return;
	case DW_FORM_block2:
		put_block(out, v->bytes, 2);
		return;
	case DW_FORM_block4:
		put_block(out, v->bytes, 4);
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		put_block(out, v->bytes, 0);
		return;
	case DW_FORM_data16:
		need(v->bytes.size == 16);
		put_bytes(out, v->bytes);
		return;
	case DW_FORM_LLVM_addrx_offset: /* index << 32 | offset */
		ux_out_uleb(out, number >> 32);
		ux_out_u32(out, (uint32_t)number);
		return;
	case DW_FORM_indirect:
		ux_out_uleb(out, v->form);
		put_value(m, v->form, v);
		return;
	default: /* udata, the indexes and unknown forms */
		ux_out_uleb(out, number);
	}
}

size_t make_die_add(struct make_dwarf *m, uint64_t code, const struct make_value *values, size_t n)
{
	struct ux_out *out = &m->out[UX_DWARF_INFO];
	size_t off = out->size;
	const struct make_abbrev *abbrev = NULL;
	for (size_t i = 0; i < m->n_abbrevs; i++)
		if (m->abbrevs[i].code == code)
			abbrev = &m->abbrevs[i];
	need(abbrev != NULL);
	ux_out_uleb(out, code);
	size_t used = 0;
	for (size_t i = 0; i < abbrev->n_attrs; i++) {
		uint32_t form = abbrev->attrs[i].form;
		m->value_at[i] = out->size;
		if (form == DW_FORM_implicit_const || form == DW_FORM_flag_present)
			continue;
		need(used < n);
		put_value(m, form, &values[used++]);
	}
	need(used == n);
	return off;
}

void make_null(struct make_dwarf *m)
{
	ux_out_u8(&m->out[UX_DWARF_INFO], 0);
}

size_t make_text(struct make_dwarf *m, enum ux_dwarf_section section, const char *text)
{
	size_t off = m->out[section].size;
	ux_out_cstr(&m->out[section], text);
	ux_out_u8(&m->out[section], 0);
	return off;
}

size_t make_pair(struct make_dwarf *m, uint64_t lo, uint64_t hi)
{
	size_t off = m->out[UX_DWARF_RANGES].size;
	make_addr(m, UX_DWARF_RANGES, lo);
	make_addr(m, UX_DWARF_RANGES, hi);
	return off;
}

size_t make_table_begin(struct make_dwarf *m, enum ux_dwarf_section section, uint8_t offset_size,
			uint32_t offset_count)
{
	struct ux_out *out = &m->out[section];
	m->table_offset_size = offset_size;
	m->table_length_at = length_begin(out, offset_size);
	ux_out_u16(out, 5);
	if (section == UX_DWARF_STR_OFFSETS) {
		ux_out_u16(out, 0);
		return out->size;
	}
	ux_out_u8(out, m->unit.addr_size);
	ux_out_u8(out, 0);
	if (section == UX_DWARF_RNGLISTS)
		ux_out_u32(out, offset_count);
	return out->size;
}

void make_table_length(struct make_dwarf *m, enum ux_dwarf_section section)
{
	length_end(m, section, m->table_length_at, m->table_offset_size);
}

void make_offset(struct make_dwarf *m, enum ux_dwarf_section section, uint64_t value)
{
	ux_out_uint(&m->out[section], value, m->table_offset_size);
}

void make_addr(struct make_dwarf *m, enum ux_dwarf_section section, uint64_t pc)
{
	ux_out_uint(&m->out[section], pc, m->unit.addr_size);
}

size_t make_rle(struct make_dwarf *m, uint8_t kind, uint64_t a, uint64_t b)
{
	struct ux_out *out = &m->out[UX_DWARF_RNGLISTS];
	bool addr_a = kind == DW_RLE_base_address || kind == DW_RLE_start_end ||
		      kind == DW_RLE_start_length;
	size_t off = out->size;
	ux_out_u8(out, kind);
	if (kind == DW_RLE_end_of_list)
		return off;
	if (addr_a)
		make_addr(m, UX_DWARF_RNGLISTS, a);
	else
		ux_out_uleb(out, a);
	if (kind == DW_RLE_start_end)
		make_addr(m, UX_DWARF_RNGLISTS, b);
	else if (kind != DW_RLE_base_address && kind != DW_RLE_base_addressx)
		ux_out_uleb(out, b);
	return off;
}

size_t make_lines_begin(struct make_dwarf *m, struct make_lines h)
{
	static const uint8_t lengths[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	struct ux_out *out = &m->out[UX_DWARF_LINE];
	size_t off = out->size;
	h.version = h.version ? h.version : 5;
	h.offset_size = h.offset_size ? h.offset_size : 4;
	h.opcode_base = h.opcode_base ? h.opcode_base : 13;
	m->lines = h;
	m->lines_length_at = length_begin(out, h.offset_size);
	ux_out_u16(out, h.version);
	if (h.version >= 5) {
		ux_out_u8(out, m->unit.addr_size);
		ux_out_u8(out, 0);
	}
	ux_out_uint(out, 0, h.offset_size);
	m->lines_header_at = out->size - h.offset_size;
	ux_out_u8(out, h.min_inst_length ? h.min_inst_length : 1);
	if (h.version >= 4)
		ux_out_u8(out, h.max_ops ? h.max_ops : 1);
	ux_out_u8(out, 1);
	ux_out_u8(out, (uint8_t)(h.line_base ? h.line_base : -5));
	ux_out_u8(out, h.line_range ? h.line_range : 14);
	ux_out_u8(out, h.opcode_base);
	for (unsigned op = 1; op < h.opcode_base; op++)
		ux_out_u8(out, op <= 12 ? lengths[op - 1] : 2);
	return off;
}

static size_t count_texts(const char *const *texts)
{
	size_t n = 0;
	while (texts[n])
		n++;
	return n;
}

static void put_texts_v5(struct ux_out *out, const char *const *texts, const uint8_t *dirs)
{
	ux_out_u8(out, dirs ? 2 : 1);
	ux_out_u8(out, DW_LNCT_path);
	ux_out_u8(out, DW_FORM_string);
	if (dirs) {
		ux_out_u8(out, DW_LNCT_directory_index);
		ux_out_u8(out, DW_FORM_udata);
	}
	ux_out_uleb(out, count_texts(texts));
	for (size_t i = 0; texts[i]; i++) {
		ux_out_cstr(out, texts[i]);
		ux_out_u8(out, 0);
		if (dirs)
			ux_out_uleb(out, dirs[i]);
	}
}

void make_lines_files(struct make_dwarf *m, const char *const *dirs, const char *const *files,
		      const uint8_t *file_dirs)
{
	struct ux_out *out = &m->out[UX_DWARF_LINE];
	if (m->lines.version >= 5) {
		put_texts_v5(out, dirs, NULL);
		put_texts_v5(out, files, file_dirs);
		return;
	}
	for (size_t i = 0; dirs[i]; i++)
		(void)make_text(m, UX_DWARF_LINE, dirs[i]);
	ux_out_u8(out, 0);
	for (size_t i = 0; files[i]; i++) {
		(void)make_text(m, UX_DWARF_LINE, files[i]);
		ux_out_uleb(out, file_dirs[i]);
		ux_out_u16(out, 0); /* time, size */
	}
	ux_out_u8(out, 0);
}

void make_lines_program(struct make_dwarf *m)
{
	length_end(m, UX_DWARF_LINE, m->lines_header_at, m->lines.offset_size);
}

void make_lines_end(struct make_dwarf *m)
{
	length_end(m, UX_DWARF_LINE, m->lines_length_at, m->lines.offset_size);
}

void make_op(struct make_dwarf *m, uint8_t op)
{
	ux_out_u8(&m->out[UX_DWARF_LINE], op);
}

void make_extended(struct make_dwarf *m, uint8_t op, struct ux_bytes operands)
{
	struct ux_out *out = &m->out[UX_DWARF_LINE];
	ux_out_u8(out, 0);
	ux_out_uleb(out, operands.size + 1);
	ux_out_u8(out, op);
	put_bytes(out, operands);
}

void make_set_address(struct make_dwarf *m, uint64_t pc)
{
	struct ux_out *out = &m->out[UX_DWARF_LINE];
	ux_out_u8(out, 0);
	ux_out_uleb(out, m->unit.addr_size + 1u);
	ux_out_u8(out, DW_LNE_set_address);
	ux_out_uint(out, pc, m->unit.addr_size);
}

static void op_uleb(struct make_dwarf *m, uint8_t op, uint64_t v)
{
	make_op(m, op);
	ux_out_uleb(&m->out[UX_DWARF_LINE], v);
}

void make_set_file(struct make_dwarf *m, uint64_t file)
{
	op_uleb(m, DW_LNS_set_file, file);
}

void make_row(struct make_dwarf *m, uint64_t advance, int64_t line_advance)
{
	if (advance > 0)
		op_uleb(m, DW_LNS_advance_pc, advance);
	make_op(m, DW_LNS_advance_line);
	ux_out_sleb(&m->out[UX_DWARF_LINE], line_advance);
	make_op(m, DW_LNS_copy);
}

void make_end_sequence(struct make_dwarf *m, uint64_t advance)
{
	if (advance > 0)
		op_uleb(m, DW_LNS_advance_pc, advance);
	make_extended(m, DW_LNE_end_sequence, UX_BYTES_NONE);
}
