/* SPDX-License-Identifier: Apache-2.0 */
/* The compact unwind tables of 32-bit ARM. */
#include "unwind_exidx.h"

enum {
	WORD = 4,        /* bytes */
	ENTRY = 8,       /* bytes of an entry: its function, then instructions or their position */
	CANT_UNWIND = 1, /* stands in place of instructions */
	WORDS_MAX =
		255, /* most words of instructions after the first word: their number has 8 bits */
	INSTRUCTIONS_MAX = (WORDS_MAX + 1) * WORD,

	R4 = 4,
	SP = 13,
	LR = 14,
	PC = 15,
};

#define INDEX_SECTION ".ARM.exidx"
#define TABLE_SECTION ".ARM.extab"

/* Bit 31 of a word: it holds instructions, not a distance. */
#define IS_COMPACT UINT32_C(0x80000000)

/* Returns the address in a word of 31 bits, relative to the word's own position. */
static uint64_t exidx_address(uint32_t word, uint64_t place)
{
	uint32_t distance = word & ~IS_COMPACT;
	distance |= (distance & UINT32_C(0x40000000)) << 1; /* extend the sign */
	return (uint32_t)(place + distance);
}

enum ux_code ux_exidx_each(const struct ux_exidx *x, ux_exidx_fn *fn, void *ctx,
			   struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(x->data, INDEX_SECTION, x->swap);
	while (ux_cur_left(&c) >= ENTRY) {
		uint64_t off = ux_cur_off(&c);
		uint32_t word = ux_cur_u32(&c);
		ux_cur_skip(&c, WORD);
		if (!fn(ctx, exidx_address(word, x->pc + off), off))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* --- instructions ----------------------------------------------------------------------------- */

/* The instructions of a function, and their effects so far: the virtual stack pointer is a register
 * and an offset. */
struct exidx_run {
	uint8_t code[INSTRUCTIONS_MAX];
	size_t size;
	uint32_t base; /* register */
	int64_t offset;
	uint32_t popped; /* bit n: register n was restored */
	bool ended;
	struct ux_cfi_row *row; /* while it runs, offsets of its rules count from the base */
};

static void exidx_put_word(struct exidx_run *r, uint32_t word, unsigned bytes)
{
	while (bytes-- > 0)
		r->code[r->size++] = (uint8_t)(word >> 8 * bytes);
}

/* Pops the registers of a mask in their order; bit 0 is the first register. */
static bool exidx_pop(struct exidx_run *r, uint32_t mask, unsigned first)
{
	if ((r->popped & mask << first) != 0)
		return false;
	r->popped |= mask << first;
	for (unsigned i = first; i <= PC; i++)
		if ((mask >> (i - first) & 1) != 0) {
			r->row->rules[i] =
				(struct ux_cfi_rule){.how = UX_CFI_OFFSET, .value = r->offset};
			r->offset += WORD;
		}
	return true;
}

/*
 * Sets the stack pointer to a register. Registers popped before have no position relative to that.
 */
static bool exidx_set_base(struct exidx_run *r, uint32_t number)
{
	if (r->popped != 0 || number == SP || number == PC)
		return false;
	r->base = number;
	r->offset = 0;
	return true;
}

/*
 * Runs instructions 0xb0 to 0xb7, and instructions for coprocessors' registers, whose values are
 * not needed.
 */
static bool exidx_run_long(struct exidx_run *r, uint8_t op, struct ux_cur *c)
{
	enum {
		DOUBLE = 8, /* bytes of a register for floating point */
		FINISH = 0xb0,
		POP_LOW = 0xb1,
		ADD_LARGE = 0xb2,
		ADD_LARGE_FROM = 0x204,
		POP_VFP_FSTMX = 0xb3, /* pops VFP registers and the format word after them */
		POP_AUTH = 0xb4,      /* the signature of a return address */
		MODIFIER_IS_SP = 0xb5,
		POP_VFP_FSTMX_8 = 0xb8,
		POP_WMMX_10 = 0xc0,
		POP_WMMX = 0xc6,
		POP_WMMX_CONTROL = 0xc7,
		POP_VFP_16 = 0xc8,
		POP_VFP = 0xc9,
		POP_VFP_8 = 0xd0,
		SPARE = 0xd8,
		COUNT = 7,          /* mask of a count in the instruction */
		COUNT_BEHIND = 0xf, /* mask of a count in the next byte */
	};
	if (op >= SPARE || (op > POP_VFP && op < POP_VFP_8) ||
	    (op > MODIFIER_IS_SP && op < POP_VFP_FSTMX_8))
		return false;
	if (op >= POP_VFP_8 || (op >= POP_WMMX_10 && op < POP_WMMX)) {
		r->offset += DOUBLE * ((op & COUNT) + 1);
		return true;
	}
	if (op >= POP_VFP_FSTMX_8 && op < POP_WMMX_10) {
		r->offset += DOUBLE * ((op & COUNT) + 1) + WORD;
		return true;
	}
	if (op == FINISH || op == MODIFIER_IS_SP) {
		r->ended = op == FINISH;
		return true;
	}
	if (op == POP_AUTH) {
		r->offset += WORD;
		return true;
	}
	if (op == ADD_LARGE) {
		uint64_t n = ux_cur_uleb(c);
		r->offset += ADD_LARGE_FROM + (int64_t)(n & UINT32_MAX) * WORD;
		return n <= UINT32_MAX / WORD;
	}
	uint8_t operand = ux_cur_u8(c);
	if (op == POP_LOW || op == POP_WMMX_CONTROL) {
		if (operand == 0 || operand > COUNT_BEHIND)
			return false;
		if (op == POP_LOW)
			return exidx_pop(r, operand, 0);
		r->offset += WORD * __builtin_popcount(operand);
		return true;
	}
	r->offset += DOUBLE * ((operand & COUNT_BEHIND) + 1) + (op == POP_VFP_FSTMX ? WORD : 0);
	return true;
}

/* Executes an instruction. False: it has no meaning, or one that a row cannot express. */
static bool exidx_run_one(struct exidx_run *r, struct ux_cur *c)
{
	enum {
		KIND = 0xc0,
		ADD = 0x00,
		SUBTRACT = 0x40,
		DISTANCE = 0x3f, /* mask of the number of words less one */
		POP_MASK = 0x80, /* of r4 to r15, with the next byte */
		SET = 0x90,
		POP_RANGE = 0xa0, /* r4 and the next registers */
		LONG = 0xb0,
		HIGH = 0xf0,
		LOW = 0x0f,
		WITH_LR = 8,
		COUNT = 7,
	};
	uint8_t op = ux_cur_u8(c);
	/* after SP was restored, only the end of the instructions may follow */
	if ((r->popped >> SP & 1) != 0 && op != LONG)
		return false;
	if ((op & KIND) == ADD || (op & KIND) == SUBTRACT) {
		int64_t distance = (int64_t)(op & DISTANCE) * WORD + WORD;
		r->offset += (op & KIND) == ADD ? distance : -distance;
		return true;
	}
	if ((op & HIGH) == POP_MASK) {
		uint32_t mask = (uint32_t)(op & LOW) << 8 | ux_cur_u8(c);
		return mask != 0 && exidx_pop(r, mask, R4);
	}
	if ((op & HIGH) == SET)
		return exidx_set_base(r, op & LOW);
	if ((op & HIGH) == POP_RANGE) {
		uint32_t mask = (UINT32_C(2) << (op & COUNT)) - 1;
		return exidx_pop(r, mask | ((op & WITH_LR) != 0 ? 1 << (LR - R4) : 0), R4);
	}
	return exidx_run_long(r, op, c);
}

static enum ux_code exidx_run(struct exidx_run *r, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(ux_bytes(r->code, r->size), TABLE_SECTION, false);
	while (!r->ended && ux_cur_more(&c))
		if (!exidx_run_one(r, &c))
			return ux_error_set(err, UX_EUNSUPPORTED,
					    "unwind table has an undefined instruction");
	UX_TRY(ux_cur_status(&c, err));
	struct ux_cfi_row *row = r->row;
	for (unsigned i = 0; i <= PC; i++)
		if (row->rules[i].how == UX_CFI_OFFSET)
			row->rules[i].value -= r->offset;
	row->cfa = (struct ux_cfi_rule){.how = UX_CFI_OFFSET, .value = r->offset};
	row->cfa_register = r->base;
	row->ra = (r->popped >> PC & 1) != 0 ? PC : LR;
	/* Functions restore the stack pointer by adding to it. Only an interrupted function has
	 * both this and the pc in memory: then this is the code that signal handlers return to. */
	row->signal = (r->popped >> PC & 1) != 0 && (r->popped >> SP & 1) != 0;
	return UX_OK;
}

/* --- finding them ----------------------------------------------------------------------------- */

static struct ux_bytes exidx_bytes_at(const struct ux_exidx *x, uint64_t pc)
{
	for (size_t i = 0; i < x->image->size; i++) {
		const struct ux_object_range *s = &x->image->data[i];
		if (pc >= s->pc && pc - s->pc < s->bytes.size)
			return ux_bytes(s->bytes.data + (pc - s->pc),
					s->bytes.size - (size_t)(pc - s->pc));
	}
	return UX_BYTES_NONE;
}

/* Reads the instructions of an entry in .ARM.extab. */
static enum ux_code exidx_read_table(const struct ux_exidx *x, uint64_t pc, struct exidx_run *r,
				     struct ux_error *err)
{
	enum {
		ROUTINE_AT = 24, /* bit at which the routine's number begins */
		ROUTINE = 0x7f,
		SHORT = 0, /* has 3 bytes of instructions, in the first word */
		LONG = 1, /* this and the next have 2 bytes in the first word, and words after it */
		LONG_WIDE = 2,
	};
	struct ux_cur c = ux_cur_make(exidx_bytes_at(x, pc), TABLE_SECTION, x->swap);
	uint32_t word = ux_cur_u32(&c), words = 0;
	if ((word & IS_COMPACT) ==
	    0) { /* a routine of a language; its first word is laid out like SHORT */
		word = ux_cur_u32(&c);
		words = word >> ROUTINE_AT;
		exidx_put_word(r, word, 3);
	} else {
		uint32_t routine = word >> ROUTINE_AT & ROUTINE;
		if (routine > LONG_WIDE)
			return ux_error_set(err, UX_EUNSUPPORTED,
					    "unknown personality routine %" PRIu32, routine);
		words = routine == SHORT ? 0 : word >> 16 & WORDS_MAX;
		exidx_put_word(r, word, routine == SHORT ? 3 : 2);
	}
	for (uint32_t i = 0; i < words; i++)
		exidx_put_word(r, ux_cur_u32(&c), WORD);
	return ux_cur_status(&c, err);
}

enum ux_code ux_exidx_row(const struct ux_exidx *x, uint64_t off, struct ux_cfi_row *ret,
			  struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(x->data, INDEX_SECTION, x->swap);
	struct exidx_run r = {.base = SP, .row = ret};
	ux_cur_seek(&c, off + WORD);
	uint32_t word = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	*ret = (struct ux_cfi_row){0};
	if (word == CANT_UNWIND)
		return ux_error_set(err, UX_ENOTFOUND, "the function cannot be unwound");
	if ((word & IS_COMPACT) == 0)
		UX_TRY(exidx_read_table(x, exidx_address(word, x->pc + off + WORD), &r, err));
	else if (word >> 24 != IS_COMPACT >> 24)
		return ux_error_at(err, UX_ECORRUPT, INDEX_SECTION, off + WORD,
				   "compact entry does not use personality routine 0");
	else
		exidx_put_word(&r, word, 3);
	return exidx_run(&r, err);
}
