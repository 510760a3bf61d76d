/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a GSYM file and everything that lib/gsym reads from it. */
#include "fuzz.h"

#include "gsym_decode.h"
#include "gsym_inspect.h"
#include "gsym_names.h"
#include "gsym_reader.h"
#include "gsym_segments.h"
#include "gsym_symbols.h"

enum {
	BUDGET = 1 << 24,
	FUNCTIONS_MAX = 200, /* functions that are checked; records may be shared, so a small file
				can demand much work */
	PCS = 16,            /* pcs in each */
	FRAMES = 8
};

/* Only the fact that the file opened is known. */
static void read_frames(const struct ux_gsym *g, uint64_t pc, bool promised, bool hidden)
{
	struct ux_frame frames[FRAMES];
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	enum ux_code code = ux_gsym_lookup(g, pc, frames, FRAMES, &n, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(!promised || code == UX_OK || (hidden && code == UX_ENOTFOUND));
	if (code != UX_OK)
		return;
	fuzz_truth(n > 0 && n <= FRAMES);
	for (size_t i = 0; i < n; i++) {
		const struct ux_frame *f = &frames[i];
		fuzz_truth(f->inlined == (i + 1 < n));
		fuzz_truth(fuzz_inside(ux_bytes(f->function, strlen(f->function) + 1), g->strings));
		fuzz_truth(!*f->dir || fuzz_inside(ux_bytes(f->dir, 1), g->strings));
		fuzz_truth(!*f->base || fuzz_inside(ux_bytes(f->base, 1), g->strings));
	}
}

/* A function that is found has names, or is known to be damaged. */
static void read_alternatives(const struct ux_gsym *g, uint64_t pc, bool promised)
{
	const char *names[FRAMES];
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	enum ux_code code = ux_gsym_alternatives(g, pc, names, FRAMES, &n, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(!promised || code == UX_OK);
	for (size_t i = 0; code == UX_OK && i < n && i < FRAMES; i++)
		fuzz_truth(fuzz_inside(ux_bytes(names[i], strlen(names[i]) + 1), g->strings));
}

static void read_function(const struct ux_gsym *g, uint32_t i, bool verified, bool hidden)
{
	UX_ARENA(arena, BUDGET);
	struct ux_gsym_decoded f;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_gsym_decode(g, i, &arena, &f, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(!verified || code == UX_OK);
	uint64_t start = ux_gsym_start(g, i);
	if (code != UX_OK) {
		read_frames(g, start, false, hidden);
		return;
	}
	for (uint64_t k = 0; k < PCS; k++) {
		uint64_t off = f.size * k / (PCS - 1); /* the last one is after the function */
		read_frames(g, start + off, verified && off < f.size, hidden);
	}
	read_alternatives(g, start, verified && f.size > 0 && !hidden);
}

static enum ux_code forget(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)err;
	size_t *left = ctx;
	*left -= ux_min(*left, bytes.size);
	return *left > 0 ? UX_OK : ux_error_set(err, UX_ELIMIT, "enough text");
}

/* The readers of whole files. */
static void read_whole(const struct ux_gsym *g, bool verified)
{
	struct ux_counts counts;
	struct ux_gsym_stat stat;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_gsym_measure(g, &counts, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(!verified || code == UX_OK);
	/* Functions without a name may have rows. */
	fuzz_truth(code != UX_OK || counts.line_bytes <= counts.code_bytes + counts.unnamed_bytes);
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_gsym_stat(g, &stat, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(!verified || code == UX_OK);
	err = (struct ux_error)UX_ERROR_INIT;
	size_t text = BUDGET;
	code = ux_gsym_dump(g, BUDGET, forget, &text, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(!verified || code == UX_OK || code == UX_ELIMIT);
}

/*
 * Writing the table of segments again gives the same bytes, and a position in a segment has its pc.
 */
static void read_segments(struct ux_bytes file)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_segments segments;
	uint64_t pc = 0;
	size_t size = ux_gsym_segments_read(file, &segments);
	fuzz_truth((size > 0) == (segments.n > 0) && size <= file.size);
	(void)ux_gsym_segments_pc(&segments, size, &pc);
	for (size_t i = 0; i < segments.n; i++) {
		const struct ux_gsym_segment *s = &segments.list[i];
		if (s->size > 0 && s->size <= UINT64_MAX - 4096 &&
		    s->off <= UINT64_MAX - 4096 - s->size)
			fuzz_truth(ux_gsym_segments_pc(&segments, s->off, &pc));
	}
	if (size == 0)
		return;
	out.swap = file.data[file.size - 1] != 'S';
	ux_gsym_segments_put(&out, &segments);
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&out), ux_bytes(file.data + file.size - size, size)));
}

static bool starts_have(const struct ux_gsym_starts *starts, uint64_t start)
{
	for (size_t i = 0; i < starts->n; i++)
		if (starts->list[i] == start)
			return true;
	return starts->more;
}

/* Each symbol is found by its name. */
static void read_symbols(const struct ux_gsym *g, bool verified)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names names = {0};
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_gsym_symbols symbols;
	struct ux_gsym_symbol s;
	struct ux_gsym_starts starts;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t off = 0, size = 0;
	size_t table = ux_gsym_symbols_open(g, &symbols, &off);
	fuzz_truth(table == 0 || (off <= g->file.size && table <= g->file.size - off));
	enum ux_code code = ux_gsym_names_build(&names, g, NULL, &err);
	fuzz_truths_of_error(code, &err, g->file.size);
	fuzz_truth(code == UX_OK || code == UX_ELIMIT);
	if (code != UX_OK)
		return;
	fuzz_truth(names.n <= ux_gsym_names_max(g));
	for (unsigned i = 0; i < FUNCTIONS_MAX && ux_gsym_symbols_next(&symbols, &s); i++) {
		const char *own = NULL;
		fuzz_truth(s.function < g->n_functions);
		bool named = ux_gsym_function_read(g, s.function, &own, &size) &&
			     ux_gsym_symbol_name(&s, ux_bytes_cstr(own), &text);
		fuzz_truth(!verified || s.part || named);
		if (!named)
			continue;
		fuzz_truth(ux_gsym_symbol_is(&s, ux_bytes_cstr(own), ux_out_bytes(&text)));
		code = ux_gsym_names_search(&names, g, ux_out_bytes(&text), 0, &starts, NULL);
		fuzz_truth(!verified ||
			   (code == UX_OK &&
			    starts_have(&starts, s.off + ux_gsym_start(g, s.function))));
	}
}

FUZZ_TARGET(gsym_read)(const uint8_t *data, size_t size)
{
	read_segments(ux_bytes(data, size));
	struct ux_gsym g;
	struct ux_gsym_notes notes = {{0}};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_error of_base = UX_ERROR_INIT;
	uint64_t base = 0;
	enum ux_code base_code = ux_gsym_image_base(
		ux_bytes(data, ux_min(size, (size_t)UX_GSYM_BASE_BYTES)), &base, &of_base);
	fuzz_truths_of_error(base_code, &of_base, size);
	enum ux_code code = ux_gsym_open(&g, ux_bytes(data, size), &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	fuzz_truth(ux_gsym_is(g.file) && fuzz_inside(g.uuid, g.file));
	fuzz_truth(base_code != UX_OK || base == g.base);
	code = ux_gsym_verify(&g, &notes, &err);
	fuzz_truths_of_error(code, &err, size);
	bool verified = code == UX_OK;
	bool hidden = notes.count[UX_GSYM_NOTE_OVERLAP] + notes.count[UX_GSYM_NOTE_UNTRIED] > 0;
	for (uint32_t i = 0; i < g.n_functions && i < FUNCTIONS_MAX; i++)
		read_function(&g, i, verified, hidden);
	read_whole(&g, verified);
	read_symbols(&g, verified);
	return 0;
}
