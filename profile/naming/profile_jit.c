/* SPDX-License-Identifier: Apache-2.0 */
/* Reads jitdumps, and makes locations of the code in them. */
#include "profile_jit.h"

#include "jit_files.h"

void ux_profile_jit_deinit(struct ux_profile_jit *j)
{
	for (size_t i = 0; i < j->list.size; i++) {
		if (j->list.data[i].opened)
			ux_jitdump_deinit(&j->list.data[i].dump);
		ux_runtime_list_deinit(&j->list.data[i].spans);
		free(j->list.data[i].span_modules);
	}
	ux_profile_dump_list_deinit(&j->list);
	ux_profile_codes_deinit(&j->locations);
}

/* Sets one of a module's texts to an error's message. */
static enum ux_code profile_jit_reason(struct ux_profile *p, uint32_t module,
				       const struct ux_error *found, struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 64];
	uint32_t why = 0;
	ux_error_format(found, text, sizeof(text));
	UX_TRY(ux_profile_string(p, ux_bytes_cstr(text), &why, err));
	p->modules.data[module].why = why;
	return UX_OK;
}

/* Reads the file of a jitdump as far as possible. Its end may be missing: the program may still
 * run, or was killed. */
static enum ux_code profile_jit_read(struct ux_profile_dump *d,
				     const struct ux_profile_sources *sources, const char *path,
				     uint32_t pid, char **ret_path, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	size_t used = 0, need = 0;
	UX_TRY(ux_jitdump_open(sources, path, pid, &file, ret_path, err));
	enum ux_code code = ux_jitdump_feed(&d->dump, file.bytes, &used, &need, err);
	d->usable = d->dump.has_header && code != UX_ENOMEM;
	return code;
}

enum ux_code ux_profile_jit_open(struct ux_profile_jit *j, struct ux_profile *p, uint32_t module,
				 const struct ux_jitdump **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_error found = UX_ERROR_INIT;
	uint32_t source = 0;
	while (j->list.size <= module)
		if (!ux_profile_dump_list_append(&j->list, (struct ux_profile_dump){0}))
			return ux_error_nomem(err);
	struct ux_profile_dump *d = &j->list.data[module];
	*ret = d->usable ? &d->dump : NULL;
	if (d->opened)
		return UX_OK;
	d->opened = true;
	ux_jitdump_init(&d->dump);
	const struct ux_profile_module *m = &p->modules.data[module];
	const char *recorded = (const char *)ux_profile_text(p, m->path).data;
	enum ux_code code = profile_jit_read(d, j->sources, recorded, m->pid, &path, &found);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		UX_TRY(profile_jit_reason(p, module, &found, err));
	if (!d->usable)
		return UX_OK;
	UX_TRY(ux_profile_string(p, ux_bytes_cstr(path), &source, err));
	p->modules.data[module].source = source;
	*ret = &d->dump;
	return UX_OK;
}

/* Sets the path of a frame's file as one string of the profile. */
static enum ux_code profile_jit_path(struct ux_profile *p, const struct ux_frame *f, uint32_t *ret,
				     struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	ux_out_path(&path, ux_bytes_cstr(f->dir), ux_bytes_cstr(f->base));
	UX_TRY(ux_out_status(&path, err));
	return ux_profile_string(p, ux_out_bytes(&path), ret, err);
}

/* Adds the location of a frame. */
static enum ux_code profile_jit_add(struct ux_profile *p, struct ux_profile_place place,
				    const struct ux_frame *f, uint32_t *ret, struct ux_error *err)
{
	struct ux_profile_location location = {
		.module = place.module,
		.kind = UX_PROFILE_ADDRESS,
		.returns = place.returns,
		.address = place.address,
	};
	struct ux_profile_frame frame = {.line = f->line};
	UX_TRY(ux_profile_string(p, ux_bytes_cstr(f->function), &frame.linkage, err));
	if (*f->base)
		UX_TRY(profile_jit_path(p, f, &frame.file, err));
	UX_TRY(ux_profile_add_location(p, location, ret, err));
	return ux_profile_name(p, *ret, &frame, 1, err);
}

/*
 * Finds the time span of the server's symbols of a process; *ret_span is its number, or the number
 * of spans if none fits; SIZE_MAX: nothing to query. A server that cannot be queried counts as
 * empty: the failure is reported when names are looked up.
 */
static enum ux_code profile_jit_span(struct ux_profile_jit *j, struct ux_profile *p,
				     uint32_t module, uint64_t time, size_t *ret_span,
				     struct ux_error *err)
{
	struct ux_profile_dump *d = &j->list.data[module];
	const uint32_t pid = p->modules.data[module].pid;
	const struct ux_profile_sources *from = j->sources;
	*ret_span = SIZE_MAX;
	if (!from->server_runtime || p->host == 0 || j->wall_ns == 0 || time == 0)
		return UX_OK;
	if (!d->listed) {
		d->listed = true;
		if (from->server_runtime(from->server_ctx,
					 (const char *)ux_profile_text(p, p->host).data, pid,
					 &d->spans, NULL) == UX_ENOMEM)
			return ux_error_nomem(err);
		d->span_modules = calloc(d->spans.size + 1, sizeof(*d->span_modules));
		if (!d->span_modules)
			return ux_error_nomem(err);
	}
	*ret_span = ux_runtime_list_find(&d->spans, (int64_t)time + j->wall_ns);
	return UX_OK;
}

enum ux_code ux_profile_jit_version(struct ux_profile_jit *j, struct ux_profile *p, uint32_t module,
				    uint64_t time, uint32_t *ret, struct ux_error *err)
{
	const struct ux_jitdump *dump = NULL;
	size_t span = 0;
	UX_TRY(ux_profile_jit_open(j, p, module, &dump, err));
	if (!dump)
		UX_TRY(profile_jit_span(j, p, module, time, &span, err));
	*ret = dump ? ux_code_history_count(&dump->history, time) : (uint32_t)span;
	return UX_OK;
}

/* Sets a location within the server's symbols of the process at a time. */
static enum ux_code profile_jit_locate_span(struct ux_profile_jit *j, struct ux_profile *p,
					    uint32_t module, struct ux_profile_place place,
					    uint64_t time, uint32_t *ret, struct ux_error *err)
{
	size_t span = 0;
	UX_TRY(profile_jit_span(j, p, module, time, &span, err));
	const struct ux_profile_dump *d = &j->list.data[module];
	if (span >= d->spans.size)
		return UX_OK;
	if (d->span_modules[span] == 0) {
		struct ux_profile_module m = p->modules.data[module];
		m.id = d->spans.data[span].id;
		m.why = m.source = 0;
		UX_TRY(ux_profile_add_module(p, m, &d->span_modules[span], err));
	}
	place.module = d->span_modules[span];
	return ux_profile_locate(p, place, ret, err);
}

enum ux_code ux_profile_jit_locate(struct ux_profile_jit *j, struct ux_profile *p, uint32_t module,
				   struct ux_profile_place place, uint64_t time, uint32_t *ret,
				   struct ux_error *err)
{
	const struct ux_jitdump *dump = NULL;
	struct ux_frame frame;
	bool fresh = false;
	*ret = 0;
	UX_TRY(ux_profile_jit_open(j, p, module, &dump, err));
	if (!dump)
		return profile_jit_locate_span(j, p, module, place, time, ret, err);
	uint64_t inside = place.address - (place.returns && place.address > 0);
	uint64_t when = time == 0 || dump->other_clock ? UINT64_MAX : time;
	const struct ux_code_event *event = ux_code_history_find(&dump->history, inside, when);
	if (!event || !ux_jitdump_lookup(dump, inside, when, &frame, NULL))
		return UX_OK;
	place.module = module;
	struct ux_profile_code key = {place.address, module, event->code, place.returns};
	uint32_t *number = ux_profile_codes_insert(&j->locations, key, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(profile_jit_add(p, place, &frame, number, err));
	j->untimed += fresh && when == UINT64_MAX;
	*ret = *number;
	return UX_OK;
}
