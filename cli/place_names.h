/* SPDX-License-Identifier: Apache-2.0 */
/* Places that are named by a function: NAME+OFFSET. */
#ifndef UX_PLACE_NAMES_H
#define UX_PLACE_NAMES_H

#include "gsym_reader.h"
#include "map.h"

UX_MAP(ux_place_map, struct ux_bytes, uint64_t, ux_hash_bytes, ux_bytes_eq);

/* The functions of one GSYM by name, read when the first is asked for. Zeroed is ready. */
struct ux_place_names {
	struct ux_place_map starts; /* the lowest pc of each */
	bool read;
};

/* Takes "NAME+0x12" or "NAME+18" apart; false for anything else. */
bool ux_place_parse(struct ux_bytes text, struct ux_bytes *ret_name, uint64_t *ret_off) ux_must;

/* The pc of the function with that linkage name, of the lowest one of several. UX_ENOTFOUND: there
 * is none. UX_ENOMEM. */
enum ux_code ux_place_find(struct ux_place_names *names, const struct ux_gsym *gsym,
			   struct ux_bytes name, uint64_t *ret, struct ux_error *err) ux_must;
void ux_place_names_deinit(struct ux_place_names *names);

#endif
