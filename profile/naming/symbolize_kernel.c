/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kernel's code: by the running one, by copies of its symbols, by files of modules. */
#include "symbolize_batch.h"

#include "kernel_copy.h"
#include "process.h"
#include "profile_file.h"
#include "profile_kernel.h"

static void symbolize_process_guard(struct ux_process **p)
{
	ux_process_close(*p);
}

static void symbolize_answers_guard(struct ux_process_answers **a)
{
	ux_process_answers_free(*a);
}

/* Names addresses by the running kernel; the module is its code. */
static enum ux_code symbolize_running_kernel(struct ux_symbolize_batch *b, uint32_t module,
					     const struct ux_profile_sources *sources,
					     const struct ux_profile_kernel *running)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(symbolize_process_guard) struct ux_process *kernel = NULL;
	ux_cleanup(symbolize_answers_guard) struct ux_process_answers *answers = NULL;
	const struct ux_process_opts opts = {.size = sizeof(opts), .cache = sources->cache};
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->kind == UX_PROFILE_ADDRESS)
			ux_symbolize_add_pc(b, b->locations[i], l->address + running->moved);
	}
	UX_TRY(ux_process_open_kernel(&opts, &kernel, b->err));
	UX_TRY(ux_process_lookup(kernel, b->pcs, b->n_pcs, UX_PROCESS_NOW, 0, &answers, b->err));
	for (size_t i = 0; i < b->n_pcs; i++) {
		const struct ux_process_answer *a = ux_process_answer_at(answers, i);
		const char *reason = a->reason;
		if (a->n > 0 && (!running->label || strcmp(a->module, running->label) == 0)) {
			UX_TRY(ux_symbolize_name(b, b->owners[i], a->frames, a->n));
			continue;
		}
		if (a->n > 0)
			reason = "the module no longer has code there";
		if (m->why == 0)
			UX_TRY(ux_profile_string(b->profile, ux_bytes_cstr(reason), &m->why,
						 b->err));
	}
	return ux_profile_string(b->profile, UX_STR("the running kernel"), &m->source, b->err);
}

/* Finds the kernel's function at a location. */
static bool symbolize_copy_find(const struct ux_symbolize_batch *b, uint32_t module,
				uint32_t location, const struct ux_kernel_copy *copy,
				struct ux_frame *ret)
{
	const struct ux_profile_location *l = &b->profile->locations.data[location];
	const uint64_t pc = l->address - (l->returns && l->address > 0);
	struct ux_kernel_symbol s;
	if (l->kind != UX_PROFILE_ADDRESS ||
	    !ux_kernel_copy_find(copy, b->profile->modules.data[module].start, pc, &s))
		return false;
	*ret = (struct ux_frame){.function = s.name, .dir = "", .base = "", .offset = pc - s.start};
	return true;
}

/* Names addresses of the kernel itself by perf's copy of its symbols. UX_ENOTFOUND: there is no
 * copy, or with `whole`, it lacks some of them. */
static enum ux_code symbolize_kernel_copy(struct ux_symbolize_batch *b, uint32_t module, bool whole)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_kernel_copy_deinit) struct ux_kernel_copy copy = {0};
	struct ux_frame frame;
	size_t found = 0;
	enum ux_code code = ux_kernel_copy_read(&m->id, &copy, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	for (size_t i = 0; code == UX_OK && i < b->n; i++)
		found += symbolize_copy_find(b, module, b->locations[i], &copy, &frame);
	if (found == 0 || (whole && found < b->n))
		return UX_ENOTFOUND;
	for (size_t i = 0; i < b->n; i++)
		if (symbolize_copy_find(b, module, b->locations[i], &copy, &frame))
			UX_TRY(ux_symbolize_name(b, b->locations[i], &frame, 1));
	ux_symbolize_forget_texts(b); /* texts belong to the copy */
	return ux_profile_string(b->profile, ux_bytes_cstr(copy.path), &m->source, b->err);
}

/*
 * Converts addresses in .text of a kernel module, which begins with it, to pcs of its file. Only
 * the recorded kernel knew where the other sections were loaded.
 */
static void symbolize_module_text(struct ux_symbolize_batch *b, uint64_t start,
				  const struct ux_file_symbols *s)
{
	const struct ux_code_section *text = s->sections;
	while (strcmp(text->name, ".text") != 0)
		text++;
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		uint64_t inside = l->address - (l->returns && l->address > 0);
		if (l->kind != UX_PROFILE_ADDRESS || inside < start || inside - start >= text->size)
			continue;
		l->kind = UX_PROFILE_PC;
		l->address = l->address - start + text->pc;
		ux_symbolize_add_pc(b, b->locations[i], l->address);
	}
}

/* Names addresses of a kernel module by its file. UX_ENOTFOUND: the file is not here. */
static enum ux_code symbolize_module_file(struct ux_symbolize_batch *b, uint32_t module,
					  const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *head = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_profile_module_find(sources, b->profile, m, UX_SYMBOLS_HEAD, &path, &head, &why));
	if (!ux_file_symbols_begins_with_text(head))
		return UX_ENOTFOUND;
	symbolize_module_text(b, m->start, head);
	if (b->n_pcs == 0)
		return UX_ENOTFOUND;
	UX_TRY(ux_symbolize_extract(b, path, sources, /* gsym_cache= */ false, &s, &why));
	return ux_symbolize_with(b, module, s, path);
}

/*
 * Names addresses of the kernel or of a module of it: by the running one if it is the recorded one,
 * else by perf's copy of the kernel's symbols, or the module's file. If only functions are wanted,
 * the copy is as good, and much faster: the kernel takes longer to print its symbols than a
 * recording of 100,000 samples takes to be read.
 */
enum ux_code ux_symbolize_kernel(struct ux_symbolize_batch *b, uint32_t module,
				 const struct ux_profile_sources *sources)
{
	const struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_profile_kernel_deinit) struct ux_profile_kernel running = {0};
	struct ux_error why = UX_ERROR_INIT;
	const bool is_kernel = ux_profile_is_kernel(b->profile, m);
	if (sources->no_kernel)
		return UX_OK;
	enum ux_code code = UX_ENOTFOUND;
	if (is_kernel && sources->no_dwarf)
		code = symbolize_kernel_copy(b, module, /* whole= */ true);
	if (code != UX_ENOTFOUND)
		return code;
	code = ux_profile_kernel_find(b->profile, module, sources, &running, &why);
	if (code == UX_OK)
		return symbolize_running_kernel(b, module, sources, &running);
	if (code != UX_ENOTFOUND)
		return ux_error_set(b->err, code, "%s", why.text);
	if (is_kernel) {
		code = symbolize_kernel_copy(b, module, /* whole= */ false);
		if (code != UX_ENOTFOUND)
			return code;
	} else if (m->start != 0) {
		code = symbolize_module_file(b, module, sources);
		if (code == UX_OK || code == UX_ENOMEM)
			return code == UX_OK ? UX_OK : ux_error_nomem(b->err);
	}
	return ux_symbolize_reason(b, module, &why);
}
