/* SPDX-License-Identifier: Apache-2.0 */
/* Code of the running kernel, or of a module of it: its symbols, and where it is loaded. */
#include "kernel_code.h"

#include "text.h"
#include "order.h"

#include <fcntl.h>
#include <limits.h>

enum {
	ADDRESS_MOST = 64, /* bytes of a file that holds an address */
};

void ux_kernel_code_free(struct ux_kernel_code *c)
{
	if (!c)
		return;
	ux_file_symbols_drop(c->symbols);
	free(c->spans);
	free(c);
}

/* The kernel was loaded so far from where it was linked as _text, or _stext, is; a file without
 * these symbols begins with _text. */
static void place_kernel(struct ux_kernel_code *c, const struct ux_kallsyms *k)
{
	const struct ux_file_symbols *s = c->symbols;
	struct ux_kernel_span *span = &c->spans[0];
	if (k->text && s->text)
		*span = (struct ux_kernel_span){k->text, 0, s->text};
	else if (k->stext && s->stext)
		*span = (struct ux_kernel_span){k->stext, 0, s->stext};
	else if (k->text && s->n_loads > 0)
		*span = (struct ux_kernel_span){k->text, 0, s->loads[0].pc};
	if (span->start == 0) {
		ux_error_set(&c->lost, UX_ENOTFOUND, "where the kernel is loaded is not told");
		return;
	}
	span->size = UINT64_MAX - ux_max(span->start, span->pc);
	c->n_spans = 1;
}

/* What /sys/module/NAME/sections tells; 0: nothing, or it is hidden. */
static uint64_t told_start(const struct ux_kernel_loaded *loaded, const char *section)
{
	char path[PATH_MAX];
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	uint64_t start = 0;
	if (strchr(section, '/') || strchr(loaded->module, '/') ||
	    snprintf(path, sizeof(path), "%s/sys/module/%s/sections/%s", loaded->root,
		     loaded->module, section) >= PATH_MAX ||
	    ux_proc_read(AT_FDCWD, path, ADDRESS_MOST, &text, NULL) != UX_OK)
		return 0;
	struct ux_bytes s = text.bytes;
	while (s.size > 0 && s.data[s.size - 1] == '\n')
		s.size--;
	return ux_hex_parse_u64(s, /* hex= */ true, &start) ? start : 0;
}

static void add_span(struct ux_kernel_code *c, uint64_t start,
		     const struct ux_code_section *section)
{
	if (start != 0 && section->size > 0 && start <= UINT64_MAX - section->size)
		c->spans[c->n_spans++] = (struct ux_kernel_span){start, section->size, section->pc};
}

static int by_start(const void *a, const void *b)
{
	const struct ux_kernel_span *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* The first section of code that stays: where it is .text, the others are as we lay them out. */
static bool begins_with_text(const struct ux_file_symbols *s)
{
	for (size_t i = 0; i < s->n_sections; i++)
		if (strncmp(s->sections[i].name, ".init", 5) != 0)
			return strcmp(s->sections[i].name, ".text") == 0;
	return false;
}

static void place_module(struct ux_kernel_code *c, const struct ux_kernel_loaded *loaded)
{
	const struct ux_file_symbols *s = c->symbols;
	for (size_t i = 0; i < s->n_sections; i++)
		add_span(c, told_start(loaded, s->sections[i].name), &s->sections[i]);
	if (c->n_spans == 0 && loaded->start != 0 && begins_with_text(s)) {
		c->guessed = true;
		for (size_t i = 0; i < s->n_sections; i++)
			if (strncmp(s->sections[i].name, ".init", 5) != 0)
				add_span(c, loaded->start + s->sections[i].pc, &s->sections[i]);
	}
	if (c->n_spans == 0)
		ux_error_set(&c->lost, UX_EDENIED,
			     "/sys/module/%.60s/sections does not tell where its code is",
			     loaded->module);
	if (c->n_spans > 1)
		qsort(c->spans, c->n_spans, sizeof(*c->spans), by_start);
}

enum ux_code ux_kernel_code_place(struct ux_file_symbols *symbols,
				  const struct ux_kernel_loaded *loaded,
				  struct ux_kernel_code **ret, struct ux_error *err)
{
	struct ux_kernel_code *c = calloc(1, sizeof(*c));
	if (c)
		c->spans = calloc(1 + (symbols ? symbols->n_sections : 0), sizeof(*c->spans));
	if (!c || !c->spans) {
		free(c);
		ux_file_symbols_drop(symbols);
		return ux_error_nomem(err);
	}
	c->symbols = symbols;
	if (symbols && symbols->built.size == 0)
		c->lost = symbols->why;
	else if (symbols && *loaded->module)
		place_module(c, loaded);
	else if (symbols)
		place_kernel(c, loaded->kallsyms);
	*ret = c;
	return UX_OK;
}

bool ux_kernel_code_pc(const struct ux_kernel_code *c, uint64_t addr, uint64_t *ret)
{
	size_t low = 0, high = c->n_spans;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (c->spans[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	const struct ux_kernel_span *span = low > 0 ? &c->spans[low - 1] : NULL;
	if (!span || addr - span->start >= span->size)
		return false;
	*ret = span->pc + (addr - span->start);
	return true;
}
