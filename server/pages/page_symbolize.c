/* SPDX-License-Identifier: Apache-2.0 */
/* /symbolize: names the frames of pasted crash reports. */
#include "page.h"
#include "pages.h"

#include "paste.h"
#include "request_values.h"
#include "text.h"

enum {
	ANSWER_MAX = 64 << 20, /* bytes of HTML and of plain text */
	RUN_SHOWN = 6,         /* lines without frames that are shown one after another */
	LINK_BYTES_MAX =
		6000, /* bytes of a link to a stack; servers and programs pass on this many */
	CHOICES_MAX = 64,
};

static const struct ux_page page = {.title = "Symbolize - unhex", .section = UX_PAGE_SYMBOLIZE};
static const struct ux_page page_of_stack = {
	.title = "Symbolize - unhex", .section = UX_PAGE_SYMBOLIZE, .own_script = &ux_asset_copy};

/* The fields of the form that was sent. */
struct symbolize_form {
	struct ux_bytes id;
	struct ux_bytes text;
	bool returns;
	bool force; /* use the choices even if the text has a different ID */
	struct ux_bytes selected[CHOICES_MAX]; /* "NAME ID" */
	size_t n_selected;
};

/* The answer in its forms. */
struct symbolize_answer {
	struct ux_paste *paste;
	struct ux_crash_naming *naming;
	struct ux_request *req;
	struct ux_bytes pasted;
	struct ux_out *html;
	struct ux_out text, markdown, link;
	struct ux_bytes link_id; /* module ID of the last frame in the link */
	bool link_full;          /* the link would be too long */
	unsigned number;         /* frames in the Markdown so far */
};

static void symbolize_answer_deinit(struct symbolize_answer *a)
{
	ux_out_deinit(&a->text);
	ux_out_deinit(&a->markdown);
	ux_out_deinit(&a->link);
}

/* --- names as text ---------------------------------------------------------------------------- */

static void symbolize_put_place(struct ux_out *out, const struct ux_frame_text *f)
{
	ux_out_put(out, f->dir.data, f->dir.size);
	ux_out_cstr(out, f->dir.size > 0 && f->dir.data[f->dir.size - 1] != '/' ? "/" : "");
	ux_out_put(out, f->base.data, f->base.size);
	if (f->line > 0)
		ux_out_fmt(out, ":%" PRIu32, f->line);
}

/* Writes a name as a code span of Markdown, which cannot contain a backtick. */
static void symbolize_put_code(struct ux_out *out, struct ux_bytes text)
{
	ux_out_u8(out, '`');
	for (size_t i = 0; i < text.size; i++)
		ux_out_u8(out, text.data[i] == '`' || text.data[i] < ' ' ? '\'' : text.data[i]);
	ux_out_u8(out, '`');
}

static void symbolize_put_texts(struct symbolize_answer *a, const struct ux_frame_cache *cache,
				uint32_t frame)
{
	for (; frame != 0; frame = ux_cached_frame(cache, frame)->up) {
		struct ux_frame_text f = ux_frame_cache_text(cache, frame);
		ux_cleanup(ux_out_deinit) struct ux_out place = {0};
		symbolize_put_place(&place, &f);
		a->text.failed |= place.failed; /* no text without the place */
		ux_out_cstr(&a->text, "    ");
		ux_out_put(&a->text, f.function.data, f.function.size);
		ux_out_fmt(&a->markdown, "%u. ", a->number++);
		symbolize_put_code(&a->markdown, f.function);
		if (f.base.size > 0) {
			ux_out_cstr(&a->text, " at ");
			ux_out_put(&a->text, place.data, place.size);
			ux_out_cstr(&a->markdown, " at ");
			symbolize_put_code(&a->markdown, ux_out_bytes(&place));
		}
		ux_out_cstr(&a->text, f.inlined ? " (inlined)\n" : "\n");
		ux_out_cstr(&a->markdown, f.inlined ? " (inlined)\n" : "\n");
	}
}

/* A frame of the report, and its result. */
struct symbolize_frame {
	const struct ux_crash_frame *text;
	const struct ux_crash_item *item;
	const struct ux_crash_build *build; /* NULL: there were too many */
	const struct ux_paste_module *record;
	uint64_t pc; /* address that was looked up */
};

static struct symbolize_frame symbolize_frame_of(const struct symbolize_answer *a,
						 const struct ux_crash_frame *text,
						 const struct ux_crash_item *item)
{
	const struct ux_crash_build *b = ux_crash_item_build(a->naming, item);
	return (struct symbolize_frame){text, item, b, b ? b->found.record : NULL,
					ux_crash_item_pc(item)};
}

/* Writes a frame without a name from this server, as an item of the list. */
static void symbolize_put_unnamed(struct symbolize_answer *a, const struct symbolize_frame *f)
{
	ux_out_fmt(&a->markdown, "%u. ", a->number++);
	if (f->text->symbol.size > 0)
		symbolize_put_code(&a->markdown, f->text->symbol);
	else if (f->text->has_address)
		ux_out_fmt(&a->markdown, "`0x%" PRIx64 "`", f->text->address);
	else
		ux_out_fmt(&a->markdown, "`0x%" PRIx64 "`", f->text->offset);
	if (f->build && *f->build->name) {
		ux_out_cstr(&a->markdown, " in ");
		symbolize_put_code(&a->markdown, ux_bytes_cstr(f->build->name));
	}
	ux_out_u8(&a->markdown, '\n');
}

/* Appends the frame to the link. "ID@1139,1140;ID@..." lists the builds and the addresses that were
 * looked up. */
static void symbolize_put_link(struct symbolize_answer *a, const struct symbolize_frame *f)
{
	if (!f->item->has_pc || !f->build || !*f->build->found.id || a->link_full)
		return;
	struct ux_bytes id = ux_bytes_cstr(f->build->found.id);
	size_t before = a->link.size;
	if (!ux_bytes_eq(id, a->link_id)) {
		ux_out_cstr(&a->link, a->link.size > 0 ? ";" : "");
		ux_out_put(&a->link, id.data, id.size);
		ux_out_u8(&a->link, '@');
	} else {
		ux_out_u8(&a->link, ',');
	}
	ux_out_fmt(&a->link, "%" PRIx64, f->pc);
	a->link_id = id;
	if (a->link.size > LINK_BYTES_MAX) {
		a->link.size = before;
		a->link_full = true;
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Says which build was used and how it was chosen, and links to its code. */
static void symbolize_put_build(struct ux_out *out, const struct symbolize_frame *f)
{
	const char *id = f->build->found.id;
	struct ux_bytes name = ux_crash_base_name(ux_bytes_cstr(f->build->name));
	UX_HTML(out,
		"<p class=\"build\"><a href=\"/modules/$\"><span>$</span> <span "
		"class=\"id\">$</span></a> ",
		ux_html_url(id), name, id);
	UX_HTML(out, "<span>$</span> <a href=\"/frame?id=$&amp;addr=$\">source and code</a></p>\n",
		f->build->found.how, ux_html_url(id), ux_html_hex(f->pc));
}

static void symbolize_put_reason(const struct symbolize_answer *a, struct ux_out *out,
				 const struct symbolize_frame *f)
{
	bool chosen = f->build && *f->build->found.id;
	UX_HTML(out, "<p class=\"why\">$", ux_crash_item_why(a->naming, f->item));
	if (f->record && f->record->n_builds > 0 && !chosen)
		ux_out_cstr(out, ": <a href=\"#builds\">choose one</a>");
	else if (chosen && f->item->has_pc)
		UX_HTML(out, ": <a href=\"/explain?id=$&amp;addr=$\">explain</a>",
			ux_html_url(f->build->found.id), ux_html_hex(f->pc));
	ux_out_cstr(out, "</p>\n");
}

/* Writes the functions of a frame that has names. */
static enum ux_code symbolize_put_named(struct symbolize_answer *a, const struct symbolize_frame *f)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = f->record->module, .mode = UX_DEMANGLE_FULL, .work = &a->paste->work};
	uint32_t frame = 0;
	size_t done = 0;
	UX_TRY(ux_resolve(&r, &f->pc, 1, &frame, &done, &a->req->err));
	ux_page_frames(a->html, r.cache, frame);
	symbolize_put_texts(a, r.cache, frame);
	symbolize_put_build(a->html, f);
	return UX_OK;
}

static enum ux_code symbolize_put_frame(struct symbolize_answer *a, const struct symbolize_frame *f,
					bool several)
{
	if (several)
		UX_HTML(a->html, "<p class=\"at\"><code>$</code></p>",
			ux_html_hex(f->text->offset));
	symbolize_put_link(a, f);
	if (f->item->named)
		return symbolize_put_named(a, f);
	symbolize_put_unnamed(a, f);
	if (!f->item->located)
		symbolize_put_reason(a, a->html, f);
	return UX_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns a line without its line break. */
static struct ux_bytes symbolize_line(struct ux_bytes whole)
{
	while (whole.size > 0 &&
	       (whole.data[whole.size - 1] == '\n' || whole.data[whole.size - 1] == '\r'))
		whole.size--;
	return whole;
}

static enum ux_code symbolize_put_line(struct symbolize_answer *a, struct ux_bytes text,
				       const struct ux_crash_line *l,
				       const struct ux_crash_item *items)
{
	struct ux_out *out = a->html;
	UX_HTML(out, "<li><p class=\"request\"><code>$</code></p>", text);
	for (size_t i = 0; i < l->n; i++) {
		struct symbolize_frame f = symbolize_frame_of(a, &l->frames[i], &items[i]);
		UX_TRY(symbolize_put_frame(a, &f, l->n > 1));
	}
	if (l->more)
		ux_out_cstr(out, "<p class=\"why\">too many addresses in one line</p>");
	ux_out_cstr(out, "</li>\n");
	return UX_OK;
}

/* Writes lines without frames: a long run of them is folded up. */
static void symbolize_put_run(struct symbolize_answer *a, struct ux_bytes run, size_t n)
{
	struct ux_out *out = a->html;
	bool folded = n > RUN_SHOWN;
	if (folded)
		UX_HTML(out,
			"<li><details><summary>$ lines without frames</summary><pre "
			"tabindex=\"0\">",
			ux_html_count(n));
	while (run.size > 0) {
		const uint8_t *end = memchr(run.data, '\n', run.size);
		size_t size = end ? (size_t)(end + 1 - run.data) : run.size;
		struct ux_bytes line = symbolize_line(ux_bytes(run.data, size));
		run = ux_bytes(run.data + size, run.size - size);
		ux_out_put(&a->text, line.data, line.size);
		ux_out_u8(&a->text, '\n');
		if (folded)
			UX_HTML(out, "$\n", line);
		else if (line.size > 0)
			UX_HTML(out, "<li><p class=\"request\"><code>$</code></p></li>\n", line);
	}
	if (folded)
		ux_out_cstr(out, "</pre></details></li>\n");
}

/* Writes the text again, with the next item in place of each frame. */
static enum ux_code symbolize_put_lines(struct symbolize_answer *a)
{
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes left = a->pasted, whole, run = ux_bytes(left.data, 0);
	size_t next = 0, in_run = 0;
	struct ux_error *err = &a->req->err;
	ux_out_cstr(a->html, "<ol class=\"stack\">\n");
	while (ux_crash_next(&r, &left, &whole, &line)) {
		if (line.n == 0) {
			run.size += whole.size;
			in_run++;
			continue;
		}
		symbolize_put_run(a, run, in_run);
		whole = symbolize_line(whole);
		ux_out_put(&a->text, whole.data, whole.size);
		ux_out_u8(&a->text, '\n');
		UX_TRY(symbolize_put_line(a, whole, &line, &a->naming->items.data[next]));
		next += line.n;
		run = ux_bytes(left.data, 0);
		in_run = 0;
		UX_TRY(ux_out_status(&a->text, err));
		UX_TRY(ux_out_status(&a->markdown, err));
		UX_TRY(ux_out_status(a->html, err));
	}
	symbolize_put_run(a, run, in_run);
	ux_out_cstr(a->html, "</ol>\n");
	return UX_OK;
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Lists the builds of each ambiguous name; one click selects a build. */
static void symbolize_put_builds(struct symbolize_answer *a)
{
	struct ux_out *out = a->html;
	bool begun = false;
	for (size_t i = 0; i < a->naming->builds.size; i++) {
		const struct ux_crash_build *m = &a->naming->builds.data[i];
		const struct ux_paste_module *k = m->found.record;
		if (k->id || k->n_builds == 0)
			continue;
		if (!begun)
			ux_out_cstr(out, "<section id=\"builds\" class=\"builds\" "
					 "aria-labelledby=\"which\">\n<h2 id=\"which\">Which build "
					 "crashed?</h2>\n");
		begun = true;
		UX_HTML(out, "<h3><code>$</code></h3>\n<ul>\n", m->name);
		for (size_t j = 0; j < k->n_builds; j++) {
			const struct ux_paste_build *b = &k->builds[j];
			UX_HTML(out,
				"<li><button form=\"paste\" name=\"use\" value=\"$ "
				"$\">Use</button> "
				"<a href=\"/modules/$\"><span class=\"id\">$</span></a> ",
				m->name, b->id, ux_html_url(b->id), b->id);
			UX_HTML(out, "<span class=\"facts\">$ $</span></li>\n", b->file_name,
				ux_html_time(b->created));
		}
		ux_out_cstr(out, "</ul>\n");
		if (k->more_builds)
			UX_HTML(out,
				"<p class=\"hint\">There are more: <a href=\"/search?q=$\">all of "
				"them</a>.</p>\n",
				ux_html_url_bytes(ux_crash_base_name(ux_bytes_cstr(m->name))));
	}
	if (begun)
		ux_out_cstr(out, "</section>\n");
}

/* Returns a path if it can be pasted into a command unquoted; otherwise a placeholder. */
static struct ux_bytes symbolize_shell_path(struct ux_bytes name)
{
	for (size_t i = 0; i < name.size; i++)
		if (!ux_is_letter(name.data[i]) && !ux_is_digit(name.data[i]) &&
		    !memchr("/._+-", name.data[i], 5))
			return UX_STR("FILE");
	return name.size > 0 && name.data[0] == '/' ? name : UX_STR("FILE");
}

/* Returns whether an upload of the module's file would name frames of the module. */
static bool symbolize_is_missing(const struct ux_crash_build *b)
{
	const struct ux_paste_module *k = b->found.record;
	return b->named < b->frames && !b->found.open && (k->id || k->n_builds == 0) &&
	       (*b->name || k->id) && b->name[0] != '[';
}

static void symbolize_put_missing(struct symbolize_answer *a)
{
	struct ux_out *out = a->html;
	bool begun = false;
	for (size_t i = 0; i < a->naming->builds.size; i++) {
		const struct ux_crash_build *b = &a->naming->builds.data[i];
		uint64_t n = b->frames - b->named;
		if (!symbolize_is_missing(b))
			continue;
		if (!begun)
			ux_out_cstr(out, "<section aria-labelledby=\"missing\">\n"
					 "<h2 id=\"missing\">Missing symbols</h2>\n"
					 "<ul class=\"advice\">\n");
		begun = true;
		UX_HTML(out, "<li><code>$</code> ", *b->name ? b->name : b->found.id);
		if (*b->found.id && *b->name)
			UX_HTML(out, "<span class=\"id\">$</span> ", b->found.id);
		UX_HTML(out, "<span>$ $</span><br><code>unhex push $</code></li>\n",
			ux_html_count(n), n == 1 ? "frame" : "frames",
			symbolize_shell_path(ux_bytes_cstr(b->name)));
	}
	if (begun)
		ux_out_cstr(out, "</ul>\n</section>\n");
}

/* Lists the chosen builds that contradict the text. */
static void symbolize_put_notes(struct symbolize_answer *a)
{
	for (size_t i = 0; i < a->naming->builds.size; i++) {
		const struct ux_crash_build *b = &a->naming->builds.data[i];
		if (b->note)
			UX_HTML(a->html, "<p class=\"why\">$: $</p>\n",
				*b->name ? b->name : "Frames without a module", b->note);
	}
}

/* --- the answer ------------------------------------------------------------------------------- */

static void symbolize_put_sum(struct symbolize_answer *a)
{
	const struct ux_crash_naming *p = a->naming;
	if (p->frames == 0) {
		ux_out_cstr(a->html,
			    "<p class=\"sum\" role=\"status\">No frame was found in this text: no "
			    "line has a format listed below the field. An ID with addresses works "
			    "too: <code>gnu:93ac… 0x29d90</code>.</p>\n");
		return;
	}
	UX_HTML(a->html, "<p class=\"sum\" role=\"status\">$ of $ frames have names",
		ux_html_count(p->named + p->in_text), ux_html_count(p->frames));
	if (p->in_text > 0)
		UX_HTML(a->html, ", $ of them from the text only", ux_html_count(p->in_text));
	ux_out_cstr(a->html, ".");
	if (a->link_full)
		ux_out_cstr(a->html, " The stack is too long for a link.");
	else if (a->link.size > 0)
		UX_HTML(a->html, " <a href=\"/symbolize?stack=$\">Link to this stack</a>",
			ux_html_url_bytes(ux_out_bytes(&a->link)));
	ux_out_cstr(a->html, "</p>\n");
}

static void symbolize_put_copies(struct symbolize_answer *a)
{
	UX_HTML(a->html,
		"<details data-copy=\"Copy as text\"><summary>As text</summary><pre "
		"tabindex=\"0\">$</pre></details>\n",
		ux_out_bytes(&a->text));
	UX_HTML(a->html,
		"<details data-copy=\"Copy as Markdown\"><summary>As Markdown</summary><pre "
		"tabindex=\"0\">$</pre></details>\n",
		ux_out_bytes(&a->markdown));
}

/* The text above the list depends on the list, so the list is written into its own buffer first. */
static enum ux_code symbolize_put_answer(struct symbolize_answer *a)
{
	struct ux_request *req = a->req;
	struct ux_out lines = {.quota = &req->answer};
	const struct ux_out *const parts[] = {&lines, &a->text, &a->markdown, &a->link};
	a->html = &lines;
	enum ux_code code = symbolize_put_lines(a);
	for (size_t i = 0; i < ux_countof(parts) && code == UX_OK; i++)
		code = ux_out_status(parts[i], &req->err);
	if (code == UX_OK) {
		a->html = &req->out;
		ux_out_cstr(a->html, "<section class=\"answer\" aria-labelledby=\"answer\">\n"
				     "<h2 id=\"answer\">Names</h2>\n");
		symbolize_put_sum(a);
		symbolize_put_notes(a);
		symbolize_put_builds(a);
		ux_out_put(a->html, lines.data, lines.size);
		if (a->naming->frames > 0)
			symbolize_put_copies(a);
		ux_out_cstr(a->html, "</section>\n");
		symbolize_put_missing(a);
		code = ux_out_status(&req->out, &req->err);
	}
	ux_out_deinit(&lines);
	return code;
}

/* --- the form --------------------------------------------------------------------------------- */

static void symbolize_put_form(struct ux_out *out, const struct symbolize_form *f)
{
	ux_out_cstr(out,
		    "<form id=\"paste\" class=\"paste\" action=\"/symbolize\" method=\"post\">\n");
	UX_HTML(out,
		"<label for=\"text\">Stack, crash report or addresses</label>\n"
		"<textarea id=\"text\" name=\"text\" rows=\"12\" required spellcheck=\"false\" "
		"autocapitalize=\"off\" aria-describedby=\"kinds\">$</textarea>\n",
		f->text);
	ux_out_cstr(out,
		    "<p id=\"kinds\" class=\"hint\">Paste it as it is: backtrace(3), sanitizers, "
		    "gdb, systemd-coredump, eu-stack, Go, Rust, Java (hs_err), the kernel's log, "
		    "perf script, Android, macOS; or <code>gnu:93ac… 0x29d90</code>. For addresses "
		    "of a process, paste its <code>/proc/PID/maps</code> below.</p>\n");
	UX_HTML(out,
		"<label for=\"id\">Module of frames that name none; or NAME=ID</label>\n"
		"<input id=\"id\" name=\"id\" value=\"$\" placeholder=\"gnu:… or bare hex\" "
		"autocomplete=\"off\" spellcheck=\"false\">\n",
		f->id);
	for (size_t i = 0; i < f->n_selected; i++)
		UX_HTML(out, "<input type=\"hidden\" name=\"use\" value=\"$\">\n", f->selected[i]);
	UX_HTML(out,
		"<div class=\"row\"><label class=\"check\"><input type=\"checkbox\" name=\"ra\" "
		"value=\"1\"$> addresses alone are return addresses: look one byte before</label>\n",
		f->returns ? UX_HTML_OURS(" checked") : UX_HTML_OURS(""));
	UX_HTML(out,
		"<label class=\"check\"><input type=\"checkbox\" name=\"force\" value=\"1\"$> use "
		"the selected build even if the text has another ID</label>\n"
		"<button class=\"main\">Symbolize</button></div>\n</form>\n",
		f->force ? UX_HTML_OURS(" checked") : UX_HTML_OURS(""));
}

/* Parses "NAME ID", one of the offered builds that the user selected. */
static struct ux_crash_choice symbolize_choice(struct ux_bytes selected)
{
	const uint8_t *blank = ux_bytes_find_last(selected, ' ');
	size_t n = blank ? (size_t)(blank - selected.data) : 0;
	if (!blank)
		return (struct ux_crash_choice){0};
	return (struct ux_crash_choice){.name = ux_bytes(selected.data, n),
					.what = ux_bytes(blank + 1, selected.size - n - 1)};
}

static enum ux_code symbolize_answer(struct ux_request *req, const struct symbolize_form *f)
{
	struct ux_paste *p = ux_arena_new(&req->arena, struct ux_paste);
	struct ux_crash_choice *choices =
		ux_arena_array(&req->arena, struct ux_crash_choice, CHOICES_MAX + 1);
	if (!p || !choices)
		return ux_arena_fail(&req->arena, &req->err);
	ux_paste_init(p, req);
	for (size_t i = 0; i < f->n_selected; i++)
		choices[i] = symbolize_choice(f->selected[i]);
	choices[f->n_selected] = ux_crash_choice_parse(f->id);
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming n = {
		.source = &p->source,
		.choices = choices,
		.n_choices = f->n_selected + 1,
		.limits = {.lines = UX_PASTE_LINES_MAX,
			   .frames = UX_PASTE_FRAMES_MAX,
			   .modules = UX_PASTE_MODULES_MAX,
			   .names = UX_PASTE_NAMES_BUDGET},
		.force = f->force,
		.returns = f->returns};
	ux_cleanup(symbolize_answer_deinit) struct symbolize_answer a = {.paste = p,
									 .naming = &n,
									 .req = req,
									 .pasted = f->text,
									 .text.quota = &req->answer,
									 .markdown.quota =
										 &req->answer};
	ux_request_answer_max(req, ANSWER_MAX);
	UX_TRY(ux_crash_naming_read(&n, f->text, &req->err));
	return symbolize_put_answer(&a);
}

/* --- links ------------------------------------------------------------------------------------ */

/* Reads the stack in a link, and sets the corresponding text: a line for each frame. */
static enum ux_code symbolize_read_link(struct ux_request *req, struct ux_bytes stack,
					struct ux_bytes *ret)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_bytes id = UX_BYTES_NONE;
	while (stack.size > 0) {
		size_t n = 0;
		uint64_t pc = 0;
		while (n < stack.size && !memchr(",;@", stack.data[n], 3))
			n++;
		struct ux_bytes word = ux_bytes(stack.data, n);
		bool is_id = n < stack.size && stack.data[n] == '@';
		if (is_id)
			id = word;
		else if (id.size == 0 || !ux_hex_parse_u64(word, /* hex= */ true, &pc))
			return ux_error_set(&req->err, UX_EINVAL,
					    "\"stack\" is not a list of ID@ADDRESS,ADDRESS;ID@...");
		if (!is_id) {
			ux_out_put(&text, id.data, id.size);
			ux_out_fmt(&text, " 0x%" PRIx64 "\n", pc);
		}
		n = ux_min(n + 1, stack.size);
		stack = ux_bytes(stack.data + n, stack.size - n);
	}
	UX_TRY(ux_out_status(&text, &req->err));
	char *copy = ux_arena_strndup(&req->arena, text.data, text.size);
	if (!copy)
		return ux_arena_fail(&req->arena, &req->err);
	*ret = ux_bytes(copy, text.size);
	return UX_OK;
}

enum ux_code ux_web_symbolize_form(struct ux_request *req, struct ux_response *res)
{
	struct symbolize_form f = {.id = ux_page_query(req, "id"), .text = UX_STR("")};
	struct ux_bytes stack = ux_page_query(req, "stack");
	if (stack.size > 0)
		UX_TRY(symbolize_read_link(req, stack, &f.text));
	const struct ux_page *what = stack.size > 0 ? &page_of_stack : &page;
	ux_page_begin(req, what);
	ux_out_cstr(&req->out, "<h1>Symbolize</h1>\n");
	if (stack.size > 0)
		UX_TRY(symbolize_answer(req, &f));
	symbolize_put_form(&req->out, &f);
	return ux_page_end(req, res, what);
}

/* Reads the builds that were selected, now and earlier. */
static void symbolize_read_choices(struct symbolize_form *f, const struct ux_form *form)
{
	for (size_t i = 0; i < form->n && f->n_selected < CHOICES_MAX; i++)
		if (ux_bytes_eq(form->fields[i].name, UX_STR("use")))
			f->selected[f->n_selected++] = form->fields[i].value;
}

enum ux_code ux_web_symbolize(struct ux_request *req, struct ux_response *res)
{
	struct ux_form form;
	struct symbolize_form f = {0};
	UX_TRY(ux_form_read(req, &form));
	f.id = ux_page_trim(ux_form_get(&form, "id"));
	f.text = ux_form_get(&form, "text");
	f.returns = ux_form_get(&form, "ra").size > 0;
	f.force = ux_form_get(&form, "force").size > 0;
	symbolize_read_choices(&f, &form);
	ux_page_begin(req, &page_of_stack);
	ux_out_cstr(&req->out, "<h1>Symbolize</h1>\n");
	UX_TRY(symbolize_answer(req, &f));
	symbolize_put_form(&req->out, &f);
	return ux_page_end(req, res, &page_of_stack);
}
