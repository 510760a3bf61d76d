/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a CPython in the memory of another program: the offsets of their fields in each
 * version, their types and their text. */
#ifndef UX_PYTHON_OBJECT_H
#define UX_PYTHON_OBJECT_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "interp_memory.h"

enum ux_python_lines {
	UX_PYTHON_LNOTAB, /* up to 3.9, where every instruction has a line (Objects/lnotab_notes.txt
			     of 3.9) */
	UX_PYTHON_LINETABLE, /* 3.10, PEP 626 (Objects/lnotab_notes.txt of 3.10) */
	UX_PYTHON_LOCATIONS, /* from 3.11 on, PEP 657 (Objects/locations.md of 3.11) */
};

enum {
	UX_PYTHON_STRUCT_MAX =
		512, /* bytes of a thread state, frame or code object that are copied at most */
	UX_PYTHON_OFFSETS = 1024,    /* bytes of _Py_DebugOffsets that are read at most */
	UX_PYTHON_NONE = 0x7fffffff, /* this version has no such field */
};

/*
 * Offsets of fields in the structs of one CPython version, in bytes, for 64-bit builds. Of the
 * structs for a thread, a frame and a code object the first thread_bytes, frame_bytes and
 * code_bytes are copied by one read.
 */
struct ux_python_layout {
	uint32_t version; /* 0x030b is 3.11 */
	enum ux_python_lines lines;

	uint32_t runtime_head; /* interpreters.head; .main follows it */
	uint32_t interp_next;
	uint32_t interp_threads;
	uint32_t interp_id; /* 0 for the main interpreter */

	uint32_t thread_bytes;
	uint32_t thread_next;
	uint32_t thread_interp;
	uint32_t thread_handle; /* thread_id */
	uint32_t thread_tid;    /* native_thread_id */
	uint32_t thread_frame;  /* the innermost frame, or a pointer to the struct that has
				   cframe_frame */
	uint32_t cframe_frame; /* 3.11, 3.12: thread_frame points to a struct with the frame at this
				  offset */

	uint32_t frame_bytes;
	uint32_t frame_previous;
	uint32_t frame_code;
	uint32_t frame_instr; /* a pointer; before 3.11 an int that counts units of frame_unit bytes
			       */
	uint32_t frame_unit;  /* 0: frame_instr is a pointer */
	uint32_t frame_owner; /* a byte */
	uint32_t
		frame_no_own; /* frames with this owner or a higher one have no code of their own */

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

	uint32_t frame_entry; /* 3.11: is_entry, a byte that is set if C code called the frame */

	/* Before 3.11: offset of a byte with the state of a frame, and the set of states (1 <<
	 * state for each) in which the frame runs or waits for a call. A popped frame has another
	 * state. */
	uint32_t frame_running;
	uint32_t running;

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

/* Returns the layout of a version from 0x0307 to 0x030c; NULL for later ones, which describe
 * their layout in _Py_DebugOffsets. */
const struct ux_python_layout *ux_python_layout_find(uint32_t version);

/*
 * Parses _Py_DebugOffsets, with which _PyRuntime begins from 3.13 on
 * (Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h later). UX_ENOTFOUND: the
 * cookie is missing. UX_EUNSUPPORTED: an unknown version or a free-threaded build. UX_ECORRUPT:
 * invalid sizes or offsets. *ret is unchanged on failure. *ret_hex is set to the version even after
 * a failure, unless the cookie is missing.
 */
enum ux_code ux_python_layout_parse(struct ux_bytes offsets, struct ux_python_layout *ret,
				    uint32_t *ret_hex, struct ux_error *err) ux_must;

/* The types for which objects can be checked. */
enum ux_python_type {
	UX_PYTHON_CODE,
	UX_PYTHON_STR,
	UX_PYTHON_BYTES,
	UX_PYTHON_FRAME,
	UX_PYTHON_FUNCTION,
	UX_PYTHON_METHOD,
	UX_PYTHON_TYPES
};

/* The CPython of one process. */
struct ux_python {
	struct ux_memory memory;
	struct ux_python_layout layout;
	uint64_t runtime;                /* address of _PyRuntime */
	uint64_t types[UX_PYTHON_TYPES]; /* address of each type object; 0 until an object of the
					    type was seen */
};

enum {
	UX_PYTHON_TEXT_MAX =
		1 << 16, /* characters of a str; the text of a longer one is not read */
	UX_PYTHON_BYTES_MAX = 2 << 20, /* bytes of a bytes object; a larger one is not read */
};

/*
 * Returns whether the object at addr is of that type. A type object is recognised by its tp_name
 * the first time and by its address later, so no symbols are needed.
 */
bool ux_python_is(struct ux_python *p, uint64_t addr, enum ux_python_type type) ux_must;

/* Returns whether the type object at type_addr is that type. */
bool ux_python_type_is(struct ux_python *p, uint64_t type_addr, enum ux_python_type type) ux_must;

/*
 * Reads the text of the str at addr as UTF-8 into the arena. The text is "" when there is no str,
 * or it is too long or damaged. A lone surrogate that represents a byte (PEP 383) becomes that
 * byte; NUL and other lone surrogates become U+FFFD. UX_ENOMEM, and UX_ELIMIT when the budget of
 * the arena is used up.
 */
enum ux_code ux_python_text(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			    const char **ret, struct ux_error *err) ux_must;

/* Returns a fingerprint of the text of a str, which another text is very unlikely to have; 0:
 * there is no str. */
uint64_t ux_python_text_fingerprint(struct ux_python *p, uint64_t addr);

/* Reads the contents of the bytes object at addr into the arena. They are empty when there is no
 * bytes object or it is too long. */
enum ux_code ux_python_bytes(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			     struct ux_bytes *ret, struct ux_error *err) ux_must;

#endif
