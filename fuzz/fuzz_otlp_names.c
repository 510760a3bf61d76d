/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: names for OTLP messages, written without a profile in memory. Without names a message is
 * copied byte for byte; with names the reader of whole profiles finds a line in each location that
 * got one, and in no other, and nothing left to be named.
 */
#include "fuzz.h"

#include "otlp.h"
#include "otlp_names.h"

/*
 * Returns the number of lines of each location, read by the other reader: 0 to n; UINT32_MAX: the
 * message is refused.
 */
static uint32_t count_lines(struct ux_bytes bytes, uint32_t *ret_locations)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p;
	struct ux_otlp f;
	uint32_t lines = 0;
	fuzz_truth(ux_profile_init(&p, NULL) == UX_OK);
	if (ux_otlp_read(&f, bytes, &p, NULL) != UX_OK)
		return UINT32_MAX;
	for (uint32_t i = 0; i < f.n_locations; i++)
		lines += p.locations.data[f.first_location + i].n;
	*ret_locations = f.n_locations;
	return lines;
}

static size_t name_all(struct ux_otlp_names *n)
{
	uint32_t name = ux_otlp_names_string(n, UX_STR("f()"));
	uint32_t function = ux_otlp_names_function(n, name, name, 0);
	size_t count = 0;
	for (size_t m = 0; m < n->modules.size; m++)
		for (size_t i = 0; i < n->modules.data[m].n; i++, count++)
			ux_otlp_lines_end(
				n, n->modules.data[m].first + i,
				ux_otlp_lines_put(ux_otlp_lines_begin(n, 1), function, 9));
	return count;
}

static void names_truths(struct ux_otlp_names *n)
{
	ux_cleanup(ux_out_deinit) struct ux_out same = {0}, named = {0};
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names again = {0};
	uint32_t before_locations = 0, after_locations = 0;
	fuzz_truth(ux_otlp_names_write(n, &same, NULL) == UX_OK);
	fuzz_truth(ux_bytes_eq(n->bytes, ux_out_bytes(&same)));
	size_t count = name_all(n);
	fuzz_truth(ux_otlp_names_write(n, &named, NULL) == UX_OK);
	uint32_t before = count_lines(n->bytes, &before_locations);
	uint32_t after = count_lines(ux_out_bytes(&named), &after_locations);
	if (before != UINT32_MAX) {
		fuzz_truth(after == before + count);
		fuzz_truth(after_locations == before_locations);
	}
	again.bytes = ux_out_bytes(&named);
	fuzz_truth(ux_otlp_names_read(&again, NULL) == UX_OK);
	fuzz_truth(again.n_locations == n->n_locations);
	if (before == UINT32_MAX)
		return; /* new strings may now have numbers that were invalid before */
	fuzz_truth(again.n_unknown == n->n_unknown);
	for (size_t m = 0; m < again.modules.size; m++)
		fuzz_truth(again.modules.data[m].n == 0);
}

FUZZ_TARGET(otlp_names)(const uint8_t *data, size_t size)
{
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.bytes = ux_bytes(data, size)};
	enum ux_code code = ux_otlp_names_read(&n, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		names_truths(&n);
	return 0;
}
