/* SPDX-License-Identifier: Apache-2.0 */
/* Disassembly with capstone, which is loaded on demand. */
#include "sandbox_child.h"

#include "library_calls.h"

/*
 * The soname of the library version that the header belongs to, since structure layouts differ
 * between versions.
 */
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define SONAME   "libcapstone.so." TEXT(CS_API_MAJOR)

enum ux_code ux_capstone_load(struct ux_capstone_calls *ret, struct ux_error *err)
{
	static const char *const names[] = {
#define NAME(name) #name,
		UX_CAPSTONE_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	return ux_library_calls(
		SONAME,
		"disassembly needs Capstone (Debian: apt install libcapstone4 or libcapstone5)",
		names, ux_countof(names), ret, err);
}

enum {
	LONGEST = 16 /* bytes of the longest instruction, rounded up */
};

struct machine {
	uint16_t machine; /* EM_* */
	cs_arch arch;
	unsigned mode; /* capstone mode without the byte order */
	const char *name;
	const char *syntax;
};

static const struct machine machines[] = {
	{EM_X86_64, CS_ARCH_X86, CS_MODE_64, "x86_64", "Intel"},
	{EM_386, CS_ARCH_X86, CS_MODE_32, "i686", "Intel"},
	{EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, "aarch64", "ARM"},
	{EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, "arm", "ARM"},
	{EM_PPC64, CS_ARCH_PPC, CS_MODE_64, "ppc64", "PowerPC"},
	{EM_S390, CS_ARCH_SYSZ, 0, "s390x", "z/Architecture"},
};

static const struct machine *machine_of(uint16_t machine)
{
	for (size_t i = 0; i < ux_countof(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

bool ux_code_machine(uint16_t machine, const char **ret_name, const char **ret_syntax)
{
	const struct machine *m = machine_of(machine);
	if (!m)
		return false;
	*ret_name = m->name;
	*ret_syntax = m->syntax;
	return true;
}

static bool machine_is_big_endian(const struct ux_elf *elf)
{
	return elf->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static enum ux_code disassembler_open(const struct ux_capstone_calls *c, const struct ux_elf *elf,
				      bool thumb, bool att, csh *ret, struct ux_error *err)
{
	const struct machine *m = machine_of(elf->machine);
	if (!m)
		return ux_error_set(err, UX_EUNSUPPORTED, "no disassembler for machine %u",
				    elf->machine);
	unsigned mode = thumb ? (unsigned)CS_MODE_THUMB : m->mode;
	if (machine_is_big_endian(elf))
		mode |= (unsigned)CS_MODE_BIG_ENDIAN;
	if (c->cs_open(m->arch, (cs_mode)mode, ret) != CS_ERR_OK)
		return ux_error_set(err, UX_EUNSUPPORTED, "no disassembler for %s", m->name);
	(void)c->cs_option(*ret, CS_OPT_SKIPDATA, CS_OPT_ON);
	(void)c->cs_option(*ret, CS_OPT_DETAIL, CS_OPT_ON);
	if (!att || (m->arch == CS_ARCH_X86 &&
		     c->cs_option(*ret, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT) == CS_ERR_OK))
		return UX_OK;
	c->cs_close(ret);
	return ux_error_set(err, UX_EUNSUPPORTED, "there is no AT&T syntax for %s", m->name);
}

/* Returns whether an instruction branches. Capstone 4 has no groups for most branches of PowerPC,
 * whose names begin with b, and of s390x, whose names begin with b or j. */
static bool instruction_branches(cs_arch arch, const cs_insn *insn)
{
	const cs_detail *d = insn->detail;
	for (size_t i = 0; i < d->groups_count; i++)
		if (d->groups[i] == CS_GRP_JUMP || d->groups[i] == CS_GRP_CALL ||
		    d->groups[i] == CS_GRP_BRANCH_RELATIVE)
			return true;
	return ((arch == CS_ARCH_PPC || arch == CS_ARCH_SYSZ) && insn->mnemonic[0] == 'b') ||
	       (arch == CS_ARCH_SYSZ && insn->mnemonic[0] == 'j');
}

/* Returns the last number among the operands: the target of a branch. */
#define LAST_NUMBER(list, kind)                                          \
	do {                                                             \
		for (size_t i = (list).op_count; i-- > 0;)               \
			if ((list).operands[i].type == (kind))           \
				return (uint64_t)(list).operands[i].imm; \
	} while (0)

/* Returns the address that an x86 instruction reads or computes relative to itself, else its branch
 * target; 0: neither. */
static uint64_t target_x86(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	for (size_t i = 0; i < x->op_count; i++)
		if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base == X86_REG_RIP)
			return insn->address + insn->size + (uint64_t)x->operands[i].mem.disp;
	if (instruction_branches(CS_ARCH_X86, insn))
		LAST_NUMBER(*x, X86_OP_IMM);
	return 0;
}

/* Returns the address that an instruction refers to; 0: none, or it is unknown. */
static uint64_t instruction_target(cs_arch arch, const cs_insn *insn)
{
	const cs_detail *d = insn->detail;
	if (insn->id == 0 || !d) /* not an instruction */
		return 0;
	if (arch == CS_ARCH_X86)
		return target_x86(insn);
	bool data = (arch == CS_ARCH_ARM64 && insn->id == ARM64_INS_ADR) ||
		    (arch == CS_ARCH_SYSZ && insn->id == SYSZ_INS_LARL);
	if (!data && !instruction_branches(arch, insn))
		return 0;
	if (arch == CS_ARCH_ARM64)
		LAST_NUMBER(d->arm64, ARM64_OP_IMM);
	else if (arch == CS_ARCH_ARM)
		LAST_NUMBER(d->arm, ARM_OP_IMM);
	else if (arch == CS_ARCH_PPC)
		LAST_NUMBER(d->ppc, PPC_OP_IMM);
	else if (arch == CS_ARCH_SYSZ)
		LAST_NUMBER(d->sysz, SYSZ_OP_IMM);
	return 0;
}

static void disassembler_put(struct ux_out *out, uint64_t off, uint64_t target, const cs_insn *insn)
{
	char text[sizeof(insn->mnemonic) + sizeof(insn->op_str) + 2];
	int n = insn->op_str[0] != '\0'
			? snprintf(text, sizeof(text), "%s %s", insn->mnemonic, insn->op_str)
			: snprintf(text, sizeof(text), "%s", insn->mnemonic);
	ux_out_u32(out, (uint32_t)off);
	ux_out_u64(out, target);
	ux_out_u16(out, (uint16_t)n);
	ux_out_put(out, text, (size_t)n);
}

enum ux_code ux_disassemble(const struct ux_capstone_calls *calls, const struct ux_elf *elf,
			    const struct ux_code_range *range, struct ux_out *ret,
			    struct ux_error *err)
{
	csh reader = 0;
	bool thumb = elf->machine == EM_ARM && (range->pc & 1) != 0;
	uint64_t pc = range->pc - thumb;
	struct ux_bytes code = ux_elf_bytes_at(elf, pc);
	if (code.size == 0)
		return ux_error_set(err, UX_ENOTFOUND, "the file has no code at 0x%" PRIx64, pc);
	code.size = ux_min(code.size, (size_t)range->size + LONGEST);
	UX_TRY(disassembler_open(calls, elf, thumb, range->att, &reader, err));
	cs_insn *insn = calls->cs_malloc(reader);
	const uint8_t *at = code.data;
	size_t left = code.size;
	uint64_t next = pc, mask = elf->is64 ? UINT64_MAX : UINT32_MAX;
	while (insn && left > 0 && next - pc < range->size) {
		uint64_t from = next;
		if (!calls->cs_disasm_iter(reader, &at, &left, &next, insn) || next == from)
			break;
		uint64_t target = instruction_target(machine_of(elf->machine)->arch, insn);
		disassembler_put(ret, from - pc, target & mask, insn);
	}
	if (insn)
		calls->cs_free(insn, 1);
	calls->cs_close(&reader);
	return insn ? ux_out_status(ret, err) : ux_error_nomem(err);
}
