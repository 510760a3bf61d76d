/* SPDX-License-Identifier: Apache-2.0 */
/* Names the locations of a profile, module by module. */
#include "profile_naming.h"

#include "resolve.h"
#include "symbolize.h"
#include "text.h"

/* A location without a name, for sorting by module. */
struct naming_location {
	uint32_t module;
	uint32_t location;
};

UX_VEC(naming_locations, struct naming_location);

struct naming {
	struct ux_server *server;
	const char *ns;
	struct ux_profile *profile;
	struct ux_work *work;
	struct naming_locations list;
	uint64_t pcs[UX_RESOLVE_MAX];
	uint32_t frames[UX_RESOLVE_MAX];
	struct ux_out path;
};

static void naming_free(struct naming **n)
{
	if (!*n)
		return;
	naming_locations_deinit(&(*n)->list);
	ux_out_deinit(&(*n)->path);
	free(*n);
}

static int naming_compare(const void *a, const void *b)
{
	const struct naming_location *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->location > y->location) - (x->location < y->location);
}

static enum ux_code naming_collect(struct naming *n, struct ux_error *err)
{
	const struct ux_profile *p = n->profile;
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		bool in_file = l->kind == UX_PROFILE_PC || l->kind == UX_PROFILE_OFFSET ||
			       l->kind == UX_PROFILE_RELATIVE;
		if (l->n > 0 || !in_file || l->module == 0 ||
		    p->modules.data[l->module].id.size == 0)
			continue;
		if (!naming_locations_append(&n->list,
					     (struct naming_location){l->module, (uint32_t)i}))
			return ux_error_nomem(err);
	}
	if (n->list.size > 0)
		qsort(n->list.data, n->list.size, sizeof(*n->list.data), naming_compare);
	return UX_OK;
}

static enum ux_code naming_put_file(struct naming *n, const struct ux_frame_text *f, uint32_t *ret,
				    struct ux_error *err)
{
	ux_out_reset(&n->path);
	ux_out_path(&n->path, f->dir, f->base);
	UX_TRY(ux_out_status(&n->path, err));
	return ux_profile_string(n->profile, ux_out_bytes(&n->path), ret, err);
}

/*
 * Gives a location a frame and the frames that it is inlined into. Skips a function without a name.
 */
static enum ux_code naming_name(struct naming *n, const struct ux_frame_cache *cache,
				uint32_t location, uint32_t frame, struct ux_error *err)
{
	struct ux_profile_frame to[UX_FRAMES_MAX];
	size_t count = 0;
	for (; frame != 0 && count < UX_FRAMES_MAX; frame = ux_cached_frame(cache, frame)->up) {
		struct ux_frame_text f = ux_frame_cache_text(cache, frame);
		if (!f.inlined && ux_bytes_eq(f.function, UX_STR(UX_NO_NAME)))
			return UX_OK;
		to[count] = (struct ux_profile_frame){.line = f.line, .inlined = f.inlined};
		UX_TRY(ux_profile_string(n->profile, f.function, &to[count].name, err));
		if (f.base.size > 0)
			UX_TRY(naming_put_file(n, &f, &to[count].file, err));
		count++;
	}
	return count > 0 ? ux_profile_name(n->profile, location, to, count, err) : UX_OK;
}

/*
 * Converts positions in the module's file, and addresses relative to its start, into pcs. Removes
 * locations that cannot be converted from the list; *ret_end is its new end.
 */
static enum ux_code naming_turn(struct naming *n, struct ux_open_module *m, size_t first,
				size_t end, size_t *ret_end, struct ux_error *err)
{
	uint64_t base = 0;
	bool has_base = ux_open_module_image_start(m, &base, NULL) == UX_OK;
	size_t kept = first;
	for (size_t i = first; i < end; i++) {
		struct ux_profile_location *l =
			&n->profile->locations.data[n->list.data[i].location];
		uint64_t pc = l->address;
		enum ux_code code = l->kind == UX_PROFILE_OFFSET
					    ? ux_open_module_file_pc(m, l->address, &pc, err)
					    : UX_OK;
		if (code == UX_ENOTFOUND)
			continue;
		UX_TRY(code);
		if (l->kind == UX_PROFILE_RELATIVE && !has_base)
			continue;
		l->address = l->kind == UX_PROFILE_RELATIVE ? base + pc : pc;
		l->kind = UX_PROFILE_PC;
		n->list.data[kept++] = n->list.data[i];
	}
	*ret_end = kept;
	return UX_OK;
}

static uint64_t naming_pc(const struct naming *n, size_t i)
{
	const struct ux_profile_location *l = &n->profile->locations.data[n->list.data[i].location];
	return l->address - (l->returns && l->address > 0);
}

/*
 * Fetches the parts of the module that the names need; `pcs` has room for some addresses at a time.
 */
static enum ux_code naming_bring(struct naming *n, struct ux_open_module *m, size_t first,
				 size_t end, struct ux_error *err)
{
	for (size_t i = first; i < end; i += UX_RESOLVE_MAX) {
		size_t count = ux_min(end - i, (size_t)UX_RESOLVE_MAX);
		for (size_t k = 0; k < count; k++)
			n->pcs[k] = naming_pc(n, i + k);
		UX_TRY(ux_open_module_bring(m, n->pcs, count, /* back= */ 0, err));
	}
	return UX_OK;
}

/* Names the locations of one open module, from number `first` of the list up to `end`. */
static enum ux_code naming_resolve(struct naming *n, struct ux_open_module *m, size_t first,
				   size_t end, struct ux_error *err)
{
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = m, .mode = UX_DEMANGLE_SHORT, .work = n->work, .brought = true};
	for (size_t i = first, done = 0; i < end; i += done) {
		size_t count = ux_min(end - i, (size_t)UX_RESOLVE_MAX);
		for (size_t k = 0; k < count; k++)
			n->pcs[k] = naming_pc(n, i + k);
		UX_TRY(ux_resolve(&r, n->pcs, count, n->frames, &done, err));
		for (size_t k = 0; k < done; k++)
			UX_TRY(naming_name(n, r.cache, n->list.data[i + k].location, n->frames[k],
					   err));
	}
	return UX_OK;
}

static enum ux_code naming_module(struct naming *n, size_t first, size_t end, struct ux_error *err)
{
	struct ux_profile_module *module = &n->profile->modules.data[n->list.data[first].module];
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	struct ux_error why = UX_ERROR_INIT;
	char id[UX_ID_TEXT], text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	struct ux_module_later later = {0};
	if (n->work)
		UX_TRY(ux_request_work_charge(n->work, UX_WORK_MODULE, err));
	ux_id_format(&module->id, id);
	enum ux_code code =
		ux_server_module_open(n->server, n->ns, id, /* wait_ms= */ 0, &m, &later, &why);
	size_t kept = first;
	if (code == UX_OK)
		code = naming_turn(n, m, first, end, &kept, &why);
	if (code == UX_OK)
		code = naming_bring(n, m, first, kept, &why);
	if (code == UX_OK) {
		UX_TRY(naming_resolve(n, m, first, kept, err));
		if (kept == end)
			return UX_OK;
		return ux_profile_string(
			n->profile,
			UX_STR("its symbols have no segments to convert file offsets: push it "
			       "again"),
			&module->why, err);
	}
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	ux_error_format(&why, text, sizeof(text));
	return ux_profile_string(n->profile, ux_bytes_cstr(text), &module->why, err);
}

enum ux_code ux_profile_name_all(struct ux_server *s, const char *ns, struct ux_profile *p,
				 struct ux_work *work, struct ux_error *err)
{
	ux_cleanup(naming_free) struct naming *n = calloc(1, sizeof(*n));
	if (!n)
		return ux_error_nomem(err);
	n->server = s;
	n->ns = ns;
	n->profile = p;
	n->work = work;
	UX_TRY(naming_collect(n, err));
	for (size_t i = 0, end = 0; i < n->list.size; i = end) {
		while (end < n->list.size && n->list.data[end].module == n->list.data[i].module)
			end++;
		UX_TRY(naming_module(n, i, end, err));
	}
	return UX_OK;
}
