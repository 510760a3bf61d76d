/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions that need no module: identities of a file, demangling, the version. */
#include "unhex/ids.h"

#include "cubin.h"
#include "cubin_crc.h"
#include "demangle.h"
#include "elf_ids.h"
#include "id.h"
#include "macho_fat.h"
#include "macho_file.h"
#include "public.h"
#include "unhex/demangle.h"
#include "unhex/version.h"

static_assert((size_t)UX_IDS_MOST >= (size_t)UX_ID_SET_MOST, "a set fits the caller's struct");

static enum ux_code ids_read_elf(struct ux_bytes file, struct ux_id_set *ret, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, file, err));
	UX_TRY(ux_elf_ids(&elf, ret, err));
	struct ux_id content = ux_file_id(file);
	UX_TRY(ux_id_set_add(ret, &content, err));
	if (!ux_cubin_is(file))
		return UX_OK;
	struct ux_id crc = ux_id_of_cubin_crc(ux_cubin_crc(file));
	return ux_id_set_add(ret, &crc, err);
}

static enum ux_code ids_read_macho(struct ux_bytes file, struct ux_id_set *ret,
				   struct ux_error *err)
{
	ux_cleanup(ux_macho_close) struct ux_macho macho = {0};
	struct ux_macho_slice slice;
	UX_TRY(ux_macho_slice_choose(file, /* arch= */ NULL, /* id= */ NULL, &slice, err));
	UX_TRY(ux_macho_open(&macho, slice.bytes, err));
	return ux_macho_ids(&macho, ret, err);
}

enum ux_code ux_ids_read(const struct ux_input *in, struct ux_ids *ret, struct ux_error *err)
{
	ux_cleanup(ux_opened_close) struct ux_opened file = {0};
	struct ux_id_set set = {0};
	UX_TRY(ux_opened_open(&file, in, err));
	UX_TRY(ux_macho_any(file.bytes) ? ids_read_macho(file.bytes, &set, err)
					: ids_read_elf(file.bytes, &set, err));
	memset(ret, 0, sizeof(*ret));
	ret->n = set.size;
	for (size_t i = 0; i < set.size; i++)
		ux_id_format(&set.ids[i], ret->text[i]);
	return UX_OK;
}

size_t ux_demangle_name(const char *name, enum ux_demangle_mode mode, char *buf, size_t size)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes plain = ux_bytes_cstr(name);
	ux_demangle(plain, mode, &out);
	struct ux_bytes text = out.failed ? plain : ux_out_bytes(&out);
	if (size == 0)
		return text.size;
	size_t n = ux_min(text.size, size - 1);
	if (n > 0)
		memcpy(buf, text.data, n);
	buf[n] = 0;
	return text.size;
}

const char *ux_version(void)
{
	return UX_VERSION;
}
