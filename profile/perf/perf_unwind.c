/* SPDX-License-Identifier: Apache-2.0 */
/* Callers from copies of registers and stacks, which perf record --call-graph dwarf makes. */
#include "perf_reader.h"

#include "profile_unwind.h"

/* Context for the search for the code at an address. */
struct perf_unwind_place {
	struct ux_perf_reader *reader;
	const struct ux_perf_process *process;
};

/* A ux_unwind_find_fn; ctx is a struct perf_unwind_place. */
static struct ux_unwind_place perf_unwind_find(void *ctx, uint64_t address)
{
	struct perf_unwind_place *in = ctx;
	struct ux_perf_reader *r = in->reader;
	struct ux_unwind_place place = {0};
	const struct ux_perf_mapping *m = ux_perf_space_find(in->process->space, address);
	if (!m)
		return place;
	place.code = true;
	place.module = ux_profile_unwind_module(r->unwind, r->profile, m->module);
	if (place.module &&
	    !ux_unwind_module_pc(place.module, address - m->start + m->offset, &place.pc))
		place.module = NULL;
	return place;
}

/* For a machine: the DWARF register for each of perf's, and perf's number of the pc. */
struct perf_unwind_registers {
	enum ux_unwind_machine machine;
	unsigned pc; /* perf's number */
	unsigned sp; /* DWARF's number */
	uint8_t n;   /* registers of perf that are listed */
	uint8_t numbers[33];
};

enum {
	OTHER = UX_CFI_REGISTERS, /* perf's register has no column in DWARF's rows */
};

/* Flags and segments follow the pc of x86; after them come r8 to r15, which 32-bit processes lack.
 * 32-bit arm has its stack pointer and link register at perf's numbers of the arm64 ones. */
static const struct perf_unwind_registers perf_unwind_machines[] = {
	{UX_UNWIND_X86_64, UX_PERF_X86_64_IP, .sp = 7, .n = 24,
	 .numbers = {0,     3,     2,     1,     4, 5, 6,  7,  OTHER, OTHER, OTHER, OTHER,
		     OTHER, OTHER, OTHER, OTHER, 8, 9, 10, 11, 12,    13,    14,    15}},
	{UX_UNWIND_I386, UX_PERF_X86_64_IP, .sp = 4, .n = 8, .numbers = {0, 3, 1, 2, 6, 7, 5, 4}},
	{UX_UNWIND_ARM64, UX_PERF_ARM64_PC, .sp = 31, .n = 32,
	 .numbers = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
		     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}},
	{UX_UNWIND_ARM, UX_PERF_ARM64_PC, .sp = 13, .n = 32,
	 .numbers = {0,     1,     2,     3,     4,     5,     6,     7,     8,     9,     10,
		     11,    12,    OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER,
		     OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, 14,    13}},
};

/* Sets the state of a sample's thread. False: its registers belong to another machine. */
static bool perf_unwind_thread(const struct ux_perf_reader *r, const struct ux_perf_event *event,
			       const struct ux_perf_sample *sample, struct ux_unwind_thread *ret)
{
	uint64_t mask = event->attr.registers;
	int ip = ux_perf_ip_register(mask);
	if (ip < 0 || sample->registers.size == 0 || sample->stack.size == 0)
		return false;
	const bool arm = ip == UX_PERF_ARM64_PC;
	const struct perf_unwind_registers *m =
		&perf_unwind_machines[2 * arm + sample->registers32];
	const uint64_t bits = sample->registers32 ? UINT32_MAX : UINT64_MAX;
	*ret = (struct ux_unwind_thread){
		.machine = m->machine,
		.bytes = sample->stack,
		.swap = r->swap,
	};
	struct ux_cur c = ux_cur_make(sample->registers, NULL, r->swap);
	for (unsigned bit = 0; bit < 64; bit++) {
		if ((mask >> bit & 1) == 0)
			continue;
		const uint64_t v = ux_cur_u64(&c) & bits;
		const unsigned number = bit < m->n ? m->numbers[bit] : OTHER;
		if (bit == m->pc)
			ret->pc = v;
		if (number >= UX_CFI_REGISTERS)
			continue;
		ret->registers[number] = v;
		ret->known |= (uint64_t)1 << number;
	}
	ret->stack = ret->registers[m->sp];
	return !c.failed && (ret->known >> m->sp & 1) != 0;
}

enum ux_code ux_perf_reader_unwind(struct ux_perf_reader *r, const struct ux_perf_event *event,
				   const struct ux_perf_sample *sample,
				   const struct ux_perf_process *process,
				   const struct ux_unwind_frame **ret, size_t *ret_n,
				   struct ux_error *err)
{
	struct perf_unwind_place place = {r, process};
	struct ux_unwind_thread thread;
	enum ux_unwind_end end = UX_UNWIND_COMPLETE;
	*ret_n = 0;
	if (!r->unwind || !perf_unwind_thread(r, event, sample, &thread))
		return UX_OK;
	*ret = r->unwind->frames;
	UX_TRY(ux_unwind(&r->unwind->unwinder, &thread, perf_unwind_find, &place, r->unwind->frames,
			 ret_n, &end, err));
	r->summary->unwound++;
	if (end == UX_UNWIND_SHORT || end == UX_UNWIND_LIMIT) {
		r->summary->unwound_short++;
		r->summary->cut_bytes = ux_max(r->summary->cut_bytes, (uint64_t)sample->stack.size);
	}
	r->summary->unwound_lost += end == UX_UNWIND_NO_RULES;
	return UX_OK;
}
