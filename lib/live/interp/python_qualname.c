/* SPDX-License-Identifier: Apache-2.0 */
/* Qualified names of running functions before CPython 3.11, whose code objects have none. */
#include "python_code.h"

enum {
	TYPE_FLAGS = 168,
	TYPE_DICT = 264,
	TYPE_MRO = 344,
	TYPE_SUBCLASS = 31, /* bit of tp_flags that marks a metaclass */
	TUPLE_ITEMS = 24,
	DICT_KEYS = 32,
	KEYS_SIZE = 8,
	KEYS_ENTRIES = 32, /* number of entries */
	KEYS_INDICES = 40, /* dk_size indices, followed by the entries */
	ENTRY = 24,        /* hash, key, value */
	WRAPPED = 16, /* first field of classmethod and staticmethod; of property, and two more */
	CLASSES_MAX = 256,
	ENTRIES_MAX = 1 << 14,
	WRAPPED_MAX = 3,
};

static uint64_t python_function_of(struct ux_python *p, uint64_t addr, uint64_t code)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t its = 0;
	if (ux_python_is(p, addr, UX_PYTHON_METHOD) &&
	    !ux_memory_pointer(&p->memory, addr + l->method_func, &addr))
		return 0;
	if (!ux_python_is(p, addr, UX_PYTHON_FUNCTION) ||
	    !ux_memory_pointer(&p->memory, addr + l->func_code, &its))
		return 0;
	return its == code ? addr : 0;
}

/* Finds the function in the attribute of a class, which may be the function itself or wrap it. */
static uint64_t python_function_unwrap(struct ux_python *p, uint64_t value, uint64_t code)
{
	uint64_t function = python_function_of(p, value, code), held = 0;
	for (unsigned i = 0; function == 0 && i < WRAPPED_MAX; i++)
		if (ux_memory_pointer(&p->memory, value + WRAPPED + 8 * i, &held))
			function = python_function_of(p, held, code);
	return function;
}

static uint64_t python_dict_index_width(uint64_t size)
{
	return size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
}

/* Finds the value of a key in a dict. Names are interned, so equal names are the same object. */
static uint64_t python_dict_get(struct ux_python *p, uint64_t dict, uint64_t key)
{
	uint64_t keys = 0, size = 0, n = 0, entry[ENTRY / 8];
	if (!ux_memory_pointer(&p->memory, dict + DICT_KEYS, &keys) ||
	    !ux_memory_read(&p->memory, keys + KEYS_SIZE, &size, sizeof(size)) ||
	    !ux_memory_read(&p->memory, keys + KEYS_ENTRIES, &n, sizeof(n)) || size > UINT32_MAX)
		return 0;
	uint64_t at = keys + KEYS_INDICES + size * python_dict_index_width(size);
	for (uint64_t i = 0; i < ux_min(n, (uint64_t)ENTRIES_MAX); i++, at += ENTRY) {
		if (!ux_memory_read(&p->memory, at, entry, sizeof(entry)))
			return 0;
		if (entry[1] == key)
			return entry[2];
	}
	return 0;
}

static uint64_t python_class_find_function(struct ux_python *p, uint64_t type, uint64_t name,
					   uint64_t code)
{
	uint64_t mro = 0, n = 0, class = 0, dict = 0;
	if (!ux_memory_pointer(&p->memory, type + TYPE_MRO, &mro) ||
	    !ux_memory_read(&p->memory, mro + p->layout.var_size, &n, sizeof(n)))
		return 0;
	for (uint64_t i = 0; i < ux_min(n, (uint64_t)CLASSES_MAX); i++) {
		if (!ux_memory_pointer(&p->memory, mro + TUPLE_ITEMS + 8 * i, &class) ||
		    !ux_memory_pointer(&p->memory, class + TYPE_DICT, &dict))
			return 0;
		uint64_t value = python_dict_get(p, dict, name);
		uint64_t function = value != 0 ? python_function_unwrap(p, value, code) : 0;
		if (function != 0)
			return function;
	}
	return 0;
}

static uint64_t python_method_find(struct ux_python *p, uint64_t first, uint64_t code)
{
	uint64_t type = 0, flags = 0, name = 0;
	if (!ux_memory_pointer(&p->memory, first + p->layout.object_type, &type) ||
	    !ux_memory_pointer(&p->memory, code + p->layout.code_name, &name) ||
	    !ux_memory_read(&p->memory, type + TYPE_FLAGS, &flags, sizeof(flags)))
		return 0;
	uint64_t function = python_class_find_function(p, type, name, code);
	if (function == 0 && (flags >> TYPE_SUBCLASS & 1) != 0)
		function = python_class_find_function(p, first, name, code);
	return function;
}

enum {
	STACK_MAX = 1 << 12, /* values of a frame that are examined */
};

/* Searches the value stack of the caller for the function. Values that were popped may be found,
 * too, but any function with this code has the right name. */
static uint64_t python_stack_find_function(struct ux_python *p, const struct ux_raw_frame *caller,
					   uint64_t code)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t stack = 0, value = 0;
	uint32_t depth = 0;
	if (!ux_memory_pointer(&p->memory, caller->addr + l->frame_stack, &stack) ||
	    !ux_memory_read(&p->memory, caller->code + l->code_stack, &depth, sizeof(depth)))
		return 0;
	for (uint32_t i = 0; i < ux_min(depth, (uint32_t)STACK_MAX); i++) {
		if (!ux_memory_read(&p->memory, stack + 8 * (uint64_t)i, &value, sizeof(value)))
			break;
		uint64_t function = python_function_of(p, value, code);
		if (function != 0)
			return function;
	}
	return 0;
}

/* Searches the class of the first argument, which is `self` or `cls` in a method. */
static uint64_t python_frame_find_method(struct ux_python *p, const struct ux_raw_frame *frame)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t first = 0;
	uint32_t arguments = 0;
	if (!ux_memory_read(&p->memory, frame->code + l->code_args, &arguments,
			    sizeof(arguments)) ||
	    arguments == 0 || !ux_memory_pointer(&p->memory, frame->addr + l->frame_locals, &first))
		return 0;
	return python_method_find(p, first, frame->code);
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
	uint64_t function = caller ? python_stack_find_function(p, caller, frame->code) : 0;
	if (function == 0)
		function = python_frame_find_method(p, frame);
	if (function != 0 && ux_memory_pointer(&p->memory, function + l->func_qualname, &name))
		return ux_python_text(p, name, a, ret, err);
	return UX_OK;
}
