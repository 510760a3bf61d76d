/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the text of `perf script`. Without new names it is copied byte for byte; with them it is
 * still such a text, with the same number of samples.
 */
#include "fuzz.h"

#include "perf_script.h"

static void name_all(struct ux_profile *p)
{
	struct ux_profile_frame frames[2] = {{.inlined = true}, {0}};
	fuzz_truth(ux_profile_string(p, UX_STR("inner"), &frames[0].linkage, NULL) == UX_OK);
	fuzz_truth(ux_profile_string(p, UX_STR("outer"), &frames[1].linkage, NULL) == UX_OK);
	for (uint32_t i = 1; i < p->locations.size; i++)
		if (p->locations.data[i].n == 0)
			fuzz_truth(ux_profile_name(p, i, frames, 2, NULL) == UX_OK);
}

static int64_t count_samples(const struct ux_profile *p)
{
	int64_t sum = 0;
	for (size_t i = 0; i < p->samples.size; i++)
		sum += ux_profile_sample_values(p, &p->samples.data[i])[0];
	return sum;
}

static void rewrite_text(struct ux_bytes in, struct ux_profile_jit *jit, struct ux_profile *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out same = {0}, named = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	fuzz_truth(ux_perf_script_rewrite(in, jit, p, UX_DEMANGLE_FULL, &same, NULL) == UX_OK);
	fuzz_truth(ux_bytes_eq(in, ux_out_bytes(&same)));
	name_all(p);
	fuzz_truth(ux_perf_script_rewrite(in, jit, p, UX_DEMANGLE_FULL, &named, NULL) == UX_OK);
	fuzz_truth(ux_perf_script_read(ux_out_bytes(&named), NULL, &q, NULL) == UX_OK);
	fuzz_truth(count_samples(p) == count_samples(&q));
}

FUZZ_TARGET(perf_script)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes in = ux_bytes(data, size);
	/* It searches for jitdumps, but finds none. */
	struct ux_profile_sources sources = {.no_local = true};
	ux_cleanup(ux_profile_jit_deinit) struct ux_profile_jit jit = {.sources = &sources};
	(void)ux_perf_script_is(in);
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	enum ux_code code = ux_perf_script_read(in, &jit, &p, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		rewrite_text(in, &jit, &p);
	return 0;
}
