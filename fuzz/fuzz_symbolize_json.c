/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the JSON of POST /v1/symbolize. Whatever the reader of plain JSON takes, the one that
 * makes a tree takes too, and reads the same from it.
 */
#include "fuzz.h"

#include "symbolize_request.h"

static void truths(const struct ux_symbolize_request *a, const struct ux_symbolize_request *b)
{
	fuzz_truth(a->modules.size == b->modules.size && a->pcs.size == b->pcs.size);
	fuzz_truth(a->names.size == 0 && b->names.size == 0);
	fuzz_truth(a->demangle == b->demangle && a->return_addresses == b->return_addresses);
	fuzz_truth(a->timeout_ms == b->timeout_ms);
	for (size_t i = 0; i < a->modules.size; i++) {
		const struct ux_requested_module *m = &a->modules.data[i], *n = &b->modules.data[i];
		fuzz_truth(ux_bytes_eq(m->id, n->id) && m->first == n->first && m->n == n->n);
	}
	fuzz_truth(a->pcs.size == 0 ||
		   memcmp(a->pcs.data, b->pcs.data, a->pcs.size * sizeof(*a->pcs.data)) == 0);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request
		plain = UX_SYMBOLIZE_REQUEST_INIT,
		any = UX_SYMBOLIZE_REQUEST_INIT;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes body = ux_bytes(data, size);
	bool is_plain = ux_symbolize_request_parse_plain(&plain, body);
	enum ux_code code = ux_symbolize_request_parse_json(&any, body, &err);
	fuzz_truths_of_error(code, &err, size);
	if (is_plain) {
		fuzz_truth(code == UX_OK);
		truths(&plain, &any);
	}
	return 0;
}
