/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a request to llvm-symbolizer. */
#include "symbolizer.h"

#include "text.h"

static bool symbolizer_consume(struct ux_bytes *s, struct ux_bytes prefix)
{
	if (!ux_bytes_starts(*s, prefix))
		return false;
	*s = ux_bytes(s->data + prefix.size, s->size - prefix.size);
	return true;
}

static struct ux_bytes symbolizer_trim(struct ux_bytes s)
{
	while (s.size > 0 && ux_is_space(s.data[s.size - 1]))
		s.size--;
	while (s.size > 0 && ux_is_space(*s.data))
		s = ux_bytes(s.data + 1, s.size - 1);
	return s;
}

/* Parses a number as LLVM does: 0x, 0b, 0o and a leading 0 select the base. Signs and other
 * characters are not allowed. */
static bool symbolizer_parse_number(struct ux_bytes s, bool hex, uint64_t *ret)
{
	unsigned base = hex ? 16 : 10;
	if (symbolizer_consume(&s, UX_STR("0x")) || symbolizer_consume(&s, UX_STR("0X")))
		base = 16;
	else if (!hex &&
		 (symbolizer_consume(&s, UX_STR("0b")) || symbolizer_consume(&s, UX_STR("0B"))))
		base = 2;
	else if (!hex && (symbolizer_consume(&s, UX_STR("0o")) ||
			  (s.size > 1 && symbolizer_consume(&s, UX_STR("0")))))
		base = 8;
	uint64_t v = 0;
	for (size_t i = 0; i < s.size; i++) {
		int digit = ux_hex_digit((char)s.data[i]);
		if (digit < 0 || digit >= (int)base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*ret = v;
	return s.size > 0;
}

/* Parses a word or a quoted string. Returns false when the closing quote is missing. */
static bool symbolizer_parse_module(struct ux_bytes *line, struct ux_bytes *ret)
{
	struct ux_bytes s = symbolizer_trim(*line);
	size_t n = 0, skip = 0;
	if (s.size > 0 && (*s.data == '"' || *s.data == '\'')) {
		const uint8_t *end = memchr(s.data + 1, *s.data, s.size - 1);
		if (!end)
			return false;
		skip = 1;
		n = (size_t)(end - s.data) - 1;
	} else {
		while (n < s.size && !ux_is_space(s.data[n]))
			n++;
	}
	*ret = ux_bytes(s.data + skip, n);
	*line = ux_bytes(s.data + n + 2 * skip, s.size - n - 2 * skip);
	return true;
}

static const char *symbolizer_parse_location(struct ux_bytes location, bool hex,
					     struct ux_symbolizer_request *r)
{
	if (location.size == 0)
		return "no module offset has been specified";
	if (symbolizer_parse_number(location, hex, &r->offset))
		return NULL;
	if (*location.data >= '0' && *location.data <= '9' &&
	    !memchr(location.data, ' ', location.size))
		return "expected a number as module offset";
	const uint8_t *plus = ux_bytes_find_last(location, '+');
	r->symbol = location;
	if (!plus)
		return NULL;
	size_t n = (size_t)(plus - location.data);
	if (symbolizer_parse_number(symbolizer_trim(ux_bytes(plus + 1, location.size - n - 1)), hex,
				    &r->offset))
		r->symbol = symbolizer_trim(ux_bytes(location.data, n));
	return NULL;
}

const char *ux_symbolizer_request_parse(struct ux_bytes line, bool has_module, bool hex,
					struct ux_symbolizer_request *ret)
{
	*ret = (struct ux_symbolizer_request){.verb = UX_SYMBOLIZER_CODE};
	if (symbolizer_consume(&line, UX_STR("DATA ")))
		ret->verb = UX_SYMBOLIZER_DATA;
	else if (symbolizer_consume(&line, UX_STR("FRAME ")))
		ret->verb = UX_SYMBOLIZER_FRAME;
	else
		(void)symbolizer_consume(&line, UX_STR("CODE "));
	if (!has_module) {
		line = symbolizer_trim(line);
		ret->is_build_id = symbolizer_consume(&line, UX_STR("BUILDID:"));
		if (!ret->is_build_id)
			(void)symbolizer_consume(&line, UX_STR("FILE:"));
		if (!symbolizer_parse_module(&line, &ret->module))
			return "no input filename has been specified";
		if (ret->module.size == 0)
			return "no input filename has been specified";
	}
	return symbolizer_parse_location(symbolizer_trim(line), hex, ret);
}
