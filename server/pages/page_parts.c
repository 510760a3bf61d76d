/* SPDX-License-Identifier: Apache-2.0 */
/* Common elements of pages. */
#include "page.h"

#include "frame_cache.h"
#include "text.h"

void ux_page_quality(struct ux_out *out, enum ux_quality quality)
{
	UX_HTML(out, "<span class=\"quality q$\">$</span>", (unsigned)quality,
		ux_quality_name(quality));
}

void ux_page_share(struct ux_out *out, uint64_t part, uint64_t whole, const char *noun)
{
	double share = whole > 0 ? (double)ux_min(part, whole) / (double)whole : 0;
	/*
	 * The bar is drawn with attributes, because the content security policy forbids inline
	 * styles.
	 */
	unsigned percent = (unsigned)(share * 100);
	UX_HTML(out,
		"<span class=\"share\"><svg viewBox=\"0 0 100 8\" width=\"100\" height=\"8\" "
		"preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rail\" "
		"width=\"100\" "
		"height=\"8\"></rect><rect class=\"fill\" width=\"$\" height=\"8\"></rect></svg> "
		"$\xc2\xa0% $</span>",
		percent, percent, noun);
}

void ux_page_module_link(struct ux_out *out, const char *id)
{
	UX_HTML(out, "<a class=\"id\" href=\"/modules/$\">$</a>", ux_html_url(id), id);
}

static void page_put_source(struct ux_out *out, const struct ux_frame_text *f)
{
	bool slash = f->dir.size > 0 && f->dir.data[f->dir.size - 1] != '/';
	UX_HTML(out, " <span class=\"where\">$$<b>$</b>", f->dir, slash ? "/" : "", f->base);
	if (f->line > 0)
		UX_HTML(out, ":$", f->line);
	ux_out_cstr(out, "</span>");
}

void ux_page_frames(struct ux_out *out, const struct ux_frame_cache *cache, uint32_t frame)
{
	if (frame == 0)
		return;
	ux_out_cstr(out, "<ol class=\"frames\">\n");
	for (; frame != 0; frame = ux_cached_frame(cache, frame)->up) {
		struct ux_frame_text f = ux_frame_cache_text(cache, frame);
		UX_HTML(out, "<li><code class=\"fn\">$</code>", f.function);
		if (f.inlined)
			ux_out_cstr(out, " <span class=\"tag\">inlined</span>");
		if (f.base.size > 0)
			page_put_source(out, &f);
		ux_out_cstr(out, "</li>\n");
	}
	ux_out_cstr(out, "</ol>\n");
}

const char *ux_page_module_name(const struct ux_module *m)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].file_name[0] != '\0')
			return m->candidates[i].file_name;
	return "";
}

/* The folder is styled less prominently than the name. */
static void page_put_name(struct ux_out *out, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash && slash[1] != '\0' ? (size_t)(slash - path) + 1 : 0;
	UX_HTML(out, "<span class=\"name\"><span class=\"dir\">$</span>$</span>", ux_bytes(path, n),
		path + n);
}

static void page_put_states(struct ux_out *out, const struct ux_module *m)
{
	if (ux_module_in_state(m, UX_CANDIDATE_PENDING))
		ux_out_cstr(out, " <span class=\"tag busy\">being extracted</span>");
	if (!ux_module_best(m, UX_KIND_GSYM) && ux_module_in_state(m, UX_CANDIDATE_FAILED))
		ux_out_cstr(out, " <span class=\"tag bad\">failed</span>");
	if (m->pinned)
		ux_out_cstr(out, " <span class=\"tag\">pinned</span>");
}

void ux_page_module_lines(struct ux_out *out, const struct ux_module *m)
{
	const char *name = ux_page_module_name(m);
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	const struct ux_candidate *best = ux_module_best(m, UX_KIND_GSYM);
	UX_HTML(out, "<a class=\"module\" href=\"/modules/$\">", ux_html_url(id));
	if (name[0] != '\0')
		page_put_name(out, name);
	UX_HTML(out, "<span class=\"id\">$</span></a>\n<span class=\"facts\">", id);
	ux_page_quality(out, ux_module_quality(m));
	page_put_states(out, m);
	if (best)
		UX_HTML(out, " <span>$ functions</span> <span>$</span>",
			ux_html_count(best->counts.functions), ux_html_size(best->size));
	UX_HTML(out, " <span>$</span></span>\n", ux_html_time(m->created));
}

void ux_page_module_entry(struct ux_out *out, const struct ux_module *m)
{
	ux_out_cstr(out, "<li>");
	ux_page_module_lines(out, m);
	ux_out_cstr(out, "</li>\n");
}

/* Writes a word for a POSIX shell, and quotes it if it is not plain. */
static void page_put_shell_word(struct ux_out *out, struct ux_bytes word)
{
	bool plain = word.size > 0 && word.data[0] != '-';
	for (size_t i = 0; i < word.size && plain; i++)
		plain = ux_is_letter(word.data[i]) || ux_is_digit(word.data[i]) ||
			memchr("-._/:@%+=,", word.data[i], 10);
	if (plain) {
		ux_out_put(out, word.data, word.size);
		return;
	}
	ux_out_u8(out, '\'');
	for (size_t i = 0; i < word.size; i++)
		if (word.data[i] == '\'')
			ux_out_cstr(out, "'\\''");
		else
			ux_out_u8(out, word.data[i]);
	ux_out_u8(out, '\'');
}

/*
 * Writes the URL of this server. Host comes from the client: anything but a host and a port is left
 * out.
 */
static void page_put_own_url(struct ux_request *req, struct ux_out *out)
{
	const struct ux_caller *caller = ux_caller_of(req);
	struct ux_bytes host = UX_BYTES_NONE;
	bool good = ux_request_header(req, "Host", &host) && host.size > 0;
	for (size_t i = 0; i < host.size && good; i++)
		good = ux_is_letter(host.data[i]) || ux_is_digit(host.data[i]) ||
		       memchr("-.:[]", host.data[i], 5);
	ux_out_cstr(out, caller->https || ux_server_of(req)->tls ? "https://" : "http://");
	ux_out_put(out, good ? host.data : (const uint8_t *)"SERVER", good ? host.size : 6);
	if (req->path_space.size > 0) {
		ux_out_cstr(out, "/n/");
		ux_out_put(out, req->path_space.data, req->path_space.size);
	}
}

void ux_page_command(struct ux_request *req, const char *text, const struct ux_bytes *values,
		     size_t n)
{
	ux_cleanup(ux_out_deinit) struct ux_out line = {0}, url = {0};
	size_t used = 0;
	page_put_own_url(req, &url);
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '@')
			ux_out_put(&line, url.data, url.size);
		else if (*p == '$' && used < n)
			page_put_shell_word(&line, values[used++]);
		else
			ux_out_u8(&line, (uint8_t)*p);
	}
	assert(used == n);
	req->out.failed |= line.failed || url.failed;
	UX_HTML(&req->out, "<pre class=\"command\"><code>$</code></pre>\n",
		ux_bytes(line.data, line.size));
}

struct ux_bytes ux_page_trim(struct ux_bytes s)
{
	while (s.size > 0 && strchr(" \t\r\n", s.data[0]) && s.data[0] != 0)
		s = ux_bytes(s.data + 1, s.size - 1);
	while (s.size > 0 && strchr(" \t\r\n", s.data[s.size - 1]) && s.data[s.size - 1] != 0)
		s.size--;
	return s;
}

struct ux_bytes ux_page_query(const struct ux_request *req, const char *name)
{
	struct ux_bytes v;
	return ux_request_query(req, name, &v) ? ux_page_trim(v) : UX_STR("");
}

int64_t ux_page_number(const struct ux_request *req, const char *name, int64_t otherwise)
{
	uint64_t v = 0;
	struct ux_bytes text = ux_page_query(req, name);
	if (!ux_decimal_parse(text, &v) || v > INT64_MAX)
		return otherwise;
	return (int64_t)v;
}

static enum ux_code page_read_pair(struct ux_request *req, struct ux_bytes pair,
				   struct ux_form *form)
{
	const uint8_t *eq = memchr(pair.data, '=', pair.size);
	size_t n = eq ? (size_t)(eq - pair.data) : pair.size;
	struct ux_bytes value = eq ? ux_bytes(eq + 1, pair.size - n - 1) : UX_BYTES_NONE;
	if (form->n == UX_FORM_FIELDS_MAX)
		return ux_error_set(&req->err, UX_ELIMIT, "the form has more than %d fields",
				    UX_FORM_FIELDS_MAX);
	struct ux_http_field *f = &form->fields[form->n];
	UX_TRY(ux_percent_decode(ux_bytes(pair.data, n), /* plus= */ true, &req->arena, "form",
				 &f->name, &req->err));
	UX_TRY(ux_percent_decode(value, /* plus= */ true, &req->arena, "form", &f->value,
				 &req->err));
	form->n++;
	return UX_OK;
}

enum ux_code ux_form_read(struct ux_request *req, struct ux_form *ret)
{
	struct ux_bytes left = req->body;
	*ret = (struct ux_form){0};
	if (left.size > UX_FORM_BODY_MAX)
		return ux_error_set(&req->err, UX_ELIMIT, "the form exceeds %d bytes",
				    UX_FORM_BODY_MAX);
	while (left.size > 0) {
		const uint8_t *amp = memchr(left.data, '&', left.size);
		size_t n = amp ? (size_t)(amp - left.data) : left.size;
		if (n > 0)
			UX_TRY(page_read_pair(req, ux_bytes(left.data, n), ret));
		left = amp ? ux_bytes(amp + 1, left.size - n - 1) : UX_BYTES_NONE;
	}
	return UX_OK;
}

struct ux_bytes ux_form_get(const struct ux_form *form, const char *name)
{
	for (size_t i = 0; i < form->n; i++)
		if (ux_bytes_eq(form->fields[i].name, ux_bytes_cstr(name)))
			return form->fields[i].value;
	return UX_STR("");
}
