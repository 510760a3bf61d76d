/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that are typed as FUNCTION or FUNCTION+OFFSET. */
#include "function_names.h"

#include "cubin.h"
#include "elf_file.h"
#include "output.h"
#include "text.h"

bool ux_function_text_parse(struct ux_bytes text, struct ux_function_text *ret)
{
	if (ux_gsym_symbol_parse_sized(text, '+', &ret->name, &ret->off, &ret->size))
		return true;
	*ret = (struct ux_function_text){.name = text};
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] <= ' ' || text.data[i] == 0x7f || text.data[i] == '+')
			return false;
	return text.size > 0 && !ux_is_digit(text.data[0]);
}

enum ux_code ux_function_text_find(struct ux_gsym_names *names, const struct ux_gsym *g,
				   struct ux_bytes file, const struct ux_function_text *text,
				   struct ux_gsym_starts *ret_starts, uint64_t *ret,
				   struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_bytes name = text->name;
	uint64_t index = 0;
	ret_starts->n = 0;
	if (name.data[0] == '%' && ux_cubin_is(file) &&
	    ux_hex_parse_u64(ux_bytes(name.data + 1, name.size - 1), false, &index)) {
		UX_TRY(ux_elf_open(&elf, file, err));
		return ux_cubin_pc(&elf, (uint32_t)ux_min(index, (uint64_t)UINT32_MAX), text->off,
				   ret, err);
	}
	if (!names->list)
		UX_TRY(ux_gsym_names_build(names, g, /* work= */ NULL, err));
	UX_TRY(ux_gsym_names_search(names, g, name, text->size, ret_starts, err));
	*ret = ret_starts->list[0] + text->off;
	return UX_OK;
}

void ux_function_text_warn(const char *command, const struct ux_function_text *text,
			   const struct ux_gsym_starts *starts)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (starts->n < 2)
		return;
	for (size_t i = 0; i < starts->n; i++)
		ux_out_fmt(&out, "%s0x%" PRIx64, i > 0 ? ", " : "", starts->list[i]);
	if (ux_out_status(&out, NULL) == UX_OK)
		ux_print_message("%s: %zu%s functions are named \"%.*s\", at %.*s; showing the "
				 "first",
				 command, starts->n, starts->more ? " or more" : "",
				 (int)text->name.size, (const char *)text->name.data, (int)out.size,
				 (const char *)out.data);
}

void ux_function_text_hint(struct ux_bytes text, struct ux_error *why)
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
