/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered frames: "#1 0x..." of sanitizers, gdb, systemd-coredump, eu-stack and Android. */
#include "crash_internal.h"

/* A numbered line in pieces. */
struct numbered_line {
	uint64_t number;
	uint64_t address;
	bool has_address;
	struct ux_bytes rest; /* after the address */
};

/* Finds "#N " at the beginning, or after the prefix of a log. */
static bool numbered_split(struct ux_bytes line, struct numbered_line *ret)
{
	for (size_t i = 0; i < line.size; i++) {
		if (line.data[i] != '#' || (i > 0 && !ux_is_blank(line.data[i - 1])))
			continue;
		struct ux_bytes s = ux_crash_after(line, i + 1);
		size_t n = ux_crash_decimal(s, &ret->number);
		if (n == 0 || n == s.size || !(ux_is_blank(s.data[n]) || s.data[n] == ':'))
			continue;
		s = ux_trim(ux_crash_after(s, n + (s.data[n] == ':')));
		n = ux_crash_hex(s, &ret->address);
		ret->has_address = n > 0 && (n == s.size || ux_is_blank(s.data[n]));
		ret->rest = ret->has_address ? ux_crash_after(s, n) : s;
		return true;
	}
	return false;
}

/* Returns the ID in "(BuildId: 93ac...)" or "(BuildId=93ac...)". */
static struct ux_bytes numbered_build_id(struct ux_bytes s)
{
	struct ux_bytes label = UX_STR("(BuildId: ");
	size_t at = ux_crash_find(s, label);
	if (at == s.size)
		return UX_BYTES_NONE;
	struct ux_bytes hex = ux_crash_before(ux_crash_after(s, at + label.size), UX_STR(")"));
	return ux_crash_is_bare_id(hex) ? hex : UX_BYTES_NONE;
}

/*
 * Finds the last "(MODULE+0xOFFSET)" of a sanitizer. *ret_at is where it begins.
 */
static bool numbered_find_module(struct ux_bytes s, size_t *ret_at, struct ux_bytes *ret_module,
				 uint64_t *ret_offset)
{
	for (size_t end = s.size; end > 0; end--) {
		if (s.data[end - 1] != ')')
			continue;
		const uint8_t *open = memrchr(s.data, '(', end - 1);
		if (!open)
			return false;
		size_t at = (size_t)(open - s.data);
		struct ux_bytes inside = ux_bytes(open + 1, end - at - 2);
		if (ux_crash_split_offset(inside, ret_module, ret_offset) && ret_module->size > 0) {
			*ret_at = at;
			return true;
		}
		end = at + 1;
	}
	return false;
}

/* Splits "main /src/x.c:12:3": a function and, after the last blank before it, a place. */
static void numbered_function(struct ux_crash_frame *f, struct ux_bytes s)
{
	s = ux_trim(s);
	const uint8_t *blank = ux_bytes_find_last(s, ' ');
	if (blank && ux_crash_has_line(s)) {
		ux_crash_set_symbol(f, ux_bytes(s.data, (size_t)(blank - s.data)));
		f->located = f->symbol.size > 0;
		return;
	}
	struct ux_bytes none = UX_STR(" <null>");
	if (s.size > none.size && ux_bytes_eq(ux_crash_after(s, s.size - none.size), none))
		s.size -= none.size;
	ux_crash_set_symbol(f, s);
}

static bool numbered_sanitizer(struct ux_crash_reader *r, const struct numbered_line *l,
			       struct ux_crash_line *ret)
{
	size_t at = 0;
	struct ux_bytes module, rest = ux_trim(l->rest);
	uint64_t offset = 0;
	bool has_in = ux_crash_skip(&rest, UX_STR("in "));
	bool has_module = numbered_find_module(rest, &at, &module, &offset);
	/* "#0 0x... in main /src/x.c:3:5" has no module, and gdb's has an argument list. */
	if (!has_module && !(has_in && ux_crash_has_line(rest) && rest.size > 0 &&
			     ux_crash_find(rest, UX_STR(" (")) == rest.size))
		return false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_SANITIZER);
	if (!f)
		return true;
	f->address = l->address;
	f->has_address = l->has_address;
	if (has_module) {
		f->origin = UX_CRASH_PC;
		f->module = module;
		f->offset = offset;
		f->id = numbered_build_id(rest);
	}
	numbered_function(f, has_module ? ux_bytes(rest.data, at) : rest);
	return true; /* sanitizers print addresses inside of the calls: never return addresses */
}

/* "f (args) at x.c:3" or "f () from /lib/x.so" of gdb, after "in ". */
static void numbered_gdb_place(struct ux_crash_frame *f, struct ux_bytes s)
{
	struct ux_bytes from = UX_STR(" from /");
	size_t at = ux_crash_find(s, from);
	if (at < s.size) {
		f->module = ux_trim(ux_crash_after(s, at + from.size - 1));
		s.size = at;
	}
	f->located = ux_crash_has_line(s) && ux_crash_find(s, UX_STR(") at ")) < s.size;
	ux_crash_set_symbol(f, ux_crash_before(s, UX_STR(" (")));
	f->located = f->located && f->symbol.size > 0;
}

static bool numbered_gdb(struct ux_crash_reader *r, const struct numbered_line *l,
			 struct ux_crash_line *ret)
{
	struct ux_bytes rest = ux_trim(l->rest);
	bool is_signal = ux_bytes_eq(rest, UX_STR("<signal handler called>"));
	bool has_in = ux_crash_skip(&rest, UX_STR("in "));
	bool has_arguments = ux_crash_find(rest, UX_STR(" (")) < rest.size;
	if (!is_signal && !(has_arguments && (has_in || !l->has_address)))
		return false;
	if (l->number == 0)
		r->in_stack = false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_GDB);
	if (!f)
		return true;
	f->address = l->address;
	f->has_address = l->has_address;
	f->returns = l->has_address && l->number > 0;
	if (is_signal) {
		f->symbol = rest;
		f->located = true;
	} else {
		numbered_gdb_place(f, rest);
		/* An inlined frame has the address of the previous one. */
		f->located = f->located || (!l->has_address && f->symbol.size > 0);
	}
	return true;
}

/* "name (libx.so + 0x1234)" */
static bool numbered_coredump(struct ux_crash_reader *r, const struct numbered_line *l,
			      struct ux_crash_line *ret)
{
	struct ux_bytes rest = ux_trim(l->rest), plus = UX_STR(" + 0x");
	if (!l->has_address || rest.size == 0 || rest.data[rest.size - 1] != ')')
		return false;
	const uint8_t *open = ux_bytes_find_last(rest, '(');
	size_t at = open ? (size_t)(open - rest.data) : rest.size;
	if (!open)
		return false;
	struct ux_bytes inside = ux_bytes(open + 1, rest.size - at - 2);
	size_t mark = ux_crash_find(inside, plus);
	uint64_t offset = 0;
	if (mark == 0 || mark == inside.size ||
	    ux_crash_hex(ux_crash_after(inside, mark + 3), &offset) != inside.size - mark - 3)
		return false;
	if (l->number == 0)
		r->in_stack = false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_COREDUMP);
	if (!f)
		return true;
	f->origin = UX_CRASH_START;
	f->module = ux_bytes(inside.data, mark);
	f->offset = offset;
	f->address = l->address;
	f->has_address = true;
	f->returns = l->number > 0;
	ux_crash_set_symbol(f, ux_bytes(rest.data, at));
	return true;
}

/*
 * "    [93ac...]@0x7f...+0x29d8f" after a frame of eu-stack -b: the ID, where the module begins,
 * and how far after that the address is, set back into the call.
 */
static bool numbered_elfutils_id(struct ux_crash_frame *f, struct ux_bytes line)
{
	struct ux_bytes s = ux_trim(line);
	uint64_t base = 0, offset = 0;
	if (s.size == 0 || s.data[0] != '[')
		return false;
	struct ux_bytes id = ux_crash_before(ux_crash_after(s, 1), UX_STR("]"));
	if (!ux_crash_is_bare_id(id))
		return false;
	s = ux_crash_after(s, id.size + 2 < s.size ? id.size + 2 : s.size);
	if (!ux_crash_skip(&s, UX_STR("@")))
		return false;
	size_t n = ux_crash_hex(s, &base);
	if (n == 0 || n == s.size || s.data[n] != '+')
		return false;
	s = ux_crash_after(s, n + 1);
	if (ux_crash_hex(s, &offset) != s.size || s.size == 0)
		return false;
	f->id = id;
	f->origin = UX_CRASH_START;
	f->offset = offset;
	f->has_address = false;
	f->returns = false;
	return true;
}

/* "name", "- 1 name", "name - libx.so": the writer marks return addresses when it is verbose. */
static bool numbered_elfutils(struct ux_crash_reader *r, const struct numbered_line *l,
			      struct ux_bytes after, struct ux_crash_line *ret)
{
	struct ux_bytes rest = ux_trim(l->rest);
	if (!l->has_address || (rest.size > 0 && rest.data[0] == '('))
		return false;
	bool marked = ux_bytes_eq(rest, UX_STR("- 1")) || ux_crash_skip(&rest, UX_STR("- 1 "));
	if (ux_bytes_eq(rest, UX_STR("- 1")))
		rest = UX_BYTES_NONE;
	rest = ux_trim(rest);
	if (l->number == 0)
		r->in_stack = false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_ELFUTILS);
	if (!f)
		return true;
	r->marks_calls = r->marks_calls || marked;
	f->address = l->address;
	f->has_address = true;
	f->returns = marked || (l->number > 0 && !r->marks_calls);
	size_t dash = ux_bytes_starts(rest, UX_STR("- ")) ? 0 : ux_crash_find(rest, UX_STR(" - "));
	if (dash < rest.size) {
		struct ux_bytes module = ux_trim(ux_crash_after(rest, dash + (dash == 0 ? 2 : 3)));
		f->module = ux_crash_word(module);
		ux_crash_set_symbol(f, ux_bytes(rest.data, dash));
	} else {
		ux_crash_set_symbol(f, rest);
	}
	if (numbered_elfutils_id(f, ux_crash_peek(after)))
		ret->followers = 1;
	return true;
}

/* "pc 0004ba2c  /lib/libc.so (abort+68) (BuildId: ...)" of Android, which is inside of the call. */
static bool numbered_android(struct ux_crash_reader *r, const struct numbered_line *l,
			     struct ux_crash_line *ret)
{
	struct ux_bytes rest = l->rest;
	uint64_t pc = 0;
	if (l->has_address || !ux_crash_skip(&rest, UX_STR("pc ")))
		return false;
	rest = ux_trim(rest);
	size_t n = ux_digits_parse(rest, 16, &pc);
	if (n == 0 || (n < rest.size && !ux_is_blank(rest.data[n])))
		return false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_ANDROID);
	if (!f)
		return true;
	rest = ux_trim(ux_crash_after(rest, n));
	f->origin = UX_CRASH_PC;
	f->offset = pc;
	f->id = numbered_build_id(rest);
	f->module = ux_crash_word(rest);
	rest = ux_trim(ux_crash_after(rest, f->module.size));
	if (f->module.size > 0 && f->module.data[0] == '(')
		f->module = UX_BYTES_NONE;
	if (ux_crash_skip(&rest, UX_STR("("))) {
		struct ux_bytes inside = ux_crash_before(rest, UX_STR(")"));
		const uint8_t *plus = ux_bytes_find_last(inside, '+');
		if (plus)
			ux_crash_set_symbol(f, ux_bytes(inside.data, (size_t)(plus - inside.data)));
	}
	return true;
}

/* "SUMMARY: AddressSanitizer: SEGV (/tmp/prog+0x1323)" */
static bool numbered_summary(struct ux_crash_reader *r, struct ux_bytes line,
			     struct ux_crash_line *ret)
{
	struct numbered_line l = {0};
	size_t at = ux_crash_find(line, UX_STR("SUMMARY: "));
	if (at == line.size)
		return false;
	l.rest = ux_crash_after(line, at);
	if (!numbered_sanitizer(r, &l, ret))
		return false;
	if (ret->n > 0) {
		ret->frames[0].symbol = UX_BYTES_NONE;
		ret->frames[0].located = false;
	}
	return true;
}

bool ux_crash_read_numbered(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			    struct ux_crash_line *ret)
{
	struct numbered_line l = {0};
	if (!numbered_split(line, &l))
		return numbered_summary(r, line, ret);
	return numbered_android(r, &l, ret) || numbered_coredump(r, &l, ret) ||
	       numbered_sanitizer(r, &l, ret) || numbered_gdb(r, &l, ret) ||
	       numbered_elfutils(r, &l, after, ret);
}
