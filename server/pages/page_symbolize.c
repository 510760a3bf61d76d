/* SPDX-License-Identifier: Apache-2.0 */
/* /symbolize: resolves the addresses in pasted stacks. */
#include "page.h"
#include "pages.h"

#include "request_values.h"
#include "symbolize.h"

enum {
	LINES_MOST = 5000,
	ADDRESSES_MOST = 5000,
	MODULES_MOST = 64,      /* modules of one text, which are open at the same time */
	ANSWER_MOST = 64 << 20, /* bytes of HTML and of plain text */
	/* files of the same name that are checked for belonging to one module */
	SAME_NAME_MOST = 32
};

static const struct ux_page page = {.title = "Symbolize - unhex", .section = UX_PAGE_SYMBOLIZE};

/* A module named in the text, and the result of its lookup. */
struct paste_module {
	struct ux_bytes as; /* ID or name as written in the text */
	const char *id;     /* canonical; NULL: no module was found */
	struct ux_open_module *module;
	const char *why_not;         /* the reason when there is no module */
	struct ux_requested_pcs pcs; /* its addresses in the text, less 1 for return addresses */
};

/* State of one pasted text. */
struct paste {
	struct ux_request *req;
	struct ux_work work;
	bool return_addresses;
	struct paste_module known[MODULES_MOST];
	size_t n_known;
	struct paste_module
		*current; /* module of the last line that has only an ID, or of the form */
	size_t n_addresses;
	size_t n_named;
	struct ux_out text; /* the answer as plain text */
};

static void paste_module_deinit(struct paste_module *k)
{
	ux_open_module_unref(k->module);
	ux_requested_pcs_deinit(&k->pcs);
}

static void paste_deinit(struct paste *p)
{
	for (size_t i = 0; i < p->n_known; i++)
		paste_module_deinit(&p->known[i]);
	ux_out_deinit(&p->text);
}

/* The module whose file has that name, if there is exactly one. */
static enum ux_code paste_id_of_name(struct paste *p, struct ux_bytes path, struct paste_module *k)
{
	struct ux_request *req = p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	size_t skip = slash ? (size_t)(slash - path.data) + 1 : 0;
	const char *name = ux_arena_strndup(&req->arena, path.data + skip, path.size - skip);
	struct ux_hits hits;
	UX_TRY(ux_request_work_charge(&p->work, UX_WORK_SEARCH, &req->err));
	if (!name)
		return ux_arena_fail(&req->arena, &req->err);
	const struct ux_search what = {.by = UX_SEARCH_FILE, .text = name, .limit = SAME_NAME_MOST};
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, &req->err));
	for (size_t i = 1; i < hits.n; i++)
		if (hits.hits[i].module != hits.hits[0].module) {
			k->why_not =
				"several modules have a file of that name: say which by its ID";
			return UX_OK;
		}
	if (hits.n == 0)
		k->why_not = "no module has a file of that name";
	else
		k->id = hits.hits[0].id;
	return UX_OK;
}

static enum ux_code paste_module_open(struct paste *p, struct paste_module *k)
{
	struct ux_request *req = p->req;
	struct ux_error why = UX_ERROR_INIT;
	if (!k->id)
		return UX_OK;
	UX_TRY(ux_request_work_charge(&p->work, UX_WORK_MODULE, &req->err));
	uint32_t retry_s = 0;
	enum ux_code code = ux_server_module_open(ux_server_of(req), ux_caller_of(req)->ns, k->id,
						  /* wait_ms= */ 0, &k->module, &retry_s, &why);
	if (code == UX_ENOMEM) {
		req->err = why;
		return code;
	}
	if (code == UX_EUNAVAILABLE)
		k->why_not = "its symbols are on their way: ask again in a few seconds";
	else if (code == UX_ENOTFOUND)
		k->why_not = "nothing here has symbols of it";
	else if (code != UX_OK)
		k->why_not = "what is here of it cannot be read";
	return UX_OK;
}

/* Finds or adds the module that a text refers to; *ret is NULL when there are too many. */
static enum ux_code paste_add_module(struct paste *p, struct ux_bytes as, bool is_id,
				     struct paste_module **ret)
{
	struct ux_request *req = p->req;
	*ret = NULL;
	for (size_t i = 0; i < p->n_known; i++)
		if (ux_bytes_eq(p->known[i].as, as)) {
			*ret = &p->known[i];
			return UX_OK;
		}
	if (p->n_known == MODULES_MOST)
		return UX_OK;
	struct paste_module *k = &p->known[p->n_known];
	*k = (struct paste_module){.as = as};
	if (is_id)
		UX_TRY(ux_module_id_parse(as, &req->arena, &k->id, &req->err));
	else
		UX_TRY(paste_id_of_name(p, as, k));
	p->n_known++;
	*ret = k;
	return paste_module_open(p, k);
}

static enum ux_code paste_module_of(struct paste *p, const struct ux_stack_line *parsed,
				    struct paste_module **ret)
{
	*ret = p->current;
	if (parsed->id.size > 0) {
		UX_TRY(paste_add_module(p, parsed->id, /* is_id= */ true, ret));
		if (parsed->name.size == 0) /* it also applies to the lines that follow */
			p->current = *ret;
	} else if (parsed->name.size > 0) {
		UX_TRY(paste_add_module(p, parsed->name, /* is_id= */ false, ret));
		if (*ret && !(*ret)->id && p->current)
			*ret = p->current; /* the name is unknown: use the form's module */
	}
	return UX_OK;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The byte before a return address is part of the call. */
static uint64_t paste_lookup_pc(const struct paste *p, uint64_t pc)
{
	return p->return_addresses && pc > 0 ? pc - 1 : pc;
}

static void paste_put_text(struct paste *p, const struct ux_frame_cache *cache, uint32_t frame)
{
	for (; frame != 0; frame = ux_cached_frame(cache, frame)->up) {
		struct ux_frame_text f = ux_frame_cache_text(cache, frame);
		ux_out_cstr(&p->text, "    ");
		ux_out_put(&p->text, f.function.data, f.function.size);
		if (f.base.size > 0) {
			ux_out_cstr(&p->text, " at ");
			ux_out_put(&p->text, f.dir.data, f.dir.size);
			ux_out_cstr(&p->text, f.dir.size > 0 ? "/" : "");
			ux_out_put(&p->text, f.base.data, f.base.size);
			ux_out_fmt(&p->text, ":%u", (unsigned)f.line);
		}
		ux_out_cstr(&p->text, f.inlined ? " (inlined)\n" : "\n");
	}
}

static void paste_put_missing(struct ux_out *out, const struct paste_module *k, uint64_t pc)
{
	const char *why = !k           ? "which module is that? Say its ID"
			  : k->why_not ? k->why_not
				       : "nothing known has a function there";
	UX_HTML(out, "<p class=\"why\">$", why);
	if (k && k->id)
		UX_HTML(out, " <a href=\"/explain?id=$&amp;addr=$\">explain</a>",
			ux_html_url(k->id), ux_html_hex(pc));
	ux_out_cstr(out, "</p>\n");
}

/* Writes the addresses of a line, which are already in the module's frame cache. */
static enum ux_code paste_put_addresses(struct paste *p, const struct paste_module *k,
					const struct ux_stack_line *line)
{
	struct ux_out *out = &p->req->out;
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = k ? k->module : NULL, .mode = UX_DEMANGLE_FULL, .work = &p->work};
	for (size_t i = 0; i < line->n; i++) {
		uint64_t pc = line->pcs[i], at = paste_lookup_pc(p, pc);
		uint32_t frame = 0;
		size_t done = 0;
		if (r.module)
			UX_TRY(ux_resolve(&r, &at, 1, &frame, &done, &p->req->err));
		p->n_named += frame != 0;
		if (line->n > 1)
			UX_HTML(out, "<p class=\"at\"><code>$</code></p>", ux_html_hex(pc));
		ux_page_frames(out, r.cache, frame);
		paste_put_text(p, r.cache, frame);
		if (frame == 0)
			paste_put_missing(out, k, pc);
	}
	return UX_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Processes a line whose addresses are in the module; NULL: the module is not known. */
typedef enum ux_code paste_line_fn(struct paste *p, struct ux_bytes line,
				   const struct ux_stack_line *parsed, struct paste_module *k);

/* The first pass collects the addresses. */
static enum ux_code paste_count_line(struct paste *p, struct ux_bytes line,
				     const struct ux_stack_line *parsed, struct paste_module *k)
{
	struct ux_error *err = &p->req->err;
	(void)line;
	p->n_addresses += parsed->n;
	if (p->n_addresses > ADDRESSES_MOST)
		return ux_error_set(err, UX_ELIMIT, "the text has over %d addresses",
				    ADDRESSES_MOST);
	for (size_t i = 0; i < parsed->n && k; i++)
		if (!ux_requested_pcs_append(&k->pcs, paste_lookup_pc(p, parsed->pcs[i])))
			return ux_error_nomem(err);
	return UX_OK;
}

/* The second pass writes the result. */
static enum ux_code paste_put_line(struct paste *p, struct ux_bytes line,
				   const struct ux_stack_line *parsed, struct paste_module *k)
{
	struct ux_request *req = p->req;
	struct ux_out *out = &req->out;
	UX_HTML(out, "<li><p class=\"request\"><code>$</code></p>", line);
	ux_out_put(&p->text, line.data, line.size);
	ux_out_u8(&p->text, '\n');
	UX_TRY(paste_put_addresses(p, k, parsed));
	if (parsed->more)
		ux_out_cstr(out, "<p class=\"why\">more addresses than a line may have</p>");
	ux_out_cstr(out, "</li>\n");
	UX_TRY(ux_out_status(&p->text, &req->err));
	return ux_out_status(out, &req->err);
}

static enum ux_code paste_each_line(struct paste *p, struct ux_bytes text, paste_line_fn *fn)
{
	size_t n_lines = 0;
	while (text.size > 0) {
		const uint8_t *end = memchr(text.data, '\n', text.size);
		size_t n = end ? (size_t)(end - text.data) : text.size;
		struct ux_bytes line = ux_bytes(text.data, n);
		struct ux_stack_line parsed;
		struct paste_module *k = NULL;
		text = end ? ux_bytes(end + 1, text.size - n - 1) : UX_BYTES_NONE;
		while (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		if (line.size == 0)
			continue;
		if (++n_lines > LINES_MOST)
			return ux_error_set(&p->req->err, UX_ELIMIT, "the text has over %d lines",
					    LINES_MOST);
		UX_TRY(ux_request_work_charge(&p->work, line.size, &p->req->err));
		ux_stack_line_parse(line, &parsed);
		UX_TRY(paste_module_of(p, &parsed, &k));
		UX_TRY(fn(p, line, &parsed, k));
	}
	return UX_OK;
}

/* Resolves all addresses of a module in one batch, which puts them into its frame cache. */
static enum ux_code paste_resolve(struct paste *p, const struct paste_module *k)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = k->module, .mode = UX_DEMANGLE_FULL, .work = &p->work};
	uint32_t *frames = ux_arena_array(&p->req->arena, uint32_t, k->pcs.size + 1);
	if (!frames)
		return ux_arena_fail(&p->req->arena, &p->req->err);
	for (size_t i = 0, done = 0; i < k->pcs.size; i += done)
		UX_TRY(ux_resolve(&r, k->pcs.data + i, k->pcs.size - i, frames, &done,
				  &p->req->err));
	return UX_OK;
}

static enum ux_code paste_put_lines(struct paste *p, struct ux_bytes text)
{
	struct paste_module *first = p->current;
	UX_TRY(paste_each_line(p, text, paste_count_line));
	for (size_t i = 0; i < p->n_known; i++)
		if (p->known[i].module)
			UX_TRY(paste_resolve(p, &p->known[i]));
	p->current = first;
	return paste_each_line(p, text, paste_put_line);
}

static void paste_put_form(struct ux_out *out, struct ux_bytes id, struct ux_bytes text, bool ra)
{
	UX_HTML(out,
		"<form class=\"paste\" action=\"/symbolize\" method=\"post\">\n"
		"<label for=\"id\">Module, where the text does not say</label>\n"
		"<input id=\"id\" name=\"id\" value=\"$\" placeholder=\"gnu:… or bare hex\" "
		"autocomplete=\"off\" spellcheck=\"false\">\n"
		"<label for=\"text\">Stack or addresses</label>\n"
		"<textarea id=\"text\" name=\"text\" rows=\"12\" required spellcheck=\"false\" "
		"autocapitalize=\"off\" aria-describedby=\"kinds\">$</textarea>\n",
		id, text);
	UX_HTML(out,
		"<p id=\"kinds\" class=\"hint\">Stacks of sanitizers, systemd-coredump, backtrace(3), "
		"Android; or lines like <code>gnu:93ac… 0x29d90 0x1139</code>, or addresses alone. "
		"Addresses are those in the file, as these stacks have them, not those in the process."
		"</p>\n<div class=\"row\"><label class=\"check\"><input type=\"checkbox\" name=\"ra\" "
		"value=\"1\"$> return addresses: look one byte before</label>"
		"<button class=\"main\">Symbolize</button></div>\n</form>\n",
		ra ? UX_HTML_OURS(" checked") : UX_HTML_OURS(""));
}

enum ux_code ux_web_symbolize_form(struct ux_request *req, struct ux_response *res)
{
	ux_page_begin(req, &page);
	ux_out_cstr(&req->out, "<h1>Symbolize</h1>\n");
	paste_put_form(&req->out, ux_page_query(req, "id"), UX_STR(""), false);
	return ux_page_end(req, res, &page);
}

static enum ux_code paste_put_answer(struct paste *p, struct ux_bytes text)
{
	struct ux_out *out = &p->req->out;
	ux_out_cstr(out, "<section aria-labelledby=\"answer\">\n<h2 id=\"answer\">Names</h2>\n"
			 "<ol class=\"stack\">\n");
	UX_TRY(paste_put_lines(p, text));
	ux_out_cstr(out, "</ol>\n");
	UX_HTML(out, "<p class=\"hint\" role=\"status\">$ of $ addresses have names.</p>\n",
		ux_html_count(p->n_named), ux_html_count(p->n_addresses));
	UX_TRY(ux_out_status(&p->text, &p->req->err));
	UX_HTML(out,
		"<details><summary>The same as text</summary>"
		"<pre tabindex=\"0\">$</pre></details>\n</section>\n",
		ux_out_bytes(&p->text));
	return UX_OK;
}

enum ux_code ux_web_symbolize(struct ux_request *req, struct ux_response *res)
{
	struct ux_form form;
	UX_TRY(ux_form_read(req, &form));
	struct ux_bytes id = ux_page_trim(ux_form_get(&form, "id"));
	struct ux_bytes text = ux_form_get(&form, "text");
	bool ra = ux_form_get(&form, "ra").size > 0;
	struct paste *p = ux_arena_new(&req->arena, struct paste);
	if (!p)
		return ux_arena_fail(&req->arena, &req->err);
	*p = (struct paste){.req = req,
			    .work = ux_request_work(req),
			    .return_addresses = ra,
			    .text.quota = &req->answer};
	ux_request_answer_most(req, ANSWER_MOST);
	ux_page_begin(req, &page);
	ux_out_cstr(&req->out, "<h1>Symbolize</h1>\n");
	enum ux_code code = UX_OK;
	if (id.size > 0)
		code = paste_add_module(p, id, /* is_id= */ true, &p->current);
	if (code == UX_OK)
		code = paste_put_answer(p, text);
	paste_deinit(p);
	UX_TRY(code);
	paste_put_form(&req->out, id, text, ra);
	return ux_page_end(req, res, &page);
}
