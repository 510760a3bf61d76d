/* SPDX-License-Identifier: Apache-2.0 */
/* Debug IDs: what Breakpad, Mozilla and Sentry call a module by. */
#ifndef UX_DEBUG_ID_H
#define UX_DEBUG_ID_H

#include "id.h"

enum {
	UX_DEBUG_ID_SIZE = 16,                          /* bytes of the GUID */
	UX_DEBUG_ID_TEXT = 2 * UX_DEBUG_ID_SIZE + 8 + 1 /* with the longest age and a NUL */
};

/* The GUID as it is written, and the age behind it, which has no meaning for ELF and Mach-O
 * files. */
struct ux_debug_id {
	uint8_t bytes[UX_DEBUG_ID_SIZE];
	uint32_t age;
};

/*
 * 32 hexadecimal digits of either case and 0 to 8 of the age; or the GUID with dashes (8-4-4-4-12)
 * and perhaps "-AGE". UX_EINVAL. Source: Breakpad's symbol files, MODULE record; Sentry's debug
 * identifiers.
 */
enum ux_code ux_debug_id_parse(struct ux_bytes text, struct ux_debug_id *ret, struct ux_error *err)
	ux_must;

/*
 * The first 16 bytes of the GNU build ID that it stands for: of a little-endian machine's file, so
 * that the GUID's first three fields are the other way round. Shorter build IDs had zeros put
 * behind them, and what a longer one ends with is lost.
 */
void ux_debug_id_gnu(const struct ux_debug_id *id, uint8_t ret[UX_DEBUG_ID_SIZE]);

/* The UUID of a Mach-O file that it stands for: the same bytes. */
struct ux_id ux_debug_id_uuid(const struct ux_debug_id *id);

/* The debug ID of a GNU build ID or a UUID, upper-case with age 0, to text (UX_DEBUG_ID_TEXT
 * bytes); false for any other type. */
bool ux_debug_id_format(const struct ux_id *id, char *text);

#endif
