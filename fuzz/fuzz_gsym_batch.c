/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a batch of addresses returns the same frames as single lookups, in a file with functions
 * in order. The first byte chooses the lookup (bit 0: sorted, bit 1: of return addresses), the rest
 * is a GSYM file.
 */
#include "fuzz_gsym.h"

#include "gsym_reader.h"

enum {
	SORTED = 1,
	RETURNS = 2,
};

struct requested {
	const struct ux_gsym *g;
	uint64_t pcs[FUZZ_PCS_MAX];
	bool met[FUZZ_PCS_MAX];
	uint64_t back;
	size_t n;
	size_t n_frames; /* sum over all answers */
	bool corrupt;    /* one record was corrupt */
	bool ordered;    /* the functions are in order */
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static size_t single(struct requested *a, size_t i, struct ux_frame *frames)
{
	size_t n = 0;
	enum ux_code code =
		ux_gsym_lookup(a->g, a->pcs[i] - a->back, frames, FUZZ_FRAMES, &n, NULL);
	a->corrupt |= code != UX_OK && code != UX_ENOTFOUND;
	return code == UX_OK ? n : 0;
}

static bool compare(void *ctx, size_t index, const struct ux_frame *frames, size_t n)
{
	struct requested *a = ctx;
	struct ux_frame own[FUZZ_FRAMES];
	fuzz_truth(index < a->n && !a->met[index]);
	a->met[index] = true;
	size_t n_own = single(a, index, own);
	fuzz_truth(!a->ordered || fuzz_same_frames(own, n_own, frames, n));
	return true;
}

/* Looks up into arrays that are just large enough, and into smaller ones. */
static void into_arrays(struct requested *a)
{
	ux_cleanup(ux_free_ptr) struct ux_frame *frames = calloc(a->n_frames + 1, sizeof(*frames));
	struct ux_frame_span spans[FUZZ_PCS_MAX];
	struct ux_gsym_batch b = {.pcs = a->pcs,
				  .n = a->n,
				  .back = a->back,
				  .frames = frames,
				  .max = a->n_frames,
				  .spans = spans};
	fuzz_truth(frames);
	enum ux_code code = ux_gsym_batch(a->g, &b, NULL);
	fuzz_truth(code == (a->corrupt ? UX_ECORRUPT : UX_OK));
	fuzz_truth(b.n_frames <= a->n_frames); /* equal pcs share their frames */
	for (size_t i = 0; i < a->n; i++) {
		struct ux_frame own[FUZZ_FRAMES];
		size_t n = single(a, i, own);
		fuzz_truth(spans[i].n == 0 || (size_t)spans[i].first + spans[i].n <= b.n_frames);
		fuzz_truth(fuzz_same_frames(own, n, frames + spans[i].first, spans[i].n));
	}
	if (b.n_frames == 0)
		return;
	b.max = b.n_frames - 1;
	code = ux_gsym_batch(a->g, &b, NULL);
	fuzz_truth(code == UX_ELIMIT && b.n_frames == b.max + 1);
}

/* Functions that leave the address space are not in order. */
static bool is_ordered(const struct ux_gsym *g)
{
	uint64_t last = g->base;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		uint64_t start = ux_gsym_start(g, i);
		if (start < last)
			return false;
		last = start;
	}
	return true;
}

FUZZ_TARGET(gsym_batch)(const uint8_t *data, size_t size)
{
	struct ux_gsym g;
	struct requested a = {.g = &g};
	struct ux_error err = UX_ERROR_INIT;
	if (size == 0 || ux_gsym_open(&g, ux_bytes(data + 1, size - 1), NULL) != UX_OK)
		return 0;
	a.ordered = is_ordered(&g);
	a.back = (data[0] & RETURNS) != 0;
	a.n = fuzz_pcs(&g, size ^ data[size / 2], a.pcs);
	if ((data[0] & SORTED) != 0)
		qsort(a.pcs, a.n, sizeof(*a.pcs), by_value);
	for (size_t i = 0; i < a.n; i++) {
		struct ux_frame frames[FUZZ_FRAMES];
		a.n_frames += single(&a, i, frames);
	}
	struct ux_gsym_batch b = {.pcs = a.pcs, .n = a.n, .back = a.back, .fn = compare, .ctx = &a};
	enum ux_code code = ux_gsym_batch(&g, &b, &err);
	fuzz_truths_of_error(code, &err, size);
	if (!a.ordered)
		return 0;
	fuzz_truth(code == (a.corrupt ? UX_ECORRUPT : UX_OK));
	for (size_t i = 0; i < a.n; i++) {
		struct ux_frame frames[FUZZ_FRAMES];
		fuzz_truth(a.met[i] || single(&a, i, frames) == 0);
	}
	into_arrays(&a);
	return 0;
}
