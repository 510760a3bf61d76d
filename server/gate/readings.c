/* SPDX-License-Identifier: Apache-2.0 */
/* Who may read in which namespace. */
#include "readings.h"

#include "hash.h"

enum {
	ROW_MOST = 64 << 10 /* bytes of a namespace's row */
};

static bool remembered(struct ux_readings *r, struct ux_reading_slot *slot, const char *ns,
		       int64_t now, enum ux_ns_reading *ret)
{
	pthread_mutex_lock(&r->lock);
	bool fresh = slot->until_ns > now && strcmp(slot->name, ns) == 0;
	if (fresh)
		*ret = slot->reading;
	pthread_mutex_unlock(&r->lock);
	return fresh;
}

enum ux_code ux_readings_of(struct ux_readings *r, struct ux_index *ix, const char *ns, int64_t now,
			    enum ux_ns_reading *ret, struct ux_error *err)
{
	UX_ARENA(arena, ROW_MOST);
	uint64_t hash = ux_hash_bytes(ux_bytes_cstr(ns));
	struct ux_reading_slot *slot = &r->slots[hash % UX_READINGS_SLOTS];
	struct ux_error why = UX_ERROR_INIT;
	struct ux_namespace row = {.reading = UX_NS_AS_SERVED};
	if (remembered(r, slot, ns, now, ret))
		return UX_OK;
	enum ux_code code = ix->namespaces.find(ix, ns, &arena, &row, &why);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	*ret = code == UX_OK ? row.reading : UX_NS_AS_SERVED;
	pthread_mutex_lock(&r->lock);
	snprintf(slot->name, sizeof(slot->name), "%s", ns);
	slot->reading = *ret;
	slot->until_ns = now + UX_READINGS_NS;
	pthread_mutex_unlock(&r->lock);
	return UX_OK;
}
