/* SPDX-License-Identifier: Apache-2.0 */
/* Executes call frame instructions: they build a row of rules, and change it from pc to pc. */
#include "dwarf_cfi.h"

enum {
	/* The two upper bits of an instruction select these; the lower six are an operand. */
	CFA_ADVANCE_LOC = 1,
	CFA_OFFSET_SHORT = 2,
	CFA_RESTORE_SHORT = 3,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_NEGATE_RA_STATE = 0x2d, /* on arm64; on SPARC it saves a register window */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

/* The state of executing instructions. */
struct cfi_machine {
	const struct ux_dwarf_frames *frames;
	const struct ux_dwarf_cie *cie;
	struct ux_cfi_row *row;
	const struct ux_cfi_row
		*initial; /* the row after the CIE's instructions; NULL while they are executed */
	struct ux_cfi_row remembered[UX_CFI_REMEMBERED_MAX];
	size_t n_remembered;
	size_t steps;
	uint64_t pc;    /* pc of the row */
	uint64_t until; /* the searched pc */
};

static void cfi_set(struct cfi_machine *m, uint64_t column, enum ux_cfi_how how, int64_t value)
{
	if (column < UX_CFI_REGISTERS)
		m->row->rules[column] = (struct ux_cfi_rule){.how = (uint8_t)how, .value = value};
}

/* Multiplies by the data alignment; wraps around as a machine does. */
static int64_t cfi_factored(const struct cfi_machine *m, uint64_t v)
{
	return (int64_t)(v * (uint64_t)m->cie->data_align);
}

static struct ux_cfi_rule cfi_expression(struct ux_cur *c, enum ux_cfi_how how)
{
	uint64_t size = ux_cur_uleb(c);
	struct ux_cfi_rule rule = {.how = (uint8_t)how, .value = (int64_t)ux_cur_off(c)};
	ux_cur_skip(c, size);
	if (size > UINT32_MAX)
		ux_cur_bad(c, "expression is too long");
	rule.size = (uint32_t)size;
	return rule;
}

static void cfi_restore(struct cfi_machine *m, struct ux_cur *c, uint64_t column)
{
	if (!m->initial)
		ux_cur_bad(c, "a CIE cannot restore a rule");
	else if (column < UX_CFI_REGISTERS)
		m->row->rules[column] = m->initial->rules[column];
}

static void cfi_remember(struct cfi_machine *m, struct ux_cur *c)
{
	if (m->n_remembered == UX_CFI_REMEMBERED_MAX)
		ux_cur_bad(c, "too many nested remember_state instructions");
	else
		m->remembered[m->n_remembered++] = *m->row;
}

static void cfi_recall(struct cfi_machine *m, struct ux_cur *c)
{
	if (m->n_remembered == 0)
		ux_cur_bad(c, "restore_state without remember_state");
	else
		*m->row = m->remembered[--m->n_remembered];
}

static void cfi_advance(struct cfi_machine *m, uint64_t delta)
{
	/* A pc that wraps around is after all others. */
	uint64_t bytes = 0;
	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) ||
	    __builtin_add_overflow(m->pc, bytes, &m->pc))
		m->pc = UINT64_MAX;
}

static void cfi_define(struct cfi_machine *m, uint64_t column, int64_t offset)
{
	m->row->cfa_register = (uint32_t)ux_min(column, (uint64_t)UINT32_MAX);
	m->row->cfa = (struct ux_cfi_rule){.how = UX_CFI_OFFSET, .value = offset};
}

/* Changes one half of "a register plus an offset". */
static void cfi_redefine(struct cfi_machine *m, struct ux_cur *c, uint64_t column, int64_t offset)
{
	if (m->row->cfa.how != UX_CFI_OFFSET)
		ux_cur_bad(c, "the CFA is not a register and an offset");
	else
		cfi_define(m, column, offset);
}

/* Executes rules of registers. False: the instruction is of another kind. */
static bool cfi_execute_rule(struct cfi_machine *m, struct ux_cur *c, uint8_t code)
{
	uint64_t column = 0;
	switch (code) {
	case CFA_OFFSET_EXTENDED:
		column = ux_cur_uleb(c);
		cfi_set(m, column, UX_CFI_OFFSET, cfi_factored(m, ux_cur_uleb(c)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		column = ux_cur_uleb(c);
		cfi_set(m, column, UX_CFI_OFFSET, cfi_factored(m, (uint64_t)ux_cur_sleb(c)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET:
		column = ux_cur_uleb(c);
		cfi_set(m, column, UX_CFI_OFFSET, cfi_factored(m, -ux_cur_uleb(c)));
		return true;
	case CFA_VAL_OFFSET:
		column = ux_cur_uleb(c);
		cfi_set(m, column, UX_CFI_VAL_OFFSET, cfi_factored(m, ux_cur_uleb(c)));
		return true;
	case CFA_VAL_OFFSET_SF:
		column = ux_cur_uleb(c);
		cfi_set(m, column, UX_CFI_VAL_OFFSET, cfi_factored(m, (uint64_t)ux_cur_sleb(c)));
		return true;
	case CFA_RESTORE_EXTENDED:
		cfi_restore(m, c, ux_cur_uleb(c));
		return true;
	case CFA_UNDEFINED:
		cfi_set(m, ux_cur_uleb(c), UX_CFI_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		cfi_set(m, ux_cur_uleb(c), UX_CFI_SAME, 0);
		return true;
	case CFA_REGISTER:
		column = ux_cur_uleb(c);
		cfi_set(m, column, UX_CFI_REGISTER, (int64_t)ux_cur_uleb(c));
		return true;
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION: {
		column = ux_cur_uleb(c);
		struct ux_cfi_rule rule = cfi_expression(
			c, code == CFA_EXPRESSION ? UX_CFI_EXPRESSION : UX_CFI_VAL_EXPRESSION);
		if (column < UX_CFI_REGISTERS)
			m->row->rules[column] = rule;
		return true;
	}
	default:
		return false;
	}
}

/* Executes instructions that set the CFA. False: the instruction is of another kind. */
static bool cfi_execute_cfa(struct cfi_machine *m, struct ux_cur *c, uint8_t code)
{
	uint64_t column = 0;
	switch (code) {
	case CFA_DEF_CFA:
		column = ux_cur_uleb(c);
		cfi_define(m, column, (int64_t)ux_cur_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		column = ux_cur_uleb(c);
		cfi_define(m, column, cfi_factored(m, (uint64_t)ux_cur_sleb(c)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		cfi_redefine(m, c, ux_cur_uleb(c), m->row->cfa.value);
		return true;
	case CFA_DEF_CFA_OFFSET:
		cfi_redefine(m, c, m->row->cfa_register, (int64_t)ux_cur_uleb(c));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		cfi_redefine(m, c, m->row->cfa_register, cfi_factored(m, (uint64_t)ux_cur_sleb(c)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		m->row->cfa = cfi_expression(c, UX_CFI_VAL_EXPRESSION);
		return true;
	default:
		return false;
	}
}

/* Executes instructions that move on or keep the row. False: the instruction is unknown. */
static bool cfi_execute_other(struct cfi_machine *m, struct ux_cur *c, uint8_t code)
{
	switch (code) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC: {
		uint64_t pc = 0;
		if (!ux_dwarf_frame_pointer(c, m->frames, m->cie->encoding, m->cie->address_size,
					    &pc))
			ux_cur_bad(c, "the address depends on more than the file");
		m->pc = ux_max(pc, m->pc);
		return true;
	}
	case CFA_ADVANCE_LOC1:
		cfi_advance(m, ux_cur_u8(c));
		return true;
	case CFA_ADVANCE_LOC2:
		cfi_advance(m, ux_cur_u16(c));
		return true;
	case CFA_ADVANCE_LOC4:
		cfi_advance(m, ux_cur_u32(c));
		return true;
	case CFA_REMEMBER_STATE:
		cfi_remember(m, c);
		return true;
	case CFA_RESTORE_STATE:
		cfi_recall(m, c);
		return true;
	case CFA_NEGATE_RA_STATE:
		m->row->signed_ra = !m->row->signed_ra;
		return true;
	case CFA_GNU_ARGS_SIZE:
		(void)ux_cur_uleb(c); /* bytes that a landing pad pops: not a part of unwinding */
		return true;
	default:
		return false;
	}
}

static bool cfi_execute(struct cfi_machine *m, struct ux_cur *c)
{
	uint8_t code = ux_cur_u8(c);
	uint8_t operand = code & 0x3f;
	switch (code >> 6) {
	case CFA_ADVANCE_LOC:
		cfi_advance(m, operand);
		return true;
	case CFA_OFFSET_SHORT:
		cfi_set(m, operand, UX_CFI_OFFSET, cfi_factored(m, ux_cur_uleb(c)));
		return true;
	case CFA_RESTORE_SHORT:
		cfi_restore(m, c, operand);
		return true;
	default:
		return cfi_execute_rule(m, c, code) || cfi_execute_cfa(m, c, code) ||
		       cfi_execute_other(m, c, code);
	}
}

/* Executes instructions until their pc exceeds the searched one. */
static enum ux_code cfi_run(struct cfi_machine *m, struct ux_bytes instructions,
			    struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(m->frames->data, m->frames->eh ? ".eh_frame" : ".debug_frame",
				      m->frames->swap);
	/* Expressions and addresses are relative to the section. */
	ux_cur_skip(&c, instructions.size > 0 ? (uint64_t)(instructions.data - m->frames->data.data)
					      : 0);
	c.end = c.pos + (c.failed ? 0 : instructions.size);
	while (ux_cur_more(&c)) {
		struct ux_cur before = c;
		if (m->steps++ == UX_CFI_STEPS_MAX)
			return ux_error_at(err, UX_ELIMIT, c.section, ux_cur_off(&c),
					   "a function has more than %d instructions",
					   UX_CFI_STEPS_MAX);
		if (!cfi_execute(m, &c))
			return ux_error_at(err, UX_EUNSUPPORTED, c.section, ux_cur_off(&before),
					   "unknown instruction 0x%02x", *before.pos);
		if (m->pc > m->until)
			break; /* the instructions that follow apply to later pcs */
	}
	return ux_cur_status(&c, err);
}

enum ux_code ux_dwarf_cfi_row(const struct ux_dwarf_frames *frames, const struct ux_dwarf_fde *fde,
			      uint64_t pc, struct ux_cfi_row *ret, struct ux_error *err)
{
	struct cfi_machine m;
	m.frames = frames;
	m.cie = fde->cie;
	m.row = ret;
	m.initial = NULL;
	m.n_remembered = 0;
	m.steps = 0;
	m.pc = 0; /* a CIE does not advance the pc */
	m.until = UINT64_MAX;
	memset(ret, 0, sizeof(*ret));
	ret->ra = (uint32_t)ux_min(fde->cie->ra, (uint64_t)UX_CFI_REGISTERS);
	ret->signal = fde->cie->signal;
	UX_TRY(cfi_run(&m, fde->cie->instructions, err));
	struct ux_cfi_row initial = *ret;
	m.initial = &initial;
	m.pc = fde->lo;
	m.until = pc;
	return cfi_run(&m, fde->instructions, err);
}
