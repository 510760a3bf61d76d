/* SPDX-License-Identifier: Apache-2.0 */
/* The few identities of one module. */
#include "id_set.h"

enum ux_code ux_id_set_add(struct ux_id_set *set, const struct ux_id *id, struct ux_error *err)
{
	if (id->size == 0 || ux_id_set_has(set, id))
		return UX_OK;
	if (set->size == UX_ID_SET_MOST)
		return ux_error_set(err, UX_ELIMIT, "more than %d identities of one module",
				    UX_ID_SET_MOST);
	set->ids[set->size++] = *id;
	return UX_OK;
}

bool ux_id_set_has(const struct ux_id_set *set, const struct ux_id *id)
{
	for (size_t i = 0; i < set->size; i++)
		if (ux_id_eq(&set->ids[i], id))
			return true;
	return false;
}

const struct ux_id *ux_id_set_find(const struct ux_id_set *set, enum ux_id_type type)
{
	for (size_t i = 0; i < set->size; i++)
		if (set->ids[i].type == type)
			return &set->ids[i];
	return NULL;
}
