/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the programs that assign a value to each instruction of a function. */
#include "gosym_code.h"

#include "cursor.h"
#include "partition.h"

static int32_t unzigzag(uint32_t v)
{
	return (int32_t)(v >> 1 ^ -(v & 1));
}

enum ux_gosym_steps_outcome ux_gosym_steps_read(struct ux_bytes programs, uint64_t off,
						unsigned quantum, uint32_t size,
						struct ux_gosym_step_vec *ret)
{
	struct ux_cur c = ux_cur_make(programs, NULL, false);
	uint32_t value = UINT32_MAX; /* -1; unsigned, so that it may wrap */
	uint64_t pc = 0;
	/* Steps that do not advance come from instructions that the assembler removed. */
	uint32_t n_still = 0;
	ret->size = 0;
	if (off == 0)
		return UX_GOSYM_STEPS_READ;
	ux_cur_seek(&c, off);
	while (pc < size) {
		uint64_t step = ux_cur_uleb(&c);
		if (step == 0 && (pc > 0 || c.failed))
			break;
		uint64_t units = ux_cur_uleb(&c);
		if (c.failed || units > size || step > UINT32_MAX ||
		    n_still > UX_GOSYM_STILL_FREE + ret->size)
			return UX_GOSYM_STEPS_DAMAGED;
		pc += units * quantum;
		value += (uint32_t)unzigzag((uint32_t)step);
		if (units == 0) {
			n_still++;
			continue;
		}
		struct ux_gosym_step made = {(uint32_t)ux_min(pc, (uint64_t)size), (int32_t)value};
		if (!ux_gosym_step_vec_append(ret, made))
			return UX_GOSYM_STEPS_NOMEM;
	}
	return c.failed ? UX_GOSYM_STEPS_DAMAGED : UX_GOSYM_STEPS_READ;
}

int32_t ux_gosym_steps_at(const struct ux_gosym_step_vec *steps, uint32_t off)
{
	size_t lo = ux_partition_point(i, 0, steps->size, steps->data[i].end <= off);
	return lo < steps->size ? steps->data[lo].value : -1;
}
