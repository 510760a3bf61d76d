/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of classes before CPython 3.11. */
#include "python_method.h"

enum {
	TYPE_FLAGS = 168,
	TYPE_DICT = 264,
	TYPE_MRO = 344,
	TYPE_SUBCLASS = 31, /* bit of tp_flags of a class of classes */
	TUPLE_ITEMS = 24,
	DICT_KEYS = 32,
	KEYS_SIZE = 8,
	KEYS_ENTRIES = 32, /* how many there are */
	KEYS_INDICES = 40, /* dk_size of them, and then the entries */
	ENTRY = 24,        /* hash, key, value */
	WRAPPED = 16, /* first field of classmethod and staticmethod; of property, and two more */
	CLASSES_MOST = 256,
	ENTRIES_MOST = 1 << 14,
	WRAPPED_MOST = 3,
};

uint64_t ux_python_function_of(struct ux_python *p, uint64_t addr, uint64_t code)
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

/* What a class has under a name may be the function itself or hold it. */
static uint64_t unwrap(struct ux_python *p, uint64_t value, uint64_t code)
{
	uint64_t function = ux_python_function_of(p, value, code), held = 0;
	for (unsigned i = 0; function == 0 && i < WRAPPED_MOST; i++)
		if (ux_memory_pointer(&p->memory, value + WRAPPED + 8 * i, &held))
			function = ux_python_function_of(p, held, code);
	return function;
}

static uint64_t index_width(uint64_t size)
{
	return size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
}

/* The value of a key in a dict: names are interned, so that equal ones are the same object. */
static uint64_t dict_get(struct ux_python *p, uint64_t dict, uint64_t key)
{
	uint64_t keys = 0, size = 0, n = 0, entry[ENTRY / 8];
	if (!ux_memory_pointer(&p->memory, dict + DICT_KEYS, &keys) ||
	    !ux_memory_read(&p->memory, keys + KEYS_SIZE, &size, sizeof(size)) ||
	    !ux_memory_read(&p->memory, keys + KEYS_ENTRIES, &n, sizeof(n)) || size > UINT32_MAX)
		return 0;
	uint64_t at = keys + KEYS_INDICES + size * index_width(size);
	for (uint64_t i = 0; i < ux_min(n, (uint64_t)ENTRIES_MOST); i++, at += ENTRY) {
		if (!ux_memory_read(&p->memory, at, entry, sizeof(entry)))
			return 0;
		if (entry[1] == key)
			return entry[2];
	}
	return 0;
}

static uint64_t find_in_class(struct ux_python *p, uint64_t type, uint64_t name, uint64_t code)
{
	uint64_t mro = 0, n = 0, class = 0, dict = 0;
	if (!ux_memory_pointer(&p->memory, type + TYPE_MRO, &mro) ||
	    !ux_memory_read(&p->memory, mro + p->layout.var_size, &n, sizeof(n)))
		return 0;
	for (uint64_t i = 0; i < ux_min(n, (uint64_t)CLASSES_MOST); i++) {
		if (!ux_memory_pointer(&p->memory, mro + TUPLE_ITEMS + 8 * i, &class) ||
		    !ux_memory_pointer(&p->memory, class + TYPE_DICT, &dict))
			return 0;
		uint64_t value = dict_get(p, dict, name);
		uint64_t function = value != 0 ? unwrap(p, value, code) : 0;
		if (function != 0)
			return function;
	}
	return 0;
}

uint64_t ux_python_method_find(struct ux_python *p, uint64_t first, uint64_t code)
{
	uint64_t type = 0, flags = 0, name = 0;
	if (!ux_memory_pointer(&p->memory, first + p->layout.object_type, &type) ||
	    !ux_memory_pointer(&p->memory, code + p->layout.code_name, &name) ||
	    !ux_memory_read(&p->memory, type + TYPE_FLAGS, &flags, sizeof(flags)))
		return 0;
	uint64_t function = find_in_class(p, type, name, code);
	if (function == 0 && (flags >> TYPE_SUBCLASS & 1) != 0)
		function = find_in_class(p, first, name, code);
	return function;
}
