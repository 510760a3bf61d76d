/* SPDX-License-Identifier: Apache-2.0 */
/* From a linkage name to its tree to its text. */
#include "itanium_tree.h"
#include "text.h"

static bool is_suffix_letter(char c)
{
	return ux_is_lower(c) || c == '_';
}

/* Bytes of one suffix of a clone at s (".isra.0", ".llvm.123", ".1"); 0: it is none. */
static size_t clone_suffix(const char *s, const char *end)
{
	const char *p = s + 1;
	if (p == end || !(is_suffix_letter(*p) || ux_is_digit(*p)))
		return 0;
	if (is_suffix_letter(*p))
		while (p < end && is_suffix_letter(*p))
			p++;
	else
		while (p < end && ux_is_digit(*p))
			p++;
	while (end - p > 1 && *p == '.' && ux_is_digit(p[1]))
		for (p++; p < end && ux_is_digit(*p);)
			p++;
	return (size_t)(p - s);
}

/* What the compiler's back end put behind the name; false when it is something else. */
static bool put_clones(const struct itanium *p, struct ux_itanium_style style, struct ux_out *out)
{
	const char *s = p->pos;
	while (s < p->end) {
		size_t n = *s == '.' ? clone_suffix(s, p->end) : 0;
		if (n == 0)
			return false;
		if (style.parameters && !style.llvm) {
			ux_out_put(out, " [clone ", 8);
			ux_out_put(out, s, n);
			ux_out_put(out, "]", 1);
		}
		s += n;
	}
	if (style.parameters && style.llvm && p->pos < p->end) {
		ux_out_put(out, " (", 2);
		ux_out_put(out, p->pos, (size_t)(p->end - p->pos));
		ux_out_put(out, ")", 1);
	}
	return true;
}

bool ux_itanium_demangle(struct ux_bytes name, struct ux_itanium_style style, size_t most,
			 struct ux_out *out)
{
	struct itanium p;
	if (name.size > ITANIUM_NAME_MOST || !ux_bytes_starts(name, UX_STR("_Z")))
		return false;
	p.start = (const char *)name.data;
	p.pos = p.start + 2;
	p.end = p.start + name.size;
	p.context = p.n_contexts = p.steps = p.depth = p.n_subs = p.first_arg = p.n_args =
		p.n_forward = 0;
	p.n_nodes = 1;
	p.nodes[0] = (struct itanium_node){0};
	p.in_lambda = p.in_conversion = false;
	p.flags = 0;
	uint16_t root = itanium_encoding(&p);
	size_t before = out->size;
	if (root == 0 || (p.pos < p.end && *p.pos != '.') ||
	    !itanium_print(&p, root, style, most, out))
		return false;
	if (put_clones(&p, style, out))
		return true;
	out->size = before;
	return false;
}
