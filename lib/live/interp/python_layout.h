/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of the fields in the structs of each CPython version. */
#ifndef UX_PYTHON_LAYOUT_H
#define UX_PYTHON_LAYOUT_H

#include "bytes.h"
#include "error.h"

enum ux_python_lines {
	UX_PYTHON_LNOTAB,    /* up to 3.9 (Objects/lnotab_notes.txt of 3.9): every instruction has a
				line */
	UX_PYTHON_LINETABLE, /* 3.10, PEP 626 (Objects/lnotab_notes.txt of 3.10) */
	UX_PYTHON_LOCATIONS, /* from 3.11 on, PEP 657 (Objects/locations.md of 3.11) */
};

enum {
	UX_PYTHON_STRUCT_MOST =
		512, /* bytes of a thread state, frame or code object that are copied at most */
	UX_PYTHON_OFFSETS = 1024,    /* bytes of _Py_DebugOffsets that are read at most */
	UX_PYTHON_NONE = 0x7fffffff, /* this version has no such field */
};

/*
 * Offsets in bytes in 64-bit builds. Of `thread`, `frame` and `code` structs the first *_bytes are
 * copied at once.
 */
struct ux_python_layout {
	uint32_t version; /* 0x030b is 3.11 */
	enum ux_python_lines lines;

	uint32_t runtime_head; /* interpreters.head; .main follows it */
	uint32_t interp_next;
	uint32_t interp_threads;

	uint32_t thread_bytes;
	uint32_t thread_next;
	uint32_t thread_interp;
	uint32_t thread_handle; /* thread_id */
	uint32_t thread_tid;    /* native_thread_id */
	uint32_t thread_frame;  /* the innermost frame, or a pointer to cframe_frame's struct */
	uint32_t cframe_frame; /* 3.11, 3.12: thread_frame points to a struct with the frame at this
				  offset */

	uint32_t frame_bytes;
	uint32_t frame_previous;
	uint32_t frame_code;
	uint32_t frame_instr;  /* a pointer; before 3.11 an int that counts frame_unit bytes */
	uint32_t frame_unit;   /* 0: a pointer */
	uint32_t frame_owner;  /* a byte */
	uint32_t frame_no_own; /* from this owner on frames have no code of their own */

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
	uint32_t str_ascii; /* size of the struct before ASCII text */
	uint32_t str_wide;  /* size of the struct before other text */

	uint32_t frame_entry; /* 3.11: is_entry, a byte: C code called it */

	uint32_t frame_running; /* before 3.11: a byte that is a member of `running` in a frame that
				 */
	uint32_t running;       /* runs or waits for a call; in one that is popped it is not */

	/* Before 3.11: to find qualified names through the objects around a frame. */
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

/* The layout of version 0x0307 to 0x030c; NULL for others, which have _Py_DebugOffsets. */
const struct ux_python_layout *ux_python_layout_find(uint32_t version);

/*
 * Reads _Py_DebugOffsets, with which _PyRuntime begins from 3.13 on (Include/internal/
 * pycore_runtime.h of 3.13, pycore_debug_offsets.h later). UX_ENOTFOUND: no cookie;
 * UX_EUNSUPPORTED: an unknown version or a free-threaded build; UX_ECORRUPT: invalid sizes or
 * offsets. *ret is untouched on failure; *ret_hex, the version, is set as soon as there is a
 * cookie.
 */
enum ux_code ux_python_layout_parse(struct ux_bytes offsets, struct ux_python_layout *ret,
				    uint32_t *ret_hex, struct ux_error *err) ux_must;

#endif
