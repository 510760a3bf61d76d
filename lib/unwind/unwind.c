/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds a stack from frame to frame. */
#include "unwind.h"

enum {
	NONE = UX_CFI_REGISTERS, /* the machine has no such register */
};

/* Properties that differ between machines. Registers have the numbers of DWARF. */
struct unwind_traits {
	unsigned word; /* bytes of an address */
	unsigned sp;
	unsigned fp; /* register of code that keeps frame pointers; the return address is above the
			saved one in memory */
	unsigned pc; /* column of the return address, if calls push it */
	unsigned
		link; /* register to which calls write the return address, if they do not push it */
	uint64_t code; /* bits of an address of code; the others have a different meaning */
};

static const struct unwind_traits unwind_machines[] = {
	[UX_UNWIND_X86_64] = {8, .sp = 7, .fp = 6, .pc = 16, .link = NONE, .code = UINT64_MAX},
	/* Bits above 48 contain signatures of addresses; with 52-bit addresses no signatures are in
	 * use. */
	[UX_UNWIND_ARM64] = {8, .sp = 31, .fp = 29, .pc = NONE, .link = 30,
			     .code = UINT64_MAX >> 16},
	[UX_UNWIND_I386] = {4, .sp = 4, .fp = 5, .pc = 8, .link = NONE, .code = UINT32_MAX},
	/* Bit 0 of an address selects Thumb. The register of the frame pointer, and the words at
	 * its address, differ between compilers and between both instruction sets. */
	[UX_UNWIND_ARM] = {4, .sp = 13, .fp = NONE, .pc = NONE, .link = 14, .code = UINT32_MAX - 1},
};

/* The state of unwinding one stack. */
struct unwind {
	struct ux_unwinder *unwinder;
	const struct ux_unwind_thread *thread;
	ux_unwind_find_fn *find;
	void *ctx;
	uint64_t pc;
	uint64_t registers[UX_CFI_REGISTERS];
	uint64_t known;
	const struct unwind_traits *machine;
	bool returns;                  /* pc is a return address */
	struct ux_unwind_place place;  /* place of pc */
	struct ux_unwind_frame *frame; /* frame of pc, in the result */
	enum ux_unwind_end end;
};

void ux_unwinder_deinit(struct ux_unwinder *u)
{
	free(u->rows);
	*u = (struct ux_unwinder){0};
}

/* --- memory and registers --------------------------------------------------------------------- */

/* A ux_cfi_memory_fn for the copy of the stack and other memory; ctx is a struct ux_unwind_thread.
 */
static bool unwind_read(void *ctx, uint64_t address, unsigned size, uint64_t *ret)
{
	const struct ux_unwind_thread *t = ctx;
	struct ux_bytes bytes;
	bool found =
		address >= t->stack && ux_bytes_sub(t->bytes, address - t->stack, size, &bytes);
	if (!found && t->memory)
		found = ux_bytes_sub(t->memory(t->memory_ctx, address), 0, size, &bytes);
	if (!found)
		return false;
	struct ux_cur c = ux_cur_make(bytes, NULL, t->swap);
	*ret = ux_cur_uint(&c, size);
	return !c.failed;
}

static bool unwind_word(const struct unwind *u, uint64_t address, uint64_t *ret)
{
	return unwind_read((void *)(uintptr_t)u->thread, address, u->machine->word, ret);
}

static bool unwind_register(const struct unwind *u, uint64_t number, uint64_t *ret)
{
	if (number >= UX_CFI_REGISTERS || (u->known >> number & 1) == 0)
		return false;
	*ret = u->registers[number];
	return true;
}

static void unwind_set(uint64_t *registers, uint64_t *known, unsigned number, uint64_t v)
{
	registers[number] = v;
	*known |= (uint64_t)1 << number;
}

/* Returns a value without the bits that exceed a register. */
static uint64_t unwind_cut(const struct unwind *u, uint64_t v)
{
	return u->machine->word == sizeof(uint32_t) ? (uint32_t)v : v;
}

/* --- a step by rules -------------------------------------------------------------------------- */

/* Finds the rules at a pc; usually they were used before. */
static const struct ux_unwind_known_row *unwind_row(const struct unwind *u,
						    struct ux_unwind_module *module, uint64_t pc)
{
	uint64_t hash = (pc ^ ((uintptr_t)module >> 4)) * UINT64_C(0x9e3779b97f4a7c15);
	struct ux_unwind_known_row *row = &u->unwinder->rows[hash >> 32 & (UX_UNWIND_ROWS - 1)];
	if (row->module == module && row->pc == pc)
		return row;
	row->module = module;
	row->pc = pc;
	if (ux_unwind_module_row(module, pc, &row->row, &row->table, NULL) != UX_OK)
		row->table = NULL;
	row->sigreturn = u->thread->machine == UX_UNWIND_X86_64 &&
			 !(row->table && row->row.signal) &&
			 ux_unwind_module_is_sigreturn(module, pc + 1);
	return row;
}

/* Computes the value that a rule gives. False: it is lost, or unknown. */
static bool unwind_apply(const struct unwind *u, const struct ux_unwind_known_row *known,
			 const struct ux_cfi_rule *rule, unsigned number, uint64_t cfa,
			 uint64_t *ret)
{
	const struct ux_cfi_context context = {
		.registers = u->registers,
		.known = u->known,
		.memory = unwind_read,
		.memory_ctx = (void *)(uintptr_t)u->thread,
	};
	uint64_t address = unwind_cut(u, cfa + (uint64_t)rule->value);
	switch ((enum ux_cfi_how)rule->how) {
	case UX_CFI_UNDEFINED:
		return false;
	case UX_CFI_UNSPECIFIED:
	case UX_CFI_SAME:
		return unwind_register(u, number, ret);
	case UX_CFI_OFFSET:
		return unwind_word(u, address, ret);
	case UX_CFI_VAL_OFFSET:
		*ret = address;
		return true;
	case UX_CFI_REGISTER:
		return unwind_register(u, (uint64_t)rule->value, ret);
	case UX_CFI_EXPRESSION:
		return ux_dwarf_cfi_expression(&known->table->frames, rule, &context, &cfa,
					       &address, NULL) == UX_OK &&
		       unwind_word(u, address, ret);
	case UX_CFI_VAL_EXPRESSION:
		return ux_dwarf_cfi_expression(&known->table->frames, rule, &context, &cfa, ret,
					       NULL) == UX_OK;
	}
	return false;
}

static bool unwind_cfa(const struct unwind *u, const struct ux_unwind_known_row *known,
		       uint64_t *ret)
{
	const struct ux_cfi_row *row = &known->row;
	const struct ux_cfi_context context = {
		.registers = u->registers,
		.known = u->known,
		.memory = unwind_read,
		.memory_ctx = (void *)(uintptr_t)u->thread,
	};
	if (row->cfa.how == UX_CFI_VAL_EXPRESSION)
		return ux_dwarf_cfi_expression(&known->table->frames, &row->cfa, &context, NULL,
					       ret, NULL) == UX_OK;
	if (row->cfa.how != UX_CFI_OFFSET || !unwind_register(u, row->cfa_register, ret))
		return false;
	*ret = unwind_cut(u, *ret + (uint64_t)row->cfa.value);
	return true;
}

/* Makes the caller the current frame, if it is code. The stack grows down, so a caller's frame is
 * above: this ends every loop. */
static bool unwind_become(struct unwind *u, uint64_t pc, uint64_t sp, const uint64_t *registers,
			  uint64_t known, bool signal)
{
	uint64_t before = u->registers[u->machine->sp];
	bool moves = sp > before || (sp == before && pc != u->pc && !u->returns) || signal;
	pc &= u->machine->code;
	if (pc == 0 || !moves) {
		u->end = pc == 0 ? UX_UNWIND_COMPLETE : UX_UNWIND_NO_RULES;
		return false;
	}
	/* The instruction before a return address may be the last one of its function. */
	struct ux_unwind_place place = u->find(u->ctx, pc - (signal ? 0 : 1));
	u->end = UX_UNWIND_NO_RULES;
	if (!place.code)
		return false;
	memcpy(u->registers, registers, sizeof(u->registers));
	u->known = known;
	unwind_set(u->registers, &u->known, u->machine->sp, sp);
	u->pc = pc;
	u->returns = !signal;
	u->place = place;
	return true;
}

static bool unwind_by_rules(struct unwind *u, const struct ux_unwind_known_row *known)
{
	const struct ux_cfi_row *row = &known->row;
	uint64_t registers[UX_CFI_REGISTERS] = {0}, values = 0, cfa = 0, pc = 0;
	/* The code that a signal handler returns to was not called: its symbol begins there. */
	if (row->signal)
		u->frame->returns = false;
	u->end = UX_UNWIND_SHORT;
	if (row->ra < UX_CFI_REGISTERS && row->rules[row->ra].how == UX_CFI_UNDEFINED) {
		u->end = UX_UNWIND_COMPLETE;
		return false;
	}
	if (!unwind_cfa(u, known, &cfa))
		return false;
	for (unsigned i = 0; i < UX_CFI_REGISTERS; i++) {
		uint64_t v = 0;
		if (unwind_apply(u, known, &row->rules[i], i, cfa, &v))
			unwind_set(registers, &values, i, v);
	}
	/* The pc itself is not a return address: on machines where calls push it, that is always in
	 * memory. */
	if (row->ra >= UX_CFI_REGISTERS || (values >> row->ra & 1) == 0 ||
	    (row->ra == u->machine->pc && row->rules[row->ra].how <= UX_CFI_SAME))
		return false;
	pc = registers[row->ra];
	bool moved = row->rules[u->machine->sp].how != UX_CFI_UNSPECIFIED &&
		     (values >> u->machine->sp & 1) != 0;
	/* A signal handler may run on a stack of its own, above the one it interrupted. */
	return unwind_become(u, pc, moved ? registers[u->machine->sp] : cfa, registers, values,
			     row->signal);
}

/*
 * Goes to the code that a signal handler interrupted: the kernel has put its registers above the
 * handler's return address. Source: struct ucontext of Linux's <asm/ucontext.h>.
 */
static bool unwind_by_ucontext(struct unwind *u)
{
	enum {
		REGISTERS = 40, /* their offset: flags, link and a stack_t come first */
	};
	/* Numbers of DWARF, in the order of struct sigcontext. */
	static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
	uint64_t registers[UX_CFI_REGISTERS] = {0}, known = 0;
	uint64_t at = u->registers[u->machine->sp] + REGISTERS;
	u->frame->returns = false;
	u->end = UX_UNWIND_SHORT;
	for (size_t i = 0; i < ux_countof(order); i++) {
		uint64_t v = 0;
		if (!unwind_word(u, at + i * u->machine->word, &v))
			return false;
		unwind_set(registers, &known, order[i], v);
	}
	return unwind_become(u, registers[u->machine->pc], registers[u->machine->sp], registers,
			     known, /* signal: */ true);
}

/* --- a step without rules --------------------------------------------------------------------- */

/* A call of an address without code, such as NULL: its return address was pushed last. */
static bool unwind_bad_call(struct unwind *u)
{
	uint64_t sp = u->registers[u->machine->sp], pc = 0;
	uint64_t registers[UX_CFI_REGISTERS];
	memcpy(registers, u->registers, sizeof(registers));
	if (u->machine->link != NONE) {
		if (!unwind_register(u, u->machine->link, &pc))
			return false;
	} else {
		if (!unwind_word(u, sp, &pc))
			return false;
		sp += u->machine->word;
	}
	return unwind_become(u, pc, sp, registers, u->known, /* signal: */ false);
}

/* Code that a compiler made at run time, or Go's, usually keeps frame pointers. */
static bool unwind_by_frame_pointer(struct unwind *u)
{
	const struct unwind_traits *m = u->machine;
	uint64_t fp = 0, next = 0, pc = 0;
	if (!unwind_register(u, m->fp, &fp) || fp < u->registers[u->machine->sp] ||
	    !unwind_word(u, fp, &next) || !unwind_word(u, fp + m->word, &pc))
		return false;
	pc &= u->machine->code;
	if (pc == 0) {
		u->end = next == 0 ? UX_UNWIND_COMPLETE : UX_UNWIND_NO_RULES;
		return false;
	}
	uint64_t registers[UX_CFI_REGISTERS];
	memcpy(registers, u->registers, sizeof(registers));
	registers[m->fp] = next;
	return unwind_become(u, pc, fp + 2 * m->word, registers, u->known, /* signal: */ false);
}

/*
 * Goes to the caller of code of a run-time compiler without a frame pointer, such as the
 * trampolines with which CPython gives its functions addresses: it has pushed a word or two, and
 * its caller is code with tables.
 */
static bool unwind_by_call(struct unwind *u)
{
	enum {
		WORDS = 3
	};
	uint64_t registers[UX_CFI_REGISTERS];
	memcpy(registers, u->registers, sizeof(registers));
	for (uint64_t i = 0; i < WORDS; i++) {
		uint64_t at = u->registers[u->machine->sp] + i * u->machine->word, pc = 0;
		if (!unwind_word(u, at, &pc) || pc == 0)
			continue;
		struct ux_unwind_place place = u->find(u->ctx, pc - 1);
		if (place.module && ux_unwind_module_is_call(place.module, place.pc + 1))
			return unwind_become(u, pc, at + u->machine->word, registers, u->known,
					     /* signal: */ false);
	}
	return false;
}

/* Goes to the caller; false at the end. */
static bool unwind_step(struct unwind *u)
{
	/* The rules of stubs (.plt) refer to the pc: the return address was pushed at its start. */
	if (u->machine->pc != NONE)
		unwind_set(u->registers, &u->known, u->machine->pc, u->pc);
	if (u->place.module) {
		const struct ux_unwind_known_row *row = unwind_row(u, u->place.module, u->place.pc);
		if (row->sigreturn && u->returns)
			return unwind_by_ucontext(u);
		/* Go's signal handler makes a fault look like a call at the fault, which may be at
		 * the first instruction of a function. */
		if (!row->table && u->returns) {
			row = unwind_row(u, u->place.module, u->place.pc + 1);
			u->frame->returns = !row->table;
		}
		/* Tables for another machine say nothing about these registers. */
		if (row->table && row->table->frames.address_size == u->machine->word)
			return unwind_by_rules(u, row);
	}
	u->end = UX_UNWIND_NO_RULES;
	if (!u->place.code)
		return unwind_bad_call(u);
	if (unwind_by_frame_pointer(u))
		return true;
	bool may_call = u->end == UX_UNWIND_NO_RULES && u->returns && !u->place.module;
	return may_call && u->machine->pc != NONE && unwind_by_call(u);
}

enum ux_code ux_unwind(struct ux_unwinder *unwinder, const struct ux_unwind_thread *thread,
		       ux_unwind_find_fn *find, void *ctx, struct ux_unwind_frame *frames,
		       size_t *ret_n, enum ux_unwind_end *ret_end, struct ux_error *err)
{
	struct unwind u = {
		.unwinder = unwinder,
		.thread = thread,
		.find = find,
		.ctx = ctx,
		.pc = thread->pc,
		.known = thread->known,
		.machine = &unwind_machines[thread->machine],
	};
	if (!unwinder->rows)
		unwinder->rows = calloc(UX_UNWIND_ROWS, sizeof(*unwinder->rows));
	if (!unwinder->rows)
		return ux_error_nomem(err);
	memcpy(u.registers, thread->registers, sizeof(u.registers));
	*ret_n = 0;
	u.place = find(ctx, u.pc);
	do {
		u.frame = &frames[(*ret_n)++];
		*u.frame = (struct ux_unwind_frame){u.pc, u.returns};
		if (*ret_n == UX_UNWIND_FRAMES_MAX) {
			u.end = UX_UNWIND_LIMIT;
			break;
		}
	} while (unwind_step(&u));
	*ret_end = u.end;
	return UX_OK;
}
