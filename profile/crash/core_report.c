/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps as crash reports. */
#include "core_report.h"

#include "core_file.h"
#include "dsym.h"
#include "partition.h"
#include "process.h"
#include "profile_file.h"
#include "symbols_cache.h"
#include "text.h"
#include "unwind.h"

enum {
	PAGE = 4096, /* modules begin at a page */
	ARM64_SP = 31,
	ARM_SP = 13,
	ARM_PC = 15,
};

/* The name of the vDSO, which has no path. */
#define VDSO "[vdso]"

/* Of names in C, which cannot pass for other text of the report. */
#define WORD_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$"

/* The file of a module. It is opened when a stack leads through the module. */
struct core_tables {
	bool searched;
	struct ux_mapping file;
	struct ux_file_symbols *symbols; /* its segments; NULL: the file is not here */
	struct ux_unwind_module *module; /* NULL: there are none */
	uint64_t low;                    /* pc of its first byte */
};

/* A core dump, and the state for unwinding its stacks. */
struct core_report {
	const struct ux_profile_sources *sources;
	struct ux_elf elf;
	const struct ux_elf_segment **memory; /* malloc'ed: PT_LOAD, by address */
	size_t n_memory;
	struct ux_core_modules modules;
	struct ux_core_threads threads;
	struct core_tables *tables; /* malloc'ed: of each module */
	struct ux_unwinder unwinder;
	struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MAX];
};

static void core_report_free(struct core_report **r)
{
	struct core_report *c = *r;
	if (!c)
		return;
	for (size_t i = 0; c->tables && i < c->modules.size; i++) {
		ux_unwind_module_free(c->tables[i].module);
		ux_file_symbols_drop(c->tables[i].symbols);
		ux_file_unmap(&c->tables[i].file);
	}
	free(c->tables);
	free(c->memory);
	ux_unwinder_deinit(&c->unwinder);
	ux_core_threads_deinit(&c->threads);
	ux_core_modules_deinit(&c->modules);
	ux_elf_close(&c->elf);
	free(c);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Returns the index of the module that contains an address; SIZE_MAX: none does. */
static size_t core_module_find(const struct core_report *r, uint64_t address)
{
	const struct ux_core_module *list = r->modules.data;
	size_t n = ux_partition_point(i, 0, r->modules.size, list[i].start <= address);
	return n > 0 && address < list[n - 1].end ? n - 1 : SIZE_MAX;
}

static int core_segment_compare(const void *a, const void *b)
{
	const struct ux_elf_segment *const *x = a, *const *y = b;
	if ((*x)->vaddr != (*y)->vaddr)
		return (*x)->vaddr < (*y)->vaddr ? -1 : 1;
	return (*x < *y) ? -1 : *x > *y; /* both are in one array */
}

/* Each word of a stack is looked up: 300 stacks in a core dump of 60,000 segments took 46.7 s by a
 * walk over these, and take 0.5 s. */
static enum ux_code core_sort_memory(struct core_report *r, struct ux_error *err)
{
	r->memory = calloc(r->elf.n_segments + 1, sizeof(*r->memory));
	if (!r->memory)
		return ux_error_nomem(err);
	for (size_t i = 0; i < r->elf.n_segments; i++)
		if (r->elf.segments[i].type == PT_LOAD)
			r->memory[r->n_memory++] = &r->elf.segments[i];
	qsort(r->memory, r->n_memory, sizeof(*r->memory), core_segment_compare);
	return UX_OK;
}

/* Returns the segment that contains an address, or NULL. Segments do not overlap in a dump that a
 * kernel wrote. */
static const struct ux_elf_segment *core_segment_find(const struct core_report *r, uint64_t address)
{
	size_t n = ux_partition_point(i, 0, r->n_memory, r->memory[i]->vaddr <= address);
	const struct ux_elf_segment *s = n > 0 ? r->memory[n - 1] : NULL;
	return s && address - s->vaddr < s->memsz ? s : NULL;
}

/* Returns whether memory at an address was code. */
static bool core_is_code(const struct core_report *r, uint64_t address)
{
	const struct ux_elf_segment *s = core_segment_find(r, address);
	return s && (s->flags & PF_X) != 0;
}

/* A ux_unwind_memory_fn; ctx is a struct core_report. */
static struct ux_bytes core_report_memory(void *ctx, uint64_t address)
{
	const struct core_report *r = ctx;
	const struct ux_elf_segment *s = core_segment_find(r, address);
	return s ? ux_elf_segment_bytes(&r->elf, s, address) : UX_BYTES_NONE;
}

/* Returns the lowest page of a file. */
static uint64_t core_tables_low(const struct ux_file_symbols *symbols)
{
	uint64_t low = UINT64_MAX;
	for (size_t i = 0; i < symbols->n_loads; i++)
		low = ux_min(low, symbols->loads[i].pc & ~(uint64_t)(PAGE - 1));
	return low;
}

/* Adds the vDSO to the modules, in the order of addresses, with its image in the core dump, which
 * has unwind tables and names. */
static enum ux_code core_add_vdso(struct core_report *r, struct ux_error *err)
{
	struct ux_core_module m = {.path = VDSO};
	struct ux_bytes image = ux_core_vdso(&r->elf, &m.start);
	struct ux_core_modules *list = &r->modules;
	struct core_tables t = {.searched = true};
	size_t at = list->size;
	r->tables = calloc(list->size + 1, sizeof(*r->tables));
	if (!r->tables)
		return ux_error_nomem(err);
	m.end = m.start + image.size;
	if (image.size == 0 || core_module_find(r, m.start) != SIZE_MAX ||
	    ux_unwind_module_open(image, &t.module, NULL) != UX_OK)
		return UX_OK;
	if (!ux_core_modules_append(list, m)) {
		ux_unwind_module_free(t.module);
		return ux_error_nomem(err);
	}
	for (; at > 0 && list->data[at - 1].start > m.start; at--)
		list->data[at] = list->data[at - 1];
	list->data[at] = m;
	r->tables[at] = t;
	UX_TRY(ux_symbols_cache_image(ux_process_cache_symbols(r->sources->cache), image,
				      UX_SYMBOLS_ALL, &r->tables[at].symbols, err));
	r->tables[at].low = core_tables_low(r->tables[at].symbols);
	return UX_OK;
}

/* Returns the unwind tables of a module, from the file with its ID. */
static struct core_tables *core_tables_get(struct core_report *r, size_t module)
{
	struct core_tables *t = &r->tables[module];
	const struct ux_core_module *m = &r->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (t->searched)
		return t;
	t->searched = true;
	if (ux_profile_file_find(r->sources, m->path, &m->gnu, UX_SYMBOLS_HEAD, &path, &t->symbols,
				 NULL) != UX_OK) {
		t->symbols = NULL;
		return t;
	}
	t->low = core_tables_low(t->symbols);
	if (ux_dsym_map(path, UX_BYTES_NONE, &t->file, NULL) == UX_OK &&
	    ux_unwind_module_open(t->file.bytes, &t->module, NULL) != UX_OK)
		t->module = NULL;
	return t;
}

/* A ux_unwind_find_fn; ctx is a struct core_report. The dump may lack code that is in a file. */
static struct ux_unwind_place core_report_find(void *ctx, uint64_t address)
{
	struct core_report *r = ctx;
	struct ux_unwind_place place = {.code = core_is_code(r, address)};
	size_t module = core_module_find(r, address);
	if (module == SIZE_MAX)
		return place;
	const struct core_tables *t = core_tables_get(r, module);
	place.pc = address - r->modules.data[module].start + t->low;
	place.code = place.code || (t->symbols && ux_file_symbols_has_code(t->symbols, place.pc));
	if (place.code)
		place.module = t->module;
	return place;
}

/* --- registers -------------------------------------------------------------------------------- */

static void core_set_register(struct ux_unwind_thread *t, unsigned number, uint64_t v)
{
	t->registers[number] = v;
	t->known |= UINT64_C(1) << number;
}

enum {
	OTHER = 255, /* a register that unwinding has no use for */
	IP = 254
};

/* Registers in the order of the kernel's structures (user_regs_struct of both), by their numbers of
 * DWARF. */
static const uint8_t core_x86_64[] = {15, 14, 13, 12, 6, 3,     11, 10,    9,     8,
				      0,  2,  1,  4,  5, OTHER, IP, OTHER, OTHER, 7};
static const uint8_t core_i386[] = {3,     1,     2,     6,     7,  5,     0,     OTHER,
				    OTHER, OTHER, OTHER, OTHER, IP, OTHER, OTHER, 4};

static void core_set_registers(struct ux_unwind_thread *t, struct ux_cur *c, const uint8_t *numbers,
			       size_t n, unsigned word)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = ux_cur_uint(c, word);
		if (numbers[i] == IP)
			t->pc = v;
		else if (numbers[i] != OTHER)
			core_set_register(t, numbers[i], v);
	}
}

/* Registers that are numbered as in DWARF. */
static void core_set_all(struct ux_unwind_thread *t, struct ux_cur *c, unsigned n, unsigned word)
{
	for (unsigned i = 0; i < n; i++)
		core_set_register(t, i, ux_cur_uint(c, word));
}

/* Makes the state of a thread: its registers, and its stack from the stack pointer on.
 * ux_core_read_threads() has checked the machine. */
static struct ux_unwind_thread core_report_thread(struct core_report *r,
						  const struct ux_core_thread *thread)
{
	struct ux_cur c = ux_cur_make(thread->registers, NULL, r->elf.swap);
	struct ux_unwind_thread t = {
		.swap = r->elf.swap, .memory = core_report_memory, .memory_ctx = r};
	unsigned sp = ARM64_SP;
	if (r->elf.machine == EM_AARCH64) {
		t.machine = UX_UNWIND_ARM64;
		core_set_all(&t, &c, ARM64_SP + 1, sizeof(uint64_t));
		t.pc = ux_cur_u64(&c);
	} else if (r->elf.machine == EM_ARM) {
		t.machine = UX_UNWIND_ARM;
		sp = ARM_SP;
		core_set_all(&t, &c, ARM_PC, sizeof(uint32_t));
		t.pc = ux_cur_u32(&c);
	} else if (r->elf.machine == EM_386) {
		t.machine = UX_UNWIND_I386;
		sp = core_i386[ux_countof(core_i386) - 1];
		core_set_registers(&t, &c, core_i386, ux_countof(core_i386), sizeof(uint32_t));
	} else {
		t.machine = UX_UNWIND_X86_64;
		sp = core_x86_64[ux_countof(core_x86_64) - 1];
		core_set_registers(&t, &c, core_x86_64, ux_countof(core_x86_64), sizeof(uint64_t));
	}
	t.stack = t.registers[sp];
	t.bytes = core_report_memory(r, t.stack);
	return t;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Writes a path as one word in one line, so that it cannot pass for other text of the report. */
static void core_put_path(const char *path, struct ux_out *out)
{
	for (; *path; path++)
		ux_out_u8(out, (uint8_t)*path <= ' ' || *path == 0x7f ? '?' : (uint8_t)*path);
}

static void core_put_modules(const struct core_report *r, struct ux_out *out)
{
	char hex[2 * UX_ID_GNU_MAX + 1];
	for (size_t i = 0; i < r->modules.size; i++) {
		const struct ux_core_module *m = &r->modules.data[i];
		if (m->gnu.size == 0)
			continue;
		ux_hex_encode(ux_bytes(m->gnu.bytes, ux_min(m->gnu.size, UX_ID_GNU_MAX)), hex);
		ux_out_cstr(out, "Module ");
		core_put_path(m->path, out);
		ux_out_fmt(out, " with build-id %s\n", hex);
	}
}

/* Says that callers are missing, so that nobody takes the last frame for the outermost one. */
static void core_put_end(enum ux_unwind_end end, struct ux_out *out)
{
	static const char *const words[] = {
		[UX_UNWIND_SHORT] = "the memory with its callers is not in the dump",
		[UX_UNWIND_NO_RULES] = "this code has no unwind tables and no frame pointer",
		[UX_UNWIND_LIMIT] = "deeper stacks are cut",
	};
	if (end != UX_UNWIND_COMPLETE)
		ux_out_fmt(out, "(more callers: %s)\n", words[end]);
}

/* Returns the name of a function of the vDSO, which has no file. NULL: another module, or no such
 * name. */
static const char *core_frame_name(const struct core_report *r, size_t module, uint64_t address,
				   bool returns)
{
	const struct core_tables *t = &r->tables[module];
	struct ux_frame frame;
	size_t n = 0;
	if (strcmp(r->modules.data[module].path, VDSO) != 0 || !t->symbols ||
	    ux_file_symbols_is_empty(t->symbols))
		return NULL;
	uint64_t pc = address - returns - r->modules.data[module].start + t->low;
	if (ux_gsym_lookup(&t->symbols->gsym, pc, &frame, 1, &n, NULL) != UX_OK || n == 0)
		return NULL;
	size_t size = frame.function ? strlen(frame.function) : 0;
	bool plain = size > 0 && strspn(frame.function, WORD_CHARACTERS) == size;
	return plain ? frame.function : NULL;
}

static void core_put_frame(const struct core_report *r, size_t number, uint64_t address,
			   bool returns, struct ux_out *out)
{
	size_t module = core_module_find(r, address - (returns && address > 0));
	ux_out_fmt(out, "#%-3zu 0x%016" PRIx64, number, address);
	if (module == SIZE_MAX) {
		ux_out_cstr(out, " n/a (n/a + 0x0)\n");
		return;
	}
	const char *name = core_frame_name(r, module, address, returns);
	ux_out_fmt(out, " %s (", name ? name : "n/a");
	core_put_path(r->modules.data[module].path, out);
	ux_out_fmt(out, " + 0x%" PRIx64 ")\n", address - r->modules.data[module].start);
}

static enum ux_code core_put_thread(struct core_report *r, const struct ux_core_thread *thread,
				    struct ux_out *out, struct ux_error *err)
{
	struct ux_unwind_thread t = core_report_thread(r, thread);
	enum ux_unwind_end end = UX_UNWIND_COMPLETE;
	size_t n = 0;
	UX_TRY(ux_unwind(&r->unwinder, &t, core_report_find, r, r->frames, &n, &end, err));
	ux_out_fmt(out, "\nStack trace of thread %" PRIu32, thread->tid);
	if (thread->signal != 0 && thread == r->threads.data)
		ux_out_fmt(out, ", which got signal %u", thread->signal);
	ux_out_cstr(out, ":\n");
	for (size_t i = 0; i < n; i++)
		core_put_frame(r, i, r->frames[i].address, r->frames[i].returns, out);
	core_put_end(end, out);
	if (out->size > UX_CORE_REPORT_MAX)
		return ux_error_set(err, UX_ELIMIT, "the text of its stacks exceeds %d bytes",
				    UX_CORE_REPORT_MAX);
	return ux_out_status(out, err);
}

enum ux_code ux_core_report(struct ux_bytes core, const struct ux_profile_sources *sources,
			    struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(core_report_free) struct core_report *r = calloc(1, sizeof(*r));
	if (!r)
		return ux_error_nomem(err);
	r->sources = sources;
	UX_TRY(ux_elf_open(&r->elf, core, err));
	UX_TRY(ux_core_read_modules(&r->elf, &r->modules, err));
	UX_TRY(ux_core_read_threads(&r->elf, &r->threads, err));
	UX_TRY(core_sort_memory(r, err));
	UX_TRY(core_add_vdso(r, err));
	core_put_modules(r, out);
	for (size_t i = 0; i < r->threads.size; i++)
		UX_TRY(core_put_thread(r, &r->threads.data[i], out, err));
	return ux_out_status(out, err);
}
