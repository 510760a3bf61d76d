/* SPDX-License-Identifier: Apache-2.0 */
/* Target: lines of pasted stacks. */
#include "fuzz.h"

#include "id.h"
#include "page.h"

static void one(struct ux_bytes line)
{
	struct ux_stack_line ask;
	struct ux_id id;
	ux_stack_line_parse(line, &ask);
	fuzz_truth(ask.n <= UX_STACK_ADDRESSES_MOST);
	fuzz_truth(!ask.more || ask.n == UX_STACK_ADDRESSES_MOST);
	fuzz_truth(fuzz_inside(ask.id, line) && fuzz_inside(ask.name, line));
	fuzz_truth(ask.id.size == 0 || ux_id_parse(ask.id, &id, NULL) == UX_OK);
	fuzz_truth(ask.name.size == 0 || ask.n > 0);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct ux_bytes left = ux_bytes(data, size);
	while (left.size > 0) {
		const uint8_t *end = memchr(left.data, '\n', left.size);
		size_t n = end ? (size_t)(end - left.data) : left.size;
		one(ux_bytes(left.data, n));
		left = end ? ux_bytes(end + 1, left.size - n - 1) : UX_BYTES_NONE;
	}
	return 0;
}
