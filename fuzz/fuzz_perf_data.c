/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a perf.data file, read with and without the times of its samples. Copies of stacks are
 * unwound, without the files of this machine: by frame pointers. */
#include "fuzz.h"

#include "perf_data.h"
#include "profile_jit.h"
#include "profile_unwind.h"

/* Checks the tables of every profile. Returns its number of samples. */
static uint64_t count_samples(const struct ux_profile *p)
{
	uint64_t n = 0;
	fuzz_truth(p->n_types > 0 && p->n_types <= UX_PROFILE_VALUES_MAX);
	for (size_t i = 1; i < p->stacks.size; i++) {
		fuzz_truth(p->stacks.data[i].caller < i);
		fuzz_truth(p->stacks.data[i].location < p->locations.size);
	}
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		fuzz_truth(l->module < p->modules.size);
		fuzz_truth(l->named == (l->n == 1));
		fuzz_truth(!l->named || l->first < p->frames.size);
	}
	for (size_t i = 0; i < p->samples.size; i++) {
		const struct ux_profile_sample *s = &p->samples.data[i];
		fuzz_truth(s->stack < p->stacks.size);
		fuzz_truth(s->thread > 0 && s->thread < p->threads.size);
		/* The first of each pair of values counts samples. */
		for (size_t k = 0; k < p->n_types; k += 2)
			n += (uint64_t)ux_profile_sample_values(p, s)[k];
	}
	return n;
}

/* Returns a cache that finds no module. */
static struct ux_process_cache *fuzz_cache(void)
{
	static struct ux_process_cache *cache;
	struct ux_process_cache_opts opts = {.size = sizeof(opts), .debug_dirs = "/nonexistent"};
	if (!cache)
		fuzz_truth(ux_process_cache_create(&opts, &cache, NULL) == UX_OK);
	return cache;
}

static uint64_t read_recording(struct ux_bytes bytes, bool keep_times)
{
	struct ux_profile p = {0};
	struct ux_perf_summary s;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t n = 0;
	struct ux_profile_sources sources = {.cache = fuzz_cache(), .no_local = true};
	struct ux_profile_unwind *unwind = calloc(1, sizeof(*unwind));
	fuzz_truth(unwind);
	unwind->sources = &sources;
	struct ux_profile_jit jit = {.sources = &sources};
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	p.keep_times = keep_times;
	enum ux_code code =
		ux_perf_data_read((struct ux_perf_source){bytes, -1, unwind, &jit}, &p, &s, &err);
	fuzz_truths_of_error(code, &err, bytes.size);
	if (code == UX_OK) {
		n = count_samples(&p);
		fuzz_truth(n == s.samples);
		fuzz_truth(!keep_times || p.samples.size == s.samples);
		fuzz_truth(ux_perf_data_is(bytes));
		fuzz_truths_of_error(s.damage.code, &s.damage, bytes.size);
		fuzz_truth(s.damage.code != UX_OK || (s.damaged_records == 0 && !s.truncated));
	}
	fuzz_truth(code != UX_OK || s.unwound <= s.samples);
	ux_profile_unwind_deinit(unwind);
	ux_profile_jit_deinit(&jit);
	free(unwind);
	ux_profile_deinit(&p);
	return n;
}

FUZZ_TARGET(perf_data)(const uint8_t *data, size_t size)
{
	struct ux_bytes bytes = ux_bytes(data, size);
	fuzz_truth(read_recording(bytes, true) == read_recording(bytes, false));
	return 0;
}
