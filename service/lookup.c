/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of one module to the JSON of their frames. */
#include "lookup.h"

void ux_lookup_deinit(struct ux_lookup *l)
{
	ux_out_deinit(&l->name);
}

enum ux_code ux_lookup_demangle(struct ux_lookup *l, struct ux_bytes word, struct ux_error *err)
{
	if (ux_demangle_mode_parse(word, &l->demangle))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL,
			    "demangle is '%.*s'; expected full, short, templates-elided or none",
			    (int)ux_min(word.size, (size_t)32), (const char *)word.data);
}

struct ux_bytes ux_lookup_name(struct ux_lookup *l, const char *linkage)
{
	if (l->demangle == UX_DEMANGLE_NONE)
		return ux_bytes_cstr(linkage);
	ux_out_reset(&l->name);
	ux_demangle(ux_bytes_cstr(linkage), l->demangle, &l->name);
	if (l->name.failed) /* short of memory: the linkage name is right too */
		return ux_bytes_cstr(linkage);
	return ux_out_bytes(&l->name);
}

static void put_frame(struct ux_lookup *l, const struct ux_frame *f, struct ux_json *j)
{
	ux_json_object_begin(j);
	ux_json_key_str(j, "function", ux_lookup_name(l, f->function));
	if (f->base[0] != '\0') {
		ux_json_key(j, "file");
		ux_json_path(j, ux_bytes_cstr(f->dir), ux_bytes_cstr(f->base));
		ux_json_key_u64(j, "line", f->line);
	}
	if (f->inlined)
		ux_json_key_bool(j, "inlined", true);
	ux_json_object_end(j);
}

void ux_lookup_put(struct ux_lookup *l, const struct ux_frame *frames, size_t n, struct ux_json *j)
{
	ux_json_array_begin(j);
	for (size_t i = 0; i < n; i++)
		put_frame(l, &frames[i], j);
	ux_json_array_end(j);
}

size_t ux_lookup_frames(const struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
			struct ux_frame *ret)
{
	bool before = l->return_addresses && pc > 0;
	for (size_t i = 0; i < ux_open_module_count(m); i++) {
		const struct ux_gsym *g = &ux_open_module_candidate(m, i)->gsym;
		size_t n = 0;
		if (ux_gsym_lookup(g, pc - before, ret, UX_FRAMES_MOST, &n, NULL) == UX_OK && n > 0)
			return n; /* else not there, or damaged: the next one may know */
	}
	return 0;
}

void ux_lookup_write(struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
		     struct ux_json *j)
{
	struct ux_frame frames[UX_FRAMES_MOST];
	size_t n = ux_lookup_frames(l, m, pc, frames);
	ux_lookup_put(l, frames, n, j);
}

enum ux_code ux_lookup_write_place(struct ux_lookup *l, struct ux_open_module *m,
				   struct ux_bytes name, uint64_t off, struct ux_json *j,
				   struct ux_error *err)
{
	uint64_t start = 0;
	enum ux_code code = ux_open_module_find(m, name, &l->names_left, &start, err);
	if (code == UX_OK) {
		ux_lookup_write(l, m, start + off, j);
		return UX_OK;
	}
	if (code != UX_ENOTFOUND)
		return code;
	ux_json_array_begin(j);
	ux_json_array_end(j);
	return UX_OK;
}
