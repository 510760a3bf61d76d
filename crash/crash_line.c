/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of crash reports: which form each has. */
#include "crash_inside.h"

#include "id.h"

enum {
	DETECT_BYTES = 256 << 10, /* of a text that may be a crash report */
	BARE_ID_DIGITS = 32,      /* minimum hex digits of an ID without a type: 16 bytes */
};

const char *ux_crash_form_name(enum ux_crash_form form)
{
	static const char *const names[UX_CRASH_FORM_COUNT] = {
		[UX_CRASH_PLAIN] = "plain",
		[UX_CRASH_BACKTRACE] = "backtrace",
		[UX_CRASH_SANITIZER] = "sanitizer",
		[UX_CRASH_GDB] = "gdb",
		[UX_CRASH_COREDUMP] = "coredump",
		[UX_CRASH_ELFUTILS] = "elfutils",
		[UX_CRASH_GO] = "go",
		[UX_CRASH_RUST] = "rust",
		[UX_CRASH_KERNEL] = "kernel",
		[UX_CRASH_FAULT] = "fault",
		[UX_CRASH_JAVA] = "java",
		[UX_CRASH_ANDROID] = "android",
		[UX_CRASH_APPLE] = "apple",
		[UX_CRASH_PERF] = "perf",
		[UX_CRASH_VALGRIND] = "valgrind",
		[UX_CRASH_PYTHON] = "python",
		[UX_CRASH_PYSPY] = "pyspy",
	};
	return (unsigned)form < UX_CRASH_FORM_COUNT ? names[form] : "unknown";
}

/* --- pieces of text --------------------------------------------------------------------------- */

struct ux_bytes ux_crash_word(struct ux_bytes s)
{
	size_t n = 0;
	while (n < s.size && !ux_is_blank(s.data[n]))
		n++;
	return ux_bytes(s.data, n);
}

size_t ux_crash_hex(struct ux_bytes s, uint64_t *ret)
{
	if (s.size < 3 || s.data[0] != '0' || (s.data[1] | 0x20) != 'x')
		return 0;
	size_t n = ux_digits_parse(ux_crash_behind(s, 2), 16, ret);
	return n > 0 ? n + 2 : 0;
}

size_t ux_crash_decimal(struct ux_bytes s, uint64_t *ret)
{
	return ux_digits_parse(s, 10, ret);
}

bool ux_crash_skip(struct ux_bytes *s, struct ux_bytes word)
{
	if (!ux_bytes_starts(*s, word))
		return false;
	*s = ux_crash_behind(*s, word.size);
	return true;
}

bool ux_crash_split_offset(struct ux_bytes s, struct ux_bytes *ret_name, uint64_t *ret_offset)
{
	const uint8_t *plus = ux_bytes_find_last(s, '+');
	if (!plus)
		return false;
	size_t n = (size_t)(plus - s.data);
	struct ux_bytes number = ux_crash_behind(s, n + 1);
	if (ux_crash_hex(number, ret_offset) != number.size || number.size == 0)
		return false;
	*ret_name = ux_bytes(s.data, n);
	return true;
}

void ux_crash_set_symbol(struct ux_crash_frame *f, struct ux_bytes symbol)
{
	static const char *const unknown[] = {"??",        "n/a",    "<unknown>",     "<null>",
					      "[unknown]", "(null)", "<null> <null>", "???",
					      "?"};
	symbol = ux_trim(symbol);
	for (size_t i = 0; i < ux_countof(unknown); i++)
		if (ux_bytes_eq(symbol, ux_bytes_cstr(unknown[i])))
			return;
	f->symbol = symbol;
}

void ux_crash_set_place(struct ux_crash_frame *f, struct ux_bytes place)
{
	uint64_t offset = 0;
	bool split = ux_crash_split_offset(place, &place, &offset);
	ux_crash_set_symbol(f, place);
	if (!split)
		return;
	f->symbol_offset = offset;
	f->has_symbol_offset = f->symbol.size > 0;
}

bool ux_crash_has_line(struct ux_bytes s)
{
	size_t n = s.size, digits = 0, colons = 0;
	while (n > 0 && colons < 2) {
		digits = 0;
		while (n > 0 && ux_is_digit(s.data[n - 1])) {
			n--;
			digits++;
		}
		if (digits == 0 || n == 0 || s.data[n - 1] != ':')
			break;
		colons++;
		n--;
	}
	return colons > 0 && n > 0 && !ux_is_blank(s.data[n - 1]) && s.data[n - 1] != ':';
}

bool ux_crash_is_bare_id(struct ux_bytes s)
{
	if (s.size < BARE_ID_DIGITS || s.size % 2 != 0 || s.size > 2 * UX_ID_GNU_MOST)
		return false;
	for (size_t i = 0; i < s.size; i++)
		if (ux_hex_digit((char)s.data[i]) < 0)
			return false;
	return true;
}

struct ux_bytes ux_crash_peek(struct ux_bytes text)
{
	const uint8_t *end = text.size > 0 ? memchr(text.data, '\n',
						    ux_min(text.size, (size_t)UX_CRASH_LINE_MOST))
					   : NULL;
	size_t n = end ? (size_t)(end - text.data) : 0;
	if (!end && text.size <= UX_CRASH_LINE_MOST)
		n = text.size;
	while (n > 0 && text.data[n - 1] == '\r')
		n--;
	return ux_crash_unprefixed(ux_bytes(text.data, n));
}

/* --- stacks ----------------------------------------------------------------------------------- */

bool ux_crash_is_signal_return(struct ux_bytes function)
{
	static const char *const names[] = {"__restore_rt",          "__restore",
					    "__kernel_rt_sigreturn", "__kernel_sigreturn",
					    "__vdso_rt_sigreturn",   "_sigtramp",
					    "runtime.sigpanic",      "<signal handler called>"};
	for (size_t i = 0; i < ux_countof(names); i++)
		if (ux_bytes_eq(function, ux_bytes_cstr(names[i])))
			return true;
	return false;
}

struct ux_crash_frame *ux_crash_add(struct ux_crash_reader *r, struct ux_crash_line *line,
				    enum ux_crash_form form)
{
	if (line->n == UX_CRASH_FRAMES_MOST) {
		line->more = true;
		return NULL;
	}
	if (!r->in_stack || r->form != form) {
		r->depth = 0;
		r->behind_signal = false;
		r->marks_calls = false;
	}
	r->in_stack = true;
	r->form = form;
	r->depth++;
	struct ux_crash_frame *f = &line->frames[line->n++];
	*f = (struct ux_crash_frame){.form = form};
	return f;
}

/* The frame behind the return of a signal handler was interrupted, not called. */
static void crash_note_signal(struct ux_crash_reader *r, struct ux_crash_line *line)
{
	if (line->n == 0)
		return;
	struct ux_crash_frame *f = &line->frames[line->n - 1];
	if (r->behind_signal)
		f->returns = false;
	r->behind_signal = ux_crash_is_signal_return(f->symbol);
}

static bool crash_has_digit(struct ux_bytes line)
{
	for (size_t i = 0; i < line.size; i++)
		if (ux_is_digit(line.data[i]))
			return true;
	return false;
}

static void crash_parse(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			struct ux_crash_line *ret)
{
	/* The most particular forms come first. */
	static ux_crash_form_fn *const readers[] = {
		ux_crash_read_fact,   ux_crash_read_numbered,  ux_crash_read_valgrind,
		ux_crash_read_python, ux_crash_read_pyspy,     ux_crash_read_java,
		ux_crash_read_go,     ux_crash_read_rust,      ux_crash_read_fault,
		ux_crash_read_kernel, ux_crash_read_backtrace, ux_crash_read_apple,
		ux_crash_read_perf,   ux_crash_read_plain,
	};
	struct ux_bytes function = r->function;
	/* All but a function of Go have a number. */
	if (!crash_has_digit(line)) {
		r->function = UX_BYTES_NONE;
		(void)ux_crash_read_go(r, line, after, ret);
		return;
	}
	for (size_t i = 0; i < ux_countof(readers); i++)
		if (readers[i](r, line, after, ret))
			break;
	if (ux_bytes_eq(function, r->function)) /* it belongs to the line behind it alone */
		r->function = UX_BYTES_NONE;
	crash_note_signal(r, ret);
}

/* Takes a line off the text, and returns it with its line break. */
static struct ux_bytes crash_take_line(struct ux_bytes *text)
{
	const uint8_t *end = memchr(text->data, '\n', text->size);
	size_t used = end ? (size_t)(end - text->data) + 1 : text->size;
	struct ux_bytes whole = ux_bytes(text->data, used);
	*text = ux_crash_behind(*text, used);
	return whole;
}

bool ux_crash_next(struct ux_crash_reader *r, struct ux_bytes *text, struct ux_bytes *ret_whole,
		   struct ux_crash_line *ret)
{
	if (text->size == 0)
		return false;
	struct ux_bytes whole = crash_take_line(text), line = whole;
	ret->n = ret->followers = 0;
	ret->more = false;
	ret->fact = UX_CRASH_NO_FACT;
	while (line.size > 0 &&
	       (line.data[line.size - 1] == '\n' || line.data[line.size - 1] == '\r'))
		line.size--;
	if (line.size <= UX_CRASH_LINE_MOST)
		line = ux_crash_unprefixed(line);
	if (ux_trim(line).size == 0) {
		r->in_stack = false;
		r->function = UX_BYTES_NONE;
	} else if (line.size <= UX_CRASH_LINE_MOST) {
		crash_parse(r, line, *text, ret);
	}
	for (size_t i = 0; i < ret->followers && text->size > 0; i++)
		whole.size += crash_take_line(text).size;
	*ret_whole = whole;
	return true;
}

bool ux_crash_is(struct ux_bytes text, struct ux_bytes *ret_frame)
{
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes whole;
	text.size = ux_min(text.size, (size_t)DETECT_BYTES);
	while (ux_crash_next(&r, &text, &whole, &line)) {
		if (memchr(whole.data, 0, whole.size))
			return false;
		for (size_t i = 0; i < line.n; i++) {
			if (line.frames[i].form == UX_CRASH_PLAIN ||
			    line.frames[i].form == UX_CRASH_PERF)
				continue;
			if (ret_frame)
				*ret_frame = whole;
			return true;
		}
	}
	return false;
}
