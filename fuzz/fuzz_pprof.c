/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: profiles of pprof. Without new names a message is copied byte for byte; a location that
 * gets a name has it when the message is read again; a new message has the same samples.
 */
#include "fuzz_profile.h"

#include "pprof.h"

static void rewrite_truths(struct ux_bytes in, const struct ux_pprof *f, struct ux_profile *p)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream same = {0}, named = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	struct ux_pprof again;
	uint32_t index = 0;
	fuzz_truth(ux_pprof_rewrite(f, p, &same, NULL) == UX_OK);
	fuzz_truth(ux_bytes_eq(in, ux_out_bytes(&same.out)));
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	if (!fuzz_profile_name_one(p, f->first_location, f->n_locations, &index))
		return;
	fuzz_truth(ux_pprof_rewrite(f, p, &named, NULL) == UX_OK);
	fuzz_truth(ux_pprof_read(&again, ux_out_bytes(&named.out), &q, NULL) == UX_OK);
	fuzz_truth(again.n_locations == f->n_locations);
	fuzz_profile_is_named(&q, again.first_location + index);
}

static void write_truths(const struct ux_profile *p)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream out = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile q;
	struct ux_pprof f;
	fuzz_truth(ux_pprof_write(p, &out, NULL) == UX_OK);
	fuzz_truth(ux_profile_init(&q, NULL) == UX_OK);
	fuzz_truth(ux_pprof_read(&f, ux_out_bytes(&out.out), &q, NULL) == UX_OK);
	fuzz_truth(q.n_types == p->n_types && q.samples.size == p->samples.size);
	for (size_t i = 0; i < q.values.size; i++)
		fuzz_truth(q.values.data[i] == p->values.data[i]);
}

FUZZ_TARGET(pprof)(const uint8_t *data, size_t size)
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
