/* SPDX-License-Identifier: Apache-2.0 */
/* Words and ranks of candidates, the same for every backend. */
#include "index_modules.h"

static const char *const kinds[UX_KIND_COUNT] = {
	[UX_KIND_GSYM] = "gsym",
	[UX_KIND_EXECUTABLE] = "executable",
	[UX_KIND_DEBUGINFO] = "debuginfo",
	[UX_KIND_DWO] = "dwo",
	[UX_KIND_DWP] = "dwp",
	[UX_KIND_SOURCES] = "sources",
};

const char *ux_kind_name(enum ux_kind kind)
{
	return kinds[kind];
}

bool ux_kind_parse(struct ux_bytes text, enum ux_kind *ret)
{
	for (int i = 0; i < UX_KIND_COUNT; i++) {
		if (!ux_bytes_eq(text, ux_bytes_cstr(kinds[i])))
			continue;
		*ret = (enum ux_kind)i;
		return true;
	}
	return false;
}

const char *ux_candidate_state_name(enum ux_candidate_state state)
{
	static const char *const names[] = {
		[UX_CANDIDATE_READY] = "ready",
		[UX_CANDIDATE_PENDING] = "pending",
		[UX_CANDIDATE_FAILED] = "failed",
	};
	return names[state];
}

const char *ux_origin_name(enum ux_origin origin)
{
	static const char *const names[] = {
		[UX_ORIGIN_UPLOAD] = "upload",
		[UX_ORIGIN_UPSTREAM] = "upstream",
		[UX_ORIGIN_CRAWL] = "crawl",
	};
	return names[origin];
}

int ux_candidate_cmp(enum ux_quality a, const struct ux_counts *a_counts, enum ux_quality b,
		     const struct ux_counts *b_counts)
{
	const uint64_t x[] = {a, a_counts->line_bytes, a_counts->code_bytes, a_counts->functions};
	const uint64_t y[] = {b, b_counts->line_bytes, b_counts->code_bytes, b_counts->functions};
	for (size_t i = 0; i < ux_countof(x); i++)
		if (x[i] != y[i])
			return x[i] > y[i] ? 1 : -1;
	return 0;
}

const struct ux_candidate *ux_module_best(const struct ux_module *m, enum ux_kind kind)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].kind == kind && m->candidates[i].state == UX_CANDIDATE_READY)
			return &m->candidates[i];
	return NULL;
}

static bool is_elf(enum ux_kind kind)
{
	return kind == UX_KIND_EXECUTABLE || kind == UX_KIND_DEBUGINFO;
}

const struct ux_candidate *ux_module_elf(const struct ux_module *m, unsigned holds)
{
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *c = &m->candidates[i];
		if (is_elf(c->kind) && c->state == UX_CANDIDATE_READY &&
		    (c->holds & holds) == holds)
			return c;
	}
	return NULL;
}

const struct ux_candidate *ux_module_in_state(const struct ux_module *m,
					      enum ux_candidate_state state)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].state == state && m->candidates[i].kind != UX_KIND_SOURCES)
			return &m->candidates[i];
	return NULL;
}

enum ux_quality ux_module_quality(const struct ux_module *m)
{
	const struct ux_candidate *best = ux_module_best(m, UX_KIND_GSYM);
	return best ? best->quality : UX_QUALITY_NONE;
}
