/* SPDX-License-Identifier: Apache-2.0 */
/* Where the structs of each CPython keep their fields. */
#ifndef UX_PYTHON_LAYOUT_H
#define UX_PYTHON_LAYOUT_H

#include "bytes.h"
#include "error.h"
#include "python_lines.h"

enum {
	UX_PYTHON_STRUCT_MOST =
		512,              /* bytes of a thread state, frame or code object that we copy */
	UX_PYTHON_OFFSETS = 1024, /* bytes of _Py_DebugOffsets that we look at, or fewer */
	UX_PYTHON_NONE = 0x7fffffff, /* this version has no such field */
};

/*
 * Offsets in bytes in 64-bit builds. `thread`, `frame` and `code` structs are copied whole, as far
 * as *_bytes.
 */
struct ux_python_layout {
	uint32_t version; /* 0x030b is 3.11 */
	enum ux_python_lines lines;

	uint32_t runtime_head; /* interpreters.head; .main is behind it */
	uint32_t interp_next;
	uint32_t interp_threads;

	uint32_t thread_bytes;
	uint32_t thread_next;
	uint32_t thread_interp;
	uint32_t thread_handle; /* thread_id */
	uint32_t thread_tid;    /* native_thread_id */
	uint32_t thread_frame;  /* the innermost frame, or what is between */
	uint32_t cframe_frame;  /* 3.11, 3.12: thread_frame leads to a struct that has it there */

	uint32_t frame_bytes;
	uint32_t frame_previous;
	uint32_t frame_code;
	uint32_t frame_instr;  /* a pointer; before 3.11 an int that counts frame_unit bytes */
	uint32_t frame_unit;   /* 0: a pointer */
	uint32_t frame_owner;  /* a byte */
	uint32_t frame_no_own; /* this owner and those above have no code of their own */

	uint32_t code_bytes;
	uint32_t code_first_line;
	uint32_t code_file;
	uint32_t code_name;
	uint32_t code_qualname;
	uint32_t code_lines;
	uint32_t code_instrs; /* the first instruction; before 3.11 a pointer to a bytes object */

	uint32_t object_type;
	uint32_t type_name;
	uint32_t var_size; /* ob_size */
	uint32_t bytes_data;
	uint32_t str_length;
	uint32_t str_state;
	uint32_t str_ascii; /* bytes of the struct in front of ASCII text */
	uint32_t str_wide;  /* and of other text */

	uint32_t frame_entry; /* 3.11: is_entry, a byte: C code called it */

	uint32_t frame_running; /* before 3.11: a byte that is a member of `running` in a frame that
				 */
	uint32_t running;       /* runs or waits for a call; in one that is popped it is not */

	/* Before 3.11, where a function's qualified name is found through the frames around. */
	uint32_t code_stack;   /* co_stacksize, an int */
	uint32_t code_args;    /* co_argcount, an int */
	uint32_t frame_locals; /* f_localsplus */
	uint32_t frame_stack;  /* f_valuestack */
	uint32_t frame_gen;    /* f_gen */
	uint32_t gen_qualname; /* gi_qualname */
	uint32_t func_code;    /* func_code */
	uint32_t func_qualname;
	uint32_t method_func; /* im_func */
};

/* The table for version 0x0307 to 0x030c; NULL for others, which describe themselves. */
const struct ux_python_layout *ux_python_layout_find(uint32_t version);

/*
 * Reads _Py_DebugOffsets, with which _PyRuntime begins from 3.13 on (Include/internal/
 * pycore_runtime.h of 3.13, pycore_debug_offsets.h later). UX_ENOTFOUND: no cookie;
 * UX_EUNSUPPORTED: a version we do not know, or a free-threaded build; UX_ECORRUPT: sizes and
 * offsets make no sense. *ret is untouched on failure; *ret_hex, the version, is set as soon as
 * there is a cookie.
 */
enum ux_code ux_python_layout_parse(struct ux_bytes offsets, struct ux_python_layout *ret,
				    uint32_t *ret_hex, struct ux_error *err) ux_must;

#endif
