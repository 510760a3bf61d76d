/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for candidates: their names, which of two is better, and which IDs may belong to one
 * module.
 */
#include "index_sql.h"

#include "id.h"
#include "path_base.h"

static const char *const kind_names[UX_KIND_COUNT] = {
	[UX_KIND_GSYM] = "gsym",
	[UX_KIND_EXECUTABLE] = "executable",
	[UX_KIND_DEBUGINFO] = "debuginfo",
	[UX_KIND_DWO] = "dwo",
	[UX_KIND_DWP] = "dwp",
	[UX_KIND_SOURCES] = "sources",
};

const char *ux_kind_name(enum ux_kind kind)
{
	return kind_names[kind];
}

bool ux_kind_parse(struct ux_bytes text, enum ux_kind *ret)
{
	for (int i = 0; i < UX_KIND_COUNT; i++) {
		if (!ux_bytes_eq(text, ux_bytes_cstr(kind_names[i])))
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

int ux_candidate_cmp(const struct ux_candidate *a, const struct ux_candidate *b)
{
	const struct ux_counts *n = &a->counts, *o = &b->counts;
	const uint64_t x[] = {a->trust, a->quality, n->line_bytes, n->code_bytes, n->functions};
	const uint64_t y[] = {b->trust, b->quality, o->line_bytes, o->code_bytes, o->functions};
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

static bool kind_is_elf(enum ux_kind kind)
{
	return kind == UX_KIND_EXECUTABLE || kind == UX_KIND_DEBUGINFO;
}

const struct ux_candidate *ux_module_elf(const struct ux_module *m, unsigned holds)
{
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *c = &m->candidates[i];
		if (kind_is_elf(c->kind) && c->state == UX_CANDIDATE_READY &&
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

enum ux_code ux_module_check_rows(const struct ux_module *m, struct ux_error *err)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].damaged)
			return ux_error_set(err, UX_EIO, "%s", m->candidates[i].reason);
	return UX_OK;
}

enum ux_quality ux_module_quality(const struct ux_module *m)
{
	const struct ux_candidate *best = ux_module_best(m, UX_KIND_GSYM);
	return best ? best->quality : UX_QUALITY_NONE;
}

const struct ux_candidate *ux_candidate_same(const struct ux_module *m,
					     const struct ux_candidate *c)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].number != c->number &&
		    memcmp(&m->candidates[i].blob, &c->blob, sizeof(c->blob)) == 0)
			return &m->candidates[i];
	return NULL;
}

static bool kind_is_ranked(enum ux_kind kind)
{
	return kind == UX_KIND_GSYM || kind == UX_KIND_EXECUTABLE || kind == UX_KIND_DEBUGINFO;
}

/* Returns the best ready candidate that can be used in place of c. */
static const struct ux_candidate *candidate_rival(const struct ux_module *m,
						  const struct ux_candidate *c)
{
	const struct ux_candidate *best = NULL;
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *o = &m->candidates[i];
		if (o->number == c->number || o->state != UX_CANDIDATE_READY ||
		    o->kind != c->kind || (o->holds & c->holds) != c->holds)
			continue;
		if (!best || ux_candidate_cmp(o, best) > 0)
			best = o;
	}
	return best;
}

struct ux_add_result ux_candidate_judge(const struct ux_module *m, const struct ux_candidate *c)
{
	struct ux_add_result r = {.add = UX_ADD_NEW, .state = c->state};
	const struct ux_candidate *same = ux_candidate_same(m, c);
	const struct ux_candidate *best = kind_is_ranked(c->kind) ? candidate_rival(m, c) : NULL;
	if (best) {
		r.had_any = true;
		r.best = best->quality;
		r.best_trust = best->trust;
	}
	if (same && same->state != UX_CANDIDATE_FAILED)
		r.add = UX_ADD_SAME;
	else if (best && c->state == UX_CANDIDATE_READY && !c->forced &&
		 ux_candidate_cmp(c, best) < 0)
		r.add = UX_ADD_POORER;
	return r;
}

void ux_candidate_poorer_text(const struct ux_add_result *r, const struct ux_candidate *c,
			      char *text, size_t size)
{
	const enum ux_quality mine = c->quality;
	if (c->trust < r->best_trust)
		snprintf(text, size,
			 "the server has more trusted symbols (%s, %s) than this file (%s)",
			 ux_trust_name(r->best_trust), ux_quality_name(r->best),
			 ux_trust_name(c->trust));
	else if (r->best == mine)
		snprintf(text, size,
			 "the server's symbols cover more code with the same quality (%s)",
			 ux_quality_name(mine));
	else
		snprintf(text, size, "the server has better symbols (%s) than this file (%s)",
			 ux_quality_name(r->best), ux_quality_name(mine));
}

bool ux_text_among(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

static bool id_is_gnu(const char *id)
{
	return strncmp(id, "gnu:", 4) == 0;
}

static bool id_is_go(const char *id)
{
	return strncmp(id, "go:", 3) == 0;
}

static struct ux_bytes id_text_of(const char *id)
{
	return ux_bytes_cstr(strchr(id, ':') + 1);
}

int ux_id_rank(const char *id)
{
	static const char *const order[] = {"gnu:", "go:", "uuid:", "file:", "cubin-crc:"};
	int i = 0;
	while (i < (int)ux_countof(order) && strncmp(id, order[i], strlen(order[i])) != 0)
		i++;
	return i;
}

bool ux_id_is_shared(const char *id)
{
	return strncmp(id, "cubin-crc:", 10) == 0;
}

static const char *ids_find_gnu(const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (id_is_gnu(ids[i]))
			return ids[i];
	return NULL;
}

/* Tests for a Go build ID of another program than all of the module's. */
static bool module_is_other_go(const struct ux_module *m, const char *id)
{
	bool any = false;
	for (size_t i = 0; i < m->n_ids; i++) {
		if (!id_is_go(m->ids[i]))
			continue;
		any = true;
		if (!ux_id_go_differs(id_text_of(m->ids[i]), id_text_of(id)))
			return false;
	}
	return any;
}

/*
 * Fails with the name of the program's file that the server has, by its last component: the GNU
 * build ID is the same.
 */
static enum ux_code module_fail_go(const struct ux_module *m, struct ux_error *err)
{
	const char *path = m->n_candidates > 0 ? m->candidates[0].file_name : "";
	return ux_error_set(
		err, UX_ECONFLICT,
		"another Go program (%.32s) has this build ID; link each one with its own -B",
		ux_path_base(path));
}

static enum ux_code ids_agree_go(const struct ux_module *m, const char *const *ids, size_t n,
				 struct ux_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (id_is_go(ids[i]) && module_is_other_go(m, ids[i]))
			return module_fail_go(m, err);
	return UX_OK;
}

enum ux_code ux_ids_agree(const struct ux_module *m, const char *const *ids, size_t n,
			  struct ux_error *err)
{
	const char *one = ids_find_gnu((const char *const *)m->ids, m->n_ids);
	for (size_t i = 0; i < n; i++) {
		if (!id_is_gnu(ids[i]))
			continue;
		one = one ? one : ids[i];
		if (strcmp(one, ids[i]) != 0)
			return ux_error_set(err, UX_ECONFLICT,
					    "one module cannot have both IDs %.60s and %.60s", one,
					    ids[i]);
	}
	return ids_agree_go(m, ids, n, err);
}
