/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /symbolicate/v5: symbolication for the Firefox Profiler. Source: Mozilla's "Symbolication
 * APIs", v5. The profiler validates the types in the answer, so they must match exactly.
 */
#include "json_out.h"
#include "mozilla_modules.h"
#include "protocols.h"
#include "symbolize.h"

enum {
	JOBS_MAX = 10,
	STACKS_MAX = 100000, /* stacks of one job */
	FRAMES_MAX = 100000, /* frames of one stack */
	HEX_SIZE = 19,       /* "0x", 16 digits and a NUL */
	FUN_SIZE = 21,       /* "fun_", 16 digits and a NUL */
	WINDOW = UX_RESOLVE_MAX,
	NO_ENTRY = UINT16_MAX, /* end of a chain of entries */
};
static_assert((int)WINDOW < (int)NO_ENTRY, "entries have 16 bits");

/* The elements of an answer, in order. */
enum entry_kind {
	STACK_BEGIN,
	STACK_END,
	FRAME,
};

struct entry {
	enum entry_kind kind;
	uint16_t next; /* next frame of the same module */
	uint32_t number;
	/* NULL for index -1, which means code outside of all modules */
	struct ux_mozilla_module *module;
	uint64_t offset;
	/* range of its members in the window's texts; 0 bytes: nothing is known */
	size_t text, text_size;
};

/*
 * State of one request. Frames arrive in the order of stacks, and are resolved in batches of one
 * module. So a window of frames is read, resolved module by module, and then written in the
 * original order.
 */
struct symbolicate_work {
	struct ux_request *req;
	struct ux_work work;
	struct ux_json j;
	/* text of the window's frames, in the order in which they were resolved */
	struct ux_out texts;
	size_t n;
	struct entry entries[WINDOW];
	uint64_t pcs[WINDOW]; /* the addresses of one module, and their entries */
	uint16_t indexes[WINDOW];
	uint32_t frames[WINDOW];
	uint64_t offsets[WINDOW];
};

static void symbolicate_put_hex(struct ux_json *j, const char *key, uint64_t v)
{
	char text[HEX_SIZE];
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	ux_json_key_cstr(j, key, text);
}

/* --- the members of one frame ----------------------------------------------------------------- */

/*
 * Writes a function that is known only from unwind tables. The profiler merges functions with the
 * same name, so this name contains the start address, in the same form as samply's.
 */
static void symbolicate_put_unnamed(struct ux_json *j, uint64_t start)
{
	char text[FUN_SIZE];
	snprintf(text, sizeof(text), "fun_%" PRIx64, start);
	ux_json_key_cstr(j, "function", text);
}

/*
 * Writes the members that frames and inlined calls have in common. For a line, the profiler accepts
 * only a number.
 */
static void symbolicate_put_source(struct ux_json *j, const struct ux_frame_text *f, uint64_t start)
{
	if (ux_bytes_eq(f->function, UX_STR(UX_NO_NAME)))
		symbolicate_put_unnamed(j, start);
	else
		ux_json_key_str(j, "function", f->function);
	if (f->base.size == 0)
		return;
	ux_json_key(j, "file");
	ux_json_path(j, f->dir, f->base);
	if (f->line > 0)
		ux_json_key_u64(j, "line", f->line);
}

/* The outermost frame is the function; the others are its inlined calls, innermost first. */
static void symbolicate_put_members(struct ux_json *j, const struct ux_frame_cache *cache,
				    uint32_t frame, uint64_t start, uint64_t function_offset)
{
	uint32_t own = frame;
	while (ux_cached_frame(cache, own)->up != 0)
		own = ux_cached_frame(cache, own)->up;
	struct ux_frame_text text = ux_frame_cache_text(cache, own);
	symbolicate_put_source(j, &text, start);
	symbolicate_put_hex(j, "function_offset", function_offset);
	if (frame == own)
		return;
	ux_json_key(j, "inlines");
	ux_json_array_begin(j);
	for (; frame != own; frame = ux_cached_frame(cache, frame)->up) {
		text = ux_frame_cache_text(cache, frame);
		ux_json_object_begin(j);
		symbolicate_put_source(j, &text, start);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

/* Appends the members of an entry to w->texts, without the braces around them. */
static enum ux_code symbolicate_put_entry(struct symbolicate_work *w, const struct ux_resolver *r,
					  size_t i, struct entry *e)
{
	struct ux_json j = ux_json_make(&w->texts);
	uint32_t frame = w->frames[i];
	if (frame == 0)
		return UX_OK;
	ux_json_object_begin(&j);
	e->text = w->texts.size;
	symbolicate_put_members(&j, r->cache, frame, e->offset - w->offsets[i], w->offsets[i]);
	e->text_size = w->texts.size - e->text;
	ux_json_object_end(&j);
	return ux_out_status(&w->texts, &w->req->err);
}

/* --- a window of frames ----------------------------------------------------------------------- */

/* Resolves the chain of entries of a module, and empties it. */
static enum ux_code symbolicate_resolve(struct symbolicate_work *w, struct ux_mozilla_module *m)
{
	struct ux_open_module *open = NULL;
	size_t n = 0, done = 0;
	if (m->state == UX_MOZILLA_UNUSED)
		UX_TRY(ux_request_work_charge(&w->work, UX_WORK_MODULE, &w->req->err));
	UX_TRY(ux_mozilla_module_open(w->req, m, &open));
	/*
	 * Offsets in a request count from the address at which the file's first byte is mapped. If
	 * that is unknown, names would be wrong, so give none.
	 */
	uint64_t base = 0;
	bool known = open && ux_open_module_image_start(open, &base, NULL) == UX_OK;
	for (uint16_t k = m->first; k != NO_ENTRY; k = w->entries[k].next) {
		w->indexes[n] = k;
		w->pcs[n++] = base + w->entries[k].offset;
	}
	m->queued = false;
	if (!known)
		return UX_OK;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_open_module_bring(open, w->pcs, n, /* back= */ 0, &why);
	if (code == UX_ENOMEM || code == UX_EUNAVAILABLE)
		return ux_error_pass(&w->req->err, code, &why);
	if (code != UX_OK) {
		ux_mozilla_module_lose(m);
		return UX_OK;
	}
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {.module = open,
							       .mode = UX_DEMANGLE_FULL,
							       .work = &w->work,
							       .offsets = w->offsets,
							       .brought = true};
	for (size_t at = 0; at < n; at += done) {
		UX_TRY(ux_resolve(&r, w->pcs + at, n - at, w->frames, &done, &w->req->err));
		for (size_t i = 0; i < done; i++)
			UX_TRY(symbolicate_put_entry(w, &r, i, &w->entries[w->indexes[at + i]]));
	}
	return UX_OK;
}

/* Chains the entries of each module. */
static void symbolicate_group(struct symbolicate_work *w)
{
	for (size_t i = w->n; i-- > 0;) {
		struct entry *e = &w->entries[i];
		if (e->kind != FRAME || !e->module)
			continue;
		struct ux_mozilla_module *m = e->module->same;
		e->next = m->queued ? m->first : (uint16_t)NO_ENTRY;
		m->first = (uint16_t)i;
		m->queued = true;
	}
}

static void symbolicate_put_frame(struct symbolicate_work *w, const struct entry *e)
{
	ux_json_object_begin(&w->j);
	ux_json_key_u64(&w->j, "frame", e->number);
	ux_json_key_str(&w->j, "module", e->module ? e->module->name : UX_STR("<unknown>"));
	symbolicate_put_hex(&w->j, "module_offset", e->offset);
	if (e->text_size > 0) {
		ux_out_u8(w->j.out, ',');
		ux_out_put(w->j.out, w->texts.data + e->text, e->text_size);
	}
	ux_json_object_end(&w->j);
}

/* Resolves and writes the frames of the window. */
static enum ux_code symbolicate_flush(struct symbolicate_work *w)
{
	symbolicate_group(w);
	for (size_t i = 0; i < w->n; i++) {
		struct ux_mozilla_module *m = w->entries[i].module;
		if (m && m->same->queued)
			UX_TRY(symbolicate_resolve(w, m->same));
	}
	for (size_t i = 0; i < w->n; i++) {
		const struct entry *e = &w->entries[i];
		if (e->kind == STACK_BEGIN)
			ux_json_array_begin(&w->j);
		else if (e->kind == STACK_END)
			ux_json_array_end(&w->j);
		else
			symbolicate_put_frame(w, e);
		UX_TRY(ux_out_status(w->j.out, &w->req->err));
	}
	w->n = 0;
	ux_out_reset(&w->texts);
	return UX_OK;
}

static enum ux_code symbolicate_add(struct symbolicate_work *w, struct entry e)
{
	if (w->n == WINDOW)
		UX_TRY(symbolicate_flush(w));
	w->entries[w->n++] = e;
	return UX_OK;
}

/* --- the request ------------------------------------------------------------------------------ */

static enum ux_code symbolicate_read_frame(struct symbolicate_work *w, const json_t *pair,
					   struct ux_mozilla_modules *m,
					   struct ux_mozilla_module **ret_module,
					   uint64_t *ret_offset)
{
	const json_t *index = json_array_get(pair, 0), *offset = json_array_get(pair, 1);
	if (json_array_size(pair) != 2 || !json_is_integer(index) || !json_is_integer(offset) ||
	    json_integer_value(offset) < 0)
		return ux_error_set(&w->req->err, UX_EINVAL,
				    "a frame is not a pair of module index and offset");
	json_int_t i = json_integer_value(index);
	if (i < -1 || (i >= 0 && (uint64_t)i >= m->n))
		return ux_error_set(
			&w->req->err, UX_EINVAL,
			"a frame has module %" JSON_INTEGER_FORMAT "; memoryMap has %zu", i, m->n);
	*ret_module = i < 0 ? NULL : &m->list[i];
	*ret_offset = (uint64_t)json_integer_value(offset);
	return UX_OK;
}

static enum ux_code symbolicate_read_stack(struct symbolicate_work *w, const json_t *stack,
					   struct ux_mozilla_modules *m)
{
	if (!json_is_array(stack) || json_array_size(stack) > FRAMES_MAX)
		return ux_error_set(&w->req->err, UX_EINVAL,
				    "a stack is %s of %zu; expected an array of at most %d frames",
				    json_typeof(stack) == JSON_ARRAY ? "one" : "none",
				    json_array_size(stack), FRAMES_MAX);
	UX_TRY(symbolicate_add(w, (struct entry){.kind = STACK_BEGIN}));
	for (size_t i = 0; i < json_array_size(stack); i++) {
		struct entry e = {.kind = FRAME, .number = (uint32_t)i};
		UX_TRY(symbolicate_read_frame(w, json_array_get(stack, i), m, &e.module,
					      &e.offset));
		UX_TRY(symbolicate_add(w, e));
	}
	return symbolicate_add(w, (struct entry){.kind = STACK_END});
}

static enum ux_code symbolicate_job(struct symbolicate_work *w, const json_t *job)
{
	ux_cleanup(ux_mozilla_modules_deinit) struct ux_mozilla_modules m = {0};
	const json_t *stacks = NULL;
	struct ux_error *err = &w->req->err;
	if (!json_is_object(job))
		return ux_error_set(err, UX_EINVAL, "a job is not an object");
	UX_TRY(ux_mozilla_modules_read(&m, job, &w->req->arena, err));
	UX_TRY(ux_json_in_array(job, "stacks", STACKS_MAX, &stacks, err));
	if (!stacks)
		return ux_error_set(err, UX_EINVAL, "\"stacks\" is missing");
	ux_json_object_begin(&w->j);
	ux_json_key(&w->j, "stacks");
	ux_json_array_begin(&w->j);
	for (size_t i = 0; i < json_array_size(stacks); i++)
		UX_TRY(symbolicate_read_stack(w, json_array_get(stacks, i), &m));
	UX_TRY(symbolicate_flush(w));
	ux_json_array_end(&w->j);
	ux_mozilla_modules_write(&m, &w->j);
	ux_json_object_end(&w->j);
	return UX_OK;
}

static enum ux_code symbolicate_jobs(struct symbolicate_work *w, const json_t *doc)
{
	const json_t *jobs = NULL;
	UX_TRY(ux_json_in_array(doc, "jobs", JOBS_MAX, &jobs, &w->req->err));
	ux_json_object_begin(&w->j);
	ux_json_key(&w->j, "results");
	ux_json_array_begin(&w->j);
	if (!jobs) /* a single job may be sent without a list */
		UX_TRY(symbolicate_job(w, doc));
	for (size_t i = 0; i < json_array_size(jobs); i++)
		UX_TRY(symbolicate_job(w, json_array_get(jobs, i)));
	ux_json_array_end(&w->j);
	ux_json_object_end(&w->j);
	ux_out_u8(&w->req->out, '\n');
	return UX_OK;
}

enum ux_code ux_handle_symbolicate_v5(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	struct symbolicate_work *w = malloc(sizeof(*w));
	if (!w)
		return ux_error_nomem(&req->err);
	w->req = req;
	w->work = ux_request_work(req);
	w->j = ux_json_make(&req->out);
	w->texts = (struct ux_out){.quota = &req->answer};
	w->n = 0;
	enum ux_code code = symbolicate_jobs(w, doc);
	ux_out_deinit(&w->texts);
	free(w);
	return code == UX_OK ? ux_response_out(req, res, "application/json") : code;
}
