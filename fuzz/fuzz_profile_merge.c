/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: sums of profiles. A profile that is added twice has each value twice and everything else
 * once; the sum stays within its memory limit, and has the same samples after it was written and
 * read. The threads of a profile add up to it.
 */
#include "fuzz.h"

#include "otlp.h"
#include "pprof.h"
#include "profile_merge.h"

enum {
	MEMORY_MAX = 16 << 20
};

static uint64_t weight(const struct ux_profile *p, size_t type)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < p->samples.size; i++)
		sum += (uint64_t)p->values.data[p->samples.data[i].first + type];
	return sum;
}

/* The values of a type in all profiles that the sum has. */
static void weight_truths(const struct ux_profile *sum, const struct ux_profile *p, uint64_t times)
{
	for (size_t i = 0; i < sum->n_types; i++) {
		uint64_t want = 0;
		for (size_t k = 0; k < p->n_types; k++)
			if (ux_bytes_eq(ux_profile_text(sum, sum->types[i].name),
					ux_profile_text(p, p->types[k].name)) &&
			    ux_bytes_eq(ux_profile_text(sum, sum->types[i].unit),
					ux_profile_text(p, p->types[k].unit)))
				want = weight(p, k); /* if types are equal, the last one counts */
		fuzz_truth(weight(sum, i) == want * times);
	}
}

static void write_truths(const struct ux_profile *sum)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream out = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile read;
	struct ux_pprof f;
	fuzz_truth(ux_pprof_write(sum, &out, NULL) == UX_OK);
	fuzz_truth(ux_profile_init(&read, NULL) == UX_OK);
	fuzz_truth(ux_pprof_read(&f, ux_out_bytes(&out.out), &read, NULL) == UX_OK);
	fuzz_truth(read.samples.size == sum->samples.size);
}

static void merge_truths(const struct ux_profile *p)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile sum;
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0};
	fuzz_truth(ux_profile_init(&sum, NULL) == UX_OK);
	sum.max = MEMORY_MAX;
	fuzz_truth(ux_profile_merger_init(&m, &sum, NULL) == UX_OK);
	if (ux_profile_merge(&m, p, NULL) != UX_OK)
		return;
	size_t locations = sum.locations.size, modules = sum.modules.size;
	size_t stacks = sum.stacks.size, samples = sum.samples.size;
	weight_truths(&sum, p, 1);
	if (ux_profile_merge(&m, p, NULL) != UX_OK)
		return;
	weight_truths(&sum, p, 2);
	fuzz_truth(sum.locations.size == locations && sum.modules.size == modules);
	fuzz_truth(sum.stacks.size == stacks && sum.samples.size == samples);
	fuzz_truth(sum.charged <= MEMORY_MAX);
	write_truths(&sum);
}

/* Adds all threads, one by one, from the last to the first. */
static void split_truths(const struct ux_profile *p)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile sum, merged;
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0}, n = {0};
	ux_cleanup(ux_profile_splitter_free) struct ux_profile_splitter *s = NULL;
	fuzz_truth(ux_profile_init(&sum, NULL) == UX_OK);
	fuzz_truth(ux_profile_init(&merged, NULL) == UX_OK);
	fuzz_truth(ux_profile_merger_init(&m, &sum, NULL) == UX_OK);
	fuzz_truth(ux_profile_merger_init(&n, &merged, NULL) == UX_OK);
	fuzz_truth(ux_profile_splitter_create(&s, p, NULL) == UX_OK);
	for (size_t i = p->threads.size; i-- > 0;) {
		uint64_t cost = 0;
		fuzz_truth(ux_profile_split(s, (uint32_t)i, &m, &cost, NULL) == UX_OK);
	}
	fuzz_truth(ux_profile_merge(&n, p, NULL) == UX_OK);
	weight_truths(&sum, p, 1);
	fuzz_truth(sum.samples.size == merged.samples.size);
	fuzz_truth(sum.stacks.size == merged.stacks.size);
	fuzz_truth(sum.locations.size == merged.locations.size);
}

FUZZ_TARGET(profile_merge)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	ux_cleanup(ux_otlp_resources_deinit) struct ux_otlp_resources resources = {0};
	struct ux_bytes in = ux_bytes(data, size);
	struct ux_error err = UX_ERROR_INIT;
	struct ux_pprof pprof;
	struct ux_otlp otlp;
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	p.max = MEMORY_MAX;
	enum ux_code code = ux_otlp_is(in) && !ux_pprof_is(in)
				    ? ux_otlp_read_resources(&otlp, in, &p, &resources, &err)
				    : ux_pprof_read(&pprof, in, &p, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	for (size_t i = 0; i < p.samples.size && resources.size > 0; i++)
		fuzz_truth(p.samples.data[i].thread <= resources.size);
	merge_truths(&p);
	split_truths(&p);
	return 0;
}
