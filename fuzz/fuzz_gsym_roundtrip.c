/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: functions generated from the input are read back as they were written, in both versions.
 */
#include "fuzz.h"

#include "gsym_decode.h"
#include "gsym_inspect.h"
#include "make_gsym.h"

enum {
	BUDGET = 1 << 24
};

static bool same_nodes(const struct ux_gsym_function *a, const struct ux_gsym_decoded *b)
{
	for (size_t i = 0; i < a->n_inlines; i++) {
		const struct ux_code_inline *x = &a->inlines[i];
		const struct ux_gsym_node *y = &b->inlines[i];
		if (x->name != y->name || x->call_file != y->call_file ||
		    x->call_line != y->call_line || x->depth != y->depth ||
		    x->range_count != y->range_count ||
		    memcmp(a->ranges + x->range_first, b->ranges + y->range_first,
			   x->range_count * sizeof(*a->ranges)) != 0)
			return false;
	}
	return true;
}

static bool same(const struct ux_gsym_function *a, const struct ux_gsym_decoded *b)
{
	return a->start == b->start && a->size == b->size && a->name == b->name &&
	       a->before == b->before && a->n_rows == b->n_rows && a->n_inlines == b->n_inlines &&
	       (a->n_rows == 0 || memcmp(a->rows, b->rows, a->n_rows * sizeof(*a->rows)) == 0) &&
	       same_nodes(a, b);
}

/* Checks the row that a lookup returns, without inlined calls. */
static void check_rows(const struct ux_gsym *g, const struct ux_gsym_decoded *f)
{
	for (size_t i = 0; i < f->n_rows; i++) {
		struct ux_frame frame[UX_GSYM_DEPTH_MAX + 1];
		size_t n = 0;
		uint64_t pc = f->start + f->rows[i].off;
		fuzz_truth(ux_gsym_lookup(g, pc, frame, ux_countof(frame), &n, NULL) == UX_OK);
		fuzz_truth(frame[0].line == f->rows[i].line);
		fuzz_truth(frame[n - 1].offset == f->before + (uint64_t)f->rows[i].off);
	}
}

static bool same_merged(const struct ux_gsym_function *a, const struct ux_gsym_decoded *b)
{
	if (a->n_merged != b->n_merged)
		return false;
	for (size_t i = 0; i < a->n_merged; i++)
		if (a->merged[i] != b->merged[i])
			return false;
	return true;
}

static void check_version(struct make_gsym *m, unsigned version)
{
	UX_ARENA(arena, BUDGET);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	m->version = version;
	fuzz_truth(make_gsym_write(m, &out) == UX_OK);
	fuzz_truth(ux_gsym_open(&g, ux_out_bytes(&out), NULL) == UX_OK);
	fuzz_truth(g.version == version);
	fuzz_truth(ux_gsym_verify(&g, &notes, NULL) == UX_OK);
	fuzz_truth(notes.count[UX_GSYM_NOTE_OVERLAP] == 0);
	fuzz_truth(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE] == 0);
	fuzz_truth(g.n_functions == m->n_functions && g.n_files == m->n_files && g.base == m->base);
	for (uint32_t i = 0; i < g.n_functions; i++) {
		struct ux_gsym_decoded f;
		fuzz_truth(ux_gsym_decode(&g, i, &arena, &f, NULL) == UX_OK);
		fuzz_truth(same(&m->functions[i], &f) && same_merged(&m->functions[i], &f));
		check_rows(&g, &f);
	}
}

FUZZ_TARGET(gsym_roundtrip)(const uint8_t *data, size_t size)
{
	UX_ARENA(arena, BUDGET);
	struct make_gsym m;
	fuzz_truth(make_gsym_draw(&m, &arena, ux_bytes(data, size)) == UX_OK);
	check_version(&m, 1);
	check_version(&m, 2);
	return 0;
}
