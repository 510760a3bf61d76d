/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON in place. */
#include "json_in.h"

#include "text.h"

const char *ux_json_kind_name(enum ux_json_kind kind)
{
	static const char *const names[] = {
		[UX_JSON_NONE] = "nothing",     [UX_JSON_NULL] = "null",
		[UX_JSON_BOOL] = "a boolean",   [UX_JSON_NUMBER] = "a number",
		[UX_JSON_STRING] = "a string",  [UX_JSON_ARRAY] = "an array",
		[UX_JSON_OBJECT] = "an object",
	};
	return names[kind];
}

void ux_json_expected(struct ux_cur *c, const char *what)
{
	if (!c->failed)
		c->prev = c->pos;
	ux_cur_bad(c, what);
}

static void json_pass_space(struct ux_cur *c)
{
	while (c->pos != c->end &&
	       (*c->pos == ' ' || *c->pos == '\n' || *c->pos == '\t' || *c->pos == '\r'))
		c->pos++;
}

/*
 * Returns the next byte that is not white space, without passing it; 0 with a failure at the end.
 */
static uint8_t json_next(struct ux_cur *c)
{
	json_pass_space(c);
	return ux_cur_has(c, 1) ? *c->pos : 0;
}

enum ux_json_kind ux_json_peek(struct ux_cur *c)
{
	uint8_t byte = json_next(c);
	switch (byte) {
	case '{':
		return UX_JSON_OBJECT;
	case '[':
		return UX_JSON_ARRAY;
	case '"':
		return UX_JSON_STRING;
	case 't':
	case 'f':
		return UX_JSON_BOOL;
	case 'n':
		return UX_JSON_NULL;
	default:
		if (byte == '-' || ux_is_digit(byte))
			return UX_JSON_NUMBER;
		ux_json_expected(c, "expected a JSON value");
		return UX_JSON_NONE;
	}
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Returns whether all eight bytes are plain ASCII: no quote, escape or control character. */
static bool json_word_is_plain(const uint8_t *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	uint64_t quote = v ^ ones * '"', escape = v ^ ones * '\\';
	return ((v | (v - ones * 0x20) | (quote - ones) | (escape - ones)) & high) == 0;
}

/* Passes an escape; the cursor is at its backslash. */
static void json_pass_escape(struct ux_cur *c)
{
	enum {
		HEX = 4
	};
	if (!ux_cur_has(c, 2))
		return;
	uint8_t kind = c->pos[1];
	if (kind == 'u') {
		if (!ux_cur_has(c, 2 + HEX))
			return;
		for (size_t i = 0; i < HEX; i++)
			if (ux_hex_digit((char)c->pos[2 + i]) < 0) {
				ux_json_expected(c, "expected four hexadecimal digits after \\u");
				return;
			}
		c->pos += 2 + HEX;
		return;
	}
	if (kind == 0 || !strchr("\"\\/bfnrt", kind))
		ux_json_expected(c, "unknown escape in a string");
	else
		c->pos += 2;
}

struct ux_json_text ux_json_read_text(struct ux_cur *c)
{
	struct ux_json_text text = {0};
	if (json_next(c) != '"') {
		ux_json_expected(c, "expected a string");
		return text;
	}
	const uint8_t *start = ++c->pos;
	for (;;) {
		while (ux_cur_left(c) >= 8 && json_word_is_plain(c->pos))
			c->pos += 8;
		if (!ux_cur_has(c, 1))
			return (struct ux_json_text){0};
		uint8_t byte = *c->pos;
		if (byte == '"')
			break;
		if (byte == '\\') {
			text.escaped = true;
			json_pass_escape(c);
		} else if (byte < 0x20) {
			ux_json_expected(c, "control character in a string");
		} else {
			size_t n = ux_utf8_size(ux_bytes(c->pos, ux_cur_left(c)), NULL);
			if (n == 0)
				ux_json_expected(c, "a string is not UTF-8");
			c->pos += n;
		}
	}
	text.raw = ux_bytes(start, (size_t)(c->pos - start));
	c->prev = start - 1;
	c->pos++;
	return text;
}

/* Returns the value of the four digits of \uXXXX. */
static uint32_t json_unit(const uint8_t *digits)
{
	uint32_t unit = 0;
	for (size_t i = 0; i < 4; i++)
		unit = unit << 4 | (uint32_t)ux_hex_digit((char)digits[i]);
	return unit;
}

/*
 * Returns the code point of an escape, which was checked when the text was read; sets its length.
 */
static uint32_t json_unescape(struct ux_bytes s, size_t *ret_n)
{
	static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";
	enum {
		UNIT = 6, /* bytes of \uXXXX */
		HIGH = 0xd800,
		LOW = 0xdc00,
		END = 0xe000,
	};
	*ret_n = 2;
	if (s.data[1] != 'u') {
		const char *letter = strchr(letters, s.data[1]);
		return letter ? (uint32_t)values[letter - letters] : s.data[1];
	}
	*ret_n = UNIT;
	uint32_t unit = json_unit(s.data + 2);
	if (unit < HIGH || unit >= LOW || s.size < 2 * UNIT || s.data[UNIT] != '\\' ||
	    s.data[UNIT + 1] != 'u')
		return unit;
	uint32_t low = json_unit(s.data + UNIT + 2);
	if (low < LOW || low >= END)
		return unit;
	*ret_n = 2 * UNIT;
	return 0x10000 + ((unit - HIGH) << 10) + (low - LOW);
}

void ux_json_unescape(struct ux_json_text text, struct ux_out *out)
{
	struct ux_bytes s = text.raw;
	while (s.size > 0) {
		const uint8_t *escape = text.escaped ? memchr(s.data, '\\', s.size) : NULL;
		size_t n = escape ? (size_t)(escape - s.data) : s.size;
		ux_out_put(out, s.data, n);
		s = ux_bytes(s.data + n, s.size - n);
		if (s.size == 0)
			break;
		uint32_t point = json_unescape(s, &n);
		char bytes[UX_UTF8_MAX] = {0};
		size_t size = point == 0 ? 1 : ux_utf8_encode(point, bytes);
		ux_out_put(out, bytes, size);
		s = ux_bytes(s.data + n, s.size - n);
	}
}

bool ux_json_text_eq(struct ux_json_text text, const char *name)
{
	if (!text.escaped)
		return ux_bytes_eq(text.raw, ux_bytes_cstr(name));
	struct ux_bytes s = text.raw;
	while (s.size > 0 && *name) {
		size_t n = 1;
		if ((s.data[0] == '\\' ? json_unescape(s, &n) : s.data[0]) != (uint8_t)*name++)
			return false;
		s = ux_bytes(s.data + n, s.size - n);
	}
	return s.size == 0 && !*name;
}

/* --- numbers and words ------------------------------------------------------------------------ */

static size_t json_pass_digits(struct ux_cur *c)
{
	const uint8_t *start = c->pos;
	while (c->pos != c->end && ux_is_digit(*c->pos))
		c->pos++;
	return (size_t)(c->pos - start);
}

static bool json_pass_one(struct ux_cur *c, const char *bytes)
{
	bool is = c->pos != c->end && *c->pos && strchr(bytes, *c->pos);
	c->pos += is;
	return is;
}

struct ux_bytes ux_json_read_number(struct ux_cur *c)
{
	(void)json_next(c);
	if (c->failed)
		return UX_BYTES_NONE;
	const uint8_t *start = c->pos;
	(void)json_pass_one(c, "-");
	bool zero = c->pos != c->end && *c->pos == '0';
	size_t n = json_pass_digits(c);
	bool good = n > 0 && !(zero && n > 1);
	if (good && json_pass_one(c, "."))
		good = json_pass_digits(c) > 0;
	if (good && json_pass_one(c, "eE")) {
		(void)json_pass_one(c, "+-");
		good = json_pass_digits(c) > 0;
	}
	c->prev = start;
	if (!good) {
		ux_cur_bad(c, "expected a number");
		return UX_BYTES_NONE;
	}
	return ux_bytes(start, (size_t)(c->pos - start));
}

static bool json_pass_word(struct ux_cur *c, const char *word)
{
	size_t n = strlen(word);
	(void)json_next(c);
	if (ux_cur_left(c) < n || memcmp(c->pos, word, n) != 0)
		return false;
	c->pos += n;
	return true;
}

bool ux_json_read_bool(struct ux_cur *c)
{
	if (json_pass_word(c, "true"))
		return true;
	if (!c->failed && !json_pass_word(c, "false"))
		ux_json_expected(c, "expected true or false");
	return false;
}

bool ux_json_double(struct ux_bytes digits, double *ret)
{
	enum {
		DIGITS_MAX = 400
	};
	char text[DIGITS_MAX + 1];
	if (digits.size == 0 || digits.size > DIGITS_MAX)
		return false;
	memcpy(text, digits.data, digits.size);
	text[digits.size] = '\0';
	*ret = strtod(text, NULL);
	return true;
}

/* Converts a number such as 1.0 or 1e3. False unless its value is an integer of at most 2^53. */
static bool json_integer_of_double(struct ux_bytes digits, uint64_t *ret, bool *ret_negative)
{
	static const double max = 9007199254740992.0; /* 2^53 */
	double value = 0;
	if (!ux_json_double(digits, &value) || !(value >= -max && value <= max) ||
	    (double)(int64_t)value != value)
		return false;
	*ret = (uint64_t)(int64_t)value;
	*ret_negative = value < 0;
	return true;
}

bool ux_json_integer(struct ux_bytes digits, uint64_t *ret, bool *ret_negative)
{
	if (digits.size == 0)
		return false;
	bool negative = digits.data[0] == '-';
	uint64_t value = 0;
	if (!ux_decimal_parse(ux_bytes(digits.data + negative, digits.size - negative), &value))
		return json_integer_of_double(digits, ret, ret_negative);
	if (negative && value > UINT64_C(1) << 63)
		return false;
	*ret = negative ? -value : value;
	*ret_negative = negative && value > 0;
	return true;
}

/* --- objects and arrays ----------------------------------------------------------------------- */

/*
 * Moves to the next entry of an object or array after n entries were passed: passes the opening
 * bracket or the comma. False after the closing bracket.
 */
static bool json_next_entry(struct ux_cur *c, size_t n, uint8_t open)
{
	uint8_t close = open + 2; /* '[' and ']', '{' and '}' */
	if (n == 0) {
		if (json_next(c) != open) {
			ux_json_expected(c,
					 open == '{' ? "expected an object" : "expected an array");
			return false;
		}
		c->pos++;
		if (json_next(c) != close)
			return !c->failed;
		c->pos++;
		return false;
	}
	uint8_t byte = json_next(c);
	if (byte == ',') {
		c->pos++;
		return true;
	}
	if (byte == close)
		c->pos++;
	else
		ux_json_expected(c, open == '{' ? "expected ',' or '}' after a member"
						: "expected ',' or ']' after an element");
	return false;
}

/* Passes the colon after a key. */
static bool json_pass_colon(struct ux_cur *c)
{
	if (json_next(c) == ':')
		c->pos++;
	else
		ux_json_expected(c, "expected ':' after a key");
	return !c->failed;
}

bool ux_json_read_member(struct ux_cur *c, size_t *n, struct ux_json_text *ret_key)
{
	if (!json_next_entry(c, *n, '{'))
		return false;
	++*n;
	*ret_key = ux_json_read_text(c);
	return json_pass_colon(c);
}

bool ux_json_read_element(struct ux_cur *c, size_t *n)
{
	if (!json_next_entry(c, *n, '['))
		return false;
	++*n;
	return true;
}

/* Passes a value without nested values. */
static void json_skip_plain(struct ux_cur *c, enum ux_json_kind kind)
{
	if (kind == UX_JSON_STRING)
		(void)ux_json_read_text(c);
	else if (kind == UX_JSON_NUMBER)
		(void)ux_json_read_number(c);
	else if (kind == UX_JSON_BOOL)
		(void)ux_json_read_bool(c);
	else if (kind == UX_JSON_NULL && !json_pass_word(c, "null"))
		ux_json_expected(c, "expected null");
}

struct ux_bytes ux_json_skip(struct ux_cur *c)
{
	bool object[UX_JSON_NESTED_MAX];
	size_t depth = 0;
	enum ux_json_kind kind = ux_json_peek(c);
	const uint8_t *start = c->pos;
	size_t n = 0; /* entries passed in the innermost one; only whether it is 0 matters */
	for (;;) {
		if (kind == UX_JSON_OBJECT || kind == UX_JSON_ARRAY) {
			if (depth == UX_JSON_NESTED_MAX) {
				ux_json_expected(c, "more than 512 nested arrays and objects");
				break;
			}
			object[depth++] = kind == UX_JSON_OBJECT;
			n = 0;
		} else {
			json_skip_plain(c, kind);
		}
		while (depth > 0 && !json_next_entry(c, n, object[depth - 1] ? '{' : '[')) {
			depth--;
			n = 1;
		}
		if (depth == 0 || c->failed)
			break;
		n = 1;
		if (object[depth - 1]) {
			(void)ux_json_read_text(c);
			(void)json_pass_colon(c);
		}
		kind = ux_json_peek(c);
	}
	return c->failed ? UX_BYTES_NONE : ux_bytes(start, (size_t)(c->pos - start));
}

void ux_json_read_end(struct ux_cur *c)
{
	json_pass_space(c);
	if (ux_cur_more(c))
		ux_json_expected(c, "unexpected text after the document");
}
