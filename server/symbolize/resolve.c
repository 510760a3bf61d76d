/* SPDX-License-Identifier: Apache-2.0 */
/* Many addresses of one module to numbers of its memo. */
#include "resolve.h"

#include "gsym_reader.h"

enum {
	FEW = 8,      /* addresses that a batch is not worth it for */
	FRAMES = 8,   /* of an address, to begin with; of real programs 3 is the mean */
	LOCKED = 256, /* addresses that are noted before others may look again */
};

/* Addresses that the memo does not know, and what the module's files say of them. */
struct missed {
	size_t n;
	uint32_t *at; /* which of the caller's */
	uint64_t *pcs;
	struct ux_frame_span *spans;
	uint32_t *todo; /* those that a further candidate is asked for */
	uint64_t *todo_pcs;
	struct ux_frame_span *todo_spans;
	struct ux_frame *frames;
	size_t n_frames, most;
};

static void missed_deinit(struct missed *m)
{
	free(m->at);
	free(m->pcs);
	free(m->spans);
	free(m->todo);
	free(m->todo_pcs);
	free(m->todo_spans);
	free(m->frames);
}

void ux_resolver_deinit(struct ux_resolver *r)
{
	ux_frame_cache_unref(r->memo);
	r->memo = NULL;
}

static bool missed_init(struct missed *m, const struct ux_resolver *r, const uint64_t *pcs,
			size_t n, const uint32_t *found, size_t unknown)
{
	size_t lists = unknown + 1;
	m->at = calloc(lists, sizeof(*m->at));
	m->pcs = calloc(lists, sizeof(*m->pcs));
	m->spans = calloc(lists, sizeof(*m->spans));
	m->todo = calloc(lists, sizeof(*m->todo));
	m->todo_pcs = calloc(lists, sizeof(*m->todo_pcs));
	m->todo_spans = calloc(lists, sizeof(*m->todo_spans));
	/* One address alone always has room, whatever the candidates say. */
	m->most = FRAMES * unknown + UX_MODULE_CANDIDATES_MOST * UX_FRAMES_MOST;
	m->frames = malloc(m->most * sizeof(*m->frames));
	if (!m->at || !m->pcs || !m->spans || !m->todo || !m->todo_pcs || !m->todo_spans ||
	    !m->frames)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (found[i] != UX_FRAME_UNKNOWN)
			continue;
		m->at[m->n] = (uint32_t)i;
		m->pcs[m->n++] = pcs[i] - r->back;
	}
	return true;
}

/* --- asking the files --------------------------------------------------------------------------
 */

/* One by one: n addresses, from m->frames[m->n_frames] on. */
static enum ux_code ask_few(struct missed *m, const struct ux_gsym *g, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t found = 0;
		if (m->most - m->n_frames < UX_FRAMES_MOST)
			return UX_ELIMIT;
		enum ux_code code = ux_gsym_lookup(g, m->todo_pcs[i], m->frames + m->n_frames,
						   UX_FRAMES_MOST, &found, NULL);
		if (code != UX_OK) /* not there, or damaged */
			found = 0;
		m->todo_spans[i] = (struct ux_frame_span){(uint32_t)m->n_frames, (uint32_t)found};
		m->n_frames += found;
	}
	return UX_OK;
}

static enum ux_code ask_many(struct missed *m, const struct ux_gsym *g, size_t n)
{
	struct ux_gsym_batch b = {.pcs = m->todo_pcs,
				  .n = n,
				  .frames = m->frames + m->n_frames,
				  .max = m->most - m->n_frames,
				  .spans = m->todo_spans};
	enum ux_code code = ux_gsym_batch(g, &b, NULL);
	if (code == UX_ENOMEM || code == UX_ELIMIT)
		return code; /* others: a record is damaged, the other answers are there */
	for (size_t i = 0; i < n; i++)
		m->todo_spans[i].first += (uint32_t)m->n_frames;
	m->n_frames += b.n_frames;
	return UX_OK;
}

static bool has_name(const struct missed *m, struct ux_frame_span s)
{
	return s.n > 0 && strcmp(m->frames[s.first + s.n - 1].function, UX_NO_NAME) != 0;
}

/* Takes what the last candidate said, and leaves in todo what is still without a name. */
static size_t take_answers(struct missed *m, size_t n)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t k = m->todo[i];
		if (m->spans[k].n == 0 || has_name(m, m->todo_spans[i]))
			m->spans[k] = m->todo_spans[i];
		if (!has_name(m, m->spans[k]))
			m->todo[left++] = k;
	}
	return left;
}

/* UX_ELIMIT: frames has no room for them all. */
static enum ux_code ask_files(struct missed *m, const struct ux_open_module *module)
{
	size_t left = m->n;
	for (size_t i = 0; i < m->n; i++)
		m->todo[i] = (uint32_t)i;
	for (size_t c = 0; c < ux_open_module_count(module) && left > 0; c++) {
		const struct ux_gsym *g = &ux_open_module_candidate(module, c)->gsym;
		for (size_t i = 0; i < left; i++)
			m->todo_pcs[i] = m->pcs[m->todo[i]];
		UX_TRY(left < FEW ? ask_few(m, g, left) : ask_many(m, g, left));
		left = take_answers(m, left);
	}
	return UX_OK;
}

/* --- noting what they said ---------------------------------------------------------------------
 */

/* How many of the caller's addresses have their number: all before the first without. */
static size_t note(struct ux_resolver *r, const struct missed *m, size_t n, uint32_t *ret_frames)
{
	for (size_t i = 0; i < m->n;) {
		bool good = true;
		ux_frame_cache_lock(r->memo);
		for (size_t end = ux_min(i + LOCKED, m->n); i < end && good; i += good)
			good = ux_frame_cache_add(r->memo, m->pcs[i], m->frames + m->spans[i].first,
						  m->spans[i].n, &ret_frames[m->at[i]]);
		ux_frame_cache_unlock(r->memo);
		if (!good)
			return m->at[i];
	}
	return n;
}

static enum ux_code resolve_missed(struct ux_resolver *r, const uint64_t *pcs, size_t n,
				   size_t unknown, uint32_t *ret_frames, size_t *ret_done,
				   struct ux_error *err)
{
	ux_cleanup(missed_deinit) struct missed m = {0};
	if (!missed_init(&m, r, pcs, n, ret_frames, unknown))
		return ux_error_nomem(err);
	enum ux_code code = UX_OK;
	size_t all = m.n;
	while ((code = ask_files(&m, r->module)) == UX_ELIMIT) {
		m.n /= 2; /* never to 0: one has room */
		m.n_frames = 0;
		memset(m.spans, 0, all * sizeof(*m.spans));
	}
	if (code != UX_OK)
		return ux_error_nomem(err);
	*ret_done = note(r, &m, m.n < all ? m.at[m.n] : n, ret_frames);
	return UX_OK;
}

static enum ux_code take_memo(struct ux_resolver *r, struct ux_error *err)
{
	r->anew = !r->memo || r->full;
	if (r->full || !r->memo)
		r->memo = ux_open_module_frames(r->module, r->mode, ux_take(&r->memo));
	r->full = false;
	return r->memo ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_resolve(struct ux_resolver *r, const uint64_t *pcs, size_t n, uint32_t *ret_frames,
			size_t *ret_done, struct ux_error *err)
{
	n = ux_min(n, (size_t)UX_RESOLVE_MOST);
	*ret_done = 0;
	/* A memo that somebody else fills at the same time may be full at once, more than once. */
	for (unsigned i = 0; i < 4 && *ret_done == 0; i++) {
		UX_TRY(take_memo(r, err));
		size_t unknown = ux_frame_cache_find(r->memo, pcs, n, r->back, ret_frames);
		if (unknown == 0)
			*ret_done = n;
		else
			UX_TRY(resolve_missed(r, pcs, n, unknown, ret_frames, ret_done, err));
		r->full = *ret_done < n;
	}
	if (*ret_done > 0)
		return UX_OK;
	return ux_error_set(err, UX_ELIMIT, "the frames of 0x%" PRIx64 " are too much", pcs[0]);
}
