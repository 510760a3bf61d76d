/* SPDX-License-Identifier: Apache-2.0 */
/* Target: members of a static library. The first byte is the length of the name, which follows; the
 * rest is the library. */
#include "fuzz.h"

#include "ar_member.h"

FUZZ_TARGET(ar)(const uint8_t *data, size_t size)
{
	struct ux_bytes all = ux_bytes(data, size), name, found = UX_BYTES_NONE;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t mtime = 0;
	if (size == 0 || !ux_bytes_sub(all, 1, data[0], &name))
		return 0;
	struct ux_bytes file = ux_bytes(data + 1 + name.size, size - 1 - name.size);
	enum ux_code code = ux_ar_member(file, name, 7, &found, &mtime, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(code != UX_OK || fuzz_inside(found, file));
	return 0;
}
