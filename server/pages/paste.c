/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a pasted crash report in the store. */
#include "paste.h"

enum {
	/* files of the same name that are checked for belonging to one module */
	SAME_NAME_MAX = 64,
	NAMES_BUDGET = 4 << 20, /* functions whose names are read for one text */
	START_COST = 256,       /* work of reading where a function ends */
};

static struct ux_paste *paste_of(struct ux_crash_source *s)
{
	return (struct ux_paste *)s; /* its first member */
}

/* --- builds ----------------------------------------------------------------------------------- */

static int paste_build_newer(const void *x, const void *y)
{
	const struct ux_paste_build *a = x, *b = y;
	if (a->created != b->created)
		return a->created < b->created ? 1 : -1;
	return (b->number > a->number) - (b->number < a->number);
}

/* Reads the builds of hits, each once. */
static enum ux_code paste_read_builds(struct ux_paste *p, struct ux_paste_module *k,
				      const struct ux_hits *hits)
{
	struct ux_request *req = p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_paste_build *all =
		ux_arena_array(&req->arena, struct ux_paste_build, hits->n + 1);
	int64_t *seen = ux_arena_array(&req->arena, int64_t, hits->n + 1);
	size_t n = 0;
	if (!all || !seen)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0; i < hits->n; i++) {
		struct ux_module m;
		size_t j = 0;
		while (j < n && seen[j] != hits->hits[i].module)
			j++;
		if (j < n)
			continue;
		enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, hits->hits[i].id,
						     &req->arena, &m, NULL);
		if (code == UX_ENOMEM)
			return ux_error_nomem(&req->err);
		if (code != UX_OK || m.n_ids == 0)
			continue;
		seen[n] = hits->hits[i].module;
		all[n++] = (struct ux_paste_build){hits->hits[i].module, m.ids[0],
						   hits->hits[i].file_name, m.created};
	}
	if (n > 1)
		qsort(all, n, sizeof(*all), paste_build_newer);
	k->n_builds = ux_min(n, (size_t)UX_CRASH_BUILDS_MAX);
	k->more_builds = hits->more || n > k->n_builds;
	memcpy(k->builds, all, k->n_builds * sizeof(*all));
	return UX_OK;
}

/* A search of the store for a module. */
struct paste_search {
	struct ux_paste *p;
	struct ux_paste_module *k;
	struct ux_crash_found *found;
};

/* Implements ux_crash_search_fn. If exactly one build exists, it is chosen. */
static enum ux_code paste_search_name(void *ctx, const char *name, size_t *ret_n,
				      struct ux_error *err)
{
	struct paste_search *s = ctx;
	struct ux_paste_module *k = s->k;
	struct ux_request *req = s->p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_search what = {.by = UX_SEARCH_FILE, .text = name, .limit = SAME_NAME_MAX};
	struct ux_hits hits;
	UX_TRY(ux_request_work_charge(&s->p->work, UX_WORK_SEARCH, err));
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, err));
	UX_TRY(paste_read_builds(s->p, k, &hits));
	*ret_n = k->n_builds;
	if (k->n_builds == 1 && !k->more_builds) {
		k->id = k->builds[0].id;
		s->found->how = name[0] == '/' ? "by its path, which only one build has"
					       : "by its name, which only one build has";
	} else if (k->n_builds > 0) {
		s->found->why = "several builds have that name";
	}
	return UX_OK;
}

/* Chooses the build that the user selected, or the build that the text names. */
static enum ux_code paste_choose(struct paste_search *s, const struct ux_crash_wanted *w,
				 struct ux_error *err)
{
	struct ux_request *req = s->p->req;
	char id[UX_ID_TEXT];
	struct ux_bytes text = w->choice;
	s->found->how = "selected";
	if (w->choice.size == 0 && w->id.size > 0) {
		s->found->how = "by the ID in the text";
		text = ux_bytes_cstr(ux_id_format(&w->id, id));
	}
	if (text.size > 0)
		return ux_module_id_parse(text, &req->arena, &s->k->id, err);
	s->found->how = "not chosen";
	UX_TRY(ux_crash_search(w, paste_search_name, s, err));
	if (!s->k->id && !s->found->why)
		s->found->why = *w->name ? "no module has a file of that name"
					 : "the text does not name the module";
	return UX_OK;
}

/* Returns whether the build was chosen among several and may not have the ID that the text has. */
static enum ux_code paste_differs(struct paste_search *s, const struct ux_crash_wanted *w,
				  bool *ret, struct ux_error *err)
{
	struct ux_request *req = s->p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_module m;
	char id[UX_ID_TEXT];
	*ret = false;
	if (w->id.size == 0 || w->choice.size == 0)
		return UX_OK;
	*ret = strcmp(ux_id_format(&w->id, id), s->k->id) != 0;
	if (!*ret)
		return UX_OK;
	UX_TRY(ux_request_work_charge(&s->p->work, UX_WORK_SEARCH, err));
	enum ux_code code =
		ix->modules.find(ix, ux_caller_of(req)->ns, s->k->id, &req->arena, &m, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	for (size_t i = 0; code == UX_OK && i < m.n_ids; i++)
		if (strcmp(m.ids[i], id) == 0)
			*ret = false;
	return UX_OK;
}

static const char *paste_why_closed(enum ux_code code, bool away)
{
	if (code == UX_EUNAVAILABLE && away)
		return UX_UPSTREAM_AWAY;
	if (code == UX_EUNAVAILABLE)
		return "its symbols are being extracted: retry in a few seconds";
	return code == UX_ENOTFOUND ? "this server has no symbols of it"
				    : "its uploaded file cannot be read";
}

/* Opens the symbols of the chosen build. */
static enum ux_code paste_open_symbols(struct paste_search *s, struct ux_error *err)
{
	struct ux_request *req = s->p->req;
	struct ux_error why = UX_ERROR_INIT;
	struct ux_module_later later = {0};
	UX_TRY(ux_request_work_charge(&s->p->work, UX_WORK_MODULE, err));
	enum ux_code code =
		ux_server_module_open(ux_server_of(req), ux_caller_of(req)->ns, s->k->id,
				      /* wait_ms= */ 0, &s->k->module, &later, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	s->found->open = code == UX_OK;
	if (code != UX_OK)
		s->found->why = paste_why_closed(code, later.away);
	return UX_OK;
}

static enum ux_code paste_open(struct ux_crash_source *source, const struct ux_crash_wanted *w,
			       struct ux_crash_found *ret, struct ux_error *err)
{
	struct ux_paste *p = paste_of(source);
	struct ux_paste_module *k = ux_arena_new(&p->req->arena, struct ux_paste_module);
	struct paste_search s = {p, k, ret};
	if (!k)
		return ux_arena_fail(&p->req->arena, err);
	*k = (struct ux_paste_module){0};
	ret->record = k;
	UX_TRY(paste_choose(&s, w, err));
	if (!k->id)
		return UX_OK;
	ret->id = k->id;
	UX_TRY(paste_differs(&s, w, &ret->differs, err));
	return paste_open_symbols(&s, err);
}

static void paste_close(struct ux_crash_source *source, void *record)
{
	struct ux_paste_module *k = record;
	(void)source;
	if (!k)
		return;
	ux_open_module_unref(k->module);
	ux_requested_pcs_deinit(&k->pcs);
}

/* --- addresses -------------------------------------------------------------------------------- */

static enum ux_code paste_image_start(struct ux_crash_source *source, void *record, uint64_t *ret,
				      struct ux_error *err)
{
	struct ux_paste_module *k = record;
	(void)source;
	(void)err;
	return ux_open_module_image_start(k->module, ret, NULL);
}

static enum ux_code paste_file_pc(struct ux_crash_source *source, void *record, uint64_t off,
				  uint64_t *ret, struct ux_error *err)
{
	struct ux_paste_module *k = record;
	(void)source;
	return ux_open_module_file_pc(k->module, off, ret, err);
}

static enum ux_code paste_has_code(struct ux_crash_source *source, void *record, uint64_t pc,
				   bool *ret, struct ux_error *err)
{
	struct ux_paste_module *k = record;
	struct ux_gsym_segments segments = {.n = 0};
	(void)source;
	enum ux_code code = ux_open_module_segments(k->module, &segments, err);
	*ret = code != UX_OK || ux_gsym_segments_may_have(&segments, pc);
	return code == UX_ENOTFOUND ? UX_OK : code;
}

/* Adds the functions of that name. Their sizes are compared with the printed size. */
static enum ux_code paste_add_starts(struct ux_paste *p, struct ux_paste_module *k,
				     const uint64_t *pcs, size_t n, struct ux_crash_starts *ret,
				     struct ux_error *err)
{
	UX_TRY(ux_request_work_charge(&p->work, n * START_COST, err));
	for (size_t i = 0; i < n; i++) {
		struct ux_crash_start start = {.pc = pcs[i], .begin = pcs[i]};
		if (ux_open_module_extent(k->module, pcs[i], &start.begin, &start.size, NULL) !=
		    UX_OK)
			start = (struct ux_crash_start){.pc = pcs[i], .begin = pcs[i]};
		ux_crash_starts_add(ret, start);
	}
	return UX_OK;
}

static enum ux_code paste_functions(struct ux_crash_source *source, void *record,
				    struct ux_bytes symbol, struct ux_crash_starts *ret,
				    struct ux_error *err)
{
	struct ux_paste *p = paste_of(source);
	struct ux_paste_module *k = record;
	uint64_t pcs[UX_CRASH_SAME_NAME_MAX];
	size_t n = 0;
	enum ux_code code = ux_open_module_complete(k->module, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		ret->why = paste_why_closed(code, /* away= */ false);
		return UX_OK;
	}
	code = ux_open_module_find_all(k->module, symbol, &p->name_budget, &p->work, pcs,
				       ux_countof(pcs), &n, &ret->more, err);
	if (code == UX_EUNAVAILABLE)
		return ux_request_work_code(&p->work, err);
	if (code == UX_ENOTFOUND)
		return UX_OK;
	UX_TRY(code);
	return paste_add_starts(p, k, pcs, n, ret, err);
}

/* --- names ------------------------------------------------------------------------------------ */

static enum ux_code paste_add(struct ux_crash_source *source, void *record, uint64_t pc,
			      struct ux_error *err)
{
	struct ux_paste_module *k = record;
	(void)source;
	return ux_requested_pcs_append(&k->pcs, pc) ? UX_OK : ux_error_nomem(err);
}

/*
 * Fetches the parts of the symbols that all addresses of a module need, and resolves the addresses
 * in one batch, so that its frame cache has them. If a part cannot be fetched, the module counts as
 * closed.
 */
static enum ux_code paste_resolve_module(struct ux_paste *p, struct ux_crash_build *b,
					 struct ux_error *err)
{
	struct ux_paste_module *k = b->found.record;
	enum ux_code code =
		ux_open_module_bring(k->module, k->pcs.data, k->pcs.size, /* back= */ 0, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		ux_open_module_unref(ux_take(&k->module));
		b->found.open = false;
		b->found.why = paste_why_closed(code, /* away= */ false);
		return UX_OK;
	}
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = k->module, .mode = UX_DEMANGLE_FULL, .work = &p->work, .brought = true};
	uint32_t *frames = ux_arena_array(&p->req->arena, uint32_t, k->pcs.size + 1);
	if (!frames)
		return ux_arena_fail(&p->req->arena, err);
	for (size_t i = 0, done = 0; i < k->pcs.size; i += done)
		UX_TRY(ux_resolve(&r, k->pcs.data + i, k->pcs.size - i, frames, &done, err));
	return UX_OK;
}

static enum ux_code paste_resolve(struct ux_crash_source *source, struct ux_crash_build *builds,
				  size_t n, struct ux_error *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct ux_paste_module *k = builds[i].found.record;
		if (builds[i].found.open && k->pcs.size > 0)
			UX_TRY(paste_resolve_module(paste_of(source), &builds[i], err));
	}
	return UX_OK;
}

static enum ux_code paste_look(struct ux_crash_source *source, void *record, uint64_t pc,
			       struct ux_crash_look *ret, struct ux_error *err)
{
	const struct ux_paste_module *k = record;
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = k->module, .mode = UX_DEMANGLE_FULL, .work = &paste_of(source)->work};
	uint32_t frame = 0;
	size_t done = 0;
	UX_TRY(ux_resolve(&r, &pc, 1, &frame, &done, err));
	ret->named = frame != 0;
	for (uint32_t up = frame; up != 0; up = ux_cached_frame(r.cache, up)->up)
		frame = up;
	ret->signal_return = frame != 0 && ux_crash_is_signal_return(
						   ux_frame_cache_text(r.cache, frame).function);
	return UX_OK;
}

static const char *paste_why(struct ux_crash_source *source, void *record)
{
	(void)source;
	(void)record;
	return "its symbols have no function at this address";
}

static enum ux_code paste_charge(struct ux_crash_source *source, size_t bytes, struct ux_error *err)
{
	return ux_request_work_charge(&paste_of(source)->work, bytes + 1, err);
}

void ux_paste_init(struct ux_paste *p, struct ux_request *req)
{
	*p = (struct ux_paste){.source = {.open = paste_open,
					  .close = paste_close,
					  .image_start = paste_image_start,
					  .file_pc = paste_file_pc,
					  .has_code = paste_has_code,
					  .functions = paste_functions,
					  .add = paste_add,
					  .resolve = paste_resolve,
					  .look = paste_look,
					  .why = paste_why,
					  .charge = paste_charge},
			       .req = req,
			       .work = ux_request_work(req),
			       .name_budget = NAMES_BUDGET};
}
