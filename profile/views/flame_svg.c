/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph as a picture. Each frame has its name and values as its title, and as much of its
 * name as fits. */
#include "flame.h"
#include "html_escape.h"
#include "text.h"

enum {
	SVG_WIDTH = 1200,
	SVG_ROW = 18,
	SVG_TOP = 30,      /* below the heading */
	SVG_ROWS_MAX = 512 /* deeper frames would make a picture that no program shows */
};

/* Pixels of one character of the font, which has one width for all. */
static const double svg_letter = 6.7;

/* FNV-1a: it is the same in each run, unlike the hash of the hash tables. */
static uint32_t svg_hash(struct ux_bytes s)
{
	uint32_t h = 2166136261;
	for (size_t i = 0; i < s.size; i++)
		h = (h ^ s.data[i]) * 16777619;
	return h ^ h >> 15;
}

static double svg_positive(int64_t v)
{
	return v > 0 ? (double)v : 0;
}

/* Returns a node's share of the whole profile in `column`. */
static double svg_share(const struct ux_call_tree *t, size_t node, size_t column)
{
	double all = (double)ux_call_total(t, 0, column);
	return all != 0 ? (double)ux_call_total(t, node, column) / all : 0;
}

static bool svg_is_compared(const struct ux_call_tree *t)
{
	return t->n_columns > t->n_types;
}

static double svg_difference(const struct ux_call_tree *t, size_t node, size_t column)
{
	return svg_share(t, node, column) - svg_share(t, node, t->n_types + column);
}

/* Frames of one function have one colour; in a comparison the colour shows the change. */
static void svg_put_color(const struct ux_call_tree *t, size_t node, size_t column, double max,
			  struct ux_out *out)
{
	const struct ux_call_node *n = &t->nodes.data[node];
	const struct ux_function *f = &t->functions.list.data[n->function];
	double change = svg_is_compared(t) && max > 0 ? svg_difference(t, node, column) / max : 0;
	uint32_t h = svg_hash(ux_function_name(&t->functions, n->function));
	if (change != 0)
		ux_out_fmt(out, "hsl(%d,90%%,%d%%)", change > 0 ? 18 : 212,
			   (int)(94 - 30 * (change < 0 ? -change : change)));
	else if (svg_is_compared(t) || !f->named || n->function == UX_CALL_ALL ||
		 n->function == UX_CALL_SMALLER)
		ux_out_cstr(out, "hsl(60,5%,85%)");
	else
		ux_out_fmt(out, "hsl(%d,%d%%,%d%%)", (int)(18 + h % 40), (int)(70 + (h >> 8) % 20),
			   (int)(66 + (h >> 16) % 12));
}

/* Writes the beginning of a text that fits into that many columns, with "..." if it was cut.
 * Characters other than ASCII may be two columns wide. */
static void svg_put_fitted(struct ux_bytes text, size_t columns, struct ux_out *out)
{
	size_t used = 0, cut = 0, bad = 0;
	for (size_t i = 0, n = 0; i < text.size; i += n) {
		n = ux_utf8_size(ux_bytes(text.data + i, text.size - i), &bad);
		if (n == 0)
			n = bad;
		used += n > 1 ? 2 : 1;
		if (used + 3 <= columns)
			cut = i + n;
		if (used > columns) {
			if (cut > 0) {
				ux_html_escape(out, ux_bytes(text.data, cut));
				ux_out_cstr(out, "...");
			}
			return;
		}
	}
	ux_html_escape(out, text);
}

static void svg_put_title(const struct ux_call_tree *t, size_t node, size_t column,
			  struct ux_out *out)
{
	const struct ux_call_node *n = &t->nodes.data[node];
	const struct ux_function *f = &t->functions.list.data[n->function];
	struct ux_bytes unit = ux_strings_get(&t->functions.strings, t->types[column].unit);
	if (ux_bytes_eq(unit, UX_STR("count")))
		unit = ux_strings_get(&t->functions.strings, t->types[column].name);
	ux_html_escape(out, ux_function_name(&t->functions, n->function));
	ux_out_fmt(out, ": %" PRId64 " ", ux_call_total(t, node, column));
	ux_html_escape(out, unit);
	ux_out_fmt(out, "%s%.2f %%", unit.size ? ", " : "", 100 * svg_share(t, node, column));
	if (svg_is_compared(t))
		ux_out_fmt(out, ", before %.2f %%", 100 * svg_share(t, node, t->n_types + column));
	if (n->calls == UX_CALL_INLINED)
		ux_out_cstr(out, ", inlined");
	if (f->module != 0) {
		ux_out_cstr(out, ", ");
		ux_html_escape(out, ux_strings_get(&t->functions.strings, f->module));
	}
	if (f->why != 0) {
		ux_out_cstr(out, ". No name: ");
		ux_html_escape(out, ux_strings_get(&t->functions.strings, f->why));
	}
}

struct svg_frame {
	double x;
	double width;
};

static void svg_put_frame(const struct ux_call_tree *t, size_t node, size_t column, double max,
			  struct svg_frame frame, struct ux_out *out)
{
	const struct ux_call_node *n = &t->nodes.data[node];
	unsigned y = SVG_TOP + n->depth * SVG_ROW;
	double room = (frame.width - 6) / svg_letter;
	ux_out_cstr(out, "<g><title>");
	svg_put_title(t, node, column, out);
	ux_out_fmt(out, "</title><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"",
		   frame.x, y, ux_max(frame.width, 0.1), SVG_ROW - 1);
	svg_put_color(t, node, column, max, out);
	ux_out_cstr(out, "\"/>");
	if (room >= 3) {
		ux_out_fmt(out, "<text x=\"%.1f\" y=\"%u\"%s>", frame.x + 3, y + SVG_ROW - 5,
			   n->calls == UX_CALL_INLINED ? " font-style=\"italic\"" : "");
		svg_put_fitted(ux_function_name(&t->functions, n->function), (size_t)room, out);
		ux_out_cstr(out, "</text>");
	}
	ux_out_cstr(out, "</g>\n");
}

static void svg_put_head(const struct ux_call_tree *t, const struct ux_flame_options *options,
			 unsigned rows, struct ux_out *out)
{
	unsigned height = SVG_TOP + rows * SVG_ROW;
	ux_out_fmt(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d "
		"%u\" role=\"img\">\n<title>",
		SVG_WIDTH, height, SVG_WIDTH, height);
	ux_html_escape(out, options->title);
	ux_out_fmt(out,
		   "</title>\n<rect width=\"%d\" height=\"%u\" fill=\"#fcfcfa\"/>\n<g "
		   "font-family=\"DejaVu Sans Mono, Liberation Mono, monospace\" "
		   "font-size=\"11\" fill=\"#000\">\n<text x=\"3\" y=\"19\">",
		   SVG_WIDTH, height);
	svg_put_fitted(options->title, (SVG_WIDTH - 6) / 7 / 2, out);
	if (svg_is_compared(t)) {
		ux_out_cstr(out, " compared with ");
		svg_put_fitted(options->other, (SVG_WIDTH - 6) / 7 / 2 - 15, out);
	}
	ux_out_cstr(out, "</text>\n");
}

static enum ux_code svg_put_frames(const struct ux_call_tree *t, size_t column, unsigned rows,
				   struct svg_frame *frames, struct ux_stream *s,
				   struct ux_error *err)
{
	double all = svg_positive(ux_call_total(t, 0, column)), max = 0;
	for (size_t i = 1; i < t->nodes.size && svg_is_compared(t); i++) {
		double d = svg_difference(t, i, column);
		max = ux_max(max, d < 0 ? -d : d);
	}
	/* frames[depth]: where the next callee of the frame at that depth goes; its width is the
	 * rest of the frame's width. */
	for (size_t i = 0; i < t->nodes.size && all > 0;) {
		const struct ux_call_node *n = &t->nodes.data[i];
		struct svg_frame *room = &frames[n->depth];
		struct svg_frame f = {0, SVG_WIDTH};
		if (i > 0) {
			f.x = room->x;
			f.width = SVG_WIDTH * svg_positive(ux_call_total(t, i, column)) / all;
			f.width = ux_min(f.width, room->width);
			room->x += f.width;
			room->width -= f.width;
		}
		if (f.width <= 0 || n->depth >= rows) {
			i = n->end;
			continue;
		}
		svg_put_frame(t, i, column, max, f, &s->out);
		UX_TRY(ux_stream_pass(s, err));
		frames[n->depth + 1] = f;
		i++;
	}
	return UX_OK;
}

enum ux_code ux_flame_svg(const struct ux_call_tree *t, const struct ux_flame_options *options,
			  struct ux_stream *s, struct ux_error *err)
{
	struct svg_frame frames[SVG_ROWS_MAX + 1];
	unsigned rows = 1;
	for (size_t i = 0; i < t->nodes.size; i++)
		rows = ux_max(rows, ux_min(t->nodes.data[i].depth + 1, (unsigned)SVG_ROWS_MAX));
	size_t column = options->type < t->n_types ? options->type : 0;
	svg_put_head(t, options, rows, &s->out);
	if (t->n_types == 0 || ux_call_total(t, 0, column) <= 0)
		ux_out_fmt(&s->out, "<text x=\"3\" y=\"%d\">no samples</text>\n", SVG_TOP + 13);
	else
		UX_TRY(svg_put_frames(t, column, rows, frames, s, err));
	ux_out_cstr(&s->out, "</g>\n</svg>\n");
	return ux_stream_flush(s, err);
}
