/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of POST /v1/symbolize as programs write it, read in one pass. Building a tree takes most
 * of the time of a large request; this takes what is there and gives up at whatever is not plain.
 */
#include "symbolize_request.h"
#include "text.h"
#include "server.h"

struct text {
	const uint8_t *pos, *end;
};

/* The next byte that is no blank, which stays; 0 at the end (and for a NUL, which fits nowhere). */
ux_inline uint8_t peek(struct text *t)
{
	while (t->pos < t->end &&
	       (*t->pos == ' ' || *t->pos == '\n' || *t->pos == '\t' || *t->pos == '\r'))
		t->pos++;
	return t->pos < t->end ? *t->pos : 0;
}

ux_inline bool take(struct text *t, uint8_t c)
{
	if (peek(t) != c)
		return false;
	t->pos++;
	return true;
}

/* Behind a member or an element: a comma, or what ends them. */
ux_inline bool go_on(struct text *t, uint8_t end, bool *ret_more)
{
	uint8_t c = peek(t);
	*ret_more = c == ',';
	if (c != ',' && c != end)
		return false;
	t->pos++;
	return true;
}

/* A string without escapes, of ASCII. */
ux_inline bool take_string(struct text *t, struct ux_bytes *ret)
{
	if (!take(t, '"'))
		return false;
	const uint8_t *start = t->pos;
	while (t->pos < t->end && *t->pos != '"') {
		if (*t->pos < 0x20 || *t->pos > 0x7e || *t->pos == '\\')
			return false;
		t->pos++;
	}
	if (t->pos == t->end)
		return false;
	*ret = ux_bytes(start, (size_t)(t->pos - start));
	t->pos++;
	return true;
}

/* An integer from 0 on, below 10^18: what follows it is the caller's to look at. */
ux_inline bool take_integer(struct text *t, uint64_t *ret)
{
	enum {
		DIGITS = 18
	};
	const uint8_t *start = t->pos;
	uint64_t v = 0;
	while (t->pos < t->end && (uint8_t)(*t->pos - '0') < 10 && t->pos - start < DIGITS)
		v = v * 10 + (uint64_t)(*t->pos++ - '0');
	*ret = v;
	return t->pos > start && (*start != '0' || t->pos == start + 1);
}

ux_inline bool take_address(struct text *t, uint64_t *ret)
{
	struct ux_bytes text;
	if (peek(t) != '"')
		return take_integer(t, ret);
	return take_string(t, &text) && ux_hex_parse_u64(text, /* hex= */ false, ret);
}

static bool take_addresses(struct text *t, struct ux_symbolize_request *a)
{
	bool more = true;
	if (!take(t, '['))
		return false;
	if (take(t, ']'))
		return true;
	while (more) {
		uint64_t pc = 0;
		if (!take_address(t, &pc) || !go_on(t, ']', &more) ||
		    a->pcs.size == UX_SYMBOLIZE_ADDRESSES_MOST ||
		    !ux_requested_pcs_append(&a->pcs, pc))
			return false;
	}
	return true;
}

static bool take_module(struct text *t, struct ux_symbolize_request *a)
{
	struct ux_requested_module m = {.first = a->pcs.size};
	bool more = true, listed = false;
	if (!take(t, '{'))
		return false;
	while (more) {
		struct ux_bytes key;
		if (!take_string(t, &key) || !take(t, ':'))
			return false;
		if (ux_bytes_eq(key, UX_STR("id")) && !m.id.data) {
			if (!take_string(t, &m.id))
				return false;
		} else if (ux_bytes_eq(key, UX_STR("addresses")) && !listed) {
			listed = true;
			if (!take_addresses(t, a))
				return false;
		} else {
			return false;
		}
		if (!go_on(t, '}', &more))
			return false;
	}
	m.n = a->pcs.size - m.first;
	return m.id.data && listed && ux_requested_modules_append(&a->modules, m);
}

static bool take_modules(struct text *t, struct ux_symbolize_request *a)
{
	bool more = true;
	if (!take(t, '['))
		return false;
	if (take(t, ']'))
		return true;
	while (more)
		if (a->modules.size == UX_SYMBOLIZE_MODULES_MOST || !take_module(t, a) ||
		    !go_on(t, ']', &more))
			return false;
	return true;
}

static bool take_word(struct text *t, struct ux_bytes word)
{
	if ((size_t)(t->end - t->pos) < word.size || memcmp(t->pos, word.data, word.size) != 0)
		return false;
	t->pos += word.size;
	return true;
}

static bool take_bool(struct text *t, bool *ret)
{
	*ret = peek(t) == 't';
	return take_word(t, *ret ? UX_STR("true") : UX_STR("false"));
}

static bool take_timeout(struct text *t, uint32_t *ret)
{
	uint64_t v = 0;
	(void)peek(t);
	if (!take_integer(t, &v) || v > UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

enum member {
	MODULES = 1,
	RETURN_ADDRESSES = 2,
	DEMANGLE = 4,
	TIMEOUT = 8,
	UNKNOWN = 16,
};

static enum member member_of(struct ux_bytes key)
{
	if (ux_bytes_eq(key, UX_STR("modules")))
		return MODULES;
	if (ux_bytes_eq(key, UX_STR("return_addresses")))
		return RETURN_ADDRESSES;
	if (ux_bytes_eq(key, UX_STR("demangle")))
		return DEMANGLE;
	return ux_bytes_eq(key, UX_STR("timeout_ms")) ? TIMEOUT : UNKNOWN;
}

static bool take_member(struct text *t, struct ux_symbolize_request *a, enum member member)
{
	struct ux_bytes word;
	switch (member) {
	case MODULES:
		return take_modules(t, a);
	case RETURN_ADDRESSES:
		return take_bool(t, &a->return_addresses);
	case DEMANGLE:
		return take_string(t, &word) && ux_demangle_mode_parse(word, &a->demangle);
	case TIMEOUT:
		return take_timeout(t, &a->timeout_ms);
	case UNKNOWN:
		break;
	}
	return false;
}

bool ux_symbolize_request_parse_plain(struct ux_symbolize_request *a, struct ux_bytes body)
{
	struct text t = {body.data, body.size ? body.data + body.size : NULL};
	unsigned seen = 0;
	if (!take(&t, '{'))
		return false;
	for (bool more = true; more;) {
		struct ux_bytes key;
		if (!take_string(&t, &key) || !take(&t, ':'))
			return false;
		enum member member = member_of(key);
		if ((seen & member) != 0 || !take_member(&t, a, member) || !go_on(&t, '}', &more))
			return false;
		seen |= member;
	}
	return peek(&t) == 0 && t.pos == t.end && (seen & MODULES) != 0;
}
