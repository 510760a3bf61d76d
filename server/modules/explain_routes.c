/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/explain: the candidates of a module, their answers for an address, the one in use, and how to
 * improve the result.
 */
#include "frame_cache.h"
#include "json_out.h"
#include "modules.h"
#include "open_candidate.h"
#include "request_values.h"
#include "request_work.h"
#include "text.h"
#include "upstream_set.h"

enum {
	/* bytes; the web page also needs a tree of the answer */
	ANSWER_MAX = 16 << 20,
	APART_MAX = 20, /* files that are named because they have the same build ID */
};

/* State of one explanation. */
struct explain {
	struct ux_request *req;
	struct ux_json j;
	struct ux_module module;
	bool known;    /* the module exists */
	bool has_addr; /* an address was given */
	uint64_t addr;
	bool answered; /* the candidate in use has been found */
	struct ux_work work;
	enum ux_code code; /* a code other than UX_OK ends the explanation */
};

static enum ux_code explain_find(struct explain *e, const char **ret_id)
{
	struct ux_request *req = e->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, ret_id, &req->err));
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ix->modules.find(ix, ux_caller_of(req)->ns, *ret_id, &req->arena, &e->module, &why);
	e->known = code == UX_OK;
	if (code != UX_OK && code != UX_ENOTFOUND)
		return ux_error_set(&req->err, code, "%s", why.text);
	return UX_OK;
}

static enum ux_code explain_read_addr(struct explain *e)
{
	struct ux_bytes text;
	struct ux_error *err = &e->req->err;
	e->has_addr = ux_request_query(e->req, "addr", &text);
	if (!e->has_addr || ux_hex_parse_u64(text, /* hex= */ false, &e->addr))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL, "'%.*s' is not an address; expected 0x... or decimal",
			    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
}

/* Writes frames in the same form as /v1/symbolize. */
static void explain_put_frames(struct explain *e, const struct ux_frame *frames, size_t n)
{
	atomic_size_t bytes = 0;
	uint32_t number = 0;
	struct ux_frame_cache *cache = ux_frame_cache_create(UX_DEMANGLE_FULL, &bytes);
	bool good = cache != NULL;
	if (good) {
		ux_frame_cache_lock(cache);
		good = ux_frame_cache_add(cache, e->addr, frames, n, &number);
		ux_frame_cache_unlock(cache);
	}
	struct ux_out *out = ux_json_value(&e->j);
	if (good)
		ux_frame_cache_json(cache, number, out);
	else
		out->failed = true;
	ux_frame_cache_unref(cache);
	if (e->code == UX_OK)
		e->code = ux_out_status(out, &e->req->err);
}

/* Looks the address up in a GSYM, and fetches only the parts of it that the lookup needs. */
static enum ux_code explain_look_up(struct explain *e, struct ux_open_candidate *open,
				    const struct ux_candidate *c,
				    struct ux_frame frames[UX_FRAMES_MAX], size_t *ret_n,
				    struct ux_error *err)
{
	struct ux_blobs *b = ux_server_of(e->req)->store->blobs;
	UX_TRY(ux_open_candidate_open(open, b, c, /* index_max= */ 0, err));
	enum ux_code code = ux_open_candidate_bring(open, &e->addr, 1, NULL);
	if (code != UX_OK)
		UX_TRY(ux_open_candidate_complete(open, b, /* index_max= */ 0, err));
	return ux_gsym_lookup_within(ux_open_candidate_gsym(open), e->addr, &e->work, frames,
				     UX_FRAMES_MAX, ret_n, err);
}

/*
 * Writes the frames that a GSYM has for the address. The first GSYM that has any is the one in use.
 */
static void explain_put_answer(struct explain *e, const struct ux_candidate *c)
{
	ux_cleanup(ux_open_candidate_close) struct ux_open_candidate open = {0};
	struct ux_frame frames[UX_FRAMES_MAX];
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	size_t n = 0;
	enum ux_code code = explain_look_up(e, &open, c, frames, &n, &why);
	if (code == UX_EUNAVAILABLE && why.code == UX_OK)
		e->code = ux_request_work_code(&e->work, &e->req->err);
	if (code == UX_ENOMEM) { /* an error of the server says nothing about the file */
		e->req->err = why;
		e->code = code;
	}
	if (code == UX_OK && n > 0) {
		ux_json_key_bool(&e->j, "chosen", !e->answered);
		ux_json_key_cstr(&e->j, "says",
				 e->answered ? "has this address; a better candidate answers"
					     : "has this address");
		ux_json_key(&e->j, "frames");
		explain_put_frames(e, frames, n);
		e->answered = true;
		return;
	}
	ux_json_key_bool(&e->j, "chosen", false);
	/* System messages about files of the server are only logged. */
	ux_json_key_cstr(&e->j, "says",
			 code == UX_ENOTFOUND && why.os_errno == 0 ? "no function at this address"
			 : why.os_errno != 0 || code == UX_EIO
				 ? "content is unreadable"
				 : ux_error_format(&why, text, sizeof(text)));
}

static const char *explain_what_it_is_for(const struct ux_candidate *c)
{
	switch (c->kind) {
	case UX_KIND_EXECUTABLE:
	case UX_KIND_DEBUGINFO:
		return "serves debuggers; its symbols are in a separate gsym";
	case UX_KIND_DWO:
	case UX_KIND_DWP:
		return "parts of the debug information of a split build";
	case UX_KIND_SOURCES:
		return "source files";
	case UX_KIND_GSYM:
	case UX_KIND_COUNT:
		break;
	}
	return "";
}

static void explain_put_candidate(struct explain *e, const struct ux_candidate *c)
{
	struct ux_json *j = &e->j;
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "kind", ux_kind_name(c->kind));
	ux_json_key_cstr(j, "state", ux_candidate_state_name(c->state));
	if (c->reason[0] != '\0')
		ux_json_key_cstr(j, "reason", c->reason);
	ux_json_key_cstr(j, "trust", ux_trust_name(c->trust));
	ux_json_key_cstr(j, "origin", ux_origin_name(c->origin));
	if (c->file_name[0] != '\0')
		ux_json_key_cstr(j, "file", c->file_name);
	ux_json_symbols(j, c->quality, &c->counts);
	if (c->state != UX_CANDIDATE_READY)
		ux_json_key_cstr(j, "says",
				 c->state == UX_CANDIDATE_PENDING ? "is being extracted"
								  : "failed");
	else if (c->kind != UX_KIND_GSYM)
		ux_json_key_cstr(j, "says", explain_what_it_is_for(c));
	else if (c->trust < ux_module_best(&e->module, UX_KIND_GSYM)->trust) {
		ux_json_key_bool(j, "chosen", false);
		ux_json_key_cstr(j, "says", "gives no names: other symbols are more trusted");
	} else if (e->has_addr)
		explain_put_answer(e, c);
	else {
		ux_json_key_bool(j, "chosen", !e->answered);
		ux_json_key_cstr(j, "says",
				 e->answered ? "fills gaps of better candidates" : "answers first");
		e->answered = true;
	}
	ux_json_object_end(j);
}

/* Suggests how to improve the quality. */
static const char *explain_advice_of(enum ux_quality best)
{
	switch (best) {
	case UX_QUALITY_NONE:
		return "upload the file itself: the uploaded file has no symbols";
	case UX_QUALITY_DYNSYM:
		return "upload the unstripped file or its debug file: this one has only .dynsym";
	case UX_QUALITY_SYMTAB:
		return "upload the file or its debug file as built with -g: this one has no lines";
	case UX_QUALITY_GOPCLNTAB:
	case UX_QUALITY_LINES:
		return "upload the debug information: this file has no inlined calls";
	case UX_QUALITY_INLINES:
	case UX_QUALITY_COUNT:
		break;
	}
	return NULL;
}

/*
 * Names the supplementary files that were missing when the module's debug information was
 * extracted.
 */
static void explain_advise_supplementary(struct explain *e)
{
	struct ux_request *req = e->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_module *m = &e->module;
	for (size_t i = 0; i < m->n_candidates; i++) {
		char text[UX_INDEX_ID_BYTES + 128];
		struct ux_supplementary s;
		const struct ux_candidate *c = &m->candidates[i];
		bool elf = c->kind == UX_KIND_EXECUTABLE || c->kind == UX_KIND_DEBUGINFO;
		if (!elf ||
		    ix->modules.supplementary(ix, c->number, &req->arena, &s, NULL) != UX_OK ||
		    (s.state != UX_SUPPLEMENTARY_ABSENT && s.state != UX_SUPPLEMENTARY_UNUSABLE))
			continue;
		snprintf(text, sizeof(text),
			 "push the supplementary file %s with --with-debuginfo: it has the names "
			 "that dwz moved out",
			 s.id);
		ux_json_cstr(&e->j, text);
	}
}

/*
 * Names the files that agents found with the build ID of this module, or the build ID that this
 * module is kept apart from. A build ID that several files have is a mistake of their builds, or an
 * attack.
 */
static enum ux_code explain_put_apart(struct explain *e)
{
	struct ux_request *req = e->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_module_search what = {.limit = APART_MAX};
	struct ux_module_list list = {0};
	const struct ux_module *m = &e->module;
	ux_json_key(&e->j, "kept_apart");
	ux_json_array_begin(&e->j);
	for (size_t i = 0; i < m->n_candidates && !what.apart; i++)
		if (m->candidates[i].apart_from[0] != '\0')
			ux_json_cstr(&e->j, what.apart = m->candidates[i].apart_from);
	if (!what.apart && m->n_ids > 0 && !ux_id_text_is_file(m->ids[0]))
		what.apart = m->ids[0];
	if (what.apart)
		UX_TRY(ix->modules.search_newest(ix, ux_caller_of(req)->ns, &what, &req->arena,
						 &list, NULL, &req->err));
	for (size_t i = 0; i < list.n; i++)
		if (list.modules[i].number != m->number && list.modules[i].n_ids > 0)
			ux_json_cstr(&e->j, list.modules[i].ids[0]);
	ux_json_array_end(&e->j);
	return UX_OK;
}

static void explain_put_advice(struct explain *e, const char *id)
{
	struct ux_json *j = &e->j;
	const struct ux_module *m = &e->module;
	enum ux_quality best = e->known ? ux_module_quality(m) : UX_QUALITY_NONE;
	const char *advice = explain_advice_of(best);
	ux_json_key(j, "advice");
	ux_json_array_begin(j);
	if (!e->known) {
		ux_json_cstr(j, "no file with this ID was uploaded: unhex push FILE");
		ux_upstream_set_advise(e->req, id, j);
	} else if (advice)
		ux_json_cstr(j, advice);
	explain_advise_supplementary(e);
	if (e->known && ux_module_in_state(m, UX_CANDIDATE_PENDING))
		ux_json_cstr(j, "wait: better symbols may be on their way");
	if (e->known && e->has_addr && !e->answered && best != UX_QUALITY_NONE)
		ux_json_cstr(j, "no candidate has a function at this address: check that it is an "
				"address in this build's file, not in a process");
	ux_json_array_end(j);
}

static const char *explain_status_of(const struct explain *e)
{
	if (!e->known)
		return "missing";
	if (ux_module_best(&e->module, UX_KIND_GSYM))
		return "found";
	if (ux_module_in_state(&e->module, UX_CANDIDATE_PENDING))
		return "pending";
	return ux_module_in_state(&e->module, UX_CANDIDATE_FAILED) ? "failed" : "missing";
}

enum ux_code ux_handle_explain(struct ux_request *req, struct ux_response *res)
{
	struct explain e = {.req = req, .j = ux_json_make(&req->out), .work = ux_request_work(req)};
	struct ux_json *j = &e.j;
	const char *id = NULL;
	ux_request_answer_max(req, ANSWER_MAX);
	UX_TRY(explain_read_addr(&e));
	UX_TRY(explain_find(&e, &id));
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "id", id);
	const char *status = explain_status_of(&e), *why = NULL;
	if (strcmp(status, "missing") == 0)
		why = ux_upstream_set_why_unknown(req, id);
	ux_json_key_cstr(j, "status", why ? "pending" : status);
	if (why)
		ux_json_key_cstr(j, "reason", why);
	if (e.known)
		ux_json_key_cstr(j, "quality", ux_quality_name(ux_module_quality(&e.module)));
	ux_json_key(j, "ids");
	ux_json_array_begin(j);
	for (size_t i = 0; i < e.module.n_ids; i++)
		ux_json_cstr(j, e.module.ids[i]);
	ux_json_array_end(j);
	ux_json_key(j, "candidates");
	ux_json_array_begin(j);
	for (size_t i = 0; i < e.module.n_candidates && e.code == UX_OK; i++)
		explain_put_candidate(&e, &e.module.candidates[i]);
	UX_TRY(e.code);
	ux_json_array_end(j);
	UX_TRY(explain_put_apart(&e));
	UX_TRY(ux_upstream_set_explain(req, id, j));
	explain_put_advice(&e, id);
	ux_json_object_end(j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
