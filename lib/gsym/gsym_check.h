/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of one record, a part of verifying a file. */
#ifndef UX_GSYM_CHECK_H
#define UX_GSYM_CHECK_H

#include "arena.h"
#include "cursor.h"
#include "gsym_inspect.h"

/* State of a verification; one thread. */
struct gsym_check {
	const struct ux_gsym *g;
	struct ux_gsym_notes notes;
	uint8_t *used; /* a bit for each byte of the string table: something refers to it */
	struct ux_arena *arena; /* empty between two trees */
};

/* Marks the string at off as used; false when it is outside of the table. */
bool gsym_check_string(struct gsym_check *check, uint64_t off);

/* Checks the record at c, which moves behind its end. */
enum ux_code gsym_check_record(struct gsym_check *check, struct ux_cur *c, uint32_t *ret_size,
			       struct ux_error *err) ux_must;

#endif
