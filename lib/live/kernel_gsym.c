/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of the running kernel, or of a module of it, as a GSYM. */
#include "kernel_symbols.h"

#define X86_64_KERNEL UINT64_C(0xffffffff80000000)
#define X86_64_TEXT   UINT64_C(0xffffffff81000000)

bool ux_kernel_link_base(uint64_t text, uint64_t *ret)
{
	bool known = text >= X86_64_KERNEL;
	*ret = known ? X86_64_TEXT : text;
	return known;
}

/* The data collected from the functions. */
struct kernel_gsym {
	uint64_t *starts;  /* malloc'ed */
	uint64_t *records; /* malloc'ed */
	struct ux_out data;
	struct ux_out strings;
	size_t n;
};

static void kernel_gsym_deinit(struct kernel_gsym *g)
{
	free(g->starts);
	free(g->records);
	ux_out_deinit(&g->data);
	ux_out_deinit(&g->strings);
}

static void kernel_gsym_add(struct kernel_gsym *g, const struct ux_kernel_symbol *s, uint64_t pc)
{
	const struct ux_gsym_function f = {
		.start = pc,
		.size = (uint32_t)(s->end - s->start),
		.name = (uint32_t)g->strings.size,
	};
	ux_out_cstr(&g->strings, s->name);
	ux_out_u8(&g->strings, '\0');
	g->starts[g->n] = pc;
	g->records[g->n++] = g->data.size;
	ux_gsym_encode_function(&g->data, &f);
}

enum ux_code ux_kernel_gsym_write(const struct ux_kernel *k, const struct ux_kernel_part *part,
				  ux_gsym_sink_fn *sink, void *ctx, struct ux_error *err)
{
	const struct ux_kernel_symbols *all = &k->symbols.symbols;
	uint64_t text = k->symbols.text != 0 ? k->symbols.text : k->symbols.stext;
	uint64_t start = *part->name ? part->start : text;
	uint64_t base = 0;
	struct ux_id id;
	if (*part->name == '\0')
		(void)ux_kernel_link_base(text, &base);
	if (start == 0 || !part->is_file)
		return ux_error_set(err, UX_ENOTFOUND, "the address of %.64s is unknown",
				    part->label);
	if (ux_id_parse(ux_bytes_cstr(part->build_id), &id, NULL) != UX_OK)
		return ux_error_set(err, UX_ENOTFOUND, "%.64s has no build ID", part->label);
	ux_cleanup(kernel_gsym_deinit) struct kernel_gsym g = {
		.starts = calloc(all->size + 1, sizeof(*g.starts)),
		.records = calloc(all->size + 1, sizeof(*g.records)),
	};
	if (!g.starts || !g.records)
		return ux_error_nomem(err);
	ux_out_u8(&g.strings, '\0');
	for (size_t i = 0; i < all->size; i++) {
		const struct ux_kernel_symbol *s = &all->data[i];
		if (s->start >= start && s->end > s->start && s->end - s->start <= UINT32_MAX &&
		    strcmp(s->module, part->name) == 0)
			kernel_gsym_add(&g, s, s->start - start + base);
	}
	UX_TRY(ux_out_status(&g.strings, err));
	UX_TRY(ux_out_status(&g.data, err));
	if (g.n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "%.64s has no symbols", part->label);
	const struct ux_bytes data = ux_out_bytes(&g.data);
	const struct ux_gsym_image image = {
		.base = base,
		.uuid = ux_bytes(id.bytes, id.size),
		.n_functions = g.n,
		.starts = g.starts,
		.records = g.records,
		.n_files = 1,
		.files = &(const struct ux_gsym_file_entry){0},
		.strings = ux_out_bytes(&g.strings),
		.data = &data,
		.n_data = 1,
	};
	return ux_gsym_image_write(&image, sink, ctx, err);
}
