/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: linkage names. The first byte chooses the options (bits 0 and 1 the mode, bit 2 LLVM's
 * style, bit 3 Ada), the rest is the name.
 */
#include "fuzz.h"

#include "demangle.h"

FUZZ_TARGET(demangle)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_demangle_how how = {
		.mode = (enum ux_demangle_mode)(data[0] & 3),
		.schemes = data[0] & 8 ? UX_SCHEME_ADA : UX_SCHEME_ALL,
		.llvm = data[0] & 4,
	};
	struct ux_bytes name = ux_bytes(data + 1, size - 1);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, again = {0};
	ux_out_cstr(&out, "before ");
	ux_demangle_as(name, &how, &out);
	struct ux_bytes all = ux_out_bytes(&out);
	struct ux_bytes text = ux_bytes(all.data + 7, all.size - 7);
	fuzz_truth(!out.failed && ux_bytes_starts(all, UX_STR("before ")));
	fuzz_truth(how.mode != UX_DEMANGLE_NONE || ux_bytes_eq(text, name));
	/* The budget, a clone's suffix, and "<...>" in place of shorter arguments. */
	fuzz_truth(text.size <= name.size + 2 * (size_t)UX_DEMANGLE_TEXT_MAX);
	fuzz_truth(name.size == 0 || text.size > 0);
	ux_demangle_as(name, &how, &again);
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&again), text));
	return 0;
}
