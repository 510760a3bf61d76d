/* SPDX-License-Identifier: Apache-2.0 */
/* Names the locations of an OTLP message from the store. */
#include "protocols.h"

#include "otlp_cached.h"
#include "otlp_json.h"
#include "otlp_names.h"
#include "spare_memory.h"
#include "symbolize.h"

struct otlp_work {
	struct ux_request *req;
	struct ux_work work;
	struct ux_otlp_names names;
	struct ux_otlp_cached cached;
	uint64_t n[UX_OTLP_COUNTS];
	struct ux_resolved_stacks found;
};

static struct ux_spare_memory *otlp_spare_of(struct ux_request *req)
{
	return ux_module_cache_spare(ux_server_of(req)->cache);
}

static void otlp_work_free(struct otlp_work **w)
{
	if (!*w)
		return;
	if ((*w)->names.strings.fields.cap >= UX_SPARE_MIN)
		ux_spare_memory_give(otlp_spare_of((*w)->req), &(*w)->names.strings.fields);
	ux_otlp_names_deinit(&(*w)->names);
	ux_otlp_cached_deinit(&(*w)->cached);
	free(*w);
}

/* --- modules ---------------------------------------------------------------------------------- */

static enum ux_code otlp_resolve(struct otlp_work *w, struct ux_open_module *open,
				 const struct ux_otlp_module *m)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = open, .mode = UX_DEMANGLE_FULL, .work = &w->work, .brought = true};
	for (size_t at = 0; at < m->n; at += w->found.n) {
		UX_TRY(ux_resolve_stacks(&r, w->names.addresses + m->first + at, m->n - at,
					 &w->found, &w->req->err));
		if (r.fresh)
			ux_otlp_cached_reset(&w->cached);
		UX_TRY(ux_otlp_cached_put(&w->cached, r.cache, w->found.stacks, w->found.n,
					  m->first + at, &w->req->err));
	}
	return UX_OK;
}

/* Names the locations of a module, if the store has it. */
static enum ux_code otlp_symbolize_module(struct otlp_work *w, const struct ux_otlp_module *m)
{
	ux_cleanup(ux_open_module_release) struct ux_open_module *open = NULL;
	struct ux_error why = UX_ERROR_INIT;
	char id[UX_ID_TEXT];
	struct ux_module_later later = {0};
	UX_TRY(ux_request_work_charge(&w->work, UX_WORK_MODULE, &w->req->err));
	ux_id_format(&m->id, id);
	enum ux_code code = ux_server_module_open(ux_server_of(w->req), ux_caller_of(w->req)->ns,
						  id, /* wait_ms= */ 0, &open, &later, &why);
	if (code == UX_OK)
		code = ux_open_module_bring(open, w->names.addresses + m->first, m->n,
					    /* back= */ 0, &why);
	if (code == UX_OK)
		return otlp_resolve(w, open, m);
	if (code == UX_ENOMEM)
		return ux_error_nomem(&w->req->err);
	w->n[code == UX_EUNAVAILABLE ? UX_OTLP_PENDING : UX_OTLP_MISSING] += m->n;
	return UX_OK;
}

/*
 * Names the modules. The work of one request is bounded; the next message profits from the caches
 * that this one filled.
 */
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

enum ux_code ux_otlp_symbolize(struct ux_request *req, struct ux_bytes message,
			       struct ux_bytes json, struct ux_out *out)
{
	ux_cleanup(otlp_work_free) struct otlp_work *w = malloc(sizeof(*w));
	if (!w)
		return ux_error_nomem(&req->err);
	w->req = req;
	w->work = ux_request_work(req);
	w->names = (struct ux_otlp_names){.bytes = message, .quota = &req->answer};
	ux_otlp_cached_init(&w->cached, &w->names);
	memset(w->n, 0, sizeof(w->n));
	w->n[UX_OTLP_MESSAGES] = 1;
	UX_TRY(ux_otlp_names_read(&w->names, &req->err));
	if (w->names.locations.size >= UX_SPARE_ADDRESSES) {
		ux_spare_memory_take(otlp_spare_of(req), out);
		ux_spare_memory_take(otlp_spare_of(req), &w->names.strings.fields);
	}
	w->n[UX_OTLP_KEPT] = w->names.n_locations - (uint32_t)w->names.locations.size;
	w->n[UX_OTLP_UNKNOWN] = w->names.n_unknown;
	UX_TRY(otlp_symbolize_modules(w));
	w->n[UX_OTLP_NAMED] = w->cached.named;
	w->n[UX_OTLP_NAMELESS] = w->cached.nameless;
	UX_TRY(json.size > 0 ? ux_otlp_json_write(&w->names, json, out, &req->err)
			     : ux_otlp_names_write(&w->names, out, &req->err));
	ux_metrics_otlp(&ux_server_of(req)->metrics, w->n);
	return UX_OK;
}
