/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of the forms of crash reports. */
#ifndef UX_CRASH_INTERNAL_H
#define UX_CRASH_INTERNAL_H

#include "crash_line.h"
#include "text.h"

/* Returns the bytes after the first n; empty if there are fewer. */
static inline struct ux_bytes ux_crash_after(struct ux_bytes s, size_t n)
{
	n = ux_min(n, s.size);
	return ux_bytes(s.data + n, s.size - n);
}

/* Returns the index of `word` in s; s.size if s does not contain it. */
static inline size_t ux_crash_find(struct ux_bytes s, struct ux_bytes word)
{
	const uint8_t *at =
		s.data && s.size > 0 ? memmem(s.data, s.size, word.data, word.size) : NULL;
	return at ? (size_t)(at - s.data) : s.size;
}

/* Returns the text before the first `word`, or all of it. */
static inline struct ux_bytes ux_crash_before(struct ux_bytes s, struct ux_bytes word)
{
	return ux_bytes(s.data, ux_crash_find(s, word));
}

/* Returns the first word of s, which ends at a blank. */
struct ux_bytes ux_crash_word(struct ux_bytes s);

/* Parses "0x1234" at the beginning; returns the number of bytes, or 0. */
size_t ux_crash_hex(struct ux_bytes s, uint64_t *ret);

/* Parses a decimal number at the beginning; returns the number of bytes, or 0. */
size_t ux_crash_decimal(struct ux_bytes s, uint64_t *ret);

/* Skips "word" at the beginning of *s. False, with *s unchanged: it is not there. */
bool ux_crash_skip(struct ux_bytes *s, struct ux_bytes word);

/* Splits "path/x+0x12" at its last plus. False for other texts. */
bool ux_crash_split_offset(struct ux_bytes s, struct ux_bytes *ret_name, uint64_t *ret_offset);

/* Sets the symbol, unless the text says that it is unknown ("??", "n/a", "<unknown>", ...). */
void ux_crash_set_symbol(struct ux_crash_frame *f, struct ux_bytes symbol);

/* The same for "symbol+0x12" or "symbol"; an offset after an unknown symbol is ignored. */
void ux_crash_set_place(struct ux_crash_frame *f, struct ux_bytes place);

/* Returns whether s ends with a file and a line: "/src/x.c:12" or "x.rs:12:3". */
bool ux_crash_has_line(struct ux_bytes s);

/* Returns whether s looks like an ID without a type. */
bool ux_crash_is_bare_id(struct ux_bytes s);

/* Adds a frame to the line, and counts it in the stack. NULL when the line is full. */
struct ux_crash_frame *ux_crash_add(struct ux_crash_reader *r, struct ux_crash_line *line,
				    enum ux_crash_form form);

/*
 * Returns the slice of the line after the prefix of a log, a container's log or a quotation: "> ",
 * the time and the source. Blanks that belong to the line stay.
 */
struct ux_bytes ux_crash_unprefixed(struct ux_bytes line);

/* Returns the next line of the text, without its line break and prefixes; empty at the end. */
struct ux_bytes ux_crash_peek(struct ux_bytes text);

/*
 * Readers of the forms: each returns whether the line is of its form. `after` begins with the line
 * after this one. crash_parse() in crash_line.c has their order.
 */
typedef bool ux_crash_form_fn(struct ux_crash_reader *r, struct ux_bytes line,
			      struct ux_bytes after, struct ux_crash_line *ret);

/* crash_facts.c */
ux_crash_form_fn ux_crash_read_fact; /* mappings, identities, the kernel's release */

/* crash_numbered.c */
ux_crash_form_fn ux_crash_read_numbered; /* "#1 0x..." of debuggers and sanitizers */

/* crash_kernel.c */
ux_crash_form_fn ux_crash_read_kernel; /* "func+0x37e/0xac0 [module]" */
ux_crash_form_fn ux_crash_read_fault;  /* "segfault at 0 ip ... in x.so[1139,...]" */

/* crash_runtime.c */
ux_crash_form_fn ux_crash_read_java; /* "V  [libjvm.so+0x...]  name" */
ux_crash_form_fn ux_crash_read_go;   /* "	/src/x.go:12 +0x1d" */
ux_crash_form_fn ux_crash_read_rust; /* "   3:     0x... - name" */

/* crash_tools.c */
ux_crash_form_fn ux_crash_read_valgrind; /* "==12==    by 0x...: f (in /lib/x.so)" */
ux_crash_form_fn ux_crash_read_python;   /* "Binary file "/lib/x.so", at f+0x12 [0x...]" */
ux_crash_form_fn ux_crash_read_pyspy;    /* "    0x7f12 (libx.so)" below a line of its thread */

/* crash_plain.c */
ux_crash_form_fn ux_crash_read_backtrace; /* "/lib/x.so(f+0x12)[0x...]" of backtrace_symbols(3) */
ux_crash_form_fn ux_crash_read_apple;     /* "3   libfoo.dylib  0x... f + 12" */
ux_crash_form_fn ux_crash_read_perf;      /* "    7f12 f+0x1d (/lib/x.so)" */
ux_crash_form_fn ux_crash_read_plain;     /* IDs, files with offsets, addresses */

#endif
