/* SPDX-License-Identifier: Apache-2.0 */
/* Debug IDs: the identities of modules that Breakpad, Mozilla and Sentry use. */
#ifndef UX_DEBUG_ID_H
#define UX_DEBUG_ID_H

#include "id.h"

enum {
	UX_DEBUG_ID_SIZE = 16,                          /* bytes of the GUID */
	UX_DEBUG_ID_TEXT = 2 * UX_DEBUG_ID_SIZE + 8 + 1 /* with the longest age and a NUL */
};

/*
 * The bytes of the GUID in the order of its text, and the age that follows it, which has no meaning
 * for ELF and Mach-O files.
 */
struct ux_debug_id {
	uint8_t bytes[UX_DEBUG_ID_SIZE];
	uint32_t age;
};

/*
 * Parses 32 hexadecimal digits of either case and 0 to 8 digits of the age, or the GUID with dashes
 * (8-4-4-4-12) and an optional "-AGE". UX_EINVAL. Source: Breakpad's symbol files, MODULE record;
 * Sentry's debug identifiers.
 */
enum ux_code ux_debug_id_parse(struct ux_bytes text, struct ux_debug_id *ret, struct ux_error *err)
	ux_must;

/*
 * Converts to the first 16 bytes of the GNU build ID that the debug ID was made from. It is made
 * for a little-endian machine, so the bytes of the GUID's first three fields are reversed. Shorter
 * build IDs were padded with zeros; the rest of a longer one is lost.
 */
void ux_debug_id_gnu(const struct ux_debug_id *id, uint8_t ret[UX_DEBUG_ID_SIZE]);

/* Converts to the UUID of a Mach-O file, which has the same bytes. */
struct ux_id ux_debug_id_uuid(const struct ux_debug_id *id);

/*
 * Writes the debug ID of a GNU build ID or a UUID, in upper case and with age 0, to text
 * (UX_DEBUG_ID_TEXT bytes). False for an identity of any other type.
 */
bool ux_debug_id_format(const struct ux_id *id, char *text);

#endif
