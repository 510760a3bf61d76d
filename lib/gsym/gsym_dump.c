/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a GSYM as text. */
#include "gsym_inspect.h"

#include "gsym_decode.h"
#include "gsym_format.h"

enum {
	PIECE = 1 << 16,
	TEXT_MAX = 1 << 16 /* longest text of one name, since every record could refer to one long
			       name */
};

struct dump {
	const struct ux_gsym *g;
	struct ux_arena arena; /* empty between two functions */
	struct ux_out out;
	ux_gsym_sink_fn *sink;
	void *ctx;
};

static void dump_deinit(struct dump *d)
{
	ux_arena_deinit(&d->arena);
	ux_out_deinit(&d->out);
}

static enum ux_code dump_flush(struct dump *d, size_t min, struct ux_error *err)
{
	UX_TRY(ux_out_status(&d->out, err));
	if (d->out.size < min)
		return UX_OK;
	UX_TRY(d->sink(d->ctx, ux_out_bytes(&d->out), err));
	ux_out_reset(&d->out);
	return UX_OK;
}

/* Names come from untrusted files: no control character may reach a terminal or begin a line. */
static void dump_text(struct ux_out *out, const char *s)
{
	for (size_t i = 0; s[i] && i < TEXT_MAX; i++) {
		uint8_t byte = (uint8_t)s[i];
		if (byte < 0x20 || byte == 0x7f)
			ux_out_fmt(out, "\\x%02x", byte);
		else
			ux_out_u8(out, byte);
	}
}

static void dump_name(struct dump *d, uint64_t name)
{
	const char *s = ux_gsym_string(d->g, name);
	if (s)
		dump_text(&d->out, s);
	else
		ux_out_fmt(&d->out, "<name 0x%" PRIx64 ">", name);
}

static void dump_location(struct dump *d, uint32_t file, uint32_t line)
{
	const char *dir = "", *base = "";
	if (file != 0 && !ux_gsym_file(d->g, file, &dir, &base))
		ux_out_fmt(&d->out, "<file %" PRIu32 ">", file);
	dump_text(&d->out, dir);
	if (*dir)
		ux_out_u8(&d->out, '/');
	dump_text(&d->out, base);
	ux_out_fmt(&d->out, ":%" PRIu32, line);
}

static enum ux_code dump_rows(struct dump *d, uint64_t start, struct ux_cur block,
			      struct ux_error *err)
{
	const struct ux_gsym_row *rows = NULL;
	size_t n = 0;
	UX_TRY(ux_gsym_decode_lines(block, &d->arena, &rows, &n, err));
	for (size_t i = 0; i < n; i++) {
		ux_out_fmt(&d->out, "  row 0x%" PRIx64 " ", start + rows[i].off);
		dump_location(d, rows[i].file, rows[i].line);
		ux_out_u8(&d->out, '\n');
		UX_TRY(dump_flush(d, PIECE, err));
	}
	return UX_OK;
}

static void dump_inline(struct dump *d, uint64_t start, const struct ux_gsym_tree *tree,
			const struct ux_gsym_node *node)
{
	ux_out_fmt(&d->out, "%*sinlined ", (int)node->depth * 2, "");
	dump_name(d, node->name);
	ux_out_cstr(&d->out, ", called at ");
	dump_location(d, node->call_file, node->call_line);
	for (uint32_t i = 0; i < node->range_count; i++) {
		const struct ux_gsym_range *r = &tree->ranges[node->range_first + i];
		ux_out_fmt(&d->out, ", 0x%" PRIx64 "-0x%" PRIx64, start + r->lo, start + r->hi);
	}
	ux_out_u8(&d->out, '\n');
}

static enum ux_code dump_inlines(struct dump *d, uint64_t start, struct ux_cur block,
				 struct ux_error *err)
{
	struct ux_gsym_tree tree = {0};
	UX_TRY(ux_gsym_decode_inlines(d->g, block, &d->arena, &tree, err));
	for (size_t i = 1; i < tree.n_nodes; i++) {
		dump_inline(d, start, &tree, &tree.nodes[i]);
		UX_TRY(dump_flush(d, PIECE, err));
	}
	return UX_OK;
}

/* Writes the names of merged functions. Their ranges are the same as the owner's. */
static enum ux_code dump_merged(struct dump *d, struct ux_cur block, struct ux_error *err)
{
	struct ux_gsym_merged m = ux_gsym_merged_open(d->g, block);
	struct ux_gsym_raw raw;
	while (ux_gsym_merged_next(&m, &raw)) {
		ux_out_cstr(&d->out, "  merged ");
		dump_name(d, raw.name);
		ux_out_u8(&d->out, '\n');
		UX_TRY(dump_flush(d, PIECE, err));
	}
	return ux_cur_status(&m.c, err);
}

static enum ux_code dump_calls(struct dump *d, uint64_t start, struct ux_cur block,
			       struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block);
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		uint64_t returns = ux_cur_u64(&block);
		uint8_t flags = ux_cur_u8(&block);
		ux_out_fmt(&d->out, "  call returns 0x%" PRIx64 ", flags %u", start + returns,
			   flags);
		uint32_t patterns = ux_cur_u32(&block);
		for (uint32_t k = 0; k < patterns && !block.failed; k++) {
			ux_out_cstr(&d->out, ", ");
			dump_name(d, ux_gsym_name(d->g, &block));
		}
		ux_out_u8(&d->out, '\n');
		UX_TRY(dump_flush(d, PIECE, err));
	}
	return ux_cur_status(&block, err);
}

static enum ux_code dump_block(struct dump *d, uint64_t start, struct ux_gsym_block block,
			       struct ux_error *err)
{
	switch (block.type) {
	case GSYM_INFO_LINES:
		return dump_rows(d, start, block.content, err);
	case GSYM_INFO_INLINES:
		return dump_inlines(d, start, block.content, err);
	case GSYM_INFO_MERGED:
		return dump_merged(d, block.content, err);
	case GSYM_INFO_CALLS:
		return dump_calls(d, start, block.content, err);
	default:
		ux_out_fmt(&d->out, "  block of type %" PRIu32 ", %zu bytes\n", block.type,
			   ux_cur_left(&block.content));
		return UX_OK;
	}
}

static void dump_header(struct dump *d)
{
	const struct ux_gsym *g = d->g;
	bool big = g->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	ux_out_fmt(&d->out,
		   "gsym %u, %s-endian, %u-byte addresses from 0x%" PRIx64 ", %" PRIu32
		   " functions, %" PRIu32 " files",
		   g->version, big ? "big" : "little", g->addr_size, g->base, g->n_functions,
		   g->n_files);
	ux_out_cstr(&d->out, g->uuid.size > 0 ? ", build ID " : ", no build ID");
	for (size_t i = 0; i < g->uuid.size; i++)
		ux_out_fmt(&d->out, "%02x", g->uuid.data[i]);
	ux_out_u8(&d->out, '\n');
}

/* Returns how many bytes of the record's function are before the record. */
static uint32_t dump_before(struct ux_gsym_raw raw)
{
	struct ux_gsym_block block;
	while (ux_gsym_raw_next(&raw, &block))
		;
	return raw.before;
}

static enum ux_code dump_function(struct dump *d, uint64_t start, struct ux_gsym_raw *raw,
				  struct ux_error *err)
{
	ux_out_fmt(&d->out, "function 0x%" PRIx64 "-0x%" PRIx64 " ", start, start + raw->size);
	dump_name(d, raw->name);
	uint32_t before = dump_before(*raw);
	if (before > 0)
		ux_out_fmt(&d->out, ", from 0x%" PRIx64, start - before);
	ux_out_u8(&d->out, '\n');
	struct ux_arena_mark mark = ux_arena_mark(&d->arena);
	struct ux_gsym_block block;
	while (ux_gsym_raw_next(raw, &block))
		UX_TRY(dump_block(d, start, block, err));
	ux_arena_rewind(&d->arena, mark);
	return dump_flush(d, PIECE, err);
}

enum ux_code ux_gsym_dump(const struct ux_gsym *g, size_t budget, ux_gsym_sink_fn *sink, void *ctx,
			  struct ux_error *err)
{
	ux_cleanup(dump_deinit) struct dump d = {
		.g = g, .arena = {.budget = budget}, .sink = sink, .ctx = ctx};
	struct ux_gsym_walk walk = {.g = g};
	dump_header(&d);
	for (;;) {
		bool more = false;
		UX_TRY(ux_gsym_walk_next(&walk, &more, err));
		if (!more)
			return dump_flush(&d, 1, err);
		uint64_t start = ux_gsym_start(g, walk.next - 1);
		UX_TRY(dump_function(&d, start, &walk.raw, err));
	}
}
