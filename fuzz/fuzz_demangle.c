/* SPDX-License-Identifier: Apache-2.0 */
/* Target: linkage names. The first byte is the mode, the rest the name. */
#include "fuzz.h"

#include "demangle.h"

int fuzz_input(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	enum ux_demangle_mode mode = (enum ux_demangle_mode)(data[0] % (UX_DEMANGLE_FULL + 1));
	struct ux_bytes name = ux_bytes(data + 1, size - 1);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_cstr(&out, "before ");
	ux_demangle(name, mode, &out);
	struct ux_bytes all = ux_out_bytes(&out);
	struct ux_bytes text = ux_bytes(all.data + 7, all.size - 7);
	fuzz_truth(!out.failed && ux_bytes_starts(all, UX_STR("before ")));
	fuzz_truth(mode != UX_DEMANGLE_NONE || ux_bytes_eq(text, name));
	/* The text's bound is "about" that for D, whose basic types and attributes spell out. */
	fuzz_truth(text.size <= name.size + 16 * (size_t)UX_DEMANGLE_TEXT_MOST);
	fuzz_truth(name.size == 0 || text.size > 0);
	return 0;
}
