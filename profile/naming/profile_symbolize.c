/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of a profile: chooses the source of names for each module. */
#include "profile_symbolize.h"

#include "symbolize_batch.h"

static enum ux_code symbolize_module(struct ux_symbolize_batch *b, uint32_t module,
				     const struct ux_profile_sources *sources)
{
	b->n_pcs = 0;
	b->passing = false;
	ux_symbolize_forget_texts(b);
	switch (b->profile->modules.data[module].kind) {
	case UX_PROFILE_FILE:
		UX_TRY(ux_symbolize_file(b, module, sources));
		return ux_symbolize_from_server(b, module, sources);
	case UX_PROFILE_VDSO:
		UX_TRY(ux_symbolize_vdso(b, module, sources));
		return ux_symbolize_from_server(b, module, sources);
	case UX_PROFILE_KERNEL:
		UX_TRY(ux_symbolize_kernel(b, module, sources));
		return ux_symbolize_from_server(b, module, sources);
	case UX_PROFILE_JIT:
		UX_TRY(ux_symbolize_perf_map(b, module, sources));
		return ux_symbolize_jit_by_server(b, module, sources);
	}
	return UX_OK;
}

/* The locations without frames, grouped by module. */
struct symbolize_groups {
	uint32_t *locations; /* malloc'ed */
	size_t *starts;      /* malloc'ed: where the locations of each module begin */
	size_t n;
};

static void symbolize_groups_deinit(struct symbolize_groups *g)
{
	free(g->locations);
	free(g->starts);
}

static enum ux_code symbolize_group(struct symbolize_groups *g, const struct ux_profile *p,
				    struct ux_error *err)
{
	size_t n_modules = p->modules.size;
	g->starts = calloc(n_modules + 2, sizeof(*g->starts));
	g->locations = calloc(p->locations.size, sizeof(*g->locations));
	if (!g->starts || !g->locations)
		return ux_error_nomem(err);
	const struct ux_profile_location *l = p->locations.data;
	for (size_t i = 1; i < p->locations.size; i++)
		if (l[i].n == 0 && l[i].kind != UX_PROFILE_NO_ADDRESS)
			g->starts[l[i].module + 2]++;
	for (size_t m = 2; m < n_modules + 2; m++)
		g->starts[m] += g->starts[m - 1];
	/* While the groups are filled, starts[m + 1] is where the next location of m goes. */
	for (size_t i = 1; i < p->locations.size; i++)
		if (l[i].n == 0 && l[i].kind != UX_PROFILE_NO_ADDRESS)
			g->locations[g->starts[l[i].module + 1]++] = (uint32_t)i;
	g->n = g->starts[n_modules];
	return UX_OK;
}

static void symbolize_batch_deinit(struct ux_symbolize_batch *b)
{
	free(b->pcs);
	free(b->owners);
	ux_symbolize_texts_deinit(&b->texts);
	ux_out_deinit(&b->path);
}

enum ux_code ux_profile_symbolize(struct ux_profile *p, const struct ux_profile_sources *sources,
				  struct ux_error *err)
{
	ux_cleanup(symbolize_groups_deinit) struct symbolize_groups groups = {0};
	UX_TRY(symbolize_group(&groups, p, err));
	ux_cleanup(symbolize_batch_deinit) struct ux_symbolize_batch b = {
		.profile = p,
		.err = err,
		.pcs = calloc(groups.n + 1, sizeof(*b.pcs)),
		.owners = calloc(groups.n + 1, sizeof(*b.owners)),
	};
	if (!b.pcs || !b.owners)
		return ux_error_nomem(err);
	for (uint32_t m = 1; m < p->modules.size; m++) {
		b.locations = groups.locations + groups.starts[m];
		b.n = groups.starts[m + 1] - groups.starts[m];
		if (b.n == 0)
			continue;
		UX_TRY(symbolize_module(&b, m, sources));
		if (sources->progress)
			sources->progress(sources->progress_ctx, groups.starts[m + 1], groups.n);
	}
	return UX_OK;
}
