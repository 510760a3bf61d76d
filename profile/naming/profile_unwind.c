/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the unwind tables of modules when they are needed. */
#include "profile_unwind.h"

#include "dsym.h"
#include "proc_files.h"
#include "profile_file.h"
#include "profile_kernel.h"

void ux_profile_unwind_deinit(struct ux_profile_unwind *u)
{
	for (size_t i = 0; i < u->list.size; i++) {
		ux_unwind_module_free(u->list.data[i].module);
		ux_file_unmap(&u->list.data[i].file);
	}
	ux_profile_tables_list_deinit(&u->list);
	ux_unwinder_deinit(&u->unwinder);
}

/* Returns the vDSO of this machine, unless it differs from the recorded one. */
static struct ux_bytes profile_tables_vdso(struct ux_profile_unwind *u, const struct ux_profile *p,
					   uint32_t module)
{
	const struct ux_profile_module *m = &p->modules.data[module];
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *symbols = NULL;
	if (u->sources->no_local || !ux_profile_is_vdso(p, m))
		return UX_BYTES_NONE;
	if (m->id.size > 0 && ux_profile_own_vdso(p, module, u->sources, &symbols, NULL) != UX_OK)
		return UX_BYTES_NONE;
	return ux_proc_own_vdso();
}

/* Returns the file of a module. Empty: it is not here. */
static struct ux_bytes profile_tables_file(struct ux_profile_unwind *u, const struct ux_profile *p,
					   uint32_t module, struct ux_profile_tables *tables)
{
	const struct ux_profile_module *m = &p->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *symbols = NULL;
	if (m->kind == UX_PROFILE_VDSO) {
		struct ux_bytes own = profile_tables_vdso(u, p, module);
		if (own.size > 0 || m->id.size == 0)
			return own;
		/* 32-bit processes have a different vDSO; perf keeps copies by ID. */
	}
	if ((m->kind != UX_PROFILE_FILE && m->kind != UX_PROFILE_VDSO) ||
	    ux_profile_file_find(u->sources, (const char *)ux_profile_text(p, m->path).data, &m->id,
				 UX_SYMBOLS_HEAD, &path, &symbols, NULL) != UX_OK ||
	    ux_dsym_map(path, UX_BYTES_NONE, &tables->file, NULL) != UX_OK)
		return UX_BYTES_NONE;
	return tables->file.bytes;
}

struct ux_unwind_module *ux_profile_unwind_module(struct ux_profile_unwind *u,
						  const struct ux_profile *p, uint32_t module)
{
	while (u->list.size <= module)
		if (!ux_profile_tables_list_append(&u->list, (struct ux_profile_tables){0}))
			return NULL;
	struct ux_profile_tables *tables = &u->list.data[module];
	if (tables->searched)
		return tables->module;
	tables->searched = true;
	tables->unsure = p->modules.data[module].id.size == 0;
	struct ux_bytes file = profile_tables_file(u, p, module, tables);
	if (file.size > 0 && ux_unwind_module_open(file, &tables->module, NULL) != UX_OK)
		tables->module = NULL;
	return tables->module;
}

uint64_t ux_profile_unwind_mistaken(const struct ux_profile_unwind *u, const struct ux_profile *p)
{
	uint64_t n = 0;
	for (size_t i = 1; i < ux_min(u->list.size, p->modules.size); i++) {
		const struct ux_profile_tables *t = &u->list.data[i];
		const struct ux_id *id = &p->modules.data[i].id;
		if (!t->module || !t->unsure)
			continue;
		if (id->size == 0) {
			n += p->modules.data[i].kind == UX_PROFILE_VDSO &&
			     ux_profile_is_other_kernel(p, u->sources);
			continue;
		}
		struct ux_id found = t->module->object->format->id(t->module->object);
		n += !ux_id_eq(&found, id);
	}
	return n;
}
