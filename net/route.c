/* SPDX-License-Identifier: Apache-2.0 */
/* Route tables. */
#include "route.h"

#include "text.h"

/* Cuts the next segment and the '/' before it off the front of s. */
static bool route_segment_next(struct ux_bytes *s, struct ux_bytes *ret)
{
	if (s->size == 0 || s->data[0] != '/')
		return false;
	const uint8_t *start = s->data + 1;
	const uint8_t *slash = memchr(start, '/', s->size - 1);
	size_t n = slash ? (size_t)(slash - start) : s->size - 1;
	*ret = ux_bytes(start, n);
	*s = ux_bytes(start + n, s->size - 1 - n);
	return true;
}

/* "{name...}" */
static bool route_takes_rest(struct ux_bytes segment)
{
	static const char dots[] = "...}";
	size_t n = sizeof(dots) - 1;
	return segment.size > n && memcmp(segment.data + segment.size - n, dots, n) == 0;
}

bool ux_route_match(const char *pattern, struct ux_bytes path, struct ux_bytes *params,
		    size_t *ret_n)
{
	struct ux_bytes pat = ux_bytes_cstr(pattern), want = UX_BYTES_NONE, have = UX_BYTES_NONE;
	size_t n = 0;
	while (route_segment_next(&pat, &want)) {
		if (!route_segment_next(&path, &have))
			return false;
		if (want.size == 0 || want.data[0] != '{') {
			if (!ux_bytes_eq(want, have))
				return false;
			continue;
		}
		if (route_takes_rest(want)) {
			have = ux_bytes(have.data, have.size + path.size);
			path = UX_BYTES_NONE;
		}
		if (have.size == 0 || n == UX_ROUTE_PARAMS_MAX)
			return false;
		params[n++] = have;
	}
	*ret_n = n;
	return path.size == 0;
}

/* The matching pattern with the fewest placeholders is the most specific one. */
enum ux_code ux_route_find(const struct ux_route *routes, size_t n, enum ux_method method,
			   struct ux_bytes path, const struct ux_route **ret,
			   struct ux_bytes *params, size_t *ret_n, unsigned *ret_allow)
{
	const struct ux_route *best = NULL;
	enum ux_method want = method == UX_METHOD_HEAD ? UX_METHOD_GET : method;
	*ret_allow = 0;
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes found[UX_ROUTE_PARAMS_MAX];
		size_t n_found = 0;
		if (!ux_route_match(routes[i].pattern, path, found, &n_found))
			continue;
		*ret_allow |= 1U << routes[i].method;
		if (routes[i].method == UX_METHOD_GET)
			*ret_allow |= 1U << UX_METHOD_HEAD;
		if (routes[i].method != want || (best && n_found >= *ret_n))
			continue;
		best = &routes[i];
		memcpy(params, found, n_found * sizeof(*found));
		*ret_n = n_found;
	}
	*ret = best;
	return best ? UX_OK : *ret_allow != 0 ? UX_EINVAL : UX_ENOTFOUND;
}

static enum ux_code percent_bad_escape(const char *of, struct ux_error *err)
{
	return ux_error_set(err, UX_EINVAL, "the %s has a bad %%XX escape", of);
}

enum ux_code ux_percent_decode(struct ux_bytes s, bool plus, struct ux_arena *arena, const char *of,
			       struct ux_bytes *ret, struct ux_error *err)
{
	char *text = ux_arena_strndup(arena, s.data, s.size);
	if (!text)
		return ux_arena_fail(arena, err);
	size_t n = 0;
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i];
		if (c == '%') {
			int hi = s.size - i > 2 ? ux_hex_digit((char)s.data[i + 1]) : -1;
			int lo = hi >= 0 ? ux_hex_digit((char)s.data[i + 2]) : -1;
			if (lo < 0)
				return percent_bad_escape(of, err);
			c = (uint8_t)(hi << 4 | lo);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c == 0)
			return percent_bad_escape(of, err);
		text[n++] = (char)c;
	}
	text[n] = '\0';
	*ret = ux_bytes(text, n);
	return UX_OK;
}
