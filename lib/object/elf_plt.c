/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs and the relocations of the slots that they load. */
#include "elf_plt.h"

#include "cursor.h"
#include "elf_symbols.h"
#include "order.h"
#include "partition.h"

/* A slot that the dynamic linker fills. */
struct slot {
	uint64_t pc;
	uint32_t symbol; /* index of the symbol; 0: target is used instead */
	bool jump;       /* used only for calls */
	uint64_t target;
};

UX_VEC(slot_vec, struct slot);
UX_VEC(target_vec, struct ux_object_stub);

/* State of reading one file. */
struct plt {
	const struct ux_elf *elf;
	const struct ux_elf_stub_machine *machine;
	struct ux_elf_stub_context context;
	struct ux_elf_symbols symbols;
	struct slot_vec slots;     /* sorted by pc after all were added */
	struct slot_vec entries;   /* the slots of calls, in the order of their table */
	struct target_vec choices; /* names of the resolver functions, by pc */
	uint64_t left;             /* budget of bytes; sections of a normal file do not overlap */
	struct ux_object_stubs *out;
};

static void plt_deinit(struct plt *p)
{
	slot_vec_deinit(&p->slots);
	slot_vec_deinit(&p->entries);
	target_vec_deinit(&p->choices);
}

static bool plt_charge(struct plt *p, struct ux_bytes bytes)
{
	if (bytes.size > p->left)
		return false;
	p->left -= bytes.size;
	return true;
}

/* Reads the word in the file at pc, where a REL relocation has its addend. */
static uint64_t plt_word_at(const struct ux_elf *elf, uint64_t pc)
{
	struct ux_cur c = ux_cur_make(ux_elf_bytes_at(elf, pc), NULL, elf->swap);
	return ux_cur_uint(&c, elf->is64 ? 8 : 4);
}

/* Adds the slot of a relocation, if it is of a type that stubs use. */
static bool plt_add_slot(struct plt *p, struct ux_cur *c, bool with_addend, bool is_jumps)
{
	unsigned word = p->elf->is64 ? 8 : 4;
	struct slot s = {.pc = ux_cur_uint(c, word)};
	uint64_t info = ux_cur_uint(c, word);
	uint64_t addend = with_addend ? ux_cur_uint(c, word) : 0;
	uint32_t type = (uint32_t)(p->elf->is64 ? info & UINT32_MAX : info & 0xff);
	bool chosen = type != 0 && (type == p->machine->chosen[0] || type == p->machine->chosen[1]);
	s.jump = type == p->machine->jump;
	s.symbol = (uint32_t)(p->elf->is64 ? info >> 32 : info >> 8);
	if (chosen) {
		s.symbol = 0;
		s.target = with_addend ? addend : plt_word_at(p->elf, s.pc);
	}
	if (is_jumps && !slot_vec_append(&p->entries, s))
		return false;
	if (!chosen && ((!s.jump && type != p->machine->data) || s.symbol == 0))
		return true;
	return slot_vec_append(&p->slots, s);
}

static enum ux_code plt_read_table(struct plt *p, struct ux_bytes table, bool with_addend,
				   bool is_jumps, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(table, ".rela.plt", p->elf->swap);
	size_t record = p->elf->is64 ? (with_addend ? ELF64_RELA_SIZE : ELF64_REL_SIZE)
				     : (with_addend ? ELF32_RELA_SIZE : ELF32_REL_SIZE);
	if (!plt_charge(p, table))
		return UX_OK;
	while (ux_cur_left(&c) >= record)
		if (!plt_add_slot(p, &c, with_addend, is_jumps))
			return ux_error_nomem(err);
	return UX_OK;
}

static bool plt_is_table(const struct ux_elf_section *s)
{
	return (s->type == SHT_RELA || s->type == SHT_REL) && (s->flags & SHF_ALLOC) != 0;
}

/* Reads the relocations that the dynamic linker applies, and their symbols. */
static enum ux_code plt_read_slots(struct plt *p, struct ux_error *err)
{
	const struct ux_elf *elf = p->elf;
	for (size_t i = 1; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		struct ux_bytes raw = UX_BYTES_NONE;
		if (!plt_is_table(s) || ux_elf_section_raw(elf, s, &raw, NULL) != UX_OK)
			continue;
		if (!p->symbols.elf && s->link > 0 && s->link < elf->n_sections &&
		    ux_elf_symbols_open(elf, &elf->sections[s->link], &p->symbols, NULL) != UX_OK)
			p->symbols = (struct ux_elf_symbols){0};
		bool jumps = strcmp(s->name, ".rela.plt") == 0 || strcmp(s->name, ".rel.plt") == 0;
		UX_TRY(plt_read_table(p, raw, s->type == SHT_RELA, jumps, err));
	}
	if (elf->n_sections > 0)
		return UX_OK;
	struct ux_bytes jumps = ux_elf_bytes_at(elf, ux_elf_dynamic_find(elf, DT_JMPREL));
	uint64_t size = ux_elf_dynamic_find(elf, DT_PLTRELSZ);
	bool with_addend = ux_elf_dynamic_find(elf, DT_PLTREL) == DT_RELA;
	if (size == 0 || !ux_bytes_sub(jumps, 0, size, &jumps))
		return UX_OK;
	if (ux_elf_dynamic_symbols(elf, &p->symbols, NULL) != UX_OK)
		p->symbols = (struct ux_elf_symbols){0};
	return plt_read_table(p, jumps, with_addend, /* is_jumps= */ true, err);
}

static int plt_slot_compare(const void *x, const void *y)
{
	const struct slot *a = x, *b = y;
	UX_ORDER(a->pc, b->pc);
	UX_ORDER(b->jump, a->jump);
	UX_ORDER(a->symbol, b->symbol);
	UX_ORDER(a->target, b->target);
	return 0;
}

static const struct slot *plt_slot_find(const struct plt *p, uint64_t pc)
{
	size_t lo = ux_partition_point(i, 0, p->slots.size, p->slots.data[i].pc < pc);
	return lo < p->slots.size && p->slots.data[lo].pc == pc ? &p->slots.data[lo] : NULL;
}

/* Global before weak, then fewer underscores, shorter name, byte order. */
static int plt_choice_compare(const void *x, const void *y)
{
	const struct ux_object_stub *a = x, *b = y;
	UX_ORDER(a->pc, b->pc);
	UX_ORDER(a->size, b->size);
	UX_ORDER(strspn(a->name, "_"), strspn(b->name, "_"));
	UX_ORDER(strlen(a->name), strlen(b->name));
	return strcmp(a->name, b->name);
}

/* Reads the module's own resolver functions, which choose among implementations. */
static enum ux_code plt_read_choices(struct plt *p, struct ux_error *err)
{
	const struct ux_elf *elf = p->elf;
	bool any = false;
	for (size_t i = 0; i < p->slots.size; i++)
		any |= p->slots.data[i].symbol == 0;
	for (size_t i = 1; any && i < elf->n_sections; i++) {
		const struct ux_elf_section *table = &elf->sections[i];
		struct ux_elf_symbols it;
		if ((table->type != SHT_SYMTAB && table->type != SHT_DYNSYM) ||
		    ux_elf_symbols_open(elf, table, &it, NULL) != UX_OK || !plt_charge(p, it.table))
			continue;
		for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it));) {
			struct ux_object_stub made = {.pc = s->value, .name = s->name};
			made.size = s->bind == STB_GLOBAL ? 0 : 1; /* used only for sorting */
			if (s->type == STT_GNU_IFUNC && s->name[0] != '\0' &&
			    !target_vec_append(&p->choices, made))
				return ux_error_nomem(err);
		}
	}
	if (p->choices.size > 0)
		qsort(p->choices.data, p->choices.size, sizeof(*p->choices.data),
		      plt_choice_compare);
	return UX_OK;
}

static const char *plt_choice_find(const struct plt *p, uint64_t pc)
{
	size_t lo = ux_partition_point(i, 0, p->choices.size, p->choices.data[i].pc < pc);
	return lo < p->choices.size && p->choices.data[lo].pc == pc ? p->choices.data[lo].name
								    : NULL;
}

/* Sets the stub's name; false when its slot is unknown or has no name. */
static bool plt_name_stub(struct plt *p, const struct ux_elf_stub_code *code, bool jumps_only,
			  struct ux_object_stub *stub)
{
	const struct slot *s = NULL;
	if (!code->by_entry)
		s = plt_slot_find(p, code->slot);
	else if (code->entry < p->entries.size)
		s = &p->entries.data[code->entry];
	if (!s || (jumps_only && !s->jump && s->symbol != 0))
		return false;
	if (s->symbol == 0) {
		stub->target = s->target;
		stub->name = plt_choice_find(p, s->target);
		return s->target != 0;
	}
	const struct ux_elf_symbol *symbol =
		p->symbols.elf ? ux_elf_symbols_at(&p->symbols, s->symbol) : NULL;
	stub->name = symbol ? symbol->name : "";
	return stub->name[0] != '\0';
}

/*
 * Sets the sizes of the stubs from number `first` on; their code ends at `end`. Each stub ends at
 * the next one, or has the usual distance of the stubs as its size.
 */
static void plt_measure(struct plt *p, size_t first, uint64_t end)
{
	struct ux_object_stub *s = p->out->data;
	uint64_t apart = p->machine->max;
	for (size_t i = first; i + 1 < p->out->size; i++)
		apart = ux_min(apart, s[i + 1].pc - s[i].pc);
	for (size_t i = first; i < p->out->size; i++) {
		bool last = i + 1 == p->out->size;
		uint64_t room = (last ? end : s[i + 1].pc) - s[i].pc;
		uint64_t max = last ? ux_max(apart, s[i].size) : p->machine->max;
		s[i].size = ux_min(room, max);
	}
}

static enum ux_code plt_scan(struct plt *p, struct ux_bytes code, uint64_t pc, bool in_text,
			     struct ux_error *err)
{
	size_t first = p->out->size, step = p->machine->step;
	if (!plt_charge(p, code))
		return UX_OK;
	for (size_t off = 0; off < code.size;) {
		struct ux_elf_stub_code found = {0};
		struct ux_object_stub stub = {.pc = pc + off};
		struct ux_bytes rest = ux_bytes(code.data + off, code.size - off);
		if (!p->machine->decode(&p->context, rest, stub.pc, &found) || found.size == 0 ||
		    !plt_name_stub(p, &found, in_text, &stub)) {
			off += step;
			continue;
		}
		stub.size = found.size;
		if (!ux_object_stubs_append(p->out, stub))
			return ux_error_nomem(err);
		off += (found.size + step - 1) / step * step;
	}
	if (!in_text)
		plt_measure(p, first, pc + code.size);
	return UX_OK;
}

static bool plt_is_code(const struct ux_elf_section *s)
{
	return s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR) != 0 &&
	       (s->flags & SHF_ALLOC) != 0;
}

static bool plt_has_stubs(const struct plt *p, const struct ux_elf_section *s)
{
	return plt_is_code(s) && (p->machine->in_text || strncmp(s->name, ".plt", 4) == 0 ||
				  strncmp(s->name, ".iplt", 5) == 0);
}

static enum ux_code plt_scan_all(struct plt *p, struct ux_error *err)
{
	const struct ux_elf *elf = p->elf;
	bool in_text = p->machine->in_text;
	p->left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		struct ux_bytes raw = UX_BYTES_NONE;
		if (plt_has_stubs(p, s) && ux_elf_section_raw(elf, s, &raw, NULL) == UX_OK &&
		    s->addr <= UINT64_MAX - raw.size)
			UX_TRY(plt_scan(p, raw, s->addr, in_text, err));
	}
	for (size_t i = 0; elf->n_sections == 0 && i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		struct ux_bytes raw = ux_elf_bytes_at(elf, s->vaddr);
		if (s->type == PT_LOAD && (s->flags & PF_X) != 0 &&
		    s->vaddr <= UINT64_MAX - raw.size)
			UX_TRY(plt_scan(p, raw, s->vaddr, /* in_text= */ true, err));
	}
	return UX_OK;
}

/*
 * Reads the code for first calls on 64-bit PowerPC at the address in the dynamic section: one for
 * each relocation of a call, in their order, all jumping to one address.
 */
static enum ux_code plt_read_first_calls(struct plt *p, struct ux_error *err)
{
	enum {
		GLINK_AHEAD = 32 /* bytes from the tag's address to the first such code */
	};
	const struct ux_elf *elf = p->elf;
	uint64_t glink = elf->machine == EM_PPC64 ? ux_elf_dynamic_find(elf, DT_PPC64_GLINK) : 0;
	if (glink == 0 || glink > UINT64_MAX - GLINK_AHEAD)
		return UX_OK;
	uint64_t pc = glink + GLINK_AHEAD, finder = 0;
	struct ux_bytes rest = ux_elf_bytes_at(elf, pc);
	for (size_t i = 0; i < p->entries.size; i++) {
		struct ux_elf_stub_code found = {.by_entry = true, .entry = i};
		struct ux_object_stub stub = {.pc = pc};
		uint64_t to = 0;
		if (!ux_elf_stub_first_call(&p->context, rest, pc, i, &found.size, &to) ||
		    (i > 0 && to != finder))
			break;
		finder = to;
		stub.size = found.size;
		if (plt_name_stub(p, &found, /* jumps_only= */ false, &stub) &&
		    !ux_object_stubs_append(p->out, stub))
			return ux_error_nomem(err);
		pc += found.size;
		rest = ux_bytes(rest.data + found.size, rest.size - found.size);
	}
	return UX_OK;
}

/* Returns the base address for instructions that are not relative to their own address. */
static uint64_t plt_got(const struct ux_elf *elf)
{
	const struct ux_elf_section *got = ux_elf_section_find(elf, ".got");
	const struct ux_elf_section *jumps = ux_elf_section_find(elf, ".got.plt");
	uint64_t named = ux_elf_dynamic_find(elf, DT_PLTGOT);
	if (elf->machine == EM_PPC64)
		return got ? got->addr + 0x8000 : 0;
	if (named != 0)
		return named;
	return jumps ? jumps->addr : got ? got->addr : 0;
}

static int plt_stub_compare(const void *x, const void *y)
{
	const struct ux_object_stub *a = x, *b = y;
	UX_ORDER(a->pc, b->pc);
	UX_ORDER(a->size, b->size);
	return 0;
}

enum ux_code ux_elf_plt_read(const struct ux_elf *elf, struct ux_object_stubs *out,
			     struct ux_error *err)
{
	const struct ux_elf_stub_machine *machine = ux_elf_stub_machine(elf->machine, elf->is64);
	if (!machine || (elf->type != ET_EXEC && elf->type != ET_DYN))
		return UX_OK;
	ux_cleanup(plt_deinit) struct plt p = {
		.elf = elf,
		.machine = machine,
		.context = {elf->swap, elf->is64, plt_got(elf)},
		.left = 2 * (uint64_t)elf->file.size,
		.out = out,
	};
	UX_TRY(plt_read_slots(&p, err));
	if (p.slots.size == 0)
		return UX_OK;
	qsort(p.slots.data, p.slots.size, sizeof(*p.slots.data), plt_slot_compare);
	UX_TRY(plt_read_choices(&p, err));
	UX_TRY(plt_scan_all(&p, err));
	UX_TRY(plt_read_first_calls(&p, err));
	if (out->size > 0)
		qsort(out->data, out->size, sizeof(*out->data), plt_stub_compare);
	return UX_OK;
}
