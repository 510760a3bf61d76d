/* SPDX-License-Identifier: Apache-2.0 */
/* The identities of a file, for callers. */
#include "unhex/ids.h"

#include "elf_ids.h"
#include "file_id.h"
#include "public_input.h"

static_assert((size_t)UX_IDS_MOST >= (size_t)UX_ID_SET_MOST, "a set fits the caller's struct");

enum ux_code ux_ids_read(const struct ux_input *in, struct ux_ids *ret, struct ux_error *err)
{
	ux_cleanup(ux_opened_close) struct ux_opened file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set set = {0};
	UX_TRY(ux_opened_open(&file, in, err));
	UX_TRY(ux_elf_open(&elf, file.bytes, err));
	UX_TRY(ux_elf_ids(&elf, &set, err));
	struct ux_id content = ux_file_id(file.bytes);
	UX_TRY(ux_id_set_add(&set, &content, err));
	memset(ret, 0, sizeof(*ret));
	ret->n = set.size;
	for (size_t i = 0; i < set.size; i++)
		ux_id_format(&set.ids[i], ret->text[i]);
	return UX_OK;
}
