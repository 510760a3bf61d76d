/* SPDX-License-Identifier: Apache-2.0 */
/* Checks an uploaded GSYM. */
#include "upload_check.h"

#include "gsym_encode.h"
#include "gsym_inspect.h"
#include "gsym_reader.h"
#include "id.h"
#include "text.h"

/*
 * Compares an ID with a UUID. A GSYM of version 1 stores at most UX_GSYM_UUID_MAX bytes of a longer
 * ID.
 */
static bool uuid_same_bytes(const struct ux_id *id, struct ux_bytes uuid)
{
	struct ux_bytes id_bytes = ux_bytes(id->bytes, id->size);
	return ux_bytes_eq(id_bytes, uuid) ||
	       (uuid.size == UX_GSYM_UUID_MAX && ux_bytes_starts(id_bytes, uuid));
}

/*
 * Compares the IDs with the UUID. A Go build ID is never in a GSYM, and a File ID does not
 * contradict a build ID.
 */
static enum ux_code uuid_check(struct ux_bytes uuid, const char *const *ids, size_t n_ids,
			       struct ux_error *err)
{
	const char *other = NULL;
	if (uuid.size == 0)
		return UX_OK;
	for (size_t i = 0; i < n_ids; i++) {
		struct ux_id id;
		UX_TRY(ux_id_parse(ux_bytes_cstr(ids[i]), &id, err));
		if (id.type != UX_ID_GO && uuid_same_bytes(&id, uuid))
			return UX_OK;
		if (id.type == UX_ID_GNU || id.type == UX_ID_UUID)
			other = ids[i];
	}
	if (!other)
		return UX_OK;
	char text[2 * UX_GSYM_UUID_MAX + 1]; /* limited by the room in an error message */
	ux_hex_encode(ux_bytes(uuid.data, ux_min(uuid.size, (size_t)UX_GSYM_UUID_MAX)), text);
	return ux_error_set(err, UX_ECONFLICT, "the GSYM belongs to %s%s, not to %.80s", text,
			    uuid.size > UX_GSYM_UUID_MAX ? "..." : "", other);
}

static enum ux_quality upload_rank(const struct ux_counts *c, enum ux_quality claim)
{
	if (c->inlines > 0)
		return UX_QUALITY_INLINES;
	if (c->line_bytes > 0)
		return UX_QUALITY_LINES;
	if (c->functions == 0)
		return UX_QUALITY_NONE;
	if (claim == UX_QUALITY_NONE) /* no quality was claimed */
		return UX_QUALITY_SYMTAB;
	return claim > UX_QUALITY_GOPCLNTAB ? UX_QUALITY_GOPCLNTAB : claim;
}

enum ux_code ux_upload_check(struct ux_bytes file, const char *const *ids, size_t n_ids,
			     enum ux_quality claim, enum ux_quality *ret_quality,
			     struct ux_counts *ret_counts, struct ux_error *err)
{
	struct ux_gsym g;
	struct ux_counts counts;
	UX_TRY(ux_gsym_open(&g, file, err));
	UX_TRY(ux_gsym_verify(&g, /* notes= */ NULL, err));
	UX_TRY(uuid_check(g.uuid, ids, n_ids, err));
	UX_TRY(ux_gsym_measure(&g, &counts, err));
	*ret_quality = upload_rank(&counts, claim);
	*ret_counts = counts;
	return UX_OK;
}
