/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that a line of text describes without much form: backtrace_symbols(3), macOS, perf script,
 * and IDs, files with offsets and addresses on their own. */
#include "crash_internal.h"

#include "id.h"

#include <strings.h>

enum {
	ADDRESS_DIGITS = 16, /* maximum hex digits of an address */
	PERF_DIGITS = 2,     /* minimum hex digits of a location of perf script */
};

/* Below this, the address of a location of perf script is a position in a file. */
#define PERF_PROCESS (UINT64_C(1) << 40)

/* --- backtrace(3) ----------------------------------------------------------------------------- */

/* Returns the path before the brackets, without the prefix of a log, which ends with a blank. */
static struct ux_bytes plain_path(struct ux_bytes s)
{
	s = ux_trim(s);
	if (s.size == 0 || s.data[0] == '/' || s.data[0] == '.')
		return s;
	const uint8_t *blank = ux_bytes_find_last(s, ' ');
	return blank ? ux_crash_after(s, (size_t)(blank + 1 - s.data)) : s;
}

/* Cuts "[0x7f...]" off the end. */
static bool backtrace_address(struct ux_bytes *s, uint64_t *ret)
{
	if (s->size == 0 || s->data[s->size - 1] != ']')
		return false;
	const uint8_t *open = ux_bytes_find_last(*s, '[');
	if (!open)
		return false;
	size_t at = (size_t)(open - s->data);
	struct ux_bytes inside = ux_bytes(open + 1, s->size - at - 2);
	if (inside.size == 0 || ux_crash_hex(inside, ret) != inside.size)
		return false;
	*s = ux_trim(ux_bytes(s->data, at));
	return true;
}

/* "(f+0x12)" and "(+0x12)" after the path, or nothing. */
static bool backtrace_symbol(struct ux_crash_frame *f, struct ux_bytes *s)
{
	if (s->size == 0 || s->data[s->size - 1] != ')')
		return true;
	const uint8_t *open = ux_bytes_find_last(*s, '(');
	if (!open)
		return false;
	size_t at = (size_t)(open - s->data);
	struct ux_bytes inside = ux_bytes(open + 1, s->size - at - 2), symbol;
	uint64_t offset = 0;
	*s = ux_bytes(s->data, at);
	if (inside.size == 0)
		return true;
	if (!ux_crash_split_offset(inside, &symbol, &offset))
		return false;
	if (symbol.size == 0) {
		f->origin = UX_CRASH_PC;
		f->offset = offset;
	} else {
		f->has_symbol_offset = true;
		f->symbol_offset = offset;
		f->symbol = symbol;
	}
	return true;
}

/* "/lib/x.so(f+0x12)[0x7f...]", "./prog(+0x12) [0x7f...]", "./prog[0x4011d7]". */
bool ux_crash_read_backtrace(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			     struct ux_crash_line *ret)
{
	struct ux_crash_frame found = {
		.form = UX_CRASH_BACKTRACE, .has_address = true, .returns = true};
	struct ux_bytes s = ux_trim(line);
	(void)after;
	if (!backtrace_address(&s, &found.address) || !backtrace_symbol(&found, &s))
		return false;
	found.module = plain_path(s);
	bool is_path = found.module.size > 0 && memchr(found.module.data, '/', found.module.size);
	bool has_symbol = found.origin == UX_CRASH_PC || found.has_symbol_offset;
	if (found.module.size == 0 || (!is_path && !has_symbol))
		return false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_BACKTRACE);
	if (f)
		*f = found;
	return true;
}

/* --- macOS ------------------------------------------------------------------------------------ */

/* "3   libfoo.dylib  0x00007fff2039 f + 12" or "... 0x7fff20387000 + 28634" */
bool ux_crash_read_apple(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			 struct ux_crash_line *ret)
{
	uint64_t number = 0, address = 0, base = 0, offset = 0;
	struct ux_bytes s = ux_trim(line), plus = UX_STR(" + ");
	(void)after;
	size_t n = ux_crash_decimal(s, &number);
	if (n == 0 || n == s.size || !ux_is_blank(s.data[n]))
		return false;
	s = ux_trim(ux_crash_after(s, n));
	size_t at = ux_crash_find(s, UX_STR(" 0x")), mark = 0;
	if (at == s.size || at == 0)
		return false;
	struct ux_bytes module = ux_trim(ux_bytes(s.data, at));
	s = ux_crash_after(s, at + 1);
	n = ux_crash_hex(s, &address);
	if (n == 0 || n == s.size || !ux_is_blank(s.data[n]))
		return false;
	s = ux_trim(ux_crash_after(s, n));
	mark = ux_crash_find(s, plus);
	if (mark == s.size || ux_crash_decimal(ux_crash_after(s, mark + plus.size), &offset) == 0)
		return false;
	if (number == 0)
		r->in_stack = false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_APPLE);
	if (!f)
		return true;
	f->module = module;
	f->address = address;
	f->has_address = true;
	f->returns = number > 0;
	struct ux_bytes symbol = ux_bytes(s.data, mark);
	if (ux_crash_hex(symbol, &base) == symbol.size) {
		f->origin = UX_CRASH_START;
		f->offset = offset;
	} else {
		ux_crash_set_symbol(f, symbol);
		f->has_symbol_offset = f->symbol.size > 0;
		f->symbol_offset = offset;
		f->located = f->has_symbol_offset && ux_crash_find(s, UX_STR(" (in ")) < s.size &&
			     ux_crash_has_line(s);
	}
	return true;
}

/* --- perf script ------------------------------------------------------------------------------ */

/* "	    7f12 f+0x1d (/lib/x.so)" */
bool ux_crash_read_perf(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			struct ux_crash_line *ret)
{
	struct ux_bytes s = ux_trim(line), symbol;
	uint64_t address = 0;
	(void)after;
	if (!ux_is_blank(line.data[0]) || s.data[s.size - 1] != ')')
		return false;
	size_t n = ux_digits_parse(s, 16, &address);
	if (n < PERF_DIGITS || n > ADDRESS_DIGITS || n == s.size || s.data[n] != ' ')
		return false;
	s = ux_crash_after(s, n);
	const uint8_t *open = ux_bytes_find_last(s, '(');
	if (!open || open[-1] != ' ')
		return false;
	size_t at = (size_t)(open - s.data);
	struct ux_bytes module = ux_bytes(open + 1, s.size - at - 2);
	if (module.size == 0 || !(module.data[0] == '/' || module.data[0] == '[' ||
				  ux_bytes_eq(module, UX_STR("inlined"))))
		return false;
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_PERF);
	if (!f)
		return true;
	f->module = module;
	bool in_file = module.data[0] == '/' && address < PERF_PROCESS;
	f->origin = in_file ? UX_CRASH_FILE : UX_CRASH_NOWHERE;
	f->offset = address;
	f->address = address;
	f->has_address = !in_file;
	f->returns = r->depth > 1;
	symbol = ux_trim(ux_bytes(s.data, at));
	ux_crash_set_place(f, symbol);
	f->located = f->symbol.size > 0 && ux_bytes_eq(module, UX_STR("inlined"));
	return true;
}

/* --- IDs, files with offsets, addresses ------------------------------------------------------- */

static bool plain_is_separator(uint8_t c)
{
	return ux_is_space(c) || memchr(",()[]<>;", c, 8);
}

/* Cuts the next word off the front; brackets separate words. Empty at the end. */
static struct ux_bytes plain_next_word(struct ux_bytes *s)
{
	size_t i = 0, n = 0;
	while (i < s->size && plain_is_separator(s->data[i]))
		i++;
	while (i + n < s->size && !plain_is_separator(s->data[i + n]))
		n++;
	struct ux_bytes word = ux_bytes(s->data + i, n);
	*s = ux_crash_after(*s, i + n);
	return n > 0 ? word : UX_BYTES_NONE;
}

static bool plain_is_id(struct ux_bytes s)
{
	struct ux_id id;
	bool typed = memchr(s.data, ':', s.size) != NULL;
	return (typed || ux_crash_is_bare_id(s)) && ux_id_parse(s, &id, NULL) == UX_OK;
}

/* Returns whether s is a path or a typical file name. An offset alone proves nothing: functions
 * have offsets too. */
static bool plain_is_file(struct ux_bytes s)
{
	return s.data && s.size > 0 &&
	       (memchr(s.data, '/', s.size) || memmem(s.data, s.size, ".so", 3) ||
		memmem(s.data, s.size, ".ko", 3));
}

/* The state of one line. */
struct plain_line {
	struct ux_bytes id;   /* the ID for all addresses of the line */
	struct ux_bytes name; /* the file before the last offset */
	bool has_file_offset; /* then other numbers are addresses in the process */
	size_t n_words;
	size_t n_strange; /* words that are neither IDs nor addresses */
};

static void plain_add(struct ux_crash_reader *r, struct ux_crash_line *ret,
		      enum ux_crash_origin origin, struct ux_bytes module, uint64_t offset)
{
	struct ux_crash_frame *f = ux_crash_add(r, ret, UX_CRASH_PLAIN);
	if (!f)
		return;
	f->origin = origin;
	f->module = module;
	f->offset = offset;
	if (origin == UX_CRASH_UNSAID) {
		f->address = offset;
		f->has_address = true;
	}
}

/* "NAME+0x12" or "NAME + 0x12", where the name is a file's or a function's. */
static bool plain_offset(struct ux_crash_reader *r, struct plain_line *l, struct ux_bytes word,
			 struct ux_bytes *left, struct ux_crash_line *ret)
{
	struct ux_bytes name = word, rest = *left;
	uint64_t offset = 0;
	bool spaced = ux_bytes_eq(plain_next_word(&rest), UX_STR("+"));
	if (spaced) {
		struct ux_bytes digits = plain_next_word(&rest);
		if (digits.size == 0 || ux_crash_hex(digits, &offset) != digits.size)
			return false;
	} else if (!ux_crash_split_offset(word, &name, &offset) || name.size == 0) {
		return false;
	}
	uint64_t ignored = 0;
	if (ux_crash_hex(name, &ignored) > 0 || (!plain_is_file(name) && !spaced))
		return false;
	if (!l->has_file_offset)
		ret->n = 0; /* numbers before it are addresses in the process */
	l->has_file_offset = true;
	plain_add(r, ret, UX_CRASH_PC, name, offset);
	if (spaced)
		*left = rest;
	return true;
}

static bool plain_address(struct ux_bytes word, bool alone, uint64_t *ret)
{
	bool prefixed = ux_bytes_starts(word, UX_STR("0x")) || ux_bytes_starts(word, UX_STR("0X"));
	if (!prefixed && !alone)
		return false;
	bool decimal = !prefixed;
	for (size_t i = 0; i < word.size && decimal; i++)
		decimal = ux_is_digit(word.data[i]);
	return ux_hex_parse_u64(word, /* hex= */ !decimal, ret);
}

/* "BuildId: 9d..." */
static bool plain_build_id(struct plain_line *l, struct ux_bytes word, struct ux_bytes *left)
{
	struct ux_bytes label = UX_STR("buildid:"), rest = *left;
	if (word.size < label.size ||
	    strncasecmp((const char *)word.data, (const char *)label.data, label.size) != 0)
		return false;
	struct ux_bytes hex = ux_crash_after(word, label.size);
	if (hex.size == 0)
		hex = plain_next_word(&rest);
	struct ux_id id;
	if (hex.size == 0 || memchr(hex.data, ':', hex.size) ||
	    ux_id_parse(hex, &id, NULL) != UX_OK)
		return false;
	*left = rest;
	l->id = hex;
	return true;
}

static void plain_word(struct ux_crash_reader *r, struct plain_line *l, struct ux_bytes word,
		       bool alone, struct ux_bytes *left, struct ux_crash_line *ret)
{
	uint64_t address = 0;
	l->n_words++;
	if (plain_build_id(l, word, left) || plain_offset(r, l, word, left, ret))
		return;
	if (l->id.size == 0 && plain_is_id(word)) {
		l->id = word;
		return;
	}
	if (plain_address(word, alone, &address)) {
		if (!l->has_file_offset)
			plain_add(r, ret, UX_CRASH_UNSAID, UX_BYTES_NONE, address);
		return;
	}
	l->n_strange++;
}

bool ux_crash_read_plain(struct ux_crash_reader *r, struct ux_bytes line, struct ux_bytes after,
			 struct ux_crash_line *ret)
{
	struct plain_line l = {0};
	struct ux_bytes left = line, rest = line;
	(void)after;
	(void)plain_next_word(&rest);
	bool alone = plain_next_word(&rest).size == 0;
	for (struct ux_bytes word = plain_next_word(&left); word.size > 0;
	     word = plain_next_word(&left))
		plain_word(r, &l, word, alone, &left, ret);
	/* Addresses in a sentence are of anything. */
	if (l.n_strange > 0 && !l.has_file_offset && l.id.size == 0)
		ret->n = 0;
	for (size_t i = 0; i < ret->n; i++)
		ret->frames[i].id = l.id;
	if (ret->n == 0 && l.id.size > 0 && l.n_strange == 0) {
		ret->fact = UX_CRASH_CURRENT;
		ret->id = l.id;
	}
	return ret->n > 0 || ret->fact != UX_CRASH_NO_FACT;
}
