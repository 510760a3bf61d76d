/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /symbolicate/v5: what the Firefox Profiler asks. Source: Mozilla's "Symbolication APIs",
 * v5; the profiler validates the answer's types, so they are exactly those.
 */
#include "json_out.h"
#include "lookup.h"
#include "mozilla_modules.h"
#include "protocols.h"

enum {
	JOBS_MOST = 10,
	STACKS_MOST = 100000, /* of a job */
	FRAMES_MOST = 100000, /* of a stack */
	HEX_SIZE = 19,        /* "0x", 16 digits and a NUL */
	FUN_SIZE = 21         /* "fun_", 16 digits and a NUL */
};

/* One request at work. */
struct work {
	struct ux_request *req;
	struct ux_lookup lookup;
	struct ux_json j;
};

static void work_deinit(struct work *w)
{
	ux_lookup_deinit(&w->lookup);
}

static void put_hex(struct ux_json *j, const char *key, uint64_t v)
{
	char text[HEX_SIZE];
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	ux_json_key_cstr(j, key, text);
}

/*
 * A function that only the unwinder's tables know: the profiler makes one of all that have the same
 * name, so this one says where it begins, in the word that samply has for it.
 */
static void put_unnamed(struct work *w, const struct ux_frame *f, uint64_t offset)
{
	char text[FUN_SIZE];
	snprintf(text, sizeof(text), "fun_%" PRIx64, offset - f->offset);
	ux_json_key_cstr(&w->j, "function", text);
}

/* What a frame and an inlined call say alike; the profiler takes no line but a number. */
static void put_place(struct work *w, const struct ux_frame *f, uint64_t offset)
{
	if (strcmp(f->function, UX_NO_NAME) == 0)
		put_unnamed(w, f, offset);
	else
		ux_json_key_str(&w->j, "function", ux_lookup_name(&w->lookup, f->function));
	if (f->base[0] == '\0')
		return;
	ux_json_key(&w->j, "file");
	ux_json_path(&w->j, ux_bytes_cstr(f->dir), ux_bytes_cstr(f->base));
	if (f->line > 0)
		ux_json_key_u64(&w->j, "line", f->line);
}

/* The function itself is the outermost; the others are its inlined calls, innermost first. */
static void put_frames(struct work *w, const struct ux_frame *frames, size_t n, uint64_t offset)
{
	if (n == 0)
		return;
	const struct ux_frame *own = &frames[n - 1];
	put_place(w, own, offset);
	put_hex(&w->j, "function_offset", own->offset);
	if (n == 1)
		return;
	ux_json_key(&w->j, "inlines");
	ux_json_array_begin(&w->j);
	for (size_t i = 0; i + 1 < n; i++) {
		ux_json_object_begin(&w->j);
		put_place(w, &frames[i], offset);
		ux_json_object_end(&w->j);
	}
	ux_json_array_end(&w->j);
}

/* The answer is bounded alone and with those of all other requests. */
static enum ux_code check_size(struct work *w)
{
	struct ux_request *req = w->req;
	if (w->j.out->size > UX_SYMBOLIZE_ANSWER_MOST)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "the answer is over %d bytes; ask for fewer addresses",
				    UX_SYMBOLIZE_ANSWER_MOST);
	size_t bytes = req->body.size + w->j.out->cap;
	return bytes > req->held ? ux_request_hold(req, bytes) : UX_OK;
}

/* module: NULL for index -1, code that no module has. */
static enum ux_code put_frame(struct work *w, size_t number, struct ux_mozilla_module *module,
			      uint64_t offset)
{
	struct ux_frame frames[UX_FRAMES_MOST];
	struct ux_open_module *open = NULL;
	size_t n = 0;
	if (module)
		UX_TRY(ux_mozilla_module_open(w->req, module, &open));
	if (open) { /* offsets count from where the file's first byte is mapped */
		uint64_t base = ux_open_module_candidate(open, 0)->gsym.base;
		n = ux_lookup_frames(&w->lookup, open, base + offset, frames);
	}
	ux_json_object_begin(&w->j);
	ux_json_key_u64(&w->j, "frame", number);
	ux_json_key_str(&w->j, "module", module ? module->name : UX_STR("<unknown>"));
	put_hex(&w->j, "module_offset", offset);
	put_frames(w, frames, n, offset);
	ux_json_object_end(&w->j);
	return check_size(w);
}

static enum ux_code read_frame(struct work *w, const json_t *pair, struct ux_mozilla_modules *m,
			       struct ux_mozilla_module **ret_module, uint64_t *ret_offset)
{
	const json_t *index = json_array_get(pair, 0), *offset = json_array_get(pair, 1);
	if (json_array_size(pair) != 2 || !json_is_integer(index) || !json_is_integer(offset) ||
	    json_integer_value(offset) < 0)
		return ux_error_set(&w->req->err, UX_EINVAL,
				    "a frame is no pair of a module's index and an offset");
	json_int_t i = json_integer_value(index);
	if (i < -1 || (i >= 0 && (uint64_t)i >= m->n))
		return ux_error_set(&w->req->err, UX_EINVAL,
				    "a frame is of module %" JSON_INTEGER_FORMAT
				    "; memoryMap has %zu",
				    i, m->n);
	*ret_module = i < 0 ? NULL : &m->list[i];
	*ret_offset = (uint64_t)json_integer_value(offset);
	return UX_OK;
}

static enum ux_code put_stack(struct work *w, const json_t *stack, struct ux_mozilla_modules *m)
{
	if (!json_is_array(stack) || json_array_size(stack) > FRAMES_MOST)
		return ux_error_set(&w->req->err, UX_EINVAL,
				    "a stack is %s of %zu; expected an array of at most %d frames",
				    json_typeof(stack) == JSON_ARRAY ? "one" : "none",
				    json_array_size(stack), FRAMES_MOST);
	ux_json_array_begin(&w->j);
	for (size_t i = 0; i < json_array_size(stack); i++) {
		struct ux_mozilla_module *module = NULL;
		uint64_t offset = 0;
		UX_TRY(read_frame(w, json_array_get(stack, i), m, &module, &offset));
		UX_TRY(put_frame(w, i, module, offset));
	}
	ux_json_array_end(&w->j);
	return UX_OK;
}

static enum ux_code put_job(struct work *w, const json_t *job)
{
	ux_cleanup(ux_mozilla_modules_deinit) struct ux_mozilla_modules m = {0};
	const json_t *stacks = NULL;
	struct ux_error *err = &w->req->err;
	if (!json_is_object(job))
		return ux_error_set(err, UX_EINVAL, "a job is no object");
	UX_TRY(ux_mozilla_modules_read(&m, job, &w->req->arena, err));
	UX_TRY(ux_json_in_array(job, "stacks", STACKS_MOST, &stacks, err));
	if (!stacks)
		return ux_error_set(err, UX_EINVAL, "\"stacks\" is missing");
	ux_json_object_begin(&w->j);
	ux_json_key(&w->j, "stacks");
	ux_json_array_begin(&w->j);
	for (size_t i = 0; i < json_array_size(stacks); i++)
		UX_TRY(put_stack(w, json_array_get(stacks, i), &m));
	ux_json_array_end(&w->j);
	ux_mozilla_modules_write(&m, &w->j);
	ux_json_object_end(&w->j);
	return UX_OK;
}

enum ux_code ux_handle_symbolicate_v5(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_json_in_drop) json_t *doc = NULL;
	ux_cleanup(work_deinit) struct work w = {
		.req = req, .lookup = {.demangle = UX_DEMANGLE_FULL}, .j = ux_json_make(&req->out)};
	const json_t *jobs = NULL;
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(ux_json_in_array(doc, "jobs", JOBS_MOST, &jobs, &req->err));
	ux_json_object_begin(&w.j);
	ux_json_key(&w.j, "results");
	ux_json_array_begin(&w.j);
	if (!jobs) /* one alone needs no list */
		UX_TRY(put_job(&w, doc));
	for (size_t i = 0; i < json_array_size(jobs); i++)
		UX_TRY(put_job(&w, json_array_get(jobs, i)));
	ux_json_array_end(&w.j);
	ux_json_object_end(&w.j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
