/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of the fields in the structs of each CPython version. */
#include "python_object.h"

#include "cursor.h"

#define NONE UX_PYTHON_NONE

/* Offsets that all 64-bit builds before free threading have in common. */
#define OBJECTS                                                                                \
	.object_type = 8, .type_name = 24, .var_size = 16, .bytes_data = 32, .str_length = 16, \
	.str_state = 32

/* PyThreadState and PyFrameObject of 3.7 to 3.10; PyFunctionObject and the rest of 3.7 to 3.9. */
#define FRAME_OBJECTS                                                                      \
	.interp_next = 0, .interp_threads = 8, .thread_bytes = 184, .thread_next = 8,      \
	.thread_interp = 16, .thread_handle = 176, .thread_tid = NONE, .thread_frame = 24, \
	.cframe_frame = NONE, .frame_bytes = 120, .frame_previous = 24, .frame_code = 32,  \
	.frame_owner = NONE, .frame_stack = 64, .frame_entry = NONE, .code_args = 16,      \
	.code_qualname = NONE, .method_func = 16, OBJECTS, .str_ascii = 48, .str_wide = 72

static const struct ux_python_layout layouts[] = {
	{
		.version = 0x0307,
		.lines = UX_PYTHON_LNOTAB,
		FRAME_OBJECTS,
		.runtime_head = 24,
		.interp_id = 16,
		.frame_instr = 104,
		.frame_running = 116, /* f_executing */
		.running = 1 << 1,
		.frame_unit = 1,
		.frame_gen = 96,
		.frame_locals = 360,
		.gen_qualname = 56,
		.func_code = 16,
		.func_qualname = 104,
		.code_bytes = 120,
		.code_first_line = 36,
		.code_file = 96,
		.code_name = 104,
		.code_lines = 112,
		.code_instrs = 40,
		.code_stack = 28,
	},
	{
		.version = 0x0308,
		.lines = UX_PYTHON_LNOTAB,
		FRAME_OBJECTS,
		.runtime_head = 32,
		.interp_id = 16,
		.frame_instr = 104,
		.frame_running = 116, /* f_executing */
		.running = 1 << 1,
		.frame_unit = 1,
		.frame_gen = 96,
		.frame_locals = 360,
		.gen_qualname = 56,
		.func_code = 16,
		.func_qualname = 104,
		.code_bytes = 128,
		.code_first_line = 40,
		.code_file = 104,
		.code_name = 112,
		.code_lines = 120,
		.code_instrs = 48,
		.code_stack = 32,
	},
	{
		.version = 0x0309,
		.lines = UX_PYTHON_LNOTAB,
		FRAME_OBJECTS,
		.runtime_head = 32,
		.interp_id = 24,
		.frame_instr = 104,
		.frame_running = 116, /* f_executing */
		.running = 1 << 1,
		.frame_unit = 1,
		.frame_gen = 96,
		.frame_locals = 360,
		.gen_qualname = 56,
		.func_code = 16,
		.func_qualname = 104,
		.code_bytes = 128,
		.code_first_line = 40,
		.code_file = 104,
		.code_name = 112,
		.code_lines = 120,
		.code_instrs = 48,
		.code_stack = 32,
	},
	{
		.version = 0x030a,
		.lines = UX_PYTHON_LINETABLE,
		FRAME_OBJECTS,
		.runtime_head = 32,
		.interp_id = 24,
		.frame_instr = 96,
		.frame_running = 108,       /* f_state */
		.running = 1 << 0 | 1 << 2, /* FRAME_EXECUTING, FRAME_UNWINDING */
		.frame_unit = 2,
		.frame_gen = 88,
		.frame_locals = 352,
		.gen_qualname = 48,
		.func_code = 48,
		.func_qualname = 40,
		.code_bytes = 128,
		.code_first_line = 40,
		.code_file = 104,
		.code_name = 112,
		.code_lines = 120,
		.code_instrs = 48,
		.code_stack = 32,
	},
	{
		.version = 0x030b,
		.lines = UX_PYTHON_LOCATIONS,
		OBJECTS,
		.runtime_head = 40,
		.interp_next = 0,
		.interp_threads = 16,
		.interp_id = 48,
		.thread_bytes = 168,
		.thread_next = 8,
		.thread_interp = 16,
		.thread_handle = 152,
		.thread_tid = 160,
		.thread_frame = 56,
		.cframe_frame = 8,
		.frame_bytes = 72,
		.frame_previous = 48,
		.frame_code = 32,
		.frame_instr = 56,
		.frame_owner = 69,
		.frame_no_own = 3, /* there are no shims yet */
		.frame_entry = 68,
		.frame_running = NONE,
		.code_bytes = 192,
		.code_first_line = 72,
		.code_file = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_instrs = 184,
		.str_ascii = 48,
		.str_wide = 72,
	},
	{
		.version = 0x030c,
		.lines = UX_PYTHON_LOCATIONS,
		OBJECTS,
		.runtime_head = 40,
		.interp_next = 0,
		.interp_threads = 72,
		.interp_id = 8,
		.thread_bytes = 152,
		.thread_next = 8,
		.thread_interp = 16,
		.thread_handle = 136,
		.thread_tid = 144,
		.thread_frame = 56,
		.cframe_frame = 0,
		.frame_bytes = 72,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_instr = 56,
		.frame_owner = 70,
		.frame_entry = NONE,
		.frame_running = NONE,
		.frame_no_own = 3,
		.code_bytes = 200,
		.code_first_line = 68,
		.code_file = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_instrs = 192,
		.str_ascii = 40,
		.str_wide = 56,
	},
};

const struct ux_python_layout *ux_python_layout_find(uint32_t version)
{
	for (size_t i = 0; i < ux_countof(layouts); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* Groups of fields in _Py_DebugOffsets, in the order of the struct. */
enum group {
	RUNTIME,
	INTERPRETER,
	THREAD,
	ERR_STACKITEM,
	FRAME,
	CODE,
	OBJECT,
	TYPE,
	HEAP_TYPE,
	TUPLE,
	LIST,
	SET,
	DICT,
	FLOAT,
	LONG,
	BYTES,
	UNICODE,
	GROUPS
};

enum {
	FIELDS_MAX = 16,  /* fields of a group */
	FIRST_GROUP = 24, /* after cookie, version and free_threaded */
	/* Sizes of the largest structs seen are 450 KB and 390 KB. */
	OFFSET_MAX = 1 << 22,
};

static const uint8_t cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

/* The number of fields of each group; 0: there is no such group. */
static const struct {
	uint32_t version;
	uint8_t fields[GROUPS];
} shapes[] = {
	{0x030d,
	 {[RUNTIME] = 3,
	  [INTERPRETER] = 13,
	  [THREAD] = 9,
	  [FRAME] = 6,
	  [CODE] = 10,
	  [OBJECT] = 2,
	  [TYPE] = 4,
	  [TUPLE] = 3,
	  [LIST] = 3,
	  [DICT] = 3,
	  [FLOAT] = 2,
	  [LONG] = 3,
	  [BYTES] = 3,
	  [UNICODE] = 4}},
	{0x030e,
	 {[RUNTIME] = 3,
	  [INTERPRETER] = 16,
	  [THREAD] = 9,
	  [FRAME] = 8,
	  [CODE] = 11,
	  [OBJECT] = 2,
	  [TYPE] = 4,
	  [TUPLE] = 3,
	  [LIST] = 3,
	  [SET] = 4,
	  [DICT] = 3,
	  [FLOAT] = 2,
	  [LONG] = 3,
	  [BYTES] = 3,
	  [UNICODE] = 4}},
	{0x030f,
	 {[RUNTIME] = 3,
	  [INTERPRETER] = 16,
	  [THREAD] = 16,
	  [ERR_STACKITEM] = 1,
	  [FRAME] = 8,
	  [CODE] = 11,
	  [OBJECT] = 2,
	  [TYPE] = 6,
	  [HEAP_TYPE] = 2,
	  [TUPLE] = 3,
	  [LIST] = 3,
	  [SET] = 4,
	  [DICT] = 3,
	  [FLOAT] = 2,
	  [LONG] = 3,
	  [BYTES] = 3,
	  [UNICODE] = 5}},
};

struct debug_offsets {
	uint64_t at[GROUPS][FIELDS_MAX];
};

static enum ux_code debug_offsets_read(struct ux_cur *c, uint32_t version,
				       struct debug_offsets *ret, struct ux_error *err)
{
	for (size_t i = 0; i < ux_countof(shapes); i++) {
		if (shapes[i].version != version)
			continue;
		for (size_t g = 0; g < GROUPS; g++)
			for (size_t f = 0; f < shapes[i].fields[g]; f++)
				ret->at[g][f] = ux_cur_u64(c);
		return ux_cur_status(c, err);
	}
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "Python %u.%u is not supported; expected 3.7 to 3.15", version >> 8,
			    version & 0xff);
}

/* A field that is read from a group. The first value of each group is the size of the struct
 * that the group describes. */
struct debug_offsets_field {
	enum group group;
	unsigned index;
	unsigned bytes; /* size of the field */
	uint32_t *to;
};

/* Checks that each field is aligned and inside its struct, and that the size of the struct is
 * plausible. */
static enum ux_code debug_offsets_store(const struct debug_offsets *o,
					const struct debug_offsets_field *fields, size_t n,
					struct ux_error *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct debug_offsets_field *f = &fields[i];
		uint64_t size = o->at[f->group][0], off = o->at[f->group][f->index];
		if (size == 0 || size > OFFSET_MAX || off > size - ux_min(size, f->bytes) ||
		    off % f->bytes != 0)
			return ux_error_set(err, UX_ECORRUPT,
					    "_Py_DebugOffsets has offset %" PRIu64
					    " in a struct of %" PRIu64 " bytes",
					    off, size);
		*f->to = (uint32_t)off;
	}
	return UX_OK;
}

/* Returns how many bytes of a struct must be copied so that they include fields at these
 * offsets. */
static uint32_t python_layout_reach(const uint32_t *offs, size_t n, uint32_t behind)
{
	uint32_t max = 0;
	for (size_t i = 0; i < n; i++)
		max = ux_max(max, offs[i]);
	return max + behind;
}

static enum ux_code python_layout_measure(struct ux_python_layout *l, struct ux_error *err)
{
	const uint32_t thread[] = {l->thread_next, l->thread_interp, l->thread_handle,
				   l->thread_tid, l->thread_frame};
	const uint32_t frame[] = {l->frame_previous, l->frame_code, l->frame_instr, l->frame_owner};
	const uint32_t code[] = {l->code_first_line, l->code_file,   l->code_name, l->code_qualname,
				 l->code_lines,      l->code_instrs, l->var_size};
	l->thread_bytes = python_layout_reach(thread, ux_countof(thread), 8);
	l->frame_bytes = python_layout_reach(frame, ux_countof(frame), 8);
	l->code_bytes = python_layout_reach(code, ux_countof(code), 8);
	uint32_t max = ux_max(ux_max(l->thread_bytes, l->frame_bytes), l->code_bytes);
	if (max > UX_PYTHON_STRUCT_MAX)
		return ux_error_set(err, UX_ECORRUPT,
				    "a struct of %" PRIu32
				    " bytes in _Py_DebugOffsets; expected %d at most",
				    max, (int)UX_PYTHON_STRUCT_MAX);
	if (l->str_ascii < 24 || l->str_ascii > 256 || l->bytes_data < 16 || l->bytes_data > 256)
		return ux_error_set(err, UX_ECORRUPT,
				    "strings begin at %" PRIu32 ", bytes at %" PRIu32
				    " in _Py_DebugOffsets",
				    l->str_ascii, l->bytes_data);
	return UX_OK;
}

static enum ux_code python_layout_convert(const struct debug_offsets *o, struct ux_python_layout *l,
					  struct ux_error *err)
{
	unsigned moved = l->version >= 0x030f ? 3 : 0; /* number of fields that 3.15 has inserted */
	const struct debug_offsets_field fields[] = {
		{RUNTIME, 2, 8, &l->runtime_head},
		{INTERPRETER, 1, 8, &l->interp_id},
		{INTERPRETER, 2, 8, &l->interp_next},
		{INTERPRETER, 3, 8, &l->interp_threads},
		{THREAD, 2, 8, &l->thread_next},
		{THREAD, 3, 8, &l->thread_interp},
		{THREAD, 4, 8, &l->thread_frame},
		{THREAD, 5 + moved, 8, &l->thread_handle},
		{THREAD, 6 + moved, 8, &l->thread_tid},
		{FRAME, 1, 8, &l->frame_previous},
		{FRAME, 2, 8, &l->frame_code},
		{FRAME, 3, 8, &l->frame_instr},
		{FRAME, 5, 1, &l->frame_owner},
		{CODE, 1, 8, &l->code_file},
		{CODE, 2, 8, &l->code_name},
		{CODE, 3, 8, &l->code_qualname},
		{CODE, 4, 8, &l->code_lines},
		{CODE, 5, 4, &l->code_first_line},
		{CODE, 9, 2, &l->code_instrs},
		{OBJECT, 1, 8, &l->object_type},
		{TYPE, 1, 8, &l->type_name},
		{BYTES, 1, 8, &l->var_size},
		{BYTES, 2, 1, &l->bytes_data},
		{UNICODE, 1, 4, &l->str_state},
		{UNICODE, 2, 8, &l->str_length},
	};
	UX_TRY(debug_offsets_store(o, fields, ux_countof(fields), err));
	l->cframe_frame = NONE;
	l->frame_entry = NONE;
	l->frame_running = NONE;
	l->frame_no_own = 3; /* FRAME_OWNED_BY_CSTACK, from 3.14 on FRAME_OWNED_BY_INTERPRETER */
	uint64_t ascii = o->at[UNICODE][3];
	l->str_ascii = (uint32_t)ux_min(ascii, (uint64_t)OFFSET_MAX);
	l->str_wide = l->str_ascii + 16; /* utf8_length and utf8 (PyCompactUnicodeObject) */
	return python_layout_measure(l, err);
}

enum ux_code ux_python_layout_parse(struct ux_bytes offsets, struct ux_python_layout *ret,
				    uint32_t *ret_hex, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(offsets, "_Py_DebugOffsets", /* swap= */ false);
	struct ux_bytes found = ux_cur_take(&c, sizeof(cookie));
	if (!ux_bytes_eq(found, ux_bytes(cookie, sizeof(cookie))))
		return ux_error_set(err, UX_ENOTFOUND, "no _Py_DebugOffsets");
	uint64_t hex = ux_cur_u64(&c), free_threaded = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (hex > UINT32_MAX)
		return ux_error_set(err, UX_ECORRUPT,
				    "_Py_DebugOffsets has the unknown version 0x%" PRIx64, hex);
	*ret_hex = (uint32_t)hex;
	if (free_threaded != 0)
		return ux_error_set(err, UX_EUNSUPPORTED, "free-threaded Python is not supported");
	struct debug_offsets all = {0};
	struct ux_python_layout l = {.version = *ret_hex >> 16, .lines = UX_PYTHON_LOCATIONS};
	UX_TRY(debug_offsets_read(&c, l.version, &all, err));
	UX_TRY(python_layout_convert(&all, &l, err));
	*ret = l;
	return UX_OK;
}
