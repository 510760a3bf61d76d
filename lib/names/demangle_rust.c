/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rust's names of the v0 mangling ("_R..."). Sources: RFC 2603; rustc book, "v0 Symbol Format".
 *
 * A name is written while it is parsed. The target of a back reference is parsed again at each use,
 * so the text can be exponentially longer than the name. The budget of the text bounds this.
 */
#include "demangle_schemes.h"

#include "text.h"

enum {
	RUST_DEPTH_MAX =
		300, /* depth of paths, types and constants; a level takes about 300 bytes */
	RUST_LIFETIMES_MAX = 4096,
};

struct rust {
	const char *start; /* position after "_R"; back references are relative to it */
	const char *pos, *end;
	struct ux_name_text *text;
	unsigned skipping;  /* more than 0: nothing is written while parsing */
	uint64_t lifetimes; /* number of lifetimes that the enclosing binders have named */
};

struct rust_name {
	struct ux_bytes bytes;
	bool punycode;
	uint64_t disambiguator;
};

static void rust_path(struct rust *r, bool in_value);
static void rust_type(struct rust *r);
static void rust_const(struct rust *r, bool in_value);

static void rust_fail(struct rust *r)
{
	ux_name_text_fail(r->text);
	r->pos = r->end;
}

static void rust_put(struct rust *r, const char *s)
{
	if (r->skipping == 0)
		ux_name_text_cstr(r->text, s);
}

static void rust_put_char(struct rust *r, char c)
{
	if (r->skipping == 0)
		ux_name_text_char(r->text, c);
}

static void rust_put_number(struct rust *r, uint64_t v)
{
	if (r->skipping == 0)
		ux_name_text_number(r->text, v);
}

static char rust_peek(const struct rust *r)
{
	return r->pos < r->end ? *r->pos : '\0';
}

static char rust_next(struct rust *r)
{
	if (r->pos == r->end) {
		rust_fail(r);
		return '\0';
	}
	return *r->pos++;
}

static bool rust_eat(struct rust *r, char c)
{
	if (r->pos == r->end || *r->pos != c)
		return false;
	r->pos++;
	return true;
}

static bool rust_enter(struct rust *r)
{
	if (ux_name_text_enter(r->text, RUST_DEPTH_MAX))
		return true;
	rust_fail(r);
	return false;
}

/* "_" is 0, "0_" is 1, ...; digits are 0-9, a-z, A-Z. */
static uint64_t rust_base62(struct rust *r)
{
	uint64_t v = 0;
	if (rust_eat(r, '_'))
		return 0;
	for (;;) {
		char c = rust_next(r);
		unsigned digit = 0;
		if (c == '_')
			break;
		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'z')
			digit = (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'Z')
			digit = (unsigned)(c - 'A') + 36;
		else
			v = UINT64_MAX;
		if (__builtin_mul_overflow(v, 62, &v) || __builtin_add_overflow(v, digit, &v)) {
			rust_fail(r);
			return 0;
		}
	}
	if (v == UINT64_MAX)
		rust_fail(r);
	return v + 1;
}

/* Reads an optional number after a tag: 0 without the tag, else the number plus 1. */
static uint64_t rust_optional_number(struct rust *r, char tag)
{
	return rust_eat(r, tag) ? rust_base62(r) + 1 : 0;
}

static struct rust_name rust_undisambiguated(struct rust *r)
{
	struct rust_name name = {.punycode = rust_eat(r, 'u')};
	char first = rust_next(r);
	size_t n = (size_t)(first - '0');
	if (first < '0' || first > '9') {
		rust_fail(r);
		return name;
	}
	while (first != '0' && rust_peek(r) >= '0' && rust_peek(r) <= '9' && n < SIZE_MAX / 16)
		n = n * 10 + (size_t)(*r->pos++ - '0');
	(void)rust_eat(r, '_');
	if ((size_t)(r->end - r->pos) < n) {
		rust_fail(r);
		return name;
	}
	name.bytes = ux_bytes(r->pos, n);
	r->pos += n;
	return name;
}

static struct rust_name rust_identifier(struct rust *r)
{
	uint64_t disambiguator = rust_optional_number(r, 's');
	struct rust_name name = rust_undisambiguated(r);
	name.disambiguator = disambiguator;
	return name;
}

static void rust_put_name(struct rust *r, const struct rust_name *name)
{
	if (r->skipping > 0 || name->bytes.size == 0)
		return;
	const char *s = (const char *)name->bytes.data;
	if (name->punycode)
		ux_name_text_punycode(r->text, s, name->bytes.size, UX_PUNYCODE_RUST);
	else
		ux_name_text_put(r->text, s, name->bytes.size);
}

/*
 * Moves to the target of a back reference after its tag was consumed, and returns the position
 * where parsing resumes afterwards. NULL: the target must not be parsed, since it has no text or is
 * malformed.
 */
static const char *rust_follow(struct rust *r)
{
	const char *tag = r->pos - 1;
	uint64_t target = rust_base62(r);
	const char *resume = r->pos;
	if (target >= (uint64_t)(tag - r->start)) {
		rust_fail(r);
		return NULL;
	}
	if (r->skipping > 0)
		return NULL;
	r->pos = r->start + target;
	return resume;
}

static void rust_resume(struct rust *r, const char *pos)
{
	if (!r->text->failed)
		r->pos = pos;
}

/* Writes the lifetime with De Bruijn index `index`; 0 is the erased one. */
static void rust_put_lifetime(struct rust *r, uint64_t index)
{
	rust_put_char(r, '\'');
	if (index == 0) {
		rust_put_char(r, '_');
		return;
	}
	if (index > r->lifetimes) {
		rust_fail(r);
		return;
	}
	uint64_t depth = r->lifetimes - index;
	if (depth < 26) {
		rust_put_char(r, (char)('a' + depth));
		return;
	}
	rust_put_char(r, '_');
	rust_put_number(r, depth);
}

/* Writes "for<'a, 'b> " for a binder; returns its number of lifetimes. */
static uint64_t rust_binder(struct rust *r)
{
	uint64_t n = rust_optional_number(r, 'G');
	if (n == 0)
		return 0;
	if (n > RUST_LIFETIMES_MAX || r->lifetimes > RUST_LIFETIMES_MAX ||
	    !ux_name_text_charge(r->text, n)) {
		rust_fail(r);
		return 0;
	}
	rust_put(r, "for<");
	for (uint64_t i = 0; i < n; i++) {
		if (i > 0)
			rust_put(r, ", ");
		r->lifetimes++;
		rust_put_lifetime(r, 1);
	}
	rust_put(r, "> ");
	return n;
}

static void rust_generic_arg(struct rust *r)
{
	if (rust_eat(r, 'L'))
		rust_put_lifetime(r, rust_base62(r));
	else if (rust_eat(r, 'K'))
		rust_const(r, /* in_value= */ false);
	else
		rust_type(r);
}

typedef void rust_item_fn(struct rust *r);

/* Writes items up to E with ", " between them; returns their number. */
static size_t rust_list(struct rust *r, rust_item_fn *item)
{
	size_t n = 0;
	for (; !r->text->failed && !rust_eat(r, 'E'); n++) {
		if (n > 0)
			rust_put(r, ", ");
		item(r);
	}
	return n;
}

/* Parses a path that is not shown. */
static void rust_skip_path(struct rust *r)
{
	r->skipping++;
	rust_path(r, /* in_value= */ false);
	r->skipping--;
}

/* <T>, <T as Trait> */
static void rust_impl(struct rust *r, char tag)
{
	if (tag != 'Y') {
		(void)rust_optional_number(r, 's');
		rust_skip_path(r);
	}
	rust_put_char(r, '<');
	rust_type(r);
	if (tag != 'M') {
		rust_put(r, " as ");
		rust_path(r, /* in_value= */ false);
	}
	rust_put_char(r, '>');
}

/* Writes a name in a path. An upper-case namespace marks one of the compiler's: "{closure#0}". */
static void rust_nested(struct rust *r, bool in_value)
{
	char space = rust_next(r);
	bool special = space >= 'A' && space <= 'Z';
	if (!special && !(space >= 'a' && space <= 'z')) {
		rust_fail(r);
		return;
	}
	rust_path(r, in_value);
	struct rust_name name = rust_identifier(r);
	if (!special) {
		if (name.bytes.size > 0)
			rust_put(r, "::");
		rust_put_name(r, &name);
		return;
	}
	rust_put(r, "::{");
	if (space == 'C')
		rust_put(r, "closure");
	else if (space == 'S')
		rust_put(r, "shim");
	else
		rust_put_char(r, space);
	if (name.bytes.size > 0)
		rust_put_char(r, ':');
	rust_put_name(r, &name);
	rust_put_char(r, '#');
	rust_put_number(r, name.disambiguator);
	rust_put_char(r, '}');
}

static void rust_path_of(struct rust *r, char tag, bool in_value)
{
	struct rust_name name;
	const char *resume = NULL;
	switch (tag) {
	case 'C':
		name = rust_identifier(r);
		rust_put_name(r, &name);
		return;
	case 'M':
	case 'X':
	case 'Y':
		rust_impl(r, tag);
		return;
	case 'N':
		rust_nested(r, in_value);
		return;
	case 'I':
		rust_path(r, in_value);
		rust_put(r, in_value ? "::<" : "<");
		(void)rust_list(r, rust_generic_arg);
		rust_put_char(r, '>');
		return;
	case 'B':
		resume = rust_follow(r);
		if (resume) {
			rust_path(r, in_value);
			rust_resume(r, resume);
		}
		return;
	default:
		rust_fail(r);
	}
}

/* Writes a path. in_value: arguments are written after "::", as in expressions. */
static void rust_path(struct rust *r, bool in_value)
{
	if (!rust_enter(r))
		return;
	rust_path_of(r, rust_next(r), in_value);
	r->text->depth--;
}

static const char *rust_basic_type(char tag)
{
	static const char *const names[26] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!",
	};
	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void rust_function_type(struct rust *r)
{
	uint64_t bound = rust_binder(r);
	if (rust_eat(r, 'U'))
		rust_put(r, "unsafe ");
	if (rust_eat(r, 'K')) {
		rust_put(r, "extern \"");
		struct rust_name abi = {.bytes = UX_STR("C")};
		if (!rust_eat(r, 'C'))
			abi = rust_undisambiguated(r);
		if (abi.punycode)
			rust_fail(r);
		for (size_t i = 0; i < abi.bytes.size; i++)
			rust_put_char(r, abi.bytes.data[i] == '_' ? '-' : (char)abi.bytes.data[i]);
		rust_put(r, "\" ");
	}
	rust_put(r, "fn(");
	(void)rust_list(r, rust_type);
	rust_put_char(r, ')');
	if (!rust_eat(r, 'u')) {
		rust_put(r, " -> ");
		rust_type(r);
	}
	r->lifetimes -= bound;
}

/* Writes a trait. True when its argument list is left open, for bindings of associated types. */
static bool rust_open_path(struct rust *r)
{
	bool open = false;
	const char *resume = NULL;
	if (!rust_enter(r))
		return false;
	if (rust_eat(r, 'B')) {
		resume = rust_follow(r);
		if (resume) {
			open = rust_open_path(r);
			rust_resume(r, resume);
		}
	} else if (rust_eat(r, 'I')) {
		rust_path(r, /* in_value= */ false);
		rust_put_char(r, '<');
		(void)rust_list(r, rust_generic_arg);
		open = true;
	} else {
		rust_path(r, /* in_value= */ false);
	}
	r->text->depth--;
	return open;
}

static void rust_dyn_trait(struct rust *r)
{
	bool open = rust_open_path(r);
	while (!r->text->failed && rust_eat(r, 'p')) {
		rust_put(r, open ? ", " : "<");
		open = true;
		struct rust_name name = rust_undisambiguated(r);
		rust_put_name(r, &name);
		rust_put(r, " = ");
		if (rust_eat(r, 'K'))
			rust_const(r, /* in_value= */ false);
		else
			rust_type(r);
	}
	if (open)
		rust_put_char(r, '>');
}

static void rust_dyn_type(struct rust *r)
{
	rust_put(r, "dyn ");
	uint64_t bound = rust_binder(r);
	for (size_t n = 0; !r->text->failed && !rust_eat(r, 'E'); n++) {
		if (n > 0)
			rust_put(r, " + ");
		rust_dyn_trait(r);
	}
	r->lifetimes -= bound;
	if (!rust_eat(r, 'L')) {
		rust_fail(r);
		return;
	}
	uint64_t lifetime = rust_base62(r);
	if (lifetime > 0) {
		rust_put(r, " + ");
		rust_put_lifetime(r, lifetime);
	}
}

static void rust_reference_type(struct rust *r, bool is_mut)
{
	rust_put_char(r, '&');
	uint64_t lifetime = rust_eat(r, 'L') ? rust_base62(r) : 0;
	if (lifetime > 0) {
		rust_put_lifetime(r, lifetime);
		rust_put_char(r, ' ');
	}
	if (is_mut)
		rust_put(r, "mut ");
	rust_type(r);
}

static void rust_type_of(struct rust *r, char tag)
{
	const char *resume = NULL;
	switch (tag) {
	case 'R':
	case 'Q':
		rust_reference_type(r, tag == 'Q');
		return;
	case 'P':
	case 'O':
		rust_put(r, tag == 'P' ? "*const " : "*mut ");
		rust_type(r);
		return;
	case 'A':
	case 'S':
		rust_put_char(r, '[');
		rust_type(r);
		if (tag == 'A') {
			rust_put(r, "; ");
			rust_const(r, /* in_value= */ true);
		}
		rust_put_char(r, ']');
		return;
	case 'T':
		rust_put_char(r, '(');
		if (rust_list(r, rust_type) == 1)
			rust_put_char(r, ',');
		rust_put_char(r, ')');
		return;
	case 'F':
		rust_function_type(r);
		return;
	case 'D':
		rust_dyn_type(r);
		return;
	case 'B':
		resume = rust_follow(r);
		if (resume) {
			rust_type(r);
			rust_resume(r, resume);
		}
		return;
	default:
		rust_path_of(r, tag, /* in_value= */ false);
	}
}

static void rust_type(struct rust *r)
{
	const char *basic = rust_basic_type(rust_peek(r));
	if (basic) {
		r->pos++;
		rust_put(r, basic);
		return;
	}
	if (!rust_enter(r))
		return;
	rust_type_of(r, rust_next(r));
	r->text->depth--;
}

/* Reads hexadecimal digits up to '_', in lower case. */
static struct ux_bytes rust_hex_digits(struct rust *r)
{
	const char *from = r->pos;
	for (;;) {
		char c = rust_next(r);
		if (c == '_')
			return ux_bytes(from, (size_t)(r->pos - 1 - from));
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) {
			rust_fail(r);
			return UX_BYTES_NONE;
		}
	}
}

/* Converts the digits; false when the value has more than 64 bits. */
static bool rust_hex_value(struct ux_bytes digits, uint64_t *ret)
{
	uint64_t v = 0;
	while (digits.size > 0 && *digits.data == '0')
		digits = ux_bytes(digits.data + 1, digits.size - 1);
	for (size_t i = 0; i < digits.size; i++)
		v = v << 4 | (uint64_t)ux_hex_digit((char)digits.data[i]);
	*ret = v;
	return digits.size <= 16;
}

static void rust_const_integer(struct rust *r)
{
	uint64_t v = 0;
	struct ux_bytes digits = rust_hex_digits(r);
	if (rust_hex_value(digits, &v)) {
		rust_put_number(r, v);
		return;
	}
	rust_put(r, "0x");
	if (r->skipping == 0)
		ux_name_text_put(r->text, (const char *)digits.data, digits.size);
}

static void rust_put_escaped(struct rust *r, uint32_t c, char quote)
{
	static const char escapes[] = "\tt\rr\nn\\\\";
	for (const char *e = escapes; *e; e += 2) {
		if (c != (unsigned char)*e)
			continue;
		rust_put_char(r, '\\');
		rust_put_char(r, e[1]);
		return;
	}
	if (c == (unsigned char)quote)
		rust_put_char(r, '\\');
	if (c >= 0x20 && c < 0x7f) {
		rust_put_char(r, (char)c);
		return;
	}
	rust_put(r, "\\u{");
	if (r->skipping == 0)
		ux_name_text_hex(r->text, c);
	rust_put_char(r, '}');
}

static bool rust_is_char(uint64_t c)
{
	return c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000);
}

static void rust_const_char(struct rust *r)
{
	uint64_t v = 0;
	struct ux_bytes digits = rust_hex_digits(r);
	if (digits.size == 0 || !rust_hex_value(digits, &v) || !rust_is_char(v)) {
		rust_fail(r);
		return;
	}
	rust_put_char(r, '\'');
	rust_put_escaped(r, (uint32_t)v, '\'');
	rust_put_char(r, '\'');
}

static void rust_const_bool(struct rust *r)
{
	uint64_t v = 0;
	struct ux_bytes digits = rust_hex_digits(r);
	if (digits.size == 0 || !rust_hex_value(digits, &v) || v > 1)
		rust_fail(r);
	else
		rust_put(r, v ? "true" : "false");
}

/*
 * Writes a string, which is encoded as hexadecimal bytes. Valid UTF-8 that is not ASCII is written
 * unchanged.
 */
static void rust_const_string(struct rust *r)
{
	struct ux_bytes digits = rust_hex_digits(r);
	if (digits.size % 2 != 0) {
		rust_fail(r);
		return;
	}
	rust_put_char(r, '"');
	for (size_t i = 0; i < digits.size; i += 2) {
		int c = ux_hex_digit((char)digits.data[i]) << 4 |
			ux_hex_digit((char)digits.data[i + 1]);
		if (c >= 0x80)
			rust_put_char(r, (char)c);
		else
			rust_put_escaped(r, (uint32_t)c, '"');
	}
	rust_put_char(r, '"');
}

static void rust_const_value(struct rust *r)
{
	rust_const(r, /* in_value= */ true);
}

static void rust_const_field(struct rust *r)
{
	struct rust_name name = rust_identifier(r);
	rust_put_name(r, &name);
	rust_put(r, ": ");
	rust_const_value(r);
}

/* Writes a value of a struct or variant: the path, and its fields by position or by name. */
static void rust_const_variant(struct rust *r)
{
	rust_path(r, /* in_value= */ true);
	switch (rust_next(r)) {
	case 'U':
		return;
	case 'T':
		rust_put_char(r, '(');
		(void)rust_list(r, rust_const_value);
		rust_put_char(r, ')');
		return;
	case 'S':
		rust_put(r, " { ");
		(void)rust_list(r, rust_const_field);
		rust_put(r, " }");
		return;
	default:
		rust_fail(r);
	}
}

/* Writes a constant that needs braces as a generic argument. */
static void rust_const_compound(struct rust *r, char tag)
{
	switch (tag) {
	case 'e':
		rust_put_char(r, '*');
		rust_const_string(r);
		return;
	case 'R':
	case 'Q':
		rust_put(r, tag == 'R' ? "&" : "&mut ");
		rust_const_value(r);
		return;
	case 'A':
		rust_put_char(r, '[');
		(void)rust_list(r, rust_const_value);
		rust_put_char(r, ']');
		return;
	case 'T':
		rust_put_char(r, '(');
		if (rust_list(r, rust_const_value) == 1)
			rust_put_char(r, ',');
		rust_put_char(r, ')');
		return;
	case 'V':
		rust_const_variant(r);
		return;
	default:
		rust_fail(r);
	}
}

static void rust_const_of(struct rust *r, char tag, bool in_value)
{
	const char *resume = NULL;
	if (tag && strchr("aslxni", tag) && rust_eat(r, 'n'))
		rust_put_char(r, '-');
	if (tag && strchr("aslxnihtmyoj", tag)) {
		rust_const_integer(r);
	} else if (tag == 'p') {
		rust_put_char(r, '_');
	} else if (tag == 'b') {
		rust_const_bool(r);
	} else if (tag == 'c') {
		rust_const_char(r);
	} else if (tag == 'R' && rust_eat(r, 'e')) {
		rust_const_string(r);
	} else if (tag == 'B') {
		resume = rust_follow(r);
		if (resume) {
			rust_const(r, in_value);
			rust_resume(r, resume);
		}
	} else {
		if (!in_value)
			rust_put_char(r, '{');
		rust_const_compound(r, tag);
		if (!in_value)
			rust_put_char(r, '}');
	}
}

static void rust_const(struct rust *r, bool in_value)
{
	if (!rust_enter(r))
		return;
	rust_const_of(r, rust_next(r), in_value);
	r->text->depth--;
}

bool ux_rust_v0_demangle(struct ux_bytes name, struct ux_name_text *text)
{
	if (name.size < 3 || !ux_bytes_starts(name, UX_STR("_R")) ||
	    !(name.data[2] >= 'A' && name.data[2] <= 'Z'))
		return false;
	const char *s = (const char *)name.data;
	struct rust r = {.start = s + 2, .pos = s + 2, .end = s + name.size, .text = text};
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] >= 0x80)
			return false;
	rust_path(&r, /* in_value= */ true);
	if (r.pos < r.end) /* the crate that instantiated a generic */
		rust_skip_path(&r);
	return !text->failed && r.pos == r.end;
}
