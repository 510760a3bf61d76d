/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes the form of each line of a crash report. */
#include "crash_internal.h"

enum {
	/* bytes of a text that are searched for the first line of a crash report */
	DETECT_BYTES = 256 << 10,
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

/* Notes whether a frame is the return of a signal handler. The frame after it was interrupted, not
 * called. */
static void crash_note_signal(struct ux_crash_reader *r, struct ux_crash_line *line)
{
	if (line->n == 0)
		return;
	struct ux_crash_frame *f = &line->frames[line->n - 1];
	if (r->after_signal)
		f->returns = false;
	r->after_signal = ux_crash_is_signal_return(f->symbol);
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
	if (ux_bytes_eq(function, r->function)) /* it belongs to the next line alone */
		r->function = UX_BYTES_NONE;
	crash_note_signal(r, ret);
}

/* Takes a line off the text, and returns it with its line break. */
static struct ux_bytes crash_take_line(struct ux_bytes *text)
{
	const uint8_t *end = memchr(text->data, '\n', text->size);
	size_t used = end ? (size_t)(end - text->data) + 1 : text->size;
	struct ux_bytes whole = ux_bytes(text->data, used);
	*text = ux_crash_after(*text, used);
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
	if (line.size <= UX_CRASH_LINE_MAX)
		line = ux_crash_unprefixed(line);
	if (ux_trim(line).size == 0) {
		r->in_stack = false;
		r->function = UX_BYTES_NONE;
	} else if (line.size <= UX_CRASH_LINE_MAX) {
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
