/* SPDX-License-Identifier: Apache-2.0 */
/* Places that are named by a function. */
#include "place_names.h"

#include "error.h"
#include "hex.h"

bool ux_place_parse(struct ux_bytes text, struct ux_bytes *ret_name, uint64_t *ret_off)
{
	const uint8_t *plus = text.data ? memrchr(text.data, '+', text.size) : NULL;
	if (!plus || plus == text.data)
		return false;
	size_t n = (size_t)(plus - text.data);
	*ret_name = ux_bytes(text.data, n);
	return ux_hex_parse_u64(ux_bytes(plus + 1, text.size - n - 1), /* hex= */ false, ret_off);
}

void ux_place_names_deinit(struct ux_place_names *names)
{
	ux_place_map_deinit(&names->starts);
}

static enum ux_code read_names(struct ux_place_names *names, const struct ux_gsym *gsym,
			       struct ux_error *err)
{
	for (uint32_t i = 0; i < gsym->n_functions; i++) {
		struct ux_frame frame; /* the outermost is kept */
		size_t n = 0;
		bool fresh = false;
		uint64_t pc = ux_gsym_start(gsym, i);
		if (ux_gsym_lookup(gsym, pc, &frame, 1, &n, NULL) != UX_OK || n == 0)
			continue;
		uint64_t *start =
			ux_place_map_insert(&names->starts, ux_bytes_cstr(frame.function), &fresh);
		if (!start)
			return ux_error_nomem(err);
		if (fresh)
			*start = pc; /* functions come in ascending order */
	}
	names->read = true;
	return UX_OK;
}

enum ux_code ux_place_find(struct ux_place_names *names, const struct ux_gsym *gsym,
			   struct ux_bytes name, uint64_t *ret, struct ux_error *err)
{
	if (!names->read)
		UX_TRY(read_names(names, gsym, err));
	const uint64_t *start = ux_place_map_find(&names->starts, name);
	if (!start)
		return ux_error_set(err, UX_ENOTFOUND, "no function is named \"%.*s\"",
				    (int)ux_min(name.size, (size_t)100), (const char *)name.data);
	*ret = *start;
	return UX_OK;
}
