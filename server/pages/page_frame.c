/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /frame?id=&addr=: the functions at an address, with lines of their source files and the
 * machine code.
 */
#include "page.h"
#include "pages.h"

#include "module_code.h"
#include "path_canonical.h"
#include "request_values.h"
#include "request_work.h"
#include "resolve.h"
#include "symbolize.h"
#include "text.h"
#include "upstream_set.h"
#include "vec.h"

enum {
	LINES_AROUND = 7,         /* lines of a source file above and below the requested one */
	SOURCES_MAX = 16,         /* functions of one address shown with source */
	SOURCE_BYTES = 16 << 20,  /* bytes of a source file that are read at most */
	FILES_MAX = 32,           /* source files of one page */
	LINES_MAX = 1 << 18,      /* lines of a source file shown above instructions */
	LINE_SHOWN = 240,         /* bytes shown of such a line */
	DEPTH_SHOWN = 64,         /* inlined calls that get a bar each */
	INSTRUCTIONS_BEFORE = 60, /* instructions shown before the address, and as many after it */
	INSTRUCTIONS_BEHIND = 60,
	CODE_ROWS_MAX = UX_MODULE_CODE_MAX, /* instructions in one answer of the child */
};

static const struct ux_page page = {.title = "Frame - unhex", .section = UX_PAGE_SYMBOLIZE};

UX_VEC(frame_lines, uint32_t);

/* A source file of instructions or frames. */
struct frame_file {
	struct ux_bytes dir, base; /* as the symbols name it */
	const char *path;          /* its path in the store; NULL: not uploaded */
	struct ux_mapping pack;    /* the bundle that contains it */
	struct ux_bytes text;
	struct frame_lines starts; /* offset of each line; empty until needed */
};

/* State of the page. */
struct frame_view {
	struct ux_request *req;
	struct ux_work work;
	const char *id; /* canonical */
	uint64_t pc;
	struct ux_open_module *module;
	struct frame_file files[FILES_MAX]; /* files that were looked up */
	size_t n_files;
	bool looked; /* the source package was looked up */
	bool later;  /* a file is being unpacked, or its storage does not answer */
	enum ux_source_package_state package_state;
	const char *package; /* its name; NULL: none */
};

static void frame_view_deinit(struct frame_view *v)
{
	for (size_t i = 0; i < v->n_files; i++) {
		ux_file_unmap(&v->files[i].pack);
		frame_lines_deinit(&v->files[i].starts);
	}
	ux_open_module_unref(v->module);
}

/* --- source ----------------------------------------------------------------------------------- */

/* Maps the file, if it was uploaded with the module. */
static enum ux_code frame_file_open(struct frame_view *v, struct frame_file *file)
{
	struct ux_request *req = v->req;
	struct ux_server *server = ux_server_of(req);
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_source_request request = {.ns = ux_caller_of(req)->ns, .id = v->id};
	struct ux_source s;
	ux_out_path(&name, file->dir, file->base);
	UX_TRY(ux_out_status(&name, &req->err));
	request.relative = name.size > 0 && name.data[0] != '/';
	enum ux_code code =
		ux_path_of_source(ux_out_bytes(&name), &req->arena, &request.path, NULL);
	if (code == UX_OK)
		code = ux_source_lookup(server->store, &request, &req->arena, &s, NULL);
	if (code == UX_ENOTFOUND && !v->looked) {
		v->looked = true;
		v->package_state =
			ux_source_package_state(server, &request, &req->arena, &v->package);
		/* its files may have arrived between the two lookups */
		if (v->package && v->package_state == UX_SOURCE_PACKAGE_NONE)
			code = ux_source_lookup(server->store, &request, &req->arena, &s, NULL);
	}
	if (code == UX_ENOMEM)
		return ux_error_nomem(&req->err);
	if (code == UX_OK && s.size <= SOURCE_BYTES)
		code = ux_blobs_map(server->store->blobs, &s.blob, s.blob_size, &file->pack, NULL);
	v->later = v->later || code == UX_EUNAVAILABLE;
	if (code != UX_OK || s.size > SOURCE_BYTES ||
	    !ux_bytes_sub(file->pack.bytes, s.off, s.size, &file->text))
		return UX_OK;
	UX_TRY(ux_request_work_charge(&v->work, file->text.size, &req->err));
	file->path = s.path;
	return UX_OK;
}

/*
 * Gets the file that a frame names. *ret is NULL if it was not uploaded, or if the address has too
 * many files.
 */
static enum ux_code frame_file_get(struct frame_view *v, const struct ux_frame_text *f,
				   struct frame_file **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < v->n_files; i++) {
		struct frame_file *known = &v->files[i];
		if (ux_bytes_eq(known->base, f->base) && ux_bytes_eq(known->dir, f->dir)) {
			*ret = known->path ? known : NULL;
			return UX_OK;
		}
	}
	if (v->n_files == FILES_MAX || f->base.size == 0)
		return UX_OK;
	struct frame_file *file = &v->files[v->n_files++];
	const char *dir = ux_arena_strndup(&v->req->arena, f->dir.data, f->dir.size);
	const char *base = ux_arena_strndup(&v->req->arena, f->base.data, f->base.size);
	if (!dir || !base)
		return ux_arena_fail(&v->req->arena, &v->req->err);
	*file = (struct frame_file){.dir = ux_bytes(dir, f->dir.size),
				    .base = ux_bytes(base, f->base.size)};
	UX_TRY(frame_file_open(v, file));
	*ret = file->path ? file : NULL;
	return UX_OK;
}

/* Gets the text of one line without blanks at its ends; empty if the file has no such line. */
static enum ux_code frame_file_line(struct frame_view *v, struct frame_file *file, uint32_t line,
				    struct ux_bytes *ret)
{
	struct ux_bytes text = file->text;
	*ret = UX_BYTES_NONE;
	for (size_t at = 0; file->starts.size == 0 || (at < text.size && at > 0);) {
		if (file->starts.size == LINES_MAX)
			break;
		if (!frame_lines_append(&file->starts, (uint32_t)at))
			return ux_error_nomem(&v->req->err);
		const uint8_t *stop = memchr(text.data + at, '\n', text.size - at);
		at = stop ? (size_t)(stop - text.data) + 1 : text.size;
		if (at == 0)
			break;
	}
	if (line == 0 || line > file->starts.size)
		return UX_OK;
	size_t start = file->starts.data[line - 1];
	size_t end = line < file->starts.size ? file->starts.data[line] : text.size;
	while (start < end && (text.data[start] == ' ' || text.data[start] == '\t'))
		start++;
	while (end > start && text.data[end - 1] <= ' ')
		end--;
	*ret = ux_bytes(text.data + start, ux_min(end - start, (size_t)LINE_SHOWN));
	return UX_OK;
}

/*
 * Returns the lines around `line`; "" if the file has fewer lines. *ret_first is the number of the
 * first one.
 */
static struct ux_bytes frame_lines_around(struct ux_bytes text, uint32_t line, uint32_t *ret_first)
{
	uint32_t first = line > LINES_AROUND ? line - LINES_AROUND : 1;
	size_t start = 0, end = 0;
	uint32_t number = 1;
	for (; end < text.size && number <= line + LINES_AROUND; number++) {
		const uint8_t *stop = memchr(text.data + end, '\n', text.size - end);
		if (number == first)
			start = end;
		end = stop ? (size_t)(stop - text.data) + 1 : text.size;
	}
	*ret_first = first;
	return number > line ? ux_bytes(text.data + start, end - start) : UX_BYTES_NONE;
}

static void frame_put_lines(struct ux_out *out, struct ux_bytes lines, uint32_t first,
			    uint32_t line)
{
	struct ux_bytes text;
	ux_out_cstr(out, "<pre class=\"lines\" tabindex=\"0\">");
	for (uint32_t number = first; ux_text_take_line(&lines, &text); number++)
		UX_HTML(out, number == line ? "<mark><i>$</i> $</mark>\n" : "<i>$</i> $\n", number,
			text);
	ux_out_cstr(out, "</pre>\n");
}

/* Shows the lines of one function's file. *ret_shown: it was uploaded. */
static enum ux_code frame_put_source(struct frame_view *v, const struct ux_frame_text *f,
				     bool *ret_shown)
{
	struct ux_request *req = v->req;
	struct frame_file *file = NULL;
	uint32_t first = 0;
	*ret_shown = false;
	UX_TRY(frame_file_get(v, f, &file));
	if (!file)
		return UX_OK;
	struct ux_bytes lines = frame_lines_around(file->text, f->line, &first);
	if (lines.size == 0)
		return UX_OK;
	*ret_shown = true;
	UX_HTML(&req->out, "<h3><a href=\"/modules/$/source/$#L$\">$:$</a></h3>\n",
		ux_html_url(v->id), ux_html_path(ux_bytes_cstr(file->path + 1)), f->line,
		file->path, f->line);
	frame_put_lines(&req->out, lines, first, f->line);
	return UX_OK;
}

static enum ux_code frame_put_sources(struct frame_view *v, const struct ux_frame_cache *cache,
				      uint32_t frame)
{
	struct ux_out *out = &v->req->out;
	bool any = false, has_line = false;
	ux_out_cstr(out, "<section aria-labelledby=\"source\">\n<h2 id=\"source\">Source</h2>\n");
	for (size_t i = 0; frame != 0 && i < SOURCES_MAX;
	     frame = ux_cached_frame(cache, frame)->up, i++) {
		struct ux_frame_text f = ux_frame_cache_text(cache, frame);
		bool shown = false;
		if (f.base.size == 0 || f.line == 0)
			continue;
		has_line = true;
		UX_TRY(frame_put_source(v, &f, &shown));
		any = any || shown;
	}
	if (v->package_state != UX_SOURCE_PACKAGE_NONE)
		UX_HTML(out,
			"<p class=\"why\">The source package <b>$</b> is being $: "
			"reload this page in a moment.</p>\n",
			v->package,
			v->package_state == UX_SOURCE_PACKAGE_FETCHED ? "fetched" : "unpacked");
	else if (!any && v->later)
		ux_out_cstr(out, "<p class=\"why\">The source files are unavailable now: reload "
				 "this page in a moment.</p>\n");
	else if (!any)
		ux_out_cstr(out, has_line ? "<p class=\"why\">The source files were not uploaded: "
					    "<code>unhex push --sources FILE</code></p>\n"
					  : "<p class=\"why\">Its symbols have no line at this "
					    "address.</p>\n");
	ux_out_cstr(out, "</section>\n");
	return UX_OK;
}

/* --- code ------------------------------------------------------------------------------------- */

UX_VEC(frame_code, struct ux_instruction);

/* Chooses the range of instructions that is shown, around the one at the address. */
static void frame_code_window(const struct frame_code *code, uint64_t at, size_t *ret_first,
			      size_t *ret_end, size_t *ret_at)
{
	*ret_at = 0;
	for (size_t i = 0; i < code->size && code->data[i].offset <= at; i++)
		*ret_at = i;
	*ret_first = *ret_at > INSTRUCTIONS_BEFORE ? *ret_at - INSTRUCTIONS_BEFORE : 0;
	*ret_end = ux_min(code->size, *ret_at + INSTRUCTIONS_BEHIND);
}

/* Writes one bar for each inlined call around a line. */
static void frame_put_bars(struct ux_out *out, size_t depth)
{
	for (size_t i = 0; i < ux_min(depth, (size_t)DEPTH_SHOWN); i++)
		ux_out_cstr(out, "| ");
}

/*
 * Lists the frames of an instruction, from the outermost one on. Returns their number; of too many,
 * leaves out the innermost ones.
 */
static size_t frame_chain(const struct ux_frame_cache *cache, uint32_t frame,
			  uint32_t chain[DEPTH_SHOWN])
{
	size_t n = 0, skipped = 0;
	for (uint32_t f = frame; f != 0; f = ux_cached_frame(cache, f)->up)
		n++;
	skipped = n > DEPTH_SHOWN ? n - DEPTH_SHOWN : 0;
	for (size_t i = n; i-- > 0; frame = ux_cached_frame(cache, frame)->up)
		if (i < n - skipped)
			chain[i] = frame;
	return n - skipped;
}

/* Tests whether two frames are the same call, at any line. */
static bool frame_is_same_call(const struct ux_frame_cache *cache, uint32_t a, uint32_t b)
{
	const struct ux_cached_frame *x = ux_cached_frame(cache, a), *y = ux_cached_frame(cache, b);
	return x->function == y->function && x->up == y->up;
}

/* Names the inlined calls that begin with an instruction, and its line. */
static enum ux_code frame_put_place(struct frame_view *v, const struct ux_frame_cache *cache,
				    uint32_t frame, uint32_t before)
{
	uint32_t chain[DEPTH_SHOWN], last[DEPTH_SHOWN];
	struct ux_out *out = &v->req->out;
	struct frame_file *file = NULL;
	struct ux_bytes text = UX_BYTES_NONE;
	size_t n = frame_chain(cache, frame, chain), m = frame_chain(cache, before, last), same = 0;
	while (same < n && same < m && frame_is_same_call(cache, chain[same], last[same]))
		same++;
	for (size_t i = ux_max(same, (size_t)1); i < n; i++) {
		struct ux_frame_text f = ux_frame_cache_text(cache, chain[i]);
		struct ux_frame_text caller = ux_frame_cache_text(cache, chain[i - 1]);
		ux_out_cstr(out, "<i></i> <span class=\"where\">");
		frame_put_bars(out, i);
		UX_HTML(out, "<b>$</b>, inlined at $:$</span>\n", f.function, caller.base,
			caller.line);
	}
	struct ux_frame_text f = ux_frame_cache_text(cache, frame);
	if (f.base.size == 0)
		return UX_OK;
	UX_TRY(frame_file_get(v, &f, &file));
	if (file)
		UX_TRY(frame_file_line(v, file, f.line, &text));
	ux_out_cstr(out, "<i></i> <span class=\"where\">");
	frame_put_bars(out, n - 1);
	UX_HTML(out, "$:$</span> ", f.base, f.line);
	UX_HTML(out, text.size > 0 ? " <b class=\"source\">$</b>\n" : "$\n", text);
	return UX_OK;
}

/*
 * Fetches the symbols of all instructions together: one by one would take a request to the bucket
 * each.
 */
static enum ux_code frame_bring(const struct frame_view *v, const struct frame_code *code,
				uint64_t start, size_t first, size_t end)
{
	uint64_t pcs[INSTRUCTIONS_BEFORE + INSTRUCTIONS_BEHIND];
	size_t n = 0;
	for (size_t i = first; i < end && n < ux_countof(pcs); i++)
		pcs[n++] = start + code->data[i].offset;
	return ux_open_module_bring(v->module, pcs, n, /* back= */ 0, &v->req->err);
}

/*
 * Shows instructions beside their source: inlined calls, and each source line above its first
 * instruction.
 */
static enum ux_code frame_put_instructions(struct frame_view *v, const struct frame_code *code,
					   uint64_t start)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = v->module, .mode = UX_DEMANGLE_FULL, .work = &v->work};
	struct ux_out *out = &v->req->out;
	size_t first = 0, end = 0, at = 0;
	uint32_t before = 0;
	frame_code_window(code, v->pc - start, &first, &end, &at);
	UX_TRY(frame_bring(v, code, start, first, end));
	ux_out_cstr(out, "<pre class=\"lines code\" tabindex=\"0\">");
	if (first > 0)
		UX_HTML(out, "<i></i> <span class=\"where\">$ instructions before</span>\n",
			ux_html_count(first));
	for (size_t i = first; i < end; i++) {
		uint64_t pc = start + code->data[i].offset;
		uint32_t frame = 0;
		size_t done = 0;
		UX_TRY(ux_resolve(&r, &pc, 1, &frame, &done, &v->req->err));
		/* the previous cache was replaced: its numbers are invalid in the new cache */
		if (r.fresh)
			before = 0;
		if (frame != 0 && frame != before)
			UX_TRY(frame_put_place(v, r.cache, frame, before));
		before = frame;
		UX_HTML(out, i == at ? "<mark><i>$</i> " : "<i>$</i> ", ux_html_hex(pc));
		for (uint32_t f = frame; f != 0; f = ux_cached_frame(r.cache, f)->up)
			if (ux_cached_frame(r.cache, f)->up != 0)
				frame_put_bars(out, 1);
		UX_HTML(out, i == at ? "$</mark>\n" : "$\n", code->data[i].text);
	}
	if (end < code->size)
		UX_HTML(out, "<i></i> <span class=\"where\">$ instructions after</span>\n",
			ux_html_count(code->size - end));
	ux_out_cstr(out, "</pre>\n");
	return ux_out_status(out, &v->req->err);
}

/* Reads the code of the function at the address. */
static enum ux_code frame_read_code(struct frame_view *v, struct ux_module_code *ret_code,
				    struct frame_code *ret, struct ux_error *why)
{
	uint64_t start = v->pc, size = 1;
	bool end = false;
	enum ux_code code = ux_open_module_extent(v->module, v->pc, &start, &size, why);
	if (code != UX_OK && code != UX_ENOTFOUND)
		return code;
	*why = (struct ux_error)UX_ERROR_INIT;
	/*
	 * In a giant function, the instructions around the address are too far from its start:
	 * start at the address.
	 */
	if (v->pc - start >= UX_MODULE_CODE_MAX)
		start = v->pc;
	const struct ux_code_request wish = {.start = start, .size = ux_max(size, (uint64_t)1)};
	UX_TRY(ux_module_code_open(v->req, v->id, &wish, ret_code, why));
	while (ret->size < CODE_ROWS_MAX) {
		struct ux_instruction found;
		UX_TRY(ux_module_code_next(ret_code, &found, &end, why));
		if (end)
			break;
		if (!frame_code_append(ret, found))
			return ux_error_nomem(why);
	}
	return UX_OK;
}

static enum ux_code frame_put_code(struct frame_view *v)
{
	struct ux_out *out = &v->req->out;
	struct ux_module_code code = {0};
	struct frame_code rows = {0};
	struct ux_error why = UX_ERROR_INIT;
	ux_out_cstr(out, "<section aria-labelledby=\"code\">\n<h2 id=\"code\">Code</h2>\n");
	enum ux_code result = frame_read_code(v, &code, &rows, &why);
	if (result == UX_ENOMEM) {
		v->req->err = why;
	} else if (result == UX_OK && rows.size > 0) {
		result = frame_put_instructions(v, &rows, code.range.pc);
	} else {
		UX_HTML(out, "<p class=\"why\">$</p>\n",
			result == UX_OK ? "no instructions" : why.text);
		result = UX_OK;
	}
	ux_module_code_close(&code);
	frame_code_deinit(&rows);
	ux_out_cstr(out, "</section>\n");
	return result;
}

/* --- the page --------------------------------------------------------------------------------- */

static enum ux_code frame_open(struct frame_view *v, struct ux_response *res)
{
	struct ux_request *req = v->req;
	struct ux_bytes id = ux_page_query(req, "id"), addr = ux_page_query(req, "addr");
	struct ux_module_later later = {0};
	if (id.size == 0 || !ux_hex_parse_u64(addr, /* hex= */ false, &v->pc))
		return ux_error_set(&req->err, UX_EINVAL, "expected id=ID and addr=0x...");
	UX_TRY(ux_module_id_parse(id, &req->arena, &v->id, &req->err));
	UX_TRY(ux_request_work_charge(&v->work, UX_WORK_MODULE, &req->err));
	enum ux_code code = ux_server_module_open(ux_server_of(req), ux_caller_of(req)->ns, v->id,
						  /* wait_ms= */ 0, &v->module, &later, &req->err);
	res->retry_s = later.retry_s;
	return code;
}

static enum ux_code frame_put(struct frame_view *v)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = v->module, .mode = UX_DEMANGLE_FULL, .work = &v->work};
	struct ux_out *out = &v->req->out;
	uint32_t frame = 0;
	size_t done = 0;
	UX_TRY(ux_resolve(&r, &v->pc, 1, &frame, &done, &v->req->err));
	UX_HTML(out,
		"<h1>Frame <code>$</code></h1>\n"
		"<p class=\"build\">in <a class=\"id\" href=\"/modules/$\">$</a> ",
		ux_html_hex(v->pc), ux_html_url(v->id), v->id);
	UX_HTML(out, "<a href=\"/explain?id=$&amp;addr=$\">explain</a></p>\n", ux_html_url(v->id),
		ux_html_hex(v->pc));
	if (frame == 0)
		ux_out_cstr(out,
			    "<p class=\"why\">Its symbols have no function at this address.</p>\n");
	ux_page_frames(out, r.cache, frame);
	UX_TRY(frame_put_sources(v, r.cache, frame));
	return frame_put_code(v);
}

enum ux_code ux_web_frame(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(frame_view_deinit) struct frame_view v = {.req = req,
							     .work = ux_request_work(req)};
	UX_TRY(frame_open(&v, res));
	ux_page_begin(req, &page);
	UX_TRY(frame_put(&v));
	return ux_page_end(req, res, &page);
}
