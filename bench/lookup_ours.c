/* SPDX-License-Identifier: Apache-2.0 */
/* lookup_ours single|indexed|batch|cold GSYM ADDRESSES: the time of lookups through the C API. */
#include "lookup_cases.h"

#include <unhex/unhex.h>

static struct ux_module *open_module(const char *path, uint64_t flags)
{
	struct ux_module_opts opts = {.size = sizeof(opts), .flags = flags};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_input in = ux_input_path(path);
	struct ux_module *m = NULL;
	char text[256];
	if (ux_module_open(&in, &opts, &m, &err) == UX_OK)
		return m;
	fprintf(stderr, "%s: %s\n", path, ux_error_format(&err, text, sizeof(text)));
	exit(2);
}

static void add(const struct ux_frame *f, size_t n, uint64_t *frames, uint64_t *lines)
{
	*frames += n;
	for (size_t k = 0; k < n; k++)
		*lines += f[k].line;
}

static void one_by_one(const struct ux_module *m, const uint64_t *pcs, size_t n, uint64_t *frames,
		       uint64_t *lines)
{
	struct ux_frame f[UX_FRAMES_MAX];
	for (size_t i = 0; i < n; i++) {
		size_t found = 0;
		if (ux_module_lookup(m, pcs[i], 0, f, UX_FRAMES_MAX, &found, NULL) == UX_OK)
			add(f, found, frames, lines);
	}
}

static void single(const char *path, uint64_t flags, const uint64_t *pcs, size_t n)
{
	struct ux_module *m = open_module(path, flags);
	uint64_t frames = 0, lines = 0;
	one_by_one(m, pcs, n, &frames, &lines); /* warms up */
	frames = lines = 0;
	double start = lookup_now();
	one_by_one(m, pcs, n, &frames, &lines);
	lookup_report(lookup_now() - start, n, frames, lines);
	ux_module_close(m);
}

static void cold(const char *path, const uint64_t *pcs, size_t n)
{
	uint64_t frames = 0, lines = 0;
	double start = lookup_now();
	for (size_t i = 0; i < n; i++) {
		struct ux_module *m = open_module(path, 0);
		one_by_one(m, &pcs[i], 1, &frames, &lines);
		ux_module_close(m);
	}
	lookup_report(lookup_now() - start, n, frames, lines);
}

/* Only the call is timed; its results are summed up afterwards. */
static void batch(const char *path, const uint64_t *pcs, size_t n)
{
	struct ux_module *m = open_module(path, 0);
	size_t max = n * 8, found = 0;
	struct ux_frame_span *spans = calloc(n, sizeof(*spans));
	struct ux_frame *f = calloc(max, sizeof(*f));
	if (!spans || !f)
		exit(2);
	double best = 0;
	for (int round = 0; round < 3; round++) { /* the first maps the arrays */
		double start = lookup_now();
		if (ux_module_lookup_many(m, pcs, n, 0, spans, f, max, &found, NULL) != UX_OK)
			exit(2);
		double took = lookup_now() - start;
		best = round == 1 || (round > 1 && took < best) ? took : best;
	}
	uint64_t frames = 0, lines = 0;
	for (size_t i = 0; i < n; i++)
		add(f + spans[i].first, spans[i].n, &frames, &lines);
	lookup_report(best, n, frames, lines);
	free(spans);
	free(f);
	ux_module_close(m);
}

int main(int argc, char **argv)
{
	size_t n = 0;
	if (argc != 4) {
		fprintf(stderr, "usage: lookup_ours single|indexed|batch|cold GSYM ADDRESSES\n");
		return 2;
	}
	uint64_t *pcs = lookup_addresses(argv[3], &n);
	if (strcmp(argv[1], "batch") == 0)
		batch(argv[2], pcs, n);
	else if (strcmp(argv[1], "cold") == 0)
		cold(argv[2], pcs, n);
	else
		single(argv[2], strcmp(argv[1], "indexed") == 0 ? UX_MODULE_INDEX : 0, pcs, n);
	free(pcs);
	return 0;
}
