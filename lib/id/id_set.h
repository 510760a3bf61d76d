/* SPDX-License-Identifier: Apache-2.0 */
/* The few identities of one module. */
#ifndef UX_ID_SET_H
#define UX_ID_SET_H

#include "id.h"

enum {
	UX_ID_SET_MOST = 8, /* GNU, Go, File ID, UUID, and as many aliases of one binary */
};

/* Plain data in the order of adding; zeroed is empty. */
struct ux_id_set {
	size_t size;
	struct ux_id ids[UX_ID_SET_MOST];
};

/* Adds id unless it is there already or is none. UX_ELIMIT when the set is full. */
enum ux_code ux_id_set_add(struct ux_id_set *set, const struct ux_id *id, struct ux_error *err)
	ux_must;

bool ux_id_set_has(const struct ux_id_set *set, const struct ux_id *id);

/* The first of that type, or NULL. */
const struct ux_id *ux_id_set_find(const struct ux_id_set *set, enum ux_id_type type);

#endif
