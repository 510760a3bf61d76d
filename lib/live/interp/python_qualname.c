/* SPDX-License-Identifier: Apache-2.0 */
/* Qualified names of running functions before CPython 3.11. */
#include "python_qualname.h"

#include "python_method.h"

enum {
	STACK_MOST = 1 << 12, /* values of a frame that are looked at */
};

/* Values that were popped are still there, but a function with this very code has the right name.
 */
static uint64_t find_called(struct ux_python *p, const struct ux_raw_frame *caller, uint64_t code)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t stack = 0, value = 0;
	uint32_t depth = 0;
	if (!ux_memory_pointer(&p->memory, caller->addr + l->frame_stack, &stack) ||
	    !ux_memory_read(&p->memory, caller->code + l->code_stack, &depth, sizeof(depth)))
		return 0;
	for (uint32_t i = 0; i < ux_min(depth, (uint32_t)STACK_MOST); i++) {
		if (!ux_memory_read(&p->memory, stack + 8 * (uint64_t)i, &value, sizeof(value)))
			break;
		uint64_t function = ux_python_function_of(p, value, code);
		if (function != 0)
			return function;
	}
	return 0;
}

/* By the class of the first argument, which a method has to have. */
static uint64_t find_method(struct ux_python *p, const struct ux_raw_frame *frame)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t first = 0;
	uint32_t arguments = 0;
	if (!ux_memory_read(&p->memory, frame->code + l->code_args, &arguments,
			    sizeof(arguments)) ||
	    arguments == 0 || !ux_memory_pointer(&p->memory, frame->addr + l->frame_locals, &first))
		return 0;
	return ux_python_method_find(p, first, frame->code);
}

enum ux_code ux_python_qualname(struct ux_python *p, const struct ux_raw_frame *frame,
				const struct ux_raw_frame *caller, struct ux_arena *a,
				const char **ret, struct ux_error *err)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t gen = 0, name = 0;
	*ret = "";
	if (ux_memory_pointer(&p->memory, frame->addr + l->frame_gen, &gen) &&
	    ux_memory_pointer(&p->memory, gen + l->gen_qualname, &name))
		return ux_python_text(p, name, a, ret, err);
	uint64_t function = caller ? find_called(p, caller, frame->code) : 0;
	if (function == 0)
		function = find_method(p, frame);
	if (function != 0 && ux_memory_pointer(&p->memory, function + l->func_qualname, &name))
		return ux_python_text(p, name, a, ret, err);
	return UX_OK;
}
