/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of call frame information: a stack machine over registers and memory. */
#include "dwarf_cfi.h"

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,

	WORD_MAX = 8, /* bytes */
};

/* The state of computing an expression. */
struct cfi_stack {
	const struct ux_cfi_context *context;
	unsigned word;                      /* bytes of an address: 4 or 8 */
	uint64_t values[UX_CFI_VALUES_MAX]; /* each truncated to `word` bytes */
	size_t n;
	bool absent; /* it read an unknown register or unknown memory */
};

static unsigned cfi_bits(const struct cfi_stack *s)
{
	return 8 * s->word;
}

/* Pushes a value. Values have the size of an address, and higher bits are lost (DWARF 5, 2.5.1). */
static void cfi_push(struct cfi_stack *s, struct ux_cur *c, uint64_t v)
{
	if (s->n == UX_CFI_VALUES_MAX)
		ux_cur_bad(c, "expression stack overflows");
	else
		s->values[s->n++] = v & UINT64_MAX >> (64 - cfi_bits(s));
}

/* Returns a value of the stack as a signed number. */
static int64_t cfi_signed(const struct cfi_stack *s, uint64_t v)
{
	return s->word == sizeof(uint32_t) ? (int32_t)v : (int64_t)v;
}

static uint64_t cfi_pop(struct cfi_stack *s, struct ux_cur *c)
{
	if (s->n > 0)
		return s->values[--s->n];
	ux_cur_bad(c, "expression stack is empty");
	return 0;
}

/* Returns the value `depth` below the top. */
static uint64_t cfi_pick(struct cfi_stack *s, struct ux_cur *c, size_t depth)
{
	if (depth < s->n)
		return s->values[s->n - 1 - depth];
	ux_cur_bad(c, "expression stack is too short");
	return 0;
}

static void cfi_push_register(struct cfi_stack *s, struct ux_cur *c, uint64_t number,
			      int64_t offset)
{
	const struct ux_cfi_context *context = s->context;
	bool known = number < UX_CFI_REGISTERS && (context->known >> number & 1) != 0;
	s->absent = s->absent || !known;
	cfi_push(s, c, known ? context->registers[number] + (uint64_t)offset : 0);
}

static void cfi_dereference(struct cfi_stack *s, struct ux_cur *c, unsigned size)
{
	uint64_t address = cfi_pop(s, c), v = 0;
	if (size == 0 || size > WORD_MAX)
		ux_cur_bad(c, "memory read has an invalid size");
	else if (!s->context->memory(s->context->memory_ctx, address, size, &v))
		s->absent = true;
	cfi_push(s, c, v);
}

/*
 * Executes operations that push a constant or a register. False: the operation is of another kind.
 */
static bool cfi_operate_push(struct cfi_stack *s, struct ux_cur *c, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		cfi_push(s, c, (uint64_t)(op - OP_LIT0));
		return true;
	}
	if (op >= OP_BREG0 && op <= OP_BREG31) {
		cfi_push_register(s, c, (uint64_t)(op - OP_BREG0), ux_cur_sleb(c));
		return true;
	}
	switch (op) {
	case OP_BREGX: {
		uint64_t number = ux_cur_uleb(c);
		cfi_push_register(s, c, number, ux_cur_sleb(c));
		return true;
	}
	case OP_ADDR:
		cfi_push(s, c, ux_cur_uint(c, s->word));
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		cfi_push(s, c, ux_cur_u64(c));
		return true;
	case OP_CONST1U:
		cfi_push(s, c, ux_cur_u8(c));
		return true;
	case OP_CONST1S:
		cfi_push(s, c, (uint64_t)(int64_t)(int8_t)ux_cur_u8(c));
		return true;
	case OP_CONST2U:
		cfi_push(s, c, ux_cur_u16(c));
		return true;
	case OP_CONST2S:
		cfi_push(s, c, (uint64_t)(int64_t)(int16_t)ux_cur_u16(c));
		return true;
	case OP_CONST4U:
		cfi_push(s, c, ux_cur_u32(c));
		return true;
	case OP_CONST4S:
		cfi_push(s, c, (uint64_t)(int64_t)(int32_t)ux_cur_u32(c));
		return true;
	case OP_CONSTU:
		cfi_push(s, c, ux_cur_uleb(c));
		return true;
	case OP_CONSTS:
		cfi_push(s, c, (uint64_t)ux_cur_sleb(c));
		return true;
	default:
		return false;
	}
}

/* Executes operations that move values. False: the operation is of another kind. */
static bool cfi_operate_move(struct cfi_stack *s, struct ux_cur *c, uint8_t op)
{
	uint64_t a = 0, b = 0, d = 0;
	switch (op) {
	case OP_DUP:
		cfi_push(s, c, cfi_pick(s, c, 0));
		return true;
	case OP_OVER:
		cfi_push(s, c, cfi_pick(s, c, 1));
		return true;
	case OP_PICK:
		cfi_push(s, c, cfi_pick(s, c, ux_cur_u8(c)));
		return true;
	case OP_DROP:
		(void)cfi_pop(s, c);
		return true;
	case OP_SWAP:
		a = cfi_pop(s, c);
		b = cfi_pop(s, c);
		cfi_push(s, c, a);
		cfi_push(s, c, b);
		return true;
	case OP_ROT: /* the top becomes the third */
		a = cfi_pop(s, c);
		b = cfi_pop(s, c);
		d = cfi_pop(s, c);
		cfi_push(s, c, a);
		cfi_push(s, c, d);
		cfi_push(s, c, b);
		return true;
	case OP_DEREF:
		cfi_dereference(s, c, s->word);
		return true;
	case OP_DEREF_SIZE:
		cfi_dereference(s, c, ux_cur_u8(c));
		return true;
	case OP_NOP:
		return true;
	default:
		return false;
	}
}

/* Executes operations of one value. False: the operation is of another kind. */
static bool cfi_operate_unary(struct cfi_stack *s, struct ux_cur *c, uint8_t op)
{
	uint64_t v = 0;
	switch (op) {
	case OP_ABS:
		v = cfi_pop(s, c);
		cfi_push(s, c, cfi_signed(s, v) < 0 ? -v : v);
		return true;
	case OP_NEG:
		cfi_push(s, c, -cfi_pop(s, c));
		return true;
	case OP_NOT:
		cfi_push(s, c, ~cfi_pop(s, c));
		return true;
	case OP_PLUS_UCONST:
		v = cfi_pop(s, c);
		cfi_push(s, c, v + ux_cur_uleb(c));
		return true;
	default:
		return false;
	}
}

/* Divides signed values. False: the quotient is undefined. */
static bool cfi_divide(int64_t a, int64_t b, uint64_t *ret)
{
	if (b == 0)
		return false;
	*ret = b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
	return true;
}

static uint64_t cfi_shift_signed(int64_t a, uint64_t n)
{
	uint64_t sign = a < 0 ? UINT64_MAX : 0;
	if (n >= 64)
		return sign;
	return n == 0 ? (uint64_t)a : (uint64_t)a >> n | sign << (64 - n);
}

/*
 * Executes operations of two values: a is the second one, b the top. False: the operation is
 * unknown.
 */
static bool cfi_operate_binary(struct cfi_stack *s, struct ux_cur *c, uint8_t op)
{
	if (op < OP_AND || op > OP_NE || op == OP_BRA)
		return false;
	uint64_t b = cfi_pop(s, c), a = cfi_pop(s, c), v = 0;
	int64_t x = cfi_signed(s, a), y = cfi_signed(s, b);
	switch (op) {
	case OP_AND:
		v = a & b;
		break;
	case OP_DIV:
		if (!cfi_divide(x, y, &v))
			ux_cur_bad(c, "division by zero");
		break;
	case OP_MINUS:
		v = a - b;
		break;
	case OP_MOD:
		if (b == 0)
			ux_cur_bad(c, "division by zero");
		else
			v = a % b;
		break;
	case OP_MUL:
		v = a * b;
		break;
	case OP_OR:
		v = a | b;
		break;
	case OP_PLUS:
		v = a + b;
		break;
	case OP_SHL:
		v = b < cfi_bits(s) ? a << b : 0;
		break;
	case OP_SHR:
		v = b < cfi_bits(s) ? a >> b : 0;
		break;
	case OP_SHRA:
		v = cfi_shift_signed(x, b);
		break;
	case OP_XOR:
		v = a ^ b;
		break;
	case OP_EQ:
		v = a == b;
		break;
	case OP_GE:
		v = x >= y;
		break;
	case OP_GT:
		v = x > y;
		break;
	case OP_LE:
		v = x <= y;
		break;
	case OP_LT:
		v = x < y;
		break;
	case OP_NE:
		v = a != b;
		break;
	default:
		return false;
	}
	cfi_push(s, c, v);
	return true;
}

/* Moves by a signed distance inside of the expression. */
static void cfi_jump(struct ux_cur *c, int16_t distance)
{
	int64_t at = (int64_t)(c->pos - c->start) + distance;
	if (at < 0)
		ux_cur_bad(c, "a branch jumps before the expression");
	else
		ux_cur_seek(c, (uint64_t)at);
}

static bool cfi_operate(struct cfi_stack *s, struct ux_cur *c)
{
	uint8_t op = ux_cur_u8(c);
	if (op == OP_SKIP || op == OP_BRA) {
		int16_t distance = (int16_t)ux_cur_u16(c);
		if (op == OP_SKIP || cfi_pop(s, c) != 0)
			cfi_jump(c, distance);
		return true;
	}
	return cfi_operate_push(s, c, op) || cfi_operate_move(s, c, op) ||
	       cfi_operate_unary(s, c, op) || cfi_operate_binary(s, c, op);
}

enum ux_code ux_dwarf_cfi_expression(const struct ux_dwarf_frames *frames,
				     const struct ux_cfi_rule *rule,
				     const struct ux_cfi_context *context, const uint64_t *initial,
				     uint64_t *ret, struct ux_error *err)
{
	struct cfi_stack s = {.context = context,
			      .word = frames->address_size == sizeof(uint32_t) ? 4 : 8};
	struct ux_cur all =
		ux_cur_make(frames->data, frames->eh ? ".eh_frame" : ".debug_frame", frames->swap);
	ux_cur_seek(&all, (uint64_t)rule->value);
	struct ux_cur c = ux_cur_sub(&all, rule->size);
	if (initial)
		cfi_push(&s, &c, *initial);
	for (unsigned i = 0; ux_cur_more(&c); i++) {
		struct ux_cur before = c;
		if (i == UX_CFI_OPERATIONS_MAX)
			return ux_error_at(err, UX_ELIMIT, c.section, ux_cur_off(&c),
					   "an expression takes more than %d operations",
					   UX_CFI_OPERATIONS_MAX);
		if (!cfi_operate(&s, &c))
			return ux_error_at(err, UX_EUNSUPPORTED, c.section, ux_cur_off(&before),
					   "unknown operation 0x%02x", *before.pos);
	}
	*ret = cfi_pop(&s, &c);
	UX_TRY(ux_cur_status(&all, err));
	UX_TRY(ux_cur_status(&c, err));
	return s.absent ? ux_error_set(err, UX_ENOTFOUND, "an expression reads unknown memory")
			: UX_OK;
}
