/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a CPython in the memory of another program: their types and their text. */
#ifndef UX_PYTHON_OBJECT_H
#define UX_PYTHON_OBJECT_H

#include "arena.h"
#include "interp_memory.h"
#include "python_layout.h"

/* The types that an object at an address is checked for. */
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
	uint64_t types[UX_PYTHON_TYPES]; /* address of each type object, once one was seen */
};

enum {
	UX_PYTHON_TEXT_MOST = 1 << 16,  /* characters of a str; longer ones are unknown */
	UX_PYTHON_BYTES_MOST = 2 << 20, /* bytes of a bytes object, likewise */
};

/*
 * Whether the object at addr is of that type. A type object is recognised by its tp_name the first
 * time and by its address later, so that nothing depends on symbols.
 */
bool ux_python_is(struct ux_python *p, uint64_t addr, enum ux_python_type type) ux_must;

/* The same for the address of a type object. */
bool ux_python_type_is(struct ux_python *p, uint64_t type_addr, enum ux_python_type type) ux_must;

/*
 * The text of the str at addr as UTF-8, in the arena; "" when it is not a str, too long or damaged.
 * A lone surrogate that represents a byte (PEP 383) becomes the byte; NUL and other lone surrogates
 * become U+FFFD. UX_ENOMEM, UX_ELIMIT: of the arena.
 */
enum ux_code ux_python_text(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			    const char **ret, struct ux_error *err) ux_must;

/* A fingerprint of the text of a str, which another text would hardly have; 0: not a str. */
uint64_t ux_python_text_fingerprint(struct ux_python *p, uint64_t addr);

/* The contents of the bytes object at addr, in the arena; empty when it is not one or too long. */
enum ux_code ux_python_bytes(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			     struct ux_bytes *ret, struct ux_error *err) ux_must;

#endif
