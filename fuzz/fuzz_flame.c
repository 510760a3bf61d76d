/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the outputs of a profile, which is read from folded stacks. No value is lost in the tree
 * of calls, whatever its limit; a page contains only its own markup; the same profile gives the
 * same bytes.
 */
#include "fuzz.h"

#include "flame.h"
#include "folded.h"
#include "profile_top.h"
#include "profile_viewers.h"

static enum ux_code keep(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *to = ctx;
	ux_out_put(to, bytes.data, bytes.size);
	return ux_out_status(to, err);
}

static size_t count(struct ux_bytes text, const char *part)
{
	size_t n = 0, size = strlen(part);
	for (const uint8_t *at = text.data;
	     (at = memmem(at, (size_t)(text.data + text.size - at), part, size)) != NULL;
	     at += size)
		n++;
	return n;
}

/* The root has the sum of all samples, and each node the sum of its callees and itself. */
static void tree_truths(const struct ux_call_tree *t, int64_t sum)
{
	fuzz_truth(t->nodes.size > 0 && t->nodes.data[0].end == t->nodes.size);
	fuzz_truth(ux_call_total(t, 0, 0) == sum);
	for (uint32_t i = 0; i < t->nodes.size; i++) {
		uint64_t own = (uint64_t)ux_call_self(t, i, 0);
		for (uint32_t c = i + 1; c < t->nodes.data[i].end; c = t->nodes.data[c].end) {
			fuzz_truth(t->nodes.data[c].caller == i);
			own += (uint64_t)ux_call_total(t, c, 0);
		}
		fuzz_truth(own == (uint64_t)ux_call_total(t, i, 0));
	}
}

static bool has_pages(void *ctx, const struct ux_id *id)
{
	(void)ctx;
	return id->bytes[0] % 4 != 0;
}

static void graph_truths(const struct ux_profile *p, int64_t sum, size_t max, struct ux_out *page)
{
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree t = {0};
	ux_cleanup(ux_out_deinit) struct ux_out picture = {0};
	ux_cleanup(ux_stream_deinit) struct ux_stream to_page = {.write = keep, .ctx = page};
	ux_cleanup(ux_stream_deinit) struct ux_stream to_picture = {.write = keep, .ctx = &picture};
	struct ux_call_options options = {.max = max, .has_pages = has_pages};
	struct ux_flame_options how = {.title = ux_profile_text(p, 0),
				       .other = UX_STR("<b>"),
				       .frame_url = UX_STR("/frame")};
	fuzz_truth(ux_call_tree_make(&t, p, max ? p : NULL, &options, NULL) == UX_OK);
	tree_truths(&t, sum);
	for (size_t i = 0; i < t.nodes.size; i++)
		fuzz_truth(t.nodes.data[i].place <= t.places.size);
	fuzz_truth(ux_flame_html(&t, &how, &to_page, NULL) == UX_OK);
	fuzz_truth(ux_flame_svg(&t, &how, &to_picture, NULL) == UX_OK);
	fuzz_truth(count(ux_out_bytes(page), "<script") == 2);
	fuzz_truth(count(ux_out_bytes(page), "</script") == 2);
	fuzz_truth(count(ux_out_bytes(&picture), "<svg") == 1);
	fuzz_truth(count(ux_out_bytes(&picture), "<g>") * 2 + 2 ==
		   count(ux_out_bytes(&picture), "<title>") * 2);
}

static void viewer_truths(const struct ux_profile *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out json = {0};
	ux_cleanup(ux_stream_deinit) struct ux_stream s = {.write = keep, .ctx = &json};
	struct ux_viewer_options options = {.title = UX_STR("x")};
	fuzz_truth(ux_speedscope_write(p, &options, &s, NULL) == UX_OK);
	fuzz_truth(ux_firefox_write(p, &options, &s, NULL) == UX_OK);
	fuzz_truth(count(ux_out_bytes(&json), "}\n") >= 2);
}

/* The sum of the functions' own values equals the sum of all samples with a stack. */
static void top_truths(const struct ux_profile *p, int64_t sum)
{
	for (int level = UX_TOP_FUNCTIONS; level <= UX_TOP_LINES; level++) {
		ux_cleanup(ux_top_deinit) struct ux_top t = {0};
		uint64_t own = 0;
		fuzz_truth(ux_top_make(&t, p,
				       &(struct ux_top_options){.level = (enum ux_top_level)level,
								.demangle = UX_DEMANGLE_SHORT},
				       NULL) == UX_OK);
		for (size_t i = 0; i < t.rows.size; i++)
			own += (uint64_t)t.rows.data[i].self;
		for (size_t i = 0; i < p->samples.size; i++)
			if (p->samples.data[i].stack == 0)
				own += (uint64_t)p->values.data[p->samples.data[i].first];
		fuzz_truth(t.sum == sum && own == (uint64_t)sum);
	}
}

FUZZ_TARGET(flame)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out once = {0}, twice = {0}, small = {0};
	uint64_t sum = 0;
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	if (ux_folded_read(ux_bytes(data, size), &p, NULL) != UX_OK)
		return 0;
	for (size_t i = 0; i < p.samples.size; i++)
		sum += (uint64_t)p.values.data[p.samples.data[i].first];
	graph_truths(&p, (int64_t)sum, 0, &once);
	graph_truths(&p, (int64_t)sum, 0, &twice);
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&once), ux_out_bytes(&twice)));
	graph_truths(&p, (int64_t)sum, 3, &small);
	viewer_truths(&p);
	top_truths(&p, (int64_t)sum);
	return 0;
}
