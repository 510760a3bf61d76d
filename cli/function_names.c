/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that are typed as FUNCTION or FUNCTION+OFFSET. */
#include "function_names.h"

#include "cubin.h"
#include "elf_file.h"
#include "text.h"

bool ux_function_name_is(struct ux_bytes text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] <= ' ' || text.data[i] == 0x7f || text.data[i] == '+')
			return false;
	return text.size > 0 && !ux_is_digit(text.data[0]);
}

bool ux_function_name_parse(struct ux_bytes text, struct ux_bytes *ret_name, uint64_t *ret_off)
{
	if (ux_gsym_symbol_parse(text, '+', ret_name, ret_off))
		return true;
	*ret_name = text;
	*ret_off = 0;
	return ux_function_name_is(text);
}

enum ux_code ux_function_name_find(struct ux_gsym_names *names, const struct ux_gsym *g,
				   struct ux_bytes file, struct ux_bytes name, uint64_t off,
				   uint64_t *ret, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	uint64_t index = 0;
	if (name.data[0] == '%' && ux_cubin_is(file) &&
	    ux_hex_parse_u64(ux_bytes(name.data + 1, name.size - 1), false, &index)) {
		UX_TRY(ux_elf_open(&elf, file, err));
		return ux_cubin_pc(&elf, (uint32_t)ux_min(index, (uint64_t)UINT32_MAX), off, ret,
				   err);
	}
	if (!names->list)
		UX_TRY(ux_gsym_names_build(names, g, /* work= */ NULL, err));
	UX_TRY(ux_gsym_names_find(names, g, name, ret, err));
	*ret += off;
	return UX_OK;
}

void ux_function_name_hint(struct ux_bytes text, struct ux_error *why)
{
	uint64_t pc = 0;
	if (!ux_hex_parse_u64(text, /* hex= */ true, &pc))
		return;
	*why = (struct ux_error)UX_ERROR_INIT;
	(void)ux_error_set(why, UX_ENOTFOUND,
			   "no function is named \"%.*s\"; for the address write 0x%" PRIx64
			   " or use --hex",
			   (int)text.size, (const char *)text.data, pc);
}
