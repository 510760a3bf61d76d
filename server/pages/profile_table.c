/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions, or of lines, of a profile. */
#include "profile_table.h"

#include "call_place.h"
#include "order.h"
#include "page.h"
#include "profile_output.h"
#include "profile_text.h"
#include "stored_profile.h"

/* A row of the table: its rows in the two profiles; SIZE_MAX: not in that profile. */
struct table_row {
	size_t now, then;
	double change; /* change of the row's share of self values */
};

UX_VEC(table_rows, struct table_row);

struct table {
	struct ux_request *req;
	const struct ux_profile_table *what;
	struct ux_top now, then;
	size_t type, type_then;
	struct table_rows rows;
};

static void table_deinit(struct table *t)
{
	ux_top_deinit(&t->now);
	ux_top_deinit(&t->then);
	table_rows_deinit(&t->rows);
}

/* Returns a share in percent. An empty profile has no shares: 0. */
static double table_share(int64_t part, int64_t whole)
{
	return whole != 0 ? 100 * (double)part / (double)whole : 0;
}

/* Returns a hash of a row's function, module, file and line, equal for both profiles. */
static uint64_t table_key(const struct ux_top *top, const struct ux_profile *p, size_t row)
{
	const struct ux_top_row *r = &top->rows.data[row];
	const struct ux_function *f = &top->functions.list.data[r->function];
	uint64_t key = ux_hash_bytes(ux_strings_get(&top->functions.strings, f->name));
	key = ux_hash_mix(key, ux_hash_bytes(ux_strings_get(&top->functions.strings, f->module)));
	key = ux_hash_mix(key, ux_hash_bytes(ux_profile_text(p, r->file)));
	return ux_hash_mix(key, r->line + 1);
}

static int table_compare(const void *pa, const void *pb)
{
	const struct table_row *a = pa, *b = pb;
	double x = a->change < 0 ? -a->change : a->change,
	       y = b->change < 0 ? -b->change : b->change;
	UX_ORDER(y, x);
	UX_ORDER(a->now, b->now);
	UX_ORDER(a->then, b->then);
	return 0;
}

/* Pairs the rows of both profiles. */
static enum ux_code table_pair(struct table *t, struct ux_error *err)
{
	ux_cleanup(ux_profile_numbers_deinit) struct ux_profile_numbers then_of = {0};
	ux_cleanup(ux_free_ptr) bool *paired = calloc(t->then.rows.size + 1, sizeof(*paired));
	bool fresh = false;
	if (!paired)
		return ux_error_nomem(err);
	for (size_t i = 0; i < t->then.rows.size; i++) {
		uint32_t *slot = ux_profile_numbers_insert(
			&then_of, table_key(&t->then, t->what->before, i), &fresh);
		if (!slot)
			return ux_error_nomem(err);
		*slot = fresh ? (uint32_t)i : *slot;
	}
	for (size_t i = 0; i < t->now.rows.size; i++) {
		const uint32_t *slot =
			ux_profile_numbers_find(&then_of, table_key(&t->now, t->what->profile, i));
		struct table_row row = {.now = i, .then = slot ? *slot : SIZE_MAX};
		row.change = table_share(t->now.rows.data[i].self, t->now.sum);
		if (slot && !paired[*slot]) {
			row.change -= table_share(t->then.rows.data[*slot].self, t->then.sum);
			paired[*slot] = true;
		}
		if (!table_rows_append(&t->rows, row))
			return ux_error_nomem(err);
	}
	for (size_t i = 0; i < t->then.rows.size; i++) {
		struct table_row row = {.now = SIZE_MAX, .then = i};
		row.change = -table_share(t->then.rows.data[i].self, t->then.sum);
		if (!paired[i] && !table_rows_append(&t->rows, row))
			return ux_error_nomem(err);
	}
	if (t->rows.size > 0)
		qsort(t->rows.data, t->rows.size, sizeof(*t->rows.data), table_compare);
	return UX_OK;
}

static enum ux_code table_make(struct table *t, struct ux_error *err)
{
	const struct ux_profile_table *what = t->what;
	struct ux_top_options options = {.level = what->level,
					 .demangle = UX_DEMANGLE_SHORT,
					 .names_max = UX_PROFILE_NAMES_MAX};
	UX_TRY(ux_profile_type_find(what->profile, what->value, &t->type, err));
	options.type = t->type;
	UX_TRY(ux_top_make(&t->now, what->profile, &options, err));
	if (what->before) {
		UX_TRY(ux_profile_type_find(what->before, what->value, &t->type_then, err));
		options.type = t->type_then;
		UX_TRY(ux_top_make(&t->then, what->before, &options, err));
		return table_pair(t, err);
	}
	for (size_t i = 0; i < ux_min(t->now.rows.size, (size_t)UX_PROFILE_TABLE_ROWS); i++)
		if (!table_rows_append(&t->rows, (struct table_row){.now = i, .then = SIZE_MAX}))
			return ux_error_nomem(err);
	return UX_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void table_put_value(struct table *t, int64_t value, struct ux_out *out)
{
	char text[UX_PROFILE_AMOUNT];
	const struct ux_profile *p = t->what->profile;
	struct ux_bytes unit = UX_STR("");
	if (t->type < p->n_types)
		unit = ux_profile_text(p, p->types[t->type].unit);
	ux_profile_amount(unit, value, text);
	UX_HTML(out, "<td class=\"num amount\">$</td>", text);
	snprintf(text, sizeof(text), "%.1f\xc2\xa0%%", table_share(value, t->now.sum));
	UX_HTML(out, "<td class=\"num\">$</td>", text);
}

static void table_put_change(const struct table_row *row, struct ux_out *out)
{
	char text[UX_PROFILE_AMOUNT];
	snprintf(text, sizeof(text), "%+.1f", row->change);
	UX_HTML(out, "<td class=\"num\"><b>$</b></td>", text);
}

/*
 * Writes a function's name, with a link to the page of one of its frames if its module has such a
 * page.
 */
static void table_put_name(struct table *t, const struct ux_profile *p, uint32_t location,
			   struct ux_bytes name)
{
	struct ux_out *out = &t->req->out;
	const struct ux_id *id = &p->modules.data[p->locations.data[location].module].id;
	char text[UX_ID_TEXT];
	uint64_t pc = 0;
	if (!ux_call_place_pc(p, location, &pc) || !ux_profile_output_has_pages(t->req, id)) {
		UX_HTML(out, "<code class=\"fn\" title=\"$\">$</code>", name, name);
		return;
	}
	UX_HTML(out,
		"<a href=\"/frame?id=$&amp;addr=$\"><code class=\"fn\" title=\"$\">$</code></a>",
		ux_html_url(ux_id_format(id, text)), ux_html_hex(pc), name, name);
}

static void table_put_row(struct table *t, const struct table_row *row, struct ux_out *out)
{
	bool gone = row->now == SIZE_MAX;
	const struct ux_top *top = gone ? &t->then : &t->now;
	const struct ux_profile *p = gone ? t->what->before : t->what->profile;
	const struct ux_top_row *r = &top->rows.data[gone ? row->then : row->now];
	const struct ux_function *f = &top->functions.list.data[r->function];
	const struct ux_strings *texts = &top->functions.strings;
	ux_out_cstr(out, "<tr>");
	if (t->what->before)
		table_put_change(row, out);
	table_put_value(t, gone ? 0 : r->self, out);
	table_put_value(t, gone ? 0 : r->total, out);
	ux_out_cstr(out, "<td>");
	table_put_name(t, p, r->location, ux_strings_get(texts, f->name));
	if (t->what->level == UX_TOP_LINES && r->file != 0)
		UX_HTML(out, " <span class=\"where\">$:$</span>", ux_profile_text(p, r->file),
			r->line);
	UX_HTML(out, "</td><td>$</td></tr>\n", ux_strings_get(texts, f->module));
}

enum ux_code ux_profile_table_put(struct ux_request *req, const struct ux_profile_table *what)
{
	ux_cleanup(table_deinit) struct table t = {.req = req, .what = what};
	struct ux_out *out = &req->out;
	UX_TRY(table_make(&t, &req->err));
	UX_TRY(ux_request_check(req));
	if (t.rows.size == 0) {
		ux_out_cstr(out, "<p>There are no samples.</p>\n");
		return UX_OK;
	}
	ux_out_cstr(out, "<div class=\"wide\" role=\"region\" aria-labelledby=\"table\" "
			 "tabindex=\"0\">\n<table class=\"functions\"><thead><tr>");
	if (what->before)
		ux_out_cstr(out, "<th class=\"num\" scope=\"col\">change</th>");
	/* If there is no room for amounts, "self" and "total" are the headings of the shares. */
	ux_out_cstr(out, "<th class=\"num\" scope=\"col\">self</th><th class=\"num share\" "
			 "scope=\"col\">share</th><th class=\"num\" scope=\"col\">total</th>"
			 "<th class=\"num share\" scope=\"col\">share</th>"
			 "<th scope=\"col\">function</th>"
			 "<th scope=\"col\">module</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < ux_min(t.rows.size, (size_t)UX_PROFILE_TABLE_ROWS); i++)
		table_put_row(&t, &t.rows.data[i], out);
	ux_out_cstr(out, "</tbody></table>\n</div>\n");
	if (what->before)
		ux_out_cstr(out,
			    "<p class=\"hint\">Change: percentage points of self time, largest "
			    "first.</p>\n");
	return UX_OK;
}
