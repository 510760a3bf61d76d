/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader reads. */
#include "elf_dynamic.h"

#include "cursor.h"

/* The entries that matter; 0: it is not there. */
struct dynamic {
	uint64_t hash;
	uint64_t gnu_hash;
	uint64_t strings;
	uint64_t strings_size;
	uint64_t symbols;
};

static struct ux_cur cursor_at(const struct ux_elf *elf, uint64_t pc)
{
	return ux_cur_make(ux_elf_bytes_at(elf, pc), "PT_DYNAMIC", elf->swap);
}

uint64_t ux_elf_dynamic_find(const struct ux_elf *elf, uint64_t wanted)
{
	const struct ux_elf_segment *d = NULL;
	for (size_t i = 0; i < elf->n_segments && !d; i++)
		if (elf->segments[i].type == PT_DYNAMIC)
			d = &elf->segments[i];
	if (!d)
		return 0;
	struct ux_cur c = cursor_at(elf, d->vaddr);
	unsigned word = elf->is64 ? 8 : 4;
	uint64_t found = 0;
	while (ux_cur_left(&c) >= 2 * word) {
		uint64_t tag = ux_cur_uint(&c, word), value = ux_cur_uint(&c, word);
		if (tag == DT_NULL)
			break;
		if (tag == wanted)
			found = value;
	}
	return found;
}

static bool read_dynamic(const struct ux_elf *elf, struct dynamic *ret)
{
	*ret = (struct dynamic){
		.hash = ux_elf_dynamic_find(elf, DT_HASH),
		.gnu_hash = ux_elf_dynamic_find(elf, DT_GNU_HASH),
		.strings = ux_elf_dynamic_find(elf, DT_STRTAB),
		.strings_size = ux_elf_dynamic_find(elf, DT_STRSZ),
		.symbols = ux_elf_dynamic_find(elf, DT_SYMTAB),
	};
	return ret->symbols != 0 && ret->strings != 0;
}

/* DT_GNU_HASH: the last symbol ends the chain of the bucket that begins last. */
static uint64_t count_gnu(const struct ux_elf *elf, uint64_t pc)
{
	struct ux_cur c = cursor_at(elf, pc);
	uint32_t n_buckets = ux_cur_u32(&c), first = ux_cur_u32(&c), n_bloom = ux_cur_u32(&c);
	uint64_t last = 0;
	ux_cur_skip(&c, 4 + (uint64_t)n_bloom * (elf->is64 ? 8 : 4));
	for (uint32_t i = 0; i < n_buckets && ux_cur_more(&c); i++)
		last = ux_max(last, (uint64_t)ux_cur_u32(&c));
	if (c.failed || last < first)
		return first; /* those in front are imported */
	ux_cur_skip(&c, (last - first) * sizeof(uint32_t));
	while (ux_cur_more(&c)) {
		bool end = (ux_cur_u32(&c) & 1) != 0;
		last++;
		if (end)
			break;
	}
	return last;
}

/* DT_HASH has a chain entry for each symbol; its words have 8 bytes on 64-bit s390 alone. */
static uint64_t count_sysv(const struct ux_elf *elf, uint64_t pc)
{
	struct ux_cur c = cursor_at(elf, pc);
	unsigned word = elf->machine == EM_S390 && elf->is64 ? 8 : 4;
	(void)ux_cur_uint(&c, word);
	return ux_cur_uint(&c, word);
}

enum ux_code ux_elf_dynamic_symbols(const struct ux_elf *elf, struct ux_elf_symbols *ret,
				    struct ux_error *err)
{
	struct dynamic d;
	if (!read_dynamic(elf, &d))
		return ux_error_set(err, UX_ENOTFOUND, "no PT_DYNAMIC with symbols");
	struct ux_elf_symbols it = {.elf = elf, .next = 1};
	size_t record = elf->is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	it.table = ux_elf_bytes_at(elf, d.symbols);
	it.strings = ux_elf_bytes_at(elf, d.strings);
	if (it.table.size == 0 || it.strings.size == 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "PT_DYNAMIC names symbols or strings that are in no segment");
	it.strings.size = (size_t)ux_min((uint64_t)it.strings.size, d.strings_size);
	const uint8_t *nul = memrchr(it.strings.data, 0, it.strings.size);
	it.strings.size = nul ? (size_t)(nul - it.strings.data) + 1 : 0;
	uint64_t count = 0;
	if (d.hash != 0)
		count = count_sysv(elf, d.hash);
	else if (d.gnu_hash != 0)
		count = count_gnu(elf, d.gnu_hash);
	else if (d.strings > d.symbols)
		count = (d.strings - d.symbols) / record;
	it.count = (size_t)ux_min(count, (uint64_t)(it.table.size / record));
	*ret = it;
	return UX_OK;
}
