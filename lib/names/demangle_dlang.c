/* SPDX-License-Identifier: Apache-2.0 */
/* An upper bound for the text of a D name, from its back references alone. */
#include "demangle_dlang.h"

#include "demangle.h"
#include "text.h"

enum {
	BASIC_TEXT = 8, /* no basic type's name is longer, "cdouble" */
};

static uint64_t number_at(struct ux_bytes s, size_t i, size_t *ret_end)
{
	uint64_t v = 0;
	for (; i < s.size && ux_is_digit(s.data[i]); i++)
		v = ux_min(v * 10 + (uint64_t)(s.data[i] - '0'), (uint64_t)s.size);
	*ret_end = i;
	return v;
}

/* What the Q at i refers to: base 26, upper case but for the last digit; false when no reference.
 */
static bool target_of(struct ux_bytes s, size_t i, size_t *ret_target, size_t *ret_end)
{
	uint64_t v = 0;
	for (size_t j = i + 1; j < s.size && v <= s.size; j++) {
		uint8_t c = s.data[j];
		bool last = c >= 'a' && c <= 'z';
		if (!last && (c < 'A' || c > 'Z'))
			return false;
		v = v * 26 + (uint64_t)(c - (last ? 'a' : 'A'));
		if (!last)
			continue;
		*ret_target = i - (size_t)v;
		*ret_end = j + 1;
		return v > 0 && v <= i;
	}
	return false;
}

/*
 * Bytes of text of the dotted name at p, which ends before `end`: identifiers, and references to
 * identifiers. False for a template instance or anything else that this does not follow.
 */
static bool dotted_name(struct ux_bytes s, size_t p, size_t end, uint64_t *ret)
{
	size_t target = 0;
	size_t after = 0;
	for (*ret = 0; p < end; p = after) {
		size_t name = p;
		if (s.data[p] == 'Q') {
			if (!target_of(s, p, &target, &after) || !ux_is_digit(s.data[target]))
				return true;
			name = target;
		}
		if (!ux_is_digit(s.data[name]))
			return s.data[name] != '_' && s.data[name] != 'M';
		size_t text = 0;
		uint64_t size = number_at(s, name, &text);
		if (name == p && text < s.size && s.data[text] == '_')
			return false;
		*ret += size + 1;
		if (name == p)
			after = text + (size_t)size;
	}
	return true;
}

/* Bytes that the reference at i to target can stand for; texts[k] bounds the text before k. */
static uint64_t reference_text(struct ux_bytes s, size_t i, size_t target, const uint64_t *texts)
{
	uint64_t whole = texts[i] - texts[target] + 1;
	size_t k = target;
	while (k < i && strchr("APxyO", s.data[k]))
		k++;
	uint64_t prefix = (k - target) * BASIC_TEXT;
	uint64_t name = 0;
	if (ux_is_digit(s.data[k]) && k == target)
		return number_at(s, k, &(size_t){0}) + 1;
	if (strchr("vghstiklmofdepjqrcbawun", s.data[k]))
		return prefix + BASIC_TEXT;
	if (strchr("CSEI", s.data[k]) && dotted_name(s, k + 1, i, &name))
		return prefix + name + 1;
	return whole;
}

bool ux_dlang_bounded(struct ux_bytes s, uint64_t most)
{
	if (s.size > UX_DEMANGLE_NAME_MOST || memchr(s.data, 0, s.size))
		return false;
	uint64_t texts[UX_DEMANGLE_NAME_MOST + 1];
	texts[0] = 0;
	for (size_t i = 0; i < s.size; i++) {
		uint64_t text = 1;
		size_t target = 0;
		if (s.data[i] == 'Q' && target_of(s, i, &target, &(size_t){0}))
			text = reference_text(s, i, target, texts);
		texts[i + 1] = texts[i] + text;
		if (texts[i + 1] > most)
			return false;
	}
	return true;
}
