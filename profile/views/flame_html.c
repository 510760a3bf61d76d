/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a flame graph: markup, style and script, and the tree as JSON in a data block. */
#include "flame.h"
#include "html_escape.h"
#include "json_out.h"

enum {
	UX_FLAME_PC = 17, /* bytes of an address as text */
};

/* Functions and strings that the nodes of a tree use, numbered in the order of their first use. */
struct flame_numbers {
	uint32_t *of_function; /* for each function, its number plus one */
	uint32_t *of_string;
	uint32_t *functions; /* for each number, the function */
	uint32_t *strings;
	size_t n_functions;
	size_t n_strings;
};

static void flame_numbers_deinit(struct flame_numbers *n)
{
	free(n->of_function);
	free(n->of_string);
	free(n->functions);
	free(n->strings);
}

static void flame_use_string(struct flame_numbers *n, uint32_t string)
{
	if (n->of_string[string] != 0)
		return;
	n->strings[n->n_strings++] = string;
	n->of_string[string] = (uint32_t)n->n_strings;
}

static enum ux_code flame_number(const struct ux_call_tree *t, struct flame_numbers *n,
				 struct ux_error *err)
{
	size_t functions = t->functions.list.size, strings = t->functions.strings.list.size;
	n->of_function = calloc(functions, sizeof(*n->of_function));
	n->functions = malloc(functions * sizeof(*n->functions));
	n->of_string = calloc(strings, sizeof(*n->of_string));
	n->strings = malloc(strings * sizeof(*n->strings));
	if (!n->of_function || !n->functions || !n->of_string || !n->strings)
		return ux_error_nomem(err);
	flame_use_string(n, 0);
	for (size_t i = 0; i < t->nodes.size; i++) {
		uint32_t function = t->nodes.data[i].function;
		if (n->of_function[function] != 0)
			continue;
		n->functions[n->n_functions++] = function;
		n->of_function[function] = (uint32_t)n->n_functions;
		const struct ux_function *f = &t->functions.list.data[function];
		flame_use_string(n, f->name);
		flame_use_string(n, f->module);
		flame_use_string(n, f->file);
		flame_use_string(n, f->why);
	}
	for (size_t i = 0; i < t->places.size; i++)
		flame_use_string(n, t->places.data[i].id);
	return UX_OK;
}

/* The text properties of functions. */
static const struct {
	const char *key;
	size_t offset;
} flame_texts[] = {
	{"name", offsetof(struct ux_function, name)},
	{"module", offsetof(struct ux_function, module)},
	{"file", offsetof(struct ux_function, file)},
	{"why", offsetof(struct ux_function, why)},
};

static enum ux_code flame_put_functions(const struct ux_call_tree *t, const struct flame_numbers *n,
					struct ux_json *j, struct ux_stream *s,
					struct ux_error *err)
{
	ux_json_key(j, "strings");
	ux_json_array_begin(j);
	for (size_t i = 0; i < n->n_strings; i++) {
		ux_json_str(j, ux_strings_get(&t->functions.strings, n->strings[i]));
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_json_array_end(j);
	ux_json_key(j, "functions");
	ux_json_object_begin(j);
	for (size_t k = 0; k < ux_countof(flame_texts); k++) {
		ux_json_key(j, flame_texts[k].key);
		ux_json_array_begin(j);
		for (size_t i = 0; i < n->n_functions; i++) {
			const struct ux_function *f = &t->functions.list.data[n->functions[i]];
			uint32_t string = 0;
			memcpy(&string, (const char *)f + flame_texts[k].offset, sizeof(string));
			ux_json_u64(j, n->of_string[string] - 1);
			UX_TRY(ux_stream_pass(s, err));
		}
		ux_json_array_end(j);
	}
	ux_json_key(j, "line");
	ux_json_array_begin(j);
	for (size_t i = 0; i < n->n_functions; i++)
		ux_json_u64(j, t->functions.list.data[n->functions[i]].line);
	ux_json_array_end(j);
	ux_json_key(j, "unnamed");
	ux_json_array_begin(j);
	for (size_t i = 0; i < n->n_functions; i++)
		ux_json_u64(j, !t->functions.list.data[n->functions[i]].named);
	ux_json_array_end(j);
	ux_json_object_end(j);
	return ux_stream_pass(s, err);
}

static enum ux_code flame_put_nodes(const struct ux_call_tree *t, const struct flame_numbers *n,
				    struct ux_json *j, struct ux_stream *s, struct ux_error *err)
{
	ux_json_key(j, "nodes");
	ux_json_object_begin(j);
	ux_json_key(j, "function");
	ux_json_array_begin(j);
	for (size_t i = 0; i < t->nodes.size; i++) {
		ux_json_u64(j, n->of_function[t->nodes.data[i].function] - 1);
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_json_array_end(j);
	ux_json_key(j, "depth");
	ux_json_array_begin(j);
	for (size_t i = 0; i < t->nodes.size; i++) {
		ux_json_u64(j, t->nodes.data[i].depth);
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_json_array_end(j);
	ux_json_key(j, "calls"); /* a digit for each node */
	struct ux_out *out = ux_json_value(j);
	ux_out_u8(out, '"');
	for (size_t i = 0; i < t->nodes.size; i++) {
		ux_out_u8(out, '0' + t->nodes.data[i].calls);
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_out_u8(out, '"');
	ux_json_object_end(j);
	ux_json_key(j, "self");
	ux_json_array_begin(j);
	for (size_t k = 0; k < t->n_columns; k++) {
		ux_json_array_begin(j);
		for (size_t i = 0; i < t->nodes.size; i++) {
			ux_json_i64(j, ux_call_self(t, i, k));
			UX_TRY(ux_stream_pass(s, err));
		}
		ux_json_array_end(j);
	}
	ux_json_array_end(j);
	return UX_OK;
}

/* Writes the places, and for each node the number of its place plus one. */
static enum ux_code flame_put_places(const struct ux_call_tree *t, const struct flame_numbers *n,
				     struct ux_json *j, struct ux_stream *s, struct ux_error *err)
{
	char text[UX_FLAME_PC];
	ux_json_key(j, "places");
	ux_json_object_begin(j);
	ux_json_key(j, "id");
	ux_json_array_begin(j);
	for (size_t i = 0; i < t->places.size; i++) {
		ux_json_u64(j, n->of_string[t->places.data[i].id] - 1);
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_json_array_end(j);
	ux_json_key(j, "pc"); /* as text: a JavaScript number has 53 bits */
	ux_json_array_begin(j);
	for (size_t i = 0; i < t->places.size; i++) {
		(void)snprintf(text, sizeof(text), "%" PRIx64, t->places.data[i].pc);
		ux_json_cstr(j, text);
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_json_array_end(j);
	ux_json_key(j, "of_node");
	ux_json_array_begin(j);
	for (size_t i = 0; i < t->nodes.size; i++) {
		ux_json_u64(j, t->nodes.data[i].place);
		UX_TRY(ux_stream_pass(s, err));
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
	return UX_OK;
}

static enum ux_code flame_put_data(const struct ux_call_tree *t,
				   const struct ux_flame_options *options,
				   const struct flame_numbers *n, struct ux_stream *s,
				   struct ux_error *err)
{
	struct ux_json j = ux_json_make(&s->out);
	j.in_html = true;
	ux_json_object_begin(&j);
	ux_json_key_u64(&j, "version", 1);
	ux_json_key_str(&j, "title", options->title);
	if (t->n_columns > t->n_types)
		ux_json_key_str(&j, "other", options->other);
	ux_json_key_u64(&j, "type", options->type < t->n_types ? options->type : 0);
	ux_json_key(&j, "types");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < t->n_types; i++) {
		ux_json_object_begin(&j);
		ux_json_key_str(&j, "name",
				ux_strings_get(&t->functions.strings, t->types[i].name));
		ux_json_key_str(&j, "unit",
				ux_strings_get(&t->functions.strings, t->types[i].unit));
		ux_json_object_end(&j);
	}
	ux_json_array_end(&j);
	UX_TRY(flame_put_functions(t, n, &j, s, err));
	UX_TRY(flame_put_nodes(t, n, &j, s, err));
	if (options->frame_url.size > 0 && t->places.size > 0) {
		ux_json_key_str(&j, "frame_url", options->frame_url);
		UX_TRY(flame_put_places(t, n, &j, s, err));
	}
	ux_json_object_end(&j);
	return UX_OK;
}

static void flame_put_asset(struct ux_out *out, const struct ux_asset *asset)
{
	ux_out_put(out, asset->data, asset->size);
}

static void flame_put_head(const struct ux_flame_options *options, struct ux_out *out)
{
	ux_out_cstr(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			 "'none'; base-uri 'none'; form-action 'none'; script-src '");
	ux_out_cstr(out, ux_asset_flame_script.integrity);
	ux_out_cstr(out, "'; style-src '");
	ux_out_cstr(out, ux_asset_flame_style.integrity);
	ux_out_cstr(out, "'\">\n<meta name=\"viewport\" content=\"width=device-width, "
			 "initial-scale=1\">\n<title>");
	ux_html_escape(out, options->title);
	ux_out_cstr(out, " - flame graph</title>\n<style>");
	flame_put_asset(out, &ux_asset_flame_style);
	ux_out_cstr(out, "</style>\n</head>\n");
}

static const char flame_controls[] =
	"<noscript><p>This page draws with a script. A picture without one: <code>unhex flame "
	"PROFILE -o flame.svg</code></p></noscript>\n"
	"<p id=\"empty\" hidden>This profile has no samples.</p>\n"
	"<div class=\"controls\" role=\"search\">\n"
	"<label class=\"search\">Search functions and modules: text or /expression/"
	"<input id=\"query\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></label>\n"
	"<label>View<select id=\"view\"><option value=\"calls\">from callers to callees</option>"
	"<option value=\"inverted\">inverted: from callees to callers</option></select></label>\n"
	"<label>Value<select id=\"type\"></select></label>\n"
	"<label data-compared hidden>Widths<select id=\"side\"><option value=\"this\">of this "
	"profile</option><option value=\"other\">of the profile before</option></select></label>\n"
	"<label>Colour<select id=\"color\"><option value=\"function\">by function</option>"
	"<option value=\"module\">by module</option><option value=\"source\">by source file"
	"</option></select></label>\n"
	"<button id=\"reset\" type=\"button\" disabled>Zoom out</button>\n"
	"</div>\n"
	"<p id=\"found\" role=\"status\"></p>\n"
	"<div id=\"graph\" role=\"tree\" tabindex=\"0\" aria-label=\"Flame graph\" "
	"aria-describedby=\"keys\" aria-activedescendant=\"current\"><div id=\"space\">"
	"<canvas id=\"canvas\" aria-hidden=\"true\"></canvas></div>"
	"<div id=\"current\" role=\"treeitem\" aria-selected=\"true\"></div></div>\n"
	"<p id=\"legend\" class=\"soft\"></p>\n"
	"<section id=\"about\" aria-label=\"Frame\"><p id=\"name\"></p><p id=\"facts\"></p>"
	"<p id=\"why\"></p><p id=\"link\" hidden><a id=\"source\" rel=\"noreferrer\">Source and machine "
	"code</a></p></section>\n"
	"<p id=\"keys\" class=\"soft\">Click or Enter: zoom. Arrow keys: callee, caller, neighbours. "
	"Escape: zoom out.<span id=\"open\" hidden> O: source and machine code of the frame.</span> "
	"Italic: inlined. Hatched: no name.</p>\n"
	"<h2>Functions</h2>\n"
	"<div class=\"controls\"><label>Order<select id=\"order\"><option value=\"self\">self"
	"</option><option value=\"total\">total</option></select></label></div>\n"
	"<div class=\"wide\"><table><thead><tr><th scope=\"col\">Self</th><th scope=\"col\">Total</th>"
	"<th scope=\"col\" data-compared hidden>Change</th><th scope=\"col\">Function</th>"
	"<th scope=\"col\">Module</th></tr></thead><tbody id=\"functions\"></tbody></table></div>\n"
	"<button id=\"more\" type=\"button\" hidden>More functions</button>\n";

static void flame_put_body(const struct ux_call_tree *t, const struct ux_flame_options *options,
			   struct ux_out *out)
{
	ux_out_cstr(out, "<body>\n<main>\n");
	if (options->back_url.size > 0) {
		ux_out_cstr(out, "<p><a href=\"");
		ux_html_escape(out, options->back_url);
		ux_out_cstr(out, "\">");
		ux_html_escape(out, options->back_text);
		ux_out_cstr(out, "</a></p>\n");
	}
	ux_out_cstr(out, "<h1>");
	ux_html_escape(out, options->title);
	ux_out_cstr(out, "</h1>\n");
	if (t->n_columns > t->n_types) {
		ux_out_cstr(out, "<p class=\"soft\">Compared with ");
		ux_html_escape(out, options->other);
		ux_out_cstr(out, ", by the share of each function in its profile.</p>\n");
	}
	if (t->n_left_out > 0)
		ux_out_fmt(out,
			   "<p class=\"soft\">%zu of %zu frames are too small to be here; their "
			   "values are in frames \"(smaller)\".</p>\n",
			   t->n_left_out, t->n_left_out + t->nodes.size);
	ux_out_cstr(out, flame_controls);
	ux_out_cstr(out, "</main>\n");
}

static enum ux_code flame_put_page(const struct ux_call_tree *t,
				   const struct ux_flame_options *options, struct flame_numbers *n,
				   struct ux_stream *s, struct ux_error *err)
{
	UX_TRY(flame_number(t, n, err));
	flame_put_head(options, &s->out);
	flame_put_body(t, options, &s->out);
	ux_out_cstr(&s->out, "<script id=\"profile\" type=\"application/json\">");
	UX_TRY(flame_put_data(t, options, n, s, err));
	ux_out_cstr(&s->out, "</script>\n<script>");
	flame_put_asset(&s->out, &ux_asset_flame_script);
	ux_out_cstr(&s->out, "</script>\n</body>\n</html>\n");
	return ux_stream_flush(s, err);
}

enum ux_code ux_flame_html(const struct ux_call_tree *t, const struct ux_flame_options *options,
			   struct ux_stream *s, struct ux_error *err)
{
	struct flame_numbers n = {0};
	enum ux_code code = flame_put_page(t, options, &n, s, err);
	flame_numbers_deinit(&n);
	return code;
}
