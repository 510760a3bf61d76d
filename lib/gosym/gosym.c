/* SPDX-License-Identifier: Apache-2.0 */
/* Finding Go's tables. */
#include "gosym.h"

#include "gosym_function.h"

enum {
	GO114 = 14,
	GO115 = 15,
};

/* Where the text begins: moduledata knows, the header knew until 1.25, and a symbol may. */
static enum ux_code find_text(struct ux_gosym *g, const struct ux_gosym_hints *hints,
			      struct ux_error *err)
{
	uint64_t start = 0;
	if (g->table.layout < UX_GOSYM_GO118)
		return UX_OK;
	if (ux_gosym_module_find(g->image, &g->table, hints->module, &g->module, err) == UX_OK)
		return UX_OK;
	g->module = (struct ux_gosym_module){0};
	(void)ux_gosym_image_word(g->image, g->table.text_at, g->table.word, &start);
	g->module.text = start != 0 ? start : hints->text;
	if (g->module.text != 0)
		return UX_OK;
	return ux_error_at(err, UX_ECORRUPT, ".gopclntab", 0,
			   "no moduledata of Go says where the text begins");
}

/*
 * The linker's index ascends. Behind a place that does not, nothing is read: so no code has two
 * functions, and what they may cost is bounded by the code there is.
 */
static void cut_index(struct ux_gosym *g)
{
	uint64_t before = 0;
	for (uint32_t i = 0; i <= g->table.n_functions; i++) {
		uint64_t start = 0;
		if (!ux_gosym_index_at(g->image, &g->table, i, &start) || start < before) {
			g->table.n_functions = i > 0 ? i - 1 : 0;
			return;
		}
		before = start;
	}
}

static enum ux_gosym_trees choose_trees(const struct ux_gosym *g)
{
	int minor = ux_gosym_version_minor(g->version);
	switch (g->table.layout) {
	case UX_GOSYM_GO12:
		return minor == GO114 || minor == GO115 ? UX_GOSYM_TREES_GO114
							: UX_GOSYM_TREES_NONE;
	case UX_GOSYM_GO116:
		return UX_GOSYM_TREES_GO116;
	case UX_GOSYM_GO118:
		return g->module.inline_pc != 0 ? UX_GOSYM_TREES_GO116 : UX_GOSYM_TREES_NONE;
	case UX_GOSYM_GO120:
		return g->module.inline_pc != 0 ? UX_GOSYM_TREES_GO120 : UX_GOSYM_TREES_NONE;
	}
	return UX_GOSYM_TREES_NONE;
}

/*
 * Numbers of functions that the runtime knows change with the version, but that of wrappers is the
 * last, and each program has wrappers. Where one had none, the largest number is an assembly
 * function's, which is never inlined.
 */
static uint8_t find_wrapper(const struct ux_gosym *g)
{
	uint8_t most = 0;
	for (uint32_t i = 0; i < g->table.n_functions; i++)
		most = ux_max(most, ux_gosym_function_id(g, i));
	return most;
}

enum ux_code ux_gosym_open(const struct ux_gosym_image *image, const struct ux_gosym_hints *hints,
			   struct ux_gosym *ret, struct ux_error *err)
{
	struct ux_gosym g = {.image = image};
	UX_TRY(ux_gosym_table_find(image, hints, &g.table, err));
	ux_gosym_version_read(image, hints->version, g.version);
	cut_index(&g);
	UX_TRY(find_text(&g, hints, err));
	g.trees = choose_trees(&g);
	if (g.trees != UX_GOSYM_TREES_NONE)
		g.wrapper = find_wrapper(&g);
	*ret = g;
	return UX_OK;
}
