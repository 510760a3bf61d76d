/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a CPython in another program's memory: their types, their text. */
#ifndef UX_PYTHON_OBJECT_H
#define UX_PYTHON_OBJECT_H

#include "arena.h"
#include "interp_memory.h"
#include "python_layout.h"

/* Types that we have to tell from whatever else an address may lead to. */
enum ux_python_type {
	UX_PYTHON_CODE,
	UX_PYTHON_STR,
	UX_PYTHON_BYTES,
	UX_PYTHON_FRAME,
	UX_PYTHON_FUNCTION,
	UX_PYTHON_METHOD,
	UX_PYTHON_TYPES
};

/* One process's CPython. */
struct ux_python {
	struct ux_memory memory;
	struct ux_python_layout layout;
	uint64_t runtime;                /* address of _PyRuntime */
	uint64_t types[UX_PYTHON_TYPES]; /* where each type object is, once met */
};

enum {
	UX_PYTHON_TEXT_MOST = 1 << 16,  /* characters of a str; longer ones are unknown */
	UX_PYTHON_BYTES_MOST = 2 << 20, /* bytes of a bytes object, likewise */
};

/*
 * True when the object at addr is of that type, by its type object's tp_name: types are looked up
 * by name once, so that nothing depends on symbols.
 */
bool ux_python_is(struct ux_python *p, uint64_t addr, enum ux_python_type type) ux_must;

/* The same for the type object that an object names. */
bool ux_python_type_is(struct ux_python *p, uint64_t type_addr, enum ux_python_type type) ux_must;

/*
 * The text of the str at addr as UTF-8, in the arena; "" when it is none, is too long, or does not
 * hold together. A lone surrogate that stands for a byte (PEP 383) becomes the byte; NUL and other
 * lone surrogates become U+FFFD. UX_ENOMEM, UX_ELIMIT: the arena's.
 */
enum ux_code ux_python_text(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			    const char **ret, struct ux_error *err) ux_must;

/* A number that another text in this place would hardly have; 0: no str. */
uint64_t ux_python_text_mark(struct ux_python *p, uint64_t addr);

/* The content of the bytes object at addr, in the arena; no bytes when it is none or too long. */
enum ux_code ux_python_bytes(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			     struct ux_bytes *ret, struct ux_error *err) ux_must;

#endif
