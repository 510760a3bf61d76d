/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: profiles of the Firefox Profiler. Without new names a profile is copied byte for byte.
 * With names for all frames that have none, each of two frames, it is read again, has the same
 * samples, and each of these stacks is longer by as many frames as were inlined.
 */
#include "fuzz.h"

#include "firefox.h"

/* Names every location that has an address and no name. */
static size_t name_all(struct ux_profile *p)
{
	size_t named = 0;
	for (uint32_t i = 1; i < p->locations.size; i++) {
		if (p->locations.data[i].n > 0 || p->locations.data[i].named)
			continue;
		struct ux_profile_frame frames[2] = {{.line = 7, .inlined = true}, {.line = 9}};
		fuzz_truth(ux_profile_string(p, UX_STR("inner"), &frames[0].linkage, NULL) ==
			   UX_OK);
		fuzz_truth(ux_profile_string(p, UX_STR("outer"), &frames[1].linkage, NULL) ==
			   UX_OK);
		fuzz_truth(ux_profile_string(p, UX_STR("/a.c"), &frames[0].file, NULL) == UX_OK);
		fuzz_truth(ux_profile_name(p, i, frames, 2, NULL) == UX_OK);
		named++;
	}
	return named;
}

/* Returns the number of frames of a stack. */
static size_t depth_of(const struct ux_profile *p, uint32_t stack)
{
	size_t n = 0;
	for (; stack != 0; stack = p->stacks.data[stack].caller)
		n += p->locations.data[p->stacks.data[stack].location].n;
	return n;
}

/* The sums of the values of samples, and of their depths. */
static void sums_of(const struct ux_profile *p, uint64_t *ret_values, uint64_t *ret_depths)
{
	*ret_values = *ret_depths = 0;
	for (size_t i = 0; i < p->samples.size; i++) {
		const int64_t *values = ux_profile_sample_values(p, &p->samples.data[i]);
		for (size_t k = 0; k < p->n_types; k++) {
			*ret_values += (uint64_t)values[k];
			*ret_depths += (uint64_t)values[k] * depth_of(p, p->samples.data[i].stack);
		}
	}
}

static void rewrite_truths(struct ux_bytes in, const struct ux_firefox *f, struct ux_profile *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out same = {0}, named = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	ux_cleanup(ux_firefox_close) struct ux_firefox again = {0};
	uint64_t values[2] = {0}, depths[2] = {0};
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	fuzz_truth(ux_firefox_rewrite(f, p, &same, NULL) == UX_OK);
	fuzz_truth(ux_bytes_eq(in, ux_out_bytes(&same)));
	if (name_all(p) == 0)
		return;
	fuzz_truth(ux_firefox_rewrite(f, p, &named, NULL) == UX_OK);
	fuzz_truth(ux_firefox_read(&again, ux_out_bytes(&named), &q, NULL) == UX_OK);
	fuzz_truth(name_all(&q) == 0);
	sums_of(p, &values[0], &depths[0]);
	sums_of(&q, &values[1], &depths[1]);
	fuzz_truth(values[0] == values[1] && depths[0] == depths[1]);
}

FUZZ_TARGET(firefox)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	ux_cleanup(ux_firefox_close) struct ux_firefox f = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes in = ux_bytes(data, size);
	(void)ux_firefox_is(in);
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	enum ux_code code = ux_firefox_read(&f, in, &p, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		rewrite_truths(in, &f, &p);
	return 0;
}
