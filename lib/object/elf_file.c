/* SPDX-License-Identifier: Apache-2.0 */
/* Header, section table and segment table of an ELF file, and addresses for sections without
 * any. */
#include "elf_file.h"

#include "bytes.h"
#include "cursor.h"
#include "file_kind.h"

/* --- header, section table and segment table of an ELF file ----------------------------------- */

/* The header's description of one of the two tables. */
struct table {
	const char *what;
	uint64_t off;
	uint64_t count;
	uint64_t entsize; /* as the file says; at least the record's own size */
};

/* e_shoff and so on, before the escapes of section 0 are applied. */
struct header {
	struct table sections;
	struct table segments;
	uint32_t names; /* index of the section with the names of sections */
};

bool ux_elf_is(struct ux_bytes file)
{
	return ux_bytes_starts(file, UX_STR("\177ELF"));
}

/* Reads an address, offset or size; its width depends on the file's class. */
static uint64_t elf_word(struct ux_cur *c, bool is64)
{
	return is64 ? ux_cur_u64(c) : ux_cur_u32(c);
}

enum ux_code ux_elf_check(struct ux_bytes file, struct ux_error *err)
{
	if (ux_elf_is(file))
		return UX_OK;
	const char *kind = ux_file_kind(file);
	if (kind)
		return ux_error_set(err, UX_EUNSUPPORTED, "not an ELF file: it is %s", kind);
	if (file.size < 4)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "not an ELF file: %zu bytes long, expected 7f 45 4c 46",
				    file.size);
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "not an ELF file: starts with %02x %02x %02x %02x, expected "
			    "7f 45 4c 46",
			    file.data[0], file.data[1], file.data[2], file.data[3]);
}

/* Class and byte order, which everything else depends on (gABI, "ELF Identification"). */
static enum ux_code elf_read_ident(struct ux_elf *elf, struct ux_error *err)
{
	UX_TRY(ux_elf_check(elf->file, err));
	if (elf->file.size < EI_NIDENT)
		return ux_error_at(err, UX_ECORRUPT, NULL, 0,
				   "ELF header ends too early: %d bytes expected, %zu found",
				   EI_NIDENT, elf->file.size);
	uint8_t class = elf->file.data[EI_CLASS];
	if (class != ELFCLASS32 && class != ELFCLASS64)
		return ux_error_at(err, UX_ECORRUPT, NULL, EI_CLASS,
				   "ELF class is %u, expected 1 (32 bit) or 2 (64 bit)", class);
	uint8_t data = elf->file.data[EI_DATA];
	if (data != ELFDATA2LSB && data != ELFDATA2MSB)
		return ux_error_at(err, UX_ECORRUPT, NULL, EI_DATA,
				   "ELF byte order is %u, expected 1 (little) or 2 (big)", data);
	elf->is64 = class == ELFCLASS64;
	elf->swap = (data == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	return UX_OK;
}

/* gABI, "ELF Header". */
static enum ux_code elf_read_header(struct ux_elf *elf, struct header *h, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(elf->file, NULL, elf->swap);
	ux_cur_skip(&c, EI_NIDENT);
	elf->type = ux_cur_u16(&c);
	elf->machine = ux_cur_u16(&c);
	ux_cur_skip(&c, 4); /* e_version: there has only been 1 */
	elf->entry = elf_word(&c, elf->is64);
	*h = (struct header){.segments.what = "program headers",
			     .sections.what = "section headers"};
	h->segments.off = elf_word(&c, elf->is64);
	h->sections.off = elf_word(&c, elf->is64);
	ux_cur_skip(&c, 4 + 2); /* e_flags, e_ehsize */
	h->segments.entsize = ux_cur_u16(&c);
	h->segments.count = ux_cur_u16(&c);
	h->sections.entsize = ux_cur_u16(&c);
	h->sections.count = ux_cur_u16(&c);
	h->names = ux_cur_u16(&c);
	return ux_cur_status(&c, err);
}

/* Checks that the table is inside of the file, so that its count is bounded by the file's size. */
static enum ux_code elf_check_table(const struct ux_elf *elf, const struct table *t, size_t record,
				    struct ux_error *err)
{
	if (t->count == 0)
		return UX_OK;
	if (t->entsize < record)
		return ux_error_set(err, UX_ECORRUPT,
				    "%s are %" PRIu64 " bytes each, expected at least %zu", t->what,
				    t->entsize, record);
	if (t->off > elf->file.size || t->count > (elf->file.size - t->off) / t->entsize)
		return ux_error_set(err, UX_ECORRUPT,
				    "%" PRIu64 " %s at 0x%" PRIx64 " exceed the file of %zu bytes",
				    t->count, t->what, t->off, elf->file.size);
	return UX_OK;
}

/* Returns a cursor over record i of a table that was checked. */
static struct ux_cur elf_table_record(const struct ux_elf *elf, const struct table *t, uint64_t i)
{
	struct ux_bytes record = UX_BYTES_NONE;
	bool inside = ux_bytes_sub(elf->file, t->off + i * t->entsize, t->entsize, &record);
	assert(inside);
	(void)inside;
	return ux_cur_make(record, NULL, elf->swap);
}

/*
 * gABI, "Section Header"; ret_name is sh_name. The whole record is available, so nothing can fail.
 */
static struct ux_elf_section elf_read_section(const struct ux_elf *elf, struct ux_cur c,
					      uint32_t *ret_name)
{
	struct ux_elf_section s = {.name = ""};
	*ret_name = ux_cur_u32(&c);
	s.type = ux_cur_u32(&c);
	s.flags = elf_word(&c, elf->is64);
	s.addr = elf_word(&c, elf->is64);
	s.off = elf_word(&c, elf->is64);
	s.size = elf_word(&c, elf->is64);
	s.link = ux_cur_u32(&c);
	s.info = ux_cur_u32(&c);
	s.align = elf_word(&c, elf->is64);
	s.entsize = elf_word(&c, elf->is64);
	return s;
}

/* gABI, "Program Header": the position of p_flags depends on the class. */
static struct ux_elf_segment elf_read_segment(const struct ux_elf *elf, struct ux_cur c)
{
	struct ux_elf_segment s = {.type = ux_cur_u32(&c)};
	if (elf->is64)
		s.flags = ux_cur_u32(&c);
	s.off = elf_word(&c, elf->is64);
	s.vaddr = elf_word(&c, elf->is64);
	(void)elf_word(&c, elf->is64); /* p_paddr */
	s.filesz = elf_word(&c, elf->is64);
	s.memsz = elf_word(&c, elf->is64);
	if (!elf->is64)
		s.flags = ux_cur_u32(&c);
	s.align = elf_word(&c, elf->is64);
	return s;
}

/*
 * Counts that do not fit the header's 16 bits are stored in section 0: the number of sections in
 * sh_size, the section of the names in sh_link, the number of segments in sh_info.
 */
static enum ux_code elf_apply_escapes(const struct ux_elf *elf, struct header *h,
				      struct ux_error *err)
{
	struct table *s = &h->sections;
	bool any = s->off != 0 && (s->count == 0 || h->names == SHN_XINDEX);
	bool segments = h->segments.count == PN_XNUM;
	if (s->off == 0)
		s->count = 0;
	if (segments && s->off == 0)
		return ux_error_set(
			err, UX_ECORRUPT,
			"the count of program headers is in section 0, but there are no "
			"section headers");
	if (!any && !segments)
		return UX_OK;
	struct table first = *s;
	first.count = 1;
	UX_TRY(elf_check_table(elf, &first, elf->is64 ? ELF64_SHDR_SIZE : ELF32_SHDR_SIZE, err));
	uint32_t name = 0;
	struct ux_elf_section zero = elf_read_section(elf, elf_table_record(elf, &first, 0), &name);
	if (s->count == 0)
		s->count = zero.size;
	if (h->names == SHN_XINDEX)
		h->names = zero.link;
	if (segments)
		h->segments.count = zero.info;
	return UX_OK;
}

/*
 * Returns the section's bytes up to its last NUL, so that a string at any offset inside of it is
 * terminated.
 */
static struct ux_bytes elf_string_table(const struct ux_elf *elf,
					const struct ux_elf_section *section)
{
	struct ux_bytes bytes = UX_BYTES_NONE;
	if (section->type != SHT_STRTAB ||
	    !ux_bytes_sub(elf->file, section->off, section->size, &bytes))
		return UX_BYTES_NONE;
	const uint8_t *nul = ux_bytes_find_last(bytes, 0);
	return ux_bytes(bytes.data, nul ? (size_t)(nul - bytes.data) + 1 : 0);
}

static enum ux_code elf_check_count(const struct table *t, uint64_t max, struct ux_error *err)
{
	if (t->count > max)
		return ux_error_set(err, UX_ELIMIT,
				    "too many %s: %" PRIu64 ", expected at most %" PRIu64, t->what,
				    t->count, max);
	return UX_OK;
}

static enum ux_code elf_load_sections(struct ux_elf *elf, const struct header *h, uint32_t max,
				      struct ux_error *err)
{
	const struct table *t = &h->sections;
	UX_TRY(elf_check_table(elf, t, elf->is64 ? ELF64_SHDR_SIZE : ELF32_SHDR_SIZE, err));
	UX_TRY(elf_check_count(t, max, err));
	if (t->count == 0)
		return UX_OK;
	elf->sections = calloc(t->count, sizeof(*elf->sections));
	if (!elf->sections)
		return ux_error_nomem(err);
	elf->n_sections = t->count;
	struct ux_bytes names = UX_BYTES_NONE;
	uint32_t name = 0;
	if (h->names != SHN_UNDEF && h->names < t->count) {
		struct ux_elf_section s =
			elf_read_section(elf, elf_table_record(elf, t, h->names), &name);
		names = elf_string_table(elf, &s);
	}
	for (uint32_t i = 0; i < t->count; i++) {
		elf->sections[i] = elf_read_section(elf, elf_table_record(elf, t, i), &name);
		elf->sections[i].index = i;
		if (name < names.size)
			elf->sections[i].name = (const char *)names.data + name;
	}
	return UX_OK;
}

static enum ux_code elf_load_segments(struct ux_elf *elf, const struct header *h, uint32_t max,
				      struct ux_error *err)
{
	const struct table *t = &h->segments;
	UX_TRY(elf_check_table(elf, t, elf->is64 ? ELF64_PHDR_SIZE : ELF32_PHDR_SIZE, err));
	UX_TRY(elf_check_count(t, max, err));
	if (t->count == 0)
		return UX_OK;
	elf->segments = calloc(t->count, sizeof(*elf->segments));
	if (!elf->segments)
		return ux_error_nomem(err);
	elf->n_segments = t->count;
	for (size_t i = 0; i < t->count; i++)
		elf->segments[i] = elf_read_segment(elf, elf_table_record(elf, t, i));
	return UX_OK;
}

static enum ux_code elf_open_tables(struct ux_elf *elf, uint32_t max, struct ux_error *err)
{
	struct header h;
	UX_TRY(elf_read_ident(elf, err));
	UX_TRY(elf_read_header(elf, &h, err));
	UX_TRY(elf_apply_escapes(elf, &h, err));
	UX_TRY(elf_load_sections(elf, &h, max, err));
	elf->by_section = elf->type == ET_REL || elf->machine == EM_CUDA;
	if (elf->by_section)
		ux_elf_layout(elf);
	return elf_load_segments(elf, &h, max, err);
}

enum ux_code ux_elf_open_bounded(struct ux_elf *elf, struct ux_bytes file, uint32_t max,
				 struct ux_error *err)
{
	*elf = (struct ux_elf){.file = file};
	enum ux_code code = elf_open_tables(elf, max, err);
	if (code != UX_OK)
		ux_elf_close(elf);
	return code;
}

/* The index of a section is 32 bits wide wherever it is stored. */
enum ux_code ux_elf_open(struct ux_elf *elf, struct ux_bytes file, struct ux_error *err)
{
	return ux_elf_open_bounded(elf, file, UINT32_MAX, err);
}

enum ux_code ux_elf_open_image(struct ux_elf *elf, struct ux_bytes image, uint32_t max,
			       struct ux_error *err)
{
	struct header h;
	*elf = (struct ux_elf){.file = image};
	UX_TRY(elf_read_ident(elf, err));
	UX_TRY(elf_read_header(elf, &h, err));
	return elf_load_segments(elf, &h, max, err);
}

void ux_elf_close(struct ux_elf *elf)
{
	free(elf->sections);
	free(elf->segments);
	*elf = (struct ux_elf){0};
}

const struct ux_elf_section *ux_elf_section_find(const struct ux_elf *elf, const char *name)
{
	for (size_t i = 1; i < elf->n_sections; i++)
		if (strcmp(elf->sections[i].name, name) == 0)
			return &elf->sections[i];
	return NULL;
}

bool ux_elf_section_stored(const struct ux_elf *elf, const char *name)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	return s && s->type != SHT_NOBITS && s->size > 0;
}

bool ux_elf_has_dwarf(const struct ux_elf *elf)
{
	return ux_elf_section_stored(elf, ".debug_info") ||
	       ux_elf_section_stored(elf, ".zdebug_info");
}

enum ux_code ux_elf_section_raw(const struct ux_elf *elf, const struct ux_elf_section *section,
				struct ux_bytes *ret, struct ux_error *err)
{
	if (section->type == SHT_NOBITS || section->type == SHT_NULL || section->size == 0) {
		*ret = UX_BYTES_NONE;
		return UX_OK;
	}
	if (!ux_bytes_sub(elf->file, section->off, section->size, ret))
		return ux_error_at(err, UX_ECORRUPT, section->name, UX_ERROR_NO_OFF,
				   "its %" PRIu64 " bytes at 0x%" PRIx64
				   " exceed the file of %zu bytes",
				   section->size, section->off, elf->file.size);
	return UX_OK;
}

bool ux_elf_section_compressed(const struct ux_elf *elf, const struct ux_elf_section *section)
{
	struct ux_section_bytes bytes;
	return ux_elf_section_bytes(elf, section, &bytes, NULL) == UX_OK
		       ? bytes.packing != UX_PACKING_NONE
		       : (section->flags & SHF_COMPRESSED) != 0;
}

enum ux_code ux_elf_section_bytes(const struct ux_elf *elf, const struct ux_elf_section *section,
				  struct ux_section_bytes *ret, struct ux_error *err)
{
	*ret = (struct ux_section_bytes){
		.name = section->name,
		.is64 = elf->is64,
		.swap = elf->swap,
	};
	UX_TRY(ux_elf_section_raw(elf, section, &ret->raw, err));
	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return UX_OK;
	if ((section->flags & SHF_COMPRESSED) != 0)
		ret->packing = UX_PACKING_CHDR;
	else if (ux_section_is_gnu_packed(section->name, ret->raw))
		ret->packing = UX_PACKING_GNU;
	return UX_OK;
}

enum ux_code ux_elf_section_load(const struct ux_elf *elf, const struct ux_elf_section *section,
				 uint64_t max_size, struct ux_spill *spill, struct ux_content *ret,
				 struct ux_error *err)
{
	struct ux_section_bytes bytes;
	UX_TRY(ux_elf_section_bytes(elf, section, &bytes, err));
	return ux_content_load(&bytes, max_size, spill, ret, err);
}

struct ux_bytes ux_elf_segment_bytes(const struct ux_elf *elf, const struct ux_elf_segment *s,
				     uint64_t pc)
{
	if (pc < s->vaddr || s->off > elf->file.size)
		return UX_BYTES_NONE;
	uint64_t skip = pc - s->vaddr;
	uint64_t there = ux_min(s->filesz, (uint64_t)elf->file.size - s->off);
	return skip < there ? ux_bytes(elf->file.data + s->off + skip, (size_t)(there - skip))
			    : UX_BYTES_NONE;
}

struct ux_bytes ux_elf_bytes_at(const struct ux_elf *elf, uint64_t pc)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		struct ux_bytes bytes =
			s->type == PT_LOAD ? ux_elf_segment_bytes(elf, s, pc) : UX_BYTES_NONE;
		if (bytes.size > 0)
			return bytes;
	}
	return UX_BYTES_NONE;
}

const struct ux_elf_segment *ux_elf_first_load(const struct ux_elf *elf)
{
	for (size_t i = 0; i < elf->n_segments; i++)
		if (elf->segments[i].type == PT_LOAD)
			return &elf->segments[i];
	return NULL;
}

/* --- addresses for the sections of files that have none --------------------------------------- */

/* The order of placing sections. */
enum rank {
	RANK_TEXT,
	RANK_CORE,
	RANK_INIT,
	RANK_COUNT,
	RANK_NONE, /* not code, so it gets no place */
};

static enum rank layout_rank(const struct ux_elf_section *s)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	if ((s->flags & code) != code)
		return RANK_NONE;
	if (strcmp(s->name, ".text") == 0)
		return RANK_TEXT;
	return ux_bytes_starts(ux_bytes_cstr(s->name), UX_STR(".init")) ? RANK_INIT : RANK_CORE;
}

/*
 * Places a section: advances *pc to a multiple of align and then by size bytes. Returns the
 * section's start, or UINT64_MAX (with *pc unchanged) when it would exceed `max`.
 */
static uint64_t layout_assign(uint64_t *pc, uint64_t align, uint64_t size, uint64_t max)
{
	uint64_t mask = align != 0 && (align & (align - 1)) == 0 ? align - 1 : 0;
	if (mask > max - *pc)
		return UINT64_MAX;
	uint64_t start = (*pc + mask) & ~mask;
	if (start > max || size > max - start)
		return UINT64_MAX;
	*pc = start + size;
	return start;
}

static void layout_cubin(struct ux_elf *elf)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		struct ux_elf_section *s = &elf->sections[i];
		struct ux_bytes content = UX_BYTES_NONE;
		bool inside =
			s->type != SHT_NOBITS && ux_bytes_sub(elf->file, s->off, s->size, &content);
		s->addr = layout_rank(s) == RANK_NONE ? 0 : inside ? s->off : UINT64_MAX;
	}
}

void ux_elf_layout(struct ux_elf *elf)
{
	if (elf->machine == EM_CUDA) {
		layout_cubin(elf);
		return;
	}
	/* -1 and -2 are tombstones in either width. */
	const uint64_t max = elf->is64 ? INT64_MAX : UINT32_MAX - 2;
	uint64_t pc = UX_ELF_LAYOUT_BASE;
	elf->bias = UX_ELF_LAYOUT_BASE;
	for (size_t i = 0; i < elf->n_sections; i++)
		elf->sections[i].addr = 0;
	for (int rank = 0; rank < RANK_COUNT; rank++) {
		for (size_t i = 0; i < elf->n_sections; i++) {
			struct ux_elf_section *s = &elf->sections[i];
			if ((int)layout_rank(s) == rank)
				s->addr = layout_assign(&pc, s->align, s->size, max);
		}
	}
}
