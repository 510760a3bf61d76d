/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file that a process has mapped says of its code. */
#include "file_symbols.h"

#include "debug_file.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "extract.h"
#include "supplementary.h"

enum {
	PAGE = 4096, /* no system's pages are smaller */
	LOADS_MOST = 4096,
};

struct ux_file_symbols *ux_file_symbols_hold(struct ux_file_symbols *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void ux_file_symbols_drop(struct ux_file_symbols *s)
{
	/* Release and acquire: what others did with it comes before it is freed. */
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(s->loads);
	ux_out_deinit(&s->built);
	free(s);
}

static void drop_guard(struct ux_file_symbols **s)
{
	ux_file_symbols_drop(*s);
}

struct ux_file_symbols *ux_file_symbols_none(const struct ux_error *why)
{
	struct ux_file_symbols *s = calloc(1, sizeof(*s));
	if (s) {
		atomic_init(&s->refs, 1);
		s->why = *why;
	}
	return s;
}

static enum ux_code keep_loads(struct ux_file_symbols *s, const struct ux_elf *elf,
			       struct ux_error *err)
{
	if (elf->n_segments > LOADS_MOST)
		return ux_error_set(err, UX_ELIMIT, "has %zu segments; at most %d", elf->n_segments,
				    LOADS_MOST);
	s->loads = calloc(elf->n_segments + 1, sizeof(*s->loads));
	if (!s->loads)
		return ux_error_nomem(err);
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *seg = &elf->segments[i];
		if (seg->type == PT_LOAD && seg->off <= UINT64_MAX - seg->filesz - PAGE)
			s->loads[s->n_loads++] =
				(struct ux_load){seg->off, seg->filesz, seg->vaddr, seg->memsz,
						 (seg->flags & PF_X) != 0};
	}
	return UX_OK;
}

enum ux_code ux_file_symbols_make(struct ux_bytes file, struct ux_file_symbols **ret,
				  struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	struct ux_error none = UX_ERROR_INIT;
	UX_TRY(ux_elf_open(&elf, file, err));
	ux_cleanup(drop_guard) struct ux_file_symbols *s = ux_file_symbols_none(&none);
	if (!s)
		return ux_error_nomem(err);
	UX_TRY(keep_loads(s, &elf, err));
	if (ux_elf_ids(&elf, &ids, NULL) == UX_OK)
		for (size_t i = 0; i < ids.size; i++)
			if (ids.ids[i].type == UX_ID_GNU)
				ux_id_format(&ids.ids[i], s->build_id);
	*ret = ux_take(&s);
	return UX_OK;
}

static enum ux_code keep(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* Extracts file and the debug file of its build ID to s->built. */
static enum ux_code extract(struct ux_file_symbols *s, struct ux_bytes file, const char *path,
			    const char *debug_dirs, struct ux_error *err)
{
	ux_cleanup(ux_debug_file_close) struct ux_debug_file debug = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping sup = {0};
	struct ux_extract_options options = {.path = path};
	struct ux_extract_stats stats = {0};
	struct ux_debug_search search = {.dirs = debug_dirs};
	UX_TRY(ux_debug_file_find(&debug, file, path, &search, err));
	/* Without it some names are unknown, which is better than no answer. */
	if (debug.path &&
	    ux_supplementary_find(debug.file.bytes, debug.path, debug_dirs, &sup, NULL) == UX_OK)
		options.supplementary = sup.bytes;
	options.debug_path = debug.path;
	UX_TRY(ux_extract(file, debug.file.bytes, &options, keep, &s->built, &stats, err));
	return ux_gsym_open(&s->gsym, ux_out_bytes(&s->built), err);
}

enum ux_code ux_file_symbols_extract(struct ux_file_symbols *s, struct ux_bytes file,
				     const char *path, const char *debug_dirs, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = extract(s, file, path, debug_dirs, &why);
	if (code == UX_OK)
		return UX_OK;
	ux_out_deinit(&s->built);
	s->built = (struct ux_out){0};
	s->why = why;
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

bool ux_file_symbols_pc(const struct ux_file_symbols *s, uint64_t off, uint64_t *ret)
{
	const struct ux_load *best = NULL;
	unsigned best_rank = 0;
	for (size_t i = 0; i < s->n_loads; i++) {
		const struct ux_load *l = &s->loads[i];
		uint64_t first = l->off & ~(uint64_t)(PAGE - 1);
		uint64_t end = (l->off + l->filesz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		bool inside = off >= l->off && off - l->off < l->filesz;
		unsigned rank = 1 + 2 * (unsigned)l->exec + (unsigned)inside;
		if (off < first || off >= end || rank <= best_rank)
			continue;
		best = l;
		best_rank = rank;
	}
	if (best)
		*ret = best->pc + (off - best->off);
	return best != NULL;
}

bool ux_file_symbols_has_code(const struct ux_file_symbols *s, uint64_t pc)
{
	for (size_t i = 0; i < s->n_loads; i++)
		if (s->loads[i].exec && pc >= s->loads[i].pc &&
		    pc - s->loads[i].pc < s->loads[i].memsz)
			return true;
	return false;
}
