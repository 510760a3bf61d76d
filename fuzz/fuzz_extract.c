/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a whole ELF file, extracted to a GSYM and looked up.
 *
 * The first byte chooses the options: bits 0 and 1: threads of the second extraction (2 to 5); bit
 * 2: it has 1 MiB of memory and puts larger data on disk; bit 3: GSYM 2; bit 4: with other names;
 * bit 5: the file is its own debug file; bit 6: its own supplementary file; bit 7: without DWARF.
 * The rest is the file.
 *
 * Truths: threads, disk and memory change no byte; the output verifies, and contains nothing that
 * no lookup returns; a lookup returns the content of the record.
 */
#include "fuzz.h"

#include "debug_file.h"
#include "extract.h"
#include "gsym_decode.h"
#include "gsym_inspect.h"

#include <unistd.h>

enum {
	DISK = 4,
	GSYM2 = 8,
	ALTERNATIVES = 16,
	OWN_DEBUG = 32,
	OWN_SUP = 64,
	NO_DWARF = 128,
	BUDGET = 1 << 26,
	FUNCTIONS_MAX = 200, /* functions that are checked */
	PLACES_MAX = 40,     /* addresses looked up in each */
	NODES_MAX = UX_GSYM_DEPTH_MAX,
};

struct outcome {
	enum ux_code code;
	struct ux_error err;
	struct ux_extract_stats stats;
	struct ux_out gsym;
};

static void extract(struct ux_bytes file, uint8_t options, unsigned threads, bool disk,
		    struct outcome *ret)
{
	struct ux_spill shm = {.folder = "/dev/shm"};
	struct ux_extract_options o = {
		.threads = threads,
		.memory = disk ? 1 << 20 : 0,
		.spill = access("/dev/shm", W_OK) == 0 ? &shm : NULL,
		.gsym_version = (options & GSYM2) != 0 ? 2 : 0,
		.alternatives = (options & ALTERNATIVES) != 0,
		.no_dwarf = (options & NO_DWARF) != 0,
		.supplementary = (options & OWN_SUP) != 0 ? file : UX_BYTES_NONE,
	};
	struct ux_bytes debug = (options & OWN_DEBUG) != 0 ? file : UX_BYTES_NONE;
	*ret = (struct outcome){.err = UX_ERROR_INIT};
	ret->code = ux_extract(file, debug, &o, fuzz_collect, &ret->gsym, &ret->stats, &ret->err);
	fuzz_truth(ret->code == ret->err.code);
	fuzz_truth(ret->code == UX_OK || ret->err.text[0] != '\0');
	fuzz_truth(ret->code == UX_OK || ret->gsym.size == 0); /* no partial output */
}

/*
 * If a bound is exceeded, the units that share a line table and hit it may depend on the threads.
 */
static bool may_differ(const struct outcome *o)
{
	return o->code == UX_OK && o->stats.bad_units > 0 &&
	       (o->stats.bad_units > 1 || o->stats.first_bad.code == UX_ELIMIT);
}

static void compare(const struct outcome *a, const struct outcome *b)
{
	if (may_differ(a) || may_differ(b))
		return;
	fuzz_truth(a->code == b->code);
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&a->gsym), ux_out_bytes(&b->gsym)));
}

/* Computes the frames at off from the record: a slow version of a lookup. */
static size_t frames_of(const struct ux_gsym *g, const struct ux_gsym_decoded *f, uint32_t off,
			struct ux_frame *frames)
{
	const struct ux_gsym_node *open[NODES_MAX];
	uint32_t file = 0, line = 0, depth = 0;
	for (size_t i = 0; i < f->n_rows && f->rows[i].off <= off; i++) {
		file = f->rows[i].file;
		line = f->rows[i].line;
	}
	for (size_t i = 0; i < f->n_inlines; i++) {
		const struct ux_gsym_node *node = &f->inlines[i];
		bool holds = false;
		for (uint32_t r = 0; r < node->range_count; r++) {
			const struct ux_gsym_range *range = &f->ranges[node->range_first + r];
			holds |= range->lo <= off && off < range->hi;
		}
		if (holds && node->depth == depth + 1)
			open[depth++] = node;
	}
	for (uint32_t i = 0; i <= depth; i++) {
		const struct ux_gsym_node *node = i < depth ? open[depth - 1 - i] : NULL;
		frames[i] = (struct ux_frame){
			.function = ux_gsym_string(g, node ? node->name : f->name),
			.line = line,
			.inlined = node,
			.offset = node ? off - f->ranges[node->range_first].lo
				       : off + (uint64_t)f->before,
		};
		fuzz_truth(frames[i].function);
		fuzz_truth(ux_gsym_file(g, file, &frames[i].dir, &frames[i].base));
		file = node ? node->call_file : 0;
		line = node ? node->call_line : 0;
	}
	return depth + 1;
}

static void check_place(const struct ux_gsym *g, const struct ux_gsym_decoded *f, uint32_t off)
{
	struct ux_frame own[UX_FRAMES_MAX], got[UX_FRAMES_MAX];
	size_t n = frames_of(g, f, off, own), n_got = 0;
	fuzz_truth(ux_gsym_lookup(g, f->start + off, got, UX_FRAMES_MAX, &n_got, NULL) == UX_OK);
	fuzz_truth(n == n_got);
	for (size_t i = 0; i < n; i++) {
		fuzz_truth(own[i].function == got[i].function && own[i].line == got[i].line);
		fuzz_truth(own[i].inlined == got[i].inlined && own[i].offset == got[i].offset);
		fuzz_truth(strcmp(own[i].dir, got[i].dir) == 0);
		fuzz_truth(strcmp(own[i].base, got[i].base) == 0);
	}
}

static void check_function(const struct ux_gsym *g, uint32_t number)
{
	UX_ARENA(arena, BUDGET);
	struct ux_gsym_decoded f;
	fuzz_truth(ux_gsym_decode(g, number, &arena, &f, NULL) == UX_OK);
	fuzz_truth(f.size > 0 && f.name != 0);
	check_place(g, &f, 0);
	check_place(g, &f, f.size - 1);
	for (size_t i = 0; i < f.n_rows && i < PLACES_MAX; i++) {
		fuzz_truth(f.rows[i].off < f.size);
		check_place(g, &f, f.rows[i].off);
	}
	for (size_t i = 0; i < f.n_inlines && i < PLACES_MAX; i++) {
		struct ux_gsym_range r = f.ranges[f.inlines[i].range_first];
		fuzz_truth(r.lo < r.hi && r.hi <= f.size);
		check_place(g, &f, r.lo);
		check_place(g, &f, r.hi - 1);
	}
}

static void check_output(const struct outcome *o)
{
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	struct ux_counts counts;
	fuzz_truth(o->stats.gsym_bytes == o->gsym.size);
	fuzz_truth(ux_gsym_open(&g, ux_out_bytes(&o->gsym), NULL) == UX_OK);
	fuzz_truth(ux_gsym_verify(&g, &notes, NULL) == UX_OK);
	static const enum ux_gsym_note never[] = {
		UX_GSYM_NOTE_SHADOWED_ROW,  UX_GSYM_NOTE_UNUSED_STRING, UX_GSYM_NOTE_OVERLAP,
		UX_GSYM_NOTE_SAME_RANGE,    UX_GSYM_NOTE_NO_SIZE,       UX_GSYM_NOTE_ROOT,
		UX_GSYM_NOTE_UNKNOWN_BLOCK, UX_GSYM_NOTE_UNTRIED,       UX_GSYM_NOTE_FOREIGN_BYTE,
	};
	for (size_t i = 0; i < ux_countof(never); i++)
		fuzz_truth(notes.count[never[i]] == 0);
	fuzz_truth(ux_gsym_measure(&g, &counts, NULL) == UX_OK);
	/* Compare the sum: a file may give its own functions the name that we use for functions
	 * without one. */
	fuzz_truth(counts.functions + counts.unnamed ==
		   o->stats.counts.functions + o->stats.counts.unnamed);
	fuzz_truth(counts.rows == o->stats.counts.rows);
	fuzz_truth(counts.inlines == o->stats.counts.inlines);
	fuzz_truth(counts.line_bytes == o->stats.counts.line_bytes);
	for (uint32_t i = 0; i < g.n_functions && i < FUNCTIONS_MAX; i++)
		check_function(&g, i);
}

static void read_link(struct ux_bytes file)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_supplementary_link link;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_elf_open(&elf, file, NULL) != UX_OK)
		return;
	enum ux_code code = ux_supplementary_link(&elf, &link, &err);
	fuzz_truths_of_error(code, &err, file.size);
	fuzz_truth(code != UX_OK || link.path[0] == '\0' ||
		   fuzz_inside(ux_bytes(link.path, strlen(link.path) + 1), file));
}

FUZZ_TARGET(extract)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes file = ux_bytes(data + 1, size - 1);
	struct outcome alone, many;
	read_link(file);
	extract(file, data[0], 1, false, &alone);
	extract(file, data[0], 2 + (data[0] & 3), (data[0] & DISK) != 0, &many);
	compare(&alone, &many);
	if (alone.code == UX_OK)
		check_output(&alone);
	ux_out_deinit(&alone.gsym);
	ux_out_deinit(&many.gsym);
	return 0;
}
