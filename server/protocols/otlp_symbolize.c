/* SPDX-License-Identifier: Apache-2.0 */
/* Names from the store for the locations of an OTLP message. */
#include "otlp_symbolize.h"

#include "otlp_names.h"
#include "profile.h"
#include "symbolize.h"

enum {
	PAGE = 64, /* slots that are made together */
};

/* A function of which only the bounds are known. An enumerator has to be an int. */
#define NAMELESS UINT32_MAX

/* What a message has of a text of the frame cache. */
struct otlp_slot {
	uint32_t file;   /* of a function: the first file that it was met with */
	uint32_t number; /* of a function, or of the string of a path; 0: none yet, or NAMELESS */
};

UX_VEC(otlp_slots, struct otlp_slot);
UX_VEC(otlp_pages, uint32_t);

/*
 * What the message has of one frame cache, by the numbers of texts: most functions are of one file,
 * and are found without hashing. Memory is for those numbers alone that are used.
 */
struct otlp_cached {
	struct otlp_pages pages; /* number of the page plus 1 for PAGE texts; 0: none yet */
	struct otlp_slots slots;
	struct ux_profile_numbers others; /* functions with another file, by text and file */
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
	otlp_pages_deinit(&c->pages);
	otlp_slots_deinit(&c->slots);
	ux_profile_numbers_deinit(&c->others);
}

/* Empties it for another frame cache, but keeps its memory. */
static void otlp_cached_reset(struct otlp_cached *c)
{
	c->pages.size = c->slots.size = 0;
	ux_profile_numbers_deinit(&c->others);
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

/* Makes the page of a text. False: memory is short. */
static bool otlp_add_page(struct otlp_cached *c, size_t page)
{
	if (page >= c->pages.size) {
		const size_t n = ux_max(page + 1, 2 * c->pages.size);
		if (!otlp_pages_reserve(&c->pages, n))
			return false;
		memset(c->pages.data + c->pages.size, 0,
		       (n - c->pages.size) * sizeof(*c->pages.data));
		c->pages.size = n;
	}
	if (!otlp_slots_reserve(&c->slots, c->slots.size + PAGE))
		return false;
	memset(c->slots.data + c->slots.size, 0, PAGE * sizeof(*c->slots.data));
	c->slots.size += PAGE;
	c->pages.data[page] = (uint32_t)(c->slots.size / PAGE);
	return true;
}

/* The slot of a text, until the next one is looked for. NULL: memory is short. */
ux_inline struct otlp_slot *otlp_slot_of(struct otlp_cached *c, uint32_t text)
{
	const size_t page = text / PAGE;
	if (ux_unlikely(page >= c->pages.size || c->pages.data[page] == 0) &&
	    !otlp_add_page(c, page))
		return NULL;
	return &c->slots.data[(c->pages.data[page] - 1) * (size_t)PAGE + text % PAGE];
}

/* The number of the string of a file's path, 0 when it has none. */
static enum ux_code otlp_put_path(struct otlp_work *w, const struct ux_frame_cache *cache,
				  uint32_t file, uint32_t *ret)
{
	*ret = 0;
	if (file == 0)
		return UX_OK;
	const uint32_t path = ux_cached_file(cache, file)->path;
	struct otlp_slot *slot = otlp_slot_of(&w->cached, path);
	if (!slot)
		return ux_error_nomem(&w->req->err);
	if (slot->number == 0)
		slot->number = ux_otlp_names_string(&w->names, ux_cached_text_bytes(cache, path));
	*ret = slot->number;
	return UX_OK;
}

/* Appends the function of a frame to the message. */
static enum ux_code otlp_add_function(struct otlp_work *w, const struct ux_frame_cache *cache,
				      const struct ux_cached_frame *f, uint32_t *ret)
{
	uint32_t name = 0, linkage = 0, file = 0;
	if (f->up == 0 && !otlp_has_name(cache, f)) {
		*ret = NAMELESS;
		return UX_OK;
	}
	if (f->function != 0) {
		const struct ux_cached_text *text = ux_cached_text(cache, f->function);
		name = ux_otlp_names_string(&w->names, ux_bytes(text->data, text->size));
		linkage = text->linkage == text->data
				  ? name
				  : ux_otlp_names_string(&w->names, ux_cached_linkage(text));
	}
	UX_TRY(otlp_put_path(w, cache, f->file, &file));
	*ret = ux_otlp_names_function(&w->names, name, linkage, file);
	return UX_OK;
}

/* The same for a function that is not in the slot of its text: it is new, or of another file. */
static enum ux_code otlp_put_function(struct otlp_work *w, const struct ux_frame_cache *cache,
				      const struct ux_cached_frame *f, uint32_t *ret)
{
	struct otlp_slot *slot = otlp_slot_of(&w->cached, f->function);
	bool fresh = false;
	if (!slot)
		return ux_error_nomem(&w->req->err);
	if (slot->number == 0) {
		UX_TRY(otlp_add_function(w, cache, f, ret));
		slot = otlp_slot_of(&w->cached, f->function); /* it may have moved */
		*slot = (struct otlp_slot){f->file, *ret};
		return UX_OK;
	}
	uint32_t *number = ux_profile_numbers_insert(&w->cached.others,
						     (uint64_t)f->function << 32 | f->file, &fresh);
	if (!number)
		return ux_error_nomem(&w->req->err);
	if (fresh)
		UX_TRY(otlp_add_function(w, cache, f, number));
	*ret = *number;
	return UX_OK;
}

/* The number of a frame's function in the message, or NAMELESS. */
ux_inline enum ux_code otlp_function_of(struct otlp_work *w, const struct ux_frame_cache *cache,
					const struct ux_cached_frame *f, uint32_t *ret)
{
	const struct otlp_slot *slot = otlp_slot_of(&w->cached, f->function);
	if (ux_unlikely(!slot || slot->number == 0 || slot->file != f->file))
		return otlp_put_function(w, cache, f, ret);
	*ret = slot->number;
	return UX_OK;
}

/*
 * Gives an address the lines of its frame and of those that it is inlined into. Without a name of
 * the function that is called in the end, it gets none.
 */
static enum ux_code otlp_put_lines(struct otlp_work *w, const struct ux_frame_cache *cache,
				   uint32_t frame, size_t address)
{
	uint8_t *start = ux_otlp_lines_begin(&w->names, UX_FRAMES_MOST), *end = start;
	if (!start)
		return ux_otlp_names_status(&w->names, &w->req->err);
	for (size_t n = 0; frame != 0 && n < UX_FRAMES_MOST; n++) {
		const struct ux_cached_frame *f = ux_cached_frame(cache, frame);
		uint32_t function = 0;
		UX_TRY(otlp_function_of(w, cache, f, &function));
		end = function == NAMELESS ? start : ux_otlp_lines_put(end, function, f->line);
		frame = f->up;
	}
	if (end != start)
		ux_otlp_lines_end(&w->names, address, end);
	w->n[end != start ? UX_OTLP_NAMED : UX_OTLP_NAMELESS]++;
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
	otlp_cached_reset(&w->cached);
	for (size_t at = 0, done = 0; at < m->n; at += done) {
		UX_TRY(ux_resolve(&r, w->names.addresses + m->first + at, m->n - at, w->frames,
				  &done, &w->req->err));
		if (r.fresh)
			otlp_cached_reset(&w->cached);
		for (size_t i = 0; i < done; i++) {
			if (i + AHEAD < done)
				ux_frame_cache_prefetch(r.cache, w->frames[i + AHEAD]);
			UX_TRY(otlp_put_lines(w, r.cache, w->frames[i], m->first + at + i));
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
