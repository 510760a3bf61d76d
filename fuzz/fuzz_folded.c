/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: folded stacks. The output is read again as the same stacks, and written again as the same
 * bytes.
 */
#include "fuzz.h"

#include "folded.h"

/* Reads and writes; false when the text has an error. */
static bool fold(struct ux_bytes in, struct ux_stream *out)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	struct ux_error err = UX_ERROR_INIT;
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	enum ux_code code = ux_folded_read(in, &p, &err);
	fuzz_truths_of_error(code, &err, in.size);
	if (code != UX_OK)
		return false;
	fuzz_truth(ux_folded_write(&p, 0, UX_DEMANGLE_NONE, out, NULL) == UX_OK);
	return true;
}

FUZZ_TARGET(folded)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream once = {0}, twice = {0};
	struct ux_bytes in = ux_bytes(data, size);
	(void)ux_folded_is(in);
	if (!fold(in, &once))
		return 0;
	fuzz_truth(fold(ux_out_bytes(&once.out), &twice));
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&once.out), ux_out_bytes(&twice.out)));
	return 0;
}
