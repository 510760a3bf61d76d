/* SPDX-License-Identifier: Apache-2.0 */
/* Reads locations of pprof that are small messages, as most of a large profile are. */
#ifndef UX_PPROF_LOCATION_H
#define UX_PPROF_LOCATION_H

#include "cursor.h"
#include "pprof_fields.h"

enum {
	UX_PPROF_SMALL = 32,      /* bytes of a small location, at most */
	UX_PPROF_SMALL_ROOM = 64, /* bytes from its start that may be read */
};

/* Its fields; 0: absent. */
struct ux_pprof_small {
	uint64_t id, mapping, address;
};

/* Reads a number after the tag of a field, if that field comes next. False: it has over eight
 * bytes. */
ux_inline bool ux_pprof_small_field(const uint8_t **p, unsigned number, uint64_t *ret)
{
	*ret = 0;
	if (**p != number << 3)
		return true;
	const unsigned n = ux_uleb_wide(*p + 1, ret);
	*p += 1 + n;
	return n > 0;
}

/*
 * Reads a location that has only the fields above and no lines, as encoders write it: fields in the
 * order of their numbers, with tags of one byte. False: it is another kind of location, or the
 * message ends too soon after it for wide reads; ret is invalid then.
 */
ux_inline bool ux_pprof_small_read(const struct ux_cur *c, const uint8_t *message_end,
				   struct ux_pprof_small *ret)
{
	const uint8_t *p = c->pos;
	if (ux_cur_left(c) > UX_PPROF_SMALL || message_end - p < UX_PPROF_SMALL_ROOM)
		return false;
	return ux_pprof_small_field(&p, PPROF_LOCATION_ID, &ret->id) &&
	       ux_pprof_small_field(&p, PPROF_LOCATION_MAPPING, &ret->mapping) &&
	       ux_pprof_small_field(&p, PPROF_LOCATION_ADDRESS, &ret->address) && p == c->end;
}

#endif
