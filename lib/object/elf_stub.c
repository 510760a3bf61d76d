/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of stubs, as GNU ld, gold, lld and mold write them (the processor supplements of the
 * System V ABI, "Procedure Linkage Table"). docs/formats/plt.md lists the shapes.
 */
#include "elf_plt.h"

#include "cursor.h"

static struct ux_cur stub_cursor(const struct ux_elf_stub_context *context, struct ux_bytes code)
{
	return ux_cur_make(code, NULL, context->swap);
}

/* Sign-extends the low `bits` of v. */
static int64_t stub_sign(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* Skips `what` when it is next. */
static bool stub_match(struct ux_cur *c, struct ux_bytes what)
{
	if (!ux_bytes_starts(ux_bytes(c->pos, ux_cur_left(c)), what))
		return false;
	ux_cur_skip(c, what.size);
	return true;
}

/* [endbr] push N; [bnd] jmp: the code that an IBT stub of .plt.sec jumps to at its first call. */
static bool stub_push(struct ux_cur *c, bool marked, uint32_t each, struct ux_elf_stub_code *ret)
{
	if (!stub_match(c, UX_STR("\x68")))
		return false;
	ret->entry = ux_cur_u32(c) / each;
	ret->by_entry = true;
	bool bound = stub_match(c, UX_STR("\xf2"));
	return (marked || bound) && stub_match(c, UX_STR("\xe9"));
}

static bool stub_x86_64(const struct ux_elf_stub_context *context, struct ux_bytes code,
			uint64_t pc, struct ux_elf_stub_code *ret)
{
	struct ux_cur c = stub_cursor(context, code);
	bool marked = stub_match(&c, UX_STR("\xf3\x0f\x1e\xfa")); /* endbr64 */
	struct ux_cur peek = c;
	bool push = stub_match(&peek, UX_STR("\x68"));
	if (push) {
		if (!stub_push(&c, marked, 1, ret))
			return false;
	} else {
		bool plain = stub_match(&c, UX_STR("\xff\x25")) ||
			     stub_match(&c, UX_STR("\xf2\xff\x25"));
		if (!plain && !stub_match(&c, UX_STR("\x4c\x8b\x1d"))) /* mov slot(%rip), %r11 */
			return false;
		int64_t distance = stub_sign(ux_cur_u32(&c), 32);
		ret->slot = pc + ux_cur_off(&c) + (uint64_t)distance;
	}
	ret->size = (uint32_t)ux_cur_off(&c) + (push ? 4 : 0);
	return !c.failed;
}

static bool stub_386(const struct ux_elf_stub_context *context, struct ux_bytes code, uint64_t pc,
		     struct ux_elf_stub_code *ret)
{
	struct ux_cur c = stub_cursor(context, code);
	(void)pc;
	bool marked = stub_match(&c, UX_STR("\xf3\x0f\x1e\xfb")); /* endbr32 */
	struct ux_cur peek = c;
	bool push = stub_match(&peek, UX_STR("\x68"));
	if (push) {
		if (!stub_push(&c, marked, ELF32_REL_SIZE, ret))
			return false;
	} else {
		bool absolute = stub_match(&c, UX_STR("\xff\x25"));
		if (!absolute && !stub_match(&c, UX_STR("\xff\xa3"))) /* jmp *slot(%ebx) */
			return false;
		uint32_t base = absolute ? 0 : (uint32_t)context->got;
		ret->slot = base + ux_cur_u32(&c); /* wraps at 32 bits as the instruction does */
		ret->slot = (uint32_t)ret->slot;
	}
	ret->size = (uint32_t)ux_cur_off(&c) + (push ? 4 : 0);
	return !c.failed;
}

/* [bti c]; adrp x16, page; ldr x17, [x16, #rest]; ... */
static bool stub_aarch64(const struct ux_elf_stub_context *context, struct ux_bytes code,
			 uint64_t pc, struct ux_elf_stub_code *ret)
{
	struct ux_cur c = stub_cursor(context, code);
	uint32_t first = ux_cur_u32(&c);
	if (first == 0xd503245f) {
		pc += 4;
		first = ux_cur_u32(&c);
	}
	uint32_t load = ux_cur_u32(&c);
	bool wide = (load & 0xffc003ff) == 0xf9400211;
	if (c.failed || (first & 0x9f00001f) != 0x90000010 ||
	    (!wide && (load & 0xffc003ff) != 0xb9400211))
		return false;
	uint64_t pages = (uint64_t)(first >> 5 & 0x7ffff) << 2 | (first >> 29 & 3);
	ret->slot = (pc & ~(uint64_t)0xfff) + ((uint64_t)stub_sign(pages, 21) << 12) +
		    ((uint64_t)(load >> 10 & 0xfff) << (wide ? 3 : 2));
	ret->size = (uint32_t)ux_cur_off(&c);
	return true;
}

/* ARM's immediate operand: eight bits, rotated right by twice the four bits above them. */
static uint32_t stub_arm_operand(uint32_t word)
{
	unsigned turn = (word >> 8 & 15) * 2;
	uint32_t v = word & 0xff;
	return turn ? v >> turn | v << (32 - turn) : v;
}

/* add ip, pc, #a; add ip, ip, #b; ...; ldr pc, [ip, #c]! */
static bool stub_arm_adds(struct ux_cur *c, uint32_t first, uint32_t pc, uint64_t *slot)
{
	uint32_t sum = pc + 8 + stub_arm_operand(first);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t word = ux_cur_u32(c);
		if ((word & 0xfffff000) == 0xe28cc000) {
			sum += stub_arm_operand(word);
			continue;
		}
		*slot = (uint32_t)(sum + (word & 0xfff));
		return (word & 0xfffff000) == 0xe5bcf000;
	}
	return false;
}

/* ldr ip, [pc, #4]; add ip, ip, pc; ldr pc, [ip]; .word distance */
static bool stub_arm_word(struct ux_cur *c, uint32_t pc, uint64_t *slot)
{
	uint32_t add = ux_cur_u32(c), jump = ux_cur_u32(c), distance = ux_cur_u32(c);
	*slot = (uint32_t)(pc + 4 + 8 + distance);
	return (add == 0xe08cc00f || add == 0xe08fc00c) && jump == 0xe59cf000;
}

/*
 * Returns the 16-bit immediate of movw and movt, given as two halfwords, the first one in the low
 * bits.
 */
static uint32_t stub_thumb_operand(uint32_t low, uint32_t high)
{
	return (low & 15) << 12 | (low >> 10 & 1) << 11 | (high >> 12 & 7) << 8 | (high & 0xff);
}

/*
 * movw ip, #low; movt ip, #high; add ip, pc; ldr.w pc, [ip]: for machines that support only Thumb.
 */
static bool stub_thumb(struct ux_cur c, uint32_t pc, struct ux_elf_stub_code *ret)
{
	uint16_t h[7];
	for (unsigned i = 0; i < ux_countof(h); i++)
		h[i] = ux_cur_u16(&c);
	if (c.failed || (h[0] & 0xfbf0) != 0xf240 || (h[1] & 0x8f00) != 0x0c00 ||
	    (h[2] & 0xfbf0) != 0xf2c0 || (h[3] & 0x8f00) != 0x0c00 || h[4] != 0x44fc ||
	    h[5] != 0xf8dc || h[6] != 0xf000)
		return false;
	uint32_t distance = stub_thumb_operand(h[0], h[1]) | stub_thumb_operand(h[2], h[3]) << 16;
	ret->slot = (uint32_t)(pc + 8 + 4 + distance);
	ret->size = (uint32_t)ux_cur_off(&c);
	return true;
}

static bool stub_arm(const struct ux_elf_stub_context *context, struct ux_bytes code, uint64_t pc,
		     struct ux_elf_stub_code *ret)
{
	struct ux_cur c = stub_cursor(context, code), whole = c;
	uint32_t at = (uint32_t)pc, first = ux_cur_u32(&c);
	if (first == 0x46c04778 || first == 0xe7fd4778) { /* bx pc, for callers in Thumb state */
		at += 4;
		first = ux_cur_u32(&c);
	}
	bool ok = false;
	if ((first & 0xfffff000) == 0xe28fc000)
		ok = stub_arm_adds(&c, first, at, &ret->slot);
	else if (first == 0xe59fc004)
		ok = stub_arm_word(&c, at, &ret->slot);
	else
		return stub_thumb(whole, at, ret);
	ret->size = (uint32_t)ux_cur_off(&c);
	return ok && !c.failed;
}

/* auipc t3, high; ld t3, low(t3); jalr t1, t3 */
static bool stub_riscv(const struct ux_elf_stub_context *context, struct ux_bytes code, uint64_t pc,
		       struct ux_elf_stub_code *ret)
{
	struct ux_cur c = stub_cursor(context, code);
	uint32_t high = ux_cur_u32(&c), load = ux_cur_u32(&c), jump = ux_cur_u32(&c);
	if (c.failed || (high & 0xfff) != 0xe17 ||
	    (load & 0xfffff) != (context->is64 ? 0xe3e03u : 0xe2e03u) || jump != 0x000e0367)
		return false;
	ret->slot = pc + (uint64_t)stub_sign(high & 0xfffff000, 32) +
		    (uint64_t)stub_sign(load >> 20, 12);
	if (!context->is64)
		ret->slot = (uint32_t)ret->slot;
	ret->size = (uint32_t)ux_cur_off(&c);
	return true;
}

/*
 * [std r2, 24|40(r1)]; addis rX, r2, high; ld r12, low(rX); mtctr r12; bctr. In the first ABI a
 * slot is a descriptor, so r2 is loaded in between too, and compared when the slot may not be
 * filled yet.
 */
static bool stub_ppc64(const struct ux_elf_stub_context *context, struct ux_bytes code, uint64_t pc,
		       struct ux_elf_stub_code *ret)
{
	enum {
		WORDS_MAX = 10
	};
	struct ux_cur c = stub_cursor(context, code);
	uint64_t high = 0;
	unsigned base = 2;
	bool loaded = false, moved = false;
	(void)pc;
	for (unsigned i = 0; i < WORDS_MAX && ux_cur_more(&c); i++) {
		uint32_t word = ux_cur_u32(&c), to = word >> 21 & 31, from = word >> 16 & 31;
		if (i == 0 && (word == 0xf8410018 || word == 0xf8410028))
			continue;
		if (!loaded && word >> 26 == 15 && from == 2 && (to == 11 || to == 12)) {
			high = (uint64_t)stub_sign(word & 0xffff, 16) << 16;
			base = to;
		} else if (!loaded && word >> 26 == 58 && (word & 3) == 0 && from == base &&
			   to == 12) {
			ret->slot = context->got + high + (uint64_t)stub_sign(word & 0xfffc, 16);
			loaded = true;
		} else if (word == 0x7d8903a6) {
			moved = true;
		} else if (word == 0x4e800420 || word == 0x4ce20420) {
			if (word == 0x4ce20420) /* bnectr+, then b to the resolver */
				(void)ux_cur_u32(&c);
			ret->size = (uint32_t)ux_cur_off(&c);
			return loaded && moved && !c.failed;
		} else if (!loaded) {
			return false;
		}
	}
	return false;
}

/* [li r0, index | lis r0, high; ori r0, r0, low]; b */
bool ux_elf_stub_first_call(const struct ux_elf_stub_context *context, struct ux_bytes code,
			    uint64_t pc, uint64_t index, uint32_t *ret_size, uint64_t *ret_to)
{
	struct ux_cur c = stub_cursor(context, code);
	uint32_t word = ux_cur_u32(&c);
	if (word == (0x38000000 | index) && index < 0x8000) {
		word = ux_cur_u32(&c);
	} else if (index >= 0x8000 && word == (0x3c000000 | (index >> 16 & 0xffff))) {
		if (ux_cur_u32(&c) != (0x60000000 | (index & 0xffff)))
			return false;
		word = ux_cur_u32(&c);
	}
	if (c.failed || (word & 0xfc000003) != 0x48000000)
		return false;
	*ret_size = (uint32_t)ux_cur_off(&c);
	*ret_to = pc + *ret_size - 4 + (uint64_t)stub_sign(word & 0x3fffffc, 26);
	return true;
}

/* larl %r1, slot; lg %r1, 0(%r1); br %r1 */
static bool stub_s390(const struct ux_elf_stub_context *context, struct ux_bytes code, uint64_t pc,
		      struct ux_elf_stub_code *ret)
{
	struct ux_cur c = stub_cursor(context, code);
	if (!stub_match(&c, UX_STR("\xc0\x10")))
		return false;
	ret->slot = pc + 2 * (uint64_t)stub_sign(ux_cur_u32(&c), 32);
	if (!stub_match(&c, UX_STR("\xe3\x10\x10\x00\x00\x04\x07\xf1")))
		return false;
	ret->size = (uint32_t)ux_cur_off(&c);
	return true;
}

static const struct ux_elf_stub_machine machines[] = {
	{EM_X86_64, 8, 32, false, 7, 6, {37}, stub_x86_64},
	{EM_386, 8, 16, false, 7, 6, {42}, stub_386},
	{EM_AARCH64, 4, 32, false, 1026, 1025, {1032}, stub_aarch64},
	{EM_ARM, 4, 24, false, 22, 21, {160}, stub_arm},
	{EM_RISCV, 4, 16, false, 5, 2, {58}, stub_riscv},
	{EM_PPC64, 4, 40, true, 21, 21, {248, 247}, stub_ppc64},
	{EM_S390, 8, 32, false, 11, 10, {61}, stub_s390},
};

const struct ux_elf_stub_machine *ux_elf_stub_machine(uint16_t machine, bool is64)
{
	if ((machine == EM_S390 || machine == EM_PPC64) && !is64)
		return NULL; /* 32-bit files of these machines have other stubs */
	for (size_t i = 0; i < ux_countof(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}
