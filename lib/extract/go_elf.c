/* SPDX-License-Identifier: Apache-2.0 */
/* A Go program in an ELF file. */
#include "go_elf.h"

#include "cursor.h"
#include "elf_symbols.h"
#include "order.h"

/* The relocation that adds where the module lies, by machine (their psABIs). */
static const struct {
	uint16_t machine;
	uint16_t type;
} relative[] = {
	{EM_X86_64, 8}, {EM_AARCH64, 1027}, {EM_PPC64, 22},
	{EM_S390, 12},  {EM_RISCV, 3},      {EM_LOONGARCH, 3},
};

static enum ux_code read_segments(const struct ux_elf *elf, struct ux_go_memory *go,
				  struct ux_error *err)
{
	size_t n = 0;
	go->segments = calloc(elf->n_segments + 1, sizeof(*go->segments));
	if (!go->segments)
		return ux_error_nomem(err);
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		struct ux_gosym_segment made = {s->vaddr, UX_BYTES_NONE, (s->flags & PF_X) != 0,
						(s->flags & PF_W) != 0};
		if (s->type == PT_LOAD && s->filesz > 0 && s->vaddr + s->filesz > s->vaddr &&
		    ux_bytes_sub(elf->file, s->off, s->filesz, &made.bytes))
			go->segments[n++] = made;
	}
	ux_go_memory_settle(go, n);
	return UX_OK;
}

static struct ux_bytes rela_of(const struct ux_elf *elf, const struct ux_gosym_image *image)
{
	uint64_t at = ux_elf_dynamic_find(elf, DT_RELA);
	struct ux_bytes bytes = at != 0 ? ux_gosym_image_at(image, at) : UX_BYTES_NONE;
	uint64_t size = ux_elf_dynamic_find(elf, DT_RELASZ);
	bytes.size = (size_t)ux_min((uint64_t)bytes.size, size);
	return bytes;
}

static int by_place(const void *a, const void *b)
{
	const struct ux_gosym_word *x = a, *y = b;
	UX_ORDER(x->pc, y->pc);
	UX_ORDER(x->value, y->value);
	return 0;
}

/* 32-bit machines with Go have their addends in place. */
static enum ux_code read_words(const struct ux_elf *elf, struct ux_go_memory *go,
			       struct ux_error *err)
{
	uint32_t type = 0;
	size_t n = 0;
	struct ux_bytes rela = rela_of(elf, &go->image);
	for (size_t i = 0; i < ux_countof(relative); i++)
		if (relative[i].machine == elf->machine)
			type = relative[i].type;
	size_t most = elf->is64 && type != 0 ? rela.size / ELF64_RELA_SIZE : 0;
	if (most == 0)
		return UX_OK;
	go->words = calloc(most, sizeof(*go->words));
	if (!go->words)
		return ux_error_nomem(err);
	struct ux_cur c = ux_cur_make(rela, NULL, elf->swap);
	bool sorted = true;
	for (size_t i = 0; i < most; i++) {
		uint64_t pc = ux_cur_u64(&c), info = ux_cur_u64(&c), value = ux_cur_u64(&c);
		if ((uint32_t)info != type)
			continue;
		sorted = sorted && (n == 0 || go->words[n - 1].pc < pc);
		go->words[n++] = (struct ux_gosym_word){pc, value};
	}
	if (!sorted)
		ux_sort_by_start(go->words, n, sizeof(*go->words), by_place);
	go->image.words = go->words;
	go->image.n_words = n;
	return UX_OK;
}

/* pc and size of the first of the sections that is there with content. */
static uint64_t section_pc(const struct ux_elf *elf, const char *const *names, size_t n,
			   uint64_t *ret_size)
{
	for (size_t i = 0; i < n; i++) {
		const struct ux_elf_section *s = ux_elf_section_find(elf, names[i]);
		if (!s || s->type == SHT_NOBITS || s->addr == 0)
			continue;
		*ret_size = s->size;
		return s->addr;
	}
	return 0;
}

static void read_sections(const struct ux_elf *elf, struct ux_gosym_hints *hints)
{
	static const char *const table[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	static const char *const module[] = {".go.module"};
	static const char *const version[] = {".go.buildinfo"};
	uint64_t ignored = 0;
	hints->table = section_pc(elf, table, ux_countof(table), &hints->table_size);
	hints->module = section_pc(elf, module, ux_countof(module), &ignored);
	hints->version = section_pc(elf, version, ux_countof(version), &ignored);
}

static bool is_named(const struct ux_elf_symbol *s, const char *name)
{
	return strcmp(s->name, name) == 0;
}

/* What sections say comes first: symbols are asked where they say nothing. */
static void read_symbols(const struct ux_elf *elf, struct ux_gosym_hints *hints)
{
	const struct ux_elf_section *section = ux_elf_section_find(elf, ".symtab");
	struct ux_elf_symbols it;
	uint64_t table = 0, module = 0;
	if (!section || ux_elf_symbols_open(elf, section, &it, NULL) != UX_OK)
		return;
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it));) {
		if (s->name[0] != 'r' || strncmp(s->name, "runtime.", 8) != 0)
			continue;
		if (is_named(s, "runtime.pclntab"))
			table = s->value;
		else if (is_named(s, "runtime.firstmoduledata"))
			module = s->value;
		else if (is_named(s, "runtime.text"))
			hints->text = s->value;
	}
	if (hints->table == 0)
		hints->table = table;
	if (hints->module == 0)
		hints->module = module;
}

/* Go's linker calls its sections by names that no other has; merged ones are searched for where
 * something else is Go's. A file without section headers has nothing to tell it by. */
static bool may_be_go(const struct ux_elf *elf, const struct ux_gosym_hints *hints)
{
	return elf->n_sections <= 1 || hints->table != 0 || hints->module != 0 ||
	       hints->version != 0 || ux_elf_section_find(elf, ".note.go.buildid") ||
	       ux_elf_section_find(elf, ".go.buildinfo");
}

enum ux_code ux_go_elf_open(const struct ux_elf *elf, struct ux_go_memory *ret,
			    struct ux_error *err)
{
	ux_cleanup(ux_go_memory_close) struct ux_go_memory go = {.image.swap = elf->swap};
	*ret = (struct ux_go_memory){0};
	if (elf->type == ET_REL)
		return UX_OK;
	read_sections(elf, &go.hints);
	read_symbols(elf, &go.hints);
	if (!may_be_go(elf, &go.hints))
		return UX_OK;
	UX_TRY(read_segments(elf, &go, err));
	UX_TRY(read_words(elf, &go, err));
	*ret = go;
	go = (struct ux_go_memory){0};
	return UX_OK;
}
