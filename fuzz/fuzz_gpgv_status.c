/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the reports of gpgv, and blocks in ASCII armour: a status without a good signature never
 * counts as one.
 */
#include "fuzz.h"

#include "signature.h"

FUZZ_TARGET(gpgv_status)(const uint8_t *data, size_t size)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes text = ux_bytes(data, size);
	enum ux_code code = ux_signature_status(text, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		fuzz_truth(memmem(data, size, "[GNUPG:] ", 9) && memmem(data, size, "GOODSIG", 7) &&
			   memmem(data, size, "VALIDSIG", 8));
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error why = UX_ERROR_INIT;
	code = ux_armour_decode(text, &out, &why);
	fuzz_truths_of_error(code, &why, size);
	fuzz_truth(code != UX_OK || (out.size > 0 && out.size < size));
	return 0;
}
