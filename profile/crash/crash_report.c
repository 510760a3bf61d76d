/* SPDX-License-Identifier: Apache-2.0 */
/* Facts in a whole crash report about the modules in its stacks. */
#include "crash_report.h"

#include "crash_internal.h"

#include <strings.h>

void ux_crash_report_deinit(struct ux_crash_report *c)
{
	ux_arena_deinit(&c->arena);
	ux_crash_modules_deinit(&c->modules);
	ux_crash_module_numbers_deinit(&c->numbers);
	ux_out_deinit(&c->maps_text);
	ux_proc_maps_deinit(&c->maps);
	*c = (struct ux_crash_report){0};
}

struct ux_bytes ux_crash_base_name(struct ux_bytes path)
{
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	return slash ? ux_crash_after(path, (size_t)(slash + 1 - path.data)) : path;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Copies a text, so that it lives as long as the report. False: there are too many texts. */
static bool report_copy(struct ux_crash_report *c, struct ux_bytes text, struct ux_bytes *ret)
{
	const char *made = ux_arena_strndup(&c->arena, text.data, text.size);
	if (!made)
		return false;
	*ret = ux_bytes(made, text.size);
	return true;
}

/* Finds or adds a module; *ret is NULL when there are too many. */
static enum ux_code report_module(struct ux_crash_report *c, struct ux_bytes name,
				  struct ux_crash_module **ret, struct ux_error *err)
{
	const uint32_t *found = ux_crash_module_numbers_find(&c->numbers, name);
	struct ux_crash_module made = {0};
	bool fresh = false;
	*ret = NULL;
	if (found) {
		*ret = &c->modules.data[*found];
		return UX_OK;
	}
	if (c->modules.size >= UX_CRASH_MODULES_MAX || !report_copy(c, name, &made.name)) {
		c->unkept++;
		return c->arena.over || c->modules.size >= UX_CRASH_MODULES_MAX
			       ? UX_OK
			       : ux_error_nomem(err);
	}
	uint32_t *number = ux_crash_module_numbers_insert(&c->numbers, made.name, &fresh);
	if (!number || !ux_crash_modules_append(&c->modules, made))
		return ux_error_nomem(err);
	*number = (uint32_t)(c->modules.size - 1);
	*ret = &c->modules.data[*number];
	return UX_OK;
}

static bool report_same_id(struct ux_bytes a, struct ux_bytes b)
{
	return a.size == b.size &&
	       strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

static enum ux_code report_add_id(struct ux_crash_report *c, struct ux_bytes name,
				  struct ux_bytes id, struct ux_error *err)
{
	struct ux_crash_module *m = NULL;
	if (name.size == 0 || id.size == 0)
		return UX_OK;
	UX_TRY(report_module(c, name, &m, err));
	if (!m || m->many_ids)
		return UX_OK;
	if (m->id.size > 0 && !report_same_id(m->id, id)) {
		m->many_ids = true;
		m->id = UX_BYTES_NONE;
	} else if (m->id.size == 0 && !report_copy(c, id, &m->id)) {
		c->unkept++;
	}
	return UX_OK;
}

static enum ux_code report_add_base(struct ux_crash_report *c, struct ux_bytes name,
				    enum ux_crash_base kind, uint64_t base, struct ux_error *err)
{
	struct ux_crash_module *m = NULL;
	UX_TRY(report_module(c, name, &m, err));
	if (!m)
		return UX_OK;
	bool same = m->kind == kind && m->base == base;
	if (m->kind != UX_CRASH_NO_BASE && !same)
		kind = UX_CRASH_BASE_MANY;
	m->kind = kind;
	m->base = base;
	return UX_OK;
}

/* Adds the facts of a frame: a frame with an address and an offset shows where its module is. */
static enum ux_code report_add_frame(struct ux_crash_report *c, const struct ux_crash_frame *f,
				     struct ux_error *err)
{
	UX_TRY(report_add_id(c, f->module, f->id, err));
	if (f->module.size == 0 || !f->has_address || f->address < f->offset ||
	    (f->origin != UX_CRASH_PC && f->origin != UX_CRASH_START))
		return UX_OK;
	return report_add_base(c, f->module,
			       f->origin == UX_CRASH_PC ? UX_CRASH_BASE_PC : UX_CRASH_BASE_START,
			       f->address - f->offset, err);
}

/* Keeps a mapping in the form that ux_proc_maps_parse() reads. */
static void report_add_mapping(struct ux_crash_report *c, const struct ux_crash_line *line)
{
	if (c->maps_text.size + line->module.size > UX_CRASH_MAPS_MAX) {
		c->unkept++;
		return;
	}
	ux_out_fmt(&c->maps_text, "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " 00:00 1 ", line->start,
		   line->end, line->off);
	ux_out_put(&c->maps_text, line->module.data, line->module.size);
	ux_out_u8(&c->maps_text, '\n');
}

static enum ux_code report_add_fact(struct ux_crash_report *c, const struct ux_crash_line *line,
				    struct ux_error *err)
{
	switch (line->fact) {
	case UX_CRASH_NO_FACT:
	case UX_CRASH_CURRENT:
		return UX_OK;
	case UX_CRASH_MODULE:
		return report_add_id(c, line->module, line->id, err);
	case UX_CRASH_MAPPING:
		report_add_mapping(c, line);
		return UX_OK;
	case UX_CRASH_IMAGE:
		UX_TRY(report_add_id(c, line->module, line->id, err));
		return report_add_base(c, line->module, UX_CRASH_BASE_START, line->start, err);
	case UX_CRASH_RELEASE:
		if (!ux_bytes_eq(c->release, line->module) &&
		    !report_copy(c, line->module, &c->release))
			c->unkept++;
		return UX_OK;
	}
	return UX_OK;
}

enum ux_code ux_crash_report_read(struct ux_crash_report *c, struct ux_bytes text,
				  struct ux_error *err)
{
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	struct ux_bytes whole;
	size_t maps_before = c->maps_text.size;
	if (c->arena.budget == 0)
		ux_arena_init(&c->arena, UX_CRASH_REPORT_MEMORY_MAX);
	while (ux_crash_next(&r, &text, &whole, &line)) {
		for (size_t i = 0; i < line.n; i++)
			UX_TRY(report_add_frame(c, &line.frames[i], err));
		UX_TRY(report_add_fact(c, &line, err));
	}
	UX_TRY(ux_out_status(&c->maps_text, err));
	if (c->maps_text.size == maps_before)
		return UX_OK;
	ux_proc_maps_deinit(&c->maps);
	return ux_proc_maps_parse(ux_out_bytes(&c->maps_text), &c->maps, err);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Returns whether two names may mean one module: the paths are equal, or one is the last part of
 * the other. */
static bool report_same_module(struct ux_bytes a, struct ux_bytes b)
{
	if (ux_bytes_eq(a, b))
		return true;
	if (memchr(a.data, '/', a.size) && memchr(b.data, '/', b.size))
		return false;
	return ux_bytes_eq(ux_crash_base_name(a), ux_crash_base_name(b));
}

/* Returns the module with an ID whose name matches; NULL: none, or several that differ. */
static const struct ux_crash_module *report_find_id(const struct ux_crash_report *c,
						    struct ux_bytes name)
{
	const uint32_t *number = ux_crash_module_numbers_find(&c->numbers, name);
	const struct ux_crash_module *found = NULL;
	if (number && (c->modules.data[*number].id.size > 0 || c->modules.data[*number].many_ids))
		return &c->modules.data[*number];
	for (size_t i = 0; i < c->modules.size; i++) {
		const struct ux_crash_module *m = &c->modules.data[i];
		if (m->id.size == 0 || !report_same_module(m->name, name))
			continue;
		if (found && !report_same_id(found->id, m->id))
			return NULL;
		found = m;
	}
	return found;
}

/* Returns the path of the mapped file with that name, if the name has no path; "": none or
 * several. */
static struct ux_bytes report_mapped_path(const struct ux_crash_report *c, struct ux_bytes name)
{
	struct ux_bytes found = UX_BYTES_NONE;
	for (size_t i = 0; i < c->maps.list.size; i++) {
		struct ux_bytes path = ux_bytes_cstr(c->maps.list.data[i].path);
		if (path.size == 0 || path.data[0] != '/' ||
		    !ux_bytes_eq(ux_crash_base_name(path), name) || ux_bytes_eq(found, path))
			continue;
		if (found.size > 0)
			return UX_BYTES_NONE;
		found = path;
	}
	return found;
}

/* Sets module and positions of an address by the mapping that it is in. */
static bool report_settle_mapped(const struct ux_crash_report *c, struct ux_crash_frame *f)
{
	const struct ux_proc_map *list = c->maps.list.data;
	size_t at = 0;
	if (!f->has_address || !ux_proc_maps_find(&c->maps, f->address, &at) || !list[at].path[0])
		return false;
	f->module = ux_bytes_cstr(list[at].path);
	f->position = f->address - list[at].start + list[at].off;
	f->has_position = true;
	size_t first = at;
	while (first > 0 && list[first].off != 0 &&
	       strcmp(list[first - 1].path, list[at].path) == 0)
		first--;
	f->origin = UX_CRASH_NOWHERE;
	if (list[first].off == 0) {
		f->origin = UX_CRASH_START;
		f->offset = f->address - list[first].start;
	}
	return true;
}

/* Sets the offset of an address by where other frames of its module are. */
static void report_settle_base(const struct ux_crash_report *c, struct ux_crash_frame *f)
{
	const uint32_t *number = ux_crash_module_numbers_find(&c->numbers, f->module);
	const struct ux_crash_module *m = number ? &c->modules.data[*number] : NULL;
	if (!m || !f->has_address || f->address < m->base ||
	    !(m->kind == UX_CRASH_BASE_PC || m->kind == UX_CRASH_BASE_START))
		return;
	f->origin = m->kind == UX_CRASH_BASE_PC ? UX_CRASH_PC : UX_CRASH_START;
	f->offset = f->address - m->base;
}

void ux_crash_report_settle(const struct ux_crash_report *c, struct ux_crash_frame *f)
{
	if (f->origin == UX_CRASH_FILE) {
		f->position = f->offset;
		f->has_position = true;
		f->origin = UX_CRASH_NOWHERE;
	}
	if (f->origin == UX_CRASH_NOWHERE && f->module.size > 0 && !f->has_position)
		report_settle_base(c, f);
	if (f->origin == UX_CRASH_NOWHERE || f->origin == UX_CRASH_UNSAID)
		(void)report_settle_mapped(c, f);
	if (f->module.size > 0 && f->form != UX_CRASH_KERNEL &&
	    !memchr(f->module.data, '/', f->module.size)) {
		struct ux_bytes path = report_mapped_path(c, f->module);
		f->module = path.size > 0 ? path : f->module;
	}
	if (f->module.size > 0 && f->id.size == 0) {
		const struct ux_crash_module *m = report_find_id(c, f->module);
		f->id = m ? m->id : UX_BYTES_NONE;
	}
}
