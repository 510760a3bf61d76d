/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that valgrind, Python's faulthandler and py-spy print. */
#include "crash_internal.h"

/* --- valgrind --------------------------------------------------------------------------------- */

/* The address at which valgrind loads a position-independent program; its libraries and the loader
 * are at higher addresses. Source: valgrind, coregrind/m_ume/elf.c. */
#define VALGRIND_PROGRAM UINT64_C(0x108000)
#define VALGRIND_LOADER  UINT64_C(0x4000000)

/* Skips "==12==" or "--12--", with which its lines begin; of several processes in one log, too. */
static bool valgrind_skip_process(struct ux_bytes *s)
{
	uint64_t pid = 0;
	struct ux_bytes mark = UX_STR("==");
	size_t at = ux_crash_find(*s, mark);
	if (at == s->size)
		return false;
	struct ux_bytes rest = ux_crash_after(*s, at + mark.size);
	size_t n = ux_crash_decimal(rest, &pid);
	rest = ux_crash_after(rest, n);
	if (n == 0 || !ux_crash_skip(&rest, mark))
		return false;
	*s = ux_trim(rest);
	return true;
}

/* Reads "f+0x12 (in /lib/x.so)", "f (x.c:12)" or "??? (in /lib/x.so)". */
static void valgrind_place(struct ux_bytes s, struct ux_crash_frame *f)
{
	struct ux_bytes symbol = s, in = UX_STR("in ");
	const uint8_t *open =
		s.size > 0 && s.data[s.size - 1] == ')' ? ux_bytes_find_last(s, '(') : NULL;
	if (open) {
		size_t at = (size_t)(open - s.data);
		struct ux_bytes inside = ux_bytes(open + 1, s.size - at - 2);
		if (ux_crash_skip(&inside, in))
			f->module = inside;
		f->located = f->module.size == 0 && ux_crash_has_line(inside);
		symbol = ux_trim(ux_bytes(s.data, at));
	}
	ux_crash_set_place(f, symbol);
	f->located = f->located && f->symbol.size > 0;
}

/*
 * "==12==    by 0x10915B: ??? (in /opt/app/server)". Addresses of callers are inside of the call. A
 * program that is position-independent is always at one place, libraries are not.
 */
bool ux_crash_read_valgrind(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			    struct ux_crash_line *ret)
{
	struct ux_bytes s = line;
	struct ux_crash_frame found = {.form = UX_CRASH_VALGRIND, .has_address = true};
	(void)after;
	if (!valgrind_skip_process(&s) ||
	    (!ux_crash_skip(&s, UX_STR("at ")) && !ux_crash_skip(&s, UX_STR("by "))))
		return false;
	size_t n = ux_crash_hex(s, &found.address);
	s = ux_crash_after(s, n);
	if (n == 0 || !ux_crash_skip(&s, UX_STR(":")))
		return false;
	valgrind_place(ux_trim(s), &found);
	if (found.module.size > 0 && found.address >= VALGRIND_PROGRAM &&
	    found.address < VALGRIND_LOADER) {
		found.origin = UX_CRASH_START;
		found.offset = found.address - VALGRIND_PROGRAM;
	}
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_VALGRIND);
	if (f)
		*f = found;
	return true;
}

/* --- Python ----------------------------------------------------------------------------------- */

/*
 * `Binary file "/usr/bin/python3", at PyEval_Eval+0x12 [0x55...]`, which faulthandler of
 * Python 3.14 prints for the stack of C; without a symbol, `at +0x12` is a virtual address of the
 * file. Its frames of Python have file and line. Source: CPython, Python/traceback.c.
 */
bool ux_crash_read_python(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			  struct ux_crash_line *ret)
{
	struct ux_crash_frame found = {
		.form = UX_CRASH_PYTHON, .has_address = true, .returns = true};
	struct ux_bytes s = ux_trim(line), begin = UX_STR("Binary file \"");
	(void)after;
	size_t at = ux_crash_find(s, begin);
	const uint8_t *open = ux_bytes_find_last(s, '[');
	if (at == s.size || !open || s.data[s.size - 1] != ']')
		return false;
	struct ux_bytes address = ux_crash_after(s, (size_t)(open + 1 - s.data));
	if (ux_crash_hex(address, &found.address) + 1 != address.size)
		return false;
	s = ux_crash_after(ux_bytes(s.data, (size_t)(open - s.data)), at + begin.size);
	const uint8_t *quote = ux_bytes_find_last(s, '"');
	if (!quote || quote == s.data)
		return false;
	found.module = ux_bytes(s.data, (size_t)(quote - s.data));
	s = ux_trim(ux_crash_after(s, found.module.size + 1));
	struct ux_bytes symbol = UX_BYTES_NONE;
	uint64_t offset = 0;
	if (ux_crash_skip(&s, UX_STR(", at ")) && ux_crash_split_offset(s, &symbol, &offset)) {
		ux_crash_set_symbol(&found, symbol);
		found.has_symbol_offset = found.symbol.size > 0;
		found.symbol_offset = found.has_symbol_offset ? offset : 0;
		found.origin = symbol.size > 0 ? UX_CRASH_NOWHERE : UX_CRASH_PC;
		found.offset = symbol.size > 0 ? 0 : offset;
	}
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_PYTHON);
	if (f)
		*f = found;
	return true;
}

/* --- py-spy ----------------------------------------------------------------------------------- */

/* "Thread 12 (idle): \"MainThread\"", below which its stack begins; "Thread 0x7F12 (active+gil)"
 * for one that has no number of the system. */
static bool pyspy_is_thread(struct ux_bytes s)
{
	uint64_t id = 0;
	if (!ux_crash_skip(&s, UX_STR("Thread ")))
		return false;
	size_t n = ux_crash_hex(s, &id);
	if (n == 0)
		n = ux_crash_decimal(s, &id);
	s = ux_crash_after(s, n);
	return n > 0 &&
	       (ux_crash_skip(&s, UX_STR(" (active")) || ux_crash_skip(&s, UX_STR(" (idle")));
}

/* Reads "0x7f12 (libx.so)", which has no name, "f (x.py:12)" or "f (libx.so)". */
static bool pyspy_place(struct ux_bytes s, struct ux_crash_frame *f)
{
	const uint8_t *open =
		s.size > 0 && s.data[s.size - 1] == ')' ? ux_bytes_find_last(s, '(') : NULL;
	if (!open || open == s.data || open[-1] != ' ')
		return false;
	size_t at = (size_t)(open - s.data);
	struct ux_bytes name = ux_bytes(s.data, at - 1),
			inside = ux_bytes(open + 1, s.size - at - 2);
	if (name.size == 0 || inside.size == 0)
		return false;
	f->has_address = ux_crash_hex(name, &f->address) == name.size;
	f->located = !f->has_address && ux_crash_has_line(inside);
	if (!f->has_address) {
		f->address = 0;
		f->symbol = name;
	}
	if (!f->located && !ux_bytes_eq(inside, UX_STR("?")))
		f->module = inside;
	return true;
}

/*
 * Reads a stack of py-spy dump --native. The text has no addresses of modules, and no address for a
 * frame that py-spy has named. Python frames stand between native frames, so only the first native
 * frame of a thread can be the interrupted one. Source: py-spy, src/dump.rs and
 * src/native_stack_trace.rs.
 */
bool ux_crash_read_pyspy(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			 struct ux_crash_line *ret)
{
	struct ux_crash_frame found = {.form = UX_CRASH_PYSPY};
	struct ux_bytes s = ux_trim(line);
	bool begun = r->in_stack && r->form == UX_CRASH_PYSPY;
	(void)after;
	if (pyspy_is_thread(s)) {
		*r = (struct ux_crash_reader){.form = UX_CRASH_PYSPY, .in_stack = true};
		return true;
	}
	if (!pyspy_place(s, &found) || (!begun && !found.has_address))
		return false;
	found.returns = begun && r->depth > 0;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_PYSPY);
	if (f)
		*f = found;
	return true;
}
