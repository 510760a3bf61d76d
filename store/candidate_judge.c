/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a candidate is wanted, and IDs agree. */
#include "candidate_judge.h"

const struct ux_candidate *ux_candidate_same(const struct ux_module *m,
					     const struct ux_candidate *c)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].number != c->number &&
		    memcmp(&m->candidates[i].blob, &c->blob, sizeof(c->blob)) == 0)
			return &m->candidates[i];
	return NULL;
}

static bool is_ranked(enum ux_kind kind)
{
	return kind == UX_KIND_GSYM || kind == UX_KIND_EXECUTABLE || kind == UX_KIND_DEBUGINFO;
}

/* The best ready one that can stand for c. */
static const struct ux_candidate *rival(const struct ux_module *m, const struct ux_candidate *c)
{
	const struct ux_candidate *best = NULL;
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *o = &m->candidates[i];
		if (o->number == c->number || o->state != UX_CANDIDATE_READY ||
		    o->kind != c->kind || (o->holds & c->holds) != c->holds)
			continue;
		if (!best ||
		    ux_candidate_cmp(o->quality, &o->counts, best->quality, &best->counts) > 0)
			best = o;
	}
	return best;
}

struct ux_add_result ux_candidate_judge(const struct ux_module *m, const struct ux_candidate *c)
{
	struct ux_add_result r = {.add = UX_ADD_NEW, .state = c->state};
	const struct ux_candidate *same = ux_candidate_same(m, c);
	const struct ux_candidate *best = is_ranked(c->kind) ? rival(m, c) : NULL;
	if (best) {
		r.had_any = true;
		r.best = best->quality;
	}
	if (same && same->state != UX_CANDIDATE_FAILED)
		r.add = UX_ADD_SAME;
	else if (best && c->state == UX_CANDIDATE_READY && !c->forced &&
		 ux_candidate_cmp(c->quality, &c->counts, best->quality, &best->counts) < 0)
		r.add = UX_ADD_POORER;
	return r;
}

void ux_candidate_poorer_text(const struct ux_add_result *r, enum ux_quality mine, char *text,
			      size_t size)
{
	if (r->best == mine)
		snprintf(text, size, "what is there covers more code, of the same quality (%s)",
			 ux_quality_name(mine));
	else
		snprintf(text, size, "what is there (%s) is better than this (%s)",
			 ux_quality_name(r->best), ux_quality_name(mine));
}

bool ux_text_among(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

static bool is_gnu(const char *id)
{
	return strncmp(id, "gnu:", 4) == 0;
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

static const char *gnu_of(const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_gnu(ids[i]))
			return ids[i];
	return NULL;
}

enum ux_code ux_ids_agree(const struct ux_module *m, const char *const *ids, size_t n,
			  struct ux_error *err)
{
	const char *one = gnu_of((const char *const *)m->ids, m->n_ids);
	for (size_t i = 0; i < n; i++) {
		if (!is_gnu(ids[i]))
			continue;
		one = one ? one : ids[i];
		if (strcmp(one, ids[i]) != 0)
			return ux_error_set(err, UX_ECONFLICT,
					    "one module cannot be %.60s and %.60s", one, ids[i]);
	}
	return UX_OK;
}
