/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that the run-time libraries of Go, Rust and Java print. */
#include "crash_internal.h"

/* --- Go --------------------------------------------------------------------------------------- */

/* Returns whether the line may be a call: "main.f(0x1, ...)", "created by main.main in goroutine
 * 1". */
static bool go_is_function(struct ux_bytes line)
{
	return line.size > 0 &&
	       (ux_bytes_starts(line, UX_STR("created by ")) || line.data[line.size - 1] == ')');
}

/* Returns the function in such a line. Its package path may contain brackets and dots, its
 * arguments may not. */
static struct ux_bytes go_function(struct ux_bytes line)
{
	if (ux_crash_skip(&line, UX_STR("created by ")))
		return ux_crash_before(line, UX_STR(" in goroutine "));
	const uint8_t *open = ux_bytes_find_last(line, '(');
	return open ? ux_bytes(line.data, (size_t)(open - line.data)) : UX_BYTES_NONE;
}

/* " pc=0x45f4c6" */
static bool go_pc(struct ux_bytes s, uint64_t *ret)
{
	struct ux_bytes mark = UX_STR(" pc=0x");
	size_t at = ux_crash_find(s, mark);
	return at < s.size && ux_crash_hex(ux_crash_after(s, at + mark.size - 2), ret) > 0;
}

/* "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x45f4c6]" */
static bool go_signal(struct ux_crash_reader *r, struct ux_bytes line, struct ux_crash_line *ret)
{
	uint64_t pc = 0;
	if (!ux_bytes_starts(line, UX_STR("[signal ")) || !go_pc(line, &pc))
		return false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_GO);
	if (f) {
		f->address = pc;
		f->has_address = true;
	}
	r->in_stack = false;
	return true;
}

bool ux_crash_read_go(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
		      struct ux_crash_line *ret)
{
	(void)after;
	struct ux_bytes rest = ux_trim(line), function = r->function;
	if (go_signal(r, rest, ret))
		return true;
	if (go_is_function(rest)) { /* a text may be indented as a whole */
		r->function = rest;
		return false; /* other forms have such lines too */
	}
	size_t at = ux_crash_find(rest, UX_STR(" +0x"));
	/* Pasting may have turned tabs into blanks. */
	size_t blanks = (size_t)(rest.data - line.data);
	bool indented = blanks > 0 && (memchr(line.data, '\t', blanks) || at < rest.size);
	if (!indented || function.size == 0)
		return false;
	if (!ux_crash_has_line(ux_bytes(rest.data, at)))
		return false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_GO);
	if (!f)
		return true;
	r->function = UX_BYTES_NONE;
	ux_crash_set_symbol(f, go_function(function));
	f->located = f->symbol.size > 0;
	f->has_symbol_offset = f->symbol.size > 0 && at < rest.size &&
			       ux_crash_hex(ux_crash_after(rest, at + 2), &f->symbol_offset) > 0;
	f->has_address = go_pc(rest, &f->address);
	f->returns = true;
	return true;
}

/* --- Rust ------------------------------------------------------------------------------------- */

/* "at /rustc/.../panicking.rs:689:5" after a frame. */
static bool rust_is_place(struct ux_bytes line)
{
	struct ux_bytes s = ux_trim(line);
	return line.size > s.size && ux_crash_skip(&s, UX_STR("at ")) && ux_crash_has_line(s);
}

/* "   3:     0x55a2bf4b0d34 - core::panicking::panic_fmt", or without the address. */
bool ux_crash_read_rust(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			struct ux_crash_line *ret)
{
	uint64_t number = 0, address = 0;
	struct ux_bytes s = ux_trim(line);
	size_t n = ux_crash_decimal(s, &number);
	if (n == 0 || n + 1 >= s.size || s.data[n] != ':' || !ux_is_blank(s.data[n + 1]))
		return false;
	s = ux_trim(ux_crash_after(s, n + 1));
	n = ux_crash_hex(s, &address);
	bool has_address = n > 0 && ux_bytes_starts(ux_crash_after(s, n), UX_STR(" - "));
	bool located = rust_is_place(ux_crash_peek(after));
	/* Many texts have numbers with a colon: without an address there must be a place. */
	if (!has_address && !located)
		return false;
	if (has_address && address == 0) /* the end of the stack */
		return true;
	if (number == 0)
		r->in_stack = false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_RUST);
	if (!f)
		return true;
	f->address = address;
	f->has_address = has_address;
	f->returns = has_address;
	ux_crash_set_symbol(f, has_address ? ux_crash_after(s, n + 3) : s);
	f->located = located && f->symbol.size > 0;
	ret->followers = located;
	return true;
}

/* --- Java ------------------------------------------------------------------------------------- */

/* "C  [libc.so.6+0x85f14]  pthread_cond_wait+0x10"; compiled and interpreted code has names. */
bool ux_crash_read_java(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			struct ux_crash_line *ret)
{
	struct ux_bytes s = ux_trim(line);
	(void)after;
	if (ux_crash_skip(&s, UX_STR("# ")))
		r->in_stack =
			false; /* the problematic frame, which comes first in the stack again */
	if (s.size < 4 || !memchr("CVvJjA", s.data[0], 6) || s.data[1] != ' ' ||
	    (s.data[0] != 'J' && s.data[2] != ' '))
		return false;
	uint8_t kind = s.data[0];
	s = ux_trim(ux_crash_after(s, 2));
	struct ux_bytes module = UX_BYTES_NONE;
	uint64_t offset = 0;
	if (kind == 'j' || kind == 'J' || kind == 'v' || kind == 'A') {
		if (!r->in_stack || r->form != UX_CRASH_JAVA)
			return false;
	} else {
		if (!ux_crash_skip(&s, UX_STR("[")) ||
		    !ux_crash_split_offset(ux_crash_before(s, UX_STR("]")), &module, &offset) ||
		    module.size == 0)
			return false;
		s = ux_crash_after(s, ux_crash_find(s, UX_STR("]")) + 1);
	}
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_JAVA);
	if (!f)
		return true;
	f->origin = module.size > 0 ? UX_CRASH_START : UX_CRASH_NOWHERE;
	f->module = module;
	f->offset = offset;
	f->returns = r->depth > 1;
	s = ux_trim(s);
	const uint8_t *plus = ux_bytes_find_last(s, '+');
	ux_crash_set_symbol(f, plus && module.size > 0 ? ux_bytes(s.data, (size_t)(plus - s.data))
						       : s);
	/* For Java's code there are no symbols elsewhere. */
	f->located = module.size == 0 && f->symbol.size > 0;
	return true;
}
