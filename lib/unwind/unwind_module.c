/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the unwind tables of a file, and sorts their functions. */
#include "unwind_module.h"

#include "elf_file.h"
#include "order.h"
#include "partition.h"
#include "unwind_exidx.h"

enum {
	FRAMES_MAX = 1 << 30, /* largest decompressed size of a .debug_frame */
};

void ux_unwind_module_free(struct ux_unwind_module *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < UX_UNWIND_TABLES; i++) {
		ux_unwind_entries_deinit(&m->tables[i].entries);
		ux_content_free(&m->tables[i].content);
	}
	ux_object_ranges_deinit(&m->segments);
	m->object = ux_object_close(m->object);
	free(m);
}

/* --- reading the tables ----------------------------------------------------------------------- */

/* A ux_dwarf_fde_fn; ctx is a struct ux_unwind_entries. */
static bool unwind_append(void *ctx, const struct ux_dwarf_fde *fde)
{
	return ux_unwind_entries_append(ctx, (struct ux_unwind_entry){fde->lo, fde->hi, fde->off});
}

static int unwind_entry_compare(const void *x, const void *y)
{
	const struct ux_unwind_entry *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(a->off, b->off);
	return 0;
}

static uint64_t unwind_section_pc(const struct ux_object *object, const char *name)
{
	struct ux_section s;
	return ux_object_section_find(object, name, &s) ? s.pc : 0;
}

static uint8_t unwind_address_size(const struct ux_object *object)
{
	return object->is64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Reads the functions of a table; damage ends the list. */
static enum ux_code unwind_table_read(const struct ux_object *object, struct ux_unwind_table *t,
				      struct ux_bytes data, uint64_t pc, bool eh)
{
	t->cie.off = UINT64_MAX;
	t->frames = (struct ux_dwarf_frames){
		.data = data,
		.pc = pc,
		.text_pc = unwind_section_pc(object, ".text"),
		.data_pc = unwind_section_pc(object, ".got"),
		.eh = eh,
		.swap = object->swap,
		.address_size = unwind_address_size(object),
	};
	if (ux_dwarf_frames_each(&t->frames, unwind_append, &t->entries, NULL) == UX_ENOMEM)
		return UX_ENOMEM;
	if (t->entries.size > 1)
		ux_sort_by_start(t->entries.data, t->entries.size, sizeof(*t->entries.data),
				 unwind_entry_compare);
	return UX_OK;
}

static enum ux_code unwind_module_section(struct ux_unwind_module *m, struct ux_unwind_table *t,
					  const char *name, bool eh)
{
	struct ux_section s;
	struct ux_section_bytes stored;
	uint64_t max = ux_min(m->object->file.size * (uint64_t)32, (uint64_t)FRAMES_MAX);
	if (!ux_object_section_find(m->object, name, &s) || !s.stored)
		return UX_OK;
	enum ux_code code = ux_section_bytes(m->object, &s, &stored, NULL);
	if (code == UX_OK)
		code = ux_content_load(&stored, max, NULL, &t->content, NULL);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : UX_OK;
	return unwind_table_read(m->object, t, t->content.bytes, eh ? s.pc : 0, eh);
}

/* Reads .eh_frame of an ELF file without a section table, which its program headers lead to. */
static enum ux_code unwind_module_segment(struct ux_unwind_module *m, const struct ux_elf *elf)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		uint64_t pc = 0;
		if (s->type == PT_GNU_EH_FRAME &&
		    ux_dwarf_frame_hdr(ux_elf_bytes_at(elf, s->vaddr), s->vaddr, elf->swap,
				       unwind_address_size(m->object), &pc))
			return unwind_table_read(m->object, &m->tables[UX_UNWIND_EH_FRAME],
						 ux_elf_bytes_at(elf, pc), pc, /* eh= */ true);
	}
	return UX_OK;
}

/* A ux_exidx_fn; ctx is a struct ux_unwind_entries. */
static bool unwind_append_exidx(void *ctx, uint64_t pc, uint64_t off)
{
	return ux_unwind_entries_append(ctx, (struct ux_unwind_entry){pc, pc, off});
}

/* Returns the end of the code that contains an address. */
static uint64_t unwind_module_code_end(const struct ux_unwind_module *m, uint64_t pc)
{
	for (size_t i = 0; i < m->segments.size; i++) {
		const struct ux_object_range *s = &m->segments.data[i];
		if (s->executable && pc >= s->pc && pc - s->pc < s->size)
			return s->pc + s->size;
	}
	return pc;
}

/* Reads .ARM.exidx, which a program header leads to. A function ends where the next one begins. */
static enum ux_code unwind_module_exidx(struct ux_unwind_module *m, const struct ux_elf *elf)
{
	struct ux_unwind_table *t = &m->tables[UX_UNWIND_EXIDX];
	struct ux_unwind_entries *list = &t->entries;
	t->frames.address_size = sizeof(uint32_t);
	for (size_t i = 0; i < elf->n_segments && list->size == 0; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		struct ux_bytes data = ux_elf_bytes_at(elf, s->vaddr);
		if (s->type != PT_ARM_EXIDX)
			continue;
		data.size = ux_min(data.size, s->filesz);
		t->exidx = (struct ux_exidx){
			.data = data, .pc = s->vaddr, .swap = elf->swap, .image = &m->segments};
		UX_TRY(ux_exidx_each(&t->exidx, unwind_append_exidx, list, NULL));
	}
	if (list->size > 1)
		ux_sort_by_start(list->data, list->size, sizeof(*list->data), unwind_entry_compare);
	for (size_t i = 0; i < list->size; i++)
		list->data[i].hi = i + 1 < list->size ? list->data[i + 1].lo
						      : unwind_module_code_end(m, list->data[i].lo);
	return UX_OK;
}

static enum ux_code unwind_module_read(struct ux_unwind_module *m, struct ux_bytes file,
				       struct ux_error *err)
{
	UX_TRY(ux_object_open(file, &m->object, err));
	if (!m->object->linked)
		return ux_error_set(err, UX_EUNSUPPORTED, "not a program or library");
	UX_TRY(m->object->format->segments(m->object, &m->segments, err));
	const struct ux_elf *elf = ux_elf_of(m->object);
	enum ux_code code = UX_OK;
	if (elf && m->object->no_sections) {
		code = unwind_module_segment(m, elf);
	} else {
		code = unwind_module_section(m, &m->tables[UX_UNWIND_EH_FRAME], ".eh_frame", true);
		if (code == UX_OK)
			code = unwind_module_section(m, &m->tables[UX_UNWIND_DEBUG_FRAME],
						     ".debug_frame", false);
	}
	if (code == UX_OK && elf && elf->machine == EM_ARM)
		code = unwind_module_exidx(m, elf);
	return code == UX_OK ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_unwind_module_open(struct ux_bytes file, struct ux_unwind_module **ret,
				   struct ux_error *err)
{
	struct ux_unwind_module *m = calloc(1, sizeof(*m));
	if (!m)
		return ux_error_nomem(err);
	enum ux_code code = unwind_module_read(m, file, err);
	if (code != UX_OK) {
		ux_unwind_module_free(m);
		return code;
	}
	*ret = m;
	return UX_OK;
}

/* --- searching them --------------------------------------------------------------------------- */

bool ux_unwind_module_pc(const struct ux_unwind_module *m, uint64_t off, uint64_t *ret)
{
	enum {
		PAGE = 4096 /* whole pages are mapped */
	};
	for (size_t i = 0; i < m->segments.size; i++) {
		const struct ux_object_range *s = &m->segments.data[i];
		if (!s->executable || !s->bytes.data)
			continue;
		uint64_t start = (uint64_t)(s->bytes.data - m->object->file.data);
		uint64_t slack = ux_min(start, s->pc) % PAGE;
		if (off >= start - slack && off - (start - slack) < slack + s->bytes.size) {
			*ret = s->pc - start + off;
			return true;
		}
	}
	return false;
}

/* Returns the n bytes before a pc. */
static bool unwind_module_before(const struct ux_unwind_module *m, uint64_t pc, size_t n,
				 struct ux_bytes *ret)
{
	for (size_t i = 0; i < m->segments.size; i++) {
		const struct ux_object_range *s = &m->segments.data[i];
		if (s->executable && pc >= s->pc && pc - s->pc >= n &&
		    ux_bytes_sub(s->bytes, pc - s->pc - n, n, ret))
			return true;
	}
	return false;
}

bool ux_unwind_module_is_call(const struct ux_unwind_module *m, uint64_t pc)
{
	enum {
		NEAR = 5, /* bytes of a call with a distance */
		CALL_NEAR = 0xe8,
		CALL_INDIRECT = 0xff,
		FIELD = 0x38, /* field of the next byte: 2 is a call */
		FIELD_CALL = 0x10,
	};
	static const uint8_t indirect[] = {2, 3, 4, 6, 7}; /* bytes, by the form of the operand */
	struct ux_bytes code;
	if (unwind_module_before(m, pc, NEAR, &code) && code.data[0] == CALL_NEAR)
		return true;
	for (size_t i = 0; i < ux_countof(indirect); i++)
		if (unwind_module_before(m, pc, indirect[i], &code) &&
		    code.data[0] == CALL_INDIRECT && (code.data[1] & FIELD) == FIELD_CALL)
			return true;
	return false;
}

bool ux_unwind_module_is_sigreturn(const struct ux_unwind_module *m, uint64_t pc)
{
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	struct ux_bytes code;
	return unwind_module_before(m, pc + sizeof(sigreturn), sizeof(sigreturn), &code) &&
	       memcmp(code.data, sigreturn, sizeof(sigreturn)) == 0;
}

/* Returns the function that contains a pc, or NULL. */
static const struct ux_unwind_entry *unwind_table_find(const struct ux_unwind_table *t, uint64_t pc)
{
	size_t low = ux_partition_point(i, 0, t->entries.size, t->entries.data[i].lo <= pc);
	if (low == 0)
		return NULL;
	const struct ux_unwind_entry *e = &t->entries.data[low - 1];
	return pc < e->hi ? e : NULL;
}

enum ux_code ux_unwind_module_row(struct ux_unwind_module *m, uint64_t pc, struct ux_cfi_row *ret,
				  const struct ux_unwind_table **ret_table, struct ux_error *err)
{
	for (size_t i = 0; i < UX_UNWIND_TABLES; i++) {
		struct ux_unwind_table *t = &m->tables[i];
		struct ux_dwarf_fde fde;
		const struct ux_unwind_entry *e = unwind_table_find(t, pc);
		if (!e)
			continue;
		*ret_table = t;
		if (i == UX_UNWIND_EXIDX)
			return ux_exidx_row(&t->exidx, e->off, ret, err);
		UX_TRY(ux_dwarf_fde_read(&t->frames, e->off, &t->cie, &fde, err));
		return ux_dwarf_cfi_row(&t->frames, &fde, pc, ret, err);
	}
	return UX_ENOTFOUND;
}
