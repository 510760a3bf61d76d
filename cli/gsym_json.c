/* SPDX-License-Identifier: Apache-2.0 */
/* Functions as lines of JSON. */
#include "gsym_json.h"

#include "gsym_decode.h"
#include "json_out.h"
#include "output.h"

enum {
	ARENA_BUDGET = 1 << 30, /* bytes of one decoded function */
	FLUSH_BYTES = 1 << 16,
};

static const char *string(const struct ux_gsym *g, uint64_t off)
{
	const char *s = ux_gsym_string(g, off);
	return s ? s : "";
}

/* Directory and name of a file; both "" when there is none. */
struct source {
	struct ux_bytes dir;
	struct ux_bytes base;
};

static struct source source_of(const struct ux_gsym *g, uint32_t file)
{
	const char *dir = "";
	const char *base = "";
	if (file == 0 || !ux_gsym_file(g, file, &dir, &base))
		dir = base = "";
	return (struct source){ux_bytes_cstr(dir), ux_bytes_cstr(base)};
}

static void json_address(struct ux_json *j, uint64_t pc)
{
	char text[19];
	snprintf(text, sizeof(text), "0x%" PRIx64, pc);
	ux_json_cstr(j, text);
}

static void json_source(struct ux_json *j, const struct ux_gsym *g, uint32_t file,
			const char *file_key, uint32_t line, const char *line_key)
{
	struct source s = source_of(g, file);
	if (s.base.size > 0) {
		ux_json_key(j, file_key);
		ux_json_path(j, s.dir, s.base);
	}
	ux_json_key_u64(j, line_key, line);
}

static void json_inline(struct ux_json *j, const struct ux_gsym *g, const struct ux_gsym_decoded *f,
			const struct ux_gsym_node *n)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "function", string(g, n->name));
	ux_json_key_u64(j, "depth", n->depth);
	json_source(j, g, n->call_file, "call_file", n->call_line, "call_line");
	ux_json_key(j, "ranges");
	ux_json_array_begin(j);
	for (uint32_t k = 0; k < n->range_count; k++) {
		ux_json_array_begin(j);
		json_address(j, f->start + f->ranges[n->range_first + k].lo);
		json_address(j, f->start + f->ranges[n->range_first + k].hi);
		ux_json_array_end(j);
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
}

static void write_function(const struct ux_gsym *g, const struct ux_gsym_decoded *f,
			   struct ux_out *out)
{
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "address");
	json_address(&j, f->start);
	ux_json_key_u64(&j, "size", f->size);
	ux_json_key_cstr(&j, "function", string(g, f->name));
	ux_json_key(&j, "lines");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < f->n_rows; i++) {
		ux_json_object_begin(&j);
		ux_json_key(&j, "address");
		json_address(&j, f->start + f->rows[i].off);
		json_source(&j, g, f->rows[i].file, "file", f->rows[i].line, "line");
		ux_json_object_end(&j);
	}
	ux_json_array_end(&j);
	ux_json_key(&j, "inlines");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < f->n_inlines; i++)
		json_inline(&j, g, f, &f->inlines[i]);
	ux_json_array_end(&j);
	if (f->n_merged > 0) {
		ux_json_key(&j, "alternatives");
		ux_json_array_begin(&j);
		for (size_t i = 0; i < f->n_merged; i++)
			ux_json_cstr(&j, string(g, f->merged[i]));
		ux_json_array_end(&j);
	}
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

enum ux_code ux_gsym_json(const struct ux_gsym *g, struct ux_out *out, struct ux_error *err)
{
	UX_ARENA(arena, ARENA_BUDGET);
	struct ux_arena_mark start = ux_arena_mark(&arena);
	for (uint32_t i = 0; i < g->n_functions; i++) {
		struct ux_gsym_decoded f;
		ux_arena_rewind(&arena, start);
		UX_TRY(ux_gsym_decode(g, i, &arena, &f, err));
		write_function(g, &f, out);
		if (out->size >= FLUSH_BYTES)
			UX_TRY(ux_flush(out, err));
	}
	return UX_OK;
}
