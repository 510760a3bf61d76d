/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps: which files were mapped in the process, their build IDs, and its threads. */
#include "core_file.h"

#include "elf_ids.h"

enum {
	NT_FILE = 0x46494c45, /* "FILE" */
	NT_PRSTATUS = 1,
	NT_AUXV = 6,
	AT_SYSINFO_EHDR = 33, /* Linux, include/uapi/linux/auxvec.h */
	IMAGE_MAX = 16 << 10, /* bytes of a file's start that are read; the kernel dumps a page */
	IMAGE_SEGMENTS_MAX = 64,
};

bool ux_core_is(struct ux_bytes file)
{
	if (!ux_elf_is(file) || file.size < EI_NIDENT + 2)
		return false;
	bool big = file.data[EI_DATA] == ELFDATA2MSB;
	return file.data[EI_NIDENT + big] == ET_CORE && file.data[EI_NIDENT + !big] == 0;
}

/* Finds the note with the list of files. */
static enum ux_code core_find_files(const struct ux_elf *core, struct ux_bytes *ret,
				    struct ux_error *err)
{
	for (size_t i = 0; i < core->n_segments; i++) {
		struct ux_elf_notes it;
		if (core->segments[i].type != PT_NOTE)
			continue;
		UX_TRY(ux_elf_notes_of_segment(core, &core->segments[i], &it, err));
		for (const struct ux_elf_note *n; (n = ux_elf_notes_next(&it));) {
			if (n->type == NT_FILE && ux_bytes_eq(n->owner, UX_STR("CORE"))) {
				*ret = n->desc;
				return UX_OK;
			}
		}
		UX_TRY(ux_elf_notes_status(&it, err));
	}
	return ux_error_set(err, UX_ENOTFOUND, "core dump has no list of mapped files");
}

/* The files of a core dump while they are read. */
struct core_reader {
	const struct ux_elf *core;
	size_t segment; /* mappings and segments are both in the order of their addresses */
	struct ux_core_modules *modules;
};

/* Returns the dumped bytes of the first pages at an address. A mapping that is out of order is not
 * found: the search only goes forward, so its cost does not depend on the order. */
static struct ux_bytes core_image(struct core_reader *r, uint64_t start)
{
	const struct ux_elf *core = r->core;
	for (; r->segment < core->n_segments; r->segment++) {
		const struct ux_elf_segment *s = &core->segments[r->segment];
		if (s->type != PT_LOAD || s->filesz == 0 || start > s->vaddr + (s->filesz - 1))
			continue;
		struct ux_bytes image = UX_BYTES_NONE;
		uint64_t skip = start - s->vaddr;
		if (start < s->vaddr ||
		    !ux_bytes_sub(core->file, s->off + skip,
				  ux_min(s->filesz - skip, (uint64_t)IMAGE_MAX), &image))
			return UX_BYTES_NONE;
		return image;
	}
	return UX_BYTES_NONE;
}

/* Reads the build ID of a file from the dumped memory at its start. *ret stays empty if that memory
 * was not dumped, or was damaged by the process itself. */
static void core_read_id(struct core_reader *r, uint64_t start, struct ux_id *ret)
{
	struct ux_elf image;
	struct ux_id_set ids = {0};
	if (ux_elf_open_image(&image, core_image(r, start), IMAGE_SEGMENTS_MAX, NULL) != UX_OK)
		return;
	const struct ux_id *gnu =
		ux_elf_ids(&image, &ids, NULL) == UX_OK ? ux_id_set_find(&ids, UX_ID_GNU) : NULL;
	if (gnu)
		*ret = *gnu;
	ux_elf_close(&image);
}

/* Adds a mapping to the list. Mappings of one file that follow each other are one module. */
static enum ux_code core_add_mapping(struct core_reader *r, struct ux_core_module m,
				     uint64_t page_offset, struct ux_error *err)
{
	struct ux_core_modules *list = r->modules;
	struct ux_core_module *last = list->size > 0 ? &list->data[list->size - 1] : NULL;
	if (last && page_offset > 0 && strcmp(last->path, m.path) == 0) {
		last->end = ux_max(last->end, m.end);
		return UX_OK;
	}
	if (list->size == UX_CORE_MODULES_MAX)
		return ux_error_set(err, UX_ELIMIT, "core dump has more than %d mapped files",
				    UX_CORE_MODULES_MAX);
	if (page_offset == 0)
		core_read_id(r, m.start, &m.gnu);
	return ux_core_modules_append(list, m) ? UX_OK : ux_error_nomem(err);
}

static uint64_t core_word(struct ux_cur *c, bool is64)
{
	return is64 ? ux_cur_u64(c) : ux_cur_u32(c);
}

/*
 * Parses the note: a count, the size of a page, for each mapping its start, end and offset in
 * pages, and then the paths.
 */
static enum ux_code core_parse_files(struct core_reader *r, struct ux_bytes note,
				     struct ux_error *err)
{
	const struct ux_elf *core = r->core;
	struct ux_cur c = ux_cur_make(note, "NT_FILE", core->swap);
	uint64_t count = core_word(&c, core->is64);
	(void)core_word(&c, core->is64); /* size of a page */
	UX_TRY(ux_cur_status(&c, err));
	size_t entry = 3 * (core->is64 ? sizeof(uint64_t) : sizeof(uint32_t));
	if (count > ux_cur_left(&c) / (entry + 1)) /* each has a path of one byte at least */
		return ux_error_at(err, UX_ECORRUPT, "NT_FILE", 0,
				   "%" PRIu64 " mappings in a note of %zu bytes", count, note.size);
	struct ux_cur paths = c;
	ux_cur_skip(&paths, count * entry);
	for (uint64_t i = 0; i < count; i++) {
		struct ux_core_module m = {.start = core_word(&c, core->is64),
					   .end = core_word(&c, core->is64)};
		uint64_t offset = core_word(&c, core->is64);
		struct ux_bytes path = ux_cur_str(&paths);
		UX_TRY(ux_cur_status(&paths, err));
		m.path = (const char *)path.data;
		UX_TRY(core_add_mapping(r, m, offset, err));
	}
	return ux_cur_status(&c, err);
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* Returns the address of the vDSO from the auxiliary vector, pairs of words. 0: it has none. */
static uint64_t core_vdso_address(const struct ux_elf *core, struct ux_bytes auxv)
{
	struct ux_cur c = ux_cur_make(auxv, "NT_AUXV", core->swap);
	while (ux_cur_more(&c)) {
		uint64_t type = core_word(&c, core->is64), value = core_word(&c, core->is64);
		if (type == AT_SYSINFO_EHDR && !c.failed)
			return value;
	}
	return 0;
}

struct ux_bytes ux_core_vdso(const struct ux_elf *core, uint64_t *ret_start)
{
	for (size_t i = 0; i < core->n_segments; i++) {
		struct ux_elf_notes it;
		if (core->segments[i].type != PT_NOTE ||
		    ux_elf_notes_of_segment(core, &core->segments[i], &it, NULL) != UX_OK)
			continue;
		for (const struct ux_elf_note *n; (n = ux_elf_notes_next(&it));) {
			if (n->type != NT_AUXV || !ux_bytes_eq(n->owner, UX_STR("CORE")))
				continue;
			*ret_start = core_vdso_address(core, n->desc);
			return *ret_start != 0 ? ux_elf_bytes_at(core, *ret_start) : UX_BYTES_NONE;
		}
	}
	return UX_BYTES_NONE;
}

/* --- files ------------------------------------------------------------------------------------ */

enum ux_code ux_core_read_modules(const struct ux_elf *core, struct ux_core_modules *ret,
				  struct ux_error *err)
{
	struct ux_bytes note = UX_BYTES_NONE;
	UX_TRY(core_find_files(core, &note, err));
	struct core_reader r = {.core = core, .modules = ret};
	return core_parse_files(&r, note, err);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Offsets in bytes of the fields of struct elf_prstatus that are read. */
struct core_status {
	uint16_t machine;
	bool is64;
	uint8_t tid_at;
	uint8_t registers_at;
	uint16_t registers_size;
};

enum {
	STATUS_SIGNAL_AT = 12,
};

/* Returns the layout of a thread's status for the core dump's machine, or NULL. */
static const struct core_status *core_status_of(const struct ux_elf *core)
{
	static const struct core_status known[] = {
		{EM_X86_64, .is64 = true, 32, 112, 27 * sizeof(uint64_t)},
		{EM_AARCH64, .is64 = true, 32, 112, 34 * sizeof(uint64_t)},
		{EM_386, .is64 = false, 24, 72, 17 * sizeof(uint32_t)},
		{EM_ARM, .is64 = false, 24, 72, 18 * sizeof(uint32_t)},
	};
	for (size_t i = 0; i < ux_countof(known); i++)
		if (known[i].machine == core->machine && known[i].is64 == core->is64)
			return &known[i];
	return NULL;
}

static enum ux_code core_add_thread(const struct ux_elf *core, const struct core_status *layout,
				    struct ux_bytes status, struct ux_core_threads *ret,
				    struct ux_error *err)
{
	struct ux_core_thread t = {0};
	struct ux_cur c = ux_cur_make(status, "NT_PRSTATUS", core->swap);
	ux_cur_skip(&c, STATUS_SIGNAL_AT);
	t.signal = ux_cur_u16(&c);
	ux_cur_seek(&c, layout->tid_at);
	t.tid = ux_cur_u32(&c);
	ux_cur_seek(&c, layout->registers_at);
	t.registers = ux_cur_take(&c, layout->registers_size);
	UX_TRY(ux_cur_status(&c, err));
	if (ret->size >= UX_CORE_THREADS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d threads", UX_CORE_THREADS_MAX);
	return ux_core_threads_append(ret, t) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_core_read_threads(const struct ux_elf *core, struct ux_core_threads *ret,
				  struct ux_error *err)
{
	const struct core_status *layout = core_status_of(core);
	if (!layout)
		return ux_error_set(err, UX_ENOTFOUND,
				    "not a core dump of x86-64, i386, arm64 or arm");
	for (size_t i = 0; i < core->n_segments; i++) {
		struct ux_elf_notes it;
		if (core->segments[i].type != PT_NOTE)
			continue;
		UX_TRY(ux_elf_notes_of_segment(core, &core->segments[i], &it, err));
		for (const struct ux_elf_note *n; (n = ux_elf_notes_next(&it));)
			if (n->type == NT_PRSTATUS && ux_bytes_eq(n->owner, UX_STR("CORE")))
				UX_TRY(core_add_thread(core, layout, n->desc, ret, err));
		UX_TRY(ux_elf_notes_status(&it, err));
	}
	if (ret->size == 0)
		return ux_error_set(err, UX_ENOTFOUND, "core dump has no thread registers");
	return UX_OK;
}
