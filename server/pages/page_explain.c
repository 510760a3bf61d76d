/* SPDX-License-Identifier: Apache-2.0 */
/* /explain: the answer of /v1/explain as a page. */
#include "modules.h"
#include "page.h"
#include "pages.h"
#include "unhex/frame.h"

static const struct ux_page page = {.title = "Explain - unhex", .section = UX_PAGE_EXPLAIN};

static void page_explain_put_form(struct ux_out *out, struct ux_bytes id, struct ux_bytes addr)
{
	UX_HTML(out,
		"<h1>Explain</h1>\n<p class=\"hint\">Why a module, or an address of it, has "
		"symbols or "
		"lacks them, and what would help.</p>\n"
		"<form class=\"explain\" action=\"/explain\" method=\"get\">\n"
		"<div><label for=\"id\">ID</label><input id=\"id\" name=\"id\" value=\"$\" "
		"required "
		"placeholder=\"gnu:… or bare hex\" autocomplete=\"off\" "
		"spellcheck=\"false\"></div>\n"
		"<div><label for=\"addr\">Address in the file</label><input id=\"addr\" "
		"name=\"addr\" "
		"value=\"$\" placeholder=\"0x29d90\" autocomplete=\"off\" "
		"spellcheck=\"false\"></div>\n"
		"<button class=\"main\">Explain</button>\n</form>\n",
		id, addr);
}

enum ux_code ux_web_explain_form(struct ux_request *req, struct ux_response *res)
{
	ux_page_begin(req, &page);
	page_explain_put_form(&req->out, UX_STR(""), ux_page_query(req, "addr"));
	return ux_page_end(req, res, &page);
}

static const char *page_explain_text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? text : "";
}

static void page_explain_put_frame(struct ux_out *out, const json_t *f)
{
	const char *file = page_explain_text_of(f, "file");
	UX_HTML(out, "<li><code class=\"fn\">$</code>", page_explain_text_of(f, "function"));
	if (json_is_true(json_object_get(f, "inlined")))
		ux_out_cstr(out, " <span class=\"tag\">inlined</span>");
	if (file[0] != '\0')
		UX_HTML(out, " <span class=\"where\">$:$</span>", file,
			(uint64_t)json_integer_value(json_object_get(f, "line")));
	ux_out_cstr(out, "</li>\n");
}

static void page_explain_put_frames(struct ux_out *out, const json_t *frames)
{
	if (json_array_size(frames) == 0)
		return;
	ux_out_cstr(out, "<ol class=\"frames\">\n");
	for (size_t i = 0; i < json_array_size(frames); i++)
		page_explain_put_frame(out, json_array_get(frames, i));
	ux_out_cstr(out, "</ol>\n");
}

static void page_explain_put_word_quality(struct ux_out *out, const char *word)
{
	for (int q = 0; q < UX_QUALITY_COUNT; q++)
		if (strcmp(word, ux_quality_name((enum ux_quality)q)) == 0)
			ux_page_quality(out, (enum ux_quality)q);
}

static const char *page_explain_class_of_state(const char *state)
{
	return strcmp(state, "ready") == 0 || strcmp(state, "found") == 0 ? "good"
	       : strcmp(state, "pending") == 0                            ? "busy"
									  : "bad";
}

static void page_explain_put_candidate(struct ux_out *out, const json_t *c)
{
	const char *state = page_explain_text_of(c, "state");
	bool chosen = json_is_true(json_object_get(c, "chosen"));
	UX_HTML(out, "<li$><h3><span class=\"kind\">$</span> ",
		chosen ? UX_HTML_OURS(" class=\"chosen\"") : UX_HTML_OURS(""),
		page_explain_text_of(c, "kind"));
	if (strcmp(page_explain_text_of(c, "kind"), "sources") != 0)
		page_explain_put_word_quality(out, page_explain_text_of(c, "quality"));
	UX_HTML(out, " <span class=\"tag $\">$</span>$</h3>\n", page_explain_class_of_state(state),
		state,
		chosen ? UX_HTML_OURS(" <span class=\"tag\">answers</span>") : UX_HTML_OURS(""));
	UX_HTML(out, "<p>$</p>\n", page_explain_text_of(c, "says"));
	if (page_explain_text_of(c, "reason")[0] != '\0')
		UX_HTML(out, "<p class=\"reason\">$</p>\n", page_explain_text_of(c, "reason"));
	page_explain_put_frames(out, json_object_get(c, "frames"));
	UX_HTML(out, "<p class=\"facts\"><span>$</span> <span>by $</span></p></li>\n",
		page_explain_text_of(c, "file"), page_explain_text_of(c, "origin"));
}

static void page_explain_put_candidates(struct ux_out *out, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	ux_out_cstr(out,
		    "<h2>Candidates, in the order of their use</h2>\n<ol class=\"candidates\">\n");
	for (size_t i = 0; i < json_array_size(list); i++)
		page_explain_put_candidate(out, json_array_get(list, i));
	ux_out_cstr(out, "</ol>\n");
}

/* Writes a member of an object between two texts; nothing if it is absent. */
static void page_explain_put_member(struct ux_out *out, const json_t *o, const char *key,
				    const char *before, const char *behind)
{
	const json_t *v = json_object_get(o, key);
	if (json_is_string(v) && json_string_length(v) > 0)
		UX_HTML(out, " <span>$$$</span>", before, json_string_value(v), behind);
	else if (json_is_integer(v))
		UX_HTML(out, " <span>$$$</span>", before, (uint64_t)json_integer_value(v), behind);
}

static void page_explain_put_upstream_answer(struct ux_out *out, const json_t *a)
{
	UX_HTML(out, "<li><b>$</b>", page_explain_text_of(a, "artifact"));
	page_explain_put_member(out, a, "outcome", "", "");
	page_explain_put_member(out, a, "status", "status ", "");
	page_explain_put_member(out, a, "says", "", "");
	page_explain_put_member(out, a, "queried", "queried ", "");
	page_explain_put_member(out, a, "took_ms", "in ", " ms");
	page_explain_put_member(out, a, "not_again_before", "not again before ", "");
	ux_out_cstr(out, "</li>\n");
}

static void page_explain_put_upstream(struct ux_out *out, const json_t *u)
{
	const json_t *answers = json_object_get(u, "answers");
	UX_HTML(out, "<li><h3><span class=\"kind\">$</span></h3>\n<p class=\"facts\">",
		page_explain_text_of(u, "name"));
	page_explain_put_member(out, u, "kind", "", "");
	page_explain_put_member(out, u, "state", "", "");
	page_explain_put_member(out, u, "suspended_for_s", "suspended for ", " s");
	ux_out_cstr(out, "</p>\n<ul class=\"history\">\n");
	for (size_t i = 0; i < json_array_size(answers); i++)
		page_explain_put_upstream_answer(out, json_array_get(answers, i));
	ux_out_cstr(out, "</ul></li>\n");
}

/* Lists the upstreams with their answers. */
static void page_explain_put_upstreams(struct ux_out *out, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	ux_out_cstr(out, "<h2>Upstreams</h2>\n<ol class=\"candidates\">\n");
	for (size_t i = 0; i < json_array_size(list); i++)
		page_explain_put_upstream(out, json_array_get(list, i));
	ux_out_cstr(out, "</ol>\n");
}

/* Links to the other files with this build ID, or to the build ID of this file. */
static void page_explain_put_apart(struct ux_out *out, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	ux_out_cstr(out,
		    "<h2>Kept apart: files with the same build ID</h2>\n<ul class=\"advice\">\n");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = json_string_value(json_array_get(list, i));
		UX_HTML(out, "<li><a href=\"/explain?id=$\">$</a></li>\n",
			ux_html_url(id ? id : ""), id ? id : "");
	}
	ux_out_cstr(out, "</ul>\n");
}

static void page_explain_put_advice(struct ux_out *out, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	ux_out_cstr(out, "<h2>How to improve it</h2>\n<ul class=\"advice\">\n");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		UX_HTML(out, "<li>$</li>\n", text ? text : "");
	}
	ux_out_cstr(out, "</ul>\n");
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* Returns the candidate that answers; NULL: none does. */
static const json_t *page_explain_chosen(const json_t *doc)
{
	const json_t *list = json_object_get(doc, "candidates");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_is_true(json_object_get(json_array_get(list, i), "chosen")))
			return json_array_get(list, i);
	return NULL;
}

/* Returns the name of a file of the module without its folder; "": none has a name. */
static const char *page_explain_file(const json_t *doc)
{
	const json_t *list = json_object_get(doc, "candidates");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = page_explain_text_of(json_array_get(list, i), "file");
		const char *slash = strrchr(name, '/');
		if (name[0] != '\0')
			return slash && slash[1] != '\0' ? slash + 1 : name;
	}
	return "";
}

static void page_explain_put_place(struct ux_out *out, struct ux_bytes addr, const json_t *chosen)
{
	const json_t *frames = json_object_get(chosen, "frames");
	const json_t *inner = json_array_get(frames, 0);
	size_t n = json_array_size(frames);
	const char *file = page_explain_text_of(inner, "file");
	const char *function = page_explain_text_of(inner, "function");
	if (strcmp(function, UX_NO_NAME) == 0) {
		UX_HTML(out, "The function at <code>$</code> has no name in these symbols.", addr);
		return;
	}
	UX_HTML(out, "<code>$</code> is in <code>$</code>", addr, function);
	if (file[0] != '\0')
		UX_HTML(out, ", line $ of <code>$</code>",
			(uint64_t)json_integer_value(json_object_get(inner, "line")), file);
	if (n > 1)
		UX_HTML(out, ", inlined into <code>$</code>",
			page_explain_text_of(json_array_get(frames, n - 1), "function"));
	ux_out_cstr(out, ".");
}

static const char *page_explain_has(const char *quality)
{
	static const struct {
		const char *word, *text;
	} texts[] = {
		{"inlines", "Its symbols name functions, lines and inlined calls."},
		{"lines", "Its symbols name functions and lines, but no inlined calls."},
		{"gopclntab", "Go's own table names its functions and lines."},
		{"symtab", "Its symbols name functions, but no lines."},
		{"dynsym", "It was stripped: only exported functions have names."},
	};
	for (size_t i = 0; i < ux_countof(texts); i++)
		if (strcmp(quality, texts[i].word) == 0)
			return texts[i].text;
	return "The uploaded file has no symbols.";
}

/* Returns why the module as a whole cannot be used. */
static const char *page_explain_trouble(const json_t *doc, const char *status)
{
	const char *reason = page_explain_text_of(doc, "reason");
	if (strcmp(reason, UX_UPSTREAM_AWAY) == 0)
		return "This server lacks it for now: " UX_UPSTREAM_AWAY ".";
	if (reason[0] != '\0')
		return "It is being fetched: reload this page in a few seconds.";
	if (strcmp(status, "pending") == 0)
		return "Its symbols are being extracted: reload this page in a few seconds.";
	if (strcmp(status, "failed") == 0)
		return "The uploaded file cannot be read; the reason is below.";
	return "This server has no file with this ID.";
}

/* Writes one sentence that answers the question of the page. */
static void page_explain_put_verdict(struct ux_request *req, const json_t *doc)
{
	struct ux_out *out = &req->out;
	const char *status = page_explain_text_of(doc, "status");
	const json_t *chosen = page_explain_chosen(doc);
	const struct ux_bytes addr = ux_page_query(req, "addr");
	ux_out_cstr(out, "<p class=\"verdict\">");
	if (strcmp(status, "found") != 0 && !chosen)
		ux_out_cstr(out, json_array_size(json_object_get(doc, "candidates")) > 0 &&
						 strcmp(status, "missing") == 0
					 ? "The uploaded file has no symbols."
					 : page_explain_trouble(doc, status));
	else if (addr.size > 0 && chosen)
		page_explain_put_place(out, addr, chosen);
	else if (addr.size > 0)
		UX_HTML(out,
			"No function of this build is at <code>$</code>: the address belongs to "
			"another build, or is an address in a process, not in the file.",
			addr);
	else
		ux_out_cstr(out, page_explain_has(page_explain_text_of(doc, "quality")));
	ux_out_cstr(out, "</p>\n");
}

static void page_explain_put_curl(struct ux_request *req, const char *id, struct ux_bytes addr)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	UX_HTML(&path, "/v1/symbolize/$?addr=$", ux_html_url(id), ux_html_url_bytes(addr));
	const char *text = ux_arena_strndup(&req->arena, path.data, path.size);
	struct ux_bytes value = ux_bytes_cstr(text);
	req->out.failed |= path.failed || !text;
	ux_page_command(req, "curl @$", &value, 1);
}

/* Writes lines for a terminal: how to get missing symbols, and the same answer for programs. */
static void page_explain_put_commands(struct ux_request *req, const json_t *doc)
{
	struct ux_out *out = &req->out;
	const char *id = page_explain_text_of(doc, "id"),
		   *quality = page_explain_text_of(doc, "quality"), *file = page_explain_file(doc);
	const struct ux_bytes addr = ux_page_query(req, "addr");
	const struct ux_bytes name = ux_bytes_cstr(file[0] != '\0' ? file : "FILE");
	const struct ux_bytes question[] = {ux_bytes_cstr(id), addr};
	bool complete = strcmp(quality, "inlines") == 0;
	ux_out_cstr(out, "<h2>Commands</h2>\n");
	if (!complete && json_array_size(json_object_get(doc, "ids")) == 0) {
		ux_out_cstr(out,
			    "<p class=\"hint\">On a machine that has the file, stripped or not "
			    "(unhex finds its debug file):</p>\n");
		ux_page_command(req, "unhex push --url @ $", &name, 1);
	} else if (!complete) {
		ux_out_cstr(out, "<p class=\"hint\">On a machine that has the build or its debug "
				 "file:</p>\n");
		ux_page_command(req, "unhex push --url @ -e $ -d DEBUGFILE", &name, 1);
	}
	ux_out_cstr(out, "<p class=\"hint\">This page in a terminal:</p>\n");
	ux_page_command(req,
			addr.size > 0 ? "unhex explain --url @ $ $" : "unhex explain --url @ $",
			question, addr.size > 0 ? 2 : 1);
	if (addr.size > 0)
		page_explain_put_curl(req, id, addr);
}

static void page_explain_put_head(struct ux_request *req, const json_t *doc)
{
	struct ux_out *out = &req->out;
	const char *id = page_explain_text_of(doc, "id"),
		   *status = page_explain_text_of(doc, "status");
	page_explain_put_verdict(req, doc);
	UX_HTML(out, "<p class=\"facts\"><span class=\"tag $\">$</span> ",
		page_explain_class_of_state(status), status);
	page_explain_put_word_quality(out, page_explain_text_of(doc, "quality"));
	ux_out_cstr(out, " ");
	if (json_array_size(json_object_get(doc, "ids")) > 0)
		ux_page_module_link(out, id);
	else
		UX_HTML(out, "<span class=\"id\">$</span>", id);
	if (ux_page_query(req, "addr").size > 0 && page_explain_chosen(doc))
		UX_HTML(out, " <a href=\"/frame?id=$&amp;addr=$\">source and code</a>",
			ux_html_url(id), ux_html_url_bytes(ux_page_query(req, "addr")));
	ux_out_cstr(out, "</p>\n");
}

enum ux_code ux_web_explain(struct ux_request *req, struct ux_response *res, const json_t *doc)
{
	struct ux_out *out = &req->out;
	ux_page_begin(req, &page);
	page_explain_put_form(out, ux_page_query(req, "id"), ux_page_query(req, "addr"));
	ux_out_cstr(out, "<section class=\"explained\" aria-label=\"Explanation\">\n");
	page_explain_put_head(req, doc);
	page_explain_put_advice(out, json_object_get(doc, "advice"));
	page_explain_put_apart(out, json_object_get(doc, "kept_apart"));
	page_explain_put_commands(req, doc);
	page_explain_put_candidates(out, json_object_get(doc, "candidates"));
	page_explain_put_upstreams(out, json_object_get(doc, "upstreams"));
	ux_out_cstr(out, "</section>\n");
	return ux_page_end(req, res, &page);
}

/* GET /explain?id=&addr=: the same contents as /v1/explain/{id}?addr=. */
enum ux_code ux_handle_page_explain(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_bytes id = ux_page_query(req, "id"), addr;
	if (id.size == 0)
		return ux_web_explain_form(req, res);
	/* A form also sends fields that were left empty. */
	for (size_t i = 0; i < req->n_query; i++)
		if (ux_bytes_eq(req->query[i].name, UX_STR("addr"))) {
			addr = ux_page_trim(req->query[i].value);
			req->query[i].value = addr;
			if (addr.size == 0)
				req->query[i].name = UX_STR("");
		}
	req->params[0] = id;
	req->n_params = 1;
	UX_TRY(ux_handle_explain(req, res));
	doc = json_loadb((const char *)req->out.data, req->out.size, 0, NULL);
	if (!doc)
		return ux_error_nomem(&req->err);
	ux_out_reset(&req->out);
	return ux_web_explain(req, res, doc);
}
