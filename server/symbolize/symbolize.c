/* SPDX-License-Identifier: Apache-2.0 */
/* Answers symbolization requests, module by module. */
#include "symbolize.h"

#include "misses.h"

#include "clock.h"
#include "request_values.h"

enum {
	RETRY_AFTER_S = 1, /* seconds after which to retry for pending modules */
	QUICK_MAX = 128,   /* most addresses and modules of a quick request */
};

/* State of one request. */
struct symbolize_work {
	struct ux_request *req;
	struct ux_symbolize_request *request;
	const struct ux_symbolize_writer *writer;
	void *ctx;
	struct ux_work work;
	uint64_t end_ms;     /* the client's deadline, by the monotonic clock; 0: none */
	uint64_t names_left; /* budget: functions that may still be read to find some by name */
	size_t name;         /* index of the next entry of request->names */
	uint32_t frames[UX_RESOLVE_MAX];
};

static bool symbolize_is_over(const struct symbolize_work *w)
{
	return w->end_ms != 0 && (uint64_t)ux_clock_ms() >= w->end_ms;
}

/* --- modules ---------------------------------------------------------------------------------- */

/*
 * Fetches everything that the answer needs, so that a bucket that cannot be reached is known before
 * the answer begins. Functions are found by name in the whole file.
 */
static enum ux_code symbolize_bring(const struct symbolize_work *w,
				    const struct ux_requested_module *module,
				    struct ux_open_module *m, struct ux_error *why)
{
	const struct ux_symbolize_request *a = w->request;
	if (a->names.size > 0)
		return ux_open_module_complete(m, why);
	/* a request without addresses has no list of them */
	const uint64_t *pcs = module->n > 0 ? a->pcs.data + module->first : NULL;
	return ux_open_module_bring(m, pcs, module->n, a->return_addresses, why);
}

/* Opens the module from the store; resets `why`. */
static enum ux_code symbolize_module_get(struct ux_server *s, const struct ux_missing_module *m,
					 struct ux_open_module **ret,
					 struct ux_module_later *ret_later, struct ux_error *why)
{
	*why = (struct ux_error)UX_ERROR_INIT;
	enum ux_code code = ux_module_cache_get(s->cache, m->ns, m->id, ret, why);
	*ret_later =
		(struct ux_module_later){.retry_s = code == UX_EUNAVAILABLE ? RETRY_AFTER_S : 0};
	return code;
}

/* Says why the module is neither here nor known to be absent. */
static enum ux_code symbolize_module_later(const struct ux_missing_module *m, bool away,
					   struct ux_module_later *ret_later, struct ux_error *why)
{
	*ret_later = (struct ux_module_later){
		.retry_s = m->retry_after_s ? m->retry_after_s : RETRY_AFTER_S, .away = away};
	*why = (struct ux_error)UX_ERROR_INIT;
	if (away)
		return ux_error_set(why, UX_EUNAVAILABLE, UX_UPSTREAM_AWAY);
	return ux_error_set(why, UX_EUNAVAILABLE, "%.80s is being fetched; retry later", m->id);
}

/* Asks upstreams for a better file if only a stripped one is here; the next requests use it. */
static void symbolize_seek_better(struct ux_server *s, const char *ns, const char *id,
				  struct ux_open_module *m)
{
	struct ux_missing_module poor = {.ns = ns, .id = id, .poor = true};
	if (s->missing.fetch && ux_open_module_is_poor(m))
		(void)s->missing.fetch(s->missing.ctx, &poor);
}

enum ux_code ux_server_module_open(struct ux_server *s, const char *ns, const char *id,
				   uint32_t wait_ms, struct ux_open_module **ret,
				   struct ux_module_later *ret_later, struct ux_error *err)
{
	struct ux_missing_module m = {.ns = ns, .id = id, .wait_ms = wait_ms};
	struct ux_error why;
	enum ux_code code = symbolize_module_get(s, &m, ret, ret_later, &why);
	if (code == UX_ENOTFOUND && s->missing.fetch) {
		enum ux_missing_status status = s->missing.fetch(s->missing.ctx, &m);
		switch (status) {
		case UX_MISSING_NOWHERE:
			break;
		case UX_MISSING_AWAY:
		case UX_MISSING_PENDING:
			code = symbolize_module_later(&m, status == UX_MISSING_AWAY, ret_later,
						      &why);
			break;
		case UX_MISSING_ARRIVED:
			code = symbolize_module_get(s, &m, ret, ret_later, &why);
			break;
		}
	}
	if (code == UX_OK)
		symbolize_seek_better(s, ns, id, *ret);
	if (code == UX_ENOTFOUND)
		ux_misses_note(s->misses, ns, id, ux_store_now(s->store));
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

static enum ux_code symbolize_open_module(struct symbolize_work *w,
					  const struct ux_requested_module *module,
					  uint32_t wait_ms, struct ux_open_module **ret,
					  struct ux_module_later *ret_later, struct ux_error *why)
{
	struct ux_server *s = ux_server_of(w->req);
	const char *id = module->canonical;
	*ret_later = (struct ux_module_later){0};
	if (!id)
		UX_TRY(ux_module_id_parse(module->id, &w->req->arena, &id, why));
	UX_TRY(ux_server_module_open(s, ux_caller_of(w->req)->ns, id, wait_ms, ret, ret_later,
				     why));
	enum ux_code code = symbolize_bring(w, module, *ret, why);
	if (code == UX_OK)
		return UX_OK;
	ux_open_module_unref(ux_take(ret));
	ret_later->retry_s = code == UX_EUNAVAILABLE ? RETRY_AFTER_S : 0;
	return code;
}

/* Finds the module of a quick request, if it is open. */
static enum ux_code symbolize_find_open(struct symbolize_work *w,
					const struct ux_requested_module *module,
					struct ux_open_module **ret)
{
	const char *id = module->canonical;
	if (!id && ux_module_id_parse(module->id, &w->req->arena, &id, NULL) != UX_OK)
		return ux_request_too_long(w->req);
	*ret = ux_module_cache_find_open(ux_server_of(w->req)->cache, ux_caller_of(w->req)->ns, id);
	return *ret ? UX_OK : ux_request_too_long(w->req);
}

/* Tests whether the module is being fetched or extracted. */
static bool symbolize_is_coming(struct symbolize_work *w, const struct ux_requested_module *module,
				uint32_t wait_ms)
{
	struct ux_arena_mark mark = ux_arena_mark(&w->req->arena);
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	struct ux_module_later later = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = symbolize_open_module(w, module, wait_ms, &m, &later, &why);
	ux_arena_rewind(&w->req->arena, mark);
	return code == UX_EUNAVAILABLE && !later.away;
}

/*
 * If the client set a timeout, fetches missing modules: starts all fetches first, then waits for
 * each. Half of the time is reserved for the lookups.
 */
static enum ux_code symbolize_wait(struct symbolize_work *w)
{
	uint64_t until = (uint64_t)ux_clock_ms() + w->request->timeout_ms / 2;
	const struct ux_requested_modules *modules = &w->request->modules;
	ux_cleanup(ux_free_ptr) bool *coming = calloc(modules->size + 1, sizeof(*coming));
	if (!coming)
		return ux_error_nomem(&w->req->err);
	for (size_t i = 0; i < modules->size; i++) {
		UX_TRY(ux_request_work_charge(&w->work, UX_WORK_MODULE, &w->req->err));
		coming[i] = symbolize_is_coming(w, &modules->data[i], /* wait_ms= */ 0);
	}
	for (size_t i = 0; i < modules->size; i++) {
		uint64_t now = (uint64_t)ux_clock_ms();
		while (coming[i] && now < until) {
			uint32_t step = (uint32_t)ux_min(until - now, (uint64_t)UX_WORK_WAIT_MS);
			UX_TRY(ux_request_check(w->req));
			coming[i] = symbolize_is_coming(w, &modules->data[i], step);
			now = (uint64_t)ux_clock_ms();
		}
	}
	return UX_OK;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* Converts addresses relative to a function into addresses of the file. */
static enum ux_code symbolize_find_names(struct symbolize_work *w,
					 const struct ux_requested_module *module,
					 struct ux_open_module *m)
{
	struct ux_symbolize_request *a = w->request;
	while (w->name < a->names.size && a->names.data[w->name].at < module->first)
		w->name++;
	for (size_t i = w->name; i < a->names.size; i++) {
		struct ux_requested_name *name = &a->names.data[i];
		uint64_t start = 0;
		if (name->at >= module->first + module->n)
			break;
		enum ux_code code = ux_open_module_find(m, name->name, name->size, &w->names_left,
							&w->work, &start, &w->req->err);
		if (code == UX_EUNAVAILABLE)
			return ux_request_work_code(&w->work, &w->req->err);
		if (code != UX_OK && code != UX_ENOTFOUND)
			return code;
		name->known = code == UX_OK;
		a->pcs.data[name->at] += start;
	}
	return UX_OK;
}

/*
 * Clears the frames of addresses whose function does not exist, among n addresses from `first` on.
 */
static void symbolize_clear_names(struct symbolize_work *w, size_t first, size_t n)
{
	const struct ux_requested_names *names = &w->request->names;
	for (; w->name < names->size && names->data[w->name].at < first + n; w->name++)
		if (!names->data[w->name].known)
			w->frames[names->data[w->name].at - first] = 0;
}

/*
 * Writes the frames of the module's addresses until the deadline; *ret_n is the number of addresses
 * done.
 */
static enum ux_code symbolize_put_addresses(struct symbolize_work *w,
					    const struct ux_requested_module *module,
					    struct ux_resolver *r, size_t *ret_n)
{
	const uint64_t *pcs = w->request->pcs.data;
	for (*ret_n = 0; *ret_n < module->n;) {
		size_t first = module->first + *ret_n, done = 0;
		if (symbolize_is_over(w))
			return UX_OK;
		enum ux_code code = ux_resolve(r, pcs + first, module->n - *ret_n, w->frames, &done,
					       &w->req->err);
		if (code == UX_EUNAVAILABLE && w->req->quick)
			return ux_request_too_long(w->req);
		UX_TRY(code);
		assert(done > 0 && done <= module->n - *ret_n);
		symbolize_clear_names(w, first, done);
		UX_TRY(w->writer->put(w->ctx, r, w->frames, done));
		*ret_n += done;
	}
	return UX_OK;
}

static enum ux_code symbolize_put_found(struct symbolize_work *w, struct ux_open_module *m,
					struct ux_module_answer *s)
{
	const struct ux_requested_module *module = s->module;
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {.module = m,
							       .mode = w->request->demangle,
							       .back = w->request->return_addresses,
							       .work = &w->work,
							       .cached_only = w->req->quick,
							       .brought = true};
	s->open = true;
	s->quality = ux_open_module_quality(m);
	s->trust = ux_open_module_trust(m);
	s->deadline = w->end_ms != 0;
	w->writer->begin(w->ctx, s);
	UX_TRY(symbolize_find_names(w, module, m));
	UX_TRY(symbolize_put_addresses(w, module, &r, &s->n));
	if (s->n == module->n)
		return UX_OK;
	s->status = UX_MODULE_PENDING;
	s->reason = "deadline exceeded";
	s->retry_after_s = RETRY_AFTER_S;
	return UX_OK;
}

static enum ux_module_status symbolize_status_of(enum ux_code code)
{
	if (code == UX_OK)
		return UX_MODULE_FOUND;
	if (code == UX_ENOTFOUND)
		return UX_MODULE_MISSING;
	return code == UX_EUNAVAILABLE ? UX_MODULE_PENDING : UX_MODULE_FAILED;
}

static enum ux_code symbolize_put_module(struct symbolize_work *w,
					 const struct ux_requested_module *module,
					 enum ux_code *ret_code)
{
	struct ux_module_answer s = {.module = module, .reason = ""};
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	struct ux_error why = UX_ERROR_INIT;
	struct ux_module_later later = {0};
	UX_TRY(ux_request_work_charge(&w->work, UX_WORK_MODULE, &w->req->err));
	if (w->req->quick) {
		UX_TRY(symbolize_find_open(w, module, &m));
		*ret_code = UX_OK;
	} else if (symbolize_is_over(w)) {
		*ret_code = ux_error_set(&why, UX_EUNAVAILABLE, "deadline exceeded");
		later.retry_s = RETRY_AFTER_S;
	} else {
		*ret_code = symbolize_open_module(w, module, /* wait_ms= */ 0, &m, &later, &why);
	}
	s.retry_after_s = later.retry_s;
	if (*ret_code == UX_ENOMEM) {
		w->req->err = why;
		return *ret_code;
	}
	s.status = symbolize_status_of(*ret_code);
	if (*ret_code == UX_OK) {
		UX_TRY(symbolize_put_found(w, m, &s));
	} else {
		s.reason = *ret_code == UX_ENOTFOUND ? "" : why.text;
		w->writer->begin(w->ctx, &s);
	}
	w->writer->end(w->ctx, &s);
	return UX_OK;
}

/*
 * Tests whether a request can be answered immediately if its modules are open and its addresses
 * cached.
 */
static bool symbolize_is_small(const struct ux_symbolize_request *request)
{
	return request->pcs.size <= QUICK_MAX && request->modules.size <= QUICK_MAX &&
	       request->names.size == 0 && request->timeout_ms == 0;
}

enum ux_code ux_symbolize(struct ux_request *req, struct ux_symbolize_request *request,
			  const struct ux_symbolize_writer *writer, void *ctx,
			  enum ux_code *ret_first)
{
	if (req->quick && !symbolize_is_small(request))
		return ux_request_too_long(req);
	ux_cleanup(ux_free_ptr) struct symbolize_work *w = malloc(sizeof(*w));
	if (!w)
		return ux_error_nomem(&req->err);
	*w = (struct symbolize_work){
		.req = req,
		.request = request,
		.writer = writer,
		.ctx = ctx,
		.work = ux_request_work(req),
		.end_ms = request->timeout_ms ? (uint64_t)ux_clock_ms() + request->timeout_ms : 0,
		.names_left = UX_SYMBOLIZE_NAMES_MAX};
	if (request->timeout_ms != 0 && ux_server_of(req)->missing.fetch)
		UX_TRY(symbolize_wait(w));
	for (size_t i = 0; i < request->modules.size; i++) {
		struct ux_arena_mark mark = ux_arena_mark(&req->arena);
		enum ux_code code = UX_OK;
		UX_TRY(symbolize_put_module(w, &request->modules.data[i], &code));
		ux_arena_rewind(&req->arena, mark);
		if (i == 0)
			*ret_first = code;
	}
	return UX_OK;
}
