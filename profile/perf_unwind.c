/* SPDX-License-Identifier: Apache-2.0 */
/* Callers from copies of registers and stacks, which perf record --call-graph dwarf takes. */
#include "perf_reader.h"

#include "profile_unwind.h"

enum {
	SP_X86_64 = 7, /* DWARF's numbers */
	SP_ARM64 = 31,
};

/* What the search for the code at an address needs. */
struct perf_unwind_place {
	struct ux_perf_reader *reader;
	const struct ux_perf_process *process;
};

/* A ux_unwind_find_fn with a struct perf_unwind_place. */
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

/* Sets the registers that DWARF numbers otherwise than perf does; perf's number 16 is r8. */
static void perf_unwind_set_x86_64(struct ux_unwind_thread *t, unsigned bit, uint64_t v)
{
	static const uint8_t numbers[] = {0, 3, 2, 1, 4, 5, 6, 7};
	enum {
		IP = 8,
		R8 = 16,
		R15 = 23,
		DWARF_R8 = 8,
	};
	unsigned number = UX_CFI_REGISTERS;
	if (bit < ux_countof(numbers))
		number = numbers[bit];
	else if (bit == IP)
		t->pc = v;
	else if (bit >= R8 && bit <= R15)
		number = bit - R8 + DWARF_R8;
	if (number < UX_CFI_REGISTERS) {
		t->registers[number] = v;
		t->known |= (uint64_t)1 << number;
	}
}

static void perf_unwind_set_arm64(struct ux_unwind_thread *t, unsigned bit, uint64_t v)
{
	enum {
		PC = 32
	};
	if (bit == PC) {
		t->pc = v;
	} else if (bit < PC) {
		t->registers[bit] = v;
		t->known |= (uint64_t)1 << bit;
	}
}

/* The state of a sample's thread. False: its registers are those of another machine. */
static bool perf_unwind_thread(const struct ux_perf_reader *r, const struct ux_perf_event *event,
			       const struct ux_perf_sample *sample, struct ux_unwind_thread *ret)
{
	uint64_t mask = event->attr.registers;
	int ip = ux_perf_ip_register(mask);
	if (ip < 0 || sample->registers.size == 0 || sample->stack.size == 0)
		return false;
	bool arm64 = ip == UX_PERF_ARM64_PC;
	unsigned sp = arm64 ? SP_ARM64 : SP_X86_64;
	*ret = (struct ux_unwind_thread){
		.machine = arm64 ? UX_UNWIND_ARM64 : UX_UNWIND_X86_64,
		.bytes = sample->stack,
		.swap = r->swap,
	};
	struct ux_cur c = ux_cur_make(sample->registers, NULL, r->swap);
	for (unsigned bit = 0; bit < 64; bit++) {
		if ((mask >> bit & 1) == 0)
			continue;
		if (arm64)
			perf_unwind_set_arm64(ret, bit, ux_cur_u64(&c));
		else
			perf_unwind_set_x86_64(ret, bit, ux_cur_u64(&c));
	}
	ret->stack = ret->registers[sp];
	return !c.failed && (ret->known >> sp & 1) != 0;
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
	r->summary->unwound_short += end == UX_UNWIND_SHORT || end == UX_UNWIND_LIMIT;
	r->summary->unwound_lost += end == UX_UNWIND_NO_RULES;
	return UX_OK;
}
