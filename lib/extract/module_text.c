/* SPDX-License-Identifier: Apache-2.0 */
/* Where a module keeps its code. */
#include "module_text.h"

enum ux_code ux_module_text_add(struct ux_range_vec *list, uint64_t lo, uint64_t size,
				struct ux_error *err)
{
	struct ux_range r = {lo, 0};
	if (size == 0 || __builtin_add_overflow(lo, size, &r.hi))
		return UX_OK;
	return ux_range_vec_append(list, r) ? UX_OK : ux_error_nomem(err);
}

static int text_range_compare(const void *a, const void *b)
{
	const struct ux_range *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

void ux_module_text_settle(struct ux_range_vec *list)
{
	size_t kept = 0;
	struct ux_range *r = list->data;
	if (list->size == 0)
		return;
	qsort(r, list->size, sizeof(*r), text_range_compare);
	for (size_t i = 0; i < list->size; i++) {
		if (kept > 0)
			r[i].lo = ux_max(r[i].lo, r[kept - 1].hi);
		if (r[i].lo < r[i].hi)
			r[kept++] = r[i];
	}
	list->size = kept;
}

enum ux_code ux_module_text(const struct ux_elf *elf, struct ux_range_vec *ret,
			    struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec list = {0};
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if ((s->flags & SHF_EXECINSTR) != 0 && (s->flags & SHF_ALLOC) != 0)
			UX_TRY(ux_module_text_add(&list, s->addr, s->size, err));
	}
	/* What is yet to be linked has no segments that mean anything. */
	size_t n_segments = elf->type == ET_REL ? 0 : elf->n_segments;
	for (size_t i = 0; list.size == 0 && i < n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		if (s->type == PT_LOAD && (s->flags & PF_X) != 0)
			UX_TRY(ux_module_text_add(&list, s->vaddr, s->memsz, err));
	}
	ux_module_text_settle(&list);
	*ret = list;
	list = (struct ux_range_vec){0};
	return UX_OK;
}
