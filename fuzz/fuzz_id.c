/* SPDX-License-Identifier: Apache-2.0 */
/* Target: text of an identity, and the same bytes as the content of notes and as a file. */
#include "fuzz.h"

#include "id.h"

/* The text form reads back as the same memory. */
static void round_trip(const struct ux_id *id)
{
	char text[UX_ID_TEXT];
	struct ux_id again;
	size_t n = strlen(ux_id_format(id, text));
	fuzz_truth(n > 0 && n < sizeof(text));
	fuzz_truth(ux_id_parse(ux_bytes(text, n), &again, NULL) == UX_OK);
	fuzz_truth(memcmp(id, &again, sizeof(again)) == 0);
}

FUZZ_TARGET(id)(const uint8_t *data, size_t size)
{
	struct ux_bytes bytes = ux_bytes(data, size);
	struct ux_id id;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_id_parse(bytes, &id, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(code == UX_OK || code == UX_EINVAL || code == UX_ELIMIT);
	if (code == UX_OK)
		round_trip(&id);
	if (ux_id_of_note(UX_STR("GNU"), 3, bytes, &id, NULL) == UX_OK)
		round_trip(&id);
	if (ux_id_of_note(UX_STR("Go"), 4, bytes, &id, NULL) == UX_OK)
		round_trip(&id);
	id = ux_file_id(bytes);
	round_trip(&id);
	struct ux_id swapped = ux_file_id_swapped(&id);
	swapped = ux_file_id_swapped(&swapped);
	fuzz_truth(ux_id_eq(&id, &swapped));
	return 0;
}
