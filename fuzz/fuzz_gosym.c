/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the tables of a Go program, with all of its functions.
 *
 * Truths: functions ascend and lie in code; rows and ranges are in order and inside of their
 * function; the calls inlined at an address are the same as in a walk outwards from it, call by
 * call, as Go's runtime does.
 */
#include "fuzz_gosym.h"

#include "cursor.h"
#include "fuzz.h"
#include "gosym_code.h"

enum {
	WORDS_MAX = 4096,
	PLACES_MAX = 64, /* addresses of a function that are compared */
};

/* Returns the start of the function, which is the only one of the unit. */
static uint64_t start_of(const struct ux_gosym_code *c)
{
	return c->ranges.data[c->functions.data[0].range_first].lo;
}

static void check_rows(const struct ux_gosym_code *c)
{
	uint64_t lo = start_of(c);
	for (size_t i = 0; i < c->rows.size; i++) {
		fuzz_truth(c->rows.data[i].pc - lo < c->size);
		fuzz_truth(i == 0 ? c->rows.data[i].pc == lo
				  : c->rows.data[i - 1].pc < c->rows.data[i].pc);
	}
}

/* Returns true when one of the call's ranges holds all of [lo, hi). */
static bool holds(const struct ux_gosym_code *c, const struct ux_code_inline *call, uint64_t lo,
		  uint64_t hi)
{
	const struct ux_range *r = c->ranges.data + call->range_first;
	for (uint32_t i = 0; i < call->range_count; i++)
		if (r[i].lo <= lo && hi <= r[i].hi)
			return true;
	return false;
}

static void check_ranges(const struct ux_gosym_code *c, const struct ux_code_inline *call,
			 const struct ux_code_inline *parent)
{
	fuzz_truth(call->range_count > 0);
	fuzz_truth((uint64_t)call->range_first + call->range_count <= c->ranges.size);
	const struct ux_range *r = c->ranges.data + call->range_first;
	for (uint32_t i = 0; i < call->range_count; i++) {
		fuzz_truth(r[i].lo < r[i].hi && r[i].lo >= start_of(c) &&
			   r[i].hi <= start_of(c) + c->size);
		fuzz_truth(i == 0 || r[i - 1].hi < r[i].lo);
		fuzz_truth(!parent || holds(c, parent, r[i].lo, r[i].hi));
	}
}

static void check_calls(const struct ux_gosym_code *c)
{
	const struct ux_code_inline *open[UX_GOSYM_DEPTH_MAX + 2] = {NULL};
	for (size_t i = 0; i < c->inlines.size; i++) {
		const struct ux_code_inline *call = &c->inlines.data[i];
		fuzz_truth(call->depth >= 1 && call->depth <= UX_GOSYM_DEPTH_MAX);
		fuzz_truth(call->name < c->names.size && c->names.data[call->name][0] != '\0');
		fuzz_truth(call->call_file < c->files.size);
		fuzz_truth(call->depth == 1 || open[call->depth - 1]);
		check_ranges(c, call, open[call->depth - 1]);
		open[call->depth] = call;
		open[call->depth + 1] = NULL;
	}
}

/* Returns the names of the calls inlined at `place`, outermost first, by the tree. */
static size_t by_tree(const struct ux_gosym_code *c, uint32_t place,
		      const char *names[UX_GOSYM_DEPTH_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < c->inlines.size; i++)
		if (c->inlines.data[i].depth == n + 1 &&
		    holds(c, &c->inlines.data[i], start_of(c) + place, start_of(c) + place + 1))
			names[n++] = c->names.data[c->inlines.data[i].name];
	return n;
}

static bool is_node(const struct ux_gosym_code *c, int32_t index)
{
	for (size_t i = 0; i < c->nodes.size; i++)
		if (index >= 0 && c->nodes.data[i].index == (uint32_t)index)
			return true;
	return false;
}

/*
 * Returns the same names, innermost first, by the runtime's walk. If the tree stores the parent of
 * a call, the parent is used instead.
 */
static size_t by_walk(const struct ux_gosym *g, const struct ux_gosym_function *f,
		      const struct ux_gosym_code *c, uint32_t place,
		      const char *names[UX_GOSYM_DEPTH_MAX])
{
	size_t n = 0;
	int32_t index = ux_gosym_steps_at(&c->call_steps, place);
	for (unsigned hops = 0; index >= 0 && hops < 2 * UX_GOSYM_DEPTH_MAX; hops++) {
		struct ux_gosym_call call;
		fuzz_truth(ux_gosym_call_read(g, f, (uint32_t)index, &call));
		if (g->wrapper == 0 || call.id != g->wrapper) {
			fuzz_truth(n < UX_GOSYM_DEPTH_MAX);
			names[n++] = call.name;
		}
		index = ux_gosym_steps_at(&c->call_steps, call.off);
		if ((call.parent < 0 && call.parent != UX_GOSYM_NO_PARENT) ||
		    is_node(c, call.parent))
			index = call.parent;
	}
	return n;
}

static void check_walks(const struct ux_gosym *g, const struct ux_gosym_function *f,
			const struct ux_gosym_code *c)
{
	uint32_t step = c->size / PLACES_MAX + 1;
	for (uint32_t place = 0; place < c->size; place += step) {
		const char *tree[UX_GOSYM_DEPTH_MAX], *walk[UX_GOSYM_DEPTH_MAX];
		size_t n = by_tree(c, place, tree);
		fuzz_truth(n == by_walk(g, f, c, place, walk));
		for (size_t i = 0; i < n; i++)
			fuzz_truth(tree[i] == walk[n - 1 - i]);
	}
}

/* A chain of hidden calls that is a cycle, or leads to one, ends where we stop. */
static bool has_hidden_circle(const struct ux_gosym_code *c)
{
	for (size_t i = 0; i < c->nodes.size; i++) {
		uint32_t n = (uint32_t)i;
		for (unsigned hops = 0; n != UINT32_MAX; hops++) {
			if (hops > UX_GOSYM_DEPTH_MAX)
				return true;
			n = c->nodes.data[n].parent;
		}
	}
	return false;
}

static void read_functions(const struct ux_gosym *g)
{
	ux_cleanup(ux_gosym_code_deinit) struct ux_gosym_code code = {0};
	uint64_t end = 0;
	for (uint32_t i = 0; i < g->table.n_functions; i++) {
		struct ux_gosym_function f;
		if (ux_gosym_function_read(g, i, &f, NULL) != UX_OK)
			continue;
		fuzz_truth(ux_gosym_image_is_code(g->image, f.lo, f.hi));
		fuzz_truth(f.lo >= end || g->module.n_sections > 1);
		end = f.hi;
		fuzz_truth(ux_gosym_code_begin(&code, g));
		fuzz_truth(ux_gosym_code_add(&code, &f, NULL) == UX_OK);
		fuzz_truth(code.size > 0 && code.size <= f.hi - f.lo);
		check_rows(&code);
		check_calls(&code);
		if (code.nodes.size > 0 && !has_hidden_circle(&code))
			check_walks(g, &f, &code);
	}
}

static struct ux_gosym_word words[WORDS_MAX];

static size_t read_words(struct ux_cur *c)
{
	size_t n = 0;
	uint64_t last = 0;
	while (n < WORDS_MAX && ux_cur_left(c) >= 16) {
		struct ux_gosym_word w = {ux_cur_u64(c), 0};
		w.value = ux_cur_u64(c);
		if (n == 0 || w.pc > last)
			words[n++] = w;
		last = ux_max(last, w.pc);
	}
	return n;
}

FUZZ_TARGET(gosym)(const uint8_t *data, size_t size)
{
	static const uint8_t text[FUZZ_GO_TEXT_SIZE];
	struct ux_gosym g;
	struct ux_error err = UX_ERROR_INIT;
	if (size < FUZZ_GO_HEAD)
		return 0;
	struct ux_cur c = ux_cur_make(ux_bytes(data, size), NULL, false);
	uint8_t options = ux_cur_u8(&c);
	uint32_t table = ux_cur_u32(&c), more = ux_cur_u32(&c);
	struct ux_bytes parts[2];
	parts[0] = ux_cur_take(&c, ux_min((size_t)table, ux_cur_left(&c)));
	parts[1] = ux_cur_take(&c, ux_min((size_t)more, ux_cur_left(&c)));
	parts[0].size = ux_min(parts[0].size, (size_t)(FUZZ_GO_DATA - FUZZ_GO_TABLE));
	const struct ux_gosym_segment segments[] = {
		{FUZZ_GO_TEXT, ux_bytes(text, sizeof(text)), true, false},
		{FUZZ_GO_TABLE, parts[0], false, false},
		{FUZZ_GO_DATA, parts[1], false, true},
	};
	struct ux_gosym_image image = {.segments = segments,
				       .n_segments = ux_countof(segments),
				       .words = words,
				       .n_words = read_words(&c),
				       .swap = (options & FUZZ_GO_SWAP) != 0};
	struct ux_gosym_hints hints = {0};
	if ((options & FUZZ_GO_HINTS) != 0)
		hints = (struct ux_gosym_hints){.table = FUZZ_GO_TABLE,
						.table_size = parts[0].size,
						.version = FUZZ_GO_DATA};
	if (ux_gosym_open(&image, &hints, &g, &err) == UX_OK)
		read_functions(&g);
	return 0;
}
