/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps as crash reports. */
#include "core_report.h"

#include "core_file.h"
#include "dsym.h"
#include "profile_file.h"
#include "text.h"
#include "unwind.h"

enum {
	PAGE = 4096,   /* modules begin at a page */
	X86_64_SP = 7, /* numbers of DWARF */
	ARM64_SP = 31,
};

/* The file of a module, opened when a stack leads through it. */
struct core_tables {
	bool searched;
	struct ux_mapping file;
	struct ux_file_symbols *symbols; /* its segments; NULL: the file is not here */
	struct ux_unwind_module *module; /* NULL: there are none */
	uint64_t low;                    /* pc of its first byte */
};

/* A core dump and what its stacks are unwound with. */
struct core_report {
	const struct ux_profile_sources *sources;
	struct ux_elf elf;
	struct ux_core_modules modules;
	struct ux_core_threads threads;
	struct core_tables *tables; /* malloc'ed: of each module */
	struct ux_unwinder unwinder;
	struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MOST];
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
	ux_unwinder_deinit(&c->unwinder);
	ux_core_threads_deinit(&c->threads);
	ux_core_modules_deinit(&c->modules);
	ux_elf_close(&c->elf);
	free(c);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The number of the module that has an address; SIZE_MAX: none has it. */
static size_t core_module_find(const struct core_report *r, uint64_t address)
{
	size_t low = 0, high = r->modules.size;
	while (low < high) { /* the last one that begins at or before the address */
		size_t mid = low + (high - low) / 2;
		if (r->modules.data[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && address < r->modules.data[low - 1].end ? low - 1 : SIZE_MAX;
}

/* Whether memory at an address was code. */
static bool core_is_code(const struct core_report *r, uint64_t address)
{
	for (size_t i = 0; i < r->elf.n_segments; i++) {
		const struct ux_elf_segment *s = &r->elf.segments[i];
		if (s->type == PT_LOAD && (s->flags & PF_X) != 0 && address >= s->vaddr &&
		    address - s->vaddr < s->memsz)
			return true;
	}
	return false;
}

/* The unwind tables of a module, from the file with its ID. */
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
	t->low = UINT64_MAX;
	for (size_t i = 0; i < t->symbols->n_loads; i++)
		t->low = ux_min(t->low, t->symbols->loads[i].pc & ~(uint64_t)(PAGE - 1));
	if (ux_dsym_map(path, UX_BYTES_NONE, &t->file, NULL) == UX_OK &&
	    ux_unwind_module_open(t->file.bytes, &t->module, NULL) != UX_OK)
		t->module = NULL;
	return t;
}

/* A ux_unwind_find_fn with a struct core_report. Code of a file need not be in the dump. */
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

/* The registers of user_regs_struct in their order there, by their numbers of DWARF. */
static void core_thread_x86_64(struct ux_unwind_thread *t, struct ux_cur *c)
{
	enum {
		NONE = 255,
		IP = 254
	};
	static const uint8_t numbers[] = {15, 14, 13, 12, 6, 3,    11, 10,   9,    8,
					  0,  2,  1,  4,  5, NONE, IP, NONE, NONE, 7};
	for (size_t i = 0; i < ux_countof(numbers); i++) {
		uint64_t v = ux_cur_u64(c);
		if (numbers[i] == IP)
			t->pc = v;
		else if (numbers[i] != NONE)
			core_set_register(t, numbers[i], v);
	}
}

static void core_thread_arm64(struct ux_unwind_thread *t, struct ux_cur *c)
{
	for (unsigned i = 0; i <= ARM64_SP; i++)
		core_set_register(t, i, ux_cur_u64(c));
	t->pc = ux_cur_u64(c);
}

/* The state of a thread: its registers, and its stack from the stack pointer on. */
static struct ux_unwind_thread core_report_thread(const struct core_report *r,
						  const struct ux_core_thread *thread)
{
	bool arm64 = r->elf.machine == EM_AARCH64;
	struct ux_cur c = ux_cur_make(thread->registers, NULL, r->elf.swap);
	struct ux_unwind_thread t = {.machine = arm64 ? UX_UNWIND_ARM64 : UX_UNWIND_X86_64,
				     .swap = r->elf.swap};
	if (arm64)
		core_thread_arm64(&t, &c);
	else
		core_thread_x86_64(&t, &c);
	t.stack = t.registers[arm64 ? ARM64_SP : X86_64_SP];
	t.bytes = ux_elf_bytes_at(&r->elf, t.stack);
	return t;
}

/* --- text ------------------------------------------------------------------------------------- */

/* A path has nothing that could pass for other text of the report: a word in one line. */
static void core_put_path(const char *path, struct ux_out *out)
{
	for (; *path; path++)
		ux_out_u8(out, (uint8_t)*path <= ' ' || *path == 0x7f ? '?' : (uint8_t)*path);
}

static void core_put_modules(const struct core_report *r, struct ux_out *out)
{
	char hex[2 * UX_ID_GNU_MOST + 1];
	for (size_t i = 0; i < r->modules.size; i++) {
		const struct ux_core_module *m = &r->modules.data[i];
		if (m->gnu.size == 0)
			continue;
		ux_hex_encode(ux_bytes(m->gnu.bytes, ux_min(m->gnu.size, UX_ID_GNU_MOST)), hex);
		ux_out_cstr(out, "Module ");
		core_put_path(m->path, out);
		ux_out_fmt(out, " with build-id %s\n", hex);
	}
}

static void core_put_frame(const struct core_report *r, size_t number, uint64_t address,
			   bool returns, struct ux_out *out)
{
	size_t module = core_module_find(r, address - (returns && address > 0));
	ux_out_fmt(out, "#%-3zu 0x%016" PRIx64 " n/a (", number, address);
	if (module == SIZE_MAX) {
		ux_out_cstr(out, "n/a + 0x0)\n");
		return;
	}
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
	if (out->size > UX_CORE_REPORT_MOST)
		return ux_error_set(err, UX_ELIMIT, "its stacks are over %d bytes of text",
				    UX_CORE_REPORT_MOST);
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
	r->tables = calloc(r->modules.size + 1, sizeof(*r->tables));
	if (!r->tables)
		return ux_error_nomem(err);
	core_put_modules(r, out);
	for (size_t i = 0; i < r->threads.size; i++)
		UX_TRY(core_put_thread(r, &r->threads.data[i], out, err));
	return ux_out_status(out, err);
}
