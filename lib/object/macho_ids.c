/* SPDX-License-Identifier: Apache-2.0 */
/* The identities of a Mach-O file. */
#include "macho_ids.h"

#include "file_id.h"

enum {
	GO_ID_WITHIN = 32 << 10 /* bytes of __text: the go command looks no further either */
};

/* "\xff Go build ID: "TEXT"\n \xff" at the front of the code; empty: it is not there. */
static struct ux_bytes go_id_text(const struct ux_macho *macho)
{
	struct ux_bytes begin = UX_STR("\xff Go build ID: \""), end = UX_STR("\"\n \xff");
	const struct ux_macho_section *text = ux_macho_section_find(macho, "__text");
	struct ux_bytes code = UX_BYTES_NONE;
	if (!text || ux_macho_section_bytes(macho, text, &code, NULL) != UX_OK || code.size == 0)
		return UX_BYTES_NONE;
	code.size = ux_min(code.size, (size_t)GO_ID_WITHIN);
	const uint8_t *at = memmem(code.data, code.size, begin.data, begin.size);
	if (!at)
		return UX_BYTES_NONE;
	at += begin.size;
	size_t left = code.size - (size_t)(at - code.data);
	const uint8_t *stop = memmem(at, left, end.data, end.size);
	return ux_bytes(at, stop ? (size_t)(stop - at) : 0);
}

enum ux_code ux_macho_ids(const struct ux_macho *macho, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id content = ux_file_id(macho->file), go;
	struct ux_bytes text = go_id_text(macho);
	if (macho->id.size > 0)
		UX_TRY(ux_id_set_add(ret, &macho->id, err));
	/* One that has no text form identifies nothing. */
	if (text.size > 0 && ux_id_make(UX_ID_GO, text, &go, NULL) == UX_OK)
		UX_TRY(ux_id_set_add(ret, &go, err));
	return ux_id_set_add(ret, &content, err);
}
