/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and sorts the symbols of a file. */
#include "symbol_list.h"

#include "elf_symbols.h"
#include "order.h"
#include "packed_file.h"
#include "partition.h"

/* Returns whether the name is neither a mapping symbol ($x, $d) nor an assembler label (.L1). */
static bool symbol_is_named(const char *name)
{
	return *name != 0 && *name != '$' && strncmp(name, ".L", 2) != 0;
}

/* Returns how much higher internal addresses of code are than the addresses that users see
 * (elf_file.h). */
static uint64_t symbol_bias(const struct ux_elf *elf)
{
	return elf->type == ET_REL ? UX_ELF_LAYOUT_BASE : 0;
}

static enum ux_code symbol_list_read(struct ux_symbol_list *l, const struct ux_elf *elf,
				     const char *section, struct ux_error *err)
{
	const struct ux_elf_section *table = ux_elf_section_find(elf, section);
	struct ux_elf_symbols it;
	if (!table || table->type == SHT_NOBITS ||
	    ux_elf_symbols_open(elf, table, &it, NULL) != UX_OK)
		return UX_OK;
	const char *file = "";
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it));) {
		if (s->type == STT_FILE)
			file = s->name;
		bool is_code = ux_elf_symbol_is_code(elf, s);
		bool is_data = (s->type == STT_OBJECT || s->type == STT_NOTYPE) && s->home &&
			       symbol_is_named(s->name);
		if (!is_code && !is_data)
			continue;
		struct ux_listed_symbol made = {
			.start = is_code ? ux_elf_symbol_pc(elf, s) - symbol_bias(elf) : s->value,
			.size = s->size,
			.name = s->name,
			.file = s->bind == STB_LOCAL ? file : "",
			.is_code = is_code,
			.is_global = s->bind != STB_LOCAL,
			.index = l->symbols.size,
		};
		if (!ux_listed_symbols_append(&l->symbols, made))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Sorts as LLVM does, so that a search finds the last of the largest symbols at an address. */
static int symbols_by_start(const void *x, const void *y)
{
	const struct ux_listed_symbol *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	UX_ORDER(a->size, b->size);
	UX_ORDER(a->index, b->index);
	return 0;
}

static void symbol_list_sort(struct ux_listed_symbol *symbols, size_t n)
{
	if (n > 1)
		ux_sort_by_start(symbols, n, sizeof(*symbols), symbols_by_start);
}

/* Moves the code of a relocatable file to the front. */
static void symbol_list_part(struct ux_symbol_list *l)
{
	l->n_first = l->symbols.size;
	if (l->elf.type != ET_REL)
		return;
	l->n_first = 0;
	for (size_t i = 0; i < l->symbols.size; i++) {
		struct ux_listed_symbol s = l->symbols.data[i];
		if (!s.is_code)
			continue;
		l->symbols.data[i] = l->symbols.data[l->n_first];
		l->symbols.data[l->n_first++] = s;
	}
}

enum ux_code ux_symbol_list_open(struct ux_symbol_list *l, const char *path, struct ux_error *err)
{
	UX_TRY(ux_file_map(path, &l->file, err));
	UX_TRY(ux_packed_open(&l->file, err));
	if (!ux_elf_is(l->file.bytes) || ux_elf_open(&l->elf, l->file.bytes, NULL) != UX_OK)
		return UX_OK;
	UX_TRY(symbol_list_read(l, &l->elf, ".symtab", err));
	if (l->symbols.size == 0)
		UX_TRY(symbol_list_read(l, &l->elf, ".dynsym", err));
	symbol_list_part(l);
	symbol_list_sort(l->symbols.data, l->n_first);
	symbol_list_sort(l->symbols.data + l->n_first, l->symbols.size - l->n_first);
	return UX_OK;
}

void ux_symbol_list_close(struct ux_symbol_list *l)
{
	ux_listed_symbols_deinit(&l->symbols);
	ux_elf_close(&l->elf);
	ux_file_unmap(&l->file);
	*l = (struct ux_symbol_list){0};
}

/* Searches one part of the list, [first, end). */
static const struct ux_listed_symbol *symbol_list_search(const struct ux_symbol_list *l,
							 size_t first, size_t end, uint64_t pc)
{
	size_t lo = ux_partition_point(i, first, end, l->symbols.data[i].start <= pc);
	const struct ux_listed_symbol *last = lo > first ? &l->symbols.data[lo - 1] : NULL;
	return last && (last->size == 0 || pc - last->start < last->size) ? last : NULL;
}

const struct ux_listed_symbol *ux_symbol_list_at(const struct ux_symbol_list *l, uint64_t pc)
{
	const struct ux_listed_symbol *s = symbol_list_search(l, 0, l->n_first, pc);
	return s ? s : symbol_list_search(l, l->n_first, l->symbols.size, pc);
}

const struct ux_listed_symbol *ux_symbol_list_data_at(const struct ux_symbol_list *l, uint64_t pc)
{
	const struct ux_listed_symbol *s = symbol_list_search(l, l->n_first, l->symbols.size, pc);
	return s ? s : symbol_list_search(l, 0, l->n_first, pc);
}

const struct ux_listed_symbol *ux_symbol_list_named(const struct ux_symbol_list *l,
						    struct ux_bytes name)
{
	const struct ux_listed_symbol *found = NULL;
	for (size_t i = 0; i < l->symbols.size; i++) {
		const struct ux_listed_symbol *s = &l->symbols.data[i];
		if (strncmp(s->name, (const char *)name.data, name.size) != 0 ||
		    (s->name[name.size] != 0 && s->name[name.size] != '@'))
			continue;
		if (s->is_global)
			return s;
		found = found ? found : s;
	}
	return found;
}
