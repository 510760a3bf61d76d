/* SPDX-License-Identifier: Apache-2.0 */
/* IDs as clients write them. */
#include "module_ids.h"

#include "id.h"
#include "index.h"

enum ux_code ux_module_id(struct ux_bytes text, struct ux_arena *arena, const char **ret,
			  struct ux_error *err)
{
	struct ux_id id;
	char canonical[UX_ID_TEXT];
	static_assert((int)UX_ID_TEXT <= (int)UX_INDEX_ID_BYTES, "the index holds every ID");
	UX_TRY(ux_id_parse(text, &id, err));
	ux_id_format(&id, canonical);
	*ret = ux_arena_strndup(arena, canonical, strlen(canonical));
	return *ret ? UX_OK : ux_arena_fail(arena, err);
}

enum ux_code ux_module_ids(const json_t *o, struct ux_arena *arena, const char ***ret,
			   size_t *ret_n, struct ux_error *err)
{
	const json_t *list = NULL;
	UX_TRY(ux_json_in_array(o, "ids", UX_INDEX_IDS_MOST, &list, err));
	size_t n = json_array_size(list);
	if (n == 0)
		return ux_error_set(err, UX_EINVAL, "\"ids\" is missing or empty");
	const char **ids = ux_arena_array(arena, const char *, n);
	if (!ids)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		if (!json_is_string(v))
			return ux_error_set(err, UX_EINVAL, "\"ids\" holds %s; expected strings",
					    ux_json_in_type(v));
		UX_TRY(ux_module_id(ux_bytes(json_string_value(v), json_string_length(v)), arena,
				    &ids[i], err));
	}
	*ret = ids;
	*ret_n = n;
	return UX_OK;
}
