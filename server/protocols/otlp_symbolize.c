/* SPDX-License-Identifier: Apache-2.0 */
/* Names from the store for the locations of an OTLP message. */
#include "otlp_symbolize.h"

#include "otlp_names.h"
#include "symbolize.h"

/* What the message has of one frame cache. Keys are numbers of the cache. */
struct otlp_cached {
	struct ux_profile_numbers functions; /* by text and file */
	struct ux_profile_numbers lines;     /* by frame; 0: without a name */
};

struct otlp_work {
	struct ux_request *req;
	struct ux_work work;
	struct ux_otlp_names names;
	struct otlp_cached cached;
	uint64_t n[UX_OTLP_COUNTS];
	uint32_t frames[UX_RESOLVE_MOST];
};

static void otlp_cached_deinit(struct otlp_cached *c)
{
	ux_profile_numbers_deinit(&c->functions);
	ux_profile_numbers_deinit(&c->lines);
}

static void otlp_work_free(struct otlp_work **w)
{
	if (!*w)
		return;
	ux_otlp_names_deinit(&(*w)->names);
	otlp_cached_deinit(&(*w)->cached);
	free(*w);
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool otlp_has_name(const struct ux_frame_cache *cache, const struct ux_cached_frame *f)
{
	return f->function != 0 &&
	       !ux_bytes_eq(ux_cached_text_bytes(cache, f->function), UX_STR(UX_NO_NAME));
}

/*
 * The function of a frame in the message, which is appended when it is new there. 0: bounds of a
 * function without a name, which are no name.
 */
static enum ux_code otlp_put_function(struct otlp_work *w, const struct ux_frame_cache *cache,
				      const struct ux_cached_frame *f, uint32_t *ret)
{
	struct ux_otlp_names *names = &w->names;
	bool fresh = false;
	uint32_t *number = ux_profile_numbers_insert(&w->cached.functions,
						     (uint64_t)f->function << 32 | f->file, &fresh);
	if (!number)
		return ux_error_nomem(&w->req->err);
	if (fresh && (f->up != 0 || otlp_has_name(cache, f))) {
		uint32_t name = 0, linkage = 0, file = 0;
		if (f->function != 0) {
			const struct ux_cached_text *text = ux_cached_text(cache, f->function);
			name = ux_otlp_names_string(names, ux_bytes(text->data, text->size));
			linkage = ux_otlp_names_string(names, ux_cached_linkage(text));
		}
		if (f->file != 0)
			file = ux_otlp_names_string(
				names,
				ux_cached_text_bytes(cache, ux_cached_file(cache, f->file)->path));
		*number = ux_otlp_names_function(names, name, linkage, file);
	}
	*ret = *number;
	return UX_OK;
}

/* The lines of a frame and of those that it is inlined into; 0: it has no name. */
static enum ux_code otlp_put_lines(struct otlp_work *w, const struct ux_frame_cache *cache,
				   uint32_t frame, uint32_t *ret)
{
	uint32_t chain[UX_FRAMES_MOST];
	size_t n = 0;
	const uint32_t *known = NULL;
	*ret = 0;
	for (; frame != 0; frame = ux_cached_frame(cache, frame)->up) {
		known = ux_profile_numbers_find(&w->cached.lines, frame);
		if (known || n == UX_FRAMES_MOST)
			break;
		chain[n++] = frame;
	}
	uint32_t lines = known ? *known : 0;
	for (size_t left = n; left-- > 0;) {
		const struct ux_cached_frame *f = ux_cached_frame(cache, chain[left]);
		uint32_t function = 0;
		bool fresh = false;
		if (lines != 0 || f->up == 0)
			UX_TRY(otlp_put_function(w, cache, f, &function));
		lines = function != 0 ? ux_otlp_names_line(&w->names, function, f->line, lines) : 0;
		uint32_t *slot = ux_profile_numbers_insert(&w->cached.lines, chain[left], &fresh);
		if (!slot)
			return ux_error_nomem(&w->req->err);
		*slot = lines;
	}
	*ret = lines;
	return UX_OK;
}

/* --- modules ---------------------------------------------------------------------------------- */

static enum ux_code otlp_resolve(struct otlp_work *w, struct ux_open_module *open,
				 const struct ux_otlp_module *m)
{
	enum {
		AHEAD = 8 /* frames that are prefetched */
	};
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = open, .mode = UX_DEMANGLE_FULL, .work = &w->work};
	otlp_cached_deinit(&w->cached);
	for (size_t at = 0, done = 0; at < m->n; at += done) {
		UX_TRY(ux_resolve(&r, w->names.addresses + m->first + at, m->n - at, w->frames,
				  &done, &w->req->err));
		if (r.fresh)
			otlp_cached_deinit(&w->cached);
		for (size_t i = 0; i < done; i++) {
			uint32_t lines = 0;
			if (i + AHEAD < done)
				ux_frame_cache_prefetch(r.cache, w->frames[i + AHEAD]);
			UX_TRY(otlp_put_lines(w, r.cache, w->frames[i], &lines));
			ux_otlp_names_set(&w->names, m->first + at + i, lines);
			w->n[lines != 0 ? UX_OTLP_NAMED : UX_OTLP_NAMELESS]++;
		}
		UX_TRY(ux_otlp_names_status(&w->names, &w->req->err));
	}
	return UX_OK;
}

/* Names the locations of a module, if it is there. */
static enum ux_code otlp_symbolize_module(struct otlp_work *w, const struct ux_otlp_module *m)
{
	ux_cleanup(ux_open_module_release) struct ux_open_module *open = NULL;
	struct ux_error why = UX_ERROR_INIT;
	char id[UX_ID_TEXT];
	uint32_t retry_s = 0;
	UX_TRY(ux_request_work_charge(&w->work, UX_WORK_MODULE, &w->req->err));
	ux_id_format(&m->id, id);
	enum ux_code code = ux_server_module_open(ux_server_of(w->req), ux_caller_of(w->req)->ns,
						  id, /* wait_ms= */ 0, &open, &retry_s, &why);
	if (code == UX_OK)
		return otlp_resolve(w, open, m);
	if (code == UX_ENOMEM)
		return ux_error_nomem(&w->req->err);
	w->n[code == UX_EUNAVAILABLE ? UX_OTLP_PENDING : UX_OTLP_MISSING] += m->n;
	return UX_OK;
}

/* The work of one request is bounded; the next message begins with what this one has cached. */
static enum ux_code otlp_symbolize_modules(struct otlp_work *w)
{
	const struct ux_otlp_modules *modules = &w->names.modules;
	for (size_t i = 0; i < modules->size; i++) {
		if (modules->data[i].n == 0)
			continue;
		enum ux_code code = otlp_symbolize_module(w, &modules->data[i]);
		if (code == UX_ELIMIT && w->req->answer.code == UX_OK) {
			w->req->err = (struct ux_error)UX_ERROR_INIT;
			w->n[UX_OTLP_OVER_BUDGET]++;
			return UX_OK;
		}
		UX_TRY(code);
	}
	return UX_OK;
}

enum ux_code ux_otlp_symbolize(struct ux_request *req, struct ux_bytes message, struct ux_out *out)
{
	ux_cleanup(otlp_work_free) struct otlp_work *w = malloc(sizeof(*w));
	if (!w)
		return ux_error_nomem(&req->err);
	w->req = req;
	w->work = ux_request_work(req);
	w->names = (struct ux_otlp_names){.bytes = message, .quota = &req->answer};
	w->cached = (struct otlp_cached){0};
	memset(w->n, 0, sizeof(w->n));
	w->n[UX_OTLP_MESSAGES] = 1;
	UX_TRY(ux_otlp_names_read(&w->names, &req->err));
	w->n[UX_OTLP_KEPT] = w->names.n_locations - (uint32_t)w->names.locations.size;
	w->n[UX_OTLP_UNKNOWN] = w->names.n_unknown;
	UX_TRY(otlp_symbolize_modules(w));
	UX_TRY(ux_otlp_names_write(&w->names, out, &req->err));
	ux_metrics_otlp(&ux_server_of(req)->metrics, w->n);
	return UX_OK;
}
