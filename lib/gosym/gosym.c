/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Go's tables and determines their variant. */
#include "gosym.h"

#include "gosym_function.h"

enum {
	GO113 = 13,
	GO115 = 15,
	PROBES = 64, /* functions with inline trees that are checked against a candidate format */
};

/* Finds the start of the text: from moduledata, else from the header, which had it until 1.25, else
 * from a symbol. */
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
			   "no Go moduledata has the start of the text");
}

/* The linker writes an ascending index. Entries after the first one that does not ascend are
 * ignored. So functions do not overlap, and the amount of code bounds the work on them. */
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

/* Returns true when the first inline trees make sense in this format: the parent of a tree's first
 * call is always the function itself. */
static bool trees_fit(const struct ux_gosym *table, enum ux_gosym_trees trees)
{
	struct ux_gosym g = *table;
	unsigned seen = 0;
	g.trees = trees;
	for (uint32_t i = 0; i < g.table.n_functions && seen < PROBES; i++) {
		struct ux_gosym_function f;
		struct ux_gosym_call call;
		if (ux_gosym_function_read(&g, i, &f, NULL) != UX_OK || f.tree == 0)
			continue;
		if (!ux_gosym_call_read(&g, &f, 0, &call) || call.parent != -1 || call.file <= 0 ||
		    call.line <= 0)
			return false;
		seen++;
	}
	return seen > 0;
}

/* Binaries from before Go 1.13 do not have the version, so the format is guessed from the trees. */
static enum ux_gosym_trees choose_old_trees(const struct ux_gosym *g)
{
	int minor = ux_gosym_version_minor(g->version);
	if (minor >= GO113 && minor <= GO115)
		return UX_GOSYM_TREES_GO113;
	if (minor >= 0)
		return UX_GOSYM_TREES_NONE;
	for (enum ux_gosym_trees t = UX_GOSYM_TREES_GO19; t <= UX_GOSYM_TREES_GO113; t++)
		if (trees_fit(g, t))
			return t;
	return UX_GOSYM_TREES_NONE;
}

static enum ux_gosym_trees choose_trees(const struct ux_gosym *g)
{
	switch (g->table.layout) {
	case UX_GOSYM_GO12:
		return choose_old_trees(g);
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
 * Returns the funcID of wrappers. The funcIDs of special functions differ between versions of Go,
 * but the ID of wrappers is always the largest, and each program has wrappers. If a program had
 * none, the largest ID would belong to an assembly function, and these are never inlined.
 */
static uint8_t find_wrapper(const struct ux_gosym *g)
{
	uint8_t max = 0;
	for (uint32_t i = 0; i < g->table.n_functions; i++)
		max = ux_max(max, ux_gosym_function_id(g, i));
	return max;
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
	if (g.trees > UX_GOSYM_TREES_GO19) /* that format has no funcIDs */
		g.wrapper = find_wrapper(&g);
	*ret = g;
	return UX_OK;
}
