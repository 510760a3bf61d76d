/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the kernel of this machine, its modules and its vDSO with a recording's. */
#include "profile_kernel.h"

#include "clock.h"
#include "module_tree.h"
#include "proc_files.h"
#include "process.h"

static void profile_kernel_drop(struct ux_kernel **k)
{
	ux_kernel_drop(*k);
}

void ux_profile_kernel_deinit(struct ux_profile_kernel *k)
{
	ux_kernel_drop(k->kernel);
	*k = (struct ux_profile_kernel){0};
}

bool ux_profile_is_kernel(const struct ux_profile *p, const struct ux_profile_module *m)
{
	return m->kind == UX_PROFILE_KERNEL &&
	       ux_bytes_starts(ux_profile_text(p, m->path), UX_STR("[kernel"));
}

static enum ux_code profile_kernel_read(const struct ux_profile_sources *sources,
					struct ux_kernel **ret, struct ux_error *err)
{
	return ux_symbols_cache_kernel(ux_process_cache_symbols(sources->cache),
				       (uint64_t)ux_clock_ns(), 0, ret, err);
}

/* Returns whether both IDs are known, and differ. */
static bool profile_ids_differ(const struct ux_id *recorded, const char *own)
{
	char id[UX_ID_TEXT];
	return recorded->size > 0 && *own && strcmp(ux_id_format(recorded, id), own) != 0;
}

/* Returns the kernel in the recording, or NULL. */
static const struct ux_profile_module *profile_kernel_recorded(const struct ux_profile *p)
{
	for (size_t i = 1; i < p->modules.size; i++)
		if (ux_profile_is_kernel(p, &p->modules.data[i]))
			return &p->modules.data[i];
	return NULL;
}

/* The same for a module other than the kernel itself. */
static enum ux_code profile_kernel_find_module(const struct ux_profile *p,
					       const struct ux_profile_module *m,
					       struct ux_profile_kernel *k, struct ux_error *err)
{
	char name[UX_MODULE_NAME_MAX] = "";
	const struct ux_kernel_part *part = NULL;
	if (ux_module_name(ux_profile_text(p, m->path), name))
		part = ux_kernel_part_find(k->kernel, name);
	if (!part || strcmp(part->name, name) != 0)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the running kernel has no such module loaded");
	if (profile_ids_differ(&m->id, part->build_id))
		return ux_error_set(err, UX_ENOTFOUND, "another build of it is loaded: %s",
				    part->build_id);
	k->label = part->label;
	if (m->start != 0 && part->start != 0)
		k->moved = part->start - m->start;
	return UX_OK;
}

enum ux_code ux_profile_kernel_find(const struct ux_profile *p, uint32_t module,
				    const struct ux_profile_sources *sources,
				    struct ux_profile_kernel *ret, struct ux_error *err)
{
	const struct ux_profile_module *m = &p->modules.data[module];
	bool is_kernel = ux_profile_is_kernel(p, m);
	const struct ux_profile_module *recorded = is_kernel ? m : profile_kernel_recorded(p);
	ux_cleanup(ux_profile_kernel_deinit) struct ux_profile_kernel k = {0};
	UX_TRY(profile_kernel_read(sources, &k.kernel, err));
	const char *own = k.kernel->parts.data[0].build_id;
	if (recorded && profile_ids_differ(&recorded->id, own))
		return ux_error_set(err, UX_ENOTFOUND, "another kernel is running: %s", own);
	if (!is_kernel && k.kernel->why.code == UX_OK)
		UX_TRY(profile_kernel_find_module(p, m, &k, err));
	/* The kernel is at another address after each boot. perf measures from _text, or from
	 * _stext if a kernel has no _text. */
	uint64_t text = k.kernel->symbols.text ? k.kernel->symbols.text : k.kernel->symbols.stext;
	if (is_kernel && m->start != 0 && text != 0)
		k.moved = text - m->start;
	*ret = k;
	k = (struct ux_profile_kernel){0};
	return UX_OK;
}

/* Sets whether the recording is known to be of the running kernel, by its build ID. */
static enum ux_code profile_kernel_is_recorded(const struct ux_profile *p,
					       const struct ux_profile_sources *sources, bool *ret,
					       struct ux_error *err)
{
	const struct ux_profile_module *m = profile_kernel_recorded(p);
	ux_cleanup(profile_kernel_drop) struct ux_kernel *kernel = NULL;
	UX_TRY(profile_kernel_read(sources, &kernel, err));
	const char *own = kernel->parts.data[0].build_id;
	*ret = m && m->id.size > 0 && *own && !profile_ids_differ(&m->id, own);
	return UX_OK;
}

bool ux_profile_is_other_kernel(const struct ux_profile *p,
				const struct ux_profile_sources *sources)
{
	const struct ux_profile_module *m = profile_kernel_recorded(p);
	ux_cleanup(profile_kernel_drop) struct ux_kernel *kernel = NULL;
	return m && profile_kernel_read(sources, &kernel, NULL) == UX_OK &&
	       profile_ids_differ(&m->id, kernel->parts.data[0].build_id);
}

bool ux_profile_is_vdso(const struct ux_profile *p, const struct ux_profile_module *m)
{
	struct ux_bytes path = ux_profile_text(p, m->path);
	return m->kind == UX_PROFILE_VDSO && (ux_bytes_eq(path, UX_STR("[vdso]")) ||
					      ux_bytes_eq(path, UX_STR("linux-vdso.1.so")));
}

enum ux_code ux_profile_own_vdso(const struct ux_profile *p, uint32_t module,
				 const struct ux_profile_sources *sources,
				 struct ux_file_symbols **ret, struct ux_error *err)
{
	const struct ux_profile_module *m = &p->modules.data[module];
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_bytes image = ux_proc_own_vdso();
	char id[UX_ID_TEXT];
	bool is_own = false;
	if (image.size == 0)
		return ux_error_set(err, UX_ENOTFOUND, "this machine has no vDSO");
	UX_TRY(ux_symbols_cache_image(ux_process_cache_symbols(sources->cache), image,
				      UX_SYMBOLS_ALL, &s, err));
	if (m->id.size > 0 && strcmp(ux_id_format(&m->id, id), s->build_id) != 0)
		return ux_error_set(err, UX_ENOTFOUND, "this machine has another vDSO: %s",
				    *s->build_id ? s->build_id : "one without an ID");
	/* Positions in different vDSOs have different names. */
	if (m->id.size == 0)
		UX_TRY(profile_kernel_is_recorded(p, sources, &is_own, err));
	if (m->id.size == 0 && !is_own)
		return ux_error_set(
			err, UX_ENOTFOUND,
			"the recording has neither its ID nor the ID of the running kernel");
	*ret = ux_take(&s);
	return UX_OK;
}
