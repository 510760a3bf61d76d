/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: profiles of pprof. Without new names a message is copied byte for byte; a location that
 * gets a name has it when the message is read again; a new message has the same samples.
 */
#include "fuzz.h"

#include "pprof.h"

/* Names the first location that has an address and no name; false when there is none. */
static bool name_one(const struct ux_pprof *f, struct ux_profile *p, uint32_t *ret)
{
	for (uint32_t i = 0; i < f->n_locations; i++) {
		uint32_t number = f->first_location + i;
		if (p->locations.data[number].n > 0)
			continue;
		struct ux_profile_frame frame = {.line = 7};
		fuzz_truth(ux_profile_string(p, UX_STR("_Z5fuzzyv"), &frame.linkage, NULL) ==
			   UX_OK);
		fuzz_truth(ux_profile_name(p, number, &frame, 1, NULL) == UX_OK);
		*ret = i;
		return true;
	}
	return false;
}

static void rewrite_truths(struct ux_bytes in, const struct ux_pprof *f, struct ux_profile *p)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream same = {0}, named = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	struct ux_pprof again;
	uint32_t index = 0;
	fuzz_truth(ux_pprof_rewrite(f, p, &same, NULL) == UX_OK);
	fuzz_truth(ux_bytes_eq(in, ux_out_bytes(&same.out)));
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	if (!name_one(f, p, &index))
		return;
	fuzz_truth(ux_pprof_rewrite(f, p, &named, NULL) == UX_OK);
	fuzz_truth(ux_pprof_read(&again, ux_out_bytes(&named.out), &q, NULL) == UX_OK);
	fuzz_truth(again.n_locations == f->n_locations);
	const struct ux_profile_location *l = &q.locations.data[again.first_location + index];
	fuzz_truth(l->n == 1 && q.frames.data[l->first].line == 7);
	fuzz_truth(ux_bytes_eq(ux_profile_text(&q, q.frames.data[l->first].linkage),
			       UX_STR("_Z5fuzzyv")));
}

static void write_truths(const struct ux_profile *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	struct ux_pprof f;
	fuzz_truth(ux_pprof_write(p, &out, NULL) == UX_OK);
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	fuzz_truth(ux_pprof_read(&f, ux_out_bytes(&out), &q, NULL) == UX_OK);
	fuzz_truth(q.n_types == p->n_types && q.samples.size == p->samples.size);
	for (size_t i = 0; i < q.values.size; i++)
		fuzz_truth(q.values.data[i] == p->values.data[i]);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_pprof f;
	struct ux_bytes in = ux_bytes(data, size);
	(void)ux_pprof_is(in);
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	enum ux_code code = ux_pprof_read(&f, in, &p, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	write_truths(&p);
	rewrite_truths(in, &f, &p);
	return 0;
}
