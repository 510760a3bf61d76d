/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of a source file with the MD5 sums in line tables. */
#include "source_hash.h"

#include "debug_sections.h"
#include "dwarf_line.h"

struct hash_search {
	const uint8_t *md5;
	ux_source_is_fn *is;
	void *ctx;
	bool same, other;
};

static void hash_compare(void *ctx, const struct ux_dwarf_source *s)
{
	struct hash_search *h = ctx;
	if (h->same || !h->is(h->ctx, s->comp_dir, s->dir, s->name))
		return;
	h->same = memcmp(s->md5, h->md5, UX_MD5_BYTES) == 0;
	h->other = !h->same;
}

enum ux_code ux_source_hash_check(struct ux_bytes elf, const uint8_t md5[UX_MD5_BYTES],
				  ux_source_is_fn *is, void *ctx, struct ux_error *err)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	ux_cleanup(ux_debug_sections_free) struct ux_debug_sections sections = {0};
	struct hash_search h = {.md5 = md5, .is = is, .ctx = ctx};
	UX_TRY(ux_object_open(elf, &object, err));
	UX_TRY(ux_debug_sections_load_lines(object, &sections, err));
	/* A damaged table ends the walk; matches before it count. */
	enum ux_code code = ux_dwarf_sources_walk(&sections.dwarf, hash_compare, &h, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (h.same)
		return UX_OK;
	return h.other ? ux_error_set(err, UX_ECONFLICT,
				      "content does not match the MD5 in the line table")
		       : ux_error_set(err, UX_ENOTFOUND, "no line table has its MD5");
}
