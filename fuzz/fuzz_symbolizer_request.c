/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: requests to llvm-symbolizer, as sanitizers and people write them. The first byte: bit 0,
 * the command line named the module; bit 1, numbers are hexadecimal.
 */
#include "fuzz.h"

#include "symbolizer.h"

static void is_within(struct ux_bytes part, struct ux_bytes line)
{
	if (part.size == 0)
		return;
	fuzz_truth(part.data >= line.data && part.size <= line.size &&
		   (size_t)(part.data - line.data) <= line.size - part.size);
}

FUZZ_TARGET(symbolizer_request)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes line = ux_bytes(data + 1, size - 1);
	struct ux_symbolizer_request r;
	bool has_module = data[0] & 1;
	const char *bad = ux_symbolizer_request_parse(line, has_module, data[0] & 2, &r);
	is_within(r.module, line);
	is_within(r.symbol, line);
	fuzz_truth(has_module ? r.module.size == 0 : bad || r.module.size > 0);
	fuzz_truth(r.verb <= UX_SYMBOLIZER_FRAME);
	return 0;
}
