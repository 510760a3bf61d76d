/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and symbols of cubins. NVIDIA does not document them; docs/formats/cuda.md describes what
 * we found. */
#include "cubin.h"

#include "cursor.h"
#include "elf_symbols.h"

enum {
	OFF_ABI_VERSION = 8,
	OFF_MACHINE = 18,
	OFF_FLAGS = 48,
	ABI_CUDA13 = 8, /* from this ABI version on, the GPU is in the second byte of the flags */
};

static struct ux_cur header_cur(struct ux_bytes file, uint64_t off)
{
	struct ux_cur c = ux_cur_make(file, NULL, __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
	ux_cur_skip(&c, off);
	return c;
}

bool ux_cubin_is(struct ux_bytes file)
{
	struct ux_cur c = header_cur(file, OFF_MACHINE);
	return ux_elf_is(file) && ux_cur_u16(&c) == EM_CUDA;
}

uint32_t ux_cubin_sm(const struct ux_elf *cubin)
{
	struct ux_cur abi = header_cur(cubin->file, OFF_ABI_VERSION);
	struct ux_cur flags = header_cur(cubin->file, OFF_FLAGS);
	if (!cubin->is64) /* 32-bit cubins come from CUDA before 10 */
		return 0;
	uint32_t bits = ux_cur_u32(&flags);
	return (ux_cur_u8(&abi) >= ABI_CUDA13 ? bits >> 8 : bits) & 0xff;
}

const char *ux_cubin_section_name(const struct ux_elf_section *section)
{
	struct ux_bytes prefix = UX_STR(".text.");
	return ux_bytes_starts(ux_bytes_cstr(section->name), prefix) ? section->name + prefix.size
								     : NULL;
}

const char *ux_cubin_symbol_name(const char *symbol, const struct ux_elf_section *home)
{
	const char *kernel = home ? ux_cubin_section_name(home) : NULL;
	size_t n = kernel ? strlen(kernel) : 0;
	if (symbol[0] != '$')
		return symbol;
	/* The kernel's name may contain a $ itself; Numba's names do. */
	if (n > 0 && strncmp(symbol + 1, kernel, n) == 0 && symbol[1 + n] == '$')
		return symbol[n + 2] != '\0' ? symbol + n + 2 : symbol;
	const char *second = strchr(symbol + 1, '$');
	return second && second[1] != '\0' ? second + 1 : symbol;
}

enum ux_code ux_cubin_pc(const struct ux_elf *cubin, uint32_t index, uint64_t off, uint64_t *ret,
			 struct ux_error *err)
{
	const struct ux_elf_section *table = ux_elf_section_find(cubin, ".symtab");
	struct ux_elf_symbols it;
	if (!table)
		return ux_error_set(err, UX_ENOTFOUND, "no symbol table");
	UX_TRY(ux_elf_symbols_open(cubin, table, &it, err));
	const struct ux_elf_symbol *s = ux_elf_symbols_at(&it, index);
	if (!s || s->type != STT_FUNC || !s->home || off >= s->size)
		return ux_error_set(err, UX_ENOTFOUND,
				    "symbol %" PRIu32 " is not a function of more than %" PRIu64
				    " bytes",
				    index, off);
	*ret = ux_elf_symbol_pc(cubin, s) + off;
	return UX_OK;
}
